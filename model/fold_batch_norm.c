/* SPDX-License-Identifier: MIT */
/* fold_batch_norm.c - y = (conv(x) - mean) * a + beta with a = scale / sqrt(var + epsilon) is a
 * convolution again: weights times a[o] and bias (b - mean) * a + beta, per output channel o.
 *
 * Done on the way to encode, not at import, so that stages see the network as it was trained. It
 * needs a Conv or Gemm with constant weight whose result nothing else reads. A mask stays, for zero
 * times a is zero; centroids are scaled like the values they stand for, so a codebook of the whole
 * tensor becomes one per channel, its order turned round where a[o] is negative. One of k * step
 * stays that: each channel has a step, which is rounded to step_bits of mantissa by rounding a[o]
 * before the bias is made of it, so that what the channel gives stays the same on the mean. (A
 * channel without a weight takes another one's step, which costs a file less than one of its own.)
 *
 * A normalization in the body of a loop or branch is folded into a convolution outside of it, too:
 * what was read inside is now made outside, where the body sees it. (The other way round cannot
 * be: nothing outside reads a body's values.)
 *
 * Of convolutions that share a weight all are folded, when all have a normalization with one
 * factor: the weight then is scaled once. Otherwise all normalizations stay, for a copy of a weight
 * is larger than what they hold.
 *
 * Left alone: what is not constant, a variance + epsilon that is not above 0, a codebook whose
 * groups straddle channels, a Gemm bias that differs between rows. */
#include "channel_layer.h"
#include "base/error_fill.h"
#include "graph_rewrite.h"
#include "fold_grid.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_traits.h"
#include "pith_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct folder {
    struct graph_rewrite g;
    /* Of a weight that several layers read: the normalizations behind them that have the factor of
     * the last one, in order of the nodes. */
    uint32_t *n_norms;    /* [room] how many */
    uint32_t *first_norm; /* [room] node */
    uint32_t *next_norm;  /* [n_nodes] node */
    uint32_t step_bits, bias_levels;
};

/* One pair. */
struct pair {
    struct pith_node *linear, *norm;
    struct channel_layer layer;
    double *factor; /* [rows] a */
    float *bias;    /* [rows] of the result */
    bool uniform;   /* the weight's codebook is grid */
    struct uniform_grid grid;
    double spare; /* with a grid: what its step is scaled by where the factor is 0 */
};

static const struct pith_const *f32_constant(const struct folder *f, const struct pith_node *node,
                                             uint32_t i)
{
    if (i >= node->n_in || node->in[i] == PITH_VALUE_NONE)
        return NULL;
    const struct pith_value *v = &f->g.m->values[node->in[i]];
    return v->type == PITH_F32 ? v->constant : NULL;
}

/* Groups of a codebook lie within a channel, or whole channels within a group. */
static bool groups_fit(const struct pith_codebook *cb, uint64_t cols)
{
    return !cb || cb->group_elems % cols == 0 || cols % cb->group_elems == 0;
}

/* Is node `norm` a batch normalization that can be folded, and into what? Who else reads the weight
 * is another question: shares_factor. */
static bool find_pair(const struct folder *f, struct pith_node *norm, struct pair *p)
{
    if (norm->op != PITH_OP_BATCH_NORM || norm->n_in != 5 || norm->in[0] == PITH_VALUE_NONE)
        return false;
    uint32_t producer = f->g.producer[norm->in[0]];
    if (producer == UINT32_MAX || f->g.uses[norm->in[0]] != 1)
        return false;
    *p = (struct pair){.linear = &f->g.m->nodes[producer], .norm = norm};
    /* the shift becomes the bias, for which a MatMul has no place */
    if (!pith_op_traits(p->linear->op).bias_input ||
        !pith_channel_layer(f->g.m, p->linear, &p->layer))
        return false;
    for (uint32_t i = 1; i < 5; i++) {
        const struct pith_const *c = f32_constant(f, norm, i);
        if (!c || c->count != p->layer.rows)
            return false;
    }
    const struct pith_codebook *b = p->layer.weight->codebook;
    p->uniform = b && b->n_groups == 1 && pith_grid_find(b->centroid, b->n_centroids, &p->grid);
    return groups_fit(b, p->layer.cols);
}

