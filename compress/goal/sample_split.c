/* SPDX-License-Identifier: MIT */
#include "sample_split.h"

#include <stdlib.h>

#include "base/seeded_random.h"

static void shuffle(uint32_t *order, uint64_t n, uint64_t seed)
{
    uint64_t state = seed;
    for (uint64_t i = n; i > 1; i--) {
        uint64_t k = next_random(&state) % i;
        uint32_t t = order[i - 1];
        order[i - 1] = order[k];
        order[k] = t;
    }
}

static uint32_t *copy(const uint32_t *order, uint64_t n)
{
    uint32_t *numbers = malloc((size_t)n * sizeof *numbers);
    for (uint64_t i = 0; i < n && numbers; i++)
        numbers[i] = order[i];
    return numbers;
}

static bool take(struct sample_split *s, enum pith_goal_part part, const uint32_t *order,
                 uint64_t n)
{
    s->numbers[part] = copy(order, n);
    s->n[part] = n;
    return s->numbers[part] != NULL;
}

static uint64_t at_most(uint64_t n, uint64_t most)
{
    return n < most ? n : most;
}

bool pith_sample_split(uint64_t n, uint64_t seed, bool stream, const uint64_t most[PITH_GOAL_PARTS],
                       struct sample_split *s)
{
    *s = (struct sample_split){.shared = n < PITH_GOAL_THREE_PARTS};
    uint64_t calibrate = s->shared ? n / 2 : n / 16 * 10,
             choose = s->shared ? n - n / 2 : n / 16 * 3;
    uint32_t *order = malloc((size_t)n * sizeof *order);
    for (uint64_t i = 0; i < n && order; i++)
        order[i] = (uint32_t)i;
    if (order && !stream)
        shuffle(order, n, seed);
    bool done = order && take(s, PITH_GOAL_CALIBRATE, order, at_most(calibrate, most[0])) &&
                take(s, PITH_GOAL_VALIDATE, order + calibrate, at_most(choose, most[1])) &&
                (s->shared || take(s, PITH_GOAL_TEST, order + calibrate + choose,
                                   at_most(n - calibrate - choose, most[2])));
    if (done) {
        s->n_training = calibrate;
        s->training = copy(order, calibrate);
        done = s->training != NULL;
    }
    if (s->shared) {
        s->numbers[PITH_GOAL_TEST] = s->numbers[PITH_GOAL_VALIDATE];
        s->n[PITH_GOAL_TEST] = s->n[PITH_GOAL_VALIDATE];
    }
    free(order);
    if (!done)
        pith_sample_split_free(s);
    return done;
}

void pith_sample_split_free(struct sample_split *s)
{
    free(s->training);
    free(s->numbers[PITH_GOAL_CALIBRATE]);
    free(s->numbers[PITH_GOAL_VALIDATE]);
    if (!s->shared)
        free(s->numbers[PITH_GOAL_TEST]);
    *s = (struct sample_split){0};
}
