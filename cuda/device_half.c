/* SPDX-License-Identifier: MIT */
/* device_half.c - products with weights of 16-bit floats on the device: of few rows as they are
 * stored, with activations as they are; or any weight and activations rounded to them, for tensor
 * cores. */
#include "device_product.h"
#include "pack_forms.h"

/* Whether rows of a begin at 16 bytes. */
static bool has_whole_rows(const struct gemm_args *g)
{
    return (g->m == 1 || g->a_row % (g->a_type == VALUE_F32 ? 4 : 8) == 0) &&
           (uintptr_t)g->a % 16 == 0;
}

/* Few rows: their sums are read from memory at the speed that it has, and need no rounding of a.
 * Weights lie at multiples of 256 bytes, and a row of them is `row` elements behind the one before.
 */
static void launch_few(struct lowering *l, const struct gemm_args *g, const uint16_t *w,
                       uint32_t row, bool is_bf16)
{
    const uint32_t grid[3] = {(g->n + GEMV_ROWS - 1) / GEMV_ROWS, g->m, 1};
    struct gemm_half_args few = {
        .g = *g, .w = w, .is_bf16 = is_bf16, .whole = row % 8 == 0 && has_whole_rows(g)};
    few.g.b_row = 1;
    few.g.b_col = row;
    pith_device_grid(l, LAUNCH_gemv_half, grid, &few, sizeof few);
}

/* Of dense support. For more the weight is expanded to f32, whose tiles take no longer. */
bool pith_device_half(struct lowering *l, const struct gemm_args *g, const struct weight *w,
                      uint32_t first)
{
    if (!w || (w->type != PITH_F16 && w->type != PITH_BF16) || w->grid != GRID_PLAIN ||
        w->count >= UINT64_C(1) << 31 || g->batch_rank != 0 || w->shape.rank != 2 ||
        g->m > FEW_ROWS || g->b_row != 1 || g->a_col != 1)
        return false;
    const uint16_t *at = pith_device_weight(l, w, FORM_ELEMENTS);
    launch_few(l, g, at + (size_t)first * g->b_col, g->b_col, w->type == PITH_BF16);
    return true;
}

/* ---- tensor cores -----------------------------------------------------------------------------
 */

#define MANY_TILES 2u /* of a multiprocessor, from which on blocks of four warps do better */

static bool is_many(const struct lowering *l, const uint32_t grid[3])
{
    return (uint64_t)grid[0] * grid[1] * grid[2] >= MANY_TILES * pith_device_processors(l);
}

/* What tensor cores multiply is of one type, or f32 that is rounded to it. */
static bool is_of_type(uint32_t type, bool is_bf16)
{
    return type == VALUE_F32 || type == (is_bf16 ? VALUE_BF16 : VALUE_F16);
}

/* The product as cuBLASLt may have it: with a of the weight's type, and c of y's. */
static void or_blas(struct lowering *l, uint32_t first, const struct gemm_args *g,
                    const struct op_args *args, const uint16_t *w, const struct rows_layout *h)
{
    const uint32_t factors = h->is_bf16 ? VALUE_BF16 : VALUE_F16;
    const bool has_c = args->n_in > 2 && args->in[2];
    const bool rounds = has_c && g->y_type != VALUE_F32 && pith_device_is_constant(l, args->in[2]);
    const uint32_t second = l->n_actions;
    struct gemm_args there = *g;
    if (g->m <= FEW_ROWS || !pith_device_has_blas(l))
        return;
    const bool has_tail = (rounds || !has_c || g->y_type == VALUE_F32) && pith_blas_has_tail(g);
    const void *rounded = rounds ? pith_device_rounded(l, args->in[2], g->y_type) : g->c;
    there.c = has_tail ? rounded : g->c;
    there.a = pith_device_as(l, args->in[0], factors);
    there.a_type = factors;
    there.b = (const void *)w;
    there.b_row = 1;
    there.b_col = h->row;
    pith_device_or_blas(l, first, second, &there, factors, has_tail);
}

