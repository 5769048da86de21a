/* SPDX-License-Identifier: MIT */
/* Recurrent networks in integers: RNN, GRU and LSTM written as loops give what the operators gave;
 * layers in bodies become integers, with a grid for each part of what they read; data improve them
 * there, too. */
#include <string.h>
#include "test_run.h"
#include "quantize/transform/expand_recurrent.h"
#include "network_run.h"
#include "pith_quantize.h"

enum { STEPS = 7, WIDTH = 24, N_SAMPLES = 24, FEATURES = 2, SAMPLE = STEPS * FEATURES };

/* ---- models ---------------------------------------------------------------------------------- */

/* More outputs than the one that add_node makes. */
static void more_outputs(struct pith_model *m, struct pith_node *node, uint32_t n)
{
    uint32_t first = node->out[0];
    node->out = pith_model_alloc(m, n, sizeof *node->out);
    node->out[0] = first;
    for (uint32_t i = 1; i < n; i++)
        node->out[i] = add_value(m, "", PITH_F32, 0, NULL);
    node->n_out = n;
}

static uint32_t small_constant(struct pith_model *m, struct sample_random *r, const char *name,
                               uint32_t rank, const uint32_t *dim, float size)
{
    uint32_t v = add_constant(m, r, name, rank, dim);
    float *w = m->values[v].constant->data;
    for (uint64_t i = 0; i < m->values[v].constant->count; i++)
        w[i] *= size;
    return v;
}

struct kind {
    enum recurrent_kind kind;
    uint32_t gates;
    int32_t reverse, linear, forget;
    float clip;
    bool state, peepholes, bias;
    uint32_t steps;
};

/* x [1, steps * gates * WIDTH] -> RECURRENT -> all its outputs, side by side. */
static struct pith_model *operator_of(const struct kind *k, uint64_t seed)
{
    struct sample_random r = sample_random_of(seed);
    struct pith_model *m = sample_new();
    uint32_t rows = k->gates * WIDTH, in[7];
    uint32_t x = add_input(m, "x", 2, (const uint32_t[]){1, k->steps * rows});
    struct pith_node *node = add_node(m, PITH_OP_RESHAPE, "steps", "steps.out", 1, &x);
    memcpy(&node->attr[ATTR_RESHAPE_DIMS],
           (const int32_t[]){3, (int32_t)k->steps, 1, (int32_t)rows}, 4 * sizeof(int32_t));
    for (uint32_t i = 1; i < 7; i++)
        in[i] = PITH_VALUE_NONE;
    in[0] = node->out[0];
    in[1] = small_constant(m, &r, "R", 2, (const uint32_t[]){rows, WIDTH}, 0.3f);
    if (k->bias)
        in[2] = add_constant(m, &r, "b", 1, &rows);
    if (k->state)
        in[4] = small_constant(m, &r, "h0", 2, (const uint32_t[]){1, WIDTH}, 0.3f);
    if (k->state && k->kind == RECURRENT_LSTM)
        in[5] = add_constant(m, &r, "c0", 2, (const uint32_t[]){1, WIDTH});
    if (k->peepholes)
        in[6] = add_constant(m, &r, "P", 1, (const uint32_t[]){3 * WIDTH});
    node = add_node(m, PITH_OP_RECURRENT, "cell", "y", k->kind == RECURRENT_LSTM ? 7 : 5, in);
    node->attr[ATTR_RECURRENT_KIND] = (int32_t)k->kind;
    node->attr[ATTR_RECURRENT_REVERSE] = k->reverse;
    node->attr[ATTR_RECURRENT_LINEAR_BEFORE_RESET] = k->linear;
    node->attr[ATTR_RECURRENT_INPUT_FORGET] = k->forget;
    if (k->clip > 0)
        memcpy(&node->attr[ATTR_RECURRENT_CLIP], &k->clip, sizeof k->clip);
    uint32_t n = k->kind == RECURRENT_LSTM ? 3 : 2, flat[3];
    more_outputs(m, node, n);
    for (uint32_t i = 0; i < n; i++) {
        const char *const name[] = {"flat y", "flat h", "flat c"};
        uint32_t out = m->nodes[1].out[i];
        struct pith_node *reshape = add_node(m, PITH_OP_RESHAPE, "flat", name[i], 1, &out);
        memcpy(&reshape->attr[ATTR_RESHAPE_DIMS], (const int32_t[]){2, 1, -1}, 3 * sizeof(int32_t));
        flat[i] = reshape->out[0];
    }
    node = add_node(m, PITH_OP_CONCAT, "all", "all.out", n, flat);
    return sample_done(m, node->out[0]);
}

