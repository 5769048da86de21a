/* SPDX-License-Identifier: MIT */
/* Memory placement: pieces with a size and a lifetime into one arena, as low as possible.
 *
 * Greedy by size (Pisarchyk and Lee, "Efficient memory management for deep neural net inference",
 * 2020): the largest piece first, each at the lowest offset where it fits between the placed pieces
 * that live at the same time; and once more, those that live longest first, which is better for
 * what outlasts a loop. The smaller result is taken. The problem is NP-hard (strip packing with
 * fixed x). The lower bound is the largest sum of sizes alive at once: MobileNet-v2 and SqueezeNet
 * meet it, random graphs come within 5 % on average (tests/runtime/test_place.c).
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

struct order {
    const struct place_item *item;
    bool by_life;
};

static uint32_t life(const struct place_item *item)
{
    return item->last - item->first;
}

/* Larger first, then lower number: without the second rule the order of equals, and with it the
 * result, would be heap sort's. */
static bool comes_before(const struct order *by, uint32_t a, uint32_t b)
{
    const struct place_item *item = by->item;
    if (by->by_life && life(&item[a]) != life(&item[b]))
        return life(&item[a]) > life(&item[b]);
    if (item[a].bytes != item[b].bytes)
        return item[a].bytes > item[b].bytes;
    return a < b;
}

static void sift_down(const struct order *by, uint32_t *order, uint32_t root, uint32_t n)
{
    for (;;) {
        uint32_t child = 2 * root + 1;
        if (child >= n)
            return;
        if (child + 1 < n && comes_before(by, order[child], order[child + 1]))
            child++;
        if (!comes_before(by, order[root], order[child]))
            return;
        uint32_t t = order[root];
        order[root] = order[child];
        order[child] = t;
        root = child;
    }
}

/* Heap sort: no recursion, no extra memory, n log n for every input. n <= 2^31. */
static void sort(const struct order *by, uint32_t *order, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = n / 2; i > 0; i--)
        sift_down(by, order, i - 1, n);
    for (uint32_t i = n; i > 1; i--) {
        uint32_t t = order[0];
        order[0] = order[i - 1];
        order[i - 1] = t;
        sift_down(by, order, 0, i - 1);
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

static uint64_t place_in_order(struct place_item *item, uint32_t n, const uint32_t *order,
                               uint32_t *placed)
{
    uint64_t end = 0;
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
    return end;
}

bool pith_place(struct place_item *item, uint32_t n, uint32_t *order, uint32_t *placed,
                uint64_t *arena_bytes)
{
    uint64_t sum = 0, end[2];
    for (uint32_t i = 0; i < n; i++)
        if (!align_ok(item[i].bytes, PLAN_ALIGN, &item[i].bytes) ||
            !add_ok(sum, item[i].bytes, &sum))
            return false;
    for (uint32_t i = 0; i < 2; i++) {
        sort(&(struct order){item, i == 0}, order, n);
        end[i] = place_in_order(item, n, order, placed);
    }
    if (end[0] < end[1]) {
        sort(&(struct order){item, true}, order, n);
        end[1] = place_in_order(item, n, order, placed);
    }
    *arena_bytes = end[1];
    return true;
}
