/* SPDX-License-Identifier: MIT */
/* tape_run.c - a tape forward and backward: slice by slice, from one batch statistic to the next.
 */
#include "base/in_parallel.h"
#include "train/state/ranks.h"
#include "tape_state.h"
#include "kernels/ref/transpose_quads.h"

#include <string.h>

/* ---- layouts --------------------------------------------------------------------------------- */

/* to[n][j][i] (+)= from[n][i][j] */
static void swap_axes(size_t n, size_t rows, size_t cols, const float *from, float *to, bool add)
{
    for (size_t b = 0; b < n; b++, from += rows * cols, to += rows * cols) {
        if (!add)
            transpose(from, (int64_t)cols, (int64_t)rows, (int64_t)cols, to, (int64_t)rows);
        for (size_t j = 0; j < cols && add; j++)
            for (size_t i = 0; i < rows; i++)
                to[j * rows + i] += from[i * cols + j];
    }
}

/* Between the layouts of shape s: rank >= 3, axis 1 goes last. */
static void to_channels_last(const struct shape *s, const float *from, float *to, bool add)
{
    swap_axes(s->dim[0], s->dim[1], shape_product(s, 2, s->rank), from, to, add);
}

static void to_row_major(const struct shape *s, const float *from, float *to, bool add)
{
    swap_axes(s->dim[0], shape_product(s, 2, s->rank), s->dim[1], from, to, add);
}

static void convert(const struct shape *s, enum tape_layout to_layout, const float *from, float *to,
                    bool add)
{
    if (to_layout == TAPE_CHANNELS_LAST)
        to_channels_last(s, from, to, add);
    else
        to_row_major(s, from, to, add);
}

/* ---- slices ---------------------------------------------------------------------------------- */

struct stretch_of_slices {
    void (*body)(void *arg, uint32_t slice);
    void *arg;
    uint32_t first;
};

static void one_of_slices(void *arg, uint32_t i)
{
    const struct stretch_of_slices *s = arg;
    s->body(s->arg, s->first + i);
}

/* body(arg, first .. first + n - 1), on the threads. */
static void on_threads(struct tape *t, uint32_t first, uint32_t n,
                       void (*body)(void *arg, uint32_t i), void *arg)
{
    struct stretch_of_slices s = {body, arg, first};
    pith_in_parallel(&t->pool, n, one_of_slices, &s);
}

uint32_t pith_tape_own_slices(const struct tape *t, uint32_t *first)
{
    *first = t->first;
    return t->n_own;
}

void pith_tape_slices(struct tape *t, void (*body)(void *arg, uint32_t slice), void *arg)
{
    on_threads(t, t->first, t->n_own, body, arg);
}

void pith_tape_ranges(struct tape *t, void (*body)(void *arg, uint32_t range), void *arg)
{
    on_threads(t, 0, PITH_TRAIN_SLICES, body, arg);
}

/* Batch statistics: their sum over slices, along the tree of ranks.h, behind them. */
static void add_shared(const struct tape *t, const struct tape_step *step)
{
    size_t each = (size_t)step->node[0].channels * step->op->shared_sums;
    const double *own = step->shared + t->first * each;
    double *sum = step->shared + t->n_slices * each, part[PITH_TRAIN_SLICES] = {0};
    for (size_t i = 0; i < each; i++) {
        for (uint32_t s = 0; s < t->n_own; s++)
            part[s] = own[s * each + i];
        for (uint32_t wide = 1; wide < t->n_own; wide *= 2)
            for (uint32_t s = 0; s < t->n_own; s += 2 * wide)
                part[s] += part[s + wide];
        sum[i] = part[0];
    }
    if (t->opts.training)
        pith_ranks_add_doubles(t->opts.ranks, sum, each, t->ranks_scratch);
}

/* A slice goes from step to step alone, with its values in the cache, until sums are wanted from
 * all slices. Every step has two places in the order of a direction: its sums, then its work. */
struct stretch {
    struct tape *t;
    bool backward;
    uint32_t from, to; /* places */
};

static struct tape_step *step_at(const struct stretch *s, uint32_t place)
{
    uint32_t i = place / 2;
    return &s->t->step[s->backward ? s->t->n_steps - 1 - i : i];
}

static bool takes_gradient(const struct tape_step *step)
{
    bool any = false;
    for (uint32_t i = 0; step->op && i < step->node[0].n_out; i++)
        any = any || step->node[0].out[i]->grad;
    return any;
}

