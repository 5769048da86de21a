/* SPDX-License-Identifier: MIT */
/* test_plan_file.c - a plan file brings the same plan back; what is of another version, CPU, model
 * or options is refused as such; and whatever a hostile file chooses, the plan is refused or runs.
 */
#define GRAPH_DOUBLE_READER
#include "graph_double.h"
#include "guard_page.h"
#include "kernels/crc32c.h"
#include "plan/plan.h"
#include "weight_case.h"
#include "op_interface/op_attr.h"

#define C 4u
#define SIDE 8u
#define MAX_FILE 512u

static float weight[C * C * 3 * 3], matrix[C * SIDE * SIDE * C];

static void set_pads(int32_t *attr, void *arg)
{
    (void)arg;
    attr[ATTR_CONV_PADS] = 4;
    for (uint32_t i = 0; i < 4; i++)
        attr[ATTR_CONV_PADS + 1 + i] = 1;
}

/* A convolution and a product. */
static void make_graph(void)
{
    gd_clear();
    uint32_t x = gd_input(4, 1, C, SIDE, SIDE), w = gd_weight(weight, 4, C, C, 3, 3);
    uint32_t m = gd_weight(matrix, 2, C, C * SIDE * SIDE);
    uint32_t y = gd_node(PITH_OP_CONV, set_pads, NULL, 1, 2, x, w);
    uint32_t flat = gd_node(PITH_OP_FLATTEN, NULL, NULL, 1, 1, y);
    gd_output(gd_node(PITH_OP_GEMM, NULL, NULL, 1, 2, flat, m));
}

static struct pith_opts options(uint32_t mask)
{
    struct pith_opts o = {.size_bytes = sizeof o, .cpu_mask = mask};
    return o;
}

static size_t write_file(uint32_t mask, uint8_t file[MAX_FILE])
{
    struct pith_opts o = options(mask);
    struct pith_need need;
    struct pith_plan *plan;
    make_graph();
    void *mem = gd_plan(&o, &plan, &need);
    size_t bytes = (size_t)pith_plan_file_bytes(plan);
    assert_in_range(bytes, 1, MAX_FILE);
    assert_int_equal(pith_plan_file_write(plan, file, bytes - 1), PITH_ERR_SPACE);
    assert_int_equal(pith_plan_file_write(plan, file, bytes), PITH_OK);
    assert_int_equal(pith_plan_file_check(file, bytes, plan), PITH_OK);
    free(mem);
    return bytes;
}

static void seal(uint8_t *file, size_t bytes)
{
    store_le32(file + bytes - 4, pith_crc32c(0, file, bytes - 4));
}

static enum pith_status open_with(const uint8_t *file, size_t bytes, struct pith_opts *o)
{
    const char *why = NULL;
    enum pith_status st = pith_plan_file_open(file, bytes, "", 0, o, &why);
    assert_true((st == PITH_OK) == (why == NULL));
    return st;
}

/* Plans as the file says and runs. PITH_ERR_CORRUPT: refused, before or after. */
static enum pith_status plan_by(const uint8_t *file, size_t bytes, uint32_t mask,
                                const char **kernel)
{
    struct pith_opts o = options(mask);
    struct pith_need need;
    struct pith_plan *plan;
    struct pith_layer layer;
    static _Alignas(64) uint8_t work[1 << 16];
    enum pith_status st = open_with(file, bytes, &o);
    make_graph();
    if (!st)
        st = pith_plan_need(gd_image(), 0, &o, work, sizeof work, &need);
    if (st)
        return st;
    void *mem = aligned_alloc(64, (size_t)need.bytes);
    assert_int_equal(pith_plan_init(mem, (size_t)need.bytes, gd_image(), 0, &o, &plan), PITH_OK);
    memset(pith_plan_input_data(plan, 0), 0, C * SIDE * SIDE * sizeof(float));
    assert_int_equal(pith_plan_run(plan), PITH_OK);
    st = pith_plan_file_check(file, bytes, plan);
    assert_int_equal(pith_plan_layer(plan, 0, &layer), PITH_OK);
    if (!st)
        assert_int_equal(layer.choice, file[64]);
    *kernel = layer.kernel;
    free(mem);
    return st;
}

TEST(test_round)
{
    uint8_t file[MAX_FILE];
    const char *kernel;
    for (uint32_t level = 0; level < 2; level++) {
        uint32_t mask = level ? 0 : PITH_CPU_REF;
        size_t bytes = write_file(mask, file);
        assert_int_equal(plan_by(file, bytes, mask, &kernel), PITH_OK);
    }
}

