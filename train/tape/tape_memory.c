/* SPDX-License-Identifier: MIT */
/* tape_memory.c - memory that lives as long as a tape. */
#include "tape_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/red_zone.h"

void *pith_tape_take(struct tape *t, uint64_t count, size_t each)
{
    if (t->memory.n == t->memory.cap) {
        uint32_t cap = t->memory.cap ? t->memory.cap * 2 : 64;
        void **grown = realloc(t->memory.of, cap * sizeof *grown);
        if (!grown)
            return NULL;
        t->memory.of = grown;
        t->memory.cap = cap;
    }
    uint64_t bytes;
    if (!mul_ok(count, each, &bytes) || bytes > SIZE_MAX - 64)
        return NULL;
    const size_t room = ((size_t)bytes + 64) & ~(size_t)63;
    uint8_t *p = aligned_alloc(64, room);
    if (p) {
        t->memory.of[t->memory.n++] = memset(p, 0, (size_t)bytes);
        CLOSE_RED_ZONE(p + bytes, room - (size_t)bytes);
    }
    return p;
}

enum pith_status pith_tape_no_memory(struct pith_error *err)
{
    return pith_error_set(err, PITH_ERR_MEMORY, "not enough memory to train");
}