static bool same_constant(const struct folder *f, uint32_t a, uint32_t b)
{
    const struct pith_const *x = f->g.m->values[a].constant, *y = f->g.m->values[b].constant;
    return x->count == y->count && memcmp(x->data, y->data, x->count * sizeof(float)) == 0;
}

/* Both normalize by the same factors: scale, variance and epsilon are the same. */
static bool same_factor(const struct folder *f, const struct pith_node *a,
                        const struct pith_node *b)
{
    return a->attr[ATTR_BN_EPSILON] == b->attr[ATTR_BN_EPSILON] &&
           same_constant(f, a->in[1], b->in[1]) && same_constant(f, a->in[4], b->in[4]);
}

static void find_sharers(struct folder *f)
{
    struct pair p;
    for (uint32_t i = f->g.m->n_nodes; i-- > 0;) {
        struct pith_node *norm = &f->g.m->nodes[i];
        if (!find_pair(f, norm, &p) || f->g.uses[p.linear->in[1]] == 1)
            continue;
        uint32_t w = p.linear->in[1];
        if (f->n_norms[w] > 0 && !same_factor(f, norm, &f->g.m->nodes[f->first_norm[w]]))
            continue;
        f->next_norm[i] = f->first_norm[w];
        f->first_norm[w] = i;
        f->n_norms[w]++;
    }
}

/* All that read the weight can be folded, and scale it alike. */
static bool shares_factor(const struct folder *f, const struct pair *p)
{
    uint32_t w = p->linear->in[1];
    return f->g.uses[w] == 1 || f->n_norms[w] == f->g.uses[w];
}

static bool channel_lives(const struct channel_layer *l, uint64_t o)
{
    const float *w = l->weight->data;
    for (uint64_t i = 0; i < l->cols; i++)
        if (w[o * l->cols + i] != 0)
            return true;
    return false;
}

/* a times the step as a file stores it. */
static double rounded_factor(const struct folder *f, const struct pair *p, double a)
{
    double step = (double)p->grid.step;
    float new = p->uniform ? pith_grid_round(fabs(a) * step, f->step_bits) : 0;
    return new > 0 ? copysign((double)new / step, a) : a;
}

/* After compute(): the factors of dead channels are not in the weights, their biases hold them, so
 * they are 0 from here on. */
static void find_spare(const struct folder *f, struct pair *p)
{
    p->spare = rounded_factor(f, p, 1);
    for (uint64_t o = p->layer.rows; o-- > 0;)
        if (!channel_lives(&p->layer, o))
            p->factor[o] = 0;
        else if (p->factor[o] != 0)
            p->spare = fabs(p->factor[o]);
}

/* The factors and the new bias; false when a channel has no finite factor. */
static bool compute(const struct folder *f, struct pair *p)
{
    const float *scale = f32_constant(f, p->norm, 1)->data,
                *shift = f32_constant(f, p->norm, 2)->data;
    const float *mean = f32_constant(f, p->norm, 3)->data, *var = f32_constant(f, p->norm, 4)->data;
    double epsilon = attr_f32(p->norm->attr, ATTR_BN_EPSILON);
    for (uint64_t o = 0; o < p->layer.rows; o++) {
        double v = var[o] + epsilon;
        if (!(v > 0))
            return false;
        struct channel_affine a = {mean[o], rounded_factor(f, p, scale[o] / sqrt(v)), shift[o]};
        p->factor[o] = a.factor;
        p->bias[o] = pith_channel_bias(&p->layer, o, &a);
        if (!isfinite(p->factor[o]) || !isfinite(p->bias[o]))
            return false;
    }
    if (p->uniform)
        find_spare(f, p);
    return true;
}

/* Copies group `from` of the old codebook to group `to` of the new one, times a. */
static void scale_group(const struct pith_codebook *old, uint64_t from, struct pith_codebook *new,
                        uint64_t to, double a)
{
    uint32_t n = old->n_centroids;
    const float *src = old->centroid + from * n;
    float *dst = new->centroid + to *n;
    for (uint32_t k = 0; k < n; k++)
        dst[a < 0 ? n - 1 - k : k] = pith_channel_weight(src[k], a);
}

