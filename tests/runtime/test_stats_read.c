/* SPDX-License-Identifier: MIT */
/* test_stats_read.c - one entry of the chunk `stat`: a good one and what each single change to it
 * does. */
#include <stdint.h>
#include "test_run.h"
#include "validate/stats_read.h"

#define N_VALUES 5u

struct sum {
    uint32_t lowest, n;
    uint8_t bytes[4];
};

/* What an entry says, in the order of the file. */
struct params {
    uint32_t value, flags;
    float min, max;
    uint32_t n, n_samples, n_zero;
    struct sum sum;
    uint32_t n_bins;
    int32_t exponent, first;
    uint8_t bins[16]; /* varints */
    size_t bins_bytes;
    uint32_t n_channels, axis;
    float channel_min, channel_max;
    uint32_t type, bits, method;
    int32_t zero_point;
    uint32_t n_scales, scale_axis;
    uint32_t scale; /* bits of each */
};

struct bytes {
    uint8_t b[256];
    size_t n;
};

static void put_u8(struct bytes *o, uint32_t v)
{
    o->b[o->n++] = (uint8_t)v;
}

static void put_varint(struct bytes *o, uint32_t v)
{
    for (; v > 0x7f; v >>= 7)
        put_u8(o, (v & 0x7f) | 0x80);
    put_u8(o, v);
}

static void put_signed(struct bytes *o, int32_t v)
{
    put_varint(o, v < 0 ? 2 * (uint32_t) - (v + 1) + 1 : 2 * (uint32_t)v);
}

static void put_f32(struct bytes *o, uint32_t bits)
{
    store_le32(o->b + o->n, bits);
    o->n += 4;
}

static void put_sum(struct bytes *o, const struct sum *s)
{
    put_varint(o, s->lowest);
    put_varint(o, s->n);
    for (uint32_t i = 0; i < s->n; i++)
        put_u8(o, s->bytes[i]);
}

static void put_kept(struct bytes *o, const struct params *t)
{
    put_varint(o, t->n_samples);
    put_varint(o, t->n_zero);
    put_sum(o, &t->sum);
    put_sum(o, &(struct sum){0, 0, {0}});
    put_varint(o, t->n_bins);
    if (t->n_bins > 0) {
        put_signed(o, t->exponent);
        put_signed(o, t->first);
        memcpy(o->b + o->n, t->bins, t->bins_bytes);
        o->n += t->bins_bytes;
    }
}

static void put_entry(struct bytes *o, const struct params *t)
{
    o->n = 0;
    put_varint(o, t->value);
    put_u8(o, t->flags);
    put_f32(o, f32_bits(t->min));
    put_f32(o, f32_bits(t->max));
    put_varint(o, t->n);
    if (t->flags & STATS_KEPT)
        put_kept(o, t);
    if (t->flags & STATS_KEPT && t->flags & STATS_CHANNELS) {
        put_varint(o, t->n_channels);
        put_u8(o, t->axis);
        for (uint32_t i = 0; i < t->n_channels; i++) {
            put_f32(o, f32_bits(t->channel_min));
            put_f32(o, f32_bits(t->channel_max));
            put_sum(o, &t->sum);
        }
    }
    if (t->flags & STATS_GRID) {
        put_u8(o, t->type);
        put_u8(o, t->bits);
        put_u8(o, t->method);
        put_signed(o, t->zero_point);
        put_varint(o, t->n_scales);
        if (t->n_scales > 1)
            put_u8(o, t->scale_axis);
        for (uint32_t i = 0; i < t->n_scales; i++)
            put_f32(o, t->scale);
    }
}

static bool reads(const struct params *t)
{
    struct bytes o;
    struct stats_entry e;
    uint64_t next = 0;
    put_entry(&o, t);
    struct reader r = reader_of(o.b, o.n);
    bool ok = pith_stats_entry_read(&r, &next, N_VALUES, &e);
    if (ok) {
        assert_int_equal(r.left, 0);
        assert_int_equal(next, t->value + 1);
    }
    return ok;
}

/* One of each part. Numbers -1, 0 and twice 2: of the widths 2^-9 and 2^-10 the first is the least
 * at which -1 to 2 takes fewer than 2048 bins, numbers -513 to 1024. */
