/* SPDX-License-Identifier: MIT */
/* device.h - the words that kernels are written in: for nvcc, and for the emulator of tests/cuda,
 * which compiles the same files as C. Kernels keep to what C and C++ have in common.
 *
 *     KERNEL(name, name_args)
 *     {
 *         FOR_EACH(i, arg->n)
 *         arg->y[i] = ...;
 *     }
 *
 * The CPU's scalar functions are used as they are (kernels/ref/): `inline` becomes a function of
 * both processors, and --fmad=false keeps their bits. */
#ifndef DEVICE_H
#define DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "launch.h"

#ifdef __CUDACC__
#define inline __host__ __device__ __inline__
#include "half_bits.h"
#define DEVICE static __device__ __forceinline__
#define SHARED __shared__
/* Shared memory that the launch requests, of a kernel that declares none. */
extern __shared__ __align__(16) float launch_shared[];
#define SHARED_OF_LAUNCH launch_shared
#define KERNEL(name, type) KERNEL_OF(name, type, LAUNCH_THREADS, 1)
#define KERNEL_WIDE(name, type, threads) KERNEL_OF(name, type, threads, 1)
/* With so few registers that a multiprocessor has `blocks` at once. */
#define KERNEL_OF(name, type, threads, blocks)                                                     \
    DEVICE void name##_body(const struct type *arg);                                               \
    extern "C" __global__ void __launch_bounds__(threads, blocks)                                  \
        name(const __grid_constant__ struct type arg)                                              \
    {                                                                                              \
        name##_body(&arg);                                                                         \
    }                                                                                              \
    DEVICE void name##_body(const struct type *arg)
#define IN_PROGRAM false /* program.cu */
#define THREAD threadIdx.x
#define BLOCK_X blockIdx.x
#define BLOCK_Y blockIdx.y
#define BLOCK_Z blockIdx.z
#define BLOCKS_X gridDim.x
#define ALL_LANES 0xffffffffu
#define barrier() __syncthreads()
/* Of all blocks of the launch, of which each is on the device: what they wrote before is read
 * behind it. What kernels declare of shared memory need not be kept. arrived: how many have, and
 * how often all had. */
DEVICE void grid_barrier(uint32_t *arrived, uint32_t blocks)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        volatile uint32_t *const count = arrived, *const turn = arrived + 1;
        const uint32_t before = *turn;
        __threadfence();
        if (atomicAdd(arrived, 1u) == blocks - 1u) {
            *count = 0;
            __threadfence();
            *turn = before + 1u;
        } else {
            while (*turn == before)
                continue;
        }
        __threadfence();
    }
    __syncthreads();
}
#define warp_barrier() __syncwarp()
#define shuffle_xor_f32(v, lanes) __shfl_xor_sync(ALL_LANES, v, lanes)
#define shuffle_xor_i32(v, lanes) __shfl_xor_sync(ALL_LANES, v, lanes)
#define count_ones(v) ((uint32_t)__popc(v))
#define dot_i8(a, b, c) __dp4a(a, b, c)
/* which: four digits below 8, the lowest first; 4: b's lowest byte. */
#define pick_bytes(a, b, which) __byte_perm(a, b, which)
/* The same of digits that are no constants, which __byte_perm would mask first. */
DEVICE uint32_t pick_coded(uint32_t a, uint32_t b, uint32_t which)
{
    uint32_t picked;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(picked) : "r"(a), "r"(b), "r"(which));
    return picked;
}
#define sqrt_device_f32(x) __fsqrt_rn(x)
#define ALIGNED(bytes) __align__(bytes)
#define UNROLLED _Pragma("unroll") /* what is in registers stays there */
#define NOT_UNROLLED _Pragma("unroll 1")
#define HAS_MMA (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800)
#if HAS_MMA
/* A warp's sum[16, 8] += a[16, 32] b[32, 8] of signed bytes, each a lane's words of it as mma.sync
 * has them. */
DEVICE void mma_i8(int32_t sum[4], const int32_t a[4], const int32_t b[2])
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* The same of a[16, 16] b[16, 8], two f16 or bf16 a word, and two numbers as such a word, rounded
 * to the nearest. */
#define HALF_WORDS(type)                                                                           \
    DEVICE void mma_##type(float sum[4], const uint32_t a[4], const uint32_t b[2])                 \
    {                                                                                              \
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." #type "." #type                      \
                     ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"        \
                     : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])                      \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));          \
    }                                                                                              \
    DEVICE uint32_t pair_##type(float low, float high)                                             \
    {                                                                                              \
        uint32_t pair;                                                                             \
        asm("cvt.rn." #type "x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));              \
        return pair;                                                                               \
    }
HALF_WORDS(f16)
HALF_WORDS(bf16)
#else /* 7.5: eight terms at a time, and no bf16 */
DEVICE void mma_f16(float sum[4], const uint32_t a[4], const uint32_t b[2])
{
    for (uint32_t k = 0; k < 2; k++)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                     "{%4, %5}, {%6}, {%0, %1, %2, %3};"
                     : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                     : "r"(a[2 * k]), "r"(a[2 * k + 1]), "r"(b[k]));
}

DEVICE uint32_t pair_f16(float low, float high)
{
    uint16_t l, h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(l) : "f"(low));
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(high));
    return l | (uint32_t)h << 16;
}

DEVICE uint32_t pair_bf16(float low, float high)
{
    return bf16_of_f32(low) | bf16_of_f32(high) << 16;
}
#endif
#else
#include "emu.h"
#endif

/* What mma has of a block's 64 x 64 outputs: eight warps have 16 rows and 32 columns each, which
 * are four products of 8 columns (bands 1), or four warps twice as many rows (bands 2). A lane has,
 * of product i, columns 2 t and 2 t + 1 of two rows of each band. */
DEVICE uint32_t mma_warp_row(uint32_t bands)
{
    return THREAD / 32u % (4u / bands) * 16u * bands + THREAD % 32u / 4u;
}

DEVICE uint32_t mma_warp_column(uint32_t bands)
{
    return THREAD / (128u / bands) * 32u;
}

DEVICE uint32_t mma_row(uint32_t bands, uint32_t j)
{
    return mma_warp_row(bands) + j / 2u * 8u;
}

DEVICE uint32_t mma_column(uint32_t bands, uint32_t i, uint32_t j)
{
    return mma_warp_column(bands) + 8u * i + THREAD % 4u * 2u + j % 2u;
}

#define FOR_EACH(i, n)                                                                             \
    for (uint32_t i = BLOCK_X * LAUNCH_THREADS + THREAD; i < (n); i += BLOCKS_X * LAUNCH_THREADS)

#endif
