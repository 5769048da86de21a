/* SPDX-License-Identifier: MIT */
/* kept_codebooks.c - a byte for each weight of a layer that stays float, and what bytes stand for.
 *
 * What such a layer costs the outputs in integers lies in its input's bytes as a rule, not in its
 * weights; but some weights are sensitive. The outputs decide: with all codebooks together their
 * error may grow by SHARE, or up to ENOUGH_DB below them, where layers are far from being kept for
 * it; and no more answers may change. All codebooks are tried at once, which is enough as a rule.
 * Where it is not, they are tried one after the other, each with its part of what the error may
 * grow by, and what those before it left. */
#include "kept_codebooks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_fill.h"
#include "op_interface/op_semantics.h"
#include "quantize/store_floats.h"

#define SHARE 0.05 /* of the error without them: 0.2 dB */
#define ENOUGH_DB (PITH_KEEP_FLOOR_DB + 10)

struct trial {
    struct pith_model *m;
    const struct output_evaluator *evaluator;
    uint32_t *weight; /* owns: [n] values */
    float **was;      /* owns: [n] and each: its elements before; NULL: has no codebook */
    uint32_t n;
    uint64_t changed; /* answers without codebooks */
    struct pith_error *err;
};

/* ---- one codebook ---------------------------------------------------------------------------- */

static struct pith_const *constant_of(const struct trial *t, uint32_t i)
{
    return t->m->values[t->weight[i]].constant;
}

static enum pith_status take(struct trial *t, uint32_t i)
{
    const struct pith_const *c = constant_of(t, i);
    size_t bytes = (size_t)c->count * sizeof(float);
    t->was[i] = malloc(bytes);
    if (!t->was[i])
        return pith_error_no_memory(t->err);
    memcpy(t->was[i], c->data, bytes);
    return pith_store_codebook(t->m, t->weight[i], t->err);
}

static void give_back(struct trial *t, uint32_t i)
{
    struct pith_const *c = constant_of(t, i);
    memcpy(c->data, t->was[i], (size_t)c->count * sizeof(float));
    c->codebook = NULL;
    c->stored = PITH_F16;
    free(t->was[i]);
    t->was[i] = NULL;
}

/* Are the outputs as they may be with the codebooks there are? */
static enum pith_status within_limits(struct trial *t, double most_noise, bool *yes)
{
    struct output_error e;
    enum pith_status st = t->evaluator->measure(t->evaluator->user, t->m, &e);
    *yes = !st && e.noise <= most_noise && e.changed <= t->changed;
    return st;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static enum pith_status try_all(struct trial *t, double most_noise, bool *yes)
{
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; i < t->n && !st; i++)
        st = take(t, i);
    if (!st)
        st = within_limits(t, most_noise, yes);
    for (uint32_t i = 0; i < t->n && !st && !*yes; i++)
        give_back(t, i);
    return st;
}

static enum pith_status try_each(struct trial *t, double noise, double growth)
{
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; i < t->n && !st; i++) {
        bool yes = false;
        st = take(t, i);
        if (!st)
            st = within_limits(t, noise + growth * (i + 1) / t->n, &yes);
        if (!st && !yes)
            give_back(t, i);
    }
    return st;
}

static enum pith_status try_codebooks(struct trial *t)
{
    bool all = false;
    struct output_error before;
    enum pith_status st = t->evaluator->measure(t->evaluator->user, t->m, &before);
    if (st || !isfinite(before.noise))
        return st;
    double most = fmax((1 + SHARE) * before.noise, before.signal * pow(10, -ENOUGH_DB / 10));
    t->changed = before.changed;
    st = try_all(t, most, &all);
    return st || all ? st : try_each(t, before.noise, most - before.noise);
}

/* Tables of a Gather are read, not multiplied with: they are no layers. */
static enum pith_status find_weights(struct trial *t)
{
    struct pith_weight_ref *refs = calloc(t->m->n_nodes + (size_t)1, sizeof *refs);
    uint32_t n = refs ? pith_model_weights(t->m, refs) : 0;
    t->weight = calloc(n + (size_t)1, sizeof *t->weight);
    t->was = calloc(n + (size_t)1, sizeof *t->was);
    bool room = refs && t->weight && t->was;
    for (uint32_t i = 0; i < n && room; i++) {
        if (pith_op_has_weight(refs[i].op) &&
            pith_may_store_codebook(t->m->values[refs[i].value].constant))
            t->weight[t->n++] = refs[i].value;
    }
    free(refs);
    return room ? PITH_OK : pith_error_no_memory(t->err);
}

enum pith_status pith_keep_in_codebooks(struct pith_model *m,
                                        const struct output_evaluator *evaluator,
                                        struct pith_stage_report *r, struct pith_error *err)
{
    struct trial t = {.m = m, .evaluator = evaluator, .err = err};
    enum pith_status st = find_weights(&t);
    if (!st && t.n > 0)
        st = try_codebooks(&t);
    for (uint32_t i = 0; i < t.n && t.was; i++) {
        if (!t.was[i])
            continue;
        r->n_codebooks++;
        r->n_indexed += constant_of(&t, i)->count;
        r->n_narrow -= constant_of(&t, i)->count;
        free(t.was[i]);
    }
    free(t.weight);
    free(t.was);
    return st;
}
