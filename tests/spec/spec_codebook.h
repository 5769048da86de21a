/* SPDX-License-Identifier: MIT */
/* spec_codebook.h - codebooks: S6; that of integers: F5, "Of all tensors". Values are the bits of
 * an f32. */
#ifndef SPEC_CODEBOOK_H
#define SPEC_CODEBOOK_H

#include "spec_tensor.h"

/* [n_groups * n_centroids], which the caller frees; the codebook ends with its span. */
uint32_t *read_codebook(const struct tensor *t);

/* Of a codebook whose span goes on behind it, as those of adaptive tensors do at first. */
uint64_t codebook_bytes(const struct tensor *t);

void write_value(const struct tensor *t, uint8_t *value, uint64_t i, uint32_t bits);

#endif
