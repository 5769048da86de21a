/* SPDX-License-Identifier: MIT */
/* generator.c - a decoder run token by token: which of its inputs are ids, mask, positions and
 * cache, and the cache carried from one run to the next.
 *
 * A state that grows by each run's tokens lies in a cache (opts.caches) from the second run on: the
 * shapes of the first show its axis, and its output is copied there. What no plan can keep there is
 * copied from the output of one run to the input of the next. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "host/plans_once.h"
#include "host/generator.h"
#include "host/large_memory.h"
#include "kernels/ref/math_f32.h"
#include "pith_host.h"
#include "plan/plan_steps.h"

#define NO_OUTPUT UINT32_MAX
#define NOT_KNOWN UINT32_MAX /* as rank: pith_sizes_fit finds nothing in that input */

enum role {
    ROLE_GIVEN,     /* by the caller: what an encoder made */
    ROLE_IDS,       /* the new tokens */
    ROLE_MASK,      /* ones, of all tokens so far */
    ROLE_POSITIONS, /* of the new tokens */
    ROLE_STATE      /* what output `from` was in the last run */
};

struct end {
    enum role role;
    uint32_t from;
    struct pith_tensor given; /* data NULL: not yet */
    /* Of a state; owns data. NULL: none. */
    struct pith_cache cache;
    uint64_t cache_bytes;
    void *replaced; /* owns: the cache before it grew, where outputs of g->last may lie; or NULL */
    bool held;      /* the state is in its cache, not in the output of g->last */
    bool apart;     /* no cache is used */
};

struct pith_generator {
    struct pith_plans *plans; /* borrows */
    uint32_t n_inputs, ids, logits;
    bool has_cache;
    struct end *end;           /* owns: [n_inputs] */
    struct pith_tensor *in;    /* owns: [n_inputs] shapes for the next run */
    struct pith_cache *caches; /* owns: [n_inputs], of the next plan */
    uint32_t n_caches;
    struct pith_plan *last; /* of the last run; NULL: there was none */
    int64_t *seen;          /* owns: all tokens so far, where there is no cache */
    uint32_t done, room;    /* tokens so far; room in `seen` */
    uint32_t expected;      /* tokens in all, of pith_generator_check; 0: unknown */
};

/* ---- what inputs are for -------------------------------------------------------------------- */

/* Where `word` begins in a name; NULL: nowhere. */
static const char *word_in(const struct pith_tensor *t, const char *word)
{
    const size_t n = strlen(word);
    for (uint32_t i = 0; i + n <= t->name_bytes; i++)
        if (memcmp(t->name + i, word, n) == 0)
            return t->name + i;
    return NULL;
}

/* *n: bytes of what follows `word` at the beginning of a name. */
static const char *behind(const struct pith_tensor *t, const char *word, size_t *n)
{
    *n = t->name_bytes - strlen(word);
    return word_in(t, word) == t->name ? t->name + strlen(word) : NULL;
}

bool pith_is_next_state(const struct pith_tensor *in, const struct pith_tensor *out)
{
    static const char *const past[] = {"past_key_values", "past"};
    static const char *const present[] = {"present_key_values", "present"};
    for (uint32_t i = 0; i < 4; i++) {
        size_t a_bytes, b_bytes;
        const char *a = behind(in, past[i / 2], &a_bytes);
        const char *b = behind(out, present[i % 2], &b_bytes);
        if (a && b && a_bytes == b_bytes && memcmp(a, b, a_bytes) == 0)
            return true;
    }
    return false;
}

static enum role role_of(const struct pith_tensor *t)
{
    const bool integers = t->type == PITH_I64 || t->type == PITH_I32;
    if (word_in(t, "mask"))
        return ROLE_MASK;
    if (word_in(t, "position"))
        return ROLE_POSITIONS;
    return integers && t->rank == 2 ? ROLE_IDS : ROLE_GIVEN;
}

