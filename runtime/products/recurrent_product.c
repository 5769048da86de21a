/* SPDX-License-Identifier: MIT */
/* recurrent_product.c - see recurrent_product.h.
 *
 *     constant, one part    prep    = what product_f32.c makes of the weight
 *     constant, two parts   prep    = the run form of R, where there is one,
 *                                     else [R as rows, if the parts use rows that are not in the
 *                                     image] [part 0] [part 1]
 *     not constant          scratch = [the product's] [part 0] [part 1]
 *
 * A part is shown to product_f32.c as a weight of its own, plain rows inside R. Of a run form, a
 * part takes the units that write its rows. */
#include "products/recurrent_product.h"
#include "kernels/kernels.h"
#include "op_interface/op_range.h"
#include "products/product_f32.h"
#include "products/product_kernel.h"
#include "products/run_form.h"
#include "pith_runtime.h"

/* Multiply-accumulates of a step below which threads are not woken: some 20 microseconds. */
#define PARALLEL_MACS (UINT64_C(1) << 19)

static uint64_t padded(uint64_t bytes)
{
    return (bytes + 63) & ~UINT64_C(63);
}

static uint32_t parts_of(const struct recurrent_product *p)
{
    return p->split ? 2 : 1;
}

static uint32_t first_row(const struct recurrent_product *p, uint32_t i)
{
    return i ? p->split : 0;
}

/* R's rows are read as they are: not by a product kernel's way with the weight. */
static bool uses_rows(const struct recurrent_product *p)
{
    return p->split || !p->constant;
}

/* The weight that part i is, where R's rows lie at `rows`. */
static struct weight part_weight(const struct recurrent_product *p, uint32_t i, const float *rows)
{
    uint32_t n = p->part[i].product.n;
    uint64_t count = (uint64_t)n * p->hidden;
    struct weight w = {.type = PITH_F32,
                       .shape = {.rank = 2, .dim = {n, p->hidden}},
                       .count = count,
                       .nnz = count};
    w.index_stream.bytes = (const uint8_t *)(rows + (size_t)first_row(p, i) * p->hidden);
    w.index_stream.n_bytes = (size_t)count * sizeof(float);
    return w;
}

/* ---- needs ---------------------------------------------------------------------------------- */

static struct product part_of(const struct recurrent_product *p, uint32_t i)
{
    return (struct product){.m = p->batch,
                            .n = (i || !p->split ? p->rows : p->split) - first_row(p, i),
                            .k = p->hidden,
                            .trans_b = true,
                            .alpha = 1.0f,
                            .beta = 1.0f,
                            .has_c = p->has_bias,
                            .c_col = 1};
}

/* The larger of both parts; they run one after the other. */
static uint64_t product_scratch(const struct recurrent_product *p)
{
    uint64_t a = p->part[0].scratch_bytes, b = p->split ? p->part[1].scratch_bytes : 0;
    return a > b ? a : b;
}

/* need: of part 0, to which part i is added. */
static enum pith_status need_part(struct recurrent_product *p, uint32_t i,
                                  const struct weight *weight, const struct op_env *env,
                                  struct op_need *need)
{
    /* rows that are not there yet count as borrowed: something not NULL */
    static const float unknown = 0.0f;
    const float *rows = weight ? pith_weight_f32_borrow(weight) : NULL;
    struct recurrent_part *part = &p->part[i];
    struct op_need own;
    part->product = part_of(p, i);
    struct weight w = part_weight(p, i, rows ? rows : &unknown);
    enum pith_status status = pith_product_need(&part->product, uses_rows(p) ? &w : weight,
                                                i ? p->part[0].choice : 0, env, &own);
    if (status)
        return status;
    part->choice = own.choice;
    part->prep_bytes = own.prep_bytes;
    part->scratch_bytes = own.scratch_bytes;
    part->small = own.macs < PARALLEL_MACS;
    if (i == 0)
        *need = (struct op_need){.kernel = own.kernel,
                                 .reads_rows = own.reads_rows,
                                 .prep_scratch_bytes = own.prep_scratch_bytes};
    uint64_t bytes;
    if (!align_ok(own.prep_bytes, 64, &bytes) ||
        !add_ok(need->prep_bytes, bytes, &need->prep_bytes) ||
        !add_ok(need->macs, own.macs, &need->macs))
        return PITH_ERR_LIMIT;
    return PITH_OK;
}

