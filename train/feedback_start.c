/* SPDX-License-Identifier: MIT */
/* feedback_start.c - two tapes of the network: as it came, and with the layers that are done. */
#include "feedback_start.h"

#include "feed_batch.h"
#include "free_numbers.h"
#include "grad_window.h"
#include "least_squares.h"
#include "tape_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DAMPING 0.01 /* of the mean of H's diagonal */

enum { FEW_ROWS = 512, MOST_PER_SLICE = 8 };

struct feedback {
    struct tape *before, *now;
    struct feed_batch *batch;
    uint32_t per_slice;
    uint64_t n_batches;
    struct free_numbers *of;
    uint32_t n;
    struct pith_error *err;
};

/* What is known of the inputs x (before) and x' (now) of one weight's rows. */
struct inputs {
    uint32_t n, groups; /* a row reads n numbers; those of each group of rows have their own */
    float *both;        /* [groups][n, n] sum of x' x'^T */
    float *crossed;     /* [groups][n, n] sum of x' x^T */
    double *mean[2];    /* [groups][n] sum of x', x */
    uint64_t times;
    uint64_t room, filled;
    float *x[2];    /* [room, n] of x', x */
    int64_t *place; /* [room, n] at most */
};

/* ---- windows ------------------------------------------------------------------------------------
 */

static struct prim_conv_shape window_of(const struct grad_node *n)
{
    struct prim_conv_shape s;
    pith_grad_window(n, ATTR_CONV_STRIDES, ATTR_CONV_DILATIONS, ATTR_CONV_PADS, &s);
    s.group = n->attr[ATTR_CONV_GROUP];
    for (uint32_t i = 0; i < 3; i++)
        s.kernel[i] = i < s.axes ? n->in[1]->shape.dim[2 + i] : 1;
    for (uint32_t i = s.axes; i < 3; i++)
        s.in[i] = s.out[i] = s.stride[i] = s.dilation[i] = 1, s.pad_begin[i] = 0;
    return s;
}

/* One number of a window, 0 outside: element e of the kernel at place `at` of the output. */
static bool inside(const struct prim_conv_shape *s, uint64_t at, uint64_t e, int64_t *place)
{
    int64_t out[3], kernel[3], from = 0;
    for (uint32_t i = 3; i-- > 0;) {
        out[i] = (int64_t)at % s->out[i];
        at /= (uint64_t)s->out[i];
        kernel[i] = (int64_t)e % s->kernel[i];
        e /= (uint64_t)s->kernel[i];
    }
    for (uint32_t i = 0; i < 3; i++) {
        int64_t p = out[i] * s->stride[i] + kernel[i] * s->dilation[i] - s->pad_begin[i];
        if (p < 0 || p >= s->in[i])
            return false;
        from = from * s->in[i] + p;
    }
    *place = from;
    return true;
}

/* Where the numbers of each window lie in a channel: [places][kernel], -1: outside. */
static void find_places(const struct prim_conv_shape *s, int64_t *place)
{
    uint64_t each = (uint64_t)(s->kernel[0] * s->kernel[1] * s->kernel[2]);
    uint64_t places = (uint64_t)(s->out[0] * s->out[1] * s->out[2]);
    for (uint64_t at = 0; at < places; at++)
        for (uint64_t e = 0; e < each; e++, place++)
            if (!inside(s, at, e, place))
                *place = -1;
}

/* The windows of group g in a sample, as rows of w's order [C / group, kernel...]; x: channels last
 * or row-major as it lies. */
static uint64_t conv_rows(const struct prim_conv_shape *s, const int64_t *place,
                          const struct tape_tensor *x, uint32_t sample, uint32_t g, float *rows)
{
    uint64_t each = (uint64_t)(s->kernel[0] * s->kernel[1] * s->kernel[2]);
    uint64_t c = (uint64_t)(s->c / s->group);
    uint64_t places = (uint64_t)(s->out[0] * s->out[1] * s->out[2]);
    int64_t plane = s->in[0] * s->in[1] * s->in[2];
    bool last = x->layout == TAPE_CHANNELS_LAST;
    int64_t by_place = last ? s->c : 1, by_channel = last ? 1 : plane;
    const float *from =
        (const float *)x->data + (int64_t)sample * s->c * plane + (int64_t)(g * c) * by_channel;
    for (uint64_t at = 0; at < places; at++, rows += c * each, place += each)
        for (uint64_t e = 0; e < each; e++)
            for (uint64_t k = 0; k < c; k++)
                rows[k * each + e] =
                    place[e] < 0 ? 0.0f : from[place[e] * by_place + (int64_t)k * by_channel];
    return places;
}

