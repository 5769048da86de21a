/* SPDX-License-Identifier: MIT */
/* test_plan_coded.c - plans of coded weights: apart from the arena, in batches, decoded by all
 * threads, as byte planes. */
#define GRAPH_DOUBLE_READER
#include "backwards.h"
#include "graph_double.h"
#include "plan/plan.h"

/* ---- random graphs -------------------------------------------------------------------------- */
struct case_plan {
    void *mem;
    struct pith_plan *plan;
    struct pith_need need;
};

#define WIDE 256u
static float half[WIDE * WIDE / 2], point[WIDE];

/* y = x w, every second weight 0, by a bitmap. */
static void coded_graph(uint8_t bitmap[WIDE * WIDE / 8], uint32_t rows)
{
    gd_clear();
    for (uint32_t i = 0; i < WIDE * WIDE / 2; i++)
        half[i] = (float)(i % 11) - 5;
    for (uint32_t i = 0; i < WIDE; i++)
        point[i] = (float)(i % 7) - 3;
    memset(bitmap, 0x55, WIDE * WIDE / 8);
    uint32_t x = gd_input(2, rows, WIDE), w = gd_weight(half, 2, WIDE, WIDE);
    struct weight *coded = &gd.weight[0];
    coded->nnz = coded->count / 2;
    coded->support = SUPPORT_BITMAP;
    coded->support_stream = (struct stream){bitmap, WIDE * WIDE / 8};
    coded->index_stream.n_bytes /= 2;
    gd_output(gd_node(PITH_OP_GEMM, NULL, NULL, 1, 2, x, w));
}

static void run_point(struct pith_plan *plan, float y[WIDE])
{
    memcpy(pith_plan_input_data(plan, 0), point, sizeof point);
    assert_int_equal(pith_plan_run(plan), PITH_OK);
    memcpy(y, pith_plan_output_data(plan, 0), WIDE * sizeof *y);
}

/* What decoding takes is reported separately, and is the caller's where he wants it so: the plan is
 * that much smaller, decodes into his memory and no further, and has no use for it afterwards. */
TEST(test_init_apart)
{
    static uint8_t bitmap[WIDE * WIDE / 8];
    coded_graph(bitmap, 1);
    struct pith_need within, apart;
    struct pith_plan *plan;
    float y[WIDE], same[WIDE];
    struct pith_opts opts = {
        .size_bytes = sizeof opts, .cpu_mask = PITH_CPU_REF, .flags = PITH_FLAG_DECODE_ONCE};
    void *mem = gd_plan(&opts, &plan, &within);
    run_point(plan, y);
    free(mem);
    assert_true(within.init_bytes > WIDE * WIDE / 2 * sizeof(uint32_t));
    assert_true(within.arena_bytes <= 2 * WIDE * sizeof(float) + 64);
    opts.flags |= PITH_FLAG_INIT_APART;
    size_t init_bytes = (size_t)within.init_bytes;
    uint8_t *init = aligned_alloc(64, init_bytes + 64);
    assert_non_null(init);
    memset(init, 0xa5, init_bytes + 64);
    opts.init_memory = init;
    opts.init_memory_bytes = init_bytes;
    mem = gd_plan(&opts, &plan, &apart);
    assert_int_equal(apart.init_bytes, init_bytes);
    assert_int_equal(apart.bytes, within.bytes - init_bytes + within.arena_bytes);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(init[init_bytes + i], 0xa5);
    free(init);
    run_point(plan, same);
    assert_memory_equal(same, y, sizeof y);
    opts.init_memory_bytes--;
    assert_int_equal(pith_plan_init(mem, (size_t)apart.bytes, gd_image(), 0, &opts, &plan),
                     PITH_ERR_SPACE);
    opts.init_memory_bytes++;
    opts.init_memory = NULL;
    assert_int_equal(pith_plan_init(mem, (size_t)apart.bytes, gd_image(), 0, &opts, &plan),
                     PITH_ERR_ARGUMENT);
    free(mem);
}

/* A caller who says how much memory there is has weights decoded once where they fit, else read at
 * each run, with the same bits. */
