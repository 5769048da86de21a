/* SPDX-License-Identifier: MIT */
/* optimizer.c - SGD with momentum, Nesterov's form of it, Adam (Kingma and Ba, 2015), AdamW
 * (Loshchilov and Hutter, 2019), over what is free to move.
 *
 * Each parameter tensor has a vector of free numbers. Plain: its elements. With a mask: its
 * elements too, and those that are pruned get no gradient and stay 0. With a codebook: its
 * centroids, whose gradient is the sum over their members (Han, Mao, Dally, 2016, section 3.3). */
#include "optimizer.h"

#include "pith_host.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct free_numbers {
    struct tape_parameter *p;
    const struct pith_const *c; /* mask, codebook */
    uint64_t n;
    float *value, *grad;             /* [n]; the parameter's own where it has no codebook */
    float *first, *second, *average; /* moments [n]; NULL where the method has none */
};

struct optimizer {
    struct pith_train_opts opts;
    uint32_t n;
    struct free_numbers *of;
    uint64_t step;
};

static bool is_adam(const struct pith_train_opts *o)
{
    return o->optimizer == PITH_ADAM || o->optimizer == PITH_ADAMW;
}

/* ---- memory -------------------------------------------------------------------------------------
 */

void pith_optimizer_free(struct optimizer *o)
{
    if (!o)
        return;
    for (uint32_t i = 0; i < o->n && o->of; i++) {
        struct free_numbers *f = &o->of[i];
        if (f->c && f->c->codebook) {
            free(f->value);
            free(f->grad);
        }
        free(f->first);
        free(f->second);
        free(f->average);
    }
    free(o->of);
    free(o);
}

static float *floats(uint64_t n)
{
    return calloc((size_t)n + 1, sizeof(float));
}

static bool open_numbers(const struct optimizer *o, struct free_numbers *f)
{
    const struct pith_codebook *b = f->c->codebook;
    f->n = b ? b->n_groups * b->n_centroids : f->p->count;
    f->value = b ? floats(f->n) : f->p->data;
    f->grad = b ? floats(f->n) : f->p->grad;
    if (is_adam(&o->opts) || o->opts.momentum > 0)
        f->first = floats(f->n);
    if (is_adam(&o->opts))
        f->second = floats(f->n);
    if (o->opts.average > 0)
        f->average = floats(f->n);
    if (!f->value || !f->grad || ((is_adam(&o->opts) || o->opts.momentum > 0) && !f->first) ||
        (is_adam(&o->opts) && !f->second) || (o->opts.average > 0 && !f->average))
        return false;
    if (b)
        memcpy(f->value, b->centroid, (size_t)f->n * sizeof *f->value);
    if (f->average)
        memcpy(f->average, f->value, (size_t)f->n * sizeof *f->value);
    return true;
}

enum pith_status pith_optimizer_new(const struct pith_model *m, struct tape *t,
                                    const struct pith_train_opts *opts, struct optimizer **o,
                                    struct pith_error *err)
{
    struct optimizer *made = calloc(1, sizeof *made);
    uint32_t n;
    struct tape_parameter *p = pith_tape_parameters(t, &n);
    bool ok = made && (made->of = calloc(n + 1u, sizeof *made->of)) != NULL;
    for (uint32_t i = 0; i < n && ok; i++) {
        made->opts = *opts;
        made->n = i + 1;
        made->of[i].p = &p[i];
        made->of[i].c = m->values[p[i].value].constant;
        ok = open_numbers(made, &made->of[i]);
    }
    if (!ok) {
        pith_optimizer_free(made);
        return pith_error_set(err, PITH_ERR_MEMORY, "not enough memory to train");
    }
    *o = made;
    return PITH_OK;
}

/* ---- support and grid ---------------------------------------------------------------------------
 */

/* Number of the centroid of element k. */
static uint64_t centroid_of(const struct pith_codebook *b, uint64_t k)
{
    return k / b->group_elems * b->n_centroids + b->index[k];
}

static void gather_gradient(struct free_numbers *f, float scale)
{
    const uint8_t *mask = f->c->mask;
    const struct pith_codebook *b = f->c->codebook;
    if (b)
        memset(f->grad, 0, (size_t)f->n * sizeof *f->grad);
    for (uint64_t k = 0; k < f->p->count; k++) {
        float g = mask && !mask[k] ? 0.0f : f->p->grad[k] * scale;
        if (!b)
            f->grad[k] = g;
        else
            f->grad[centroid_of(b, k)] += g;
    }
}

/* The tensor that these free numbers make. */
static void spread(const struct free_numbers *f, const float *value, float *to)
{
    const uint8_t *mask = f->c->mask;
    const struct pith_codebook *b = f->c->codebook;
    for (uint64_t k = 0; k < f->p->count; k++)
        to[k] = mask && !mask[k] ? 0.0f : b ? value[centroid_of(b, k)] : value[k];
}

/* ---- a step -------------------------------------------------------------------------------------
 */

static double norm(const struct optimizer *o)
{
    double sum = 0;
    for (uint32_t i = 0; i < o->n; i++)
        for (uint64_t k = 0; k < o->of[i].n; k++)
            sum += (double)o->of[i].grad[k] * (double)o->of[i].grad[k];
    return sqrt(sum);
}

