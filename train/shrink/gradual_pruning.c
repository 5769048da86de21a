/* SPDX-License-Identifier: MIT */
#include "gradual_pruning.h"
#include "channel_dependency.h"
#include "numeric/entropy.h"
#include "numeric/select_largest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FORGET 0.99f /* of the mean squared gradient, each step */
/* Without any gradient, as where a network begins as its own teacher, the small ones go first. */
#define LEAST_IMPORTANCE 1e-28f

struct gradual_pruning {
    struct pith_train_opts opts;
    uint32_t n, n_weights; /* tensors: weights first, then biases */
    struct pruned_tensor *of;
    struct weight_link {
        uint32_t source, bias; /* numbers in of, UINT32_MAX: none */
        bool by_row;           /* channel_dependency.h */
    } * link;                  /* [n_weights] */
    float *score;              /* [count of the weights] */
    uint64_t count, first_kept;
};

/* ---- memory ---------------------------------------------------------------------------------- */

void pith_gradual_free(struct gradual_pruning *h)
{
    if (!h)
        return;
    for (uint32_t i = 0; i < h->n && h->of; i++) {
        free(h->of[i].alive);
        free(h->of[i].importance);
        free(h->of[i].bits);
        free(h->of[i].in_row);
        free(h->of[i].in_col);
    }
    free(h->of);
    free(h->link);
    free(h->score);
    free(h);
}

static uint32_t parameter_of(struct tape *t, uint32_t value)
{
    uint32_t n;
    const struct tape_parameter *p = pith_tape_parameters(t, &n);
    for (uint32_t i = 0; i < n; i++)
        if (p[i].value == value)
            return i;
    return UINT32_MAX;
}

static void count_kept(struct pruned_tensor *w)
{
    w->kept = 0;
    if (w->is_weight) {
        memset(w->in_row, 0, (size_t)w->rows * sizeof *w->in_row);
        memset(w->in_col, 0, (size_t)w->cols * sizeof *w->in_col);
    }
    for (uint64_t i = 0, k = 0; i < w->rows; i++)
        for (uint64_t j = 0; j < w->cols; j++, k++) {
            w->kept += w->alive[k];
            if (w->is_weight) {
                w->in_row[i] += w->alive[k];
                w->in_col[j] += w->alive[k];
            }
        }
}

/* False: out of memory. */
static bool open_tensor(struct gradual_pruning *h, const struct pith_model *m, uint32_t parameter,
                        uint32_t value, uint64_t rows, bool is_weight)
{
    const struct pith_const *c = m->values[value].constant;
    struct pruned_tensor *w = &h->of[h->n++];
    *w = (struct pruned_tensor){.parameter = parameter,
                                .is_weight = is_weight,
                                .rows = rows,
                                .cols = c->count / rows,
                                .count = c->count};
    w->alive = malloc((size_t)c->count + 1);
    if (is_weight) {
        w->importance = calloc((size_t)c->count, sizeof *w->importance);
        w->bits = calloc((size_t)c->count, sizeof *w->bits);
        w->in_row = calloc((size_t)w->rows, sizeof *w->in_row);
        w->in_col = calloc((size_t)w->cols, sizeof *w->in_col);
    }
    if (!w->alive || (is_weight && (!w->importance || !w->bits || !w->in_row || !w->in_col)))
        return false;
    for (uint64_t k = 0; k < c->count; k++)
        w->alive[k] = !c->mask || c->mask[k];
    count_kept(w);
    return true;
}

/* Weights that move, then their biases; links between them. */
static bool open_tensors(struct gradual_pruning *h, const struct pith_model *m, struct tape *t,
                         const struct channel_link *link, const struct pith_weight_ref *refs,
                         uint32_t n)
{
    uint32_t *number = malloc((n + 1u) * sizeof *number);
    bool ok = number != NULL;
    for (uint32_t i = 0; i < n && ok; i++) {
        uint32_t p = parameter_of(t, link[i].value);
        number[i] = p == UINT32_MAX ? UINT32_MAX : h->n;
        if (p == UINT32_MAX)
            continue;
        h->link[h->n] = (struct weight_link){UINT32_MAX, UINT32_MAX, link[i].by_row};
        if (link[i].source < i && number[link[i].source] != UINT32_MAX)
            h->link[h->n].source = number[link[i].source];
        ok = open_tensor(h, m, p, link[i].value, refs[i].rows, true);
    }
    h->n_weights = h->n;
    for (uint32_t i = 0; i < n && ok; i++) {
        uint32_t p = link[i].bias == PITH_VALUE_NONE ? UINT32_MAX : parameter_of(t, link[i].bias);
        if (p == UINT32_MAX || number[i] == UINT32_MAX)
            continue;
        h->link[number[i]].bias = h->n;
        ok = open_tensor(h, m, p, link[i].bias, refs[i].rows, false);
    }
    free(number);
    return ok;
}

