/* SPDX-License-Identifier: MIT */
/* Ranges of a network small enough to compute by hand; adding, merging, refusals. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <unistd.h>
#include "gemm_model.h"
#include "pith_calibrate.h"
#include "value_range.h"

/* y = (x0 + x1, x0 - x1), then relu. Values: 0 x, 1 w, 2 y, 3 r. */
static struct pith_model *sum_and_difference(void)
{
    struct pith_model *m = gemm_model((uint32_t[]){2, 2}, 1);
    memcpy(data_of_layer(m, 0), (float[]){1, 1, 1, -1}, 4 * sizeof(float));
    return m;
}

static struct pith_data *samples(const float *x, uint32_t n, uint32_t width)
{
    char path[] = "/tmp/pith-test-XXXXXX";
    struct pith_buffer file;
    struct pith_error err = {0};
    assert_int_equal(pith_npy_write(PITH_F32, 2, (uint32_t[]){n, width}, x, &file, &err), PITH_OK);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, file.data, file.bytes), file.bytes);
    close(fd);
    pith_buffer_free(&file);
    struct pith_data_opts o = {.size_bytes = sizeof o, .path = path, .rank = 2, .dim = {1, width}};
    struct pith_data *data = NULL;
    enum pith_status st = pith_data_open(&o, &data, &err);
    unlink(path);
    if (st)
        fail_msg("%s", err.text);
    return data;
}

static void expect_range(const struct pith_model *m, uint32_t v, float min, float max, uint64_t n)
{
    if (m->values[v].min != min || m->values[v].max != max || m->values[v].n_observed != n)
        fail_msg("value %u: %g..%g of %d, expected %g..%g of %d", v, (double)m->values[v].min,
                 (double)m->values[v].max, (int)m->values[v].n_observed, (double)min, (double)max,
                 (int)n);
}

static void run(struct pith_model *m, struct pith_data *d, uint64_t n_samples, uint64_t want)
{
    struct pith_calibrate_opts o = {.size_bytes = sizeof o, .data = d, .n_samples = n_samples};
    struct pith_error err = {0};
    uint64_t seen = 0;
    if (pith_calibrate(m, &o, &seen, &err))
        fail_msg("%s", err.text);
    assert_int_equal(seen, want);
}

static void ranges_by_hand(void **state)
{
    (void)state;
    static const float x[] = {1, 2, -3, 0.5f, 10, 10};
    struct pith_model *m = sum_and_difference();
    struct pith_data *d = samples(x, 3, 2);
    run(m, d, 2, 2);
    expect_range(m, 0, -3, 2, 4);
    expect_range(m, 2, -3.5f, 3, 4); /* 3, -1, -2.5, -3.5 */
    expect_range(m, 3, 0, 3, 4);
    assert_int_equal(m->values[1].n_observed, 0);
    run(m, d, 0, 3); /* adds all three to the first two */
    expect_range(m, 0, -3, 10, 10);
    expect_range(m, 2, -3.5f, 20, 10);
    pith_calibrate_reset(m);
    assert_true(m->values[2].min > m->values[2].max);
    pith_data_free(d);
    pith_model_free(m);
}

static void merging_equals_running_both(void **state)
{
    (void)state;
    static const float x[] = {1, 2, -3, 0.5f}, y[] = {10, 10};
    struct pith_model *a = sum_and_difference(), *b = sum_and_difference();
    struct pith_data *dx = samples(x, 2, 2), *dy = samples(y, 1, 2);
    run(a, dx, 0, 2);
    run(b, dy, 0, 1);
    assert_int_equal(pith_calibrate_merge(a, b, NULL), PITH_OK);
    expect_range(a, 0, -3, 10, 6);
    expect_range(a, 2, -3.5f, 20, 6);
    struct pith_model *other = gemm_model((uint32_t[]){3, 2}, 1);
    struct pith_error err = {0};
    assert_int_equal(pith_calibrate_merge(a, other, &err), PITH_ERR_ARGUMENT);
    pith_model_free(other);
    pith_data_free(dx);
    pith_data_free(dy);
    pith_model_free(a);
    pith_model_free(b);
}

static void refusals(void **state)
{
    (void)state;
    static const float wide[] = {1, 2, 3}, bad[] = {NAN, 1};
    struct pith_model *m = sum_and_difference();
    struct pith_data *d3 = samples(wide, 1, 3), *dn = samples(bad, 1, 2);
    struct pith_calibrate_opts o = {.size_bytes = sizeof o, .data = d3};
    struct pith_error err = {0};
    assert_int_equal(pith_calibrate(m, &o, NULL, &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text, "cannot calibrate: input 'x' takes 2 values, a sample has 3");
    o.data = dn;
    assert_int_equal(pith_calibrate(m, &o, NULL, &err), PITH_ERR_UNSUPPORTED);
    assert_string_equal(err.text, "cannot calibrate: 'x' is NaN for sample 0");
    assert_int_equal(m->values[0].n_observed, 0);
    pith_data_free(d3);
    pith_data_free(dn);
    pith_model_free(m);
}

static void a_range_refuses_nan_whole(void **state)
{
    (void)state;
    struct value_range r = {0};
    assert_true(pith_range_add(&r, (float[]){-2, 5}, 2));
    assert_false(pith_range_add(&r, (float[]){-9, NAN, 9}, 3));
    assert_true(r.min == -2 && r.max == 5 && r.n_observed == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_by_hand), cmocka_unit_test(merging_equals_running_both),
        cmocka_unit_test(refusals), cmocka_unit_test(a_range_refuses_nan_whole)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
