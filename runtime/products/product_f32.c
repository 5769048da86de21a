/* SPDX-License-Identifier: MIT */
/* product_f32.c - see product_f32.h: the choice among the kernels. */
#include "product_f32.h"
#include "product_kernel.h"

#define ENTRY(name) &name,
static const struct product_kernel *const kernels[] = {PRODUCT_KERNELS(ENTRY)};

static const struct product_kernel *cheapest(const struct product_case *c)
{
    const struct product_kernel *best = NULL;
    uint64_t least = 0;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        if (!kernels[i]->supports(c))
            continue;
        uint64_t cost = kernels[i]->cost(c);
        if (best && cost >= least)
            continue;
        best = kernels[i];
        least = cost;
    }
    return best; /* pith_product_general supports everything */
}

enum pith_status pith_product_need(struct product *p, const struct weight *weight,
                                   const struct op_env *env, struct op_need *need)
{
    const struct product_case c = {p, weight, env};
    *need = (struct op_need){0};
    uint64_t mn;
    if (!mul_ok(p->m, p->n, &mn) || !mul_ok(mn, p->k, &need->macs))
        need->macs = UINT64_MAX;
    p->constant = weight != NULL;
    p->kernel = cheapest(&c);
    return p->kernel->workspace(&c, need);
}

enum pith_status pith_product_prepare(const struct product *p, const struct weight *weight,
                                      void *prep, const struct op_env *env)
{
    const struct product_case c = {p, weight, env};
    return weight && p->kernel->pack ? p->kernel->pack(&c, prep) : PITH_OK;
}

void pith_product_run(const struct product *p, const struct product_data *d,
                      const struct op_env *env)
{
    p->kernel->run(p, d, env);
}
