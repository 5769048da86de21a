/* SPDX-License-Identifier: MIT */
/* test_rd.h - what tests look at inside of rd/, beside its interface, and why:
 *
 *     block_choice.h: whole blocks, their number, threads
 *     eliminate.h: what a removal costs against the constrained minimum
 *     kept_row.h: goals against that minimum
 *     layer_round.h: costs against their definition, the factor of steps
 *     layer_support.h: layers of one column and of zeros
 *     rate_table.h: bits against counts
 *     row_coupling.h: what rows ask of each other against the minimum of their cost
 *     row_windows.h: patterns, and their cost against that of the largest weights
 *     step_choice.h: steps against the closed form
 *     weight_store.h: a codebook's values */
#ifndef TEST_RD_H
#define TEST_RD_H

#include "block_choice.h"
#include "eliminate.h"
#include "kept_row.h"
#include "layer_round.h"
#include "layer_support.h"
#include "rate_table.h"
#include "row_coupling.h"
#include "row_windows.h"
#include "step_choice.h"
#include "weight_store.h"

#endif
