/* SPDX-License-Identifier: MIT */
/* kernel_dense.h - dense f32 kernels: what convolutions and matrix products are made of.
 *
 * A convolution over NCHW is, for one image and group, a product of matrices
 *
 *     c[O, P] = a[O, K] * b[K, P]        P = OH * OW pixels, K = KH * KW * C taps
 *
 * done tile by tile of up to `nr` pixels: im2col_f32 copies the tile's columns of b into a panel
 * that stays in cache (1x1 convolutions of stride 1 need no copy: b is the input itself), then
 * gemm_f32 multiplies it with all rows of a. Constant weights a are packed once, when the plan is
 * built, into panels of `mr` rows:
 *
 *     panel p:  k = 0: rows p*mr .. p*mr+mr-1 | k = 1: the same rows | ...      (rows past O: 0)
 *
 * so the kernel reads a and b front to back. gemm_f32 fuses bias, residual and activation into its
 * store. Where output rows are wide, conv_rows_f32 reads the columns from a padded copy of a few
 * input rows instead: no element is copied more than about once, not once a tap.
 *
 * A table with mr == 0 (the reference) has no tiles: operators call conv_f32.
 *
 * Contracts common to all. Nothing outside the described elements is read or written; pointers need
 * only the alignment of float; inputs may overlap one another, outputs overlap nothing.
 * Exactness: with y_exact the value before the activation, |y - y_exact| <= 2 K 2^-24 sum |a b|,
 * the sum taken over all K terms, bias and residual (K + 2 terms in all). The reference adds k in
 * ascending order in f32 and leaves out taps outside the image; other levels may fuse, reorder and
 * add 0 * w for such taps (which differs for infinite w alone), but an element's result depends on
 * its own operands and the level only, never on how the work was cut. */
#ifndef PITH_KERNEL_DENSE_H
#define PITH_KERNEL_DENSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/build_choice.h"
#include "kernels/act_kind.h"
#include "kernels/kernel_list.h"

struct gemm_f32_job {
    const float *a; /* packed panels [ceil(m/mr)][a_step / mr][mr], from the first k of this job */
    size_t a_step;  /* floats from one panel to the next, >= k * mr */
    /* Where the table says strided, for n <= nr and not wide, a need not be packed: element k of
       row r of a panel at r * a_row + k * a_col, and nothing past row m is read. a_row 0: packed,
       which is 1 and mr. */
    size_t a_row, a_col;
    const float *b; /* [k, n], row stride ldb */
    size_t ldb;
    const float *next; /* [k, n], row stride ldb, of what a later job reads as b, to be brought into
                          the cache; NULL: none */
    float *c;          /* [m, n], row stride ldc */
    size_t ldc;
    const float *bias_row; /* [m] */
    const float *bias_col; /* [n] */
    const float *residual; /* [m, n], row stride ldc */
    uint32_t m, n, k;      /* n <= nr_max; wide: mr <= m <= mr_wide, n <= nr_wide */
    bool wide;             /* b has nr_wide columns, those past n are not used */
    bool resume;           /* c holds the sum over earlier k: go on from it */
    bool finish; /* this is the last k: add bias and residual, activate. Variants begin with bias
                    of columns and residual where !resume: all jobs over k have them */
    struct dense_act act;
};

/* One group of one image of a convolution. Spatial rank 1 is h = oh = kh = 1. */
struct conv_geom {
    uint32_t c, h, w;   /* input channels of the group */
    uint32_t o, oh, ow; /* output channels of the group */
    uint32_t kh, kw;
    uint32_t stride_h, stride_w, dil_h, dil_w;
    uint32_t pad_top, pad_left;
};

/* Taps lie in every so many-th phase of the stride alone: the largest common divisor of stride and
 * dilation. */
static inline uint32_t conv_phase_step(uint32_t stride, uint32_t taps, uint32_t dilation)
{
    uint32_t rest = taps > 1 ? dilation : 0, step = stride;
    while (rest != 0) {
        const uint32_t next = step % rest;
        step = rest, rest = next;
    }
    return step;
}

/* b[k - k0][j] for k0 <= k < k1, j < n: the input under tap k of output pixel p0 + j, 0 outside the
 * image. k = (ky * KW + kx) * C + channel. Columns n .. ldb-1 are unspecified afterwards. */
