/* SPDX-License-Identifier: MIT */
/* test_gate.h - what tests look at inside of runtime/gate/, beside its interface, and why:
 *
 *     region.h: graphs made by a test, whose regions no gate has matched */
#ifndef TEST_GATE_H
#define TEST_GATE_H

#include "gate/region.h"

#endif
