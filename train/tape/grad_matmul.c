/* SPDX-License-Identifier: MIT */
/* grad_matmul.c - products of matrices by numpy's rules: y = a b, for each of a broadcast batch.
 * da = dy b^T, db = a^T dy. A matrix that serves the whole batch is one product over all its rows.
 */
#include "grad_add.h"
#include "grad_list.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

struct matmul {
    int64_t m, n, k, batch;
    bool trans_b;
    uint32_t rank;                                                           /* of the batch */
    size_t dim[PITH_MAX_RANK], a_step[PITH_MAX_RANK], b_step[PITH_MAX_RANK]; /* in matrices */
};

/* Matrices of an operand that lie between neighbours along each batch axis; 0: repeated. */
static void batch_steps(const struct shape *s, uint32_t own_axes, uint32_t rank, size_t *step)
{
    size_t next = 1;
    for (uint32_t i = 0; i < rank && i < own_axes; i++) {
        size_t dim = s->dim[own_axes - 1 - i];
        step[rank - 1 - i] = dim == 1 ? 0 : next;
        next *= dim;
    }
}

static struct matmul matmul_of(const struct grad_node *n)
{
    const struct shape *a = &n->in[0]->shape, *b = &n->in[1]->shape, *y = &n->out[0]->shape;
    struct matmul s = {.m = 1, .n = 1, .k = a->dim[a->rank - 1], .batch = 1};
    uint32_t a_axes = a->rank > 1 ? a->rank - 2 : 0, b_axes = b->rank > 1 ? b->rank - 2 : 0;
    s.trans_b = n->attr[ATTR_MATMUL_TRANS_B] != 0;
    if (a->rank > 1)
        s.m = a->dim[a->rank - 2];
    if (b->rank > 1)
        s.n = b->dim[b->rank - (s.trans_b ? 2 : 1)];
    s.rank = a_axes > b_axes ? a_axes : b_axes;
    batch_steps(a, a_axes, s.rank, s.a_step);
    batch_steps(b, b_axes, s.rank, s.b_step);
    for (uint32_t i = 0; i < s.rank; i++) {
        s.dim[i] = y->dim[i];
        s.batch *= y->dim[i];
    }
    if (b_axes == 0) { /* one b: the batch is more rows */
        s.m *= s.batch;
        s.batch = 1;
        s.rank = 0;
    }
    return s;
}

static size_t matrix_at(const struct matmul *s, const size_t *step, size_t batch)
{
    size_t at = 0;
    for (uint32_t i = s->rank; i > 0; i--) {
        at += batch % s->dim[i - 1] * step[i - 1];
        batch /= s->dim[i - 1];
    }
    return at;
}

static void forward(struct grad_node *n)
{
    struct matmul s = matmul_of(n);
    int64_t ldb = s.trans_b ? s.k : s.n;
    for (size_t i = 0; i < (size_t)s.batch; i++) {
        const float *a =
            (const float *)n->in[0]->data + matrix_at(&s, s.a_step, i) * (size_t)(s.m * s.k);
        const float *b =
            (const float *)n->in[1]->data + matrix_at(&s, s.b_step, i) * (size_t)(s.n * s.k);
        pith_prim_gemm(
            n->prim, (struct prim_size){s.m, s.n, s.k}, 1.0f, (struct prim_matrix){a, s.k, false},
            (struct prim_matrix){b, ldb, s.trans_b},
            (struct prim_result){(float *)n->out[0]->data + i * (size_t)(s.m * s.n), s.n, false});
    }
}

static void backward(struct grad_node *n)
{
    struct matmul s = matmul_of(n);
    int64_t ldb = s.trans_b ? s.k : s.n;
    for (size_t i = 0; i < (size_t)s.batch; i++) {
        size_t at_a = matrix_at(&s, s.a_step, i) * (size_t)(s.m * s.k);
        size_t at_b = matrix_at(&s, s.b_step, i) * (size_t)(s.n * s.k);
        const float *a = (const float *)n->in[0]->data + at_a;
        const float *b = (const float *)n->in[1]->data + at_b;
        const float *dy = n->out[0]->grad + i * (size_t)(s.m * s.n);
        float *da = n->in[0]->grad ? n->in[0]->grad + at_a : NULL;
        float *db = n->in[1]->grad ? n->in[1]->grad + at_b : NULL;
        if (da)
            pith_prim_gemm(n->prim, (struct prim_size){s.m, s.k, s.n}, 1.0f,
                           (struct prim_matrix){dy, s.n, false},
                           (struct prim_matrix){b, ldb, !s.trans_b},
                           (struct prim_result){da, s.k, true});
        if (db && s.trans_b)
            pith_prim_gemm(n->prim, (struct prim_size){s.n, s.k, s.m}, 1.0f,
                           (struct prim_matrix){dy, s.n, true}, (struct prim_matrix){a, s.k, false},
                           (struct prim_result){db, s.k, true});
        else if (db)
            pith_prim_gemm(n->prim, (struct prim_size){s.k, s.n, s.m}, 1.0f,
                           (struct prim_matrix){a, s.k, true}, (struct prim_matrix){dy, s.n, false},
                           (struct prim_result){db, s.n, true});
    }
}

const struct grad_op pith_grad_matmul = {
    .op = PITH_OP_MATMUL, .forward = forward, .backward = backward};
