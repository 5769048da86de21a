/* SPDX-License-Identifier: MIT */
/* Gram matrices against their definition; places of patches against the windows of a picture. */
#include "test_run.h"
#include "gemm_model.h"
#include "pith_runtime.h"
#include "numeric/gram_tile.h"
#include "numeric/row_panel_list.h"
#include "numeric/im2col.h"

enum { N = 41, ROWS = 9, COUNT = 600 };

static float x[COUNT * N], y[COUNT * ROWS];

/* In the order of gram.h: parts in f32, their sums in double. */
static double element(const float *a, size_t n_a, size_t i, const float *b, size_t n_b, size_t k)
{
    double sum = 0;
    for (size_t row = 0; row < COUNT; row += PITH_GRAM_PART) {
        float part = 0;
        for (size_t r = row; r < COUNT && r < row + PITH_GRAM_PART; r++)
            part += a[r * n_a + i] * b[r * n_b + k];
        sum += (double)part;
    }
    return sum;
}

TEST(integers_are_summed_exactly)
{
    struct test_random r = test_seed(61);
    static double h[N * N];
    const struct gram_piece p = {pith_gram_tile(), x, x, N, N, COUNT, true};
    for (int i = 0; i < N * COUNT; i++)
        x[i] = (float)(test_below(&r, 2) ? 255 : (int)test_below(&r, 511) - 255);
    for (int i = 0; i < N * N; i++)
        h[i] = i;
    pith_gram_add(&p, 0, N, h);
    for (int i = 0; i < N; i++)
        for (int k = i; k < N; k++) {
            int64_t sum = i * N + k;
            for (int at = 0; at < COUNT; at++)
                sum += (int64_t)x[at * N + i] * (int64_t)x[at * N + k];
            assert_true(h[i * N + k] == (double)sum);
        }
    pith_gram_mirror(h, N);
    for (int i = 0; i < N * N; i++)
        assert_true(h[i] == h[i % N * N + i / N]);
}

/* Whatever rows of the sum come together, and with any instruction set that runs here. */
TEST(floats_are_summed_in_their_order)
{
    struct test_random r = test_seed(62);
    static double c[ROWS * N];
    const struct gram_piece p = {
        .tile = pith_gram_tile(), .a = y, .b = x, .n_a = ROWS, .n_b = N, .count = COUNT};
    for (int i = 0; i < COUNT * N; i++)
        x[i] = test_gauss(&r);
    for (int i = 0; i < COUNT * ROWS; i++)
        y[i] = test_gauss(&r);
    for (size_t each = 1; each <= ROWS; each++) {
        for (int i = 0; i < ROWS * N; i++)
            c[i] = 0;
        for (size_t first = 0; first < ROWS; first += each)
            pith_gram_add(&p, first, first + each < ROWS ? first + each : ROWS, c);
        for (size_t i = 0; i < ROWS; i++)
            for (size_t k = 0; k < N; k++)
                assert_true(c[i * N + k] == element(y, ROWS, i, x, N, k));
    }
}

TEST(tiles_are_the_same_bits)
{
    struct test_random r = test_seed(63);
    gram_tile *of[] = {
        pith_gram_tile_base,
#if defined(__x86_64__)
        pith_cpu_features() & PITH_CPU_AVX2 ? pith_gram_tile_avx2 : NULL,
        pith_cpu_features() & PITH_CPU_AVX512 ? pith_gram_tile_avx512 : NULL
#endif
    };
    float sum[GRAM_TILE_ROWS * GRAM_TILE_COLS];
    for (int i = 0; i < COUNT * N; i++)
        x[i] = test_gauss(&r);
    for (size_t v = 0; v < sizeof of / sizeof *of; v++) {
        if (!of[v])
            continue;
        of[v](x + 3, N, x + 5, N, PITH_GRAM_PART, sum);
        for (size_t i = 0; i < GRAM_TILE_ROWS; i++)
            for (size_t k = 0; k < GRAM_TILE_COLS; k++) {
                float wanted = 0;
                for (size_t row = 0; row < PITH_GRAM_PART; row++)
                    wanted += x[row * N + 3 + i] * x[row * N + 5 + k];
                assert_true(sum[i * GRAM_TILE_COLS + k] == wanted);
            }
    }
}

/* 4 x 3 pixels, a window of 2 x 3 with steps of 2 x 1 and padding of 1 x 1: each place by hand. */
TEST(places_are_those_of_the_window)
{
    const struct window v = {
        .n = 2,
        .axis = {{.in = 4, .out = 3, .kernel = 2, .stride = 2, .dilation = 1, .pad = 1},
                 {.in = 3, .out = 3, .kernel = 3, .stride = 1, .dilation = 1, .pad = 1}},
        .taps = 6,
        .in = 12,
        .out = 9,
        .out_rows = 3};
    static const int64_t wanted[9][6] = {
        {-1, -1, -1, -1, 0, 1},  {-1, -1, -1, 0, 1, 2},   {-1, -1, -1, 1, 2, -1},
        {-1, 3, 4, -1, 6, 7},    {3, 4, 5, 6, 7, 8},      {4, 5, -1, 7, 8, -1},
        {-1, 9, 10, -1, -1, -1}, {9, 10, 11, -1, -1, -1}, {10, 11, -1, -1, -1, -1}};
    int64_t place[9 * 6];
    pith_im2col_places(&v, place);
    assert_memory_equal(place, wanted, sizeof wanted);
}

RUN_TESTS
