/* SPDX-License-Identifier: MIT */
/* Sorted codebooks. Order carries no information, so a codebook is two ascending lists of
 * magnitudes (bit patterns without sign: for floats of one sign, integer order is value order)
 * as differences. What remains is what 23 mantissa bits of noise cost; a codebook rounded to
 * fewer mantissa bits shows as low zero bits, which are not written. A uniform one is its step
 * alone; where it is symmetric and the step below 2 with 8 fraction bits, that is two bytes;
 * steps of many groups that are close to each other are offsets to the smallest one.
 *
 * Differences of sorted numbers are small and near each other, so Rice codes (Golomb 1966, Rice
 * 1979) with one parameter for the list are close to their entropy. */
#include "decode/codebook_decode.h"
#include "decode/weight_kind.h"

/* Infinity and NaN are no centroids: products with them would not be defined. */
#define MAX_FINITE 0x7f7fffffu
#define SIGN 0x80000000u
/* A unary part of sixteen ones says that the number follows as it is, so no difference is longer
 * than 47 bits. */
#define ESCAPE 16u
#define UNIFORM 31u /* in the place of zero_bits */
#define NEAR 24u    /* in the place of step_bits, which are added */
#define CHAINED 15u /* in the place of offset_bits */

/* Where centroids are written: one of the two is set. */
struct centroids {
    float *f32;
    int8_t *i8;
};

/* Centroid i. false: none that the target holds. */
static bool put(const struct centroids *to, uint32_t i, float v)
{
    if (to->f32) {
        to->f32[i] = v;
        return true;
    }
    bool whole = pith_centroid_is_i8(v);
    to->i8[i] = whole ? (int8_t)v : 0;
    return whole;
}

static bool is_plus_zero(const struct centroids *to, uint32_t i)
{
    return to->f32 ? f32_bits(to->f32[i]) == 0 : to->i8[i] == 0;
}

/* Each form's header; what is not possible (a step of too many bits) is refused here, for
 * everything below shifts by these numbers. */
static bool open_coded(struct codebook_reader *c)
{
    c->zero_bits = br_bits(&c->bits, 5);
    c->rice_bits = br_bits(&c->bits, 5);
    c->uniform = c->zero_bits == UNIFORM;
    c->step_bits = c->rice_bits;
    c->near = c->uniform && c->step_bits >= NEAR;
    if (!c->near)
        return c->uniform || c->rice_bits <= 30;
    c->step_bits -= NEAR;
    c->base = br_bits(&c->bits, 8 + c->step_bits);
    c->offset_bits = br_bits(&c->bits, 4);
    return c->offset_bits <= 8 + c->step_bits || c->offset_bits == CHAINED;
}

/* *r is written when all is well. */
enum pith_status pith_codebook_open(struct codebook_reader *r, const uint8_t *bytes, size_t n_bytes,
                                    uint64_t n_groups, uint32_t n_centroids)
{
    struct codebook_reader c = {
        .bits = bit_reader_of(bytes, n_bytes), .groups_left = n_groups, .n_centroids = n_centroids};
    c.coded = br_bits(&c.bits, 1) != 0;
    if (c.coded) {
        if (!open_coded(&c))
            return PITH_ERR_CORRUPT;
    } else {
        c.exponent = br_bits(&c.bits, 7);
        c.symmetric = c.exponent != 0;
    }
    if (c.bits.bad)
        return PITH_ERR_CORRUPT;
    *r = c;
    return PITH_OK;
}

/* f32 in total order as unsigned order. Positive floats get the sign bit, negative ones are
 * inverted: then integer order is the order of floats, -0 before +0. */
static uint32_t ordered(uint32_t bits)
{
    return bits & SIGN ? ~bits : bits | SIGN;
}

/* Not coded: ascending, finite, any bits else. */
static bool read_raw(struct codebook_reader *r, const struct centroids *to)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < r->n_centroids; i++) {
        uint32_t bits = br_bits(&r->bits, 32);
        if ((bits & ~SIGN) > MAX_FINITE || ordered(bits) < last)
            return false;
        last = ordered(bits);
        if (!put(to, i, f32_from_bits(bits)))
            return false;
    }
    return !r->bits.bad;
}

/* Unary up to ESCAPE ones, the last form without its zero-bit. */
static uint32_t read_step(struct codebook_reader *r, uint32_t magnitude_bits)
{
    uint32_t q = 0;
    while (q < ESCAPE && br_bits(&r->bits, 1) != 0)
        q++;
    if (q == ESCAPE)
        return br_bits(&r->bits, magnitude_bits);
    /* q <= 15 shifted by at most 30 bits. */
    uint32_t low = br_bits(&r->bits, r->rice_bits);
    uint64_t v = ((uint64_t)q << r->rice_bits) + low; /* < 2^35 */
    return v > MAX_FINITE ? SIGN : (uint32_t)v;       /* too large either way */
}

/* n magnitudes ascending to centroids `at`, at + stride ...; sign is added to each. v never exceeds
 * `largest`, tested as step <= largest - v, which cannot wrap. */
static bool read_list(struct codebook_reader *r, uint32_t n, uint32_t sign,
                      const struct centroids *to, uint32_t at, uint32_t stride)
{
    uint32_t magnitude_bits = 31 - r->zero_bits;
    uint32_t largest = MAX_FINITE >> r->zero_bits, v = 0;
    for (uint32_t i = 0; i < n && !r->bits.bad; i++) {
        uint32_t step = i ? read_step(r, magnitude_bits) : br_bits(&r->bits, magnitude_bits);
        if (step > largest - v)
            return false;
        v += step;
        if (!put(to, at, f32_from_bits(sign | v << r->zero_bits)))
            return false;
        at += stride; /* modulo 2^32 */
    }
    return !r->bits.bad;
}