static const struct params good = {.value = 4,
                                   .flags = STATS_KEPT | STATS_CHANNELS | STATS_GRID,
                                   .min = -1,
                                   .max = 2,
                                   .n = 4,
                                   .n_samples = 1,
                                   .n_zero = 1,
                                   .sum = {10, 2, {1, 0x7f}},
                                   .n_bins = 1538,
                                   .exponent = -9,
                                   .first = -513,
                                   .bins = {1, 0, 0xff, 0x0b, 2}, /* 1, 1536 of 0, 2 */
                                   .bins_bytes = 5,
                                   .n_channels = 2,
                                   .axis = 1,
                                   .channel_min = -1,
                                   .channel_max = 2,
                                   .type = PITH_U8,
                                   .bits = 8,
                                   .method = 1,
                                   .zero_point = 85,
                                   .n_scales = 1,
                                   .scale = 0x3c000000};

#define WITH(ok, change)                                                                           \
    do {                                                                                           \
        struct params t = good;                                                                    \
        change;                                                                                    \
        assert_int_equal(reads(&t), ok);                                                           \
    } while (0)

static void set_bins(struct params *t, int32_t exponent, int32_t first, uint32_t n,
                     const char *bins, size_t bytes)
{
    t->exponent = exponent;
    t->first = first;
    t->n_bins = n;
    memcpy(t->bins, bins, bytes);
    t->bins_bytes = bytes;
}

TEST(entries)
{
    const float nan = f32_from_bits(0x7fc00000u), inf = f32_from_bits(0x7f800000u);
    WITH(true, (void)0);
    WITH(false, t.value = N_VALUES);
    WITH(false, t.flags |= 8);
    WITH(false, t.flags = STATS_CHANNELS | STATS_GRID);
    WITH(true, t.flags = STATS_KEPT);
    WITH(true, t.flags = STATS_GRID);
    WITH(true, t.flags = 0);
    WITH(false, (t.flags = STATS_GRID, t.min = 3));
    WITH(true, (t.flags = STATS_GRID, t.min = 2));
    WITH(false, (t.flags = STATS_GRID, t.min = nan));
    WITH(false, (t.flags = STATS_GRID, t.max = nan));
    WITH(true, (t.flags = STATS_GRID, t.max = inf)); /* observed, without statistics */
    WITH(true, (t.flags = STATS_GRID, t.n = 0, t.min = t.max = 0));
    WITH(false, (t.flags = 0, t.n = 0, t.min = t.max = 0));
    WITH(false, (t.flags = STATS_GRID, t.n = 0, t.min = -1, t.max = 0));
    WITH(false, (t.flags = STATS_GRID, t.n = 0, t.min = -0.0f, t.max = 0));
    WITH(false, t.n_samples = 0);
    WITH(true, t.n_samples = 4);
    WITH(false, t.n_samples = 5);
    WITH(false, t.n_zero = 5);
}

TEST(sums)
{
    WITH(true, (t.sum = (struct sum){0, 0, {0}}));
    WITH(false, (t.sum = (struct sum){1, 0, {0}}));
    WITH(false, (t.sum = (struct sum){0, 2, {0, 1}}));
    WITH(true, (t.sum = (struct sum){0, 1, {0xff}}));
    WITH(false, (t.sum = (struct sum){0, 2, {0x7f, 0}})); /* a byte of the sign alone */
    WITH(true, (t.sum = (struct sum){0, 2, {0x80, 0}}));
    WITH(false, (t.sum = (struct sum){0, 2, {0x80, 0xff}}));
    WITH(true, (t.sum = (struct sum){0, 2, {0x7f, 0xff}}));
    WITH(true, (t.sum = (struct sum){79, 1, {1}}));
    WITH(false, (t.sum = (struct sum){79, 2, {1, 1}}));
    WITH(false, (t.sum = (struct sum){80, 1, {1}}));
}

