/* SPDX-License-Identifier: MIT */
/* device_integer_packed.c - products of 8-bit integers with weights of the plan, which are packed
 * for the device (pack_integer.c). */
#include "device_product.h"
#include "pack_forms.h"
#include "op_interface/op_attr.h"

enum { IN_ZERO_WEIGHT = 3 };

/* Whether all weights are distances from 0, when they are signed. */
static bool has_no_zero(const struct lowering *l, const struct op_args *args)
{
    const bool is_signed = args->in[1]->type == PITH_I8;
    const struct tview *t = args->n_in > IN_ZERO_WEIGHT ? args->in[IN_ZERO_WEIGHT] : NULL;
    if (!t)
        return is_signed;
    if (!pith_device_is_constant(l, t))
        return false;
    for (size_t i = 0; i < shape_elems(&t->shape); i++)
        if (((const uint8_t *)t->data)[i] != (is_signed ? 0 : 0x80))
            return false;
    return true;
}

static struct packed_i8 packed(struct lowering *l, const struct op_args *args, bool turned,
                               const struct integer_layout *h)
{
    const uint8_t *at =
        pith_device_form(l, args->weight, turned ? FORM_INTEGER_TURNED : FORM_INTEGER, h->bytes);
    return (struct packed_i8){.w = at,
                              .sum = (const int32_t *)(const void *)(at + h->sums),
                              .row = h->row,
                              .sums_values = !has_no_zero(l, args)};
}

/* Whether pixels of x are pixels of y, and four of a plane a word. */
static bool is_flat(const struct conv_i8_args *i)
{
    const struct conv_args *c = &i->s;
    return c->kh == 1 && c->kw == 1 && c->stride_h == 1 && c->stride_w == 1 && c->h == c->oh &&
           c->width == c->ow && c->pad_top == 0 && c->pad_left == 0 && c->h * c->width % 4 == 0 &&
           (uintptr_t)i->x % 4 == 0;
}

/* Pixels of all images lie one behind the other along x. */
bool pith_device_conv_packed(struct lowering *l, const struct conv_i8_args *c,
                             const struct op_args *args)
{
    const uint32_t images = args->in[0]->shape.dim[0];
    struct integer_layout h;
    uint32_t grid[3];
    if (!args->weight || !pith_device_integer_layout(args->weight, false, &h) ||
        h.channels != c->s.channels || !pith_device_conv_tiles(&c->s, 1, grid))
        return false;
    grid[0] = ((uint32_t)(c->s.oh * c->s.ow) * images + GEMM_TILE - 1) / GEMM_TILE;
    struct conv_packed_i8_args p = {
        .c = *c, .w = packed(l, args, false, &h), .channel_step = h.channel_step, .images = images};
    if (!p.w.sums_values)
        p.c.s.split = pith_device_shares(l, grid, h.row, I8_SLICE, c->s.n);
    pith_device_grid(l, is_flat(c) ? LAUNCH_conv_flat_i8 : LAUNCH_conv_packed_i8, grid, &p,
                     sizeof p);
    if (p.c.s.split.parts > 1)
        pith_device_launch(l, LAUNCH_conv_splits_i8, c->s.n, &p, sizeof p);
    return true;
}

bool pith_device_gemm_packed(struct lowering *l, const struct gemm_i8_args *g,
                             const struct op_args *args)
{
    const bool turned = args->attr[ATTR_MATMUL_TRANS_B] == 0;
    struct integer_layout h;
    if (!args->weight || g->s.batch_rank != 0 || args->weight->shape.rank != 2 ||
        !pith_device_integer_layout(args->weight, turned, &h) || h.rows != g->s.n ||
        h.channels != g->s.k)
        return false;
    const uint32_t grid[3] = {(g->s.n + GEMM_TILE - 1) / GEMM_TILE,
                              (g->s.m + GEMM_TILE - 1) / GEMM_TILE, 1};
    struct gemm_packed_i8_args p = {.g = *g,
                                    .w = packed(l, args, turned, &h),
                                    .whole = g->s.a_row % 16 == 0 && (uintptr_t)g->a % 16 == 0};
    const uint32_t warps[3] = {(g->s.n + GEMV_ROWS - 1) / GEMV_ROWS, g->s.m, 1};
    if (g->s.m <= FEW_ROWS)
        pith_device_grid(l, LAUNCH_gemv_packed_i8, warps, &p, sizeof p);
    else
        pith_device_grid(l, LAUNCH_gemm_packed_i8, grid, &p, sizeof p);
    return true;
}
