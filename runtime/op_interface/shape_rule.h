/* SPDX-License-Identifier: MIT */
/* shape_rule.h - the steps shape rules share. Inputs come from a hostile file: each rule first
 * requires the inputs it reads, and sets outputs only through pith_out_set. */
#ifndef SHAPE_RULE_H
#define SHAPE_RULE_H

#include "op_interface/op_exec.h"

/* The first n inputs are there; PITH_ERR_CORRUPT otherwise. */
enum pith_status pith_in_present(const struct op_args *args, uint32_t n);

/* The first n inputs are there (PITH_ERR_CORRUPT) and f32 (PITH_ERR_UNSUPPORTED). */
enum pith_status pith_in_f32(const struct op_args *args, uint32_t n);

/* Sets *out when the shape is one a tensor can have (pith_shape_count); PITH_ERR_CORRUPT and *out
 * untouched otherwise. Dims from rank on need not be 0 in *shape; they are in *out. */
enum pith_status pith_out_set(struct tview *out, enum pith_type type, const struct shape *shape);

/* Marks the axes of a list (attribute slot) in a set of bits. PITH_ERR_CORRUPT when one is outside
 * 0..rank-1 or named twice. */
enum pith_status pith_axes_set(const int32_t *attr, uint32_t slot, uint32_t rank, uint32_t *set);

/* Shape of f32 elementwise operators: out 0 as in 0. */
enum pith_status pith_shape_same_f32(const struct op_args *args);

#endif
