/* SPDX-License-Identifier: MIT */
/* quad_tail.h - the tail of spmm_quads_impl.h: half a vector or a quarter, 8 columns of x or 4,
 * whichever registers the level has besides. `tail` is a constant in each call; 0: there is none.
 */
#ifndef QUAD_TAIL_H
#define QUAD_TAIL_H

#include <immintrin.h>

/* Sum q takes the q-th nonzero of each quad, as those of whole vectors. */
struct tail_sums {
    __m256 eight[4];
    __m128 four[4];
};

/* from: the sums of the block before, or NULL. */
static inline __attribute__((always_inline)) void tail_begin(struct tail_sums *s, const float *from,
                                                             const int tail)
{
    s->eight[0] = !from || tail != 8 ? _mm256_setzero_ps() : _mm256_loadu_ps(from);
    s->eight[1] = s->eight[2] = s->eight[3] = _mm256_setzero_ps();
    s->four[0] = !from || tail != 4 ? _mm_setzero_ps() : _mm_loadu_ps(from);
    s->four[1] = s->four[2] = s->four[3] = _mm_setzero_ps();
}

/* w: the nonzero in each lane; x: its row of the tail. */
static inline __attribute__((always_inline)) void tail_add(struct tail_sums *s, int q, vec w,
                                                           const float *x, const int tail)
{
    if (tail == 8)
        s->eight[q] = _mm256_fmadd_ps(vec_eight(w), _mm256_loadu_ps(x), s->eight[q]);
    if (tail == 4)
        s->four[q] = _mm_fmadd_ps(vec_four(w), _mm_loadu_ps(x), s->four[q]);
}

static inline __attribute__((always_inline)) void tail_end(const struct tail_sums *s, float *to,
                                                           const int tail)
{
    if (tail == 8)
        _mm256_storeu_ps(to, _mm256_add_ps(_mm256_add_ps(s->eight[0], s->eight[1]),
                                           _mm256_add_ps(s->eight[2], s->eight[3])));
    if (tail == 4)
        _mm_storeu_ps(
            to, _mm_add_ps(_mm_add_ps(s->four[0], s->four[1]), _mm_add_ps(s->four[2], s->four[3])));
}

#endif