static void move_adam(const struct optimizer *o, struct free_numbers *f, float rate, float clip,
                      float decay)
{
    float b1 = o->opts.beta1, b2 = o->opts.beta2;
    float c1 = (float)(1 / (1 - pow((double)b1, (double)o->step)));
    float c2 = (float)(1 / (1 - pow((double)b2, (double)o->step)));
    bool apart = o->opts.optimizer == PITH_ADAMW;
    for (uint64_t k = 0; k < f->n; k++) {
        float g = f->grad[k] * clip + (apart ? 0.0f : decay * f->value[k]);
        f->first[k] = b1 * f->first[k] + (1 - b1) * g;
        f->second[k] = b2 * f->second[k] + (1 - b2) * g * g;
        f->value[k] -= rate * (f->first[k] * c1 / (sqrtf(f->second[k] * c2) + 1e-8f) +
                               (apart ? decay * f->value[k] : 0.0f));
    }
}

static void move_sgd(const struct optimizer *o, struct free_numbers *f, float rate, float clip,
                     float decay)
{
    float mu = o->opts.momentum;
    bool ahead = o->opts.optimizer == PITH_NESTEROV;
    for (uint64_t k = 0; k < f->n; k++) {
        float g = f->grad[k] * clip + decay * f->value[k];
        if (f->first) {
            f->first[k] = mu * f->first[k] + g;
            g = ahead ? g + mu * f->first[k] : f->first[k];
        }
        f->value[k] -= rate * g;
    }
}

static void follow_average(const struct optimizer *o, struct free_numbers *f)
{
    for (uint64_t k = 0; k < f->n && f->average; k++)
        f->average[k] += (1 - o->opts.average) * (f->value[k] - f->average[k]);
}

double pith_optimizer_step(struct optimizer *o, double rate, uint32_t n_samples)
{
    for (uint32_t i = 0; i < o->n; i++)
        gather_gradient(&o->of[i], 1.0f / (float)n_samples);
    double length = norm(o);
    if (!isfinite(length))
        return length;
    double limit = (double)o->opts.clip_norm;
    float clip = limit > 0 && length > limit ? (float)(limit / length) : 1.0f;
    o->step++;
    for (uint32_t i = 0; i < o->n; i++) {
        struct free_numbers *f = &o->of[i];
        float decay = f->p->is_weight ? o->opts.weight_decay : 0.0f;
        if (is_adam(&o->opts))
            move_adam(o, f, (float)rate, clip, decay);
        else
            move_sgd(o, f, (float)rate, clip, decay);
        follow_average(o, f);
        if (f->c->mask || f->c->codebook)
            spread(f, f->value, f->p->data);
    }
    return length;
}

/* ---- the end ------------------------------------------------------------------------------------
 */

struct ranked {
    float value;
    uint32_t was;
};

static int by_value(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->was < y->was ? -1 : x->was > y->was;
}

static void permute(float *a, const struct ranked *order, uint32_t n)
{
    float was[256];
    if (!a)
        return;
    memcpy(was, a, n * sizeof *a);
    for (uint32_t i = 0; i < n; i++)
        a[i] = was[order[i].was];
}

/* Centroids may have passed each other: sorted again, with them the indices and what the optimizer
 * knows of each. Equal ones are set apart by the next representable value, for codebooks are
 * strictly ascending. */
static void store_codebook(struct free_numbers *f, struct pith_const *c)
{
    struct pith_codebook *b = c->codebook;
    for (uint64_t group = 0; group < b->n_groups; group++) {
        uint64_t at = group * b->n_centroids;
        const float *effective = (f->average ? f->average : f->value) + at;
        struct ranked r[256];
        uint8_t now[256];
        for (uint32_t i = 0; i < b->n_centroids; i++)
            r[i] = (struct ranked){effective[i], i};
        qsort(r, b->n_centroids, sizeof *r, by_value);
        for (uint32_t i = 0; i < b->n_centroids; i++) {
            now[r[i].was] = (uint8_t)i;
            b->centroid[at + i] = r[i].value;
            if (i > 0 && b->centroid[at + i] <= b->centroid[at + i - 1])
                b->centroid[at + i] = nextafterf(b->centroid[at + i - 1], INFINITY);
        }
        for (uint64_t k = group * b->group_elems; k < (group + 1) * b->group_elems; k++)
            b->index[k] = now[b->index[k]];
        float *all[] = {f->value, f->first, f->second, f->average};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            permute(all[i] ? all[i] + at : NULL, r, b->n_centroids);
    }
}

void pith_optimizer_store(struct optimizer *o, struct pith_model *m)
{
    for (uint32_t i = 0; i < o->n; i++) {
        struct free_numbers *f = &o->of[i];
        struct pith_const *c = m->values[f->p->value].constant;
        if (c->codebook)
            store_codebook(f, c);
        spread(f,
               c->codebook  ? c->codebook->centroid
               : f->average ? f->average
                            : f->value,
               c->data);
    }
}