/* The products rounded once, not twice. */
static void scale_grid(const struct pair *p, struct pith_codebook *new, uint64_t channel)
{
    uint32_t n = new->n_centroids;
    double a = p->factor[channel] != 0 ? p->factor[channel] : p->spare;
    struct uniform_grid grid = {(float)(fabs(a) * (double)p->grid.step),
                                a < 0 ? n - 1 - p->grid.zero : p->grid.zero};
    pith_grid_write(&grid, n, new->centroid + channel *n);
}

static struct pith_codebook *scale_codebook(struct folder *f, const struct pair *p,
                                            const struct pith_codebook *old, uint64_t count)
{
    struct pith_codebook *new = pith_model_alloc(f->g.m, 1, sizeof *new);
    if (!new)
        return NULL;
    new->n_centroids = old->n_centroids;
    new->group_elems = old->group_elems < p->layer.cols ? old->group_elems : p->layer.cols;
    new->n_groups = count / new->group_elems;
    new->centroid = pith_model_alloc(f->g.m, new->n_groups, old->n_centroids * sizeof(float));
    new->index = pith_model_alloc(f->g.m, count, 1);
    if (!new->centroid || !new->index)
        return NULL;
    for (uint64_t g = 0; g < new->n_groups; g++) {
        uint64_t first = g * new->group_elems;
        if (p->uniform)
            scale_grid(p, new, g);
        else
            scale_group(old, first / old->group_elems, new, g, p->factor[first / p->layer.cols]);
    }
    for (uint64_t i = 0; i < count; i++) {
        double a = p->factor[i / p->layer.cols];
        uint32_t index = p->uniform && !(a < 0 || a > 0) ? p->grid.zero : old->index[i];
        new->index[i] = (uint8_t)(a < 0 ? old->n_centroids - 1 - index : index);
    }
    return new;
}

/* A value like `like` with a constant of its own and a name of its own. */
static uint32_t clone_value(struct folder *f, uint32_t like)
{
    struct pith_model *m = f->g.m;
    const char *base = m->values[like].name;
    char *name = pith_model_alloc(m, strlen(base) + 24, 1);
    struct pith_const *c = pith_model_alloc(m, 1, sizeof *c);
    if (!name || !c || m->n_values == f->g.room)
        return PITH_VALUE_NONE;
    bool taken = *base != 0;
    for (uint32_t k = 1; taken; k++) {
        sprintf(name, "%s.%u", base, k);
        taken = false;
        for (uint32_t i = 0; i < m->n_values && !taken; i++)
            taken = strcmp(m->values[i].name, name) == 0;
    }
    m->values[m->n_values] = m->values[like];
    m->values[m->n_values].name = name;
    *c = *m->values[like].constant;
    m->values[m->n_values].constant = c;
    f->g.uses[m->n_values] = 1;
    f->g.uses[like]--;
    f->g.producer[m->n_values] = UINT32_MAX;
    return m->n_values++;
}

/* What a fold will install, made before the first thing is changed: without memory the model stays
 * the network it was. */
struct fold_parts {
    uint32_t bias; /* a value */
    float *weight_data, *bias_data;
    struct pith_codebook *codebook, *bias_codebook; /* may be NULL */
    uint32_t *in;
};

/* The value itself, or a copy when others read it too. */
static uint32_t own_value(struct folder *f, uint32_t value)
{
    return f->g.uses[value] > 1 ? clone_value(f, value) : value;
}

/* Weights with a codebook are its centroids, to the bit. */
static void scale_data(const struct pair *p, const struct pith_const *w, struct fold_parts *parts)
{
    const struct pith_codebook *b = parts->codebook;
    const float *old = w->data;
    for (uint64_t i = 0; i < w->count; i++) {
        if (b && old[i] != 0)
            parts->weight_data[i] = b->centroid[i / b->group_elems * b->n_centroids + b->index[i]];
        else
            parts->weight_data[i] = pith_channel_weight(old[i], p->factor[i / p->layer.cols]);
    }
}

static enum pith_status make_weight(struct folder *f, const struct pair *p,
                                    struct fold_parts *parts)
{
    struct pith_model *m = f->g.m;
    const struct pith_const *w = p->layer.weight;
    parts->weight_data = pith_model_alloc(m, w->count, sizeof(float));
    if (w->codebook)
        parts->codebook = scale_codebook(f, p, w->codebook, w->count);
    if (!parts->weight_data || (w->codebook && !parts->codebook))
        return PITH_ERR_MEMORY;
    scale_data(p, w, parts);
    return PITH_OK;
}

