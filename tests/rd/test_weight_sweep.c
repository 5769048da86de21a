/* SPDX-License-Identifier: MIT */
/* A network swept as a whole: better than rounding to nearest with as many bits, the same bytes for
 * any number of threads and wherever values wait; weights without statistics are rounded all the
 * same; it stops on request, and reports what it refuses. */
#include "test_run.h"
#include "compress/failing_heap.h"
#include "conv_chain.h"
#include "pith_host.h"
#include "pith_pack.h"
#include "decode/trellis.h"
#include "pack/unpack.h"
#include "rd/sweep_options.h"
#include "rd/weight_sweep.h"
#include "rd/block_choice.h"
#include "rd/layer_support.h"
#include "rd/row_windows.h"
#include "rd/step_choice.h"

static struct pith_error err;

static void check(enum pith_status status)
{
    if (status)
        fail_msg("status %d: %s", (int)status, err.text);
}

static struct pith_model *sweep(const struct pith_model *m, struct pith_data *data,
                                struct pith_weight_sweep_opts o,
                                struct pith_weight_sweep_report *report)
{
    struct pith_model *out = NULL;
    o.size_bytes = sizeof o;
    check(pith_weight_sweep(m, data, &o, &out, report, &err));
    return out;
}

static bool same_weights(const struct pith_model *a, const struct pith_model *b)
{
    for (uint32_t v = 0; v < a->n_values; v++) {
        const struct pith_const *x = a->values[v].constant, *y = b->values[v].constant;
        if (x && memcmp(x->data, y->data, x->count * sizeof(float)))
            return false;
    }
    return true;
}

/* Squared error of the outputs, on samples that were not swept with. */
static double error_of(const struct pith_model *m, const struct pith_model *now)
{
    struct pith_data *data = chain_data(99);
    struct recorded_feed *feed;
    check(pith_recorded_feed_open(m, NULL, data, 0, &feed, &err));
    const struct layer_walk_opts o = {.feed = feed, .memory_bytes = 1 << 20};
    struct layer_walk *walk[2];
    double sum = 0;
    const uint32_t last = m->n_nodes - 1, x = m->nodes[last].in[0];
    check(pith_layer_walk_open(m, &o, &walk[0], &err));
    check(pith_layer_walk_open(now, &o, &walk[1], &err));
    for (int i = 0; i < 2; i++)
        check(pith_layer_walk_to(walk[i], last, &err));
    const float *w[] = {m->values[m->nodes[last].in[1]].constant->data,
                        now->values[m->nodes[last].in[1]].constant->data};
    const float *b[] = {m->values[m->nodes[last].in[2]].constant->data,
                        now->values[m->nodes[last].in[2]].constant->data};
    for (uint64_t s = 0; s < SAMPLES; s++) {
        float in[2][6];
        for (int i = 0; i < 2; i++)
            check(pith_layer_walk_read(walk[i], x, s, in[i], &err));
        for (int o5 = 0; o5 < 5; o5++) {
            double d = (double)(b[0][o5] - b[1][o5]);
            for (int k = 0; k < 6; k++)
                d += (double)(w[0][o5 * 6 + k] * in[0][k] - w[1][o5 * 6 + k] * in[1][k]);
            sum += d * d;
        }
    }
    pith_layer_walk_close(walk[0]);
    pith_layer_walk_close(walk[1]);
    pith_recorded_feed_close(feed);
    pith_data_free(data);
    return sum;
}

/* Of the same steps, each weight to its nearest integer, biases as they came. */
static struct pith_model *nearest(const struct pith_model *m, const struct pith_model *swept)
{
    struct pith_model *copy;
    check(pith_model_copy(m, &copy, &err));
    for (uint32_t v = 0; v < m->n_values; v++) {
        const struct pith_const *s = swept->values[v].constant;
        if (!s || !s->codebook || m->values[v].rank < 2)
            continue;
        float *w = copy->values[v].constant->data;
        for (uint64_t i = 0; i < s->count; i++) {
            const float *c =
                s->codebook->centroid + i / s->codebook->group_elems * s->codebook->n_centroids;
            float step = c[s->codebook->n_centroids - 1] - c[s->codebook->n_centroids - 2];
            w[i] = nearbyintf(w[i] / step) * step;
        }
    }
    return copy;
}

