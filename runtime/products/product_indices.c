/* SPDX-License-Identifier: MIT */
/* product_indices.c - products of several rows on gemm_f32 with a dense constant b that has one
 * codebook: b stays indices, packed in the order of product_tiles.c, and of each strip K_BLOCK rows
 * at a time are made f32 in the first-level cache, where all panels of a read them.
 *
 *     prep    = codebook, then strips of indices [ceil(n/nr)][k][nr], each from a block of 64 on
 *     scratch = panels of a [ceil(m/mr)][k][mr], then of each lane f32 [K_BLOCK][nr] */
#include "product_kernel.h"
#include "run_form.h"

#define K_BLOCK 128u /* times nr: whole blocks of indices, and 24 KiB of f32 */
#define MIN_M 2u
/* Room for a codebook of 8-bit indices, whatever the kind: expand_fn reads as many floats as its
 * kind can name, be there centroids or not. */
#define CODEBOOK_FLOATS 256u

struct index_strips {
    enum expand_kind kind;
    uint32_t strips, per_byte;
    uint64_t strip_bytes;
    uint64_t a_floats;
    uint64_t block_floats;
};

/* The kind follows from the size of the codebook; that of 16 values has two indices a byte. A strip
 * is rounded up to whole blocks, as expand_fn takes no others. false: sizes overflow. */
static bool strips_of(const struct product *p, const struct dense_kernels *d,
                      const struct weight *w, struct index_strips *s)
{
    s->kind = w->n_centroids <= 16 ? EXPAND_4 : w->n_centroids <= 32 ? EXPAND_5 : EXPAND_8;
    s->per_byte = s->kind == EXPAND_4 ? 2 : 1;
    s->strips = (uint32_t)(((uint64_t)p->n + d->nr - 1) / d->nr);
    s->block_floats = (uint64_t)K_BLOCK * d->nr;
    uint64_t elements;
    return mul_ok(p->k, d->nr, &elements) && align_ok(elements, EXPAND_BLOCK, &elements) &&
           (s->strip_bytes = elements / s->per_byte, true) &&
           mul_ok(((uint64_t)p->m + d->mr - 1) / d->mr * d->mr, p->k, &s->a_floats) &&
           align_ok(s->a_floats, 16, &s->a_floats);
}

static bool indices_supports(const struct product_case *c)
{
    const struct product *p = c->p;
    const struct weight *w = c->weight;
    struct index_strips s;
    return w && w->support == SUPPORT_DENSE && w->grid == GRID_CODEBOOK && w->n_groups == 1 &&
           product_is_plain(p) && p->trans_b && p->m >= MIN_M && c->env->kernels->dense.nr != 0 &&
           w->count == (uint64_t)p->n * p->k && !(c->env->flags & PITH_FLAG_DENSE_ONLY) &&
           strips_of(p, &c->env->kernels->dense, w, &s) &&
           c->env->kernels->sparse.costs.expand[s.kind] != 0;
}

/* The sums of tiles, and once the time of expanding. Of a matrix that as f32 would come from memory
 * that may be half as much again as tiles take to begin with, and does not count then: a tenth of
 * the time for three quarters of the memory. */
static uint64_t indices_cost(const struct product_case *c)
{
    const struct product *p = c->p;
    const struct sparse_kernels *k = &c->env->kernels->sparse;
    struct index_strips s;
    strips_of(p, &c->env->kernels->dense, c->weight, &s);
    uint64_t count = c->weight->count < UINT32_MAX ? c->weight->count : UINT32_MAX;
    uint64_t sums = count * p->m * (8 * COSTS_IN_NS) / k->costs.tiles;
    uint64_t expanding = count * (8 * COSTS_IN_NS) / k->costs.expand[s.kind];
    uint64_t tiles = pith_tiles_cost(k, p->n, p->k, p->m), begin = tiles > sums ? tiles - sums : 0;
    return begin && expanding < begin + begin / 2 ? tiles - 1 : sums + expanding;
}

/* Each chunk has a block of f32 of its own, so without threads there is room for one alone. */
static uint32_t chunks_of(const struct op_env *env, uint32_t strips)
{
    uint32_t most = env->parallel_for ? PRODUCT_CHUNKS : 1;
    return strips < most ? strips : most;
}