static const struct kind kinds[] = {
    {RECURRENT_RNN, 1, .bias = true, .steps = STEPS},
    {RECURRENT_RNN, 1, .reverse = 1, .state = true, .steps = STEPS},
    {RECURRENT_RNN, 1, .state = true, .steps = 1},
    {RECURRENT_GRU, 3, .bias = true, .steps = STEPS},
    {RECURRENT_GRU, 3, .linear = 1, .bias = true, .state = true, .steps = STEPS},
    {RECURRENT_GRU, 3, .reverse = 1, .clip = 0.5f, .bias = true, .steps = STEPS},
    {RECURRENT_GRU, 3, .state = true, .bias = true, .steps = 1},
    {RECURRENT_LSTM, 4, .bias = true, .steps = STEPS},
    {RECURRENT_LSTM, 4, .reverse = 1, .state = true, .peepholes = true, .steps = STEPS},
    {RECURRENT_LSTM, 4, .forget = 1, .clip = 0.7f, .peepholes = true, .steps = STEPS},
    {RECURRENT_LSTM, 4, .bias = true, .state = true, .steps = 1},
};

TEST(loops_give_what_operators_gave)
{
    const struct pith_quantize_opts o = {.size_bytes = sizeof o};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct pith_model *m = operator_of(&kinds[i], i + 1);
        struct sample_random r = sample_random_of(100 + i);
        struct pith_error err = {0};
        float x[STEPS * 4 * WIDTH], a[(STEPS + 2) * WIDTH], b[(STEPS + 2) * WIDTH];
        uint32_t n = kinds[i].steps * kinds[i].gates * WIDTH;
        uint32_t n_y = (kinds[i].steps + (kinds[i].kind == RECURRENT_LSTM ? 2 : 1)) * WIDTH;
        for (uint32_t k = 0; k < n; k++)
            x[k] = sample_gauss(&r);
        run_network(m, m, x, n, a);
        SUCCEEDS(pith_expand_recurrent(m, &o, &err) || pith_model_infer_shapes(m, &err));
        assert_int_equal(count_ops(m, PITH_OP_RECURRENT), 0);
        assert_int_equal(count_ops(m, PITH_OP_LOOP), kinds[i].steps > 1);
        run_network(m, NULL, x, n, b);
        for (uint32_t k = 0; k < n_y; k++)
            if (!(fabsf(a[k] - b[k]) < 1e-5f)) /* some 10 roundings a step */
                fail_msg("kind %zu, number %u: %g became %g", i, k, (double)a[k], (double)b[k]);
        pith_model_free(m);
    }
}

/* A loop has one number of steps, so with an open length the operator stays. */
TEST(open_lengths_stay_operators)
{
    const struct pith_quantize_opts o = {.size_bytes = sizeof o};
    for (uint32_t open = 0; open < 2; open++) {
        struct pith_model *m = operator_of(&kinds[0], 1);
        struct pith_error err = {0};
        float x[STEPS * WIDTH] = {1}, y[(STEPS + 1) * WIDTH];
        run_network(m, m, x, STEPS * WIDTH, y);
        m->sizes = pith_model_alloc(m, 1, sizeof *m->sizes);
        m->sized = pith_model_alloc(m, 1, sizeof *m->sized);
        m->nodes[0].sized = pith_model_alloc(m, 1, sizeof *m->sized);
        assert_true(m->sizes && m->sized && m->nodes[0].sized);
        m->sizes[m->n_sizes++] = (struct pith_size){pith_model_strdup(m, "T"), STEPS, 100};
        if (open) {
            char text[16];
            snprintf(text, sizeof text, "%d*T", WIDTH);
            m->sized[m->n_sized++] = (struct pith_sized){1, pith_model_strdup(m, text)};
            m->nodes[0].sized[m->nodes[0].n_sized++] =
                (struct pith_sized){ATTR_RESHAPE_DIMS + 1, pith_model_strdup(m, "T")};
        }
        SUCCEEDS(pith_expand_recurrent(m, &o, &err) || pith_model_infer_shapes(m, &err));
        assert_int_equal(count_ops(m, PITH_OP_RECURRENT), open);
        assert_int_equal(count_ops(m, PITH_OP_LOOP), !open);
        pith_model_free(m);
    }
}

/* The cell of many exporters: a loop over x [STEPS, 1, FEATURES] with h' = tanh(W [x, h] + b), then
 * a layer. The first feature is a hundred times as large as a state. */
