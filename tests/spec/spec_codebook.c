/* SPDX-License-Identifier: MIT */
/* spec_codebook.c - codebooks (S6). */
#include "spec_codebook.h"
#include <stdlib.h>
#include <string.h>

/* S6: one of the two lists of a group: first value, then differences. */
static void read_magnitudes(struct bits *b, uint32_t z, uint32_t k, uint32_t n, uint32_t *magnitude)
{
    uint32_t width = 31 - z;
    uint64_t v = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t at = b->at / 8, q = 0;
        if (i == 0) {
            v = field(b, width);
        } else {
            while (q < 16 && field(b, 1) == 1) {
                q++;
            }
            v += q < 16 ? (q << k) + field(b, k) : field(b, width);
        }
        must(v < UINT64_C(1) << width, at, "a centroid's magnitude must stay below 2^B");
        must(v << z < 0x7F800000, at, "centroids must be finite");
        magnitude[i] = (uint32_t)(v << z);
    }
}

static void multiples(uint32_t step_bits, uint32_t neg, uint32_t zero, uint32_t n,
                      uint32_t *centroid)
{
    float step;
    memcpy(&step, &step_bits, sizeof step);
    for (uint32_t i = 0; i < n; i++) {
        float v = i < neg ? -((float)(neg - i) * step) : (float)(i - neg + 1 - zero) * step;
        memcpy(&centroid[i], &v, sizeof v);
    }
}

/* z = 31: multiples of a step. */
static void read_uniform_group(struct bits *b, uint32_t m, uint32_t n, uint32_t *centroid)
{
    uint64_t at = b->at / 8;
    uint32_t e = field(b, 8), f = field(b, m), width = 0;
    while (n >> width != 0) {
        width++;
    }
    uint32_t neg = field(b, width), step_bits = e << 23 | f << (23 - m);
    must(e >= 1 && e <= 254, at, "a step is a normal number");
    must(neg <= n, at, "more negative centroids than centroids");
    uint32_t zero = neg < n ? field(b, 1) : 0;
    multiples(step_bits, neg, zero, n, centroid);
}

/* What a chained step is beyond the one before. */
static int64_t step_difference(struct bits *b)
{
    int64_t zigzag = 0;
    while (field(b, 1) != 0) {
        zigzag++;
    }
    return zigzag % 2 ? -(zigzag + 1) / 2 : zigzag / 2;
}

/* z = 31, k from 24 on: steps as offsets to the smallest one, or each to the one before. */
static void read_near_groups(struct bits *b, uint32_t m, const struct tensor *t, uint32_t *centroid)
{
    uint64_t at = b->at / 8;
    uint32_t base = field(b, 8 + m), w = field(b, 4), n = t->n_centroids;
    must(w <= 8 + m || w == 15, at, "an offset of a step has at most as many bits as the step");
    int64_t number = base;
    for (uint64_t g = 0; g < t->n_groups; g++) {
        if (w == 15) {
            number += g > 0 ? step_difference(b) : 0;
        }
        must(number >= 0 && number >> (8 + m) == 0, at, "a step leaves its range");
        uint32_t step = w == 15 ? (uint32_t)number : base + field(b, w);
        must(step >> m >= 1 && step >> m <= 254, at, "a step is a normal number");
        multiples(step << (23 - m), n / 2, n % 2, n, centroid + g * n);
    }
}

static void read_group(struct bits *b, uint32_t z, uint32_t k, uint32_t n, uint32_t *centroid)
{
    uint64_t at = b->at / 8;
    uint32_t width = 0, list[256];
    while (n >> width != 0) {
        width++;
    }
    uint32_t n_negative = field(b, width);
    must(n_negative <= n, at, "more negative centroids than centroids");
    uint32_t zero = n_negative < n ? field(b, 1) : 0;
    read_magnitudes(b, z, k, n_negative, list);
    for (uint32_t i = 0; i < n_negative; i++) {
        centroid[n_negative - 1 - i] = list[i] | 0x80000000u;
    }
    uint32_t n_positive = n - n_negative - zero;
    read_magnitudes(b, z, k, n_positive, list);
    must(zero == 1 || n_positive == 0 || list[0] != 0, at, "a centroid +0 must not be written");
    centroid[n_negative] = 0; /* room for it: the array has one more than it needs */
    for (uint32_t i = 0; i < n_positive; i++) {
        centroid[n_negative + zero + i] = list[i];
    }
}

