/* SPDX-License-Identifier: MIT */
/* gemm_bitmap_vbmiamx.c - a sparse matrix of i8 times many rows of u8 on tile registers (Intel
 * AMX): a bit says which weights of a tile are stored (struct bitmap_panel), VPEXPANDB puts 64 of
 * them in their places, and a tile that was made so is multiplied with up to 32 rows (as SparAMX
 * does, Han et al. 2025, with 16 bits). What comes from memory is an eighth of a byte a weight and
 * a byte a nonzero; what it costs to make a tile does not depend on the rows.
 *
 *     tmm0..3  sums: 2 groups of 16 rows by 2 panels    tmm4, 7  x    tmm5, 6  weights of a panel
 *
 * Tiles are made in one of two buffers while the other one may still be read. */
#include "tiles_amx.h"

/* Makes a tile of weights of the 16 words at `bits`; returns the values behind those it took. */
static inline const uint8_t *expand(const uint64_t *bits, const uint8_t *value, uint8_t *tile)
{
#pragma GCC unroll 4
    for (uint32_t i = 0; i < GROUP; i++) {
        const __m512i w = _mm512_maskz_expand_epi8(bits[i], _mm512_loadu_si512(value));
        _mm512_store_si512(tile + (size_t)i * ROW_BYTES, w);
        value += _mm_popcnt_u64(bits[i]);
    }
    return value;
}

/* Up to 32 rows and two panels. Branches are as many whatever the tile, and cost nothing beside it.
 */
static void block_run(const struct gemm_i8_job *job, const struct block *p, uint32_t first,
                      uint32_t groups, uint32_t panels)
{
    uint8_t tiles[2][2][GROUP * ROW_BYTES] __attribute__((aligned(64)));
    const struct bitmap_panel *panel = bitmap_panel(job->w, first / LANES);
    const uint64_t *a = bitmap_bits(panel), *b = bitmap_bits(panel + panels - 1);
    const uint8_t *value_a = bitmap_values(panel), *value_b = bitmap_values(panel + panels - 1);
    size_t at = job->segment[0];
    begin_tiles(job->to.offset + first, groups, panels);
    for (uint32_t s = 0; s < job->steps; s++, at += ROW_BYTES, a += GROUP, b += GROUP) {
        uint8_t(*tile)[GROUP * ROW_BYTES] = tiles[s % 2];
        value_a = expand(a, value_a, tile[0]);
        if (panels == 2)
            value_b = expand(b, value_b, tile[1]);
        /* gcc's intrinsics of tiles do not say what memory they read */
        __asm__ volatile("" : : : "memory");
        _tile_loadd(4, p->x[0] + at, job->x_step);
        _tile_loadd(5, tile[0], ROW_BYTES);
        _tile_dpbusd(0, 4, 5);
        if (panels == 2) {
            _tile_loadd(6, tile[1], ROW_BYTES);
            _tile_dpbusd(1, 4, 6);
        }
        if (groups == 2) {
            _tile_loadd(7, p->x[1] + at, job->x_step);
            _tile_dpbusd(2, 7, 5);
            if (panels == 2)
                _tile_dpbusd(3, 7, 6);
        }
    }
    end_tiles(job, p, first, groups, panels);
}

void pith_gemm_bitmap_vbmiamx(const struct gemm_i8_job *job)
{
    const uint32_t places = places_of(job);
    struct block p = {.rows = places < GROUP ? places : GROUP};
    configure(p.rows, 0);
    for (uint32_t first = 0; first < job->n; first += 2 * LANES)
        for (uint32_t i = 0; i < places;) {
            const uint32_t groups = next_groups(job, places, &i, &p);
            block_run(job, &p, first, groups, job->n - first > LANES ? 2 : 1);
        }
    _tile_release();
}
