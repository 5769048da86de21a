/* SPDX-License-Identifier: MIT */
/* tape_run.c - a tape forward and backward: step after step, each by all slices. */
#include "tape_state.h"

#include <string.h>

/* ---- layouts ------------------------------------------------------------------------------------
 */

/* to[n][j][i] (+)= from[n][i][j] */
static void swap_axes(size_t n, size_t rows, size_t cols, const float *from, float *to, bool add)
{
    for (size_t b = 0; b < n; b++, from += rows * cols, to += rows * cols)
        for (size_t j = 0; j < cols; j++)
            for (size_t i = 0; i < rows; i++)
                to[j * rows + i] = from[i * cols + j] + (add ? to[j * rows + i] : 0.0f);
}

void pith_to_channels_last(const struct shape *s, const float *from, float *to, bool add)
{
    swap_axes(s->dim[0], s->dim[1], shape_product(s, 2, s->rank), from, to, add);
}

void pith_to_row_major(const struct shape *s, const float *from, float *to, bool add)
{
    swap_axes(s->dim[0], shape_product(s, 2, s->rank), s->dim[1], from, to, add);
}

static void convert(const struct shape *s, enum tape_layout to_layout, const float *from, float *to,
                    bool add)
{
    if (to_layout == TAPE_CHANNELS_LAST)
        pith_to_channels_last(s, from, to, add);
    else
        pith_to_row_major(s, from, to, add);
}

/* ---- slices -------------------------------------------------------------------------------------
 */

struct slices {
    struct tape *t;
    const struct tape_step *step;
    void (*body)(struct grad_node *n);
};

void pith_tape_slices(struct tape *t, void (*body)(void *arg, uint32_t slice), void *arg)
{
    if (t->pool.parallel_for) {
        t->pool.parallel_for(t->pool.parallel_user, t->n_slices, body, arg);
        return;
    }
    for (uint32_t s = 0; s < t->n_slices; s++)
        body(arg, s);
}

static void call_body(void *arg, uint32_t slice)
{
    const struct slices *s = arg;
    s->body(&s->step->node[slice]);
}

static void all_slices(struct tape *t, const struct tape_step *step,
                       void (*body)(struct grad_node *n))
{
    struct slices s = {t, step, body};
    pith_tape_slices(t, call_body, &s);
}

/* Batch statistics: their sum over slices, in slice order, behind them. */
static void add_shared(const struct tape *t, const struct tape_step *step)
{
    size_t each = (size_t)step->node[0].channels * step->op->shared_sums;
    double *sum = step->shared + t->n_slices * each;
    memcpy(sum, step->shared, each * sizeof *sum);
    for (uint32_t s = 1; s < t->n_slices; s++)
        for (size_t i = 0; i < each; i++)
            sum[i] += step->shared[s * each + i];
}

/* ---- forward ------------------------------------------------------------------------------------
 */

static void convert_forward(void *arg, uint32_t slice)
{
    const struct slices *s = arg;
    const struct tape_step *step = s->step;
    const struct tape_tensor *from =
        tape_at(s->t, slice, step->value, (enum tape_layout)(1 - (int)step->to));
    const struct tape_tensor *to = tape_at(s->t, slice, step->value, step->to);
    convert(&from->shape, step->to, from->data, to->data, false);
}

static void run_forward(void *arg, uint32_t slice)
{
    const struct slices *s = arg;
    struct op_env env = {.kernels = &s->t->kernels, .scratch = s->t->scratch[slice]};
    s->step->run[slice].info->run(&s->step->run[slice], &env);
}

static void step_forward(struct tape *t, const struct tape_step *step)
{
    struct slices s = {t, step, NULL};
    if (step->converts) {
        pith_tape_slices(t, convert_forward, &s);
    } else if (!step->op || !step->op->forward) {
        pith_tape_slices(t, run_forward, &s);
    } else {
        if (step->op->forward_sums) {
            all_slices(t, step, step->op->forward_sums);
            add_shared(t, step);
        }
        all_slices(t, step, step->op->forward);
    }
}