struct im2col_f32_job {
    const struct conv_geom *g;
    const float *x; /* [C, H, W], channels `plane` floats apart */
    float *b;       /* row stride ldb, at least n rounded up to DENSE_PANEL_ALIGN */
    size_t plane, ldb;
    size_t p0;
    uint32_t n;
    uint32_t k0, k1;
};

/* `rows` output rows of a convolution, from a copy of the input rows under them that holds the
 * padding as zeros and has pixels of an output row side by side under each tap. Pixel ox of row r
 * under tap t of channel c is
 *
 *     b[c * plane + r * b_row + tap[t] + ox]
 *
 * LANES of a vector are read at once: up to DENSE_PANEL_ALIGN - 1 floats past the last pixel are
 * read, too, and ignored. k = t * channels + c. */
struct conv_rows_f32_job {
    const float *a; /* packed panels [ceil(m/mr)][a_step / mr][mr] */
    size_t a_step;
    const float *b;
    size_t plane, b_row;
    const size_t *tap; /* [taps] */
    uint32_t taps, channels;
    float *y; /* [m] output planes ldy apart, of each the rows [rows, ow] */
    size_t ldy;
    const float *bias;     /* [m] */
    const float *residual; /* as y, and nowhere in it */
    uint32_t m, rows, ow;
    struct dense_act act;
};

/* Direct convolution of one group of one image, output channels [o0, o1). */
struct conv_f32_job {
    const struct conv_geom *g;
    const float *x;        /* [C, H, W] */
    const float *w;        /* [O, C, KH, KW] */
    float *y;              /* [O, OH, OW] */
    const float *bias;     /* [O] */
    const float *residual; /* as y */
    uint32_t o0, o1;
    struct dense_act act;
};

#define DENSE_MAX_NR 64u
#define NEON_MR (UINTPTR_MAX > 0xffffffffu ? 8 : 4) /* 32 registers, or 16 */
#define DENSE_PANEL_ALIGN 16u

/* `planes` output channels of a depthwise convolution (g->c == 1) that depthwise_fits(): a copy of
 * what lies under a row of outputs, a vector of them at least, fits DEPTHWISE_FLOATS. */
#define DEPTHWISE_MAX_TAPS 512u
#define DEPTHWISE_FLOATS 8192u
#define DEPTHWISE_SUMS (DEPTHWISE_FLOATS / 2)
struct depthwise_f32_job {
    const struct conv_geom *g;
    const float *x;        /* [planes][H, W], or one plane for all when x_step is 0 */
    size_t x_step;         /* floats from one plane of x to the next */
    const float *w;        /* [planes][KH, KW] */
    float *y;              /* [planes][OH, OW] */
    size_t y_step;         /* floats from one plane of y, and of residual, to the next */
    const float *bias;     /* [planes] */
    const float *residual; /* as y, and nowhere in it */
    uint32_t planes;
    struct dense_act act;
};

static inline bool depthwise_fits(const struct conv_geom *g)
{
    const uint64_t row = (uint64_t)(g->kw - 1) * g->dil_w / g->stride_w + DENSE_PANEL_ALIGN;
    const uint64_t rows = (uint64_t)(g->kh - 1) * g->dil_h / g->stride_h + 1;
    const uint64_t phases = (uint64_t)g->stride_h * g->stride_w;
    return (uint64_t)g->kh * g->kw <= DEPTHWISE_MAX_TAPS && row <= DEPTHWISE_SUMS / 2 &&
           rows <= DEPTHWISE_FLOATS && phases <= DEPTHWISE_FLOATS &&
           phases * (rows * row + DENSE_PANEL_ALIGN) <= DEPTHWISE_FLOATS;
}

/* y[r] = act(w[r] . x + bias[r] + residual[r]), r < rows. */
struct gemv_f32_job {
    const float *w; /* [rows, k], row stride ldw */
    size_t ldw;
    const float *x; /* [k] */
    float *y;
    const float *bias;
    const float *residual;
    uint32_t rows, k;
    struct dense_act act;
};

