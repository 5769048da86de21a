/* SPDX-License-Identifier: MIT */
/* The stage `quantize`: integers for weights and activations. A model without ranges is calibrated
 * first, on the samples given. */
#include <stdlib.h>
#include <string.h>
#include "quantize/transform/equalize.h"
#include "base/error_fill.h"
#include "quantize/transform/fold_affine.h"
#include "quantize/layer/integer_plan.h"
#include "held_out.h"
#include "mixed_precision.h"
#include "core/op_number.h"
#include "op_interface/op_traits.h"
#include "pith_calibrate.h"
#include "pith_host.h"
#include "pith_pack.h"
#include "quantize_stage.h"
#include "measure/recorded_feed.h"
#include "quantize/transform/smooth.h"
#include "quantize/store_floats.h"
#include "synthetic_pictures.h"
#include "pith_value_stats.h"

#define DEFAULT_SAMPLES 64u
#define SYNTHETIC_SAMPLES 32u

/* Extremes alone are too little to choose grids by. */
static bool is_calibrated(const struct pith_model *m)
{
    for (uint32_t v = 0; v < m->n_values; v++)
        if (m->values[v].grid || m->values[v].stats)
            return true;
    return false;
}

static bool was_observed(const struct pith_model *m)
{
    for (uint32_t v = 0; v < m->n_values; v++)
        if (m->values[v].n_observed > 0)
            return true;
    return false;
}

/* Grids of the bits wanted: others do not show which part of the range is worth its integers. */
static bool has_grids(const struct pith_model *m, const struct pith_quantize_opts *o)
{
    bool any = false;
    for (uint32_t v = 0; v < m->n_values; v++) {
        const struct pith_grid *g = m->values[v].grid;
        any |= g != NULL;
        if (g && o->fixed_bits && !pith_grid_is_radix(g))
            return false;
        if (g && (o->fixed_bits || o->activation_bits) && g->bits != pith_activation_bits(o))
            return false;
    }
    return any;
}

/* Progress of calibration and of the layers; stopped where the caller requests
 * it. */
static bool go_on(const struct pith_stage_context *context, const char *what, uint64_t done,
                  uint64_t total)
{
    if (context->part)
        context->part(context->user, what, done, total);
    return !context->stop || !context->stop(context->user);
}

static bool sample_done(void *context, uint64_t done, uint64_t total)
{
    return go_on(context, total ? "calibrate" : "choose", done, total);
}

static bool layer_done(void *context, uint64_t done, uint64_t total)
{
    return go_on(context, "quantize", done, total);
}

static struct pith_calibrate_opts samples_of(const struct pith_stage_context *context,
                                             uint64_t samples)
{
    return (struct pith_calibrate_opts){.size_bytes = sizeof(struct pith_calibrate_opts),
                                        .data = context->feed ? NULL : context->train,
                                        .feed = context->feed,
                                        .n_samples = samples,
                                        .threads = context->threads,
                                        .cpu_mask = context->cpu_mask,
                                        .progress = sample_done,
                                        .user = (void *)(uintptr_t)context};
}

/* Where few bits are requested, size counts more than what floats would bring. */
static bool may_buy(const struct pith_stage *s)
{
    const struct pith_quantize_opts *o = &s->quantize;
    return !s->all_integers && !o->fixed_bits && pith_activation_bits(o) == 8 &&
           pith_weight_bits(o) == 8;
}

/* One scale a tensor: pith_quantize makes those of channels itself, with room for what the samples
 * did not show. With 16 bits the step is small enough, but cut values do harm: the grid covers
 * twice the observed range, in fixed point 1.5 times, before it is rounded up to a power of two. */
static enum pith_status calibrate(struct pith_model *m, const struct pith_stage *s,
                                  const struct pith_stage_context *context, uint64_t samples,
                                  struct pith_stage_report *r, struct pith_error *err)
{
    struct pith_quantize_opts opts = s->quantize;
    const struct pith_quantize_opts *o = &opts;
    const struct pith_calibrate_opts see = samples_of(context, samples);
    struct pith_range_report report = {0};
    bool has_data = context->train || context->feed;
    bool wide = pith_activation_bits(o) > 8;
    const struct pith_range_opts choose = {.size_bytes = sizeof choose,
                                           .method = wide ? PITH_RANGE_MAX : PITH_RANGE_AUTO,
                                           .headroom = !wide           ? 1
                                                       : o->fixed_bits ? 1.5
                                                                       : 2,
                                           .per = PITH_RANGE_PER_TENSOR,
                                           .bits = pith_activation_bits(o),
                                           .radix = o->fixed_bits != 0,
                                           .samples = has_data ? &see : NULL};
    enum pith_status st = PITH_OK;
    if (has_data && !is_calibrated(m))
        st = pith_calibrate(m, &see, NULL, err);
    bool chosen = !st && pith_model_has_stats(m) && !has_grids(m, o);
    opts.keep = s->keep;
    if (chosen)
        st = pith_choose_grids(m, &choose, &report, err);
    r->n_tiny = report.n_tiny;
    r->n_infinite = report.n_without;
    return st;
}

