/* SPDX-License-Identifier: MIT */
/* block_reconstruct.c - where quantize's blocks meet train's engine. A block's nodes become a model
 * of their own, from what the integers in front of it give to what the float network has behind it;
 * its weights begin at the integers they have, with the scales they have, and move under the
 * rounding (BRECQ, Li et al., 2021, but straight through the rounding as in AdaQuant, Hubara et
 * al., 2020). Values between layers are rounded to the grids that they have, which stay. */
#include "block_reconstruct.h"

#include <stdlib.h>
#include <string.h>

#include "pith_error_fill.h"
#include "pith_op_semantics.h"
#include "pith_value_stats.h"

#define BATCH PITH_TRAIN_SLICES
#define SHOWN 2048u /* samples, each as often as it takes: */
#define LEAST_EPOCHS 4u
#define MOST_EPOCHS 40u
#define RATE 0.05f /* at first, of the middle one of the weights' scales */

/* The block as a model. */
struct part {
    const struct pith_block *block;
    struct pith_model *m;              /* owns */
    uint32_t *number;                  /* owns: [values of the network] in m, or PITH_VALUE_NONE */
    struct pith_train_value *values;   /* owns: [n_values] */
    struct pith_train_weight *weights; /* owns: [n_layers] */
    float **step;                      /* owns: [n_layers][rows] */
    uint32_t *bias;                    /* owns: [n_layers] value of m, or PITH_VALUE_NONE */
    uint32_t n_values;
    struct pith_error *err;
};

/* ---- what can be trained --------------------------------------------------------------------- */

static const struct pith_block_layer *layer_at(const struct pith_block *b, uint32_t node)
{
    for (uint32_t i = 0; i < b->n_layers; i++)
        if (b->layers[i].node == node)
            return &b->layers[i];
    return NULL;
}

static bool has_bias(const struct pith_block_layer *l)
{
    bool any = false;
    for (uint64_t o = 0; o < l->rows; o++)
        any |= l->bias[o] != 0;
    return any;
}

/* A MatMul has no place for a bias, and what else is constant would move too. */
static bool may_train(const struct pith_block *b)
{
    for (uint32_t i = b->first; i < b->last; i++) {
        const struct pith_node *node = &b->m->nodes[i];
        const struct pith_block_layer *l = layer_at(b, i);
        if (l && pith_op_traits(node->op).bias_input == 0 && has_bias(l))
            return false;
        for (uint32_t k = 0; k < node->n_in && !l; k++)
            if (node->in[k] != PITH_VALUE_NONE && b->m->values[node->in[k]].constant &&
                b->m->values[node->in[k]].type == PITH_F32)
                return false;
    }
    return true;
}

/* ---- making the model ------------------------------------------------------------------------ */

static uint32_t add_value(struct part *p, const struct pith_value *like)
{
    p->m->values[p->m->n_values] = *like;
    p->m->values[p->m->n_values].grid = NULL;
    p->m->values[p->m->n_values].stats = NULL;
    return p->m->n_values++;
}

/* A constant of the model's own, of n floats. NULL: no memory. */
static struct pith_const *own_constant(struct part *p, uint32_t v, uint64_t n)
{
    struct pith_const *c = pith_model_alloc(p->m, 1, sizeof *c);
    if (!c || !(c->data = pith_model_alloc(p->m, n, sizeof(float))))
        return NULL;
    c->count = n;
    p->m->values[v].constant = c;
    return c;
}

static uint32_t number_of(struct part *p, uint32_t v)
{
    if (v == PITH_VALUE_NONE)
        return v;
    if (p->number[v] == PITH_VALUE_NONE)
        p->number[v] = add_value(p, &p->block->m->values[v]);
    return p->number[v];
}

static bool make_weight(struct part *p, uint32_t i)
{
    const struct pith_block_layer *l = &p->block->layers[i];
    const struct pith_value *was = &p->block->m->values[p->block->m->nodes[l->node].in[1]];
    uint32_t v = number_of(p, p->block->m->nodes[l->node].in[1]);
    struct pith_const *c = own_constant(p, v, l->rows * l->cols);
    p->step[i] = malloc((size_t)l->rows * sizeof **p->step);
    if (!c || !p->step[i])
        return false;
    if (was->constant->mask) {
        c->mask = pith_model_alloc(p->m, c->count, 1);
        if (!c->mask)
            return false;
        memcpy(c->mask, was->constant->mask, (size_t)c->count);
    }
    for (uint64_t o = 0; o < l->rows; o++) {
        p->step[i][o] = (float)l->scale[o];
        for (uint64_t k = o * l->cols; k < (o + 1) * l->cols; k++)
            ((float *)c->data)[k] = c->mask && !c->mask[k] ? 0 : (float)l->q[k] * p->step[i][o];
    }
    p->weights[i] = (struct pith_train_weight){.value = v,
                                               .lowest = l->lowest,
                                               .highest = l->highest,
                                               .by_row = !l->one_scale,
                                               .first_step = p->step[i]};
    return true;
}

