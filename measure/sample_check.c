/* SPDX-License-Identifier: MIT */
/* sample_check.c - what is wrong with data more often than anything else: a loader that gave zeros,
 * or one sample again and again; pixels that were not scaled, or scaled twice. */
#include "sample_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integer_numbers.h"
#include "class_output.h"
#include "engine.h"
#include "base/error_fill.h"
#include "core/op_number.h"
#include "sample_feed.h"

enum { LEAST_SAMPLES = 16, LEAST_RUNS = 8, MOST_RUNS = 4096, FEW_VALUES = 8, LEAST_OBSERVED = 256 };
#define MACS (UINT64_C(1) << 31)
#define CERTAIN 0.999
#define FAR 0.01          /* share of values beyond the range */
#define PIXEL_LEAST 127.5 /* the largest of pixels 0..255 is above */

/* ---- what the network stores ----------------------------------------------------------------- */

static void set_range(struct pith_input_look *l, double low, double high)
{
    l->ranged = high > low;
    l->low = low;
    l->high = high;
}

static void find_range(const struct pith_model *m, uint32_t value, struct pith_input_look *l)
{
    const struct pith_value *v = &m->values[value];
    if (v->n_observed >= LEAST_OBSERVED) {
        set_range(l, (double)v->min, (double)v->max);
        return;
    }
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct pith_node *node = &m->nodes[i];
        struct pith_grid room;
        const struct pith_grid *g = node->op == PITH_OP_QUANTIZE && node->in[0] == value
                                        ? pith_find_grid(m, node->out[0], &room)
                                        : NULL;
        if (g && g->n == 1) {
            const double scale = (double)g->scale[0];
            set_range(l, (pith_grid_lowest(g) - g->zero_point) * scale,
                      (pith_grid_highest(g) - g->zero_point) * scale);
            return;
        }
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

struct values {
    float *x, *first; /* own: [n] */
    uint64_t n, n_values, n_zero, n_beyond;
    double sum;
};

static void see_values(struct values *v, struct pith_input_look *l)
{
    const double half = (l->high - l->low) / 2;
    uint64_t still = 0;
    for (uint64_t k = 0; k < v->n; k++) {
        const double x = (double)v->x[k];
        l->min = fmin(l->min, x);
        l->max = fmax(l->max, x);
        v->sum += x;
        v->n_zero += x == 0;
        v->n_beyond += x < l->low - half || x > l->high + half;
        if (l->samples == 0)
            v->first[k] = v->x[k];
        if (v->x[k] != v->first[k])
            v->first[k] = NAN; /* it differs from all that follow */
        still += v->first[k] == v->x[k];
    }
    l->still = still;
    v->n_values += v->n;
    l->samples++;
}

static uint64_t step_of(uint64_t count, uint64_t most)
{
    return count <= most ? 1 : (count + most - 1) / most;
}

static enum pith_status look_at_input(struct pith_data *data, uint64_t max_values, bool skip_unread,
                                      struct pith_input_look *l, struct pith_error *err)
{
    struct values v = {.n = pith_data_elems(data)};
    enum pith_status st = PITH_OK;
    const uint64_t most = max_values / v.n > LEAST_SAMPLES ? max_values / v.n : LEAST_SAMPLES;
    l->values = v.n;
    l->of = pith_data_count(data);
    l->min = INFINITY;
    l->max = -INFINITY;
    v.x = malloc((size_t)v.n * sizeof *v.x);
    v.first = malloc((size_t)v.n * sizeof *v.first);
    if (!v.x || !v.first)
        st = pith_error_no_memory(err);
    for (uint64_t i = 0; i < l->of && !st; i += step_of(l->of, most)) {
        st = pith_data_read(data, i, v.x, NULL, err);
        if (!st)
            see_values(&v, l);
        else if (skip_unread && pith_data_sample_file(data, i))
            st = PITH_OK;
    }
    free(v.x);
    free(v.first);
    if (v.n_values) {
        l->mean = v.sum / (double)v.n_values;
        l->zeros = (double)v.n_zero / (double)v.n_values;
        l->beyond = l->ranged ? (double)v.n_beyond / (double)v.n_values : 0;
    }
    return st;
}

enum pith_status pith_check_data(const struct pith_model *m, const struct pith_feed *feed,
                                 uint64_t max_values, bool skip_unread,
                                 struct pith_input_look *look, struct pith_error *err)
{
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; i < m->n_inputs && !st; i++) {
        const struct pith_value *v = &m->values[m->inputs[i]];
        struct pith_data *data = feed->input[i].data;
        look[i] = (struct pith_input_look){.name = v->name && v->name[0] ? v->name : "(no name)",
                                           .floats = v->type == PITH_F32};
        find_range(m, m->inputs[i], &look[i]);
        if (!data)
            continue;
        look[i].pixels = look[i].floats && pith_data_unscaled_pixels(data);
        st = look_at_input(data, max_values, skip_unread, &look[i], err);
    }
    return st;
}

/* ---- findings -------------------------------------------------------------------------------- */

/* What integers and single numbers never vary in is meant: masks, rates, lengths. */
static bool never_varies(const struct pith_input_look *l, char *text)
{
    const unsigned long long n = l->samples, still = l->still, values = l->values;
    const uint64_t varying = l->values - l->still;
    if (!l->floats || l->samples < 2 || l->values < FEW_VALUES)
        return false;
    if (l->min == l->max)
        snprintf(text, PITH_LOOK_TEXT_BYTES, "input '%.200s' is %g in all %llu samples", l->name,
                 l->min, n);
    else if (varying == 0)
        snprintf(text, PITH_LOOK_TEXT_BYTES, "all %llu samples of input '%.200s' are the same", n,
                 l->name);
    else if (l->samples >= LEAST_SAMPLES && varying * 100 <= l->values && varying * 2 < l->samples)
        snprintf(text, PITH_LOOK_TEXT_BYTES,
                 "%llu of %llu values of input '%.200s' are the same in all %llu samples", still,
                 values, l->name, n);
    else
        return false;
    return true;
}

