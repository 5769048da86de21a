/* SPDX-License-Identifier: MIT */
/* product_f32.c - see product_f32.h.
 *
 * Tiles: y is cut into strips of nr columns (a few rows of a: of nr_wide). b's strip k x nr is
 * packed (constant b: once, when the plan is built), a is packed into panels of mr rows for each
 * run, and gemm_f32 multiplies all panels with one strip, K_BLOCK of k at a time so that the
 * strip's block stays in cache.
 *
 *     constant b, tiles:  prep    = strips [ceil(n/nr)][k][nr]
 *     constant b, gemv:   prep    = rows [n][k], or nothing where they can be used in the image
 *     few columns:        prep    = [k][n]
 *     constant b, coded:  scratch = what decodes it (weight_rows.h)
 *     scratch            = panels of a [ceil(m/mr)][k][mr], then strips of b unless they lie ready
 *
 * Work is cut into at most CHUNKS parts, a number that does not depend on the threads. */
#include "product_f32.h"
#include "activate.h"
#include "pith_kernels.h"
#include "run_form.h"
#include "weight_f32.h"
#include "weight_rows.h"

enum product_path {
    PRODUCT_FORM,
    PRODUCT_CODED,
    PRODUCT_COLUMNS,
    PRODUCT_GEMV,
    PRODUCT_TILES,
    PRODUCT_GENERAL
};

#define CHUNKS 16u
#define K_BLOCK 512u /* of k at a time: K_BLOCK x nr floats of b stay in the second-level cache */
/* Above, packing a and using registers twice wins over streaming b m times. */
#define GEMV_MAX_M 3u

/* Rows shorter than this fill no register. Column after column goes faster, and adds in ascending
 * order: the same bits on every level, which loops of integers with a few floats among them depend
 * on. */
#define FEW_COLUMNS 16u
#define BLOCK 16u /* of sums, in four registers of any CPU */

static bool has_few_columns(const struct product *p)
{
    return p->weight && p->trans_b && !p->trans_a && p->m <= GEMV_MAX_M && p->k < FEW_COLUMNS;
}

/* b's rows are what gemv wants: [n, k], or a constant that prepare() can turn. */
static bool rows_of_b(const struct product *p)
{
    return p->trans_b || p->weight;
}

/* The product is plain: what is added is at most one value per column. */
static bool plain(const struct product *p)
{
    if (p->alpha != 1.0f)
        return false;
    return !p->has_c ||
           (p->beta == 1.0f && (p->c_col == 1 || p->n == 1) && (p->c_row == 0 || p->m == 1));
}

static bool form_need(const struct product *p, const struct op_env *env, struct run_form_need *need)
{
    const struct sparse_kernels *k = &env->kernels->sparse;
    bool wanted = p->weight && p->trans_b && (!p->trans_a || p->m == 1) &&
                  !(env->flags & PITH_FLAG_DENSE_ONLY);
    if (!wanted || pith_run_form_need(p->weight, p->n, p->k, k, need))
        return false;
    return p->m <= GEMV_MAX_M || env->kernels->dense.nr == 0 ||
           pith_run_form_batch(p->weight, p->n, p->k, k, p->m);
}

static enum product_path path_of(const struct product *p, const struct op_env *env,
                                 struct run_form_need *form)
{
    uint32_t nr = env->kernels->dense.nr;
    if (!plain(p))
        return PRODUCT_GENERAL;
    if (p->trans_b && (!p->trans_a || p->m == 1) && pith_weight_rows_wanted(env, p->weight))
        return PRODUCT_CODED;
    if (form_need(p, env, form))
        return PRODUCT_FORM;
    if (has_few_columns(p))
        return PRODUCT_COLUMNS;
    if (rows_of_b(p) && (!p->trans_a || p->m == 1) && (p->m <= GEMV_MAX_M || nr == 0))
        return PRODUCT_GEMV;
    return nr != 0 ? PRODUCT_TILES : PRODUCT_GENERAL;
}

