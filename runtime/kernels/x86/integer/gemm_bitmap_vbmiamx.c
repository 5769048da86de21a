/* SPDX-License-Identifier: MIT */
/* gemm_bitmap_vbmiamx.c - a sparse matrix of i8 times many rows of u8 on tile registers (Intel
 * AMX): a bit says which weights of a tile are stored (struct bitmap_panel), VPEXPANDB puts 64 of
 * them in their places, and a tile that was made so is multiplied with up to 64 rows (as SparAMX
 * does, Han et al. 2025, with 16 bits). What comes from memory is an eighth of a byte a weight and
 * a byte a nonzero; what it costs to make a tile does not depend on the rows.
 *
 *     up to 32 rows    tmm0..3  sums: 2 groups of 16 rows by 2 panels
 *                      tmm4, 7  x    tmm5, 6  weights of a panel
 *     up to 64 rows    tmm0..3  sums: 4 groups by a panel    tmm4  weights    tmm5..7  x
 *
 * Tiles are made in one of two buffers while the other one may still be read. Branches are as many
 * whatever the tile, and cost nothing beside it. */
#include "tiles_amx.h"

/* Where the weights of a panel that are not yet in tiles stand. */
struct rest {
    const uint64_t *bits;
    const uint8_t *value;
};

static inline struct rest rest_of(const struct bitmap_panel *panel)
{
    return (struct rest){bitmap_bits(panel), bitmap_values(panel)};
}

/* Makes `rows` rows of a tile of weights. */
static inline __attribute__((always_inline)) void expand(struct rest *r, uint8_t *tile,
                                                         const uint32_t rows)
{
#pragma GCC unroll 4
    for (uint32_t i = 0; i < rows; i++) {
        const uint64_t bits = *r->bits++;
        const __m512i w = _mm512_maskz_expand_epi8(bits, _mm512_loadu_si512(r->value));
        _mm512_store_si512(tile + (size_t)i * ROW_BYTES, w);
        r->value += _mm_popcnt_u64(bits);
    }
}

/* A whole tile, beside which nothing runs. */
static __attribute__((noinline)) struct rest expand_tile(struct rest r, uint8_t *tile)
{
    for (uint32_t i = 0; i < GROUP; i += 4)
        expand(&r, tile + i * ROW_BYTES, 4);
    return r;
}

/* What the products with a tile of a panel run beside: the next tile, where there is one. */
struct beside {
    struct rest w;
    uint8_t *next;
    bool more;
};

static inline __attribute__((always_inline)) void next_rows(struct beside *b, const uint32_t row,
                                                            const uint32_t rows)
{
    if (b->more)
        expand(&b->w, b->next + row * ROW_BYTES, rows);
}

/* Tiles of weights of 1 or 2 panels times 1 or 2 groups at x + at; rows of the next tiles are made
 * between. */
static inline __attribute__((always_inline)) void wide_dot(const struct gemm_i8_job *job,
                                                           const struct block *p, size_t at,
                                                           const uint8_t *tile, struct beside b[2],
                                                           uint32_t groups, uint32_t panels)
{
    /* gcc's intrinsics of tiles do not say what memory they read */
    __asm__ volatile("" : : : "memory");
    _tile_loadd(4, p->x[0] + at, job->x_step);
    next_rows(&b[0], 0, 4);
    _tile_loadd(5, tile, ROW_BYTES);
    next_rows(&b[0], 4, 4);
    _tile_dpbusd(0, 4, 5);
    next_rows(&b[0], 8, 4);
    if (panels == 2)
        _tile_loadd(6, tile + GROUP * ROW_BYTES, ROW_BYTES);
    next_rows(&b[0], 12, 4);
    if (panels == 2)
        _tile_dpbusd(1, 4, 6);
    next_rows(&b[1], 0, 4);
    if (groups == 2)
        _tile_loadd(7, p->x[1] + at, job->x_step);
    next_rows(&b[1], 4, 4);
    if (groups == 2)
        _tile_dpbusd(2, 7, 5);
    next_rows(&b[1], 8, 4);
    if (groups == 2 && panels == 2)
        _tile_dpbusd(3, 7, 6);
    next_rows(&b[1], 12, 4);
}

/* Up to 32 rows and two panels. */
static void wide_run(const struct gemm_i8_job *job, const struct block *p, uint32_t first,
                     uint32_t groups)
{
    uint8_t tiles[2][2][GROUP * ROW_BYTES] __attribute__((aligned(64)));
    const uint32_t panels = job->n - first > LANES ? 2 : 1;
    const struct bitmap_panel *panel = bitmap_panel(job->w, first / LANES);
    struct beside b[2] = {{.w = rest_of(panel)}, {.w = rest_of(panel + panels - 1)}};
    uint32_t left = job->segments * job->steps;
    uint8_t turn = 0;
    for (uint32_t i = 0; i < panels; i++)
        b[i].w = expand_tile(b[i].w, tiles[0][i]);
    begin_tiles(job->to.offset + first, groups, panels);
    for (uint32_t s = 0; s < job->segments; s++)
        for (uint32_t k = 0; k < job->steps; k++) {
            b[0].next = tiles[!turn][0];
            b[1].next = tiles[!turn][1];
            b[0].more = --left > 0;
            b[1].more = left > 0 && panels == 2;
            wide_dot(job, p, job->segment[s] + (size_t)k * ROW_BYTES, tiles[turn][0], b, groups,
                     panels);
            turn = !turn;
        }
    end_tiles(job, p, first, groups, panels);
}

/* A tile of weights times 3 or 4 groups at x + at. Two rows of the next tile are made behind each
 * instruction of tiles: four behind every second one take 5 to 15 % longer, all 16 at the end 20 %,
 * for what is ready to run is looked for among few. */
