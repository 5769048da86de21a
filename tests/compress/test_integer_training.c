/* SPDX-License-Identifier: MIT */
/* Training that ends in a network of integers: its options, its result, that its
 * accuracy is the one reported, and that the network trained with rounding in the loop is the one
 * of integers. */
#include <stdint.h>
#include <math.h>
#include "test_run.h"
#include "train/tape/fake_quant_graph.h"
#include "train/tape/tape.h"
#include "train/tape/tape_state.h"
#include "pith_pack.h"
#include "pith_calibrate.h"
#include "pith_compress.h"
#include "pith_host.h"
#include "compress/held_out.h"
#include "train/small_network.h"

/* ---- options --------------------------------------------------------------------------------- */

TEST(test_specs)
{
    static const struct {
        const char *text;
        struct pith_integer_spec is;
    } good[] = {{"int8", {-127, 127, 8, false, false}},   {"w4a8", {-8, 7, 8, false, false}},
                {"w2a4,all", {-2, 1, 4, false, true}},    {"ternary", {-1, 1, 8, false, false}},
                {"ternary,all", {-1, 1, 8, false, true}}, {"fixed:8", {-127, 127, 8, true, false}},
                {"fixed:5", {-16, 15, 5, true, false}},   {"w8a2", {-127, 127, 2, false, false}}};
    static const char *const bad[] = {"",       "int",     "int16", "w4",     "w4a",
                                      "w1a8",   "w9a8",    "w4a16", "w4a8,",  "w4 a8",
                                      "fixed:", "fixed:9", "all",   "int8all"};
    struct pith_integer_spec s;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        if (!pith_integer_spec_parse(good[i].text, &s))
            fail_msg("'%s' is refused", good[i].text);
        if (s.lowest != good[i].is.lowest || s.highest != good[i].is.highest ||
            s.activation_bits != good[i].is.activation_bits || s.radix != good[i].is.radix ||
            s.all != good[i].is.all)
            fail_msg("'%s': %d..%d, %u", good[i].text, s.lowest, s.highest, s.activation_bits);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (pith_integer_spec_parse(bad[i], &s))
            fail_msg("'%s' is taken", bad[i]);
}

/* ---- stages ---------------------------------------------------------------------------------- */

static double accuracy_of(const struct pith_model *m, struct pith_data *data)
{
    const struct pith_feed_input input = {.data = data};
    const struct pith_feed feed = {.size_bytes = sizeof feed, .n_inputs = 1, .input = &input};
    const struct pith_engine_opts opts = {.size_bytes = sizeof opts, .threads = 1};
    struct pith_accuracy a;
    struct pith_engine *engine;
    struct pith_error err = {0};
    SUCCEEDS(pith_engine_open(m, &opts, &engine, &err) ||
             pith_evaluate(engine, &feed, NULL, &a, &err));
    pith_engine_close(engine);
    return (double)a.correct1 / (double)a.samples;
}

static uint32_t count_ops(const struct pith_model *m, uint32_t op)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_nodes; i++)
        n += m->nodes[i].op == op;
    return n;
}

static void check_weights(const struct pith_model *m, const struct pith_integer_spec *s)
{
    struct pith_weight_ref ref[16];
    uint32_t n = pith_model_all_weights(m, ref);
    assert_int_equal(n, 2);
    for (uint32_t i = 0; i < n; i++) {
        const struct pith_value *v = &m->values[ref[i].value];
        assert_int_equal(v->type, PITH_I8);
        for (uint64_t k = 0; k < v->constant->count; k++) {
            int8_t q = ((const int8_t *)v->constant->data)[k];
            assert_true(!s->all || (q >= s->lowest && q <= s->highest));
        }
    }
}

static struct pith_stage stage_of(const char *spec)
{
    struct pith_stage s;
    pith_stage_init(&s, PITH_STAGE_TRAIN);
    s.train.epochs = 4;
    s.train.batch = 32;
    s.train.rate = 0.02f;
    s.integers = spec;
    return s;
}

