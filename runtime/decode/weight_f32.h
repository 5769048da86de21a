/* SPDX-License-Identifier: MIT */
/* weight_f32.h - a constant weight as plain f32: where it lies if it can, expanded if it must. */
#ifndef WEIGHT_F32_H
#define WEIGHT_F32_H

#include "op_interface/op_exec.h"
#include "decode/weight.h"

/* The elements inside the image when they are dense, plain, little-endian f32 on an aligned
 * address; else NULL. Lives as long as the image. */
const float *pith_weight_f32_borrow(const struct weight *w);

/* Bytes, a multiple of 64, that pith_weight_f32 needs for w: 0 for borrowed ones.
 * PITH_ERR_LIMIT: more than can be addressed. */
enum pith_status pith_weight_f32_scratch(const struct weight *w, uint64_t *bytes);

/* *values: the elements, borrowed from the image or expanded at the start of env->scratch, by its
 * threads where w is large. PITH_ERR_CORRUPT as pith_weight_expand_f32. */
enum pith_status pith_weight_f32(const struct op_env *env, const struct weight *w,
                                 const float **values);

#endif