/* Maximum, or sum, of each window of `planes` planes; taps outside the image, and NaNs under a
 * maximum, count for nothing: a window without any tap gives -inf, or 0. A window is at most
 * POOL_COLUMNS wide, dilation included. Columns are summed first, from the top and from 0, then
 * their sums from the left. A window may take the rows of several planes, one plane after the
 * other. Bit-equal at every level but for the sign of a maximum that is 0. */
#define POOL_COLUMNS 256u
#define COLUMN_MAX_KW 16u
struct pool_f32_job {
    const struct conv_geom *g; /* c, o: not used */
    const float *x;            /* [planes][depth][H, W] */
    float *y;                  /* [planes][OH, OW] */
    size_t planes;
    size_t plane_step, depth_step; /* floats from one plane, or one of its depth, to the next */
    uint32_t depth;                /* > 0 */
    bool sum;
};

/* A 3x3 convolution of stride 1 by Winograd's F(2x2, 3x3): an output tile of 2x2 pixels comes from
 * the 4x4 of input under it. Both are transformed, and so are the weights, when they are packed:
 * each of the WINOGRAD_TERMS elements of a tile is then a product of matrices of its own, 16
 * multiplications for four pixels instead of 36.
 *
 * An error stays within that of sums of all 16 elements under a tile, whatever their tap: with P
 * the sum over channels of max |x| in the tile times sum |w|, |y - y_exact| <= 36 (C + 12) 2^-24 P.
 * A value that is not finite reaches all four pixels.
 *
 * winograd_in: v [WINOGRAD_TERMS][step] holds elements of input tiles (im2col_f32 of a kernel of
 * 4x4 and stride 2 makes them); the first n of each, up to a multiple of DENSE_PANEL_ALIGN, are
 * transformed where they lie. */
#define WINOGRAD_TERMS 16u
typedef void winograd_in_fn(float *v, size_t step, size_t n);

/* Sums of `rows` output channels, n tiles from tile t0 on (tiles in order, `across` to a row of
 * them), into pixels. */
struct winograd_out_job {
    const float *m; /* [WINOGRAD_TERMS], `step` apart: [rows][ldm], ldm: n up to a multiple of
                       DENSE_PANEL_ALIGN at least */
    size_t step, ldm;
    float *y; /* [rows] output planes ldy apart */
    size_t ldy;
    const float *residual; /* as y */
    const float *bias;     /* [rows] or NULL */
    uint32_t rows, t0, n, across, oh, ow;
    struct dense_act act;
};
typedef void winograd_out_fn(const struct winograd_out_job *job);

/* The same by F(4x4, 3x3): tiles of 4x4 pixels from the 6x6 of input under them, 36 multiplications
 * for 16 pixels instead of 144, and |y - y_exact| <= 205 (C + 20) 2^-24 P.
 *
 * winograd4_in reads the image x [channels][h, w] and puts the tiles from t0 on, n of them, to v
 * [WINOGRAD4_TERMS], `step` apart: element t of channel c and tile t0 + j to v[t * step + c * ldv
 * + j]. Up to a multiple of DENSE_PANEL_ALIGN, what lies behind a row's n tiles is overwritten.
 * winograd4_out takes sums as winograd_out does. */
#define WINOGRAD4_TERMS 36u
struct winograd4_in_job {
    const float *x;
    float *v;
    size_t step, ldv;
    uint32_t channels, h, w, pad_top, pad_left, t0, n, across;
};
typedef void winograd4_in_fn(const struct winograd4_in_job *job);

typedef void gemm_f32_fn(const struct gemm_f32_job *job);
typedef void im2col_f32_fn(const struct im2col_f32_job *job);
/* to[i] = from[2 * i] for i < n: what lies under one tap of stride 2. from[2 * n - 2] is the last
 * that is read. */
typedef void even_f32_fn(float *to, const float *from, size_t n);
typedef void conv_rows_f32_fn(const struct conv_rows_f32_job *job);
typedef void conv_f32_fn(const struct conv_f32_job *job);
typedef void depthwise_f32_fn(const struct depthwise_f32_job *job);
typedef void gemv_f32_fn(const struct gemv_f32_job *job);
typedef void pool_f32_fn(const struct pool_f32_job *job);
/* Packs the rows of w [rows, k] (element (r, i) at w[r * ld + i * step]) into panels of mr rows:
 * panel p at dst + p * panel_step, its element (r, i) at i * mr + r; rows past the last are 0. */
