/* SPDX-License-Identifier: MIT */
/* product_tiles.c - products on gemm_f32. y is cut into strips of nr columns, for a few rows of a
 * of nr_wide. b's strip k x nr is packed (constant b: once, when the plan is built), and gemm_f32
 * multiplies panels of mr rows of a with one strip, K_BLOCK of k at a time so that the strip's
 * block stays in cache. Panels are read where a lies; packed, at each run, for kernels that want
 * it.
 *
 *     constant b:  prep = strips [ceil(n/nr)][k][nr]
 *     scratch          = panels of a [ceil(m/mr)][k][mr], then strips of b, unless they lie ready
 */
#include "products/product_kernel.h"
#include "products/run_form.h"

#define FETCH_PANELS 4u /* the first ones of a, beside which b's next block is fetched */
#define K_BLOCK 512u /* of k at a time: K_BLOCK x nr floats of b stay in the second-level cache */

/* floats of ceil(rows / width) panels of k x width; false on overflow */
static bool panel_floats(uint64_t rows, uint64_t k, uint64_t width, uint64_t *floats)
{
    return mul_ok((rows + width - 1) / width * width, k, floats) && *floats < UINT64_MAX / 8;
}

/* Whether gemm_f32 can read b [k, n] as it lies. */
static bool strips_lie_ready(const struct product *p)
{
    return !p->constant && !p->trans_b;
}

#define WIDE_PANELS 2u /* where there are more, one that is not full hardly counts */

/* Rows of a that are one or two more than fill a panel or two: the last panel takes them, too, so
 * that they do not read b for themselves. Constants alone are packed for that. */
static bool is_wide(const struct product *p, const struct dense_kernels *d)
{
    uint32_t rest = p->m % d->mr;
    return p->constant && p->m > d->mr && p->m < (WIDE_PANELS + 1) * d->mr && rest >= 1 &&
           d->mr + rest <= d->mr_wide;
}

/* Columns of a strip. */
static uint32_t strip_width(const struct product *p, const struct dense_kernels *d)
{
    return is_wide(p, d) ? d->nr_wide : d->nr;
}

/* Whether gemm_f32 can read a as it lies. */
static bool panels_lie_ready(const struct product *p, const struct dense_kernels *d)
{
    return d->strided && !is_wide(p, d);
}

static bool tiles_supports(const struct product_case *c)
{
    return product_is_plain(c->p) && c->env->kernels->dense.nr != 0;
}

static enum pith_status tiles_need(const struct product_case *c, struct op_need *need)
{
    const struct product *p = c->p;
    const struct dense_kernels *d = &c->env->kernels->dense;
    uint64_t a_floats, b_floats;
    if (!panel_floats(panels_lie_ready(p, d) ? 0 : p->m, p->k, d->mr, &a_floats) ||
        !panel_floats(p->n, p->k, strip_width(p, d), &b_floats))
        return PITH_ERR_LIMIT;
    uint64_t a_bytes = (a_floats * sizeof(float) + 63) & ~(uint64_t)63;
    need->kernel = "gemm-f32";
    need->scratch_bytes = a_bytes;
    if (c->weight) {
        need->prep_form = product_form(p, is_wide(p, d) ? PREP_WIDE_STRIPS : PREP_STRIPS);
        need->prep_bytes = b_floats * sizeof(float);
        return pith_weight_f32_scratch(c->weight, &need->prep_scratch_bytes);
    }
    if (!strips_lie_ready(p) && !add_ok(a_bytes, b_floats * sizeof(float), &need->scratch_bytes))
        return PITH_ERR_LIMIT;
    return PITH_OK;
}

static uint32_t n_strips(const struct product *p, const struct dense_kernels *d)
{
    return (p->n + strip_width(p, d) - 1) / strip_width(p, d); /* n < 2^31 */
}

/* Strips [begin, end) of b, to their place in dst: strips lie one behind the other, so some of them
 * are packed as a smaller matrix. */
