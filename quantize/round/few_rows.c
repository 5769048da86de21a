/* SPDX-License-Identifier: MIT */
#include "few_rows.h"

#include <stdlib.h>

#include "numeric/error_feedback.h"

bool pith_rows_are_few(const struct layer_inputs *in, const struct integer_layer *l)
{
    struct integer_rows r;
    const bool few = !pith_integer_rows(in, l, &r) &&
                     r.x.places * in->n_samples <= l->shape.cols / PITH_COLUMNS_FOR_A_ROW;
    pith_integer_rows_end(&r);
    return few;
}

enum pith_status pith_few_rows(size_t n, size_t r, struct few_rows *f)
{
    *f = (struct few_rows){.n = n,
                           .r = r,
                           .x = malloc((r * n + 1) * sizeof *f->x),
                           .order = malloc(2 * n * sizeof *f->order),
                           .by_place = malloc((r * n + 1) * sizeof *f->by_place),
                           .room = malloc((r + 1) * (r + 1) * sizeof *f->room)};
    f->factor = (struct low_rank_factor){.n = n,
                                         .x = f->by_place,
                                         .p = malloc((r * n + 1) * sizeof *f->factor.p),
                                         .diagonal = malloc(n * sizeof *f->factor.diagonal)};
    return f->x && f->order && f->by_place && f->room && f->factor.p && f->factor.diagonal
               ? PITH_OK
               : PITH_ERR_MEMORY;
}

void pith_few_rows_end(struct few_rows *f)
{
    free(f->x);
    free(f->order);
    free(f->by_place);
    free(f->room);
    free(f->factor.p);
    free(f->factor.diagonal);
}

void pith_few_rows_read(struct few_rows *f, struct row_reader *from, uint32_t group)
{
    const uint64_t places = from->rows->x.places;
    for (size_t i = 0; i < f->r; i++) {
        if (i % places == 0)
            pith_row_reader_sample(from, i / places);
        pith_layer_row(&from->rows->x, from->x, group, i % places, f->x + i * f->n);
    }
}

/* What never comes in has the identity: all its weights are rounded to nearest. */
void pith_few_rows_factor(struct few_rows *f, double damping)
{
    const size_t n = f->n, r = f->r;
    double *diagonal = f->factor.diagonal, mean = 0;
    for (size_t k = 0; k < n; k++) {
        diagonal[k] = 0;
        for (size_t i = 0; i < r; i++)
            diagonal[k] += (double)f->x[i * n + k] * (double)f->x[i * n + k];
        mean += diagonal[k] / (double)n;
    }
    pith_order_by_diagonal(diagonal, n, f->order);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < r; i++)
            f->by_place[j * r + i] = (double)f->x[i * n + f->order[j]];
    f->factor.r = r;
    for (size_t j = 0; j < n; j++)
        diagonal[j] = damping * mean;
    if (mean > 0 && pith_low_rank_cholesky(&f->factor, diagonal, f->room))
        return;
    f->factor.r = 0;
    for (size_t j = 0; j < n; j++)
        diagonal[j] = 1;
}
