/* SPDX-License-Identifier: MIT */
/* feedback_start.c - layer by layer, as a sweep through two networks comes by: the one that came,
 * and that with the layers that are done. */
#include "feedback_start.h"

#include "feedback_sweep.h"
#include "parametrization.h"
#include "layer_inputs.h"
#include "row_feedback.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PER_SLICE = 8 };

/* Of the mean's square, that weights need not mind: the bias makes up for it, but for being
 * rounded. */
#define BIAS_SHARE 0.95

struct feedback {
    struct feedback_sweep sweep;
    struct parametrization *of;
    uint32_t n;
    struct pith_error *err;
};

/* A weight that is put onto its grid. */
struct layer {
    struct parametrization *of, *bias; /* bias: NULL where none can make up for what is left */
    const float *was;                  /* [rows, in.n] the weight as it came */
    uint64_t rows;
    double *shift; /* [rows] what the bias is to make up for */
    struct layer_inputs in;
    struct row_feedback feedback;
};

static void round_group(struct layer *l, uint32_t g)
{
    const struct layer_inputs *in = &l->in;
    struct parametrization *of = l->of;
    const uint8_t *alive = of->pruned ? of->pruned->alive : of->c->mask;
    const uint64_t rows = l->rows / in->groups;
    for (uint64_t row = g * rows; row < (g + 1) * rows; row++) {
        const float *w = l->was + row * in->n;
        float *v = of->value + row * in->n;
        double factor = (double)pith_latent_factor(of, row * in->n);
        pith_row_feedback_aim(&l->feedback, w);
        pith_row_feedback_round(&l->feedback, of->grid, factor, alive ? alive + row * in->n : NULL,
                                v);
        for (uint32_t k = 0; k < in->n; k++)
            l->shift[row] += ((double)w[k] * in->mean[1][(size_t)g * in->n + k] -
                              (double)v[k] * factor * in->mean[0][(size_t)g * in->n + k]) /
                             in->n_rows[g];
    }
}

static struct tape_parameter *parameter(struct tape *t, uint32_t value)
{
    uint32_t at = value < t->n_values ? t->parameter_of[value] : UINT32_MAX;
    return at == UINT32_MAX ? NULL : &t->parameter[at];
}

/* What the optimizer's numbers make, for it and for the tape that follows. */
static void show(struct feedback *f, struct parametrization *of)
{
    struct tape_parameter *p = parameter(f->sweep.now, of->p->value);
    pith_latent_spread(of, of->value, of->p->data);
    memcpy(p->data, of->p->data, (size_t)p->count * sizeof *p->data);
}

/* Of the bias that is added to the layer's rows, if it is trained. */
static struct parametrization *bias_numbers(const struct feedback *f, uint32_t value, uint64_t rows)
{
    for (uint32_t i = 0; i < f->n; i++)
        if (f->of[i].p->value == value && f->of[i].p->count == rows && f->of[i].n == rows)
            return &f->of[i];
    return NULL;
}

static void move_bias(struct feedback *f, const struct layer *l)
{
    struct parametrization *of = l->bias;
    const uint8_t *alive = of->pruned ? of->pruned->alive : of->c->mask;
    const float *was = parameter(f->sweep.before, of->p->value)->data;
    for (uint64_t k = 0; k < l->rows; k++)
        if (!alive || alive[k])
            of->value[k] = was[k] + (float)l->shift[k];
    show(f, of);
}

static void round_rows(struct feedback *f, struct layer *l)
{
    size_t square = (size_t)l->in.n * l->in.n;
    bool moved = false;
    if (l->bias)
        pith_layer_inputs_centre(&l->in, BIAS_SHARE);
    for (uint32_t g = 0; g < l->in.groups; g++)
        if (pith_row_feedback_factor(&l->feedback, l->in.both + g * square,
                                     l->in.crossed + g * square)) {
            round_group(l, g);
            moved = true;
        }
    if (moved && l->bias)
        move_bias(f, l);
    show(f, l->of);
}

/* ---- one layer ------------------------------------------------------------------------------- */

/* The steps that multiply by a weight. */
struct weight_uses {
    struct parametrization *of;
    uint32_t first, last;
};

struct look {
    struct feedback *f;
    struct layer *layer;
};

