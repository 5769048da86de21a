/* SPDX-License-Identifier: MIT */
/* plans.c - plans of one file for changing sizes, which share weights. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/checked_opts.h"
#include "host/large_memory.h"
#include "host/plans_once.h"
#include "host/size_expression.h"
#include "pith_host.h"
#include "plan/plan_steps.h"

/* Plans that keep no weights of their own are forgotten, the longest unused first, when they are
 * this many or take this much; never the last few. */
#define MOST_PLANS 128u
#define MOST_BYTES (UINT64_C(64) << 20)
#define LEAST_PLANS 4u
#define ONCE_PLANS 2u /* whose sizes will hardly come again: the last, and the next */

struct kept {
    struct pith_plan *plan;
    void *memory; /* owns */
    uint64_t bytes;
    uint64_t used;                      /* when: of pith_plans.time */
    bool has_weights, once, own_caches; /* own_caches: of plans_once, freed after the next run */
    struct pith_need need;              /* bytes 0: not computed */
    uint32_t batch, last_row_of, value[SIZE_NAMES];
};

struct pith_plans {
    const void *blob;
    size_t blob_bytes;
    struct pith_opts opts;    /* weights_of: the last plan that keeps weights */
    struct pith_sizes *sizes; /* owns */
    struct kept *kept;        /* owns: [n] */
    uint32_t n;
    uint64_t small_bytes, time, last_need; /* small: of plans without weights */
};

void pith_plans_forget(struct pith_plans *plans, const struct pith_opts *opts)
{
    if (!plans)
        return;
    for (uint32_t i = 0; i < plans->n; i++)
        free(plans->kept[i].memory);
    free(plans->kept);
    *plans = (struct pith_plans){.blob = plans->blob,
                                 .blob_bytes = plans->blob_bytes,
                                 .opts = checked_opts(opts),
                                 .sizes = plans->sizes};
    if (!opts || !(opts->flags & PITH_FLAG_NO_CHECKSUM))
        plans->opts.flags &= ~(uint32_t)PITH_FLAG_NO_CHECKSUM;
}

enum pith_status pith_plans_open(const void *blob, size_t bytes, const struct pith_opts *opts,
                                 struct pith_plans **plans, struct pith_error *err)
{
    if (!blob || !plans ||
        (opts &&
         (opts->size_bytes < sizeof opts->size_bytes || opts->size_bytes > PITH_MAX_OPTS_BYTES)))
        return PITH_ERR_ARGUMENT;
    struct pith_plans *p = calloc(1, sizeof *p);
    if (!p)
        return pith_error_set(err, PITH_ERR_MEMORY, "out of memory");
    p->blob = blob;
    p->blob_bytes = bytes;
    pith_plans_forget(p, opts);
    enum pith_status st = pith_sizes_open(blob, bytes, &p->sizes, err);
    if (st)
        free(p);
    else
        *plans = p;
    return st;
}

void pith_plans_close(struct pith_plans *plans)
{
    if (!plans)
        return;
    pith_plans_forget(plans, NULL);
    pith_sizes_free(plans->sizes);
    free(plans);
}

struct pith_sizes *pith_plans_sizes(struct pith_plans *plans)
{
    return plans ? plans->sizes : NULL;
}

static struct kept key_of(const struct pith_plans *p, uint32_t batch)
{
    struct kept k = {.batch = batch};
    for (uint32_t i = 0; i < pith_sizes_count(p->sizes); i++) {
        const char *name;
        uint32_t max;
        pith_sizes_get(p->sizes, i, &name, &k.value[i], &max);
    }
    return k;
}

/* Where the last row of an output was enough, the plan may still compute all. */
static bool is_enough(const struct kept *k, const struct kept *key)
{
    return key->last_row_of ? k->last_row_of == key->last_row_of : k->plan->opts.last_row_of == 0;
}

