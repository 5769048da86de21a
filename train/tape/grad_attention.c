/* SPDX-License-Identifier: MIT */
/* grad_attention.c - y = p v with p = softmax(scale q k^T, masked), head by head. The scores are
 * computed again:
 *     dv = p^T dy,  dp = dy v^T,  ds = p (dp - sum of p dp),  dq = scale ds k,  dk = scale ds^T q
 * An f32 mask gets ds, summed over what it was repeated for; where a bool mask fills, ds is 0. */
#include "grad_add.h"
#include "grad_list.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#include <math.h>

enum { Q, K, V, MASK, Y = 3 };

/* Matrices of one head: [rows, dim], rows `step` apart. */
struct heads {
    size_t batch, head, step; /* elements */
    size_t rows, dim;
};

static struct heads heads_of(const struct tape_tensor *t, bool rows_first)
{
    const uint32_t *dim = t->shape.dim;
    size_t d = dim[3], outer = dim[2] * d;
    return (struct heads){.batch = dim[1] * outer,
                          .head = rows_first ? d : outer,
                          .step = rows_first ? outer : d,
                          .rows = dim[rows_first ? 1 : 2],
                          .dim = d};
}

struct attention {
    const struct grad_node *n;
    struct heads part[4];
    size_t batch, heads;
    size_t shared;     /* heads of q that read the same head of k and v */
    size_t mask_batch; /* samples after which the mask begins anew */
    float scale, fill;
    bool keep;
    const struct tape_tensor *mask;
    size_t mask_step[4];
    float *p, *dp; /* [M, N] */
};

static struct attention attention_of(const struct grad_node *n)
{
    uint32_t layout = (uint32_t)n->attr[ATTR_ATTENTION_LAYOUT];
    const struct tape_tensor *t[] = {n->in[Q], n->in[K], n->in[V], n->out[0]};
    struct attention s = {.n = n,
                          .scale = attr_f32(n->attr, ATTR_ATTENTION_SCALE),
                          .fill = attr_f32(n->attr, ATTR_ATTENTION_FILL),
                          .keep = n->attr[ATTR_ATTENTION_KEEP] != 0,
                          .mask = n->n_in > MASK ? n->in[MASK] : NULL};
    for (uint32_t i = 0; i < 4; i++)
        s.part[i] = heads_of(t[i], layout >> i & 1u);
    s.batch = n->in[Q]->shape.dim[0];
    s.heads = n->in[Q]->shape.dim[layout & 1u ? 2 : 1];
    s.shared = s.heads / n->in[K]->shape.dim[layout & 2u ? 2 : 1];
    s.mask_batch = s.mask && s.mask->shape.rank == 4 ? s.mask->shape.dim[0] : 1;
    size_t next = 1;
    for (uint32_t i = 0; s.mask && i < s.mask->shape.rank; i++) {
        uint32_t dim = s.mask->shape.dim[s.mask->shape.rank - 1 - i];
        s.mask_step[3 - i] = dim == 1 ? 0 : next;
        next *= dim;
    }
    s.p = n->scratch;
    s.dp = s.p + ((s.part[Q].rows * s.part[K].rows + 15) & ~(size_t)15);
    return s;
}

static enum pith_status prepare(struct grad_node *n, uint64_t *scratch_bytes)
{
    struct attention s = attention_of(n);
    *scratch_bytes = (2 * (uint64_t)s.part[Q].rows * s.part[K].rows + 32) * sizeof(float);
    return PITH_OK;
}

/* `head`: its own, not q's. */
static size_t at(const struct heads *h, size_t b, size_t head)
{
    return b * h->batch + head * h->head;
}

static size_t mask_at(const struct attention *s, size_t b, size_t head, size_t m)
{
    return b % s->mask_batch * s->mask_step[0] + head * s->mask_step[1] + m * s->mask_step[2];
}

/* Whether a bool mask puts `fill` there. */
static bool filled(const struct attention *s, size_t mask)
{
    return s->mask && s->mask->type == PITH_BOOL &&
           (((const uint8_t *)s->mask->data)[mask] != 0) != s->keep;
}

static void softmax_row(float *row, size_t n)
{
    float most = row[0];
    double sum = 0;
    for (size_t i = 1; i < n; i++)
        most = row[i] > most ? row[i] : most;
    if (most == -INFINITY) {
        memset(row, 0, n * sizeof *row);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        row[i] = expf(row[i] - most);
        sum += (double)row[i];
    }
    for (size_t i = 0; i < n; i++)
        row[i] = (float)((double)row[i] / sum);
}

