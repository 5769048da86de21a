/* SPDX-License-Identifier: MIT */
/* What data are for: rounding with feedback, biases; the same bits for any number of threads;
 * refusals. */
#include "test_run.h"
#include "network_run.h"
#include "pith_pack.h"
#include "pith_host.h"
#include "pith_quantize.h"
#include "quantize/round/rounded_layers.h"

enum { N_SAMPLES = 24, CHANNELS = 6, SIDE = 7, PIXELS = CHANNELS * SIDE * SIDE, CLASSES = 10 };

/* conv, relu, depthwise conv, relu, grouped conv with stride, sum of it with itself, mean, gemm. */
static struct pith_model *network(uint64_t seed)
{
    struct sample_random r = sample_random_of(seed);
    struct pith_model *m = sample_new();
    uint32_t x = add_input(m, "x", 4, (const uint32_t[]){1, CHANNELS, SIDE, SIDE});
    x = add_layer(m, &r, PITH_OP_CONV, "a", x, 4, (const uint32_t[]){12, CHANNELS, 3, 3});
    pads_of_one(&m->nodes[m->n_nodes - 1]);
    x = add_node(m, PITH_OP_RELU, "ra", "ra.out", 1, &x)->out[0];
    x = add_layer(m, &r, PITH_OP_CONV, "b", x, 4, (const uint32_t[]){12, 1, 3, 3});
    m->nodes[m->n_nodes - 1].attr[ATTR_CONV_GROUP] = 12;
    x = add_node(m, PITH_OP_RELU, "rb", "rb.out", 1, &x)->out[0];
    x = add_layer(m, &r, PITH_OP_CONV, "c", x, 4, (const uint32_t[]){8, 6, 3, 3});
    m->nodes[m->n_nodes - 1].attr[ATTR_CONV_GROUP] = 2;
    set_pair(&m->nodes[m->n_nodes - 1].attr[ATTR_CONV_STRIDES], 2);
    x = add_node(m, PITH_OP_ADD, "add", "add.out", 2, (const uint32_t[]){x, x})->out[0];
    x = add_node(m, PITH_OP_GLOBAL_AVERAGE_POOL, "mean", "mean.out", 1, &x)->out[0];
    x = add_node(m, PITH_OP_FLATTEN, "flat", "flat.out", 1, &x)->out[0];
    x = add_layer(m, &r, PITH_OP_GEMM, "d", x, 2, (const uint32_t[]){CLASSES, 8});
    return sample_done(m, x);
}

static struct pith_data *data_of(const float *x, uint32_t n, uint32_t rank, const uint32_t *dim)
{
    struct pith_buffer npy = {0};
    struct pith_data *data = NULL;
    struct pith_error err = {0};
    struct pith_data_opts o = {.size_bytes = sizeof o, .path = "x.npy", .rank = rank};
    uint32_t all[PITH_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++)
        all[i] = o.dim[i] = dim[i];
    all[0] = n;
    assert_int_equal(pith_npy_write(PITH_F32, rank, all, x, &npy, &err), PITH_OK);
    o.content = npy.data;
    o.content_bytes = npy.bytes;
    SUCCEEDS(pith_data_open(&o, &data, &err));
    pith_buffer_free(&npy);
    return data;
}

struct images {
    float x[2 * N_SAMPLES][PIXELS]; /* the second half is not for calibration */
    struct pith_data *data;
};

static struct images *images_of(uint64_t seed)
{
    struct images *i = calloc(1, sizeof *i);
    struct sample_random r = sample_random_of(seed);
    for (uint32_t n = 0; n < 2 * N_SAMPLES; n++) {
        float level = sample_gauss(&r);
        for (uint32_t k = 0; k < PIXELS; k++) /* neighbours are alike, as in pictures */
            i->x[n][k] = k % SIDE ? 0.7f * i->x[n][k - 1] + 0.5f * sample_gauss(&r) : level;
    }
    i->data = data_of(i->x[0], N_SAMPLES, 4, (const uint32_t[]){1, CHANNELS, SIDE, SIDE});
    return i;
}

static void free_images(struct images *i)
{
    pith_data_free(i->data);
    free(i);
}

