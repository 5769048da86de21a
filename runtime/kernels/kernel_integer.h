/* SPDX-License-Identifier: MIT */
/* kernel_integer.h - products of integers of 8 bits, and of 16: what integer convolutions and
 * matrix products are made of. Their rules stand in docs/arithmetic.md; every level gives the same
 * bits.
 *
 * Values lie channels-last, pixel by pixel: a 1x1 convolution is then a matrix product of the
 * tensor where it lies, and K inputs under a window are few runs of neighbours ("segments"):
 *
 *     acc[i, o] = offset[o] + sum over segments s, k of x[i][segment[s] + k] * w[o][s, k]
 *     y[i, o]   = saturate(round to even((f32)acc * factor[o]) + zero point)         or acc itself
 *
 * x is u8; what is i8 in the network is shifted by 128 where it is copied. The zero point z of x is
 * part of the offset: sum (x - z) w = sum x w - z sum w, modulo 2^32 as the operator adds. Padding
 * is copied in as z.
 *
 * Constant weights are packed once into panels of `nr` outputs (o from n on: 0). A segment takes
 * `steps` steps of `k_step` neighbours, its tail filled with weights of 0:
 *
 *     panel p: | segment 0, step 0: nr x k_step weights | step 1 | ... | segment 1 ...
 *
 * wide: x and w are widened to i16, for machines that multiply and add pairs of those. u8 x s8 is
 * at most 2^15, a pair at most 2^16: nothing saturates, as it would where pairs of u8 x s8 are
 * added in 16 bits. Else x is u8 and w is i8, and a step is summed in 32 bits at once.
 *
 * middle: what is summed is (x - middle) * w, for machines that multiply i8 by i8 alone (128), and
 * the offset is larger by middle * sum w.
 *
 * gemm_grid is for machines that take rows of x which lie equally far apart. Pixels then lie on a
 * grid, `row` of them in each `pitch` places, and x has one pointer:
 *
 *     pixel i: x[0] + (i / row * pitch + i % row) * x_step
 *
 * Places between the first pixel and the last that are none are readable as pixels are.
 *
 * A sparse matrix is packed in slots: panels of SLOTS_NR outputs (struct slots_panel), whose groups
 * have up to four nonzeros of each output from SLOTS_STEP neighbouring columns. The outputs of a
 * panel advance over the columns side by side: a group begins at the lane of SLOTS_LANE columns
 * where the output that is last has its next nonzero, or where the group before begins, if that
 * leaves hardly more slots empty. What finds no room is kept apart. With 9 % nonzeros that are
 * strewn evenly 84 % of the slots are full, with 4 % 69 %; with at most k in every 128 columns of a
 * row (prune's balanced:k/128), k a multiple of four, all of them. Weights of at most 16 values may
 * be halved: a byte of the first of two groups has numbers in a table of those, of both. There is
 * one segment of `steps` times SLOTS_STEP columns then, and no group reaches beyond it.
 *
 * Machines whose permutations stay within 16 bytes take slots in spans instead: the columns of a
 * group are from 1 to SLOTS_LANES neighbouring lanes, and cost as much as there are lanes. No
 * weight in a slot is -128, and none is halved. Machines that multiply i8 by i8 alone take (x -
 * SLOTS_MIDDLE) * w, as above.
 *
 * Products of 16 bits take x and w as i16, in panels of words_nr outputs (WORDS_NR where sums have
 * 64 bits) and steps of WORDS_STEP neighbours, and leave the sums; those of 64 bits with offsets of
 * 64.
 *
 * Winograd's F(4x4, 3x3), of 3x3 convolutions that move by one pixel: 36 products make 16 pixels,
 * where 144 would. With d the 6x6 pixels under a tile, g a filter,
 *
 *     y = A^T (G g G^T * B^T d B) A / WINOGRAD_I8_SCALE      (* element by element)
 *
 * in integers: G's fractions are taken out of it, and what that makes y too large by divides every
 * sum. d is i8, so B^T d B is at most 12,800 in size, and G g G^T 18,432: both fit i16. Sums are
 * modulo 2^32 of 576 y: times the inverse of 9 they are 64 y, exactly, where |y| < 2^25.
 *
 * Depthwise products take `block` channels of all taps at a time; the last block ends at the last
 * channel, so it may overlap the one before. Weights, offsets and factors of a block are ordered as
 * the vectors of the kernel are (depthwise_place), taps in groups of `group`:
 *
 *     block b: | taps 0 .. group-1 of channel 0, channel 1 ... | taps group .. | ...
 *
 * Nothing outside of what is described is read or written; no alignment is required but that of the
 * element types. Outputs overlap nothing. */
