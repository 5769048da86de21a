/* SPDX-License-Identifier: MIT */
/* Exact sums; what of a broken chunk `stat` is refused. */
#include <math.h>
#include <stdint.h>
#include "test_run.h"
#include "base/byte_out.h"
#include "pith_pack.h"
#include "pack/pack.h"
#include "sample_models.h"
#include "pack/unpack.h"

static double sum_of(const double *x, size_t n)
{
    struct pith_exact_sum s = {{0}};
    for (size_t i = 0; i < n; i++)
        pith_exact_sum_add(&s, x[i]);
    return pith_exact_sum_value(&s);
}

TEST(sums_by_hand)
{
    assert_true(sum_of((double[]){1e30, 1, -1e30}, 3) == 1);
    assert_true(sum_of((double[]){0x1p-298, 0x1p290, -0x1p290, 0x1p-298}, 4) == 0x1p-297);
    assert_true(sum_of((double[]){-3.5, 0.25}, 2) == -3.25);
    assert_true(sum_of((double[]){-0x1p-149}, 1) == -0x1p-149);
    assert_true(sum_of((double[]){0x1p-330, 0.0, -0.0}, 3) == 0);
    assert_true(sum_of((double[]){0x1.fffffffffffffp299, 0x1.fffffffffffffp299}, 2) ==
                0x1.fffffffffffffp300);
}

/* Any order, any shards: the same digits. Carries wait, so many numbers go into one digit. */
TEST(any_order_the_same_digits)
{
    enum { N = 3000 };
    static double x[N];
    struct sample_random r = sample_random_of(5);
    struct pith_exact_sum a = {{0}}, b = {{0}}, c = {{0}};
    long double want = 0;
    for (int i = 0; i < N; i++) {
        x[i] = (double)sample_gauss(&r) * ldexp(1, (int)sample_below(&r, 20));
        want += (long double)x[i];
        pith_exact_sum_add(&a, x[i]);
    }
    for (int i = N; i-- > 0;)
        pith_exact_sum_add(i % 3 ? &b : &c, x[i]);
    pith_exact_sum_merge(&b, &c);
    pith_exact_sum_carry(&a);
    assert_memory_equal(&a, &b, sizeof a);
    assert_true(fabs(pith_exact_sum_value(&a) - (double)want) <= 1e-9);
    struct pith_exact_sum full = {{0}};
    full.digit[3] = INT64_C(1) << 62; /* one more makes it carry */
    pith_exact_sum_add(&full, ldexp(1, 32 * 3 - 320));
    assert_true(full.digit[3] < INT64_C(1) << 32);
    assert_true(pith_exact_sum_value(&full) == ldexp(1, 62 + 32 * 3 - 320));
}

/* ---- damage ---------------------------------------------------------------------------------- */

static enum pith_status read_entry(const struct byte_out *o)
{
    struct pith_model *m = sample_new();
    m->values[m->n_values++] = (struct pith_value){
        .name = pith_model_strdup(m, "v"), .type = PITH_F32, .rank = 2, .dim = {1, 2}};
    enum pith_status st = pith_unpack_stats(m, o->data, o->bytes, 1 << 20);
    pith_model_free(m);
    return st;
}

/* One number, 1.5, of a value [1, 2]; with a grid by channel. */
struct parts {
    uint32_t flags, samples, zeros, n_bins, count, type, bits, method, n_scales, axis, scale;
    int64_t exponent, first, zero_point;
    uint64_t n;
    float min, max;
    uint8_t sum[4]; /* zeros, bytes, two of them */
};

static const struct parts good = {.flags = 5,
                                  .samples = 1,
                                  .n_bins = 1,
                                  .count = 1,
                                  .type = PITH_U8,
                                  .bits = 8,
                                  .method = 1,
                                  .n_scales = 2,
                                  .axis = 1,
                                  .scale = 0x3f800000,
                                  .exponent = -10,
                                  .first = 1536,
                                  .zero_point = 7,
                                  .n = 1,
                                  .min = 1.5f,
                                  .max = 1.5f,
                                  .sum = {40, 2, 1, 2}};