TEST(test_memory_decides)
{
    static uint8_t bitmap[WIDE * WIDE / 8];
    struct pith_need rows, once, need;
    struct pith_plan *plan;
    float y[WIDE], same[WIDE];
    struct pith_opts opts = {.size_bytes = sizeof opts, .cpu_mask = PITH_CPU_REF};
    coded_graph(bitmap, 1);
    void *mem = gd_plan(&opts, &plan, &rows);
    run_point(plan, y);
    free(mem);
    opts.flags = PITH_FLAG_DECODE_ONCE;
    free(gd_plan(&opts, &plan, &once));
    assert_true(once.weights_bytes > rows.weights_bytes);
    opts.flags = 0;
    for (uint32_t fits = 0; fits < 2; fits++) {
        opts.max_bytes = once.bytes - !fits;
        mem = gd_plan(&opts, &plan, &need);
        assert_int_equal(need.weights_bytes, fits ? once.weights_bytes : rows.weights_bytes);
        run_point(plan, same);
        assert_memory_equal(same, y, sizeof y);
        free(mem);
    }
}

/* A batch of any size stays in the compressed form where no tiles are faster, with the bits of its
 * rows alone. */
TEST(test_compressed_batch)
{
    static uint8_t bitmap[WIDE * WIDE / 8];
    struct pith_need need;
    struct pith_plan *plan;
    struct pith_layer layer;
    float y[WIDE];
    struct pith_opts opts = {
        .size_bytes = sizeof opts, .cpu_mask = PITH_CPU_REF, .flags = PITH_FLAG_DECODE_ONCE};
    for (uint32_t rows = 1; rows <= 64; rows += 21) {
        coded_graph(bitmap, rows);
        void *mem = gd_plan(&opts, &plan, &need);
        assert_int_equal(pith_plan_layer(plan, 0, &layer), PITH_OK);
        assert_string_equal(layer.kernel, "spmv-f32");
        for (uint32_t i = 0; i < rows; i++)
            memcpy((float *)pith_plan_input_data(plan, 0) + i * WIDE, point, sizeof point);
        assert_int_equal(pith_plan_run(plan), PITH_OK);
        if (rows == 1)
            memcpy(y, pith_plan_output_data(plan, 0), sizeof y);
        for (uint32_t i = 0; i < rows; i++)
            assert_memory_equal((const float *)pith_plan_output_data(plan, 0) + i * WIDE, y,
                                sizeof y);
        free(mem);
    }
}

#define LAYERS 5u

/* y = x w w w w w, each of them coded as that of coded_graph. */
static void coded_layers(uint8_t bitmap[WIDE * WIDE / 8])
{
    coded_graph(bitmap, 1);
    struct weight coded = gd.weight[0];
    gd_clear();
    uint32_t w[LAYERS], y = gd_input(2, 1, WIDE);
    for (uint32_t i = 0; i < LAYERS; i++) {
        w[i] = gd_weight(half, 2, WIDE, WIDE);
        gd.weight[i] = coded;
    }
    for (uint32_t i = 0; i < LAYERS; i++)
        y = gd_node(PITH_OP_GEMM, NULL, NULL, 1, 2, y, w[i]);
    gd_output(y);
}

/* Weights are decoded at once in as much memory as there is, and in the same way; none is written
 * beyond. calls: how often init used threads. */
static void decode_in(uint64_t bytes, const float expect[WIDE], uint32_t calls,
                      enum pith_status status)
{
    struct pith_need need;
    struct pith_plan *plan = NULL;
    uint32_t n_calls = 0;
    float y[WIDE];
    uint8_t *init = aligned_alloc(64, (size_t)bytes + 64);
    assert_non_null(init);
    memset(init, 0xa5, (size_t)bytes + 64);
    struct pith_opts opts = {.size_bytes = sizeof opts,
                             .cpu_mask = PITH_CPU_REF,
                             .flags = PITH_FLAG_INIT_APART,
                             .init_memory = init,
                             .init_memory_bytes = bytes,
                             .parallel_for = backwards,
                             .parallel_user = &n_calls};
    uint64_t work_bytes;
    assert_int_equal(pith_plan_work_bytes(gd_image(), 0, &opts, &work_bytes), PITH_OK);
    uint8_t *mem = aligned_alloc(64, (size_t)work_bytes);
    assert_non_null(mem);
    assert_int_equal(pith_plan_need(gd_image(), 0, &opts, mem, (size_t)work_bytes, &need), PITH_OK);
    free(mem);
    mem = aligned_alloc(64, (size_t)need.bytes);
    assert_non_null(mem);
    assert_int_equal(pith_plan_init(mem, (size_t)need.bytes, gd_image(), 0, &opts, &plan), status);
    assert_int_equal(n_calls, calls);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(init[bytes + i], 0xa5);
    free(init);
    if (!status) {
        run_point(plan, y);
        assert_memory_equal(y, expect, sizeof y);
    }
    free(mem);
}

