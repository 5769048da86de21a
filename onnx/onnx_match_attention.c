/* SPDX-License-Identifier: MIT */
/* onnx_match_attention.c - attention, however exporters write it:
 *
 *     q [B,H,M,D] --MatMul-- (+ mask | Where mask)* -- Softmax -- (Where) --MatMul-- y [B,H,M,E]
 *     k [B,H,D,N] -'                                                v [B,H,N,E] -'
 *
 * with factors anywhere on q, k and the scores; with batch and heads as one axis anywhere; with
 * bytes between the steps where a file is quantized (onnx_patterns.c).
 *
 * What an operand is made of by Transpose, Reshape, Expand and their like is followed down as a
 * list of (count, step) over the elements of each value on the way. The last value of rank 4 whose
 * list is one that the operator reads by itself is its operand: heads first or rows first, heads
 * repeated for groups of queries or not.
 *
 * Several masks become one, which layers share. */
#include "onnx/graph/onnx_step.h"
#include "onnx_patterns.h"
#include "op_interface/broadcast.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_exec.h"

#include <math.h>

#define PATH 16u  /* values on the way from an operand down */
#define PARTS 24u /* of a list of counts and steps */
#define MASKS 4u
#define ABSORBS -1e9f /* what is added to it does not matter beside scores that are seen */

static const int32_t swap_heads[4] = {0, 2, 1, 3};

static const struct shape *shape_of(const struct matcher *m, uint32_t value, bool other)
{
    const struct onnx_value *v = &m->im->values[value];
    return other ? pith_onnx_other_shape(v) : &v->shape;
}

/* Its axis i is axis perm[i] of what it reads. */
static bool has_perm(const struct onnx_node *node, const int32_t perm[4])
{
    if (!node || attr_count(node->attr, ATTR_PERM) != 4)
        return false;
    for (uint32_t i = 0; i < 4; i++)
        if (node->attr[ATTR_PERM + 1 + i] != perm[i])
            return false;
    return true;
}

static bool is_view(const struct onnx_node *node)
{
    return node->info->flags & OP_VIEW && node->n_in == 1;
}

/* ---- counts and steps -------------------------------------------------------------------- */

struct part {
    uint64_t n, step; /* step 0: the same element again */
};

/* The elements of a value, the last part fastest, over those of another. */
struct reading {
    uint32_t n;
    struct part part[PARTS];
};

static bool add_part(struct reading *r, uint64_t n, uint64_t step)
{
    if (n == 1)
        return true;
    struct part *last = r->n ? &r->part[r->n - 1] : NULL;
    if (last && last->step == step * n) {
        last->n *= n;
        last->step = step;
        return true;
    }
    if (r->n == PARTS)
        return false;
    r->part[r->n++] = (struct part){n, step};
    return true;
}

/* r by the axes of a shape: axis i is parts first[i] .. first[i + 1] - 1 of *to. */
static bool cut_axes(const struct reading *r, const struct shape *s, struct reading *to,
                     uint32_t first[PITH_MAX_RANK + 1])
{
    struct reading from = *r;
    uint32_t at = 0;
    to->n = 0;
    for (uint32_t i = 0; i < s->rank; i++) {
        uint64_t need = s->dim[i];
        first[i] = to->n;
        while (need > 1) {
            if (at == from.n || to->n == PARTS)
                return false;
            struct part *p = &from.part[at];
            if (need % p->n == 0) {
                need /= p->n;
                to->part[to->n++] = *p;
                at++;
            } else if (p->n % need == 0) {
                p->n /= need;
                to->part[to->n++] = (struct part){need, p->step * p->n};
                need = 1;
            } else {
                return false;
            }
        }
    }
    first[s->rank] = to->n;
    return at == from.n;
}

static bool add_axis(struct reading *r, const struct reading *cut, const uint32_t *first,
                     uint32_t axis)
{
    for (uint32_t k = first[axis]; k < first[axis + 1]; k++)
        if (!add_part(r, cut->part[k].n, cut->part[k].step))
            return false;
    return true;
}