/* floats of ceil(rows / width) panels of k x width; false on overflow */
static bool panel_floats(uint64_t rows, uint64_t k, uint64_t width, uint64_t *floats)
{
    return mul_ok((rows + width - 1) / width * width, k, floats) && *floats < UINT64_MAX / 8;
}

/* What is made of a weight follows from its path, its n and which way round it lies. */
static uint64_t form_of(const struct product *p, enum prep_form form)
{
    return prep_form(form, p->n << 1 | p->trans_b); /* n < 2^31 */
}

/* Whether gemm_f32 can read b [k, n] as it lies. */
static bool strips_lie_ready(const struct product *p)
{
    return !p->weight && !p->trans_b;
}

#define WIDE_PANELS 2u /* where there are more, one that is not full hardly counts */

/* Rows of a that are one or two more than fill a panel or two: the last panel takes them, too, so
 * that they do not read b for themselves. Constants alone are packed for that. */
static bool is_wide(const struct product *p, const struct dense_kernels *d)
{
    uint32_t rest = p->m % d->mr;
    return p->weight && p->m > d->mr && p->m < (WIDE_PANELS + 1) * d->mr && rest >= 1 &&
           d->mr + rest <= d->mr_wide;
}

/* Columns of a strip. */
static uint32_t strip_width(const struct product *p, const struct dense_kernels *d)
{
    return is_wide(p, d) ? d->nr_wide : d->nr;
}

static enum pith_status tiles_need(const struct product *p, const struct dense_kernels *d,
                                   struct op_need *need)
{
    uint64_t a_floats, b_floats;
    if (!panel_floats(p->m, p->k, d->mr, &a_floats) ||
        !panel_floats(p->n, p->k, strip_width(p, d), &b_floats))
        return PITH_ERR_LIMIT;
    uint64_t a_bytes = (a_floats * sizeof(float) + 63) & ~(uint64_t)63;
    need->kernel = "gemm-f32";
    need->scratch_bytes = a_bytes;
    if (p->weight) {
        need->prep_form = form_of(p, is_wide(p, d) ? PREP_WIDE_STRIPS : PREP_STRIPS);
        need->prep_bytes = b_floats * sizeof(float);
        return pith_weight_f32_scratch(p->weight, &need->prep_scratch_bytes);
    }
    if (!strips_lie_ready(p) && !add_ok(a_bytes, b_floats * sizeof(float), &need->scratch_bytes))
        return PITH_ERR_LIMIT;
    return PITH_OK;
}

/* What decodes the weight is there while the plan is made, to test it, and at each run. */
static void coded_need(const struct product *p, struct op_need *need)
{
    need->kernel = "gemv-coded";
    need->reads_rows = true;
    need->scratch_bytes = need->prep_scratch_bytes = pith_weight_rows_bytes(p->weight);
}

/* Rows [n, k] of a constant: nothing where they can be borrowed. */
static enum pith_status rows_need(const struct product *p, struct op_need *need)
{
    if (!p->weight || (p->trans_b && pith_weight_f32_borrow(p->weight)))
        return PITH_OK;
    if (!mul_ok(p->weight->count, sizeof(float), &need->prep_bytes))
        return PITH_ERR_LIMIT;
    need->prep_form = p->trans_b ? prep_form(PREP_ELEMENTS, 0) : form_of(p, PREP_ROWS);
    if (!p->trans_b)
        return pith_weight_f32_scratch(p->weight, &need->prep_scratch_bytes);
    need->prep_scratch_bytes = pith_weight_scratch_bytes(p->weight);
    return PITH_OK;
}

