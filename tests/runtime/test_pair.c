/* SPDX-License-Identifier: MIT */
/* test_pair.c - a convolution and the depthwise one behind it, run band by band: drawn pairs give
 * the bits that they give whole, on any number of threads; what a plan reports of them; and which
 * stay whole. */
#define GRAPH_DOUBLE_READER
#include "graph_double.h"
#include "guard_page.h"
#include "plan/plan.h"
#include "test_seed.h"
#include "weight_case.h"
#include "op_interface/op_attr.h"

#define ROUNDS 40u /* or what PITH_TEST_TRIALS says */
#define BAND_FLOATS (1u << 17)

static uint64_t seed;

static uint32_t below(uint32_t n)
{
    return (uint32_t)(random_u64(&seed) % n);
}

static uint32_t pick(uint32_t first, uint32_t last)
{
    return first + below(last - first + 1);
}

/* ---- graphs --------------------------------------------------------------------------------- */

struct window_drawn {
    uint32_t kernel_h, kernel_w, stride, dilation, pad[4], group;
};

static void set_conv(int32_t *attr, void *arg)
{
    const struct window_drawn *d = arg;
    attr[ATTR_CONV_GROUP] = (int32_t)d->group;
    attr[ATTR_CONV_STRIDES] = attr[ATTR_CONV_DILATIONS] = 2;
    attr[ATTR_CONV_PADS] = 4;
    for (uint32_t i = 1; i <= 2; i++) {
        attr[ATTR_CONV_STRIDES + i] = (int32_t)d->stride;
        attr[ATTR_CONV_DILATIONS + i] = (int32_t)d->dilation;
    }
    for (uint32_t i = 0; i < 4; i++)
        attr[ATTR_CONV_PADS + 1 + i] = (int32_t)d->pad[i];
}

static void set_clip(int32_t *attr, void *arg)
{
    (void)arg;
    attr[ATTR_CLIP_MIN] = (int32_t)f32_bits(-0.5f);
    attr[ATTR_CLIP_MAX] = (int32_t)f32_bits(2.0f);
}

static uint32_t activated(uint32_t v)
{
    switch (below(4)) {
    case 0:
        return v;
    case 1:
        return gd_node(PITH_OP_SIGMOID, NULL, NULL, 1, 1, v);
    case 2:
        return gd_node(PITH_OP_CLIP, set_clip, NULL, 1, 1, v);
    default:
        return gd_node(PITH_OP_RELU, NULL, NULL, 1, 1, v);
    }
}

/* What a round draws: x -> Relu -> convolution (pruned or not) -> depthwise one [+ other input]. */
struct drawn {
    uint32_t in_channels, channels, side_h, side_w;
    struct window_drawn first, second;
    bool has_residual, has_other; /* other: the Relu's result is read once more, behind the pair */
    struct weight_case weight;
    float *depth, *bias, *x, *other;
    size_t n_x, n_other, n_y;
};

static float *drawn_floats(size_t n)
{
    float *f = malloc(n * sizeof *f);
    for (size_t i = 0; i < n; i++)
        f[i] = random_f32(&seed);
    return f;
}

static uint32_t shrunk(const struct window_drawn *w, uint32_t kernel, uint32_t side, uint32_t pads)
{
    return (side + pads - ((kernel - 1) * w->dilation + 1)) / w->stride + 1;
}

static void draw_windows(struct drawn *d)
{
    uint32_t kernel = below(2) ? 1 : 3;
    d->first = (struct window_drawn){
        .kernel_h = kernel, .kernel_w = kernel, .stride = pick(1, 2), .dilation = 1, .group = 1};
    d->second = (struct window_drawn){.kernel_h = pick(1, 5),
                                      .kernel_w = pick(1, 5),
                                      .stride = pick(1, 3),
                                      .dilation = pick(1, 2),
                                      .group = d->channels};
    for (uint32_t i = 0; i < 4; i++) {
        d->first.pad[i] = below(kernel);
        d->second.pad[i] = below(4);
    }
}

static struct drawn draw(void)
{
    struct drawn d = {.in_channels = pick(2, 9), .channels = pick(14, 40)};
    draw_windows(&d);
    d.side_w = pick(40, 90) * d.first.stride;
    d.side_h = pick(280, 400) * BAND_FLOATS / 128 / (d.channels * d.side_w) * d.first.stride *
                   d.first.stride +
               9;
    uint32_t cols = d.in_channels * d.first.kernel_h * d.first.kernel_w;
    bool dense = below(2);
    d.weight = case_new(&(struct weight_want){.rows = d.channels,
                                              .cols = cols,
                                              .density = 0.15,
                                              .dense = dense,
                                              .n_groups = 1,
                                              .scale = 1},
                        &seed);
    d.depth = drawn_floats((size_t)d.channels * d.second.kernel_h * d.second.kernel_w);
    d.bias = drawn_floats(d.channels);
    d.has_residual = below(2);
    d.has_other = below(2);
    return d;
}

static uint32_t sparse_weight(const struct weight_case *k, const struct shape *s)
{
    gd.weight[gd.g.n_weights] = k->w;
    gd.weight[gd.g.n_weights++].shape = *s;
    return gd_value(s);
}

