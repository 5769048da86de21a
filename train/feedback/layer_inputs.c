/* SPDX-License-Identifier: MIT */
#include "layer_inputs.h"

#include "pith_im2col.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEW_ROWS = 512 };

/* Of x, numbers: a convolution's windows come in parts where there are more. */
#define MOST_NUMBERS (UINT64_C(1) << 22)

/* ---- windows --------------------------------------------------------------------------------- */

struct conv {
    struct window v;
    uint64_t c, groups; /* channels of the input */
};

static struct conv conv_of(const struct grad_node *n)
{
    return (struct conv){
        pith_window_conv(n->attr, &n->in[0]->shape, &n->in[1]->shape, &n->out[0]->shape),
        n->channels, (uint64_t)n->attr[ATTR_CONV_GROUP]};
}

/* `count` windows of group g in a sample from `first` on, as rows of w's order [C / group,
 * kernel...]; x: channels last or row-major as it lies. */
static void conv_rows(const struct conv *s, const int64_t *place, const struct tape_tensor *x,
                      uint32_t sample, uint32_t g, uint64_t first, uint64_t count, float *rows)
{
    uint64_t each = s->v.taps, c = s->c / s->groups;
    bool last = x->layout == TAPE_CHANNELS_LAST;
    struct im2col_input from = {.by_place = last ? s->c : 1, .by_channel = last ? 1 : s->v.in};
    from.data = (const float *)x->data + sample * s->c * s->v.in + g * c * from.by_channel;
    place += first * each;
    for (uint64_t at = 0; at < count; at++, rows += c * each, place += each)
        pith_im2col_row(&from, place, each, c, rows);
}

/* Rows that a node multiplies a weight of n columns with: of a convolution those of one sample, of
 * a product those of a slice; 0: not such a node. */
static uint64_t count_rows(const struct grad_node *n, uint32_t op, uint32_t cols)
{
    if (op == PITH_OP_CONV && n->in[0]->shape.rank >= 3 && n->in[0]->shape.rank <= 5) {
        return conv_of(n).v.out;
    }
    bool product =
        (op == PITH_OP_GEMM && !n->attr[ATTR_GEMM_TRANS_A] && n->attr[ATTR_GEMM_TRANS_B]) ||
        (op == PITH_OP_MATMUL && n->attr[ATTR_MATMUL_TRANS_B] && n->in[1]->shape.rank == 2);
    uint64_t elems = shape_elems(&n->in[0]->shape);
    return product && elems % cols == 0 ? elems / cols : 0;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static void add_mean(const float *rows, uint64_t count, uint32_t n, double *mean)
{
    for (uint64_t i = 0; i < count; i++, rows += n)
        for (uint32_t k = 0; k < n; k++)
            mean[k] += (double)rows[k];
}

static void add_rows(struct layer_inputs *in, uint32_t g, uint64_t count)
{
    size_t n = in->n, square = n * n * g;
    const float *now = in->x[0], *before = in->x[1];
    in->n_rows[g] += (double)count;
    add_mean(now, count, in->n, in->mean[0] + n * g);
    if (in->crossed)
        add_mean(before, count, in->n, in->mean[1] + n * g);
    struct gram_piece p = {in->tile, now, now, n, n, (size_t)count, true};
    pith_gram_add(&p, 0, n, in->both + square);
    p = (struct gram_piece){in->tile, now, before, n, n, (size_t)count, false};
    if (in->crossed)
        pith_gram_add(&p, 0, n, in->crossed + square);
}

static void add_filled(struct layer_inputs *in)
{
    if (in->filled)
        add_rows(in, 0, in->filled);
    in->filled = 0;
}

/* ---- rows of a node -------------------------------------------------------------------------- */

/* Rows of products wait until there are many: one gemm then goes over the sums once. */
static void add_product(struct layer_inputs *in, uint64_t count,
                        const struct grad_node *const *node)
{
    if (in->filled + count > in->room)
        add_filled(in);
    for (int i = 0; i < 2 && node[i]; i++)
        memcpy(in->x[i] + in->filled * in->n, node[i]->in[0]->data,
               (size_t)count * in->n * sizeof(float));
    in->filled += count;
}

/* Of group g in a sample. */
static void add_windows(struct layer_inputs *in, const struct conv *s, uint32_t sample, uint32_t g,
                        const struct grad_node *const *node)
{
    const uint64_t places = s->v.out;
    for (uint64_t first = 0, count; first < places; first += count) {
        count = places - first < in->room ? places - first : in->room;
        for (int i = 0; i < 2 && node[i]; i++)
            conv_rows(s, in->place, node[i]->in[0], sample, g, first, count, in->x[i]);
        add_rows(in, g, count);
    }
}

/* node: of the network as it is now, and as it was before, or NULL. */
static void add_node(struct layer_inputs *in, uint32_t op, uint32_t per_slice,
                     const struct grad_node *const *node)
{
    if (op != PITH_OP_CONV) {
        add_product(in, count_rows(node[0], op, in->n), node);
        return;
    }
    struct conv s = conv_of(node[0]);
    pith_im2col_places(&s.v, in->place);
    for (uint32_t k = 0; k < per_slice; k++)
        for (uint32_t g = 0; g < in->groups; g++)
            add_windows(in, &s, k, g, node);
}

/* The operator that multiplies by the value in this step; UINT32_MAX: none. */
static uint32_t op_of(const struct tape *t, const struct tape_step *step, uint32_t value)
{
    if (step->converts)
        return UINT32_MAX;
    const struct pith_node *node = &t->m->nodes[step->at];
    return node->n_in > 1 && node->in[1] == value ? node->op : UINT32_MAX;
}

bool pith_step_multiplies(const struct tape *t, const struct tape_step *step, uint32_t value)
{
    return op_of(t, step, value) != UINT32_MAX;
}

void pith_layer_inputs_add(struct layer_inputs *in, uint32_t step, uint32_t slice,
                           uint32_t per_slice, const struct tape *now, const struct tape *before)
{
    const struct grad_node *node[] = {&now->step[step].node[slice],
                                      before ? &before->step[step].node[slice] : NULL};
    const uint32_t op = now->m->nodes[now->step[step].at].op;
    add_node(in, op, per_slice, node);
}

void pith_layer_inputs_end(struct layer_inputs *in)
{
    add_filled(in);
    for (uint32_t g = 0; g < in->groups; g++)
        pith_gram_mirror(in->both + (size_t)in->n * in->n * g, in->n);
    for (int i = 0; i < 2; i++) {
        free(in->x[i]);
        in->x[i] = NULL;
    }
    free(in->place);
    in->place = NULL;
}

void pith_layer_inputs_centre(struct layer_inputs *in, double share)
{
    uint32_t n = in->n;
    for (uint32_t g = 0; g < in->groups && in->crossed; g++) {
        const double *now = in->mean[0] + (size_t)n * g, *before = in->mean[1] + (size_t)n * g;
        double *both = in->both + (size_t)n * n * g, *crossed = in->crossed + (size_t)n * n * g;
        double by = in->n_rows[g] > 0 ? share / in->n_rows[g] : 0;
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t k = 0; k < n; k++) {
                both[(size_t)i * n + k] -= by * now[i] * now[k];
                crossed[(size_t)i * n + k] -= by * now[i] * before[k];
            }
    }
}

