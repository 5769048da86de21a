/* SPDX-License-Identifier: MIT */
/* grad_product.c - Gemm: y = alpha op(a) op(b) + beta c. */
#include <string.h>
#include "grad_list.h"

struct gemm {
    int64_t m, n, k;
    bool ta, tb;
    float alpha, beta;
};

static struct gemm gemm_of(const struct grad_node *n)
{
    const struct shape *a = &n->in[0]->shape, *y = &n->out[0]->shape;
    bool ta = n->attr[ATTR_GEMM_TRANS_A] != 0;
    return (struct gemm){.m = y->dim[0],
                         .n = y->dim[1],
                         .k = a->dim[ta ? 0 : 1],
                         .ta = ta,
                         .tb = n->attr[ATTR_GEMM_TRANS_B] != 0,
                         .alpha = attr_f32(n->attr, ATTR_GEMM_ALPHA),
                         .beta = attr_f32(n->attr, ATTR_GEMM_BETA)};
}

/* c of y[i][j], broadcast as numpy does. */
static size_t c_step(const struct shape *c, uint32_t axis_from_last)
{
    if (axis_from_last >= c->rank || c->dim[c->rank - 1 - axis_from_last] == 1)
        return 0;
    return axis_from_last == 0 ? 1 : c->dim[c->rank - 1];
}

static void forward_gemm(struct grad_node *n)
{
    struct gemm g = gemm_of(n);
    const struct tape_tensor *c = n->n_in > 2 ? n->in[2] : NULL;
    float *y = n->out[0]->data;
    if (c) {
        size_t row = c_step(&c->shape, 1), col = c_step(&c->shape, 0);
        const float *from = c->data;
        for (int64_t i = 0; i < g.m; i++)
            for (int64_t j = 0; j < g.n; j++)
                y[i * g.n + j] = g.beta * from[(size_t)i * row + (size_t)j * col];
    }
    pith_prim_gemm(n->prim, g.ta, g.tb, g.m, g.n, g.k, g.alpha, n->in[0]->data, g.ta ? g.m : g.k,
                   n->in[1]->data, g.tb ? g.k : g.n, c != NULL, y, g.n);
}

static void backward_gemm(struct grad_node *n)
{
    struct gemm g = gemm_of(n);
    const float *dy = n->out[0]->grad, *a = n->in[0]->data, *b = n->in[1]->data;
    float *da = n->in[0]->grad, *db = n->in[1]->grad;
    const struct tape_tensor *c = n->n_in > 2 ? n->in[2] : NULL;
    int64_t lda = g.ta ? g.m : g.k, ldb = g.tb ? g.k : g.n;
    if (da && g.ta)
        pith_prim_gemm(n->prim, g.tb, true, g.k, g.m, g.n, g.alpha, b, ldb, dy, g.n, !n->sets[0],
                       da, lda);
    else if (da)
        pith_prim_gemm(n->prim, false, !g.tb, g.m, g.k, g.n, g.alpha, dy, g.n, b, ldb, !n->sets[0],
                       da, lda);
    if (db && g.tb)
        pith_prim_gemm(n->prim, true, g.ta, g.n, g.k, g.m, g.alpha, dy, g.n, a, lda, !n->sets[1],
                       db, ldb);
    else if (db)
        pith_prim_gemm(n->prim, !g.ta, false, g.k, g.n, g.m, g.alpha, a, lda, dy, g.n, !n->sets[1],
                       db, ldb);
    if (c && c->grad) {
        if (n->sets[2])
            memset(c->grad, 0, shape_elems(&c->shape) * sizeof *c->grad);
        size_t row = c_step(&c->shape, 1), col = c_step(&c->shape, 0);
        for (int64_t i = 0; i < g.m; i++)
            for (int64_t j = 0; j < g.n; j++)
                c->grad[(size_t)i * row + (size_t)j * col] += g.beta * dy[i * g.n + j];
    }
}

const struct grad_op pith_grad_gemm = {
    .op = PITH_OP_GEMM,
    .sets = true,
    .forward = forward_gemm,
    .backward = backward_gemm,
};