/* Rows that a node multiplies a weight of n columns with: of a convolution those of one sample, of
 * a product those of a slice; 0: not such a node. */
static uint64_t count_rows(const struct grad_node *n, uint32_t op, uint32_t cols)
{
    if (op == PITH_OP_CONV && n->in[0]->shape.rank >= 3 && n->in[0]->shape.rank <= 5) {
        struct prim_conv_shape s = window_of(n);
        return (uint64_t)(s.out[0] * s.out[1] * s.out[2]);
    }
    bool product =
        (op == PITH_OP_GEMM && !n->attr[ATTR_GEMM_TRANS_A] && n->attr[ATTR_GEMM_TRANS_B]) ||
        (op == PITH_OP_MATMUL && n->attr[ATTR_MATMUL_TRANS_B] && n->in[1]->shape.rank == 2);
    uint64_t elems = shape_elems(&n->in[0]->shape);
    return product && elems % cols == 0 ? elems / cols : 0;
}

/* ---- sums ---------------------------------------------------------------------------------------
 */

static void add_mean(const float *rows, uint64_t count, uint32_t n, double *mean)
{
    for (uint64_t i = 0; i < count; i++, rows += n)
        for (uint32_t k = 0; k < n; k++)
            mean[k] += (double)rows[k];
}

static void add_rows(struct inputs *in, struct prim *p, uint32_t g, uint64_t count,
                     const float *now, const float *before)
{
    size_t square = (size_t)in->n * in->n * g;
    int64_t n = in->n, rows = (int64_t)count;
    pith_prim_gemm(p, true, false, n, n, rows, 1, now, n, now, n, true, in->both + square, n);
    pith_prim_gemm(p, true, false, n, n, rows, 1, now, n, before, n, true, in->crossed + square, n);
    add_mean(now, count, in->n, in->mean[0] + (size_t)in->n * g);
    add_mean(before, count, in->n, in->mean[1] + (size_t)in->n * g);
}

static void add_filled(struct inputs *in, struct prim *p)
{
    if (in->filled)
        add_rows(in, p, 0, in->filled, in->x[0], in->x[1]);
    in->filled = 0;
}

/* Rows of products wait until there are many: one gemm then goes over the sums once. */
static void add_product(struct inputs *in, struct prim *p, uint64_t count, const float *now,
                        const float *before)
{
    if (in->filled + count > in->room)
        add_filled(in, p);
    memcpy(in->x[0] + in->filled * in->n, now, (size_t)count * in->n * sizeof *now);
    memcpy(in->x[1] + in->filled * in->n, before, (size_t)count * in->n * sizeof *before);
    in->filled += count;
    in->times += count;
}

static void add_node(struct inputs *in, struct feedback *f, uint32_t op,
                     const struct grad_node *now, const struct grad_node *before)
{
    struct prim *p = f->now->prim[0];
    if (op != PITH_OP_CONV) {
        add_product(in, p, count_rows(now, op, in->n), now->in[0]->data, before->in[0]->data);
        return;
    }
    struct prim_conv_shape s = window_of(now);
    find_places(&s, in->place);
    for (uint32_t k = 0; k < f->per_slice; k++)
        for (uint32_t g = 0; g < in->groups; g++) {
            uint64_t count = conv_rows(&s, in->place, now->in[0], k, g, in->x[0]);
            conv_rows(&s, in->place, before->in[0], k, g, in->x[1]);
            add_rows(in, p, g, count, in->x[0], in->x[1]);
            in->times += g == 0 ? count : 0;
        }
}

static uint32_t op_of(const struct tape *t, const struct tape_step *step, uint32_t value)
{
    if (step->converts)
        return UINT32_MAX;
    const struct pith_node *node = &t->m->nodes[step->at];
    return node->n_in > 1 && node->in[1] == value ? node->op : UINT32_MAX;
}

