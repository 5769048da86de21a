/* SPDX-License-Identifier: MIT */
/* features.c - mel-frequency cepstral coefficients of a frame, as MLPerf Tiny's keyword benchmark
 * defines them: Hann window, magnitudes of a Fourier transform of 512 points, 40 triangles from 20
 * to 4,000 Hz on the mel scale, logarithm, discrete cosine transform.
 *
 * Neither tables nor libm: sines are powers of a root of unity, mel weights are computed where they
 * are used. With IEEE floats and -ffp-contract=off the host that makes the training data and the
 * board compute the same bits. */
#include "features.h"

enum { POINTS = 256, BANDS = 40, LAST_BIN = 128 /* 4,000 Hz */ };

struct complex {
    float re, im;
};

static struct complex multiply(struct complex a, struct complex b)
{
    return (struct complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* exp(-2 pi i / 2^k), k from 1 to 9 */
static const struct complex root[10] = {{1, 0},
                                        {-1, 0},
                                        {0, -1},
                                        {.70710678f, -.70710678f},
                                        {.92387953f, -.38268343f},
                                        {.98078528f, -.19509032f},
                                        {.99518473f, -.09801714f},
                                        {.99879546f, -.04906767f},
                                        {.99969882f, -.02454123f},
                                        {.99992470f, -.01227154f}};

/* The natural logarithm of x > 0: 2 atanh((m - 1) / (m + 1)) of a mantissa m in [0.75, 1.5). */
static float logarithm(float x)
{
    union {
        float f;
        uint32_t u;
    } m = {x};
    const int32_t exponent = (int32_t)(m.u - 0x3f400000) >> 23;
    m.u -= (uint32_t)exponent << 23;
    const float t = (m.f - 1) / (m.f + 1), t2 = t * t;
    return (float)exponent * .69314718f +
           2 * t * (1 + t2 * (.33333333f + t2 * (.2f + t2 * .14285714f)));
}

/* In place, in bit-reversed order before (Cooley and Tukey, 1965). */
static void transform(struct complex z[POINTS])
{
    for (uint32_t k = 1, m = 2; m <= POINTS; k++, m *= 2) {
        struct complex w = {1, 0};
        for (uint32_t j = 0; j < m / 2; j++, w = multiply(w, root[k]))
            for (uint32_t i = j; i < POINTS; i += m) {
                const struct complex a = z[i], b = multiply(z[i + m / 2], w);
                z[i] = (struct complex){a.re + b.re, a.im + b.im};
                z[i + m / 2] = (struct complex){a.re - b.re, a.im - b.im};
            }
    }
}

/* The windowed frame, even samples as real and odd ones as imaginary parts, in bit-reversed order.
 */
static void window(const int16_t *sound, struct complex z[POINTS])
{
    const struct complex step = {.99991433f, .01308960f}; /* exp(2 pi i / FRAME) */
    struct complex w = {1, 0};
    for (uint32_t i = 0; i < POINTS; i++) {
        float part[2] = {0, 0};
        uint32_t to = 0;
        for (uint32_t k = 0; k < 2 && 2 * i + k < FRAME; k++, w = multiply(w, step))
            part[k] = (float)sound[2 * i + k] * (1.f / 32768) * (.5f - .5f * w.re);
        for (uint32_t bit = 1; bit < POINTS; bit *= 2)
            to = 2 * to + !!(i & bit);
        z[to] = (struct complex){part[0], part[1]};
    }
}

/* band: [BANDS + 2], from 1 on; sums of magnitudes under each triangle. */
static void mel_bands(const struct complex z[POINTS], float band[BANDS + 2])
{
    /* 1127 log(1 + Hz / 700), from band 0 at 20 Hz to BANDS + 1 at 4,000 Hz */
    const float low = logarithm(1 + 20.f / 700), high = logarithm(1 + 4000.f / 700);
    struct complex w = {1, 0};
    for (uint32_t i = 0; i < BANDS + 2; i++)
        band[i] = 0;
    for (uint32_t k = 1; k < LAST_BIN; k++) {
        const struct complex a = z[k], b = z[POINTS - k];
        const struct complex even = {(a.re + b.re) / 2, (a.im - b.im) / 2};
        w = multiply(w, root[9]);
        const struct complex odd =
            multiply(w, (struct complex){(a.im + b.im) / 2, (b.re - a.re) / 2});
        const float re = even.re + odd.re, im = even.im + odd.im;
        const float magnitude = __builtin_sqrtf(re * re + im * im);
        const float at =
            (logarithm(1 + (float)k * (31.25f / 700)) - low) / (high - low) * (BANDS + 1);
        const uint32_t below = (uint32_t)at; /* at >= 0: bin 1 is at 31.25 Hz */
        band[below] += magnitude * ((float)(below + 1) - at);
        band[below + 1] += magnitude * (at - (float)below);
    }
}

void frame_features(const int16_t *sound, float *mfcc)
{
    static struct complex z[POINTS];
    float band[BANDS + 2];
    const struct complex step = {.99922904f, .03925982f}; /* exp(pi i / 80) */
    struct complex turn = {1, 0};
    window(sound, z);
    transform(z);
    mel_bands(z, band);
    for (uint32_t i = 1; i <= BANDS; i++)
        band[i] = logarithm(band[i] + 1e-6f);
    for (uint32_t c = 0; c < COEFFICIENTS; c++, turn = multiply(turn, step)) {
        struct complex w = turn; /* cos(pi c (2 i - 1) / 80) is its real part */
        const struct complex twice = multiply(turn, turn);
        mfcc[c] = 0;
        for (uint32_t i = 1; i <= BANDS; i++, w = multiply(w, twice))
            mfcc[c] += band[i] * w.re;
        mfcc[c] *= .22360680f; /* 2 / sqrt(2 BANDS) */
    }
}
