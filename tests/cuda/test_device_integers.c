/* SPDX-License-Identifier: MIT */
/* Products of 8-bit integers with weights of the plan, packed for the device: shapes that end
 * within words, parts, slices and tiles, against the CPU's reference. */
#include "core/bytes.h"
#include "weight_product_case.h"

static uint64_t seed = 9;

static uint32_t below(uint32_t n)
{
    return (uint32_t)(random_u64(&seed) >> 33) % n;
}

static void random_bytes(struct one_op *t, uint32_t i, enum pith_type type, uint32_t rank,
                         const uint32_t *dims)
{
    one_op_in(t, i, type, rank, dims, NULL);
    size_t n = bytes_of(&t->in[i]);
    uint8_t *data = malloc(n);
    for (size_t k = 0; k < n; k++)
        data[k] = (uint8_t)random_u64(&seed);
    t->in[i].data = data;
}

/* Zero points of 0 that the plan knows: its arena begins behind them, where all memory is that
 * tests take (where it is not, they stay unknown). */
static uint8_t known_zeros[1024];

static bool know_zeros(struct tview *t, const struct guarded *x)
{
    memset(known_zeros, t->type == PITH_I8 ? 0 : 0x80, sizeof known_zeros);
    memcpy(t->data, known_zeros, bytes_of(t));
    if ((uintptr_t)x->data < (uintptr_t)known_zeros)
        return false;
    plan.arena = known_zeros + sizeof known_zeros;
    return true;
}

/* A codebook of i8, whose `n` integers are anywhere, and a bit for each element that is stored. */
struct coded {
    uint32_t n;
    bool sparse;
    int8_t integer[16];
    uint8_t book[1 + 4 * 16], *index, *support;
};

static int by_value(const void *a, const void *b)
{
    return *(const int8_t *)a - *(const int8_t *)b;
}

/* Gives t integers of the codebook, or 0 where they are not stored. */
static void draw_codes(struct coded *c, const struct tview *t)
{
    const size_t n = shape_elems(&t->shape);
    for (uint32_t i = 0; i < c->n; i++)
        c->integer[i] = (int8_t)(i == 0 ? -128 : i == 1 ? 127 : (int32_t)below(256) - 128);
    qsort(c->integer, c->n, 1, by_value);
    c->book[0] = 0; /* raw */
    for (uint32_t i = 0; i < c->n; i++)
        store_le32(c->book + 1 + 4 * i, f32_bits((float)c->integer[i]));
    c->index = malloc(n + 1);
    c->support = calloc(n / 8 + 1, 1);
    for (size_t i = 0, at = 0; i < n; i++) {
        const bool stored = !c->sparse || below(3);
        c->index[at] = (uint8_t)below(c->n);
        ((int8_t *)t->data)[i] = stored ? c->integer[c->index[at]] : 0;
        c->support[i / 8] |= (uint8_t)(stored << i % 8);
        at += stored;
    }
}

static struct weight coded_weight(const struct coded *c, const struct tview *t)
{
    struct weight w = byte_weight(t);
    w.grid = GRID_CODEBOOK;
    w.n_centroids = c->n;
    w.n_groups = 1;
    w.group_elems = w.count;
    w.index_bits = 8;
    w.codebook = (struct stream){c->book, 1 + 4 * c->n};
    for (size_t i = 0; c->sparse && i < w.count; i++)
        w.nnz -= !(c->support[i / 8] >> i % 8 & 1);
    w.index_stream = (struct stream){c->index, w.nnz};
    if (c->sparse) {
        w.support = SUPPORT_BITMAP;
        w.support_stream = (struct stream){c->support, (w.count + 7) / 8};
    }
    return w;
}

/* On the CPU, and on the device by `kernel`. coded: what input 1 was drawn from, or NULL. */
static void check(struct one_op *t, enum launch_kernel kernel, bool known,
                  const struct coded *coded)
{
    struct guarded in[ONE_OP_MAX];
    assert_int_equal(one_op_shape(t), PITH_OK);
    guard_inputs(t, in);
    known = known && know_zeros(&t->in[3], &in[0]);
    one_op_run(t, false);
    struct weight w = coded ? coded_weight(coded, &t->in[1]) : byte_weight(&t->in[1]);
    void *kept = t->in[3].data;
    if (known)
        t->in[3].data = known_zeros;
    t->args.weight = &w;
    struct step s = {.args = t->args};
    check_kernel(&s, kernel);
    assert_true(try_device(emu_kernel_name(kernel), &s, NULL));
    t->in[3].data = kept;
    plan.arena = NULL;
    one_op_close(t);
    for (uint32_t i = 0; i < t->args.n_in; i++)
        guard_free(&in[i]);
}

struct conv_shape {
    uint32_t images, groups, channels, outputs, h, w, kh, kw;
    int32_t stride, dilation, pad;
    enum launch_kernel kernel;
};