static enum pith_status status_of(const struct parts *p)
{
    struct byte_out o = {0};
    pith_out_varint(&o, 0);
    pith_out_u8(&o, p->flags);
    pith_out_le32(&o, f32_bits(p->min));
    pith_out_le32(&o, f32_bits(p->max));
    pith_out_varint(&o, p->n);
    pith_out_varint(&o, p->samples);
    pith_out_varint(&o, p->zeros);
    for (int i = 0; i < 2; i++)
        pith_out_bytes(&o, p->sum, 2u + (p->sum[1] > 2 ? 2 : p->sum[1]));
    pith_out_varint(&o, p->n_bins);
    if (p->n_bins) {
        pith_out_svarint(&o, p->exponent);
        pith_out_svarint(&o, p->first);
        pith_out_varint(&o, p->count);
    }
    pith_out_u8(&o, p->type);
    pith_out_u8(&o, p->bits);
    pith_out_u8(&o, p->method);
    pith_out_svarint(&o, p->zero_point);
    pith_out_varint(&o, p->n_scales);
    if (p->n_scales > 1)
        pith_out_u8(&o, p->axis);
    for (uint32_t i = 0; i < p->n_scales; i++)
        pith_out_le32(&o, p->scale);
    enum pith_status st = read_entry(&o);
    pith_out_clear(&o);
    return st;
}

#define REFUSED(...)                                                                               \
    do {                                                                                           \
        struct parts p = good;                                                                     \
        __VA_ARGS__;                                                                               \
        assert_int_equal(status_of(&p), PITH_ERR_CORRUPT);                                         \
    } while (0)

TEST(broken_entries)
{
    assert_int_equal(status_of(&good), PITH_OK);
    REFUSED(p.flags = 13);
    REFUSED(p.flags = 6); /* channels without statistics */
    REFUSED(p.min = 2);
    REFUSED(p.max = INFINITY);
    REFUSED(p.n = 0);
    REFUSED(p.samples = 0);
    REFUSED(p.samples = 2);
    REFUSED(p.zeros = 2);
    REFUSED(p.zeros = 1);                    /* counts do not sum to what is not zero */
    REFUSED(p.exponent = -9, p.first = 768); /* a smaller one does */
    REFUSED(p.exponent = -11, p.first = 3072);
    REFUSED(p.first = 1535);
    REFUSED(p.count = 0);
    REFUSED(p.count = 2);
    REFUSED(p.n_bins = 2049);
    REFUSED(p.sum[0] = 79); /* beyond 80 bytes */
    REFUSED(p.sum[2] = 0);  /* a zero byte that could be left out */
    REFUSED(p.sum[3] = 0);  /* a sign byte that could */
    REFUSED(p.sum[1] = 0);  /* 0 is 00 00 */
    REFUSED(p.type = PITH_F32);
    REFUSED(p.type = PITH_I16);
    REFUSED(p.bits = 1);
    REFUSED(p.bits = 9);
    REFUSED(p.method = 6);
    REFUSED(p.zero_point = 256);
    REFUSED(p.zero_point = -1);
    REFUSED(p.n_scales = 0);
    REFUSED(p.n_scales = 3); /* the axis has 2 */
    REFUSED(p.axis = 0);
    REFUSED(p.axis = 8);
    REFUSED(p.scale = 0);
    REFUSED(p.scale = 0x007fffff); /* subnormal */
    REFUSED(p.scale = 0x7f800000);
    REFUSED(p.scale = 0xbf800000);
}

TEST(limits_and_failures)
{
    struct pith_model *m = sample_random_model(3), *back;
    struct pith_buffer file;
    uint32_t n_stats = 0;
    for (uint32_t v = 0; v < m->n_values; v++)
        n_stats += m->values[v].stats != NULL;
    assert_true(n_stats > 0);
    assert_int_equal(pith_model_pack(m, NULL, &file, NULL), PITH_OK);
    assert_int_equal(pith_unpack(file.data, file.bytes, "f", NULL, &back, NULL), PITH_OK);
    pith_model_free(back);
    struct byte_out none = {0};
    assert_int_equal(read_entry(&none), PITH_OK);
    /* the same entry against a limit that it exceeds */
    static const uint8_t grid_alone[] = {0, 4, 0, 0, 0, 0, 0, 0, 0,    0,
                                         0, 6, 8, 1, 0, 1, 0, 0, 0x80, 0x3f};
    struct pith_model *small = sample_new();
    small->values[small->n_values++] = (struct pith_value){.type = PITH_F32};
    assert_int_equal(pith_unpack_stats(small, grid_alone, sizeof grid_alone, 10), PITH_ERR_LIMIT);
    assert_int_equal(pith_unpack_stats(small, grid_alone, sizeof grid_alone, 10000), PITH_OK);
    assert_true(small->values[0].grid->scale[0] == 1 && small->values[0].n_observed == 0);
    pith_model_free(small);
    pith_buffer_free(&file);
    pith_model_free(m);
}

RUN_TESTS
