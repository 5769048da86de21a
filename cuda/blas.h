/* SPDX-License-Identifier: MIT */
/* blas.h - large dense products by cuBLASLt, where it is on the machine. It is looked for when the
 * first product needs it (dlopen), never linked; where it is missing, refuses or is slower, tiles
 * of our own do the product. */
#ifndef BLAS_H
#define BLAS_H

#include "driver.h"

#define BLAS_WORK (UINT64_C(4) << 20) /* bytes that a product may work in */

/* Opens the library, "" by the names that are known. NULL: `why` (of `bytes`) says, in one line,
 * what is missing or failed. The device's context is current, here and below. */
struct pith_blas *pith_blas_open(const char *library, char *why, size_t bytes);
void pith_blas_close(struct pith_blas *b); /* accepts NULL */

/* A product that cuBLASLt can compute: its steps and batches are such as it has, and it is large
 * enough to be worth a call. factors: the type of a and b (enum value_type), or BLAS_BYTES: signed
 * ones, whose terms lie side by side in a and in b, with nothing behind the sum; y is int32_t then.
 * All but f32 have rows and matrices that begin at 16 bytes. */
#define BLAS_BYTES 3u
bool pith_blas_takes(const struct gemm_args *g, uint32_t factors);
/* Whether it computes what is behind the sum, too: a bias for each column, of y's type, a residual
 * of y's type, ReLU, and in 16 bits GELU by tanh. */
bool pith_blas_has_tail(const struct gemm_args *g);
/* Readied, with all pointers of g on the device, and BLAS_WORK bytes at work. NULL: there is no
 * algorithm for it, or no memory. Owned by the caller; goes before the library. */
struct blas_product *pith_blas_product_new(struct pith_blas *b, const struct gemm_args *g,
                                           uint32_t factors, void *work);
void pith_blas_product_free(struct blas_product *p); /* accepts NULL */
/* Puts it on the stream. 0, or a result of the driver. */
int pith_blas_run(const struct blas_product *p, device_stream stream);

#endif