#ifndef PITH_KERNEL_INTEGER_H
#define PITH_KERNEL_INTEGER_H

#include <stdbool.h>
#include "core/build_choice.h"
#include "core/bytes.h"
#include "kernels/kernel_list.h"
#include "pith_types.h"

/* How sums become values. factor NULL: y is the sums, i32. */
struct requantize {
    const int32_t *offset; /* [n rounded up to nr], or [blocks * block] */
    const float *factor;   /* the same */
    int32_t zero_point;
    bool is_signed; /* y is i8, else u8 */
};

/* An i8 y is the u8 of a zero point 128 higher with its highest bit turned. */
static inline int32_t unsigned_zero(const struct requantize *to)
{
    return to->zero_point + (to->is_signed ? 128 : 0);
}

static inline uint8_t sign_flip(const struct requantize *to)
{
    return to->is_signed ? 0x80 : 0;
}

#define WORDS_NR 8u
#define WORDS_STEP 2u

/* Elsewhere no kernel takes them, and all that makes them is left out. */
#if defined(__x86_64__) || defined(__aarch64__)
#define SLOTS_BUILT 1
#else
#define SLOTS_BUILT 0
#endif
#ifdef __aarch64__
#define IF_AARCH64(...) __VA_ARGS__
#else
#define IF_AARCH64(...)
#endif
/* Machines of 32 bits without vectors compute with weights as they are
 * (products/integer_direct.h). */
#define PACKED_BUILT (UINTPTR_MAX > 0xffffffffu || NEON_BUILT)
/* x86 alone has kernels of Winograd's and of grids. */
#ifdef __x86_64__
#define WINOGRAD_I8_BUILT 1
#define GRID_BUILT 1
#else
#define WINOGRAD_I8_BUILT 0
#define GRID_BUILT 0
#endif
#define WINOGRAD_I8_TERMS 36u
#define WINOGRAD_I8_ALIGN 32u           /* channels, and outputs, of an element are so many times */
#define WINOGRAD_I8_INVERSE 0x38e38e39u /* of 9, modulo 2^32 */
#define WINOGRAD_I8_SHIFT 6
#define WINOGRAD_I8_SCALE 576u
#define SLOTS_NR 16u
#define SLOTS_LANE 16u
#define SLOTS_LANES 8u
#define SLOTS_STEP 128u       /* columns: SLOTS_LANES lanes */
#define SLOTS_BYTES 128u      /* of a group */
#define SLOTS_PAIR_BYTES 192u /* of two with halved weights */
#define SLOTS_MOST_STEP 255u  /* lanes from one group to the next */
#define SLOTS_MIDDLE 128u

/* A nonzero kept apart. */
struct slots_more {
    uint16_t column;
    uint8_t output; /* of the panel */
    int8_t weight;
};

/* Panels stand one behind the other; what they name lies so many bytes from their own first byte.
 * At `at`, 64-byte aligned, stand the groups, each the columns u8[SLOTS_NR][4], counted from the
 * group's first one, then the weights i8[SLOTS_NR][4] (an empty slot: column 0, weight 0). The
 * highest bits of the first eight bytes of columns are no columns, but the number of lanes by which
 * the group begins behind the one before, the first one behind column 0:
 *
 *     byte 0 .. 63     bit 7: lanes (bytes 0 to 7), bits 6 .. 0: column
 *                      of output 0: slot 0, 1, 2, 3, of output 1 ...
 *     byte 64 .. 127   weights in the same order
 *
 * Halved, two groups stand side by side, and a byte has the numbers of two weights; behind an odd
 * last group stands an empty one:
 *
 *     byte 0 .. 63     bits 3 .. 0: numbers of the even group's weights, 7 .. 4: of the odd one's
 *     byte 64 .. 127   columns of the even group, byte 128 .. 191 of the odd one
 */
struct slots_panel {
    uint32_t at, groups, more, n_more;
};

/* Slots in spans: at `at` stand struct spans, with the first lane of each group, and from the next
 * multiple of 64 on the groups, whose highest bits of columns are 0. Groups of few lanes stand
 * first. */
struct spans {
    uint16_t groups[SLOTS_LANES]; /* of 1, 2 ... lanes */
    uint16_t lane[];
};

