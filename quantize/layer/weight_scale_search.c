/* SPDX-License-Identifier: MIT */
#include "weight_scale_search.h"

#include <math.h>

#include "radix.h"

double pith_widest_weight_scale(const struct error_feedback *r, const struct integer_layer *l,
                                uint64_t row, double *least)
{
    double widest = pith_widest_scale(r);
    *least = pith_layer_least_scale(l, row);
    if (widest == 0)
        return 0;
    widest = fmax(widest, *least);
    return l->radix ? pith_radix_above(widest) : widest;
}

double pith_search_weight_scale(const struct error_feedback *r, const struct integer_layer *l,
                                uint64_t row, int16_t *q)
{
    double least, widest = pith_widest_weight_scale(r, l, row, &least);
    return widest == 0 ? l->scale[row] : pith_search_scale(r, widest, least, l->radix, q);
}
