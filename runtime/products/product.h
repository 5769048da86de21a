/* SPDX-License-Identifier: MIT */
/* product.h - a lowered matrix product, and the data of a run. */
#ifndef PRODUCT_H
#define PRODUCT_H

#include "kernels/kernel_dense.h"
#include "op_interface/op_exec.h"

struct product_kernel;

/* The lowered product: what is the same at every run. */
struct product {
    const struct product_kernel *kernel; /* by pith_product_need */
    uint32_t m, n, k;                    /* y: [m, n] */
    uint32_t c_row, c_col;               /* c's element (i, j) is at i * c_row + j * c_col */
    float alpha, beta;
    bool trans_a, trans_b; /* a: [m, k] or [k, m]; b: [k, n] or [n, k] */
    bool has_c;
    bool constant; /* b is a weight */
};

/* What it reads and writes at a run. */
struct product_data {
    const float *a, *b;          /* b: NULL with a weight that is not b itself */
    const float *c;              /* NULL: none */
    const float *residual;       /* [m, n] or NULL */
    const struct weight *weight; /* constant b */
    void *prep;                  /* what pith_product_prepare made */
    struct dense_act act;
    float *y;
};

/* Of an operator without what it has apart: b, c, y. */
static inline struct product_data product_data_of(const struct op_args *args)
{
    const struct tview *residual = args->fuse.residual;
    return (struct product_data){.a = args->in[0]->data,
                                 .residual = residual ? residual->data : NULL,
                                 .weight = args->weight,
                                 .prep = args->prep,
                                 .act = {args->fuse.act, args->fuse.a, args->fuse.b}};
}

#endif
