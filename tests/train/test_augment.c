/* SPDX-License-Identifier: MIT */
/* Augmentation: words, and what each amount does to a picture whose answer is known. */
#include <stdint.h>
#include "test_run.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "train/batch/augment.h"

enum { H = 20, W = 24, N = 2 * H * W };
static const struct picture_size of_1 = {1, H, W}, of_2 = {2, H, W}, of_3 = {3, H, W};

static void picture(float *x)
{
    for (uint32_t i = 0; i < N; i++)
        x[i] = 1.0f + 0.25f * sinf((float)i * 0.7f);
}

static struct augment parsed(const char *text)
{
    struct augment a;
    struct pith_error err = {0};
    SUCCEEDS(pith_augment_parse(text, &a, &err));
    return a;
}

TEST(test_words)
{
    static const char *const wrong[] = {"spin=3",     "shift",     "shift=",    "shift=x",
                                        "rotate=181", "flip=1",    "clean=1.5", "mixup=3",
                                        "scale=-1",   "shear=nan", ",",         "flips"};
    struct augment a = parsed("shift=2,flip,rotate=7,scale=0.07,shear=.09,elastic=1.2,cutout=8");
    assert_true(a.shift == 2 && a.flip && a.rotate == 7 && a.scale == 0.07f && a.shear == 0.09f &&
                a.elastic == 1.2f && a.cutout == 8);
    a = parsed("crop=4,brightness=.1,contrast=.2,saturation=.3,noise=.4,mixup=.5,clean=.6");
    assert_true(a.crop == 4 && a.brightness == 0.1f && a.contrast == 0.2f && a.saturation == 0.3f &&
                a.noise == 0.4f && a.mixup == 0.5f && a.clean == 0.6f);
    a = parsed("clean=.6");
    assert_false(pith_augment_any(&a));
    a = parsed("");
    assert_false(pith_augment_any(&a));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct pith_error err = {0};
        if (pith_augment_parse(wrong[i], &a, &err) != PITH_ERR_ARGUMENT ||
            !strstr(err.text, "augmentation"))
            fail_msg("'%s': %s", wrong[i], err.text);
    }
}

/* Each amount at its most, one step beyond, and whether it moves pixels or changes any. */
TEST(test_amounts_have_ends)
{
    static const struct {
        const char *name, *most;
        bool moves, changes;
    } amounts[] = {{"shift", "1000", true, true},  {"crop", "1000", true, true},
                   {"rotate", "180", true, true},  {"scale", "4", true, true},
                   {"shear", "4", true, true},     {"elastic", "100", true, true},
                   {"cutout", "1000", true, true}, {"brightness", "10", false, true},
                   {"contrast", "1", false, true}, {"saturation", "1", false, true},
                   {"noise", "10", false, true},   {"mixup", "2", false, true},
                   {"clean", "1", false, false}};
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++) {
        char word[64], beyond[64], text[256];
        struct augment a;
        struct pith_error err = {0};
        snprintf(word, sizeof word, "%s=%s", amounts[i].name, amounts[i].most);
        a = parsed(word);
        assert_int_equal(pith_augment_moves(&a), amounts[i].moves);
        assert_int_equal(pith_augment_any(&a), amounts[i].changes);
        snprintf(word, sizeof word, "%s=0", amounts[i].name);
        a = parsed(word);
        assert_false(pith_augment_any(&a));
        snprintf(beyond, sizeof beyond, "%s=%s.5", amounts[i].name, amounts[i].most);
        a.noise = 77;
        assert_int_equal(pith_augment_parse(beyond, &a, &err), PITH_ERR_ARGUMENT);
        snprintf(text, sizeof text, "augmentation '%s': not in 0..%s", beyond, amounts[i].most);
        assert_string_equal(err.text, text);
        assert_true(a.noise == 77); /* nothing changes on failure */
    }
    struct augment flipped = parsed("flip");
    assert_true(pith_augment_moves(&flipped) && pith_augment_any(&flipped));
}

TEST(test_nothing_and_seeds)
{
    float x[N], y[N], z[N], scratch[N];
    struct augment none = {0}, all = parsed("shift=2,rotate=7,scale=0.07,shear=0.09,elastic=1.2");
    picture(x);
    memcpy(y, x, sizeof x);
    pith_augment(&none, 5, &of_2, y, scratch);
    for (uint32_t i = 0; i < N; i++)
        assert_true(fabsf(x[i] - y[i]) < 1e-5f);
    memcpy(y, x, sizeof x);
    memcpy(z, x, sizeof x);
    pith_augment(&all, 5, &of_2, y, scratch);
    pith_augment(&all, 5, &of_2, z, scratch);
    assert_memory_equal(y, z, sizeof y);
    memcpy(z, x, sizeof x);
    pith_augment(&all, 6, &of_2, z, scratch);
    assert_memory_not_equal(y, z, sizeof y);
    for (uint32_t i = 0; i < N; i++)
        assert_true(y[i] >= -1e-5f && y[i] <= 1.2501f); /* interpolation never overshoots */
}

