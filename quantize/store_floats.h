/* SPDX-License-Identifier: MIT */
/* store_floats.h - 2 bytes in the file for each number that stays float, or 1 for each weight.
 */
#ifndef PITH_STORE_FLOATS_H
#define PITH_STORE_FLOATS_H

#include "pith_model.h"

struct pith_stored_floats {
    uint64_t n_numbers; /* elements that have 2 bytes now */
    uint32_t n_tensors; /* with these */
    uint32_t n_beyond;  /* tensors left as f32, because the type does not have their range */
};

/* type: PITH_F16 or PITH_BF16. The f32 constants of m that nodes read - weights, biases, parameters
 * of normalizations, tables - are rounded to it, to nearest, ties to even, and the file has 2 bytes
 * for each element (pith_const.stored); the network computes in f32 with just what is stored. Left
 * as they are:
 *
 *   - scales of QuantizeLinear and DequantizeLinear, factors of Requantize: these are what the
 *     integers mean;
 *   - single numbers, of which the file would be no smaller, and tensors with a codebook;
 *   - tensors (n_beyond) with a NaN, an infinity or an element that rounds to one, |x| >= 65,520 in
 *     f16; in f16 also those, not all 0, with all elements below 2^-14, of which few digits would
 *     be left.
 *
 * *report may be NULL. PITH_ERR_ARGUMENT: another type; PITH_ERR_MEMORY. m and *report are
 * untouched after both. */
enum pith_status pith_store_floats(struct pith_model *m, enum pith_type type,
                                   struct pith_stored_floats *report, struct pith_error *err);

/* Fewer elements than this do not pay for 256 centroids. */
#define PITH_STORE_CODEBOOK_LEAST 1024u

/* Can c have a codebook: has it 2 bytes an element, none, and enough elements of at most 32,768? */
bool pith_may_store_codebook(const struct pith_const *c);

/* Constant `value` of m, [rows, ...], which may have one, gets a codebook: of up to 256 numbers of
 * f16 for all (the k-means optimum of pith_cluster), or a row's own k * step, |k| <= 127 (a table
 * takes 2 to 5 bytes in the file then), whichever has less squared error. Its elements become
 * centroids, and the file has a byte, or less, for each. PITH_ERR_MEMORY: the constant is
 * untouched. */
enum pith_status pith_store_codebook(struct pith_model *m, uint32_t value, struct pith_error *err);

#endif
