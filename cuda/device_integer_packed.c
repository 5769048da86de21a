/* SPDX-License-Identifier: MIT */
/* device_integer_packed.c - products of 8-bit integers with weights of the plan, which are packed
 * for the device (pack_rows.c). */
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
                               const struct rows_layout *h)
{
    const uint8_t *at =
        pith_device_form(l, args->weight, turned ? FORM_ROWS_TURNED : FORM_ROWS, h->bytes);
    return (struct packed_i8){.w = at,
                              .sum = (const int32_t *)(const void *)(at + h->sums),
                              .row = h->row,
                              .sums_values = !has_no_zero(l, args)};
}

/* Whether pixels of x are pixels of y, and four of a plane a word. */
static bool is_flat(const struct conv_i8_args *i)
{
    return pith_device_is_pointwise(&i->s) && i->s.h * i->s.width % 4 == 0 &&
           (uintptr_t)i->x % 4 == 0;
}

/* Pixels of all images lie one behind the other along x. */
bool pith_device_conv_packed(struct lowering *l, const struct conv_i8_args *c,
                             const struct op_args *args)
{
    const uint32_t images = args->in[0]->shape.dim[0], first = l->n_actions;
    const uint32_t pixels = (uint32_t)(c->s.oh * c->s.ow);
    struct rows_layout h;
    uint32_t grid[3];
    if (!args->weight || !pith_device_rows_layout(args->weight, true, false, &h) ||
        h.channels != c->s.channels || !pith_device_conv_tiles(&c->s, 1, grid))
        return false;
    grid[0] = (pixels * images + GEMM_TILE - 1) / GEMM_TILE;
    struct conv_packed_i8_args p = {
        .c = *c, .w = packed(l, args, false, &h), .channel_step = h.channel_step, .images = images};
    if (!p.w.sums_values)
        p.c.s.split = pith_device_shares(l, grid, h.row, I8_SLICE, c->s.n);
    pith_device_grid(l, is_flat(c) ? LAUNCH_conv_flat_i8 : LAUNCH_conv_packed_i8, grid, &p,
                     sizeof p);
    if (p.c.s.split.parts > 1)
        pith_device_launch(l, LAUNCH_conv_splits_i8, c->s.n, &p, sizeof p);
    if (is_flat(c) && c->s.groups == 1)
        pith_device_bytes_or_blas(l, first, &p,
                                  (struct rows_i8_args){c->x, NULL, c->x_signed, pixels, h.channels,
                                                        h.row, 1, pixels, pixels * h.channels},
                                  images);
    return true;
}

/* As a convolution of images of one pixel, whose sums have the order of y. */
static void gemm_or_blas(struct lowering *l, uint32_t first, const struct gemm_packed_i8_args *p)
{
    const struct gemm_i8_args *g = &p->g;
    struct conv_args s = {.n = g->s.m * g->s.n, .channels = g->s.k, .outputs = g->s.n};
    s.groups = 1;
    s.kh = s.kw = s.oh = s.ow = 1;
    const struct conv_i8_args c = {g->a, NULL,        g->zero_a,   g->zero_b,      NULL, g->y,
                                   s,    g->a_signed, g->b_signed, g->zero_b_step, g->q};
    if (g->zero_a_step == 0)
        pith_device_bytes_or_blas(l, first, &(struct conv_packed_i8_args){c, p->w, 0, 0},
                                  (struct rows_i8_args){g->a, NULL, g->a_signed, g->s.m, g->s.k,
                                                        p->w.row, g->s.a_row, 1, 0},
                                  0);
}

/* Of small matrices warps share the rows of a group. */
void pith_device_few_rows(struct lowering *l, const struct gemm_i8_args *g, const struct codes *w)
{
    const uint32_t many = g->s.m > 1 ? CODES_MANY : 1;
    const uint32_t groups = (g->s.n + CODES_ROWS - 1) / CODES_ROWS;
    struct gemv_i8_args p = {.g = *g,
                             .w = *w,
                             .whole =
                                 (uintptr_t)g->a % 4 == 0 && (g->s.m == 1 || g->s.a_row % 4 == 0)};
    while (2u << p.log2_parts <= w->steps && 2u << p.log2_parts <= GEMV_ROWS)
        p.log2_parts++;
    const uint32_t teams = GEMV_ROWS >> p.log2_parts;
    const uint32_t grid[3] = {(g->s.m + many - 1) / many, (groups + teams - 1) / teams, 1};
    pith_device_grid(l, many > 1 ? LAUNCH_gemv_codes_i8_many : LAUNCH_gemv_codes_i8, grid, &p,
                     sizeof p);
}

bool pith_device_gemm_packed(struct lowering *l, const struct gemm_i8_args *g,
                             const struct op_args *args)
{
    const bool turned = args->attr[ATTR_MATMUL_TRANS_B] == 0;
    struct rows_layout h;
    struct codes_layout c;
    if (!args->weight || g->s.batch_rank != 0 || args->weight->shape.rank != 2 ||
        !pith_device_rows_layout(args->weight, true, turned, &h) || h.rows != g->s.n ||
        h.channels != g->s.k)
        return false;
    if (g->s.m <= FEW_ROWS && g->s.n <= CODES_ROWS * GRID_LIMIT &&
        pith_device_codes_layout(args->weight, turned, &c)) {
        const uint8_t *at =
            pith_device_form(l, args->weight, turned ? FORM_CODES_TURNED : FORM_CODES, c.bytes);
        const struct codes w = {.book = (const void *)at,
                                .word = (const void *)((uintptr_t)at + (uintptr_t)c.words),
                                .bits = c.bits,
                                .steps = c.steps};
        pith_device_few_rows(l, g, &w);
        return true;
    }
    const uint32_t grid[3] = {(g->s.n + GEMM_TILE - 1) / GEMM_TILE,
                              (g->s.m + GEMM_TILE - 1) / GEMM_TILE, 1};
    struct gemm_packed_i8_args p = {.g = *g,
                                    .w = packed(l, args, turned, &h),
                                    .whole = g->s.a_row % 16 == 0 && (uintptr_t)g->a % 16 == 0};
    pith_device_grid(l, LAUNCH_gemm_packed_i8, grid, &p, sizeof p);
    gemm_or_blas(l, l->n_actions - 1, &p);
    return true;
}
