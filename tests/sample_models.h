/* SPDX-License-Identifier: MIT */
/* sample_models.h - models made by hand for tests of what stores them. Everything is static: one
 * test program includes it.
 *
 *   sample_lenet5        Caffe's LeNet-5: conv 20x5x5, max pool, conv 50x5x5, max pool, flatten,
 * 500, relu, 10, softmax; input 1x28x28 with open batch, preprocess scale=1/256; seeded Gaussian
 * weights sample_prune         keeps the largest `kept` of a constant's elements sample_cluster a
 * codebook of n centroids per group of group_elems elements (0: one) sample_compress      both for
 * every weight, and Huffman codes sample_random_model  a valid model of random size, supports,
 * grids, codes, names and texts sample_difference    NULL when all that a file keeps is equal; else
 * what differs first */
#ifndef SAMPLE_MODELS_H
#define SAMPLE_MODELS_H

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_info.h"
#include "pith_model.h"
#include "pith_value_stats.h"

/* xorshift64*; state is never 0. */
struct sample_random {
    uint64_t state;
};

/* ---- random numbers -------------------------------------------------------------------------- */

static inline struct sample_random sample_random_of(uint64_t seed)
{
    return (struct sample_random){seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
}

static inline uint64_t next(struct sample_random *r)
{
    r->state ^= r->state >> 12;
    r->state ^= r->state << 25;
    r->state ^= r->state >> 27;
    return r->state * UINT64_C(0x2545f4914f6cdd1d);
}

static inline uint32_t sample_below(struct sample_random *r, uint32_t n)
{
    return (uint32_t)((next(r) >> 32) * n >> 32);
}

static inline float sample_gauss(struct sample_random *r)
{
    float sum = -6.0f;
    for (int i = 0; i < 12; i++)
        sum += (float)(next(r) >> 40) / 16777216.0f;
    return sum;
}

/* ---- building -------------------------------------------------------------------------------- */

enum { MAX_SAMPLE_VALUES = 256, MAX_SAMPLE_NODES = 128 };

static inline struct pith_model *sample_new(void)
{
    struct pith_model *m = NULL;
    enum pith_status st = pith_model_new(NULL, &m);
    assert(st == PITH_OK);
    (void)st;
    m->values = pith_model_alloc(m, MAX_SAMPLE_VALUES, sizeof *m->values);
    m->nodes = pith_model_alloc(m, MAX_SAMPLE_NODES, sizeof *m->nodes);
    m->inputs = pith_model_alloc(m, 16, sizeof *m->inputs);
    m->outputs = pith_model_alloc(m, 16, sizeof *m->outputs);
    return m;
}

static inline uint32_t add_value(struct pith_model *m, const char *name, enum pith_type type,
                                 uint32_t rank, const uint32_t *dim)
{
    assert(m->n_values < MAX_SAMPLE_VALUES);
    struct pith_value *v = &m->values[m->n_values];
    v->name = pith_model_strdup(m, name);
    v->type = type;
    v->rank = rank;
    for (uint32_t i = 0; i < rank; i++)
        v->dim[i] = dim[i];
    v->min = INFINITY;
    v->max = -INFINITY;
    return m->n_values++;
}

/* Of floats. */
static inline uint32_t add_input(struct pith_model *m, const char *name, uint32_t rank,
                                 const uint32_t *dim)
{
    return m->inputs[m->n_inputs++] = add_value(m, name, PITH_F32, rank, dim);
}

/* m, whose shapes are inferred. */
static inline struct pith_model *sample_shaped(struct pith_model *m)
{
    struct pith_error err = {0};
    if (pith_model_infer_shapes(m, &err)) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    return m;
}

/* The same with one more output. */
static inline struct pith_model *sample_done(struct pith_model *m, uint32_t output)
{
    m->outputs[m->n_outputs++] = output;
    return sample_shaped(m);
}

static inline uint32_t add_constant(struct pith_model *m, struct sample_random *r, const char *name,
                                    uint32_t rank, const uint32_t *dim)
{
    uint32_t v = add_value(m, name, PITH_F32, rank, dim);
    struct pith_const *k = pith_model_alloc(m, 1, sizeof *k);
    k->count = 1;
    for (uint32_t i = 0; i < rank; i++)
        k->count *= dim[i];
    float *data = pith_model_alloc(m, k->count, sizeof *data);
    for (uint64_t i = 0; i < k->count; i++)
        data[i] = sample_gauss(r);
    k->data = data;
    m->values[v].constant = k;
    return v;
}

/* Inputs: what follows n_in. The output gets its shape from infer. */
static inline struct pith_node *add_node(struct pith_model *m, uint32_t op, const char *name,
                                         const char *out_name, uint32_t n_in, const uint32_t *in)
{
    assert(m->n_nodes < MAX_SAMPLE_NODES);
    struct pith_node *node = &m->nodes[m->n_nodes++];
    const struct op_info *info = pith_op_get(op);
    node->op = op;
    node->name = pith_model_strdup(m, name);
    node->attr = pith_model_alloc(m, info->n_slots, sizeof *node->attr);
    pith_op_attr_defaults(info, node->attr);
    node->n_in = n_in;
    node->in = pith_model_alloc(m, n_in, sizeof *node->in);
    memcpy(node->in, in, n_in * sizeof *in);
    node->n_out = 1;
    node->out = pith_model_alloc(m, 1, sizeof *node->out);
    node->out[0] = add_value(m, out_name, PITH_F32, 0, NULL);
    return node;
}

static inline void set_pair(int32_t *list, int32_t v)
{
    list[0] = 2;
    list[1] = list[2] = v;
}

static inline uint32_t add_layer(struct pith_model *m, struct sample_random *r, uint32_t op,
                                 const char *name, uint32_t x, uint32_t rank, const uint32_t *dim)
{
    char text[64];
    snprintf(text, sizeof text, "%s.weight", name);
    uint32_t w = add_constant(m, r, text, rank, dim);
    snprintf(text, sizeof text, "%s.bias", name);
    uint32_t b = add_constant(m, r, text, 1, dim);
    snprintf(text, sizeof text, "%s.out", name);
    return add_node(m, op, name, text, 3, (const uint32_t[]){x, w, b})->out[0];
}

static inline uint32_t add_pool(struct pith_model *m, const char *name, uint32_t x)
{
    char text[64];
    snprintf(text, sizeof text, "%s.out", name);
    struct pith_node *node = add_node(m, PITH_OP_MAX_POOL, name, text, 1, &x);
    set_pair(node->attr + ATTR_POOL_KERNEL, 2);
    set_pair(node->attr + ATTR_POOL_STRIDES, 2);
    return node->out[0];
}

/* hidden: rows of its largest tensor, of 800 elements each. */
static inline struct pith_model *sample_lenet(uint64_t seed, uint32_t hidden)
{
    struct sample_random r = sample_random_of(seed);
    struct pith_model *m = sample_new();
    uint32_t x = add_value(m, "image", PITH_F32, 4, (const uint32_t[]){1, 1, 28, 28});
    m->inputs[m->n_inputs++] = x;
    m->batch_open = true;
    x = add_layer(m, &r, PITH_OP_CONV, "conv1", x, 4, (const uint32_t[]){20, 1, 5, 5});
    x = add_pool(m, "pool1", x);
    x = add_layer(m, &r, PITH_OP_CONV, "conv2", x, 4, (const uint32_t[]){50, 20, 5, 5});
    x = add_pool(m, "pool2", x);
    x = add_node(m, PITH_OP_FLATTEN, "flatten", "flat", 1, &x)->out[0];
    x = add_layer(m, &r, PITH_OP_GEMM, "ip1", x, 2, (const uint32_t[]){hidden, 800});
    x = add_node(m, PITH_OP_RELU, "relu1", "relu1.out", 1, &x)->out[0];
    x = add_layer(m, &r, PITH_OP_GEMM, "ip2", x, 2, (const uint32_t[]){10, hidden});
    struct pith_node *softmax = add_node(m, PITH_OP_SOFTMAX, "softmax", "prob", 1, &x);
    softmax->attr[ATTR_SOFTMAX_AXIS] = 1;
    m->outputs[m->n_outputs++] = softmax->out[0];
    pith_model_set_meta(m, "preprocess", "scale=1/256");
    pith_model_add_history(m, "import", "{\"file\":\"lenet.onnx\"}");
    return m;
}

static inline struct pith_model *sample_lenet5(uint64_t seed)
{
    return sample_lenet(seed, 500);
}

/* ---- compressing ----------------------------------------------------------------------------- */

static inline int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

static inline void sample_prune(struct pith_model *m, uint32_t value, double kept)
{
    struct pith_const *k = m->values[value].constant;
    float *data = k->data, *sorted = malloc(k->count * sizeof *sorted);
    for (uint64_t i = 0; i < k->count; i++)
        sorted[i] = fabsf(data[i]);
    qsort(sorted, k->count, sizeof *sorted, by_value);
    uint64_t n_pruned = (uint64_t)((1.0 - kept) * (double)k->count);
    float limit = n_pruned < k->count ? sorted[n_pruned] : INFINITY;
    free(sorted);
    k->mask = pith_model_alloc(m, k->count, 1);
    for (uint64_t i = 0; i < k->count; i++) {
        k->mask[i] = fabsf(data[i]) >= limit;
        data[i] = k->mask[i] ? data[i] : 0;
    }
}

/* Centroids evenly over the range of the group, which spreads the use of indices as k-means does.
 */
static inline void cluster_group(struct pith_codebook *b, uint64_t g, float *data,
                                 const uint8_t *mask)
{
    uint64_t first = g * b->group_elems, end = first + b->group_elems;
    float low = -1.0f, high = 1.0f, *centroid = b->centroid + g * b->n_centroids;
    for (uint64_t i = first; i < end; i++) {
        low = data[i] < low ? data[i] : low;
        high = data[i] > high ? data[i] : high;
    }
    float step = (high - low) / (float)b->n_centroids;
    for (uint32_t c = 0; c < b->n_centroids; c++)
        centroid[c] = low + ((float)c + 0.5f) * step;
    for (uint64_t i = first; i < end; i++) {
        if (mask && !mask[i])
            continue;
        float at = (data[i] - low) / step;
        uint32_t c = at > 0 ? (uint32_t)at : 0;
        b->index[i] = (uint8_t)(c < b->n_centroids ? c : b->n_centroids - 1);
        data[i] = centroid[b->index[i]];
    }
}

static inline void sample_cluster(struct pith_model *m, uint32_t value, uint32_t n,
                                  uint64_t group_elems)
{
    struct pith_const *k = m->values[value].constant;
    struct pith_codebook *b = pith_model_alloc(m, 1, sizeof *b);
    b->n_centroids = n;
    b->group_elems = group_elems ? group_elems : k->count;
    b->n_groups = k->count / b->group_elems;
    b->centroid = pith_model_alloc(m, b->n_groups * n, sizeof *b->centroid);
    b->index = pith_model_alloc(m, k->count, 1);
    for (uint64_t g = 0; g < b->n_groups; g++)
        cluster_group(b, g, k->data, k->mask);
    k->codebook = b;
}

/* k * step, |k| <= levels; one element of n is kept. */
static inline void sample_integers(struct pith_model *m, struct pith_const *c, uint32_t levels,
                                   uint32_t n)
{
    struct sample_random r = sample_random_of(c->count);
    float *data = c->data, most = 0;
    struct pith_codebook *b = pith_model_alloc(m, 1, sizeof *b);
    *b = (struct pith_codebook){
        .n_centroids = 2 * levels + 1, .group_elems = c->count, .n_groups = 1};
    b->centroid = pith_model_alloc(m, b->n_centroids, sizeof(float));
    b->index = pith_model_alloc(m, c->count, 1);
    c->mask = pith_model_alloc(m, c->count, 1);
    for (uint64_t i = 0; i < c->count; i++)
        most = fmaxf(most, fabsf(data[i]));
    for (uint32_t k = 0; k < b->n_centroids; k++)
        b->centroid[k] = ((float)k - (float)levels) * 0.125f;
    for (uint64_t i = 0; i < c->count; i++) {
        int k = 1 + (int)(fabsf(data[i]) / most * (float)(levels - 1));
        k = sample_below(&r, n) != 0 ? 0 : data[i] < 0 ? -k : k;
        c->mask[i] = k != 0;
        b->index[i] = (uint8_t)(k != 0 ? k + (int)levels : 0); /* of those without: nothing */
        data[i] = (float)k * 0.125f;
    }
    c->codebook = b;
    c->code = PITH_CODE_ADAPTIVE;
}

static inline void sample_compress(struct pith_model *m, double kept, uint32_t n_centroids)
{
    struct pith_weight_ref *refs = calloc(m->n_nodes, sizeof *refs);
    uint32_t n = pith_model_weights(m, refs);
    for (uint32_t i = 0; i < n; i++) {
        sample_prune(m, refs[i].value, kept);
        sample_cluster(m, refs[i].value, n_centroids, 0);
        m->values[refs[i].value].constant->code = PITH_CODE_HUFFMAN;
    }
    free(refs);
}

/* ---- random models --------------------------------------------------------------------------- */

static inline void randomise(struct pith_model *m, struct sample_random *r, uint32_t value)
{
    struct pith_const *k = m->values[value].constant;
    if (sample_below(r, 2))
        sample_prune(m, value, (double)sample_below(r, 101) / 100.0);
    if (sample_below(r, 2)) {
        uint64_t group = sample_below(r, 3) ? 0 : k->count / m->values[value].dim[0];
        sample_cluster(m, value, 1 + sample_below(r, sample_below(r, 2) ? 256 : 20), group);
    }
    k->code = (enum pith_code)sample_below(r, 3);
}

/* x of shape [d0, d1, d2]: one of an activation, an operation with an earlier value, one with a new
 * constant. */
static inline uint32_t grow_random(struct pith_model *m, struct sample_random *r, uint32_t x,
                                   uint32_t old, const uint32_t dim[3], bool named)
{
    static const uint32_t unary[] = {PITH_OP_RELU, PITH_OP_TANH, PITH_OP_LEAKY_RELU, PITH_OP_CLIP};
    static const uint32_t binary[] = {PITH_OP_ADD, PITH_OP_SUB, PITH_OP_MUL};
    char out[32] = "", node[32] = "", constant[32] = "";
    if (named) {
        snprintf(out, sizeof out, "v%u", m->n_nodes);
        snprintf(node, sizeof node, "node %u", m->n_nodes / 2);
        snprintf(constant, sizeof constant, "k%u \xc3\xa9", m->n_nodes);
    }
    uint32_t kind = sample_below(r, 3);
    if (kind == 0) {
        struct pith_node *n = add_node(m, unary[sample_below(r, 4)], node, out, 1, &x);
        if (n->op == PITH_OP_LEAKY_RELU && sample_below(r, 2))
            n->attr[ATTR_ALPHA] = (int32_t)0x3e000000;
        return n->out[0];
    }
    uint32_t other = old;
    if (kind == 2) {
        other = add_constant(m, r, constant, 3, dim);
        randomise(m, r, other);
    }
    bool swap = sample_below(r, 2);
    uint32_t in[2] = {swap ? other : x, swap ? x : other};
    return add_node(m, binary[sample_below(r, 3)], node, out, 2, in)->out[0];
}

static inline struct pith_exact_sum sample_sum(struct sample_random *r)
{
    struct pith_exact_sum s = {{0}};
    for (uint32_t i = 0, n = sample_below(r, 4); i < n; i++)
        pith_exact_sum_add(&s,
                           (sample_below(r, 2) ? 1 : -1) *
                               ldexp(1 + sample_below(r, 1000), (int)sample_below(r, 400) - 200));
    pith_exact_sum_carry(&s);
    return s;
}

static inline int sample_bin(double x, int exponent)
{
    return (int)trunc(ldexp(x, -exponent)) - (x < 0);
}

/* min < 0 <= max */
static inline void sample_histogram(struct pith_model *m, const struct pith_value *v,
                                    struct pith_histogram *h, struct sample_random *r)
{
    int e = -16; /* far too narrow for -1.5 already */
    while (sample_bin((double)v->max, e) - sample_bin((double)v->min, e) >= 2048)
        e++;
    *h = (struct pith_histogram){.exponent = e, .first = sample_bin((double)v->min, e)};
    int last = v->max > 0 ? sample_bin((double)v->max, e) : h->first;
    h->n_bins = (uint32_t)(last - h->first + 1);
    h->count = pith_model_alloc(m, h->n_bins, sizeof *h->count);
    h->count[0] = h->count[h->n_bins - 1] = 1;
    for (uint32_t i = 0, n = sample_below(r, 300); i < n; i++)
        h->count[sample_below(r, h->n_bins)] += (uint64_t)1 << sample_below(r, 40);
}

/* Statistics and a grid, such as could have been observed. */
static inline void sample_observe(struct pith_model *m, struct pith_value *v,
                                  struct sample_random *r)
{
    struct pith_value_stats *s = pith_model_alloc(m, 1, sizeof *s);
    struct pith_grid *g = pith_model_alloc(m, 1, sizeof *g);
    v->min = -1.5f;
    v->max = (float)sample_below(r, 100) / 8;
    s->n_samples = 1;
    s->n_zero = sample_below(r, 1000);
    sample_histogram(m, v, &s->histogram, r);
    s->n = s->n_zero;
    for (uint32_t i = 0; i < s->histogram.n_bins; i++)
        s->n += s->histogram.count[i];
    v->n_observed = s->n;
    s->sum = sample_sum(r);
    s->sum_squares = sample_sum(r);
    if (v->rank > 1 && sample_below(r, 2)) {
        s->channel_axis = sample_below(r, v->rank);
        s->n_channels = v->dim[s->channel_axis];
        s->channel = pith_model_alloc(m, s->n_channels, sizeof *s->channel);
        for (uint32_t c = 0; c < s->n_channels; c++)
            s->channel[c] =
                (struct pith_channel_stats){-1, (float)sample_below(r, 9), sample_sum(r)};
    }
    bool by_channel = s->n_channels > 1 && sample_below(r, 2);
    *g = (struct pith_grid){PITH_I8,
                            5,
                            PITH_RANGE_ACIQ,
                            -3,
                            by_channel ? s->n_channels : 1,
                            by_channel ? s->channel_axis : 0,
                            NULL};
    g->scale = pith_model_alloc(m, g->n, sizeof *g->scale);
    for (uint32_t i = 0; i < g->n; i++)
        g->scale[i] = (float)(1 + sample_below(r, 100)) / 64;
    v->stats = s;
    v->grid = sample_below(r, 2) ? g : NULL;
}

static inline struct pith_model *sample_random_model(uint64_t seed)
{
    struct sample_random r = sample_random_of(seed);
    struct pith_model *m = sample_new();
    uint32_t dim[3] = {1 + sample_below(&r, 3), 1 + sample_below(&r, 40),
                       1 + sample_below(&r, 100)};
    bool named = sample_below(&r, 2);
    m->batch_open = sample_below(&r, 2);
    if (m->batch_open)
        dim[0] = 1;
    for (uint32_t i = 0, n = 1 + sample_below(&r, 3); i < n; i++) {
        char name[16] = "";
        if (named)
            snprintf(name, sizeof name, "in%u", i);
        m->inputs[m->n_inputs++] = add_value(m, name, PITH_F32, 3, dim);
    }
    uint32_t x = m->inputs[sample_below(&r, m->n_inputs)];
    for (uint32_t i = 0, n = 1 + sample_below(&r, 30); i < n; i++) {
        uint32_t old = m->n_nodes && sample_below(&r, 2)
                           ? m->nodes[sample_below(&r, m->n_nodes)].out[0]
                           : m->inputs[sample_below(&r, m->n_inputs)];
        x = grow_random(m, &r, x, old, dim, named);
    }
    m->outputs[m->n_outputs++] = x;
    if (sample_below(&r, 2))
        m->outputs[m->n_outputs++] = m->nodes[sample_below(&r, m->n_nodes)].out[0];
    if (sample_below(&r, 2))
        pith_model_set_meta(m, "labels", "cat\ndog\n");
    if (sample_below(&r, 2))
        pith_model_set_meta(m, "author's note", "\xe2\x82\xac");
    for (uint32_t i = 0, n = sample_below(&r, 4); i < n; i++)
        pith_model_add_history(m, "prune", "{}");
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        struct pith_value *v = &m->values[m->nodes[i].out[0]];
        v->n_observed = sample_below(&r, 3);
        v->min = v->n_observed ? -1.5f : INFINITY;
        v->max = v->n_observed ? (float)sample_below(&r, 100) : -INFINITY;
    }
    struct pith_error err;
    enum pith_status st = pith_model_infer_shapes(m, &err);
    assert(st == PITH_OK);
    (void)st;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (sample_below(&r, 2))
            sample_observe(m, &m->values[m->nodes[i].out[0]], &r);
    return m;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static inline const char *codebooks_differ(const struct pith_const *a, const struct pith_const *b)
{
    const struct pith_codebook *x = a->codebook, *y = b->codebook;
    if (!x || !y)
        return x == y ? NULL : "codebook present";
    if (x->n_centroids != y->n_centroids || x->group_elems != y->group_elems ||
        x->n_groups != y->n_groups)
        return "codebook shape";
    if (memcmp(x->centroid, y->centroid, x->n_groups * x->n_centroids * sizeof(float)) != 0)
        return "centroids";
    for (uint64_t i = 0; i < a->count; i++)
        if ((!a->mask || a->mask[i]) && x->index[i] != y->index[i])
            return "indices";
    return NULL;
}

static inline const char *constants_differ(const struct pith_value *a, const struct pith_value *b)
{
    const struct pith_const *x = a->constant, *y = b->constant;
    if (!x || !y)
        return x == y ? NULL : "constant present";
    if (x->count != y->count)
        return "count";
    if (!x->mask != !y->mask || (x->mask && memcmp(x->mask, y->mask, x->count) != 0))
        return "mask";
    if (memcmp(x->data, y->data, x->count * pith_type_bytes(a->type)) != 0)
        return "data";
    return codebooks_differ(x, y);
}

static inline const char *stats_differ(const struct pith_value_stats *a,
                                       const struct pith_value_stats *b)
{
    const struct pith_histogram *x = a ? &a->histogram : NULL, *y = b ? &b->histogram : NULL;
    if (!a || !b)
        return a == b ? NULL : "statistics present";
    if (a->n != b->n || a->n_zero != b->n_zero || a->n_samples != b->n_samples ||
        memcmp(&a->sum, &b->sum, sizeof a->sum) != 0 ||
        memcmp(&a->sum_squares, &b->sum_squares, sizeof a->sum) != 0)
        return "statistics";
    if (x->n_bins != y->n_bins ||
        (x->n_bins && (x->exponent != y->exponent || x->first != y->first ||
                       memcmp(x->count, y->count, x->n_bins * sizeof *x->count) != 0)))
        return "histogram";
    if (a->n_channels != b->n_channels || a->channel_axis != b->channel_axis ||
        (a->n_channels && memcmp(a->channel, b->channel, a->n_channels * sizeof *a->channel) != 0))
        return "channels";
    return NULL;
}

static inline const char *grids_differ(const struct pith_grid *a, const struct pith_grid *b)
{
    if (!a || !b)
        return a == b ? NULL : "grid present";
    return a->type != b->type || a->bits != b->bits || a->method != b->method ||
                   a->zero_point != b->zero_point || a->n != b->n || a->axis != b->axis ||
                   memcmp(a->scale, b->scale, a->n * sizeof *a->scale) != 0
               ? "grid"
               : NULL;
}

static inline const char *values_differ(const struct pith_value *a, const struct pith_value *b)
{
    if (strcmp(a->name, b->name) != 0)
        return "value name";
    if (a->type != b->type || a->rank != b->rank ||
        memcmp(a->dim, b->dim, a->rank * sizeof *a->dim) != 0)
        return "type or shape";
    if (a->n_observed != b->n_observed || (a->n_observed && (a->min != b->min || a->max != b->max)))
        return "observed range";
    const char *what = stats_differ(a->stats, b->stats);
    what = what ? what : grids_differ(a->grid, b->grid);
    return what ? what : constants_differ(a, b);
}

/* Value numbers may differ: files number in their own order. */
static inline const char *nodes_differ(const struct pith_model *a, const struct pith_model *b,
                                       uint32_t i)
{
    const struct pith_node *x = &a->nodes[i], *y = &b->nodes[i];
    const char *what = NULL;
    if (x->op != y->op || strcmp(x->name, y->name) != 0 || x->n_in != y->n_in ||
        x->n_out != y->n_out)
        return "node";
    if (memcmp(x->attr, y->attr, pith_op_get(x->op)->n_slots * sizeof *x->attr) != 0)
        return "attributes";
    for (uint32_t k = 0; k < x->n_in && !what; k++)
        what = values_differ(&a->values[x->in[k]], &b->values[y->in[k]]);
    for (uint32_t k = 0; k < x->n_out && !what; k++)
        what = values_differ(&a->values[x->out[k]], &b->values[y->out[k]]);
    return what;
}

static inline const char *texts_differ(const struct pith_meta *a, uint32_t n_a,
                                       const struct pith_meta *b, uint32_t n_b)
{
    if (n_a != n_b)
        return "number of texts";
    for (uint32_t i = 0; i < n_a; i++)
        if (strcmp(a[i].key, b[i].key) != 0 || strcmp(a[i].text, b[i].text) != 0)
            return "text";
    return NULL;
}

static inline const char *sample_difference(const struct pith_model *a, const struct pith_model *b)
{
    if (a->n_inputs != b->n_inputs || a->n_outputs != b->n_outputs || a->n_nodes != b->n_nodes ||
        a->batch_open != b->batch_open)
        return "graph";
    const char *what = texts_differ(a->meta, a->n_meta, b->meta, b->n_meta);
    if (!what)
        what = texts_differ(a->history, a->n_history, b->history, b->n_history);
    for (uint32_t i = 0; i < a->n_inputs && !what; i++)
        what = values_differ(&a->values[a->inputs[i]], &b->values[b->inputs[i]]);
    for (uint32_t i = 0; i < a->n_nodes && !what; i++)
        what = nodes_differ(a, b, i);
    for (uint32_t i = 0; i < a->n_outputs && !what; i++)
        what = values_differ(&a->values[a->outputs[i]], &b->values[b->outputs[i]]);
    return what;
}

/* Of a convolution. */
static inline void pads_of_one(struct pith_node *node)
{
    node->attr[ATTR_CONV_PADS] = 4;
    for (int i = 1; i <= 4; i++)
        node->attr[ATTR_CONV_PADS + i] = 1;
}

#endif
