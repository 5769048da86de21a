/* SPDX-License-Identifier: MIT */
/* Codebooks (docs/format-streams.md section 6): sorted magnitudes as Rice-coded differences. The
 * Rice parameter is chosen by counting the bits of all 31 of them; there are never more than a few
 * thousand values. */
#include <string.h>
#include "bit_writer.h"
#include "pith_huffman.h"

#define SIGN 0x80000000u
#define MAX_FINITE 0x7f7fffffu
#define ESCAPE 16u

struct book {
    const float *centroid;
    uint64_t n_groups;
    uint32_t n_centroids, zero_bits;
};

static uint32_t ordered(uint32_t bits)
{
    return bits & SIGN ? ~bits : bits | SIGN;
}

static bool is_ascending(const float *c, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if ((f32_bits(c[i]) & ~SIGN) > MAX_FINITE)
            return false;
        if (i && ordered(f32_bits(c[i])) < ordered(f32_bits(c[i - 1])))
            return false;
    }
    return true;
}

/* One group as two lists of shifted magnitudes: v[0..n_negative) from zero outwards, then the
 * positives without the +0 of the flag. */
struct lists {
    uint32_t n_negative, n_zero, n;
    uint32_t v[PITH_SYMBOLS];
};

static void split_group(const struct book *b, uint64_t group, struct lists *l)
{
    const float *c = b->centroid + group * b->n_centroids;
    uint32_t k = b->n_centroids;
    l->n_negative = 0;
    while (l->n_negative < k && (f32_bits(c[l->n_negative]) & SIGN))
        l->n_negative++;
    l->n_zero = l->n_negative < k && f32_bits(c[l->n_negative]) == 0;
    l->n = 0;
    for (uint32_t i = l->n_negative; i-- > 0;)
        l->v[l->n++] = (f32_bits(c[i]) & ~SIGN) >> b->zero_bits;
    for (uint32_t i = l->n_negative + l->n_zero; i < k; i++)
        l->v[l->n++] = f32_bits(c[i]) >> b->zero_bits;
}

static bool is_first(const struct lists *l, uint32_t i)
{
    return i == 0 || i == l->n_negative;
}

static uint64_t coded_bits(const struct book *b, uint32_t rice)
{
    uint32_t magnitude_bits = 31 - b->zero_bits;
    uint64_t bits = 11;
    struct lists l;
    for (uint64_t g = 0; g < b->n_groups; g++) {
        split_group(b, g, &l);
        bits += 32 - (uint32_t)__builtin_clz(b->n_centroids) + (l.n_negative < b->n_centroids);
        for (uint32_t i = 0; i < l.n; i++) {
            if (is_first(&l, i)) {
                bits += magnitude_bits;
                continue;
            }
            uint32_t q = (l.v[i] - l.v[i - 1]) >> rice;
            bits += q < ESCAPE ? q + 1 + rice : ESCAPE + magnitude_bits;
        }
    }
    return bits;
}

static void write_group(struct bit_writer *w, const struct book *b, uint64_t group, uint32_t rice)
{
    uint32_t magnitude_bits = 31 - b->zero_bits;
    struct lists l;
    split_group(b, group, &l);
    bw_bits(w, l.n_negative, 32 - (uint32_t)__builtin_clz(b->n_centroids));
    if (l.n_negative < b->n_centroids)
        bw_bits(w, l.n_zero, 1);
    for (uint32_t i = 0; i < l.n; i++) {
        if (is_first(&l, i)) {
            bw_bits(w, l.v[i], magnitude_bits);
            continue;
        }
        uint32_t step = l.v[i] - l.v[i - 1];
        if (step >> rice < ESCAPE) {
            bw_unary(w, step >> rice);
            bw_bits(w, step & ((1u << rice) - 1), rice);
        } else {
            bw_bits(w, (1u << ESCAPE) - 1, ESCAPE);
            bw_bits(w, step, magnitude_bits);
        }
    }
}

