/* SPDX-License-Identifier: MIT */
/* block_walk.c - behind a block the walk stops: the block's layers, rounded one by one by then, are
 * made better together on most of the samples, and the block is run again. It stays so if it is
 * nearer to the float network on the samples held out (where the caller holds none out, every
 * eighth). Else all is put back. */
#include "block_walk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pith_error_fill.h"
#include "pith_op_semantics.h"
#include "pith_tensor.h"
#include "trained_grid.h"

#define HELD_OUT 8u /* one sample of so many, where the caller holds none out */
#define LEAST_SAMPLES 16u

static bool is_held_out(const struct walk_state *s, uint32_t sample)
{
    return s->n_held ? sample >= s->n_samples - s->n_held : sample % HELD_OUT == HELD_OUT / 2;
}

static uint32_t count_seen(const struct walk_state *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_samples; i++)
        n += !is_held_out(s, i);
    return n;
}

/* ---- real numbers ---------------------------------------------------------------------------- */

/* A sample of a value of the network of integers. */
static void real_sample(const struct walk_state *s, uint32_t v, uint32_t sample, float *to)
{
    const struct pith_value *value = &s->m->values[v];
    const struct kept_value *k = &s->kept[v];
    const struct pith_grid *g = value->grid;
    const uint8_t *from = k->data + sample * k->bytes;
    if (value->type == PITH_F32) {
        memcpy(to, from, (size_t)k->bytes);
        return;
    }
    uint64_t n = k->bytes / pith_type_bytes(value->type), inner = n;
    if (g->n > 1)
        for (uint32_t a = 0; a <= 1; a++)
            inner /= value->dim[a];
    for (uint64_t i = 0; i < n; i++) {
        int32_t q = value->type == PITH_U8 ? from[i] : ((const int8_t *)from)[i];
        to[i] = (float)(q - g->zero_point) * g->scale[g->n > 1 ? i / inner % g->n : 0];
    }
}

static bool is_real(const struct pith_value *v)
{
    bool byte = v->type == PITH_U8 || v->type == PITH_I8;
    return v->type == PITH_F32 ||
           (byte && v->grid && (v->grid->n == 1 || (v->rank >= 2 && v->grid->axis <= 1)));
}

/* Squared error of the block's output over the samples held out; NAN: no memory. */
static double held_out_error(const struct walk_state *s, uint32_t y, const float *goal,
                             uint64_t elems)
{
    float *x = malloc((size_t)elems * sizeof *x);
    double sum = 0;
    for (uint32_t i = 0; i < s->n_samples && x; i++) {
        if (!is_held_out(s, i))
            continue;
        real_sample(s, y, i, x);
        for (uint64_t k = 0; k < elems; k++) {
            double d = (double)x[k] - (double)goal[i * elems + k];
            sum += d * d;
        }
    }
    sum = x ? sum : (double)NAN;
    free(x);
    return sum;
}

/* ---- layers ---------------------------------------------------------------------------------- */

static bool is_inside(const struct layer_block *b, uint32_t node)
{
    return node >= b->first && node < b->last;
}

/* What can be said in a block's terms. */
static bool is_plain(const struct integer_layer *l)
{
    return !pith_layer_is_shared(l) && !l->apart && !l->wide && !l->radix && l->w_factor == 1 &&
           (!l->bias || l->bias_factor == 1) && (!l->bias || l->n_bias == l->shape.rows) &&
           l->most <= 127;
}

static bool all_plain(const struct walk_state *s, const struct layer_block *b)
{
    const struct integer_network *net = s->walk->net;
    bool plain = true;
    for (uint32_t i = 0; i < net->n_layers; i++)
        if (is_inside(b, net->layers[i].node))
            plain &= is_plain(&net->layers[i]);
    return plain;
}

static bool one_scale(const struct integer_layer *l)
{
    for (uint64_t o = 1; o < l->shape.rows; o++)
        if (l->scale[o] != l->scale[0])
            return false;
    return true;
}

static bool take_layer(const struct integer_layer *l, struct pith_block_layer *to)
{
    uint64_t rows = l->shape.rows, n = rows * l->shape.cols;
    *to = (struct pith_block_layer){.node = l->node,
                                    .rows = rows,
                                    .cols = l->shape.cols,
                                    .lowest = l->most == 127 ? -l->most : -l->most - 1,
                                    .highest = l->most,
                                    .one_scale = one_scale(l),
                                    .q = malloc((size_t)n * sizeof *to->q),
                                    .scale = malloc((size_t)rows * sizeof *to->scale),
                                    .bias = malloc((size_t)rows * sizeof *to->bias)};
    if (!to->q || !to->scale || !to->bias)
        return false;
    memcpy(to->q, l->q, (size_t)n * sizeof *to->q);
    memcpy(to->scale, l->scale, (size_t)rows * sizeof *to->scale);
    for (uint64_t o = 0; o < rows; o++)
        to->bias[o] = pith_layer_bias(l, o);
    return true;
}