/* Over samples that calibration did not see. */
static double sqnr(struct images *i, struct pith_quantize_opts o)
{
    float a[N_SAMPLES][CLASSES], b[N_SAMPLES][CLASSES];
    struct pith_model *m = network(3);
    struct pith_error err = {0};
    o.size_bytes = sizeof o;
    for (uint32_t n = 0; n < N_SAMPLES; n++) {
        run_network(m, m, i->x[n], PIXELS, NULL);
        run_network(m, NULL, i->x[N_SAMPLES + n], PIXELS, a[n]);
    }
    SUCCEEDS(pith_quantize(m, &o, NULL, NULL, &err));
    for (uint32_t n = 0; n < N_SAMPLES; n++)
        run_network(m, NULL, i->x[N_SAMPLES + n], PIXELS, b[n]);
    pith_model_free(m);
    return snr_db(a[0], b[0], N_SAMPLES * CLASSES);
}

TEST(each_method_helps)
{
    struct images *i = images_of(5);
    for (uint32_t bits = 3; bits <= 4; bits++) {
        struct pith_quantize_opts o = {.weight_bits = bits,
                                       .data = i->data,
                                       .rounding = PITH_ROUND_NEAREST,
                                       .keep_biases = true};
        double nearest = sqnr(i, o);
        o.keep_biases = false;
        double corrected = sqnr(i, o);
        o.keep_biases = true;
        o.rounding = PITH_ROUND_GPTQ;
        double feedback = sqnr(i, o);
        o.keep_biases = false;
        o.rounding = PITH_ROUND_DEFAULT;
        double both = sqnr(i, o);
        o.rounding = PITH_ROUND_ADAPTIVE;
        double adaptive = sqnr(i, o);
        if (corrected < nearest + 1 || feedback < nearest + 2 || both < nearest + 3 ||
            adaptive < nearest + 3)
            fail_msg(
                "%u bits: nearest %.1f, corrected %.1f, feedback %.1f, both %.1f, adaptive %.1f dB",
                bits, nearest, corrected, feedback, both, adaptive);
    }
    free_images(i);
}

/* Two products of the input, whose biases are added in the other order, and their sum. */
static struct pith_model *products(uint64_t seed)
{
    static const char *const name[2] = {"a", "b"}, *const bias[2] = {"a.bias", "b.bias"};
    static const char *const sums[2] = {"a.out", "b.out"}, *const both[2] = {"a.sum", "b.sum"};
    struct sample_random r = sample_random_of(seed);
    struct pith_model *m = sample_new();
    const uint32_t x = add_value(m, "x", PITH_F32, 3, (const uint32_t[]){1, CHANNELS * SIDE, SIDE});
    uint32_t w[2], c[2], y[2];
    m->inputs[m->n_inputs++] = x;
    for (uint32_t i = 0; i < 2; i++) {
        w[i] = add_constant(m, &r, name[i], 2, (const uint32_t[]){CLASSES, SIDE});
        c[i] = add_constant(m, &r, bias[i], 1, (const uint32_t[]){CLASSES});
        for (uint32_t k = 0; k < CLASSES; k++)
            ((float *)m->values[c[i]].constant->data)[k] *= 10;
    }
    for (uint32_t i = 0; i < 2; i++) {
        struct pith_node *node =
            add_node(m, PITH_OP_MATMUL, name[i], sums[i], 2, (const uint32_t[]){x, w[i]});
        node->attr[ATTR_MATMUL_TRANS_B] = 1;
        y[i] = node->out[0];
    }
    for (uint32_t i = 2; i-- > 0;)
        y[i] =
            add_node(m, PITH_OP_ADD, bias[i], both[i], 2, (const uint32_t[]){y[i], c[i]})->out[0];
    return sample_done(m, add_node(m, PITH_OP_ADD, "y", "y", 2, y)->out[0]);
}

/* Goals of adaptive rounding are sums with the bias, wherever that is added. */
TEST(goals_are_behind_the_bias)
{
    struct images *images = images_of(5);
    struct pith_data *data =
        data_of(images->x[0], N_SAMPLES, 3, (const uint32_t[]){1, CHANNELS * SIDE, SIDE});
    static float before[PIXELS / SIDE * CLASSES], after[PIXELS / SIDE * CLASSES];
    double snr[2];
    for (uint32_t adaptive = 0; adaptive < 2; adaptive++) {
        struct pith_model *m = products(9);
        struct pith_error err = {0};
        struct pith_quantize_opts o = {.size_bytes = sizeof o, .weight_bits = 4, .data = data};
        o.rounding = adaptive ? PITH_ROUND_ADAPTIVE : PITH_ROUND_NEAREST;
        for (uint32_t n = 0; n < N_SAMPLES; n++)
            run_network(m, m, images->x[n], PIXELS, NULL);
        run_network(m, NULL, images->x[N_SAMPLES], PIXELS, before);
        SUCCEEDS(pith_quantize(m, &o, NULL, NULL, &err));
        run_network(m, NULL, images->x[N_SAMPLES], PIXELS, after);
        snr[adaptive] = snr_db(before, after, sizeof before / sizeof *before);
        pith_model_free(m);
    }
    if (snr[1] < snr[0] + 1)
        fail_msg("nearest %.1f, adaptive %.1f dB", snr[0], snr[1]);
    pith_data_free(data);
    free_images(images);
}

