/* SPDX-License-Identifier: MIT */
/* product_form.c - products that read a constant b as it is compressed: in a run form (run_form.h),
 * or decoded at each run, row by row (weight_rows.h). */
#include "products/product_kernel.h"
#include "products/run_form.h"
#include "decode/weight_rows.h"
#include "pith_runtime.h"

/* ---- a run form ----------------------------------------------------------------------------- */

static enum pith_status form_of(const struct product_case *c, struct run_form_need *form)
{
    const struct product *p = c->p;
    return pith_run_form_fits(c->weight, p->n, p->k, &c->env->kernels->sparse, form);
}

/* A plan that was written keeps a form which other costs would not choose. */
static bool form_supports(const struct product_case *c)
{
    struct run_form_need form;
    const struct product *p = c->p;
    const struct sparse_kernels *k = &c->env->kernels->sparse;
    return c->weight && product_is_plain(p) && p->trans_b && product_rows_of_a(p) &&
           !(c->env->flags & PITH_FLAG_DENSE_ONLY) &&
           (c->forced ? form_of(c, &form) : pith_run_form_need(c->weight, p->n, p->k, k, &form)) ==
               PITH_OK;
}

static uint64_t form_cost(const struct product_case *c)
{
    const struct product *p = c->p;
    return pith_run_form_cost(c->weight, p->n, p->k, &c->env->kernels->sparse, p->m, p->m > 1);
}

static enum pith_status form_workspace(const struct product_case *c, struct op_need *need)
{
    struct run_form_need form;
    enum pith_status status = form_of(c, &form);
    if (status)
        return status;
    need->kernel = form.kernel;
    need->prep_bytes = form.bytes;
    need->prep_form = product_form(c->p, PREP_RUN_FORM);
    need->prep_scratch_bytes = form.scratch_bytes;
    return PITH_OK;
}

static enum pith_status form_pack(const struct product_case *c, void *prep)
{
    return pith_run_form_build(c->env, c->weight, c->p->n, c->p->k, prep);
}

static void form_body(void *arg, uint32_t i)
{
    const struct product_run *r = arg;
    const struct product *p = r->p;
    pith_run_form_rows(&r->kernels->sparse,
                       &(struct run_form_rows){r->d->prep, r->d->a, r->d->y, p->m},
                       product_chunk(r, i), product_chunk(r, i + 1));
}

static void form_run(const struct product *p, const struct product_data *d,
                     const struct op_env *env)
{
    struct product_run r = {.p = p, .d = d, .kernels = env->kernels};
    product_chunks(&r, env, pith_run_form_units(d->prep), form_body);
    pith_product_finish(p, d, env);
}

const struct product_kernel pith_product_form = {form_supports, form_cost, form_workspace,
                                                 form_pack, form_run};

/* ---- decoded at each run -------------------------------------------------------------------- */

static bool coded_supports(const struct product_case *c)
{
    const struct product *p = c->p;
    return product_is_plain(p) && p->trans_b && product_rows_of_a(p) &&
           pith_weight_rows_wanted(c->env, c->weight);
}

/* Where weights are to stay as they are, time does not count. */
static uint64_t coded_cost(const struct product_case *c)
{
    (void)c;
    return 0;
}

/* What decodes the weight is there while the plan is made, to test it, and at each run. */
static enum pith_status coded_workspace(const struct product_case *c, struct op_need *need)
{
    need->kernel = "gemv-coded";
    need->reads_rows = true;
    need->scratch_bytes = need->prep_scratch_bytes = pith_weight_rows_bytes(c->weight);
    return PITH_OK;
}

/* Row after row of b, each multiplied with all of a before the next is decoded. */
static void coded_run(const struct product *p, const struct product_data *d,
                      const struct op_env *env)
{
    struct weight_rows *rows = pith_weight_rows_open(d->weight, env->scratch);
    for (size_t j = 0; j < p->n; j++)
        pith_weight_rows_dot(rows, d->a, p->k, d->y + j, p->m, p->n);
    pith_product_finish(p, d, env);
}

const struct product_kernel pith_product_coded = {coded_supports, coded_cost, coded_workspace, NULL,
                                                  coded_run};
