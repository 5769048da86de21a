/* SPDX-License-Identifier: MIT */
/* recurrent_product.h - the product of a recurrent layer, y [N, rows] = h [N, H] R^T + bias: the
 * same R step after step. A constant R is brought to its run form when the plan is built; one that
 * is computed is packed once a run, before the first step. Rows from `split` on may be a product of
 * their own, with another h. */
#ifndef RECURRENT_PRODUCT_H
#define RECURRENT_PRODUCT_H

#include "product_f32.h"
#include "run_form.h"
#include "pith_weight.h"

struct recurrent_product {
    uint32_t batch, hidden, rows;
    uint32_t split;              /* rows of the first part; 0: one part */
    const float *r;              /* [rows, hidden], where it is no constant */
    const struct weight *weight; /* the constant, or NULL */
    const float *bias;           /* [rows] */
    bool has_bias;
    void *prep; /* as op_args */

    /* From here on by pith_recurrent_product_open; it points into itself: not to be copied. */
    uint32_t n_parts;
    struct weight part[2];
    struct product product[2];
    struct op_need need[2];
    bool split_form; /* both parts read one run form: product, part and need are not used */
    struct run_form_need form;
    uint64_t rows_bytes; /* of R expanded in front of what the parts prepare; 0: not there */
};

/* Fills the lower half. PITH_ERR_LIMIT. */
enum pith_status pith_recurrent_product_open(struct recurrent_product *p, const struct op_env *env);
/* need->macs are those of one step. */
enum pith_status pith_recurrent_product_need(const struct recurrent_product *p,
                                             struct op_need *need);
/* When the plan is built, of a constant. */
enum pith_status pith_recurrent_product_prepare(struct recurrent_product *p,
                                                const struct op_env *env);
/* Once a run, env->scratch being what need asked for, kept until the last step. */
void pith_recurrent_product_begin(struct recurrent_product *p, const struct op_env *env);
/* Part i: y [N, its rows] of h [N, H]. */
void pith_recurrent_product_run(const struct recurrent_product *p, uint32_t i, const float *h,
                                float *y, const struct op_env *env);

#endif