struct pack_rows_job {
    const float *w;
    float *dst;
    size_t ld, step, rows, k;
    uint32_t mr;
    size_t panel_step;
};
typedef void pack_rows_f32_fn(const struct pack_rows_job *job);

struct dense_kernels {
    uint32_t mr, nr; /* tile of gemm_f32; 0: no packed kernels here */
    uint32_t nr_max; /* widest tile, <= DENSE_MAX_NR: nr, or nr + 1 where one more column is almost
                        free (7 x 7 pixels are 49) */
    uint32_t mr_wide, nr_wide; /* the tile of wide jobs: up to two rows more than mr, which so read
                                  b once, and fewer columns; 0: there are none */
    uint32_t lanes;            /* pixels of one row that conv_rows_f32 takes at once */
    bool strided;              /* gemm_f32 takes an a that is not packed */
    gemm_f32_fn *gemm_f32;     /* NULL where mr is 0, as conv_rows_f32 */
    im2col_f32_fn *im2col_f32;
    even_f32_fn *even_f32;
    conv_rows_f32_fn *conv_rows_f32;
    conv_f32_fn *conv_f32;
    depthwise_f32_fn *depthwise_f32;
    gemv_f32_fn *gemv_f32;
    pool_f32_fn *pool_f32; /* NULL: none at this level */
    pack_rows_f32_fn *pack_rows_f32;
    winograd_in_fn *winograd_in; /* NULL: none, and no winograd_out either */
    winograd_out_fn *winograd_out;
    winograd4_in_fn *winograd4_in; /* as winograd_in */
    winograd_out_fn *winograd4_out;
};

/* Processors with packed kernels, if only ordered ones (kernel_ordered.h): elsewhere what is
 * made of them is left out. */
#if defined(__x86_64__) || NEON_BUILT
#define IF_DENSE_TILES(...) __VA_ARGS__
#else
#define IF_DENSE_TILES(...)
#endif

/* What has the reference's bits: vectors of Armv7 take denormal floats for 0. */
#ifdef __arm__
#define IF_DENORMALS(...)
#else
#define IF_DENORMALS(...) __VA_ARGS__
#endif

/* features: as pith_kernels_fill. */
void pith_dense_kernels_fill(struct dense_kernels *k, uint32_t features);

/* As gemm_f32, for panels of any mr: what tests hold the others against. */
void pith_gemm_f32(const struct gemm_f32_job *job, uint32_t mr);

/* The list: kernel_list.h. */
#define DENSE_KERNELS_ANY(KERNEL)                                                                  \
    KERNEL(im2col_f32, im2col_f32_fn, pith_im2col_f32, 0)                                          \
    KERNEL(even_f32, even_f32_fn, pith_even_f32, 0)                                                \
    KERNEL(conv_f32, conv_f32_fn, pith_conv_f32, 0)                                                \
    KERNEL(depthwise_f32, depthwise_f32_fn, pith_depthwise_f32, 0)                                 \
    KERNEL(gemv_f32, gemv_f32_fn, pith_gemv_f32, 0)                                                \
    KERNEL(pack_rows_f32, pack_rows_f32_fn, pith_pack_rows_f32, 0)