TEST(test_decoded_at_once)
{
    static uint8_t bitmap[WIDE * WIDE / 8];
    struct pith_need need;
    struct pith_plan *plan;
    float y[WIDE];
    coded_layers(bitmap);
    struct pith_opts opts = {
        .size_bytes = sizeof opts, .cpu_mask = PITH_CPU_REF, .flags = PITH_FLAG_DECODE_ONCE};
    void *mem = gd_plan(&opts, &plan, &need);
    run_point(plan, y);
    free(mem);
    uint64_t each = need.init_bytes;
    assert_true(each > 0);
    decode_in(each, y, 0, PITH_OK);
    decode_in(2 * each, y, 0, PITH_OK); /* what is decoded where has no room */
    for (uint32_t n = 2; n <= LAYERS + 1; n++)
        decode_in(n * each + 64, y, 1, PITH_OK);
    /* One that is broken is found, whichever it is. */
    for (uint32_t i = 0; i < LAYERS; i++) {
        struct weight good = gd.weight[i];
        gd.weight[i].nnz--;
        gd.weight[i].index_stream.n_bytes -= sizeof(float);
        decode_in(3 * each + 64, y, 1, PITH_ERR_CORRUPT);
        gd.weight[i] = good;
    }
}

#define BIG (WIDE * 2048u)

/* Behind the five, one that is most of all elements: 4-bit indices of one codebook. */
static void big_layer(uint8_t bitmap[WIDE * WIDE / 8], uint8_t index[BIG / 2], uint8_t codebook[65])
{
    coded_graph(bitmap, 1);
    struct weight coded = gd.weight[0], *big;
    gd_clear();
    uint32_t x = gd_input(2, 1, WIDE), w[3];
    for (uint32_t i = 0; i < 2; i++) {
        w[i] = gd_weight(half, 2, WIDE, WIDE);
        gd.weight[i] = coded;
    }
    w[2] = gd_weight(half, 2, BIG / WIDE, WIDE);
    big = &gd.weight[2];
    for (uint32_t i = 0; i < BIG / 2; i++)
        index[i] = (uint8_t)(i * 37 + i / 512);
    for (uint32_t i = 0; i < 16; i++)
        store_le32(codebook + 1 + 4 * i, f32_bits((float)i - 7));
    big->grid = GRID_CODEBOOK;
    big->n_centroids = 16;
    big->index_bits = 4;
    big->n_groups = 1;
    big->group_elems = BIG;
    big->codebook = (struct stream){codebook, 65};
    big->index_stream = (struct stream){index, BIG / 2};
    for (uint32_t i = 0; i < 3; i++)
        x = gd_node(PITH_OP_GEMM, NULL, NULL, 1, 2, x, w[i]);
    gd_output(x);
}

/* All threads decode the large one in pieces and fill its run form, and decode the small ones one
 * each: three calls, of which the last two are there without slots, too. */
TEST(test_cut_and_dealt)
{
    static uint8_t bitmap[WIDE * WIDE / 8], index[BIG / 2], codebook[65];
    struct pith_need need;
    struct pith_plan *plan;
    float y[WIDE];
    big_layer(bitmap, index, codebook);
    struct pith_opts opts = {
        .size_bytes = sizeof opts, .cpu_mask = PITH_CPU_REF, .flags = PITH_FLAG_DECODE_ONCE};
    void *mem = gd_plan(&opts, &plan, &need);
    run_point(plan, y);
    free(mem);
    uint64_t each = need.init_bytes;
    decode_in(each, y, 2, PITH_OK);
    decode_in(3 * each, y, 3, PITH_OK);
    gd.weight[2].n_centroids = 15; /* some index names none */
    gd.weight[2].codebook.n_bytes -= 4;
    decode_in(each, y, 1, PITH_ERR_CORRUPT);
    decode_in(3 * each, y, 2, PITH_ERR_CORRUPT);
}