static enum pith_status indices_workspace(const struct product_case *c, struct op_need *need)
{
    struct index_strips s;
    const struct product *p = c->p;
    uint64_t indices, floats;
    if (!strips_of(p, &c->env->kernels->dense, c->weight, &s) ||
        !mul_ok(s.strips, s.strip_bytes, &indices) ||
        !add_ok(indices, CODEBOOK_FLOATS * sizeof(float), &need->prep_bytes) ||
        !add_ok(s.a_floats, s.block_floats * pith_op_lanes(c->env, chunks_of(c->env, s.strips)),
                &floats) ||
        !mul_ok(floats, sizeof(float), &need->scratch_bytes))
        return PITH_ERR_LIMIT;
    need->kernel = "gemm-codebook";
    need->prep_form = product_form(p, PREP_INDEX_STRIPS);
    uint64_t decoder;
    return align_ok(pith_weight_scratch_bytes(c->weight), 64, &decoder) &&
                   add_ok(decoder, c->weight->count, &need->prep_scratch_bytes)
               ? PITH_OK
               : PITH_ERR_LIMIT;
}

/* The index of element (k, j) of a strip. */
static void put_index(const struct index_strips *s, uint8_t *strip, size_t element, uint32_t index)
{
    uint32_t at = (uint32_t)(element % EXPAND_BLOCK);
    uint8_t *block = strip + (element - at) / s->per_byte;
    uint32_t shift = s->kind == EXPAND_4 ? at / 16 % 2 * 4 : 0;
    block[expand_byte(s->kind, at)] |= (uint8_t)(index << shift);
}

struct strip_pack {
    const struct product *p;
    const struct index_strips *s;
    const uint8_t *index; /* [n, k] */
    uint8_t *strips;
    uint32_t nr;
};

/* Columns behind the last of b keep index 0: they are expanded like others, but job.n leaves out
 * their sums. */
static void pack_strip(void *arg, uint32_t i)
{
    const struct strip_pack *t = arg;
    uint8_t *strip = t->strips + i * t->s->strip_bytes;
    uint32_t begin = i * t->nr, left = t->p->n - begin, columns = left < t->nr ? left : t->nr;
    const uint8_t *index = t->index + (size_t)begin * t->p->k;
    for (uint32_t n = 0; n < columns; n++)
        for (size_t k = 0; k < t->p->k; k++)
            put_index(t->s, strip, k * t->nr + n, *index++);
}

static enum pith_status indices_pack(const struct product_case *c, void *prep)
{
    const struct product *p = c->p;
    const uint32_t nr = c->env->kernels->dense.nr;
    struct index_strips s;
    strips_of(p, &c->env->kernels->dense, c->weight, &s);
    uint64_t decoder;
    align_ok(pith_weight_scratch_bytes(c->weight), 64, &decoder);
    uint8_t *index = (uint8_t *)c->env->scratch + decoder;
    enum pith_status status =
        pith_weight_cut_parts(c->env, c->weight, NULL, index, NULL, c->env->scratch);
    memset(prep, 0, (size_t)(CODEBOOK_FLOATS * sizeof(float) + s.strips * s.strip_bytes));
    if (status == PITH_OK)
        status = pith_weight_codebooks(c->weight, prep);
    if (status)
        return status;
    struct strip_pack pack = {p, &s, index, (uint8_t *)prep + CODEBOOK_FLOATS * sizeof(float), nr};
    pith_op_parallel(c->env, s.strips, pack_strip, &pack);
    return PITH_OK;
}

/* ---- runs ----------------------------------------------------------------------------------- */

struct indices_run {
    const struct product *p;
    const struct product_data *d;
    const struct pith_kernels *kernels;
    struct index_strips s;
    const float *a_panels;
    float *blocks;
    uint32_t chunks;
};

/* Rows of a are split evenly among as few panels as hold them. */
static uint32_t panel_begin(const struct product *p, const struct dense_kernels *d, uint32_t i)
{
    uint32_t panels = (uint32_t)(((uint64_t)p->m + d->mr - 1) / d->mr);
    return (uint32_t)((uint64_t)p->m * i / panels);
}

/* Panels of a are packed once a run, and read by all chunks: with mr rows each in memory, even
 * those that have fewer of a. */
