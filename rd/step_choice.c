/* SPDX-License-Identifier: MIT */
/* step_choice.c - see step_choice.h. A step of its own for each row pays where rows differ in
 * what their errors cost; it costs a few bits a row and splits the coder's contexts. */
#include "step_choice.h"

#include <math.h>

#define ROW_BITS 6.0 /* that a step of its own takes in a file */
#define ROW_PAYS 0.1 /* bits a weight that rows must save: contexts of one grid are better */
/* For the same error a trellis allows steps 1.13 times as wide (1.1 dB), and levels lie two
 * integers apart. */
#define TRELLIS 0.56 /* half of 1.1 dB as a factor of steps */
#define WIDER 1.15   /* more than rounding a step to a quarter makes it */
#define FEW_ROWS 0.1
#define SAMPLES_OF_MEAN 32.0 /* the mean counts as so many */
#define LEAST_SHARE 1e-3     /* of the mean: a row without statistics */

/* James and Stein's idea: what few samples say of a row is drawn to what all rows say. */
void pith_step_shrink(double *row, uint64_t n, uint64_t samples, bool all)
{
    double mean = 0, own = all ? 0 : (double)samples / ((double)samples + SAMPLES_OF_MEAN);
    for (uint64_t i = 0; i < n; i++)
        mean += row[i] / (double)n;
    for (uint64_t i = 0; i < n; i++)
        row[i] = fmax(mean + own * (row[i] - mean), LEAST_SHARE * mean);
}

/* 1, 1.25, 1.5 or 1.75 times a power of two, the nearest by its logarithm. Two bits of mantissa:
 * such steps share exponents in the file. */
static double round_step(double s)
{
    int e;
    double m = 2 * frexp(s, &e), best = 1; /* 1 .. 2 */
    for (double c = 1.25; c <= 2; c += 0.25)
        if (fabs(log2(c / m)) < fabs(log2(best / m)))
            best = c;
    return ldexp(best, e - 1);
}

#define CUTS 13u      /* steps that are tried where weights may be cut off */
#define NARROWER 0.05 /* each than the one before */

/* Of a row's weights, times its loss, by so many levels of a step. */
static double squares_of(const struct step_choice *c, uint64_t row, double step)
{
    const float *w = c->cut + row * c->n;
    double sum = 0;
    for (size_t k = 0; k < c->n; k++) {
        const double q = fmin(fmax(nearbyint((double)w[k] / step), -c->levels), c->levels),
                     off = (double)w[k] - q * step;
        sum += off * off;
    }
    return c->loss[row] * sum;
}

/* Of rows first .. last - 1 with one step: Integers are bounded, so the largest weight bounds the
 * step from below, or what is lost by cutting it off does. */
static double least_step(const struct step_choice *c, uint64_t first, uint64_t last)
{
    double widest = 0, best = 0, least = HUGE_VAL;
    for (uint64_t row = first; row < last; row++)
        widest = fmax(widest, c->most[row] / (double)c->levels);
    for (uint32_t i = 0; i < CUTS && c->cut && widest > 0; i++) {
        const double step = widest * (1 - NARROWER * i);
        double sum = 0;
        for (uint64_t row = first; row < last; row++)
            sum += squares_of(c, row, step);
        if (sum < least) {
            least = sum;
            best = step;
        }
    }
    return c->cut ? best : widest;
}

/* The formula of the header. */
static double step_for(const struct step_choice *c, double loss)
{
    return (c->trellis ? TRELLIS : 1) * sqrt(12 * c->lambda / (log(2) * loss));
}

/* Bits a weight that rows of their own save at the same loss. The gain of reverse water-filling:
 * half the logarithm of the arithmetic over the geometric mean. */
static double saved(const struct step_choice *c, double mean)
{
    double sum = 0;
    for (uint64_t i = 0; i < c->rows; i++)
        sum += 0.5 * log2(mean / c->loss[i]);
    return sum / (double)c->rows;
}

static double mean_loss(const struct step_choice *c)
{
    double mean = 0;
    for (uint64_t i = 0; i < c->rows; i++)
        mean += c->loss[i] / (double)c->rows;
    return mean;
}

/* Where many rows are wider than lambda requires, the effective lambda is smaller. */
bool pith_step_reach(const struct step_choice *c, bool own, const double *step)
{
    const double mean = mean_loss(c);
    uint64_t wide = 0;
    for (uint64_t i = 0; i < c->rows; i++)
        wide += step[i] > WIDER * step_for(c, own ? c->loss[i] : mean);
    return (double)wide <= FEW_ROWS * (double)c->rows;
}

bool pith_step_choose(const struct step_choice *c, double *step)
{
    const double mean = mean_loss(c);
    bool own =
        c->by_row > 0 || (c->by_row < 0 && saved(c, mean) > ROW_PAYS + ROW_BITS / (double)c->n);
    const double one = own ? 0 : fmax(step_for(c, mean), least_step(c, 0, c->rows));
    for (uint64_t i = 0; i < c->rows; i++) {
        const double least = own ? least_step(c, i, i + 1) : 0;
        double s = own ? round_step(fmax(step_for(c, c->loss[i]), c->cut ? least : 0)) : one;
        /* Rounding may have made it too fine; a fifth more is at most one quarter step. */
        while (own && !c->cut && s < least)
            s = round_step(1.2 * s);
        step[i] = (double)(float)s;
    }
    return own;
}
