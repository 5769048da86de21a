/* SPDX-License-Identifier: MIT */
/* weight_check.c - weights that a trained network should not have, found by looking at them.
 *
 * NaN and infinities make every answer worthless. Denormals (below 2^-126) are slow on many
 * processors and mostly left over from a decay that went on for ever. A channel of zeros does
 * nothing. A single weight far beyond all others rules the range of a grid: with n bits between
 * -max and max, all the rest shares the few steps around zero. The last is measured against the
 * value that 99.9 % of the weights stay below, zeros not counted, for a pruned layer has many. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/error_fill.h"
#include "pith_measure.h"

#define OUTLIER_FACTOR 10.0
#define OUTLIER_MIN_WEIGHTS 1000u
#define MIN_NORMAL 0x1p-126f
#define HALF_BITS 16
#define N_BINS (1u << HALF_BITS)

struct findings {
    struct pith_weight_finding *list; /* owns */
    uint32_t n, room;
};

static bool add(struct findings *f, const struct pith_weight_finding *found)
{
    if (f->n == f->room) {
        uint32_t room = f->room ? 2 * f->room : 16;
        struct pith_weight_finding *more = realloc(f->list, room * sizeof *more);
        if (!more)
            return false;
        f->list = more;
        f->room = room;
    }
    f->list[f->n++] = *found;
    return true;
}

static uint32_t magnitude_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits & 0x7fffffffu;
}

/* The bin that holds the k-th value, and how many lie in the bins before it. */
static uint32_t bin_of(const uint64_t *bins, uint64_t k, uint64_t *before)
{
    uint32_t b = 0;
    for (*before = 0; b < N_BINS - 1 && *before + bins[b] <= k; b++)
        *before += bins[b];
    return b;
}

/* The k-th smallest magnitude of the nonzero values: bits of positive floats sort as the floats do,
 * so two counts, of the upper and then the lower half, find it without sorting. bins: [N_BINS]. */
static float kth_magnitude(const float *x, uint64_t n, uint64_t k, uint64_t *bins)
{
    uint64_t before, within;
    memset(bins, 0, N_BINS * sizeof *bins);
    for (uint64_t i = 0; i < n; i++)
        if (magnitude_bits(x[i]))
            bins[magnitude_bits(x[i]) >> HALF_BITS]++;
    uint32_t upper = bin_of(bins, k, &before);
    memset(bins, 0, N_BINS * sizeof *bins);
    for (uint64_t i = 0; i < n; i++)
        if (magnitude_bits(x[i]) && magnitude_bits(x[i]) >> HALF_BITS == upper)
            bins[magnitude_bits(x[i]) & (N_BINS - 1)]++;
    uint32_t bits = upper << HALF_BITS | bin_of(bins, k - before, &within);
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static bool check_values(struct findings *f, const char *layer, const struct pith_value *v)
{
    const float *x = v->constant->data;
    struct pith_weight_finding bad = {.layer = layer, .tensor = v->name, .of = v->constant->count};
    struct pith_weight_finding tiny = bad;
    bad.kind = PITH_WEIGHT_NONFINITE;
    tiny.kind = PITH_WEIGHT_DENORMAL;
    for (uint64_t i = 0; i < v->constant->count; i++) {
        struct pith_weight_finding *hit = !isfinite(x[i])                         ? &bad
                                          : x[i] != 0 && fabsf(x[i]) < MIN_NORMAL ? &tiny
                                                                                  : NULL;
        if (hit && hit->count++ == 0)
            hit->first = i;
    }
    return (!bad.count || add(f, &bad)) && (!tiny.count || add(f, &tiny));
}

static bool check_channels(struct findings *f, const struct pith_weight_ref *w, const float *x)
{
    struct pith_weight_finding dead = {
        .kind = PITH_WEIGHT_DEAD, .layer = w->layer, .tensor = w->tensor, .of = w->rows};
    for (uint64_t o = 0; o < w->rows; o++) {
        uint64_t c = 0;
        while (c < w->cols && x[o * w->cols + c] == 0)
            c++;
        if (c == w->cols && dead.count++ == 0)
            dead.first = o;
    }
    return !dead.count || add(f, &dead);
}

static bool check_range(struct findings *f, const struct pith_weight_ref *w, const float *x,
                        uint64_t *bins)
{
    struct pith_weight_finding out = {.kind = PITH_WEIGHT_OUTLIER,
                                      .layer = w->layer,
                                      .tensor = w->tensor,
                                      .of = w->rows * w->cols};
    uint64_t n = w->rows * w->cols, nonzero = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (!isfinite(x[i]))
            return true; /* said already, and without a largest value */
        nonzero += x[i] != 0;
        if ((double)fabsf(x[i]) > out.largest) {
            out.largest = (double)fabsf(x[i]);
            out.first = i;
        }
    }
    if (nonzero < OUTLIER_MIN_WEIGHTS)
        return true;
    out.rest = (double)kth_magnitude(x, n, nonzero - 1 - nonzero / 1000, bins);
    if (out.largest <= OUTLIER_FACTOR * out.rest)
        return true;
    for (uint64_t i = 0; i < n; i++)
        out.count += (double)fabsf(x[i]) > OUTLIER_FACTOR * out.rest;
    return add(f, &out);
}

/* The layer that uses a constant first. */
static const char *user_of(const struct pith_model *m, uint32_t value)
{
    for (uint32_t i = 0; i < m->n_nodes; i++)
        for (uint32_t k = 0; k < m->nodes[i].n_in; k++)
            if (m->nodes[i].in[k] == value)
                return m->nodes[i].name;
    return "";
}

static bool check_all(const struct pith_model *m, struct pith_weight_ref *refs, uint64_t *bins,
                      struct findings *f)
{
    bool ok = true;
    for (uint32_t i = 0; i < m->n_values && ok; i++) {
        const struct pith_value *v = &m->values[i];
        if (v->constant && v->type == PITH_F32)
            ok = check_values(f, user_of(m, i), v);
    }
    uint32_t n = pith_model_weights(m, refs);
    for (uint32_t i = 0; i < n && ok; i++) {
        const float *x = m->values[refs[i].value].constant->data;
        ok = check_channels(f, &refs[i], x) && check_range(f, &refs[i], x, bins);
    }
    return ok;
}

enum pith_status pith_weight_check(const struct pith_model *m, struct pith_weight_finding **list,
                                   uint32_t *n, struct pith_error *err)
{
    if (!m || !n)
        return PITH_ERR_ARGUMENT;
    struct findings f = {0};
    struct pith_weight_ref *refs = calloc(m->n_nodes + 1u, sizeof *refs);
    uint64_t *bins = malloc(N_BINS * sizeof *bins);
    bool ok = refs && bins && check_all(m, refs, bins, &f);
    free(refs);
    free(bins);
    if (!ok) {
        free(f.list);
        return pith_error_no_memory(err);
    }
    *list = f.list;
    *n = f.n;
    return PITH_OK;
}
