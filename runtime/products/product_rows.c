/* SPDX-License-Identifier: MIT */
/* product_rows.c - products that read b as rows [n, k], or as columns where rows are short:
 *
 *     gemv     prep = rows [n][k], or nothing where they can be used in the image
 *     general  the same
 *     columns  prep = [k][n] */
#include "kernels/ref/activate.h"
#include "products/product_kernel.h"

/* Rows shorter than this fill no register. Column after column goes faster, and adds in ascending
 * order: the same bits on every level, which loops of integers with a few floats among them depend
 * on. The reference gemv does so anyway, and needs no copy of rows that can be borrowed. */
#define FEW_COLUMNS 16u
#define BLOCK 16u /* of sums, in four registers of any CPU */

/* ---- rows ----------------------------------------------------------------------------------- */

/* Rows [n, k] of a constant: nothing where they can be borrowed. */
static enum pith_status rows_need(const struct product_case *c, struct op_need *need)
{
    const struct product *p = c->p;
    if (!c->weight || (p->trans_b && pith_weight_f32_borrow(c->weight)))
        return PITH_OK;
    if (!mul_ok(c->weight->count, sizeof(float), &need->prep_bytes))
        return PITH_ERR_LIMIT;
    need->prep_form = p->trans_b ? prep_form(PREP_ELEMENTS, 0) : product_form(p, PREP_ROWS);
    if (!p->trans_b)
        return pith_weight_f32_scratch(c->weight, &need->prep_scratch_bytes);
    need->prep_scratch_bytes = pith_weight_scratch_bytes(c->weight);
    return PITH_OK;
}

/* Without prep the rows are read in the image. */
static enum pith_status rows_pack(const struct product_case *c, void *prep)
{
    const struct product *p = c->p;
    if (!prep)
        return PITH_OK;
    if (p->trans_b)
        return pith_weight_cut_f32(c->env, c->weight, prep, c->env->scratch);
    const float *w;
    enum pith_status status = pith_weight_f32(c->env, c->weight, &w);
    if (status ==
        PITH_OK) /* [k, n] -> [n, k]: one panel as high as the matrix, from the side of b */
        pith_pack_rows_f32(&(struct pack_rows_job){w, prep, p->n, 1, p->k, p->n, p->k, 0});
    return status;
}

/* ---- gemv ----------------------------------------------------------------------------------- */

/* A level without tiles has no better way for many rows, so it takes any number of them. b [k, n]
 * can be taken if it is constant, as it is then transposed when the plan is made. */
static bool gemv_supports(const struct product_case *c)
{
    const struct product *p = c->p;
    return product_is_plain(p) && (p->trans_b || c->weight) && product_rows_of_a(p) &&
           (p->m <= (c->weight ? GEMV_MOST_M : GEMV_MAX_M) || c->env->kernels->dense.nr == 0);
}

static enum pith_status gemv_need(const struct product_case *c, struct op_need *need)
{
    need->kernel = "gemv-f32";
    return rows_need(c, need);
}

/* A chunk has some rows of b, which it reads once for each row of a: the second time they mostly
 * come from the cache. */
static void gemv_body(void *arg, uint32_t i)
{
    const struct product_run *r = arg;
    const struct product *p = r->p;
    const struct product_data *d = r->d;
    size_t begin = product_chunk(r, i), end = product_chunk(r, i + 1);
    for (size_t row = 0; row < p->m; row++) {
        const float *residual = d->residual ? d->residual + row * p->n + begin : NULL;
        struct gemv_f32_job job = {.w = r->b + begin * p->k,
                                   .ldw = p->k,
                                   .x = d->a + row * p->k,
                                   .y = d->y + row * p->n + begin,
                                   .bias = d->c ? d->c + begin : NULL,
                                   .residual = residual,
                                   .rows = (uint32_t)(end - begin),
                                   .k = p->k,
                                   .act = d->act};
        r->kernels->dense.gemv_f32(&job);
    }
}

static void gemv_run(const struct product *p, const struct product_data *d,
                     const struct op_env *env)
{
    struct product_run r = product_run_of(p, d, env);
    product_chunks(&r, env, p->n, gemv_body);
}

const struct product_kernel pith_product_gemv = {gemv_supports, pith_product_gemv_cost, gemv_need,
                                                 rows_pack, gemv_run};

