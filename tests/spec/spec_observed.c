/* SPDX-License-Identifier: MIT */
/* spec_observed.c - what was observed (F10). */
#include "spec_observed.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static float f32_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* smallest, largest */
static void read_extremes(struct span *s, bool must_be_finite, float *extreme)
{
    uint64_t at = s->at;
    uint32_t bits[2] = {(uint32_t)fixed(s, 4), (uint32_t)fixed(s, 4)};
    must(f32_of(bits[0]) <= f32_of(bits[1]), at, "smallest <= largest, and no NaN");
    for (int i = 0; i < 2; i++) {
        must(!must_be_finite || (bits[i] & 0x7F800000) != 0x7F800000, at, "extremes are finite");
        printf(" %08" PRIx32, bits[i]);
        extreme[i] = f32_of(bits[i]);
    }
}

static void read_exact_sum(struct span *s)
{
    uint8_t number[80] = {0};
    uint64_t at = s->at, zeros = varint_in(s, 0, 79, "an exact sum has 80 bytes");
    uint64_t n = varint_in(s, 0, 80 - zeros, "an exact sum has 80 bytes");
    must(n > 0 || zeros == 0, at, "a sum of 0 is 00 00");
    for (uint64_t i = 0; i < n; i++) {
        number[zeros + i] = u8(s);
    }
    must(n == 0 || number[zeros] != 0, at, "zero bytes at the beginning are left out");
    uint8_t sign = n > 0 && number[zeros + n - 1] >= 128 ? 255 : 0;
    must(n < 2 || number[zeros + n - 1] != sign || (number[zeros + n - 2] >= 128) != (sign != 0),
         at, "bytes that repeat the sign are left out");
    for (uint64_t i = n > 0 ? zeros + n : 80; i < 80; i++) {
        number[i] = sign;
    }
    printf(" ");
    for (int i = 0; i < 80; i++) {
        printf("%02x", number[i]);
    }
}

static int64_t bin_of(float x, int64_t e)
{
    double bin = x;
    for (; e > 0; e--) {
        bin /= 2;
    }
    for (; e < 0; e++) {
        bin *= 2;
    }
    return bin > 1e9 ? 1000000000 : bin < -1e9 ? -1000000000 : (int64_t)bin - (x < 0);
}

static bool few_bins(const float *extreme, int64_t e)
{
    int64_t low = extreme[0] < 0 ? bin_of(extreme[0], e) : 0;
    return (extreme[1] > 0 ? bin_of(extreme[1], e) : 0) - low < 2048;
}

static void read_histogram(struct span *s, uint64_t observed, const float *extreme)
{
    uint64_t at = s->at, n = varint_in(s, 0, 2048, "at most 2,048 bins"), i = 0, total = 0,
             zeros = 0;
    printf("histogram");
    if (n == 0) {
        printf("\n");
        return;
    }
    int64_t e = svarint(s), k = svarint(s), end = k + (int64_t)n;
    must(e >= -126 && e <= 118, at, "the exponent of a bin's width");
    must(few_bins(extreme, e) && (e == -126 || !few_bins(extreme, e - 1)), at,
         "the smallest exponent for the extremes");
    must(extreme[0] == 0 ? k >= 0 : k == bin_of(extreme[0], e), at, "the first bin");
    must(extreme[1] == 0 ? end <= 0 : end - 1 == bin_of(extreme[1], e), at, "the last bin");
    printf(" %" PRId64 " %" PRId64, e, k);
    while (i < n) {
        uint64_t count = varint(s);
        must((i > 0 && i + 1 < n) || count > 0, at, "the first and the last count are not 0");
        must(count <= observed - total, at, "more counted than observed");
        must(count > 0 || zeros == 0, at, "all counts of 0 are in one run");
        zeros = count == 0 ? 1 + varint(s) : 0;
        must(zeros < n - i, at, "the last count is not 0");
        printf(" %" PRIu64, count);
        if (zeros > 0) {
            printf("x%" PRIu64, zeros);
        }
        total += count;
        i += zeros > 0 ? zeros : 1;
    }
    must(total == observed, at, "the counts sum to what is not zero");
    printf("\n");
}

static void read_channels(struct span *s)
{
    uint64_t n = varint_in(s, 1, 0x7FFFFFFF, "channels");
    const uint64_t at = s->at;
    must(u8(s) < 8, at, "an axis is below 8");
    for (uint64_t i = 0; i < n; i++) {
        float extreme[2];
        printf("channel");
        read_extremes(s, true, extreme);
        read_exact_sum(s);
        printf("\n");
    }
}

static void read_statistics(struct span *s, uint64_t n, const float *extreme, bool by_channel)
{
    uint64_t samples = varint_in(s, 1, n, "samples are at most the observations");
    uint64_t zeros = varint_in(s, 0, n, "zeros are at most the observations");
    printf("statistics %" PRIu64 " %" PRIu64, samples, zeros);
    read_exact_sum(s);
    read_exact_sum(s);
    printf("\n");
    read_histogram(s, n - zeros, extreme);
    if (by_channel) {
        read_channels(s);
    }
}

static void read_grid(struct span *s)
{
    uint64_t at = s->at;
    uint8_t type = u8(s), bits = u8(s), method = u8(s);
    must(type >= 5 && type <= 8, at, "a grid is of i8, u8, i16 or u16");
    must(type <= 6 ? bits >= 2 && bits <= 8 : bits >= 9 && bits <= 16, at, "the bits of a grid");
    must(method >= 1 && method <= 5, at, "how a grid was chosen");
    int64_t zero = svarint(s), low = type % 2 == 0 ? 0 : -(1 << (bits - 1));
    must(zero >= low && zero < low + (1 << bits), at, "the zero point is one of the integers");
    uint64_t n = varint_in(s, 1, 0x7FFFFFFF, "a grid has a scale");
    uint8_t axis = n > 1 ? u8(s) : 0;
    must(axis < 8, at, "an axis is below 8");
    printf("grid %d %d %d %" PRId64 " %d", type, bits, method, zero, axis);
    for (uint64_t i = 0; i < n; i++) {
        uint32_t scale = (uint32_t)fixed(s, 4);
        must(scale >= 0x00800000 && scale < 0x7F800000, s->at - 4,
             "a scale is positive and normal");
        printf(" %08" PRIx32, scale);
    }
    printf("\n");
}

void read_observed(struct span s, uint64_t n_values)
{
    uint64_t next = 0;
    while (left(&s) > 0) {
        uint64_t at = s.at, skipped = varint(&s);
        must(next < n_values && skipped < n_values - next, at,
             "a range of a value that does not exist");
        uint8_t flags = u8(&s);
        must(flags < 8 && (flags & 3) != 2, at, "the flags of what was observed");
        printf("range %" PRIu64, next + skipped);
        uint64_t extremes_at = s.at;
        float extreme[2];
        read_extremes(&s, (flags & 1) != 0, extreme);
        uint64_t n = varint(&s);
        must(n > 0 || (flags & 5) == 4, at, "without observations there is a grid alone");
        for (uint64_t i = extremes_at; n == 0 && i < extremes_at + 8; i++) {
            must(file[i] == 0, i, "without observations the extremes are 0");
        }
        printf(" %" PRIu64 "\n", n);
        if ((flags & 1) != 0) {
            read_statistics(&s, n, extreme, (flags & 2) != 0);
        }
        if ((flags & 4) != 0) {
            read_grid(&s);
        }
        next += skipped + 1;
    }
}
