/* SPDX-License-Identifier: MIT */
/* quad_form.h - builds the form of kernel_quads.h of a constant sparse matrix: weights as
 * indices where all have one codebook that leaves an index for 0, else as f32. */
#ifndef QUAD_FORM_H
#define QUAD_FORM_H

#include "kernels/kernel_sparse.h"
#include "decode/weight_cut.h"

/* The matrix as the product sees it. Column c = channel * taps + tap of the weight stands for row
 * tap * (cols / taps) + channel of x (what im2col makes of an image); taps 1: c itself. */
struct quad_matrix {
    uint32_t rows, cols, taps;
    uint32_t width; /* of x, a multiple of QUAD_WIDTH_STEP, <= QUAD_WIDTH_MAX */
};

struct quad_need {
    uint64_t bytes;         /* of the form, 64-byte aligned memory */
    uint64_t scratch_bytes; /* while building, 64-byte aligned */
};

/* PITH_ERR_UNSUPPORTED: the weight is dense, or too large; *need is then untouched. Decodes
 * nothing; `bytes` bounds every pattern with w's counts. */
enum pith_status pith_quads_need(const struct weight *w, const struct quad_matrix *m,
                                 struct quad_need *need);
/* form, env->scratch: by pith_quads_need. PITH_ERR_CORRUPT when a coded stream of w breaks its
 * rules; the form is then unusable. */
enum pith_status pith_quads_build(const struct op_env *env, const struct weight *w,
                                  const struct quad_matrix *m, void *form);

/* Weights are indices: the kernels then take a tail. */
bool pith_quads_have_indices(const struct weight *w);

/* Time of n columns of x in so many strips, in 128ths of a nanosecond as the costs of run_form.h.
 * tail: the last n % 16 of them are the kernel's tail. */
uint64_t pith_quads_cost(const struct weight *w, const struct quad_matrix *m,
                         const struct sparse_kernels *k, uint32_t n, uint32_t strips, bool tail);

#endif