static enum pith_status choose_inputs(struct pith_generator *g, const struct pith_plan *plan,
                                      struct pith_error *err)
{
    struct pith_tensor in, out;
    g->ids = UINT32_MAX;
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        pith_plan_input(plan, i, &in);
        if (in.name_bytes == 0 && g->n_inputs > 1)
            return pith_error_set(
                err, PITH_ERR_UNSUPPORTED,
                "the file keeps no names (--for size), by which inputs are known");
        g->end[i] = (struct end){.role = role_of(&in), .from = NO_OUTPUT};
        for (uint32_t k = 0; !pith_plan_output(plan, k, &out); k++)
            if (pith_is_next_state(&in, &out))
                g->end[i] = (struct end){.role = ROLE_STATE, .from = k};
        g->has_cache |= g->end[i].role == ROLE_STATE;
        if (g->end[i].role != ROLE_IDS)
            continue;
        /* An encoder and its decoder may be one network. */
        const bool first = g->ids == UINT32_MAX;
        if (!first)
            g->end[word_in(&in, "decoder") ? g->ids : i].role = ROLE_GIVEN;
        if (first || word_in(&in, "decoder"))
            g->ids = i;
    }
    return g->ids != UINT32_MAX
               ? PITH_OK
               : pith_error_set(err, PITH_ERR_UNSUPPORTED,
                                "no input takes token ids: integers of shape [1, length]");
}

static bool is_next_state(const struct pith_generator *g, uint32_t output)
{
    for (uint32_t i = 0; i < g->n_inputs; i++)
        if (g->end[i].role == ROLE_STATE && g->end[i].from == output)
            return true;
    return false;
}

/* "logits", else the first output of floats that is no state. */
static enum pith_status choose_logits(struct pith_generator *g, const struct pith_plan *plan,
                                      struct pith_error *err)
{
    struct pith_tensor t;
    g->logits = NO_OUTPUT;
    for (uint32_t i = 0; !pith_plan_output(plan, i, &t); i++)
        if (t.type == PITH_F32 && t.rank > 0 && !is_next_state(g, i) &&
            (g->logits == NO_OUTPUT || word_in(&t, "logits")))
            g->logits = i;
    return g->logits != NO_OUTPUT
               ? PITH_OK
               : pith_error_set(err, PITH_ERR_UNSUPPORTED, "no output has scores of tokens");
}

enum pith_status pith_generator_open(struct pith_plans *plans, struct pith_generator **generator,
                                     struct pith_error *err)
{
    struct pith_plan *plan;
    if (!plans || !generator)
        return PITH_ERR_ARGUMENT;
    enum pith_status st = pith_plans_get(plans, 1, &plan, err);
    if (st)
        return st;
    if (plan->opts.n_caches)
        return pith_error_set(err, PITH_ERR_ARGUMENT,
                              "tokens are generated with caches of their own, without opts.caches");
    struct pith_generator *g = calloc(1, sizeof *g);
    if (g) {
        g->plans = plans;
        g->n_inputs = pith_plan_input_count(plan);
        g->end = calloc(g->n_inputs + 1u, sizeof *g->end);
        g->in = calloc(g->n_inputs + 1u, sizeof *g->in);
        g->caches = calloc(g->n_inputs + 1u, sizeof *g->caches);
    }
    st = g && g->end && g->in && g->caches ? choose_inputs(g, plan, err)
                                           : pith_error_set(err, PITH_ERR_MEMORY, "out of memory");
    st = st ? st : choose_logits(g, plan, err);
    if (st)
        pith_generator_close(g);
    else
        *generator = g;
    return st;
}

void pith_generator_close(struct pith_generator *g)
{
    if (!g)
        return;
    for (uint32_t i = 0; g->end && i < g->n_inputs; i++) {
        free(g->end[i].cache.data);
        free(g->end[i].replaced);
    }
    free(g->end);
    free(g->in);
    free(g->caches);
    free(g->seen);
    free(g);
}

/* The outputs of the last run, from now on that of `plan` or none, are where it puts them: a cache
 * that it was given and did not use is of no use to later ones. */
static void set_last(struct pith_generator *g, struct pith_plan *plan)
{
    g->last = plan;
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        struct end *e = &g->end[i];
        free(e->replaced);
        e->replaced = NULL;
        if (plan && e->held && pith_plan_output_data(plan, e->from) != e->cache.data) {
            free(e->cache.data);
            e->cache.data = NULL;
            e->apart = true;
        }
        e->held = plan && e->held && !e->apart;
    }
}

void pith_generator_restart(struct pith_generator *g)
{
    if (!g)
        return;
    set_last(g, NULL);
    g->done = 0;
}

/* Its cache may be of another output. */
static void set_end(struct end *e, struct end now)
{
    free(e->cache.data);
    *e = now;
}

