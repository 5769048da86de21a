/* SPDX-License-Identifier: MIT */
/* Samples in a number of versions that come again, and a teacher that runs once for each: what
 * is learned is what it would be, and the same run ends in the same bytes. */
#include <stdint.h>
#include "test_run.h"
#include <math.h>
#include <stdio.h>
#include "train/small_network.h"
#include "pith_pack.h"
#include "train/teacher_memory.h"

TEST(test_memory)
{
    enum { VERSIONS = 2, EACH = 9, AT_ONCE = 3, WIDTH = 4 };
    struct teacher_memory *memory = pith_memory_new(VERSIONS, EACH, AT_ONCE, WIDTH);
    float scores[AT_ONCE * WIDTH];
    assert_non_null(memory);
    for (uint32_t v = 0; v < VERSIONS; v++)
        for (uint32_t i = 0; i < EACH; i += AT_ONCE) {
            const uint32_t number[AT_ONCE] = {EACH - 1 - i, EACH - 2 - i, EACH - 3 - i};
            for (uint32_t k = 0; k < AT_ONCE * WIDTH; k++)
                scores[k] = (float)(1000 * v + 10 * number[k / WIDTH] + k % WIDTH);
            pith_memory_put(memory, v, number, scores);
        }
    for (uint32_t v = 0; v < VERSIONS; v++) {
        const uint32_t number[AT_ONCE] = {7, 0, 3};
        const float *got = pith_memory_get(memory, v, number, 5);
        for (uint32_t k = 0; k < AT_ONCE * WIDTH; k++)
            assert_true(got[k] == (float)(1000 * v + 10 * number[k / WIDTH] + k % WIDTH));
    }
    pith_memory_free(memory);
}

/* One version of samples that nothing changes: the teacher's answers are those of each step. */
TEST(test_same_lessons)
{
    double loss[2];
    struct pith_model *teacher = network_of(5, false);
    struct pith_train_opts o = small_options();
    trained_on(teacher, &o, false);
    for (uint32_t i = 0; i < 2; i++) {
        struct pith_model *m = network_of(3, false);
        o.teacher = teacher;
        o.versions = i;
        loss[i] = trained_on(m, &o, false).loss;
        pith_model_free(m);
    }
    assert_true(fabs(loss[0] - loss[1]) < 1e-4 * loss[0]);
    pith_model_free(teacher);
}

/* Two versions are not one, nor three; the same run twice is, and so are nine in six epochs, which
 * show six. */
TEST(test_versions_come_again)
{
    enum { N = 6 };
    struct pith_buffer file[N];
    struct pith_error err = {0};
    struct pith_model *teacher = network_of(5, false);
    static const uint32_t versions[N] = {2, 2, 6, 9, 1, 3};
    for (uint32_t i = 0; i < N; i++) {
        struct pith_model *m = network_of(3, false);
        struct pith_train_opts o = small_options();
        o.teacher = teacher;
        o.threads = 1 + i % 2;
        o.versions = versions[i];
        o.augment = "noise=0.3,clean=0.3";
        trained_on(m, &o, false);
        assert_int_equal(pith_model_pack(m, NULL, &file[i], &err), PITH_OK);
        pith_model_free(m);
    }
    for (int i = 0; i < 4; i += 2) {
        assert_int_equal(file[i].bytes, file[i + 1].bytes);
        assert_memory_equal(file[i].data, file[i + 1].data, file[i].bytes);
    }
    for (int i = 2; i < N; i++)
        assert_true(memcmp(file[0].data, file[i].data, file[0].bytes) != 0);
    for (int i = 0; i < N; i++)
        pith_buffer_free(&file[i]);
    pith_model_free(teacher);
}

RUN_TESTS
