/* SPDX-License-Identifier: MIT */
/* kernels_sparse.c - fills the table of sparse and codebook products from their list. */
#include "pith_kernel_sparse.h"
#include "build_choice.h"

#define BUILT(features) (((features) & ~PITH_BUILD_CPU) == 0)
#define ENTRY(form, function, features) {form, features, BUILT(features) ? function : NULL},

static const struct {
    enum run_form_kind form;
    uint32_t features;
    matvec_fn *function;
} list[] = {SPARSE_KERNELS_ANY(ENTRY) SPARSE_KERNELS_OWN(ENTRY)};

void pith_sparse_kernels_fill(struct sparse_kernels *k, uint32_t features)
{
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (!(list[i].features & ~features) && list[i].function)
            k->matvec[list[i].form] = list[i].function;
    pith_costs_of(features, &k->costs, NULL);
}