/* first, first_parts: of the pairs that share the weight, or NULL. */
static enum pith_status make_bias(struct folder *f, const struct pair *p, const struct pair *first,
                                  const struct fold_parts *first_parts, struct fold_parts *parts)
{
    struct pith_model *m = f->g.m;
    uint32_t shift = p->norm->in[2];
    parts->in = pith_model_alloc(m, 3, sizeof *parts->in);
    if (!parts->in)
        return PITH_ERR_MEMORY;
    if (first && first->norm->in[2] == shift &&
        memcmp(first->bias, p->bias, p->layer.rows * sizeof *p->bias) == 0) {
        parts->bias = first_parts->bias;
        parts->bias_data = first_parts->bias_data;
        parts->bias_codebook = first_parts->bias_codebook;
        f->g.uses[shift]--;
        f->g.uses[parts->bias]++;
        return PITH_OK;
    }
    parts->bias_data = pith_model_alloc(m, p->layer.rows, sizeof(float));
    if (!parts->bias_data)
        return PITH_ERR_MEMORY;
    memcpy(parts->bias_data, p->bias, p->layer.rows * sizeof(float));
    if (f->bias_levels) {
        parts->bias_codebook = pith_grid_lay(m, parts->bias_data, p->layer.rows, f->bias_levels);
        if (!parts->bias_codebook)
            return PITH_ERR_MEMORY;
    }
    /* the shift becomes the bias: it has its shape, and a name in the file */
    parts->bias = own_value(f, shift);
    return parts->bias == PITH_VALUE_NONE ? PITH_ERR_MEMORY : PITH_OK;
}

static void install(struct folder *f, const struct pair *p, const struct fold_parts *parts)
{
    struct pith_const *w = f->g.m->values[p->linear->in[1]].constant;
    struct pith_const *b = f->g.m->values[parts->bias].constant;
    w->data = parts->weight_data;
    w->codebook = parts->codebook;
    *b = (struct pith_const){.count = p->layer.rows,
                             .data = parts->bias_data,
                             .codebook = parts->bias_codebook,
                             .code = b->code};
    parts->in[0] = p->linear->in[0];
    parts->in[1] = p->linear->in[1];
    parts->in[2] = parts->bias;
    p->linear->in = parts->in;
    p->linear->n_in = 3;
    if (p->linear->op == PITH_OP_GEMM) {
        uint32_t one = f32_bits(1.0f);
        memcpy(&p->linear->attr[ATTR_GEMM_BETA], &one, sizeof one);
    }
    p->linear->out[0] = p->norm->out[0];
    f->g.producer[p->norm->out[0]] = (uint32_t)(p->linear - f->g.m->nodes);
    f->g.dropped[p->norm - f->g.m->nodes] = true;
}

/* The factors and biases of all that share a weight; *fits: every channel has them. */
static enum pith_status compute_all(const struct folder *f, struct pair *pairs, uint32_t n,
                                    bool *fits)
{
    *fits = true;
    for (uint32_t i = 0; i < n; i++) {
        pairs[i].factor = malloc(pairs[i].layer.rows * sizeof *pairs[i].factor);
        pairs[i].bias = malloc(pairs[i].layer.rows * sizeof *pairs[i].bias);
        if (!pairs[i].factor || !pairs[i].bias)
            return PITH_ERR_MEMORY;
        *fits = *fits && compute(f, &pairs[i]);
    }
    return PITH_OK;
}

static enum pith_status make_parts(struct folder *f, const struct pair *pairs,
                                   struct fold_parts *parts, uint32_t n)
{
    enum pith_status status = make_weight(f, &pairs[0], &parts[0]);
    for (uint32_t i = 0; i < n && !status; i++) {
        parts[i].weight_data = parts[0].weight_data;
        parts[i].codebook = parts[0].codebook;
        status = make_bias(f, &pairs[i], i ? &pairs[0] : NULL, parts, &parts[i]);
    }
    return status;
}

