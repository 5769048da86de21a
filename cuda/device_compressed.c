/* SPDX-License-Identifier: MIT */
/* device_compressed.c - products with a weight that has codebooks: which form it gets on the
 * device, and its launch. What a form takes is estimated: bytes from memory, and the slower of
 * issuing instructions and of reading shared memory or L1, of which some overlap; with constants
 * that an H200 agreed with. */
#include <math.h>
#include "device_product.h"
#include "pack_forms.h"
#include "pack_relative.h"

#define SHARED_MOST 49152u /* shared memory that a block of any device can have */
#define SHORT_ROW 1024u    /* elements of x that are copied in no time */
#define RESIDENT_WARPS 32u /* of a multiprocessor, where a thread has up to 64 registers */

/* ---- the model, in picoseconds -------------------------------------------------------------- */

#define BYTE_PS 0.33         /* from memory: 0.9 of 3.35 TB/s */
#define INSTRUCTION_PS 0.035 /* of a lane: 132 multiprocessors issue four warps' at 1.7 GHz */
#define READ_PS 0.14         /* of a lane, where a warp's lie in banks of their own */
#define GATHER 3.15          /* times as long, where lanes read anywhere */
#define CHOSEN 2.25          /* the same, where pack_relative.c chose their order */
#define L2_BYTE_PS 0.18      /* from the L2: 5.5 TB/s */

#define APART 0.7             /* of the sum of both: so much does not overlap */
#define CODES_TABLE_PS 2300.0 /* a multiprocessor's table of the values of bytes */
#define PARTS_PS 2.5e6        /* a launch more */

/* Of `n` entries that take so many instructions and reads each, in `times` passes. Bytes are
 * counted once, as if later passes found them in a cache. */
static double time_of(double bytes, double n, double instructions, double reads, double times)
{
    double issue = n * instructions * INSTRUCTION_PS, read = n * reads * READ_PS;
    return APART * (bytes * BYTE_PS + times * (issue > read ? issue : read));
}

/* Warps of a block, which copies its row of x first: many, where that takes long, and as long as
 * every multiprocessor has a block. */
static uint32_t warps_of(const struct lowering *l, const struct gemm_args *g)
{
    const uint32_t processors = pith_device_processors(l);
    uint32_t warps = GEMV_ROWS;
    while (g->k > SHORT_ROW && warps < SPMV_MOST_WARPS && g->n / processors >= 3 * warps / 2)
        warps *= 2;
    return warps;
}

/* What a multiprocessor has at once, where rows of b take turns. */
static uint32_t row_blocks(const struct lowering *l, const struct gemm_args *g, uint32_t warps)
{
    const uint32_t processors = pith_device_processors(l);
    const uint32_t blocks = (g->n + warps - 1) / warps, at_once = RESIDENT_WARPS / warps;
    return blocks < at_once * processors ? blocks : at_once * processors;
}

/* Up to 32 values lie in banks of their own. */
static double book_reads(const struct weight *w)
{
    return w->n_centroids <= 32 ? 1 : GATHER;
}

/* Codebooks that a block holds. */
static uint32_t books_of(const struct weight *w, uint32_t warps)
{
    return w->n_groups > 1 ? warps : 1;
}

/* A gap that is longer than a step costs an entry; a row ends in half a lot a lane, and has two
 * bytes a lane to say where the lane begins. HUGE_VAL, here and below: the weight has no such form,
 * or the form no kernel for this product. */
static double relative_time(const struct lowering *l, const struct gemm_args *g,
                            const struct weight *w)
{
    const struct relative_layout r = pith_relative_layout(w);
    const double rows = w->shape.dim[0];
    const double none = pow(1 - (double)w->nnz / (double)w->count, RELATIVE_COLUMNS);
    const double lanes = rows * SPMV_LANES;
    const double n = (none < 1 ? (double)w->nnz / (1 - none) : 0) + lanes * RELATIVE_LOT / 2;
    const double bytes = n * (r.wide ? 2 : 1.5) + lanes * 2 + rows * 4;
    const uint32_t warps = warps_of(l, g), most = l->cuda ? l->cuda->shared_most : SHARED_MOST;
    if (w->support == SUPPORT_DENSE || RELATIVE_SHARED_BYTES(g->k, books_of(w, warps)) > most)
        return HUGE_VAL;
    /* each block copies its row of a, and of several codebooks a warp its row's */
    const double copied =
        (double)row_blocks(l, g, warps) * g->k + (w->n_groups > 1 ? rows * w->n_centroids : 0);
    return copied * g->m * sizeof(float) * L2_BYTE_PS +
           time_of(bytes, n, 8, CHOSEN + book_reads(w), g->m);
}

