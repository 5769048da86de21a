/* SPDX-License-Identifier: MIT */
/* Two models on the same samples: outputs, and layer by layer where they name the same values.
 *
 * A's run leaves a copy of every value it computed; B's observer finds the counterpart by name (by
 * position in files without names, when both have equally many) and adds up sums in double, sample
 * after sample in the order of execution, so the figures are the same for every thread count. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "pith_host.h"
#include "engine.h"
#include "error_fill.h"
#include "sample_feed.h"

struct sums {
    double aa, ab, bb, dd, max_abs, low, high;
    uint64_t elements;
    bool equal_bits, seen;
};

struct kept_value {
    char name[256];
    float *data; /* owns */
    uint64_t n;
    struct sums sums;
};

struct recording {
    struct kept_value *value;
    uint32_t n, room;
    uint32_t at; /* position within this run */
    bool by_position;
    bool out_of_memory;
};

static void sums_add(struct sums *s, const float *a, const float *b, uint64_t n)
{
    if (!s->seen)
        *s = (struct sums){.equal_bits = true, .seen = true, .low = INFINITY, .high = -INFINITY};
    s->equal_bits = s->equal_bits && memcmp(a, b, n * sizeof *a) == 0;
    s->elements += n;
    for (uint64_t i = 0; i < n; i++) {
        double x = (double)a[i], y = (double)b[i], d = x - y;
        s->aa += x * x;
        s->ab += x * y;
        s->bb += y * y;
        s->dd += d * d;
        s->max_abs = fmax(s->max_abs, fabs(d));
        s->low = fmin(s->low, x);
        s->high = fmax(s->high, x);
    }
}

static struct pith_difference sums_result(const struct sums *s, const char *name)
{
    struct pith_difference d = {.elements = s->elements, .max_abs = s->max_abs};
    snprintf(d.layer, sizeof d.layer, "%s", name);
    d.snr_db = s->dd > 0 ? 10 * log10(s->aa / s->dd) : INFINITY;
    d.cosine = s->aa > 0 && s->bb > 0 ? s->ab / sqrt(s->aa * s->bb) : (s->dd > 0 ? 0 : 1);
    d.range = s->high - s->low;
    d.equal_bits = s->equal_bits;
    return d;
}

/* Observer of A: keeps a copy under the value's name. */
static void record(void *user, const struct pith_layer *layer, const struct pith_tensor *out)
{
    struct recording *r = user;
    struct kept_value *v;
    uint64_t n = out->bytes / sizeof(float);
    (void)layer;
    if (out->type != PITH_F32 || r->out_of_memory)
        return;
    if (r->at == r->room) {
        uint32_t room = r->room ? r->room * 2 : 64;
        struct kept_value *more = realloc(r->value, room * sizeof *more);
        if (!more) {
            r->out_of_memory = true;
            return;
        }
        r->value = more;
        r->room = room;
    }
    v = &r->value[r->at];
    if (r->at == r->n) {
        memset(v, 0, sizeof *v);
        snprintf(v->name, sizeof v->name, "%.*s", (int)out->name_bytes, out->name);
        v->n = n;
        v->data = malloc(out->bytes);
        r->n++;
    }
    r->at++;
    if (!v->data)
        r->out_of_memory = true;
    else
        memcpy(v->data, out->data, out->bytes);
}

/* Observer of B. */
static void match(void *user, const struct pith_layer *layer, const struct pith_tensor *out)
{
    struct recording *r = user;
    uint64_t n = out->bytes / sizeof(float);
    uint32_t start = r->at;
    (void)layer;
    if (out->type != PITH_F32 || r->n == 0)
        return;
    r->at++;
    if (r->by_position || out->name_bytes == 0) {
        if (start < r->n && r->value[start].n == n)
            sums_add(&r->value[start].sums, r->value[start].data, out->data, n);
        return;
    }
    /* the counterpart is nearly always at the same place or a little further on */
    for (uint32_t k = 0; k < r->n; k++) {
        struct kept_value *v = &r->value[(start + k) % r->n];
        if (v->n == n && strlen(v->name) == out->name_bytes &&
            memcmp(v->name, out->name, out->name_bytes) == 0) {
            sums_add(&v->sums, v->data, out->data, n);
            return;
        }
    }
}

struct pair {
    struct pith_engine *a, *b;
    struct recording layers;
    struct sums output;
    uint64_t agree;
};

static enum pith_status open_pair(struct pair *p, const struct pith_model *a,
                                  const struct pith_model *b, bool layers,
                                  const struct pith_engine_opts *opts, struct pith_error *err)
{
    struct pith_engine_opts o = opts ? *opts : (struct pith_engine_opts){.size_bytes = sizeof o};
    enum pith_status st;
    o.user = &p->layers;
    o.observe = layers ? record : NULL;
    st = pith_engine_open(a, &o, &p->a, err);
    if (st)
        return st;
    o.observe = layers ? match : NULL;
    return pith_engine_open(b, &o, &p->b, err);
}

