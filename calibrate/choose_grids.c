/* SPDX-License-Identifier: MIT */
/* choose_grids.c - a grid for every value with a histogram. All are made before the first is given
 * to its value. */
#include "pith_calibrate.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "core/bytes.h"
#include "base/error_fill.h"
#include "base/in_parallel.h"
#include "grid_choice.h"
#include "observed_detail.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "pith_host.h"

struct choosing {
    struct pith_model *m;
    const struct pith_range_opts *opts;
    struct pith_error *err;
    enum pith_range_method method;
    double percentile;
    struct grid_choices of;            /* owns its choices */
    bool *to_try;                      /* owns: [n_values], auto's */
    const struct pith_node **producer; /* owns: [n_values]; NULL: none */
    bool *depthwise;                   /* owns: [n_values]: depthwise convolutions alone read it */
};

const char *pith_range_method_text(enum pith_range_method method)
{
    static const char *const text[] = {NULL, "max", "percentile", "kl", "mse", "aciq", "auto"};
    return (unsigned)method < sizeof text / sizeof *text ? text[method] : NULL;
}

/* What a method says; a value that was always 0 has no range. */
static struct range range_by(enum pith_range_method method, const struct distribution *d,
                             const struct grid_kind *kind, double percentile)
{
    switch (method) {
    case PITH_RANGE_PERCENTILE:
        return pith_range_percentile(d, kind, percentile);
    case PITH_RANGE_KL:
        return pith_range_kl(d, kind);
    case PITH_RANGE_MSE:
        return pith_range_mse(d, kind);
    case PITH_RANGE_ACIQ:
        return pith_range_aciq(d, kind);
    default:
        return pith_range_max(d);
    }
}

/* ---- candidates ------------------------------------------------------------------------------ */

static bool is_zero(const struct grid_choice *c)
{
    return c->d.min == 0 && c->d.max == 0;
}

/* What the operator that makes the value can give at all. */
static struct range possible(const struct pith_node *node)
{
    switch (node ? node->op : 0) {
    case PITH_OP_CLIP:
        return (struct range){attr_f32(node->attr, ATTR_CLIP_MIN),
                              attr_f32(node->attr, ATTR_CLIP_MAX)};
    case PITH_OP_SIGMOID:
    case PITH_OP_HARD_SIGMOID:
    case PITH_OP_SOFTMAX:
        return (struct range){0, 1};
    case PITH_OP_TANH:
        return (struct range){-1, 1};
    default:
        return (struct range){-INFINITY, INFINITY};
    }
}

/* Headroom for numbers larger than any observed, where there can be some. */
static void spare(const struct choosing *ch, const struct grid_choice *c, struct range *r)
{
    double times = ch->opts->headroom;
    if (times <= 1) /* also 0, which stands for 1 */
        return;
    const struct range most = possible(ch->producer[c->value]);
    r->low = fmin(r->low, fmax(r->low * times, most.low));
    r->high = fmax(r->high, fmin(r->high * times, most.high));
}

/* The method's range, times `part`. */
static void propose(struct choosing *ch, struct grid_choice *c, enum pith_range_method method,
                    double part)
{
    struct candidate *new = &c->candidate[c->n];
    *new = (struct candidate){.method = method};
    new->range = is_zero(c)
                     ? (struct range){0, pith_grid_highest(&(struct pith_grid){
                                             .type = ch->of.kind.bits > 8 ? PITH_U16 : PITH_U8,
                                             .bits = (uint8_t)ch->of.kind.bits})}
                     : range_by(method, &c->d, &ch->of.kind, ch->percentile);
    new->range.low *= part;
    new->range.high *= part;
    spare(ch, c, &new->range);
    new->grid = pith_grid_of_range(&new->range, &ch->of.kind);
    c->n++;
}

static void propose_all(void *arg, uint32_t i)
{
    struct choosing *ch = arg;
    struct grid_choice *c = &ch->of.choice[i];
    bool is_auto = ch->method == PITH_RANGE_AUTO;
    if (is_zero(c) || !is_auto || !ch->to_try[c->value]) {
        propose(ch, c, is_zero(c) ? PITH_RANGE_MAX : is_auto ? PITH_RANGE_MSE : ch->method, 1);
        return;
    }
    for (uint32_t k = 1; k <= METHODS; k++)
        propose(ch, c, (enum pith_range_method)k, 1);
    for (uint32_t k = 1; k <= NARROWER; k++)
        propose(ch, c, PITH_RANGE_MSE, pow(0.5, k / 2.0));
}

static bool wants_channels(const struct choosing *ch, const struct pith_value *v, uint32_t value)
{
    if (v->stats->n_channels == 0 || ch->opts->per == PITH_RANGE_PER_TENSOR)
        return false;
    return ch->opts->per == PITH_RANGE_PER_CHANNEL || ch->depthwise[value];
}

static bool has_distribution(const struct pith_value *v)
{
    const struct pith_value_stats *s = v->stats;
    return s && !v->constant && v->type == PITH_F32 &&
           (s->histogram.n_bins > 0 || s->n_zero == s->n);
}

static enum pith_status fail_without_statistics(const struct choosing *ch)
{
    bool infinite = false;
    for (uint32_t i = 0; i < ch->m->n_values; i++) {
        const struct pith_value *v = &ch->m->values[i];
        infinite |= v->n_observed > 0 && (isinf(v->min) || isinf(v->max));
    }
    if (infinite)
        return pith_error_fill(ch->err, PITH_ERR_ARGUMENT,
                               "cannot choose ranges: every value was infinite for some sample");
    return pith_error_fill(ch->err, PITH_ERR_ARGUMENT,
                           "cannot choose ranges: the model has no statistics (calibrate it with "
                           "data first)");
}