/* All uses of the weight, in all batches. The steps of both tapes are the same. */
static enum pith_status add_samples(struct feedback *f, uint32_t value, struct inputs *in)
{
    for (uint64_t b = 0; b < f->n_batches; b++) {
        enum pith_status status = pith_batch_load(f->batch, f->now, b, f->err);
        if (!status)
            status = pith_batch_load(f->batch, f->before, b, f->err);
        if (status)
            return status;
        pith_tape_forward(f->now);
        pith_tape_forward(f->before);
        for (uint32_t i = 0; i < f->now->n_steps; i++) {
            uint32_t op = op_of(f->now, &f->now->step[i], value);
            for (uint32_t s = 0; s < PITH_TRAIN_SLICES && op != UINT32_MAX; s++)
                add_node(in, f, op, &f->now->step[i].node[s], &f->before->step[i].node[s]);
        }
    }
    add_filled(in, f->now->prim[0]);
    return PITH_OK;
}

/* ---- one layer ----------------------------------------------------------------------------------
 */

static void free_inputs(struct inputs *in)
{
    for (int i = 0; i < 2; i++) {
        free(in->mean[i]);
        free(in->x[i]);
    }
    free(in->place);
    free(in->both);
    free(in->crossed);
}

/* False: no memory. */
static bool open_inputs(struct inputs *in)
{
    size_t squares = (size_t)in->groups * in->n * in->n;
    in->place = malloc((size_t)in->room * in->n * sizeof *in->place);
    in->both = calloc(squares, sizeof *in->both);
    in->crossed = calloc(squares, sizeof *in->crossed);
    for (int i = 0; i < 2; i++) {
        in->mean[i] = calloc((size_t)in->groups * in->n, sizeof **in->mean);
        in->x[i] = malloc((size_t)in->room * in->n * sizeof **in->x);
    }
    return in->place && in->both && in->crossed && in->mean[0] && in->mean[1] && in->x[0] &&
           in->x[1];
}

/* The value that is added to a node's sums as it is, and by no node with another weight; or
 * PITH_VALUE_NONE. */
static uint32_t bias_of(const struct tape *t, const struct pith_node *node)
{
    if (node->n_in < 3 || node->op == PITH_OP_MATMUL ||
        (node->op == PITH_OP_GEMM && (attr_f32(node->attr, ATTR_GEMM_ALPHA) != 1.0f ||
                                      attr_f32(node->attr, ATTR_GEMM_BETA) != 1.0f)))
        return PITH_VALUE_NONE;
    for (uint32_t i = 0; i < t->m->n_nodes; i++) {
        const struct pith_node *reader = &t->m->nodes[i];
        for (uint32_t k = 0; k < reader->n_in; k++)
            if (reader->in[k] == node->in[2] && (k != 2 || reader->in[1] != node->in[1]))
                return PITH_VALUE_NONE;
    }
    return node->in[2];
}

/* Rows and groups of a weight; n is 0 where it stands in what is not such a product, or in several
 * of different groups. *bias: its value, or PITH_VALUE_NONE. */
static struct inputs inputs_of(const struct tape *t, const struct tape_parameter *p, uint32_t *bias)
{
    struct inputs in = {.groups = 1};
    *bias = PITH_VALUE_NONE;
    for (uint32_t i = 0; i < t->n_steps; i++) {
        const struct tape_step *step = &t->step[i];
        uint32_t op = op_of(t, step, p->value);
        if (op == UINT32_MAX)
            continue;
        const struct pith_node *node = &t->m->nodes[step->at];
        uint64_t cols = p->count / step->node[0].in[1]->shape.dim[0];
        uint64_t rows = cols <= FEEDBACK_MOST ? count_rows(&step->node[0], op, (uint32_t)cols) : 0;
        uint32_t groups =
            op == PITH_OP_CONV ? (uint32_t)step->node[0].attr[ATTR_CONV_GROUP] : 1;
        uint32_t own_bias = bias_of(t, node);
        if (rows == 0 || (in.n && groups != in.groups))
            return (struct inputs){.groups = 1};
        *bias = in.n == 0 || *bias == own_bias ? own_bias : PITH_VALUE_NONE;
        in.n = (uint32_t)cols;
        in.groups = groups;
        rows = rows > FEW_ROWS ? rows : FEW_ROWS;
        in.room = rows > in.room ? rows : in.room;
    }
    return in;
}

