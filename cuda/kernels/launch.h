/* SPDX-License-Identifier: MIT */
/* launch.h - what the kernels of *.cu are called with: one struct a kernel, read by the C code that
 * launches it and by the kernel. C and C++.
 *
 * Pointers are addresses on the device. Numbers of elements are below 2^31: what is larger stays on
 * the CPU (device_lower.h). Blocks have LAUNCH_THREADS threads, or what launch_block_of says, and a
 * kernel takes any number of them along x unless its struct says which. */
#ifndef LAUNCH_H
#define LAUNCH_H

#include <stdint.h>

#define LAUNCH_THREADS 256u
#define LAUNCH_MAX_AXES 8

/* How the floats of a value lie in memory; kernels compute with f32. A pointer without such a
 * number beside it is to f32. */
enum value_type { VALUE_F32, VALUE_F16, VALUE_BF16 };

/* Each kernel and its struct. Those of PROGRAM_KERNELS have a place in a program, too. */
#define PROGRAM_KERNELS(KERNEL)                                                                    \
    KERNEL(map_f32, map_args)                                                                      \
    KERNEL(zip, zip_args)                                                                          \
    KERNEL(chain, chain_args)                                                                      \
    KERNEL(batch_norm_f32, batch_norm_args)                                                        \
    KERNEL(strided_copy, copy_args)                                                                \
    KERNEL(pad, pad_args)                                                                          \
    KERNEL(gather_axis, gather_args)                                                               \
    KERNEL(softmax_rows, softmax_args)                                                             \
    KERNEL(reduce_rows, reduce_args)                                                               \
    KERNEL(reduce_columns, reduce_args)                                                            \
    KERNEL(pool, pool_args)                                                                        \
    KERNEL(gemm_f32, gemm_args)                                                                    \
    KERNEL(gemm_parts, gemm_args)                                                                  \
    KERNEL(gemv_f32, gemm_args)                                                                    \
    KERNEL(conv_f32, conv_args)                                                                    \
    KERNEL(conv_parts, conv_args)                                                                  \
    KERNEL(conv_direct_f32, conv_args)                                                             \
    KERNEL(recurrent_cell, cell_args)                                                              \
    KERNEL(gemv_codes_i8, gemv_i8_args)                                                            \
    KERNEL(quantize, quantize_args)                                                                \
    KERNEL(dequantize, quantize_args)                                                              \
    KERNEL(dynamic_grid, dynamic_args)                                                             \
    KERNEL(requantize, requantize_args)                                                            \
    KERNEL(spmv_relative, spmv_args)                                                               \
    KERNEL(gemv_half, gemm_half_args)
#define DEVICE_KERNELS(KERNEL)                                                                     \
    PROGRAM_KERNELS(KERNEL)                                                                        \
    KERNEL(compare, zip_args)                                                                      \
    KERNEL(where, where_args)                                                                      \
    KERNEL(cast, cast_args)                                                                        \
    KERNEL(arg_extreme, arg_args)                                                                  \
    KERNEL(softmax_long, softmax_args)                                                             \
    KERNEL(softmax_columns, softmax_args)                                                          \
    KERNEL(norm_rows, norm_args)                                                                   \
    KERNEL(pool_small, pool_args)                                                                  \
    KERNEL(gemm_i8, gemm_i8_args)                                                                  \
    KERNEL(gemm_packed_i8, gemm_packed_i8_args)                                                    \
    KERNEL(gemv_codes_i8_many, gemv_i8_args)                                                       \
    KERNEL(rows_i8, rows_i8_args)                                                                  \
    KERNEL(conv_packed_i8, conv_packed_i8_args)                                                    \
    KERNEL(conv_flat_i8, conv_packed_i8_args)                                                      \
    KERNEL(conv_splits_i8, conv_packed_i8_args)                                                    \
    KERNEL(conv_direct_i8, conv_i8_args)                                                           \
    KERNEL(program, program_args)                                                                  \
    KERNEL(gemv_codes, gemm_codes_args)                                                            \
    KERNEL(gemv_codes_many, gemm_codes_args)                                                       \
    KERNEL(gemv_codes_far, gemm_codes_args)                                                        \
    KERNEL(gemv_scaled, gemm_codes_args)                                                           \
    KERNEL(codes_mma_few, gemm_codes_args)                                                         \
    KERNEL(codes_mma, gemm_codes_args)                                                             \
    KERNEL(gemm_mma, gemm_mma_args)                                                                \
    KERNEL(conv_mma, conv_mma_args)                                                                \
    KERNEL(gemm_mma_many, gemm_mma_args)                                                           \
    KERNEL(conv_mma_many, conv_mma_args)                                                           \
    KERNEL(attention, attention_args)                                                              \
    KERNEL(huffman_symbols, huffman_args)                                                          \
    KERNEL(codes_of_symbols, symbols_args)

