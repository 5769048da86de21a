/* SPDX-License-Identifier: MIT */
/* integer_places.c - see integer_places.h. */
#include "products/integer_places.h"
#include <string.h>

/* n bytes of a place. */
struct place_copy {
    size_t to_step, x_step, n;
    uint8_t flip;
};

/* `count` places. A loop for each size, so that the copy of a few is one instruction. */
static void copy_places(uint8_t *to, const uint8_t *x, size_t count, const struct place_copy *c)
{
    const size_t to_step = c->to_step, x_step = c->x_step, n = c->n;
    const uint8_t flip = c->flip;
    const uint64_t flips = flip * UINT64_C(0x0101010101010101);
    uint64_t word;
    uint16_t half;
    if (n == 1)
        for (; count > 0; count--, to += to_step, x += x_step)
            *to = *x ^ flip;
    else if (n == 2)
        for (; count > 0; count--, to += to_step, x += x_step) {
            memcpy(&half, x, sizeof half);
            half ^= (uint16_t)flips;
            memcpy(to, &half, sizeof half);
        }
    for (; count > 0; count--, to += to_step, x += x_step) {
        size_t i = 0;
        for (; i + sizeof word <= n; i += sizeof word) {
            memcpy(&word, x + i, sizeof word);
            word ^= flips;
            memcpy(to + i, &word, sizeof word);
        }
        for (; i < n; i++)
            to[i] = x[i] ^ flip;
    }
}

/* What a row of places takes from a row of x: n bytes of each of `across` neighbours, the first
 * ones from column ix on, which may lie outside of x. */
struct place_row {
    uint8_t *to;
    const uint8_t *x; /* column 0; NULL: all is outside */
    size_t column, n; /* bytes */
    int64_t ix;
    uint32_t across; /* > 1: column is n */
};

/* Columns that lie in x are copied in one go; those outside, at both ends, are zeros of the grid,
 * which are bytes of the zero point. */
static void fill_row(const struct integer_conv *c, const struct integer_layout *l,
                     const struct place_row *p, uint8_t zero)
{
    const int64_t step = l->grid.step_w, w = p->x ? c->w : 0, count = (int64_t)l->width;
    const uint8_t flip = c->x_signed ? 0x80 : 0;
    for (int64_t q = 0, ix = p->ix; q < count;) {
        uint8_t *to = p->to + (size_t)q * l->pixel;
        if (ix >= 0 && ix + p->across <= w) {
            const int64_t fit = (w - ix - p->across) / step + 1;
            const int64_t inside = fit < count - q ? fit : count - q;
            copy_places(
                to, p->x + (size_t)ix * p->column, (size_t)inside,
                &(struct place_copy){l->pixel, (size_t)step * p->column, p->across * p->n, flip});
            q += inside;
            ix += inside * step;
            continue;
        }
        for (uint32_t i = 0; i < p->across; i++, to += p->n)
            if (ix + i >= 0 && ix + i < w)
                copy_places(to, p->x + (size_t)(ix + i) * p->column, 1,
                            &(struct place_copy){0, 0, p->n, flip});
            else if (p->n == 1)
                *to = zero;
            else
                memset(to, zero, p->n);
        q++;
        ix += step;
    }
}

/* Where x lies in planes, folded places are the rows of all channels, and of all rows in a place,
 * interleaved. Columns are then as many as the stride, so that elements of a row lie side by side;
 * of more rows than the kernel takes elements are long, as of patches, and copies of them fast. */
static bool interleaves(const struct integer_conv *c, const struct integer_layout *l)
{
    const uint32_t across = l->grid.across, rows = (l->grid.rows_folded ? l->grid.down : 1) * l->cg;
    return l->grid.folded && !c->channels_last && rows > 1 && rows <= INTERLEAVE_ROWS &&
           (across & (across - 1)) == 0 && across <= 16;
}

/* x: the first channel of the group. Rows above and below x are none to the kernel, which fills in
 * what their elements are; the columns of padding are those outside of its width. */
static void interleave_places(const struct integer_conv *c, const struct integer_layout *l,
                              const struct byte_rows *rows, const uint8_t *x,
                              const struct place_band *b, uint8_t *band)
{
    const uint32_t folded = l->grid.rows_folded ? l->grid.down : 1;
    const uint8_t *from[INTERLEAVE_ROWS];
    const struct interleave job = {.x = from,
                                   .rows = folded * l->cg,
                                   .element = l->grid.across,
                                   .at = -(int64_t)c->pad_left,
                                   .width = c->w,
                                   .flip = c->x_signed ? 0x80 : 0,
                                   .zero = (uint8_t)b->zero};
    for (uint64_t row = 0; row < b->rows; row++)
        for (uint32_t down = 0; down < l->grid.down; down += folded) {
            const int64_t top = (int64_t)(b->oy + row) * l->grid.step_h + down - c->pad_top;
            for (uint32_t i = 0; i < job.rows; i++) {
                const int64_t iy = top + i / l->cg;
                const size_t plane = (size_t)(i % l->cg) * c->h;
                from[i] = iy >= 0 && iy < c->h ? x + (plane + (size_t)iy) * c->w : NULL;
            }
            rows->interleave(&job, band + row * l->row + down * l->grid.down_bytes, l->width);
        }
}

/* Rows of the grid one behind the other, each for all taps that are kept apart in it. */
void pith_integer_fill_places(const struct integer_conv *c, const struct integer_layout *l,
                              const struct byte_rows *rows, const struct place_band *b,
                              uint8_t *band)
{
    const uint32_t planes = c->channels_last ? 1 : l->cg,
                   apart = l->grid.folded ? 1 : l->grid.across;
    const size_t n = c->channels_last ? l->cg : 1, column = c->channels_last ? c->channels : 1;
    const size_t plane = (size_t)c->h * c->w;
    const uint8_t *x =
        b->x + b->image * plane * c->channels + b->channel * (c->channels_last ? 1 : plane);
    if (interleaves(c, l)) {
        interleave_places(c, l, rows, x, b, band);
        return;
    }
    for (uint64_t row = 0; row < b->rows; row++)
        for (uint32_t i = 0; i < l->grid.down * apart * planes; i++) {
            const uint32_t down = i / planes / apart, across = i / planes % apart;
            const uint32_t channel = i % planes;
            const int64_t iy = (int64_t)(b->oy + row) * l->grid.step_h + down - c->pad_top;
            struct place_row p = {.to = band + row * l->row + down * l->grid.down_bytes +
                                        across * l->grid.across_bytes +
                                        channel * l->grid.channel_bytes,
                                  .column = column,
                                  .n = n,
                                  .ix = (int64_t)across - c->pad_left,
                                  .across = l->grid.folded ? l->grid.across : 1};
            if (iy >= 0 && iy < c->h)
                p.x = x + channel * plane + (size_t)iy * c->w * column;
            fill_row(c, l, &p, (uint8_t)b->zero);
        }
}