static inline const struct slots_panel *slots_panel(const uint8_t *w, uint32_t panel)
{
    return (const struct slots_panel *)(const void *)w + panel;
}

static inline const uint8_t *slots_of(const struct slots_panel *p)
{
    return (const uint8_t *)p + p->at;
}

/* Bytes of so many groups. */
static inline uint64_t slots_groups_bytes(uint64_t groups, bool halved)
{
    return halved ? (groups + 1) / 2 * SLOTS_PAIR_BYTES : groups * SLOTS_BYTES;
}

/* The bits that the number of lanes is made of, in the first eight bytes of a group. */
#define SLOTS_ADVANCE UINT64_C(0x8080808080808080)

/* The columns by which the group at `group` begins behind the one before. The product brings bit 0
 * of byte i to bit 56 + i. */
static inline uint32_t slots_advance(const uint8_t *group)
{
    const uint64_t bits = (load_le64(group) & SLOTS_ADVANCE) >> 7;
    return (uint32_t)(bits * UINT64_C(0x0102040810204080) >> 56) * SLOTS_LANE;
}

static inline const struct spans *slots_spans(const struct slots_panel *p)
{
    return (const struct spans *)(const void *)slots_of(p);
}

/* Bytes of struct spans with so many groups. */
static inline uint64_t spans_bytes(uint64_t groups)
{
    return (sizeof(struct spans) + groups * sizeof(uint16_t) + 63) / 64 * 64;
}

static inline const struct slots_more *slots_more(const struct slots_panel *p)
{
    return (const struct slots_more *)(const void *)((const uint8_t *)p + p->more);
}

/* sum[SLOTS_NR]: offsets of a panel's outputs from `first` on, with what row x has outside of the
 * slots, added one by one; of x - middle. */
static inline void slots_outside(const struct slots_panel *p, const int32_t *offset,
                                 const uint8_t *x, int32_t middle, uint32_t *sum)
{
    const struct slots_more *more = slots_more(p);
    memcpy(sum, offset, SLOTS_NR * sizeof *sum);
    for (uint32_t i = 0; i < p->n_more; i++)
        sum[more[i].output] += (uint32_t)((x[more[i].column] - middle) * more[i].weight);
}

struct gemm_i8_job {
    const uint8_t *const *x; /* [m] */
    const uint32_t *less;    /* [m], taken off a pixel's sums; NULL: nothing. Of gemm_i8 alone */
    const uint32_t *segment; /* [segments] in bytes; each is readable for steps * k_step elements */
    uint32_t segments, steps;
    const uint8_t *w;    /* packed panels */
    size_t panel_bytes;  /* from one to the next */
    const int8_t *table; /* [16], of halved slots; the first is 0 */
    bool halved;         /* of slots */
    bool fetches;        /* the same: weights ahead of those that are multiplied */
    struct requantize to;
    uint8_t *y;
    size_t y_step; /* bytes from y[i] to y[i + 1] */
    uint32_t m, n; /* > 0 */
    /* of gemm_grid; row <= pitch */
    size_t x_step;
    uint32_t row, pitch;
};

/* One tile: B^T d B. Pixel (i, j), channel c of d: the i8 of x[i * row + j * pixel + c] ^ flip. */
struct winograd_i8_in {
    const uint8_t *x;
    size_t row, pixel; /* bytes */
    uint32_t channels;
    uint8_t flip;
    int16_t *v;  /* [36], `step` apart: channels, rounded up to WINOGRAD_I8_ALIGN */
    size_t step; /* elements */
};

/* One tile: its sums become values of `rows` by `columns` pixels. */
struct winograd_i8_out {
    const int32_t *m; /* [36], `step` apart: outputs, readable up to WINOGRAD_I8_ALIGN */
    size_t step;
    struct requantize to; /* with factors; arrays are readable as m */
    uint8_t *y;           /* output o of pixel (i, j): y[i * y_row + j * y_pixel + o] */
    size_t y_row, y_pixel;
    uint32_t rows, columns; /* 1 to 4 */
    uint32_t outputs;
};

/* Pixel i, tap t, channel c: x[i * x_step + tap[t] + c]. */
struct depthwise_i8_job {
    const uint8_t *x;
    size_t x_step;       /* bytes */
    const uint32_t *tap; /* [groups * group] in bytes; behind the last tap any readable one */
    uint32_t groups;
    const uint8_t *w;
    struct requantize to;
    uint8_t *y;
    size_t y_step;        /* bytes */
    uint32_t m, channels; /* > 0 */
    /* The groups are three columns of 3 x 3 taps (depthwise_tap), each a pixel beside the one
     * before, and pixels of y stand as close: a column of one is the next column of another. */
    bool columns;
};