/* Of two layers, the first and the last: only ",all" gives them fewer than 8 bits. */
TEST(ends_as_integers)
{
    static const char *const specs[] = {"int8",        "w4a4",    "w4a4,all",
                                        "ternary,all", "fixed:8", "w2a2,all"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct pith_model *m = network_of(3, true); /* batch normalisation is folded before */
        struct pith_data *data = clouds(0), *val = clouds(0);
        struct pith_stage s = stage_of(specs[i]);
        struct pith_stage_context context = {
            .size_bytes = sizeof context, .seed = 1, .train = data, .val = val, .threads = 1};
        struct pith_stage_report r = {0};
        struct pith_integer_spec spec;
        struct pith_error err = {0};
        assert_true(pith_integer_spec_parse(specs[i], &spec));
        if (pith_stage_run_with(m, &s, &context, &r, &err))
            fail_msg("%s: %s", specs[i], err.text);
        assert_int_equal(count_ops(m, PITH_OP_MATMUL_INTEGER), 2);
        assert_int_equal(count_ops(m, PITH_OP_BATCH_NORM), 0);
        assert_int_equal(count_ops(m, PITH_OP_IDENTITY), 0);
        check_weights(m, &spec);
        bool narrow = spec.all && spec.activation_bits < 8;
        assert_int_equal(count_ops(m, PITH_OP_CLIP), narrow ? 2 : 0); /* of the input and of act */
        assert_int_equal(r.weights, HIDDEN * (INPUTS + CLASSES));
        if (r.train.val_accuracy != accuracy_of(m, val))
            fail_msg("%s: %g reported, %g found", specs[i], r.train.val_accuracy,
                     accuracy_of(m, val));
        /* a quarter is chance; weights of two and three values do not reach far in four epochs */
        if (!(r.train.val_accuracy > (spec.all && spec.highest == 1 ? 0.4 : 0.7)))
            fail_msg("%s: %g", specs[i], r.train.val_accuracy);
        char key[64];
        snprintf(key, sizeof key, "\"quantize\":\"%s\"", specs[i]);
        assert_non_null(strstr(m->history[m->n_history - 1].text, key));
        pith_stage_report_free(&r);
        pith_data_free(data);
        pith_data_free(val);
        pith_model_free(m);
    }
}

/* Without labels, towards the network as it was. */
TEST(without_labels)
{
    struct pith_model *m = network_of(3, false);
    struct pith_data *data = clouds(0);
    struct pith_stage s = stage_of("w4a8");
    const struct pith_stage_context context = {
        .size_bytes = sizeof context, .seed = 1, .train = data, .threads = 1};
    struct pith_stage_report r = {0};
    struct pith_error err = {0};
    s.train.loss = PITH_DISTILL;
    s.teacher = "start";
    SUCCEEDS(pith_stage_run_with(m, &s, &context, &r, &err));
    assert_true(r.train.loss < 0.2);
    assert_int_equal(count_ops(m, PITH_OP_MATMUL_INTEGER), 2);
    pith_stage_report_free(&r);
    pith_data_free(data);
    pith_model_free(m);
}

TEST(test_refusals)
{
    struct pith_model *m = network_of(3, false);
    struct pith_data *data = clouds(0);
    struct pith_stage s = stage_of("w4a12");
    const struct pith_stage_context context = {
        .size_bytes = sizeof context, .seed = 1, .train = data, .threads = 1};
    struct pith_error err = {0};
    assert_int_equal(pith_stage_run_with(m, &s, &context, NULL, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "'w4a12': give int8"));
    s = stage_of("int8");
    s.train.levels = 3;
    assert_int_equal(pith_stage_run_with(m, &s, &context, NULL, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "does not go with levels"));
    assert_int_equal(count_ops(m, PITH_OP_GEMM), 2);
    assert_int_equal(m->n_history, 0);
    pith_data_free(data);
    pith_model_free(m);
}

/* ---- the loop and the runtime ---------------------------------------------------------------- */

enum { SIDE = 8, IMAGES = 64, KINDS = 3 };

static struct pith_data *images(float *x)
{
    struct sample_random r = sample_random_of(11);
    struct pith_buffer npy;
    struct pith_data *data = NULL;
    struct pith_error err = {0};
    for (int i = 0; i < IMAGES * SIDE * SIDE; i++)
        x[i] = sample_gauss(&r);
    assert_int_equal(
        pith_npy_write(PITH_F32, 4, (const uint32_t[]){IMAGES, 1, SIDE, SIDE}, x, &npy, &err),
        PITH_OK);
    const struct pith_data_opts o = {.size_bytes = sizeof o,
                                     .path = "images.npy",
                                     .content = npy.data,
                                     .content_bytes = npy.bytes,
                                     .rank = 4,
                                     .dim = {1, 1, SIDE, SIDE}};
    SUCCEEDS(pith_data_open(&o, &data, &err));
    pith_buffer_free(&npy);
    return data;
}

