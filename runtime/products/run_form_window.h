/* SPDX-License-Identifier: MIT */
/* run_form_window.h - packs nonzeros into the sliding-window form (FORM_WINDOW). */
#ifndef RUN_FORM_WINDOW_H
#define RUN_FORM_WINDOW_H

#include "kernels/kernel_sparse.h"

uint64_t pith_window_scratch_bytes(uint32_t rows, uint32_t cols);

/* Entries behind the last nonzero that pos (UINT32_MAX) and index (anything) must have. */
#define WINDOW_SENTINELS 3u

/* Rewrites *f, laid out as FORM_CSR_CODEBOOK with its codebook (of 32) in place, into a FORM_WINDOW
 * of at most f->bytes; false, with *f as it was, when the pattern needs more. pos[nnz]: element
 * numbers ascending. index[nnz]: centroids. Both with WINDOW_SENTINELS more. scratch:
 * pith_window_scratch_bytes, 64-byte aligned. */
bool pith_window_build(struct run_form *f, const uint32_t *pos, const uint8_t *index, uint32_t nnz,
                       void *scratch);

#endif