/* Bytes and the real numbers they stand for, as QuantizeLinear and DequantizeLinear have it. i8 is
 * looked at as u8: flip turns its highest bit, zero is that of the u8.
 *
 *     real = (float)((x ^ flip) - zero) * scale       x = quantized(real / scale) */
struct byte_grid {
    float scale;
    int32_t zero;
    uint8_t flip;
};

static inline struct byte_grid byte_grid_of(bool is_signed, float scale, int32_t zero_point)
{
    return (struct byte_grid){scale, zero_point + (is_signed ? 128 : 0), is_signed ? 0x80 : 0};
}

struct combine_bytes {
    struct byte_grid a, b, y;
    bool multiply; /* else the sum */
    bool relu;     /* of it */
};

/* The mean of each channel over the pixels, which lie step bytes apart; its sum in the order of
 * sum_f32.h. */
struct mean_bytes {
    const uint8_t *x;
    size_t pixels, step;
    struct byte_grid from, to;
};

/* Windows of a row of a pool's output. Byte c of window i is the largest of
 * x[i * step + r * row + k * column + c] over all rows r and columns k: byte i * n + c of y. */
struct largest_bytes {
    const uint8_t *x;
    size_t row, column, step;      /* bytes */
    size_t rows, columns, windows; /* > 0 */
    uint8_t flip;
};

/* Bytes of several rows side by side, as folded places have them:
 *
 *     y[(i * rows + r) * element + b] = x[r][at + i * element + b] ^ flip
 *
 * and zero where x[r] is NULL or has no such column. */
struct interleave {
    const uint8_t *const *x; /* [rows], column 0 */
    uint32_t rows, element;  /* 2 to INTERLEAVE_ROWS; 1, 2, 4, 8 or 16 */
    int64_t at;
    size_t width;
    uint8_t flip, zero;
};

#define INTERLEAVE_ROWS 16u

/* `rows` rows of n bytes: from one to the next `step` bytes in a and y, b_step in b. */
struct combined_rows {
    const uint8_t *a, *b;
    uint8_t *y;
    size_t n, rows, step, b_step;
};

/* Rows of n bytes; y may be an input, but not of the largest. */
typedef void combine_bytes_fn(const struct combine_bytes *c, const struct combined_rows *r);
/* The same with real numbers b; what c says of its bytes is not read. */
typedef void combine_reals_fn(const struct combine_bytes *c, const uint8_t *a, const float *b,
                              uint8_t *y, size_t n);
typedef void quantize_bytes_fn(const struct byte_grid *g, const float *x, uint8_t *y, size_t n);
typedef void dequantize_bytes_fn(const struct byte_grid *g, const uint8_t *x, float *y, size_t n);
typedef void largest_bytes_fn(const struct largest_bytes *l, uint8_t *y, size_t n);
typedef void interleave_fn(const struct interleave *job, uint8_t *y, size_t n); /* n places */
typedef void mean_bytes_fn(const struct mean_bytes *m, uint8_t *y, size_t n);
typedef void look_up_bytes_fn(const uint8_t table[256], const uint8_t *x, uint8_t *y, size_t n);
/* Where n sums, i32, stand in y, real numbers do afterwards: (f32)sum * factor. y is aligned to
 * nothing, as its bytes are those of a tensor of either type. */
typedef void real_sums_fn(const float *factor, uint8_t *y, size_t n);

struct byte_rows {
    combine_bytes_fn *combine;
    combine_reals_fn *combine_reals;
    quantize_bytes_fn *quantize;
    dequantize_bytes_fn *dequantize;
    largest_bytes_fn *largest;
    interleave_fn *interleave; /* of grids; NULL: there are none */
    mean_bytes_fn *mean;
    look_up_bytes_fn *look_up;
    real_sums_fn *real_sums;
};

typedef void gemm_i8_fn(const struct gemm_i8_job *job);
typedef void depthwise_i8_fn(const struct depthwise_i8_job *job);
typedef void winograd_i8_in_fn(const struct winograd_i8_in *job);
typedef void winograd_i8_out_fn(const struct winograd_i8_out *job);