static uint32_t conv(struct pith_model *m, struct sample_random *r, uint32_t x, uint32_t in,
                     uint32_t out, const char *name)
{
    uint32_t w = add_constant(m, r, name, 4, (const uint32_t[]){out, in, 3, 3});
    uint32_t b = add_constant(m, r, "", 1, &out);
    for (uint32_t i = 0; i < out * in * 9; i++)
        ((float *)m->values[w].constant->data)[i] *= 0.3f;
    char sums[32];
    snprintf(sums, sizeof sums, "%s_sums", name);
    struct pith_node *n = add_node(m, PITH_OP_CONV, name, sums, 3, (const uint32_t[]){x, w, b});
    n->attr[ATTR_CONV_PADS] = 4;
    for (int i = 1; i <= 4; i++)
        n->attr[ATTR_CONV_PADS + i] = 1;
    return n->out[0];
}

/* A residual block, pools of two kinds, a matrix. */
static struct pith_model *network(void)
{
    struct sample_random r = sample_random_of(5);
    struct pith_model *m = sample_new();
    uint32_t x = add_input(m, "x", 4, (const uint32_t[]){1, 1, SIDE, SIDE});
    m->batch_open = true;
    uint32_t a = conv(m, &r, x, 1, 4, "first");
    a = add_node(m, PITH_OP_RELU, "relu1", "r1", 1, &a)->out[0];
    struct pith_node *pool = add_node(m, PITH_OP_MAX_POOL, "pool", "p", 1, &a);
    pool->attr[ATTR_POOL_KERNEL] = pool->attr[ATTR_POOL_STRIDES] = 2;
    for (int i = 1; i <= 2; i++)
        pool->attr[ATTR_POOL_KERNEL + i] = pool->attr[ATTR_POOL_STRIDES + i] = 2;
    uint32_t p = pool->out[0], c = conv(m, &r, p, 4, 4, "second");
    uint32_t s = add_node(m, PITH_OP_ADD, "add", "s", 2, (const uint32_t[]){c, p})->out[0];
    s = add_node(m, PITH_OP_RELU, "relu2", "r2", 1, &s)->out[0];
    s = conv(m, &r, s, 4, 4, "third");
    s = add_node(m, PITH_OP_GLOBAL_AVERAGE_POOL, "mean", "g", 1, &s)->out[0];
    s = add_node(m, PITH_OP_FLATTEN, "flat", "f", 1, &s)->out[0];
    uint32_t w = add_constant(m, &r, "w", 2, (const uint32_t[]){KINDS, 4});
    uint32_t b = add_constant(m, &r, "bias", 1, (const uint32_t[]){KINDS});
    return sample_done(
        m, add_node(m, PITH_OP_GEMM, "last", "y", 3, (const uint32_t[]){s, w, b})->out[0]);
}

static const struct pith_quantize_opts as_trained = {
    .size_bytes = sizeof as_trained, .per_tensor_activations = true, .as_trained = true};

/* Weights of 4 bits, values of `bits`, learned for some steps. */
static void train(struct pith_model *m, struct pith_data *data, uint32_t bits,
                  struct pith_quantize_places *p)
{
    const struct pith_calibrate_opts see = {.size_bytes = sizeof see, .data = data};
    const struct pith_range_opts choose = {.size_bytes = sizeof choose,
                                           .method = PITH_RANGE_MSE,
                                           .bits = bits,
                                           .per = PITH_RANGE_PER_TENSOR};
    struct pith_train_value value[32] = {{0}};
    struct pith_train_weight weight[8] = {{0}};
    struct pith_train_integers q = {.values = value, .weights = weight};
    struct pith_model *teacher;
    struct pith_train_opts o;
    struct pith_train_result r;
    struct pith_error err = {0};
    SUCCEEDS(pith_model_copy(m, &teacher, &err) || pith_calibrate(m, &see, NULL, &err) ||
             pith_choose_grids(m, &choose, NULL, &err) ||
             pith_quantize_find_places(m, &as_trained, p, &err));
    assert_int_equal(p->n_weights, 4);
    for (; q.n_values < p->n_values; q.n_values++) {
        const struct pith_quantize_place *v = &p->values[q.n_values];
        value[q.n_values] = (struct pith_train_value){v->value, v->like, v->rounded, v->from_layer,
                                                      v->from_layer && !v->one_sided};
    }
    for (; q.n_weights < p->n_weights; q.n_weights++)
        weight[q.n_weights] = (struct pith_train_weight){
            .value = p->weights[q.n_weights].value, .lowest = -8, .highest = 7, .by_row = true};
    pith_train_opts_init(&o, sizeof o);
    o.epochs = 2;
    o.batch = 16;
    o.rate = 0.01f;
    o.threads = 1;
    o.loss = PITH_DISTILL;
    o.teacher = teacher;
    o.integers = &q;
    SUCCEEDS(pith_train(m, data, NULL, &o, &r, &err));
    pith_model_free(teacher);
}

/* Biases are whole numbers of the sums' unit in a network of integers; the loop does not round
 * them. */
