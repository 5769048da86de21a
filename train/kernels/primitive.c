/* SPDX-License-Identifier: MIT */
/* primitive.c - the state of a slice. */
#include "prim.h"

#include <stdlib.h>

#include "kernels/kernel_ordered.h"
#include "train_kernels.h"

enum pith_status pith_prim_new(uint32_t features, bool ordered, struct prim **p)
{
    struct train_kernels k;
    struct prim *made = calloc(1, sizeof *made);
    if (!made)
        return PITH_ERR_MEMORY;
    pith_train_kernels_fill(&k, features);
    pith_dense_kernels_fill(&made->dense, features);
    made->ordered = ordered;
    made->rows = k.rows;
    if (ordered || made->dense.mr == 0) /* no tiles at this level */
        pith_ordered_kernels_fill(&made->dense, features);
    *p = made;
    return PITH_OK;
}

void pith_prim_free(struct prim *p)
{
    if (p)
        free(p->shared);
    free(p);
}

bool pith_prim_is_ordered(const struct prim *p)
{
    return p->ordered;
}
