/* SPDX-License-Identifier: MIT */
/* place.c - where values lie. A step that is the last to read its input may write over it: its
 * output then begins so many bytes before the input that what is written stays behind what is still
 * to be read. Values that share memory so are one block; blocks, and the scratch of each step, are
 * placed by size, the largest first, each at the lowest offset that is free in its lifetime. */
#include <stdlib.h>
#include "network.h"

#define ALIGN 4

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Rows are copied to lines before they are overwritten. */
static int64_t ahead_of_lines(const struct window_shape *g)
{
    const int64_t in = (int64_t)g->w * g->c, out = (int64_t)g->ow * g->oc;
    int64_t d = 0;
    for (int64_t r = 0; r < g->oh; r++) {
        const int64_t read = r * g->stride_h - g->pad_top + (int64_t)(g->kh - 1) * g->dil_h + 1;
        if (read >= g->h)
            break;
        d = most(d, (r + 1) * out - most(read, 0) * in);
    }
    return d;
}

/* A row of outputs must end before the first row of its windows begins. */
static int64_t ahead_of_pool(const struct window_shape *g)
{
    const int64_t in = (int64_t)g->w * g->c, out = (int64_t)g->ow * g->c;
    int64_t d = 0;
    for (int64_t r = 0; r < g->oh; r++)
        d = most(d, (r + 1) * out - most(r * g->stride_h - g->pad_top, 0) * in);
    return d;
}

static int64_t ahead(const struct network *net, const struct step *s)
{
    const struct store *x = &net->store[s->x[0]];
    if (s->product.ring || s->out.stride)
        return -1;
    switch (s->kind) {
    case STEP_CONV:
    case STEP_GROUPED:
    case STEP_DEPTHWISE:
        return ahead_of_lines(&s->g);
    case STEP_POINTWISE:
        return s->g.oc > s->g.c ? (int64_t)(s->g.oc - s->g.c) * s->g.oh * s->g.ow : 0;
    case STEP_MAX_POOL:
    case STEP_AVERAGE_POOL:
        return ahead_of_pool(&s->g);
    case STEP_COMBINE:
    case STEP_TABLE:
    case STEP_FLIP:
    case STEP_MEAN:
    case STEP_SOFTMAX_BYTES:
    case STEP_SOFTMAX:
    case STEP_SCALE_SHIFT:
    case STEP_ACTIVATE:
        return 0;
    case STEP_NORMALIZE: /* none of its scales lie in x */
        return net->store[s->x[1]].constant &&
                       (s->x[2] == STORE_NONE || net->store[s->x[2]].constant)
                   ? 0
                   : -1;
    case STEP_BINARY_F32: /* the first operand is not broadcast */
        return x->bytes == net->store[s->y].bytes ? 0 : -1;
    case STEP_QUANTIZE:
        return net->store[s->y].channels == 1 ? 0 : -1;
    case STEP_DEQUANTIZE:
        return x->channels == 1 ? 3 * (int64_t)x->bytes : -1;
    default:
        return -1;
    }
}

static uint64_t window_bytes(const struct network *net, const struct step *s)
{
    const struct window_shape *g = &s->g;
    switch (s->kind) {
    case STEP_CONV:
    case STEP_GROUPED:
    case STEP_GROUPED_F32:
    case STEP_DEPTHWISE:
        return (uint64_t)(g->w + g->pad_left + g->pad_right) * g->c * ((g->kh - 1) * g->dil_h + 1) +
               4;
    case STEP_POINTWISE:
        if (s->product.ring || s->out.stride)
            return 0;
        return pith_export_is_sparse(net, s, NULL)
                   ? (uint64_t)pith_export_sparse_pixels(s->g.oh * s->g.ow) * s->outputs
                   : 2ull * s->outputs;
    default:
        return s->scratch.bytes;
    }
}

/* Weights that are decoded lie behind what a window takes. */
static uint64_t scratch_bytes(const struct network *net, const struct step *s)
{
    return (window_bytes(net, s) + ALIGN - 1) / ALIGN * ALIGN + s->product.ring;
}

static bool in_arena(const struct store *s)
{
    return s->input == STORE_NONE && s->output == STORE_NONE && !s->constant &&
           s->part_of == STORE_NONE;
}

static uint32_t root_of(const struct network *net, uint32_t store)
{
    while (store != STORE_NONE && net->store[store].part_of != STORE_NONE)
        store = net->store[store].part_of;
    return store;
}

static void live(struct network *net, uint32_t store, uint32_t from, uint32_t to)
{
    for (; store != STORE_NONE; store = net->store[store].part_of) {
        struct store *v = &net->store[store];
        v->first = v->first == STORE_NONE || from < v->first ? from : v->first;
        v->last = v->last == STORE_NONE || to > v->last ? to : v->last;
    }
}

/* What a loop reads of before is there in every iteration, and what it collects. */
static void lifetimes(struct network *net)
{
    for (uint32_t i = 0; i < net->n_stores; i++) {
        net->store[i].first = net->store[i].last = STORE_NONE;
        net->store[i].output = net->store[i].shares ? STORE_NONE : net->store[i].output;
        net->store[i].shares = false;
        net->store[i].block = i;
        net->store[i].at = 0;
    }
    for (uint32_t i = 0; i < net->n_steps; i++) {
        const struct step *s = &net->step[i];
        for (uint32_t j = 0; j < STEP_INPUTS; j++)
            live(net, s->x[j], i, i);
        live(net, s->y, i, i);
        if (s->kind == STEP_COPY && s->copy.y_by)
            live(net, s->y, s->copy.loop, i);
        for (uint32_t v = 0; v < net->n_stores && s->kind == STEP_LOOP_END; v++)
            if (net->store[v].first < s->rows && net->store[v].last > s->rows)
                net->store[v].last = i;
    }
}

