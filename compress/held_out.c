/* SPDX-License-Identifier: MIT */
/* held_out.c - the split depends on the number of samples and the network alone. */
#include "held_out.h"

#include <stdlib.h>
#include <string.h>

#include "base/error_fill.h"

#define NUMBERS UINT64_C(67108864) /* that the network computes for all held-out samples */
#define FEWEST_OF_MOST 32u

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The larger the network's values, the fewer samples. */
static uint64_t most_held(const struct pith_model *m)
{
    uint64_t numbers = 1;
    for (uint32_t v = 0; v < m->n_values; v++)
        numbers += m->values[v].constant ? 0 : pith_value_elems(&m->values[v]);
    return least_of(most_of(NUMBERS / numbers, FEWEST_OF_MOST), PITH_HELD_OUT_MOST);
}

static struct pith_data *first_data(const struct held_out *h)
{
    struct pith_data *data = h->data;
    for (uint32_t i = 0; h->feed && i < h->feed->n_inputs && !data; i++)
        data = h->feed->input[i].data;
    return data;
}

static enum pith_status pick(const struct held_out *h, const uint32_t *numbers, uint64_t n,
                             struct pith_error *err)
{
    enum pith_status st = h->data ? pith_data_pick(h->data, numbers, n, err) : PITH_OK;
    for (uint32_t i = 0; h->feed && i < h->feed->n_inputs && !st; i++)
        if (h->feed->input[i].data)
            st = pith_data_pick(h->feed->input[i].data, numbers, n, err);
    return st;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b > 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* In steps of it all of n places are visited once each, and the first few are spread. */
static uint64_t step_through(uint64_t n)
{
    uint64_t step = n * 5 / 8 + 1;
    while (common_divisor(step, n) > 1)
        step++;
    return step;
}

/* numbers: fitted, then held; is_held: [n] zeros. */
static void split(struct held_out *h, uint64_t n, bool stream, uint8_t *is_held)
{
    uint32_t *held = h->numbers + h->n_fitted;
    const uint64_t step = step_through(h->n_held);
    for (uint64_t k = 0; k < h->n_held; k++) {
        uint64_t i =
            stream ? h->n_fitted + k : n * (2 * (k * step % h->n_held) + 1) / (2 * h->n_held);
        held[k] = (uint32_t)i;
        is_held[i] = 1;
    }
    const uint64_t rest = n - h->n_held;
    uint64_t n_visited = 0, at = 0;
    for (uint64_t i = 0; i < n && at < h->n_fitted; i++) {
        if (is_held[i])
            continue;
        if (n_visited++ == (stream ? at : at * rest / h->n_fitted))
            h->numbers[at++] = (uint32_t)i;
    }
}

static enum pith_status remember(struct held_out *h, const struct pith_data *data)
{
    const uint32_t *picked = pith_data_picked(data, &h->n_was);
    if (!picked)
        return PITH_OK;
    h->was = malloc((size_t)h->n_was * sizeof *h->was);
    if (!h->was)
        return PITH_ERR_MEMORY;
    memcpy(h->was, picked, (size_t)h->n_was * sizeof *h->was);
    for (uint64_t i = 0; i < h->n_fitted + h->n_held; i++)
        h->numbers[i] = h->was[h->numbers[i]];
    return PITH_OK;
}

enum pith_status pith_hold_out(const struct pith_model *m, const struct pith_stage_context *context,
                               uint32_t samples, struct held_out *h, struct pith_error *err)
{
    *h = (struct held_out){.data = context->feed ? NULL : context->train, .feed = context->feed};
    const struct pith_data *data = first_data(h);
    const uint64_t n = data ? pith_data_count(data) : 1;
    bool stream = h->feed && h->feed->n_states > 0 && data && pith_data_steps(data) == 1;
    h->n_fitted = least_of(n, samples);
    if (n < PITH_HELD_OUT_FROM)
        return PITH_OK;
    h->n_held = least_of(
        most_of(most_of(n / 5, PITH_HELD_OUT_LEAST), n > samples ? n - samples : 0), most_held(m));
    h->n_fitted = least_of(n - h->n_held, samples);
    h->numbers = malloc((size_t)(h->n_fitted + h->n_held) * sizeof *h->numbers);
    uint8_t *is_held = calloc((size_t)n, 1);
    enum pith_status st = h->numbers && is_held ? PITH_OK : PITH_ERR_MEMORY;
    if (!st) {
        split(h, n, stream, is_held);
        st = remember(h, data);
    }
    free(is_held);
    return st ? pith_error_no_memory(err) : pith_held_out_pick(h, PART_FITTED, err);
}

enum pith_status pith_held_out_pick(const struct held_out *h, enum held_part part,
                                    struct pith_error *err)
{
    if (!h->numbers)
        return PITH_OK;
    return part == PART_HELD ? pick(h, h->numbers + h->n_fitted, h->n_held, err)
                             : pick(h, h->numbers, h->n_fitted, err);
}

void pith_held_out_end(struct held_out *h)
{
    if (h->numbers)
        pick(h, h->was, h->was ? h->n_was : 0, NULL);
    free(h->numbers);
    free(h->was);
    *h = (struct held_out){0};
}
