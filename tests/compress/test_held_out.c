/* SPDX-License-Identifier: MIT */
/* test_held_out.c - which samples are fitted to and which are held out. */
#include <stdint.h>
#include <stdlib.h>
#include "test_run.h"
#include "compress/held_out.h"

static struct pith_data *numbers(uint32_t n)
{
    const uint32_t dim[2] = {1, 1};
    struct pith_data *data = NULL;
    float *x = calloc(n, sizeof *x);
    for (uint32_t i = 0; i < n; i++)
        x[i] = (float)i;
    assert_int_equal(
        pith_data_of_numbers(&(struct pith_numbers){.rank = 2, .dim = dim, .n = n, .x = x}, &data,
                             NULL),
        PITH_OK);
    return data;
}

static uint32_t sample(struct pith_data *data, uint64_t i)
{
    float x;
    assert_int_equal(pith_data_read(data, i, &x, NULL, NULL), PITH_OK);
    return (uint32_t)x;
}

static const struct pith_model m; /* no large values */

static void expect(uint32_t n, uint32_t samples, uint64_t fitted, uint64_t held)
{
    struct pith_data *data = numbers(n);
    const struct pith_stage_context context = {.size_bytes = sizeof context, .train = data};
    struct held_out h;
    uint8_t *visited = calloc(n, 1);
    assert_int_equal(pith_hold_out(&m, &context, samples, &h, NULL), PITH_OK);
    assert_true(h.n_fitted == fitted && h.n_held == held);
    assert_int_equal(pith_data_count(data), held ? fitted : n);
    for (uint64_t i = 0; i < fitted; i++)
        assert_int_equal(visited[sample(data, i)]++, 0);
    assert_int_equal(pith_held_out_pick(&h, PART_HELD, NULL), PITH_OK);
    for (uint64_t i = 0, below = 0; i < held; i++) {
        uint32_t k = sample(data, i);
        assert_int_equal(visited[k]++, 0); /* in one part alone, once */
        below += k < n / 2;
        if (i == 7) /* the first eight come from all over */
            assert_true(below >= 2 && below <= 6);
    }
    assert_int_equal(pith_held_out_pick(&h, PART_FITTED, NULL), PITH_OK);
    for (uint64_t i = 0; i < pith_data_count(data); i++)
        assert_int_equal(visited[sample(data, i)], i < fitted);
    pith_held_out_end(&h);
    assert_int_equal(pith_data_count(data), n);
    pith_data_free(data);
    free(visited);
}

TEST(a_fifth_is_held_out)
{
    expect(1, 64, 1, 0);
    expect(11, 64, 11, 0);
    expect(12, 64, 4, 8);
    expect(16, 64, 8, 8);
    expect(64, 64, 52, 12);
    expect(64, 16, 16, 48);
    expect(100, 64, 64, 36);
    expect(100, 96, 80, 20);
    expect(5000, 64, 64, 256);
    expect(5000, 4900, 4744, 256);
}

/* What was picked before stays what there is, and is picked again. */
TEST(a_choice_before_is_kept)
{
    struct pith_data *data = numbers(40);
    const struct pith_stage_context context = {.size_bytes = sizeof context, .train = data};
    struct held_out h;
    uint32_t odd[20];
    for (uint32_t i = 0; i < 20; i++)
        odd[i] = 2 * i + 1;
    assert_int_equal(pith_data_pick(data, odd, 20, NULL), PITH_OK);
    assert_int_equal(pith_hold_out(&m, &context, 64, &h, NULL), PITH_OK);
    for (int part = PART_FITTED; part <= PART_HELD; part++) {
        assert_int_equal(pith_held_out_pick(&h, (enum held_part)part, NULL), PITH_OK);
        for (uint64_t i = 0; i < pith_data_count(data); i++)
            assert_int_equal(sample(data, i) % 2, 1);
    }
    pith_held_out_end(&h);
    assert_int_equal(pith_data_count(data), 20);
    assert_int_equal(sample(data, 19), 39);
    pith_data_free(data);
}

/* Steps of one stream stay in order: the first are fitted to, the last held out. */
TEST(the_end_of_a_stream_is_held_out)
{
    struct pith_data *data = numbers(100);
    const struct pith_feed_input input = {.data = data};
    const struct pith_state state_of = {.output = 0, .input = 0};
    const struct pith_feed feed = {.size_bytes = sizeof feed,
                                   .n_inputs = 1,
                                   .input = &input,
                                   .n_states = 1,
                                   .state = &state_of};
    const struct pith_stage_context context = {.size_bytes = sizeof context, .feed = &feed};
    struct held_out h;
    assert_int_equal(pith_hold_out(&m, &context, 30, &h, NULL), PITH_OK);
    for (uint32_t i = 0; i < 30; i++)
        assert_int_equal(sample(data, i), i);
    assert_int_equal(pith_held_out_pick(&h, PART_HELD, NULL), PITH_OK);
    for (uint32_t i = 0; i < 70; i++)
        assert_int_equal(sample(data, i), 30 + i);
    pith_held_out_end(&h);
    pith_data_free(data);
}

RUN_TESTS