/* r, of a value of shape x, becomes that of Transpose's output. */
static bool turn(struct reading *r, const struct shape *x, const int32_t *perm)
{
    struct reading cut;
    uint32_t first[PITH_MAX_RANK + 1];
    if (!cut_axes(r, x, &cut, first))
        return false;
    r->n = 0;
    for (uint32_t i = 0; i < x->rank; i++)
        if (!add_axis(r, &cut, first, perm ? (uint32_t)perm[i] : x->rank - 1 - i))
            return false;
    return true;
}

/* r, of a value of shape x, becomes that of what repeats axes of 1. */
static bool expand(struct reading *r, const struct shape *x, const struct shape *y)
{
    struct reading cut;
    uint32_t first[PITH_MAX_RANK + 1];
    if (y->rank < x->rank || !cut_axes(r, x, &cut, first))
        return false;
    r->n = 0;
    for (uint32_t i = 0; i < y->rank; i++) {
        const uint32_t more = y->rank - x->rank, dim = i < more ? 1 : x->dim[i - more];
        if (dim != y->dim[i] && dim != 1)
            return false;
        if (dim != y->dim[i] ? !add_part(r, y->dim[i], 0)
                             : i >= more && !add_axis(r, &cut, first, i - more))
            return false;
    }
    return true;
}

/* ---- operands ---------------------------------------------------------------------------- */

/* The values from an operand down to what views and factors made it of. */
struct path {
    uint32_t n;
    uint32_t value[PATH];
    const struct onnx_node *made[PATH]; /* value[i] of value[i + 1] */
    float scale[PATH];                  /* of the factors above value[i] */
    uint32_t bytes;                     /* from here on values are bytes; n: none */
};

/* Multiplication or division by a constant: the other operand. */
static bool is_factor(struct matcher *m, const struct onnx_node *node, float *factor, uint32_t *of)
{
    const enum pith_op op = node->info->op;
    for (uint32_t i = 0; i < 2 && (op == PITH_OP_MUL || op == PITH_OP_DIV); i++) {
        if ((op == PITH_OP_DIV && i == 1) || !pith_match_scalar(m, node->in[1 - i], factor) ||
            shape_of(m, node->in[i], false)->rank != shape_of(m, node->out[0], false)->rank)
            continue;
        *of = node->in[i];
        *factor = op == PITH_OP_DIV ? 1.0f / *factor : *factor;
        return true;
    }
    return false;
}

/* Bytes of one grid that nothing else reads. */
static bool is_real(const struct matcher *m, const struct onnx_node *node)
{
    return node->info->op == PITH_OP_DEQUANTIZE &&
           shape_elems(shape_of(m, node->in[1], false)) == 1 && m->n_uses[node->in[0]] == 1;
}

static void follow(struct matcher *m, uint32_t value, struct path *p)
{
    float scale = 1.0f, factor;
    *p = (struct path){.bytes = PATH};
    while (p->n < PATH) {
        const struct onnx_node *node = pith_match_source(m, value);
        uint32_t next = ONNX_VALUE_NONE;
        p->value[p->n] = value;
        p->scale[p->n] = scale;
        p->made[p->n++] = node;
        if (!node)
            return;
        if (is_view(node) || node->info->op == PITH_OP_TRANSPOSE || node->info->op == PITH_OP_TILE)
            next = node->in[0];
        else if (p->bytes == PATH && is_factor(m, node, &factor, &next))
            scale *= factor;
        else if (p->bytes == PATH && is_real(m, node)) {
            next = node->in[0];
            p->bytes = p->n;
        }
        if (next == ONNX_VALUE_NONE || m->im->values[next].constant)
            return;
        value = next;
    }
}

/* How value 0 of the path reads value `last`. */
static bool reads(const struct matcher *m, const struct path *p, uint32_t last, bool other,
                  struct reading *r)
{
    r->n = 0;
    add_part(r, shape_elems(shape_of(m, p->value[last], other)), 1);
    for (uint32_t i = last; i-- > 0;) {
        const struct onnx_node *node = p->made[i];
        const struct shape *x = shape_of(m, p->value[i + 1], other);
        const int32_t *perm = attr_count(node->attr, ATTR_PERM) ? node->attr + ATTR_PERM + 1 : NULL;
        if (node->info->op == PITH_OP_TRANSPOSE && !turn(r, x, perm))
            return false;
        if (node->info->op == PITH_OP_TILE && !expand(r, x, shape_of(m, p->value[i], other)))
            return false;
    }
    return true;
}