static bool split_form_need(const struct recurrent_product *p, const struct weight *weight,
                            const struct op_env *env, struct op_need *need)
{
    struct run_form_need form;
    if (!p->split || !weight || p->batch > GEMV_MAX_M || (env->flags & PITH_FLAG_DENSE_ONLY) ||
        pith_run_form_need(weight, p->rows, p->hidden, &env->kernels->sparse, &form) != PITH_OK)
        return false;
    *need = (struct op_need){.kernel = form.kernel,
                             .prep_bytes = form.bytes,
                             .prep_scratch_bytes = form.scratch_bytes,
                             .scratch_bytes = padded((uint64_t)p->rows * sizeof(float)),
                             .macs = (uint64_t)p->rows * p->hidden * p->batch}; /* batch is small */
    return true;
}

enum pith_status pith_recurrent_product_need(struct recurrent_product *p,
                                             const struct weight *weight, const struct op_env *env,
                                             struct op_need *need)
{
    p->constant = weight != NULL;
    p->rows_bytes = 0;
    p->split_form = split_form_need(p, weight, env, need);
    if (p->split_form)
        return PITH_OK;
    for (uint32_t i = 0; i < parts_of(p); i++) {
        enum pith_status status = need_part(p, i, weight, env, need);
        if (status)
            return status;
    }
    if (!align_ok(product_scratch(p), 64, &need->scratch_bytes))
        return PITH_ERR_LIMIT;
    if (!weight) {
        uint64_t parts = need->prep_bytes;
        need->prep_bytes = need->prep_scratch_bytes = 0;
        return add_ok(need->scratch_bytes, parts, &need->scratch_bytes) ? PITH_OK : PITH_ERR_LIMIT;
    }
    if (!p->split)
        return PITH_OK;
    if (pith_weight_f32_borrow(weight) || p->part[0].prep_bytes)
        return pith_weight_f32_scratch(weight, &need->prep_scratch_bytes);
    p->rows_bytes = padded(weight->count * sizeof(float));
    need->prep_scratch_bytes = pith_weight_scratch_bytes(weight);
    return add_ok(need->prep_bytes, p->rows_bytes, &need->prep_bytes) ? PITH_OK : PITH_ERR_LIMIT;
}

/* ---- preparation ---------------------------------------------------------------------------- */

/* The preparation of part i, behind those before; `at`: of the first. */
static void *part_prep(const struct recurrent_product *p, uint32_t i, uint8_t *at)
{
    if (!at || !p->part[i].prep_bytes)
        return NULL;
    return at + (i ? padded(p->part[0].prep_bytes) : 0);
}

/* From R's rows. */
static enum pith_status prepare_parts(const struct recurrent_product *p, const float *rows,
                                      uint8_t *at, const struct op_env *env)
{
    enum pith_status status = PITH_OK;
    for (uint32_t i = 0; i < parts_of(p) && !status; i++) {
        struct weight w = part_weight(p, i, rows);
        status = pith_product_prepare(&p->part[i].product, &w, part_prep(p, i, at), env);
    }
    return status;
}

enum pith_status pith_recurrent_product_prepare(const struct recurrent_product *p,
                                                const struct recurrent_data *d,
                                                const struct op_env *env)
{
    const float *rows;
    if (p->split_form)
        return pith_run_form_build(env, d->weight, p->rows, p->hidden, d->prep);
    if (p->rows_bytes)
        return pith_weight_cut_f32(env, d->weight, d->prep, env->scratch);
    if (!p->split)
        return pith_product_prepare(&p->part[0].product, d->weight, part_prep(p, 0, d->prep), env);
    enum pith_status status = pith_weight_f32(env, d->weight, &rows);
    return status ? status : prepare_parts(p, rows, d->prep, env);
}