TEST(bins)
{
    WITH(true, t.n_bins = 0);
    WITH(false, (t.n = 5)); /* counts that sum to less */
    WITH(false, (t.n = 3));
    WITH(false, set_bins(&t, -9, -513, 1538, "\x01\x00\xff\x0b\x00\x00", 6)); /* 0 at the end */
    WITH(false, set_bins(&t, -9, -513, 1538, "\x00\x00\x00\xff\x0b\x03", 6)); /* 0 at the start */
    WITH(false,
         set_bins(&t, -9, -513, 1538, "\x01\x00\x00\x00\xfe\x0b\x02", 7)); /* two runs of 0 */
    WITH(false, set_bins(&t, -9, -513, 1538, "\x01\x00\x80\x0c\x02", 5));  /* past the last bin */
    WITH(false, set_bins(&t, -8, -257, 770, "\x01\x00\xff\x05\x02", 5));   /* wider than needed */
    WITH(false, set_bins(&t, -9, -512, 1537, "\x01\x00\xfe\x0b\x02", 5));  /* -1 lies before */
    WITH(false, set_bins(&t, -9, -514, 1539, "\x01\x00\x80\x0c\x02", 5));
    WITH(false, set_bins(&t, -9, -513, 1537, "\x01\x00\xfe\x0b\x02", 5)); /* 2 lies behind */
    WITH(false, set_bins(&t, -9, -513, 1539, "\x01\x00\x80\x0c\x02", 5));
}

/* Bins of one sign: those of numbers not below 0 begin at bin 0, others end at bin -1; and 2048
 * bins from the smallest to 0 are one too many. */
TEST(bins_of_one_sign)
{
    WITH(true, (t.min = 0, set_bins(&t, -9, 0, 1025, "\x01\x00\xfe\x07\x02", 5)));
    WITH(true, (t.min = 0, set_bins(&t, -9, 1023, 2, "\x01\x02", 2)));
    WITH(false, (t.min = 0, set_bins(&t, -9, -1, 1026, "\x01\x00\xff\x07\x02", 5)));
    WITH(true, (t.max = 0, set_bins(&t, -10, -1025, 1025, "\x01\x00\xfe\x07\x02", 5)));
    WITH(false, (t.max = 0, set_bins(&t, -10, -1025, 1026, "\x01\x00\xff\x07\x02", 5)));
    WITH(false, (t.min = -2047.5f / 512, t.max = 0,
                 set_bins(&t, -9, -2048, 2048, "\x01\x00\xfd\x0f\x02", 5)));
    WITH(true, (t.min = -2047.5f / 512, t.max = 0,
                set_bins(&t, -8, -1024, 1024, "\x01\x00\xfd\x07\x02", 5)));
}

TEST(channels)
{
    WITH(false, t.n_channels = 0);
    WITH(true, t.axis = PITH_MAX_RANK - 1);
    WITH(false, t.axis = PITH_MAX_RANK);
    WITH(true, t.channel_min = t.channel_max);
    WITH(false, t.channel_min = 3);
    WITH(false, t.channel_max = f32_from_bits(0x7f800000u));
    WITH(false, t.channel_min = f32_from_bits(0xff800000u));
}

TEST(grids)
{
    WITH(false, (t.bits = 1, t.zero_point = 0));
    WITH(false, t.bits = 9);
    WITH(true, (t.bits = 2, t.zero_point = 3));
    WITH(false, (t.bits = 2, t.zero_point = 4));
    WITH(true, (t.type = PITH_I16, t.bits = 9));
    WITH(true, (t.type = PITH_U16, t.bits = 16, t.zero_point = 65535));
    WITH(false, (t.type = PITH_U16, t.bits = 8));
    WITH(false, (t.type = PITH_U16, t.bits = 17));
    WITH(false, t.type = PITH_I32);
    WITH(false, t.method = 0);
    WITH(true, t.method = STATS_METHODS);
    WITH(false, t.method = STATS_METHODS + 1);
    WITH(true, t.zero_point = 255);
    WITH(false, t.zero_point = 256);
    WITH(false, t.zero_point = -1);
    WITH(true, (t.type = PITH_I8, t.zero_point = -128));
    WITH(false, (t.type = PITH_I8, t.zero_point = -129));
    WITH(false, (t.type = PITH_I8, t.zero_point = 128));
}

TEST(scales)
{
    WITH(false, t.n_scales = 0);
    WITH(true, (t.n_scales = 2, t.scale_axis = PITH_MAX_RANK - 1));
    WITH(false, (t.n_scales = 2, t.scale_axis = PITH_MAX_RANK));
    WITH(true, t.scale = 0x00800000u);
    WITH(false, t.scale = 0x007fffffu); /* subnormal */
    WITH(true, t.scale = 0x7f7fffffu);
    WITH(false, t.scale = 0x7f800000u);
    WITH(false, t.scale = 0xbf800000u);
    WITH(false, t.scale = 0);
}

RUN_TESTS
