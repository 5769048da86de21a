/* SPDX-License-Identifier: MIT */
/* test_data.h - what tests look at inside of data/, beside its interface, and why:
 *
 *     data_source.h: readers are given bytes in memory, up to a page that nothing follows
 *     npy_header.h: heads are read and refused without data behind them
 *     number_convert.h: each pair of types by itself */
#ifndef TEST_DATA_H
#define TEST_DATA_H

#include "data_source.h"
#include "npy_header.h"
#include "number_convert.h"

#endif