static enum pith_status check_alike(const struct pair *p, struct pith_error *err)
{
    struct pith_tensor a, b;
    if (pith_plan_input(p->a->plan, 0, &a) || pith_plan_input(p->b->plan, 0, &b) || a.bytes != b.bytes)
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "the models take inputs of different size");
    if (pith_plan_output(p->a->plan, 0, &a) || pith_plan_output(p->b->plan, 0, &b) ||
        a.bytes != b.bytes || a.type != PITH_F32 || b.type != PITH_F32)
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "the models give outputs of different size");
    return PITH_OK;
}

static uint64_t argmax(const float *x, uint64_t n)
{
    uint64_t best = 0;
    for (uint64_t i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    return best;
}

static enum pith_status run_pair(struct pair *p, struct pith_error *err)
{
    struct pith_tensor t;
    const float *a, *b;
    uint64_t n;
    p->layers.at = 0;
    enum pith_status st = pith_plan_run(p->a->plan);
    if (!st && p->layers.out_of_memory)
        return pith_error_no_memory(err);
    p->layers.at = 0;
    if (!st)
        st = pith_plan_run(p->b->plan);
    if (st)
        return pith_error_fill(err, st, "cannot run the models: %s", pith_status_text(st));
    pith_plan_output(p->a->plan, 0, &t);
    n = t.bytes / sizeof *a;
    a = pith_plan_output_data(p->a->plan, 0);
    b = pith_plan_output_data(p->b->plan, 0);
    sums_add(&p->output, a, b, n);
    p->agree += argmax(a, n) == argmax(b, n);
    return PITH_OK;
}

static enum pith_status collect(const struct pair *p, struct pith_comparison *c,
                                struct pith_error *err)
{
    const struct recording *r = &p->layers;
    c->agree = p->agree;
    c->output = sums_result(&p->output, "output");
    c->layers = calloc(r->n + 1u, sizeof *c->layers);
    if (!c->layers)
        return pith_error_no_memory(err);
    for (uint32_t i = 0; i < r->n; i++)
        if (r->value[i].sums.seen)
            c->layers[c->n_layers++] = sums_result(&r->value[i].sums, r->value[i].name);
    return PITH_OK;
}

static enum pith_status run_samples(struct pair *p, struct pith_data *data, uint32_t n_random,
                                    uint64_t seed, const struct pith_watch *watch, uint64_t *samples,
                                    struct pith_error *err)
{
    uint64_t n = data ? pith_data_count(data) : n_random;
    enum pith_status st = PITH_OK;
    for (*samples = 0; *samples < n && !st; ++*samples) {
        if (watch && !watch->step(watch->user, *samples))
            return pith_error_fill(err, PITH_ERR_ARGUMENT, "interrupted");
        if (data) {
            st = pith_feed_sample(p->a->plan, data, *samples, NULL, err);
            if (!st)
                st = pith_feed_sample(p->b->plan, data, *samples, NULL, err);
        } else {
            pith_fill_normal(p->a->plan, seed + *samples);
            pith_fill_normal(p->b->plan, seed + *samples);
        }
        if (!st)
            st = run_pair(p, err);
    }
    return st;
}

static void close_pair(struct pair *p)
{
    pith_engine_close(p->a);
    pith_engine_close(p->b);
    for (uint32_t i = 0; i < p->layers.n; i++)
        free(p->layers.value[i].data);
    free(p->layers.value);
}

enum pith_status pith_compare(const struct pith_model *a, const struct pith_model *b,
                              struct pith_data *data, uint32_t n_random, uint64_t seed, bool layers,
                              const struct pith_engine_opts *opts, const struct pith_watch *watch,
                              struct pith_comparison *comparison, struct pith_error *err)
{
    struct pair p = {0};
    struct pith_comparison c = {0};
    enum pith_status st;
    p.layers.by_position = a->n_nodes == b->n_nodes && b->n_nodes > 0 && !b->nodes[0].name[0];
    st = open_pair(&p, a, b, layers, opts, err);
    if (!st)
        st = check_alike(&p, err);
    if (!st)
        st = run_samples(&p, data, n_random, seed, watch, &c.samples, err);
    if (!st)
        st = collect(&p, &c, err);
    close_pair(&p);
    if (!st)
        *comparison = c;
    return st;
}

void pith_comparison_free(struct pith_comparison *c)
{
    free(c->layers);
    c->layers = NULL;
    c->n_layers = 0;
}