/* x = (a, b, b): what one 0.4 loses the other makes up for. */
TEST(feedback_makes_up_for_what_was_lost)
{
    float x[64][3];
    struct sample_random r = sample_random_of(6);
    for (uint32_t n = 0; n < 64; n++) {
        x[n][0] = sample_gauss(&r);
        x[n][1] = x[n][2] = sample_gauss(&r);
    }
    for (int feedback = 0; feedback < 2; feedback++) {
        struct pith_data *data = data_of(x[0], 64, 2, (const uint32_t[]){1, 3});
        struct pith_model *m = sample_new();
        struct pith_error err = {0};
        uint32_t in = add_input(m, "x", 2, (const uint32_t[]){1, 3});
        uint32_t y = add_layer(m, &r, PITH_OP_GEMM, "a", in, 2, (const uint32_t[]){1, 3});
        sample_done(m, y);
        memcpy(m->values[m->nodes[0].in[1]].constant->data, (const float[]){1, 0.4f, 0.4f},
               3 * sizeof(float));
        for (uint32_t n = 0; n < 64; n++)
            run_network(m, m, x[n], 3, NULL);
        struct pith_quantize_opts o = {.size_bytes = sizeof o,
                                       .weight_bits = 2,
                                       .per_tensor = true,
                                       .data = data,
                                       .rounding = feedback ? PITH_ROUND_GPTQ : PITH_ROUND_NEAREST};
        assert_int_equal(pith_quantize(m, &o, NULL, NULL, &err), PITH_OK);
        const int8_t *q = m->values[first_op(m, PITH_OP_MATMUL_INTEGER)->in[1]].constant->data;
        assert_int_equal(q[0], 1);
        assert_int_equal(q[1] + q[2], feedback);
        pith_model_free(m);
        pith_data_free(data);
    }
}

/* Every third x[0] is twice what its grid, 0 to 255, can hold. Weights and all other inputs lie on
 * their grids, so there is nothing to make up for: what is cut is not compensated. */
TEST(what_is_cut_is_no_goal)
{
    float x[64][2];
    struct sample_random r = sample_random_of(10);
    for (uint32_t n = 0; n < 64; n++) {
        x[n][0] = (float)sample_below(&r, 256) + (n % 3 ? 0 : 256);
        x[n][1] = (float)sample_below(&r, 256);
    }
    struct pith_data *data = data_of(x[0], 64, 2, (const uint32_t[]){1, 2});
    struct pith_model *m = sample_new();
    struct pith_error err = {0};
    uint32_t in = add_input(m, "x", 2, (const uint32_t[]){1, 2});
    uint32_t y = add_layer(m, &r, PITH_OP_GEMM, "a", in, 2, (const uint32_t[]){1, 2});
    sample_done(m, y);
    memcpy(m->values[m->nodes[0].in[1]].constant->data, (const float[]){1, 50 / 127.0f},
           2 * sizeof(float));
    m->values[in].max = 255;
    m->values[in].min = 0;
    m->values[in].n_observed = 1;
    struct pith_quantize_opts o = {
        .size_bytes = sizeof o, .data = data, .rounding = PITH_ROUND_ADAPTIVE, .keep_biases = true};
    SUCCEEDS(pith_quantize(m, &o, NULL, NULL, &err));
    const int8_t *q = m->values[first_op(m, PITH_OP_MATMUL_INTEGER)->in[1]].constant->data;
    assert_int_equal(q[0], 127);
    assert_int_equal(q[1], 50);
    pith_model_free(m);
    pith_data_free(data);
}

static uint64_t count_pruned(const struct pith_const *w)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < w->count; i++) {
        assert_true(w->mask[i] || ((const int8_t *)w->data)[i] == 0);
        n += !w->mask[i];
    }
    return n;
}

