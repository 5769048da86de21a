/* SPDX-License-Identifier: MIT */
/* fisher_rows.c - one slice of one sample: the squared gradient of a sum of samples would be that
 * of their sum only on the mean of draws. */
#include "fisher_rows.h"

#include "sampled_fisher.h"
#include "base/error_fill.h"
#include "base/kept_values.h"
#include "measure/recorded_feed.h"
#include "base/seeded_random.h"
#include "train/tape/tape_state.h"
#include "core/op_number.h"

#include <stdlib.h>
#include <string.h>

#define DRAWS 512u       /* vectors of a layer, of all samples together */
#define MOST_DRAWS 16u   /* of one sample */
#define MOST_DRAWN 2048u /* rows of a layer that has any */
#define LANES 16u
#define PLACE_BYTES (UINT64_C(2) << 20) /* in memory, as long as the sensitivity is there */

/* What one sample has found: the output's power, squared gradients of rows, of places. */
struct record {
    size_t bytes;
    size_t *rows_at, *places_at, *draws_at; /* [n_values] where a value's begin, in bytes */
    uint8_t *data;
};

struct fisher {
    const struct pith_model *m;
    struct recorded_feed *feed;
    struct pith_fisher_opts opts;
    struct sampled_fisher drawn;
    struct pith_sensitivity *to;
    double power; /* sum of the output's squares, over samples */
    float *sign;  /* [most columns] */
    uint64_t sample;
    struct record record;
    struct pith_error *err;
};

static double squares(const float *g, uint64_t n)
{
    double sum = 0;
    for (uint64_t k = 0; k < n; k++)
        sum += (double)g[k] * (double)g[k];
    return sum;
}

static double *rows_of(const struct fisher *f, const uint8_t *record, uint32_t v)
{
    return (double *)(uintptr_t)(record + f->record.rows_at[v]);
}

static float *places_of(const struct fisher *f, const uint8_t *record, uint32_t v)
{
    return (float *)(uintptr_t)(record + f->record.places_at[v]);
}

static float *draws_of(const struct fisher *f, const uint8_t *record, uint32_t v)
{
    return (float *)(uintptr_t)(record + f->record.draws_at[v]);
}

static float signed_sum(const float *g, const float *sign, uint64_t n)
{
    float lane[LANES] = {0}, sum = 0;
    uint64_t k = 0;
    for (; k + LANES <= n; k += LANES)
        for (uint32_t i = 0; i < LANES; i++)
            lane[i] += sign[k + i] * g[k + i];
    for (; k < n; k++)
        sum += sign[k] * g[k];
    for (uint32_t i = 0; i < LANES; i++)
        sum += lane[i];
    return sum;
}

static void draw(struct fisher *f, const struct tape_parameter *p)
{
    const struct pith_row_sensitivity *of = &f->to->of[p->value];
    const uint64_t cols = of->n_draws ? p->count / of->rows : 0;
    float *to = draws_of(f, f->record.data, p->value);
    for (uint64_t d = 0; d < of->n_draws; d++) {
        uint64_t state = (f->sample * f->to->n + p->value) * MOST_DRAWS + d, bits = 0;
        for (uint64_t k = 0; k < cols; k++, bits >>= 1) {
            if (k % 64 == 0)
                bits = next_random(&state);
            f->sign[k] = bits & 1 ? 1 : -1;
        }
        for (uint64_t r = 0; r < of->rows; r++)
            *to++ = signed_sum(p->grad + r * cols, f->sign, cols);
    }
}

static void note_gradients(struct fisher *f)
{
    uint32_t n;
    const struct tape_parameter *all = pith_tape_parameters(f->drawn.tape, &n);
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t rows = f->to->of[all[i].value].rows, cols = rows ? all[i].count / rows : 0;
        double *to = rows_of(f, f->record.data, all[i].value);
        for (uint64_t r = 0; r < rows; r++)
            to[r] = squares(all[i].grad + r * cols, cols);
        draw(f, &all[i]);
    }
}

/* ---- places ---------------------------------------------------------------------------------- */

