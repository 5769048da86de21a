/* SPDX-License-Identifier: MIT */
/* build_choice.h - what a build of the runtime holds and what it leaves out, said to the compiler:
 *
 *     -DPITH_BUILD_CPU=1              kernels of these PITH_CPU_ bits beside the scalar reference:
 * the folders kernels/x86 or kernels/arm are compiled, too, each file with the flags of the
 * instruction set that ends its name -DPITH_BUILD_OPS_LOW=0x...ull   of the operators only those
 * whose bit is set: numbers 0 to 63 -DPITH_BUILD_OPS_HIGH=0x...ull  numbers 64 to 127
 *     -DPITH_BUILD_PARTS=0x...       of enum build_part only those whose bit is set
 *
 * `pith info NET.pith --build` prints the last three for a network. Nothing refers then to what was
 * left out, so that the linker does not take it from an archive (or drops it by --gc-sections). A
 * network with another operator or part is refused as PITH_ERR_UNSUPPORTED. */
#ifndef BUILD_CHOICE_H
#define BUILD_CHOICE_H

#ifndef PITH_BUILD_CPU
#define PITH_BUILD_CPU 0
#endif
#ifndef PITH_BUILD_PARTS
#define PITH_BUILD_PARTS 0xffffffffu
#endif
#ifndef PITH_BUILD_OPS_LOW
#define PITH_BUILD_OPS_LOW 0xffffffffffffffffull
#endif
#ifndef PITH_BUILD_OPS_HIGH
#define PITH_BUILD_OPS_HIGH 0xffffffffffffffffull
#endif

/* What a file may hold besides operators. A file of plain elements alone needs none. */
enum build_part {
    BUILD_CODEBOOKS = 0, /* weights that are indices */
    BUILD_BITMAPS = 1,   /* support */
    BUILD_GAPS = 2,
    BUILD_HUFFMAN = 3, /* indices */
    BUILD_PLANES = 4,  /* f32 elements, byte by byte */
    BUILD_RANS = 5,    /* indices, and streams by classes */
    BUILD_ADAPTIVE = 6,
    BUILD_TRELLIS = 7,
    BUILD_WORDS = 8, /* quantized values of 16 bits, sums of 64, sums that are quantized by a scale,
                        weights that are integers with scales */
    BUILD_TEXTS = 9, /* names, metadata, history */
    BUILD_RANGES = 10,  /* calibrated ranges */
    BUILD_SIZES = 11,   /* open sizes: opts.changes and opts.weights_of */
    BUILD_PART_END = 12 /* the number of parts */
};
#define BUILT_PART(part) (PITH_BUILD_PARTS >> BUILD_##part & 1)
#define BUILT_SPARSE                                                                               \
    (BUILT_PART(BITMAPS) | BUILT_PART(GAPS) | BUILT_PART(RANS) | BUILT_PART(ADAPTIVE))

/* Whether the kernels of kernels/arm are: of 32-bit processors, most of which have no vectors, by
 * PITH_BUILD_CPU alone. */
#if defined(__aarch64__)
#define NEON_BUILT 1
#elif defined(__arm__) || defined(__wasm_simd128__)
#define NEON_BUILT (PITH_BUILD_CPU >> 8 & 1) /* PITH_CPU_NEON */
#else
#define NEON_BUILT 0
#endif

/* Whether operator number op (core/op_number.h: 0 to 127, a constant) is built. */
#define BUILT_OP(op) (((op) < 64 ? PITH_BUILD_OPS_LOW : PITH_BUILD_OPS_HIGH) >> ((op)&63) & 1)
/* Whether loops or branches are; and an operator with f32 products. */
#define BUILT_CONTROL (BUILT_OP(PITH_OP_LOOP) | BUILT_OP(PITH_OP_BRANCH))
#define BUILT_PRODUCTS                                                                             \
    (BUILT_OP(PITH_OP_CONV) | BUILT_OP(PITH_OP_GEMM) | BUILT_OP(PITH_OP_MATMUL) |                  \
     BUILT_OP(PITH_OP_CONV_TRANSPOSE) | BUILT_OP(PITH_OP_RECURRENT) | BUILT_OP(PITH_OP_ATTENTION))

#endif
