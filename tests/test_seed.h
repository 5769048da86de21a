/* SPDX-License-Identifier: MIT */
/* test_seed.h - what a random test begins with: the same everywhere, or PITH_TEST_SEED=N. It is
 * printed, so that a failure can be reproduced. */
#ifndef TEST_SEED_H
#define TEST_SEED_H

#include <stdint.h>
#include <stdlib.h>

static inline uint64_t test_seed(uint64_t usual)
{
    const char *wanted = getenv("PITH_TEST_SEED");
    uint64_t seed = wanted ? strtoull(wanted, NULL, 10) : usual;
    print_message("PITH_TEST_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

#endif