/* Options for r of what is quantized: fitted to `feed` where there is one, else to the data. */
static struct pith_quantize_opts options_of(const struct pith_stage *s,
                                            const struct pith_stage_context *context,
                                            const struct held_out *held, struct recorded_feed *feed)
{
    struct pith_quantize_opts opts = s->quantize;
    opts.keep = s->keep;
    opts.data = feed ? NULL : context->train;
    opts.feed = feed;
    opts.n_samples = held->n_fitted;
    opts.progress = layer_done;
    opts.user = (void *)(uintptr_t)context;
    return opts;
}

static enum pith_status quantize_with(struct pith_model *m, const struct pith_quantize_opts *opts,
                                      const struct mixed_request *request,
                                      struct pith_stage_report *r, struct pith_error *err)
{
    const struct pith_stage_context *context = request->context;
    struct pith_quantize_opts o = *opts;
    struct pith_opts runtime;
    pith_opts_init(&runtime, sizeof runtime);
    runtime.cpu_mask = context->cpu_mask;
    o.runtime = &runtime;
    enum pith_status st =
        context->threads > 1 ? pith_threads_start(&runtime, context->threads) : PITH_OK;
    if (st)
        return pith_error_fill(err, st, "cannot start threads");
    st = pith_quantize_has_data(&o) ? pith_quantize_mixed(m, &o, request, r, err)
                                    : pith_quantize(m, &o, r->quantize, &r->n_layers, err);
    pith_threads_stop(&runtime);
    return st;
}

/* Samples of several inputs are recorded while the network is still float: that it may feed back.
 */
static enum pith_status record_and_quantize(struct pith_model *m, const struct pith_stage *s,
                                            const struct pith_stage_context *context,
                                            const struct held_out *held,
                                            struct pith_stage_report *r, struct pith_error *err)
{
    struct recorded_feed *feed = NULL;
    enum pith_status st =
        context->feed ? pith_recorded_feed_open(m, context->feed, NULL, held->n_fitted, &feed, err)
                      : PITH_OK;
    if (st)
        return st;
    const struct pith_quantize_opts opts = options_of(s, context, held, feed);
    const struct pith_calibrate_opts validation = samples_of(context, 0);
    const struct mixed_request request = {.samples = &validation,
                                          .held = held,
                                          .context = context,
                                          .may_keep = !s->all_integers && !opts.fixed_bits,
                                          .may_buy = may_buy(s),
                                          .floats = s->floats};
    st = quantize_with(m, &opts, &request, r, err);
    pith_recorded_feed_close(feed);
    return st;
}

/* By itself: a channel 16 times as large as others, beside its weights. */
#define LEAST_FACTOR 2

static bool smooths(const struct pith_model *m, const struct pith_stage *s,
                    const struct pith_stage_context *context)
{
    bool has_data = context->train || context->feed, fresh = !is_calibrated(m) && !was_observed(m);
    return s->smooth == PITH_ALWAYS ||
           (s->smooth == PITH_AUTO && has_data && fresh && pith_may_smooth(m));
}

/* For what is done by what channels are like. */
static enum pith_status look(struct pith_model *m, const struct pith_stage_context *context,
                             uint64_t samples, const char *what, struct pith_error *err)
{
    const struct pith_calibrate_opts see = samples_of(context, samples);
    return context->train || context->feed
               ? pith_calibrate(m, &see, NULL, err)
               : pith_error_fill(err, PITH_ERR_ARGUMENT, "cannot %s: no data given", what);
}