/* What adds up at a place; NULL: nothing. */
static void (*sums_at(const struct stretch *s, uint32_t place))(struct grad_node *n)
{
    const struct tape_step *step = step_at(s, place);
    if (place % 2 || !step->op)
        return NULL;
    if (s->backward)
        return takes_gradient(step) ? step->op->backward_sums : NULL;
    return step->op->forward_sums;
}

static void one_place(const struct stretch *s, uint32_t place, uint32_t slice);

static void one_stretch(void *arg, uint32_t slice)
{
    const struct stretch *s = arg;
    for (uint32_t place = s->from; place < s->to; place++) {
        struct tape_step *step = step_at(s, place);
        uint64_t start = pith_clock_ns(NULL);
        one_place(s, place, slice);
        (s->backward ? step->backward_ns : step->forward_ns)[slice] += pith_clock_ns(NULL) - start;
    }
}

static void all_steps(struct tape *t, bool backward)
{
    const uint32_t last = 2 * t->n_steps;
    struct stretch s = {.t = t, .backward = backward};
    while (s.to < last) {
        s.from = s.to;
        while (s.to < last && !sums_at(&s, s.to))
            s.to++;
        bool sums = s.to < last;
        s.to += sums;
        pith_tape_slices(t, one_stretch, &s);
        if (!sums)
            continue;
        struct tape_step *step = step_at(&s, s.to - 1);
        add_shared(t, step);
        if (!backward && step->op->forward_joined)
            step->op->forward_joined(&step->node[t->first]);
    }
}

/* ---- forward --------------------------------------------------------------------------------- */

static void convert_forward(const struct tape *t, const struct tape_step *step, uint32_t slice)
{
    const struct tape_tensor *from =
        tape_at(t, slice, step->value, (enum tape_layout)(1 - (int)step->to));
    const struct tape_tensor *to = tape_at(t, slice, step->value, step->to);
    convert(&from->shape, step->to, from->data, to->data, false);
}

static void step_forward(const struct tape *t, const struct tape_step *step, uint32_t slice)
{
    if (step->converts)
        convert_forward(t, step, slice);
    else if (step->op && step->op->forward)
        step->op->forward(&step->node[slice]);
    else
        grad_run(&step->node[slice]);
}

/* ---- backward -------------------------------------------------------------------------------- */

static void clear_grad(struct tape_tensor *x)
{
    if (x->grad)
        memset(x->grad, 0, shape_elems(&x->shape) * sizeof *x->grad);
}

/* Where the loss adds. */
static void clear_ends(void *arg, uint32_t slice)
{
    struct tape *t = arg;
    for (uint32_t i = 0; i < t->m->n_outputs; i++)
        clear_grad(tape_at(t, slice, t->m->outputs[i], TAPE_ROW_MAJOR));
    for (uint32_t i = 0; i < t->opts.n_features; i++)
        clear_grad(tape_at(t, slice, t->opts.feature[i], t->primary[t->opts.feature[i]]));
}

static void convert_backward(const struct tape *t, const struct tape_step *step, uint32_t slice)
{
    enum tape_layout other = (enum tape_layout)(1 - (int)step->to);
    const struct tape_tensor *to = tape_at(t, slice, step->value, other);
    const struct tape_tensor *from = tape_at(t, slice, step->value, step->to);
    if (from->grad)
        convert(&from->shape, other, from->grad, to->grad, !step->sets[0]);
}

static void step_backward(const struct tape *t, const struct tape_step *step, uint32_t slice)
{
    if (step->converts) {
        convert_backward(t, step, slice);
        return;
    }
    if (!takes_gradient(step))
        return;
    struct grad_node *n = &step->node[slice];
    for (uint32_t i = 0; i < n->n_in && !step->op->sets; i++)
        if (n->sets[i])
            clear_grad(n->in[i]);
    step->op->backward(n);
}

static void one_place(const struct stretch *s, uint32_t place, uint32_t slice)
{
    const struct tape_step *step = step_at(s, place);
    void (*sums)(struct grad_node * n) = sums_at(s, place);
    if (sums)
        sums(&step->node[slice]);
    else if (place % 2 && s->backward)
        step_backward(s->t, step, slice);
    else if (place % 2)
        step_forward(s->t, step, slice);
}

/* Where this rank's sum of a parameter's gradients goes: what all ranks see, or straight to where
 * the sum over them will be. */
