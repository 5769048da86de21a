/* SPDX-License-Identifier: MIT */
/* Rounding in the loop: the definition at every instruction set, gradients against differences of
 * what they are the gradients of, steps that are powers of two, and the first step. */
#include <stdint.h>
#include "test_run.h"
#include <math.h>
#include <string.h>
#include "train/kernels/panel_product.h"
#include "train/kernels_of_features.h"
#include "train/tape/fake_quant.h"
#include "train/tape/fake_quant_graph.h"
#include "train/tape/tape.h"
#include "train/tape/tape_state.h"
#include "sample_models.h"
#include "pith_runtime.h"

enum { MOST = 700 };

static const struct fake_step grids[] = {
    {0.25f, -8, 7}, {0.1f, 0, 15}, {1.0f / 3, -1, 1}, {0.013f, -127, 127}, {0.7f, -100, 155}};
enum { GRIDS = sizeof grids / sizeof *grids };

static void fill(float *x, size_t n, float size, uint64_t seed)
{
    struct sample_random r = sample_random_of(seed);
    for (size_t i = 0; i < n; i++)
        x[i] = size * sample_gauss(&r);
}

static size_t variants(const struct fake_rows **to)
{
    static const uint32_t masks[] = {0, PITH_CPU_AVX2, PITH_CPU_AVX2 | PITH_CPU_AVX512};
    size_t n = 0;
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++)
        if ((pith_cpu_features() & masks[i]) == masks[i])
            to[n++] = train_kernels_of(masks[i]).fake;
    return n;
}

/* As QuantizeLinear with the zero point 0, and DequantizeLinear, behind each other. */
static float expected(const struct fake_step *g, float x)
{
    float k = nearbyintf(x / g->step);
    return fminf(fmaxf(k, g->low), g->high) * g->step;
}

TEST(test_rounds)
{
    const struct fake_rows *rows[3];
    size_t n_rows = variants(rows);
    float x[MOST], y[MOST + 1];
    for (size_t v = 0; v < n_rows; v++)
        for (size_t g = 0; g < GRIDS; g++)
            for (size_t n = 0; n <= MOST; n += n < 40 ? 1 : 97) {
                fill(x, n, 10 * grids[g].step, n + 1);
                for (size_t i = 0; i < n; i += 5) /* ties, ends, far out */
                    x[i] = grids[g].step * ((float)(i % 41) - 20.5f);
                for (size_t i = 3; i < n; i += 31)
                    x[i] = i % 2 ? 1e30f : -1e30f;
                y[n] = 77;
                rows[v]->round(&grids[g], x, n, y);
                for (size_t i = 0; i < n; i++)
                    if (y[i] != expected(&grids[g], x[i]))
                        fail_msg("variant %zu, grid %zu, %g: %g, expected %g", v, g, (double)x[i],
                                 (double)y[i], (double)expected(&grids[g], x[i]));
                assert_true(y[n] == 77);
            }
}

/* What LSQ differentiates: rounding is the addition of a number that does not change. */
static double straight(const struct fake_step *g, double x, double step, double zero, double kept)
{
    double k = x / step + kept, low = (double)g->low - zero, high = (double)g->high - zero;
    return (k < low ? low : k > high ? high : k) * step;
}

static double kept_of(const struct fake_step *g, float x)
{
    return nearbyint((double)x / (double)g->step) - (double)x / (double)g->step;
}

/* Clear of the ends, where the slope jumps. */
static bool is_smooth(const struct fake_step *g, float x)
{
    float k = x / g->step;
    return fabsf(k - g->low) > 0.6f && fabsf(k - g->high) > 0.6f;
}