TEST(errs_less_than_nearest_rounding)
{
    struct pith_model *m = chain_new(5);
    struct pith_data *data = chain_data(7);
    struct pith_weight_sweep_report report;
    struct pith_model *out =
        sweep(m, data, (struct pith_weight_sweep_opts){.lambda = 4e-4}, &report);
    struct pith_model *plain = nearest(m, out);
    double swept = error_of(m, out), rounded = error_of(m, plain);
    assert_int_equal(report.n_layers, 4);
    assert_int_equal(report.n_data_free, 0);
    assert_int_equal(report.weights, 8 * 18 + 8 * 9 + 6 * 8 + 5 * 6);
    assert_true(report.bits > report.weights && report.bits < 8 * report.weights);
    if (swept > 0.6 * rounded || swept == 0)
        fail_msg("swept %g, nearest %g", swept, rounded);
    pith_model_free(plain);
    pith_model_free(out);
    pith_model_free(m);
    pith_data_free(data);
}

TEST(threads_and_places_change_no_bit)
{
    struct pith_model *m = chain_new(6);
    struct pith_data *data = chain_data(8);
    struct pith_weight_sweep_opts o = {.lambda = 1e-4, .rate_share = 0.5};
    struct pith_model *one = sweep(m, data, o, NULL);
    for (uint32_t threads = 2; threads <= 4; threads += 2) {
        struct pith_opts runtime = {.size_bytes = sizeof runtime};
        check(pith_threads_start(&runtime, threads));
        o.runtime = &runtime;
        o.memory_bytes = threads == 4 ? 1 : 0; /* all in files */
        struct pith_model *out = sweep(m, data, o, NULL);
        assert_true(same_weights(one, out));
        assert_false(same_weights(m, out));
        pith_model_free(out);
        pith_threads_stop(&runtime);
    }
    pith_model_free(one);
    pith_model_free(m);
    pith_data_free(data);
}

/* A larger lambda gives fewer bits and more loss; so do bits that count. */
TEST(lambda_trades_bits_for_loss)
{
    struct pith_model *m = chain_new(9);
    struct pith_data *data = chain_data(10);
    struct pith_weight_sweep_report at[3];
    const struct pith_weight_sweep_opts o[] = {
        {.lambda = 1e-4}, {.lambda = 1e-3}, {.lambda = 1e-3, .rate_share = 1}};
    for (int i = 0; i < 3; i++)
        pith_model_free(sweep(m, data, o[i], &at[i]));
    assert_true(at[0].bits > at[1].bits && at[1].bits > at[2].bits);
    assert_true(at[0].loss < at[1].loss && at[1].loss < at[2].loss);
    pith_model_free(m);
    pith_data_free(data);
}

/* Each part that is left out costs something. */
TEST(parts_can_be_left_out)
{
    struct pith_model *m = chain_new(17);
    struct pith_data *data = chain_data(18);
    static const uint32_t without[] = {0, PITH_SWEEP_NO_CORRECTION, PITH_SWEEP_NO_REFIT,
                                       PITH_SWEEP_NO_STATISTICS};
    struct pith_weight_sweep_report report[4];
    struct pith_model *out[4];
    for (int i = 0; i < 4; i++)
        out[i] =
            sweep(m, data, (struct pith_weight_sweep_opts){.lambda = 4e-4, .without = without[i]},
                  &report[i]);
    for (int i = 1; i < 4; i++)
        assert_false(same_weights(out[0], out[i]));
    assert_int_equal(report[0].n_data_free, 0);
    assert_int_equal(report[3].n_data_free, 4);
    assert_true(error_of(m, out[3]) > 1.5 * error_of(m, out[0]));
    for (int i = 0; i < 4; i++)
        pith_model_free(out[i]);
    pith_model_free(m);
    pith_data_free(data);
}

