/* SPDX-License-Identifier: MIT */
/* product_kernel.c - what the kernels of products share. */
#include "products/product_kernel.h"
#include "products/run_form.h"

uint64_t pith_product_gemv_cost(const struct product_case *c)
{
    return pith_gemv_cost(&c->env->kernels->sparse, c->p->n, c->p->k, c->p->m);
}

static void finish_row(const struct product *p, const struct product_data *d,
                       const struct row_kernels *row, size_t i)
{
    float *y = d->y + i * p->n;
    for (size_t j = 0; d->c && j < p->n; j++)
        y[j] += d->c[j * p->c_col];
    for (size_t j = 0; d->residual && j < p->n; j++)
        y[j] += d->residual[i * p->n + j];
    pith_activate_by(row, d->act, y, y, p->n);
}

void pith_product_finish(const struct product *p, const struct product_data *d,
                         const struct op_env *env)
{
    for (size_t i = 0; i < p->m; i++)
        finish_row(p, d, pith_row_kernels(env->kernels), i);
}
