/* SPDX-License-Identifier: MIT */
/* radix.c - fixed point: every scale is 2^-f, f the number of bits behind the radix point.
 *
 * A number of n bits covers 2^(n-f) with steps of 2^-f. The smallest power of two that covers all
 * numbers leaves up to half of the integers unused; the next one cuts what is beyond its half, and
 * has steps half as wide. Of such neighbours the one with the least squared error is taken: for
 * activations where their statistics are (calibrate/range_mse.c, choose_by_output.c), for weights
 * in radix_weight.c. */
#include "radix.h"

#include <math.h>

bool pith_is_radix(double scale)
{
    int exponent;
    return scale > 0 && frexp(scale, &exponent) == 0.5;
}

/* ---- activations ----------------------------------------------------------------------------- */

bool pith_grid_is_radix(const struct pith_grid *g)
{
    if (!g)
        return 0;
    bool all = g->zero_point == 0;
    for (uint32_t i = 0; i < g->n; i++)
        all &= pith_is_radix((double)g->scale[i]);
    return all;
}

static bool fits(const struct pith_grid *g, const struct pith_quantize_opts *opts)
{
    if (g->bits != pith_activation_bits(opts) || (g->n > 1 && g->bits < 8))
        return false;
    return !opts->fixed_bits || (pith_grid_is_radix(g) && (g->n == 1 || opts->per_channel));
}

enum pith_status pith_fitting_grid(struct pith_model *m, const struct pith_quantize_opts *opts,
                                   const struct pith_value *v, const struct pith_grid **grid)
{
    enum pith_status st = pith_activation_grid(m, v, grid);
    if (st || !*grid || opts->as_trained || fits(*grid, opts) ||
        (!opts->fixed_bits && !opts->activation_bits))
        return st;
    struct pith_grid_kind kind = {pith_activation_bits(opts), opts->fixed_bits != 0};
    return pith_grid_of_kind(m, *grid, &kind, grid);
}
