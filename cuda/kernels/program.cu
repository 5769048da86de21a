/* SPDX-License-Identifier: MIT */
/* program.cu - a run in one launch (launch.h). Its kernels are compiled once more for that, with
 * blocks that are where shared memory says. */
#include "device.h"

#ifdef __CUDACC__
namespace in_program
{
static __shared__ struct {
    uint32_t x, y, z, blocks_x;
} block_place;
#pragma push_macro("KERNEL_OF")
#undef KERNEL_OF
#define KERNEL_OF(name, type, threads, blocks) DEVICE void name##_body(const struct type *arg)
#undef IN_PROGRAM
#define IN_PROGRAM true
#undef BLOCK_X
#undef BLOCK_Y
#undef BLOCK_Z
#undef BLOCKS_X
#define BLOCK_X block_place.x
#define BLOCK_Y block_place.y
#define BLOCK_Z block_place.z
#define BLOCKS_X block_place.blocks_x
#include "elementwise.cu"
#include "product.cu"
#include "integer.cu"
#include "integer_product.cu"
#include "move.cu"
#include "direct.cu"
#include "recurrent.cu"
#include "reduce.cu"
#include "sparse.cu"
#include "half.cu"
#include "window.cu"
#pragma pop_macro("KERNEL_OF")
}
#undef BLOCK_X
#undef BLOCKS_X
#define BLOCK_X blockIdx.x
#define BLOCKS_X gridDim.x
#define BODY(name) in_program::name##_body
#define PLACE in_program::block_place
#else
#define BODY(name) name##_body
#define PLACE emu_now
#endif

#define PROGRAM_CASE(name, type)                                                                   \
    case LAUNCH_##name:                                                                            \
        BODY(name)((const struct type *)arg);                                                      \
        break;

/* All words of a thread's turn are on their way before the first is needed. */
DEVICE void move_body(const struct program_move *m, uint32_t block, uint32_t blocks)
{
    const uint64_t words = ((uintptr_t)m->to | (uintptr_t)m->from) % 4u ? 0 : m->bytes / 4u;
    const uint64_t step = (uint64_t)blocks * LAUNCH_THREADS, first = block * LAUNCH_THREADS + THREAD;
    const uint32_t *from = (const uint32_t *)(const void *)m->from;
    for (uint64_t i = first; i < words; i += NEAR_AT_ONCE * step) {
        uint32_t v[NEAR_AT_ONCE];
        UNROLLED
        for (uint32_t k = 0; k < NEAR_AT_ONCE; k++)
            v[k] = from && i + k * step < words ? from[i + k * step] : m->value;
        UNROLLED
        for (uint32_t k = 0; k < NEAR_AT_ONCE; k++)
            if (i + k * step < words)
                ((uint32_t *)(void *)m->to)[i + k * step] = v[k];
    }
    for (uint64_t i = 4u * words + first; i < m->bytes; i += step)
        m->to[i] = m->from[i];
}

/* arg: in shared memory. */
DEVICE void run_step(uint32_t kernel, const void *arg)
{
    switch (kernel) {
        PROGRAM_KERNELS(PROGRAM_CASE)
    default: /* PROGRAM_MOVE */
        move_body((const struct program_move *)arg, PLACE.x, PLACE.blocks_x);
    }
}

/* The block's tiles of all weights that are kept. */
DEVICE void keep_tiles(const struct program_args *arg, uint32_t own, uint32_t blocks)
{
    for (uint32_t i = 0; i < arg->n_kept; i++) {
        const struct program_kept *k = &arg->kept[i];
        struct program_move m = {(uint8_t *)SHARED_OF_LAUNCH + arg->kept_at + k->at, k->from, 0, 0};
        for (uint32_t tile = own; tile < k->tiles; tile += blocks, m.to += k->tile) {
            const uint64_t at = (uint64_t)tile * k->tile, left = k->bytes - at;
            m.from = k->from + at;
            m.bytes = left < k->tile ? left : k->tile;
            move_body(&m, 0, 1);
        }
    }
}

/* Puts into the step's struct the address of a weight from which on the tile, number `turn` of the
 * block's, lies where the block has it. */
DEVICE void point_at_tile(const struct program_args *arg, const struct program_step *step,
                          uint32_t tile, uint32_t turn, uint32_t *held)
{
    const struct program_kept *k = &arg->kept[step->kept];
    const uintptr_t first = (uintptr_t)SHARED_OF_LAUNCH + arg->kept_at + k->at;
    const uintptr_t at = first - (uintptr_t)(tile - turn) * k->tile;
    held[step->weight] = (uint32_t)at;
    held[step->weight + 1u] = (uint32_t)(at >> 32);
}

KERNEL(program, program_args)
{
    SHARED ALIGNED(16) uint32_t held[PROGRAM_WORDS];
    const uint32_t own = BLOCK_X, blocks = BLOCKS_X;
    keep_tiles(arg, own, blocks);
    for (uint32_t s = 0; s < arg->n; s++) {
        const struct program_step *step = &arg->step[s];
        const uint32_t x = step->grid[0], y = step->grid[1], all = x * y * step->grid[2];
        if (s)
            grid_barrier(arg->arrived, blocks);
        for (uint32_t i = THREAD; i < step->words; i += LAUNCH_THREADS)
            held[i] = step->arg[i];
        for (uint32_t block = own; block < all; block += blocks) {
            barrier(); /* nobody is at the block before */
            if (THREAD == 0) {
                PLACE.x = block % x;
                PLACE.y = block / x % y;
                PLACE.z = block / x / y;
                PLACE.blocks_x = x;
                if (step->kept < PROGRAM_KEPT)
                    point_at_tile(arg, step, block, block / blocks, held);
            }
            barrier();
            run_step(step->kernel, held);
        }
    }
}
