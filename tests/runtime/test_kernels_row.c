/* SPDX-License-Identifier: MIT */
/* Row kernels: every level gives the bits of the reference, for all tail lengths, in place too, on
 * rows that end where memory ends; the reference itself against double arithmetic. So does
 * pack_rows_f32, which only moves. */
#include "test_run.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/ref/activate.h"
#include "kernels/ref/elementary_f32.h"
#include "kernels/ref/elementwise_f32.h"
#include "kernels/ref/integer_element.h"
#include "guard_page.h"
#include "kernels/kernels.h"
#include "kernels/ref/sum_f32.h"
#include "pith_runtime.h"

enum { LONGEST = 300 };

static const uint32_t levels[] = {PITH_CPU_AVX2, PITH_CPU_AVX2 | PITH_CPU_AVX512, PITH_CPU_NEON};
#define N_LEVELS (sizeof levels / sizeof *levels)

/* The level's table; false: this machine has it not. */
static bool level_table(size_t i, struct pith_kernels *k)
{
    if ((pith_cpu_features() & levels[i]) != levels[i])
        return false;
    pith_kernels_fill(k, levels[i]);
    return true;
}

static const float edges[] = {0.0f,  -0.0f,  1e-42f,   -1e-42f,   0.625f, 88.7f,         -104.0f,
                              1e30f, -1e30f, INFINITY, -INFINITY, NAN,    3.4028235e38f, -87.4f};

static void fill(float *x, size_t n, uint64_t *seed)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t r = random_u64(seed);
        x[i] = (float)((int64_t)(r % 20001) - 10000) / 1000.0f;
        if (r >> 40 & 7u)
            continue;
        x[i] = edges[(r >> 50) % (sizeof edges / sizeof *edges)];
    }
}

static void same_bits(const float *want, const float *got, size_t n, const char *what)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(&want[i], &got[i], sizeof *want) != 0 && !(isnan(want[i]) && isnan(got[i])))
            fail_msg("%s, n %zu, element %zu: want %a, got %a", what, n, i, (double)want[i],
                     (double)got[i]);
}

static void minus_exp(const struct row_kernels *k, const float *x, float *y, size_t n)
{
    k->exp(x, 1.5f, y, n);
}

/* Kernel number i of x; false: there is none. */
static bool call(const struct row_kernels *k, int i, const float *x, float *y, size_t n)
{
    row_f32_fn *const rows[] = {k->tanh,      k->sigmoid, k->erf,  k->gelu,
                                k->gelu_tanh, k->relu,    k->swish};
    if (i < 7)
        rows[i](x, y, n);
    else if (i == 7)
        minus_exp(k, x, y, n);
    return i < 8;
}

TEST(test_rows)
{
    static const char *const names[] = {"tanh",      "sigmoid", "erf",   "gelu",
                                        "gelu tanh", "relu",    "swish", "exp"};
    struct pith_kernels ref, k;
    uint64_t seed = 1;
    pith_kernels_fill(&ref, 0);
    for (size_t level = 0; level < N_LEVELS; level++)
        for (size_t n = 1; level_table(level, &k) && n <= LONGEST; n += n < 70 ? 1 : 23) {
            struct guarded in = guard_new(n * sizeof(float), 1),
                           out = guard_new(n * sizeof(float), 1);
            float *x = in.data, *y = out.data, want[LONGEST];
            fill(x, n, &seed);
            for (int i = 0; call(&ref.row, i, x, want, n); i++) {
                call(&k.row, i, x, y, n);
                same_bits(want, y, n, names[i]);
                memcpy(y, x, n * sizeof *y);
                call(&k.row, i, y, y, n);
                same_bits(want, y, n, names[i]);
            }
            guard_free(&in);
            guard_free(&out);
        }
}

/* Rows of every length that are computed side by side, and longer ones, are what each is alone: in
 * place, too. */