/* The layer gets what `from` has, but for rows whose scale is below what their sums allow. */
static void put_layer(struct integer_layer *l, const struct pith_block_layer *from)
{
    for (uint64_t o = 0; o < l->shape.rows; o++) {
        if (!(from->scale[o] >= pith_layer_least_scale(l, o)) || !isfinite(from->bias[o]))
            continue;
        l->scale[o] = from->scale[o];
        l->bias_shift[o] += from->bias[o] - pith_layer_bias(l, o);
        for (uint64_t k = o * l->shape.cols; k < (o + 1) * l->shape.cols; k++)
            l->q[k] = l->mask && !l->mask[k] ? 0 : from->q[k];
    }
    pith_layer_store(l);
}

/* ---- a block --------------------------------------------------------------------------------- */

static void free_layers(struct pith_block_layer *layers, uint32_t n)
{
    for (uint32_t i = 0; i < n && layers; i++) {
        free(layers[i].q);
        free(layers[i].scale);
        free(layers[i].bias);
    }
    free(layers);
}

/* [*n] of the block, as they are now; NULL: no memory. */
static struct pith_block_layer *take_layers(const struct walk_state *s, const struct layer_block *b,
                                            uint32_t *n)
{
    const struct integer_network *net = s->walk->net;
    struct pith_block_layer *layers = calloc(net->n_layers + (size_t)1, sizeof *layers);
    bool ok = layers != NULL;
    *n = 0;
    for (uint32_t i = 0; i < net->n_layers && ok; i++)
        if (is_inside(b, net->layers[i].node))
            ok = take_layer(&net->layers[i], &layers[(*n)++]);
    if (ok)
        return layers;
    free_layers(layers, *n);
    return NULL;
}

static void put_layers(const struct walk_state *s, const struct layer_block *b,
                       const struct pith_block_layer *layers)
{
    const struct integer_network *net = s->walk->net;
    for (uint32_t i = 0; i < net->n_layers; i++)
        if (is_inside(b, net->layers[i].node))
            put_layer(&net->layers[i], layers++);
}

static bool take_values(const struct walk_state *s, const struct layer_block *b,
                        struct pith_block *to)
{
    const struct integer_plan *p = s->walk->plan;
    to->values = malloc((p->m->n_values + (size_t)1) * sizeof *to->values);
    for (uint32_t v = 0; v < p->m->n_values && to->values; v++) {
        bool made = p->value[v].producer != NODE_NONE && is_inside(b, p->value[v].producer);
        if (made && p->value[v].whole)
            to->values[to->n_values++] = (struct pith_block_value){
                .value = v, .grid = pith_plan_grid(p, v), .rounded = pith_comes_rounded(p, v)};
    }
    return to->values != NULL;
}

/* in and goal of the samples that may be seen. */
static bool take_samples(const struct walk_state *s, uint32_t x, const float *goal,
                         struct pith_block *to)
{
    uint32_t at = 0;
    to->in = malloc((size_t)(to->n_samples * to->x_elems) * sizeof *to->in);
    to->goal = malloc((size_t)(to->n_samples * to->y_elems) * sizeof *to->goal);
    for (uint32_t i = 0; i < s->n_samples && to->in && to->goal; i++) {
        if (is_held_out(s, i))
            continue;
        real_sample(s, x, i, to->in + at * to->x_elems);
        memcpy(to->goal + at * to->y_elems, goal + i * to->y_elems,
               (size_t)to->y_elems * sizeof *goal);
        at++;
    }
    return to->in && to->goal;
}

static void free_block(struct pith_block *b)
{
    free_layers(b->layers, b->n_layers);
    free(b->values);
    free(b->in);
    free(b->goal);
}

static uint64_t count_elems(const struct pith_value *v)
{
    return pith_value_bytes(v) / pith_type_bytes(v->type);
}

/* The block's nodes once more, from what leads into them. */
static enum pith_status run_again(struct walk_state *s, const struct block_walk *b, uint32_t node,
                                  uint32_t y)
{
    struct piece p = {.first = b->from, .last = node};
    free(s->kept[y].data);
    s->kept[y].data = NULL;
    return pith_run_piece(s, &p);
}