static struct kept *find(struct pith_plans *p, const struct kept *key)
{
    for (uint32_t i = 0; i < p->n; i++)
        if (!p->kept[i].own_caches && p->kept[i].batch == key->batch &&
            is_enough(&p->kept[i], key) &&
            memcmp(p->kept[i].value, key->value, sizeof key->value) == 0)
            return &p->kept[i];
    return NULL;
}

/* The memory of the plan without weights that was not used for the longest time; NULL: there is
 * none to spare. once: of a plan that was got so, and is not `last`. */
static void *take_oldest(struct pith_plans *p, bool once, const struct pith_plan *last,
                         uint64_t *bytes)
{
    struct kept *oldest = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        struct kept *k = &p->kept[i];
        if (k->has_weights || (once && !k->once))
            continue;
        n++;
        if (last && k->plan == last)
            continue;
        oldest = oldest && oldest->used < k->used ? oldest : k;
    }
    if (once ? n < ONCE_PLANS : n < LEAST_PLANS || (n < MOST_PLANS && p->small_bytes < MOST_BYTES))
        return NULL;
    void *memory = oldest->memory;
    *bytes = oldest->bytes;
    p->small_bytes -= oldest->bytes;
    *oldest = p->kept[--p->n];
    return memory;
}

/* k->memory has at least `bytes`; without weights, room for a slightly larger plan, too, and where
 * sizes grow from run to run, for one half as large again. */
static enum pith_status reserve(struct kept *k, uint64_t bytes)
{
    const uint64_t align = 64,
                   more = k->has_weights ? 0
                          : k->once      ? bytes / 2
                                         : bytes / 8,
                   room = (bytes + more + align - 1) / align * align;
    if (k->bytes >= bytes)
        return PITH_OK;
    free(k->memory);
    k->memory = pith_large_memory(align, room);
    k->bytes = k->memory ? room : 0;
    return k->memory ? PITH_OK : PITH_ERR_MEMORY;
}

/* A plan that shares its weights needs about as much as the last one did: only where that does not
 * do is its need computed first. */
static enum pith_status make_plan(struct pith_plans *p, struct kept *k)
{
    struct pith_need need = {.bytes = p->last_need};
    enum pith_status st = PITH_ERR_SPACE;
    if (p->last_need && !(st = reserve(k, need.bytes)))
        st =
            pith_plan_init(k->memory, (size_t)k->bytes, p->blob, p->blob_bytes, &p->opts, &k->plan);
    if (st == PITH_ERR_SPACE) {
        st = pith_plan_size(p->blob, p->blob_bytes, &p->opts, &need);
        if (!p->opts.weights_of)
            k->need = need;
        k->has_weights = need.weights_bytes > 0;
        st = st ? st : reserve(k, need.bytes);
        st = st ? st
                : pith_plan_init(k->memory, (size_t)k->bytes, p->blob, p->blob_bytes, &p->opts,
                                 &k->plan);
    }
    if (!st && !k->has_weights)
        p->last_need = need.bytes;
    return st;
}

static enum pith_status keep(struct pith_plans *p, struct kept *k)
{
    struct kept *grown = realloc(p->kept, (p->n + 1) * sizeof *grown);
    if (!grown)
        return PITH_ERR_MEMORY;
    p->kept = grown;
    p->kept[p->n++] = *k;
    p->small_bytes += k->has_weights ? 0 : k->bytes;
    if (k->has_weights)
        p->opts.weights_of = k->plan;
    p->opts.flags |= PITH_FLAG_NO_CHECKSUM; /* it was tested */
    return PITH_OK;
}

/* The model itself is right: it can be planned with the sizes that the file has. */
static bool plans_as_stored(const struct pith_plans *p)
{
    struct pith_sizes *sizes = NULL;
    struct pith_opts opts = p->opts;
    struct pith_need need;
    opts.weights_of = NULL;
    enum pith_status st = pith_sizes_open(p->blob, p->blob_bytes, &sizes, NULL);
    st = st ? st : pith_sizes_apply(sizes, &opts, NULL);
    st = st ? st : pith_plan_size(p->blob, p->blob_bytes, &opts, &need);
    pith_sizes_free(sizes);
    return st == PITH_OK;
}

