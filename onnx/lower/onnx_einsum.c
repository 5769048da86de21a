/* SPDX-License-Identifier: MIT */
/* onnx_einsum.c - Einsum as what the runtime has: matrix products between transpositions and
 * reshapes. Operands are joined two at a time, from the left; labels that occur nowhere else are
 * summed away first. Each label of such a pair is then one of
 *
 *     batch   in both and in the result             K   in both, summed away
 *     M       in the first and the result           N   in the second and the result
 *
 *     a -> [batch.., M.., K..] -> [batch.., m, k]
 *     b -> [batch.., K.., N..] -> [batch.., k, n]     y = a b -> [batch.., M.., N..] -> result
 *
 * "..." stands for labels that no letter has, the same ones counted from the last. Of a label that
 * stands twice in an operand the diagonal is taken: all else becomes 0 and is summed away. Steps
 * that change nothing are left out, constant operands are folded. */
#include "onnx/graph/onnx_step.h"
#include "op_interface/op_attr.h"

enum { MAX_OPERANDS = 8, MAX_TEXT = 256 };

struct term {
    uint32_t n;
    char label[PITH_MAX_RANK]; /* a letter, or 1..PITH_MAX_RANK of "..." */
};

struct equation {
    uint32_t n_in;
    struct term in[MAX_OPERANDS], out;
    uint32_t n_dots; /* axes of the longest "..." */
};

struct operand {
    struct term t;
    uint32_t value;
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
    if (t->n == PITH_MAX_RANK)
        return refuse(l, "an operand of so many labels");
    t->label[t->n++] = c;
    return PITH_OK;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* One operand of the text, [from, to); "..." stands for n_dots axes. */
static enum pith_status parse_term(struct onnx_lower *l, const char *from, const char *to,
                                   uint32_t n_dots, struct term *t)
{
    bool dotted = false;
    enum pith_status status = PITH_OK;
    for (const char *p = from; p < to && !status; p++) {
        if (is_letter(*p)) {
            status = add_label(l, t, *p);
        } else if (*p == '.' && !dotted && to - p >= 3 && p[1] == '.' && p[2] == '.') {
            dotted = true;
            p += 2;
            for (uint32_t i = 0; i < n_dots && !status; i++)
                status = add_label(l, t, (char)(PITH_MAX_RANK - n_dots + 1 + i));
        } else {
            status = refuse(l, "this equation");
        }
    }
    return status;
}

/* Axes that "..." has in an operand of `rank` axes. */
static uint32_t dots_of(const char *from, const char *to, uint32_t rank)
{
    uint32_t n_letters = 0;
    bool dotted = false;
    for (const char *p = from; p < to; p++) {
        n_letters += is_letter(*p);
        dotted = dotted || *p == '.';
    }
    return dotted && rank > n_letters ? rank - n_letters : 0;
}

/* Without "->" the output has what "..." stands for, then the labels that stand once, in
 * alphabetical order. */
static enum pith_status implicit_output(struct onnx_lower *l, struct equation *e)
{
    enum pith_status status = PITH_OK;
    for (uint32_t i = 0; i < e->n_dots && !status; i++)
        status = add_label(l, &e->out, (char)(PITH_MAX_RANK - e->n_dots + 1 + i));
    for (int c = 'A'; c <= 'z' && !status; c++) {
        uint32_t times = 0;
        for (uint32_t i = 0; i < e->n_in; i++)
            for (uint32_t k = 0; k < e->in[i].n; k++)
                times += e->in[i].label[k] == (char)c;
        if (times == 1)
            status = add_label(l, &e->out, (char)c);
    }
    return status;
}

/* The equation without its spaces. */
static enum pith_status read_text(struct onnx_lower *l, char text[MAX_TEXT])
{
    const Onnx__AttributeProto *a = pith_onnx_attr(l, "equation");
    size_t n = 0;
    if (!a || !a->has_s)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "attribute equation is missing");
    if (a->s.len >= MAX_TEXT)
        return refuse(l, "so long an equation");
    for (size_t i = 0; i < a->s.len; i++)
        if (a->s.data[i] != ' ')
            text[n++] = (char)a->s.data[i];
    text[n] = 0;
    return PITH_OK;
}

