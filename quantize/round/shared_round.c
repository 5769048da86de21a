/* SPDX-License-Identifier: MIT */
/* shared_round.c - a weight is rounded when all its readers' inputs are known, and the last of them
 * comes behind the others. So there is a walk before the walk (integer_walk.h): over the network as
 * rounding to nearest made it, which sums up the products of inputs of all readers, in real units,
 * as scales of inputs differ; then each such weight is rounded by its sum (gptq_round.c). In
 * the walk that follows each reader's bias is corrected for itself.
 *
 * Deliberately not done: goals (adaptive_targets.c). What one reader's rows would make up for,
 * another's lack. */
#include "shared_round.h"

#include <stdlib.h>

#include "base/error_fill.h"
#include "gptq_round.h"

/* What one weight is multiplied with, in real units: moments, or where all readers together have
 * few, the rows. */
struct read_rows {
    struct layer_moments sum; /* n 0: few, or nothing was read */
    struct few_rows few;
    size_t n_few; /* of few.r: there */
};

struct shared_sums {
    struct integer_network *net;
    const struct pith_opts *runtime;
    struct read_rows *read; /* [n_layers] of the first reader */
};

static bool is_rounded(const struct integer_layer *l)
{
    return pith_layer_is_shared(l) && !l->both_ways && pith_gptq_applies(l);
}

/* ---- what is read ---------------------------------------------------------------------------- */

/* Rows of a fully connected layer, as often as `in` says that there are samples. */
static uint64_t count_rows(const struct shared_sums *s, const struct layer_inputs *in,
                           const struct integer_layer *l)
{
    const struct pith_model *m = &s->net->m;
    const struct pith_node *product = &m->nodes[s->net->product[l - s->net->layers]];
    const struct pith_value *x = &m->values[product->in[0]];
    uint64_t n = in->n_samples;
    for (uint32_t i = 0; i + 1 < x->rank; i++)
        n *= x->dim[i];
    return n;
}

/* Loops, which are counted as if they went round once, may have more: the rest is left out. */
static bool are_few(const struct shared_sums *s, const struct layer_inputs *in,
                    const struct integer_layer *first)
{
    uint64_t n = 0;
    for (const struct integer_layer *l = first; l; l = l->next)
        n += count_rows(s, in, l);
    return first->transposed && n <= first->shape.cols / PITH_COLUMNS_FOR_A_ROW;
}

static void add_few(const struct integer_rows *rows, struct row_reader *from, struct read_rows *to)
{
    const float unit = (float)pith_layer_input_scale(rows->l, 0);
    const uint64_t n = rows->x.places * rows->in->n_samples;
    for (uint64_t i = 0; i < n && to->n_few < to->few.r; i++) {
        float *x = to->few.x + to->n_few++ * to->few.n;
        if (i % rows->x.places == 0)
            pith_row_reader_sample(from, i / rows->x.places);
        pith_layer_row(&rows->x, from->x, 0, i % rows->x.places, x);
        for (size_t k = 0; k < to->few.n; k++)
            x[k] *= unit;
    }
}

/* A group's rows read channels of one scale. */
static void add_moments(const struct integer_layer *l, struct layer_moments *m,
                        struct layer_moments *to)
{
    const size_t square = m->n * m->n, each = (size_t)(l->shape.rows / l->shape.groups);
    for (size_t i = 0; i < m->groups * square; i++) {
        const double unit = pith_layer_input_scale(l, i / square * each);
        m->h[i] = unit * unit * m->h[i] + (to->n ? to->h[i] : 0);
    }
    pith_layer_moments_end(to);
    *to = *m;
    *m = (struct layer_moments){0};
}

static enum pith_status add_reader(const struct shared_sums *s, const struct integer_rows *rows,
                                   struct read_rows *to)
{
    struct row_reader from;
    struct layer_moments m = {0};
    enum pith_status st = PITH_OK;
    if (to->few.x) {
        st = pith_row_reader_open(&from, rows) ? PITH_OK : PITH_ERR_MEMORY;
        if (!st)
            add_few(rows, &from, to);
        pith_row_reader_close(&from);
        return st;
    }
    st = pith_gptq_moments(rows, s->runtime, &m);
    if (!st)
        add_moments(rows->l, &m, &to->sum);
    pith_layer_moments_end(&m);
    return st;
}

static enum pith_status collect(void *user, const struct layer_inputs *in, struct pith_error *err)
{
    struct shared_sums *s = user;
    struct integer_rows rows;
    const struct integer_layer *l = &s->net->layers[in->layer], *first = l->first ? l->first : l;
    struct read_rows *to = &s->read[first - s->net->layers];
    const size_t n = first->shape.cols;
    if (!is_rounded(l))
        return PITH_OK;
    enum pith_status st = pith_integer_rows(in, l, &rows);
    if (!st && !to->sum.n && !to->few.x && are_few(s, in, first))
        st = pith_few_rows(n, n / PITH_COLUMNS_FOR_A_ROW, &to->few);
    if (!st)
        st = add_reader(s, &rows, to);
    pith_integer_rows_end(&rows);
    return st ? pith_error_no_memory(err) : PITH_OK;
}

/* ---- rounding -------------------------------------------------------------------------------- */

static enum pith_status round_all(struct shared_sums *s, struct pith_error *err)
{
    enum pith_status st = PITH_OK;
    for (uint32_t i = 0; i < s->net->n_layers && !st; i++) {
        struct read_rows *read = &s->read[i];
        if (!read->sum.n && !read->few.x)
            continue;
        read->few.r = read->n_few;
        st = read->sum.n ? pith_gptq_round_moments(&read->sum, s->runtime, &s->net->layers[i])
                         : pith_gptq_round_rows(&read->few, s->runtime, &s->net->layers[i]);
        if (!st)
            pith_layer_store_all(&s->net->layers[i]);
    }
    return st ? pith_error_no_memory(err) : PITH_OK;
}

static void forget(struct read_rows *read)
{
    pith_layer_moments_end(&read->sum);
    pith_few_rows_end(&read->few);
}

enum pith_status pith_round_shared(const struct integer_walk *walk, struct pith_error *err)
{
    struct shared_sums s = {.net = walk->net, .runtime = walk->plan->opts->runtime};
    struct integer_walk look = *walk;
    bool any = false;
    for (uint32_t i = 0; i < s.net->n_layers; i++)
        any |= is_rounded(&s.net->layers[i]);
    if (!any)
        return PITH_OK;
    s.read = calloc(s.net->n_layers, sizeof *s.read);
    if (!s.read)
        return pith_error_no_memory(err);
    look.goals = false;
    look.improve = collect;
    look.user = &s;
    enum pith_status st = pith_walk_integers(&look, err);
    if (!st)
        st = round_all(&s, err);
    for (uint32_t i = 0; i < s.net->n_layers; i++)
        forget(&s.read[i]);
    free(s.read);
    return st;
}
