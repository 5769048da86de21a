/* SPDX-License-Identifier: MIT */
/* device_half.c - products with weights that are stored as f16 or bf16 and stay so on the device.
 */
#include "device_product.h"

#define FEW_ROWS 8u /* of a: a warp an output reads all of b for each */

/* Of dense support: their elements are expanded to 16 bits each. */
static bool is_half(const struct weight *w)
{
    return w && (w->type == PITH_F16 || w->type == PITH_BF16) && w->grid == GRID_PLAIN &&
           w->count < UINT64_C(1) << 31;
}

bool pith_device_half(struct lowering *l, const struct gemm_args *g, const struct weight *w,
                      uint32_t first)
{
    uint32_t grid[3] = {(g->n + GEMV_ROWS - 1) / GEMV_ROWS, g->m, 1};
    if (!is_half(w) || g->batch_rank != 0 || w->shape.rank != 2)
        return false;
    bool by_warps = g->m <= FEW_ROWS && g->b_row == 1 && g->a_col == 1;
    if (!by_warps && !pith_device_tiles(g, grid))
        return false;
    const uint16_t *at = pith_device_weight(l, w, FORM_ELEMENTS);
    struct gemm_half_args h = {
        .g = *g, .w = at + (size_t)first * g->b_col, .is_bf16 = w->type == PITH_BF16};
    pith_device_grid(l, by_warps ? LAUNCH_gemv_half : LAUNCH_gemm_half, grid, &h, sizeof h);
    return true;
}

bool pith_device_conv_half(struct lowering *l, const struct conv_args *c, const uint32_t grid[3],
                           const struct weight *w)
{
    if (!is_half(w))
        return false;
    struct conv_half_args h = {
        .c = *c, .w = pith_device_weight(l, w, FORM_ELEMENTS), .is_bf16 = w->type == PITH_BF16};
    pith_device_grid(l, LAUNCH_conv_half, grid, &h, sizeof h);
    return true;
}
