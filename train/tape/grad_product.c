/* SPDX-License-Identifier: MIT */
/* grad_product.c - Gemm: y = alpha op(a) op(b) + beta c. Where b is the same for all slices, and a
 * has few rows in each, the products are panel_product.h's; all else is primitive.h's. */
#include "grad_list.h"
#include "pith_train.h"
#include "train/kernels/train_kernels.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#include <stdlib.h>
#include <string.h>

struct gemm {
    int64_t m, n, k;
    bool ta, tb;
    float alpha, beta;
    bool plain_c;                        /* [n], as it is */
    const struct panel_kernels *kernels; /* NULL: left to pith_prim_gemm */
};

/* More rows, or a larger b, would not stay in the cache while b goes by. */
enum { MOST_ROWS = 64, MOST_WEIGHTS = 1 << 22 };

static struct gemm gemm_of(const struct grad_node *n)
{
    const struct shape *a = &n->in[0]->shape, *y = &n->out[0]->shape;
    const struct tape_tensor *c = n->n_in > 2 ? n->in[2] : NULL;
    bool ta = n->attr[ATTR_GEMM_TRANS_A] != 0;
    float beta = attr_f32(n->attr, ATTR_GEMM_BETA);
    return (struct gemm){.m = y->dim[0],
                         .n = y->dim[1],
                         .k = a->dim[ta ? 0 : 1],
                         .ta = ta,
                         .tb = n->attr[ATTR_GEMM_TRANS_B] != 0,
                         .alpha = attr_f32(n->attr, ATTR_GEMM_ALPHA),
                         .beta = beta,
                         .plain_c = c && beta == 1.0f && shape_elems(&c->shape) == y->dim[1] &&
                                    c->shape.dim[c->shape.rank - 1] == y->dim[1]};
}

static enum pith_status prepare(struct grad_node *n, uint64_t *scratch_bytes)
{
    struct gemm *g = malloc(sizeof *g);
    if (!g)
        return PITH_ERR_MEMORY;
    *g = gemm_of(n);
    n->state = g;
    *scratch_bytes = 0;
    if (pith_prim_is_ordered(n->prim) || g->ta || !(n->fixed & 2u) || g->m > MOST_ROWS ||
        g->n > MOST_WEIGHTS / g->k)
        return PITH_OK;
    g->kernels = pith_train_kernels().panel;
    return PITH_OK;
}

static void release(struct grad_node *n)
{
    free(n->state);
}

/* Rows of a times op(b), or its transpose. */
static void multiply(const struct grad_node *n, const struct gemm *g, bool by_transpose,
                     struct panel_product *p)
{
    p->b = n->in[1]->data;
    p->b_row = g->tb ? g->k : g->n;
    p->depth = by_transpose ? g->n : g->k;
    p->columns = by_transpose ? g->k : g->n;
    p->rows = g->m;
    p->alpha = g->alpha;
    p->a_row = p->depth;
    p->c_row = p->columns;
    if (by_transpose == g->tb)
        g->kernels->multiply(p);
    else
        g->kernels->multiply_transposed(p);
}

/* c of y[i][j], broadcast as numpy does. */
static size_t c_step(const struct shape *c, uint32_t axis_from_last)
{
    if (axis_from_last >= c->rank || c->dim[c->rank - 1 - axis_from_last] == 1)
        return 0;
    return axis_from_last == 0 ? 1 : c->dim[c->rank - 1];
}

static void spread_c(const struct gemm *g, const struct tape_tensor *c, float *y)
{
    size_t row = c_step(&c->shape, 1), col = c_step(&c->shape, 0);
    const float *from = c->data;
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j++)
            y[i * g->n + j] = g->beta * from[(size_t)i * row + (size_t)j * col];
}

static void forward_gemm(struct grad_node *n)
{
    const struct gemm *g = n->state;
    const struct tape_tensor *c = n->n_in > 2 ? n->in[2] : NULL;
    float *y = n->out[0]->data;
    bool starts = g->kernels && g->plain_c;
    if (c && !starts)
        spread_c(g, c, y);
    if (!g->kernels) {
        pith_prim_gemm(n->prim, (struct prim_size){g->m, g->n, g->k}, g->alpha,
                       (struct prim_matrix){n->in[0]->data, g->ta ? g->m : g->k, g->ta},
                       (struct prim_matrix){n->in[1]->data, g->tb ? g->k : g->n, g->tb},
                       (struct prim_result){y, g->n, c != NULL});
        return;
    }
    multiply(
        n, g, false,
        &(struct panel_product){
            .a = n->in[0]->data, .start = starts ? c->data : NULL, .c = y, .add = c && !starts});
}