/* Both happen, and each mirror is exact. */
TEST(test_flip)
{
    float x[N], y[N], scratch[N];
    struct augment a = parsed("flip");
    uint32_t mirrored = 0;
    picture(x);
    for (uint64_t seed = 0; seed < 64; seed++) {
        memcpy(y, x, sizeof x);
        pith_augment(&a, seed, &of_2, y, scratch);
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

TEST(test_shift_and_turn)
{
    float x[N], scratch[N];
    double row, col, mass, furthest = 0, most_turned = 0;
    struct augment shift = parsed("shift=3"), turn = parsed("rotate=20"),
                   size = parsed("scale=0.5");
    double smallest = 9, largest = 9;
    for (uint64_t seed = 0; seed < 200; seed++) {
        blob(x, 9, 11);
        pith_augment(&shift, seed, &of_1, x, scratch);
        centre(x, &row, &col, &mass);
        assert_true(fabs(row - 9) <= 3.01 && fabs(col - 11) <= 3.01 && fabs(mass - 9) < 1e-3);
        furthest = fmax(furthest, fabs(col - 11));
        blob(x, 9, 19);
        pith_augment(&turn, seed, &of_1, x, scratch);
        centre(x, &row, &col, &mass);
        double angle = atan2(row - 9.5, col - 11.5) - atan2(9 - 9.5, 19 - 11.5);
        assert_true(fabs(hypot(row - 9.5, col - 11.5) - hypot(0.5, 7.5)) < 0.1);
        assert_true(fabs(angle) < 20.5 * 3.14159265 / 180);
        most_turned = fmax(most_turned, fabs(angle));
        blob(x, 9, 11);
        pith_augment(&size, seed, &of_1, x, scratch);
        centre(x, &row, &col, &mass);
        smallest = fmin(smallest, mass);
        largest = fmax(largest, mass);
    }
    assert_true(furthest > 2.5 && most_turned > 15 * 3.14159265 / 180);
    assert_true(smallest < 5.5 && smallest > 3.5 && largest > 16 && largest < 21);
}

TEST(test_elastic_is_smooth)
{
    float x[N], scratch[N];
    double row, col, mass, furthest = 0;
    struct augment a = parsed("elastic=4");
    for (uint64_t seed = 0; seed < 100; seed++) {
        blob(x, 9, 11);
        pith_augment(&a, seed, &of_1, x, scratch);
        centre(x, &row, &col, &mass);
        assert_true(fabs(row - 9) < 4 && fabs(col - 11) < 4 && mass > 2 && mass < 30);
        furthest = fmax(furthest, fabs(row - 9));
    }
    assert_true(furthest > 1);
}

TEST(test_cutout)
{
    float x[N], scratch[N];
    struct augment a = parsed("cutout=6");
    uint32_t most = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        uint32_t zeros = 0;
        picture(x);
        pith_augment(&a, seed, &of_2, x, scratch);
        for (uint32_t i = 0; i < H * W; i++) {
            assert_true((x[i] == 0) == (x[i + H * W] == 0)); /* all channels alike */
            zeros += x[i] == 0;
        }
        assert_in_range(zeros, 9, 36);
        most = zeros > most ? zeros : most;
    }
    assert_int_equal(most, 36);
}

/* The share that stays, and what happens to the others is what would have happened anyway. */
TEST(test_clean)
{
    float x[N], y[N], z[N], scratch[N];
    struct augment all = parsed("shift=2,rotate=7,cutout=3"),
                   some = parsed("shift=2,rotate=7,cutout=3,clean=0.25"),
                   no = parsed("shift=2,clean=1");
    uint32_t same = 0;
    picture(x);
    for (uint64_t seed = 0; seed < 400; seed++) {
        memcpy(y, x, sizeof x);
        memcpy(z, x, sizeof x);
        pith_augment(&all, seed, &of_2, y, scratch);
        pith_augment(&some, seed, &of_2, z, scratch);
        bool as_it_is = memcmp(x, z, sizeof x) == 0;
        same += as_it_is;
        assert_true(as_it_is || memcmp(y, z, sizeof y) == 0);
        memcpy(z, x, sizeof x);
        pith_augment(&no, seed, &of_2, z, scratch);
        assert_memory_equal(x, z, sizeof x);
    }
    assert_in_range(same, 70, 130);
}

/* Each window is an exact copy, at whole pixels, and all windows come. */
TEST(test_crop)
{
    float x[N], y[N], scratch[N];
    struct augment a = parsed("crop=2");
    uint32_t count[5][5] = {{0}};
    picture(x);
    for (uint64_t seed = 0; seed < 500; seed++) {
        uint32_t found = 0;
        memcpy(y, x, sizeof x);
        pith_augment(&a, seed, &of_2, y, scratch);
        for (int dy = -2; dy <= 2; dy++)
            for (int dx = -2; dx <= 2; dx++) {
                uint32_t wrong = 0;
                for (int i = 0; i < 2 * H; i++)
                    for (int k = 0; k < W; k++) {
                        int row = i % H + dy, col = k + dx;
                        bool inside = row >= 0 && row < H && col >= 0 && col < W;
                        float from = inside ? x[(i / H * H + row) * W + col] : 0;
                        wrong += y[i * W + k] != from;
                    }
                count[dy + 2][dx + 2] += wrong == 0;
                found += wrong == 0;
            }
        assert_int_equal(found, 1);
    }
    for (int i = 0; i < 25; i++)
        assert_in_range(count[i / 5][i % 5], 5, 45);
}

static void statistics(const float *x, uint32_t n, double *mean, double *spread)
{
    double sum = 0, square = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += (double)x[i] / n;
    for (uint32_t i = 0; i < n; i++)
        square += ((double)x[i] - sum) * ((double)x[i] - sum) / n;
    *mean = sum;
    *spread = sqrt(square);
}

/* What each changes, what it leaves, and how far it goes. */
TEST(test_colours)
{
    enum { PLANE = H * W, ALL = 3 * PLANE };
    static float x[ALL], y[ALL], scratch[ALL];
    static const char *const texts[3] = {"brightness=0.5", "contrast=0.4", "saturation=0.4"};
    double most[3] = {0};
    for (uint32_t i = 0; i < ALL; i++)
        x[i] = 3.0f + sinf((float)i * 0.7f) * (i < PLANE ? 1.0f : 0.3f);
    double mean, spread, mean_y, spread_y;
    statistics(x, ALL, &mean, &spread);
    for (uint64_t seed = 0; seed < 200; seed++)
        for (int way = 0; way < 3; way++) {
            struct augment a = parsed(texts[way]);
            memcpy(y, x, sizeof x);
            pith_augment(&a, seed, &of_3, y, scratch);
            statistics(y, ALL, &mean_y, &spread_y);
            double moved = way == 0 ? fabs(mean_y - mean) / spread
                           : way == 1
                               ? fabs(spread_y / spread - 1)
                               : fabs((double)(y[0] - y[PLANE]) / (double)(x[0] - x[PLANE]) - 1);
            assert_true(moved <= (way ? 0.401 : 0.501));
            most[way] = fmax(most[way], moved);
            assert_true(way == 0 || fabs(mean_y - mean) < 1e-4);
            assert_true(way != 0 || fabs(spread_y - spread) < 1e-4);
            for (uint32_t i = 0; i < PLANE && way == 2; i++)
                assert_true(fabsf(x[i] + x[i + PLANE] + x[i + 2 * PLANE] - y[i] - y[i + PLANE] -
                                  y[i + 2 * PLANE]) < 1e-5f);
        }
    assert_true(most[0] > 0.4 && most[1] > 0.3 && most[2] > 0.3);
}

TEST(test_noise)
{
    float x[N], y[N], scratch[N];
    struct augment a = parsed("noise=0.5");
    double mean, spread, mean_x, spread_x;
    picture(x);
    memcpy(y, x, sizeof x);
    statistics(x, N, &mean_x, &spread_x);
    pith_augment(&a, 3, &of_2, y, scratch);
    for (uint32_t i = 0; i < N; i++)
        y[i] -= x[i];
    statistics(y, N, &mean, &spread); /* of N Gaussian numbers: within 4 of their deviations */
    assert_true(fabs(spread / spread_x - 0.5) < 0.5 * 4 / sqrt(2.0 * N));
    assert_true(fabs(mean / spread_x) < 0.5 * 4 / sqrt((double)N));
}

RUN_TESTS