/* Rows of a at once: with few of them one row takes no more time. */
static uint32_t code_rows(const struct gemm_args *g, const struct weight *w)
{
    return w->grid == GRID_CODEBOOK && w->n_groups == 1 && g->m >= CODES_MANY - 1 ? CODES_MANY : 1;
}

/* An element costs half a lookup with codes of 4 bits, a quarter with 2, and a multiplication for
 * each row of a; values of 4 bytes of shared memory, and a fraction of x and of the codes. */
static double codes_time(const struct lowering *l, const struct gemm_args *g,
                         const struct weight *w)
{
    struct codes_layout c;
    if (!pith_device_codes_layout(w, false, &c))
        return HUGE_VAL;
    const uint32_t groups = g->n / CODES_ROWS + 1, processors = pith_device_processors(l);
    const uint32_t rows = code_rows(g, w);
    const double passes = ceil((double)g->m / rows);
    if (w->grid == GRID_SCALED) /* for more rows it is expanded */
        return g->m > FEW_ROWS ? HUGE_VAL
                               : time_of((double)c.bytes, (double)w->count, 4.3, 0.2, passes);
    if (w->n_groups > 1)
        return time_of((double)c.bytes, (double)w->count, 8.3, 1.3, passes);
    return CODES_TABLE_PS * (groups < processors ? groups : processors) +
           time_of((double)c.bytes, (double)w->count, 0.35 + rows + c.bits / 4.0,
                   1.1 + 0.125 * rows, passes);
}

/* Of the weight expanded, by the tiles of f32. */
static double expanded_time(const struct lowering *l, const struct gemm_args *g,
                            const struct weight *w)
{
    (void)l;
    return time_of(4.0 * (double)w->count, (double)w->count, 1.5 * GEMM_TILE, 0, ceil(g->m / 64.0));
}

/* Blocks read all of a each. Rows of more than a few steps are shared by blocks, whose sums then
 * are added; less than a block for each multiprocessor takes the time of so many. */
static double mma_time(const struct lowering *l, const struct gemm_args *g, const struct weight *w)
{
    struct codes_layout c;
    if (!pith_device_codes_layout(w, false, &c) || w->n_groups > 1 || w->grid == GRID_SCALED ||
        g->m > (c.bits == 2 ? CODES_MMA_ROWS / 2 : CODES_MMA_ROWS))
        return HUGE_VAL;
    const double blocks = ceil(g->n / (double)CODES_MMA_TILE), tiles = ceil(g->m / 8.0);
    const double parts = c.steps < 8 ? 1 : c.steps / 2.0;
    const double idle = fmax(1, pith_device_processors(l) / (blocks * parts));
    return (parts > 1 ? PARTS_PS : 0) + blocks * g->m * g->k * sizeof(float) * L2_BYTE_PS +
           idle * time_of((double)c.bytes, (double)w->count, 1.5 + 0.6 * tiles, 0.5 + 0.125 * tiles,
                          1);
}

/* ---- launches -------------------------------------------------------------------------------- */

/* While counting, addresses begin at 0. */
static const void *behind(const uint8_t *at, uint64_t offset)
{
    return (const void *)((uintptr_t)at + (uintptr_t)offset);
}

/* Blocks beyond row_blocks would copy x and the codebook to shared memory once more for each of
 * them. */
static bool launch_relative(struct lowering *l, const struct gemm_args *g, const struct weight *w,
                            uint32_t first)
{
    const uint8_t *at = pith_device_relative(l, w);
    if (!at)
        return false;
    const struct relative_layout r = pith_relative_layout(w);
    const uint32_t warps = warps_of(l, g);
    struct pack_shape shape = {0};
    pith_pack_shape(w, &shape);
    struct spmv_args s = {.g = *g,
                          .book = behind(at, 0),
                          .row_at = behind(at, r.row_at),
                          .start = behind(at, r.start),
                          .words = behind(at, r.words),
                          .centroids = w->n_centroids,
                          .wide = r.wide,
                          .book_rows = shape.book_rows,
                          .first = first,
                          .warps = warps,
                          .books = books_of(w, warps)};
    const uint32_t grid[3] = {row_blocks(l, g, warps), g->m, 1};
    pith_device_grid(l, LAUNCH_spmv_relative, grid, &s, sizeof s);
    return true;
}

/* Launches do not test what the layouts say: a form without one has HUGE_VAL as its time. */
static struct codes codes_of(struct lowering *l, const struct weight *w, uint32_t first)
{
    struct codes_layout c = {0};
    struct pack_shape s = {0};
    pith_device_codes_layout(w, false, &c);
    pith_pack_shape(w, &s);
    const uint8_t *at = pith_device_form(l, w, FORM_CODES, c.bytes);
    return (struct codes){.book = behind(at, 0),
                          .word = behind(at, c.words),
                          .bits = c.bits,
                          .steps = c.steps,
                          .book_rows = s.book_rows,
                          .scale_shift = s.scale_shift,
                          .first = first};
}

