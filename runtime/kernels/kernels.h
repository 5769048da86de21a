/* SPDX-License-Identifier: MIT */
/* kernels.h - the kernel table: what decides speed, one function pointer per kernel.
 *
 * The table is filled by pith_kernels_fill from the CPU features a plan may use: the scalar
 * reference (ref/) first, then every level the CPU has, worst to best (x86/). Operators call only
 * through the table. Contracts stand at the members: in kernel_dense.h, kernel_integer.h,
 * kernel_row.h and kernel_sparse.h. */
#ifndef PITH_KERNELS_H
#define PITH_KERNELS_H

#include "kernels/kernel_dense.h"
#include "kernels/kernel_integer.h"
#include "kernels/kernel_row.h"
#include "kernels/kernel_sparse.h"

struct pith_kernels {
    uint32_t features; /* the set it was filled for */
    struct dense_kernels dense;
    struct sparse_kernels sparse;
    struct row_kernels row;
    struct integer_kernels integer;
};

/* features: a subset of pith_cpu_features(); 0: the reference alone. */
void pith_kernels_fill(struct pith_kernels *kernels, uint32_t features);

/* The table's, or the reference where an operator runs without one (NULL: while a graph is folded).
 */
const struct row_kernels *pith_row_kernels(const struct pith_kernels *kernels);

/* pith_activate_row with the kernels there are: y[i] = act(x[i]), i < n; y may be x. */
void pith_activate_by(const struct row_kernels *row, struct dense_act act, const float *x, float *y,
                      size_t n);

#endif