/* A value of rank 3 has one head, and an axis for it is put in. */
static bool four_axes(const struct shape *s, uint32_t dim[4])
{
    if (s->rank != 3 && s->rank != 4)
        return false;
    for (uint32_t i = 0; i < 4; i++)
        dim[i] = s->rank == 4 ? s->dim[i] : i == 1 ? 1 : s->dim[i - (i > 0)];
    return true;
}

struct operand {
    struct path path;
    uint32_t at;   /* of the path: the value that the operator reads */
    bool is_first; /* rows before heads */
};

/* Element [b, h, t, d] of the operand, of the shape that the product reads, is that of value `at`,
 * whose heads may each stand for `times` ones. turned: the product reads [.., d, t]. */
static bool is_operand(const struct matcher *m, const struct operand *o, uint32_t at,
                       bool rows_first, bool turned, bool other)
{
    struct reading r, want = {0};
    struct shape s = *shape_of(m, o->path.value[0], other);
    const struct shape *x = shape_of(m, o->path.value[at], other);
    uint32_t dim[4];
    if (!four_axes(x, dim) || (rows_first && x->rank == 3) || !reads(m, &o->path, at, other, &r))
        return false;
    const uint64_t elems = shape_elems(x), times = elems ? shape_elems(&s) / elems : 0;
    if (turned) {
        int32_t perm[4] = {0, 1, 2, 3};
        perm[s.rank - 2] = (int32_t)s.rank - 1;
        perm[s.rank - 1] = (int32_t)s.rank - 2;
        if (!turn(&r, &s, perm))
            return false;
        const uint32_t d = s.dim[s.rank - 2];
        s.dim[s.rank - 2] = s.dim[s.rank - 1];
        s.dim[s.rank - 1] = d;
    }
    const uint32_t h = rows_first ? dim[2] : dim[1], t = rows_first ? dim[1] : dim[2];
    const uint64_t row = rows_first ? (uint64_t)h * dim[3] : dim[3];
    const uint64_t head = rows_first ? dim[3] : (uint64_t)t * dim[3];
    const uint64_t before = s.rank == 4 ? (uint64_t)s.dim[0] * s.dim[1] : s.dim[0];
    add_part(&want, dim[0], (uint64_t)h * t * dim[3]);
    add_part(&want, h, head);
    add_part(&want, times, 0);
    add_part(&want, t, row);
    add_part(&want, dim[3], 1);
    return before == dim[0] * h * times && (s.rank == 3 || s.dim[0] == dim[0]) &&
           s.dim[s.rank - 2] == t && s.dim[s.rank - 1] == dim[3] && r.n == want.n &&
           memcmp(r.part, want.part, r.n * sizeof *r.part) == 0;
}

/* The furthest value of rank 4 that will do, else of rank 3. */
static bool take_operand(struct matcher *m, uint32_t value, bool turned, bool scaled,
                         struct operand *o)
{
    follow(m, value, &o->path);
    for (uint32_t rank = 4; rank >= 3; rank--)
        for (uint32_t at = o->path.n; at-- > 0;)
            for (uint32_t first = 0; first < 2; first++) {
                if (shape_of(m, o->path.value[at], false)->rank != rank ||
                    (!scaled && o->path.scale[at] != 1.0f) ||
                    !is_operand(m, o, at, first, turned, false) ||
                    !is_operand(m, o, at, first, turned, true))
                    continue;
                o->at = at;
                o->is_first = first;
                return true;
            }
    return false;
}

/* ---- scores and masks -------------------------------------------------------------------- */

struct mask {
    uint32_t value;
    uint32_t scores;    /* the value that is masked */
    bool chooses, keep; /* Where: true (keep) or false leaves the score; else it is added */
    float fill;
};

struct found {
    struct operand in[3]; /* q, k, v */
    float scale;
    uint32_t n_masks; /* the first is the last to be applied */
    struct mask mask[MASKS];
    uint32_t cleared; /* a condition: where it hides a score, the weight is 0; or none */
    bool clears_false;
};