/* What improving the block has changed stays if it is for the better. */
static enum pith_status judge(struct walk_state *s, const struct block_walk *b, uint32_t node,
                              uint32_t y, const struct pith_block *made, const float *goal)
{
    const struct layer_block *block = &b->blocks[b->next];
    uint32_t n;
    double before = held_out_error(s, y, goal, made->y_elems);
    struct pith_block_layer *was = take_layers(s, block, &n);
    if (!was || isnan(before)) {
        free_layers(was, was ? n : 0);
        return pith_error_no_memory(s->err);
    }
    put_layers(s, block, made->layers);
    enum pith_status st = run_again(s, b, node, y);
    double after = st ? 0 : held_out_error(s, y, goal, made->y_elems);
    if (!st && after < before) {
        s->walk->opts->blocks->n_improved++;
    } else if (!st) {
        put_layers(s, block, was);
        st = run_again(s, b, node, y);
    }
    free_layers(was, n);
    return !st && isnan(after) ? pith_error_no_memory(s->err) : st;
}

static enum pith_status improve(struct walk_state *s, const struct block_walk *b, uint32_t node,
                                uint32_t y)
{
    const struct layer_block *block = &b->blocks[b->next];
    const struct pith_block_improver *improver = s->walk->opts->blocks;
    const float *goal = (const float *)(const void *)s->original->kept[block->y].data;
    struct pith_block made = {.m = s->original->m,
                              .first = block->first,
                              .last = block->last,
                              .x = block->x,
                              .y = block->y,
                              .n_samples = count_seen(s),
                              .x_elems = count_elems(&s->m->values[b->x]),
                              .y_elems = count_elems(&s->m->values[y])};
    made.layers = take_layers(s, block, &made.n_layers);
    bool ok = made.layers && take_values(s, block, &made) && take_samples(s, b->x, goal, &made);
    enum pith_status st =
        ok ? improver->improve(improver->user, &made, s->err) : pith_error_no_memory(s->err);
    s->walk->opts->blocks->n_blocks++;
    if (!st)
        st = judge(s, b, node, y, &made, goal);
    free_block(&made);
    return st;
}

/* ---- the walk passes ------------------------------------------------------------------------- */

/* The only value, `but` left out, that nodes from `node` on read of what is there; else
 * PITH_VALUE_NONE. */
static uint32_t waiting(const struct walk_state *s, uint32_t node, uint32_t but)
{
    uint32_t only = PITH_VALUE_NONE;
    for (uint32_t v = 0; v < s->m->n_values; v++) {
        if (!s->kept[v].data || s->kept[v].last < node || v == but)
            continue;
        if (only != PITH_VALUE_NONE)
            return PITH_VALUE_NONE;
        only = v;
    }
    return only;
}

/* x stays until the block is judged. */
static void begin_block(struct block_walk *b, struct walk_state *s, uint32_t node)
{
    b->x = waiting(s, node, PITH_VALUE_NONE);
    b->from = node;
    b->open = b->x != PITH_VALUE_NONE && is_real(&s->m->values[b->x]) &&
              all_plain(s, &b->blocks[b->next]);
    if (b->open) {
        b->x_last = s->kept[b->x].last;
        s->kept[b->x].last = UINT32_MAX;
    } else {
        b->next++;
    }
}

static enum pith_status end_block(struct block_walk *b, struct walk_state *s, uint32_t node)
{
    const struct layer_block *block = &b->blocks[b->next];
    uint32_t y = waiting(s, node, b->x);
    enum pith_status st = pith_run_original(s->original, block->last);
    const struct kept_value *goal = &s->original->kept[block->y];
    bool fits = !st && y != PITH_VALUE_NONE && is_real(&s->m->values[y]) && goal->data &&
                goal->bytes / sizeof(float) == count_elems(&s->m->values[y]);
    if (fits)
        st = improve(s, b, node, y);
    s->kept[b->x].last = b->x_last;
    if (b->x_last < node) {
        free(s->kept[b->x].data);
        s->kept[b->x].data = NULL;
    }
    b->open = false;
    b->next++;
    return st;
}

enum pith_status pith_block_walk_open(struct block_walk *b, const struct walk_state *s)
{
    const struct integer_plan *p = s->walk->plan;
    *b = (struct block_walk){0};
    return s->walk->opts->blocks && s->original && s->n_samples >= LEAST_SAMPLES
               ? pith_find_layer_blocks(p, &b->blocks, &b->n)
               : PITH_OK;
}

void pith_block_walk_close(struct block_walk *b)
{
    free(b->blocks);
}

enum pith_status pith_block_walk_pass(struct block_walk *b, struct walk_state *s, uint32_t node)
{
    uint32_t origin = node < s->m->n_nodes ? s->walk->net->origin[node] : UINT32_MAX;
    enum pith_status st = PITH_OK;
    if (b->open && origin >= b->blocks[b->next].last)
        st = end_block(b, s, node);
    while (!st && b->next < b->n && !b->open && origin >= b->blocks[b->next].last)
        b->next++;
    if (!st && b->next < b->n && !b->open && origin >= b->blocks[b->next].first)
        begin_block(b, s, node);
    return st;
}
