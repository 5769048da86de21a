/* SPDX-License-Identifier: MIT */
/* Augmentation: words, and what each amount does to a picture whose answer is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>
#include "augment.h"

enum { H = 20, W = 24, N = 2 * H * W };

static void picture(float *x)
{
    for (uint32_t i = 0; i < N; i++)
        x[i] = 1.0f + 0.25f * sinf((float)i * 0.7f);
}

static struct augment parsed(const char *text)
{
    struct augment a;
    struct pith_error err = {0};
    if (pith_augment_parse(text, &a, &err))
        fail_msg("%s", err.text);
    return a;
}

static void test_words(void **state)
{
    (void)state;
    static const char *const wrong[] = {"spin=3", "shift",    "shift=",    "shift=x", "rotate=181",
                                        "flip=1", "scale=-1", "shear=nan", ",",       "flips"};
    struct augment a = parsed("shift=2,flip,rotate=7,scale=0.07,shear=.09,elastic=1.2,cutout=8");
    assert_true(a.shift == 2 && a.flip && a.rotate == 7 && a.scale == 0.07f && a.shear == 0.09f &&
                a.elastic == 1.2f && a.cutout == 8);
    a = parsed("");
    assert_false(pith_augment_any(&a));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct pith_error err = {0};
        if (pith_augment_parse(wrong[i], &a, &err) != PITH_ERR_ARGUMENT ||
            !strstr(err.text, "augmentation"))
            fail_msg("'%s': %s", wrong[i], err.text);
    }
}

static void test_nothing_and_seeds(void **state)
{
    (void)state;
    float x[N], y[N], z[N], scratch[N];
    struct augment none = {0}, all = parsed("shift=2,rotate=7,scale=0.07,shear=0.09,elastic=1.2");
    picture(x);
    memcpy(y, x, sizeof x);
    pith_augment(&none, 5, 2, H, W, y, scratch);
    for (uint32_t i = 0; i < N; i++)
        assert_true(fabsf(x[i] - y[i]) < 1e-5f);
    memcpy(y, x, sizeof x);
    memcpy(z, x, sizeof x);
    pith_augment(&all, 5, 2, H, W, y, scratch);
    pith_augment(&all, 5, 2, H, W, z, scratch);
    assert_memory_equal(y, z, sizeof y);
    memcpy(z, x, sizeof x);
    pith_augment(&all, 6, 2, H, W, z, scratch);
    assert_memory_not_equal(y, z, sizeof y);
    for (uint32_t i = 0; i < N; i++)
        assert_true(y[i] >= -1e-5f && y[i] <= 1.2501f); /* interpolation never overshoots */
}

/* Both happen, and each mirror is exact. */
static void test_flip(void **state)
{
    (void)state;
    float x[N], y[N], scratch[N];
    struct augment a = parsed("flip");
    uint32_t mirrored = 0;
    picture(x);
    for (uint64_t seed = 0; seed < 64; seed++) {
        memcpy(y, x, sizeof x);
        pith_augment(&a, seed, 2, H, W, y, scratch);
        bool mirror = fabsf(y[0] - x[W - 1]) < 1e-5f;
        mirrored += mirror;
        for (uint32_t row = 0; row < 2 * H; row++)
            for (uint32_t k = 0; k < W; k++)
                assert_true(fabsf(y[row * W + k] - x[row * W + (mirror ? W - 1 - k : k)]) < 1e-5f);
    }
    assert_in_range(mirrored, 16, 48);
}

/* The centre of mass of a blob: where it lands for each map. */
static void centre(const float *x, double *row, double *col, double *mass)
{
    *row = *col = *mass = 0;
    for (uint32_t i = 0; i < H; i++)
        for (uint32_t k = 0; k < W; k++) {
            *row += i * (double)x[i * W + k];
            *col += k * (double)x[i * W + k];
            *mass += (double)x[i * W + k];
        }
    *row /= *mass;
    *col /= *mass;
}

static void blob(float *x, int row, int col)
{
    memset(x, 0, N * sizeof *x);
    for (int i = -1; i <= 1; i++)
        for (int k = -1; k <= 1; k++)
            x[(row + i) * W + col + k] = 1;
}

static void test_shift_and_turn(void **state)
{
    (void)state;
    float x[N], scratch[N];
    double row, col, mass, furthest = 0, most_turned = 0;
    struct augment shift = parsed("shift=3"), turn = parsed("rotate=20"),
                   size = parsed("scale=0.5");
    double smallest = 9, largest = 9;
    for (uint64_t seed = 0; seed < 200; seed++) {
        blob(x, 9, 11);
        pith_augment(&shift, seed, 1, H, W, x, scratch);
        centre(x, &row, &col, &mass);
        assert_true(fabs(row - 9) <= 3.01 && fabs(col - 11) <= 3.01 && fabs(mass - 9) < 1e-3);
        furthest = fmax(furthest, fabs(col - 11));
        blob(x, 9, 19);
        pith_augment(&turn, seed, 1, H, W, x, scratch);
        centre(x, &row, &col, &mass);
        double angle = atan2(row - 9.5, col - 11.5) - atan2(9 - 9.5, 19 - 11.5);
        assert_true(fabs(hypot(row - 9.5, col - 11.5) - hypot(0.5, 7.5)) < 0.1);
        assert_true(fabs(angle) < 20.5 * 3.14159265 / 180);
        most_turned = fmax(most_turned, fabs(angle));
        blob(x, 9, 11);
        pith_augment(&size, seed, 1, H, W, x, scratch);
        centre(x, &row, &col, &mass);
        smallest = fmin(smallest, mass);
        largest = fmax(largest, mass);
    }
    assert_true(furthest > 2.5 && most_turned > 15 * 3.14159265 / 180);
    assert_true(smallest < 5.5 && smallest > 3.5 && largest > 16 && largest < 21);
}

static void test_elastic_is_smooth(void **state)
{
    (void)state;
    float x[N], scratch[N];
    double row, col, mass, furthest = 0;
    struct augment a = parsed("elastic=4");
    for (uint64_t seed = 0; seed < 100; seed++) {
        blob(x, 9, 11);
        pith_augment(&a, seed, 1, H, W, x, scratch);
        centre(x, &row, &col, &mass);
        assert_true(fabs(row - 9) < 4 && fabs(col - 11) < 4 && mass > 2 && mass < 30);
        furthest = fmax(furthest, fabs(row - 9));
    }
    assert_true(furthest > 1);
}

static void test_cutout(void **state)
{
    (void)state;
    float x[N], scratch[N];
    struct augment a = parsed("cutout=6");
    uint32_t most = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        uint32_t zeros = 0;
        picture(x);
        pith_augment(&a, seed, 2, H, W, x, scratch);
        for (uint32_t i = 0; i < H * W; i++) {
            assert_true((x[i] == 0) == (x[i + H * W] == 0)); /* all channels alike */
            zeros += x[i] == 0;
        }
        assert_in_range(zeros, 9, 36);
        most = zeros > most ? zeros : most;
    }
    assert_int_equal(most, 36);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_words),
                                       cmocka_unit_test(test_nothing_and_seeds),
                                       cmocka_unit_test(test_flip),
                                       cmocka_unit_test(test_shift_and_turn),
                                       cmocka_unit_test(test_elastic_is_smooth),
                                       cmocka_unit_test(test_cutout)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
