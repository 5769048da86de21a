/* SPDX-License-Identifier: MIT */
/* Memory placement: no two pieces that live together overlap, and the arena stays near the lower
 * bound. */
#include <stdio.h>
#include <stdlib.h>
#include "test_run.h"
#include "test_seed.h"
#include "plan/plan.h"

#define MAX_ITEMS 400u

static uint64_t seed;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static bool apart(const struct place_item *a, const struct place_item *b)
{
    return a->offset + a->bytes <= b->offset || b->offset + b->bytes <= a->offset;
}

static uint64_t lower_bound(const struct place_item *item, uint32_t n, uint32_t n_times)
{
    uint64_t most = 0;
    for (uint32_t t = 0; t < n_times; t++) {
        uint64_t alive = 0;
        for (uint32_t i = 0; i < n; i++)
            if (item[i].first <= t && t <= item[i].last)
                alive += item[i].bytes;
        most = alive > most ? alive : most;
    }
    return most;
}

static void check(struct place_item *item, uint32_t n, uint64_t *arena)
{
    uint32_t order[MAX_ITEMS], placed[MAX_ITEMS];
    assert_true(pith_place(item, n, order, placed, 0, arena));
    for (uint32_t i = 0; i < n; i++) {
        assert_true(item[i].offset % PLAN_ALIGN == 0);
        assert_true(item[i].offset + item[i].bytes <= *arena);
        for (uint32_t j = 0; j < i; j++) {
            bool together = item[i].first <= item[j].last && item[j].first <= item[i].last;
            bool in_out = (item[i].flags | item[j].flags) == (PLACE_INPUT | PLACE_OUTPUT) &&
                          item[i].flags != item[j].flags;
            if ((together || in_out) && !apart(&item[i], &item[j]))
                fail_msg("seed %llu: items %u and %u overlap", (unsigned long long)seed, i, j);
        }
    }
}

/* Like a network: values live from their step to a later one, mostly the next. */
static void random_items(struct place_item *item, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t life = random_below(8) ? 1 : 1 + random_below(20);
        item[i] =
            (struct place_item){.bytes = 1 + random_below(100000), .first = i, .last = i + life};
    }
    item[0].flags = PLACE_INPUT;
    item[n - 1].flags = PLACE_OUTPUT;
}

TEST(test_no_overlap)
{
    uint64_t first_seed = test_seed(20261124), bound_sum = 0, arena_sum = 0;
    seed = first_seed;
    for (int round = 0; round < 200; round++) {
        struct place_item item[MAX_ITEMS];
        uint32_t n = 2 + random_below(round < 190 ? 40 : MAX_ITEMS - 2);
        uint64_t arena;
        random_items(item, n);
        check(item, n, &arena);
        uint64_t bound = lower_bound(item, n, n + 32);
        assert_true(arena >= bound);
        bound_sum += bound;
        arena_sum += arena;
    }
    /* Single cases may be bad (the problem is NP-hard); their sum is not. Measured: 1.045 to 1.049.
     */
    if (arena_sum > bound_sum + bound_sum / 10)
        fail_msg("seed %llu: arenas %llu, bounds %llu", (unsigned long long)first_seed,
                 (unsigned long long)arena_sum, (unsigned long long)bound_sum);
}

/* A chain of equal pieces needs two places, however long it is. */
TEST(test_chain)
{
    struct place_item item[50];
    uint64_t arena;
    for (uint32_t i = 0; i < 50; i++)
        item[i] = (struct place_item){.bytes = 1000, .first = i, .last = i + 1};
    check(item, 50, &arena);
    assert_int_equal(arena, 2 * 1024);
}

/* The next input is written while the last output is read. */
TEST(test_input_and_output)
{
    struct place_item item[2] = {{.bytes = 64, .first = 0, .last = 1, .flags = PLACE_INPUT},
                                 {.bytes = 64, .first = 5, .last = 6, .flags = PLACE_OUTPUT}};
    uint64_t arena;
    check(item, 2, &arena);
    assert_int_equal(arena, 128);
    item[0].flags = 0;
    check(item, 2, &arena);
    assert_int_equal(arena, 64);
}

/* A piece that is written late may lie over one that dies at its first time, not over what is there
 * at that time alone, nor over what lives on; one that is not written late, over neither. */
TEST(test_late)
{
    struct place_item item[] = {{.bytes = 640, .first = 1, .last = 3},
                                {.bytes = 320, .first = 3, .last = 4, .flags = PLACE_LATE},
                                {.bytes = 128, .first = 3, .last = 3},
                                {.bytes = 64, .first = 1, .last = 4}};
    uint32_t order[4], placed[4];
    uint64_t arena;
    for (int late = 1; late >= 0; late--) {
        item[1].flags = late ? PLACE_LATE : 0;
        assert_true(pith_place(item, 4, order, placed, 0, &arena));
        assert_int_equal(arena, late ? 640 + 128 + 64 : 640 + 320 + 128 + 64);
        assert_int_equal(apart(&item[1], &item[0]), !late);
        assert_true(apart(&item[1], &item[2]) && apart(&item[1], &item[3]));
    }
}