/* Channels are looked at first; the ranges that come of it are those of the network as it was. */
static enum pith_status smooth(struct pith_model *m, const struct pith_stage *s,
                               const struct pith_stage_context *context, uint64_t samples,
                               struct pith_stage_report *r, struct pith_error *err)
{
    enum pith_status st = look(m, context, samples, "smooth", err);
    if (!st)
        st = pith_smooth(m, s->smooth == PITH_ALWAYS ? 0 : LEAST_FACTOR, &r->smoothed, err);
    if (st || r->smoothed || s->smooth == PITH_ALWAYS)
        pith_calibrate_reset(m);
    return st;
}

/* What changes ranges, by name; NULL: nothing does. */
static const char *rewrite_of(const struct pith_stage *s)
{
    return s->equalize ? "equalize" : s->smooth == PITH_ALWAYS ? "smooth" : NULL;
}

static enum pith_status calibrate_and_quantize(struct pith_model *m, const struct pith_stage *s,
                                               const struct pith_stage_context *context,
                                               const struct held_out *held,
                                               struct pith_stage_report *r, struct pith_error *err)
{
    enum pith_status st = PITH_OK;
    const uint64_t samples = held->n_fitted;
    r->loss.ranges_given = is_calibrated(m) || was_observed(m);
    if (rewrite_of(s) && (is_calibrated(m) || was_observed(m)))
        st = pith_error_fill(err, PITH_ERR_ARGUMENT,
                             "cannot %s: the model is calibrated, and its ranges would change",
                             rewrite_of(s));
    else if (!r->loss.ranges_given) /* of branches, they would not be those of their sum */
        st = pith_model_merge_convs(m, err);
    if (!st && s->equalize)
        st = pith_equalize(m, &r->equalized, err);
    if (!st && smooths(m, s, context))
        st = smooth(m, s, context, samples, r, err);
    if (!st)
        st = calibrate(m, s, context, samples, r, err);
    return st ? st : record_and_quantize(m, s, context, held, r, err);
}

/* By default, where whole layers stay float without being named by an option; pith_quantize_mixed
 * did it already where it measured the outputs. */
static enum pith_status store_floats(struct pith_model *m, const struct pith_stage *s,
                                     struct pith_stage_report *r, struct pith_error *err)
{
    struct pith_stored_floats stored = {0};
    enum pith_type type = s->floats ? s->floats : r->n_kept_float ? PITH_F16 : PITH_F32;
    if (type == PITH_F32 || r->floats.type)
        return PITH_OK;
    enum pith_status st = pith_store_floats(m, type, &stored, err);
    r->floats.type = type;
    r->floats.n_narrow = stored.n_numbers;
    r->floats.n_beyond = stored.n_beyond;
    return st;
}

/* What layers that stay float for what they cost cost the file. */
static enum pith_status count_kept_bytes(const struct pith_model *m, struct pith_stage_report *r,
                                         struct pith_error *err)
{
    struct pith_buffer file = {0};
    if (!r->n_kept_float || !r->integer_bytes)
        return PITH_OK;
    enum pith_status st = pith_model_pack(m, NULL, &file, err);
    r->kept_bytes = st ? 0 : (int64_t)file.bytes - (int64_t)r->integer_bytes;
    pith_buffer_free(&file);
    return st;
}

enum pith_status pith_stage_quantize(struct pith_model *m, const struct pith_stage *s,
                                     const struct pith_stage_context *context,
                                     struct pith_stage_report *r, struct pith_error *err)
{
    struct pith_stage_context own = *context;
    struct pith_data *made = NULL;
    uint32_t samples = s->samples ? s->samples : s->synthetic ? SYNTHETIC_SAMPLES : DEFAULT_SAMPLES;
    struct held_out held = {0};
    enum pith_status st = PITH_OK;
    r->quantize = calloc(PITH_QUANTIZE_PARTS * ((size_t)m->n_nodes + 1), sizeof *r->quantize);
    if (!r->quantize)
        return pith_error_no_memory(err);
    if (s->synthetic) {
        st = pith_synthetic_pictures(m, samples, context->seed, &made, err);
        own.train = made;
        r->synthetic = samples;
    }
    if (!st)
        st = pith_hold_out(m, &own, samples, &held, err);
    if (!st)
        st = calibrate_and_quantize(m, s, &own, &held, r, err);
    pith_held_out_end(&held);
    if (!st)
        st = store_floats(m, s, r, err);
    if (!st)
        st = count_kept_bytes(m, r, err);
    pith_data_free(made);
    for (uint32_t i = 0; i < r->n_layers && !st; i++)
        r->weights += r->quantize[i].n_weights;
    r->kept = r->weights;
    return st;
}
