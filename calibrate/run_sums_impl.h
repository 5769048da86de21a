/* SPDX-License-Identifier: MIT */
/* run_sums_impl.h - pith_run_sums for one instruction set; RUN_SUMS names it, its
 * vectors have WIDE bytes. Included by run_sums.c, run_sums_avx2.c and run_sums_avx512.c, whose
 * results are the same: element i is added in lane i mod 16 and the lanes are added in one order,
 * however many of them the machine takes at once. */
#include <string.h>

#define LANES 16
#define F32S (WIDE / 4) /* in a vector */
#define F64S (WIDE / 8)
#define AHEAD                                                                                      \
    2 /* times LANES numbers, of which no extreme and no count of zeros waits for another */
#define F32_VECTORS (AHEAD * LANES / F32S)

typedef float f32s __attribute__((vector_size(WIDE)));
typedef double f64s __attribute__((vector_size(WIDE)));
typedef int32_t i32s __attribute__((vector_size(WIDE)));
#ifndef OWN_VECTORS
typedef i32s integers;
typedef float half_f32s __attribute__((vector_size(WIDE / 2)));
#endif

struct lanes {
    f32s min[F32_VECTORS], max[F32_VECTORS];
    i32s n_zero[F32_VECTORS];
    f64s sum[LANES / F64S], squares[LANES / F64S];
};

#ifndef OWN_VECTORS
static inline f32s smaller(f32s a, f32s b)
{
    i32s take = a < b;
    return (f32s)((take & (i32s)a) | (~take & (i32s)b));
}

static inline f32s larger(f32s a, f32s b)
{
    i32s take = a > b;
    return (f32s)((take & (i32s)a) | (~take & (i32s)b));
}

static inline f64s doubles(const float *x)
{
    half_f32s v;
    memcpy(&v, x, sizeof v);
    return __builtin_convertvector(v, f64s);
}

/* The square of an f32 is exact, so whether it is rounded before it is added is nothing. */
static inline f64s plus_square(f64s sum, f64s d)
{
    return sum + d * d;
}

static inline integers plus_zeros(integers n, f32s v)
{
    return n - (v == (f32s){0});
}
#endif

static inline void add_extremes(struct lanes *l, int k, const float *x)
{
    f32s v;
    memcpy(&v, x, sizeof v);
    l->min[k] = smaller(v, l->min[k]);
    l->max[k] = larger(v, l->max[k]);
    l->n_zero[k] = (i32s)plus_zeros((integers)l->n_zero[k], v);
}

static inline void add_lanes(struct lanes *l, const float *x)
{
    for (int k = 0; k < LANES / F64S; k++) {
        f64s d = doubles(x + k * F64S);
        l->sum[k] += d;
        l->squares[k] = plus_square(l->squares[k], d);
    }
}

/* n: a multiple of AHEAD * LANES. */
static inline void add_whole(struct lanes *to, const float *x, size_t n)
{
    struct lanes l = *to; /* in registers */
    for (size_t i = 0; i < n; i += AHEAD * LANES) {
        for (int k = 0; k < F32_VECTORS; k++)
            add_extremes(&l, k, x + i + k * F32S);
        for (int k = 0; k < AHEAD; k++)
            add_lanes(&l, x + i + k * LANES);
    }
    *to = l;
}

/* n < AHEAD * LANES */
static inline void add_rest(struct lanes *l, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        f32s *min = &l->min[i / F32S], *max = &l->max[i / F32S];
        size_t k = i % F32S, lane = i % LANES;
        double d = x[i];
        (*min)[k] = x[i] < (*min)[k] ? x[i] : (*min)[k];
        (*max)[k] = x[i] > (*max)[k] ? x[i] : (*max)[k];
        l->n_zero[i / F32S][k] += x[i] == 0;
        l->sum[lane / F64S][lane % F64S] += d;
        l->squares[lane / F64S][lane % F64S] += d * d;
    }
}

/* Lanes count zeros in 32 bits: a part has at most LANES * 2^30 numbers. */
#define PART ((size_t)LANES << 30)

static inline void add_part(struct run_sums *r, const float *x, size_t n)
{
    struct lanes l;
    size_t whole = n - n % (AHEAD * LANES);
    memset(&l, 0, sizeof l);
    for (int k = 0; k < AHEAD * LANES; k++)
        l.min[k / F32S][k % F32S] = l.max[k / F32S][k % F32S] = x[0];
    add_whole(&l, x, whole);
    add_rest(&l, x + whole, n - whole);
    for (int k = 0; k < AHEAD * LANES; k++) {
        float min = l.min[k / F32S][k % F32S], max = l.max[k / F32S][k % F32S];
        r->min = min < r->min ? min : r->min;
        r->max = max > r->max ? max : r->max;
        r->n_zero += (uint64_t)l.n_zero[k / F32S][k % F32S];
    }
    for (int k = 0; k < LANES; k++) {
        r->sum += l.sum[k / F64S][k % F64S];
        r->squares += l.squares[k / F64S][k % F64S];
    }
}

void RUN_SUMS(const float *x, size_t n, struct run_sums *r)
{
    *r = (struct run_sums){.min = x[0], .max = x[0]};
    for (size_t i = 0; i < n; i += PART)
        add_part(r, x + i, n - i < PART ? n - i : PART);
    r->min += 0.0f; /* -0 becomes 0: which of the two came first must not show */
    r->max += 0.0f;
}
