/* SPDX-License-Identifier: MIT */
/* kept_row.c - with an error e = g of the places that are gone, e H e^T is least where those kept
 * are off by -(H_kk)^-1 H_kg g: that is added to their goals, and what their rounding adds to the
 * least is a matter of H_kk alone. */
#include "kept_row.h"

#include <stdlib.h>

#include "numeric/cholesky.h"

bool pith_kept_row_open(const struct layer_factor *f, struct kept_row *k)
{
    const size_t n = f->n;
    *k = (struct kept_row){.place = malloc(n * sizeof *k->place),
                           .u = malloc(n * n * sizeof *k->u),
                           .goal = malloc(n * sizeof *k->goal),
                           .q = malloc(n * sizeof *k->q)};
    return k->place && k->u && k->goal && k->q;
}

void pith_kept_row_close(struct kept_row *k)
{
    free(k->place);
    free(k->u);
    free(k->goal);
    free(k->q);
    *k = (struct kept_row){.n = 0};
}

/* H as it came is below the diagonal of the factor. */
static void take_block(const struct layer_factor *f, uint32_t group, struct kept_row *k)
{
    const size_t n = f->n;
    const double *h = f->u + group * n * n;
    for (size_t i = 0; i < k->n; i++) {
        const size_t at = k->place[i];
        k->u[i * k->n + i] = f->diagonal[group * n + at] + f->ridge[group];
        for (size_t j = 0; j < i; j++)
            k->u[j * k->n + i] = h[at * n + k->place[j]];
    }
}

bool pith_kept_row_take(const struct layer_factor *f, uint32_t group, const double *goal,
                        const uint8_t *kept, struct kept_row *k)
{
    const size_t n = f->n;
    const double *h = f->u + group * n * n;
    k->n = 0;
    for (size_t i = 0; i < n; i++)
        if (kept[i])
            k->place[k->n++] = i;
    take_block(f, group, k);
    if (!pith_cholesky(k->u, k->n))
        return false;
    for (size_t i = 0; i < k->n; i++) {
        const size_t at = k->place[i];
        double sum = 0;
        for (size_t j = 0; j < n; j++)
            if (!kept[j])
                sum += goal[j] * (j < at ? h[at * n + j] : h[j * n + at]);
        k->goal[i] = sum;
    }
    pith_cholesky_solve(k->u, k->n, k->goal);
    for (size_t i = 0; i < k->n; i++)
        k->goal[i] += goal[k->place[i]];
    return true;
}
