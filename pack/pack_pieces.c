/* SPDX-License-Identifier: MIT */
#include "pack_pieces.h"

#include <stdlib.h>
#include <string.h>

#define BORROW_BYTES 1024u /* from here on; a shorter piece costs more than its copy */

void pith_pieces_clear(struct pack_pieces *p)
{
    pith_out_clear(&p->small);
    pith_out_clear(&p->list);
    *p = (struct pack_pieces){0};
}

bool pith_pieces_failed(const struct pack_pieces *p)
{
    return p->small.failed || p->list.failed;
}

static struct file_piece *last_of(struct pack_pieces *p)
{
    return p->n > 0 ? (struct file_piece *)(void *)p->list.data + (p->n - 1) : NULL;
}

static void push(struct pack_pieces *p, const void *bytes, size_t n)
{
    const struct file_piece piece = {bytes, n};
    pith_out_bytes(&p->list, &piece, sizeof piece);
    p->n += !p->list.failed;
}

void pith_pieces_add(struct pack_pieces *p, const void *bytes, size_t n)
{
    if (n == 0 || pith_pieces_failed(p))
        return;
    p->bytes += n;
    if (n >= BORROW_BYTES) {
        push(p, bytes, n);
        return;
    }
    pith_out_bytes(&p->small, bytes, n);
    struct file_piece *last = last_of(p);
    if (last && !last->bytes)
        last->n += n;
    else
        push(p, NULL, n);
}

void pith_pieces_zeros(struct pack_pieces *p, size_t n)
{
    static const uint8_t zeros[64];
    pith_pieces_add(p, zeros, n);
}

const struct file_piece *pith_pieces_all(struct pack_pieces *p)
{
    static const struct file_piece none = {NULL, 0};
    size_t at = 0;
    if (pith_pieces_failed(p))
        return NULL;
    struct file_piece *list = (void *)p->list.data;
    for (uint32_t i = 0; i < p->n; i++) {
        if (list[i].bytes)
            continue;
        list[i].bytes = p->small.data + at;
        at += list[i].n;
    }
    return p->n > 0 ? list : &none;
}

uint8_t *pith_pieces_join(struct pack_pieces *p)
{
    const struct file_piece *list = pith_pieces_all(p);
    uint8_t *made = list ? malloc(p->bytes > 0 ? p->bytes : 1) : NULL;
    size_t at = 0;
    for (uint32_t i = 0; made && i < p->n; i++) {
        memcpy(made + at, list[i].bytes, list[i].n);
        at += list[i].n;
    }
    return made;
}