/* ---- backward -----------------------------------------------------------------------------------
 */

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
    for (uint32_t i = 0; i < t->opts.n_hints; i++)
        clear_grad(tape_at(t, slice, t->opts.hint[i], t->primary[t->opts.hint[i]]));
}

static void call_backward(void *arg, uint32_t slice)
{
    const struct slices *s = arg;
    struct grad_node *n = &s->step->node[slice];
    for (uint32_t i = 0; i < n->n_in && !s->step->op->sets; i++)
        if (n->sets[i])
            clear_grad(n->in[i]);
    s->step->op->backward(n);
}

static void convert_backward(void *arg, uint32_t slice)
{
    const struct slices *s = arg;
    const struct tape_step *step = s->step;
    enum tape_layout other = (enum tape_layout)(1 - (int)step->to);
    const struct tape_tensor *to = tape_at(s->t, slice, step->value, other);
    const struct tape_tensor *from = tape_at(s->t, slice, step->value, step->to);
    convert(&from->shape, other, from->grad, to->grad, !step->sets[0]);
}

static bool any_grad(const struct grad_node *n)
{
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i]->grad)
            return true;
    return false;
}

static void step_backward(struct tape *t, const struct tape_step *step)
{
    struct slices s = {t, step, NULL};
    if (step->converts) {
        if (tape_at(t, 0, step->value, step->to)->grad)
            pith_tape_slices(t, convert_backward, &s);
        return;
    }
    if (!step->op || !any_grad(&step->node[0]))
        return;
    if (step->op->backward_sums) {
        all_slices(t, step, step->op->backward_sums);
        add_shared(t, step);
    }
    pith_tape_slices(t, call_backward, &s);
}

/* Part `slice` of every parameter: its gradients of all slices added in slice order. */
static void add_parameter_grads(void *arg, uint32_t part)
{
    struct tape *t = arg;
    for (uint32_t i = 0; i < t->n_parameters; i++) {
        const struct tape_parameter *p = &t->parameter[i];
        uint64_t begin = p->count * part / t->n_slices, end = p->count * (part + 1) / t->n_slices;
        for (uint32_t s = 0; s < t->n_slices; s++) {
            const float *grad = t->slice_grad[(size_t)s * t->n_parameters + i];
            for (uint64_t k = begin; k < end; k++)
                p->grad[k] = s == 0 ? grad[k] : p->grad[k] + grad[k];
        }
    }
}

/* ---- calls --------------------------------------------------------------------------------------
 */

static void timed(void (*run)(struct tape *t, const struct tape_step *step), struct tape *t,
                  const struct tape_step *step, double *seconds)
{
    uint64_t start = pith_clock_ns(NULL);
    run(t, step);
    *seconds = 1e-9 * (double)(pith_clock_ns(NULL) - start);
}

void pith_tape_forward(struct tape *t)
{
    uint64_t start = pith_clock_ns(NULL);
    for (uint32_t i = 0; i < t->n_steps; i++)
        timed(step_forward, t, &t->step[i], &t->step[i].forward_seconds);
    pith_tape_slices(t, clear_ends, t);
    t->seconds = 1e-9 * (double)(pith_clock_ns(NULL) - start);
}

void pith_tape_backward(struct tape *t)
{
    uint64_t start = pith_clock_ns(NULL);
    for (uint32_t i = t->n_steps; i > 0; i--)
        timed(step_backward, t, &t->step[i - 1], &t->step[i - 1].backward_seconds);
    pith_tape_slices(t, add_parameter_grads, t);
    t->seconds += 1e-9 * (double)(pith_clock_ns(NULL) - start);
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

void pith_tape_times(const struct tape *t, double *primitives, double *all)
{
    *primitives = 0;
    for (uint32_t s = 0; s < t->n_slices; s++)
        *primitives += pith_prim_seconds(t->prim[s]);
    *all = t->seconds;
}