/* Leading axes are cut or joined, and rows of scores stay what they are. */
static bool keeps_rows(const struct matcher *m, const struct onnx_node *node)
{
    for (uint32_t other = 0; other < 2; other++) {
        const struct shape *x = shape_of(m, node->in[0], other);
        const struct shape *y = shape_of(m, node->out[0], other);
        if (x->rank < 3 || y->rank < 3)
            return false;
        for (uint32_t i = 1; i <= 2; i++)
            if (x->dim[x->rank - i] != y->dim[y->rank - i])
                return false;
    }
    return is_view(node);
}

/* An added Where(condition, 0, low), or the other way round, is a choice. */
static void take_condition(struct matcher *m, struct mask *mask)
{
    const struct onnx_node *where = pith_match_maker(m, mask->value, PITH_OP_WHERE);
    float x[2];
    if (!where || mask->chooses || !pith_match_scalar(m, where->in[1], &x[0]) ||
        !pith_match_scalar(m, where->in[2], &x[1]))
        return;
    const bool keep = x[0] == 0.0f;
    if (x[!keep] != 0.0f || !(x[keep] <= ABSORBS))
        return;
    *mask = (struct mask){where->in[0], mask->scores, true, keep, x[keep]};
}

static bool take_scores(struct matcher *m, struct found *f, uint32_t value);

static bool take_masked(struct matcher *m, struct found *f, const struct onnx_node *node)
{
    const bool chooses = node->info->op == PITH_OP_WHERE;
    if (f->n_masks == MASKS || f->scale != 1.0f)
        return false;
    for (uint32_t i = 0; i < 2; i++) { /* the operand that is the scores */
        struct found with = *f;
        struct mask *mask = &with.mask[with.n_masks++];
        *mask = (struct mask){.value = node->in[chooses ? 0 : 1 - i],
                              .scores = node->out[0],
                              .chooses = chooses,
                              .keep = i == 0};
        if (chooses && !pith_match_scalar(m, node->in[2 - i], &mask->fill))
            continue;
        if (!take_scores(m, &with, node->in[chooses ? 1 + i : i]))
            continue;
        *f = with;
        return true;
    }
    return false;
}

/* value = scale q k^T, masked */
static bool take_scores(struct matcher *m, struct found *f, uint32_t value)
{
    for (uint32_t steps = 0; steps < PATH; steps++) {
        const struct onnx_node *node = pith_match_source(m, value);
        float factor;
        if (!node)
            return false;
        if (node->info->op == PITH_OP_ADD || node->info->op == PITH_OP_WHERE)
            return take_masked(m, f, node);
        if (node->info->op == PITH_OP_MATMUL) {
            const bool turned = !node->attr[ATTR_MATMUL_TRANS_B];
            struct operand *q = &f->in[0], *k = &f->in[1];
            if (!take_operand(m, node->in[0], false, true, q) ||
                !take_operand(m, node->in[1], turned, true, k))
                return false;
            f->scale *= q->path.scale[q->at] * k->path.scale[k->at];
            return true;
        }
        if (keeps_rows(m, node))
            value = node->in[0];
        else if (is_factor(m, node, &factor, &value))
            f->scale *= factor;
        else
            return false;
    }
    return false;
}

/* value = weights: the softmax of scores, 0 where a condition or a softmax of nothing says so. */
static const struct onnx_node *take_weights(struct matcher *m, struct found *f, uint32_t value)
{
    f->cleared = ONNX_VALUE_NONE;
    for (uint32_t steps = 0; steps < PATH; steps++) {
        const struct onnx_node *node = pith_match_source(m, value);
        float zero;
        if (!node)
            return NULL;
        if (node->info->op == PITH_OP_SOFTMAX)
            return node->attr[ATTR_SOFTMAX_AXIS] + 1 == (int32_t)shape_of(m, value, false)->rank
                       ? node
                       : NULL;
        if (node->info->op == PITH_OP_WHERE && f->cleared == ONNX_VALUE_NONE) {
            const bool first = pith_match_scalar(m, node->in[1], &zero);
            if ((!first && !pith_match_scalar(m, node->in[2], &zero)) || zero != 0.0f)
                return NULL;
            const uint32_t of = node->in[first ? 2 : 1];
            const struct onnx_node *nan = pith_match_maker(m, node->in[0], PITH_OP_COMPARE);
            if (!first || !nan || nan->attr[ATTR_KIND] != COMPARE_NOT_EQUAL || nan->in[0] != of ||
                nan->in[1] != of) {
                f->cleared = node->in[0];
                f->clears_false = !first;
            }
            value = of;
        } else if (keeps_rows(m, node)) {
            value = node->in[0];
        } else {
            return NULL;
        }
    }
    return NULL;
}

