/* SPDX-License-Identifier: MIT */
/* test_decode.h - what tests look at inside of runtime/decode/, beside its interface, and why:
 *
 *     gap_decode.h: supports that end one beyond, and arbitrary bytes
 *     weight_cut.h: pieces of large weights against weights decoded whole
 *     weight_rows.h: rows read at each run against weights decoded whole */
#ifndef TEST_DECODE_H
#define TEST_DECODE_H

#include "decode/gap_decode.h"
#include "decode/weight_cut.h"
#include "decode/weight_f32.h"
#include "decode/weight_rows.h"

#endif