/* Multiples of a step, both ways from zero. One rounding each, so the same everywhere. Products,
 * not sums of steps: errors would add up. Steps that are not finite have none that is. */
static bool write_multiples(float step, uint32_t n_negative, uint32_t n_zero, uint32_t k,
                            const struct centroids *to)
{
    uint32_t n_positive = k - n_negative - n_zero;
    bool ok = true;
    for (uint32_t i = 0; i < n_negative; i++)
        ok &= put(to, n_negative - 1 - i, -step * (float)(i + 1));
    for (uint32_t i = 0; i < n_positive; i++)
        ok &= put(to, n_negative + n_zero + i, step * (float)(i + 1));
    /* The outermost are the largest. */
    return ok && f32_bits(step * (float)n_negative) <= MAX_FINITE &&
           f32_bits(step * (float)n_positive) <= MAX_FINITE;
}

/* Of bits of a step: an exponent from 1. Subnormal steps are left out, so that the product is
 * exact enough to be the same under flushed denormals. */
static bool write_symmetric(uint32_t step, uint32_t k, const struct centroids *to)
{
    if (k % 2)
        put(to, k / 2, 0.0f);
    return step >> 23 != 0 && write_multiples(f32_from_bits(step), k / 2, k % 2, k, to);
}

/* The first exponent stands in the first byte, with the bit that says "not coded". */
static bool read_symmetric(struct codebook_reader *r, const struct centroids *to)
{
    uint32_t exponent = r->exponent ? r->exponent : br_bits(&r->bits, 7);
    uint32_t step = exponent << 23 | br_bits(&r->bits, 8) << 15;
    r->exponent = 0;
    return write_symmetric(step, r->n_centroids, to);
}

/* Of the step behind this one: 0, -1, 1, -2 ... as so many ones. Neighbouring groups have like
 * steps, so unary differences are short. The bits end before 2^32 of them could be ones: br_bits
 * gives zeros past the end. */
static uint32_t next_difference(struct codebook_reader *r)
{
    uint32_t v = 0;
    if (r->groups_left == 1)
        return 0;
    while (br_bits(&r->bits, 1) != 0)
        v++;
    return v >> 1 ^ -(v & 1);
}

/* Offsets to one base, or each to the one before. */
static bool read_near(struct codebook_reader *r, const struct centroids *to)
{
    uint32_t step = r->base; /* < 2^16 */
    if (r->offset_bits == CHAINED)
        r->base += next_difference(r);
    else
        step += br_bits(&r->bits, r->offset_bits);
    return step >> (8 + r->step_bits) == 0 &&
           write_symmetric(step << (23 - r->step_bits), r->n_centroids, to);
}

/* The counts below, at and above zero are what separates the two lists. */
static bool read_coded(struct codebook_reader *r, const struct centroids *to)
{
    uint32_t step = 0;
    if (r->uniform) {
        step = br_bits(&r->bits, 8);
        if (step == 0)
            return false;
        step = step << 23 | br_bits(&r->bits, r->step_bits) << (23 - r->step_bits);
    }
    uint32_t k = r->n_centroids, count_bits = 32 - (uint32_t)__builtin_clz(k);
    uint32_t n_negative = br_bits(&r->bits, count_bits);
    if (n_negative > k)
        return false;
    uint32_t n_zero = n_negative < k ? br_bits(&r->bits, 1) : 0;
    if (n_zero)
        put(to, n_negative, 0.0f);
    if (r->uniform)
        return write_multiples(f32_from_bits(step), n_negative, n_zero, k, to);
    if (n_negative && !read_list(r, n_negative, SIGN, to, n_negative - 1, UINT32_MAX))
        return false;
    uint32_t positive = n_negative + n_zero;
    if (positive == k)
        return true;
    /* +0 has one form: the first of them is the flag */
    return read_list(r, k - positive, 0, to, positive, 1) &&
           (n_zero || !is_plus_zero(to, positive));
}

/* What remains of the last byte must be zero; `open_end` is for codebooks with other bytes
 * behind. */
static enum pith_status next_group(struct codebook_reader *r, const struct centroids *to)
{
    if (r->groups_left == 0 ||
        !(r->near        ? read_near(r, to)
          : r->symmetric ? read_symmetric(r, to)
          : r->coded     ? read_coded(r, to)
                         : read_raw(r, to)) ||
        r->bits.bad)
        return PITH_ERR_CORRUPT;
    r->groups_left--;
    if (r->groups_left == 0 && !r->open_end && !br_at_end(&r->bits))
        return PITH_ERR_CORRUPT;
    return PITH_OK;
}

enum pith_status pith_codebook_next(struct codebook_reader *r, float *dst)
{
    return next_group(r, &(struct centroids){.f32 = dst});
}

enum pith_status pith_codebook_next_i8(struct codebook_reader *r, int8_t *dst)
{
    return next_group(r, &(struct centroids){.i8 = dst});
}

/* By decoding all of it: lengths are not written, because they would cost more than they save. */
enum pith_status pith_codebook_length(const uint8_t *bytes, size_t n_bytes, uint64_t n_groups,
                                      uint32_t n_centroids, size_t *length)
{
    struct codebook_reader r;
    float group[256];
    enum pith_status st = pith_codebook_open(&r, bytes, n_bytes, n_groups, n_centroids);
    r.open_end = true;
    while (st == PITH_OK && r.groups_left > 0)
        st = pith_codebook_next(&r, group);
    if (st)
        return st;
    uint32_t padding = (uint32_t)(-r.bits.pos & 7);
    if (br_bits(&r.bits, padding) != 0)
        return PITH_ERR_CORRUPT;
    *length = (size_t)(r.bits.pos / 8);
    return PITH_OK;
}
