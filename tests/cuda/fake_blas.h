/* SPDX-License-Identifier: MIT */
/* fake_blas.h - what tests call in the fake cuBLASLt (fake_blas.c), which they find by dlsym. */
#ifndef FAKE_BLAS_H
#define FAKE_BLAS_H

#include <stdint.h>

/* What fails: opening it, finding an algorithm (1: with a status, 2: it finds none), the n-th
 * product (from 1 on; 0: none). */
struct fake_blas_behaviour {
    uint32_t no_handle, no_algorithm, failing_product;
};
struct fake_blas_counts {
    uint64_t objects; /* alive now: handles, descriptors, layouts */
    uint64_t products;
};

void fake_blas_set(const struct fake_blas_behaviour *behaviour);
struct fake_blas_counts fake_blas_counts(void);

#endif
