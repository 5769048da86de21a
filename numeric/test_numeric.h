/* SPDX-License-Identifier: MIT */
/* test_numeric.h - what tests look at inside of numeric/, beside its interface, and why:
 *
 *     gram_tile.h, row_panel_list.h: every instruction set gives the same bits
 */
#ifndef TEST_NUMERIC_H
#define TEST_NUMERIC_H

#include "gram_tile.h"
#include "im2col.h"
#include "row_panel_list.h"

#endif