/* R of the damped sums, and an order in which the strongest inputs come first. */
struct solver {
    uint32_t n;
    double *natural, *ordered; /* [n, n] */
    double *goal, *error, *crossed;
    uint32_t *order;
};

static void free_solver(struct solver *s)
{
    free(s->natural);
    free(s->ordered);
    free(s->goal);
    free(s->error);
    free(s->crossed);
    free(s->order);
}

static bool open_solver(struct solver *s, uint32_t n)
{
    size_t square = (size_t)n * n;
    *s = (struct solver){.n = n,
                         .natural = malloc(square * sizeof(double)),
                         .ordered = malloc(square * sizeof(double)),
                         .goal = malloc(n * sizeof(double)),
                         .error = malloc(n * sizeof(double)),
                         .crossed = malloc(square * sizeof(double)),
                         .order = malloc(n * sizeof(uint32_t))};
    return s->natural && s->ordered && s->goal && s->error && s->crossed && s->order;
}

/* By the diagonal of h, falling; equal ones as they are. */
static void sort_inputs(const double *h, uint32_t n, uint32_t *order)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = i;
        double own = h[(size_t)i * n + i];
        for (; at > 0 && h[(size_t)order[at - 1] * n + order[at - 1]] < own; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

/* False: nothing came in. */
static bool factor(struct solver *s, const float *both, const float *crossed)
{
    uint32_t n = s->n;
    double trace = 0;
    for (uint32_t i = 0; i < n; i++)
        trace += (double)both[(size_t)i * n + i];
    double damping = DAMPING * trace / n;
    for (size_t k = 0; k < (size_t)n * n; k++) {
        bool diagonal = k / n == k % n;
        s->natural[k] =
            0.5 * ((double)both[k] + (double)both[k % n * n + k / n]) + (diagonal ? damping : 0);
        s->crossed[k] = (double)crossed[k] + (diagonal ? damping : 0);
    }
    sort_inputs(s->natural, n, s->order);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++)
            s->ordered[(size_t)i * n + j] = s->natural[(size_t)s->order[i] * n + s->order[j]];
    return trace > 0 && pith_factor_upper(n, s->natural) && pith_factor_upper(n, s->ordered);
}

/* The row without a grid: (H + damping) goal = (crossed + damping) w. */
static void find_goal(struct solver *s, const float *w)
{
    for (uint32_t i = 0; i < s->n; i++) {
        double sum = 0;
        for (uint32_t k = 0; k < s->n; k++)
            sum += s->crossed[(size_t)i * s->n + k] * (double)w[k];
        s->goal[i] = sum;
    }
    pith_solve_upper(s->n, s->natural, s->goal);
}

static void round_row(struct solver *s, const struct grid *grid, const uint8_t *alive, float *v)
{
    for (uint32_t j = 0; j < s->n; j++) {
        uint32_t k = s->order[j];
        double made_up = 0;
        for (uint32_t i = 0; i < j; i++)
            made_up += s->error[i] * s->ordered[(size_t)i * s->n + j];
        double wanted = s->goal[k] + made_up / s->ordered[(size_t)j * s->n + j];
        int32_t level = alive && !alive[k] ? 0 : pith_grid_level(grid, (float)wanted, GRID_HALFWAY);
        v[k] = (float)level * grid->step;
        s->error[j] = s->goal[k] - (double)v[k];
    }
}

static void round_group(struct solver *s, const struct inputs *in, uint32_t g, uint64_t rows,
                        struct free_numbers *f, const float *w, double *shift)
{
    const uint8_t *alive = f->thin ? f->thin->alive : f->c->mask;
    for (uint64_t row = g * rows; row < (g + 1) * rows; row++) {
        float *v = f->value + row * in->n;
        find_goal(s, w + row * in->n);
        round_row(s, f->grid, alive ? alive + row * in->n : NULL, v);
        for (uint32_t k = 0; k < in->n; k++)
            shift[row] += ((double)w[row * in->n + k] * in->mean[1][(size_t)g * in->n + k] -
                           (double)v[k] * in->mean[0][(size_t)g * in->n + k]) /
                          (double)in->times;
    }
}

static struct tape_parameter *parameter(struct tape *t, uint32_t value)
{
    uint32_t at = value < t->n_values ? t->parameter_of[value] : UINT32_MAX;
    return at == UINT32_MAX ? NULL : &t->parameter[at];
}

