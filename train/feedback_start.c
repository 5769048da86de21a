/* SPDX-License-Identifier: MIT */
/* feedback_start.c - two tapes of the network: as it came, and with the layers that are done. */
#include "feedback_start.h"

#include "drawn_gradient.h"
#include "feed_batch.h"
#include "free_numbers.h"
#include "layer_inputs.h"
#include "row_feedback.h"
#include "row_paths.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PER_SLICE = 8 };

/* Of the mean's square, that weights need not mind: the bias makes up for it, but for being rounded. */
#define BIAS_SHARE 0.95

struct feedback {
    struct tape *now;
    struct drawn_gradient before;
    float loss_share;
    struct feed_batch *batch;
    uint32_t per_slice;
    uint64_t n_batches;
    struct free_numbers *of;
    uint32_t n;
    struct pith_error *err;
};

/* All uses of the weight, in all batches. */
static enum pith_status add_samples(struct feedback *f, uint32_t value, struct layer_inputs *in)
{
    for (uint64_t b = 0; b < f->n_batches; b++) {
        enum pith_status status = pith_batch_load(f->batch, f->now, b, f->err);
        if (!status)
            status = pith_batch_load(f->batch, f->before.tape, b, f->err);
        if (status)
            return status;
        pith_tape_forward(f->now);
        pith_tape_forward(f->before.tape);
        if (f->loss_share > 0)
            pith_drawn_backward(&f->before, b * f->per_slice * PITH_TRAIN_SLICES);
        pith_layer_inputs_add(in, value, f->per_slice, f->now, f->before.tape);
    }
    pith_layer_inputs_end(in, f->now);
    return PITH_OK;
}

/* A weight that is put onto its grid. */
struct layer {
    struct free_numbers *of, *bias; /* bias: NULL where none can make up for what is left */
    const float *was;               /* [rows, in.n] the weight as it came */
    uint64_t rows;
    double *shift; /* [rows] what the bias is to make up for */
    struct layer_inputs in;
    struct row_feedback feedback;
    struct row_paths paths;
};

static void round_group(struct layer *l, uint32_t g)
{
    const struct layer_inputs *in = &l->in;
    struct free_numbers *of = l->of;
    const uint8_t *alive = of->thin ? of->thin->alive : of->c->mask;
    const uint64_t rows = l->rows / in->groups;
    for (uint64_t row = g * rows; row < (g + 1) * rows; row++) {
        const float *w = l->was + row * in->n;
        float *v = of->value + row * in->n;
        double factor = (double)pith_number_factor(of, row * in->n);
        pith_row_feedback_aim(&l->feedback, w);
        pith_row_paths_round(&l->paths, &l->feedback, of->grid, factor,
                             alive ? alive + row * in->n : NULL, v);
        for (uint32_t k = 0; k < in->n; k++)
            l->shift[row] += ((double)w[k] * in->mean[1][(size_t)g * in->n + k] -
                              (double)v[k] * factor * in->mean[0][(size_t)g * in->n + k]) /
                             in->weights[g];
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

/* Of the bias that is added to the layer's rows, if it is trained. */
static struct free_numbers *bias_numbers(const struct feedback *f, uint32_t value, uint64_t rows)
{
    for (uint32_t i = 0; i < f->n; i++)
        if (f->of[i].p->value == value && f->of[i].p->count == rows && f->of[i].n == rows)
            return &f->of[i];
    return NULL;
}

static void move_bias(struct feedback *f, const struct layer *l)
{
    struct free_numbers *of = l->bias;
    const uint8_t *alive = of->thin ? of->thin->alive : of->c->mask;
    const float *was = parameter(f->before.tape, of->p->value)->data;
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

static bool open_layer(const struct feedback *f, struct layer *l)
{
    l->rows = l->of->p->count / l->in.n;
    l->was = parameter(f->before.tape, l->of->p->value)->data;
    l->bias = bias_numbers(f, l->in.bias, l->rows);
    l->shift = calloc((size_t)l->rows, sizeof *l->shift);
    return l->shift && pith_layer_inputs_open(&l->in, true, f->loss_share) &&
           pith_row_feedback_open(&l->feedback, l->in.n, true) &&
           pith_row_paths_open(&l->paths, l->in.n);
}

static enum pith_status round_layer(struct feedback *f, struct free_numbers *of)
{
    struct layer l = {.of = of, .in = pith_layer_inputs_of(f->now, of->p)};
    if (l.in.n == 0)
        return PITH_OK;
    enum pith_status status = open_layer(f, &l) ? add_samples(f, of->p->value, &l.in)
                                                : pith_tape_no_memory(f->err);
    if (!status)
        round_rows(f, &l);
    free(l.shift);
    pith_layer_inputs_free(&l.in);
    pith_row_feedback_free(&l.feedback);
    pith_row_paths_free(&l.paths);
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
                !pith_step_multiplies(f->now, &f->now->step[i], of->p->value))
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
    struct feedback f = {.loss_share = opts->feedback_loss, .err = err};
    uint64_t n = pith_data_count(data), wanted = opts->feedback < n ? opts->feedback : n;
    f.per_slice = (uint32_t)(n / PITH_TRAIN_SLICES);
    f.per_slice = f.per_slice < MOST_PER_SLICE ? f.per_slice : MOST_PER_SLICE;
    const uint32_t batch = f.per_slice * PITH_TRAIN_SLICES;
    const struct tape_opts t = {.batch = batch, .threads = opts->threads, .unchecked = true};
    f.of = pith_optimizer_numbers(o, &f.n);
    enum pith_status status = pith_drawn_open(m, opts, f.per_slice, &f.before, err);
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
    pith_drawn_close(&f.before);
    pith_tape_free(f.now);
    return status;
}
