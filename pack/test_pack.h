/* SPDX-License-Identifier: MIT */
/* test_pack.h - what tests look at inside of pack/, beside its interface, and why:
 *
 *     pack.h: each of the three steps alone, and files that no model gives */
#ifndef TEST_PACK_H
#define TEST_PACK_H

#include "pack.h"

#endif