static void make_graph(struct drawn *d)
{
    const struct window_drawn *a = &d->first, *b = &d->second;
    uint32_t h = shrunk(a, a->kernel_h, d->side_h, a->pad[0] + a->pad[2]);
    uint32_t w = shrunk(a, a->kernel_w, d->side_w, a->pad[1] + a->pad[3]);
    uint32_t oh = shrunk(b, b->kernel_h, h, b->pad[0] + b->pad[2]);
    uint32_t ow = shrunk(b, b->kernel_w, w, b->pad[1] + b->pad[3]);
    gd_clear();
    uint32_t x = gd_input(4, 1, d->in_channels, d->side_h, d->side_w);
    uint32_t other = gd_input(4, 1, d->channels, oh, ow);
    uint32_t first = sparse_weight(
        &d->weight, &(struct shape){4, {d->channels, d->in_channels, a->kernel_h, a->kernel_w}});
    uint32_t depth = gd_weight(d->depth, 4, d->channels, 1, b->kernel_h, b->kernel_w);
    uint32_t bias = gd_weight(d->bias, 1, d->channels);
    x = gd_node(PITH_OP_RELU, NULL, NULL, 1, 1, x);
    uint32_t v = activated(gd_node(PITH_OP_CONV, set_conv, &d->first, 1, 3, x, first, bias));
    v = gd_node(PITH_OP_CONV, set_conv, &d->second, 1, 3, v, depth, bias);
    if (d->has_residual)
        v = gd_node(PITH_OP_ADD, NULL, NULL, 1, 2, v, other);
    gd_output(activated(v));
    if (d->has_other)
        gd_output(gd_node(PITH_OP_GLOBAL_MAX_POOL, NULL, NULL, 1, 1, x));
    d->n_x = (size_t)d->in_channels * d->side_h * d->side_w;
    d->n_other = d->n_y = (size_t)d->channels * oh * ow;
    d->x = drawn_floats(d->n_x);
    d->other = drawn_floats(d->n_other);
}

static void drop(struct drawn *d)
{
    case_free(&d->weight);
    free(d->depth), free(d->bias), free(d->x), free(d->other);
}

/* ---- runs ----------------------------------------------------------------------------------- */

static uint32_t pairs_of(const struct pith_plan *plan)
{
    struct pith_layer l;
    uint32_t n = 0;
    for (uint32_t i = 0; !pith_plan_layer(plan, i, &l); i++)
        n += l.band_rows > 0;
    return n;
}

/* Both outputs, one behind the other, of a plan in memory of exactly the size it requested. */
static float *outputs_of(const struct drawn *d, const struct pith_opts *opts, uint32_t *pairs)
{
    struct pith_plan *plan;
    struct pith_need need;
    float *y = calloc(d->n_y + d->in_channels, sizeof *y);
    void *mem = gd_plan(opts, &plan, &need);
    for (int twice = 0; twice < 2; twice++) {
        memcpy(pith_plan_input_data(plan, 0), d->x, d->n_x * sizeof(float));
        if (d->has_residual)
            memcpy(pith_plan_input_data(plan, 1), d->other, d->n_other * sizeof(float));
        assert_int_equal(pith_plan_run(plan), PITH_OK);
    }
    memcpy(y, pith_plan_output_data(plan, 0), d->n_y * sizeof(float));
    if (d->has_other)
        memcpy(y + d->n_y, pith_plan_output_data(plan, 1), d->in_channels * sizeof(float));
    *pairs = pairs_of(plan);
    free(mem);
    return y;
}

TEST(test_drawn_pairs)
{
    const char *wanted = getenv("PITH_TEST_TRIALS");
    uint32_t rounds = wanted ? (uint32_t)strtoul(wanted, NULL, 10) : ROUNDS, joined = 0, pairs;
    const uint32_t levels[] = {PITH_CPU_AVX2 | PITH_CPU_NEON, 0};
    for (uint32_t round = 0; round < rounds; round++) {
        struct drawn d = draw();
        uint32_t cpu = levels[round % 2];
        make_graph(&d);
        struct pith_opts opts = gd_opts(1, PITH_FLAG_WHOLE_BATCH, 0);
        opts.cpu_mask = cpu;
        float *want = outputs_of(&d, &opts, &pairs);
        assert_int_equal(pairs, 0);
        for (uint32_t threads = 0; threads <= 3; threads++) {
            opts = gd_opts(1, 0, threads);
            opts.cpu_mask = cpu;
            float *got = outputs_of(&d, &opts, &pairs);
            if (memcmp(got, want, (d.n_y + d.in_channels) * sizeof *got))
                fail_msg("round %u, threads %u: an output differs", round, threads);
            joined += pairs;
            free(got);
        }
        free(want);
        drop(&d);
    }
    if (pith_cpu_features() & levels[0])
        assert_true(joined > rounds);
}

/* ---- one pair ------------------------------------------------------------------------------- */

#define SIDE 112u
#define CHANNELS 32u

static float ones[CHANNELS * 9];