enum pith_status pith_product_need(const struct product *p, const struct op_env *env,
                                   struct op_need *need)
{
    struct run_form_need form;
    *need = (struct op_need){0};
    uint64_t mn;
    if (!mul_ok(p->m, p->n, &mn) || !mul_ok(mn, p->k, &need->macs))
        need->macs = UINT64_MAX;
    switch (path_of(p, env, &form)) {
    case PRODUCT_FORM:
        need->kernel = form.kernel;
        need->prep_bytes = form.bytes;
        need->prep_form = form_of(p, PREP_RUN_FORM);
        need->prep_scratch_bytes = form.scratch_bytes;
        return PITH_OK;
    case PRODUCT_CODED:
        coded_need(p, need);
        return PITH_OK;
    case PRODUCT_COLUMNS:
        need->kernel = "columns-f32";
        need->prep_bytes = (uint64_t)p->n * p->k * sizeof(float);
        need->prep_form = form_of(p, PREP_COLUMNS);
        return pith_weight_f32_scratch(p->weight, &need->prep_scratch_bytes);
    case PRODUCT_GEMV:
        need->kernel = "gemv-f32";
        return rows_need(p, need);
    case PRODUCT_TILES:
        return tiles_need(p, &env->kernels->dense, need);
    default:
        need->kernel = "gemm-f32-general";
        return rows_need(p, need);
    }
}

static enum pith_status prepare_rows(const struct product *p, const struct op_env *env)
{
    if (!p->prep)
        return PITH_OK;
    if (p->trans_b)
        return pith_weight_expand_f32(p->weight, p->prep, env->scratch);
    const float *w;
    enum pith_status status = pith_weight_f32(p->weight, env->scratch, &w);
    if (status == PITH_OK) /* [k, n] -> [n, k]: one panel as high as the matrix, seen from b */
        pith_pack_rows_f32(w, p->n, 1, p->k, p->n, p->k, p->prep, 0);
    return status;
}

static void pack_strips(const struct product *p, const struct dense_kernels *d, const float *b,
                        float *dst)
{
    const uint32_t nr = strip_width(p, d);
    size_t ld = p->trans_b ? p->k : 1, step = p->trans_b ? 1 : p->n;
    d->pack_rows_f32(b, ld, step, p->n, p->k, nr, dst, (size_t)p->k * nr);
}

enum pith_status pith_product_prepare(const struct product *p, const struct op_env *env)
{
    struct run_form_need form;
    if (!p->weight)
        return PITH_OK;
    enum product_path path = path_of(p, env, &form);
    switch (path) {
    case PRODUCT_CODED:
        return PITH_OK;
    case PRODUCT_FORM:
        return pith_run_form_build(p->weight, p->n, p->k, &env->kernels->sparse, p->prep,
                                   env->scratch);
    case PRODUCT_COLUMNS:
    case PRODUCT_TILES: {
        const float *w;
        enum pith_status status = pith_weight_f32(p->weight, env->scratch, &w);
        if (status == PITH_OK && path == PRODUCT_TILES)
            pack_strips(p, &env->kernels->dense, w, p->prep);
        else if (status == PITH_OK)
            pith_pack_rows_f32(w, p->k, 1, p->n, p->k, p->n, p->prep, 0);
        return status;
    }
    default:
        return prepare_rows(p, env);
    }
}

/* One run, as the parallel bodies see it. */
struct product_run {
    const struct product *p;
    const struct pith_kernels *kernels;
    const float *b;        /* rows [n, k] (gemv), or strips (tiles) */
    const float *a_panels; /* tiles */
    size_t ldb, strip_step;
    uint32_t units, chunks; /* chunk i does units [i * units / chunks, (i + 1) * units / chunks) */
};

static uint32_t chunk_begin(const struct product_run *r, uint32_t i)
{
    return (uint32_t)((uint64_t)r->units * i / r->chunks);
}

static void run_chunks(struct product_run *r, const struct op_env *env, uint32_t units,
                       void (*body)(void *arg, uint32_t i))
{
    r->units = units;
    r->chunks = units < CHUNKS ? units : CHUNKS;
    pith_op_parallel(env, r->chunks, body, r);
}

/* What run form kernels leave to do: y = act(y + c + residual), in place. */
static void finish_row(const struct product *p, const struct row_kernels *row, size_t i)
{
    float *y = p->y + i * p->n;
    for (size_t j = 0; p->c && j < p->n; j++)
        y[j] += p->c[j * p->c_col];
    for (size_t j = 0; p->residual && j < p->n; j++)
        y[j] += p->residual[i * p->n + j];
    pith_activate_by(row, p->act, p->act_a, p->act_b, y, y, p->n);
}

