/* SPDX-License-Identifier: MIT */
/* model.c - the model's memory and its texts.
 *
 * Everything a model reaches lies in one arena: a chain of blocks, each a few hundred small objects
 * or one big one. Nothing is freed singly, so replaced texts stay until the model goes. */
#include <stdlib.h>
#include <string.h>
#include "base/red_zone.h"
#include "core/bytes.h"
#include "pith_model.h"

#define BLOCK_BYTES 65536u
#define ALIGN 16u /* of every object */

struct block {
    struct block *next;
};

struct pith_model_arena {
    struct pith_alloc alloc;
    struct block *blocks;
    uint8_t *at; /* room in the newest small block */
    size_t left;
};

static void *heap_alloc(void *user, size_t bytes)
{
    (void)user;
    return malloc(bytes);
}

static void heap_free(void *user, void *p)
{
    (void)user;
    free(p);
}

enum pith_status pith_model_new(const struct pith_alloc *alloc, struct pith_model **m)
{
    if (!m)
        return PITH_ERR_ARGUMENT;
    struct pith_alloc a = alloc ? *alloc : (struct pith_alloc){heap_alloc, heap_free, NULL};
    struct pith_model *model = a.alloc(a.user, sizeof *model);
    struct pith_model_arena *arena = a.alloc(a.user, sizeof *arena);
    if (!model || !arena) {
        if (model)
            a.free(a.user, model);
        if (arena)
            a.free(a.user, arena);
        return PITH_ERR_MEMORY;
    }
    memset(model, 0, sizeof *model);
    memset(arena, 0, sizeof *arena);
    arena->alloc = a;
    model->arena = arena;
    *m = model;
    return PITH_OK;
}

void pith_model_free(struct pith_model *m)
{
    if (!m)
        return;
    struct pith_model_arena *arena = m->arena;
    struct pith_alloc a = arena->alloc;
    for (struct block *b = arena->blocks; b;) {
        struct block *next = b->next;
        a.free(a.user, b);
        b = next;
    }
    a.free(a.user, arena);
    a.free(a.user, m);
}

/* A new block with room for bytes behind its aligned head. */
static uint8_t *add_block(struct pith_model_arena *arena, size_t bytes)
{
    size_t head = (sizeof(struct block) + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (bytes > SIZE_MAX - head)
        return NULL;
    struct block *b = arena->alloc.alloc(arena->alloc.user, head + bytes);
    if (!b)
        return NULL;
    b->next = arena->blocks;
    arena->blocks = b;
    return (uint8_t *)b + head;
}

static void *take(struct pith_model_arena *arena, size_t bytes)
{
    if (bytes > arena->left) {
        if (bytes > BLOCK_BYTES / 8)
            return add_block(arena, bytes); /* a block of its own */
        uint8_t *room = add_block(arena, BLOCK_BYTES);
        if (!room)
            return NULL;
        arena->at = room;
        arena->left = BLOCK_BYTES;
    }
    void *p = arena->at;
    arena->at += bytes;
    arena->left -= bytes;
    return p;
}

void *pith_model_alloc(struct pith_model *m, uint64_t count, size_t each)
{
    if (!m)
        return NULL;
    uint64_t bytes, room;
    if (!mul_ok(count, each, &bytes) || bytes > SIZE_MAX / 2 ||
        !align_ok((bytes ? bytes : 1) + RED_ZONE, ALIGN, &room) || room > SIZE_MAX / 2)
        return NULL;
    uint8_t *p = take(m->arena, (size_t)room);
    if (p) {
        memset(p, 0, (size_t)bytes);
        CLOSE_RED_ZONE(p + bytes, (size_t)(room - bytes));
    }
    return p;
}

char *pith_model_strdup(struct pith_model *m, const char *text)
{
    if (!m || !text)
        return NULL;
    size_t n = strlen(text);
    char *copy = pith_model_alloc(m, n + 1, 1);
    if (copy)
        memcpy(copy, text, n);
    return copy;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Room for one more entry: the array doubles at powers of two, the old one stays in the arena. */
static struct pith_meta *grow(struct pith_model *m, struct pith_meta *old, uint32_t n)
{
    if (n > 0 && (n & (n - 1)) != 0)
        return old;
    struct pith_meta *list = pith_model_alloc(m, n ? 2 * (uint64_t)n : 1, sizeof *list);
    if (list && n > 0)
        memcpy(list, old, n * sizeof *list);
    return list;
}

/* Where key is or belongs. */
static uint32_t find_meta(const struct pith_model *m, const char *key, bool *found)
{
    uint32_t i = 0;
    while (i < m->n_meta && strcmp(m->meta[i].key, key) < 0)
        i++;
    *found = i < m->n_meta && strcmp(m->meta[i].key, key) == 0;
    return i;
}

enum pith_status pith_model_set_meta(struct pith_model *m, const char *key, const char *text)
{
    if (!m || !key || !text)
        return PITH_ERR_ARGUMENT;
    bool found;
    uint32_t at = find_meta(m, key, &found);
    char *text_copy = pith_model_strdup(m, text);
    if (!text_copy)
        return PITH_ERR_MEMORY;
    if (found) {
        m->meta[at].text = text_copy;
        return PITH_OK;
    }
    char *key_copy = pith_model_strdup(m, key);
    struct pith_meta *list = grow(m, m->meta, m->n_meta);
    if (!key_copy || !list)
        return PITH_ERR_MEMORY;
    memmove(list + at + 1, list + at, (m->n_meta - at) * sizeof *list);
    list[at] = (struct pith_meta){key_copy, text_copy};
    m->meta = list;
    m->n_meta++;
    return PITH_OK;
}

const char *pith_model_get_meta(const struct pith_model *m, const char *key)
{
    if (!m || !key)
        return NULL;
    bool found;
    uint32_t at = find_meta(m, key, &found);
    return found ? m->meta[at].text : NULL;
}

enum pith_status pith_model_add_history(struct pith_model *m, const char *verb, const char *json)
{
    if (!m || !verb || !json)
        return PITH_ERR_ARGUMENT;
    char *verb_copy = pith_model_strdup(m, verb), *json_copy = pith_model_strdup(m, json);
    struct pith_meta *list = grow(m, m->history, m->n_history);
    if (!verb_copy || !json_copy || !list)
        return PITH_ERR_MEMORY;
    list[m->n_history] = (struct pith_meta){verb_copy, json_copy};
    m->history = list;
    m->n_history++;
    return PITH_OK;
}
