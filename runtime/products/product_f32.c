/* SPDX-License-Identifier: MIT */
/* product_f32.c - see product_f32.h: the choice among the kernels. */
#include "products/product_f32.h"
#include "products/product_kernel.h"

#define ENTRY(name) &name,
static const struct product_kernel *const kernels[] = {PRODUCT_KERNELS(ENTRY)};

#define N_KERNELS (sizeof kernels / sizeof *kernels)

/* The number of the cheapest, from 1 on: pith_product_general supports everything. */
static uint32_t cheapest(const struct product_case *c)
{
    uint32_t best = 0;
    uint64_t least = 0;
    for (uint32_t i = 0; i < N_KERNELS; i++) {
        if (!kernels[i]->supports(c))
            continue;
        uint64_t cost = kernels[i]->cost(c);
        if (best && cost >= least)
            continue;
        best = i + 1;
        least = cost;
    }
    return best;
}

enum pith_status pith_product_need(struct product *p, const struct weight *weight, uint32_t choice,
                                   const struct op_env *env, struct op_need *need)
{
    const struct product_case c = {p, weight, env, choice != 0};
    *need = (struct op_need){0};
    uint64_t mn;
    if (!mul_ok(p->m, p->n, &mn) || !mul_ok(mn, p->k, &need->macs))
        need->macs = UINT64_MAX;
    p->constant = weight != NULL;
    if (choice > N_KERNELS || (choice && !kernels[choice - 1]->supports(&c)))
        return PITH_ERR_CORRUPT;
    choice = choice ? choice : cheapest(&c);
    p->kernel = kernels[choice - 1];
    need->choice = (uint8_t)choice;
    return p->kernel->workspace(&c, need);
}

enum pith_status pith_product_prepare(const struct product *p, const struct weight *weight,
                                      void *prep, const struct op_env *env)
{
    const struct product_case c = {p, weight, env, true};
    return weight && p->kernel->pack ? p->kernel->pack(&c, prep) : PITH_OK;
}

void pith_product_run(const struct product *p, const struct product_data *d,
                      const struct op_env *env)
{
    p->kernel->run(p, d, env);
}