static void scores_again(const struct attention *s, size_t b, size_t head)
{
    const struct heads *q = &s->part[Q], *k = &s->part[K];
    size_t n = k->rows;
    pith_prim_gemm(
        s->n->prim, (struct prim_size){(int64_t)q->rows, (int64_t)n, (int64_t)q->dim}, s->scale,
        (struct prim_matrix){(const float *)s->n->in[Q]->data + at(q, b, head), (int64_t)q->step,
                             false},
        (struct prim_matrix){(const float *)s->n->in[K]->data + at(k, b, head / s->shared),
                             (int64_t)k->step, true},
        (struct prim_result){s->p, (int64_t)n, false});
    for (size_t m = 0; m < q->rows; m++) {
        float *row = s->p + m * n;
        for (size_t i = 0; i < n && s->mask; i++) {
            size_t mask = mask_at(s, b, head, m) + i * s->mask_step[3];
            if (filled(s, mask))
                row[i] = s->fill;
            else if (s->mask->type == PITH_F32)
                row[i] += ((const float *)s->mask->data)[mask];
        }
        softmax_row(row, n);
    }
}

/* dp becomes ds. */
static void scores_back(const struct attention *s, size_t b, size_t head)
{
    size_t n = s->part[K].rows;
    for (size_t m = 0; m < s->part[Q].rows; m++) {
        const float *p = s->p + m * n;
        float *d = s->dp + m * n;
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += (double)p[i] * (double)d[i];
        for (size_t i = 0; i < n; i++) {
            size_t mask = s->mask ? mask_at(s, b, head, m) + i * s->mask_step[3] : 0;
            d[i] = filled(s, mask) ? 0.0f : p[i] * (d[i] - (float)sum);
            if (s->mask && s->mask->grad)
                s->mask->grad[mask] += d[i];
        }
    }
}

/* grad of input i += alpha scores times `by`; scores: [rows of Q, rows of K] */
static void part_back(const struct attention *s, uint32_t i, struct prim_matrix scores, float alpha,
                      struct prim_matrix by, size_t to)
{
    const struct heads *own = &s->part[i];
    const size_t inner = s->part[scores.turned ? Q : K].rows;
    if (s->n->in[i]->grad)
        pith_prim_gemm(s->n->prim,
                       (struct prim_size){(int64_t)own->rows, (int64_t)own->dim, (int64_t)inner},
                       alpha, scores, by,
                       (struct prim_result){s->n->in[i]->grad + to, (int64_t)own->step, true});
}

static void head_back(const struct attention *s, size_t b, size_t head)
{
    const struct heads *q = &s->part[Q], *k = &s->part[K], *v = &s->part[V], *y = &s->part[Y];
    const float *dy = s->n->out[0]->grad + at(y, b, head);
    const float *qs = (const float *)s->n->in[Q]->data + at(q, b, head);
    const size_t shared = head / s->shared, k_at = at(k, b, shared), v_at = at(v, b, shared);
    const float *ks = (const float *)s->n->in[K]->data + k_at;
    const float *vs = (const float *)s->n->in[V]->data + v_at;
    scores_again(s, b, head);
    const int64_t n = (int64_t)k->rows;
    const struct prim_matrix y_grad = {dy, (int64_t)y->step, false};
    part_back(s, V, (struct prim_matrix){s->p, n, true}, 1.0f, y_grad, v_at);
    pith_prim_gemm(s->n->prim,
                   (struct prim_size){(int64_t)q->rows, (int64_t)k->rows, (int64_t)v->dim}, 1.0f,
                   y_grad, (struct prim_matrix){vs, (int64_t)v->step, true},
                   (struct prim_result){s->dp, n, false});
    scores_back(s, b, head);
    part_back(s, Q, (struct prim_matrix){s->dp, n, false}, s->scale,
              (struct prim_matrix){ks, (int64_t)k->step, false}, at(q, b, head));
    part_back(s, K, (struct prim_matrix){s->dp, n, true}, s->scale,
              (struct prim_matrix){qs, (int64_t)q->step, false}, k_at);
}

static void backward(struct grad_node *n)
{
    struct attention s = attention_of(n);
    for (size_t b = 0; b < s.batch; b++)
        for (size_t head = 0; head < s.heads; head++)
            head_back(&s, b, head);
}

const struct grad_op pith_grad_attention = {
    .op = PITH_OP_ATTENTION, .prepare = prepare, .backward = backward};
