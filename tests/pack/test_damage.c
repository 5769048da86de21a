/* SPDX-License-Identifier: MIT */
/* test_damage.c - every single-bit flip and every truncation of a file is refused while checksums
 * are tested. Without them (PITH_FLAG_NO_CHECKSUM) damage may go unnoticed; then the file is
 * unpacked, planned and run like any other, which must never do harm: the sanitizer variants check
 * that.
 *
 * Three forms of a small network go through whole, a seeded sample of damages of the digits network
 * besides; PITH_EXHAUSTIVE=1 tries all of those too (some minutes). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "pith_host.h"
#include "pith_pack.h"
#include "pith_init.h"
#include "sample_models.h"
#include "pack/unpack.h"

#define MAX_BYTES (16u << 20)
#define SEED 20u

enum form { FORM_FULL, FORM_COMPACT, FORM_WORKING };

/* The bytes in a block of their own, so that overreads are noticed. */
static uint8_t *exact_copy(const uint8_t *p, size_t n)
{
    uint8_t *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    return n ? memcpy(copy, p, n) : copy;
}

static void refused(const uint8_t *p, size_t n, const char *how, size_t at)
{
    struct pith_model *m = NULL;
    struct pith_need need;
    enum pith_status st = pith_blob_check(p, n, 0, NULL);
    if (!st || !pith_plan_size(p, n, NULL, &need) ||
        !pith_unpack(p, n, "damaged", &(struct unpack_opts){.max_bytes = MAX_BYTES}, &m, NULL))
        fail_msg("%s at %zu is accepted", how, at);
    if (st != PITH_ERR_CORRUPT && st != PITH_ERR_VERSION)
        fail_msg("%s at %zu: status %d", how, at, st);
}

/* Whatever comes, nothing breaks. */
static void survived(const uint8_t *p, size_t n)
{
    struct pith_model *m = NULL;
    struct pith_session *s = NULL;
    struct pith_opts opts = {
        .size_bytes = sizeof opts, .flags = PITH_FLAG_NO_CHECKSUM, .max_bytes = MAX_BYTES};
    if (!pith_unpack(p, n, "damaged",
                     &(struct unpack_opts){.flags = PITH_FLAG_NO_CHECKSUM, .max_bytes = MAX_BYTES},
                     &m, NULL))
        pith_model_free(m);
    if (pith_open_memory(p, n, &opts, &s, NULL))
        return;
    struct pith_plan *plan = pith_plan_of(s);
    struct pith_tensor t;
    for (uint32_t i = 0; pith_plan_input(plan, i, &t) == PITH_OK; i++)
        memset(pith_plan_input_data(plan, i), 0, (size_t)t.bytes);
    assert_int_equal(pith_plan_run(plan), PITH_OK);
    pith_close(s);
}

static void flip(const struct pith_buffer *file, size_t bit)
{
    uint8_t *copy = exact_copy(file->data, file->bytes);
    copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
    refused(copy, file->bytes, "a flip of bit", bit);
    survived(copy, file->bytes);
    free(copy);
}

static void truncate_at(const struct pith_buffer *file, size_t n)
{
    uint8_t *copy = exact_copy(file->data, n);
    refused(copy, n, "an end", n);
    survived(copy, n);
    free(copy);
}

/* trials 0: all there are. */
static void damage(const struct pith_buffer *file, uint32_t trials)
{
    struct sample_random r = sample_random_of(SEED);
    size_t bits = file->bytes * 8;
    assert_int_equal(pith_blob_check(file->data, file->bytes, 0, NULL), PITH_OK);
    for (size_t i = 0; i < (trials ? trials : bits); i++)
        flip(file, trials ? sample_below(&r, (uint32_t)bits) : i);
    for (size_t i = 0; i < (trials ? trials / 8 : file->bytes); i++)
        truncate_at(file, trials ? sample_below(&r, (uint32_t)file->bytes) : i);
}

static void pack(struct pith_model *m, enum form form, struct pith_buffer *file)
{
    const struct pith_pack_opts opts = {
        .size_bytes = sizeof opts, .compact = form == FORM_COMPACT, .full = form == FORM_FULL};
    if (form != FORM_WORKING)
        sample_compress(m, 0.4, 8);
    assert_int_equal(pith_model_pack(m, &opts, file, NULL), PITH_OK);
    pith_model_free(m);
}

/* conv 2x1x3x3, relu, max pool, flatten, 3, softmax */
static struct pith_model *small_network(void)
{
    struct sample_random r = sample_random_of(3);
    struct pith_model *m = sample_new();
    uint32_t x = add_input(m, "image", 4, (const uint32_t[]){1, 1, 8, 8});
    m->batch_open = true;
    x = add_layer(m, &r, PITH_OP_CONV, "conv", x, 4, (const uint32_t[]){2, 1, 3, 3});
    x = add_node(m, PITH_OP_RELU, "relu", "relu.out", 1, &x)->out[0];
    x = add_pool(m, "pool", x);
    x = add_node(m, PITH_OP_FLATTEN, "flatten", "flat", 1, &x)->out[0];
    x = add_layer(m, &r, PITH_OP_GEMM, "fc", x, 2, (const uint32_t[]){3, 18});
    struct pith_node *softmax = add_node(m, PITH_OP_SOFTMAX, "softmax", "prob", 1, &x);
    softmax->attr[ATTR_SOFTMAX_AXIS] = 1;
    m->outputs[m->n_outputs++] = softmax->out[0];
    assert_int_equal(pith_model_set_meta(m, "labels", "a\nb\nc\n"), PITH_OK);
    return sample_shaped(m);
}

static void damage_small(enum form form)
{
    struct pith_buffer file;
    pack(small_network(), form, &file);
    damage(&file, 0);
    pith_buffer_free(&file);
}

static void damage_digits(enum form form)
{
    struct pith_model *m = NULL;
    struct pith_buffer file;
    const char *all = getenv("PITH_EXHAUSTIVE");
    assert_int_equal(pith_architecture_new("digits", NULL, &m, NULL), PITH_OK);
    assert_int_equal(pith_model_draw_weights(m, 1, NULL), PITH_OK);
    pack(m, form, &file);
    damage(&file, all && *all == '1' ? 0 : 1500);
    pith_buffer_free(&file);
}

TEST(small_full)
{
    damage_small(FORM_FULL);
}

TEST(small_compact)
{
    damage_small(FORM_COMPACT);
}

TEST(small_working)
{
    damage_small(FORM_WORKING);
}

TEST(digits_full)
{
    damage_digits(FORM_FULL);
}

TEST(digits_compact)
{
    damage_digits(FORM_COMPACT);
}

TEST(digits_working)
{
    damage_digits(FORM_WORKING);
}

RUN_TESTS