static enum pith_status collect(struct choosing *ch)
{
    struct pith_model *m = ch->m;
    ch->of.choice = calloc(m->n_values + (size_t)1, sizeof *ch->of.choice);
    ch->to_try = calloc(m->n_values + (size_t)1, sizeof *ch->to_try);
    ch->depthwise = calloc(m->n_values + (size_t)1, sizeof *ch->depthwise);
    ch->producer = calloc(m->n_values + (size_t)1, sizeof *ch->producer);
    if (!ch->of.choice || !ch->to_try || !ch->depthwise || !ch->producer)
        return pith_error_no_memory(ch->err);
    for (uint32_t i = 0; i < m->n_nodes; i++)
        for (uint32_t k = 0; k < m->nodes[i].n_out; k++)
            ch->producer[m->nodes[i].out[k]] = &m->nodes[i];
    if (ch->method == PITH_RANGE_AUTO)
        pith_values_to_try(m, ch->to_try, ch->depthwise);
    pith_mark_depthwise(m, ch->depthwise);
    for (uint32_t i = 0; i < m->n_values; i++) {
        const struct pith_value *v = &m->values[i];
        struct grid_choice *c = &ch->of.choice[ch->of.n];
        if (!has_distribution(v))
            continue;
        int32_t e = v->stats->histogram.exponent;
        *c = (struct grid_choice){
            .value = i,
            .d = {v->stats, v->min, v->max, f32_from_bits((uint32_t)(e + 127) << 23)},
            .by_channel = wants_channels(ch, v, i)};
        ch->of.n++;
    }
    return ch->of.n ? PITH_OK : fail_without_statistics(ch);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static enum pith_status read_options(struct choosing *ch)
{
    const struct pith_range_opts *o = ch->opts;
    if (o->size_bytes != sizeof *o || o->bits > 16 || o->bits == 1 ||
        !pith_range_method_text(o->method ? o->method : PITH_RANGE_AUTO))
        return pith_error_fill(ch->err, PITH_ERR_ARGUMENT,
                               "cannot choose ranges: %u bits, 2 to 16 are possible", o->bits);
    if (o->headroom != 0 && !(o->headroom >= 1 && o->headroom <= 16))
        return pith_error_fill(ch->err, PITH_ERR_ARGUMENT,
                               "cannot choose ranges: headroom %g is not 1 to 16", o->headroom);
    ch->percentile = o->percentile != 0 ? o->percentile : 99.99;
    if (!(ch->percentile > 50 && ch->percentile <= 100))
        return pith_error_fill(
            ch->err, PITH_ERR_ARGUMENT,
            "cannot choose ranges: percentile %g is not above 50 and at most 100", ch->percentile);
    ch->of.kind = (struct grid_kind){o->bits ? o->bits : 8, o->symmetric, o->radix};
    ch->method = o->method ? o->method : PITH_RANGE_AUTO;
    if (ch->method == PITH_RANGE_AUTO && !o->samples)
        ch->method = PITH_RANGE_MSE;
    return PITH_OK;
}

static void count(const struct choosing *ch, struct pith_range_report *report)
{
    for (uint32_t i = 0; i < ch->of.n; i++) {
        const struct grid_choice *c = &ch->of.choice[i];
        report->n_grids++;
        report->n_method[c->grid->method]++;
        report->n_channel_grids += c->grid->n > 1;
        report->n_zero += is_zero(c);
        report->n_tiny += !is_zero(c) && c->candidate[c->taken].grid.scale == FLT_MIN;
    }
    for (uint32_t v = 0; v < ch->m->n_values; v++)
        report->n_without += ch->m->values[v].n_observed > 0 && !ch->m->values[v].stats;
}

static enum pith_status install(struct choosing *ch, struct pith_range_report *report)
{
    for (uint32_t i = 0; i < ch->of.n; i++) {
        struct grid_choice *c = &ch->of.choice[i];
        c->grid = pith_choice_grid(ch->m, c, c->taken, &ch->of.kind);
        if (!c->grid)
            return pith_error_no_memory(ch->err);
    }
    for (uint32_t i = 0; i < ch->of.n; i++)
        ch->m->values[ch->of.choice[i].value].grid = ch->of.choice[i].grid;
    if (report)
        count(ch, report);
    return PITH_OK;
}

enum pith_status pith_choose_grids(struct pith_model *m, const struct pith_range_opts *opts,
                                   struct pith_range_report *report, struct pith_error *err)
{
    if (!m || !opts || opts->size_bytes != sizeof *opts)
        return PITH_ERR_ARGUMENT;
    struct choosing ch = {.m = m, .opts = opts, .err = err};
    uint64_t n_runs = 0;
    if (report)
        *report = (struct pith_range_report){0};
    struct pith_opts runtime;
    pith_opts_init(&runtime, sizeof runtime);
    enum pith_status st = read_options(&ch);
    if (!st)
        st = collect(&ch);
    if (!st && opts->samples && opts->samples->threads > 1)
        st = pith_threads_start(&runtime, opts->samples->threads);
    if (!st)
        pith_in_parallel(&runtime, ch.of.n, propose_all, &ch);
    pith_threads_stop(&runtime);
    if (!st && ch.method == PITH_RANGE_AUTO)
        st = pith_choose_by_output(m, &ch.of, opts->samples, &n_runs, err);
    if (!st)
        st = install(&ch, report);
    if (!st && report)
        report->n_runs = n_runs;
    free(ch.of.choice);
    free(ch.to_try);
    free(ch.depthwise);
    free(ch.producer);
    return st;
}