enum pith_status pith_generator_pair(struct pith_generator *g, uint32_t input, uint32_t output)
{
    if (!g || g->last || input >= g->n_inputs || input == g->ids || output == NO_OUTPUT)
        return PITH_ERR_ARGUMENT;
    set_end(&g->end[input], (struct end){.role = ROLE_STATE, .from = output});
    g->has_cache = true;
    return PITH_OK;
}

enum pith_status pith_generator_give(struct pith_generator *g, uint32_t input,
                                     const struct pith_tensor *value)
{
    if (!g || !value || !value->data || input >= g->n_inputs || input == g->ids ||
        (g->last && g->end[input].role == ROLE_STATE))
        return PITH_ERR_ARGUMENT;
    set_end(&g->end[input], (struct end){.role = ROLE_GIVEN, .from = NO_OUTPUT, .given = *value});
    return PITH_OK;
}

/* ---- sizes ---------------------------------------------------------------------------------- */

/* Sizes that nothing but a cache has. */
static enum pith_status set_cache_sizes(struct pith_generator *g, uint32_t past,
                                        struct pith_error *err)
{
    struct pith_sizes *sizes = pith_plans_sizes(g->plans);
    enum pith_status st = PITH_OK;
    for (uint32_t s = 0; s < pith_sizes_count(sizes) && !st; s++) {
        const char *name, *formula;
        uint32_t value, max;
        bool in_state = false, elsewhere = false;
        pith_sizes_get(sizes, s, &name, &value, &max);
        for (uint32_t i = 0; i < g->n_inputs; i++)
            for (uint32_t d = 0; d < PITH_MAX_RANK; d++)
                if (!pith_sizes_formula(sizes, i, d, &formula) && strcmp(formula, name) == 0)
                    *(g->end[i].role == ROLE_STATE ? &in_state : &elsewhere) = true;
        if (in_state && !elsewhere)
            st = pith_sizes_set(sizes, name, past, err);
    }
    return st;
}

/* The shape of input i where n tokens run behind `past` others. */
static struct pith_tensor shape_of(const struct pith_generator *g, const struct pith_plan *any,
                                   uint32_t i, uint32_t past, uint32_t n)
{
    const struct end *e = &g->end[i];
    struct pith_tensor t;
    pith_plan_input(any, i, &t);
    switch (e->role) {
    case ROLE_GIVEN:
        if (e->given.data)
            return e->given;
        t.rank = NOT_KNOWN;
        break;
    case ROLE_STATE:
        if (g->last)
            pith_plan_output(g->last, e->from, &t);
        else
            t.rank = NOT_KNOWN;
        break;
    case ROLE_IDS:
    case ROLE_MASK:
    case ROLE_POSITIONS:
        if (t.rank == 0)
            break;
        t.dim[0] = 1;
        t.dim[t.rank - 1] = e->role == ROLE_MASK ? past + n : n;
        break;
    }
    return t;
}

/* Sets the sizes for n tokens behind `past` others. */
static enum pith_status set_sizes(struct pith_generator *g, uint32_t past, uint32_t n,
                                  struct pith_error *err)
{
    struct pith_sizes *sizes = pith_plans_sizes(g->plans);
    struct pith_plan *any = g->last;
    enum pith_status st = any || !sizes ? PITH_OK : pith_plans_get(g->plans, 1, &any, err);
    if (!sizes)
        return PITH_OK;
    for (uint32_t i = 0; i < g->n_inputs && !st; i++)
        g->in[i] = shape_of(g, any, i, past, n);
    if (!st && !g->last)
        st = set_cache_sizes(g, past, err);
    if (!st)
        st = pith_sizes_fit(sizes, g->in, g->n_inputs, err);
    return st;
}

enum pith_status pith_generator_check(struct pith_generator *g, uint32_t n, struct pith_error *err)
{
    if (!g || n == 0)
        return PITH_ERR_ARGUMENT;
    if (!g->has_cache)
        return PITH_OK;
    pith_generator_restart(g);
    g->expected = n;
    return set_sizes(g, n - 1, 1, err);
}

/* ---- caches --------------------------------------------------------------------------------- */

/* The axis along which the state of e is as long as there are tokens so far; PITH_MAX_RANK: it has
 * none. in, out: of the last run. */
