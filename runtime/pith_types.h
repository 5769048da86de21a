/* SPDX-License-Identifier: MIT */
/* pith_types.h - what all headers of pith share: statuses, errors, element types, tensors, CPU
 * features. It declares no function. */
#ifndef PITH_TYPES_H
#define PITH_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* Of all headers of pith: a pointer must not be NULL, unless its function's comment says that it
 * may be, or it is `err`. A function that returns a status returns PITH_ERR_ARGUMENT where one is
 * NULL, and changes nothing (*err, too, stays as it was); any other returns 0, false or NULL, or
 * does nothing. So does one whose options have a size_bytes that is no size of them: 0, or of
 * options that were never initialised. */

/* What the caller can do about a failure. Numbers are never reused. */
enum pith_status {
    PITH_OK = 0,
    PITH_ERR_ARGUMENT = 1,    /* the call is wrong: bad option, bad combination */
    PITH_ERR_MEMORY = 2,      /* no memory */
    PITH_ERR_IO = 3,          /* cannot read or write */
    PITH_ERR_CORRUPT = 4,     /* the file is broken or not what it claims to be */
    PITH_ERR_UNSUPPORTED = 5, /* valid, but this build cannot do it */
    PITH_ERR_VERSION = 6,     /* written in another version of the format */
    PITH_ERR_SPACE = 7,       /* a buffer of the caller is too small */
    PITH_ERR_LIMIT = 8,       /* would exceed a limit the caller set (max_bytes, max_steps) */
    PITH_ERR_GOAL = 9,        /* nothing is broken: a goal was not met, outputs differ */
    PITH_ERR_STOPPED = 10     /* the caller's `stop` said so */
};

/* Where and why. The core fills status, offset and chunk; the toolchain and pith_host also write
 * one line of text without a full stop. `text` is always NUL-terminated. */
struct pith_error {
    enum pith_status status;
    uint32_t chunk;  /* tag of the chunk at fault (docs/format.md), 0: none */
    uint64_t offset; /* byte offset in the file */
    char text[512];
};

/* Element types. The numbers are those of the file format. */
enum pith_type {
    PITH_F32 = 1,
    PITH_F16 = 2,
    PITH_BF16 = 3,
    PITH_F64 = 4,
    PITH_I8 = 5,
    PITH_U8 = 6,
    PITH_I16 = 7,
    PITH_U16 = 8,
    PITH_I32 = 9,
    PITH_I64 = 10,
    PITH_BOOL = 11
};

#define PITH_MAX_RANK 8u

/* CPU features a plan may use. A level includes those named before it in its comment. */
enum {
    PITH_CPU_AVX2 = 1u << 0,    /* avx2, fma, f16c, bmi2 */
    PITH_CPU_AVX512 = 1u << 1,  /* avx512 f, bw, dq, vl, cd; needs AVX2 */
    PITH_CPU_VBMI = 1u << 2,    /* avx512 vbmi, vbmi2; needs AVX512 */
    PITH_CPU_VNNI = 1u << 3,    /* avx512 vnni; needs AVX512 */
    PITH_CPU_AVXVNNI = 1u << 4, /* vnni of 256-bit vectors, without avx512; needs AVX2 */
    PITH_CPU_AMX = 1u << 5,     /* amx tiles, int8; needs VNNI */
    PITH_CPU_NEON = 1u << 8,    /* of AArch64 and Armv7, and SIMD128 of WebAssembly */
    PITH_CPU_DOTPROD = 1u << 9, /* sdot, udot; needs NEON */
    PITH_CPU_I8MM = 1u << 10    /* smmla; needs DOTPROD */
};
#define PITH_CPU_REF 0x80000000u /* as a mask: nothing but the scalar reference */

struct pith_tensor {
    const char *name; /* not NUL-terminated when name_bytes counts it; "" in compact files */
    uint32_t name_bytes;
    enum pith_type type;
    uint32_t rank;               /* 0..8; rank 0 is a scalar */
    uint32_t dim[PITH_MAX_RANK]; /* outermost first, row-major, no padding */
    uint64_t bytes;
    const void *data; /* NULL where the call describes without data */
    float scale;      /* quantized tensors: real = (q - zero_point) * scale; else 1, 0 */
    int32_t zero_point;
};

/* What the choice of kernels is made by: speeds of one core in elements per 8 ns. The runtime has
 * measured ones for classes of machines (pith_costs_of); bench/bench_costs.c measures those of a
 * machine. They decide which kernel is planned, and nothing else. */
#define PITH_RUN_FORMS 6 /* kinds of compressed matrices that kernels read: see the names below */
struct pith_costs {
    /* Of products straight from a compressed matrix: its nonzeros, its nonzeros with a codebook,
     * those in windows of columns; all elements, of 4, 5 and 8 bits. 0: never. */
    uint16_t form[PITH_RUN_FORMS];
    uint16_t dense[3];      /* of f32 rows that stream from the L2 cache, L3, or memory */
    uint16_t tiles;         /* of each of many rows of that product */
    uint16_t window_batch;  /* of many rows of the form in windows */
    uint16_t csr_centroids; /* larger codebooks are slower than f32 values */
    /* Of a sparse matrix times a narrow one: nonzeros, and, beside that, vectors of the narrow one
     * that they are multiplied with. 0: never. */
    uint16_t quads[2];
};

#endif
