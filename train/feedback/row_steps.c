/* SPDX-License-Identifier: MIT */
#include "row_steps.h"

#include "sampled_fisher.h"
#include "train/batch/feed_batch.h"
#include "train/shrink/parametrization.h"
#include "weight_layers.h"

#include <math.h>
#include <stdlib.h>

#define PER_SLICE 2u     /* small batches: each is one draw of the sums */
#define LEAST_STEP 1e-30 /* so that it is a number, whatever the weights are */
#define MOST_STEP 1e30
#define TRUST 0.85    /* factor of log F: part of its spread is sampling noise */
#define COARSEST 16.0 /* a row's step, in those of its tensor */

/* A weight whose steps are requested. */
struct probed {
    uint32_t parameter, value; /* of the tape, of the model */
    uint64_t rows, cols;
    double *sum; /* [rows] F of the row, summed over weights and samples; in the end its step */
    struct layer_factor factor; /* u NULL: each weight is rounded for itself */
};

struct probe {
    const struct pith_model *m;
    const struct pith_train_opts *opts;
    struct pith_error *err;
    struct sampled_fisher drawn;
    struct feed_batch *batch;
    uint32_t n;
    struct probed *of;
    uint64_t n_batches;
    double *room; /* [most columns] */
};

/* ---- sensitivity ----------------------------------------------------------------------------- */

static double squares(const float *g, uint64_t n)
{
    double sum = 0;
    for (uint64_t k = 0; k < n; k++)
        sum += (double)g[k] * (double)g[k];
    return sum;
}

static void add_gradients(struct probe *p)
{
    uint32_t n;
    const struct tape_parameter *all = pith_tape_parameters(p->drawn.tape, &n);
    for (uint32_t i = 0; i < p->n; i++) {
        struct probed *w = &p->of[i];
        for (uint64_t r = 0; r < w->rows; r++) {
            const float *g = all[w->parameter].grad + r * w->cols;
            w->sum[r] += w->factor.u ? pith_layer_gradient_noise(
                                           &w->factor, (uint32_t)(r / (w->rows / w->factor.groups)),
                                           g, p->room)
                                     : squares(g, w->cols);
        }
    }
}

static enum pith_status add_samples(struct probe *p)
{
    for (uint64_t b = 0; b < p->n_batches; b++) {
        enum pith_status status = pith_batch_load(p->batch, p->drawn.tape, b, p->err);
        if (status)
            return status;
        pith_tape_forward(p->drawn.tape);
        pith_sampled_fisher_backward(&p->drawn, b * p->drawn.per_slice * PITH_TRAIN_SLICES);
        add_gradients(p);
    }
    return PITH_OK;
}

/* ---- what feedback makes of roundings -------------------------------------------------------- */

/* Of each weight, as the network is. */
static enum pith_status find_factors(struct probe *p, struct weight_walk *walk)
{
    enum pith_status status = PITH_OK;
    for (uint32_t node = 0; node < p->m->n_nodes; node++)
        for (uint32_t i = 0; i < p->n && !status; i++) {
            struct layer_moments m;
            if (pith_weight_first_use(p->m, p->of[i].value) != node)
                continue;
            status = pith_weight_moments(walk, p->of[i].value, &m);
            if (!status && m.n)
                status =
                    pith_layer_factor(&m, 0, pith_layer_damping(&m), 1, &p->of[i].factor, p->err);
            pith_layer_moments_end(&m);
        }
    return status;
}

static enum pith_status open_factors(struct probe *p, struct pith_data *data)
{
    struct weight_walk walk = {.was = p->m, .err = p->err};
    enum pith_status status =
        pith_weight_walk_open(&walk, data, ROW_STEPS_SAMPLES, p->opts->threads);
    if (!status)
        status = find_factors(p, &walk);
    pith_weight_walk_close(&walk);
    return status;
}

/* ---- steps ----------------------------------------------------------------------------------- */

float pith_row_step_round(double s)
{
    int e;
    double m = frexp(fmin(fmax(s, LEAST_STEP), MOST_STEP), &e); /* .5 .. 1 */
    m = m < sqrt(.5 * .75) ? .5 : m < sqrt(.75 * 1) ? .75 : 1;  /* the nearest by its logarithm */
    return (float)ldexp(m, e);
}

/* F becomes the steps, but for d: F to the power of -TRUST / 2, F at least a part of the tensor's.
 * False: the loss knows none of its rows. */
static bool find_shape(struct probed *w)
{
    double mean = 0;
    for (uint64_t r = 0; r < w->rows; r++)
        mean += w->sum[r] / (double)w->rows;
    if (!(mean > 0) || !isfinite(mean))
        return false;
    for (uint64_t r = 0; r < w->rows; r++) {
        double f = fmax(w->sum[r], mean / (COARSEST * COARSEST));
        w->sum[r] = pow((double)w->cols / f, 0.5 * TRUST);
    }
    return true;
}

struct mean {
    double sum, weights;
};

static void add_log(struct mean *mean, double weights, double x)
{
    mean->sum += weights * log2(x);
    mean->weights += weights;
}

/* What all steps are to be multiplied by. Tensors that the loss does not know, or of zeros, take no
 * part: they have no rows then. */
