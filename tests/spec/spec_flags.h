/* SPDX-License-Identifier: MIT */
/* spec_flags.h - the matrix that an adaptive tensor is: whether it is selective, flags of its rows
 * and columns, place and line: S8, "The matrix". */
#ifndef SPEC_FLAGS_H
#define SPEC_FLAGS_H

#include "spec_model.h"
#include "spec_tensor.h"

uint64_t rows_of(const struct tensor *t);
bool is_selective(const struct tensor *t);

/* Of a tensor of so many columns. */
void find_places(const struct tensor *t, uint64_t cols, uint64_t *place, uint64_t *line);

/* A byte for each row, each column: its flag. The caller frees them. */
uint8_t *read_row_flags(struct model *m, uint64_t rows);
uint8_t *read_column_flags(struct model *m, const struct tensor *t, uint64_t cols, uint64_t place,
                           uint64_t line);

#endif
