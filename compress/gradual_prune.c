/* SPDX-License-Identifier: MIT */
/* Gradual pruning: what is left learns to do without what has just gone, before more goes.
 *
 * In step t of n the share f(t) of each amount is reached: 1 - (1 - t/n)^3, which takes most at
 * first, when the network has weights to spare (Zhu & Gupta, 2017, arXiv:1710.01878). f(n) = 1
 * exactly, so that the end is what one step would prune.
 * N:M and balanced patterns fix their sparsity: there a falls from b to a. */
#include <math.h>
#include <stdlib.h>
#include "base/error_fill.h"
#include "stage_run.h"

static uint32_t steps_of(const struct pith_stage *s)
{
    return s->steps ? s->steps : 1;
}

static double reached(const struct pith_stage *s, uint32_t step)
{
    double left = 1 - (double)step / steps_of(s);
    return 1 - left * left * left;
}

static bool counts(enum pith_pattern_kind kind)
{
    return kind == PITH_PATTERN_N_OF_M || kind == PITH_PATTERN_BALANCED;
}

/* The options of one step. layers: room for as many as s has. false: it removes nothing yet. */
static bool step_opts(const struct pith_stage *s, uint32_t step, struct pith_prune_opts *o,
                      struct pith_prune_amount *layers)
{
    double f = reached(s, step);
    *o = s->prune;
    o->layers = layers;
    o->sparsity *= f;
    o->sigma *= f;
    for (uint32_t i = 0; i < o->n_layers; i++) {
        layers[i] = s->prune.layers[i];
        layers[i].value *= f;
    }
    if (!counts(o->pattern.kind))
        return true;
    uint32_t going = o->pattern.b - o->pattern.a;
    o->pattern.a = o->pattern.b - (uint32_t)floor(going * f + 0.5);
    return o->pattern.a < o->pattern.b;
}

enum pith_status pith_stage_prune_gradually(struct pith_model *m, const struct pith_stage *s,
                                            const struct pith_stage_context *context, uint64_t seed,
                                            struct pith_stage_report *report,
                                            struct pith_error *err)
{
    struct pith_stage_context mine = *context;
    struct pith_model *start = NULL;
    enum pith_status st = PITH_OK;
    if (s->prune.by == PITH_PRUNE_BY_ZERO)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "existing zeros are pruned at once, not in steps");
    if (pith_stage_needs_original(s) &&
        !mine.start) { /* to before the first step, not each its own */
        st = pith_model_copy(m, &start, err);
        mine.start = start; /* of the number of stages, the caller keeps the count */
    }
    for (uint32_t step = 1; step <= steps_of(s) && !st; step++) {
        struct pith_prune_amount layers[PITH_STAGE_LAYERS];
        struct pith_prune_opts opts;
        if (step_opts(s, step, &opts, layers))
            st = pith_prune(m, &opts, report->prune, &report->n_layers, err);
        if (!st)
            st = pith_stage_train(m, s, &mine, seed + step - 1, &report->train, err);
    }
    pith_model_free(start);
    return st;
}