static void form_body(void *arg, uint32_t i)
{
    const struct product_run *r = arg;
    for (size_t row = 0; row < r->p->m; row++)
        pith_run_form_matvec(&r->kernels->sparse, r->p->prep, r->p->a + row * r->p->k,
                             r->p->y + row * r->p->n, chunk_begin(r, i), chunk_begin(r, i + 1));
}

/* Row after row of b, each multiplied with all of a before the next is decoded. */
static void run_coded(const struct product *p, const struct op_env *env)
{
    struct weight_rows *rows = pith_weight_rows_open(p->weight, env->scratch);
    for (size_t j = 0; j < p->n; j++)
        pith_weight_rows_dot(rows, p->a, p->k, p->y + j, p->m, p->n);
}

/* y[j] = sum over k of x[k] * w[k * n + j], j < width <= BLOCK */
static inline void add_columns(const float *x, const float *w, size_t k_n, size_t n, size_t width,
                               float *y)
{
    float sum[BLOCK] = {0};
    for (size_t k = 0; k < k_n; k++)
        for (size_t j = 0; j < width; j++)
            sum[j] += x[k] * w[k * n + j];
    memcpy(y, sum, width * sizeof *y);
}

/* Units are blocks. */
static void columns_body(void *arg, uint32_t i)
{
    const struct product_run *r = arg;
    const struct product *p = r->p;
    for (size_t row = 0; row < p->m; row++)
        for (size_t j = (size_t)chunk_begin(r, i) * BLOCK;
             j < (size_t)chunk_begin(r, i + 1) * BLOCK; j += BLOCK) {
            const float *x = p->a + row * p->k, *w = r->b + j;
            float *y = p->y + row * p->n + j;
            if (j + BLOCK <= p->n)
                add_columns(x, w, p->k, p->n, BLOCK, y);
            else
                add_columns(x, w, p->k, p->n, p->n - j, y);
        }
}