/* y[i] = act(x[i]): kinds of act_kind.h, or from MAP_UNARY on of enum unary_kind. */
#define MAP_UNARY 64u
struct map_args {
    const void *x;
    void *y;
    uint32_t x_type, y_type, n, kind;
    float a, b;
};

/* y = f(a, b), broadcast: y is dense, a and b have a step for each of its axes. type: enum
 * pith_type, of all three. */
enum zip_op {
    ZIP_ADD,
    ZIP_SUB,
    ZIP_MUL,
    ZIP_DIV,
    ZIP_PRELU,
    ZIP_MIN,
    ZIP_MAX,
    ZIP_POWER,
    ZIP_MOD,
    ZIP_MOD_FLOOR
};
struct zip_args {
    const void *a, *b;
    void *y;
    uint32_t n, op, type, rank;
    uint32_t dim[LAUNCH_MAX_AXES], a_step[LAUNCH_MAX_AXES], b_step[LAUNCH_MAX_AXES];
    uint32_t a_type, b_type, y_type; /* of PITH_F32, and all that follows */
    uint32_t act;                    /* enum act_kind, with its parameters */
    float act_a, act_b;
};

/* Functions of element i, one behind the other: y[i] = act(a zip b), or act(a). An operand begins
 * anew after `period` elements; NULL: it is the result before. */
#define CHAIN_MOST 16u
#define CHAIN_MAP UINT32_MAX
struct chain_link {
    const void *a, *b;
    void *y;
    uint32_t a_period, b_period, a_type, b_type, y_type;
    uint32_t zip, act; /* enum zip_op, or CHAIN_MAP; a kind of map_args */
    float act_a, act_b;
};
struct chain_args {
    uint32_t n, count;
    struct chain_link link[CHAIN_MOST];
};

/* compare: y = a compared with b, bytes 0 and 1, without activation; op: */
enum compared {
    COMPARED_EQUAL,
    COMPARED_NOT_EQUAL,
    COMPARED_LESS,
    COMPARED_LESS_EQUAL,
    COMPARED_GREATER,
    COMPARED_GREATER_EQUAL,
    COMPARED_AND, /* from here on of bools */
    COMPARED_OR,
    COMPARED_XOR
};

/* y = condition ? a : b, elements of `bytes`; steps of condition, a and b for each axis of y. */
struct where_args {
    const uint8_t *condition;
    const void *a, *b;
    void *y;
    uint32_t n, bytes, rank;
    uint32_t dim[LAUNCH_MAX_AXES], step[3][LAUNCH_MAX_AXES];
};

/* Types: enum pith_type, f32, integers and bool. */
struct cast_args {
    const void *x;
    void *y;
    uint32_t n, from, to;
};

/* x [n / inner, count, inner] -> y [n / inner, inner]: the place of the largest, the first of
 * equals or the last. */
struct arg_args {
    const void *x;
    int64_t *y;
    uint32_t n, type, count, inner, is_min, last;
};

