/* SPDX-License-Identifier: MIT */
/* depthwise_i8_impl.h - template of depthwise_i8 (kernel_integer.h) for 256-bit vectors: 32
 * channels at a time, or 16 of two pixels or 8 of four, in four vectors of sums. Interleaving the
 * bytes of GROUP taps brings a channel's taps side by side, 4 channels of each 16-byte lane to a
 * vector; packing the values, or storing the sums, puts them back into order. Parameters:
 * ISA(name), GROUP; dot_group is written behind it. */
#include "kernels/x86/integer/simd_i32_avx2.h"

/* Eight channels a vector, in the order that unpacking leaves. */
struct sums {
    __m256i v[4];
};

static inline void dot_group(struct sums *acc, const __m256i t[GROUP], const uint8_t *w);
/* All pixels of a whole block of channels, whose first is at x and y; at: its place. false: not by
 * columns. */
static bool block_by_columns(const struct depthwise_i8_job *job, const uint8_t *x, const uint8_t *w,
                             size_t at, uint8_t *y);

/* The zero point is added in 16 bits with saturation, then packing saturates to u8: the same as
 * clamping once (docs/arithmetic.md). i8 results are u8 with the sign bit turned. */
static inline __attribute__((always_inline)) __m256i values(const struct sums *acc,
                                                            const struct requantize *to, size_t at)
{
    const __m256i zero = _mm256_set1_epi16((int16_t)unsigned_zero(to));
    __m256i q[4];
#pragma GCC unroll 4
    for (uint32_t v = 0; v < 4; v++)
        q[v] = i32_scaled(acc->v[v], to->factor + at + v * (size_t)8);
    __m256i low = _mm256_adds_epi16(_mm256_packs_epi32(q[0], q[1]), zero);
    __m256i up = _mm256_adds_epi16(_mm256_packs_epi32(q[2], q[3]), zero);
    return _mm256_xor_si256(_mm256_packus_epi16(low, up), _mm256_set1_epi8((char)sign_flip(to)));
}

/* The sums of 32 channels in their order. */
static inline __attribute__((always_inline)) void store_sums(const struct sums *acc, uint8_t *y)
{
#pragma GCC unroll 2
    for (uint32_t v = 0; v < 4; v += 2) {
        const __m256i a = acc->v[v], b = acc->v[v + 1];
        uint8_t *to = y + (size_t)16 * v;
        _mm256_storeu_si256((void *)to, _mm256_permute2x128_si256(a, b, 0x20));
        _mm256_storeu_si256((void *)(to + 64), _mm256_permute2x128_si256(a, b, 0x31));
    }
}

/* The results of n <= 32 channels. */
static inline __attribute__((always_inline)) void
put(const struct depthwise_i8_job *job, const struct sums *acc, size_t at, uint8_t *y, uint32_t n)
{
    if (job->to.factor && n == 32) {
        _mm256_storeu_si256((void *)y, values(acc, &job->to, at));
    } else if (job->to.factor) {
        store_some(y, values(acc, &job->to, at), n);
    } else if (n == 32) {
        store_sums(acc, y);
    } else {
        uint8_t sums[128];
        store_sums(acc, sums);
        memcpy(y, sums, n * sizeof(int32_t));
    }
}

/* How bytes of a pixel are read: a whole vector, several narrow pixels, or fewer than a vector. */
enum bytes_at { WHOLE, PIXELS, SOME };

/* n bytes, 8 or 16, of each of the pixels that fit Networks have layers of 8 and 16 channels at
 * their start: a vector then holds 4 or 2 pixels. */
static inline __m256i load_pixels(const uint8_t *p, size_t step, uint32_t n)
{
    if (step == n)
        return _mm256_loadu_si256((const void *)p);
    if (n == 16)
        return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const void *)p)),
                                       _mm_loadu_si128((const void *)(p + step)), 1);
    return _mm256_set_epi64x((int64_t)load_le64(p + 3 * step), (int64_t)load_le64(p + 2 * step),
                             (int64_t)load_le64(p + step), (int64_t)load_le64(p));
}