/* Also where making up for others would move it; and files need not store it. */
TEST(pruned_weights_stay_zero)
{
    struct images *i = images_of(9);
    struct pith_model *m = network(3);
    struct pith_error err = {0};
    uint64_t n_pruned = 0, n_found = 0;
    float masked[CLASSES], dense[CLASSES];
    for (uint32_t k = 0; k < m->n_nodes; k++)
        if (m->nodes[k].op == PITH_OP_CONV || m->nodes[k].op == PITH_OP_GEMM) {
            const struct pith_value *w = &m->values[m->nodes[k].in[1]];
            sample_prune(m, m->nodes[k].in[1], 0.5);
            n_pruned += w->constant->count / 2;
        }
    for (uint32_t n = 0; n < N_SAMPLES; n++)
        run_network(m, m, i->x[n], PIXELS, NULL);
    struct pith_quantize_opts o = {.size_bytes = sizeof o, .data = i->data};
    SUCCEEDS(pith_quantize(m, &o, NULL, NULL, &err));
    run_network(m, NULL, i->x[N_SAMPLES], PIXELS, masked);
    for (uint32_t k = 0; k < m->n_nodes; k++)
        if (m->nodes[k].op == PITH_OP_CONV_INTEGER || m->nodes[k].op == PITH_OP_MATMUL_INTEGER) {
            struct pith_const *w = m->values[m->nodes[k].in[1]].constant;
            assert_non_null(w->mask);
            n_found += count_pruned(w);
            w->mask = NULL;
        }
    assert_int_equal(n_found, n_pruned);
    run_network(m, NULL, i->x[N_SAMPLES], PIXELS, dense);
    assert_memory_equal(masked, dense, sizeof dense);
    pith_model_free(m);
    free_images(i);
}

static struct pith_buffer bytes_on(struct images *i, uint32_t cpu_mask, uint32_t threads,
                                   enum pith_rounding rounding)
{
    struct pith_model *m = network(3);
    struct pith_error err = {0};
    struct pith_buffer file = {0};
    struct pith_opts runtime = {.size_bytes = sizeof runtime, .cpu_mask = cpu_mask};
    assert_int_equal(pith_threads_start(&runtime, threads), PITH_OK);
    for (uint32_t v = 0; v < m->n_values; v++)
        if (!m->values[v].constant) {
            m->values[v].min = -4; /* measured ranges would differ between float kernels */
            m->values[v].max = 8;
            m->values[v].n_observed = 1;
        }
    struct pith_quantize_opts o = {.size_bytes = sizeof o,
                                   .data = i->data,
                                   .runtime = &runtime,
                                   .keep_biases = true,
                                   .rounding = rounding};
    SUCCEEDS(pith_quantize(m, &o, NULL, NULL, &err));
    pith_threads_stop(&runtime);
    assert_int_equal(pith_model_pack(m, NULL, &file, &err), PITH_OK);
    pith_model_free(m);
    return file;
}

static void same_bytes(const struct pith_buffer *a, struct pith_buffer b)
{
    assert_int_equal(a->bytes, b.bytes);
    assert_memory_equal(a->data, b.data, a->bytes);
    pith_buffer_free(&b);
}

/* Adaptive rounding: on the same level; the float network's sums, its goal, differ a little on
 * others. */
TEST(rounding_is_the_same_for_any_threads)
{
    struct images *i = images_of(7);
    for (int k = PITH_ROUND_GPTQ; k <= PITH_ROUND_ADAPTIVE; k++) {
        struct pith_buffer a = bytes_on(i, 0, 1, (enum pith_rounding)k);
        for (uint32_t threads = 1; threads <= 3; threads++)
            same_bytes(&a, bytes_on(i, 0, threads, (enum pith_rounding)k));
        if (k == PITH_ROUND_GPTQ)
            same_bytes(&a, bytes_on(i, PITH_CPU_REF, 1, PITH_ROUND_GPTQ));
        pith_buffer_free(&a);
    }
    free_images(i);
}

static bool stop_at_once(void *user, uint64_t done, uint64_t total)
{
    (void)user;
    return done == 0 && total == 0;
}

static void refused(struct pith_data *data, bool stop, const char *text)
{
    struct pith_model *m = network(3);
    struct pith_error err = {0};
    static const float x[PIXELS] = {1, 2, 3};
    run_network(m, m, x, PIXELS, NULL);
    uint32_t n_nodes = m->n_nodes;
    struct pith_quantize_opts o = {
        .size_bytes = sizeof o, .data = data, .progress = stop ? stop_at_once : NULL};
    assert_int_equal(pith_quantize(m, &o, NULL, NULL, &err), PITH_ERR_ARGUMENT);
    if (!strstr(err.text, text))
        fail_msg("'%s' is not in '%s'", text, err.text);
    assert_int_equal(m->n_nodes, n_nodes);
    pith_model_free(m);
}