/* Input 2 of the layer's node, which may have had none. */
static bool make_bias(struct part *p, uint32_t i, struct pith_node *node)
{
    const struct pith_block_layer *l = &p->block->layers[i];
    const struct pith_value like = {
        .name = "", .type = PITH_F32, .rank = 1, .dim = {(uint32_t)l->rows}, .min = 1, .max = 0};
    p->bias[i] = PITH_VALUE_NONE;
    if (pith_op_traits(node->op).bias_input == 0)
        return true;
    p->bias[i] = add_value(p, &like);
    struct pith_const *c = own_constant(p, p->bias[i], l->rows);
    for (uint64_t o = 0; o < l->rows && c; o++)
        ((float *)c->data)[o] = (float)l->bias[o];
    node->in[2] = p->bias[i];
    node->n_in = node->n_in > 3 ? node->n_in : 3;
    return c != NULL;
}

static bool copy_node(struct part *p, uint32_t i)
{
    const struct pith_node *from = &p->block->m->nodes[i];
    const struct pith_block_layer *l = layer_at(p->block, i);
    struct pith_node *node = &p->m->nodes[p->m->n_nodes++];
    *node = *from;
    node->in = pith_model_alloc(p->m, from->n_in + (uint64_t)3, sizeof *node->in);
    node->out = pith_model_alloc(p->m, from->n_out + (uint64_t)1, sizeof *node->out);
    if (!node->in || !node->out)
        return false;
    for (uint32_t k = 0; k < from->n_in; k++)
        node->in[k] = l && k == 2 ? PITH_VALUE_NONE : number_of(p, from->in[k]);
    for (uint32_t k = 0; k < from->n_out; k++)
        node->out[k] = number_of(p, from->out[k]);
    return !l || (make_weight(p, (uint32_t)(l - p->block->layers)) &&
                  make_bias(p, (uint32_t)(l - p->block->layers), node));
}

/* Values of one scale; those of several are left as they come, and so is what leaves the block: the
 * goal has no rounding either. */
static void take_values(struct part *p)
{
    const struct pith_block *b = p->block;
    for (uint32_t i = 0; i < b->n_values; i++) {
        uint32_t v = p->number[b->values[i].value];
        if (v == PITH_VALUE_NONE || b->values[i].value == b->y || b->values[i].grid->n != 1)
            continue;
        p->m->values[v].grid = (struct pith_grid *)(uintptr_t)b->values[i].grid;
        p->values[p->n_values++] = (struct pith_train_value){
            .value = v, .like = v, .rounded = b->values[i].rounded, .learned = false};
    }
}

static bool take_room(struct part *p)
{
    const struct pith_block *b = p->block;
    uint64_t ends = 1;
    for (uint32_t i = b->first; i < b->last; i++)
        ends += (uint64_t)b->m->nodes[i].n_in + b->m->nodes[i].n_out + 1;
    p->number = malloc((b->m->n_values + (size_t)1) * sizeof *p->number);
    p->values = calloc(b->n_values + (size_t)1, sizeof *p->values);
    p->weights = calloc(b->n_layers + (size_t)1, sizeof *p->weights);
    p->step = calloc(b->n_layers + (size_t)1, sizeof *p->step);
    p->bias = calloc(b->n_layers + (size_t)1, sizeof *p->bias);
    if (!p->number || !p->values || !p->weights || !p->step || !p->bias ||
        pith_model_new(NULL, &p->m))
        return false;
    for (uint32_t v = 0; v < b->m->n_values; v++)
        p->number[v] = PITH_VALUE_NONE;
    p->m->values = pith_model_alloc(p->m, ends, sizeof *p->m->values);
    p->m->nodes = pith_model_alloc(p->m, b->last - b->first + (uint64_t)1, sizeof *p->m->nodes);
    p->m->inputs = pith_model_alloc(p->m, 1, sizeof *p->m->inputs);
    p->m->outputs = pith_model_alloc(p->m, 1, sizeof *p->m->outputs);
    return p->m->values && p->m->nodes && p->m->inputs && p->m->outputs;
}