static void write_raw(struct bit_writer *w, const struct book *b)
{
    bw_bits(w, 0, 8);
    for (uint64_t i = 0; i < b->n_groups * b->n_centroids; i++)
        bw_bits(w, f32_bits(b->centroid[i]), 32);
}

/* Low bits that are zero everywhere: at most 30, so that a magnitude keeps a bit. */
static uint32_t common_zero_bits(const struct book *b)
{
    uint32_t all = UINT32_C(1) << 30;
    for (uint64_t i = 0; i < b->n_groups * b->n_centroids; i++)
        all |= f32_bits(b->centroid[i]) & ~SIGN;
    return (uint32_t)__builtin_ctz(all);
}

/* ---- uniform: multiples of a step ------------------------------------------------------------ */

#define UNIFORM 31u /* in the place of zero_bits */

struct signs {
    uint32_t n_negative, n_zero;
};

static struct signs signs_of(const struct book *b, uint64_t group)
{
    const float *c = b->centroid + group * b->n_centroids;
    uint32_t n = b->n_centroids, below = 0, above = n;
    while (below < above) { /* the first without sign bit */
        uint32_t middle = (below + above) / 2;
        if (f32_bits(c[middle]) & SIGN)
            below = middle + 1;
        else
            above = middle;
    }
    return (struct signs){below, below < n && f32_bits(c[below]) == 0};
}

/* Of a group of multiples of it. */
static float step_value(const struct book *b, uint64_t group, struct signs s)
{
    const float *c = b->centroid + group * b->n_centroids;
    uint32_t first = s.n_negative + s.n_zero;
    return first < b->n_centroids ? c[first] : s.n_negative ? -c[s.n_negative - 1] : 1.0f;
}

static uint32_t step_of(const struct book *b, uint64_t group)
{
    return f32_bits(step_value(b, group, signs_of(b, group)));
}

/* Finite multiples of a step that is a normal number? Then they ascend. */
static bool is_uniform(const struct book *b, uint64_t group)
{
    const float *c = b->centroid + group * b->n_centroids;
    struct signs s = signs_of(b, group);
    uint32_t n = b->n_centroids, wrong = 0, first = s.n_negative + s.n_zero;
    float step = step_value(b, group, s);
    if (f32_bits(step) < UINT32_C(1) << 23 || f32_bits(step) > MAX_FINITE)
        return false;
    for (uint32_t i = 0; i < s.n_negative; i++)
        wrong |= f32_bits(c[i]) ^ f32_bits(-step * (float)(int32_t)(s.n_negative - i));
    for (uint32_t i = first; i < n; i++)
        wrong |= f32_bits(c[i]) ^ f32_bits(step * (float)(int32_t)(i - first + 1));
    return wrong == 0 && (f32_bits(c[0]) & ~SIGN) <= MAX_FINITE &&
           (f32_bits(c[n - 1]) & ~SIGN) <= MAX_FINITE;
}

/* Mantissa bits that the steps need; UINT32_MAX: some group is something else. */
static uint32_t step_bits_of(const struct book *b)
{
    uint32_t all = UINT32_C(1) << 23;
    for (uint64_t g = 0; g < b->n_groups; g++) {
        if (!is_uniform(b, g))
            return UINT32_MAX;
        all |= step_of(b, g);
    }
    return 23 - (uint32_t)__builtin_ctz(all);
}

static uint64_t uniform_bits(const struct book *b, uint32_t step_bits)
{
    uint64_t bits = 11;
    for (uint64_t g = 0; g < b->n_groups; g++)
        bits += 8 + step_bits + 32 - (uint32_t)__builtin_clz(b->n_centroids) +
                (signs_of(b, g).n_negative < b->n_centroids);
    return bits;
}