/* The step multiplies by a weight's rows: its value, else PITH_VALUE_NONE. */
static uint32_t weight_of(const struct tape *t, const struct tape_step *step)
{
    if (step->converts)
        return PITH_VALUE_NONE;
    const struct pith_node *node = &t->m->nodes[step->at];
    return pith_node_by_rows(node) && node->n_in > 1 && node->in[1] != PITH_VALUE_NONE &&
                   t->parameter_of[node->in[1]] != UINT32_MAX
               ? node->in[1]
               : PITH_VALUE_NONE;
}

/* Squared gradients of a layer's results, over channels: of each place. */
static void sum_channels(const struct grad_node *n, uint32_t op, uint64_t places, float *place)
{
    const struct tape_tensor *y = n->out[0];
    const uint64_t channels = y->shape.dim[pith_op_channel_axis(op, y->shape.rank)];
    const bool last = op != PITH_OP_CONV || y->layout == TAPE_CHANNELS_LAST;
    const uint64_t in_image = op == PITH_OP_CONV ? places / y->shape.dim[0] : places;
    for (uint64_t at = 0; at < places; at++) {
        const float *g =
            y->grad + at / in_image * in_image * channels + at % in_image * (last ? channels : 1);
        double sum = 0;
        for (uint64_t c = 0; c < channels; c++, g += last ? 1 : in_image)
            sum += (double)*g * (double)*g;
        place[at] = (float)sum;
    }
}

static void note_places(struct fisher *f, uint32_t i)
{
    const struct tape *t = f->drawn.tape;
    const uint32_t v = weight_of(t, &t->step[i]);
    if (v < f->to->n && f->to->of[v].n_places && t->step[i].node[0].out[0]->grad)
        sum_channels(&t->step[i].node[0], t->m->nodes[t->step[i].at].op, f->to->of[v].n_places,
                     places_of(f, f->record.data, v));
}

/* A weight that several steps multiply by has places of none. */
static enum pith_status list_places(struct fisher *f)
{
    const struct tape *t = f->drawn.tape;
    uint32_t *uses = calloc(f->to->n + (size_t)1, sizeof *uses);
    f->to->place = pith_kept_new(f->to->n, PLACE_BYTES);
    for (uint32_t i = 0; i < t->n_steps && uses; i++) {
        const uint32_t v = weight_of(t, &t->step[i]);
        if (v >= f->to->n)
            continue;
        const struct tape_tensor *y = t->step[i].node[0].out[0];
        const uint32_t op = t->m->nodes[t->step[i].at].op;
        const uint64_t places =
            shape_elems(&y->shape) / y->shape.dim[pith_op_channel_axis(op, y->shape.rank)];
        f->to->of[v].n_places = ++uses[v] == 1 && y->grad ? places : 0;
    }
    free(uses);
    return uses && f->to->place ? PITH_OK : pith_tape_no_memory(f->err);
}

/* Groups have rows of inputs of their own: errors of two never meet. */
static bool list_draws(struct fisher *f)
{
    const struct tape *t = f->drawn.tape;
    const uint64_t samples = f->to->n_samples, wanted = (DRAWS + samples - 1) / samples,
                   each = wanted < MOST_DRAWS ? wanted : MOST_DRAWS;
    uint64_t most = 1;
    for (uint32_t i = 0; i < t->n_steps; i++) {
        const uint32_t v = weight_of(t, &t->step[i]);
        if (v >= f->to->n)
            continue;
        struct pith_row_sensitivity *of = &f->to->of[v];
        const struct pith_node *node = &t->m->nodes[t->step[i].at];
        const uint64_t count = f->m->values[v].constant->count;
        if (of->n_places && of->rows > 1 && of->rows <= MOST_DRAWN &&
            pith_op_groups(node->op, node->attr) == 1) {
            of->n_draws = each;
            most = count / of->rows > most ? count / of->rows : most;
        }
    }
    f->to->draw = pith_kept_new(f->to->n, PLACE_BYTES);
    f->sign = malloc((size_t)most * sizeof *f->sign);
    return f->to->draw && f->sign;
}

/* ---- records --------------------------------------------------------------------------------- */