/* ---- columns -------------------------------------------------------------------------------- */

static bool columns_supports(const struct product_case *c)
{
    const struct product *p = c->p;
    if (c->env->kernels->dense.nr == 0 && c->weight && pith_weight_f32_borrow(c->weight))
        return false;
    return product_is_plain(p) && c->weight && p->trans_b && !p->trans_a && p->m <= GEMV_MAX_M &&
           p->k < FEW_COLUMNS;
}

static enum pith_status columns_need(const struct product_case *c, struct op_need *need)
{
    need->kernel = "columns-f32";
    need->prep_bytes = (uint64_t)c->p->n * c->p->k * sizeof(float);
    need->prep_form = product_form(c->p, PREP_COLUMNS);
    return pith_weight_f32_scratch(c->weight, &need->prep_scratch_bytes);
}

/* [n, k] -> [k, n]: a single panel, as high as b has rows. */
static enum pith_status columns_pack(const struct product_case *c, void *prep)
{
    const float *w;
    enum pith_status status = pith_weight_f32(c->env, c->weight, &w);
    if (status == PITH_OK)
        pith_pack_rows_f32(
            &(struct pack_rows_job){w, prep, c->p->k, 1, c->p->n, c->p->k, c->p->n, 0});
    return status;
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
        for (size_t j = (size_t)product_chunk(r, i) * BLOCK;
             j < (size_t)product_chunk(r, i + 1) * BLOCK; j += BLOCK) {
            const float *x = r->d->a + row * p->k, *w = r->b + j;
            float *y = r->d->y + row * p->n + j;
            /* inlined with a constant width the sums stay in registers; with the other they need
             * not */
            if (j + BLOCK <= p->n)
                add_columns(x, w, p->k, p->n, BLOCK, y);
            else
                add_columns(x, w, p->k, p->n, p->n - j, y);
        }
}

static void columns_run(const struct product *p, const struct product_data *d,
                        const struct op_env *env)
{
    struct product_run r = product_run_of(p, d, env);
    product_chunks(&r, env, (p->n + BLOCK - 1) / BLOCK, columns_body);
    pith_product_finish(p, d, env);
}

const struct product_kernel pith_product_columns = {columns_supports, pith_product_gemv_cost,
                                                    columns_need, columns_pack, columns_run};

/* ---- general -------------------------------------------------------------------------------- */

/* Any product: it is what remains where no other kernel supports one, and costs more than all. */
static bool general_supports(const struct product_case *c)
{
    (void)c;
    return true;
}

static uint64_t general_cost(const struct product_case *c)
{
    (void)c;
    return UINT64_MAX;
}

static enum pith_status general_need(const struct product_case *c, struct op_need *need)
{
    need->kernel = "gemm-f32-general";
    return rows_need(c, need);
}

/* A constant b always lies as rows [n, k]: borrowed, or expanded or transposed into prep. */
static void general_body(void *arg, uint32_t chunk)
{
    const struct product_run *r = arg;
    const struct product *p = r->p;
    const struct product_data *d = r->d;
    bool rows = p->trans_b || d->prep;
    for (size_t i = product_chunk(r, chunk); i < product_chunk(r, chunk + 1); i++)
        for (size_t j = 0; j < p->n; j++) {
            float sum = 0.0f;
            for (size_t k = 0; k < p->k; k++)
                sum += d->a[p->trans_a ? k * p->m + i : i * p->k + k] *
                       r->b[rows ? j * p->k + k : k * p->n + j];
            if (p->alpha != 1.0f)
                sum *= p->alpha;
            if (d->c) {
                float c = d->c[i * (size_t)p->c_row + j * (size_t)p->c_col];
                sum += p->beta != 1.0f ? p->beta * c : c;
            }
            if (d->residual)
                sum += d->residual[i * p->n + j];
            d->y[i * p->n + j] = pith_activate(d->act.kind, d->act.a, d->act.b, sum);
        }
}

static void general_run(const struct product *p, const struct product_data *d,
                        const struct op_env *env)
{
    struct product_run r = product_run_of(p, d, env);
    product_chunks(&r, env, p->m, general_body);
}

const struct product_kernel pith_product_general = {general_supports, general_cost, general_need,
                                                    rows_pack, general_run};