static enum pith_status parse(struct onnx_lower *l, struct equation *e)
{
    char text[MAX_TEXT];
    *e = (struct equation){0};
    enum pith_status status = read_text(l, text);
    if (status)
        return status;
    const char *arrow = strstr(text, "->"), *end = arrow ? arrow : text + strlen(text);
    for (const char *p = text; p <= end && !status; e->n_in++) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        const char *to = comma ? comma : end;
        if (e->n_in == MAX_OPERANDS)
            return refuse(l, "an equation of so many operands");
        if (!pith_onnx_has_input(l, e->n_in))
            return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "%u inputs for a longer equation",
                                       l->n_in);
        uint32_t n_dots = dots_of(p, to, pith_onnx_in_shape(l, e->n_in)->rank);
        e->n_dots = n_dots > e->n_dots ? n_dots : e->n_dots;
        status = parse_term(l, p, to, n_dots, &e->in[e->n_in]);
        p = to + 1;
    }
    if (status)
        return status;
    return arrow ? parse_term(l, arrow + 2, arrow + strlen(arrow), e->n_dots, &e->out)
                 : implicit_output(l, e);
}

/* Operands fit their terms, and every label of the output is in one of them. */
static enum pith_status check(struct onnx_lower *l, const struct equation *e)
{
    if (l->n_in != e->n_in)
        return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "%u inputs for an equation of %u", l->n_in,
                                   e->n_in);
    for (uint32_t i = 0; i < e->n_in; i++)
        if (pith_onnx_in_shape(l, i)->rank != e->in[i].n)
            return pith_onnx_node_fail(l, PITH_ERR_CORRUPT,
                                       "input %u does not have the %u dims of the equation", i,
                                       e->in[i].n);
    for (uint32_t k = 0; k < e->out.n; k++) {
        struct term before = e->out;
        bool found = false;
        before.n = k;
        if (has_label(&before, e->out.label[k]))
            return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "output label '%c' occurs twice",
                                       e->out.label[k]);
        for (uint32_t i = 0; i < e->n_in; i++)
            found = found || has_label(&e->in[i], e->out.label[k]);
        if (!found)
            return pith_onnx_node_fail(l, PITH_ERR_CORRUPT, "output label '%c' is in no operand",
                                       e->out.label[k]);
    }
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

/* o with its axes in the order `to`, which has the same labels. */
static uint32_t in_order(struct onnx_steps *s, const struct operand *o, const struct term *to)
{
    int32_t perm[PITH_MAX_RANK] = {0};
    if (to->n == 0 || memcmp(o->t.label, to->label, to->n) == 0)
        return o->value;
    for (uint32_t i = 0; i < to->n; i++)
        for (uint32_t k = 0; k < o->t.n; k++)
            if (o->t.label[k] == to->label[i])
                perm[i] = (int32_t)k;
    return pith_step_transpose(s, o->value, to->n, perm);
}

/* Sums away the labels of o that neither `a` nor `b` has. */
static void sum_unneeded(struct onnx_steps *s, struct operand *o, const struct term *a,
                         const struct term *b)
{
    struct step_attr attr[2 + PITH_LIST_SLOTS] = {{ATTR_KIND, REDUCE_SUM},
                                                  {ATTR_REDUCE_KIND_KEEP, 0}};
    struct term left = {0};
    uint32_t n = 0;
    for (uint32_t i = 0; i < o->t.n; i++) {
        if (has_label(a, o->t.label[i]) || has_label(b, o->t.label[i])) {
            left.label[left.n++] = o->t.label[i];
        } else {
            attr[3 + n] = (struct step_attr){ATTR_REDUCE_KIND_AXES + 1 + n, (int32_t)i};
            n++;
        }
    }
    attr[2] = (struct step_attr){ATTR_REDUCE_KIND_AXES, (int32_t)n};
    if (n == 0)
        return;
    o->value = pith_step(s, PITH_OP_REDUCE, 1, &o->value, 3 + n, attr);
    o->t = left;
}