struct batch_norm_args {
    const void *x;
    const float *scale, *bias, *mean, *var;
    void *y;
    uint32_t x_type, y_type, n, channels, inner;
    float epsilon;
};

/* A box of n elements of `bytes` each, from one layout to another; steps count elements. */
struct copy_args {
    const void *x;
    void *y;
    uint32_t n, bytes, rank;
    uint32_t dim[LAUNCH_MAX_AXES];
    int64_t x_step[LAUNCH_MAX_AXES], y_step[LAUNCH_MAX_AXES];
};

/* As PAD: mode 0 constant, 1 reflect, 2 edge; value: the element's bits. y is dense. */
struct pad_args {
    const void *x;
    void *y;
    uint32_t n, bytes, rank, mode, value;
    uint32_t x_dim[LAUNCH_MAX_AXES], y_dim[LAUNCH_MAX_AXES];
    int32_t begin[LAUNCH_MAX_AXES];
};

/* x [outer, dim, inner] -> y [outer, count, inner]; index [count], i64 or i32, as index_at. */
struct gather_args {
    const void *x, *index;
    void *y;
    uint32_t n, bytes, wide_index;
    uint32_t dim, inner, count;
};

/* Rows are summed by teams of 16 lanes, which is the order that the CPU's sums have. */
#define LAUNCH_TEAM 16u
#define LAUNCH_TEAMS (LAUNCH_THREADS / LAUNCH_TEAM) /* of a block */

/* x, y [rows, n, inner]. inner is 1 of softmax_rows, where a team has a row, and of softmax_long,
 * where a block has one. */
struct softmax_args {
    const void *x;
    void *y;
    uint32_t x_type, y_type, rows, n, inner, is_log;
};

/* Element `index` of a walk over axes lies at the sum of its places times their steps. */
struct launch_walk {
    uint32_t rank, count;
    uint32_t dim[LAUNCH_MAX_AXES], step[LAUNCH_MAX_AXES];
};

/* y: an output for each place of `kept` (times `inner` neighbours), from each place of `reduced`
 * (times `row` neighbours). reduce_rows sums up rows; reduce_columns takes one element after the
 * other, in the CPU's order. */
enum reduce_device {
    REDUCE_DEVICE_MEAN,      /* rows as one sum, in double / divisor */
    REDUCE_DEVICE_FLAT_MEAN, /* one row, its sum / divisor in float */
    REDUCE_DEVICE_SUM,       /* from here on rows in pieces of 256 */
    REDUCE_DEVICE_SUM_ABS,
    REDUCE_DEVICE_SUM_SQUARE,
    REDUCE_DEVICE_ROOT, /* of the sum of squares */
    REDUCE_DEVICE_MAX,  /* NaN where there is one */
    REDUCE_DEVICE_MIN,
    REDUCE_DEVICE_PRODUCT,
    REDUCE_DEVICE_FLAT_MAX /* what is larger than the first */
};
struct reduce_args {
    const void *x;
    void *y;
    struct launch_walk kept, reduced;
    uint32_t x_type, y_type, row, inner, kind, outputs;
    float divisor;
};

/* x, y [rows, n]: (x - mean) * (factor * scale) + bias; a scale for each `run` neighbours,
 * beginning anew after `groups` rows. */
struct norm_args {
    const void *x;
    const float *scale, *bias; /* bias may be NULL */
    void *y;
    uint32_t x_type, y_type, rows, n, run, per_row, groups;
    uint32_t is_layer; /* LayerNormalization: without bias nothing is added but in the rest of 16 */
    uint32_t about_zero; /* the mean counts as 0 */
    float epsilon;
};

/* Windows over x [planes, h, w] -> y [planes, oh, ow]. pool_small: windows of 2 x 2 and 3 x 3 taps
 * side by side; `threads` have each one output, or POOL_EACH of a column, with a stride_h of 1 or
 * 2. */
