/* SPDX-License-Identifier: MIT */
/* spmm_quads_neon.c - 16 columns at once: 16 sums, the weights, an element of x. A vector is four
 * columns, so there are no tails. */
#include "kernels/arm/simd_neon.h"
#define NV 4

struct tail_sums {
    char none;
};

static inline void tail_begin(struct tail_sums *s, const float *from, int tail)
{
    (void)s, (void)from, (void)tail;
}

static inline void tail_add(struct tail_sums *s, int q, vec w, const float *x, int tail)
{
    (void)s, (void)q, (void)w, (void)x, (void)tail;
}

static inline void tail_end(const struct tail_sums *s, float *to, int tail)
{
    (void)s, (void)to, (void)tail;
}

#include "kernels/ref/spmm_quads_impl.h"