/* ---- chance is not fitted to --------------------------------------------------------------------
 */

enum { WIDE = 96, WIDEST = 2056, ROWS = 32, FITTED = 24, OTHERS = 200 };

/* One layer, whose inputs are white noise, or of which neighbours are alike. */
static double one_layer_db(uint32_t wide, bool white, enum pith_rounding rounding)
{
    static float fitted[FITTED * WIDEST], x[FITTED + OTHERS][WIDEST], a[OTHERS][ROWS],
        b[OTHERS][ROWS];
    struct sample_random r = sample_random_of(11);
    struct pith_model *m = sample_new();
    struct pith_error err = {0};
    uint32_t in = add_input(m, "x", 2, (const uint32_t[]){1, wide});
    sample_done(m, add_layer(m, &r, PITH_OP_GEMM, "fc", in, 2, (const uint32_t[]){ROWS, wide}));
    for (uint32_t n = 0; n < FITTED + OTHERS; n++)
        for (uint32_t k = 0; k < wide; k++)
            x[n][k] =
                sample_gauss(&r) * (white ? 1 : 0.3f) + (white || k == 0 ? 0 : 0.95f * x[n][k - 1]);
    for (uint32_t n = 0; n < FITTED; n++)
        memcpy(fitted + n * wide, x[n], wide * sizeof **x);
    struct pith_data *data = data_of(fitted, FITTED, 2, (const uint32_t[]){1, wide});
    const struct pith_quantize_opts o = {.size_bytes = sizeof o,
                                         .weight_bits = 4,
                                         .data = data,
                                         .keep_biases = true,
                                         .rounding = rounding};
    for (uint32_t n = 0; n < FITTED + OTHERS; n++)
        run_network(m, m, x[n], wide, n < FITTED ? NULL : a[n - FITTED]);
    SUCCEEDS(pith_quantize(m, &o, NULL, NULL, &err));
    for (uint32_t n = 0; n < OTHERS; n++)
        run_network(m, NULL, x[FITTED + n], wide, b[n]);
    pith_model_free(m);
    pith_data_free(data);
    return snr_db(a[0], b[0], OTHERS * ROWS);
}

/* White inputs have no correlations that error feedback could use: what few samples show of them is
 * chance, and damping by shrinkage leaves little of it. */
TEST(chance_is_not_fitted_to)
{
    for (int white = 0; white < 2; white++) {
        const double nearest = one_layer_db(WIDE, white, PITH_ROUND_NEAREST),
                     feedback = one_layer_db(WIDE, white, PITH_ROUND_DEFAULT);
        if (white ? feedback < nearest - 0.1 : feedback < nearest + 1)
            fail_msg("nearest %.2f dB, feedback %.2f dB", nearest, feedback);
    }
}

/* Of few samples, too, where weights have few bits. */
TEST(long_rows_of_few_bits_are_fed_back)
{
    const double nearest = one_layer_db(WIDEST, false, PITH_ROUND_NEAREST),
                 feedback = one_layer_db(WIDEST, false, PITH_ROUND_GPTQ);
    if (feedback < nearest + 0.3)
        fail_msg("nearest %.2f dB, feedback %.2f dB", nearest, feedback);
}

/* With other samples, too; where layers have goals, they are rounded anew. */
TEST(rounded_layers_are_taken_over)
{
    struct images *i = images_of(5), *other = images_of(6);
    struct rounded_layers r = {0};
    struct pith_quantize_opts o = {
        .data = i->data, .rounding = PITH_ROUND_GPTQ, .keep_biases = true};
    const double first = sqnr(i, o);
    o.rounded = &r;
    assert_true(sqnr(i, o) == first && r.n == 4);
    o.data = other->data;
    assert_true(sqnr(i, o) == first && r.n == 4);
    o.rounding = PITH_ROUND_ADAPTIVE;
    const double again = sqnr(i, o);
    o.rounded = NULL;
    assert_true(sqnr(i, o) == again && again != first);
    o.rounding = PITH_ROUND_GPTQ;
    assert_true(sqnr(i, o) != first);
    pith_rounded_free(&r);
    free_images(i);
    free_images(other);
}

TEST(says_what_is_wrong)
{
    struct images *i = images_of(8);
    struct pith_data *small = data_of(i->x[0], 2, 2, (const uint32_t[]){1, 9});
    refused(small, false, "takes 294 values, a sample has 9");
    refused(i->data, true, "interrupted");
    pith_data_free(small);
    free_images(i);
}

RUN_TESTS