static enum pith_status make(struct part *p)
{
    const struct pith_block *b = p->block;
    bool ok = take_room(p);
    for (uint32_t i = b->first; i < b->last && ok; i++)
        ok = copy_node(p, i);
    if (!ok)
        return pith_error_no_memory(p->err);
    p->m->inputs[0] = number_of(p, b->x);
    p->m->outputs[0] = number_of(p, b->y);
    p->m->n_inputs = p->m->n_outputs = 1;
    p->m->batch_open = b->m->batch_open;
    take_values(p);
    return PITH_OK;
}

static void drop(struct part *p)
{
    for (uint32_t i = 0; i < p->block->n_layers && p->step; i++)
        free(p->step[i]);
    free(p->number);
    free(p->values);
    free(p->weights);
    free(p->step);
    free(p->bias);
    pith_model_free(p->m);
}

/* ---- training -------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    const float *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* All layers learn at one rate: that of the middle row. 0: no memory. */
static float middle_scale(const struct pith_block *b)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < b->n_layers; i++)
        n += b->layers[i].rows;
    float *all = malloc((size_t)n * sizeof *all), middle = 0;
    n = 0;
    for (uint32_t i = 0; i < b->n_layers && all; i++)
        for (uint64_t o = 0; o < b->layers[i].rows; o++)
            all[n++] = (float)b->layers[i].scale[o];
    if (all && n) {
        qsort(all, (size_t)n, sizeof *all, ascending);
        middle = all[n / 2];
    }
    free(all);
    return middle;
}

static uint32_t epochs_of(uint64_t n_samples)
{
    uint64_t n = SHOWN / n_samples;
    return n < LEAST_EPOCHS ? LEAST_EPOCHS : n > MOST_EPOCHS ? MOST_EPOCHS : (uint32_t)n;
}

static enum pith_status train(const struct part *p, const struct pith_stage_means *means, float *in,
                              float *goal)
{
    const struct pith_block *b = p->block;
    const struct pith_value *x = &p->m->values[p->m->inputs[0]];
    const struct pith_train_integers integers = {.values = p->values,
                                                 .n_values = p->n_values,
                                                 .weights = p->weights,
                                                 .n_weights = b->n_layers};
    struct pith_data *data = NULL;
    struct pith_train_result result;
    struct pith_train_opts o;
    pith_train_opts_init(&o, sizeof o);
    o.epochs = epochs_of(b->n_samples);
    o.batch = BATCH;
    o.rate = RATE * middle_scale(b);
    o.loss = PITH_SQUARED_ERROR;
    o.threads = means->threads;
    o.stop = means->stop;
    o.user = means->user;
    o.integers = &integers;
    enum pith_status st =
        pith_data_of_numbers(x->rank, x->dim, b->n_samples, in, goal, b->y_elems, &data, p->err);
    if (!st)
        st = pith_train(p->m, data, NULL, &o, &result, p->err);
    pith_data_free(data);
    return st;
}

static void take_layer(const struct part *p, uint32_t i)
{
    struct pith_block_layer *l = &p->block->layers[i];
    const struct pith_codebook *c = p->m->values[p->weights[i].value].constant->codebook;
    const struct pith_value *bias =
        p->bias[i] == PITH_VALUE_NONE ? NULL : &p->m->values[p->bias[i]];
    for (uint64_t o = 0; o < l->rows; o++) {
        const float *centroid = c->centroid + (c->n_groups > 1 ? o * c->n_centroids : 0);
        l->scale[o] = (double)centroid[1 - l->lowest];
        if (bias)
            l->bias[o] = (double)((const float *)bias->constant->data)[o];
        for (uint64_t k = o * l->cols; k < (o + 1) * l->cols; k++)
            l->q[k] = (int16_t)(c->index[k] + l->lowest);
    }
}

enum pith_status pith_reconstruct_block(void *user, struct pith_block *block,
                                        struct pith_error *err)
{
    struct part p = {.block = block, .err = err};
    float *in = block->in, *goal = block->goal;
    if (!may_train(block) || block->n_samples < BATCH)
        return PITH_OK;
    enum pith_status st = make(&p);
    if (!st) {
        block->in = block->goal = NULL; /* the data set's */
        st = train(&p, user, in, goal);
    }
    for (uint32_t i = 0; i < block->n_layers && !st; i++)
        take_layer(&p, i);
    drop(&p);
    return st == PITH_ERR_MEMORY ? st : PITH_OK; /* no gradient, or none that is finite */
}