/* Alone with a larger one at its first time: over what dies there, not over what only lives then,
 * as a step's scratch does, nor over what lives on. */
TEST(test_late_beside_one)
{
    const struct place_item other[] = {{.bytes = 640, .first = 2, .last = 3},
                                       {.bytes = 640, .first = 3, .last = 3},
                                       {.bytes = 640, .first = 2, .last = 4}};
    for (uint32_t i = 0; i < 3; i++) {
        struct place_item item[] = {other[i],
                                    {.bytes = 320, .first = 3, .last = 5, .flags = PLACE_LATE}};
        uint32_t order[2], placed[2];
        uint64_t arena;
        assert_true(pith_place(item, 2, order, placed, 0, &arena));
        assert_int_equal(arena, i == 0 ? 640 : 960);
    }
}

/* In order of sizes the arena would be 10,880 bytes, of lives 13,440: only by breadth do those two
 * that live at time 5 lie side by side and the others beside them. */
TEST(test_breadth)
{
    struct place_item item[] = {{.bytes = 6400, .first = 5, .last = 8},
                                {.bytes = 3840, .first = 0, .last = 2},
                                {.bytes = 3840, .first = 2, .last = 3},
                                {.bytes = 3200, .first = 3, .last = 5},
                                {.bytes = 1920, .first = 3, .last = 3}};
    uint64_t arena;
    check(item, 5, &arena);
    assert_int_equal(arena, lower_bound(item, 5, 9));
    /* where that is small enough, the first order is */
    uint32_t order[5], placed[5];
    for (uint64_t enough = 10879; enough <= 10880; enough++) {
        assert_true(pith_place(item, 5, order, placed, enough, &arena));
        assert_int_equal(arena == 10880, enough == 10880);
    }
}

/* Of equal pieces the first gets the lowest place. */
TEST(test_ties)
{
    struct place_item item[5];
    uint64_t arena;
    for (uint32_t i = 0; i < 5; i++)
        item[i] = (struct place_item){.bytes = i == 2 ? 200 : 100, .first = 0, .last = 1};
    check(item, 5, &arena);
    static const uint64_t want[] = {256, 384, 0, 512, 640};
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(item[i].offset, want[i]);
}

/* 4,096 pieces are placed greedily: the next, which lives alone, lies behind them all the same. */
TEST(test_first_beyond)
{
    for (uint32_t n = 4096; n <= 4097; n++) {
        struct place_item *item = calloc(n, sizeof *item);
        uint32_t *order = calloc(n, sizeof *order), *placed = calloc(n, sizeof *placed);
        uint64_t arena;
        assert_true(item && order && placed);
        for (uint32_t i = 0; i < n; i++)
            item[i] = (struct place_item){.bytes = 128, .first = 0, .last = 1};
        item[n - 1] = (struct place_item){.bytes = 64, .first = 5, .last = 6};
        assert_true(pith_place(item, n, order, placed, 0, &arena));
        assert_int_equal(item[n - 1].offset, n == 4096 ? 0 : 4096 * 128);
        free(item);
        free(order);
        free(placed);
    }
}

/* Beyond the number that is placed greedily every piece still gets a place. */
TEST(test_many)
{
    uint32_t n = 5000;
    struct place_item *item = calloc(n, sizeof *item);
    uint32_t *order = calloc(n, sizeof *order), *placed = calloc(n, sizeof *placed);
    uint64_t arena, end = 0;
    assert_true(item && order && placed);
    for (uint32_t i = 0; i < n; i++)
        item[i] = (struct place_item){.bytes = 64, .first = 0, .last = 1};
    assert_true(pith_place(item, n, order, placed, 0, &arena));
    for (uint32_t i = 0; i < n; i++)
        end += item[order[i]].offset == end ? 64 : 0; /* all alive: stacked in order */
    assert_int_equal(end, arena);
    assert_int_equal(arena, n * 64);
    free(item);
    free(order);
    free(placed);
}

TEST(test_overflow)
{
    struct place_item item[2] = {{.bytes = UINT64_MAX - 10}, {.bytes = 64}};
    uint32_t order[2], placed[2];
    uint64_t arena;
    assert_false(pith_place(item, 1, order, placed, 0, &arena));
    item[0].bytes = UINT64_MAX - 100;
    assert_false(pith_place(item, 2, order, placed, 0, &arena));
}

RUN_TESTS