static void check_conv(const struct conv_shape *c, bool known)
{
    struct one_op t;
    const uint32_t all = c->groups * c->outputs;
    const enum pith_type x = below(2) ? PITH_U8 : PITH_I8, w = below(2) ? PITH_U8 : PITH_I8;
    one_op_open(&t, PITH_OP_CONV_INTEGER, 5, 1);
    t.kernels = &reference;
    t.attr[ATTR_CONV_GROUP] = (int32_t)c->groups;
    one_op_list(&t, ATTR_CONV_STRIDES, 2, (int32_t[]){c->stride, c->stride});
    one_op_list(&t, ATTR_CONV_DILATIONS, 2, (int32_t[]){c->dilation, 1});
    one_op_list(&t, ATTR_CONV_PADS, 4, (int32_t[]){c->pad, 0, c->pad, c->pad});
    random_bytes(&t, 0, x, DIMS(c->images, c->groups * c->channels, c->h, c->w));
    random_bytes(&t, 1, w, DIMS(all, c->channels, c->kh, c->kw));
    random_bytes(&t, 2, x, DIMS(1));
    random_bytes(&t, 3, w, DIMS(below(2) ? 1 : all));
    random_bytes(&t, 4, PITH_I32, DIMS(all));
    check(&t, c->kernel, known, NULL);
}

TEST(test_conv)
{
    static const struct conv_shape of[] = {
        {1, 1, 3, 20, 13, 17, 3, 3, 2, 1, 1, LAUNCH_conv_packed_i8},
        {4, 1, 33, 70, 5, 7, 1, 1, 1, 1, 0, LAUNCH_conv_packed_i8},
        {2, 2, 9, 17, 6, 5, 3, 2, 1, 1, 1, LAUNCH_conv_packed_i8},
        {5, 1, 64, 16, 3, 3, 1, 3, 1, 1, 0, LAUNCH_conv_packed_i8},
        {1, 1, 8, 16, 14, 9, 3, 3, 1, 2, 2, LAUNCH_conv_packed_i8},
        {1, 3, 17, 40, 2, 70, 1, 5, 3, 1, 0, LAUNCH_conv_packed_i8},
        {2, 1, 130, 65, 4, 4, 1, 1, 1, 1, 1, LAUNCH_conv_packed_i8},
        {2, 1, 20, 9, 8, 8, 1, 1, 2, 1, 0, LAUNCH_conv_packed_i8},
        {1, 1, 1, 33, 9, 9, 4, 4, 1, 1, 1, LAUNCH_conv_packed_i8},
        {1, 1, 64, 64, 8, 8, 1, 1, 1, 1, 0, LAUNCH_conv_flat_i8},
        {3, 1, 131, 70, 2, 6, 1, 1, 1, 1, 0, LAUNCH_conv_flat_i8},
        {9, 2, 18, 33, 2, 2, 1, 1, 1, 1, 0, LAUNCH_conv_flat_i8},
        {1, 1, 5, 3, 10, 14, 1, 1, 1, 1, 0, LAUNCH_conv_flat_i8},
        {1, 4, 1, 1, 11, 13, 3, 3, 1, 1, 1, LAUNCH_conv_direct_i8},
        {2, 5, 1, 1, 8, 8, 3, 3, 2, 1, 1, LAUNCH_conv_direct_i8},
        {2, 3, 2, 3, 6, 9, 3, 2, 1, 2, 2, LAUNCH_conv_direct_i8},
        {3, 7, 1, 1, 1, 1, 1, 1, 1, 1, 0, LAUNCH_conv_direct_i8},
    };
    for (uint32_t i = 0; i < 2 * sizeof of / sizeof *of; i++)
        check_conv(&of[i / 2], i % 2);
}

/* Sums of many terms, in parts where nothing but x has a zero point. */
TEST(test_splits)
{
    static const struct conv_shape of[] = {
        {1, 1, 576, 70, 6, 6, 1, 1, 1, 1, 0, LAUNCH_conv_flat_i8},
        {1, 1, 960, 33, 5, 5, 1, 1, 1, 1, 0, LAUNCH_conv_packed_i8},
        {2, 1, 61, 20, 7, 5, 3, 3, 1, 1, 1, LAUNCH_conv_packed_i8},
        {1, 2, 640, 16, 3, 3, 1, 1, 1, 1, 0, LAUNCH_conv_packed_i8},
    };
    for (uint32_t i = 0; i < 2 * sizeof of / sizeof *of; i++) {
        struct conv_shape c = of[i / 2];
        c.kernel = i % 2 ? LAUNCH_conv_splits_i8 : c.kernel;
        check_conv(&c, i % 2);
    }
}

static enum launch_kernel matmul_kernel(uint32_t m)
{
    return m > 8 ? LAUNCH_gemm_packed_i8 : m > 1 ? LAUNCH_gemv_codes_i8_many : LAUNCH_gemv_codes_i8;
}

/* Codes of 2 and of 4 bits, from steps of several warps to a part of one, and of rows that begin
 * anywhere. */
