/* SPDX-License-Identifier: MIT */
/* Memory placement: pieces with a size and a lifetime into one arena, as low as possible.
 *
 * Greedy by size (Pisarchyk and Lee, "Efficient memory management for deep neural net inference",
 * 2020): the largest piece first, each at the lowest offset where it fits between the placed pieces
 * that live at the same time. The problem is NP-hard (strip packing with fixed x). The lower bound
 * is the largest sum of sizes alive at once: MobileNet-v2 and SqueezeNet meet it, random graphs
 * come within 7 to 8 % on average (tests/runtime/test_place.c).
 *
 * Cost is quadratic in the number of pieces, and that number comes from the file: beyond
 * GREEDY_MAX the smallest pieces get places of their own behind all others.
 *
 * Ascending size instead, or order of execution, leaves large pieces to be put on top of small
 * ones. Inputs and outputs are placed with the rest: they are pieces that live before the first
 * and after the last step.
 *
 * Every piece is rounded up to a cache line (PLAN_ALIGN), so vector loads are aligned and
 * threads do not share lines. */
#include "plan.h"

/* Some eight million comparisons at most; steps of real networks are a few hundred. */
#define GREEDY_MAX 4096u

/* Sort order: larger first, then lower number, so that the result is the same everywhere.
 * Without the second rule heap sort's order among equals would decide. */
static bool comes_before(const struct place_item *item, uint32_t a, uint32_t b)
{
    if (item[a].bytes != item[b].bytes)
        return item[a].bytes > item[b].bytes;
    return a < b;
}

static void sift_down(const struct place_item *item, uint32_t *order, uint32_t root, uint32_t n)
{
    for (;;) {
        uint32_t child = 2 * root + 1;
        if (child >= n)
            return;
        if (child + 1 < n && comes_before(item, order[child], order[child + 1]))
            child++;
        if (!comes_before(item, order[root], order[child]))
            return;
        uint32_t t = order[root];
        order[root] = order[child];
        order[child] = t;
        root = child;
    }
}

/* Heap sort: no recursion, no extra memory, n log n for every input. n <= 2^31. */
static void sort_by_size(const struct place_item *item, uint32_t *order, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = n / 2; i > 0; i--)
        sift_down(item, order, i - 1, n);
    for (uint32_t i = n; i > 1; i--) {
        uint32_t t = order[0];
        order[0] = order[i - 1];
        order[i - 1] = t;
        sift_down(item, order, 0, i - 1);
    }
}

/* Two pieces that never live at once may still not share: the caller writes the next input while
 * he reads the last output. */
static bool conflict(const struct place_item *a, const struct place_item *b)
{
    bool together = a->first <= b->last && b->first <= a->last;
    bool across_runs = ((a->flags & PLACE_INPUT) && (b->flags & PLACE_OUTPUT)) ||
                       ((b->flags & PLACE_INPUT) && (a->flags & PLACE_OUTPUT));
    return together || across_runs;
}

/* placed[n_placed]: ascending offsets. Sums cannot overflow: pith_place tested the sum of all.
 * One walk: pieces in order of offset, those that do not live at the same time are as if they
 * were not there. */
static uint64_t lowest_gap(const struct place_item *item, uint32_t which, const uint32_t *placed,
                           uint32_t n_placed)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < n_placed; i++) {
        const struct place_item *p = &item[placed[i]];
        if (!conflict(&item[which], p))
            continue;
        if (p->offset >= at + item[which].bytes)
            break;
        if (p->offset + p->bytes > at)
            at = p->offset + p->bytes;
    }
    return at;
}

/* Insertion keeps the list sorted for the walk above. */
static void insert_by_offset(const struct place_item *item, uint32_t which, uint32_t *placed,
                             uint32_t n_placed)
{
    uint32_t i = n_placed;
    for (; i > 0 && item[placed[i - 1]].offset > item[which].offset; i--)
        placed[i] = placed[i - 1];
    placed[i] = which;
}

/* An item's bytes are rounded in place. The sum of all is tested first, so every offset below it
 * fits. */
bool pith_place(struct place_item *item, uint32_t n, uint32_t *order, uint32_t *placed,
                uint64_t *arena_bytes)
{
    uint64_t sum = 0, end = 0;
    for (uint32_t i = 0; i < n; i++)
        if (!align_ok(item[i].bytes, PLAN_ALIGN, &item[i].bytes) ||
            !add_ok(sum, item[i].bytes, &sum))
            return false;
    sort_by_size(item, order, n);
    for (uint32_t i = 0; i < n; i++) {
        struct place_item *p = &item[order[i]];
        if (i < GREEDY_MAX) {
            p->offset = lowest_gap(item, order[i], placed, i);
            insert_by_offset(item, order[i], placed, i);
        } else {
            p->offset = end;
        }
        if (p->offset + p->bytes > end)
            end = p->offset + p->bytes;
    }
    *arena_bytes = end;
    return true;
}