static float *own_grad(const struct tape *t, uint32_t i)
{
    const struct ranks_window *w = &t->gradients.window;
    float *grad = t->parameter[i].grad;
    return w->n ? w->of[w->turn][t->opts.ranks->rank] + (grad - t->gradients.sum) : grad;
}

/* own_grad [begin .. end): the slices' gradients, along the tree of ranks.h. */
static void add_range(const struct tape *t, uint32_t i, uint64_t begin, uint64_t end)
{
    const float *part[PITH_TRAIN_SLICES];
    for (uint32_t s = 0; s < t->n_own; s++)
        part[s] = t->gradients.of_slice[(size_t)(t->first + s) * t->n_parameters + i] + begin;
    t->rows->tree(own_grad(t, i) + begin, part, t->n_own, (size_t)(end - begin));
}

/* Part `part` of every parameter. */
static void add_parameter_grads(void *arg, uint32_t part)
{
    const struct tape *t = arg;
    for (uint32_t i = 0; i < t->n_parameters; i++) {
        uint64_t count = t->parameter[i].count;
        const struct tape_step *step = t->gradients.joined_by[i];
        if (step)
            step->op->joined(&step->node[t->first], t->n_own, part, own_grad(t, i));
        else if (t->n_slices > 1)
            add_range(t, i, count * part / PITH_TRAIN_SLICES,
                      count * (part + 1) / PITH_TRAIN_SLICES);
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void clear_times(struct tape *t)
{
    for (uint32_t i = 0; i < t->n_steps; i++) {
        memset(t->step[i].forward_ns, 0, sizeof t->step[i].forward_ns);
        memset(t->step[i].backward_ns, 0, sizeof t->step[i].backward_ns);
    }
}

static void renew_steps(void *arg, uint32_t part)
{
    const struct tape *t = arg;
    for (uint32_t i = 0; i < t->n_steps; i++)
        if (t->step[i].op && t->step[i].op->renew)
            t->step[i].op->renew(&t->step[i].node[0], part);
}

/* What a forward makes once for all slices from the parameters. */
static void renew(struct tape *t)
{
    on_threads(t, 0, PITH_TRAIN_SLICES, renew_steps, t);
}

void pith_tape_forward(struct tape *t)
{
    clear_times(t);
    renew(t);
    all_steps(t, false);
    pith_tape_slices(t, clear_ends, t);
}

void pith_tape_backward(struct tape *t)
{
    all_steps(t, true);
    on_threads(t, 0, PITH_TRAIN_SLICES, add_parameter_grads, t);
    if (t->gradients.window.n)
        pith_ranks_add_window(t->opts.ranks, t->rows, &t->gradients.window, t->gradients.sum);
    else
        pith_ranks_add_floats(t->opts.ranks, t->rows, t->gradients.sum, (size_t)t->gradients.n,
                              t->ranks_scratch);
}

void pith_tape_share(struct tape *t)
{
    pith_ranks_open_window(t->opts.ranks, (size_t)t->gradients.n, &t->gradients.window);
}

struct tape_parameter *pith_tape_parameters(struct tape *t, uint32_t *n)
{
    *n = t->n_parameters;
    return t->parameter;
}

struct tape_parameter *pith_tape_statistics(struct tape *t, uint32_t *n)
{
    *n = t->n_statistics;
    return t->statistic;
}

struct tape_tensor *pith_tape_input(struct tape *t, uint32_t slice, uint32_t i)
{
    return tape_at(t, slice, t->m->inputs[i], TAPE_ROW_MAJOR);
}

struct tape_tensor *pith_tape_output(struct tape *t, uint32_t slice, uint32_t i)
{
    return tape_at(t, slice, t->m->outputs[i], TAPE_ROW_MAJOR);
}

struct tape_tensor *pith_tape_value(struct tape *t, uint32_t slice, uint32_t value)
{
    struct tape_tensor *x = tape_at(t, slice, value, t->primary[value]);
    return x->type ? x : NULL;
}

void pith_tape_store(const struct tape *t, struct pith_model *m)
{
    for (uint32_t i = 0; i < t->n_parameters; i++) {
        const struct tape_parameter *p = &t->parameter[i];
        memcpy(m->values[p->value].constant->data, p->data, p->count * sizeof *p->data);
    }
    for (uint32_t i = 0; i < t->n_statistics; i++) {
        const struct tape_parameter *q = &t->statistic[i];
        memcpy(m->values[q->value].constant->data, q->data, q->count * sizeof *q->data);
    }
}
