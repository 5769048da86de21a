/* SPDX-License-Identifier: MIT */
/* simd_base.h - the vector operations of the templates here (*_impl.h) for every CPU: the
 * compiler's own vectors. simd_avx2.h and simd_avx512.h of the runtime have the same
 * names. */
#ifndef SIMD_BASE_H
#define SIMD_BASE_H

#include <string.h>

#define LANES 4
typedef float vec __attribute__((vector_size(16)));
typedef int vmask; /* lanes [0, vmask) */

/* from: 0 */
static inline vmask vmask_range(int from, int to)
{
    return to < from ? 0 : to > LANES ? LANES : to - from;
}

static inline vec vec_zero(void)
{
    return (vec){0};
}

static inline vec vec_set1(float f)
{
    return (vec){f, f, f, f};
}

static inline vec vec_load(const float *p)
{
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline vec vec_load_some(const float *p, vmask m)
{
    float v[LANES] = {0};
    memcpy(v, p, (size_t)m * sizeof *p);
    return vec_load(v);
}

static inline void vec_store(float *p, vec v)
{
    memcpy(p, &v, sizeof v);
}

static inline void vec_store_some(float *p, vmask m, vec v)
{
    memcpy(p, &v, (size_t)m * sizeof *p);
}

/* elements 0, 2 of lo, hi (in sequence); 1, 3 */
static inline vec vec_even(vec lo, vec hi)
{
    return (vec){lo[0], lo[2], hi[0], hi[2]};
}

static inline vec vec_odd(vec lo, vec hi)
{
    return (vec){lo[1], lo[3], hi[1], hi[3]};
}

static inline vec vec_fma(vec a, vec b, vec c)
{
    return a * b + c;
}

static inline vec vec_add(vec a, vec b)
{
    return a + b;
}

static inline vec vec_mul(vec a, vec b)
{
    return a * b;
}

static inline float vec_sum(vec v)
{
    return (v[0] + v[1]) + (v[2] + v[3]);
}

/* Half a vector where those are wide: here the same. */
typedef vec rvec;
#define rvec_set1 vec_set1
#define rvec_load vec_load
#define rvec_load_some vec_load_some
#define rvec_store vec_store
#define rvec_store_some vec_store_some
#define rvec_fma vec_fma
#define rvec_add vec_add

#endif