static enum pith_status open_record(struct fisher *f)
{
    struct record *r = &f->record;
    const uint32_t n = f->to->n;
    r->rows_at = calloc(n + (size_t)1, sizeof *r->rows_at);
    r->places_at = calloc(n + (size_t)1, sizeof *r->places_at);
    r->draws_at = calloc(n + (size_t)1, sizeof *r->draws_at);
    if (!r->rows_at || !r->places_at || !r->draws_at)
        return pith_tape_no_memory(f->err);
    r->bytes = sizeof f->power;
    for (uint32_t v = 0; v < n; v++) {
        r->rows_at[v] = r->bytes;
        r->bytes += (size_t)f->to->of[v].rows * sizeof(double);
    }
    for (uint32_t v = 0; v < n; v++) {
        r->places_at[v] = r->bytes;
        r->bytes += (size_t)f->to->of[v].n_places * sizeof(float);
        r->draws_at[v] = r->bytes;
        r->bytes += (size_t)(f->to->of[v].n_draws * f->to->of[v].rows) * sizeof(float);
    }
    r->bytes = (r->bytes + sizeof(double) - 1) / sizeof(double) * sizeof(double);
    r->data = malloc(r->bytes);
    return r->data ? PITH_OK : pith_tape_no_memory(f->err);
}

static void close_record(struct record *r)
{
    free(r->rows_at);
    free(r->places_at);
    free(r->draws_at);
    free(r->data);
}

/* What `sample` adds to array v. */
static enum pith_status keep(const struct fisher *f, struct kept_values *k, uint32_t v,
                             uint64_t sample, const float *x, uint64_t bytes)
{
    enum pith_status status = pith_kept_open(k, v, f->to->n_samples * bytes, f->err);
    return status ? status : pith_kept_write(k, v, sample * bytes, x, bytes, f->err);
}

/* Into the sums. */
static enum pith_status add_record(struct fisher *f, uint64_t sample)
{
    const uint8_t *record = f->record.data;
    enum pith_status status = PITH_OK;
    f->power += *(const double *)(const void *)record;
    for (uint32_t v = 0; v < f->to->n && !status; v++) {
        struct pith_row_sensitivity *to = &f->to->of[v];
        const double *row = rows_of(f, record, v);
        const float *place = places_of(f, record, v);
        const uint64_t bytes = to->n_places * sizeof *place;
        for (uint64_t r = 0; r < to->rows; r++)
            to->row[r] += row[r];
        for (uint64_t k = 0; k < to->n_places; k++)
            to->place_mean += (double)place[k];
        if (to->n_places)
            status = keep(f, f->to->place, v, sample, place, bytes);
        const uint64_t drawn = to->n_draws * to->rows * sizeof(float);
        if (drawn && !status)
            status = keep(f, f->to->draw, v, sample, draws_of(f, record, v), drawn);
    }
    return status;
}

/* ---- samples --------------------------------------------------------------------------------- */

static enum pith_status read_inputs(const struct fisher *f, uint64_t sample)
{
    enum pith_status status = PITH_OK;
    for (uint32_t i = 0; i < f->m->n_inputs && !status; i++)
        status = pith_recorded_feed_read(f->feed, i, sample,
                                         pith_tape_input(f->drawn.tape, 0, i)->data, f->err);
    return status;
}

static void note_power(struct fisher *f)
{
    double *power = (double *)(void *)f->record.data;
    for (uint32_t i = 0; i < f->m->n_outputs && f->opts.squares; i++) {
        const struct tape_tensor *y = pith_tape_output(f->drawn.tape, 0, i);
        const double scale = f->opts.output_scale ? f->opts.output_scale[i] : i == 0;
        if (scale > 0)
            *power += scale * scale * squares(y->data, shape_elems(&y->shape));
    }
}

static enum pith_status run_sample(struct fisher *f, uint64_t sample)
{
    enum pith_status status = read_inputs(f, sample);
    if (status)
        return status;
    memset(f->record.data, 0, f->record.bytes);
    f->sample = sample;
    pith_tape_forward(f->drawn.tape);
    note_power(f);
    pith_sampled_fisher_backward(&f->drawn, sample);
    note_gradients(f);
    for (uint32_t i = 0; i < f->drawn.tape->n_steps; i++)
        note_places(f, i);
    return PITH_OK;
}