TEST(test_softmax)
{
    struct pith_kernels ref, k;
    uint64_t seed = 6;
    pith_kernels_fill(&ref, 0);
    for (size_t n = 1; n < 70; n++)
        for (size_t rows = 1; rows < 40; rows += 6) {
            struct guarded in = guard_new(rows * n * sizeof(float), 1);
            float *x = in.data, want[70 * 40], y[70 * 40];
            fill(x, rows * n, &seed);
            for (size_t r = 0; r < rows; r++)
                ref.row.softmax(x + r * n, want + r * n, 1, n);
            ref.row.softmax(x, y, rows, n);
            same_bits(want, y, rows * n, "softmax of rows");
            for (size_t level = 0; level < N_LEVELS; level++)
                if (level_table(level, &k)) {
                    k.row.softmax(x, y, rows, n);
                    same_bits(want, y, rows * n, "softmax");
                    memcpy(y, x, rows * n * sizeof *y);
                    k.row.softmax(y, y, rows, n);
                    same_bits(want, y, rows * n, "softmax in place");
                }
            guard_free(&in);
        }
}

static void by_hand(enum binary_kind kind, float a, float b, float *y, uint8_t *byte)
{
    const float nan_first = a != a ? a : b;
    *byte = kind == BINARY_EQUAL       ? a == b
            : kind == BINARY_NOT_EQUAL ? a != b
            : kind == BINARY_LESS      ? a < b
                                       : a <= b;
    *y = kind == BINARY_ADD     ? a + b
         : kind == BINARY_SUB   ? a - b
         : kind == BINARY_MUL   ? a * b
         : kind == BINARY_DIV   ? a / b
         : kind == BINARY_PRELU ? (a < 0 ? a * b : a)
         : kind == BINARY_POWER ? pith_power_f32(a, b)
         : kind == BINARY_MIN   ? (a < b ? a : nan_first)
                                : (a > b ? a : nan_first);
}

/* Every kind at every way of steps, and the result over either operand. */
TEST(test_binary)
{
    struct pith_kernels k;
    uint64_t seed = 7;
    for (size_t level = 0; level < N_LEVELS; level++)
        for (size_t n = 1; level_table(level, &k) && k.row.elementwise && n < 90; n++)
            for (int kind = 0; kind < 4 * BINARY_KINDS; kind++) {
                const enum binary_kind of = (enum binary_kind)(kind / 4);
                const bool compares = of >= BINARY_EQUAL && of <= BINARY_LESS_EQUAL;
                size_t sa = kind & 1, sb = kind >> 1 & 1, bytes = compares ? 1 : sizeof(float);
                struct guarded in[2] = {guard_new((sa ? n : 1) * sizeof(float), 1),
                                        guard_new((sb ? n : 1) * sizeof(float), 1)};
                struct guarded out = guard_new(n * bytes, 1);
                float *a = in[0].data, *b = in[1].data, want[90];
                uint8_t wanted[90];
                fill(a, sa ? n : 1, &seed);
                fill(b, sb ? n : 1, &seed);
                for (size_t i = 0; i < (sb ? n : 1) && of == BINARY_POWER; i += 2)
                    b[i] = truncf(b[i]); /* squares, cubes, odd and even powers */
                for (size_t i = 0; i < n; i++)
                    by_hand(of, a[i * sa], b[i * sb], &want[i], &wanted[i]);
                binary_row_fn *row = k.row.elementwise->binary[of];
                row(a, sa, b, sb, out.data, n);
                if (compares)
                    assert_memory_equal(wanted, out.data, n);
                else
                    same_bits(want, out.data, n, "binary");
                if (!compares && sa + sb) {
                    row(a, sa, b, sb, sa ? a : b, n);
                    same_bits(want, sa ? a : b, n, "binary in place");
                }
                guard_free(&in[0]);
                guard_free(&in[1]);
                guard_free(&out);
            }
}