TEST(test_codes)
{
    static const struct {
        uint32_t m, n, k, centroids;
        bool turned, sparse;
    } of[] = {{1, 70, 256, 16, false, false}, {1, 8, 2052, 15, true, true},
              {1, 33, 1111, 4, false, false}, {1, 130, 5000, 3, false, true},
              {4, 20, 600, 16, true, false},  {8, 9, 515, 2, false, false},
              {3, 65, 260, 9, false, true},   {7, 17, 1028, 4, true, false},
              {2, 3, 7, 5, true, true},       {11, 40, 70, 16, false, false}};
    for (uint32_t i = 0; i < 2 * sizeof of / sizeof *of; i++) {
        struct one_op t;
        const uint32_t m = of[i / 2].m, n = of[i / 2].n, k = of[i / 2].k;
        const bool turned = of[i / 2].turned;
        struct coded c = {.n = of[i / 2].centroids, .sparse = of[i / 2].sparse};
        const enum pith_type a = below(2) ? PITH_U8 : PITH_I8;
        one_op_open(&t, PITH_OP_MATMUL_INTEGER, 4, 1);
        t.kernels = &reference;
        t.attr[ATTR_MATMUL_TRANS_B] = turned;
        random_bytes(&t, 0, a, DIMS(m, k));
        random_bytes(&t, 1, PITH_I8, DIMS(turned ? n : k, turned ? k : n));
        random_bytes(&t, 2, a, DIMS(below(2) ? 1 : m));
        random_bytes(&t, 3, PITH_I8, DIMS(below(2) ? 1 : n));
        draw_codes(&c, &t.in[1]);
        check(&t, matmul_kernel(m), i % 2, &c);
        free(c.index);
        free(c.support);
    }
}

TEST(test_matmul)
{
    static const struct {
        uint32_t m, n, k;
        bool turned;
    } of[] = {{70, 90, 75, false},  {65, 64, 64, true}, {9, 33, 100, false},
              {64, 130, 33, true},  {1, 9, 640, false}, {67, 1, 16, false},
              {130, 68, 144, true}, {3, 4, 3, false},   {2, 5, 1100, true}};
    for (uint32_t i = 0; i < 2 * sizeof of / sizeof *of; i++) {
        struct one_op t;
        const uint32_t m = of[i / 2].m, n = of[i / 2].n, k = of[i / 2].k;
        const bool turned = of[i / 2].turned, known = i % 2;
        const enum pith_type a = below(2) ? PITH_U8 : PITH_I8, b = below(2) ? PITH_U8 : PITH_I8;
        one_op_open(&t, PITH_OP_MATMUL_INTEGER, 4, 1);
        t.kernels = &reference;
        t.attr[ATTR_MATMUL_TRANS_B] = turned;
        random_bytes(&t, 0, a, DIMS(m, k));
        random_bytes(&t, 1, b, DIMS(turned ? n : k, turned ? k : n));
        random_bytes(&t, 2, a, DIMS(below(2) ? 1 : m));
        random_bytes(&t, 3, b, DIMS(below(2) ? 1 : n));
        check(&t, matmul_kernel(m), known, NULL);
    }
}

/* Rows as cuBLASLt has them: of a matrix, and of pixels, whose terms are planes. */
static void check_rows(uint32_t images, uint32_t rows, uint32_t terms, bool pixels, bool is_signed)
{
    const uint32_t row = (terms + I8_SLICE - 1) / I8_SLICE * I8_SLICE;
    const size_t n = (size_t)images * rows * terms;
    struct guarded x = guard_new(n, 1), y = guard_new((size_t)images * rows * row, 16);
    const struct rows_i8_args r = {.x = x.data,
                                   .y = y.data,
                                   .is_signed = is_signed,
                                   .rows = rows,
                                   .terms = terms,
                                   .row = row,
                                   .row_step = pixels ? 1 : terms,
                                   .term_step = pixels ? rows : 1,
                                   .image_step = rows * terms};
    const uint32_t grid[3] = {(rows + GEMM_TILE - 1) / GEMM_TILE, row / I8_SLICE, images};
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)x.data)[i] = (uint8_t)random_u64(&seed);
    for (size_t k = 0; k < sizeof orders / sizeof *orders; k++) {
        memset(y.data, 0x55, (size_t)images * rows * row);
        ptx_launch(LAUNCH_rows_i8, grid, &r, orders[k]);
        for (size_t i = 0; i < (size_t)images * rows * row; i++) {
            const size_t term = i % row, at = i / row % rows, image = i / row / rows;
            const size_t from = image * r.image_step + at * r.row_step + term * r.term_step;
            const uint8_t *b = (const uint8_t *)x.data + from;
            assert_int_equal(((const uint8_t *)y.data)[i],
                             term < terms ? *b ^ (is_signed ? 0 : 0x80) : 0);
        }
    }
    guard_free(&x);
    guard_free(&y);
}

TEST(test_rows)
{
    check_rows(1, 70, 130, false, false);
    check_rows(1, 9, 64, false, true);
    check_rows(3, 65, 33, true, false);
    check_rows(2, 12, 129, true, true);
}

RUN_TESTS