static void write_uniform(struct bit_writer *w, const struct book *b, uint32_t step_bits)
{
    bw_bits(w, 1 | UNIFORM << 1 | step_bits << 6, 11);
    for (uint64_t g = 0; g < b->n_groups; g++) {
        uint32_t step = step_of(b, g);
        struct signs s = signs_of(b, g);
        bw_bits(w, step >> 23, 8);
        bw_bits(w, (step & 0x7fffff) >> (23 - step_bits), step_bits);
        bw_bits(w, s.n_negative, 32 - (uint32_t)__builtin_clz(b->n_centroids));
        if (s.n_negative < b->n_centroids)
            bw_bits(w, s.n_zero, 1);
    }
}

/* ---- symmetric: as many values below zero as above ------------------------------------------- */

static bool is_symmetric(const struct book *b)
{
    for (uint64_t g = 0; g < b->n_groups; g++) {
        struct signs s = signs_of(b, g);
        if (s.n_negative != b->n_centroids / 2 || s.n_zero != b->n_centroids % 2)
            return false;
    }
    return b->n_centroids > 1;
}

/* Coarse steps below 2. */
static bool are_short(const struct book *b, uint32_t step_bits)
{
    for (uint64_t g = 0; g < b->n_groups; g++)
        if (step_of(b, g) >> 23 > 127)
            return false;
    return step_bits <= 8;
}

static void write_symmetric(struct bit_writer *w, const struct book *b)
{
    bw_bits(w, 0, 1);
    for (uint64_t g = 0; g < b->n_groups; g++) {
        bw_bits(w, step_of(b, g) >> 23, 7);
        bw_bits(w, step_of(b, g) >> 15 & 255, 8);
    }
}

#define NEAR 24u /* in the place of step_bits, which are added */
#define NEAR_STEP_BITS 7u
#define CHAINED 15u /* in the place of offset_bits */

/* As numbers of exponent and step_bits of the mantissa: the smallest, and bits of what others are
 * above it. */
static uint32_t nearest_steps(const struct book *b, uint32_t step_bits, uint32_t *base)
{
    uint32_t least = UINT32_MAX, most = 0, bits = 0;
    for (uint64_t g = 0; g < b->n_groups; g++) {
        uint32_t step = step_of(b, g) >> (23 - step_bits);
        least = step < least ? step : least;
        most = step > most ? step : most;
    }
    while ((most - least) >> bits != 0)
        bits++;
    *base = least;
    return bits;
}

/* From group g - 1 to g: 0, -1, 1, -2 ... are 0, 1, 2, 3 ... */
static uint32_t zigzag(const struct book *b, uint64_t g, uint32_t step_bits)
{
    int32_t d = (int32_t)(step_of(b, g) >> (23 - step_bits)) -
                (int32_t)(step_of(b, g - 1) >> (23 - step_bits));
    return d < 0 ? 2 * (uint32_t)-d - 1 : 2 * (uint32_t)d;
}

struct near {
    uint32_t base, offset_bits;
    uint64_t bits; /* of all */
};

/* Each as an offset to the smallest, or as a difference from the one before where that is shorter.
 */
static struct near nearest(const struct book *b, uint32_t step_bits)
{
    struct near n;
    uint64_t chained = 0;
    n.offset_bits = nearest_steps(b, step_bits, &n.base);
    n.bits = b->n_groups * n.offset_bits;
    for (uint64_t g = 1; g < b->n_groups; g++)
        chained += 1 + zigzag(b, g, step_bits);
    if (chained < n.bits || n.offset_bits == CHAINED)
        n = (struct near){step_of(b, 0) >> (23 - step_bits), CHAINED, chained};
    n.bits += 23 + step_bits;
    return n;
}

