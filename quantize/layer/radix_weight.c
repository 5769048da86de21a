/* SPDX-License-Identifier: MIT */
/* radix_weight.c - of the neighbours that radix.c speaks of, the one with the least squared error
 * of weights. */
#include "radix_weight.h"

#include <math.h>

#define FINER 2 /* radix points tried beyond the one that cuts nothing */

static double error_of(const struct integer_layer *l, uint64_t first, uint64_t last,
                       const double *weight, double scale)
{
    double sum = 0;
    for (uint64_t o = first; o < last; o++)
        for (uint64_t k = 0; k < l->shape.cols; k++) {
            double w = (double)l->real.w[o * l->shape.cols + k] * l->real.w_factor;
            double d = w - scale * fmin(fmax(nearbyint(w / scale), -l->most), l->most);
            sum += d * d * (weight ? weight[k] : 1);
        }
    return sum;
}

double pith_radix_of_weights(const struct integer_layer *l, uint64_t first, uint64_t last,
                             const double *weight, double widest, double least)
{
    double best = widest, error = error_of(l, first, last, weight, widest), scale = widest / 2;
    for (int i = 0; i < FINER && scale >= least; i++, scale /= 2) {
        double e = error_of(l, first, last, weight, scale);
        if (e < error) {
            error = e;
            best = scale;
        }
    }
    return best;
}