#define POOL_EACH 4u
struct pool_args {
    const void *x;
    void *y;
    uint32_t x_type, y_type, n;
    int32_t h, w, oh, ow, kh, kw, stride_h, stride_w, dil_h, dil_w, pad_top, pad_left;
    int32_t pad_bottom, pad_right;             /* that INCLUDE_PAD counts */
    uint32_t is_mean, include_pad, rows_first; /* rows_first: sums go along rows, not columns */
    uint32_t each, threads;                    /* of pool_small */
};

/* Of tiles that are few each has several blocks, which sum up `terms` terms each, a multiple of
 * what they load at once. `parts` of them are one behind the other along z, for each z that there
 * is without them. Their sums, of y's elements, are added up by gemm_parts or conv_parts, launched
 * with the same struct over `outputs` elements. parts 0 or 1: sums are whole, and need no such
 * launch unless cuBLASLt has left them there (parts 1). */
struct sum_split {
    float *sums; /* [parts, outputs] */
    uint32_t parts, terms, outputs;
};

/* y [m, n] = act(alpha * a b + beta * c + residual) for each place of the batch. gemm_f32: grid
 * (n / 64, m / 64, batches); gemv_f32: rows of b are contiguous, grid (n / 8, m, batches). */
struct gemm_args {
    const float *a, *b, *c, *residual; /* c, residual: NULL: none */
    float *y;
    uint32_t m, n, k;
    uint32_t a_row, a_col, b_row, b_col, c_row, c_col; /* steps */
    float alpha, beta;
    uint32_t act;
    float act_a, act_b;
    uint32_t batch_rank, batch_dim[LAUNCH_MAX_AXES];
    uint32_t a_batch[LAUNCH_MAX_AXES], b_batch[LAUNCH_MAX_AXES];
    struct sum_split split;                 /* of gemm_f32, gemm_mma */
    uint32_t a_type, y_type, residual_type; /* 0 but where a kernel's name has half or mma */
};
#define GEMM_TILE 64u
#define GEMM_SLICE 16u /* terms that a block loads at once */
#define GEMV_ROWS (LAUNCH_THREADS / 32u)

/* x [images, groups * channels, h, w], w [groups * outputs, channels, kh, kw]. conv_f32: grid
 * (pixels / 64, outputs / 64, images * groups); conv_direct_f32: n outputs, of which a thread has
 * `each` below one another: 1, 2 or CONV_DIRECT_EACH. */
#define CONV_DIRECT_EACH 4u
struct conv_args {
    const float *x, *w, *bias, *residual; /* bias, residual: NULL: none */
    float *y;
    uint32_t y_image; /* elements of y from an image to the next: those of its channels, or more */
    uint32_t n, groups, channels, outputs;
    int32_t h, width, oh, ow, kh, kw, stride_h, stride_w, dil_h, dil_w, pad_top, pad_left;
    uint32_t act;
    float act_a, act_b;
    struct sum_split split;                 /* of conv_f32, conv_mma */
    uint32_t each;                          /* of conv_direct_f32 */
    uint32_t x_type, y_type, residual_type; /* x_type: of conv_mma and conv_direct; 0 elsewhere */
};

/* One step of a recurrent layer, element by element, behind the product u. */
enum cell_phase {
    CELL_LSTM,
    CELL_GRU, /* linear before reset */
    CELL_RNN,
    CELL_RESET, /* GRU: z, r; c = r h */
    CELL_MIX,   /* GRU: h from z and the new value, whose product is `fresh` */
    CELL_FINAL  /* y = h, or 0 where a sequence has no step */
};
struct cell_args {
    const float *x;        /* [steps, batch, gates * width] */
    const int32_t *length; /* [batch] or NULL */
    const float *peephole; /* [3, width] or NULL */
    float *u, *fresh, *h, *c, *y;
    uint32_t phase, n, step, steps, batch, width, gates, reverse, input_forget, clips;
    float clip;
    uint32_t act[3];
    float alpha[3], beta[3];
};