static void pack_strips(const struct product *p, const struct dense_kernels *d, const float *b,
                        float *dst, uint32_t begin, uint32_t end)
{
    const uint32_t nr = strip_width(p, d);
    size_t ld = p->trans_b ? p->k : 1, step = p->trans_b ? 1 : p->n;
    begin *= nr;
    end = end * nr < p->n ? end * nr : p->n;
    d->pack_rows_f32(&(struct pack_rows_job){b + begin * ld, dst + (size_t)begin * p->k, ld, step,
                                             end - begin, p->k, nr, (size_t)p->k * nr});
}

struct strip_pack {
    const struct product_case *c;
    const float *b;
    float *dst;
    uint32_t strips, pieces;
};

static void pack_piece(void *arg, uint32_t i)
{
    const struct strip_pack *t = arg;
    pack_strips(t->c->p, &t->c->env->kernels->dense, t->b, t->dst,
                (uint32_t)((uint64_t)t->strips * i / t->pieces),
                (uint32_t)((uint64_t)t->strips * (i + 1) / t->pieces));
}

static enum pith_status tiles_pack(const struct product_case *c, void *prep)
{
    struct strip_pack t = {.c = c, .dst = prep};
    enum pith_status status = pith_weight_f32(c->env, c->weight, &t.b);
    if (status)
        return status;
    t.strips = n_strips(c->p, &c->env->kernels->dense);
    t.pieces = t.strips < PRODUCT_CHUNKS ? t.strips : PRODUCT_CHUNKS;
    pith_op_parallel(c->env, t.pieces, pack_piece, &t);
    return PITH_OK;
}

/* Rows of a are split evenly among as few panels as hold them, since a panel with few rows of mr
 * takes longer for each than a full one; into full ones where the last two are taken together. */
static uint32_t panels_of(const struct product *p, const struct dense_kernels *d)
{
    return (uint32_t)(((uint64_t)p->m + d->mr - 1) / d->mr);
}

static uint32_t panel_begin(const struct product *p, const struct dense_kernels *d, uint32_t i)
{
    uint32_t panels = panels_of(p, d);
    if (is_wide(p, d))
        return i < panels ? i * d->mr : p->m;
    return (uint32_t)((uint64_t)p->m * i / panels);
}

static void pack_panels(const struct product *p, const struct dense_kernels *d, const float *a,
                        float *dst)
{
    size_t ld = p->trans_a ? 1 : p->k, step = p->trans_a ? p->m : 1, panel = (size_t)p->k * d->mr;
    uint32_t panels = panels_of(p, d);
    for (uint32_t i = 0; i < panels; i++) {
        uint32_t row = panel_begin(p, d, i), rows = panel_begin(p, d, i + 1) - row;
        d->pack_rows_f32(&(struct pack_rows_job){a + row * ld, dst + i * panel, ld, step, rows,
                                                 p->k, d->mr, panel});
    }
}

/* What is read after a strip's part in front of k, where strips are packed one behind the other;
 * NULL: nothing. */
static const float *next_block(const struct product_run *r, size_t strip, uint32_t k)
{
    const struct product *p = r->p;
    const uint32_t width = strip_width(p, &r->kernels->dense);
    bool last = k == p->k && (strip + 1) * width >= p->n;
    return r->ldb != width || last ? NULL : r->b + strip * r->strip_step + (size_t)k * width;
}

