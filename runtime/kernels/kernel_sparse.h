/* SPDX-License-Identifier: MIT */
/* kernel_sparse.h - matrix-vector products y = W x straight from a compressed run form.
 *
 * W is [rows, cols]. A run form is one relocatable block of memory (struct run_form, then the
 * arrays its offsets name); run_form.c builds it, the kernels below read it and nothing else. Its
 * work is cut into n_units units; a unit writes up to 16 entries of y that no other unit writes, so
 * threads split units. Every entry of y is written by some unit (rows without nonzeros get 0).
 *
 * Kinds:
 *
 *   FORM_CSR        any support, any values. Row r owns entries row_ptr[r] .. row_ptr[r+1] - 1:
 *                   columns u16, and index u8 (into the row's codebook) or value f32.
 *                   Unit u: rows 16 u .. 16 u + 15.
 *   FORM_WINDOW     any support, one codebook of up to 32 centroids (padded to 32), at least 31
 *                   columns; built for registers, not for gathers. Unit u: 16 rows (lanes), row
 *                   row[16 u + lane] each (UINT32_MAX: none). Its triples are word[16 t + lane]
 *                   for t = triple_ptr[u] .. triple_ptr[u+1] - 1. Before triple t the unit's
 *                   window of 31 columns, which starts at column 0, moves on by step[t]. A word
 *                   holds three slots in six fields of 5 bits, three in each half:
 *                       bits 0 col0   5 index0  10 col2   16 col1  21 index1  26 index2
 *                   col: column in the window (31: an empty slot, x = 0); index: centroid.
 *   FORM_DENSE4     dense, codebook of up to 16: row r is a sequence of blocks of 128 columns, 64
 *                   bytes each; word i of a block holds in bits 4 j .. 4 j + 3 the index of column
 *                   16 j + i.
 *   FORM_DENSE5     dense, codebook of up to 32: blocks of 96 columns; word i holds in bits 5 j ..
 *                   5 j + 4 the index of column 16 j + i (j < 6).
 *   FORM_DENSE8     dense, codebook of up to 256: blocks of 64 columns; byte 16 l + 4 q + e holds
 *                   the index of column 16 q + 4 l + e (what a byte-plane look-up leaves behind).
 *                   Unit u of the dense kinds: rows 4 u .. 4 u + 3.
 *
 * Contract of all kernels. x: [cols] f32, any alignment, never read outside; y: [rows] f32, no
 * overlap with x. Exactness: |y - exact| <= 2 K 2^-24 sum |w x| with K the row's terms; the order
 * of the sum differs between levels and is the same on every run of one level, whatever the units
 * per call. Finite x gives no NaN that a dense product would not give; with infinities or NaN in x
 * a row may become NaN even where its weight there is 0 (as it does in a dense product). */
#ifndef PITH_KERNEL_SPARSE_H
#define PITH_KERNEL_SPARSE_H

#include <stdint.h>
#include "core/bytes.h"
#include "kernels/kernel_list.h"
#include "kernels/kernel_quads.h"
#include "pith_types.h"

enum run_form_kind {
    FORM_CSR_VALUE = 0,
    FORM_CSR_CODEBOOK = 1,
    FORM_WINDOW = 2,
    FORM_DENSE4 = 3,
    FORM_DENSE5 = 4,
    FORM_DENSE8 = 5,
    RUN_FORM_KINDS = PITH_RUN_FORMS
};

#define WINDOW_LANES 16u
#define WINDOW_COLS 31u /* columns in reach; slot column 31 is the empty slot */

/* All offsets count bytes from the struct's first byte and are multiples of 64. */
struct run_form {
    uint32_t kind, rows, cols, n_units;
    uint32_t codebook_floats; /* of one codebook: 16, 32 or 256, entries past its centroids 0 */
    uint32_t codebook_stride; /* floats from one row's codebook to the next; 0: one for all */
    uint32_t row_bytes;       /* dense kinds: bytes of one row */
    uint64_t bytes;           /* of the whole form */
    uint64_t codebook;        /* f32 */
    uint64_t ptr;             /* row_ptr u32[rows + 1] or triple_ptr u32[n_units + 1] */
    uint64_t row;             /* window: u32[16 n_units] */
    uint64_t col;             /* csr: u16[nnz]; window: step u8[triples] */
    uint64_t index;           /* csr: u8[nnz] or f32[nnz]; window: words; dense: rows of blocks */
};

static inline const void *form_at(const struct run_form *f, uint64_t offset)
{
    return (const uint8_t *)f + offset;
}

typedef void matvec_fn(const struct run_form *f, const float *x, float *y, uint32_t unit_begin,
                       uint32_t unit_end);

/* Sizes of a dense f32 matrix, by which the model of costs knows where it would stream from. */
enum dense_size {
    DENSE_IN_L2 = 0, /* up to 1 MiB */
    DENSE_IN_L3 = 1, /* up to 16 MiB */
    DENSE_IN_RAM = 2,
    DENSE_SIZES = 3
};

/* m rows of x and y, one behind the other, each within the bound of matvec; m >= 1. */
typedef void form_rows_fn(const struct run_form *f, const float *x, float *y, uint32_t m,
                          uint32_t unit_begin, uint32_t unit_end);