/* Activations and functions of one number, in place too. */
TEST(test_elementwise)
{
    static const enum act_kind acts[] = {ACT_LEAKY, ACT_HARD_SIGMOID, ACT_HARD_SWISH};
    struct pith_kernels k;
    uint64_t seed = 8;
    for (size_t level = 0; level < N_LEVELS; level++)
        for (size_t n = 1; level_table(level, &k) && k.row.elementwise && n < 90; n++) {
            struct guarded in = guard_new(n * sizeof(float), 1);
            float *x = in.data, y[90], want[90];
            for (int kind = 0; kind < UNARY_NOT + 3; kind++) {
                fill(x, n, &seed);
                for (size_t i = 0; i < n && (n & 1u); i++)
                    x[i] =
                        fabsf(x[i]) < 1e6f ? x[i] : 1.0f; /* no angle takes the whole block out */
                if (kind < UNARY_NOT) {
                    memcpy(want, x, n * sizeof *x); /* kinds of other kernels do nothing */
                    memcpy(y, x, n * sizeof *x);
                    unary_rows(kind, 0.75f, 1.5f, x, want, n);
                    for (size_t i = 0; i < n && (kind == UNARY_SIN || kind == UNARY_COS); i++)
                        want[i] = kind == UNARY_SIN ? pith_sin_f32(x[i]) : pith_cos_f32(x[i]);
                    k.row.elementwise->unary(kind, 0.75f, 1.5f, x, y, n);
                } else {
                    pith_activate_row(acts[kind - UNARY_NOT], 0.2f, 0.5f, x, want, n);
                    pith_activate_by(&k.row, (struct dense_act){acts[kind - UNARY_NOT], 0.2f, 0.5f},
                                     x, y, n);
                }
                same_bits(want, y, n, "of one number");
                if (kind >= UNARY_NOT) {
                    k.row.elementwise->act(acts[kind - UNARY_NOT], 0.2f, 0.5f, x, x, n);
                    same_bits(want, x, n, "activation in place");
                }
            }
            guard_free(&in);
        }
}

/* Rows longer than the pieces that are bounded at a time; what is no number stays so. */
TEST(test_clip)
{
    struct pith_kernels k;
    uint64_t seed = 3;
    for (size_t level = 0; level <= N_LEVELS; level++)
        for (size_t n = 1; n < 3000; n += n < 40 ? 1 : 331) {
            if (level == N_LEVELS)
                pith_kernels_fill(&k, 0);
            else if (!level_table(level, &k))
                continue;
            struct guarded in = guard_new(n * sizeof(float), 1),
                           out = guard_new(n * sizeof(float), 1);
            float *x = in.data, *y = out.data, want[3000];
            for (size_t i = 0; i < n; i++) {
                x[i] = i % 17 == 3 ? NAN : (float)(random_u64(&seed) % 4096) / 512.0f - 3.0f;
                want[i] = pith_activate(ACT_CLIP, -1.5f, 2.25f, x[i]);
            }
            k.row.clip(x, -1.5f, 2.25f, y, n);
            same_bits(want, y, n, "clip");
            k.row.clip(x, -1.5f, 2.25f, x, n);
            same_bits(want, x, n, "clip in place");
            guard_free(&in);
            guard_free(&out);
        }
}

TEST(test_layer_norm)
{
    struct pith_kernels ref, k;
    uint64_t seed = 2;
    pith_kernels_fill(&ref, 0);
    for (size_t n = 1; n <= 700; n += n < 40 ? 1 : 61) {
        float x[700], scale[700], bias[700], want[700], y[700];
        for (size_t i = 0; i < n; i++) {
            x[i] = (float)(random_u64(&seed) % 4096) / 512.0f - 3.0f;
            scale[i] = (float)(random_u64(&seed) % 64) / 32.0f;
            bias[i] = (float)(random_u64(&seed) % 64) / 32.0f - 1.0f;
        }
        struct norm_rows row = {x, want, scale, n % 3 ? bias : NULL, 1e-5f, n % 5 == 0};
        ref.row.layer_norm(&row, 1, n);
        double mean = 0, square = 0;
        for (size_t i = 0; i < n && !row.about_zero; i++)
            mean += (double)x[i] / (double)n;
        for (size_t i = 0; i < n; i++)
            square += ((double)x[i] - mean) * ((double)x[i] - mean) / (double)n;
        for (size_t i = 0; i < n; i++) {
            double y1 = ((double)x[i] - mean) / sqrt(square + 1e-5) * (double)scale[i];
            assert_true(fabs(y1 + (n % 3 ? (double)bias[i] : 0) - (double)want[i]) < 1e-4);
        }
        row.y = y;
        for (size_t level = 0; level < N_LEVELS; level++)
            if (level_table(level, &k)) {
                k.row.layer_norm(&row, 1, n);
                same_bits(want, y, n, "layer norm");
            }
    }
}

