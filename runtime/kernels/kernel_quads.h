/* SPDX-License-Identifier: MIT */
/* kernel_quads.h - a sparse matrix times a narrow one, y = act(W x + bias + residual): what
 * products of a few rows and sparse convolutions are made of. A nonzero is read once and multiplied
 * with a whole row of x.
 *
 * W is [rows, cols]; x is a panel [cols][width], rows of `width` floats one behind the other, of
 * which the first n columns count. The form (struct quad_form, then the arrays its offsets name)
 * is one relocatable block of memory, made for one width:
 *
 *     unit u       rows 256 u .. 256 u + 255; each of its rows is one slot of every block
 *     block b      columns b * block_cols ..: so many rows of x as stay in the first caches
 *     slot         row of the unit and number of quads; within a block by falling number, so that
 *                  the loop over quads ends when the processor expects it
 *     quad         four nonzeros: of each the place of its row of x and its value. What fills up
 *                  the last quad of a slot is weight 0 and the block's first row of x.
 *
 * Contract. Exactness: |y - exact| <= 2 K 2^-24 sum |w x| before the activation, K the row's
 * terms, those added included. Each element is four sums, one for each place of a quad, added as
 * (0 + 1) + (2 + 3) at the end of a block; the next block's first sum goes on from there. Vector
 * levels have the same bits, whatever n, the units of a call and the width. Columns of x from n on
 * are read and ignored; y and residual have nothing outside the elements described read or
 * written. Infinities and NaN in x may reach rows whose weights there are 0. */
#ifndef PITH_KERNEL_QUADS_H
#define PITH_KERNEL_QUADS_H

#include <stdint.h>

#include "kernels/kernel_dense.h"

#define QUAD_UNIT_ROWS 256u
#define QUAD_PLACE_FLOATS 2u /* places of rows of x are in pairs of floats */
#define QUAD_WIDTH_STEP 16u  /* width is a multiple: of the lanes of every level */
#define QUAD_WIDTH_MAX 48u

struct quad_slot {
    uint16_t row; /* of the unit */
    uint16_t quads;
};

/* All offsets count bytes from the struct's first byte and are multiples of 64. */
struct quad_form {
    uint32_t rows, n_units, n_blocks, block_cols, width;
    uint32_t codebook_floats; /* up to 256, weights are u8 indices; 0: they are f32 */
    uint64_t bytes;           /* of the whole form */
    uint64_t codebook;        /* f32 */
    uint64_t ptr;             /* u32[n_units]: the first quad of each */
    uint64_t slot;            /* [n_units][n_blocks][QUAD_UNIT_ROWS] */
    uint64_t place;           /* u16[4 quads]: of a row of x, from its block's first, by 8 bytes */
    uint64_t weight;          /* u8[4 quads] or f32[4 quads] */
};

struct quads_job {
    const struct quad_form *form;
    const float *x; /* [cols][width], or with width 16 [panels][cols][16] */
    size_t x_step;  /* floats from 16 columns of x to the next 16 */
    /* NULL, or the last n % 16 columns, half a vector at most: [cols][4] up to 4 of them, [cols][8]
     * up to 8. Then weights are indices, width is 16, n above it, rows of y have room for all of
     * these, and bias, residual and act are left to the caller. */
    const float *tail;
    float *y; /* rows of the units, row stride ldy */
    size_t ldy;
    const float *bias;     /* of these rows, or NULL */
    const float *residual; /* as y, or NULL */
    uint32_t n;            /* columns, <= width */
    uint32_t unit_begin, unit_end;
    struct dense_act act;
};

typedef void quads_fn(const struct quads_job *job);

static inline uint32_t quad_unit_rows(const struct quad_form *f, uint32_t unit)
{
    uint32_t left = f->rows - unit * QUAD_UNIT_ROWS;
    return left < QUAD_UNIT_ROWS ? left : QUAD_UNIT_ROWS;
}

static inline const struct quad_slot *quad_slots(const struct quad_form *f, uint32_t unit,
                                                 uint32_t block)
{
    const uint8_t *base = (const uint8_t *)f + f->slot;
    return (const struct quad_slot *)(const void *)base +
           ((size_t)unit * f->n_blocks + block) * QUAD_UNIT_ROWS;
}

#endif