TEST(test_refusals)
{
    uint8_t file[MAX_FILE];
    const char *why;
    size_t bytes = write_file(PITH_CPU_REF, file);
    struct pith_opts o = options(PITH_CPU_REF), other = o;
    for (size_t n = 0; n < bytes; n++)
        assert_int_equal(open_with(file, n, &o), PITH_ERR_CORRUPT);
    for (size_t i = 0; i < bytes; i++) {
        file[i] ^= 1;
        assert_int_equal(open_with(file, bytes, &o),
                         i / 8 == 1 ? PITH_ERR_VERSION : PITH_ERR_CORRUPT);
        file[i] ^= 1;
    }
    assert_int_equal(open_with(file, bytes, &o), PITH_OK);
    assert_int_equal(pith_plan_file_open(file, bytes, "another", 7, &o, &why), PITH_ERR_ARGUMENT);
    other.batch = 2;
    assert_int_equal(open_with(file, bytes, &other), PITH_ERR_ARGUMENT);
    store_le32(file + 16, PITH_CPU_NEON | PITH_CPU_AVX2); /* no CPU is both */
    seal(file, bytes);
    assert_int_equal(open_with(file, bytes, &o), PITH_ERR_UNSUPPORTED);
}

/* A copy whose last byte is the last before an unmapped page. */
static struct guarded at_page_end(const uint8_t *file, size_t bytes)
{
    struct guarded g = guard_new(bytes, 1);
    if (bytes)
        memcpy(g.data, file, bytes);
    return g;
}

/* Files cut at any byte, and files of fewer and of more steps with right lengths and checksums. */
TEST(test_sizes)
{
    uint8_t file[MAX_FILE];
    uint32_t batch = 77, threads = 77;
    size_t bytes = write_file(PITH_CPU_REF, file);
    struct pith_opts o = options(PITH_CPU_REF);
    struct pith_need need;
    struct pith_plan *plan;
    make_graph();
    void *mem = gd_plan(&o, &plan, &need);
    for (size_t n = 0; n < bytes; n++) {
        struct guarded g = at_page_end(file, n);
        assert_int_equal(pith_plan_file_options(g.data, n, &batch, &threads), PITH_ERR_CORRUPT);
        assert_int_equal(open_with(g.data, n, &o), PITH_ERR_CORRUPT);
        assert_int_equal(pith_plan_file_check(g.data, n, plan), PITH_ERR_CORRUPT);
        guard_free(&g);
    }
    assert_int_equal(pith_plan_file_options(NULL, bytes, &batch, &threads), PITH_ERR_ARGUMENT);
    assert_true(batch == 77 && threads == 77);
    for (size_t i = 0; i < bytes; i++) {
        file[i] ^= 1;
        assert_int_equal(pith_plan_file_options(file, bytes, &batch, &threads), PITH_ERR_CORRUPT);
        assert_int_equal(pith_plan_file_check(file, bytes, plan), PITH_ERR_CORRUPT);
        file[i] ^= 1;
    }
    assert_int_equal(pith_plan_file_options(file, bytes, &batch, &threads), PITH_OK);
    assert_true(batch == 1 && threads == 1);
    const uint32_t steps = load_le32(file + 44);
    for (uint32_t n = 0; n < steps + 3; n++) {
        uint8_t other[2 * MAX_FILE] = {0};
        size_t other_bytes = 64 + (n + 7) / 8 * 8 + 40 * (size_t)n + 4;
        assert_true(other_bytes <= sizeof other);
        memcpy(other, file, other_bytes < bytes ? other_bytes : bytes);
        store_le32(other + 44, n);
        seal(other, other_bytes);
        struct guarded g = at_page_end(other, other_bytes);
        assert_int_equal(pith_plan_file_check(g.data, other_bytes, plan),
                         n == steps ? PITH_OK : PITH_ERR_CORRUPT);
        assert_int_equal(pith_plan_file_options(g.data, other_bytes, &batch, &threads), PITH_OK);
        guard_free(&g);
    }
    /* threads as in the file; written into just as much room as there must be */
    store_le32(file + 24, 5);
    store_le32(file + 28, 3);
    seal(file, bytes);
    assert_int_equal(pith_plan_file_options(file, bytes, &batch, &threads), PITH_OK);
    assert_true(batch == 5 && threads == 3);
    struct guarded g = guard_new(bytes, 1);
    assert_int_equal(pith_plan_file_write(plan, g.data, bytes), PITH_OK);
    assert_int_equal(pith_plan_file_check(g.data, bytes, plan), PITH_OK);
    assert_int_equal(pith_plan_file_write(plan, NULL, bytes), PITH_ERR_ARGUMENT);
    guard_free(&g);
    free(mem);
}