bool pith_device_mma(struct lowering *l, const struct gemm_args *g, const struct op_args *args)
{
    const struct weight *w = args->weight;
    const uint32_t first = l->n_actions;
    const bool turned = g->b_row != 1 || (w && w->shape.rank == 2 && w->shape.dim[1] != g->k);
    const bool few = g->m <= FEW_ROWS && g->a_col == 1;
    struct rows_layout h;
    uint32_t grid[3];
    if (!l->half || !w || g->batch_rank != 0 || w->shape.rank != 2 || !pith_device_tiles(g, grid) ||
        !pith_device_rows_layout(w, false, turned, &h) || h.rows != g->n || h.channels != g->k ||
        (!few && !is_of_type(g->a_type, h.is_bf16)))
        return false;
    const uint16_t *at = pith_device_form(l, w, turned ? FORM_ROWS_TURNED : FORM_ROWS, h.bytes);
    if (few) {
        launch_few(l, g, at, h.row, h.is_bf16);
        return true;
    }
    struct gemm_mma_args m = {.g = *g,
                              .w = at,
                              .row = h.row,
                              .is_bf16 = h.is_bf16,
                              .whole = g->a_col == 1 && has_whole_rows(g)};
    const bool many = is_many(l, grid);
    m.g.split = pith_device_shares(l, grid, h.row, MMA_TERMS, g->m * g->n);
    pith_device_grid(l, many ? LAUNCH_gemm_mma_many : LAUNCH_gemm_mma, grid, &m, sizeof m);
    pith_device_gemm_parts(l, &m.g);
    or_blas(l, first, g, args, at, &h);
    return true;
}

/* Quotients of p < 2^31 by d, 2^(l - 1) < d <= 2^l: the factor is below 2^32, and above 2^(31 + l)
 * / d by at most 1, so that the product is too large by less than 2^-l <= 1 / d, which reaches no
 * next integer. */
static void set_divisor(struct conv_mma_args *c, uint32_t d)
{
    uint32_t l = 0;
    while (UINT64_C(1) << l < d)
        l++;
    c->pixels_factor = (uint32_t)((UINT64_C(1) << (31 + l)) / d + 1);
    c->pixels_shift = 31 + l;
}

/* Pixels of all images lie one behind the other along x. The kernel counts bytes of x and y in 32
 * bits. */
bool pith_device_conv_mma(struct lowering *l, const struct conv_args *c, uint32_t images,
                          const struct weight *w)
{
    const uint32_t first = l->n_actions;
    const uint64_t x = (uint64_t)c->groups * c->channels * (uint32_t)(c->h * c->width);
    struct rows_layout h;
    if (!l->half || !w || !pith_device_rows_layout(w, false, false, &h) ||
        h.channels != c->channels || x * images >= UINT64_C(1) << 30 ||
        (uint64_t)c->y_image * images >= UINT64_C(1) << 30 || !is_of_type(c->x_type, h.is_bf16))
        return false;
    const uint32_t pixels = (uint32_t)(c->oh * c->ow) * images;
    uint32_t grid[3] = {(pixels + GEMM_TILE - 1) / GEMM_TILE,
                        (c->outputs + GEMM_TILE - 1) / GEMM_TILE, c->groups};
    struct conv_mma_args m = {.c = *c,
                              .w = pith_device_form(l, w, FORM_ROWS, h.bytes),
                              .row = h.row,
                              .is_bf16 = h.is_bf16,
                              .channel_step = h.channel_step,
                              .whole = h.channel_step == c->channels,
                              .images = images};
    set_divisor(&m, (uint32_t)(c->oh * c->ow));
    const bool many = is_many(l, grid);
    const uint32_t terms = MMA_STEP(many ? MMA_MANY_THREADS : LAUNCH_THREADS);
    m.step[0] = terms % h.channel_step;
    m.step[1] = terms / h.channel_step % (uint32_t)c->kw;
    m.step[2] = terms / h.channel_step / (uint32_t)c->kw;
    m.c.split = pith_device_shares(l, grid, h.row, MMA_TERMS, c->n);
    pith_device_grid(l, many ? LAUNCH_conv_mma_many : LAUNCH_conv_mma, grid, &m, sizeof m);
    pith_device_conv_parts(l, &m.c);
    const uint32_t type = h.is_bf16 ? VALUE_BF16 : VALUE_F16;
    pith_device_conv_or_blas(l, first, c, &(struct conv_weight){m.w, h.row, type, images});
    return true;
}
