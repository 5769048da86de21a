/* SPDX-License-Identifier: MIT */
/* Samples of a slice: each by its place in the run; pairs mixed by shares of the right law. */
#include <stdint.h>
#include "test_run.h"
#include <math.h>
#include <string.h>
#include "train/batch/augment.h"
#include "train/batch/augment_batch.h"

enum { PER = 5, EACH = 12 };

static struct pith_value input_of(uint32_t rank, uint32_t channels)
{
    struct pith_value v = {.name = (char *)"x",
                           .type = PITH_F32,
                           .rank = rank,
                           .dim = {1, rank == 2 ? EACH : channels, 2, EACH / 2 / channels}};
    return v;
}

static struct augment_batch *batch_of(const char *text, uint32_t rank)
{
    struct pith_value v = input_of(rank, 1);
    struct augment_batch *b;
    struct pith_error err = {0};
    SUCCEEDS(pith_augment_batch_new(text, &v, PER, &b, &err));
    return b;
}

static struct tape_tensor tensor_of(float *x, uint32_t rank)
{
    for (uint32_t i = 0; i < PER * EACH; i++)
        x[i] = sinf((float)i * 0.3f);
    struct tape_tensor t = {.type = PITH_F32, .shape = {.rank = rank}, .data = x};
    const uint32_t dim[2][4] = {{PER, EACH}, {PER, 1, 2, EACH / 2}};
    memcpy(t.shape.dim, dim[rank == 4], sizeof dim[0]);
    return t;
}

TEST(nothing_to_do)
{
    assert_null(batch_of(NULL, 2));
    assert_null(batch_of("clean=0.5", 2));
    assert_null(pith_augment_shares(NULL, 0));
}

/* Sample 7 of the run is the same whichever batch it is in. */
TEST(place_decides)
{
    float x[PER * EACH], y[PER * EACH];
    struct tape_tensor tx = tensor_of(x, 4), ty = tensor_of(y, 4);
    struct augment_batch *b = batch_of("shift=1,noise=0.1", 4);
    memcpy(y + 2 * EACH, x + 4 * EACH, EACH * sizeof *x);
    pith_augment_slice(b, 9, 3, NULL, 0, &tx);
    pith_augment_slice(b, 9, 5, NULL, 7, &ty);
    assert_memory_equal(x + 4 * EACH, y + 2 * EACH, EACH * sizeof *x);
    assert_memory_not_equal(x, y, EACH * sizeof *x);
    pith_augment_batch_free(b);
}

/* Of Beta(a, a): mean 1/2, variance 1 / (4 (2 a + 1)). */
TEST(shares_are_beta)
{
    static const struct {
        const char *text;
        double alpha, clean;
    } laws[] = {{"mixup=0.2", 0.2, 0}, {"mixup=1", 1, 0}, {"mixup=2,clean=0.25", 2, 0.25}};
    enum { ROUNDS = 4000 };
    for (size_t k = 0; k < sizeof laws / sizeof *laws; k++) {
        float x[PER * EACH], from[PER * EACH];
        double sum = 0, square = 0;
        uint32_t n = 0;
        struct augment_batch *b = batch_of(laws[k].text, 2);
        for (uint64_t round = 0; round < ROUNDS; round++) {
            struct tape_tensor t = tensor_of(x, 2);
            memcpy(from, x, sizeof x);
            pith_augment_slice(b, 1, round * PER, NULL, 3, &t);
            const float *share = pith_augment_shares(b, 3);
            assert_true(share[4] == 1 && share[0] == share[1] && share[2] == share[3]);
            for (uint32_t i = 0; i < PER; i++)
                for (uint32_t e = 0; e < EACH; e++) {
                    float other = i == 4 ? 0 : from[(i ^ 1) * EACH + e];
                    float mixed = share[i] * from[i * EACH + e] + (1 - share[i]) * other;
                    assert_true(fabsf(x[i * EACH + e] - mixed) < 1e-6f);
                }
            for (uint32_t i = 0; i < 4; i += 2)
                if (share[i] < 1 || laws[k].clean == 0) {
                    sum += (double)share[i];
                    square += ((double)share[i] - 0.5) * ((double)share[i] - 0.5);
                    n++;
                }
        }
        double variance = 1 / (4 * (2 * laws[k].alpha + 1)), mixed = 2 * ROUNDS;
        assert_true(fabs((double)n / mixed - (1 - laws[k].clean)) < 0.02);
        assert_true(fabs(sum / n - 0.5) < 4 * sqrt(variance / n));
        assert_true(fabs(square / n - variance) < 0.05 * variance);
        pith_augment_batch_free(b);
    }
}

/* Of samples with numbers, each slice and batch mixes by shares of its own, and the same
 * ones again when it comes back. */
TEST(shares_follow_numbers)
{
    static const uint32_t number[3][PER] = {{4, 9, 2, 7, 1}, {5, 0, 3, 8, 6}, {4, 0, 3, 8, 6}};
    float share[3][PER], x[PER * EACH];
    struct augment_batch *b = batch_of("mixup=1", 2);
    for (int i = 0; i < 3; i++) {
        struct tape_tensor t = tensor_of(x, 2);
        pith_augment_slice(b, 1, 100, number[i], 3, &t);
        memcpy(share[i], pith_augment_shares(b, 3), sizeof share[i]);
    }
    assert_memory_not_equal(share[0], share[1], sizeof share[0]);
    assert_memory_equal(share[0], share[2], sizeof share[0]);
    pith_augment_batch_free(b);
}

TEST(refusals)
{
    static const struct {
        const char *text, *says;
        uint32_t rank, channels;
    } cases[] = {{"flip", "is for pictures", 2, 1},
                 {"cutout=3", "is for pictures", 2, 1},
                 {"saturation=0.1", "three colours", 4, 1},
                 {"mixup=x", "augmentation", 4, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pith_value v = input_of(cases[i].rank, cases[i].channels);
        struct augment_batch *b;
        struct pith_error err = {0};
        assert_int_equal(pith_augment_batch_new(cases[i].text, &v, PER, &b, &err),
                         PITH_ERR_ARGUMENT);
        if (!strstr(err.text, cases[i].says))
            fail_msg("'%s' does not say '%s'", err.text, cases[i].says);
    }
}

RUN_TESTS
