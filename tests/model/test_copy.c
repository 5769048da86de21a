/* SPDX-License-Identifier: MIT */
/* A copy holds all that the model held, in memory of its own. */
#include <stdint.h>
#include "test_run.h"
#include "sample_models.h"

TEST(copies_stand_alone)
{
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct pith_model *m = sample_random_model(seed), *same = sample_random_model(seed);
        struct pith_model *copy = NULL;
        assert_int_equal(pith_model_copy(m, &copy, NULL), PITH_OK);
        for (uint32_t v = 0; v < m->n_values; v++) {
            const struct pith_const *c = m->values[v].constant;
            if (c && c->count)
                memset(c->data, 0x55, 1);
        }
        pith_model_free(m);
        const char *difference = sample_difference(same, copy);
        if (difference)
            fail_msg("seed %llu: %s", (unsigned long long)seed, difference);
        assert_int_equal(pith_model_add_history(copy, "more", "{}"), PITH_OK);
        assert_int_equal(pith_model_set_meta(copy, "another", "text"), PITH_OK);
        pith_model_free(copy);
        pith_model_free(same);
    }
}

RUN_TESTS