#ifdef __x86_64__
#define DENSE_KERNELS_OWN(KERNEL)                                                                  \
    KERNEL(gemm_f32, gemm_f32_fn, pith_gemm_f32_avx2, PITH_CPU_AVX2)                               \
    KERNEL(im2col_f32, im2col_f32_fn, pith_im2col_f32_avx2, PITH_CPU_AVX2)                         \
    KERNEL(even_f32, even_f32_fn, pith_even_f32_avx2, PITH_CPU_AVX2)                               \
    KERNEL(conv_rows_f32, conv_rows_f32_fn, pith_conv_rows_f32_avx2, PITH_CPU_AVX2)                \
    KERNEL(depthwise_f32, depthwise_f32_fn, pith_depthwise_f32_avx2, PITH_CPU_AVX2)                \
    KERNEL(gemv_f32, gemv_f32_fn, pith_gemv_f32_avx2, PITH_CPU_AVX2)                               \
    KERNEL(winograd_in, winograd_in_fn, pith_winograd_in_avx2, PITH_CPU_AVX2)                      \
    KERNEL(winograd_out, winograd_out_fn, pith_winograd_out_avx2, PITH_CPU_AVX2)                   \
    KERNEL(winograd4_in, winograd4_in_fn, pith_winograd4_in_avx2, PITH_CPU_AVX2)                   \
    KERNEL(winograd4_out, winograd_out_fn, pith_winograd4_out_avx2, PITH_CPU_AVX2)                 \
    KERNEL(pool_f32, pool_f32_fn, pith_pool_f32_avx2, PITH_CPU_AVX2)                               \
    KERNEL(pack_rows_f32, pack_rows_f32_fn, pith_pack_rows_f32_avx2, PITH_CPU_AVX2)                \
    KERNEL(gemm_f32, gemm_f32_fn, pith_gemm_f32_avx512, PITH_CPU_AVX512)                           \
    KERNEL(im2col_f32, im2col_f32_fn, pith_im2col_f32_avx512, PITH_CPU_AVX512)                     \
    KERNEL(even_f32, even_f32_fn, pith_even_f32_avx512, PITH_CPU_AVX512)                           \
    KERNEL(conv_rows_f32, conv_rows_f32_fn, pith_conv_rows_f32_avx512, PITH_CPU_AVX512)            \
    KERNEL(depthwise_f32, depthwise_f32_fn, pith_depthwise_f32_avx512, PITH_CPU_AVX512)            \
    KERNEL(gemv_f32, gemv_f32_fn, pith_gemv_f32_avx512, PITH_CPU_AVX512)                           \
    KERNEL(winograd_in, winograd_in_fn, pith_winograd_in_avx512, PITH_CPU_AVX512)                  \
    KERNEL(winograd_out, winograd_out_fn, pith_winograd_out_avx512, PITH_CPU_AVX512)               \
    KERNEL(winograd4_in, winograd4_in_fn, pith_winograd4_in_avx512, PITH_CPU_AVX512)               \
    KERNEL(winograd4_out, winograd_out_fn, pith_winograd4_out_avx512, PITH_CPU_AVX512)             \
    KERNEL(pool_f32, pool_f32_fn, pith_pool_f32_avx512, PITH_CPU_AVX512)
#elif NEON_BUILT
#define DENSE_KERNELS_OWN(KERNEL)                                                                  \
    KERNEL(gemm_f32, gemm_f32_fn, pith_gemm_f32_neon, PITH_CPU_NEON)                               \
    KERNEL(im2col_f32, im2col_f32_fn, pith_im2col_f32_neon, PITH_CPU_NEON)                         \
    KERNEL(even_f32, even_f32_fn, pith_even_f32_neon, PITH_CPU_NEON)                               \
    KERNEL(conv_rows_f32, conv_rows_f32_fn, pith_conv_rows_f32_neon, PITH_CPU_NEON)                \
    KERNEL(depthwise_f32, depthwise_f32_fn, pith_depthwise_f32_neon, PITH_CPU_NEON)                \
    KERNEL(gemv_f32, gemv_f32_fn, pith_gemv_f32_neon, PITH_CPU_NEON)                               \
    KERNEL(winograd_in, winograd_in_fn, pith_winograd_in_neon, PITH_CPU_NEON)                      \
    KERNEL(winograd_out, winograd_out_fn, pith_winograd_out_neon, PITH_CPU_NEON)                   \
    KERNEL(winograd4_in, winograd4_in_fn, pith_winograd4_in_neon, PITH_CPU_NEON)                   \
    KERNEL(winograd4_out, winograd_out_fn, pith_winograd4_out_neon, PITH_CPU_NEON)                 \
    IF_DENORMALS(KERNEL(pool_f32, pool_f32_fn, pith_pool_f32_neon, PITH_CPU_NEON))                 \
    KERNEL(pack_rows_f32, pack_rows_f32_fn, pith_pack_rows_f32_neon, PITH_CPU_NEON)
#else
#define DENSE_KERNELS_OWN(KERNEL)
#endif
#define DENSE_KERNELS(KERNEL) DENSE_KERNELS_ANY(KERNEL) DENSE_KERNELS_OWN(KERNEL)

DENSE_KERNELS(KERNEL_DECLARE)

#endif