/* A block for each multiprocessor, whose teams have equally many groups: of several warps, where
 * groups are few. */
static bool launch_codes(struct lowering *l, const struct gemm_args *g, const struct weight *w,
                         uint32_t first)
{
    struct gemm_codes_args c = {.g = *g, .w = codes_of(l, w, first)};
    const uint32_t rows = code_rows(g, w), along_y = (g->m + rows - 1) / rows;
    const bool scaled = w->grid == GRID_SCALED, far = !scaled && w->n_groups > 1;
    const enum launch_kernel kernel = scaled     ? LAUNCH_gemv_scaled
                                      : far      ? LAUNCH_gemv_codes_far
                                      : rows > 1 ? LAUNCH_gemv_codes_many
                                                 : LAUNCH_gemv_codes;
    const uint32_t warps = far ? CODES_WARPS_FAR : rows > 1 ? CODES_WARPS_MANY : CODES_WARPS;
    const uint32_t all = pith_device_processors(l), own = all > along_y ? all / along_y : 1;
    const uint32_t groups = (first + g->n - 1) / CODES_ROWS - first / CODES_ROWS + 1;
    const uint32_t rounds = (groups + own * warps - 1) / (own * warps);
    c.teams = (groups + own * rounds - 1) / (own * rounds);
    while (c.teams << (c.log2_parts + 1) <= warps && 2u << c.log2_parts <= c.w.steps)
        c.log2_parts++;
    const uint32_t grid[3] = {(groups + c.teams * rounds - 1) / (c.teams * rounds), along_y, 1};
    pith_device_grid(l, kernel, grid, &c, sizeof c);
    return true;
}

static bool launch_mma(struct lowering *l, const struct gemm_args *g, const struct weight *w,
                       uint32_t first)
{
    struct gemm_codes_args c = {.g = *g, .w = codes_of(l, w, first), .teams = LAUNCH_THREADS / 32u};
    uint32_t grid[3] = {(g->n + CODES_MMA_TILE - 1) / CODES_MMA_TILE, 1, 1};
    c.g.split = pith_device_shares(l, grid, c.w.steps, 1, g->m * g->n);
    pith_device_grid(l, g->m <= 8 ? LAUNCH_codes_mma_few : LAUNCH_codes_mma, grid, &c, sizeof c);
    pith_device_gemm_parts(l, &c.g);
    return true;
}

/* ---- the choice ------------------------------------------------------------------------------ */

enum { WAY_RELATIVE, WAY_CODES, WAY_MMA, WAY_EXPANDED, N_WAYS };
static const struct {
    double (*time)(const struct lowering *l, const struct gemm_args *g, const struct weight *w);
    bool (*launch)(struct lowering *l, const struct gemm_args *g, const struct weight *w,
                   uint32_t first);
} ways[N_WAYS] = {
    [WAY_RELATIVE] = {relative_time, launch_relative},
    [WAY_CODES] = {codes_time, launch_codes},
    [WAY_MMA] = {mma_time, launch_mma},
    [WAY_EXPANDED] = {expanded_time, NULL},
};

/* Whether there are forms of it at all: of a weight [n, k], as rows of it and of a, whose elements
 * lie side by side, are read. Rows of a are blocks along y. */
static bool has_forms(const struct gemm_args *g, const struct weight *w)
{
    struct pack_shape s;
    return w && g->batch_rank == 0 && w->shape.rank == 2 && g->b_row == 1 && g->a_col == 1 &&
           w->shape.dim[1] == g->k && g->m <= GRID_LIMIT && pith_pack_shape(w, &s);
}

/* The quickest by the model; where relative index refuses, as it does a codebook with infinities,
 * the next. false: the weight is to be expanded. */
bool pith_device_compressed(struct lowering *l, const struct gemm_args *g, const struct weight *w,
                            uint32_t first, bool half)
{
    const bool few = !half || g->m <= FEW_ROWS; /* more are not worth sums in f32 */
    double time[N_WAYS];
    if (!has_forms(g, w))
        return false;
    for (uint32_t i = 0; i < N_WAYS; i++)
        time[i] = (i == WAY_MMA ? half : few) ? ways[i].time(l, g, w) : HUGE_VAL;
    for (;;) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < N_WAYS; i++)
            best = time[i] < time[best] ? i : best;
        if (best == WAY_EXPANDED || time[best] == HUGE_VAL)
            return false;
        if (ways[best].launch(l, g, w, first))
            return true;
        time[best] = HUGE_VAL;
    }
}
