/* SPDX-License-Identifier: MIT */
/* test_batches.c - the networks of the data folder with several samples at once: what a run over
 * the batch gives is what runs of one sample give, whatever the number of threads; float,
 * compressed, of integers. Plans lie before an unmapped page, in exactly the memory they request.
 */
#include <stdint.h>
#include "test_run.h"
#include <math.h>
#include <stdio.h>
#include "guard_page.h"
#include "network_run.h"
#include "pith_load.h"
#include "pith_quantize.h"

/* What kernels of different sizes of a product may differ by, of the largest output. */
#define MAX_DIFFERENCE 2e-5

static const uint32_t batches[] = {2, 3, 8, 17};

struct session {
    struct guarded memory;
    struct pith_plan *plan;
    struct pith_opts opts;
    struct pith_need need;
    struct pith_tensor in, out;
};

/* What a run is made with. */
struct way {
    uint32_t batch, threads, flags;
    bool ordered;
};

static struct session open_session(const struct network_run *net, const struct way *w)
{
    struct session s;
    pith_opts_init(&s.opts, sizeof s.opts);
    s.opts.batch = w->batch;
    s.opts.flags = w->flags;
    s.opts.ordered = w->ordered ? &pith_ordered_sums : NULL;
    if (w->threads > 1)
        assert_int_equal(pith_threads_start(&s.opts, w->threads), PITH_OK);
    assert_int_equal(pith_plan_size(net->file.data, net->file.bytes, &s.opts, &s.need), PITH_OK);
    s.memory = guard_new(s.need.bytes, 1);
    memset(s.memory.data, 0xa5, s.need.bytes);
    assert_int_equal(pith_plan_init(s.memory.data, s.need.bytes, net->file.data, net->file.bytes,
                                    &s.opts, &s.plan),
                     PITH_OK);
    pith_plan_input(s.plan, 0, &s.in);
    pith_plan_output(s.plan, 0, &s.out);
    return s;
}

static void close_session(struct session *s)
{
    pith_threads_stop(&s->opts);
    guard_free(&s->memory);
}

/* The outputs of `samples` drawn samples, w->batch at a time; malloc'ed. Each run twice, since the
 * second finds what the first left behind. */
static float *outputs(const struct network_run *net, uint32_t samples, const struct way *w,
                      uint64_t *n)
{
    struct session s = open_session(net, w);
    uint64_t seed = 1, n_in = s.in.bytes / sizeof(float);
    *n = samples / w->batch * s.out.bytes / sizeof(float);
    float *x = malloc(s.in.bytes), *y = malloc(*n * sizeof *y);
    for (uint32_t i = 0; i < samples / w->batch; i++) {
        for (uint64_t k = 0; k < n_in; k++)
            x[k] = random_f32(&seed);
        for (int twice = 0; twice < 2; twice++) {
            memcpy(pith_plan_input_data(s.plan, 0), x, s.in.bytes);
            assert_int_equal(pith_plan_run(s.plan), PITH_OK);
        }
        memcpy(y + i * (s.out.bytes / sizeof *y), pith_plan_output_data(s.plan, 0), s.out.bytes);
    }
    close_session(&s);
    free(x);
    return y;
}

static void assert_near(const char *name, const float *y, const float *want, uint64_t n)
{
    float most = 0, differ = 0;
    for (uint64_t i = 0; i < n; i++) {
        most = fmaxf(most, fabsf(want[i]));
        differ = fmaxf(differ, fabsf(want[i] - y[i]));
    }
    if (!(differ <= (float)MAX_DIFFERENCE * most))
        fail_msg("%s: %g of %g", name, (double)differ, (double)most);
}

static void assert_same(const struct network_run *net, uint32_t batch, const struct way *w,
                        const float *want)
{
    uint64_t n;
    float *y = outputs(net, batch, w, &n);
    assert_memory_equal(y, want, n * sizeof *y);
    free(y);
}

/* All at once is near one by one, the bits of it where `exact`, and the same on two and three
 * threads. With sums in order, a group of samples at a time gives the bits of all at a time. */
static void compare(const struct network_run *net, const char *name, uint32_t batch, bool exact)
{
    uint64_t n;
    float *one = outputs(net, batch, &(struct way){.batch = 1}, &n);
    float *all = outputs(net, batch, &(struct way){.batch = batch}, &n);
    assert_near(name, all, one, n);
    if (exact)
        assert_memory_equal(all, one, n * sizeof *all);
    for (uint32_t threads = 2; threads <= 3; threads++)
        assert_same(net, batch, &(struct way){.batch = batch, .threads = threads}, all);
    free(one);
    free(all);
    const struct way whole = {.batch = batch, .flags = PITH_FLAG_WHOLE_BATCH, .ordered = true};
    all = outputs(net, batch, &whole, &n);
    assert_same(net, batch, &(struct way){.batch = batch, .ordered = true}, all);
    free(all);
}

static struct pith_model *load(const char *name)
{
    char path[512];
    struct pith_model *m;
    struct pith_error err = {0};
    const char *dir = getenv("PITH_DATA");
    snprintf(path, sizeof path, "%s/models/%s.onnx", dir ? dir : "../shared/data", name);
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fclose(f);
    SUCCEEDS(pith_model_load(path, NULL, &m, &err));
    return m;
}

/* On the ranges of one drawn sample. */
static void make_integers(struct pith_model *m)
{
    struct pith_quantize_opts q = {.size_bytes = sizeof q};
    struct pith_error err = {0};
    const struct pith_value *in = &m->values[m->inputs[0]];
    uint64_t n = 1, seed = 1;
    for (uint32_t i = 1; i < in->rank; i++)
        n *= in->dim[i];
    float *x = malloc(n * sizeof *x);
    for (uint64_t i = 0; i < n; i++)
        x[i] = random_f32(&seed);
    run_network(m, m, x, n, NULL);
    SUCCEEDS(pith_quantize(m, &q, NULL, NULL, &err));
    free(x);
}

/* Rows of a matrix product are added up otherwise than one alone; integers are exact, and of a
 * network that ends in convolutions every kernel is that of one sample. */
static void check(const char *name, bool compressed, bool integers)
{
    struct pith_model *m = load(name);
    if (!m)
        skip();
    if (compressed)
        sample_compress(m, 0.15, 16);
    if (integers)
        make_integers(m);
    struct network_run net = open_network(m, NULL);
    for (uint32_t i = 0; i < sizeof batches / sizeof *batches; i++)
        compare(&net, name, batches[i], integers);
    pith_buffer_free(&net.file);
    pith_model_free(m);
}

#define NETWORK(name)                                                                              \
    TEST(test_##name)                                                                              \
    {                                                                                              \
        check(#name, false, false);                                                                \
    }                                                                                              \
    TEST(test_##name##_compressed)                                                                 \
    {                                                                                              \
        check(#name, true, false);                                                                 \
    }                                                                                              \
    TEST(test_##name##_integers)                                                                   \
    {                                                                                              \
        check(#name, false, true);                                                                 \
    }
NETWORK(mnist_lenet5_caffe)
NETWORK(cifar10_resnet20)
NETWORK(imagenet_squeezenet_v1_dc)
NETWORK(imagenet_mobilenet_v2)

RUN_TESTS