/* 1 where axes i and k of a tensor of this shape have the same index. */
static uint32_t diagonal_mask(struct onnx_steps *s, const struct shape *shape, uint32_t i,
                              uint32_t k)
{
    uint32_t dims[PITH_MAX_RANK], n = shape->dim[i];
    void *data;
    for (uint32_t axis = 0; axis < shape->rank; axis++)
        dims[axis] = axis == i || axis == k ? n : 1;
    uint32_t mask = pith_step_constant(s, PITH_BOOL, shape->rank, dims, &data);
    for (size_t at = 0; data && at < n; at++)
        ((uint8_t *)data)[at * n + at] = 1;
    return mask;
}

/* Leaves each label once. */
static void take_diagonals(struct onnx_steps *s, struct operand *o)
{
    for (uint32_t k = 1; k < o->t.n && !s->status; k++) {
        struct shape shape = s->l->im->values[o->value].shape;
        const char *first = memchr(o->t.label, o->t.label[k], k);
        uint32_t i = first ? (uint32_t)(first - o->t.label) : 0;
        if (!first)
            continue;
        if (shape.dim[i] != shape.dim[k]) {
            s->status = pith_onnx_node_fail(s->l, PITH_ERR_CORRUPT, "label '%c' is of %u and of %u",
                                            *first, shape.dim[i], shape.dim[k]);
            return;
        }
        const uint32_t in[3] = {diagonal_mask(s, &shape, i, k), o->value,
                                pith_step_scalar(s, 0.0f)};
        const struct step_attr attr[] = {{ATTR_KIND, REDUCE_SUM},
                                         {ATTR_REDUCE_KIND_KEEP, 0},
                                         {ATTR_REDUCE_KIND_AXES, 1},
                                         {ATTR_REDUCE_KIND_AXES + 1, (int32_t)k}};
        uint32_t kept = pith_step(s, PITH_OP_WHERE, 3, in, 0, NULL);
        o->value = pith_step(s, PITH_OP_REDUCE, 1, &kept, 4, attr);
        o->t.n--;
        memmove(o->t.label + k, o->t.label + k + 1, o->t.n - k);
        k--;
    }
}

/* Product of o's dims of `labels`: at most the elements of a tensor. */
static uint64_t size_of(const struct onnx_steps *s, const struct operand *o,
                        const struct term *labels)
{
    const struct shape *shape = &s->l->im->values[o->value].shape;
    uint64_t size = 1;
    for (uint32_t k = 0; k < o->t.n; k++)
        if (has_label(labels, o->t.label[k]))
            size *= shape->dim[k];
    return size;
}

static int32_t as_dim(struct onnx_steps *s, uint64_t size)
{
    if (size > INT32_MAX && !s->status)
        s->status = refuse(s->l, "an equation of so large operands");
    return s->status ? 1 : (int32_t)size;
}

/* o to [batch.., rows, columns]; the size that is not K is what is left. */
static uint32_t as_matrix(struct onnx_steps *s, const struct operand *o, const struct term *batch,
                          const struct term *rows, const struct term *columns, bool first)
{
    struct term lead = joined(batch, rows), all = joined(&lead, columns);
    uint32_t value = in_order(s, o, &all);
    if (s->status || (rows->n == 1 && columns->n == 1))
        return value;
    int32_t dims[PITH_MAX_RANK + 2] = {0}; /* 0: the batch's, as they are */
    dims[batch->n] = first ? -1 : as_dim(s, size_of(s, o, rows));
    dims[batch->n + 1] = first ? as_dim(s, size_of(s, o, columns)) : -1;
    return pith_step_reshape(s, value, batch->n + 2, dims);
}

/* Labels of an operand. */
struct part {
    const struct operand *o;
    const struct term *t;
};

/* [batch.., m, n] to [batch.., M.., N..]: the first M is what is left, it may be the open batch. */
static uint32_t spread(struct onnx_steps *s, struct part a, struct part b, uint32_t n_batch,
                       uint32_t value)
{
    const uint32_t m = a.t->n;
    int32_t dims[PITH_MAX_RANK] = {0};
    uint32_t rank = n_batch;
    if (m == 1 && b.t->n == 1)
        return value;
    for (uint32_t i = 0; i < m + b.t->n; i++) {
        struct term one = {1, {i < m ? a.t->label[i] : b.t->label[i - m]}};
        dims[rank++] = i == 0 && m > 0 ? -1 : as_dim(s, size_of(s, i < m ? a.o : b.o, &one));
    }
    return pith_step_reshape(s, value, rank, dims);
}