struct integer_kernels {
    uint32_t nr, k_step, block, group;
    uint8_t middle;
    bool wide; /* weights of both, and x of gemm_i8; depthwise_i8 reads u8 */
    gemm_i8_fn *gemm_i8;
    gemm_i8_fn *gemm_grid;  /* of gemm_i8's panels; NULL: there is none */
    gemm_i8_fn *gemm_slots; /* NULL: none */
    bool slots_in_spans;    /* else they may be halved */
    uint8_t slots_middle;   /* 0 or SLOTS_MIDDLE */
    uint32_t slots_rows;    /* of x, up to which it may be faster than gemm_i8 */
    bool slots_fetch;       /* whether gemm_slots is to fetch weights ahead */
    uint32_t tile_rows; /* of x that gemm_grid takes in the time of one, several times as fast; 0 */
    depthwise_i8_fn *depthwise_i8;
    uint32_t words_nr;              /* of gemm_i16[0] */
    gemm_i8_fn *gemm_i16[2];        /* sums of 32, of 64 bits; NULL: none */
    winograd_i8_in_fn *winograd_in; /* these two with gemm_i16[0]; NULL: none */
    winograd_i8_out_fn *winograd_out;
    struct byte_rows bytes;
};

/* The tap of a window kh x kw at place j of its groups; kh * kw: none. Row by row, but 3 x 3 in
 * groups of four by columns, with the fourth place empty: there are three groups either way. */
static inline uint32_t depthwise_tap(uint32_t group, uint32_t kh, uint32_t kw, uint32_t j)
{
    if (group != 4 || kh != 3 || kw != 3)
        return j < kh * kw ? j : kh * kw;
    return j % 4 < 3 ? j % 4 * kw + j / 4 : kh * kw;
}

/* The channel, in its block, of which a kernel keeps offset, factor and weights at place i. Blocks
 * of 32 are what interleaving bytes within 16-byte lanes leaves behind. */
static inline uint32_t depthwise_channel(uint32_t block, uint32_t i)
{
    return block == 32 ? i / 4 % 2 * 16 + i / 8 * 4 + i % 4 : i;
}

static inline uint32_t depthwise_blocks(uint32_t block, uint32_t channels)
{
    return (channels + block - 1) / block;
}

/* First channel of block b. */
static inline uint32_t depthwise_begin(uint32_t block, uint32_t channels, uint32_t b)
{
    uint32_t at = b * block;
    return at + block <= channels ? at : channels > block ? channels - block : 0;
}

/* The channel at place i of block b, for which offset, factor and weights are kept there. Behind
 * the last of few channels they begin anew, so a kernel may take several pixels at once. */
static inline uint32_t depthwise_place(uint32_t block, uint32_t channels, uint32_t b, uint32_t i)
{
    uint32_t c = depthwise_begin(block, channels, b) + depthwise_channel(block, i);
    return channels < block ? c % channels : c;
}

/* features: as pith_kernels_fill. */
void pith_integer_kernels_fill(struct integer_kernels *k, uint32_t features);

