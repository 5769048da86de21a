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
#include "recurrent_product.h"
#include "pith_kernels.h"
#include "op_range.h"
#include "weight_f32.h"

/* Multiply-accumulates of a step below which threads are not woken: some 20 microseconds. */
#define PARALLEL_MACS (UINT64_C(1) << 19)

/* As in product_f32.c: larger batches use a dense R more than once while it is in registers. */
#define FORM_MAX_BATCH 3u

static uint64_t padded(uint64_t bytes)
{
    return (bytes + 63) & ~UINT64_C(63);
}

/* R's rows are read as they are: not by product_f32.c's way with the weight. */
static bool uses_rows(const struct recurrent_product *p)
{
    return p->split || !p->weight;
}

/* Where R lies as rows, as far as that is known; never NULL, so that it counts as borrowed. */
static const float *rows_of(const struct recurrent_product *p)
{
    static const float unknown = 0.0f;
    const float *rows = p->weight ? pith_weight_f32_borrow(p->weight) : p->r;
    if (!rows && p->rows_bytes)
        rows = p->prep;
    return rows ? rows : &unknown;
}

static void show_rows(struct recurrent_product *p, const float *rows)
{
    for (uint32_t i = 0; i < p->n_parts; i++) {
        uint32_t begin = i ? p->split : 0, n = p->product[i].n;
        p->part[i] = (struct weight){.type = PITH_F32,
                                     .shape = {.rank = 2, .dim = {n, p->hidden}},
                                     .count = (uint64_t)n * p->hidden,
                                     .nnz = (uint64_t)n * p->hidden};
        p->part[i].index_stream.bytes = (const uint8_t *)(rows + (size_t)begin * p->hidden);
        p->part[i].index_stream.n_bytes = (size_t)p->part[i].count * sizeof(float);
    }
}

static struct product part_of(const struct recurrent_product *p, uint32_t i)
{
    uint32_t begin = i ? p->split : 0;
    struct product part = {.m = p->batch,
                           .n = (i || !p->split ? p->rows : p->split) - begin,
                           .k = p->hidden,
                           .trans_b = true,
                           .alpha = 1.0f,
                           .beta = 1.0f,
                           .has_c = p->has_bias,
                           .c = p->bias ? p->bias + begin : NULL,
                           .c_col = 1,
                           .weight = uses_rows(p) ? &p->part[i] : p->weight};
    return part;
}

/* The parts' preparations, one behind the other from `at` on. */
static void place_parts(struct recurrent_product *p, uint8_t *at)
{
    for (uint32_t i = 0; i < p->n_parts; i++) {
        p->product[i].prep = at && p->need[i].prep_bytes ? at : NULL;
        if (at)
            at += padded(p->need[i].prep_bytes);
    }
}

enum pith_status pith_recurrent_product_open(struct recurrent_product *p, const struct op_env *env)
{
    p->n_parts = p->split ? 2 : 1;
    p->rows_bytes = 0;
    p->split_form = p->split && p->weight && p->batch <= FORM_MAX_BATCH &&
                    !(env->flags & PITH_FLAG_DENSE_ONLY) &&
                    pith_run_form_need(p->weight, p->rows, p->hidden, &env->kernels->sparse,
                                       &p->form) == PITH_OK;
    if (p->split_form)
        return PITH_OK;
    for (uint32_t i = 0; i < p->n_parts; i++)
        p->product[i] = part_of(p, i);
    show_rows(p, rows_of(p));
    for (uint32_t i = 0; i < p->n_parts; i++) {
        enum pith_status status = pith_product_need(&p->product[i], env, &p->need[i]);
        if (status)
            return status;
    }
    if (p->split && p->weight && !pith_weight_f32_borrow(p->weight) && !p->need[0].prep_bytes)
        p->rows_bytes = padded(p->weight->count * sizeof(float));
    show_rows(p, rows_of(p));
    if (p->weight)
        place_parts(p, p->prep ? (uint8_t *)p->prep + p->rows_bytes : NULL);
    return PITH_OK;
}

/* The larger of both parts; they run one after the other. */
static uint64_t product_scratch(const struct recurrent_product *p)
{
    uint64_t a = p->need[0].scratch_bytes, b = p->n_parts > 1 ? p->need[1].scratch_bytes : 0;
    return a > b ? a : b;
}

static struct op_need form_need(const struct recurrent_product *p)
{
    return (struct op_need){.kernel = p->form.kernel,
                            .prep_bytes = p->form.bytes,
                            .prep_scratch_bytes = p->form.scratch_bytes,
                            .scratch_bytes = padded((uint64_t)p->rows * sizeof(float)),
                            .macs = (uint64_t)p->rows * p->hidden * p->batch}; /* batch is small */
}