/* x: channel 0 of the block under the pixel. Sums begin with the offset, which holds bias and
 * zero points. n: results that are kept. */
static inline __attribute__((always_inline)) void pixel(const struct depthwise_i8_job *job,
                                                        const uint8_t *x, const uint8_t *w,
                                                        size_t at, enum bytes_at kind, uint8_t *y,
                                                        uint32_t n)
{
    struct sums acc;
    const uint32_t *tap = job->tap;
#pragma GCC unroll 4
    for (uint32_t v = 0; v < 4; v++)
        acc.v[v] = _mm256_loadu_si256((const void *)(job->to.offset + at + v * (size_t)8));
    for (uint32_t g = 0; g < job->groups; g++, w += 128, tap += GROUP) {
        __m256i t[GROUP];
#pragma GCC unroll 4
        for (uint32_t i = 0; i < GROUP; i++) {
            t[i] = kind == SOME     ? load_some(x + tap[i], job->channels)
                   : kind == PIXELS ? load_pixels(x + tap[i], job->x_step, job->channels)
                                    : _mm256_loadu_si256((const void *)(x + tap[i]));
        }
        dot_group(&acc, t, w);
    }
    put(job, &acc, at, y, n);
}

/* The last ones together with some that have been there already. Recomputing pixels of the end
 * costs less than a masked tail, and gives the same bytes. */
static void few_channels(const struct depthwise_i8_job *job, uint32_t pixels)
{
    for (uint32_t i = 0; i < job->m; i += pixels) {
        if (i + pixels > job->m)
            i = job->m - pixels;
        pixel(job, job->x + i * job->x_step, job->w, 0, PIXELS, job->y + i * job->y_step, 32);
    }
}

/* Fewer than 32 channels: what a vector holds behind them are the next pixels, whose results are
 * right where pixels lie one behind the other on both sides, and not kept elsewhere. */
static void narrow(const struct depthwise_i8_job *job)
{
    const size_t step = job->channels * (job->to.factor ? 1 : sizeof(int32_t));
    const bool dense = job->x_step == job->channels && job->y_step == step;
    const size_t end = (size_t)(job->m - 1) * job->x_step + job->channels;
    for (uint32_t i = 0; i < job->m;) {
        const uint8_t *x = job->x + (size_t)i * job->x_step;
        uint8_t *y = job->y + (size_t)i * job->y_step;
        const bool whole = (size_t)i * job->x_step + 32 <= end;
        if (whole)
            pixel(job, x, job->w, 0, WHOLE, y, dense ? 32 : job->channels);
        else
            pixel(job, x, job->w, 0, SOME, y, job->channels);
        i += whole && dense ? 32 / job->channels : 1;
    }
}

void ISA(pith_depthwise_i8)(const struct depthwise_i8_job *job)
{
    const size_t bytes = job->to.factor ? 1 : sizeof(int32_t);
    if ((job->channels == 8 || job->channels == 16) && job->y_step == job->channels * bytes &&
        job->m >= 32 / job->channels) {
        few_channels(job, 32 / job->channels);
        return;
    }
    if (job->channels < 32) {
        narrow(job);
        return;
    }
    /* The last block begins earlier, so that it is whole: channels it shares are written twice,
     * alike. */
    uint32_t blocks = depthwise_blocks(32, job->channels);
    for (uint32_t b = 0; b < blocks; b++) {
        uint32_t c = depthwise_begin(32, job->channels, b);
        const uint8_t *w = job->w + (size_t)b * job->groups * 128, *x = job->x + c;
        uint8_t *y = job->y + c * bytes;
        if (block_by_columns(job, x, w, b * (size_t)32, y))
            continue;
        for (uint32_t i = 0; i < job->m; i++, x += job->x_step, y += job->y_step)
            pixel(job, x, w, b * (size_t)32, WHOLE, y, 32);
    }
}