static void round_biases(struct pith_model *m)
{
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct pith_node *n = &m->nodes[i];
        if (n->op != PITH_OP_CONV && n->op != PITH_OP_GEMM)
            continue;
        const struct pith_codebook *w = m->values[n->in[1]].constant->codebook;
        struct pith_const *b = m->values[n->in[2]].constant;
        for (uint32_t o = 0; o < b->count; o++) {
            float *at = (float *)b->data + o;
            double unit = (double)m->values[n->in[0]].grid->scale[0] *
                          (double)w->centroid[o * w->n_centroids + 9]; /* of -8..7, the 1 */
            *at = (float)(nearbyint((double)*at / unit) * unit);
        }
    }
}

/* The outputs of the tape, with the learned grids in the loop. */
static void run_loop(struct pith_model *m, const struct pith_quantize_places *p, const float *x,
                     float *y)
{
    struct pith_train_value value[32] = {{0}};
    struct pith_train_integers q = {.values = value, .n_values = p->n_values};
    struct pith_train_opts o = {.size_bytes = sizeof o, .integers = &q};
    const struct tape_opts opts = {.batch = IMAGES, .threads = 1};
    struct fake_graph *g = NULL;
    struct tape *t = NULL;
    struct pith_error err = {0};
    for (uint32_t i = 0; i < p->n_values; i++)
        value[i] = (struct pith_train_value){.value = p->values[i].value,
                                             .like = p->values[i].like,
                                             .rounded = p->values[i].rounded};
    SUCCEEDS(pith_fake_graph_open(m, &o, &g, &err) || pith_tape_new(m, &opts, &t, &err));
    for (uint32_t s = 0; s < PITH_TRAIN_SLICES; s++)
        memcpy(pith_tape_input(t, s, 0)->data, x + s * (IMAGES / 8) * SIDE * SIDE,
               IMAGES / 8 * SIDE * SIDE * sizeof *x);
    pith_tape_forward(t);
    for (uint32_t s = 0; s < PITH_TRAIN_SLICES; s++)
        memcpy(y + s * (IMAGES / 8) * KINDS, pith_tape_output(t, s, 0)->data,
               IMAGES / 8 * KINDS * sizeof *y);
    pith_tape_free(t);
    pith_fake_graph_close(g, m, false);
}

static void run_integers(const struct pith_model *m, const float *x, float *y)
{
    struct pith_buffer file;
    struct pith_session *session = NULL;
    struct pith_error err = {0};
    struct pith_opts o = {.size_bytes = sizeof o, .batch = IMAGES};
    SUCCEEDS(pith_model_pack(m, NULL, &file, &err) ||
             pith_open_memory(file.data, file.bytes, &o, &session, &err));
    struct pith_plan *plan = pith_plan_of(session);
    memcpy(pith_plan_input_data(plan, 0), x, IMAGES * SIDE * SIDE * sizeof *x);
    assert_int_equal(pith_plan_run(plan), PITH_OK);
    memcpy(y, pith_plan_output_data(plan, 0), IMAGES * KINDS * sizeof *y);
    pith_close(session);
    pith_buffer_free(&file);
}

/* Both do the same roundings of the same sums, but for those that f32 has in the loop: where such a
 * sum lies between two integers, these may differ, and what follows with them. One in twenty may.
 */
TEST(the_loop_is_the_network)
{
    for (uint32_t bits = 2; bits <= 8; bits += 2) {
        static float x[IMAGES * SIDE * SIDE];
        float loop[IMAGES * KINDS], integers[IMAGES * KINDS], size = 0;
        struct pith_quantize_places p = {0};
        struct pith_error err = {0};
        struct pith_data *data = images(x);
        struct pith_model *m = network();
        uint32_t off = 0;
        train(m, data, bits, &p);
        round_biases(m);
        run_loop(m, &p, x, loop);
        SUCCEEDS(pith_quantize(m, &as_trained, NULL, NULL, &err));
        assert_int_equal(count_ops(m, PITH_OP_CONV_INTEGER), 3);
        run_integers(m, x, integers);
        for (int i = 0; i < IMAGES * KINDS; i++)
            size = fmaxf(size, fabsf(loop[i]));
        for (int i = 0; i < IMAGES * KINDS; i++)
            off += !(fabsf(loop[i] - integers[i]) <= 1e-4f * size);
        if (!(size > 0.01f) || off > IMAGES * KINDS / 20)
            fail_msg("%u bits: %u of %d differ, largest %g", bits, off, IMAGES * KINDS,
                     (double)size);
        pith_quantize_places_free(&p);
        pith_data_free(data);
        pith_model_free(m);
    }
}

RUN_TESTS
