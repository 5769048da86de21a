/* SPDX-License-Identifier: MIT */
/* A classifier with an LSTM through prune, cluster, encode and eval: its recurrent matrix is a
 * weight like any other, it is multiplied from its compressed form, and what is computed is the
 * effective network (as written to ONNX, read back and run densely). */
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include "test_run.h"
#include "measure/small_net.h"
#include "pith_load.h"
#include "pith_pack.h"
#include "pith_host.h"
#include "pith_onnx.h"
#include "pith_prune.h"
#include "pith_quantize.h"

enum { T = 6, I = 8, H = 96, G = 4 * H, CLASSES = 5, SAMPLES = 60 };

static void scale(struct pith_model *m, uint32_t v, float by)
{
    float *p = m->values[v].constant->data;
    for (uint64_t i = 0; i < m->values[v].constant->count; i++)
        p[i] *= by;
}

static void list(int32_t *slot, uint32_t n, int32_t a, int32_t b, int32_t c)
{
    const int32_t v[] = {a, b, c};
    slot[0] = (int32_t)n;
    memcpy(slot + 1, v, n * sizeof *v);
}

/* x [N, T*I] -> [T,N,I] -> LSTM -> last h -> fc */
static struct pith_model *classifier(void)
{
    struct sample_random r = sample_random_of(5);
    struct pith_model *m = sample_new();
    uint32_t x = add_value(m, "x", PITH_F32, 2, (const uint32_t[]){1, T * I});
    uint32_t w = add_constant(m, &r, "lstm.W", 2, (const uint32_t[]){G, I});
    uint32_t u = add_constant(m, &r, "lstm.R", 2, (const uint32_t[]){G, H});
    uint32_t fc = add_constant(m, &r, "fc.W", 2, (const uint32_t[]){CLASSES, H});
    scale(m, w, 0.3f), scale(m, u, 0.1f);
    m->inputs[m->n_inputs++] = x;
    m->batch_open = true;
    struct pith_node *node = add_node(m, PITH_OP_RESHAPE, "cut", "cut.out", 1, &x);
    list(node->attr + ATTR_RESHAPE_DIMS, 3, 0, T, I);
    node = add_node(m, PITH_OP_TRANSPOSE, "turn", "turn.out", 1, node->out);
    list(node->attr + ATTR_PERM, 3, 1, 0, 2);
    node = add_node(m, PITH_OP_MATMUL, "lstm", "gates", 2, (const uint32_t[]){node->out[0], w});
    node->attr[ATTR_MATMUL_TRANS_B] = 1;
    node = add_node(m, PITH_OP_RECURRENT, "lstm", "y", 2, (const uint32_t[]){node->out[0], u});
    node->attr[ATTR_KIND] = RECURRENT_LSTM;
    uint32_t y = node->out[0], h = add_value(m, "h", PITH_F32, 0, NULL);
    node->n_out = 2;
    node->out = pith_model_alloc(m, 2, sizeof *node->out);
    node->out[0] = y, node->out[1] = h;
    node = add_node(m, PITH_OP_GEMM, "fc", "fc.out", 2, (const uint32_t[]){h, fc});
    return sample_done(m, node->out[0]);
}

static void compress(struct pith_model *m, double sparsity)
{
    struct pith_prune_opts prune = {
        .size_bytes = sizeof prune, .by = PITH_PRUNE_BY_SPARSITY, .sparsity = sparsity};
    struct pith_cluster_opts cluster = {.size_bytes = sizeof cluster, .n_centroids = 16};
    struct pith_prune_layer pruned[3];
    struct pith_cluster_layer clustered[3];
    struct pith_error err = {0};
    uint32_t n = 0;
    assert_int_equal(pith_prune(m, &prune, pruned, &n, &err), PITH_OK);
    assert_int_equal(n, 3);
    assert_int_equal(pith_cluster(m, &cluster, clustered, &n, &err), PITH_OK);
    assert_int_equal(n, 3);
    for (uint32_t i = 0; i < m->n_values; i++)
        if (m->values[i].constant)
            m->values[i].constant->code = PITH_CODE_HUFFMAN;
}

TEST(test_weights)
{
    struct pith_weight_ref refs[8];
    struct pith_model *m = classifier();
    assert_int_equal(pith_model_weights(m, refs), 3);
    assert_int_equal(refs[1].op, PITH_OP_RECURRENT);
    assert_string_equal(refs[1].layer, "lstm");
    assert_string_equal(refs[1].tensor, "lstm.R");
    assert_int_equal(refs[1].rows, G);
    assert_int_equal(refs[1].cols, H);
    compress(m, 0.8);
    const struct pith_const *r = m->values[refs[1].value].constant;
    uint64_t kept = 0;
    assert_non_null(r->mask);
    assert_non_null(r->codebook);
    for (uint64_t i = 0; i < r->count; i++)
        kept += r->mask[i];
    assert_in_range(kept, r->count * 19 / 100, r->count * 21 / 100);
    pith_model_free(m);
}

