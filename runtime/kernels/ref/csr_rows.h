/* SPDX-License-Identifier: MIT */
/* csr_rows.h - rows of a matrix in row-pointer form, as kernels of several instruction sets read
 * them. */
#ifndef CSR_ROWS_H
#define CSR_ROWS_H

#include "kernels/kernel_sparse.h"

#define UNIT_ROWS 16u

struct rows {
    const uint32_t *ptr;
    const uint16_t *col;
    const uint8_t *index;
    const float *value;
    uint32_t begin, end;
};

/* Those of the units [unit_begin, unit_end); index and value are the same bytes, of which a form
 * has one or the other. */
static inline struct rows rows_of(const struct run_form *f, uint32_t unit_begin, uint32_t unit_end)
{
    const void *stream = form_at(f, f->index);
    return (struct rows){form_at(f, f->ptr),
                         form_at(f, f->col),
                         stream,
                         stream,
                         unit_begin * UNIT_ROWS,
                         unit_end < f->n_units ? unit_end * UNIT_ROWS : f->rows};
}

#endif