static double find_level(struct probe *p)
{
    struct mean wanted = {0, 0}, found = {0, 0};
    double largest = 1;
    for (uint32_t i = 0; i < p->n; i++)
        largest = fmax(largest, (double)(p->of[i].rows * p->of[i].cols));
    for (uint32_t i = 0; i < p->n; i++) {
        struct probed *w = &p->of[i];
        const struct pith_const *c = p->m->values[w->value].constant;
        double count = (double)(w->rows * w->cols);
        double step = pith_latent_mean_step(p->opts, c->count, c->data, c->mask, count / largest);
        if (!(step > 0) || !find_shape(w)) {
            w->rows = 0;
            continue;
        }
        add_log(&wanted, count, step);
        for (uint64_t r = 0; r < w->rows; r++)
            add_log(&found, (double)w->cols, w->sum[r]);
    }
    return found.weights > 0 ? exp2((wanted.sum - found.sum) / found.weights) : 1;
}

/* Steps that depthwise weights can take over, they do. */
static enum pith_status scale_rows(struct probe *p, struct row_scale *scale)
{
    double **step = calloc(p->m->n_values + 1u, sizeof *step);
    enum pith_status status = step ? PITH_OK : pith_tape_no_memory(p->err);
    for (uint32_t i = 0; i < p->n && !status; i++)
        if (p->of[i].rows > 0)
            step[p->of[i].value] = p->of[i].sum;
    if (!status)
        status = pith_row_scale_find(p->m, step, scale, p->err);
    free(step);
    return status;
}

static enum pith_status take_steps(struct probe *p, struct row_steps *steps)
{
    double d = find_level(p);
    enum pith_status status = scale_rows(p, &steps->scale);
    for (uint32_t i = 0; i < p->n && !status; i++) {
        const struct probed *w = &p->of[i];
        struct steps_of *to = &steps->of[w->value];
        to->n = pith_row_scale_evens(&steps->scale, w->value) ? w->rows > 0 : w->rows;
        to->step = to->n ? malloc((size_t)to->n * sizeof *to->step) : NULL;
        if (to->n && !to->step)
            return pith_tape_no_memory(p->err);
        for (uint64_t r = 0; r < to->n; r++)
            to->step[r] = to->n > 1 ? pith_row_step_round(d * w->sum[r]) : (float)(d * w->sum[r]);
    }
    return status;
}

/* ---- all ------------------------------------------------------------------------------------- */

void pith_row_steps_free(struct row_steps *steps)
{
    for (uint32_t i = 0; i < steps->n && steps->of; i++)
        free(steps->of[i].step);
    free(steps->of);
    pith_row_scale_free(&steps->scale);
    *steps = (struct row_steps){0};
}

static void close_probe(struct probe *p)
{
    for (uint32_t i = 0; i < p->n && p->of; i++) {
        pith_layer_factor_end(&p->of[i].factor);
        free(p->of[i].sum);
    }
    free(p->of);
    free(p->room);
    pith_batch_free(p->batch);
    pith_sampled_fisher_close(&p->drawn);
}

/* The weights among the tape's parameters, but those that are on grids. */
static enum pith_status list_weights(struct probe *p)
{
    uint32_t n;
    const struct tape_parameter *all = pith_tape_parameters(p->drawn.tape, &n);
    p->of = calloc(n + 1u, sizeof *p->of);
    p->room = malloc(PITH_LAYER_MOST_COLUMNS * sizeof *p->room);
    for (uint32_t i = 0; i < n && p->of && p->room; i++) {
        const struct pith_value *v = &p->m->values[all[i].value];
        if (!all[i].is_weight || v->rank == 0 ||
            pith_latent_had_steps(v->constant->codebook, p->opts->levels))
            continue;
        uint64_t rows = v->dim[0];
        struct probed *w = &p->of[p->n++];
        *w = (struct probed){.parameter = i,
                             .value = all[i].value,
                             .rows = rows,
                             .cols = all[i].count / rows,
                             .sum = calloc(rows, sizeof *w->sum)};
        if (!w->sum)
            return pith_tape_no_memory(p->err);
    }
    return p->of && p->room ? PITH_OK : pith_tape_no_memory(p->err);
}

static enum pith_status open_probe(struct probe *p, struct pith_data *data)
{
    uint64_t count = pith_data_count(data), share = count / PITH_TRAIN_SLICES;
    uint64_t wanted = count < ROW_STEPS_SAMPLES ? count : ROW_STEPS_SAMPLES;
    uint32_t per_slice = share < PER_SLICE ? (uint32_t)share : PER_SLICE;
    uint32_t batch = per_slice * PITH_TRAIN_SLICES;
    enum pith_status status = pith_sampled_fisher_open(p->m, p->opts, per_slice, &p->drawn, p->err);
    if (!status)
        status = pith_batch_new(
            data,
            (struct batch_kind){.type = p->m->values[p->m->inputs[0]].type, .per_slice = per_slice},
            &p->batch, p->err);
    if (!status)
        status = list_weights(p);
    if (!status) {
        pith_batch_in_order(p->batch);
        p->n_batches = (wanted + batch - 1) / batch;
    }
    return status;
}

bool pith_row_steps_differ(const struct row_steps *steps)
{
    for (uint32_t i = 0; i < steps->n; i++)
        if (steps->of[i].n > 1)
            return true;
    return false;
}

enum pith_status pith_row_steps_find(const struct pith_model *m, struct pith_data *data,
                                     const struct pith_train_opts *opts, struct row_steps *steps,
                                     struct pith_error *err)
{
    struct probe p = {.m = m, .opts = opts, .err = err};
    *steps = (struct row_steps){m->n_values, calloc(m->n_values + 1u, sizeof *steps->of), {0}};
    enum pith_status status = steps->of ? open_probe(&p, data) : pith_tape_no_memory(err);
    if (!status && opts->gptq_samples)
        status = open_factors(&p, data);
    if (!status)
        status = add_samples(&p);
    if (!status)
        status = take_steps(&p, steps);
    close_probe(&p);
    if (status)
        pith_row_steps_free(steps);
    return status;
}
