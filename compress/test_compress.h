/* SPDX-License-Identifier: MIT */
/* test_compress.h - what tests look at inside of compress/, beside its interface, and why:
 *
 *     coarse_weight.h: what one coarse layer does to the outputs, against sums done by hand
 *     held_out.h: which samples are fitted to, which are held out
 *     kept_codebooks.h: which weights become codebooks, by an evaluator of the test
 *     range_search.h: what is cut off, in networks made for it
 *     stage_run.h: a stage of two calls, run without a recipe
 *     synthetic_pictures.h: the samples themselves */
#ifndef TEST_COMPRESS_H
#define TEST_COMPRESS_H

#include "coarse_weight.h"
#include "held_out.h"
#include "kept_codebooks.h"
#include "range_search.h"
#include "stage_run.h"
#include "synthetic_pictures.h"

#endif