static void backward_a(const struct grad_node *n, const struct gemm *g, float *da)
{
    const float *dy = n->out[0]->grad, *b = n->in[1]->data;
    int64_t ldb = g->tb ? g->k : g->n;
    if (!g->kernels && g->ta)
        pith_prim_gemm(n->prim, (struct prim_size){g->k, g->m, g->n}, g->alpha,
                       (struct prim_matrix){b, ldb, g->tb}, (struct prim_matrix){dy, g->n, true},
                       (struct prim_result){da, g->m, !n->sets[0]});
    else if (!g->kernels)
        pith_prim_gemm(n->prim, (struct prim_size){g->m, g->k, g->n}, g->alpha,
                       (struct prim_matrix){dy, g->n, false}, (struct prim_matrix){b, ldb, !g->tb},
                       (struct prim_result){da, g->k, !n->sets[0]});
    else
        multiply(n, g, true, &(struct panel_product){.a = dy, .c = da, .add = !n->sets[0]});
}

static void backward_b(const struct grad_node *n, const struct gemm *g, float *db)
{
    const float *dy = n->out[0]->grad, *a = n->in[0]->data;
    int64_t lda = g->ta ? g->m : g->k;
    if (g->tb)
        pith_prim_gemm(n->prim, (struct prim_size){g->n, g->k, g->m}, g->alpha,
                       (struct prim_matrix){dy, g->n, true}, (struct prim_matrix){a, lda, g->ta},
                       (struct prim_result){db, g->k, !n->sets[1]});
    else
        pith_prim_gemm(n->prim, (struct prim_size){g->k, g->n, g->m}, g->alpha,
                       (struct prim_matrix){a, lda, !g->ta}, (struct prim_matrix){dy, g->n, false},
                       (struct prim_result){db, g->n, !n->sets[1]});
}

static void backward_c(const struct grad_node *n, const struct gemm *g, const struct tape_tensor *c)
{
    const float *dy = n->out[0]->grad;
    if (n->sets[2])
        memset(c->grad, 0, shape_elems(&c->shape) * sizeof *c->grad);
    size_t row = c_step(&c->shape, 1), col = c_step(&c->shape, 0);
    for (int64_t i = 0; i < g->m; i++)
        if (g->plain_c)
            n->rows->add(c->grad, dy + i * g->n, (size_t)g->n);
        else
            for (int64_t j = 0; j < g->n; j++)
                c->grad[(size_t)i * row + (size_t)j * col] += g->beta * dy[i * g->n + j];
}

static void backward_gemm(struct grad_node *n)
{
    const struct gemm *g = n->state;
    const struct tape_tensor *c = n->n_in > 2 ? n->in[2] : NULL;
    if (n->in[0]->grad)
        backward_a(n, g, n->in[0]->grad);
    if (n->in[1]->grad && !n->joins)
        backward_b(n, g, n->in[1]->grad);
    if (c && c->grad)
        backward_c(n, g, c);
}

/* A factor belongs to each slice's gradient: behind a sum of some of them, bits would depend on
 * which are added up here, and so on the number of ranks. */
static bool joins_gemm(const struct grad_node *n)
{
    const struct gemm *g = n->state;
    return g->kernels != NULL && g->alpha == 1.0f;
}

/* Eight rows are one tile of the product. */
static int64_t range_begin(int64_t rows, uint32_t part)
{
    int64_t tiles = (rows + 7) / 8, begin = tiles * part / PITH_TRAIN_SLICES * 8;
    return begin < rows ? begin : rows;
}

static void joined_gemm(const struct grad_node *n, uint32_t n_own, uint32_t part, float *grad)
{
    const struct gemm *g = n->state;
    const int64_t rows = g->tb ? g->n : g->k, columns = g->tb ? g->k : g->n;
    struct outer_product p = {.parts = n_own,
                              .c = grad,
                              .a_row = rows,
                              .b_row = columns,
                              .c_row = columns,
                              .row_begin = range_begin(rows, part),
                              .row_end = range_begin(rows, part + 1),
                              .columns = columns,
                              .depth = g->m};
    for (uint32_t s = 0; s < n_own; s++) {
        const float *x = n[s].in[0]->data, *dy = n[s].out[0]->grad;
        p.a[s] = g->tb ? dy : x;
        p.b[s] = g->tb ? x : dy;
    }
    g->kernels->outer(&p);
}

const struct grad_op pith_grad_gemm = {
    .op = PITH_OP_GEMM,
    .sets = true,
    .prepare = prepare,
    .release = release,
    .joins = joins_gemm,
    .joined = joined_gemm,
    .forward = forward_gemm,
    .backward = backward_gemm,
};