static void assert_levels(const struct pith_const *c, uint64_t cols, uint32_t states)
{
    const int32_t zero = (int32_t)c->codebook->n_centroids / 2;
    uint32_t state = 0;
    for (uint64_t i = 0; i < c->count; i++) {
        int32_t q = c->codebook->index[i] - zero;
        state = i % cols ? state : 0;
        assert_true(q == 0 || (q & 1) == (int32_t)(state & 1));
        state = pith_trellis_after(states, state, q);
    }
}

/* Of the rows that are long enough; the file has them as levels, and has so when it is written
 * again. */
TEST(levels_of_a_trellis)
{
    struct pith_model *m = chain_new(21);
    struct pith_data *data = chain_data(22);
    const struct pith_pack_opts pack = {.size_bytes = sizeof pack, .compact = true};
    for (uint32_t states = 8; states <= 16; states += 8) {
        struct pith_weight_sweep_opts o = {.lambda = 1e-4, .rate_share = 0.5, .states = states};
        struct pith_model *one = sweep(m, data, o, NULL), *read;
        struct pith_opts runtime = {.size_bytes = sizeof runtime};
        check(pith_threads_start(&runtime, 3));
        o.runtime = &runtime;
        struct pith_model *three = sweep(m, data, o, NULL);
        assert_true(same_weights(one, three));
        const uint32_t w = m->nodes[0].in[1];
        assert_levels(one->values[w].constant, 18, states);
        struct pith_buffer file, again;
        check(pith_model_pack(one, &pack, &file, &err));
        check(pith_unpack(file.data, file.bytes, "net.pith", NULL, &read, &err));
        const struct pith_const *c = read->values[read->nodes[0].in[1]].constant;
        assert_int_equal(c->trellis, states);
        assert_int_equal(read->values[read->nodes[2].in[1]].constant->trellis, 0);
        assert_memory_equal(c->data, one->values[w].constant->data, c->count * sizeof(float));
        check(pith_model_pack(read, &pack, &again, &err));
        assert_int_equal(again.bytes, file.bytes);
        assert_memory_equal(again.data, file.data, file.bytes);
        pith_buffer_free(&file);
        pith_buffer_free(&again);
        pith_model_free(read);
        pith_model_free(one);
        pith_model_free(three);
        pith_threads_stop(&runtime);
    }
    pith_model_free(m);
    pith_data_free(data);
}

/* Along 64 paths, which is the default of 16 states, errors and prices are less than along as many
 * as there are states, on the mean of some lambdas. */
TEST(many_paths_of_a_trellis_cost_less)
{
    struct pith_model *m = chain_new(21);
    struct pith_data *data = chain_data(22);
    static const uint32_t paths[] = {0, 16, 64};
    double cost[3] = {0};
    for (double lambda = 2e-5; lambda < 2e-3; lambda *= 2) {
        struct pith_weight_sweep_report report;
        struct pith_model *out[3];
        for (int i = 0; i < 3; i++) {
            out[i] =
                sweep(m, data,
                      (struct pith_weight_sweep_opts){
                          .lambda = lambda, .rate_share = 0.5, .states = 16, .paths = paths[i]},
                      &report);
            cost[i] += report.loss / lambda + 0.5 * report.bits;
        }
        assert_true(same_weights(out[0], out[2]));
        for (int i = 0; i < 3; i++)
            pith_model_free(out[i]);
    }
    if (!(cost[0] < cost[1]))
        fail_msg("64 paths cost %g, 16 %g", cost[0], cost[1]);
    pith_model_free(m);
    pith_data_free(data);
}

