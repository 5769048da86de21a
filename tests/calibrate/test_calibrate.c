/* SPDX-License-Identifier: MIT */
/* Statistics of a network small enough to compute by hand; adding, merging, memory, refusals. */
#include "test_run.h"
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "gemm_model.h"
#include "pith_load.h"
#include "pith_pack.h"
#include "pith_calibrate.h"
#include "pith_value_stats.h"

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
    SUCCEEDS(st);
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
    uint64_t n_run = 0;
    SUCCEEDS(pith_calibrate(m, &o, &n_run, &err));
    assert_int_equal(n_run, want);
}

TEST(ranges_by_hand)
{
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

TEST(merging_equals_running_both)
{
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
    data_of_layer(b, 0)[0] = 2; /* other weights see other numbers */
    assert_int_equal(pith_calibrate_merge(a, b, &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text, "cannot merge ranges: the two models are not the same network");
    expect_range(a, 0, -3, 10, 6);
    pith_data_free(dx);
    pith_data_free(dy);
    pith_model_free(a);
    pith_model_free(b);
}

TEST(refusals)
{
    static const float wide[] = {1, 2, 3}, bad[] = {NAN, 1};
    struct pith_model *m = sum_and_difference();
    struct pith_data *d3 = samples(wide, 1, 3), *dn = samples(bad, 1, 2);
    struct pith_calibrate_opts o = {.size_bytes = sizeof o, .data = d3};
    struct pith_error err = {0};
    assert_int_equal(pith_calibrate(m, &o, NULL, &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text, "cannot calibrate: input 'x' takes 2 values, a sample has 3");
    o.data = dn;
    assert_int_equal(pith_calibrate(m, &o, NULL, &err), PITH_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "the input is NaN for sample 0 of "));
    assert_int_equal(m->values[0].n_observed, 0);
    /* A sum of infinities is seen at the value that it is in, and in which sample. */
    static const float most[] = {1, 1, 3e38f, -3e38f};
    struct pith_data *d = samples(most, 2, 2);
    char text[256];
    memcpy(data_of_layer(m, 0), (float[]){9, 9, 1, 1}, 4 * sizeof(float));
    o.data = d;
    uint64_t n_run = 77;
    assert_int_equal(pith_calibrate(m, &o, &n_run, &err), PITH_ERR_UNSUPPORTED);
    snprintf(text, sizeof text, "cannot calibrate: 'fc1.y' is NaN for %s",
             pith_data_sample_name(d, 1));
    assert_string_equal(err.text, text);
    assert_non_null(strstr(text, "sample 1"));
    assert_int_equal(n_run, 77);
    assert_int_equal(pith_calibrate(NULL, &o, NULL, &err), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_calibrate(m, NULL, NULL, &err), PITH_ERR_ARGUMENT);
    o.size_bytes--;
    assert_int_equal(pith_calibrate(m, &o, NULL, &err), PITH_ERR_ARGUMENT);
    o = (struct pith_calibrate_opts){.size_bytes = sizeof o};
    assert_int_equal(pith_calibrate(m, &o, NULL, &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text, "cannot calibrate: no data given");
    o.data = d;
    m->n_inputs = 2;
    assert_int_equal(pith_calibrate(m, &o, NULL, &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text, "cannot calibrate: the model has 2 inputs, data is for one");
    m->n_inputs = 1;
    pith_data_free(d);
    pith_data_free(d3);
    pith_data_free(dn);
    pith_model_free(m);
}

TEST(statistics_by_hand)
{
    static const float x[] = {1, 2, -3, 0.5f, 0, -0.0f};
    struct pith_model *m = sum_and_difference();
    struct pith_data *d = samples(x, 3, 2);
    run(m, d, 0, 3);
    const struct pith_value_stats *in = m->values[0].stats, *y = m->values[2].stats;
    assert_true(in && y);
    assert_int_equal(in->n, 6);
    assert_int_equal(in->n_zero, 2);
    assert_int_equal(in->n_samples, 3);
    assert_true(pith_exact_sum_value(&in->sum) == 0.5);
    assert_true(pith_exact_sum_value(&in->sum_squares) == 14.25);
    assert_true(pith_stats_mean(in) == 0.5 / 6);
    assert_true(fabs(pith_stats_variance(in) - (14.25 / 6 - 0.25 / 36)) < 1e-12);
    assert_int_equal(in->n_channels, 2);
    assert_int_equal(in->channel_axis, 1);
    assert_true(in->channel[0].min == -3 && in->channel[0].max == 1);
    assert_true(pith_stats_channel_mean(in, 1) == 2.5 / 3);
    /* -3..2: 3 = 0.75 * 2^2 and bins of 2^-8 are too many, those of 2^-8 * 2 not */
    assert_int_equal(in->histogram.exponent, -8);
    assert_int_equal(in->histogram.first, -769);
    assert_int_equal(in->histogram.n_bins, 769 + 513);
    assert_int_equal(in->histogram.count[0], 1);
    assert_int_equal(in->histogram.count[769 + 128], 1);
    assert_int_equal(y->histogram.n_bins, 0); /* goes into a Relu alone */
    assert_int_equal(y->n, 6);
    pith_data_free(d);
    pith_model_free(m);
}

static struct pith_buffer file_of(struct pith_model *m)
{
    struct pith_buffer file;
    struct pith_error err = {0};
    SUCCEEDS(pith_model_pack(m, NULL, &file, &err));
    return file;
}

/* Statistics are stored also where the first sample gave nothing but zeros. */
TEST(dead_first_sample)
{
    static const float x[] = {-1, 0, 0.0625f, 0.03125f};
    for (uint32_t n = 1; n <= 2; n++) {
        struct pith_model *m = sum_and_difference();
        struct pith_data *d = samples(x, 2, 2);
        run(m, d, n, n);
        expect_range(m, 3, 0, n == 1 ? 0 : 0.09375f, 2 * n);
        struct pith_buffer file = file_of(m);
        pith_buffer_free(&file);
        pith_data_free(d);
        pith_model_free(m);
    }
}

/* Three shards in any order, through files, and all at once on any number of threads: the same
 * bytes. */
TEST(the_same_bytes)
{
    float x[30];
    for (int i = 0; i < 30; i++)
        x[i] = (float)((i * 37) % 41 - 20) * (i % 3 ? 0.7f : 1e-3f * (float)i);
    struct pith_data *all = samples(x, 15, 2);
    struct pith_buffer want = {0};
    for (uint32_t threads = 1; threads <= 3; threads++) {
        struct pith_model *m = sum_and_difference();
        struct pith_calibrate_opts o = {.size_bytes = sizeof o, .data = all, .threads = threads};
        assert_int_equal(pith_calibrate(m, &o, NULL, NULL), PITH_OK);
        struct pith_buffer file = file_of(m);
        if (want.data) {
            assert_int_equal(file.bytes, want.bytes);
            assert_memory_equal(file.data, want.data, want.bytes);
            pith_buffer_free(&file);
        } else {
            want = file;
        }
        pith_model_free(m);
    }
    pith_data_free(all);
    struct pith_buffer part[3];
    for (int i = 0; i < 3; i++) {
        struct pith_model *m = sum_and_difference();
        struct pith_data *d = samples(x + 10 * i, 5, 2);
        run(m, d, 0, 5);
        part[i] = file_of(m);
        pith_data_free(d);
        pith_model_free(m);
    }
    static const int orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}};
    for (int k = 0; k < 3; k++) {
        struct pith_model *m[3];
        for (int i = 0; i < 3; i++) {
            const struct pith_buffer *b = &part[orders[k][i]];
            assert_int_equal(pith_model_read(b->data, b->bytes, "part", NULL, &m[i], NULL),
                             PITH_OK);
        }
        assert_int_equal(pith_calibrate_merge(m[0], m[1], NULL), PITH_OK);
        assert_int_equal(pith_calibrate_merge(m[0], m[2], NULL), PITH_OK);
        struct pith_buffer file = file_of(m[0]);
        assert_int_equal(file.bytes, want.bytes);
        assert_memory_equal(file.data, want.data, want.bytes);
        pith_buffer_free(&file);
        for (int i = 0; i < 3; i++)
            pith_model_free(m[i]);
    }
    for (int i = 0; i < 3; i++)
        pith_buffer_free(&part[i]);
    pith_buffer_free(&want);
}

/* A process of its own: the most it had in memory, in KiB. */
static long peak_of(uint32_t n_samples)
{
    enum { WIDE = 40000 };
    pid_t child = fork();
    if (child == 0) {
        struct pith_model *m = gemm_model((uint32_t[]){2, WIDE}, 1);
        float *x = calloc(n_samples, 2 * sizeof *x), *w = data_of_layer(m, 0);
        for (uint32_t i = 0; i < 2 * n_samples; i++)
            x[i] = (float)(i % 17) - 8;
        for (uint32_t i = 0; i < 2 * WIDE; i++)
            w[i] = (float)(i % 101);
        struct pith_data *d = samples(x, n_samples, 2);
        struct pith_calibrate_opts o = {.size_bytes = sizeof o, .data = d};
        struct pith_range_opts r = {.size_bytes = sizeof r, .samples = &o};
        bool good = !pith_calibrate(m, &o, NULL, NULL) && !pith_choose_grids(m, &r, NULL, NULL);
        _exit(good ? 0 : 1);
    }
    struct rusage usage = {0};
    int status = 1;
    assert_true(child > 0);
    assert_int_equal(wait4(child, &status, 0, &usage), child);
    assert_int_equal(status, 0);
    return usage.ru_maxrss;
}

/* A sample's activations are 320 KB here: keeping those of 495 more would take 155 MB. A tenth of
 * that is left for what an allocator keeps of freed blocks; AddressSanitizer's quarantine keeps 2
 * MB. */
TEST(memory_does_not_grow)
{
    long few = peak_of(5), many = peak_of(500);
    if (many > few + 16 * 1024)
        fail_msg("%ld KiB for 5 samples, %ld for 500", few, many);
}

RUN_TESTS