/* What hides a score hides its weight, too: all of a query's may be hidden, then. */
static bool fits_cleared(struct found *f)
{
    if (f->cleared == ONNX_VALUE_NONE)
        return true;
    struct mask *mask = &f->mask[0];
    if (f->n_masks != 1 || !mask->chooses || mask->value != f->cleared ||
        mask->keep != f->clears_false || !(mask->fill <= ABSORBS))
        return false;
    mask->fill = -INFINITY;
    return true;
}

/* ---- shapes ------------------------------------------------------------------------------ */

/* An axis of 1 to put in (+1) or to leave out (-1). */
struct axis_change {
    int32_t by, axis;
};

/* The mask's shape over [B,H,M,N]. Scores may be [BH,M,N], or [b,w,H,M,N] where the batch is
 * windows cut out of b samples. */
static bool mask_shape(const struct matcher *m, const struct mask *mask, uint32_t heads, bool other,
                       struct shape *s, struct axis_change *change)
{
    const struct shape *scores = shape_of(m, mask->scores, other);
    *s = *shape_of(m, mask->value, other);
    *change = (struct axis_change){0, 0};
    if (scores->rank >= 4 && scores->dim[scores->rank - 3] != heads)
        return false;
    if (scores->rank == 3 && s->rank == 3 && heads == 1) {
        *change = (struct axis_change){1, 1};
        s->dim[3] = s->dim[2];
        s->dim[2] = s->dim[1];
        s->dim[1] = 1;
        s->rank = 4;
        return true;
    }
    if (scores->rank == 5 && s->rank == 5 && s->dim[0] == 1) {
        change->by = -1;
        s->rank = 4;
        for (uint32_t i = 0; i < 4; i++)
            s->dim[i] = s->dim[i + 1];
        return true;
    }
    return s->rank < 3 || scores->rank == 4 || (scores->rank == 3 && s->dim[0] == 1) ||
           (scores->rank == 5 && s->rank <= 4);
}

static void operand_shape(const struct matcher *m, const struct operand *o, bool other,
                          struct shape *s)
{
    *s = (struct shape){.rank = 4};
    four_axes(shape_of(m, o->path.value[o->at], other), s->dim);
}

static uint32_t heads_of(const struct shape *q, const struct found *f)
{
    return q->dim[f->in[0].is_first ? 2 : 1];
}

/* The operator takes the operands and makes [B,H,M,E], of which `out` is what there is. */
static bool is_valid(const struct matcher *m, const struct found *f, const int32_t *attr,
                     uint32_t out, bool other)
{
    const struct op_info *info = pith_op_get(PITH_OP_ATTENTION);
    struct tview view[5] = {0}, *outs[1] = {&view[4]};
    const struct tview *in[4] = {&view[0], &view[1], &view[2], f->n_masks ? &view[3] : NULL};
    for (uint32_t i = 0; i < 3; i++) {
        view[i].type = PITH_F32;
        operand_shape(m, &f->in[i], other, &view[i].shape);
    }
    for (uint32_t i = 0; i < f->n_masks; i++) {
        struct shape s;
        struct axis_change change;
        const struct mask *mask = &f->mask[i];
        if (m->im->values[mask->value].type != (mask->chooses ? PITH_BOOL : PITH_F32) ||
            !mask_shape(m, mask, heads_of(&view[0].shape, f), other, &s, &change) ||
            (f->n_masks > 1 && mask->chooses && !(mask->fill <= ABSORBS)) ||
            (i && pith_broadcast_shape(&s, &view[3].shape, &s)))
            return false;
        view[3] =
            (struct tview){f->n_masks > 1 ? PITH_F32 : m->im->values[mask->value].type, s, NULL};
    }
    struct op_args args = {
        .info = info, .attr = attr, .n_in = f->n_masks ? 4 : 3, .n_out = 1, .in = in, .out = outs};
    struct shape y = *shape_of(m, out, other), four = {.rank = 4};
    return !info->shape(&args) && four_axes(&y, four.dim) &&
           pith_shape_equal(&view[4].shape, &four);
}

