/* SPDX-License-Identifier: MIT */
/* Steps of rows, computed from the cost of rounding, take few bits. */
#include <stdint.h>
#include "test_run.h"
#include "train/feedback/row_steps.h"

TEST(test_steps_take_few_bits)
{
    const double given[] = {1, 1.2, 1.23, 1.7, 1.74, 2.9, 0.3, 1e-9, 1e-300};
    const float wanted[] = {1, 1, 1.5f, 1.5f, 2, 3, 0.25f, 0x1p-30f, 0x1.8p-100f};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        assert_true(pith_row_step_round(given[i]) == wanted[i]);
}

RUN_TESTS