static uint32_t growing_axis(const struct pith_generator *g, const struct end *e,
                             const struct pith_tensor *in, const struct pith_tensor *out)
{
    uint32_t axis = PITH_MAX_RANK;
    if (e->held)
        return e->cache.axis;
    for (uint32_t d = 0; d < out->rank && in->rank == out->rank; d++) {
        if (in->dim[d] == out->dim[d])
            continue;
        if (axis != PITH_MAX_RANK || out->dim[d] != g->done)
            return PITH_MAX_RANK;
        axis = d;
    }
    return in->type == out->type && out->bytes ? axis : PITH_MAX_RANK;
}

/* All of t, whose rows along `axis` are that far apart in both memories. */
static void copy_rows(const struct pith_tensor *t, uint32_t axis, void *to, uint32_t to_room,
                      const void *from, uint32_t from_room)
{
    size_t n = 1;
    for (uint32_t d = 0; d < axis; d++)
        n *= t->dim[d];
    const size_t bytes = (size_t)t->bytes / n, each = bytes / t->dim[axis];
    for (size_t i = 0; i < n; i++)
        memcpy((uint8_t *)to + i * to_room * each, (const uint8_t *)from + i * from_room * each,
               bytes);
}

/* The cache that the last value of e is in; NULL: it is in the output of g->last. That output may
 * be the next value of two inputs, of which a plan keeps one in a cache. */
static const struct pith_cache *holder(const struct pith_generator *g, const struct end *e)
{
    for (uint32_t i = 0; i < g->n_inputs && !e->held; i++)
        if (g->end[i].held && g->end[i].from == e->from)
            e = &g->end[i];
    return e->held ? &e->cache : NULL;
}

/* The largest length of an input's axis: that of the size it is called after. */
static uint32_t longest(const struct pith_generator *g, uint32_t input, uint32_t axis)
{
    const struct pith_sizes *sizes = pith_plans_sizes(g->plans);
    const char *name, *formula;
    uint32_t value, max;
    for (uint32_t s = 0; s < pith_sizes_count(sizes); s++)
        if (!pith_sizes_get(sizes, s, &name, &value, &max) &&
            !pith_sizes_formula(sizes, input, axis, &formula) && strcmp(formula, name) == 0)
            return max;
    return UINT32_MAX;
}

/* Outputs of g->last may lie in the first cache that was replaced since its run. */
static void replace_cache(struct end *e, const struct pith_cache *to)
{
    if (to->data != e->cache.data && e->replaced)
        free(e->cache.data);
    else if (to->data != e->cache.data)
        e->replaced = e->cache.data;
    e->cache = *to;
}

/* Brings the state of input i to a cache with room for n more, where it has a growing axis. */
static enum pith_status hold(struct pith_generator *g, uint32_t i, uint32_t n)
{
    struct end *e = &g->end[i];
    struct pith_tensor in, out;
    if (pith_plan_input(g->last, i, &in) || pith_plan_output(g->last, e->from, &out))
        return PITH_ERR_ARGUMENT;
    const uint32_t axis = growing_axis(g, e, &in, &out);
    if (axis == PITH_MAX_RANK)
        return PITH_OK;
    /* Memory of an earlier text may have had other dimensions. */
    const uint64_t each = out.bytes / out.dim[axis], least = (uint64_t)out.dim[axis] + n;
    const uint64_t fit = e->cache.data ? e->cache_bytes / each : 0,
                   there = fit < INT32_MAX ? fit : INT32_MAX;
    struct pith_cache to = {i, e->from, axis, (uint32_t)there, e->cache.data};
    if (there < least) {
        const uint64_t most = (uint64_t)longest(g, i, axis) + n; /* as long as an output can be */
        const uint64_t room = least <= g->expected ? g->expected
                              : 2 * least < most   ? 2 * least
                                                   : most;
        if (room > INT32_MAX || each > SIZE_MAX / 2 / room)
            return PITH_ERR_LIMIT;
        to.room = (uint32_t)room;
        to.data = pith_large_memory(64, each * room);
        if (!to.data)
            return PITH_ERR_MEMORY;
    } else if (e->held) {
        return PITH_OK;
    }
    const struct pith_cache *from = holder(g, e);
    copy_rows(&out, axis, to.data, to.room, from ? from->data : out.data,
              from ? from->room : out.dim[axis]);
    replace_cache(e, &to);
    e->cache_bytes = each * to.room;
    e->held = true;
    return PITH_OK;
}