static enum pith_status fold_pairs(struct folder *f, struct pair *pairs, uint32_t n, bool *folded)
{
    bool fits;
    struct fold_parts *parts = calloc(n, sizeof *parts);
    enum pith_status status = parts ? compute_all(f, pairs, n, &fits) : PITH_ERR_MEMORY;
    if (!status && fits)
        status = make_parts(f, pairs, parts, n);
    *folded = !status && fits;
    for (uint32_t i = 0; i < n && *folded; i++)
        install(f, &pairs[i], &parts[i]);
    for (uint32_t i = 0; i < n; i++) {
        free(pairs[i].factor);
        free(pairs[i].bias);
    }
    free(parts);
    return status;
}

/* Folds the normalization with all that share its weight, when `first` is the first of them; *n:
 * how many. */
static enum pith_status fold_sharers(struct folder *f, uint32_t norm, const struct pair *first,
                                     uint32_t *n)
{
    uint32_t w = first->linear->in[1], n_pairs = f->g.uses[w] == 1 ? 1 : f->n_norms[w];
    *n = 0;
    if (n_pairs > 1 && f->first_norm[w] != norm)
        return PITH_OK;
    struct pair *pairs = calloc(n_pairs, sizeof *pairs);
    if (!pairs)
        return PITH_ERR_MEMORY;
    bool folded = true;
    pairs[0] = *first;
    for (uint32_t i = 1, at = norm; i < n_pairs && folded; i++) {
        at = f->next_norm[at];
        folded = find_pair(f, &f->g.m->nodes[at], &pairs[i]);
    }
    enum pith_status status = folded ? fold_pairs(f, pairs, n_pairs, &folded) : PITH_OK;
    free(pairs);
    *n = folded ? n_pairs : 0;
    return status;
}

static void free_tables(struct folder *f)
{
    pith_rewrite_close(&f->g);
    free(f->n_norms);
    free(f->first_norm);
    free(f->next_norm);
}

/* Room for the clones: at most one bias a pair. */
static enum pith_status prepare(struct folder *f, struct pith_model *m)
{
    uint32_t n_norms = 0;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        n_norms += m->nodes[i].op == PITH_OP_BATCH_NORM;
    enum pith_status status = pith_rewrite_open(&f->g, m, n_norms);
    f->n_norms = calloc((size_t)f->g.room + 1, sizeof *f->n_norms);
    f->first_norm = calloc((size_t)f->g.room + 1, sizeof *f->first_norm);
    f->next_norm = calloc((size_t)m->n_nodes + 1, sizeof *f->next_norm);
    if (status || !f->n_norms || !f->first_norm || !f->next_norm)
        return PITH_ERR_MEMORY;
    find_sharers(f);
    return PITH_OK;
}

enum pith_status pith_model_find_foldable(struct pith_model *m, bool *foldable,
                                          struct pith_error *err)
{
    if (!m || !foldable)
        return PITH_ERR_ARGUMENT;
    struct folder f = {0};
    enum pith_status status = prepare(&f, m);
    for (uint32_t i = 0; i < m->n_nodes && !status; i++) {
        struct pair p;
        foldable[i] = find_pair(&f, &m->nodes[i], &p) && shares_factor(&f, &p);
    }
    free_tables(&f);
    return status ? pith_error_no_memory(err) : PITH_OK;
}

enum pith_status pith_model_fold_batch_norm(struct pith_model *m, uint32_t *n_folded,
                                            struct pith_error *err)
{
    return pith_model_fold_onto_grids(m, 23, 0, n_folded, err);
}

enum pith_status pith_model_fold_onto_grids(struct pith_model *m, uint32_t step_bits,
                                            uint32_t bias_levels, uint32_t *n_folded,
                                            struct pith_error *err)
{
    if (!m)
        return PITH_ERR_ARGUMENT;
    struct folder f = {.step_bits = step_bits, .bias_levels = bias_levels};
    uint32_t n = 0;
    enum pith_status status = prepare(&f, m);
    for (uint32_t i = 0; i < m->n_nodes && !status; i++) {
        struct pair p;
        uint32_t n_more = 0;
        if (!f.g.dropped[i] && find_pair(&f, &m->nodes[i], &p) && shares_factor(&f, &p))
            status = fold_sharers(&f, i, &p, &n_more);
        n += n_more;
    }
    if (n)
        pith_model_drop_nodes(m, f.g.dropped);
    free_tables(&f);
    if (status)
        return pith_error_no_memory(err);
    if (n && pith_model_drop_unused(m, err))
        return PITH_ERR_MEMORY;
    if (n_folded)
        *n_folded = n;
    return PITH_OK;
}