enum pith_status pith_recurrent_product_need(const struct recurrent_product *p,
                                             struct op_need *need)
{
    if (p->split_form) {
        *need = form_need(p);
        return PITH_OK;
    }
    uint64_t parts = 0, scratch = product_scratch(p);
    *need = (struct op_need){.kernel = p->need[0].kernel, .reads_rows = p->need[0].reads_rows};
    for (uint32_t i = 0; i < p->n_parts; i++) {
        uint64_t bytes;
        if (!align_ok(p->need[i].prep_bytes, 64, &bytes) || !add_ok(parts, bytes, &parts) ||
            !add_ok(need->macs, p->need[i].macs, &need->macs))
            return PITH_ERR_LIMIT;
    }
    if (!align_ok(scratch, 64, &need->scratch_bytes))
        return PITH_ERR_LIMIT;
    if (!p->weight)
        return add_ok(need->scratch_bytes, parts, &need->scratch_bytes) ? PITH_OK : PITH_ERR_LIMIT;
    need->prep_scratch_bytes = p->need[0].prep_scratch_bytes;
    if (!add_ok(p->rows_bytes, parts, &need->prep_bytes))
        return PITH_ERR_LIMIT;
    if (p->split && p->rows_bytes)
        need->prep_scratch_bytes = pith_weight_scratch_bytes(p->weight);
    else if (p->split)
        return pith_weight_f32_scratch(p->weight, &need->prep_scratch_bytes);
    return PITH_OK;
}

enum pith_status pith_recurrent_product_prepare(struct recurrent_product *p,
                                                const struct op_env *env)
{
    const float *rows;
    enum pith_status status = PITH_OK;
    if (p->split_form)
        return pith_run_form_build(p->weight, p->rows, p->hidden, &env->kernels->sparse, p->prep,
                                   env->scratch);
    if (p->rows_bytes)
        return pith_weight_expand_f32(p->weight, p->prep, env->scratch);
    if (p->split) {
        status = pith_weight_f32(p->weight, env->scratch, &rows);
        if (!status)
            show_rows(p, rows);
    }
    for (uint32_t i = 0; i < p->n_parts && !status; i++)
        status = pith_product_prepare(&p->product[i], env);
    return status;
}

void pith_recurrent_product_begin(struct recurrent_product *p, const struct op_env *env)
{
    if (p->weight)
        return;
    place_parts(p, (uint8_t *)env->scratch + padded(product_scratch(p)));
    for (uint32_t i = 0; i < p->n_parts; i++)
        pith_product_prepare(&p->product[i], env); /* plain rows: there is nothing to decode */
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
    const struct recurrent_product *p;
    const struct sparse_kernels *kernels;
    const float *h;
    float *y;
    uint32_t unit;
};

static void form_units(void *arg, size_t begin, size_t end)
{
    const struct form_part *f = arg;
    pith_run_form_matvec(f->kernels, f->p->prep, f->h, f->y, f->unit + (uint32_t)begin,
                         f->unit + (uint32_t)end);
}

/* Through a row of all gates, as a unit may write some of the other part's. */
static void run_form_part(const struct recurrent_product *p, uint32_t i, const float *h, float *y,
                          const struct op_env *env)
{
    uint32_t row = i ? p->split : 0, row_end = i ? p->rows : p->split, end;
    struct form_part f = {.p = p, .kernels = &env->kernels->sparse, .h = h, .y = env->scratch};
    units_of(p->prep, row, row_end, &f.unit, &end);
    for (uint32_t n = 0; n < p->batch; n++, f.h += p->hidden, y += row_end - row) {
        pith_op_range(env, end - f.unit, p->hidden, form_units, &f);
        for (uint32_t k = row; k < row_end; k++)
            y[k - row] = p->bias ? f.y[k] + p->bias[k] : f.y[k];
    }
}

void pith_recurrent_product_run(const struct recurrent_product *p, uint32_t i, const float *h,
                                float *y, const struct op_env *env)
{
    if (p->split_form) {
        run_form_part(p, i, h, y, env);
        return;
    }
    struct product product = p->product[i];
    struct op_env here = *env;
    if (here.parallel_for && p->need[i].macs < PARALLEL_MACS) {
        here.parallel_for = NULL;
        here.flags |= PITH_FLAG_DECODE_ONCE; /* the path stays that of a plan with threads */
    }
    product.a = h;
    product.y = y;
    pith_product_run(&product, &here);
}
