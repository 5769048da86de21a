/* SPDX-License-Identifier: MIT */
/* grad_binary.c - elementwise functions of several tensors with broadcasting: arithmetic, powers,
 * PRelu, Where, Min, Max, Sum, Mean. What was repeated gets the sum over its copies. */
#include "broadcast_rows.h"
#include "grad_add.h"
#include "grad_list.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#include <math.h>

/* ---- two operands ---------------------------------------------------------------------------- */

struct pair {
    const float *a, *b, *y, *dy;
    float *to; /* y, or the gradient of one operand */
};

#define ROW(name, statement)                                                                       \
    static void name(void *arg, size_t out, const size_t *at, const size_t *step, size_t n)        \
    {                                                                                              \
        const struct pair *w = arg;                                                                \
        const float *as = w->a + at[0], *bs = w->b + at[1];                                        \
        const size_t sa = step[0], sb = step[1];                                                   \
        for (size_t i = 0; i < n; i++) {                                                           \
            const float a = as[i * sa], b = bs[i * sb];                                            \
            const size_t ia = at[0] + i * sa, ib = at[1] + i * sb, o = out + i;                    \
            (void)a;                                                                               \
            (void)b;                                                                               \
            (void)ia;                                                                              \
            (void)ib;                                                                              \
            statement;                                                                             \
        }                                                                                          \
    }