/* Before the plan for n tokens behind the last run is made. */
static enum pith_status hold_states(struct pith_generator *g, uint32_t n)
{
    enum pith_status st = PITH_OK;
    g->n_caches = 0;
    for (uint32_t i = 0; i < g->n_inputs && g->last && !st; i++) {
        const struct end *e = &g->end[i];
        if (e->role == ROLE_STATE && !e->apart)
            st = hold(g, i, n);
        if (e->held)
            g->caches[g->n_caches++] = e->cache;
    }
    return st;
}

/* What output e->from was in the last run, as input i of this plan. */
static enum pith_status bring_state(const struct pith_generator *g, struct pith_plan *plan,
                                    uint32_t i)
{
    const struct end *e = &g->end[i];
    struct pith_tensor t, state;
    pith_plan_input(plan, i, &t);
    if (e->held && pith_plan_output_data(plan, e->from) == e->cache.data)
        return PITH_OK;
    if (pith_plan_output(g->last, e->from, &state) || state.bytes != t.bytes)
        return PITH_ERR_ARGUMENT;
    const struct pith_cache *from = holder(g, e);
    if (from)
        copy_rows(&state, from->axis, pith_plan_input_data(plan, i), state.dim[from->axis],
                  from->data, from->room);
    else
        memcpy(pith_plan_input_data(plan, i), state.data, (size_t)t.bytes);
    return PITH_OK;
}

/* ---- a run ---------------------------------------------------------------------------------- */

void pith_fill_integers(void *to, enum pith_type type, uint64_t n, const int64_t *from,
                        int64_t first, int64_t each)
{
    for (uint64_t i = 0; i < n; i++) {
        const int64_t v = from ? from[i] : first + (int64_t)i * each;
        switch (type) {
        case PITH_I64:
            ((int64_t *)to)[i] = v;
            break;
        case PITH_I32:
            ((int32_t *)to)[i] = (int32_t)v;
            break;
        case PITH_F32:
            ((float *)to)[i] = (float)v;
            break;
        default: /* of bytes, such as bool */
            ((uint8_t *)to)[i] = (uint8_t)v;
        }
    }
}

static enum pith_status wrong(const struct pith_tensor *t, const char *what, struct pith_error *err)
{
    return pith_error_set(err, PITH_ERR_ARGUMENT, "input '%.*s' %s", (int)t->name_bytes, t->name,
                          what);
}

static enum pith_status fill_input(const struct pith_generator *g, struct pith_plan *plan,
                                   uint32_t i, const int64_t *ids, uint32_t n,
                                   struct pith_error *err)
{
    const struct end *e = &g->end[i];
    struct pith_tensor t;
    pith_plan_input(plan, i, &t);
    void *to = pith_plan_input_data(plan, i);
    uint64_t count = 1;
    for (uint32_t d = 0; d < t.rank; d++)
        count *= t.dim[d];
    switch (e->role) {
    case ROLE_IDS:
        if (count != n)
            return wrong(&t, "takes another number of tokens at once", err);
        pith_fill_integers(to, t.type, n, ids, 0, 0);
        break;
    case ROLE_MASK:
        pith_fill_integers(to, t.type, count, NULL, 1, 0);
        break;
    case ROLE_POSITIONS:
        pith_fill_integers(to, t.type, count, NULL, g->has_cache ? g->done : 0, 1);
        break;
    case ROLE_GIVEN:
        if (!e->given.data)
            return wrong(&t, "has no value", err);
        if (e->given.bytes != t.bytes || e->given.type != t.type)
            return wrong(&t, "is given another shape or type", err);
        memcpy(to, e->given.data, (size_t)t.bytes);
        break;
    case ROLE_STATE:
        if (!g->last)
            memset(to, 0, (size_t)t.bytes);
        else if (bring_state(g, plan, i))
            return wrong(&t, "has another shape than its next value", err);
        break;
    }
    return PITH_OK;
}

/* Without a cache, all tokens so far run again: as many of the last as the network takes. */
static enum pith_status remember(struct pith_generator *g, const int64_t *ids, uint32_t n,
                                 struct pith_error *err)
{
    if (n > UINT32_MAX / 16 - g->done)
        return pith_error_set(err, PITH_ERR_LIMIT, "too many tokens");
    if (g->done + n > g->room) {
        const uint32_t room = 2 * (g->done + n);
        int64_t *grown = realloc(g->seen, room * sizeof *grown);
        if (!grown)
            return pith_error_set(err, PITH_ERR_MEMORY, "out of memory");
        g->seen = grown;
        g->room = room;
    }
    memcpy(g->seen + g->done, ids, n * sizeof *ids);
    return PITH_OK;
}

