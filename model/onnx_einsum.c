/* SPDX-License-Identifier: MIT */
/* onnx_einsum.c - Einsum of one or two operands as what the runtime has: one matrix product between
 * transpositions and reshapes. Each label of the equation is one of
 *
 *     batch   in both operands and the output        K   in both operands, summed away
 *     M       in the first and the output            N   in the second and the output
 *
 *     a -> [batch.., M.., K..] -> [batch.., m, k]
 *     b -> [batch.., K.., N..] -> [batch.., k, n]     y = a b -> [batch.., M.., N..] -> output
 *
 * Steps that change nothing are left out, constant operands are folded. Not taken: "...", a label
 * twice in one operand, a label summed over within one operand. */
#include "onnx.h"

#include <stdio.h>

struct term {
    uint32_t n;
    char label[PITH_MAX_RANK];
};

struct equation {
    uint32_t n_in;
    struct term in[2], out;
};

static bool has_label(const struct term *t, char c)
{
    return t->n > 0 && memchr(t->label, c, t->n) != NULL;
}

static enum pith_status refuse(struct onnx_lower *l, const char *what)
{
    return pith_onnx_node_fail(l, PITH_ERR_UNSUPPORTED,
                               "%s: rewrite it as MatMul and Transpose before export", what);
}

static enum pith_status add_label(struct onnx_lower *l, struct term *t, char c)
{
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter)
        return refuse(l, c == '.' ? "an equation with '...'" : "this equation");
    if (has_label(t, c) || t->n == PITH_MAX_RANK)
        return refuse(l, "a label that stands twice in one operand");
    t->label[t->n++] = c;
    return PITH_OK;
}

/* Without "->" the output has the labels that stand once, in alphabetical order. */
static void implicit_output(struct equation *e)
{
    for (int c = 'A'; c <= 'z'; c++) {
        bool a = has_label(&e->in[0], (char)c), b = has_label(&e->in[1], (char)c);
        if (a != b && e->out.n < PITH_MAX_RANK)
            e->out.label[e->out.n++] = (char)c;
    }
}

static enum pith_status parse(struct onnx_lower *l, struct equation *e)
{
    const Onnx__AttributeProto *a = pith_onnx_attr(l, "equation");
    if (!a || !a->has_s)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "attribute equation is missing");
    *e = (struct equation){.n_in = 1};
    bool arrow = false;
    enum pith_status status = PITH_OK;
    for (size_t i = 0; i < a->s.len && !status; i++) {
        char c = (char)a->s.data[i];
        if (c == ' ')
            continue;
        if (c == '-' && !arrow && i + 1 < a->s.len && a->s.data[i + 1] == '>') {
            arrow = true;
            i++;
        } else if (c == ',' && !arrow) {
            if (e->n_in++ == 2)
                return refuse(l, "an equation of more than two operands");
        } else {
            status = add_label(l, arrow ? &e->out : &e->in[e->n_in - 1], c);
        }
    }
    if (!status && !arrow)
        implicit_output(e);
    return status;
}

/* Operands fit their terms; every label is summed between the two operands or kept. */
static enum pith_status check(struct onnx_lower *l, const struct equation *e)
{
    if (l->n_in != e->n_in)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "%u inputs for an equation of %u", l->n_in,
                                   e->n_in);
    for (uint32_t i = 0; i < e->n_in; i++) {
        if (!pith_onnx_has_input(l, i) || pith_onnx_in_shape(l, i)->rank != e->in[i].n)
            return pith_onnx_node_fail(
                l, PITH_ERR_CORRUPT, "input %u has not the %u dims of the equation", i, e->in[i].n);
        for (uint32_t k = 0; k < e->in[i].n; k++) {
            char c = e->in[i].label[k];
            if (!has_label(&e->out, c) && !has_label(&e->in[1 - i], c))
                return refuse(l, "a sum within one operand");
        }
    }
    for (uint32_t k = 0; k < e->out.n; k++)
        if (!has_label(&e->in[0], e->out.label[k]) && !has_label(&e->in[1], e->out.label[k]))
            return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "output label '%c' is in no operand",
                                       e->out.label[k]);
    return PITH_OK;
}

/* The labels of `from` that are (not) in a and (not) in b, in the order of `from`. */
static struct term select(const struct term *from, const struct term *a, bool in_a,
                          const struct term *b, bool in_b)
{
    struct term t = {0};
    for (uint32_t i = 0; i < from->n; i++)
        if (has_label(a, from->label[i]) == in_a && has_label(b, from->label[i]) == in_b)
            t.label[t.n++] = from->label[i];
    return t;
}

static struct term joined(const struct term *a, const struct term *b)
{
    struct term t = *a;
    for (uint32_t i = 0; i < b->n && t.n < PITH_MAX_RANK; i++)
        t.label[t.n++] = b->label[i];
    return t;
}

/* A name for what stands between; the label may be that of the output. */
static const char *step_name(struct onnx_lower *l)
{
    size_t room = strlen(l->label) + sizeof ".step";
    char *name = pith_onnx_alloc(&l->im->budget, room, 1);
    if (name)
        snprintf(name, room, "%s.step", l->label);
    return name;
}

/* One node of another operator: its inputs are in sub->in; *out: its output, a new value unless
 * `last`, when it is the Einsum's own. */
static enum pith_status open_step(struct onnx_lower *l, enum pith_op op, bool last,
                                  struct onnx_lower *sub, uint32_t *out)
{
    *sub = *l;
    sub->info = pith_op_get(op);
    sub->n_in = 1;
    pith_op_attr_defaults(sub->info, sub->attr);
    const char *name = last ? "" : step_name(l);
    *out = last ? l->first_out : name ? pith_onnx_add_value(l->im, name) : ONNX_VALUE_NONE;
    sub->first_out = *out;
    return *out == ONNX_VALUE_NONE ? pith_onnx_no_memory(l->im) : PITH_OK;
}

