/* SPDX-License-Identifier: MIT */
/* test_corner_copy.c - a box between the corners of two larger arrays, element by element. */
#include <stdint.h>
#include <string.h>
#include "test_run.h"
#include "measure/corner_copy.h"

TEST(every_element_at_its_place)
{
    static const uint32_t dim[] = {2, 1, 3}, from_dim[] = {3, 2, 4}, to_dim[] = {2, 3, 5};
    uint16_t from[24], to[30];
    for (uint16_t i = 0; i < 24; i++)
        from[i] = (uint16_t)(1 + i);
    memset(to, 0, sizeof to);
    pith_copy_corner(&(struct corner){3, dim, sizeof *to}, from_dim, from, to_dim, to);
    for (uint32_t a = 0; a < 2; a++)
        for (uint32_t b = 0; b < 3; b++)
            for (uint32_t c = 0; c < 5; c++)
                assert_int_equal(to[(a * 3 + b) * 5 + c], b < 1 && c < 3 ? 1 + a * 8 + c : 0);
}

TEST(a_number_and_no_elements)
{
    static const uint32_t none[] = {2, 0}, whole[] = {2, 3};
    uint8_t from[6] = {7}, to[6] = {0};
    pith_copy_corner(&(struct corner){2, none, 1}, whole, from, whole, to);
    assert_int_equal(to[0], 0);
    pith_copy_corner(&(struct corner){0, NULL, 1}, NULL, from, NULL, to);
    assert_int_equal(to[0], 7);
    assert_int_equal(to[1], 0);
}

RUN_TESTS
