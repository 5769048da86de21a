/* SPDX-License-Identifier: MIT */
/* Values in a loop are observed in every iteration, whose number may differ between samples. */
#include "test_run.h"
#include "loop_model.h"
#include "pith_calibrate.h"

static void expect_range(const struct pith_model *m, uint32_t v, float min, float max, uint64_t n)
{
    if (m->values[v].min != min || m->values[v].max != max || m->values[v].n_observed != n)
        fail_msg("value %u: %g..%g of %d, expected %g..%g of %d", v, (double)m->values[v].min,
                 (double)m->values[v].max, (int)m->values[v].n_observed, (double)min, (double)max,
                 (int)n);
}

TEST(test_ranges)
{
    /* below 10 at first: sums 4, 8, 12 and 7, 14; not below: 11 */
    static const float x[] = {1, 3, 9, -2, 12, -1};
    struct loop_model l = loop_model(5, 10);
    struct pith_buffer npy = {0};
    struct pith_error err = {0};
    struct pith_data *data = NULL;
    assert_int_equal(pith_npy_write(PITH_F32, 2, (const uint32_t[]){3, 2}, x, &npy, &err), PITH_OK);
    struct pith_data_opts d = {.size_bytes = sizeof d,
                               .path = "x.npy",
                               .content = npy.data,
                               .content_bytes = npy.bytes,
                               .rank = 2,
                               .dim = {1, 2}};
    assert_int_equal(pith_data_open(&d, &data, &err), PITH_OK);
    struct pith_calibrate_opts o = {.size_bytes = sizeof o, .data = data};
    SUCCEEDS(pith_calibrate(l.m, &o, NULL, &err));
    expect_range(l.m, l.x, -2, 12, 6);
    expect_range(l.m, l.sum, -2, 9, 6);    /* 1 3, 2 6; 9 -2: as each iteration gets it */
    expect_range(l.m, l.more, -4, 18, 6);  /* 2 6, 3 9; 18 -4 */
    expect_range(l.m, l.final, -4, 18, 6); /* 3 9, 18 -4, 12 -1 */
    expect_range(l.m, l.out, 0, 18, 6);
    pith_data_free(data);
    pith_buffer_free(&npy);
    pith_model_free(l.m);
}

RUN_TESTS