/* ---- the operator ------------------------------------------------------------------------ */

/* An axis of 1 is put in or left out. */
static uint32_t with_axis(struct matcher *m, uint32_t n, uint32_t value, struct axis_change change)
{
    const struct step_attr attr[] = {{ATTR_AXES, 1}, {ATTR_AXES + 1, change.axis}};
    if (!change.by)
        return value;
    return pith_match_insert(
        m, n,
        &(struct new_node){.op = change.by > 0 ? PITH_OP_UNSQUEEZE : PITH_OP_SQUEEZE,
                           .n_in = 1,
                           .in = &value,
                           .n_attr = 2,
                           .attr = attr});
}

/* What the operator reads for an operand: a value, or bytes that are dequantized first. */
struct source {
    uint32_t n_in, in[3]; /* 1: the value alone */
    bool lacks_heads;
};

static struct source source_of(const struct matcher *m, const struct operand *o)
{
    const struct path *p = &o->path;
    struct source s = {.n_in = 1, .in = {p->value[o->at == p->bytes ? o->at - 1 : o->at]}};
    s.lacks_heads = shape_of(m, s.in[0], false)->rank == 3;
    if (o->at <= p->bytes)
        return s;
    const struct onnx_node *real = p->made[p->bytes - 1];
    s.n_in = real->n_in;
    s.in[1] = real->in[1];
    s.in[2] = real->n_in > 2 ? real->in[2] : ONNX_VALUE_NONE;
    return s;
}

/* All masks as one that is added, in the order in which they are applied. */
static uint32_t joined_mask(struct matcher *m, uint32_t n, const struct found *f,
                            const uint32_t value[MASKS])
{
    uint32_t sum = ONNX_VALUE_NONE;
    for (uint32_t i = f->n_masks; i-- > 0;) {
        const struct mask *mask = &f->mask[i];
        if (!mask->chooses) {
            const uint32_t in[2] = {sum, value[i]};
            sum = sum == ONNX_VALUE_NONE
                      ? value[i]
                      : pith_match_insert(
                            m, n, &(struct new_node){.op = PITH_OP_ADD, .n_in = 2, .in = in});
            continue;
        }
        sum = sum == ONNX_VALUE_NONE ? pith_match_constant(m, n, 0.0f) : sum;
        const uint32_t fill = pith_match_constant(m, n, mask->fill);
        const uint32_t in[3] = {value[i], mask->keep ? sum : fill, mask->keep ? fill : sum};
        sum = pith_match_insert(m, n, &(struct new_node){.op = PITH_OP_WHERE, .n_in = 3, .in = in});
    }
    return sum;
}

static void put_attention(struct matcher *m, uint32_t n, const struct found *f,
                          const int32_t attr[4])
{
    struct source from[3];
    struct shape q, s;
    uint32_t in[4], mask[MASKS];
    struct axis_change change[MASKS];
    operand_shape(m, &f->in[0], false, &q);
    for (uint32_t i = 0; i < f->n_masks; i++)
        mask_shape(m, &f->mask[i], heads_of(&q, f), false, &s, &change[i]);
    const bool flat = shape_of(m, m->im->nodes[n].out[0], false)->rank == 3;
    for (uint32_t i = 0; i < 3; i++)
        from[i] = source_of(m, &f->in[i]);
    /* from here on nodes and values move */
    for (uint32_t i = 0; i < 3; i++) {
        in[i] = from[i].in[0];
        if (from[i].n_in > 1)
            in[i] = pith_match_insert(m, n,
                                      &(struct new_node){.op = PITH_OP_DEQUANTIZE,
                                                         .n_in = from[i].n_in,
                                                         .in = from[i].in});
        in[i] = with_axis(m, n, in[i], (struct axis_change){from[i].lacks_heads, 1});
    }
    for (uint32_t i = 0; i < f->n_masks; i++)
        mask[i] = with_axis(m, n, f->mask[i].value, change[i]);
    if (f->n_masks)
        in[3] = f->n_masks == 1 ? mask[0] : joined_mask(m, n, f, mask);
    const uint32_t n_in = f->n_masks ? 4 : 3;
    if (m->status)
        return;
    if (flat) {
        const struct step_attr given[] = {{0, attr[0]}, {1, attr[1]}, {2, attr[2]}, {3, attr[3]}};
        const uint32_t y = pith_match_insert(
            m, n,
            &(struct new_node){
                .op = PITH_OP_ATTENTION, .n_in = n_in, .in = in, .n_attr = 4, .attr = given});
        int32_t *axes = m->status ? NULL : pith_match_replace(m, n, PITH_OP_SQUEEZE, &y, 1);
        if (axes)
            axes[ATTR_AXES] = axes[ATTR_AXES + 1] = 1;
        return;
    }
    int32_t *to = pith_match_replace(m, n, PITH_OP_ATTENTION, in, n_in);
    if (to)
        memcpy(to, attr, 4 * sizeof *to);
}

