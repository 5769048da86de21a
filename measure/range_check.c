/* SPDX-License-Identifier: MIT */
/* range_check.c - one number in a thousand that makes all others share a few steps.
 *
 * Between 0 and the largest number lies every grid that cuts nothing. What 99.9 % stay below is
 * read from the histogram, to the width of a bin. Zeros are not counted: a Relu gives many. */
#include "range_check.h"

#include <math.h>
#include <stdlib.h>

#include "base/error_fill.h"
#include "pith_value_stats.h"

#define FACTOR 5.0
#define LEAST_NUMBERS 1000u

/* Bin i holds magnitudes from m * width up. */
static uint32_t magnitude_of_bin(const struct pith_histogram *h, uint32_t i)
{
    int32_t k = h->first + (int32_t)i;
    return (uint32_t)(k < 0 ? -1 - k : k);
}

/* Numbers of magnitudes in bins from m on. */
static uint64_t count_from(const struct pith_histogram *h, uint32_t m)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < h->n_bins; i++)
        n += magnitude_of_bin(h, i) >= m ? h->count[i] : 0;
    return n;
}

static double farthest(const struct pith_grid *g)
{
    double ends = fmax(g->zero_point - pith_grid_lowest(g), pith_grid_highest(g) - g->zero_point);
    double most = 0;
    for (uint32_t i = 0; i < g->n; i++)
        most = fmax(most, (double)g->scale[i] * ends);
    return most;
}

static bool is_ruled(const struct pith_value *v, struct pith_range_finding *f)
{
    const struct pith_histogram *h = &v->stats->histogram;
    uint64_t nonzero = v->stats->n - v->stats->n_zero;
    uint32_t m = 0;
    if (h->n_bins == 0 || nonzero < LEAST_NUMBERS)
        return false;
    while (count_from(h, m) > nonzero / 1000)
        m++;
    double width = ldexp(1, h->exponent);
    *f = (struct pith_range_finding){.value = v->name,
                                     .largest = fmax(fabs((double)v->min), fabs((double)v->max)),
                                     .rest = m * width,
                                     .of = nonzero};
    f->count = count_from(h, (uint32_t)(FACTOR * m));
    return f->largest > FACTOR * f->rest && (!v->grid || farthest(v->grid) > FACTOR * f->rest);
}

enum pith_status pith_range_check(const struct pith_model *m, struct pith_range_finding **list,
                                  uint32_t *n, struct pith_error *err)
{
    struct pith_range_finding *found = calloc(m->n_values + (size_t)1, sizeof *found);
    uint32_t at = 0;
    if (!found)
        return pith_error_no_memory(err);
    for (uint32_t v = 0; v < m->n_values; v++)
        at += m->values[v].stats && is_ruled(&m->values[v], &found[at]);
    if (at == 0) {
        free(found);
        found = NULL;
    }
    *list = found;
    *n = at;
    return PITH_OK;
}