static void check_ascending(const uint32_t *centroid, uint32_t n, uint64_t at)
{
    int64_t before = INT64_MIN;
    for (uint32_t i = 0; i < n; i++) {
        int64_t magnitude = centroid[i] & 0x7FFFFFFF;
        int64_t order = centroid[i] >> 31 ? -1 - magnitude : magnitude;
        must(magnitude < 0x7F800000, at, "centroids must be finite");
        must(order >= before, at, "centroids must ascend within their group");
        before = order;
    }
}

static void read_groups(struct bits *b, const struct tensor *t, uint32_t *centroid)
{
    uint32_t z = field(b, 5), k = field(b, 5);
    must(z == 31 || k <= 30, b->at / 8, "k of a codebook is at most 30");
    if (z == 31 && k >= 24) {
        read_near_groups(b, k - 24, t, centroid);
        return;
    }
    for (uint64_t g = 0; g < t->n_groups; g++) {
        if (z == 31) {
            read_uniform_group(b, k, t->n_centroids, centroid + g * t->n_centroids);
        } else {
            read_group(b, z, k, t->n_centroids, centroid + g * t->n_centroids);
        }
    }
}

enum { NOT_AN_INTEGER = 1000 };

/* Of the bits of an f32: the whole number -128..127 that it is. */
static int integer_of(uint32_t bits)
{
    for (int v = -128; v <= 127; v++) {
        float f = (float)v;
        uint32_t of_v;
        memcpy(&of_v, &f, 4);
        if (of_v == bits) {
            return v;
        }
    }
    return NOT_AN_INTEGER;
}

/* The bits of the f32 values; *end: behind the last of them. */
static uint32_t *read_codebook_until(const struct tensor *t, struct bits *end)
{
    uint64_t n = t->n_groups * t->n_centroids, at = t->codebook.at;
    uint32_t *centroid = zeroed(n + 1, sizeof *centroid);
    struct bits b = bits_of(t->codebook);
    uint32_t coded = field(&b, 1), e = coded == 0 ? field(&b, 7) : 0;
    if (e > 0) {
        for (uint64_t g = 0; g < t->n_groups; g++) {
            e = g == 0 ? e : field(&b, 7);
            must(e > 0, at, "a step is a normal number");
            multiples(e << 23 | field(&b, 8) << 15, t->n_centroids / 2, t->n_centroids % 2,
                      t->n_centroids, centroid + g * t->n_centroids);
        }
    } else if (coded == 0) {
        for (uint64_t i = 0; i < n; i++) {
            centroid[i] = field(&b, 32);
        }
    } else {
        read_groups(&b, t, centroid);
    }
    for (uint64_t g = 0; g < t->n_groups; g++) {
        check_ascending(centroid + g * t->n_centroids, t->n_centroids, at);
    }
    for (uint64_t i = 0; t->type == 5 && i < n; i++) {
        must(integer_of(centroid[i]) != NOT_AN_INTEGER, at, "centroids of i8 are -128..127");
    }
    *end = b;
    return centroid;
}

uint32_t *read_codebook(const struct tensor *t)
{
    struct bits b;
    uint32_t *centroid = read_codebook_until(t, &b);
    padding(&b);
    return centroid;
}

uint64_t codebook_bytes(const struct tensor *t)
{
    struct bits b;
    free(read_codebook_until(t, &b));
    const uint64_t at = b.at / 8;
    must(field(&b, (uint32_t)(-b.at & 7)) == 0, at, "padding must be zero bits");
    return b.at / 8 - t->codebook.at;
}

/* bits: of the f32 that element i is, as a centroid or by itself */
void write_value(const struct tensor *t, uint8_t *value, uint64_t i, uint32_t bits)
{
    if (t->type == 5) {
        value[i] = (uint8_t)integer_of(bits);
        return;
    }
    for (uint32_t byte = 0; byte < 4; byte++) {
        value[i * 4 + byte] = (uint8_t)(bits >> (8 * byte));
    }
}