/* product = weights v, and node n makes of it what the operator gives. */
static void match_product(struct matcher *m, uint32_t n, const struct onnx_node *product)
{
    struct found f = {.scale = 1.0f};
    if (product->attr[ATTR_MATMUL_TRANS_B])
        return;
    const struct onnx_node *softmax = take_weights(m, &f, product->in[0]);
    if (!softmax || !take_scores(m, &f, softmax->in[0]))
        return;
    if (f.n_masks == 1)
        take_condition(m, &f.mask[0]);
    if (!fits_cleared(&f) || !take_operand(m, product->in[1], false, false, &f.in[2]))
        return;
    const bool chooses = f.n_masks == 1 && f.mask[0].chooses;
    int32_t attr[4] = {[ATTR_ATTENTION_SCALE] = (int32_t)f32_bits(f.scale),
                       [ATTR_ATTENTION_FILL] = (int32_t)f32_bits(chooses ? f.mask[0].fill : 0.0f),
                       [ATTR_ATTENTION_KEEP] = chooses && f.mask[0].keep};
    for (uint32_t i = 0; i < 3; i++)
        attr[ATTR_ATTENTION_LAYOUT] |= f.in[i].is_first << i;
    const uint32_t out = m->im->nodes[n].out[0];
    if (!(f.scale < 3e38f && f.scale > -3e38f) || (chooses && f.mask[0].fill != f.mask[0].fill) ||
        !is_valid(m, &f, attr, out, false) || !is_valid(m, &f, attr, out, true))
        return;
    put_attention(m, n, &f, attr);
}

/* Heads that are one axis with the batch are taken from the Reshape that parts them. */
void pith_match_attention(struct matcher *m, uint32_t n)
{
    const struct onnx_node *node = &m->im->nodes[n], *product = node;
    const uint32_t rank = shape_of(m, node->out[0], false)->rank;
    if (node->info->op != PITH_OP_MATMUL) {
        product = pith_match_maker(m, node->in[0], PITH_OP_MATMUL);
        if (rank != 4 || !product || !keeps_rows(m, node) || !pith_match_alone(m, node->in[0]))
            return;
    }
    if (rank == 3 || rank == 4)
        match_product(m, n, product);
}

/* Node n is a Transpose; what it swaps back is read by nothing else. */
void pith_match_attention_layout(struct matcher *m, uint32_t n)
{
    const struct onnx_node *node = &m->im->nodes[n];
    if (!has_perm(node, swap_heads) || !pith_match_alone(m, node->in[0]))
        return;
    const struct onnx_node *attention = pith_match_maker(m, node->in[0], PITH_OP_ATTENTION);
    if (!attention || attention->attr[ATTR_ATTENTION_LAYOUT] & 8)
        return;
    int32_t *attr = pith_match_replace(m, n, PITH_OP_ATTENTION, attention->in, attention->n_in);
    if (!attr)
        return;
    memcpy(attr, attention->attr, 4 * sizeof *attr);
    attr[ATTR_ATTENTION_LAYOUT] |= 8;
}
