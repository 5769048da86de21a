/* SPDX-License-Identifier: MIT */
/* emu.h - the words of cuda/kernels/device.h for the emulator: kernels compiled as C, one
 * fiber a thread that has to wait, one block at a time. emu.c says what it refuses. */
#ifndef EMU_H
#define EMU_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "cuda/kernels/half_bits.h"

struct emu_place {
    uint32_t thread, x, y, z, blocks_x;
};
extern struct emu_place emu_now;

#define IN_PROGRAM false
#define THREAD emu_now.thread
#define BLOCK_X emu_now.x
#define BLOCK_Y emu_now.y
#define BLOCK_Z emu_now.z
#define BLOCKS_X emu_now.blocks_x
#define DEVICE static inline
#define SHARED static __attribute__((section("emu_shared")))
extern float *emu_launch_shared;
#define SHARED_OF_LAUNCH emu_launch_shared
#define KERNEL_WIDE(name, type, threads) KERNEL(name, type)
#define KERNEL_OF(name, type, threads, blocks) KERNEL(name, type)
#define KERNEL(name, type)                                                                         \
    static void name##_body(const struct type *arg);                                               \
    EMU_ENTRY(name, type)                                                                          \
    static void name##_body(const struct type *arg)
/* Empty around kernels that are not wanted: defects.py leaves those to another object. */
#define EMU_ENTRY(name, type)                                                                      \
    void emu_kernel_##name(const void *arg);                                                       \
    void emu_kernel_##name(const void *arg)                                                        \
    {                                                                                              \
        name##_body((const struct type *)arg);                                                     \
    }

void emu_barrier(int line);
/* Of all blocks; arrived[1] counts how often. What kernels declare of shared memory is lost. */
void emu_grid_barrier(int line, uint32_t *arrived);
/* What lane (own number ^ lanes) holds; -1, an exited lane or one at another line: refused. */
uint64_t emu_shuffle(int line, uint64_t v, uint32_t lanes);

static inline float emu_shuffle_f32(int line, float v, uint32_t lanes)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    bits = (uint32_t)emu_shuffle(line, bits, lanes);
    memcpy(&v, &bits, sizeof v);
    return v;
}

static inline int32_t emu_dot_i8(int32_t a, int32_t b, int32_t c)
{
    uint32_t sum = (uint32_t)c;
    for (int i = 0; i < 32; i += 8)
        sum += (uint32_t)((int8_t)((uint32_t)a >> i) * (int8_t)((uint32_t)b >> i));
    return (int32_t)sum;
}

static inline uint32_t emu_pick_bytes(uint32_t a, uint32_t b, uint32_t which)
{
    const uint64_t both = a | (uint64_t)b << 32;
    uint32_t v = 0;
    for (int i = 0; i < 4; i++)
        v |= (uint32_t)(both >> 8 * (which >> 4 * i & 7) & 0xff) << 8 * i;
    return v;
}

/* Of all lanes of a warp: sum[16, 8] += a[16, 32] b[32, 8]. Lane 4 g + t has words t and t + 4 of
 * rows g and g + 8 of a and of column g of b, and columns 2 t and 2 t + 1 of rows g and g + 8 of
 * the sum. */
void emu_mma_i8(int line, int32_t sum[4], const int32_t a[4], const int32_t b[2]);

/* The same of a[16, 16] b[16, 8] of f16, or bf16, two a word. Products are exact. Terms are added
 * in turn and rounded to the nearest, as ptx_run.c does; in another order of lanes backwards and
 * cut off, as hardware may: nothing may depend on either. */
void emu_mma_half(int line, float sum[4], const uint32_t a[4], const uint32_t b[2], bool is_bf16);

static inline uint32_t emu_pair_f16(float low, float high)
{
    return f16_of_f32(low) | f16_of_f32(high) << 16;
}

static inline uint32_t emu_pair_bf16(float low, float high)
{
    return bf16_of_f32(low) | bf16_of_f32(high) << 16;
}

#ifndef EMU_NO_MMA /* as before compute capability 8.0 */
#define HAS_MMA 1
#endif
#define mma_i8(sum, a, b) emu_mma_i8(__LINE__, sum, a, b)
#define mma_f16(sum, a, b) emu_mma_half(__LINE__, sum, a, b, false)
#define mma_bf16(sum, a, b) emu_mma_half(__LINE__, sum, a, b, true)
#define pair_f16 emu_pair_f16
#define pair_bf16 emu_pair_bf16
#define UNROLLED
#define NOT_UNROLLED
#define ALIGNED(bytes) __attribute__((aligned(bytes)))
#define barrier() emu_barrier(__LINE__)
#define warp_barrier() ((void)emu_shuffle(__LINE__, 0, 1))
#define grid_barrier(arrived, blocks) ((void)(blocks), emu_grid_barrier(__LINE__, arrived))
#define shuffle_xor_f32(v, lanes) emu_shuffle_f32(__LINE__, v, lanes)
#define shuffle_xor_i32(v, lanes) ((int32_t)emu_shuffle(__LINE__, (uint32_t)(v), lanes))
#define count_ones(v) ((uint32_t)__builtin_popcount(v))
#define dot_i8(a, b, c) emu_dot_i8(a, b, c)
#define pick_bytes(a, b, which) emu_pick_bytes(a, b, which)
#define pick_coded pick_bytes
#define sqrt_device_f32(x) __builtin_sqrtf(x)
#define fmaf __builtin_fmaf

#endif
