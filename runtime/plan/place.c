/* SPDX-License-Identifier: MIT */
/* Memory placement: pieces with a size and a lifetime into one arena, as low as possible.
 *
 * Greedy by size (Pisarchyk and Lee, "Efficient memory management for deep neural net inference",
 * 2020): the largest piece first, each at the lowest offset where it fits between the placed pieces
 * that live at the same time; once more, those that live longest first, which is better for what
 * outlasts a loop; and once by breadth (the same paper), those first that live when most bytes
 * do, which then lie close (INT8 super resolution takes 6.4 instead of 8.0 MB). The smallest result
 * is taken, the first that meets the bound below. The problem is NP-hard (strip packing with fixed
 * x). The lower bound is the largest sum of sizes alive at once: MobileNet-v2 and SqueezeNet meet
 * it, random graphs come within 5 % on average (tests/runtime/test_place.c).
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
#include "plan/plan.h"

/* Some eight million comparisons an order at most; steps of real networks are a few hundred. */
#define GREEDY_MAX 4096u
#define BREADTH_MAX 1024u /* to count breadths takes two million steps then */

enum rule { BY_SIZE, BY_LIFE, BY_BREADTH, N_RULES };

struct order {
    const struct place_item *item;
    enum rule rule;
};

/* The larger comes first; equals by size. Breadths were left in item.offset. */
static uint64_t rank_of(const struct order *by, const struct place_item *item)
{
    return by->rule == BY_LIFE      ? item->last - item->first
           : by->rule == BY_BREADTH ? item->offset
                                    : 0;
}

/* Larger first, then lower number: without the second rule the order of equals, and with it the
 * result, would be heap sort's. */
static bool comes_before(const struct order *by, uint32_t a, uint32_t b)
{
    const struct place_item *item = by->item;
    uint64_t rank_a = rank_of(by, &item[a]), rank_b = rank_of(by, &item[b]);
    if (rank_a != rank_b)
        return rank_a > rank_b;
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

/* Is `late` written when `old` is dead, though in one step? That step's scratch is no older. */
static bool follows_late(const struct place_item *late, const struct place_item *old)
{
    return (late->flags & PLACE_LATE) && old->last == late->first && old->first < late->first;
}

/* Two pieces that never live at once may still not share: the caller writes the next input while
 * he reads the last output. */
static bool conflict(const struct place_item *a, const struct place_item *b)
{
    bool together = a->first <= b->last && b->first <= a->last;
    together = together && !follows_late(a, b) && !follows_late(b, a);
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

/* Bytes that live when item `at` begins. */
static uint64_t bytes_at(const struct place_item *item, uint32_t n, uint32_t at)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < n; i++)
        if (item[i].first <= item[at].first && item[at].first <= item[i].last)
            bytes += item[i].bytes;
    return bytes;
}

/* item.offset = the most bytes that live at once while it does: they grow only where a piece
 * begins. Beyond BREADTH_MAX all are alike. */
static void set_breadths(struct place_item *item, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        item[i].offset = 0;
    for (uint32_t at = 0; at < n && n <= BREADTH_MAX; at++) {
        uint64_t bytes = bytes_at(item, n, at);
        for (uint32_t i = 0; i < n; i++)
            if (item[i].first <= item[at].first && item[at].first <= item[i].last &&
                item[i].offset < bytes)
                item[i].offset = bytes;
    }
}

static uint64_t place_by(struct place_item *item, uint32_t n, enum rule rule, uint32_t *order,
                         uint32_t *placed)
{
    if (rule == BY_BREADTH)
        set_breadths(item, n);
    sort(&(struct order){item, rule}, order, n);
    return place_in_order(item, n, order, placed);
}

/* No arena is smaller: the most bytes of pieces all of which conflict. What is written late lives
 * with what lives on behind it, and what dies there with what is not written late. */
static uint64_t least_bytes(const struct place_item *item, uint32_t n)
{
    uint64_t least = 0;
    for (uint32_t at = 0; at < n && n <= BREADTH_MAX; at++) {
        const uint32_t time = item[at].first;
        const bool late = item[at].flags & PLACE_LATE;
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < n; i++) {
            const bool begins = item[i].first == time;
            const bool left_out =
                late ? item[i].last == time && !begins : begins && item[i].flags & PLACE_LATE;
            if (item[i].first <= time && time <= item[i].last && !left_out)
                bytes += item[i].bytes;
        }
        least = bytes > least ? bytes : least;
    }
    return least;
}

bool pith_place(struct place_item *item, uint32_t n, uint32_t *order, uint32_t *placed,
                uint64_t enough, uint64_t *arena_bytes)
{
    uint64_t sum = 0, end[N_RULES];
    enum rule best = BY_SIZE, last = BY_SIZE;
    for (uint32_t i = 0; i < n; i++)
        if (!align_ok(item[i].bytes, PLAN_ALIGN, &item[i].bytes) ||
            !add_ok(sum, item[i].bytes, &sum))
            return false;
    end[BY_SIZE] = place_by(item, n, BY_SIZE, order, placed);
    const uint64_t least = end[BY_SIZE] <= enough ? enough : least_bytes(item, n);
    for (enum rule rule = BY_SIZE + 1; rule < N_RULES && end[best] > least; last = rule++) {
        end[rule] = place_by(item, n, rule, order, placed);
        best = end[rule] < end[best] ? rule : best;
    }
    if (best != last)
        place_by(item, n, best, order, placed);
    *arena_bytes = end[best];
    return true;
}