/* Rows together are what each is alone, at every level and in place. */
TEST(test_rows_together)
{
    struct pith_kernels ref, k;
    uint64_t seed = 9;
    pith_kernels_fill(&ref, 0);
    for (size_t n = 1; n < 70; n++)
        for (size_t rows = 1; rows < 40; rows += 6) {
            struct guarded in = guard_new(rows * n * sizeof(float), 1);
            float *x = in.data, scale[70], bias[70], want[3][70 * 40], y[70 * 40];
            fill(x, rows * n, &seed), fill(scale, n, &seed), fill(bias, n, &seed);
            struct norm_rows norm = {x, want[0], scale, n % 3 ? bias : NULL, 1e-5f, n % 5 == 0};
            for (size_t r = 0; r < rows; r++, norm.x += n, norm.y += n) {
                ref.row.layer_norm(&norm, 1, n);
                want[1][r] = pith_sum_f32(norm.x, n);
                want[2][r] = -norm.x[0];
                for (size_t i = 1; i < n; i++)
                    want[2][r] = larger_f32(-norm.x[i], want[2][r]);
            }
            norm.x = x;
            for (size_t level = 0; level <= N_LEVELS; level++)
                if (level == N_LEVELS || level_table(level, &k)) {
                    const struct row_kernels *row = level == N_LEVELS ? &ref.row : &k.row;
                    row->sum_rows(x, y, rows, n);
                    same_bits(want[1], y, rows, "sums of rows");
                    row->extreme_rows(x, -1.0f, y, rows, n);
                    same_bits(want[2], y, rows, "extremes of rows");
                    norm.x = x, norm.y = y;
                    row->layer_norm(&norm, rows, n);
                    same_bits(want[0], y, rows * n, "layer norm of rows");
                    memcpy(y, x, rows * n * sizeof *y);
                    norm.x = y;
                    row->layer_norm(&norm, rows, n);
                    same_bits(want[0], y, rows * n, "layer norm in place");
                }
            guard_free(&in);
        }
}

/* Columns of rows that lie apart, one NaN among them; the last row ends before a page of its own.
 */
TEST(test_columns)
{
    struct pith_kernels ref, k;
    uint64_t seed = 11;
    pith_kernels_fill(&ref, 0);
    for (size_t width = 1; width <= 70; width++) {
        const size_t rows = 1 + random_u64(&seed) % 150, ld = width + random_u64(&seed) % 5;
        struct guarded in = guard_new(((rows - 1) * ld + width) * sizeof(float), 1);
        float *x = in.data, most[2][70];
        double sum[2][70] = {{0}};
        fill(x, (rows - 1) * ld + width, &seed);
        for (size_t i = 0; i < (rows - 1) * ld + width; i++)
            x[i] = fabsf(x[i]) < 1000 ? x[i] : 1; /* sums that stay finite */
        x[random_u64(&seed) % width + rows / 2 * ld] = NAN;
        ref.row.sum_columns(x, ld, rows, width, sum[0]);
        for (size_t c = 0; c < width; c++) {
            double plain = 0, size = 0;
            most[0][c] = 0.5f;
            for (size_t r = 0; r < rows; r++) {
                plain += (double)x[r * ld + c];
                size += fabs((double)x[r * ld + c]);
                most[0][c] = larger_f32(-x[r * ld + c], most[0][c]);
            }
            assert_true(plain != plain ? isnan(sum[0][c])
                                       : fabs(sum[0][c] - plain) <= size * 0x1p-19);
        }
        for (size_t level = 0; level <= N_LEVELS; level++)
            if (level == N_LEVELS || level_table(level, &k)) {
                const struct row_kernels *row = level == N_LEVELS ? &ref.row : &k.row;
                for (size_t c = 0; c < width; c++)
                    most[1][c] = 0.5f, sum[1][c] = 0;
                row->extreme_columns(x, ld, rows, width, -1.0f, most[1]);
                same_bits(most[0], most[1], width, "extremes of columns");
                row->sum_columns(x, ld, rows, width, sum[1]);
                for (size_t c = 0; c < width; c++)
                    assert_true(sum[0][c] == sum[1][c] || isnan(sum[0][c]));
            }
        guard_free(&in);
    }
}