/* a is a constant and b has the open batch, which is in front when a is the second operand. */
static bool must_exchange(const struct onnx_steps *s, const struct operand *a,
                          const struct operand *b)
{
    const struct onnx_value *values = s->l->im->values;
    return !s->status && values[a->value].constant && !values[b->value].constant &&
           values[b->value].varies;
}

/* a and b become a, with the labels of either that `wanted` has, in an order of its own. */
static void contract(struct onnx_steps *s, struct operand *a, struct operand *b,
                     const struct term *wanted)
{
    if (must_exchange(s, a, b)) {
        const struct operand first = *a;
        *a = *b;
        *b = first;
    }
    sum_unneeded(s, a, &b->t, wanted);
    sum_unneeded(s, b, &a->t, wanted);
    if (s->status)
        return;
    struct term batch = select(&a->t, &b->t, true, wanted, true);
    struct term k = select(&a->t, &b->t, true, wanted, false);
    struct term m = select(&a->t, &b->t, false, wanted, true);
    struct term n = select(&b->t, &a->t, false, wanted, true);
    if (batch.n + 2 > PITH_MAX_RANK || batch.n + m.n + n.n > PITH_MAX_RANK) {
        s->status = refuse(s->l, "an equation of so many labels");
        return;
    }
    uint32_t left = as_matrix(s, a, &batch, &m, &k, true);
    uint32_t right = as_matrix(s, b, &batch, &k, &n, false);
    struct onnx_lower sub;
    uint32_t in[2] = {left, right}, y;
    if (!s->status)
        s->status = pith_onnx_open_step(s->l, PITH_OP_MATMUL, false, &sub, &y);
    if (s->status)
        return;
    sub.in = in;
    sub.n_in = 2;
    s->status = pith_lower_matmul(&sub);
    if (!s->status && !sub.done)
        s->status = pith_onnx_finish(&sub);
    if (s->status)
        return;
    a->value = spread(s, (struct part){a, &m}, (struct part){b, &n}, batch.n,
                      pith_onnx_alias(s->l->im, y));
    struct term lead = joined(&batch, &m);
    a->t = joined(&lead, &n);
}

/* The labels that the output or an operand from `next` on has. */
static bool all_labels(const struct equation *e, uint32_t next, struct term *wanted,
                       const struct operand *a, const struct operand *b)
{
    *wanted = (struct term){0};
    for (uint32_t side = 0; side < 2; side++) {
        const struct term *t = side ? &b->t : &a->t;
        for (uint32_t i = 0; i < t->n; i++) {
            bool needed = has_label(&e->out, t->label[i]);
            for (uint32_t k = next; k < e->n_in; k++)
                needed = needed || has_label(&e->in[k], t->label[i]);
            if (!needed || has_label(wanted, t->label[i]))
                continue;
            if (wanted->n == PITH_MAX_RANK)
                return false;
            wanted->label[wanted->n++] = t->label[i];
        }
    }
    return true;
}

enum pith_status pith_lower_einsum(struct onnx_lower *l)
{
    struct equation e;
    struct onnx_steps s = {l, PITH_OK};
    enum pith_status status = parse(l, &e);
    if (!status)
        status = check(l, &e);
    if (status)
        return status;
    struct operand a = {e.in[0], l->in[0]};
    take_diagonals(&s, &a);
    for (uint32_t i = 1; i < e.n_in && !s.status; i++) {
        struct operand b = {e.in[i], l->in[i]};
        struct term wanted;
        take_diagonals(&s, &b);
        if (!all_labels(&e, i + 1, &wanted, &a, &b))
            return refuse(l, "an equation of so many labels");
        contract(&s, &a, &b, &wanted);
    }
    if (!s.status)
        sum_unneeded(&s, &a, &e.out, &e.out);
    return pith_step_result(&s, 0, s.status ? ONNX_VALUE_NONE : in_order(&s, &a, &e.out));
}