/* A weight that two nodes read has no statistics; a row of zeros, and inputs that are always 0. */
TEST(odd_layers_are_rounded_all_the_same)
{
    struct pith_model *m = chain_new(11);
    struct pith_data *data = chain_data(12);
    uint32_t grouped = m->nodes[0].in[1], bias = m->nodes[0].in[2], depth = m->nodes[2].in[1];
    memset(m->values[depth].constant->data, 0, 9 * sizeof(float));
    for (int i = 0; i < 8; i++) /* relu gives nothing but zeros */
        ((float *)m->values[bias].constant->data)[i] = -1000;
    uint32_t again = add_value(m, "again", 4, (uint32_t[]){1, 8, 6, 6});
    add_node(m, "again", PITH_OP_CONV, 3, m->nodes[0].in, again);
    memcpy(m->nodes[m->n_nodes - 1].attr, m->nodes[0].attr, 28 * sizeof(int32_t));
    struct pith_weight_sweep_report report;
    struct pith_model *out =
        sweep(m, data, (struct pith_weight_sweep_opts){.lambda = 1e-4}, &report);
    const struct pith_const *c = out->values[grouped].constant;
    assert_int_equal(report.n_data_free, 1);
    assert_non_null(c->codebook);
    for (uint64_t i = 0; i < c->count; i++)
        assert_true(fabsf(((float *)c->data)[i] - ((float *)m->values[grouped].constant->data)[i]) <
                    0.3f);
    for (int i = 0; i < 9; i++)
        assert_true(((float *)out->values[depth].constant->data)[i] == 0);
    pith_model_free(out);
    pith_model_free(m);
    pith_data_free(data);
}

/* The zeros of a pruned weight stay; those that dense ones happen to have may go. */
TEST(pruned_weights_stay_pruned)
{
    struct pith_model *m = chain_new(15);
    struct pith_data *data = chain_data(16);
    const struct pith_node *pruned = &m->nodes[0], *dense = &m->nodes[4];
    float *w = m->values[pruned->in[1]].constant->data;
    for (int i = 0; i < 8 * 18; i += 2)
        w[i] = 0;
    ((float *)m->values[dense->in[1]].constant->data)[5] = 0;
    struct pith_model *out = sweep(m, data, (struct pith_weight_sweep_opts){.lambda = 1e-6}, NULL);
    const float *now = out->values[pruned->in[1]].constant->data;
    for (int i = 0; i < 8 * 18; i++)
        assert_true((now[i] == 0) == (w[i] == 0) || fabsf(w[i]) < 0.02f);
    pith_model_free(out);
    pith_model_free(m);
    pith_data_free(data);
}

static bool stop_at_second(void *user, const struct pith_swept_layer *l)
{
    *(uint32_t *)user = l->number;
    return l->number < 1;
}