/* y = value; the parts of both gradients. */
#define BINARY(name, value, part_a, part_b)                                                        \
    ROW(name##_value, w->to[o] = (value))                                                          \
    ROW(name##_part_a, w->to[ia] += w->dy[o] * (part_a))                                           \
    ROW(name##_part_b, w->to[ib] += w->dy[o] * (part_b))                                           \
    static const struct binary name = {name##_value, name##_part_a, name##_part_b};

struct binary {
    pith_walk_row *value, *part_a, *part_b;
};

BINARY(sum, a + b, 1.0f, 1.0f)
BINARY(difference, a - b, 1.0f, -1.0f)
BINARY(product, a *b, b, a)
BINARY(quotient, a / b, 1.0f / b, -a / (b * b))
BINARY(power, powf(a, b), b *powf(a, b - 1.0f), a > 0.0f ? w->y[o] * logf(a) : 0.0f)
BINARY(prelu, a < 0.0f ? b * a : a, a < 0.0f ? b : 1.0f, a < 0.0f ? a : 0.0f)

static void walk_pair(const struct grad_node *n, pith_walk_row *row, float *to)
{
    const struct tape_tensor *operand[] = {n->in[0], n->in[1]};
    struct broadcast_walk w;
    struct pair p = {n->in[0]->data, n->in[1]->data, n->out[0]->data, n->out[0]->grad, to};
    pith_broadcast_walk(&w, n->out[0], operand, 2);
    pith_broadcast_rows(&w, row, &p);
}

/* In the runtime's own layout its kernels do it (they know integers too); between layouts, this. */
static void forward_pair(const struct grad_node *n, const struct binary *f)
{
    bool alike = pith_shape_equal(&n->in[0]->shape, &n->in[1]->shape);
    if (n->out[0]->layout == TAPE_ROW_MAJOR || alike)
        grad_run(n);
    else
        walk_pair(n, f->value, n->out[0]->data);
}

static void clear_if(const struct grad_node *n, uint32_t i)
{
    if (n->sets[i])
        memset(n->in[i]->grad, 0, grad_count(n->in[i]) * sizeof(float));
}

static void backward_pair(const struct grad_node *n, const struct binary *f)
{
    for (uint32_t i = 0; i < 2; i++) {
        if (!n->in[i]->grad)
            continue;
        if (f == &sum && pith_shape_equal(&n->in[i]->shape, &n->out[0]->shape)) {
            grad_put(n->in[i]->grad, n->out[0]->grad, grad_count(n->out[0]), n->sets[i]);
            continue;
        }
        clear_if(n, i);
        walk_pair(n, i == 0 ? f->part_a : f->part_b, n->in[i]->grad);
    }
}

#define PAIR(name, number, f)                                                                      \
    static void forward_##name(struct grad_node *n)                                                \
    {                                                                                              \
        forward_pair(n, &f);                                                                       \
    }                                                                                              \
    static void backward_##name(struct grad_node *n)                                               \
    {                                                                                              \
        backward_pair(n, &f);                                                                      \
    }                                                                                              \
    const struct grad_op pith_grad_##name = {.op = number,                                         \
                                             .layout = GRAD_EITHER,                                \
                                             .sets = true,                                         \
                                             .runs = true,                                         \
                                             .forward = forward_##name,                            \
                                             .backward = backward_##name}

PAIR(add, PITH_OP_ADD, sum);
PAIR(sub, PITH_OP_SUB, difference);
PAIR(mul, PITH_OP_MUL, product);
PAIR(div, PITH_OP_DIV, quotient);
PAIR(power, PITH_OP_POWER, power);
PAIR(prelu, PITH_OP_PRELU, prelu);

/* ---- Where ----------------------------------------------------------------------------------- */

struct choice {
    const uint8_t *condition;
    uint8_t takes;
    const float *dy;
    float *to;
};

static void choice_row(void *arg, size_t out, const size_t *at, const size_t *step, size_t n)
{
    const struct choice *c = arg;
    for (size_t i = 0; i < n; i++)
        if ((c->condition[at[0] + i * step[0]] != 0) == c->takes)
            c->to[at[1] + i * step[1]] += c->dy[out + i];
}

static void backward_where(struct grad_node *n)
{
    for (uint32_t i = 1; i < 3; i++) {
        if (!n->in[i]->grad)
            continue;
        const struct tape_tensor *operand[] = {n->in[0], n->in[i]};
        struct broadcast_walk w;
        struct choice c = {n->in[0]->data, i == 1, n->out[0]->grad, n->in[i]->grad};
        pith_broadcast_walk(&w, n->out[0], operand, 2);
        pith_broadcast_rows(&w, choice_row, &c);
    }
}

const struct grad_op pith_grad_where = {.op = PITH_OP_WHERE, .backward = backward_where};

/* ---- Min, Max, Sum, Mean --------------------------------------------------------------------- */

struct one_of {
    const float *x, *y, *dy;
    float *dx;
    uint8_t *taken; /* [outputs]: the first of equals gets it all; NULL: everybody gets `share` */
    float share;
};

static void one_of_row(void *arg, size_t out, const size_t *at, const size_t *step, size_t n)
{
    const struct one_of *s = arg;
    for (size_t i = 0; i < n; i++) {
        size_t k = at[0] + i * step[0], o = out + i;
        bool gets = !s->taken || (!s->taken[o] && s->x[k] == s->y[o]);
        if (!gets)
            continue;
        if (s->taken)
            s->taken[o] = 1;
        if (s->dx)
            s->dx[k] += s->dy[o] * s->share;
    }
}

static bool chooses(const struct grad_node *n)
{
    return n->attr[ATTR_KIND] == VARIADIC_MIN || n->attr[ATTR_KIND] == VARIADIC_MAX;
}

static enum pith_status prepare_variadic(struct grad_node *n, uint64_t *scratch_bytes)
{
    *scratch_bytes = chooses(n) ? grad_count(n->out[0]) : 0;
    return PITH_OK;
}

static void backward_variadic(struct grad_node *n)
{
    struct one_of s = {.y = n->out[0]->data, .dy = n->out[0]->grad, .share = 1.0f};
    if (n->attr[ATTR_KIND] == VARIADIC_MEAN)
        s.share = 1.0f / (float)n->n_in;
    if (chooses(n))
        s.taken = memset(n->scratch, 0, grad_count(n->out[0]));
    for (uint32_t i = 0; i < n->n_in; i++) {
        const struct tape_tensor *operand[] = {n->in[i]};
        struct broadcast_walk w;
        s.x = n->in[i]->data;
        s.dx = n->in[i]->grad;
        if (!s.dx && !s.taken)
            continue;
        pith_broadcast_walk(&w, n->out[0], operand, 1);
        pith_broadcast_rows(&w, one_of_row, &s);
    }
}

const struct grad_op pith_grad_variadic = {
    .op = PITH_OP_VARIADIC, .prepare = prepare_variadic, .backward = backward_variadic};
