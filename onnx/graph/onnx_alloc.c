/* SPDX-License-Identifier: MIT */
/* onnx_alloc.c - the memory of an import: every block is counted against one limit and linked into
 * one list, so a hostile file meets the limit instead of the machine, and one call releases
 * whatever an import that failed half-way has left. */
#include "onnx.h"

#include <stdlib.h>

struct onnx_block {
    struct onnx_block *prev, *next;
    uint64_t bytes; /* of the whole block */
    uint64_t pad;   /* keeps what follows 16-byte aligned */
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

/* A file of 4-bit integers takes 10 for each of its bytes: the integers, then floats. One of
 * nothing but nodes takes 36. */
#define BYTES_PER_BYTE 40u
#define BYTES_ANYHOW (UINT64_C(40) << 20)

void pith_onnx_read_beside(struct onnx_budget *b, uint64_t bytes)
{
    uint64_t room = ONNX_MOST_BYTES - b->limit;
    if (b->in_proportion)
        b->limit += bytes > room / BYTES_PER_BYTE ? room : bytes * BYTES_PER_BYTE;
}

void pith_onnx_budget_init(struct onnx_budget *b, const struct pith_alloc *under,
                           uint64_t max_bytes, size_t n)
{
    *b = (struct onnx_budget){.limit = max_bytes, .in_proportion = max_bytes == 0};
    if (b->in_proportion) {
        b->limit = BYTES_ANYHOW;
        pith_onnx_read_beside(b, n);
    }
    b->under = under ? *under : (struct pith_alloc){heap_alloc, heap_free, NULL};
}

bool pith_onnx_charge(struct onnx_budget *b, uint64_t bytes)
{
    if (bytes > b->limit - b->used) {
        b->over = b->failed = true;
        return false;
    }
    b->used += bytes;
    b->peak = b->used > b->peak ? b->used : b->peak;
    return true;
}

void *pith_onnx_alloc(struct onnx_budget *b, uint64_t count, size_t each)
{
    uint64_t bytes;
    if (!mul_ok(count, each, &bytes) || !add_ok(bytes, sizeof(struct onnx_block), &bytes) ||
        bytes > SIZE_MAX / 2) {
        b->over = b->failed = true;
        return NULL;
    }
    if (!pith_onnx_charge(b, bytes))
        return NULL;
    struct onnx_block *block = b->under.alloc(b->under.user, (size_t)bytes);
    if (!block) {
        b->failed = true;
        b->used -= bytes;
        return NULL;
    }
    memset(block, 0, (size_t)bytes);
    block->bytes = bytes;
    block->next = b->blocks;
    if (b->blocks)
        b->blocks->prev = block;
    b->blocks = block;
    return block + 1;
}

void pith_onnx_free(struct onnx_budget *b, void *p)
{
    if (!p)
        return;
    struct onnx_block *block = (struct onnx_block *)p - 1;
    if (block->prev)
        block->prev->next = block->next;
    else
        b->blocks = block->next;
    if (block->next)
        block->next->prev = block->prev;
    b->used -= block->bytes;
    b->under.free(b->under.user, block);
}

void pith_onnx_budget_clear(struct onnx_budget *b)
{
    while (b->blocks)
        pith_onnx_free(b, b->blocks + 1);
}

enum pith_status pith_onnx_memory_status(const struct onnx_budget *b)
{
    return b->over ? PITH_ERR_LIMIT : PITH_ERR_MEMORY;
}