static void strip_run(const struct product_run *r, size_t strip)
{
    const struct product *p = r->p;
    const struct product_data *data = r->d;
    const struct dense_kernels *d = &r->kernels->dense;
    const uint32_t width = strip_width(p, d);
    const bool wide = is_wide(p, d);
    const bool ready = panels_lie_ready(p, d);
    const size_t a_row = p->trans_a ? 1 : p->k, a_col = p->trans_a ? p->m : 1;
    size_t j = strip * width, panel = (size_t)p->k * d->mr;
    for (uint32_t k = 0; k < p->k; k += K_BLOCK) {
        uint32_t k_n = p->k - k < K_BLOCK ? p->k - k : K_BLOCK;
        const float *packed = ready ? NULL : r->a_panels + (size_t)k * d->mr;
        struct gemm_f32_job job = {.a_step = panel,
                                   .a_row = ready ? a_row : 0,
                                   .a_col = a_col,
                                   .b = r->b + strip * r->strip_step + k * r->ldb,
                                   .ldb = r->ldb,
                                   .next = next_block(r, strip, k + k_n),
                                   .ldc = p->n,
                                   .bias_col = data->c ? data->c + j : NULL,
                                   .n = (uint32_t)(p->n - j < width ? p->n - j : width),
                                   .k = k_n,
                                   .wide = wide,
                                   .resume = k > 0,
                                   .finish = k + k_n == p->k,
                                   .act = data->act};
        for (uint32_t i = 0, row = 0; row < p->m; i++, row += job.m) {
            job.a = ready ? data->a + row * a_row + k * a_col : packed + i * panel;
            bool last_two = wide && p->m - row <= d->mr_wide;
            job.m = last_two ? p->m - row : panel_begin(p, d, i + 1) - row;
            job.c = data->y + (size_t)row * p->n + j;
            job.residual = data->residual ? data->residual + (size_t)row * p->n + j : NULL;
            d->gemm_f32(&job);
            if (i + 1 == FETCH_PANELS)
                job.next = NULL;
        }
    }
}

static void strips_body(void *arg, uint32_t i)
{
    const struct product_run *r = arg;
    for (size_t strip = product_chunk(r, i); strip < product_chunk(r, i + 1); strip++)
        strip_run(r, strip);
}

static void tiles_run(const struct product *p, const struct product_data *data,
                      const struct op_env *env)
{
    const struct dense_kernels *d = &env->kernels->dense;
    struct product_run r = {.p = p,
                            .d = data,
                            .kernels = env->kernels,
                            .b = data->prep,
                            .ldb = strip_width(p, d),
                            .strip_step = (size_t)p->k * strip_width(p, d)};
    float *a_panels = env->scratch;
    size_t a_floats = 0;
    if (!panels_lie_ready(p, d)) {
        a_floats = (size_t)panels_of(p, d) * d->mr * p->k;
        pack_panels(p, d, data->a, a_panels);
        r.a_panels = a_panels;
    }
    if (strips_lie_ready(p)) {
        r.b = data->b;
        r.ldb = p->n;
        r.strip_step = d->nr;
    } else if (!p->constant) {
        float *strips = a_panels + ((a_floats + 15) & ~(size_t)15);
        pack_strips(p, d, data->b, strips, 0, n_strips(p, d));
        r.b = strips;
    }
    product_chunks(&r, env, (p->n + strip_width(p, d) - 1) / strip_width(p, d), strips_body);
}

/* However few rows of a, b is passed once; half of the shorter of passing and multiplying is done
 * meanwhile. Columns of the last strip that are not there take as long as others, but under whole
 * panels. Where b is computed, packing it
 * takes longer than a few rows. */
static uint64_t tiles_cost(const struct product_case *c)
{
    const struct product *p = c->p;
    const struct dense_kernels *d = &c->env->kernels->dense;
    if (p->m == 1 || (p->m <= GEMV_MAX_M && !c->weight))
        return pith_product_gemv_cost(c);
    const struct sparse_kernels *k = &c->env->kernels->sparse;
    const uint64_t passing = pith_gemv_cost(k, p->n, p->k, 1);
    const uint64_t multiplying =
        pith_tiles_cost(k, p->m % d->mr ? n_strips(p, d) * d->nr : p->n, p->k, p->m);
    return passing < multiplying ? multiplying + passing / 2 : passing + multiplying / 2;
}

const struct product_kernel pith_product_tiles = {tiles_supports, tiles_cost, tiles_need,
                                                  tiles_pack, tiles_run};