/* An integer of 8 bits and another, x[i], as floats, added, and the sum's activation as an integer
 * of 8 bits again: `dequantize` twice, `zip`, `map_f32` and `quantize` of the values in memory.
 * Zero points may be NULL, for 0; act is a short one (device_map.cuh). x NULL: nothing is added. */
struct residual_tail {
    const void *x, *zero, *own_zero, *y_zero;
    const float *scale, *own_scale, *y_scale;
    uint32_t x_signed, y_signed, act;
    float act_a, act_b;
};

/* Sums that become integers of 8 bits at once, as `requantize` makes them of the sums in memory:
 * those of an output (of a convolution), or of a column, have one factor, or all of them.
 * factor NULL: sums stay as they are. */
struct requantize_tail {
    struct residual_tail residual;
    const float *factor;
    const void *zero;
    uint8_t *y;
    uint32_t is_signed, factors;
};

/* y [m, n] = sum over k of (a - zero_a) * (b - zero_b), modulo 2^32; zero points of a for each row,
 * of b for each column, or (step 0) one; NULL: 0. Grid as gemm_f32. Elements are i8, or u8 where
 * they are not signed. */
struct gemm_i8_args {
    const void *a, *b, *zero_a, *zero_b;
    int32_t *y;
    struct gemm_args s; /* sizes, steps and batches alone */
    uint32_t a_signed, b_signed, zero_a_step, zero_b_step;
    struct requantize_tail q;
};

/* As struct conv_args, of integers, output by output; bias NULL: 0. */
struct conv_i8_args {
    const void *x, *w, *zero_x, *zero_w;
    const int32_t *bias;
    int32_t *y;
    struct conv_args s; /* sizes and split alone; sums of parts are int32_t */
    uint32_t x_signed, w_signed, zero_w_step;
    struct requantize_tail q;
};

/* Weights of 8 bits as pack_rows.c has them: signed, an output's terms in a row of `row` bytes,
 * of which I8_SLICE is a divisor, and the sum of each row. sums_values: some of them may have a
 * zero point, which takes the sums of the other factor, too. */
#define I8_SLICE 64u
struct packed_i8 {
    const void *w;
    const int32_t *sum;
    uint32_t row, sums_values;
};

/* g.a by them. whole: rows of a are whole pieces of 16 bytes, and begin so. */
struct gemm_packed_i8_args {
    struct gemm_i8_args g;
    struct packed_i8 w;
    uint32_t whole;
};

/* y [images, rows, row]: signed bytes of x, the terms of a row of it side by side, with zeros
 * behind them. Grid (rows / 64, row / I8_SLICE, images). */
struct rows_i8_args {
    const void *x;
    void *y;
    uint32_t is_signed, rows, terms, row, row_step, term_step, image_step;
};

/* Taps have channel_step terms each. Grid (images * pixels / 64, outputs / 64, groups * parts): the
 * sums of parts become y by conv_splits_i8; sums of values are not taken then.
 * conv_flat_i8: of one tap, that goes from pixel to pixel; planes are multiples of four bytes. */
struct conv_packed_i8_args {
    struct conv_i8_args c;
    struct packed_i8 w;
    uint32_t channel_step, images;
};

/* Types of integers: enum pith_type. Element i of row r = i / inner has scale r % dim, or with
 * blocks that of its block (ops/op_quantize.c). zero: NULL for 0. */
struct quantize_args {
    const void *x, *zero;
    const float *scale;
    void *y;
    uint32_t n, type, from_i32, dim, inner, block, blocks;
};

/* Scale and zero point of x between its extremes. One block. */
struct dynamic_args {
    const float *x;
    float *scale;
    uint8_t *zero;
    uint32_t n;
};

