/* SPDX-License-Identifier: MIT */
/* recurrent_product.h - the product of a recurrent layer, y [N, rows] = h [N, H] R^T + bias: the
 * same R step after step. A constant R is brought to its run form when the plan is built; one that
 * is computed is packed once a run, before the first step. Rows from `split` on may be a product of
 * their own, with another h. */
#ifndef RECURRENT_PRODUCT_H
#define RECURRENT_PRODUCT_H

#include "products/product.h"

/* The lowered product. The caller fills the upper part, pith_recurrent_product_need the rest. */
struct recurrent_product {
    uint32_t batch, hidden, rows;
    uint32_t split; /* rows of the first part; 0: one part */
    bool has_bias;

    bool constant;       /* R is a weight */
    bool split_form;     /* both parts read one run form: part is not used */
    uint64_t rows_bytes; /* of R expanded in front of what the parts prepare; 0: not there */
    struct recurrent_part {
        uint8_t choice; /* the kernel's number; parts that read rows of one weight have the same */
        struct product product;
        uint64_t prep_bytes, scratch_bytes;
        bool small; /* not worth waking threads for */
    } part[2];
};

struct recurrent_data {
    const float *r;              /* [rows, hidden], where it is no constant */
    const struct weight *weight; /* the constant, or NULL */
    const float *bias;           /* [rows] or NULL */
    void *prep;                  /* as op_args */
};

/* A run: begun once, then step after step. */
struct recurrent_run {
    const struct recurrent_product *p;
    struct product_data part[2];
    const void *form; /* of split_form */
    const float *bias;
};

/* weight: constant R, or NULL. need->macs are those of one step. PITH_ERR_LIMIT. */
enum pith_status pith_recurrent_product_need(struct recurrent_product *p,
                                             const struct weight *weight, const struct op_env *env,
                                             struct op_need *need);
/* When the plan is built, of a constant. */
enum pith_status pith_recurrent_product_prepare(const struct recurrent_product *p,
                                                const struct recurrent_data *d,
                                                const struct op_env *env);
/* Once a run, env->scratch being what need requested, kept until the last step. */
void pith_recurrent_product_begin(const struct recurrent_product *p, const struct recurrent_data *d,
                                  const struct op_env *env, struct recurrent_run *run);
/* Part i: y [N, its rows] of h [N, H]. */
void pith_recurrent_product_run(const struct recurrent_run *run, uint32_t i, const float *h,
                                float *y, const struct op_env *env);

#endif
