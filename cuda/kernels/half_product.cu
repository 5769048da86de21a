/* SPDX-License-Identifier: MIT */
/* half_product.cu - products of matrices by tensor cores. */
#include "half_tile.cuh"

/* Part i of the slice that begins at k0 of rows from row0 on. along: rows of a are contiguous. */
DEVICE void load_row(float x[PART_TERMS], const struct gemm_mma_args *arg, struct half_place at,
                     uint32_t row0, uint32_t k0)
{
    const struct gemm_args *g = &arg->g;
    const uint32_t row = row0 + at.row, k = k0 + PART_TERMS * at.part;
    const uint32_t left = row < g->m && k < g->k ? g->k - k : 0u;
    const float *from = g->a + (size_t)row * g->a_row + (size_t)k * g->a_col;
    if (arg->whole && left >= PART_TERMS) {
        load_eight(x, from);
    } else {
        UNROLLED
        for (uint32_t i = 0; i < PART_TERMS; i++)
            x[i] = i < left ? from[(size_t)i * g->a_col] : 0.0f;
    }
}

/* The same of a in 16 bits. */
DEVICE struct words load_halves(const struct gemm_mma_args *arg, struct half_place at, uint32_t row0,
                               uint32_t k0)
{
    const struct gemm_args *g = &arg->g;
    const uint32_t row = row0 + at.row, k = k0 + PART_TERMS * at.part;
    const uint32_t left = row < g->m && k < g->k ? g->k - k : 0u;
    const uint16_t *from = (const uint16_t *)(const void *)g->a + (size_t)row * g->a_row +
                           (size_t)k * g->a_col;
    struct words p;
    if (arg->whole && left >= PART_TERMS)
        return *(const struct words *)(const void *)from;
    UNROLLED
    for (uint32_t i = 0; i < PART_WORDS; i++)
        p.word[i] = (2u * i < left ? from[2u * i * g->a_col] : 0u) |
                    (2u * i + 1u < left ? (uint32_t)from[(2u * i + 1u) * g->a_col] << 16 : 0u);
    return p;
}

DEVICE void load_gemm(struct half_loaded *to, uint32_t bands, const struct gemm_mma_args *arg,
                      bool halves, bool along, uint32_t k0)
{
    load_weight(to, bands, arg->w, 0, BLOCK_X * TILE, arg->g.n, arg->row, k0);
    UNROLLED
    for (uint32_t i = 0; i < LOADS(bands); i++)
        if (halves)
            to->h[i] = load_halves(arg, place_of_part(bands, along, i), BLOCK_Y * TILE, k0);
        else
            load_row(to->x[i], arg, place_of_part(bands, along, i), BLOCK_Y * TILE, k0);
}

/* bands and halves: constants where this is called. */
DEVICE void gemm_tile(struct half_tile tile[2], uint32_t bands, const struct gemm_mma_args *arg,
                      bool halves)
{
    const bool along = arg->g.a_col == 1u;
    struct half_loaded next;
    const struct terms k = block_terms(&arg->g.split, arg->row);
    struct half_sums sum = {{{{0.0f}}}};
    load_gemm(&next, bands, arg, halves, along, k.first);
    for (uint32_t k0 = k.first; k0 < k.end; k0 += SLICE_TERMS) {
        struct half_tile *t = &tile[k0 / SLICE_TERMS % 2u];
        put_slice(&t->a, &t->b, bands, &next, halves, along, arg->is_bf16);
        barrier();
        if (k0 + SLICE_TERMS < k.end)
            load_gemm(&next, bands, arg, halves, along, k0 + SLICE_TERMS);
        add_half(t, bands, &sum, arg->is_bf16);
    }
    UNROLLED
    for (uint32_t h = 0; h < bands; h++)
        put_tile(&arg->g, 0, BLOCK_Y * TILE, BLOCK_X * TILE + 16u * h, sum.of[h], bands);
}

KERNEL(gemm_mma, gemm_mma_args)
{
    SHARED struct half_tile tile[2];
    BY_VALUES(gemm_tile, arg->g.a_type, tile, 1, arg)
}

KERNEL_OF(gemm_mma_many, gemm_mma_args, MMA_MANY_THREADS, MMA_MANY_BLOCKS)
{
    SHARED struct half_tile tile[2];
    BY_VALUES(gemm_tile, arg->g.a_type, tile, BANDS_MOST, arg)
}