/* *value, whose axes are `from`, with its axes as `to`. */
static enum pith_status transpose(struct onnx_lower *l, const struct term *from,
                                  const struct term *to, bool last, uint32_t *value)
{
    struct onnx_lower sub;
    uint32_t in = *value;
    if (!last && (from->n == 0 || memcmp(from->label, to->label, from->n) == 0))
        return PITH_OK;
    enum pith_status status = open_step(l, PITH_OP_TRANSPOSE, last, &sub, value);
    sub.in = &in;
    sub.attr[ATTR_PERM] = (int32_t)to->n;
    for (uint32_t i = 0; i < to->n; i++)
        for (uint32_t k = 0; k < from->n; k++)
            if (from->label[k] == to->label[i])
                sub.attr[ATTR_PERM + 1 + i] = (int32_t)k;
    return status ? status : pith_onnx_finish(&sub);
}

static enum pith_status reshape(struct onnx_lower *l, uint32_t n, const int64_t *dims,
                                uint32_t *value)
{
    struct onnx_lower sub;
    uint32_t in = *value;
    enum pith_status status = open_step(l, PITH_OP_RESHAPE, false, &sub, value);
    sub.in = &in;
    if (!status)
        status = pith_onnx_set_ints(&sub, "shape", ATTR_RESHAPE_DIMS, dims, n);
    return status ? status : pith_onnx_finish(&sub);
}

/* Product of the dims of `labels` in operand i. */
static int64_t size_of(const struct onnx_lower *l, const struct equation *e, uint32_t i,
                       const struct term *labels)
{
    const struct shape *s = pith_onnx_in_shape(l, i);
    int64_t size = 1; /* at most the elements of a tensor */
    for (uint32_t k = 0; k < e->in[i].n; k++)
        if (has_label(labels, e->in[i].label[k]))
            size *= s->dim[k];
    return size;
}

/* Operand i to [batch.., rows, columns]; the size that is not K is what is left. */
static enum pith_status as_matrix(struct onnx_lower *l, const struct equation *e, uint32_t i,
                                  const struct term *batch, const struct term *rows,
                                  const struct term *columns, uint32_t *value)
{
    struct term lead = joined(batch, rows), all = joined(&lead, columns);
    enum pith_status status = transpose(l, &e->in[i], &all, false, value);
    if (status || (rows->n == 1 && columns->n == 1))
        return status;
    int64_t dims[PITH_MAX_RANK + 2] = {0}; /* 0: the batch's, as they are */
    dims[batch->n] = i == 0 ? -1 : size_of(l, e, i, rows);
    dims[batch->n + 1] = i == 0 ? size_of(l, e, i, columns) : -1;
    return reshape(l, batch->n + 2, dims, value);
}

static enum pith_status multiply(struct onnx_lower *l, uint32_t a, uint32_t b, uint32_t *value)
{
    struct onnx_lower sub;
    uint32_t in[2] = {a, b};
    enum pith_status status = open_step(l, PITH_OP_MATMUL, false, &sub, value);
    sub.in = in;
    sub.n_in = 2;
    if (!status)
        status = pith_lower_matmul(&sub);
    return status ? status : pith_onnx_finish(&sub);
}

/* [batch.., m, n] to [batch.., M.., N..]: the first M is what is left, it may be the open batch. */
static enum pith_status spread(struct onnx_lower *l, const struct equation *e,
                               const struct term *batch, const struct term *m, const struct term *n,
                               uint32_t *value)
{
    int64_t dims[PITH_MAX_RANK] = {0};
    uint32_t rank = batch->n;
    if (m->n == 1 && n->n == 1)
        return PITH_OK;
    for (uint32_t i = 0; i < m->n; i++) {
        struct term one = {1, {m->label[i]}};
        dims[rank++] = i == 0 ? -1 : size_of(l, e, 0, &one);
    }
    for (uint32_t i = 0; i < n->n; i++) {
        struct term one = {1, {n->label[i]}};
        dims[rank++] = size_of(l, e, 1, &one);
    }
    return reshape(l, rank, dims, value);
}

enum pith_status pith_lower_einsum(struct onnx_lower *l)
{
    struct equation e;
    enum pith_status status = parse(l, &e);
    if (!status)
        status = check(l, &e);
    if (status)
        return status;
    l->done = true;
    uint32_t a = l->in[0], b, y;
    if (e.n_in == 1)
        return transpose(l, &e.in[0], &e.out, true, &a);
    struct term batch = select(&e.out, &e.in[0], true, &e.in[1], true);
    struct term k = select(&e.in[0], &e.in[1], true, &e.out, false);
    struct term m = select(&e.in[0], &e.in[1], false, &e.out, true);
    struct term n = select(&e.in[1], &e.in[0], false, &e.out, true);
    if (batch.n + 2 > PITH_MAX_RANK)
        return refuse(l, "an equation of so many batch labels");
    b = l->in[1];
    status = as_matrix(l, &e, 0, &batch, &m, &k, &a);
    if (!status)
        status = as_matrix(l, &e, 1, &batch, &k, &n, &b);
    if (!status)
        status = multiply(l, a, b, &y);
    if (!status)
        status = spread(l, &e, &batch, &m, &n, &y);
    struct term lead = joined(&batch, &m), all = joined(&lead, &n);
    return status ? status : transpose(l, &all, &e.out, true, &y);
}