/* Element i has factor i / inner % factors. */
struct requantize_args {
    const void *x, *zero;
    const float *factor;
    void *y;
    uint32_t n, type, wide, inner, factors;
};

/* As gemm_f32 with few rows of a, contiguous, and a sparse b [n, k] in relative index
 * (pack_relative.c): grid (blocks, m), a warp a row of b, rows in turn. Blocks have as many warps
 * as are to share a row of a, which lies in shared memory behind `books` codebooks: the one that
 * there is, or each warp's; of several, row r of the weight has number r / book_rows. */
#define SPMV_LANES 32u
#define SPMV_MOST_WARPS 32u
/* Places of a row of a: its columns, with four zeros behind each 120. */
#define RELATIVE_COLUMNS 120u
#define RELATIVE_GROUP 124u
#define RELATIVE_PLACE(column) ((column) + (column) / RELATIVE_COLUMNS * 4u)
#define RELATIVE_PLACES(k) (((k) + RELATIVE_COLUMNS - 1u) / RELATIVE_COLUMNS * RELATIVE_GROUP)
#define RELATIVE_SHARED_BYTES(k, books) ((256u * (books) + RELATIVE_PLACES(k)) * 4u)
#define RELATIVE_IS_ZERO(place) ((place) % RELATIVE_GROUP >= RELATIVE_COLUMNS)
/* Entries of a word of steps; words of two such lots of a lane, with indices of 4 and of 8 bits. */
#define RELATIVE_LOT 4u
#define RELATIVE_PAIR 3u
#define RELATIVE_PAIR_WIDE 4u
#define RELATIVE_LINE (SPMV_LANES * 4u)          /* bytes */
#define RELATIVE_AHEAD (2u * RELATIVE_PAIR_WIDE) /* lines that lie behind the last, not used */

struct spmv_args {
    struct gemm_args g;
    const float *book;      /* [centroids], of each codebook */
    const uint32_t *row_at; /* [n + 1]: first line of a row, of 32 words */
    const uint16_t *start;  /* [n, SPMV_LANES]: the place that a lane's first step goes on from */
    const uint32_t *words;
    uint32_t centroids, wide;  /* wide: indices of 8 bits */
    uint32_t book_rows, first; /* first: row of the weight that is row 0 of b */
    uint32_t warps, books;     /* of a block */
};

/* A weight whose elements are codes of 2, 4 or 8 bits (pack_codes.c): where the word of a row and a
 * column lies within a group of rows and a step of columns, and which of its codes is the column's.
 */
#define CODES_ROWS 8u                        /* of a group */
#define CODES_STEP_WORDS 256u                /* of a group: 32 for each row */
#define CODES_COLUMNS(bits) (1024u / (bits)) /* of a step */
#define CODES_ROW_WORD(row) ((row) % 8u / 4u * 128u + (row) % 4u)
#define CODES_COLUMN_WORD(column) ((column) % 128u / 4u * 4u)
#define CODES_COLUMN_CODE(column) ((column) / 128u * 4u + (column) % 4u) /* column: of a step */
struct codes {
    const float *book; /* of a weight of integers: the 16 bytes of a codebook */
    const uint32_t *word;
    uint32_t bits, steps, book_rows, scale_shift, first;
};
/* Of integers of 8 bits: floats of scales for a group of rows. */
#define CODES_SCALES(steps, shift) (((((steps)*128u - 1u) >> (shift)) + 1u) * CODES_ROWS)

/* As gemm_f32 with few rows of a, contiguous, and the weight transposed. gemv_codes: grid (blocks,
 * m), one codebook; gemv_codes_far has several, gemv_scaled integers, gemv_codes_many CODES_MANY
 * rows of a at once: grid (blocks, m / CODES_MANY). A block has `teams` teams of 2^log2_parts
 * warps, which share the columns of a group of rows. */
