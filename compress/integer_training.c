/* SPDX-License-Identifier: MIT */
/* integer_training.c - where calibrate, quantize and train meet: calibration gives the ranges,
 * quantize lists which values would be integers, training learns with them rounded, and quantize
 * takes what it learned to the bit. Epochs are validated by the network of integers itself, so what
 * is reported is what the runtime answers. */
#include "integer_training.h"

#include <stdlib.h>
#include <string.h>

#include "base/error_fill.h"
#include "pith_calibrate.h"
#include "pith_value_stats.h"

#define SAMPLES                                                                                    \
    256u /* samples observed before the first step, for the initial grids of layers' outputs */

/* ---- integers as they are trained ------------------------------------------------------------ */

static struct pith_quantize_opts as_trained(const struct pith_integer_spec *spec)
{
    return (struct pith_quantize_opts){.size_bytes = sizeof(struct pith_quantize_opts),
                                       .fixed_bits = spec->radix ? 8 : 0,
                                       .per_tensor_activations = true,
                                       .as_trained = true};
}

/* pith_train_integers.make */
static enum pith_status make(void *user, const struct pith_model *m, struct pith_model **made,
                             struct pith_error *err)
{
    const struct pith_quantize_opts q = as_trained(user);
    struct pith_model *copy = NULL;
    enum pith_status st = pith_model_copy(m, &copy, err);
    if (!st)
        st = pith_quantize(copy, &q, NULL, NULL, err);
    if (st)
        pith_model_free(copy);
    else
        *made = copy;
    return st;
}

/* ---- grids at first -------------------------------------------------------------------------- */

/* To the end, even if training shall stop: a checkpoint is of the grids that a run going on from it
 * finds again. */
static enum pith_status see(struct pith_model *m, const struct pith_stage_context *context,
                            struct pith_error *err)
{
    const struct pith_calibrate_opts o = {.size_bytes = sizeof o,
                                          .data = context->train,
                                          .n_samples = SAMPLES,
                                          .threads = context->threads,
                                          .cpu_mask = context->cpu_mask};
    return pith_model_has_stats(m) ? PITH_OK : pith_calibrate(m, &o, NULL, err);
}

/* Grids of so many bits, at the places that they would be at. */
static enum pith_status place(struct pith_model *m, const struct pith_integer_spec *spec,
                              uint32_t bits, struct pith_quantize_places *places,
                              struct pith_error *err)
{
    const struct pith_range_opts choose = {.size_bytes = sizeof choose,
                                           .method = PITH_RANGE_MSE,
                                           .bits = bits,
                                           .radix = spec->radix,
                                           .per = PITH_RANGE_PER_TENSOR};
    const struct pith_quantize_opts q = as_trained(spec);
    enum pith_status st = pith_choose_grids(m, &choose, NULL, err);
    return st ? st : pith_quantize_find_places(m, &q, places, err);
}

/* The places of `bits`, but what the first and the last layer read keeps the grids of 8. */
static enum pith_status place_both(struct pith_model *m, const struct pith_integer_spec *spec,
                                   struct pith_quantize_places *places, struct pith_error *err)
{
    bool edges = !spec->all && spec->activation_bits < 8;
    enum pith_status st = place(m, spec, edges ? 8 : spec->activation_bits, places, err);
    if (st || !edges)
        return st;
    struct pith_grid **fine = calloc(m->n_values + (size_t)1, sizeof *fine);
    if (!fine)
        return pith_error_no_memory(err);
    for (uint32_t v = 0; v < m->n_values; v++)
        fine[v] = m->values[v].grid;
    pith_quantize_places_free(places);
    st = place(m, spec, spec->activation_bits, places, err);
    for (uint32_t i = 0; i < places->n_values && !st; i++)
        if (places->values[i].at_edge)
            m->values[places->values[i].value].grid = fine[places->values[i].value];
    free(fine);
    return st;
}

/* ---- training -------------------------------------------------------------------------------- */

static void fill_values(const struct pith_quantize_places *p, const struct pith_integer_spec *spec,
                        struct pith_train_value *to)
{
    for (uint32_t i = 0; i < p->n_values; i++) {
        const struct pith_quantize_place *v = &p->values[i];
        to[i] =
            (struct pith_train_value){.value = v->value,
                                      .like = v->like,
                                      .rounded = v->rounded,
                                      .learned = v->from_layer,
                                      .moves_zero = v->from_layer && !v->one_sided && !spec->radix};
    }
}

/* Fixed point has one scale a tensor. */
static void fill_weights(const struct pith_quantize_places *p, const struct pith_integer_spec *spec,
                         struct pith_train_weight *to)
{
    struct pith_integer_spec fine = *spec;
    if (!spec->all)
        pith_integer_spec_set_weights(&fine, 8);
    for (uint32_t i = 0; i < p->n_weights; i++) {
        const struct pith_integer_spec *s = p->weights[i].at_edge ? &fine : spec;
        to[i] = (struct pith_train_weight){.value = p->weights[i].value,
                                           .lowest = s->lowest,
                                           .highest = s->highest,
                                           .by_row = !spec->radix};
    }
}

/* What training on the grids of spec at `places` needs; free_request in any case. */
static enum pith_status make_request(const struct pith_integer_spec *spec,
                                     const struct pith_quantize_places *places,
                                     struct pith_train_integers *request, struct pith_error *err)
{
    struct pith_train_value *values = calloc(places->n_values + (size_t)1, sizeof *values);
    struct pith_train_weight *weights = calloc(places->n_weights + (size_t)1, sizeof *weights);
    *request = (struct pith_train_integers){.values = values,
                                            .n_values = places->n_values,
                                            .weights = weights,
                                            .n_weights = places->n_weights,
                                            .radix = spec->radix,
                                            .make = make,
                                            .user = (void *)(uintptr_t)spec};
    if (!values || !weights)
        return pith_error_no_memory(err);
    fill_values(places, spec, values);
    fill_weights(places, spec, weights);
    return PITH_OK;
}

static void free_request(struct pith_train_integers *request)
{
    free((void *)(uintptr_t)request->values);
    free((void *)(uintptr_t)request->weights);
}

enum pith_status pith_train_integers(struct pith_model *m, const struct pith_stage *s,
                                     const struct pith_stage_context *context,
                                     const struct pith_train_opts *opts,
                                     struct pith_train_result *result, struct pith_error *err)
{
    struct pith_quantize_places places = {0};
    struct pith_integer_spec spec;
    if (!pith_integer_spec_parse(s->integers, &spec))
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "'%.60s': give int8, w4a8, ...",
                               s->integers);
    const struct pith_quantize_opts q = as_trained(&spec);
    struct pith_train_integers request = {0};
    struct pith_train_opts o = *opts;
    o.integers = &request;
    enum pith_status st = see(m, context, err);
    if (!st)
        st = place_both(m, &spec, &places, err);
    if (!st)
        st = make_request(&spec, &places, &request, err);
    if (!st)
        st = pith_train(m, context->train, context->val, &o, result, err);
    free_request(&request);
    if (!st)
        st = pith_quantize(m, &q, NULL, NULL, err);
    pith_quantize_places_free(&places);
    return st;
}