static enum pith_status look(void *arg, uint32_t step, uint32_t slice, uint64_t unit)
{
    struct feedback *f = ((const struct look *)arg)->f;
    struct layer *l = ((const struct look *)arg)->layer;
    const struct feedback_sweep *s = &f->sweep;
    (void)unit;
    if (pith_step_multiplies(s->now, &s->now->step[step], l->of->p->value))
        pith_layer_inputs_add(&l->in, step, slice, s->samples, s->now, s->before);
    return PITH_OK;
}

static bool open_layer(const struct feedback *f, struct layer *l)
{
    l->rows = l->of->p->count / l->in.n;
    l->was = parameter(f->sweep.before, l->of->p->value)->data;
    l->bias = bias_numbers(f, l->in.bias, l->rows);
    l->shift = calloc((size_t)l->rows, sizeof *l->shift);
    return l->shift && pith_layer_inputs_open(&l->in, true);
}

static enum pith_status round_layer(struct feedback *f, const struct weight_uses *uses)
{
    struct layer l = {.of = uses->of, .in = pith_layer_inputs_of(f->sweep.now, uses->of->p)};
    const struct sweep_use use = {look, &(struct look){f, &l}};
    if (l.in.n == 0)
        return PITH_OK;
    enum pith_status status = open_layer(f, &l)
                                  ? pith_sweep_go(&f->sweep, uses->first, uses->last + 1, &use)
                                  : pith_tape_no_memory(f->err);
    if (!status) {
        pith_layer_inputs_end(&l.in);
        status = pith_row_feedback_open(&l.feedback, l.in.n, true) ? PITH_OK
                                                                   : pith_tape_no_memory(f->err);
    }
    if (!status)
        round_rows(f, &l);
    free(l.shift);
    pith_layer_inputs_free(&l.in);
    pith_row_feedback_free(&l.feedback);
    return status;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int by_first(const void *a, const void *b)
{
    const struct weight_uses *p = a, *q = b;
    return (p->first > q->first) - (p->first < q->first);
}

/* Weights on grids, in the order in which they are first used; no step uses two of them. */
static uint32_t list_uses(const struct feedback *f, struct weight_uses *uses)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < f->n; k++) {
        struct parametrization *of = &f->of[k];
        struct weight_uses *u = &uses[n];
        *u = (struct weight_uses){.of = of, .first = UINT32_MAX};
        for (uint32_t i = 0; i < f->sweep.now->n_steps && of->grid && of->p->is_weight; i++)
            if (pith_step_multiplies(f->sweep.now, &f->sweep.now->step[i], of->p->value)) {
                u->first = u->first == UINT32_MAX ? i : u->first;
                u->last = i;
            }
        n += u->first != UINT32_MAX;
    }
    qsort(uses, n, sizeof *uses, by_first);
    return n;
}

static enum pith_status round_layers(struct feedback *f)
{
    struct weight_uses *uses = malloc((f->n + (size_t)1) * sizeof *uses);
    uint32_t n = uses ? list_uses(f, uses) : 0;
    enum pith_status status = uses ? PITH_OK : pith_tape_no_memory(f->err);
    for (uint32_t i = 0; i < n && !status; i++)
        status = round_layer(f, &uses[i]);
    free(uses);
    return status;
}

enum pith_status pith_feedback_start(const struct pith_model *m, struct pith_data *data,
                                     const struct pith_train_opts *opts, struct optimizer *o,
                                     struct pith_error *err)
{
    struct feedback f = {.err = err};
    uint64_t n = pith_data_count(data), wanted = opts->gptq_samples < n ? opts->gptq_samples : n;
    uint32_t most = (uint32_t)(n / PITH_TRAIN_SLICES);
    most = most < MOST_PER_SLICE ? most : MOST_PER_SLICE;
    const uint64_t batch = (uint64_t)most * PITH_TRAIN_SLICES;
    f.of = pith_optimizer_numbers(o, &f.n);
    enum pith_status status =
        pith_sweep_open(m, data, opts, most, (wanted + batch - 1) / batch * batch, &f.sweep, err);
    if (!status)
        status = round_layers(&f);
    pith_sweep_close(&f.sweep);
    return status;
}