static void check_gradient(const struct fake_rows *rows, const struct fake_step *g)
{
    enum { N = 533 };
    const double h = 1e-6;
    float x[N], y[N], dy[N], dx[N];
    double step_is = 0, zero_is = 0;
    fill(x, N, 0.6f * (g->high - g->low) * g->step, 3);
    fill(dy, N, 1, 4);
    for (size_t i = 0; i < N; i++)
        while (!is_smooth(g, x[i]))
            x[i] += 0.3f * g->step;
    rows->round(g, x, N, y);
    for (size_t i = 0; i < N; i++)
        dx[i] = 1;
    struct fake_gradient of = {.x = x, .dy = dy, .y = y, .n = N, .dx = dx};
    rows->back(g, &of);
    for (size_t i = 0; i < N; i++) {
        double s = (double)g->step, kept = kept_of(g, x[i]), at = (double)x[i], d = (double)dy[i];
        double by_x = straight(g, at + h, s, 0, kept) - straight(g, at - h, s, 0, kept);
        assert_true(fabs((double)dx[i] - 1 - d * by_x / (2 * h)) < 1e-5 * (1 + fabs(d)));
        step_is += d *
                   (straight(g, at, s * (1 + h), 0, kept) - straight(g, at, s * (1 - h), 0, kept)) /
                   (2 * h * s);
        zero_is += d * (straight(g, at, s, h, kept) - straight(g, at, s, -h, kept)) / (2 * h);
    }
    assert_true(fabs(of.by_step - step_is) < 1e-4 * (1 + fabs(step_is)));
    assert_true(fabs(-of.outside * (double)g->step - zero_is) < 1e-4 * (1 + fabs(zero_is)));
    float set[N];
    struct fake_gradient again = {.x = x, .dy = dy, .y = y, .n = N, .dx = set, .set = true};
    rows->back(g, &again);
    for (size_t i = 0; i < N; i++)
        assert_true(fabsf(set[i] + 1 - dx[i]) < 1e-5f);
    assert_true(again.by_step == of.by_step && again.outside == of.outside);
    again.dx = NULL;
    rows->back(g, &again);
    assert_true(again.by_step == 2 * of.by_step && again.outside == 2 * of.outside);
}

TEST(test_gradient)
{
    const struct fake_rows *rows[3];
    size_t n = variants(rows);
    for (size_t v = 0; v < n; v++)
        for (size_t g = 0; g < GRIDS; g++)
            check_gradient(rows[v], &grids[g]);
}

TEST(test_steps)
{
    const struct fake_grid any = {0.3f, 0, 15, false}, radix = {0.3f, -8, 7, true};
    assert_true(pith_fake_step(&any, 1) == 0.3f);
    assert_true(pith_fake_step(&any, 2) == 0.6f);
    assert_true(pith_fake_step(&any, -1) > 0); /* never through zero */
    assert_true(pith_fake_step(&radix, 1) == 0.25f);
    assert_true(pith_fake_step(&radix, 1.17f) == 0.25f); /* below 2^-1.5 */
    assert_true(pith_fake_step(&radix, 1.19f) == 0.5f);
    assert_true(pith_fake_step(&radix, 0.59f) == 0.125f * (0.3f * 0.59f < 0.17677669f ? 1 : 2));
    assert_true(pith_fake_zero(&any, 5.4f / 15) == 5);
    assert_true(pith_fake_zero(&any, -1) == 0 && pith_fake_zero(&any, 9) == 15);
    assert_true(pith_fake_zero(&any, NAN) == 0 && pith_fake_step(&any, NAN) > 0);
}

static double loss_of(const struct fake_grid *g, const float *x, size_t n, float step)
{
    const struct fake_step s = {step, g->lowest, g->highest};
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double d = (double)x[i] - (double)expected(&s, x[i]);
        sum += d * d;
    }
    return sum;
}

TEST(test_first_step)
{
    enum { N = 500 };
    float x[N], most = 0;
    unsigned char alive[N];
    fill(x, N, 0.1f, 8);
    for (size_t i = 0; i < N; i++)
        most = fmaxf(most, fabsf(x[i]));
    for (int radix = 0; radix < 2; radix++) {
        const struct fake_grid g = {1, -8, 7, radix};
        float s = pith_fake_first_step(&g, x, NULL, N), widest = most / 7;
        assert_true(s < widest && loss_of(&g, x, N, s) < 0.9 * loss_of(&g, x, N, widest));
        assert_true(!radix || pith_fake_step(&(struct fake_grid){s, -8, 7, true}, 1) == s);
    }
    const struct fake_grid g = {1, -1, 1, false};
    for (size_t i = 0; i < N; i++) {
        alive[i] = i % 2;
        x[i] = i % 2 ? 0.5f : 100;
    }
    assert_true(fabsf(pith_fake_first_step(&g, x, alive, N) - 0.5f) < 1e-3f);
    memset(x, 0, sizeof x);
    assert_true(pith_fake_first_step(&g, x, NULL, N) == 1);
}

RUN_TESTS
