/* SPDX-License-Identifier: MIT */
#include "weight_scale_search.h"

#include <math.h>

#include "radix.h"

double pith_search_weight_scale(const struct error_feedback *r, const struct integer_layer *l,
                                uint64_t row, int16_t *q)
{
    double widest = pith_widest_scale(r), least = pith_layer_least_scale(l, row);
    if (widest == 0)
        return l->scale[row];
    widest = fmax(widest, least);
    if (l->radix)
        widest = pith_radix_above(widest);
    return pith_search_scale(r, widest, least, l->radix, q);
}