static struct pith_model *scan(uint64_t seed)
{
    struct sample_random r = sample_random_of(seed);
    struct pith_model *m = sample_new();
    uint32_t x = add_input(m, "x", 2, (const uint32_t[]){1, SAMPLE});
    struct pith_node *node = add_node(m, PITH_OP_RESHAPE, "steps", "steps.out", 1, &x);
    memcpy(&node->attr[ATTR_RESHAPE_DIMS], (const int32_t[]){3, STEPS, 1, FEATURES},
           4 * sizeof(int32_t));
    uint32_t steps = node->out[0];
    uint32_t h0 = small_constant(m, &r, "h0", 2, (const uint32_t[]){1, WIDTH}, 0);
    node = add_node(m, PITH_OP_LOOP, "loop", "i", 1, &h0);
    node->attr[ATTR_LOOP_TRIPS] = STEPS;
    more_outputs(m, node, 2);
    uint32_t index = node->out[0], h = node->out[1];
    uint32_t at =
        add_node(m, PITH_OP_GATHER, "at", "at.out", 2, (const uint32_t[]){steps, index})->out[0];
    node = add_node(m, PITH_OP_CONCAT, "join", "join.out", 2, (const uint32_t[]){at, h});
    uint32_t u = add_layer(m, &r, PITH_OP_GEMM, "cell", node->out[0], 2,
                           (const uint32_t[]){WIDTH, FEATURES + WIDTH});
    node = &m->nodes[m->n_nodes - 1];
    node->attr[ATTR_GEMM_TRANS_B] = 1;
    float *w = m->values[node->in[1]].constant->data;
    for (uint32_t k = 0; k < WIDTH * (FEATURES + WIDTH); k++)
        w[k] *= k % (FEATURES + WIDTH) == 0 ? 0.005f : 0.25f;
    uint32_t next = add_node(m, PITH_OP_TANH, "tanh", "tanh.out", 1, &u)->out[0];
    node = add_node(m, PITH_OP_LOOP_END, "loop", "last", 2, (const uint32_t[]){h, next});
    node->attr[ATTR_LOOP_TRIPS] = STEPS;
    node->attr[ATTR_LOOP_STATES] = 1;
    uint32_t y =
        add_layer(m, &r, PITH_OP_GEMM, "out", node->out[0], 2, (const uint32_t[]){5, WIDTH});
    m->nodes[m->n_nodes - 1].attr[ATTR_GEMM_TRANS_B] = 1;
    return sample_done(m, y);
}

/* ---- data ------------------------------------------------------------------------------------ */

struct series {
    float x[2 * N_SAMPLES][SAMPLE]; /* the second half is not for calibration */
    struct pith_data *data;
};

static struct series *series_of(uint64_t seed)
{
    struct series *s = calloc(1, sizeof *s);
    struct sample_random r = sample_random_of(seed);
    for (uint32_t n = 0; n < 2 * N_SAMPLES; n++)
        for (uint32_t k = 0; k < SAMPLE; k++)
            s->x[n][k] = sample_gauss(&r) * (k % FEATURES ? 1.0f : 60.0f);
    s->data = data_of_rows(s->x[0], N_SAMPLES, SAMPLE);
    return s;
}

static void free_series(struct series *s)
{
    pith_data_free(s->data);
    free(s);
}

/* Of m's outputs in integers over samples that calibration did not see; m becomes integers. */
static double sqnr(struct pith_model *m, const struct series *s, struct pith_quantize_opts o)
{
    float a[N_SAMPLES][5], b[N_SAMPLES][5];
    struct pith_error err = {0};
    o.size_bytes = sizeof o;
    for (uint32_t n = 0; n < N_SAMPLES; n++) {
        run_network(m, m, s->x[n], SAMPLE, NULL);
        run_network(m, NULL, s->x[N_SAMPLES + n], SAMPLE, a[n]);
    }
    SUCCEEDS(pith_quantize(m, &o, NULL, NULL, &err));
    for (uint32_t n = 0; n < N_SAMPLES; n++)
        run_network(m, NULL, s->x[N_SAMPLES + n], SAMPLE, b[n]);
    return snr_db(a[0], b[0], N_SAMPLES * 5);
}

/* ---- bodies ---------------------------------------------------------------------------------- */

/* On one grid, steps of the state would be 0.7 wide: no 10 dB. */
TEST(each_part_has_a_grid_of_its_own)
{
    struct series *s = series_of(1);
    struct pith_model *m = scan(2);
    struct pith_quantize_opts o = {.rounding = PITH_ROUND_NEAREST};
    double db = sqnr(m, s, o);
    assert_int_equal(count_ops(m, PITH_OP_MATMUL_INTEGER), 2);
    assert_int_equal(count_ops(m, PITH_OP_CONCAT), 0);
    assert_int_equal(count_ops(m, PITH_OP_GEMM), 1); /* of x: too narrow */
    if (db < 30)
        fail_msg("%.1f dB", db);
    pith_model_free(m);
    free_series(s);
}

