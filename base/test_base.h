/* SPDX-License-Identifier: MIT */
/* test_base.h - what tests look at inside of base/, beside its interface: the list of temporary
 * files, of which a handler removes those that are being written. */
#ifndef TEST_BASE_H
#define TEST_BASE_H

#include "file_temp.h"

#endif
