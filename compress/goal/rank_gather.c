/* SPDX-License-Identifier: MIT */
/* rank_gather.c - each two ranks exchange what they have: in round x with the peer of number rank
 * XOR x, so that all are busy in each round. Items are sent as they lie, some at once; those of one
 * rank are apart from each other, so they are put together first. */
#include "rank_gather.h"

#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES ((size_t)1 << 18) /* of one exchange, but for one item that is larger */

struct gathering {
    const struct pith_ranks *ranks;
    uint8_t *data;
    size_t bytes, item;
    uint8_t *own, *other; /* [at_once * item] */
    size_t at_once;       /* items */
};

/* Item number i of a rank's: where it lies and how long it is; 0: there is none. */
static size_t find_item(const struct gathering *g, uint32_t rank, size_t i, size_t *at)
{
    *at = (i * g->ranks->count + rank) * g->item;
    if (*at >= g->bytes)
        return 0;
    return g->bytes - *at < g->item ? g->bytes - *at : g->item;
}

/* Items first .. first + at_once - 1 of a rank, into or out of a piece. */
static void move_items(const struct gathering *g, uint32_t rank, size_t first, uint8_t *piece,
                       bool out)
{
    for (size_t i = 0; i < g->at_once; i++) {
        size_t at, n = find_item(g, rank, first + i, &at);
        if (n && out)
            memcpy(g->data + at, piece + i * g->item, n);
        else if (n)
            memcpy(piece + i * g->item, g->data + at, n);
    }
}

static void gather_piece(const struct gathering *g, size_t first)
{
    const struct pith_ranks *k = g->ranks;
    move_items(g, k->rank, first, g->own, false);
    for (uint32_t x = 1; x < k->count; x++) {
        k->exchange(k->user, k->rank ^ x, g->own, g->other, g->at_once * g->item);
        move_items(g, k->rank ^ x, first, g->other, true);
    }
}

static bool gather(void *user, void *data, size_t bytes, size_t item)
{
    const struct pith_ranks *k = user;
    const size_t items = (bytes + item - 1) / item, each = (items + k->count - 1) / k->count;
    struct gathering g = {.ranks = k, .data = data, .bytes = bytes, .item = item};
    g.at_once = item < PIECE_BYTES ? PIECE_BYTES / item : 1;
    g.at_once = g.at_once < each ? g.at_once : each;
    g.own = calloc(g.at_once, item);
    g.other = malloc(g.at_once * item);
    const bool room = g.own && g.other;
    for (size_t first = 0; first < each && room; first += g.at_once)
        gather_piece(&g, first);
    free(g.own);
    free(g.other);
    return room;
}

const struct pith_sweep_ranks *pith_sweep_ranks_over(const struct pith_ranks *ranks,
                                                     struct pith_sweep_ranks *to)
{
    if (!ranks)
        return NULL;
    *to = (struct pith_sweep_ranks){ranks->rank, ranks->count, gather, (void *)(uintptr_t)ranks};
    return to;
}