static enum pith_status add_samples(struct fisher *f, uint64_t samples)
{
    const struct pith_fisher_opts *o = &f->opts;
    enum pith_status status = PITH_OK;
    for (uint64_t i = 0; i < samples && !status; i++) {
        status = run_sample(f, i);
        if (!status)
            status = add_record(f, i);
        if (!status && o->progress && !o->progress(o->user, i + 1, samples))
            status = pith_error_fill(f->err, PITH_ERR_ARGUMENT, "interrupted");
    }
    return status;
}

static enum pith_status list_rows(struct fisher *f)
{
    uint32_t n;
    const struct tape_parameter *all = pith_tape_parameters(f->drawn.tape, &n);
    f->to->of = calloc(f->m->n_values + 1u, sizeof *f->to->of);
    for (uint32_t i = 0; i < n && f->to->of; i++) {
        if (all[i].value >= f->m->n_values || f->m->values[all[i].value].rank == 0)
            continue;
        struct pith_row_sensitivity *to = &f->to->of[all[i].value];
        to->rows = f->m->values[all[i].value].dim[0];
        to->row = calloc((size_t)to->rows, sizeof *to->row);
        if (!to->row)
            return pith_tape_no_memory(f->err);
    }
    return f->to->of ? PITH_OK : pith_tape_no_memory(f->err);
}

/* The gradients of squares are those of half the squared error. */
static void find_means(const struct fisher *f)
{
    struct pith_sensitivity *s = f->to;
    const double n = (double)s->n_samples,
                 unit = f->opts.squares && f->power > 0 ? 0.5 * f->power / n : 1;
    for (uint32_t v = 0; v < s->n; v++) {
        struct pith_row_sensitivity *of = &s->of[v];
        for (uint64_t r = 0; r < of->rows; r++)
            of->row[r] /= n * unit;
        if (of->n_places)
            of->place_mean /= n * (double)of->n_places;
    }
}

static enum pith_status open_feed(struct fisher *f, struct pith_data *data)
{
    const struct pith_fisher_opts *o = &f->opts;
    enum pith_status status =
        pith_recorded_feed_open(f->m, o->feed, data, o->samples, &f->feed, f->err);
    if (!status)
        f->to->n_samples = pith_recorded_feed_calls(f->feed);
    return status;
}

enum pith_status pith_fisher_rows(const struct pith_model *m, struct pith_data *data,
                                  const struct pith_fisher_opts *opts, struct pith_sensitivity *s,
                                  struct pith_error *err)
{
    struct fisher f = {.m = m, .to = s, .err = err};
    if (opts)
        memcpy(&f.opts, opts, opts->size_bytes < sizeof f.opts ? opts->size_bytes : sizeof f.opts);
    *s = (struct pith_sensitivity){.n = m->n_values};
    enum pith_status status = open_feed(&f, data);
    f.drawn = (struct sampled_fisher){.seed = f.opts.seed,
                                      .squares = f.opts.squares,
                                      .temperature =
                                          f.opts.temperature > 0 ? (float)f.opts.temperature : 1.0f,
                                      .output_scale = f.opts.output_scale};
    if (!status)
        status = pith_sampled_fisher_open(m, &f.drawn, err);
    if (!status)
        status = list_rows(&f);
    if (!status)
        status = list_places(&f);
    if (!status && !list_draws(&f))
        status = pith_tape_no_memory(err);
    if (!status)
        status = open_record(&f);
    if (!status)
        status = add_samples(&f, s->n_samples);
    if (!status)
        find_means(&f);
    pith_sampled_fisher_close(&f.drawn);
    pith_recorded_feed_close(f.feed);
    close_record(&f.record);
    free(f.sign);
    if (status)
        pith_fisher_rows_free(s);
    return status;
}

void pith_fisher_rows_free(struct pith_sensitivity *s)
{
    for (uint32_t i = 0; i < s->n && s->of; i++)
        free(s->of[i].row);
    free(s->of);
    pith_kept_free(s->place);
    pith_kept_free(s->draw);
    *s = (struct pith_sensitivity){0};
}
