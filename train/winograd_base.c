/* SPDX-License-Identifier: MIT */
/* winograd_base.c - winograd_impl.h for every CPU: the compiler's own vectors. */
#include <string.h>

#define LANES 4
typedef float vec __attribute__((vector_size(16)));
typedef int vmask; /* lanes [0, vmask) */

static inline vmask vmask_range(int from, int to)
{
    return to - from;
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

#define MR 4
#define TABLE pith_winograd_base
#include "winograd_impl.h"