#define CODES_MANY 4u
#define CODES_WARPS 16u /* of a block, at most */
#define CODES_WARPS_MANY 12u
#define CODES_WARPS_FAR 8u
#define CODES_TABLE_BYTES 65536u
/* codes_mma: up to CODES_MMA_ROWS rows of a, with codes of 2 bits half as many; codes_mma_few: up
 * to
 * 8. Grid (rows of the weight / CODES_MMA_TILE, 1, parts), a part having g.split.terms steps. */
#define CODES_MMA_ROWS 64u
#define CODES_MMA_TILE 256u
#define CODES_MMA_BLOCKS 128u /* of 16 columns of 8 rows of a, in shared memory at once */
struct gemm_codes_args {
    struct gemm_args g;
    struct codes w;
    uint32_t teams, log2_parts;
};

/* As gemm_i8 with few rows of a, contiguous, and a weight of codes of 2 or 4 bits, or (bits 8) of
 * signed bytes: grid (m / rows at once, teams / their number in a block), rows at once being
 * CODES_MANY of gemv_codes_i8_many, and a team 2^log2_parts warps, which share a group of rows.
 * whole: rows of a are words, and begin so. */
struct gemv_i8_args {
    struct gemm_i8_args g;
    struct codes w;
    uint32_t log2_parts, whole;
};

/* As gemv_f32 with a contiguous and a weight of f16 or bf16, g.b_col its step from row to row.
 * whole: rows of both begin at 16 bytes. */
struct gemm_half_args {
    struct gemm_args g;
    const uint16_t *w;
    uint32_t is_bf16, whole;
};

/* As gemm_f32 and conv_f32 by tensor cores, w as pack_rows.c has it: rows of `row` elements, of
 * which MMA_SLICE is a divisor. whole: rows of a are contiguous and begin at 16 bytes; of conv_mma,
 * channels are a multiple of 8. conv_mma: taps have channel_step elements each; grid (images *
 * pixels / 64, outputs / 64, groups). */
#define MMA_SLICE 32u
#define MMA_MANY_THREADS 128u
#define MMA_STEP(threads) ((threads) / 8u) /* terms from what a thread loads to the next */
#define MMA_MANY_BLOCKS 4                  /* at once on a multiprocessor */
#define MMA_TERMS (2u * MMA_SLICE)         /* that a block loads at once */
struct gemm_mma_args {
    struct gemm_args g;
    const uint16_t *w;
    uint32_t row, is_bf16, whole;
};
struct conv_mma_args {
    struct conv_args c;
    const uint16_t *w;
    uint32_t row, is_bf16, channel_step, images, whole;
    /* channels, columns and rows of a window from what a thread loads to the next */
    uint32_t step[3];
    uint32_t pixels_factor, pixels_shift; /* p / (oh * ow) is p * pixels_factor >> pixels_shift */
};

/* y = softmax(scale q k^T, masked) v: q [m, d], k [n, d], v [n, e], y [m, e] for each batch and
 * head, at steps along batch, head and row; mask: NULL, or at steps along batch, head, m and n.
 * Grid (m / 8, heads, batch). */
#define ATTENTION_WIDEST 256u /* d, e */
struct attention_args {
    const float *q, *k, *v;
    const void *mask;
    float *y;
    uint32_t q_type, k_type, v_type, y_type;
    uint32_t m, n, d, e;
    uint32_t q_step[3], k_step[3], v_step[3], y_step[3], mask_step[4];
    uint32_t mask_is_f32, keep;
    uint32_t shared;     /* heads of q that read the same head of k and v */
    uint32_t mask_batch; /* samples after which the mask begins anew */
    float scale, fill;
};

/* Indices from their Huffman codes, while a plan is made: sub-stream j is bytes begin[j] to
 * begin[j + 1] of words; table: by the next table_bits bits the symbol and, << 8, its length. fault
 * [subs]: whether a sub-stream is none. Grid (subs / HUFFMAN_SUBS). */