/* Every byte behind the head at every value, with a right checksum. */
TEST(test_hostile)
{
    uint8_t file[MAX_FILE];
    const char *kernel;
    for (uint32_t level = 0; level < 2; level++) {
        uint32_t mask = level ? 0 : PITH_CPU_REF;
        size_t bytes = write_file(mask, file);
        for (size_t i = 40; i < bytes - 4; i++)
            for (uint32_t value = 0; value < 256; value += i < 72 ? 1 : 85) {
                uint8_t was = file[i];
                file[i] = (uint8_t)value;
                seal(file, bytes);
                enum pith_status st = plan_by(file, bytes, mask, &kernel);
                bool padding = i >= 66 && i < 72;
                if (value == was || padding)
                    assert_int_equal(st, PITH_OK);
                else
                    assert_true(st == PITH_ERR_CORRUPT || (i < 44 && st == PITH_ERR_ARGUMENT));
                file[i] = was;
            }
    }
}

/* What the file chooses is what is planned: the last of the list of convolutions is the direct. */
TEST(test_choice)
{
    uint8_t file[MAX_FILE];
    const char *kernel = "";
    size_t bytes = write_file(0, file);
    for (uint8_t last = 7; last > 0 && strcmp(kernel, "conv-f32-direct") != 0; last--) {
        file[64] = last;
        seal(file, bytes);
        plan_by(file, bytes, 0, &kernel);
    }
    assert_string_equal(kernel, "conv-f32-direct");
}

static void set_trans_b(int32_t *attr, void *arg)
{
    (void)arg;
    attr[ATTR_GEMM_TRANS_B] = 1;
}

/* The kernel of one product with a matrix of 16 centroids, by these costs and, with a file, by what
 * that says. Where file is NULL the plan is written to `to`. */
static const char *planned(const struct weight_case *c, const struct pith_costs *costs,
                           const uint8_t *file, uint8_t to[MAX_FILE], size_t *bytes)
{
    struct pith_opts o = options(PITH_CPU_REF);
    struct pith_need need;
    struct pith_plan *plan;
    struct pith_layer layer;
    o.flags |= PITH_FLAG_DECODE_ONCE;
    o.costs = costs;
    if (file)
        assert_int_equal(open_with(file, *bytes, &o), PITH_OK);
    gd_clear();
    uint32_t x = gd_input(2, 1, c->cols), w = gd_weight(matrix, 2, c->rows, c->cols);
    gd.weight[gd.g.n_weights - 1] = c->w;
    gd_output(gd_node(PITH_OP_GEMM, set_trans_b, NULL, 1, 2, x, w));
    void *mem = gd_plan(&o, &plan, &need);
    if (!file) {
        *bytes = (size_t)pith_plan_file_bytes(plan);
        assert_in_range(*bytes, 1, MAX_FILE);
        assert_int_equal(pith_plan_file_write(plan, to, *bytes), PITH_OK);
    }
    assert_int_equal(pith_plan_layer(plan, 0, &layer), PITH_OK);
    free(mem);
    return layer.kernel;
}

/* Costs choose when a plan is made; one that was written keeps its kernels whatever costs are now.
 */
TEST(test_costs)
{
    uint64_t seed = 3;
    struct weight_want want = {.rows = 8,
                               .cols = 32,
                               .pattern = PATTERN_FULL,
                               .dense = true,
                               .n_centroids = 16,
                               .n_groups = 1,
                               .scale = 1.0f};
    struct weight_case c = case_new(&want, &seed);
    uint8_t coded[MAX_FILE], dense[MAX_FILE];
    size_t coded_bytes, dense_bytes;
    struct pith_costs here, other;
    pith_costs_of(0, &here, NULL);
    other = here;
    for (uint32_t i = 0; i < PITH_RUN_FORMS; i++)
        other.form[i] = 1;
    assert_string_equal(planned(&c, &here, NULL, coded, &coded_bytes), "gemv-codebook");
    assert_string_equal(planned(&c, &other, NULL, dense, &dense_bytes), "gemv-f32");
    assert_string_equal(planned(&c, &other, coded, NULL, &coded_bytes), "gemv-codebook");
    assert_string_equal(planned(&c, &here, dense, NULL, &dense_bytes), "gemv-f32");
    case_free(&c);
}

RUN_TESTS