static void update_bits(struct pruned_tensor *w);

enum pith_status pith_gradual_new(const struct pith_model *m, struct tape *t,
                                  const struct pith_train_opts *opts, struct gradual_pruning **made,
                                  struct pith_error *err)
{
    uint32_t n = 0;
    struct gradual_pruning *h = calloc(1, sizeof *h);
    struct channel_link *link = calloc(m->n_nodes + 1u, sizeof *link);
    struct pith_weight_ref *refs = calloc(m->n_nodes + 1u, sizeof *refs);
    bool ok = h && link && refs && pith_channel_dependencies(m, link, refs, &n) == PITH_OK;
    if (ok) {
        h->opts = *opts;
        h->of = calloc(2u * n + 1, sizeof *h->of);
        h->link = calloc(n + 1u, sizeof *h->link);
        ok = h->of && h->link && open_tensors(h, m, t, link, refs, n);
    }
    if (ok) {
        for (uint32_t i = 0; i < h->n_weights; i++)
            h->count += h->of[i].count;
        h->first_kept = pith_gradual_kept(h);
        h->score = malloc((size_t)(h->count + 1) * sizeof *h->score);
        ok = h->score != NULL;
    }
    free(link);
    free(refs);
    if (!ok) {
        pith_gradual_free(h);
        return pith_tape_no_memory(err);
    }
    for (uint32_t i = 0; i < h->n_weights; i++)
        update_bits(&h->of[i]);
    *made = h;
    return PITH_OK;
}

void pith_gradual_state(struct gradual_pruning *h, struct checkpoint *c)
{
    for (uint32_t i = 0; i < h->n; i++) {
        struct pruned_tensor *w = &h->of[i];
        pith_checkpoint_add_f32(c, "dead below", i, CHECKPOINT_NOT_NEGATIVE, &w->dead_below, 1);
        pith_checkpoint_add_flags(c, "alive", i, w->alive, w->count);
        pith_checkpoint_add_f32(c, "importance", i, CHECKPOINT_NOT_NEGATIVE, w->importance,
                                w->count);
        pith_checkpoint_add_f32(c, "bits", i, CHECKPOINT_POSITIVE, w->bits, w->count);
    }
}

void pith_gradual_resumed(struct gradual_pruning *h)
{
    for (uint32_t i = 0; i < h->n; i++)
        count_kept(&h->of[i]);
}

struct pruned_tensor *pith_gradual_tensors(struct gradual_pruning *h, uint32_t *n)
{
    *n = h->n;
    return h->of;
}

uint64_t pith_gradual_kept(const struct gradual_pruning *h)
{
    uint64_t kept = 0;
    for (uint32_t i = 0; i < h->n_weights; i++)
        kept += h->of[i].kept;
    return kept;
}

/* ---- what a weight is worth, and what it costs ----------------------------------------------- */

void pith_gradual_observe(struct pruned_tensor *w, uint64_t begin, uint64_t end, const float *grad)
{
    float *restrict importance = w->importance;
    for (uint64_t k = begin; k < end; k++)
        importance[k] += (1 - FORGET) * (grad[k] * grad[k] - importance[k]);
}

#define MOST_DENSITY 0.95f /* so that the logarithm is finite */
#define LEAST_BITS 0.2f    /* so that every weight has a price */

/* log2((1 - p) / p) + PITH_VALUE_BITS, p from densities; at least LEAST_BITS. */
static void update_bits(struct pruned_tensor *w)
{
    float least = 0.5f / (float)w->count;
    for (uint64_t i = 0, k = 0; i < w->rows; i++) {
        float row = w->kept ? (float)w->in_row[i] / (float)w->kept : 0.0f;
        for (uint64_t j = 0; j < w->cols; j++, k++) {
            float p = row * (float)w->in_col[j];
            p = p < least ? least : p > MOST_DENSITY ? MOST_DENSITY : p;
            float bits = log2f((1 - p) / p) + PITH_VALUE_BITS;
            w->bits[k] = bits > LEAST_BITS ? bits : LEAST_BITS;
        }
    }
}

static float score_of(const struct gradual_pruning *h, const struct pruned_tensor *w, uint64_t k,
                      float x)
{
    switch (h->opts.score) {
    case PITH_SCORE_MAGNITUDE:
        return fabsf(x);
    case PITH_SCORE_FISHER:
        return (w->importance[k] + LEAST_IMPORTANCE) * x * x;
    default:
        return (w->importance[k] + LEAST_IMPORTANCE) * x * x / w->bits[k];
    }
}

/* ---- removal --------------------------------------------------------------------------------- */

/* The score below which weights go so that `keep` are left, at least one. */
static float limit_for(struct gradual_pruning *h, uint64_t keep, float *const *value)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < h->n_weights; i++)
        for (uint64_t k = 0; k < h->of[i].count; k++)
            if (h->of[i].alive[k])
                h->score[n++] = score_of(h, &h->of[i], k, value[i][k]);
    if (keep >= n)
        return 0;
    return pith_kth_largest(h->score, n, keep ? keep : 1);
}

