/* SPDX-License-Identifier: MIT */
/* test_validate.h - what tests look at inside of runtime/validate/, beside its interface, and why:
 *
 *     region.h: graphs made by a test, whose regions no gate has matched */
#ifndef TEST_GATE_H
#define TEST_GATE_H

#include "validate/region.h"

#endif