/* y [CLASSES] of x, and the kernel that ran the LSTM. */
static const char *run(const struct pith_buffer *file, const float *x, float *y)
{
    struct pith_session *s;
    struct pith_error err;
    const char *kernel = NULL;
    assert_int_equal(pith_open_memory(file->data, file->bytes, NULL, &s, &err), PITH_OK);
    struct pith_plan *p = pith_plan_of(s);
    memcpy(pith_plan_input_data(p, 0), x, T * I * sizeof *x);
    assert_int_equal(pith_plan_run(p), PITH_OK);
    memcpy(y, pith_plan_output_data(p, 0), CLASSES * sizeof *y);
    for (uint32_t i = 0; i < pith_plan_layer_count(p); i++) {
        struct pith_layer layer;
        assert_int_equal(pith_plan_layer(p, i, &layer), PITH_OK);
        if (layer.op == PITH_OP_RECURRENT)
            kernel = layer.kernel;
    }
    pith_close(s);
    return kernel;
}

TEST(test_compressed)
{
    struct sample_random r = sample_random_of(9);
    struct pith_buffer plain, small, onnx, back;
    struct pith_error err = {0};
    struct pith_model *m = classifier(), *again;
    const struct pith_import_opts floats = {.size_bytes = sizeof floats, .no_grids = true};
    float x[T * I], dense[CLASSES], packed[CLASSES];
    assert_int_equal(pith_model_pack(m, NULL, &plain, &err), PITH_OK);
    compress(m, 0.8);
    assert_int_equal(pith_model_pack(m, NULL, &small, &err), PITH_OK);
    assert_true(small.bytes * 8 < plain.bytes);
    SUCCEEDS(pith_model_write_onnx(m, &onnx, &err));
    SUCCEEDS(pith_model_read(onnx.data, onnx.bytes, "back.onnx", &floats, &again, &err));
    assert_int_equal(pith_model_pack(again, NULL, &back, &err), PITH_OK);
    for (uint32_t i = 0; i < 20; i++) {
        for (uint32_t k = 0; k < T * I; k++)
            x[k] = sample_gauss(&r);
        const char *kernel = run(&small, x, packed);
        if (pith_cpu_features() & PITH_CPU_AVX512)
            assert_string_not_equal(kernel, "gemv-f32");
        assert_string_equal(run(&back, x, dense), "gemv-f32");
        for (uint32_t k = 0; k < CLASSES; k++)
            if (!(fabsf(packed[k] - dense[k]) <= 1e-4f))
                fail_msg("output %u: %g compressed, %g written and read", k, (double)packed[k],
                         (double)dense[k]);
    }
    pith_model_free(m), pith_model_free(again);
    pith_buffer_free(&plain), pith_buffer_free(&small);
    pith_buffer_free(&onnx), pith_buffer_free(&back);
}

static uint64_t correct(const struct pith_model *m, const float *x, const char *labels)
{
    struct pith_engine *e = engine_of(m);
    struct pith_data *data = rows_of(x, SAMPLES, T * I, labels);
    struct pith_feed_input input = {.data = data};
    struct pith_feed feed = {.size_bytes = sizeof feed, .input = &input, .n_inputs = 1};
    struct pith_accuracy a;
    struct pith_error err = {0};
    assert_int_equal(pith_evaluate(e, &feed, NULL, &a, &err), PITH_OK);
    assert_int_equal(a.samples, SAMPLES);
    pith_data_free(data);
    pith_engine_close(e);
    return a.correct1;
}

/* Labels are the network's own answers: it has all of them, compressed most of them. */
TEST(test_accuracy)
{
    static float x[SAMPLES * T * I];
    struct sample_random r = sample_random_of(11);
    struct pith_buffer file;
    struct pith_error err = {0};
    struct pith_model *m = classifier();
    char text[2 * SAMPLES + 1];
    float y[CLASSES];
    assert_int_equal(pith_model_pack(m, NULL, &file, &err), PITH_OK);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        for (uint32_t k = 0; k < T * I; k++)
            x[i * T * I + k] = sample_gauss(&r);
        run(&file, x + i * T * I, y);
        uint32_t best = 0;
        for (uint32_t k = 1; k < CLASSES; k++)
            best = y[k] > y[best] ? k : best;
        text[2 * i] = (char)('0' + best);
        text[2 * i + 1] = '\n';
    }
    text[2 * SAMPLES] = 0;
    char *labels = text_file(text);
    assert_int_equal(correct(m, x, labels), SAMPLES);
    compress(m, 0.3);
    assert_in_range(correct(m, x, labels), SAMPLES * 7 / 10, SAMPLES);
    remove(labels);
    pith_buffer_free(&file);
    pith_model_free(m);
}

RUN_TESTS