/* f[n] as byte planes, each of them plain: 4 (n + 1) bytes. */
static void to_planes(uint8_t *planes, const float *f, uint32_t n)
{
    for (uint32_t i = 0; i < 4 * n; i++) {
        if (i % n == 0)
            planes[i + i / n] = 0;
        planes[i + i / n + 1] =
            (uint8_t)((f32_bits(f[i % n]) << 1 | f32_bits(f[i % n]) >> 31) >> i / n * 8);
    }
}

/* Weights as byte planes answer as plain ones do, without vectors and threads too. */
TEST(test_byte_planes)
{
    enum { n = WIDE * WIDE / 2 };
    static uint8_t bitmap[WIDE * WIDE / 8], planes[4 * (n + 1)];
    struct case_plan c;
    float y[2][WIDE / 2];
    struct pith_opts opts = {.size_bytes = sizeof opts, .cpu_mask = PITH_CPU_REF};
    coded_graph(bitmap, 1); /* fills half and point */
    to_planes(planes, half, n);
    for (uint32_t coded = 0; coded < 2; coded++) {
        gd_clear();
        uint32_t x = gd_input(2, 1, WIDE), w = gd_weight(half, 2, WIDE / 2, WIDE);
        gd.weight[0].code = coded ? CODE_PLANES : CODE_PLAIN;
        gd.weight[0].index_stream =
            coded ? (struct stream){planes, sizeof planes} : gd.weight[0].index_stream;
        gd_output(gd_node(PITH_OP_GEMM, NULL, NULL, 1, 2, x, w));
        c.mem = gd_plan(&opts, &c.plan, &c.need);
        memcpy(pith_plan_input_data(c.plan, 0), point, sizeof point);
        assert_int_equal(pith_plan_run(c.plan), PITH_OK);
        memcpy(y[coded], pith_plan_output_data(c.plan, 0), sizeof y[0]);
        free(c.mem);
    }
    assert_memory_equal(y[1], y[0], sizeof y[0]);
}

/* Coded constants that no operator reads as its weight: what is added to a product by its step, and
 * an output of the graph. */
TEST(test_coded_data)
{
    enum { ROWS = 2, COLUMNS = WIDE / 2, n = ROWS * COLUMNS };
    static uint8_t bitmap[WIDE * WIDE / 8], planes[4 * (n + 1)];
    struct case_plan c;
    struct pith_opts opts = {.size_bytes = sizeof opts};
    coded_graph(bitmap, 1); /* fills half and point */
    to_planes(planes, half, n);
    gd_clear();
    uint32_t x = gd_input(2, ROWS, WIDE), w = gd_weight(half, 2, COLUMNS, WIDE), data[2];
    for (uint32_t i = 0; i < 2; i++) {
        data[i] = gd_weight(half, 2, ROWS, COLUMNS);
        gd.weight[1 + i].code = CODE_PLANES;
        gd.weight[1 + i].index_stream = (struct stream){planes, sizeof planes};
    }
    uint32_t product = gd_node(PITH_OP_GEMM, NULL, NULL, 1, 2, x, w);
    gd_output(gd_node(PITH_OP_ADD, NULL, NULL, 1, 2, product, data[0]));
    gd_output(data[1]);
    c.mem = gd_plan(&opts, &c.plan, &c.need);
    assert_int_equal(pith_plan_layer_count(c.plan), 1);
    memset(pith_plan_input_data(c.plan, 0), 0, ROWS * sizeof point);
    assert_int_equal(pith_plan_run(c.plan), PITH_OK);
    for (uint32_t i = 0; i < 2; i++)
        assert_memory_equal(pith_plan_output_data(c.plan, i), half, n * sizeof *half);
    free(c.mem);
}

RUN_TESTS
