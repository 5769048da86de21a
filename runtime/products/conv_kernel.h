/* SPDX-License-Identifier: MIT */
/* conv_kernel.h - a way to run a convolution, and the list of them. When a plan is made the
 * cheapest that supports the convolution is chosen; of equally cheap ones the first.
 *
 * Work is cut into at most CONV_CHUNKS chunks, a number that does not depend on how many threads
 * there are; where everything runs on the caller's, it is one chunk. Each element's sum is the same
 * either way. */
#ifndef CONV_KERNEL_H
#define CONV_KERNEL_H

#include "kernels/kernels.h"
#include "op_interface/window.h"
#include "products/product.h"

#define CONV_CHUNKS 16u

/* How the tiles of all images and groups are cut into chunks. */
struct cut {
    uint32_t pixels, tiles; /* of one group of one image */
    uint32_t width;         /* pixels of a tile, the last one's may be fewer */
    uint32_t ldb;           /* row stride of the im2col panel */
    uint32_t chunks;
    uint32_t o_parts; /* of a tile's output channels */
    uint64_t units;   /* tiles x groups x images */
};

/* Bands of outputs and the copy of what is under one. */
struct band {
    uint32_t rows;    /* the last band's may be fewer; 0: one alone is too large */
    uint32_t columns; /* of a row: all, but where the image is one row */
    uint32_t in_rows;
    size_t width; /* of a row, with padding, every stride_w-th column of it */
    size_t plane; /* floats from one channel to the next */
    size_t floats;
};

/* The lowered convolution. What follows g's image is there where its kernel or its axes need it
 * (pith_conv_lowered_bytes). */
struct conv {
    const struct conv_kernel *kernel;
    struct conv_geom g; /* one group */
    uint32_t n, groups;
    size_t pixels, k;
    bool more;     /* axes than g describes, the last two: window has them */
    bool in_place; /* gemm_f32 can read x itself */
    union {
        struct product product;
        struct cut cut;   /* tiles, winograd */
        struct band band; /* rows */
    } way;
    struct window window;
};

struct conv_kernel {
    bool (*supports)(const struct op_args *args, const struct op_env *env);
    /* In multiply-accumulates for each output row and tap; UINT64_MAX: every other kernel is
     * better. Called where supports() returned true. */
    uint64_t (*cost)(const struct op_args *args, const struct op_env *env);
    /* What it needs; fills conv.way. */
    enum pith_status (*workspace)(const struct op_args *args, const struct op_env *env,
                                  struct op_need *need);
    /* Makes of a constant weight what run() reads. */
    enum pith_status (*pack)(const struct op_args *args, const struct op_env *env);
    void (*run)(const struct op_args *args, const struct op_env *env);
};

/* The list, in the order in which they are tried: a line each. */
#define CONV_KERNELS(KERNEL)                                                                       \
    KERNEL(pith_conv_product)                /* a matrix product: product_f32.h */                 \
    KERNEL(pith_conv_depthwise_coded)        /* the weight decoded at each run, by filters */      \
    KERNEL(pith_conv_coded)                  /* the same */                                        \
    KERNEL(pith_conv_depthwise)              /* one input channel a group: depthwise_f32 */        \
    IF_DENSE_TILES(KERNEL(pith_conv_tiles))  /* im2col of a tile of pixels, then gemm_f32 */       \
    IF_DENSE_TILES(KERNEL(pith_conv_rows))   /* conv_rows_f32 on copied bands of input rows */     \
    KERNEL(pith_conv_direct)                 /* conv_f32: no packing, no memory; the reference */  \
    IF_SPARSE_ROWS(KERNEL(pith_conv_sparse)) /* a pruned weight, nonzero by nonzero */             \
    IF_DENSE_TILES(KERNEL(pith_conv_winograd))  /* 3x3: 16 products for 4 pixels */                \
    IF_DENSE_TILES(KERNEL(pith_conv_winograd4)) /* 36 for 16 */

#define DECLARE(name) extern const struct conv_kernel name;
CONV_KERNELS(DECLARE)
/* conv_pair.c names these on all processors, also where they are not in the list. */
DECLARE(pith_conv_tiles)
DECLARE(pith_conv_sparse)
#undef DECLARE