static enum pith_status run(struct pith_generator *g, const int64_t *ids, uint32_t n,
                            struct pith_error *err)
{
    struct pith_plan *plan;
    enum pith_status st = set_sizes(g, g->has_cache ? g->done : 0, n, err);
    if (!st && (st = hold_states(g, n)))
        return pith_error_set(err, st, "no memory for the cache of %" PRIu64 " tokens",
                              (uint64_t)g->done + n);
    const struct plans_once once = {g->last, is_next_state(g, g->logits) ? 0 : g->logits + 1,
                                    g->n_caches, g->caches};
    st = st ? st : pith_plans_get_once(g->plans, 1, &once, &plan, err);
    for (uint32_t i = 0; i < g->n_inputs && !st; i++)
        st = fill_input(g, plan, i, ids, n, err);
    if (st)
        return st;
    st = pith_plan_run(plan);
    if (!st)
        set_last(g, plan);
    else if (g->has_cache && plan == g->last) /* which wrote over the states */
        pith_generator_restart(g);
    return st ? pith_error_set(err, st, "the run ended early: %s", pith_status_text(st)) : PITH_OK;
}

enum pith_status pith_generator_run(struct pith_generator *g, const int64_t *ids, uint32_t n,
                                    const float **logits, uint32_t *n_logits,
                                    struct pith_error *err)
{
    if (!g || !ids || n == 0 || !logits || !n_logits)
        return PITH_ERR_ARGUMENT;
    enum pith_status st = PITH_OK;
    if (g->has_cache) {
        st = run(g, ids, n, err);
    } else {
        const uint32_t most = longest(g, g->ids, 1);
        st = remember(g, ids, n, err);
        const uint32_t all = g->done + n, now = all < most ? all : most;
        st = st ? st : run(g, g->seen + all - now, now, err);
    }
    if (st)
        return st;
    g->done += n;
    struct pith_tensor t;
    pith_plan_output(g->last, g->logits, &t);
    *n_logits = t.dim[t.rank - 1];
    *logits = (const float *)t.data + t.bytes / sizeof(float) - *n_logits;
    return PITH_OK;
}

/* ---- choosing ------------------------------------------------------------------------------- */

/* Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014. In [0, 1). */
static double draw(uint64_t *random)
{
    uint64_t z = *random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* In the order of floats. */
static uint32_t rank_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

static bool is_number(float x)
{
    return x == x;
}

/* The rank of the k-th largest: bit after bit, so that nothing has to be sorted or kept. */
static uint32_t kth_rank(const float *logits, uint32_t n, uint32_t k)
{
    uint32_t rank = 0;
    for (uint32_t bit = 0x80000000u; bit; bit >>= 1) {
        uint32_t above = 0;
        for (uint32_t i = 0; i < n; i++)
            above += is_number(logits[i]) && rank_of(logits[i]) >= (rank | bit);
        rank |= above >= k ? bit : 0;
    }
    return rank;
}

static uint32_t best_of(const float *logits, uint32_t n)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++)
        if (is_number(logits[i]) && !(logits[i] <= logits[best]))
            best = i;
    return best;
}

uint32_t pith_choose_token(const float *logits, uint32_t n, float temperature, uint32_t top_k,
                           uint64_t *random)
{
    if (!logits || n == 0)
        return 0;
    const uint32_t best = best_of(logits, n);
    if (!random || !(temperature > 0) || !is_number(logits[best]))
        return best;
    const uint32_t least = top_k && top_k < n ? kth_rank(logits, n, top_k) : 0;
    const float scale = 1.0f / temperature;
    double sum = 0, rest = 0;
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < n; i++) {
            if (!is_number(logits[i]) || rank_of(logits[i]) < least)
                continue;
            const double p = (double)pith_exp_f32((logits[i] - logits[best]) * scale);
            if (pass == 0)
                sum += p;
            else if ((rest -= p) < 0)
                return i;
        }
        rest = pass == 0 ? draw(random) * sum : rest;
    }
    return best; /* the sum's last rounding */
}