/* ---- opening --------------------------------------------------------------------------------- */

void pith_layer_inputs_free(struct layer_inputs *in)
{
    for (int i = 0; i < 2; i++) {
        free(in->mean[i]);
        free(in->x[i]);
    }
    free(in->n_rows);
    free(in->place);
    free(in->both);
    free(in->crossed);
    *in = (struct layer_inputs){0};
}

bool pith_layer_inputs_open(struct layer_inputs *in, bool crossed)
{
    size_t squares = (size_t)in->groups * in->n * in->n;
    in->tile = pith_gram_tile();
    in->place = malloc((size_t)in->places * in->n * sizeof *in->place);
    in->both = calloc(squares, sizeof *in->both);
    in->n_rows = calloc(in->groups, sizeof *in->n_rows);
    bool room = in->place && in->both && in->n_rows;
    if (crossed)
        in->crossed = calloc(squares, sizeof *in->crossed);
    for (int i = 0; i < 1 + crossed; i++) {
        in->mean[i] = calloc((size_t)in->groups * in->n, sizeof **in->mean);
        in->x[i] = malloc((size_t)in->room * in->n * sizeof **in->x);
        room = room && in->mean[i] && in->x[i];
    }
    return room && (!crossed || in->crossed);
}

/* The value that is added to a node's sums as it is, and by no node with another weight; or
 * PITH_VALUE_NONE. */
static uint32_t bias_of(const struct tape *t, const struct pith_node *node)
{
    uint32_t bias = pith_node_bias(node);
    if (bias == PITH_VALUE_NONE ||
        (node->op == PITH_OP_GEMM && (attr_f32(node->attr, ATTR_GEMM_ALPHA) != 1.0f ||
                                      attr_f32(node->attr, ATTR_GEMM_BETA) != 1.0f)))
        return PITH_VALUE_NONE;
    for (uint32_t i = 0; i < t->m->n_nodes; i++) {
        const struct pith_node *reader = &t->m->nodes[i];
        for (uint32_t k = 0; k < reader->n_in; k++)
            if (reader->in[k] == bias && (k != 2 || reader->in[1] != node->in[1]))
                return PITH_VALUE_NONE;
    }
    return bias;
}

struct layer_inputs pith_layer_inputs_of(const struct tape *t, const struct tape_parameter *p)
{
    const struct layer_inputs none = {.groups = 1, .bias = PITH_VALUE_NONE};
    struct layer_inputs in = none;
    for (uint32_t i = 0; i < t->n_steps; i++) {
        const struct tape_step *step = &t->step[i];
        uint32_t op = op_of(t, step, p->value);
        if (op == UINT32_MAX)
            continue;
        const struct pith_node *node = &t->m->nodes[step->at];
        uint64_t cols = p->count / step->node[0].in[1]->shape.dim[0];
        uint64_t rows =
            cols <= LAYER_INPUTS_MOST ? count_rows(&step->node[0], op, (uint32_t)cols) : 0;
        uint32_t groups = pith_op_has_weight(op) ? pith_op_groups(op, step->node[0].attr) : 1;
        uint32_t own_bias = bias_of(t, node);
        if (rows == 0 || (in.n && groups != in.groups))
            return none;
        in.bias = in.n == 0 || in.bias == own_bias ? own_bias : PITH_VALUE_NONE;
        in.n = (uint32_t)cols;
        in.groups = groups;
        const uint64_t places = op == PITH_OP_CONV ? rows : 1;
        const uint64_t most = MOST_NUMBERS / cols; /* LAYER_INPUTS_MOST columns: 2048 */
        if (op == PITH_OP_CONV && rows > most)
            rows = most;
        rows = rows > FEW_ROWS ? rows : FEW_ROWS;
        in.room = rows > in.room ? rows : in.room;
        in.places = places > in.places ? places : in.places;
    }
    return in;
}