static bool is_far(const struct pith_input_look *l)
{
    return l->ranged && l->floats && l->beyond > FAR;
}

static bool out_of_range(const struct pith_input_look *l, char *text)
{
    if (!is_far(l))
        return false;
    snprintf(text, PITH_LOOK_TEXT_BYTES,
             "input '%.200s' is %.4g to %.4g, the network was calibrated for %.4g to %.4g: is the "
             "preprocessing the same?",
             l->name, l->min, l->max, l->low, l->high);
    return true;
}

static bool raw_pixels(const struct pith_input_look *l, char *text)
{
    if (!l->pixels || l->max < PIXEL_LEAST || l->ranged)
        return false;
    snprintf(text, PITH_LOOK_TEXT_BYTES, "%s", PITH_LOOK_RAW_PIXELS);
    return true;
}

bool pith_look_finding(const struct pith_input_look *look, uint32_t kind,
                       char text[PITH_LOOK_TEXT_BYTES])
{
    static bool (*const finding[PITH_LOOK_KINDS])(const struct pith_input_look *, char *) = {
        never_varies, out_of_range, raw_pixels};
    return look->samples > 0 && kind < PITH_LOOK_KINDS && finding[kind](look, text);
}

/* ---- answers --------------------------------------------------------------------------------- */

static uint64_t macs_of(const struct pith_plan *plan)
{
    uint64_t macs = 1;
    for (uint32_t i = 0; i < pith_plan_layer_count(plan); i++) {
        struct pith_layer layer;
        if (pith_plan_layer(plan, i, &layer) == PITH_OK)
            macs += layer.macs;
    }
    return macs;
}

/* A NaN replaces an infinity that was found before. */
static void see_numbers(const struct pith_plan *plan, uint64_t sample, struct pith_answer_look *l)
{
    for (uint32_t o = 0; o < pith_plan_output_count(plan) && !l->nan; o++) {
        struct pith_tensor t;
        const float *y = pith_plan_output_data(plan, o);
        if (pith_plan_output(plan, o, &t) || t.type != PITH_F32)
            continue;
        bool nan = false, infinite = false;
        for (uint64_t k = 0; k < t.bytes / sizeof *y; k++) {
            nan |= isnan(y[k]);
            infinite |= isinf(y[k]);
        }
        if (nan || (infinite && !l->infinite)) {
            l->output = o;
            l->sample = sample;
        }
        l->nan |= nan;
        l->infinite |= infinite;
    }
}

/* The class of nearly all probability, or UINT64_MAX. */
static uint64_t certain_class(const struct output_kind *kind, const float *y)
{
    const uint64_t top = pith_top_class(y, kind->classes);
    double sum = 0;
    for (uint32_t k = 0; k < kind->classes; k++)
        sum += kind->softmax ? (double)y[k] : exp((double)y[k] - (double)y[top]);
    const double p = (kind->softmax ? (double)y[top] : 1) / sum;
    return p > CERTAIN ? top : UINT64_MAX;
}

void pith_see_answer(const struct pith_model *m, const struct pith_plan *plan, uint64_t sample,
                     int64_t label, struct pith_answer_look *l)
{
    if (!m || !plan || !l || m->n_outputs == 0)
        return;
    const struct output_kind kind = pith_output_kind(m, 0);
    uint64_t top = UINT64_MAX;
    if ((l->samples == 0 || l->same_class) && kind.classes > 0 && kind.rows == 1)
        top = certain_class(&kind, pith_plan_output_data(plan, 0));
    see_numbers(plan, sample, l);
    if (l->samples == 0) {
        l->same_class = l->same_label = true;
        l->first_label = label;
        l->which = top;
    }
    l->same_class = l->same_class && top != UINT64_MAX && top == l->which;
    l->same_label = l->same_label && label == l->first_label && label != PITH_NO_LABEL;
    l->samples++;
    l->one_class = l->same_class && !l->same_label && l->samples >= LEAST_SAMPLES;
}

static uint64_t runs_for(const struct pith_plan *plan)
{
    const uint64_t n = MACS / macs_of(plan);
    return n < LEAST_RUNS ? LEAST_RUNS : n > MOST_RUNS ? MOST_RUNS : n;
}

static enum pith_status run_some(struct feeder *f, const struct pith_model *m,
                                 struct pith_answer_look *l, struct pith_error *err)
{
    const uint64_t most = runs_for(f->plan);
    const bool stream = f->feed->n_states > 0;
    const uint64_t step = stream ? 1 : step_of(f->n_samples, most);
    const struct pith_data *labels = pith_feed_labels(f->feed);
    for (uint64_t i = 0; i < f->n_samples && l->samples < most; i += step) {
        enum pith_status st = pith_feeder_run(f, i, err);
        if (st)
            return st;
        pith_see_answer(m, f->plan, i, labels ? pith_data_label(labels, i) : PITH_NO_LABEL, l);
    }
    return PITH_OK;
}

enum pith_status pith_check_outputs(struct pith_engine *e, const struct pith_model *m,
                                    const struct pith_feed *feed, struct pith_answer_look *look,
                                    struct pith_error *err)
{
    struct feeder f = {0};
    enum pith_status st = pith_feeder_open(&f, pith_engine_plan(e), feed, true, err);
    f.engine = e;
    *look = (struct pith_answer_look){0};
    if (!st && !f.random && pith_plan_output_count(f.plan) > 0)
        st = run_some(&f, m, look, err);
    pith_feeder_close(&f);
    return st;
}