static void gemv_body(void *arg, uint32_t i)
{
    const struct product_run *r = arg;
    const struct product *p = r->p;
    size_t begin = chunk_begin(r, i), end = chunk_begin(r, i + 1);
    for (size_t row = 0; row < p->m; row++) {
        const float *residual = p->residual ? p->residual + row * p->n + begin : NULL;
        struct gemv_f32_job job = {.w = r->b + begin * p->k,
                                   .ldw = p->k,
                                   .x = p->a + row * p->k,
                                   .y = p->y + row * p->n + begin,
                                   .bias = p->c ? p->c + begin : NULL,
                                   .residual = residual,
                                   .rows = (uint32_t)(end - begin),
                                   .k = p->k,
                                   .act = {p->act, p->act_a, p->act_b}};
        r->kernels->dense.gemv_f32(&job);
    }
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

static void pack_panels(const struct product *p, const struct dense_kernels *d, float *dst)
{
    size_t ld = p->trans_a ? 1 : p->k, step = p->trans_a ? p->m : 1, panel = (size_t)p->k * d->mr;
    uint32_t panels = panels_of(p, d);
    for (uint32_t i = 0; i < panels; i++) {
        uint32_t row = panel_begin(p, d, i), rows = panel_begin(p, d, i + 1) - row;
        d->pack_rows_f32(p->a + row * ld, ld, step, rows, p->k, d->mr, dst + i * panel, panel);
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
    const struct dense_kernels *d = &r->kernels->dense;
    const uint32_t width = strip_width(p, d);
    const bool wide = is_wide(p, d);
    size_t j = strip * width, panel = (size_t)p->k * d->mr;
    for (uint32_t k = 0; k < p->k; k += K_BLOCK) {
        uint32_t k_n = p->k - k < K_BLOCK ? p->k - k : K_BLOCK;
        struct gemm_f32_job job = {.a = r->a_panels + (size_t)k * d->mr,
                                   .a_step = (size_t)p->k * d->mr,
                                   .b = r->b + strip * r->strip_step + k * r->ldb,
                                   .ldb = r->ldb,
                                   .next = next_block(r, strip, k + k_n),
                                   .ldc = p->n,
                                   .bias_col = p->c ? p->c + j : NULL,
                                   .n = (uint32_t)(p->n - j < width ? p->n - j : width),
                                   .k = k_n,
                                   .wide = wide,
                                   .resume = k > 0,
                                   .finish = k + k_n == p->k,
                                   .act = {p->act, p->act_a, p->act_b}};
        for (uint32_t i = 0, row = 0; row < p->m; i++, row += job.m, job.a += panel) {
            bool last_two = wide && p->m - row <= d->mr_wide;
            job.m = last_two ? p->m - row : panel_begin(p, d, i + 1) - row;
            job.c = p->y + (size_t)row * p->n + j;
            job.residual = p->residual ? p->residual + (size_t)row * p->n + j : NULL;
            d->gemm_f32(&job);
        }
    }
}

static void strips_body(void *arg, uint32_t i)
{
    const struct product_run *r = arg;
    for (size_t strip = chunk_begin(r, i); strip < chunk_begin(r, i + 1); strip++)
        strip_run(r, strip);
}

static void run_tiles(struct product_run *r, const struct op_env *env)
{
    const struct product *p = r->p;
    const struct dense_kernels *d = &r->kernels->dense;
    float *a_panels = env->scratch;
    pack_panels(p, d, a_panels);
    r->a_panels = a_panels;
    r->ldb = strip_width(p, d);
    r->strip_step = (size_t)p->k * strip_width(p, d);
    r->b = p->prep;
    if (strips_lie_ready(p)) {
        r->b = p->b;
        r->ldb = p->n;
        r->strip_step = strip_width(p, d);
    } else if (!p->weight) {
        size_t a_floats = ((size_t)p->m + d->mr - 1) / d->mr * d->mr * p->k;
        float *strips = a_panels + ((a_floats + 15) & ~(size_t)15);
        pack_strips(p, d, p->b, strips);
        r->b = strips;
    }
    run_chunks(r, env, (p->n + strip_width(p, d) - 1) / strip_width(p, d), strips_body);
}

static void general_body(void *arg, uint32_t chunk)
{
    const struct product_run *r = arg;
    const struct product *p = r->p;
    bool rows = p->trans_b || p->prep;
    for (size_t i = chunk_begin(r, chunk); i < chunk_begin(r, chunk + 1); i++)
        for (size_t j = 0; j < p->n; j++) {
            float sum = 0.0f;
            for (size_t k = 0; k < p->k; k++)
                sum += p->a[p->trans_a ? k * p->m + i : i * p->k + k] *
                       r->b[rows ? j * p->k + k : k * p->n + j];
            if (p->alpha != 1.0f)
                sum *= p->alpha;
            if (p->c) {
                float c = p->c[i * p->c_row + j * p->c_col];
                sum += p->beta != 1.0f ? p->beta * c : c;
            }
            if (p->residual)
                sum += p->residual[i * p->n + j];
            p->y[i * p->n + j] = pith_activate(p->act, p->act_a, p->act_b, sum);
        }
}

void pith_product_run(const struct product *p, const struct op_env *env)
{
    struct run_form_need form;
    struct product_run r = {.p = p, .kernels = env->kernels};
    enum product_path path = path_of(p, env, &form);
    r.b = p->prep ? p->prep : p->weight ? pith_weight_f32_borrow(p->weight) : p->b;
    if (path == PRODUCT_FORM || path == PRODUCT_COLUMNS || path == PRODUCT_CODED) {
        if (path == PRODUCT_FORM)
            run_chunks(&r, env, pith_run_form_units(p->prep), form_body);
        else if (path == PRODUCT_CODED)
            run_coded(p, env);
        else
            run_chunks(&r, env, (p->n + BLOCK - 1) / BLOCK, columns_body);
        for (size_t i = 0; i < p->m; i++)
            finish_row(p, pith_row_kernels(env->kernels), i);
    } else if (path == PRODUCT_GEMV) {
        run_chunks(&r, env, p->n, gemv_body);
    } else if (path == PRODUCT_TILES) {
        run_tiles(&r, env);
    } else {
        run_chunks(&r, env, p->m, general_body);
    }
}