/* What takes no values without elements is the likeliest reason where a size is 0. */
static enum pith_status describe(const struct pith_plans *p, enum pith_status st,
                                 struct pith_error *err)
{
    const char *name, *empty = NULL;
    char all[256] = "";
    size_t at = 0;
    uint32_t value, max;
    for (uint32_t i = 0; i < pith_sizes_count(p->sizes) && at < sizeof all; i++) {
        if (pith_sizes_get(p->sizes, i, &name, &value, &max))
            continue;
        empty = value == 0 ? name : empty;
        at += (size_t)snprintf(all + at, sizeof all - at, "%s%.63s is %" PRIu32, at ? ", " : "",
                               name, value);
    }
    if (empty && st == PITH_ERR_UNSUPPORTED)
        return pith_error_set(err, st, "the model does not run where size %s is 0", empty);
    if (at && st == PITH_ERR_CORRUPT && plans_as_stored(p))
        return pith_error_set(err, PITH_ERR_ARGUMENT, "the model does not run where %s", all);
    return pith_error_set(err, st, "cannot plan the model: %s", pith_status_text(st));
}

/* once: as pith_plans_get_once; NULL: it is not. */
static enum pith_status get(struct pith_plans *plans, uint32_t batch, const struct plans_once *once,
                            struct pith_plan **plan, struct pith_error *err)
{
    if (!plans || !plan)
        return PITH_ERR_ARGUMENT;
    struct kept key = key_of(plans, batch);
    key.last_row_of = once ? once->last_row_of : 0;
    key.own_caches = once && once->n_caches;
    struct kept *found = key.own_caches ? NULL : find(plans, &key);
    enum pith_status st = PITH_OK;
    if (!found) {
        plans->opts.batch = batch;
        plans->opts.last_row_of = key.last_row_of;
        st = pith_sizes_apply(plans->sizes, &plans->opts, err);
        if (st)
            return st;
        key.once = once != NULL;
        key.memory = take_oldest(plans, key.once, once ? once->last : NULL, &key.bytes);
        const struct pith_opts own = plans->opts;
        if (key.own_caches) {
            plans->opts.n_caches = once->n_caches;
            plans->opts.caches = once->caches;
        }
        st = make_plan(plans, &key);
        plans->opts.n_caches = own.n_caches;
        plans->opts.caches = own.caches;
        st = st ? st : keep(plans, &key);
        if (st) {
            free(key.memory);
            return describe(plans, st, err);
        }
        found = &plans->kept[plans->n - 1];
    }
    found->used = ++plans->time;
    *plan = found->plan;
    return PITH_OK;
}

enum pith_status pith_plans_get(struct pith_plans *plans, uint32_t batch, struct pith_plan **plan,
                                struct pith_error *err)
{
    return get(plans, batch, NULL, plan, err);
}

enum pith_status pith_plans_get_once(struct pith_plans *plans, uint32_t batch,
                                     const struct plans_once *once, struct pith_plan **plan,
                                     struct pith_error *err)
{
    return get(plans, batch, once, plan, err);
}

enum pith_status pith_plans_need(struct pith_plans *plans, uint32_t batch, struct pith_need *need)
{
    if (!plans || !need)
        return PITH_ERR_ARGUMENT;
    const struct kept key = key_of(plans, batch), *found = find(plans, &key);
    if (found && found->need.bytes) {
        *need = found->need;
        return PITH_OK;
    }
    struct pith_opts opts = plans->opts;
    opts.batch = batch;
    opts.last_row_of = 0;
    opts.weights_of = NULL;
    enum pith_status st = pith_sizes_apply(plans->sizes, &opts, NULL);
    return st ? st : pith_plan_size(plans->blob, plans->blob_bytes, &opts, need);
}