static void pack_panels(const struct product *p, const struct dense_kernels *d, const float *a,
                        float *dst)
{
    size_t ld = p->trans_a ? 1 : p->k, step = p->trans_a ? p->m : 1, panel = (size_t)p->k * d->mr;
    for (uint32_t i = 0; panel_begin(p, d, i) < p->m; i++) {
        uint32_t row = panel_begin(p, d, i), rows = panel_begin(p, d, i + 1) - row;
        d->pack_rows_f32(a + row * ld, ld, step, rows, p->k, d->mr, dst + i * panel, panel);
    }
}

/* Rows [k, k + n) of a strip, which lie as f32 at `block`, times all panels. */
static void block_multiply(const struct indices_run *r, const float *block, uint32_t strip,
                           uint32_t k, uint32_t n)
{
    const struct product *p = r->p;
    const struct product_data *data = r->d;
    const struct dense_kernels *d = &r->kernels->dense;
    size_t j = (size_t)strip * d->nr, panel = (size_t)p->k * d->mr;
    struct gemm_f32_job job = {.a = r->a_panels + (size_t)k * d->mr,
                               .a_step = panel,
                               .b = block,
                               .ldb = d->nr,
                               .ldc = p->n,
                               .bias_col = data->c ? data->c + j : NULL,
                               .n = (uint32_t)(p->n - j < d->nr ? p->n - j : d->nr),
                               .k = n,
                               .resume = k > 0,
                               .finish = k + n == p->k,
                               .act = data->act};
    for (uint32_t i = 0, row = 0; row < p->m; i++, row += job.m, job.a += panel) {
        job.m = panel_begin(p, d, i + 1) - row;
        job.c = data->y + (size_t)row * p->n + j;
        job.residual = data->residual ? data->residual + (size_t)row * p->n + j : NULL;
        d->gemm_f32(&job);
    }
}

/* What is expanded next comes from memory while the panels are multiplied. Behind the last block
 * that is memory behind prep, which a prefetch may name: it never faults. */
static void ask_for(const uint8_t *index, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 64)
        __builtin_prefetch(index + i, 0, 2);
}

static void indices_body(void *arg, uint32_t i, uint32_t lane)
{
    const struct indices_run *r = arg;
    const uint32_t nr = r->kernels->dense.nr, k_n = r->p->k;
    const float *codebook = r->d->prep;
    const uint8_t *index = (const uint8_t *)(codebook + CODEBOOK_FLOATS);
    float *block = r->blocks + lane * r->s.block_floats;
    uint32_t end = (uint32_t)((uint64_t)r->s.strips * (i + 1) / r->chunks);
    for (uint32_t s = (uint32_t)((uint64_t)r->s.strips * i / r->chunks); s < end; s++)
        for (uint32_t k = 0; k < k_n; k += K_BLOCK) {
            uint32_t n = k_n - k < K_BLOCK ? k_n - k : K_BLOCK;
            /* the last rows of a strip end in a part of a block, which is expanded whole */
            size_t elements = ((size_t)n * nr + EXPAND_BLOCK - 1) / EXPAND_BLOCK * EXPAND_BLOCK;
            const uint8_t *from = index + s * r->s.strip_bytes + (size_t)k * nr / r->s.per_byte;
            ask_for(from + elements / r->s.per_byte, (size_t)K_BLOCK * nr / r->s.per_byte);
            r->kernels->sparse.expand[r->s.kind](from, codebook, block, elements);
            block_multiply(r, block, s, k, n);
        }
}

static void indices_run(const struct product *p, const struct product_data *d,
                        const struct op_env *env)
{
    struct indices_run r = {.p = p, .d = d, .kernels = env->kernels, .a_panels = env->scratch};
    strips_of(p, &env->kernels->dense, d->weight, &r.s);
    r.blocks = (float *)env->scratch + r.s.a_floats;
    r.chunks = chunks_of(env, r.s.strips);
    pack_panels(p, &env->kernels->dense, d->a, env->scratch);
    pith_op_parallel_lanes(env, r.chunks, indices_body, &r);
}

const struct product_kernel pith_product_indices = {indices_supports, indices_cost,
                                                    indices_workspace, indices_pack, indices_run};