TEST(data_improve_bodies)
{
    struct series *s = series_of(3);
    double db[2];
    for (int feedback = 0; feedback < 2; feedback++) {
        struct pith_model *m = scan(4);
        const struct pith_quantize_opts o = {.weight_bits = 4,
                                             .data = s->data,
                                             .keep_biases = true,
                                             .rounding =
                                                 feedback ? PITH_ROUND_GPTQ : PITH_ROUND_NEAREST};
        db[feedback] = sqnr(m, s, o);
        pith_model_free(m);
    }
    if (db[1] < db[0] + 2)
        fail_msg("nearest %.1f, with feedback %.1f dB", db[0], db[1]);
    free_series(s);
}

TEST(layers_in_bodies_can_be_kept)
{
    struct series *s = series_of(5);
    struct pith_model *m = scan(6);
    const char *keep[] = {"cell"};
    const struct pith_quantize_opts o = {.keep = keep, .n_keep = 1};
    sqnr(m, s, o);
    assert_int_equal(count_ops(m, PITH_OP_MATMUL_INTEGER), 1); /* behind the loop */
    assert_int_equal(count_ops(m, PITH_OP_GEMM), 1);           /* in one piece, as it was */
    assert_int_equal(count_ops(m, PITH_OP_CONCAT), 1);
    pith_model_free(m);
    free_series(s);
}

/* Names of as many bytes as there may be, with a sequence of UTF-8 at every place where one can be
 * cut; a file with longer names, or broken ones, would not be packed. Layers without names go by a
 * value's. */
TEST(parts_have_names)
{
    struct series *s = series_of(15);
    for (uint32_t ascii = 0; ascii < 3; ascii++) {
        struct pith_model *m = scan(16);
        const struct pith_quantize_opts o = {.size_bytes = sizeof o};
        struct pith_quantize_layer layers[PITH_QUANTIZE_PARTS * 8];
        struct pith_error err = {0};
        char name[256] = "";
        uint32_t n = 0, cell = 0;
        while (m->nodes[cell].op != PITH_OP_GEMM)
            cell++;
        if (ascii < 2)
            memset(name, 'x', 255);
        for (uint32_t i = ascii; i + 1 < 255 && ascii < 2; i += 2)
            memcpy(name + i, "\xC3\xA9", 2);
        m->nodes[cell].name = pith_model_strdup(m, ascii < 2 ? name : "");
        m->values[m->nodes[cell].in[1]].name = pith_model_strdup(m, name);
        run_network(m, m, s->x[0], SAMPLE, NULL);
        assert_true(m->n_nodes <= 8);
        assert_int_equal(pith_quantize(m, &o, layers, &n, &err), PITH_OK);
        assert_int_equal(n, 3);
        assert_non_null(strstr(layers[1].layer, ":0-1"));
        run_network(m, NULL, s->x[0], SAMPLE, NULL); /* packs it */
        pith_model_free(m);
    }
    free_series(s);
}

/* ---- bad input ------------------------------------------------------------------------------- */

/* The same number all the time; and then numbers that were never observed. */
TEST(constant_data_do_no_harm)
{
    struct series *s = series_of(7);
    for (uint32_t n = 0; n < N_SAMPLES; n++)
        memset(s->x[n], 0, sizeof s->x[n]);
    pith_data_free(s->data);
    s->data = data_of_rows(s->x[0], N_SAMPLES, SAMPLE);
    struct pith_model *m = scan(8);
    double db = sqnr(m, s, (struct pith_quantize_opts){.data = s->data});
    assert_true(db == db); /* no NaN */
    pith_model_free(m);
    free_series(s);
}

/* A NaN becomes the lowest integer, so it does no harm where weights are rounded. */
TEST(nan_among_samples_is_refused)
{
    struct series *s = series_of(9);
    struct pith_model *m = scan(10);
    struct pith_error err = {0};
    for (uint32_t n = 0; n < N_SAMPLES; n++)
        run_network(m, m, s->x[n], SAMPLE, NULL);
    s->x[3][4] = NAN;
    struct pith_data *data = data_of_rows(s->x[0], N_SAMPLES, SAMPLE);
    const struct pith_quantize_opts o = {.size_bytes = sizeof o, .data = data};
    assert_int_equal(pith_quantize(m, &o, NULL, NULL, &err), PITH_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "is NaN for sample 3"));
    pith_data_free(data);
    pith_model_free(m);
    free_series(s);
}

TEST(weights_in_bodies_are_checked)
{
    struct series *s = series_of(11);
    struct pith_model *m = scan(12);
    struct pith_error err = {0};
    const struct pith_quantize_opts o = {.size_bytes = sizeof o};
    run_network(m, m, s->x[0], SAMPLE, NULL);
    const struct pith_node *cell = first_op(m, PITH_OP_GEMM);
    ((float *)m->values[cell->in[1]].constant->data)[FEATURES + 5] = NAN;
    assert_int_equal(pith_quantize(m, &o, NULL, NULL, &err), PITH_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "weight 5 is not a finite number"));
    pith_model_free(m);
    free_series(s);
}

RUN_TESTS
