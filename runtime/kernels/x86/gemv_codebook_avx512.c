/* SPDX-License-Identifier: MIT */
/* gemv_codebook_avx512.c - gemv_codebook_impl.h with 16 lanes: a look-up is one VPERMPS or
 * VPERMT2PS. */
#include <immintrin.h>
#include "kernels/kernel_sparse.h"

#define LANES 16u
#define NAME(n) n##_avx512
#define VEC __m512
#define IVEC __m512i
#define ZERO() _mm512_setzero_ps()
#define ADD _mm512_add_ps
#define MULTIPLY_ADD _mm512_fmadd_ps
#define LOAD(p) _mm512_loadu_ps(p)
#define LOAD_WORDS(p) _mm512_loadu_si512(p)
#define SHIFT_RIGHT(v, n) _mm512_srli_epi32(v, n)
#define SUM _mm512_reduce_add_ps

typedef __m512 TABLE4[1];
typedef __m512 TABLE5[2];
#define LOAD_TABLE4(t, c) ((t)[0] = _mm512_loadu_ps(c))
#define LOAD_TABLE5(t, c) ((t)[0] = _mm512_loadu_ps(c), (t)[1] = _mm512_loadu_ps((c) + 16))
#define LOOK_UP4(t, words) _mm512_permutexvar_ps(words, (t)[0])
#define LOOK_UP5(t, words) _mm512_permutex2var_ps((t)[0], words, (t)[1])

#include "kernels/x86/gemv_codebook_impl.h"