static void make_pair(uint32_t uses)
{
    struct window_drawn point = {1, 1, 1, 1, {0, 0, 0, 0}, 1};
    struct window_drawn depth = {3, 3, 1, 1, {1, 1, 1, 1}, CHANNELS};
    gd_clear();
    uint32_t x = gd_input(4, 1, 4, SIDE, SIDE);
    uint32_t w = gd_weight(ones, 4, CHANNELS, 4, 1, 1);
    uint32_t deep = gd_weight(ones, 4, CHANNELS, 1, 3, 3);
    uint32_t v = gd_node(PITH_OP_CONV, set_conv, &point, 1, 2, x, w);
    gd_output(gd_node(PITH_OP_CONV, set_conv, &depth, 1, 2, v, deep));
    if (uses == 2)
        gd_output(gd_node(PITH_OP_GLOBAL_MAX_POOL, NULL, NULL, 1, 1, v));
    if (uses == 3)
        gd_output(v);
}

static uint64_t tick(void *user)
{
    return ++*(uint64_t *)user;
}

static void watch(void *user, const struct pith_layer *layer, const struct pith_tensor *t)
{
    (void)user, (void)layer, (void)t;
}

static bool has_tiles(void)
{
    return pith_cpu_features() & (PITH_CPU_AVX2 | PITH_CPU_NEON);
}

/* Memory for a band of each thread in the place of the whole, and what is reported of it. */
TEST(test_reported)
{
    struct pith_opts whole = gd_opts(1, PITH_FLAG_WHOLE_BATCH, 0);
    for (uint32_t threads = 1; threads <= 2 && has_tiles(); threads++) {
        struct pith_opts opts = gd_opts(1, 0, threads);
        struct pith_plan *plan, *plain;
        struct pith_need need, without;
        struct pith_layer l;
        uint64_t clock = 0;
        make_pair(1);
        free(gd_plan(&whole, &plain, &without));
        opts.clock_ns = tick;
        opts.user = &clock;
        void *mem = gd_plan(&opts, &plan, &need);
        assert_int_equal(pith_plan_layer(plan, 0, &l), PITH_OK);
        assert_int_equal(l.lanes, threads);
        assert_in_range(l.band_rows, 1, SIDE / 2);
        uint64_t band = (uint64_t)CHANNELS * (l.band_rows + 2) * SIDE * sizeof(float);
        assert_true(band <= BAND_FLOATS * sizeof(float));
        assert_int_equal(without.arena_bytes - need.arena_bytes,
                         CHANNELS * SIDE * SIDE * sizeof(float) - threads * band);
        memset(pith_plan_input_data(plan, 0), 0, 4 * SIDE * SIDE * sizeof(float));
        assert_int_equal(pith_plan_run(plan), PITH_OK);
        uint64_t bands = (SIDE + l.band_rows - 1) / l.band_rows; /* lane 0 has every other one */
        for (uint32_t i = 0; i < 2; i++) {
            assert_int_equal(pith_plan_layer(plan, i, &l), PITH_OK);
            assert_int_equal(l.ns, (bands + threads - 1) / threads);
        }
        assert_int_equal(l.band_rows, 0);
        free(mem);
    }
}

TEST(test_stays_whole)
{
    struct pith_plan *plan;
    struct pith_need need;
    for (uint32_t i = 0; i < 6 && has_tiles(); i++) {
        struct pith_opts opts = gd_opts(1, i == 0 ? PITH_FLAG_NO_FUSION : 0, 0);
        if (i == 1) /* an observed value */
            opts.observe = watch;
        if (i == 2) /* an unknown number of threads */
            opts.parallel_for = backwards;
        if (i == 5) /* no packed kernels */
            opts.cpu_mask = PITH_CPU_REF;
        make_pair(i == 3 || i == 4 ? i - 1 : 1); /* 3, 4: somebody else reads it */
        void *mem = gd_plan(&opts, &plan, &need);
        assert_int_equal(pairs_of(plan), 0);
        free(mem);
    }
}

static int stops(void *user)
{
    return ++*(uint32_t *)user > 1;
}

/* Between the two steps, before either has run; then the next run runs both. */
TEST(test_stops)
{
    struct pith_opts opts = gd_opts(1, 0, 0);
    struct pith_plan *plan;
    struct pith_need need;
    uint64_t steps;
    uint32_t n_calls = 0, layer;
    make_pair(1);
    opts.stop = stops;
    opts.stop_user = &n_calls;
    void *mem = gd_plan(&opts, &plan, &need);
    assert_int_equal(pith_plan_run(plan), PITH_ERR_STOPPED);
    pith_plan_progress(plan, &steps, &layer);
    assert_int_equal(steps, 1);
    assert_int_equal(layer, 1);
    free(mem);
    opts.stop = NULL;
    opts.max_steps = 1;
    mem = gd_plan(&opts, &plan, &need);
    assert_int_equal(pith_plan_run(plan), PITH_ERR_LIMIT);
    free(mem);
}

int main(void)
{
    seed = test_seed(1);
    for (uint32_t i = 0; i < sizeof ones / sizeof *ones; i++)
        ones[i] = 1.0f;
    return run_listed_tests(NULL, NULL);
}