/* ---- runs ----------------------------------------------------------------------------------- */

/* Where R lies as rows; NULL: nowhere, the parts read what they prepared. */
static const float *rows_of(const struct recurrent_product *p, const struct recurrent_data *d)
{
    return !d->weight ? d->r : p->rows_bytes ? d->prep : pith_weight_f32_borrow(d->weight);
}

void pith_recurrent_product_begin(const struct recurrent_product *p, const struct recurrent_data *d,
                                  const struct op_env *env, struct recurrent_run *run)
{
    *run = (struct recurrent_run){.p = p, .form = d->prep, .bias = d->bias};
    if (p->split_form)
        return;
    const float *rows = uses_rows(p) ? rows_of(p, d) : NULL;
    uint8_t *at = d->prep ? (uint8_t *)d->prep + p->rows_bytes : NULL;
    if (!d->weight) {
        at = (uint8_t *)env->scratch + padded(product_scratch(p));
        prepare_parts(p, rows, at, env); /* plain rows: there is nothing to decode */
    }
    for (uint32_t i = 0; i < parts_of(p); i++) {
        size_t row = first_row(p, i);
        run->part[i] = (struct product_data){.b = rows ? rows + row * p->hidden : NULL,
                                             .c = d->bias ? d->bias + row : NULL,
                                             .weight = uses_rows(p) ? NULL : d->weight,
                                             .prep = part_prep(p, i, at)};
    }
}

/* Units [begin, end) that hold rows [row, row_end); rows of a unit of FORM_WINDOW are anywhere. */
static void units_of(const struct run_form *f, uint32_t row, uint32_t row_end, uint32_t *begin,
                     uint32_t *end)
{
    uint32_t height = f->kind == FORM_CSR_VALUE || f->kind == FORM_CSR_CODEBOOK ? 16 : 4;
    *begin = f->kind == FORM_WINDOW ? 0 : row / height;
    *end = f->kind == FORM_WINDOW ? f->n_units : (row_end + height - 1) / height;
}

struct form_part {
    const void *form;
    const struct sparse_kernels *kernels;
    const float *h;
    float *y;
    uint32_t unit;
};

static void form_units(void *arg, size_t begin, size_t end)
{
    const struct form_part *f = arg;
    pith_run_form_matvec(f->kernels, f->form, f->h, f->y, f->unit + (uint32_t)begin,
                         f->unit + (uint32_t)end);
}

/* Through a row of all gates, as a unit may write some of the other part's. */
static void run_form_part(const struct recurrent_run *run, uint32_t i, const float *h, float *y,
                          const struct op_env *env)
{
    const struct recurrent_product *p = run->p;
    uint32_t row = first_row(p, i), row_end = i ? p->rows : p->split, end;
    struct form_part f = {
        .form = run->form, .kernels = &env->kernels->sparse, .h = h, .y = env->scratch};
    units_of(run->form, row, row_end, &f.unit, &end);
    for (uint32_t n = 0; n < p->batch; n++, f.h += p->hidden, y += row_end - row) {
        pith_op_range(env, end - f.unit, p->hidden, form_units, &f);
        for (uint32_t k = row; k < row_end; k++)
            y[k - row] = run->bias ? f.y[k] + run->bias[k] : f.y[k];
    }
}

void pith_recurrent_product_run(const struct recurrent_run *run, uint32_t i, const float *h,
                                float *y, const struct op_env *env)
{
    if (run->p->split_form) {
        run_form_part(run, i, h, y, env);
        return;
    }
    struct product_data data = run->part[i];
    struct op_env here = *env;
    if (run->p->part[i].small)
        here.parallel_for = NULL;
    data.a = h;
    data.y = y;
    pith_product_run(&run->p->part[i].product, &data, &here);
}
