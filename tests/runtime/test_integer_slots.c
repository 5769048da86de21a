/* SPDX-License-Identifier: MIT */
/* test_integer_slots.c - slots have every nonzero once, and groups begin at the same lane as the
 * one before where that leaves hardly more of them empty. */
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "kernels/kernels.h"
#include "products/integer_conv.h"
#include "products/integer_slots.h"

#define COLUMNS 4096u
#define STEPS (COLUMNS / SLOTS_STEP)
#define MOST_GROUPS (STEPS * 32)

static int8_t weight[SLOTS_NR][COLUMNS], read[SLOTS_NR][COLUMNS];
static _Alignas(64) uint8_t packed[MOST_GROUPS * SLOTS_BYTES + SLOTS_NR * COLUMNS * 4];

static struct integer_layout layout_of(void)
{
    return (struct integer_layout){.packing = PACK_SLOTS,
                                   .cg = COLUMNS,
                                   .og = SLOTS_NR,
                                   .segments = 1,
                                   .run = COLUMNS,
                                   .steps = STEPS,
                                   .rounded = SLOTS_NR,
                                   .prep.group_bytes = sizeof packed};
}

/* Weights of the panel by its groups and what lies outside of them; how many groups begin
 * where the one before does. */
static uint32_t read_panel(void)
{
    const struct slots_panel *p = slots_panel(packed, 0);
    const struct slots_more *more = slots_more(p);
    uint32_t first = 0, alike = 0;
    memset(read, 0, sizeof read);
    for (uint32_t i = 0; i < p->groups; i++) {
        const uint8_t *at = slots_of(p) + i * SLOTS_BYTES;
        const uint32_t step = slots_advance(at);
        first += step;
        alike += i > 0 && step == 0;
        for (uint32_t s = 0; s < SLOTS_NR * 4; s++)
            read[s / 4][first + at[s] % SLOTS_STEP] += (int8_t)at[64 + s];
    }
    for (uint32_t i = 0; i < p->n_more; i++)
        read[more[i].output][more[i].column] += more[i].weight;
    return alike;
}

/* each: about one in so many is a nonzero; balanced: as many in every window of an output. */
static void draw(uint32_t each, bool balanced)
{
    for (uint32_t o = 0; o < SLOTS_NR; o++)
        for (uint32_t e = 0; e < COLUMNS; e++) {
            const bool is_kept = balanced ? (e * 37 + o * 5) % each == 0 : rand() % (int)each == 0;
            weight[o][e] = (int8_t)(is_kept ? 1 + rand() % 100 : 0);
        }
}

/* Of the groups, so many in a hundred. */
static uint32_t alike_of(uint32_t each, bool balanced)
{
    const struct integer_layout l = layout_of();
    const struct integer_weights weights = {weight, COLUMNS, 1};
    uint32_t sum[SLOTS_NR] = {0};
    draw(each, balanced);
    pith_pack_slots(&l, &weights, 1, MOST_GROUPS, sum, packed);
    const uint32_t alike = read_panel();
    assert_memory_equal(read, weight, sizeof weight);
    return alike * 100 / slots_panel(packed, 0)->groups;
}

TEST(test_groups_share_where_they_begin)
{
    assert_in_range(alike_of(4, false), 65, 100); /* three of four */
    assert_in_range(alike_of(10, false), 40, 60); /* one of two */
    assert_in_range(alike_of(40, false), 0, 10);  /* each reaches as far as it can */
    assert_in_range(alike_of(8, true), 70, 100);  /* all of a window but one */
}

RUN_TESTS
