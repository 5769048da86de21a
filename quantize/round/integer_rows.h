/* SPDX-License-Identifier: MIT */
/* integer_rows.h - what a layer of integers multiplies its weights with, and what the float network
 * gives there, as rows of floats (layer_moments.h). */
#ifndef INTEGER_ROWS_H
#define INTEGER_ROWS_H

#include "integer_layers.h"
#include "layers/layer_moments.h"

struct integer_rows {
    const struct layer_inputs *in; /* borrowed */
    const struct integer_layer *l;
    /* Of each position the numbers x - zero point under the taps, 0 where these lie outside. */
    struct layer_rows x;
    /* in->goal less the bias, in steps of the input's grid; n 0: not known */
    struct layer_rows goal;
};

/* *r stays where it is until the end: rows read through it. PITH_ERR_MEMORY; end in any case. */
enum pith_status pith_integer_rows(const struct layer_inputs *in, const struct integer_layer *l,
                                   struct integer_rows *r);
void pith_integer_rows_end(struct integer_rows *r);

/* Samples read one by one. */
struct row_reader {
    const struct integer_rows *rows;
    float *x, *y; /* a sample's */
};

/* False: no memory. Close in any case. */
bool pith_row_reader_open(struct row_reader *reader, const struct integer_rows *rows);
void pith_row_reader_close(struct row_reader *reader);
void pith_row_reader_sample(struct row_reader *reader, uint64_t sample);

#endif
