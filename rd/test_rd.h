/* SPDX-License-Identifier: MIT */
/* test_rd.h - what tests look at inside of rd/, beside its interface, and why:
 *
 *     block_choice.h: whole blocks, their number, threads
 *     eliminate.h: what a removal costs against the constrained minimum
 *     layer_support.h: layers of one column and of zeros
 *     row_windows.h: patterns, and their cost against that of the largest weights
 *     step_choice.h: steps against the closed form
 *     weight_store.h: a codebook's values */
#ifndef TEST_RD_H
#define TEST_RD_H

#include "block_choice.h"
#include "eliminate.h"
#include "layer_support.h"
#include "row_windows.h"
#include "step_choice.h"
#include "weight_store.h"

#endif