/* Copying the columns of a tile takes as long as so many output channels. Larger strides gather. */
static inline uint32_t conv_copy_channels(const struct conv_geom *g)
{
    return g->stride_w > 2 ? 24 : 8;
}

/* One run, as the parallel bodies see it. */
struct conv_run {
    const struct conv *v;
    const struct op_args *args;
    const struct dense_kernels *d;
    quads_fn *quads;                  /* conv_sparse.c */
    size_t x_group, y_group, w_group; /* floats of one group of one image / of the weights */
    const float *x, *bias, *residual;
    const float *w; /* plain, or packed (rows, tiles) */
    float *y;
    struct dense_act act;
    float *panels;
    /* Of tiles and quads: y is [channels][y_plane], and pixel p of the image is its p - y_first. */
    size_t y_plane, y_first;
    uint64_t units;
    uint32_t chunks;
    uint64_t group_floats; /* packed weights of one group */
};

struct conv_run pith_conv_run_of(const struct op_args *args, const struct op_env *env);

static inline uint64_t conv_chunk(const struct conv_run *r, uint32_t i)
{
    return r->units * i / r->chunks;
}

static inline uint32_t conv_chunks_of(const struct op_env *env, uint64_t units)
{
    uint32_t most = env->parallel_for ? CONV_CHUNKS : 1;
    return units < most ? (uint32_t)units : most;
}

static inline void conv_set_chunks(struct conv_run *r, const struct op_env *env, uint64_t units)
{
    r->units = units;
    r->chunks = conv_chunks_of(env, units);
}

/* Of chunks of so many units: each has scratch. */
static inline uint32_t conv_lanes_of(const struct op_env *env, uint64_t units)
{
    return pith_op_lanes(env, conv_chunks_of(env, units));
}

/* Vector kernels index pixels and taps with 32 bits, signed. */
bool pith_conv_is_small(const struct conv *v);

/* conv_tiles.c, of rows and tiles: weights in panels [G][ceil(O/mr)][K][mr], constant ones in prep,
 * else at the start of scratch, and panels of `floats` behind them. */
enum pith_status pith_conv_packed_need(const struct op_args *args, const struct op_env *env,
                                       uint64_t panels, uint64_t floats, struct op_need *need);
enum pith_status pith_conv_pack(const struct op_args *args, const struct op_env *env);
/* Tiles of `pixels` columns in a group of an image, with sums over k. */
struct cut pith_conv_cut(const struct conv *v, const struct op_env *env, uint32_t pixels, size_t k);
struct conv_run pith_conv_packed_run(const struct op_args *args, const struct op_env *env);

/* Output channels [o0, o1) of a tile: the parts [at, next) of all tiles' that a chunk comes to when
 * it is at part `at`; next == at: its end. */
struct conv_piece {
    uint64_t at, next, tile;
    uint32_t o0, o1;
};
/* Where a chunk begins, parts counted through all tiles. Chunks have like numbers of pixels times
 * channels: the last tile of an image may have few pixels. */
uint64_t pith_conv_part(const struct conv_run *r, uint32_t chunk);
struct conv_piece pith_conv_piece(const struct conv_run *r, uint32_t chunk, uint64_t at);
/* Runs the chunks of way.cut. */
void pith_conv_pieces(struct conv_run *r, const struct op_env *env, op_lane_body *body);

/* Some rows of an image, on the caller's thread (conv_pair.h). */
struct conv_band {
    uint32_t begin, end;     /* rows of the depthwise convolution's output */
    uint32_t x_begin, x_end; /* rows of its input that they are made of */
    uint32_t lane;           /* which of the panels in scratch */
    float *between;          /* [channels][x_end - x_begin][W]: written by tiles and quads, read by
                                depthwise kernels */
};
void pith_conv_tiles_band(const struct op_args *args, const struct op_env *env,
                          const struct conv_band *band);
void pith_conv_sparse_band(const struct op_args *args, const struct op_env *env,
                           const struct conv_band *band);
void pith_conv_depthwise_band(const struct op_args *args, const struct op_env *env,
                              const struct conv_band *band);

#endif