TEST(test_softmax_columns)
{
    struct pith_kernels ref, k;
    uint64_t seed = 3;
    pith_kernels_fill(&ref, 0);
    for (size_t width = 1; width <= DENSE_MAX_NR; width++) {
        size_t n = 1 + random_u64(&seed) % 40, ld = width + random_u64(&seed) % 5;
        float x[40 * 70], want[40 * 70], y[40 * 70], inverse[DENSE_MAX_NR], got[DENSE_MAX_NR];
        fill(x, n * ld, &seed);
        memcpy(want, x, sizeof want);
        ref.row.softmax_columns(want, ld, n, width, inverse);
        for (size_t c = 0; c < width; c++) {
            float column[40], expected[40];
            for (size_t r = 0; r < n; r++)
                column[r] = x[r * ld + c];
            ref.row.softmax(column, expected, 1, n);
            for (size_t r = 0; r < n; r++) {
                float share = want[r * ld + c] * inverse[c];
                assert_true((isnan(share) && isnan(expected[r])) ||
                            fabsf(share - expected[r]) <= 1e-6f);
            }
        }
        for (size_t level = 0; level < N_LEVELS; level++)
            if (level_table(level, &k)) {
                memcpy(y, x, sizeof y);
                k.row.softmax_columns(y, ld, n, width, got);
                same_bits(want, y, n * ld, "softmax columns");
                same_bits(inverse, got, width, "their sums");
            }
    }
}

TEST(test_where)
{
    struct pith_kernels ref, k;
    uint64_t seed = 4;
    pith_kernels_fill(&ref, 0);
    for (size_t level = 0; level < N_LEVELS; level++)
        for (size_t n = 1; level_table(level, &k) && n < 90; n++)
            for (size_t steps = 0; steps < 4; steps++) {
                size_t sa = steps & 1, sb = steps >> 1;
                uint8_t c[90];
                uint32_t a[90], b[90], y[90];
                for (size_t i = 0; i < n; i++) {
                    c[i] = (uint8_t)(random_u64(&seed) % 3);
                    a[i] = (uint32_t)random_u64(&seed);
                    b[i] = (uint32_t)random_u64(&seed);
                }
                k.row.where(c, a, sa, b, sb, y, n);
                for (size_t i = 0; i < n; i++)
                    assert_int_equal(y[i], c[i] ? a[i * sa] : b[i * sb]);
            }
}

TEST(test_pack)
{
    struct pith_kernels k;
    uint64_t seed = 5;
    for (int turn = 0; turn < 400; turn++) {
        size_t rows = 1 + random_u64(&seed) % 70, n = 1 + random_u64(&seed) % 30;
        uint32_t mr = (uint32_t[]){4, 8, 24, 48, 6, 1}[random_u64(&seed) % 6];
        bool turned = random_u64(&seed) % 2;
        size_t ld = turned ? 1 : n + random_u64(&seed) % 3, step = turned ? rows : 1;
        size_t panel = n * mr + random_u64(&seed) % 2, panels = (rows + mr - 1) / mr;
        struct guarded in = guard_new((turned ? rows * n : (rows - 1) * ld + n) * sizeof(float), 1);
        float *w = in.data, *want = calloc(panels * panel, sizeof *want);
        float *got = calloc(panels * panel, sizeof *got);
        assert_true(want && got);
        for (size_t i = 0; i < (turned ? rows * n : (rows - 1) * ld + n); i++)
            w[i] = (float)i;
        for (size_t r = 0; r < rows; r++)
            for (size_t i = 0; i < n; i++)
                want[r / mr * panel + i * mr + r % mr] = w[r * ld + i * step];
        pith_pack_rows_f32(&(struct pack_rows_job){w, got, ld, step, rows, n, mr, panel});
        assert_memory_equal(want, got, panels * panel * sizeof *want);
        for (size_t level = 0; level < N_LEVELS; level++)
            if (level_table(level, &k)) {
                k.dense.pack_rows_f32(
                    &(struct pack_rows_job){w, got, ld, step, rows, n, mr, panel});
                assert_memory_equal(want, got, panels * panel * sizeof *want);
            }
        free(want);
        free(got);
        guard_free(&in);
    }
}

RUN_TESTS
