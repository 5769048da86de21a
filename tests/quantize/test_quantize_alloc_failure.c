/* SPDX-License-Identifier: MIT */
/* test_quantize_alloc_failure.c - every allocation of pith_quantize fails once: it says so, and the
 * network computes what it did before. */
#include "test_run.h"
#include "compress/failing_heap.h"
#include "network_run.h"
#include "pith_quantize.h"

enum { N_SAMPLES = 3, CHANNELS = 2, SIDE = 5, PIXELS = CHANNELS * SIDE * SIDE, CLASSES = 4 };

static float samples[N_SAMPLES][PIXELS];
static struct pith_data *data;

/* The mean of as many rows of a table as x has numbers is added. */
static uint32_t look_up(struct pith_model *m, struct sample_random *r, uint32_t x)
{
    uint32_t table = add_constant(m, r, "table", 2, (const uint32_t[]){128, 2 * CLASSES});
    uint32_t y = add_node(m, PITH_OP_SIGMOID, "to 1", "to 1.out", 1, &x)->out[0];
    struct pith_node *node = add_node(m, PITH_OP_CAST, "ids", "ids.out", 1, &y);
    node->attr[ATTR_CAST_TO] = PITH_I32;
    y = add_node(m, PITH_OP_GATHER, "rows", "rows.out", 2, (const uint32_t[]){table, node->out[0]})
            ->out[0];
    node = add_node(m, PITH_OP_REDUCE_MEAN, "row", "row.out", 1, &y);
    node->attr[ATTR_AXES] = node->attr[ATTR_AXES + 1] = 1;
    node->attr[ATTR_REDUCE_KEEP] = 0;
    return add_node(m, PITH_OP_ADD, "add", "add.out", 2, (const uint32_t[]){x, node->out[0]})
        ->out[0];
}

/* conv with a factor and a shift, relu, depthwise conv, two ways to a sum, a table, a pruned
 * gemm. */
static struct pith_model *network(void)
{
    struct sample_random r = sample_random_of(21);
    struct pith_model *m = sample_new();
    uint32_t x = add_input(m, "x", 4, (const uint32_t[]){1, CHANNELS, SIDE, SIDE});
    x = add_layer(m, &r, PITH_OP_CONV, "a", x, 4, (const uint32_t[]){CLASSES, CHANNELS, 3, 3});
    uint32_t c = add_constant(m, &r, "factor", 3, (const uint32_t[]){CLASSES, 1, 1});
    x = add_node(m, PITH_OP_MUL, "mul", "mul.out", 2, (const uint32_t[]){x, c})->out[0];
    c = add_constant(m, &r, "shift", 3, (const uint32_t[]){1, 1, 1});
    x = add_node(m, PITH_OP_ADD, "shift", "shift.out", 2, (const uint32_t[]){x, c})->out[0];
    x = add_node(m, PITH_OP_RELU, "relu", "relu.out", 1, &x)->out[0];
    uint32_t y = add_layer(m, &r, PITH_OP_CONV, "b", x, 4, (const uint32_t[]){CLASSES, 1, 1, 1});
    m->nodes[m->n_nodes - 1].attr[ATTR_CONV_GROUP] = CLASSES;
    x = add_node(m, PITH_OP_CONCAT, "join", "join.out", 2, (const uint32_t[]){x, y})->out[0];
    x = add_node(m, PITH_OP_GLOBAL_AVERAGE_POOL, "mean", "mean.out", 1, &x)->out[0];
    x = add_node(m, PITH_OP_FLATTEN, "flat", "flat.out", 1, &x)->out[0];
    x = look_up(m, &r, x);
    x = add_layer(m, &r, PITH_OP_GEMM, "d", x, 2, (const uint32_t[]){CLASSES, 2 * CLASSES});
    sample_prune(m, m->nodes[m->n_nodes - 1].in[1], 0.5);
    return sample_done(m, x);
}

static enum pith_status quantize(struct pith_error *err)
{
    enum pith_status st;
    static const char *const keep[] = {"b"};
    struct pith_model *m = network();
    float before[CLASSES], after[CLASSES];
    for (uint32_t n = 0; n < N_SAMPLES; n++)
        run_network(m, m, samples[n], PIXELS, before);
    struct pith_quantize_opts o = {.size_bytes = sizeof o, .data = data, .keep = keep, .n_keep = 1};
    FAILING(pith_quantize(m, &o, NULL, NULL, err));
    run_network(m, NULL, samples[N_SAMPLES - 1], PIXELS, after);
    double snr = snr_db(before, after, CLASSES);
    if (st ? snr < 100 : snr > 80)
        fail_msg("status %d, but the outputs are as near as %.1f dB", (int)st, snr);
    pith_model_free(m);
    return st;
}

TEST(every_allocation_may_fail)
{
    fail_all(quantize, true);
}

FIXTURE(set_up)
{
    static const uint32_t dim[4] = {N_SAMPLES, CHANNELS, SIDE, SIDE};
    struct sample_random r = sample_random_of(22);
    struct pith_buffer npy = {0};
    struct pith_data_opts o = {
        .size_bytes = sizeof o, .path = "x.npy", .rank = 4, .dim = {1, CHANNELS, SIDE, SIDE}};
    for (uint32_t i = 0; i < N_SAMPLES * PIXELS; i++)
        samples[i / PIXELS][i % PIXELS] = sample_gauss(&r);
    int st = pith_npy_write(PITH_F32, 4, dim, samples, &npy, NULL);
    o.content = npy.data;
    o.content_bytes = npy.bytes;
    st = st ? st : (int)pith_data_open(&o, &data, NULL);
    pith_buffer_free(&npy);
    return st;
}

FIXTURE(tear_down)
{
    pith_data_free(data);
    return 0;
}

RUN_TESTS_WITH(set_up, tear_down)