TEST(stops_and_refuses)
{
    struct pith_model *m = chain_new(13), *out = NULL;
    struct pith_data *data = chain_data(14);
    uint32_t n_reported = 0;
    struct pith_weight_sweep_opts o = {
        .size_bytes = sizeof o, .lambda = 1e-4, .on_layer = stop_at_second, .user = &n_reported};
    assert_int_equal(pith_weight_sweep(m, data, &o, &out, NULL, &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text, "interrupted");
    assert_int_equal(n_reported, 1);
    const struct pith_pattern rows = {PITH_PATTERN_ROW, 1, 1};
    const struct pith_weight_sweep_opts bad[] = {
        {.lambda = 0},
        {.lambda = -1},
        {.lambda = NAN},
        {.lambda = INFINITY},
        {.lambda = 1, .rate_share = -0.1},
        {.lambda = 1, .rate_share = 1.1},
        {.lambda = 1, .rate_share = NAN},
        {.lambda = 1, .states = 4},
        {.lambda = 1, .states = 8, .paths = 12},
        {.lambda = 1, .states = 8, .paths = 72},
        {.lambda = 1, .paths = 65},
        {.lambda = 1, .levels = 2},
        {.lambda = 1, .levels = 17},
        {.lambda = 1, .pattern = rows},
        {.lambda = 1, .pattern = {PITH_PATTERN_BLOCK, 7, 7}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        o = bad[i];
        o.size_bytes = sizeof o;
        if (pith_weight_sweep(m, data, &o, &out, NULL, &err) != PITH_ERR_ARGUMENT)
            fail_msg("options %zu are taken", i);
    }
    o = (struct pith_weight_sweep_opts){.size_bytes = sizeof o, .lambda = 1};
    m->n_inputs = 0;
    assert_int_equal(pith_weight_sweep(m, data, &o, &out, NULL, &err), PITH_ERR_UNSUPPORTED);
    m->n_inputs = 1;
    m->values[m->inputs[0]].dim[1] = 3;
    assert_int_equal(pith_weight_sweep(m, data, &o, &out, NULL, &err), PITH_ERR_ARGUMENT);
    assert_null(out);
    pith_model_free(m);
    pith_data_free(data);
}

/* Options at their ends are taken, and a refusal names every one. */
TEST(options_have_ends)
{
    struct pith_model *m = chain_new(13);
    const struct pith_weight_sweep_opts good[] = {
        {.lambda = 1e-300},
        {.lambda = 1, .rate_share = 1},
        {.lambda = 1, .paths = 64},
        {.lambda = 1, .states = 8, .paths = 8},
        {.lambda = 1, .states = 16, .paths = 64},
        {.lambda = 1, .states = 16},
        {.lambda = 1, .levels = 3},
        {.lambda = 1, .levels = 16},
        {.lambda = 1, .pattern = {PITH_PATTERN_BLOCK, 2, 2}},
    };
    static const struct {
        struct pith_weight_sweep_opts o;
        const char *text;
    } bad[] = {{{.lambda = 2, .rate_share = 3, .paths = 66, .states = 4, .levels = 17},
                "cannot sweep: lambda 2, rate share 3, 66 paths, 4 states, 17 levels"},
               {{.lambda = 1, .pattern = {PITH_PATTERN_ROW, 1, 1}},
                "cannot sweep in the pattern 'row': N:M, balanced:K/N or blocks"},
               {{.lambda = 1, .pattern = {PITH_PATTERN_CHANNEL, 1, 1}},
                "cannot sweep in the pattern 'channel': N:M, balanced:K/N or blocks"}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        check(pith_sweep_check(m, &good[i], &err));
        assert_int_equal(pith_sweep_has_pattern(&good[i]), good[i].pattern.kind != 0);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(pith_sweep_check(m, &bad[i].o, &err), PITH_ERR_ARGUMENT);
        assert_string_equal(err.text, bad[i].text);
    }
    const struct pith_pattern none = {PITH_PATTERN_N_OF_M, 2, 7};
    assert_int_equal(pith_weight_sweep_takes(m, &none, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, ": group 7 does not divide "));
    m->n_nodes = 0;
    assert_int_equal(pith_weight_sweep_takes(m, &good[8].pattern, &err), PITH_ERR_UNSUPPORTED);
    assert_string_equal(err.text, "no layer has float weights");
    pith_model_free(m);
}

/* ---- by hand --------------------------------------------------------------------------------- */

enum { X, W1, B1, Y1, R1, W2, B2, Y2 };

/* x [1, 2] -> gemm -> relu -> gemm, each [2, 2] with a bias. */
static struct pith_model *two_gemms(const float *const constant[4])
{
    struct pith_model *m = NULL;
    check(pith_model_new(NULL, &m));
    m->values = pith_model_alloc(m, 8, sizeof *m->values);
    m->nodes = pith_model_alloc(m, 3, sizeof *m->nodes);
    m->inputs = pith_model_alloc(m, 1, sizeof *m->inputs);
    m->outputs = pith_model_alloc(m, 1, sizeof *m->outputs);
    m->n_inputs = m->n_outputs = 1;
    const uint32_t row[] = {1, 2}, square[] = {2, 2}, two[] = {2};
    m->inputs[0] = add_value(m, "x", 2, row);
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t w = add_weight(m, i ? "w2" : "w1", 2, square),
                       b = add_weight(m, i ? "b2" : "b1", 1, two);
        memcpy(m->values[w].constant->data, constant[2 * i], 4 * sizeof(float));
        memcpy(m->values[b].constant->data, constant[2 * i + 1], 2 * sizeof(float));
        const uint32_t y = add_value(m, i ? "y2" : "y1", 2, row);
        add_node(m, i ? "fc2" : "fc1", PITH_OP_GEMM, 3, (uint32_t[]){i ? R1 : X, w, b}, y);
        m->nodes[m->n_nodes - 1].attr[ATTR_GEMM_TRANS_B] = 1;
        if (i == 0)
            add_node(m, "relu", PITH_OP_RELU, 1, &y, add_value(m, "r1", 2, row));
    }
    m->outputs[0] = Y2;
    return m;
}

static const float *numbers(const struct pith_model *m, uint32_t v)
{
    return m->values[v].constant->data;
}

static struct pith_data *data_of(const float *x, uint64_t samples)
{
    struct pith_data *data;
    float *copy = malloc(samples * 2 * sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, x, samples * 2 * sizeof *copy);
    check(pith_data_of_numbers(
        &(struct pith_numbers){.rank = 2, .dim = (uint32_t[]){1, 2}, .n = samples, .x = copy},
        &data, &err));
    return data;
}

static bool note_layer(void *user, const struct pith_swept_layer *l)
{
    ((struct pith_swept_layer *)user)[l->number] = *l;
    return true;
}

/* Without statistics a layer's results count 1 / |W|^2, and steps are sqrt(12 lambda |W|^2 / ln 2):
 * 0.32 and 0.64 here. All weights are nearest integers of these; refit is (q, w) / (q, q). Biases
 * whose sensitivity is known have the step of the same rule, others are halves. */
TEST(a_sweep_by_hand)
{
    static const float w[] = {1, 0.5f, -0.75f, 0.25f}, twice[] = {2, 1, -1.5f, 0.5f},
                       b[] = {1, -0.5f}, fine[] = {0.1f, 1000.1f};
    static const int q[] = {3, 2, -2, 1};
    const double power = 1.875, lambda = log(2) / 12 * 0.32 * 0.32 / power,
                 step = 0.32 * 5.75 / (18 * 0.32), error = 0.0016 + 0.0196 + 0.0121 + 0.0049,
                 bits = 4 * log2((4 + 0.4 * 9) / 1.4);
    const float *const constants[] = {w, b, twice, fine};
    struct pith_model *m = two_gemms(constants);
    struct pith_data *data = data_of((const float[]){1, 2, 3, 4}, 2);
    double of_bias[] = {0.5, 1.5};
    struct pith_row_sensitivity of[8] = {[B1] = {.rows = 2, .row = of_bias}};
    const struct pith_sensitivity known = {.n = 8, .n_samples = 2, .of = of};
    struct pith_swept_layer layer[2];
    struct pith_weight_sweep_report report;
    const struct pith_weight_sweep_opts o = {.lambda = lambda,
                                             .sensitivity = &known,
                                             .without = PITH_SWEEP_NO_STATISTICS,
                                             .on_layer = note_layer,
                                             .user = layer};
    struct pith_model *out = sweep(m, data, o, &report);
    const double by_bias = sqrt(12 * lambda / log(2));
    for (int k = 0; k < 4; k++) {
        assert_true(fabs((double)numbers(out, W1)[k] - step * q[k]) < 1e-6);
        assert_true(fabs((double)numbers(out, W2)[k] - 2 * step * q[k]) < 1e-6);
    }
    assert_true(fabs((double)numbers(out, B1)[0] - 4 * by_bias) < 1e-6);
    assert_true(fabs((double)numbers(out, B1)[1] + 2 * by_bias) < 1e-6);
    assert_true(numbers(out, B2)[0] == 0x1.998p-4f && numbers(out, B2)[1] == 1000);
    assert_int_equal(out->values[B2].constant->stored, PITH_F16);
    for (int i = 0; i < 2; i++) {
        assert_true(layer[i].data_free && !layer[i].by_row && layer[i].weights == 4);
        assert_true(layer[i].n_layers == 2 && fabs(layer[i].bits - bits) < 1e-9);
        assert_true(fabs(layer[i].loss - error / power / 2) < 1e-6);
        assert_true(fabs(layer[i].step - (i + 1) * step) < 1e-6);
    }
    assert_true(report.n_layers == 2 && report.n_data_free == 2 && report.weights == 8);
    assert_true(fabs(report.bits - 2 * bits) < 1e-9 && fabs(report.loss - error / power) < 1e-6);
    pith_model_free(out);
    pith_model_free(m);
    pith_data_free(data);
}

/* What each layer's weights change on the mean, its bias makes up for: W was - W' now, of the
 * inputs before and now. */
TEST(biases_make_up_for_the_mean)
{
    enum { N = 8 };
    static const float w1[] = {1, 0.5f, -0.75f, 0.25f}, b1[] = {0.5f, 1},
                       w2[] = {0.6f, -1, 0.8f, 0.3f}, b2[] = {0.25f, -0.125f};
    const float *const constants[] = {w1, b1, w2, b2};
    struct test_random r = {77};
    float x[2 * N];
    double in[2][2] = {{0}}, hidden[2][2] = {{0}};
    for (int i = 0; i < 2 * N; i++)
        x[i] = 2 + test_gauss(&r);
    struct pith_model *m = two_gemms(constants);
    struct pith_data *data = data_of(x, N);
    struct pith_model *out = sweep(m, data, (struct pith_weight_sweep_opts){.lambda = 2e-3}, NULL);
    for (int net = 0; net < 2; net++) { /* as it came, as it is now */
        const float *w = numbers(net ? out : m, W1), *b = numbers(net ? out : m, B1);
        for (int i = 0; i < N; i++)
            for (int k = 0; k < 2; k++) {
                in[net][k] += (double)x[2 * i + k] / N;
                hidden[net][k] +=
                    fmax((double)(w[2 * k] * x[2 * i] + w[2 * k + 1] * x[2 * i + 1] + b[k]), 0) / N;
            }
    }
    double moved = 0;
    for (int k = 0; k < 4; k++) {
        const uint32_t w = k < 2 ? W1 : W2, b = k < 2 ? B1 : B2;
        double bias = (double)numbers(m, b)[k % 2];
        for (int j = 0; j < 2; j++)
            bias += (double)numbers(m, w)[k % 2 * 2 + j] * (k < 2 ? in : hidden)[0][j] -
                    (double)numbers(out, w)[k % 2 * 2 + j] * (k < 2 ? in : hidden)[1][j];
        moved = fmax(moved, fabs(bias - (double)numbers(m, b)[k % 2]));
        if (!(fabs(bias - (double)numbers(out, b)[k % 2]) < 1e-3))
            fail_msg("bias %d is %g, wanted %g", k, (double)numbers(out, b)[k % 2], bias);
    }
    assert_true(moved > 0.05);
    pith_model_free(out);
    pith_model_free(m);
    pith_data_free(data);
}

static struct {
    struct pith_model *m;
    struct pith_data *data;
    struct pith_weight_sweep_opts o;
} failing;

static enum pith_status sweep_once(struct pith_error *e)
{
    enum pith_status st;
    struct pith_model *out = NULL;
    FAILING(pith_weight_sweep(failing.m, failing.data, &failing.o, &out, NULL, e));
    assert_int_equal(out == NULL, st != PITH_OK);
    pith_model_free(out);
    return st;
}

TEST(each_allocation_may_fail)
{
    static const float w[] = {1, 0.5f, -0.75f, 0.25f}, b[] = {1, -0.5f}, x[] = {1, 2, 3, 4, 0, 1};
    const float *const constants[] = {w, b, w, b};
    static const struct pith_pattern patterns[] = {
        {PITH_PATTERN_ANY, 0, 0}, {PITH_PATTERN_N_OF_M, 1, 2}, {PITH_PATTERN_BLOCK, 2, 1}};
    failing.m = two_gemms(constants);
    failing.data = data_of(x, 3);
    for (size_t i = 0; i < 3; i++) {
        failing.o = (struct pith_weight_sweep_opts){.size_bytes = sizeof failing.o,
                                                    .lambda = 1e-3,
                                                    .rate_share = 1,
                                                    .pattern = patterns[i]};
        fail_each(sweep_once, true, i == 0); /* a list of weights is made without, slower */
    }
    pith_model_free(failing.m);
    pith_data_free(failing.data);
}

RUN_TESTS
