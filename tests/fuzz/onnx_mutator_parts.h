/* SPDX-License-Identifier: MIT */
/* onnx_mutator_parts.h - what changes of an ONNX file are made of: memory that is given back as a
 * whole, lists that get longer and shorter, and choices, which follow from one seed. */
#ifndef ONNX_MUTATOR_PARTS_H
#define ONNX_MUTATOR_PARTS_H

#include <math.h>
#include <string.h>
#include "onnx/graph/onnx.h"

enum {
    MUTATE_ROOM = 4 << 20, /* of the messages: what one file unpacks to, and what is added */
    MUTATE_FILE = 1 << 16, /* longer files are changed byte by byte */
    MUTATE_GRAPHS = 16,
    MUTATE_NAMES = 256,
    MUTATE_RAW = 4096 /* bytes of a tensor, at most, when it is made to fit other dims */
};

struct onnx_mutator {
    uint64_t dice;
    Onnx__GraphProto *graph[MUTATE_GRAPHS]; /* the first is the file's, others are bodies in it */
    uint32_t n_graphs;
    const char *name[MUTATE_NAMES]; /* of all values in all graphs */
    uint32_t n_names;
};

/* ---- memory: one block, given back as a whole ------------------------------------------------ */

static uint8_t mutate_room[MUTATE_ROOM] __attribute__((aligned(16)));
static size_t mutate_used;

static inline void *mutate_alloc(void *unused, size_t n)
{
    size_t at = mutate_used;
    (void)unused;
    if (n > MUTATE_ROOM || at + n + 16 > MUTATE_ROOM)
        return NULL;
    mutate_used = (at + n + 15) & ~(size_t)15;
    return mutate_room + at;
}

static inline void mutate_free(void *unused, void *p)
{
    (void)unused;
    (void)p;
}

static inline void *mutate_copy(const void *from, size_t n, size_t room)
{
    void *to = mutate_alloc(NULL, room);
    if (to && n)
        memcpy(to, from, n);
    return to;
}

/* The list with room for one more, which is `item`, at place `at`. */
#define MUTATE_INSERT(list, n, at, item)                                                           \
    do {                                                                                           \
        size_t at_ = (at);                                                                         \
        void *longer_ = mutate_copy((list), (n) * sizeof *(list), ((n) + 1) * sizeof *(list));     \
        if (longer_) {                                                                             \
            (list) = longer_;                                                                      \
            memmove((list) + at_ + 1, (list) + at_, ((n)-at_) * sizeof *(list));                   \
            (list)[at_] = (item);                                                                  \
            (n)++;                                                                                 \
        }                                                                                          \
    } while (0)

#define MUTATE_REMOVE(list, n, at)                                                                 \
    do {                                                                                           \
        size_t at_ = (at);                                                                         \
        (n)--;                                                                                     \
        memmove((list) + at_, (list) + at_ + 1, ((n)-at_) * sizeof *(list));                       \
    } while (0)

/* ---- choices --------------------------------------------------------------------------------- */

static inline uint32_t cast_die(struct onnx_mutator *m, size_t sides)
{
    m->dice ^= m->dice << 13;
    m->dice ^= m->dice >> 7;
    m->dice ^= m->dice << 17;
    return sides ? (uint32_t)((m->dice >> 11) % sides) : 0;
}

/* A number near another, or one at an edge. */
static inline int64_t other_number(struct onnx_mutator *m, int64_t v)
{
    static const int64_t edge[] = {0,    1,       -1,        2,         3,         4,
                                   7,    8,       16,        255,       256,       65535,
                                   1024, 1 << 24, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    switch (cast_die(m, 5)) {
    case 0:
        return (int64_t)((uint64_t)v + 1);
    case 1:
        return (int64_t)((uint64_t)v - 1);
    case 2:
        return (int64_t)(0 - (uint64_t)v);
    case 3:
        return (int64_t)cast_die(m, 6);
    default:
        return edge[cast_die(m, sizeof edge / sizeof *edge)];
    }
}

static inline float other_float(struct onnx_mutator *m, float v)
{
    static const float edge[] = {0,     -0.0f, 1,        -1,        0.5f,      1e-45f,
                                 1e-5f, 1e38f, INFINITY, -INFINITY, (float)NAN};
    return cast_die(m, 3) ? edge[cast_die(m, sizeof edge / sizeof *edge)] : -2 * v;
}

static inline char *any_name(struct onnx_mutator *m)
{
    static const char *const odd[] = {"", "nowhere"};
    const char *name =
        m->n_names && cast_die(m, 16) ? m->name[cast_die(m, m->n_names)] : odd[cast_die(m, 2)];
    return (char *)(uintptr_t)name;
}

/* A name that no value had. */
static inline char *new_name(struct onnx_mutator *m)
{
    char *name = mutate_alloc(NULL, 12);
    if (!name)
        return (char *)(uintptr_t) "";
    memcpy(name, "m", 2);
    for (uint32_t i = 0; i < 8; i++)
        name[i + 1] = (char)('a' + cast_die(m, 26));
    name[9] = 0;
    return name;
}

static inline Onnx__GraphProto *any_graph(struct onnx_mutator *m)
{
    return m->graph[cast_die(m, 3) ? 0 : cast_die(m, m->n_graphs)];
}

static inline Onnx__NodeProto *any_node(struct onnx_mutator *m)
{
    Onnx__GraphProto *g = any_graph(m);
    return g->n_node ? g->node[cast_die(m, g->n_node)] : NULL;
}

#endif