static void remove_below(struct gradual_pruning *h, float limit, float *const *value)
{
    for (uint32_t i = 0; i < h->n_weights; i++) {
        struct pruned_tensor *w = &h->of[i];
        for (uint64_t k = 0; k < w->count; k++)
            if (w->alive[k] && score_of(h, w, k, value[i][k]) < limit)
                w->alive[k] = 0;
    }
}

static void remove_small(struct gradual_pruning *h, float *const *value)
{
    for (uint32_t i = 0; i < h->n_weights; i++)
        for (uint64_t k = 0; k < h->of[i].count; k++)
            if (fabsf(value[i][k]) < h->of[i].dead_below)
                h->of[i].alive[k] = 0;
}

/* ---- units ----------------------------------------------------------------------------------- */

static bool row_lives(const struct pruned_tensor *w, uint64_t row)
{
    return w->in_row[row] > 0;
}

static bool block_lives(const struct pruned_tensor *w, uint64_t from, uint64_t n)
{
    for (uint64_t j = from; j < from + n; j++)
        if (w->in_col[j])
            return true;
    return false;
}

static void clear_row(struct pruned_tensor *w, uint64_t row)
{
    memset(w->alive + row * w->cols, 0, (size_t)w->cols);
}

static void clear_block(struct pruned_tensor *w, uint64_t from, uint64_t n)
{
    for (uint64_t i = 0; i < w->rows; i++)
        memset(w->alive + i * w->cols + from, 0, (size_t)n);
}

/* Units between the source of weight `at` and `at` itself that are dead on one side. True: some
 * were still alive on the other. */
static bool drop_units(struct gradual_pruning *h, uint32_t at)
{
    bool by_row = h->link[at].by_row;
    struct pruned_tensor *reads = &h->of[at], *makes = &h->of[h->link[at].source];
    struct pruned_tensor *bias = h->link[h->link[at].source].bias == UINT32_MAX
                                     ? NULL
                                     : &h->of[h->link[h->link[at].source].bias];
    uint64_t each = reads->cols / makes->rows;
    bool changed = false;
    for (uint64_t unit = 0; unit < makes->rows; unit++) {
        bool made = row_lives(makes, unit);
        bool read = by_row ? row_lives(reads, unit) : block_lives(reads, unit * each, each);
        if (bias && !(made && read))
            bias->alive[unit] = 0;
        if (made == read)
            continue;
        changed = true;
        if (made)
            clear_row(makes, unit);
        else if (by_row)
            clear_row(reads, unit);
        else
            clear_block(reads, unit * each, each);
    }
    if (changed) {
        count_kept(reads);
        count_kept(makes);
    }
    return changed;
}

static void drop_dead_units(struct gradual_pruning *h)
{
    bool changed = true;
    for (uint32_t i = 0; i < h->n; i++)
        count_kept(&h->of[i]);
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < h->n_weights; i++)
            if (h->link[i].source != UINT32_MAX && drop_units(h, i))
                changed = true;
    }
    for (uint32_t i = h->n_weights; i < h->n; i++)
        count_kept(&h->of[i]);
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* Between the same share at each step (1) and most at first (3, Zhu & Gupta). */
#define PRUNE_POWER 1.5

/* Geometric in the count: the same share goes at each step of a schedule of power 1. */
static uint64_t target(const struct gradual_pruning *h, double part)
{
    double end = (1 - h->opts.sparsity) * (double)h->count, start = (double)h->first_kept;
    double until = (double)h->opts.prune_until;
    double left = part < until ? pow(1 - part / until, PRUNE_POWER) : 0;
    if (start <= end)
        return h->first_kept;
    return (uint64_t)(exp(log(end) + (log(start) - log(end)) * left) + 0.5);
}

/* The count is reached at once where the schedule ends. */
bool pith_gradual_due(const struct pith_train_opts *opts, uint64_t step, uint64_t n_steps)
{
    double until = (double)opts->prune_until;
    bool ends =
        (double)(step + 1) / (double)n_steps >= until && (double)step / (double)n_steps < until;
    return (step + 1) % opts->prune_every == 0 || (ends && opts->sparsity > 0);
}

void pith_gradual_step(struct gradual_pruning *h, uint64_t step, uint64_t n_steps,
                       float *const *value)
{
    double part = (double)(step + 1) / (double)n_steps;
    if (!pith_gradual_due(&h->opts, step, n_steps))
        return;
    if (h->opts.sparsity > 0)
        remove_below(h, limit_for(h, target(h, part), value), value);
    remove_small(h, value);
    drop_dead_units(h);
    for (uint32_t i = 0; i < h->n_weights; i++)
        update_bits(&h->of[i]);
}
