/* SPDX-License-Identifier: MIT */
/* range_grid.c - the grid that covers a range, and the squared error of a grid over a histogram.
 *
 * The error of number x = t * scale is (t - q)^2 scale^2 with q the integer next to t, or the end
 * of the grid where t lies beyond. Its integral has a closed form, and numbers of a bin are taken
 * as evenly spread: so the mean error of a bin is a difference of the integral at its edges, for
 * bins that are wider than a step of the grid as well as for narrow ones. */
#include <math.h>

#include "base/normal_scale.h"
#include "range.h"

/* ---- from a range ---------------------------------------------------------------------------- */

#define LARGEST_POWER 0x1p127 /* of two that is an f32 */

static float positive_scale(double scale, bool radix)
{
    int exponent;
    if (radix) {
        double f = frexp(scale, &exponent);
        scale = fmin(ldexp(1, f == 0.5 ? exponent - 1 : exponent), LARGEST_POWER);
    }
    return pith_normal_scale(scale);
}

struct simple_grid pith_grid_of_range(const struct range *r, const struct grid_kind *kind)
{
    bool wide = kind->bits > 8, symmetric = kind->symmetric || kind->radix;
    bool has_sign = symmetric && r->low < 0;
    struct simple_grid g = {
        .type = wide ? PITH_U16 : PITH_U8, .lowest = 0, .highest = (1 << kind->bits) - 1};
    if (has_sign) {
        g.type = wide ? PITH_I16 : PITH_I8;
        g.lowest = -(1 << (kind->bits - 1));
        g.highest = -g.lowest - 1;
    }
    if (symmetric) {
        double below = has_sign ? r->low / g.lowest : 0;
        g.scale = positive_scale(fmax(r->high / g.highest, below), kind->radix);
        return g;
    }
    g.scale = positive_scale((r->high - r->low) / g.highest, false);
    g.zero_point = (int32_t)fmin(nearbyint(-r->low / (double)g.scale), g.highest);
    return g;
}

/* ---- its error ------------------------------------------------------------------------------- */

/* The integral of (u - round u)^2 from 0 to t: 1/12 a whole step. |t| < 2^17: floor() by way of an
 * integer is no call. */
static double rounding_integral(double t)
{
    const double up = t + 0.5, cut = (double)(int32_t)up, n = cut > up ? cut - 1 : cut, r = t - n;
    return n * (1 / 12.0) + r * r * r * (1 / 3.0);
}

static double error_integral(double t, double low, double high)
{
    double inside = t < low ? low : t > high ? high : t, beyond = t - inside;
    return rounding_integral(inside) + beyond * beyond * beyond * (1 / 3.0);
}

double pith_grid_error(const struct distribution *d, const struct simple_grid *g, double most)
{
    const struct pith_histogram *h = &d->s->histogram;
    const double scale = (double)g->scale, by = 1 / scale, square = scale * scale;
    double sum = 0;
    double low = g->lowest - g->zero_point, high = g->highest - g->zero_point;
    /* From the end that more is cut off at: that may be enough. */
    const bool up = low - d->min * by > d->max * by - high;
    double end = NAN, integral = 0; /* of the bin before: there the next one begins */
    for (uint32_t k = 0; k < h->n_bins; k++) {
        const uint32_t i = up ? k : h->n_bins - 1 - k;
        double from, to;
        if (h->count[i] == 0)
            continue;
        pith_bin_edges(d, i, &from, &to);
        from *= by;
        to *= by;
        const double near = up ? from : to, far = up ? to : from;
        const double before = near == end ? integral : error_integral(near, low, high);
        end = far;
        integral = error_integral(far, low, high);
        double e = (integral - before) / (far - near);
        if (!(to > from)) { /* a single number */
            double t = from < low ? low : from > high ? high : nearbyint(from);
            e = (from - t) * (from - t);
        }
        sum += (double)h->count[i] * e;
        if (sum * square > most)
            return HUGE_VAL;
    }
    return sum * square;
}