struct sparse_kernels {
    matvec_fn *matvec[RUN_FORM_KINDS];
    form_rows_fn *rows[RUN_FORM_KINDS]; /* NULL: matvec row by row */
    quads_fn *quads;                    /* kernel_quads.h */
    uint32_t quad_lanes;                /* columns of x that it takes at once */
    struct pith_costs costs;            /* form: by kind; dense: by size */
};

/* Processors with kernels of several rows: elsewhere they are left out, as they are never chosen.
 */
#if defined(__x86_64__) || NEON_BUILT
#define IF_SPARSE_ROWS(...) __VA_ARGS__
#else
#define IF_SPARSE_ROWS(...)
#endif

/* features: as pith_kernels_fill. */
void pith_sparse_kernels_fill(struct sparse_kernels *k, uint32_t features);

/* The list: kernel_list.h. */
#define SPARSE_KERNELS_ANY(KERNEL)                                                                 \
    KERNEL(matvec[FORM_CSR_VALUE], matvec_fn, pith_spmv_csr_value, 0)                              \
    KERNEL(matvec[FORM_CSR_CODEBOOK], matvec_fn, pith_spmv_csr_codebook, 0)                        \
    KERNEL(matvec[FORM_WINDOW], matvec_fn, pith_spmv_window, 0)                                    \
    KERNEL(matvec[FORM_DENSE4], matvec_fn, pith_gemv_codebook4, 0)                                 \
    KERNEL(matvec[FORM_DENSE5], matvec_fn, pith_gemv_codebook5, 0)                                 \
    KERNEL(matvec[FORM_DENSE8], matvec_fn, pith_gemv_codebook8, 0)                                 \
    IF_SPARSE_ROWS(KERNEL(rows[FORM_WINDOW], form_rows_fn, pith_spmm_window, 0))                   \
    IF_SPARSE_ROWS(KERNEL(quads, quads_fn, pith_spmm_quads, 0))
#ifdef __x86_64__
#define SPARSE_KERNELS_OWN(KERNEL)                                                                 \
    KERNEL(matvec[FORM_CSR_VALUE], matvec_fn, pith_spmv_csr_value_avx2, PITH_CPU_AVX2)             \
    KERNEL(matvec[FORM_CSR_CODEBOOK], matvec_fn, pith_spmv_csr_codebook_avx2, PITH_CPU_AVX2)       \
    KERNEL(matvec[FORM_DENSE4], matvec_fn, pith_gemv_codebook4_avx2, PITH_CPU_AVX2)                \
    KERNEL(rows[FORM_DENSE4], form_rows_fn, pith_gemm_codebook4, 0)                                \
    KERNEL(rows[FORM_DENSE4], form_rows_fn, pith_gemm_codebook4_avx2, PITH_CPU_AVX2)               \
    KERNEL(quads, quads_fn, pith_spmm_quads_avx2, PITH_CPU_AVX2)                                   \
    KERNEL(matvec[FORM_WINDOW], matvec_fn, pith_spmv_window_avx512, PITH_CPU_AVX512)               \
    KERNEL(rows[FORM_WINDOW], form_rows_fn, pith_spmm_window_avx512, PITH_CPU_AVX512)              \
    KERNEL(quads, quads_fn, pith_spmm_quads_avx512, PITH_CPU_AVX512)                               \
    KERNEL(matvec[FORM_DENSE4], matvec_fn, pith_gemv_codebook4_avx512, PITH_CPU_AVX512)            \
    KERNEL(rows[FORM_DENSE4], form_rows_fn, pith_gemm_codebook4_avx512, PITH_CPU_AVX512)           \
    KERNEL(matvec[FORM_DENSE5], matvec_fn, pith_gemv_codebook5_avx512, PITH_CPU_AVX512)            \
    KERNEL(rows[FORM_DENSE5], form_rows_fn, pith_gemm_codebook5, 0)                                \
    KERNEL(rows[FORM_DENSE5], form_rows_fn, pith_gemm_codebook5_avx512, PITH_CPU_AVX512)           \
    KERNEL(matvec[FORM_DENSE8], matvec_fn, pith_gemv_codebook8_vbmi, PITH_CPU_VBMI)
#elif NEON_BUILT
#define SPARSE_KERNELS_OWN(KERNEL)                                                                 \
    KERNEL(matvec[FORM_CSR_VALUE], matvec_fn, pith_spmv_csr_value_neon, PITH_CPU_NEON)             \
    KERNEL(matvec[FORM_CSR_CODEBOOK], matvec_fn, pith_spmv_csr_codebook_neon, PITH_CPU_NEON)       \
    KERNEL(matvec[FORM_DENSE4], matvec_fn, pith_gemv_codebook4_neon, PITH_CPU_NEON)                \
    KERNEL(matvec[FORM_DENSE5], matvec_fn, pith_gemv_codebook5_neon, PITH_CPU_NEON)                \
    KERNEL(matvec[FORM_DENSE8], matvec_fn, pith_gemv_codebook8_neon, PITH_CPU_NEON)                \
    KERNEL(quads, quads_fn, pith_spmm_quads_neon, PITH_CPU_NEON)
#else
#define SPARSE_KERNELS_OWN(KERNEL)
#endif
#define SPARSE_KERNELS(KERNEL) SPARSE_KERNELS_ANY(KERNEL) SPARSE_KERNELS_OWN(KERNEL)

SPARSE_KERNELS(KERNEL_DECLARE)

#endif