/* The list: kernel_list.h. What panels a level takes stands in kernels_integer.c. */
#define BYTE_LEVEL(KERNEL, suffix, needs)                                                          \
    KERNEL(bytes.combine, combine_bytes_fn, pith_combine_bytes##suffix, needs)                     \
    KERNEL(bytes.combine_reals, combine_reals_fn, pith_combine_reals##suffix, needs)               \
    KERNEL(bytes.quantize, quantize_bytes_fn, pith_quantize_bytes##suffix, needs)                  \
    KERNEL(bytes.dequantize, dequantize_bytes_fn, pith_dequantize_bytes##suffix, needs)            \
    KERNEL(bytes.largest, largest_bytes_fn, pith_largest_bytes##suffix, needs)                     \
    KERNEL(bytes.mean, mean_bytes_fn, pith_mean_bytes##suffix, needs)                              \
    KERNEL(bytes.look_up, look_up_bytes_fn, pith_look_up_bytes##suffix, needs)                     \
    KERNEL(bytes.real_sums, real_sums_fn, pith_real_sums##suffix, needs)

#define WINOGRAD_I8_LEVEL(KERNEL, suffix, needs)                                                   \
    KERNEL(winograd_in, winograd_i8_in_fn, pith_winograd_i8_in##suffix, needs)                     \
    KERNEL(winograd_out, winograd_i8_out_fn, pith_winograd_i8_out##suffix, needs)

#define INTEGER_KERNELS_ANY(KERNEL)                                                                \
    KERNEL(gemm_i8, gemm_i8_fn, pith_gemm_i8, 0)                                                   \
    KERNEL(depthwise_i8, depthwise_i8_fn, pith_depthwise_i8, 0)                                    \
    BYTE_LEVEL(KERNEL, , 0)
/* gemm_i16[0] of AVX2 is its gemm_i8, whose x and w are i16 anyway. */
#ifdef __x86_64__
#define INTEGER_KERNELS_OWN(KERNEL)                                                                \
    KERNEL(bytes.interleave, interleave_fn, pith_interleave, 0)                                    \
    KERNEL(gemm_i8, gemm_i8_fn, pith_gemm_i8_avx2, PITH_CPU_AVX2)                                  \
    KERNEL(depthwise_i8, depthwise_i8_fn, pith_depthwise_i8_avx2, PITH_CPU_AVX2)                   \
    KERNEL(gemm_i16[0], gemm_i8_fn, pith_gemm_i8_avx2, PITH_CPU_AVX2)                              \
    KERNEL(gemm_i16[1], gemm_i8_fn, pith_gemm_i16_avx2, PITH_CPU_AVX2)                             \
    KERNEL(gemm_slots, gemm_i8_fn, pith_gemm_slots_avx2, PITH_CPU_AVX2)                            \
    WINOGRAD_I8_LEVEL(KERNEL, _avx2, PITH_CPU_AVX2)                                                \
    KERNEL(gemm_i8, gemm_i8_fn, pith_gemm_i8_avxvnni, PITH_CPU_AVXVNNI)                            \
    KERNEL(depthwise_i8, depthwise_i8_fn, pith_depthwise_i8_avxvnni, PITH_CPU_AVXVNNI)             \
    KERNEL(gemm_i8, gemm_i8_fn, pith_gemm_i8_vnni, PITH_CPU_VNNI)                                  \
    KERNEL(gemm_grid, gemm_i8_fn, pith_gemm_grid_amx, PITH_CPU_AMX)                                \
    KERNEL(gemm_i16[0], gemm_i8_fn, pith_gemm_i16_vnni, PITH_CPU_VNNI)                             \
    WINOGRAD_I8_LEVEL(KERNEL, _avx512, PITH_CPU_AVX512)                                            \
    KERNEL(gemm_slots, gemm_i8_fn, pith_gemm_slots_vbmivnni, PITH_CPU_VBMI | PITH_CPU_VNNI)        \
    KERNEL(depthwise_i8, depthwise_i8_fn, pith_depthwise_i8_vnni, PITH_CPU_VNNI)                   \
    BYTE_LEVEL(KERNEL, _avx2, PITH_CPU_AVX2)                                                       \
    BYTE_LEVEL(KERNEL, _avx512, PITH_CPU_AVX512)                                                   \
    KERNEL(bytes.interleave, interleave_fn, pith_interleave_vbmi, PITH_CPU_VBMI)                   \
    KERNEL(bytes.look_up, look_up_bytes_fn, pith_look_up_bytes_vbmi, PITH_CPU_VBMI)
#elif NEON_BUILT
#define INTEGER_KERNELS_OWN(KERNEL)                                                                \
    KERNEL(gemm_i8, gemm_i8_fn, pith_gemm_i8_neon, PITH_CPU_NEON)                                  \
    KERNEL(depthwise_i8, depthwise_i8_fn, pith_depthwise_i8_neon, PITH_CPU_NEON)                   \
    KERNEL(gemm_i16[0], gemm_i8_fn, pith_gemm_i16_neon, PITH_CPU_NEON)                             \
    KERNEL(gemm_i16[1], gemm_i8_fn, pith_gemm_i16_long_neon, PITH_CPU_NEON)                        \
    IF_AARCH64(KERNEL(gemm_i8, gemm_i8_fn, pith_gemm_i8_dotprod, PITH_CPU_DOTPROD))                \
    IF_AARCH64(KERNEL(gemm_slots, gemm_i8_fn, pith_gemm_slots_dotprod, PITH_CPU_DOTPROD))          \
    IF_AARCH64(KERNEL(gemm_i8, gemm_i8_fn, pith_gemm_i8_i8mm, PITH_CPU_I8MM))                      \
    BYTE_LEVEL(KERNEL, _neon, PITH_CPU_NEON)
#else
#define INTEGER_KERNELS_OWN(KERNEL)
#endif
#define INTEGER_KERNELS(KERNEL) INTEGER_KERNELS_ANY(KERNEL) INTEGER_KERNELS_OWN(KERNEL)

INTEGER_KERNELS(KERNEL_DECLARE)

#endif