static inline __attribute__((always_inline)) void tall_dot(const struct gemm_i8_job *job,
                                                           const struct block *p, size_t at,
                                                           const uint8_t *tile, struct beside *b,
                                                           uint32_t groups)
{
    /* gcc's intrinsics of tiles do not say what memory they read */
    __asm__ volatile("" : : : "memory");
    _tile_loadd(4, tile, ROW_BYTES);
    next_rows(b, 0, 2);
    _tile_loadd(5, p->x[0] + at, job->x_step);
    next_rows(b, 2, 2);
    _tile_dpbusd(0, 5, 4);
    next_rows(b, 4, 2);
    _tile_loadd(6, p->x[1] + at, job->x_step);
    next_rows(b, 6, 2);
    _tile_dpbusd(1, 6, 4);
    next_rows(b, 8, 2);
    _tile_loadd(7, p->x[2] + at, job->x_step);
    next_rows(b, 10, 2);
    _tile_dpbusd(2, 7, 4);
    next_rows(b, 12, 2);
    if (groups == 4)
        _tile_loadd(5, p->x[3] + at, job->x_step);
    next_rows(b, 14, 2);
    if (groups == 4)
        _tile_dpbusd(3, 5, 4);
}

static inline __attribute__((always_inline)) void tall_begin(const int32_t *offset, uint32_t groups)
{
    _tile_loadd(0, offset, 0);
    _tile_loadd(1, offset, 0);
    _tile_loadd(2, offset, 0);
    if (groups == 4)
        _tile_loadd(3, offset, 0);
}

static inline __attribute__((always_inline)) void tall_end(int32_t (*sums)[LANES], uint32_t groups)
{
    _tile_stored(0, sums, ROW_BYTES);
    _tile_stored(1, sums + GROUP, ROW_BYTES);
    _tile_stored(2, sums + 2 * GROUP, ROW_BYTES);
    if (groups == 4)
        _tile_stored(3, sums + 3 * GROUP, ROW_BYTES);
}

/* 33 to 64 rows, a panel at a time: as many products with a tile as it takes time to make the next
 * one. The last products of a panel go with the first tile of the next one, whose first products go
 * with the values of the panel's sums. */
static void tall_run(const struct gemm_i8_job *job, const struct block *p,
                     const struct tile_pixels *pixels, uint32_t groups)
{
    uint8_t tiles[2][GROUP * ROW_BYTES] __attribute__((aligned(64)));
    int32_t sums[MOST_GROUPS * GROUP][LANES] __attribute__((aligned(64)));
    const uint32_t panels = (job->n + LANES - 1) / LANES, parts = job->segments * job->steps;
    struct beside b = {.w = rest_of(bitmap_panel(job->w, 0))};
    uint8_t turn = 0;
    b.w = expand_tile(b.w, tiles[0]);
    for (uint32_t panel = 0; panel < panels; panel++) {
        uint32_t part = 0;
        tall_begin(job->to.offset + (size_t)panel * LANES, groups);
        for (uint32_t s = 0; s < job->segments; s++)
            for (uint32_t k = 0; k < job->steps; k++) {
                const bool is_last = ++part == parts;
                b.next = tiles[!turn];
                b.more = !is_last || panel + 1 < panels;
                if (is_last && b.more)
                    b.w = rest_of(bitmap_panel(job->w, panel + 1));
                tall_dot(job, p, job->segment[s] + (size_t)k * ROW_BYTES, tiles[turn], &b, groups);
                turn = !turn;
                if (part == 1 && panel > 0)
                    pith_tiles_store_panel(job, (const int32_t(*)[LANES])sums, pixels,
                                           (panel - 1) * LANES);
            }
        tall_end(sums, groups);
    }
    pith_tiles_store_panel(job, (const int32_t(*)[LANES])sums, pixels, (panels - 1) * LANES);
}

/* Those of the groups from place `begin` on, of which the last may begin before the end of the one
 * in front of it. */
static void set_pixels(const struct gemm_i8_job *job, const struct block *p, uint32_t groups,
                       uint32_t begin, struct tile_pixels *pixels)
{
    pixels->count = 0;
    for (uint32_t i = 0; i < groups * GROUP; i++) {
        const uint32_t place = p->place[i / GROUP] + i % GROUP;
        const uint32_t line = place / job->pitch, column = place % job->pitch;
        const bool is_again = place < begin + i / GROUP * GROUP;
        if (is_again || column >= job->row)
            continue;
        pixels->row[pixels->count] = i;
        pixels->number[pixels->count++] = line * job->row + column;
    }
}

/* Up to four groups from place `begin` on; one or two take two panels at a time. */
static void blocks_run(const struct gemm_i8_job *job, struct block *p, uint32_t places,
                       uint32_t begin)
{
    const uint32_t end =
        places - begin < MOST_GROUPS * GROUP ? places : begin + MOST_GROUPS * GROUP;
    uint32_t i = begin;
    const uint32_t groups = next_groups(job, end, MOST_GROUPS, &i, p);
    if (groups > 2) {
        struct tile_pixels pixels;
        set_pixels(job, p, groups, begin, &pixels);
        tall_run(job, p, &pixels, groups);
        return;
    }
    for (uint32_t first = 0; first < job->n; first += 2 * LANES)
        wide_run(job, p, first, groups);
}

void pith_gemm_bitmap_vbmiamx(const struct gemm_i8_job *job)
{
    const uint32_t places = places_of(job);
    struct block p = {.rows = places < GROUP ? places : GROUP};
    configure(p.rows, 0);
    for (uint32_t begin = 0; begin < places; begin += MOST_GROUPS * GROUP)
        blocks_run(job, &p, places, begin);
    _tile_release();
}