#define HUFFMAN_BITS 12u
#define HUFFMAN_SUBS (LAUNCH_THREADS / 32u)
struct huffman_args {
    const uint32_t *words, *begin;
    const uint16_t *table;
    uint8_t *symbol;
    uint32_t *fault;
    uint32_t n, subs, table_bits, centroids;
};

/* Words of codes (struct codes) from the symbols of the stored elements. support: a bit for each
 * element, NULL: all are stored; rank: how many are before each HUFFMAN_RANKED elements. */
#define HUFFMAN_RANKED 256u
struct symbols_args {
    const uint8_t *symbol;
    const uint32_t *support, *rank;
    uint32_t *word;
    uint32_t n, rows, cols, steps, bits; /* n: words */
    uint32_t row_step, column_step;      /* in elements */
};

/* A whole run in one launch: steps one behind the other, each a launch of one of PROGRAM_KERNELS
 * with blocks of LAUNCH_THREADS threads, or a move. All blocks of the grid take a step's blocks in
 * turn, and wait for one another behind it: so all have to be on the device at once. */
#define PROGRAM_MOVE UINT32_MAX
#define PROGRAM_WORDS 288u /* of the largest struct */
#define PROGRAM_OWN 24576u /* shared memory that a block takes besides its launch's, at most */
struct program_step {
    const uint32_t *arg; /* a struct of `words` words */
    uint32_t words, kernel, grid[3];
    uint32_t kept, weight; /* a weight that is kept, or PROGRAM_KEPT; the word of its address */
};
/* A weight of which each block copies what it reads to shared memory, before the first step: tile i
 * is what block i of a step's grid reads. A block's tiles lie side by side there. */
#define PROGRAM_KEPT 24u
struct program_kept {
    const uint8_t *from;
    uint64_t bytes;           /* that can be read */
    uint32_t tiles, tile, at; /* tile: bytes of one */
};
/* Bytes from one place to another, or from NULL: words of a value. */
struct program_move {
    uint8_t *to;
    const uint8_t *from;
    uint64_t bytes;
    uint32_t value;
};
struct program_args {
    const struct program_step *step;
    uint32_t *arrived;                   /* [2], 0 before the first launch */
    uint32_t n, shared, kept_at, n_kept; /* kept_at: shared memory of steps, in bytes */
    struct program_kept kept[PROGRAM_KEPT];
};

#define LAUNCH_NUMBER(name, type) LAUNCH_##name,
enum launch_kernel { DEVICE_KERNELS(LAUNCH_NUMBER) LAUNCH_KERNELS };

/* Kernels of struct gemm_codes_args, which stand side by side above. */
#define LAUNCH_HAS_TABLE(kernel) ((kernel) >= LAUNCH_gemv_codes && (kernel) <= LAUNCH_codes_mma)

/* What a launch says besides its grid: threads of a block, and bytes of shared memory behind those
 * that the kernel declares. */
struct launch_block {
    uint32_t threads, shared;
};

static inline struct launch_block launch_block_of(uint32_t kernel, const void *arg)
{
    struct launch_block b = {LAUNCH_THREADS, 0};
    if (kernel == LAUNCH_spmv_relative) {
        const struct spmv_args *s = (const struct spmv_args *)arg;
        b.threads = 32u * s->warps;
        b.shared = RELATIVE_SHARED_BYTES(s->g.k, s->books);
    } else if (LAUNCH_HAS_TABLE(kernel)) {
        const struct gemm_codes_args *c = (const struct gemm_codes_args *)arg;
        b.threads = c->teams << c->log2_parts << 5;
        b.shared = CODES_TABLE_BYTES;
    } else if (kernel == LAUNCH_program) {
        b.shared = ((const struct program_args *)arg)->shared;
    } else if (kernel == LAUNCH_gemm_mma_many || kernel == LAUNCH_conv_mma_many) {
        b.threads = MMA_MANY_THREADS;
    }
    return b;
}

#endif