/* What only becomes an output, element for element, lies where that lies. */
static void share_outputs(struct network *net)
{
    for (uint32_t i = net->n_steps; i-- > 0;) {
        const struct step *s = &net->step[i];
        if (s->x[0] == STORE_NONE || s->kind == STEP_COPY)
            continue; /* loops and fills, too */
        struct store *x = &net->store[s->x[0]];
        const struct store *y = &net->store[s->y];
        if (y->output != STORE_NONE && in_arena(x) && x->last == i && y->first == i &&
            x->bytes == y->bytes && x->element == y->element && ahead(net, s) == 0)
            x->output = y->output, x->shares = true;
    }
}

struct item {
    uint64_t bytes, at;
    uint32_t first, last;
    uint32_t block; /* its store; STORE_NONE: scratch of step `first` */
    int64_t begin;  /* the lowest place of its stores */
};

static int by_size(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->first != y->first ? (x->first < y->first ? -1 : 1) : x->block < y->block ? -1 : 1;
}

static void place_items(struct item *item, uint32_t n, uint64_t *arena)
{
    qsort(item, n, sizeof *item, by_size);
    for (uint32_t i = 0; i < n; i++) {
        struct item *it = &item[i];
        bool moved = true;
        for (it->at = 0; moved;) {
            moved = false;
            for (uint32_t j = 0; j < i; j++) {
                const struct item *o = &item[j];
                if (it->first <= o->last && o->first <= it->last && it->at < o->at + o->bytes &&
                    o->at < it->at + it->bytes) {
                    it->at = o->at + o->bytes;
                    moved = true;
                }
            }
        }
        if (it->at + it->bytes > *arena)
            *arena = it->at + it->bytes;
    }
}

/* Joins y to the block of an input that dies in its step. */
static void join(struct network *net, uint32_t i)
{
    struct step *s = &net->step[i];
    if (s->y == STORE_NONE)
        return;
    struct store *y = &net->store[s->y];
    if (!in_arena(y) || y->first != i)
        return;
    for (uint32_t j = 0; j < 2; j++) {
        if (s->x[j] == STORE_NONE || (j == 1 && (s->kind != STEP_COMBINE || s->spread)))
            continue;
        const struct store *x = &net->store[s->x[j]];
        const int64_t d = ahead(net, s);
        const uint32_t other = s->x[1 - j];
        if (d < 0 || !in_arena(x) || x->last != i ||
            (other != s->x[j] && root_of(net, other) == s->x[j]))
            continue;
        y->block = x->block;
        y->at = x->at - (d + ALIGN - 1) / ALIGN * ALIGN;
        return;
    }
}

enum pith_status pith_export_place(struct network *net)
{
    const uint32_t room = net->n_stores + net->n_steps;
    struct item *item = calloc(room + 1u, sizeof *item);
    uint32_t n = 0;
    if (!item)
        return PITH_ERR_MEMORY;
    lifetimes(net);
    share_outputs(net);
    for (uint32_t i = 0; i < net->n_steps; i++)
        join(net, i);
    for (uint32_t i = 0; i < net->n_stores; i++) {
        const struct store *v = &net->store[i];
        if (!in_arena(v) || v->first == STORE_NONE)
            continue;
        uint32_t at = 0;
        while (at < n && item[at].block != v->block)
            at++;
        if (at == n)
            item[n++] = (struct item){
                .block = v->block, .first = v->first, .last = v->last, .begin = v->at};
        struct item *it = &item[at];
        const int64_t end = most(it->begin + (int64_t)it->bytes, v->at + (int64_t)v->bytes);
        it->begin = v->at < it->begin ? v->at : it->begin;
        it->bytes = ((uint64_t)(end - it->begin) + ALIGN - 1) / ALIGN * ALIGN;
        it->first = v->first < it->first ? v->first : it->first;
        it->last = v->last > it->last ? v->last : it->last;
    }
    for (uint32_t i = 0; i < net->n_steps; i++) {
        const uint64_t bytes = (scratch_bytes(net, &net->step[i]) + ALIGN - 1) / ALIGN * ALIGN;
        if (bytes)
            item[n++] = (struct item){.bytes = bytes, .first = i, .last = i, .block = STORE_NONE};
    }
    net->arena_bytes = 0;
    place_items(item, n, &net->arena_bytes);
    for (uint32_t i = 0; i < n; i++)
        if (item[i].block == STORE_NONE) {
            struct step *s = &net->step[item[i].first];
            s->scratch.at = item[i].at;
            s->product.ring_at = item[i].at + item[i].bytes - s->product.ring;
        }
    for (uint32_t v = 0; v < net->n_stores; v++) {
        struct store *s = &net->store[v];
        if (!in_arena(s) || s->first == STORE_NONE)
            continue;
        for (uint32_t i = 0; i < n; i++)
            if (item[i].block == s->block) {
                s->at += (int64_t)item[i].at - item[i].begin;
                break;
            }
    }
    net->arena_bytes += ALIGN; /* kernels read words */
    free(item);
    return PITH_OK;
}
