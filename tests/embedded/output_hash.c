/* SPDX-License-Identifier: MIT */
/* Runs the model linked in as `model_image` in a static arena on four seeded inputs, with the
 * scalar reference unless CPU_MASK says otherwise, and hands a hash of all output bits to
 * board_print(). The same file is built for the host, for AArch64 and, freestanding, for Cortex-M:
 * all must print the same line. */
#include <pith_runtime.h>

extern const uint8_t model_image[];
extern const uint32_t model_image_bytes;
void board_print(const char *text);

#define ARENA_BYTES (1024u * 1024u)
#define N_INPUTS 4
#ifndef CPU_MASK
#define CPU_MASK PITH_CPU_REF
#endif

static _Alignas(64) uint8_t arena[ARENA_BYTES];

/* 32-bit xorshift; values k/256 in [0, 1) are exact in every float arithmetic. */
static void fill(float *x, uint32_t n, uint32_t *state)
{
    for (uint32_t i = 0; i < n; i++) {
        *state ^= *state << 13;
        *state ^= *state >> 17;
        *state ^= *state << 5;
        x[i] = (float)(*state >> 24) * (1.0f / 256);
    }
}

/* FNV-1a of the bits of n floats, lowest byte first in every byte order. */
static uint32_t fnv1a(uint32_t hash, const void *data, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t bits;
        __builtin_memcpy(&bits, (const uint8_t *)data + 4 * i, sizeof bits);
        for (uint32_t k = 0; k < 32; k += 8)
            hash = (hash ^ (bits >> k & 0xff)) * 16777619u;
    }
    return hash;
}

static void say_hex(uint32_t v)
{
    char text[10];
    for (int i = 0; i < 8; i++)
        text[i] = "0123456789abcdef"[v >> (28 - 4 * i) & 15];
    text[8] = '\n';
    text[9] = '\0';
    board_print(text);
}

int main(void)
{
    struct pith_opts opts;
    struct pith_need need;
    struct pith_plan *plan;
    struct pith_tensor in, out;
    uint32_t hash = 2166136261u, state = 1;
    pith_opts_init(&opts, sizeof opts);
    opts.cpu_mask = CPU_MASK;
    if (pith_plan_need(model_image, model_image_bytes, &opts, arena, ARENA_BYTES, &need))
        return 1;
    if (pith_plan_init(arena, ARENA_BYTES, model_image, model_image_bytes, &opts, &plan))
        return 2;
    if (pith_plan_input(plan, 0, &in) || pith_plan_output(plan, 0, &out))
        return 3;
    for (int i = 0; i < N_INPUTS; i++) {
        fill(pith_plan_input_data(plan, 0), (uint32_t)(in.bytes / sizeof(float)), &state);
        if (pith_plan_run(plan))
            return 4;
        hash = fnv1a(hash, pith_plan_output_data(plan, 0), (uint32_t)(out.bytes / sizeof(float)));
    }
    say_hex(hash);
    return 0;
}