/* What the optimizer's numbers make, for it and for the tape that follows; their mean begins
 * there. */
static void show(struct feedback *f, struct free_numbers *of)
{
    struct tape_parameter *p = parameter(f->now, of->p->value);
    if (of->average)
        memcpy(of->average, of->value, (size_t)of->n * sizeof *of->value);
    pith_numbers_spread(of, of->value, of->p->data);
    memcpy(p->data, of->p->data, (size_t)p->count * sizeof *p->data);
}

static void move_bias(struct feedback *f, uint32_t bias, uint64_t rows, const double *shift)
{
    for (uint32_t i = 0; i < f->n; i++) {
        struct free_numbers *of = &f->of[i];
        if (of->p->value != bias || of->p->count != rows || of->n != rows)
            continue;
        const uint8_t *alive = of->thin ? of->thin->alive : of->c->mask;
        const float *was = parameter(f->before, bias)->data;
        for (uint64_t k = 0; k < rows; k++)
            if (!alive || alive[k])
                of->value[k] = was[k] + (float)shift[k];
        show(f, of);
    }
}

static enum pith_status round_layer(struct feedback *f, struct free_numbers *of)
{
    uint32_t bias;
    struct solver s = {0};
    struct inputs in = inputs_of(f->now, of->p, &bias);
    if (in.n == 0)
        return PITH_OK;
    uint64_t rows = of->p->count / in.n;
    double *shift = calloc((size_t)rows, sizeof *shift);
    bool room = open_inputs(&in) && open_solver(&s, in.n) && shift;
    enum pith_status status =
        room ? add_samples(f, of->p->value, &in) : pith_tape_no_memory(f->err);
    size_t square = (size_t)in.n * in.n;
    bool moved = false;
    for (uint32_t g = 0; g < in.groups && !status; g++)
        if (factor(&s, in.both + g * square, in.crossed + g * square)) {
            const float *w = parameter(f->before, of->p->value)->data;
            round_group(&s, &in, g, rows / in.groups, of, w, shift);
            moved = true;
        }
    if (moved && bias != PITH_VALUE_NONE)
        move_bias(f, bias, rows, shift);
    if (!status)
        show(f, of);
    free(shift);
    free_inputs(&in);
    free_solver(&s);
    return status;
}

/* ---- all ----------------------------------------------------------------------------------------
 */

/* In the order in which they are first used. */
static enum pith_status round_layers(struct feedback *f)
{
    bool *done = calloc(f->n + 1u, sizeof *done);
    enum pith_status status = done ? PITH_OK : pith_tape_no_memory(f->err);
    for (uint32_t i = 0; i < f->now->n_steps && !status; i++)
        for (uint32_t k = 0; k < f->n && !status; k++) {
            struct free_numbers *of = &f->of[k];
            if (done[k] || !of->grid || !of->p->is_weight ||
                op_of(f->now, &f->now->step[i], of->p->value) == UINT32_MAX)
                continue;
            done[k] = true;
            status = round_layer(f, of);
        }
    free(done);
    return status;
}

enum pith_status pith_feedback_start(const struct pith_model *m, struct pith_data *data,
                                     const struct pith_train_opts *opts, struct optimizer *o,
                                     struct pith_error *err)
{
    struct feedback f = {.err = err};
    uint64_t n = pith_data_count(data), wanted = opts->feedback < n ? opts->feedback : n;
    f.per_slice = (uint32_t)(n / PITH_TRAIN_SLICES);
    f.per_slice = f.per_slice < MOST_PER_SLICE ? f.per_slice : MOST_PER_SLICE;
    const uint32_t batch = f.per_slice * PITH_TRAIN_SLICES;
    const struct tape_opts t = {.batch = batch, .threads = opts->threads, .unchecked = true};
    f.of = pith_optimizer_numbers(o, &f.n);
    enum pith_status status = pith_tape_new(m, &t, &f.before, err);
    if (!status)
        status = pith_tape_new(m, &t, &f.now, err);
    if (!status)
        status = pith_batch_new(data, f.per_slice, 0, false, &f.batch, err);
    if (!status) {
        pith_batch_in_order(f.batch);
        f.n_batches = (wanted + batch - 1) / batch;
        status = round_layers(&f);
    }
    pith_batch_free(f.batch);
    pith_tape_free(f.before);
    pith_tape_free(f.now);
    return status;
}