static void write_near(struct bit_writer *w, const struct book *b, uint32_t step_bits,
                       struct near n)
{
    bw_bits(w, 1 | UNIFORM << 1 | (NEAR + step_bits) << 6, 11);
    bw_bits(w, n.base, 8 + step_bits);
    bw_bits(w, n.offset_bits, 4);
    for (uint64_t g = 0; g < b->n_groups; g++)
        if (n.offset_bits != CHAINED)
            bw_bits(w, (step_of(b, g) >> (23 - step_bits)) - n.base, n.offset_bits);
        else if (g > 0)
            bw_unary(w, zigzag(b, g, step_bits));
}

/* step_bits of step_bits_of. False: nothing is written, for it would not be shorter than `least`
 * bits. */
static bool write_steps(struct bit_writer *w, const struct book *b, uint32_t step_bits,
                        uint64_t least)
{
    if (step_bits > 23)
        return false;
    struct near steps = {0};
    uint64_t uniform = uniform_bits(b, step_bits), near = UINT64_MAX, symmetric = UINT64_MAX;
    if (is_symmetric(b) && are_short(b, step_bits))
        symmetric = 1 + 15 * b->n_groups;
    if (is_symmetric(b) && step_bits <= NEAR_STEP_BITS) {
        steps = nearest(b, step_bits);
        near = (steps.bits + 7) & ~UINT64_C(7);
    }
    if (near < symmetric && near < uniform && near < least)
        write_near(w, b, step_bits, steps);
    else if (symmetric != UINT64_MAX)
        write_symmetric(w, b);
    else if (uniform < least)
        write_uniform(w, b, step_bits);
    else
        return false;
    return true;
}

/* ---- all ------------------------------------------------------------------------------------- */

size_t pith_codebook_bound(uint64_t n_groups, uint32_t n_centroids)
{
    return 1 + (size_t)n_groups * n_centroids * sizeof(float);
}

/* A value behind the first of its sign takes a bit at least; a group has one that is 0. */
static uint64_t fewest_coded_bits(const struct book *b)
{
    return b->n_groups * (b->n_centroids > 3 ? b->n_centroids - 3 : 0);
}

/* The parameter with the fewest bits, if they are below *least, which becomes them; else
 * UINT32_MAX. */
static uint32_t choose_rice(struct book *b, uint64_t *least)
{
    uint32_t rice = UINT32_MAX;
    b->zero_bits = common_zero_bits(b);
    for (uint32_t k = 0; k <= 30; k++) {
        uint64_t bits = (coded_bits(b, k) + 7) & ~UINT64_C(7);
        if (bits < *least) {
            *least = bits;
            rice = k;
        }
    }
    return rice;
}

enum pith_status pith_codebook_encode(const float *centroid, uint64_t n_groups,
                                      uint32_t n_centroids, uint8_t *dst, size_t cap, size_t *bytes)
{
    if (!centroid || !dst || !bytes)
        return PITH_ERR_ARGUMENT;
    struct book b = {centroid, n_groups, n_centroids, 0};
    uint64_t least = 8 * (uint64_t)pith_codebook_bound(n_groups, n_centroids);
    uint32_t rice = UINT32_MAX, step_bits = step_bits_of(&b);
    for (uint64_t g = 0; g < n_groups && step_bits > 23; g++)
        if (!is_ascending(centroid + g * n_centroids, n_centroids))
            return PITH_ERR_ARGUMENT;
    if (step_bits <= 23 && uniform_bits(&b, step_bits) < fewest_coded_bits(&b))
        least = fewest_coded_bits(&b); /* no need to know it better */
    else
        rice = choose_rice(&b, &least);
    struct bit_writer w = bit_writer_to(dst, cap);
    bool written = write_steps(&w, &b, step_bits, least);
    if (!written && rice == UINT32_MAX) {
        write_raw(&w, &b);
    } else if (!written) {
        bw_bits(&w, 1 | b.zero_bits << 1 | rice << 6, 11);
        for (uint64_t g = 0; g < n_groups; g++)
            write_group(&w, &b, g, rice);
    }
    *bytes = (size_t)(bw_close(&w) - dst);
    return w.full ? PITH_ERR_SPACE : PITH_OK;
}
