/* SPDX-License-Identifier: MIT */
/* feedback_start.c - layer by layer, as a walk through two networks comes by: the one that came,
 * and that with the layers that are done. */
#include "feedback_start.h"

#include <stdlib.h>

#include "train/shrink/parametrization.h"
#include "layers/layer_round.h"
#include "train/tape/tape.h"
#include "weight_layers.h"

#define PATHS 16u /* 0.7 dB less than a single path, at the same bits */

struct feedback {
    struct weight_walk walk;
    struct parametrization *of;
    uint32_t n;
};

/* A weight that is put onto its grid. */
struct layer {
    struct parametrization *of, *bias; /* bias: NULL where none can make up for what is left */
    const float *was;                  /* [rows, n] the weight as it came */
    uint64_t rows;
    double *shift; /* [rows] what the bias is to make up for */
    double *step;  /* [rows] */
    struct layer_moments moments;
    struct layer_factor factor;
    struct layer_round round;
};

/* ---- a layer --------------------------------------------------------------------------------- */

/* What the optimizer's numbers make, for it and for the walk that follows. */
static enum pith_status show(struct feedback *f, struct parametrization *of)
{
    pith_latent_spread(of, of->value, of->p->data);
    return pith_weight_become(&f->walk, of->p->value, of->p->data);
}

static const float *data_of(const struct feedback *f, uint32_t value)
{
    return f->walk.was->values[value].constant->data;
}

/* Of the bias that is added to the layer's rows, if it is trained. */
static struct parametrization *bias_numbers(const struct feedback *f, uint32_t value, uint64_t rows)
{
    for (uint32_t i = 0; i < f->n; i++)
        if (f->of[i].p->value == value && f->of[i].p->count == rows && f->of[i].n == rows)
            return &f->of[i];
    return NULL;
}

static enum pith_status move_bias(struct feedback *f, const struct layer *l)
{
    struct parametrization *of = l->bias;
    const uint8_t *alive = of->pruned ? of->pruned->alive : of->c->mask;
    const float *was = data_of(f, of->p->value);
    for (uint64_t k = 0; k < l->rows; k++)
        if (!alive || alive[k])
            of->value[k] = was[k] + (float)l->shift[k];
    return show(f, of);
}

static bool open_layer(const struct feedback *f, struct layer *l)
{
    l->rows = l->of->p->count / l->moments.n;
    l->was = data_of(f, l->of->p->value);
    l->bias = bias_numbers(f, pith_weight_bias(f->walk.was, l->of->p->value), l->rows);
    l->shift = calloc((size_t)l->rows, sizeof *l->shift);
    l->step = malloc((size_t)l->rows * sizeof *l->step);
    for (uint64_t row = 0; row < l->rows && l->step; row++)
        l->step[row] =
            (double)l->of->grid->step * (double)pith_latent_factor(l->of, row * l->moments.n);
    return l->shift && l->step;
}

static void close_layer(struct layer *l)
{
    pith_layer_moments_end(&l->moments);
    pith_layer_factor_end(&l->factor);
    free(l->shift);
    free(l->step);
    free(l->round.q);
    free(l->round.error);
}

/* Pruned ones are levels of 0 like others. */
static void take_levels(const struct layer *l)
{
    const size_t n = l->factor.n, each = (size_t)(l->rows / l->factor.groups);
    for (uint64_t row = 0; row < l->rows; row++) {
        const double factor = (double)pith_latent_factor(l->of, row * n);
        const double *now = l->moments.mean[0] + row / each * n,
                     *was = l->moments.mean[1] + row / each * n;
        float *v = l->of->value + row * n;
        for (size_t k = 0; k < n; k++) {
            v[k] = (float)l->round.q[row * n + k] * l->of->grid->step;
            l->shift[row] += (double)l->was[row * n + k] * was[k] - (double)v[k] * factor * now[k];
        }
    }
}

/* Where nothing comes in, weights stay as they are. */
static enum pith_status round_rows(struct feedback *f, struct layer *l)
{
    struct weight_walk *w = &f->walk;
    const struct parametrization *of = l->of;
    enum pith_status status =
        pith_layer_factor(&l->moments, l->bias ? PITH_BIAS_SHARE : 0,
                          pith_layer_damping(&l->moments), 1, &l->factor, w->err);
    if (status || !l->factor.u)
        return status ? status : show(f, l->of);
    l->round = (struct layer_round){.factor = &l->factor,
                                    .rows = l->rows,
                                    .w = l->was,
                                    .step = l->step,
                                    .kept = of->pruned ? of->pruned->alive : of->c->mask,
                                    .lowest = -of->grid->levels,
                                    .most = of->grid->levels,
                                    .paths = PATHS,
                                    .runtime = &w->runtime};
    status = pith_layer_targets(&l->factor, l->was, l->rows, &w->runtime, NULL, w->err);
    if (!status)
        status = pith_layer_round(&l->round, w->err);
    if (!status)
        take_levels(l);
    if (!status && l->bias)
        status = move_bias(f, l);
    return status ? status : show(f, l->of);
}

static enum pith_status round_layer(struct feedback *f, struct parametrization *of)
{
    struct layer l = {.of = of};
    enum pith_status status = pith_weight_moments(&f->walk, of->p->value, &l.moments);
    if (!status && l.moments.n)
        status = open_layer(f, &l) ? round_rows(f, &l) : pith_tape_no_memory(f->walk.err);
    close_layer(&l);
    return status;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Weights on grids, in the order in which they are first used. */
static enum pith_status round_layers(struct feedback *f)
{
    const struct pith_model *m = f->walk.was;
    enum pith_status status = PITH_OK;
    for (uint32_t node = 0; node < m->n_nodes && !status; node++)
        for (uint32_t k = 0; k < f->n && !status; k++) {
            const struct tape_parameter *p = f->of[k].p;
            if (f->of[k].grid && p->is_weight && p->value < m->n_values &&
                pith_weight_first_use(m, p->value) == node)
                status = round_layer(f, &f->of[k]);
        }
    return status;
}

enum pith_status pith_feedback_start(const struct pith_model *m, struct pith_data *data,
                                     const struct pith_train_opts *opts, struct optimizer *o,
                                     struct pith_error *err)
{
    struct feedback f = {.walk = {.was = m, .changes = true, .err = err}};
    f.of = pith_optimizer_numbers(o, &f.n);
    enum pith_status status =
        pith_weight_walk_open(&f.walk, data, opts->gptq_samples, opts->threads);
    if (!status)
        status = round_layers(&f);
    pith_weight_walk_close(&f.walk);
    return status;
}
