/* SPDX-License-Identifier: MIT */
#include "shrinkage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/seeded_random.h"

#define MOST_SAMPLES 64u
#define MOST_ROWS 8u /* of a sample */
#define MOST_GROUPS 16u
#define MOST_SHARE 0.99 /* something of H always stays */

static uint64_t one_of(uint64_t n, uint64_t most)
{
    return (n + most - 1) / most;
}

bool pith_shrinkage_open(struct shrinkage *d, uint64_t samples, uint64_t rows, uint32_t groups,
                         size_t n)
{
    *d = (struct shrinkage){.n = n,
                            .samples = samples,
                            .rows = rows,
                            .groups = groups,
                            .each_sample = one_of(samples, MOST_SAMPLES),
                            .each_row = one_of(rows, MOST_ROWS),
                            .each_group = (uint32_t)one_of(groups, MOST_GROUPS)};
    d->kept_samples = one_of(samples, d->each_sample);
    d->kept_rows = one_of(rows, d->each_row);
    const size_t kept = (size_t)(d->kept_samples * d->kept_rows);
    d->x = malloc((size_t)one_of(groups, d->each_group) * kept * n * sizeof *d->x);
    d->root = malloc(kept * sizeof *d->root);
    return d->x && d->root;
}

void pith_shrinkage_close(struct shrinkage *d)
{
    free(d->x);
    free(d->root);
    *d = (struct shrinkage){0};
}

/* Among the rows that are kept of all groups. */
static size_t place_of(const struct shrinkage *d, uint32_t group, uint64_t sample, uint64_t row)
{
    return (size_t)((group / d->each_group * d->kept_samples + sample / d->each_sample) *
                        d->kept_rows +
                    row / d->each_row);
}

/* One of each run of rows is kept, which differs from sample to sample: with the same one, places
 * of a picture that are one above the other would stand for all. */
static bool is_kept(const struct shrinkage *d, uint64_t sample, uint64_t row)
{
    uint64_t state = sample * d->rows + row / d->each_row;
    const uint64_t first = row / d->each_row * d->each_row,
                   run = d->rows - first < d->each_row ? d->rows - first : d->each_row;
    return sample % d->each_sample == 0 && row == first + next_random(&state) % run;
}

void pith_shrinkage_add(struct shrinkage *d, uint64_t sample, uint64_t row, uint32_t group,
                        const float *x, float root)
{
    if (group % d->each_group || !is_kept(d, sample, row))
        return;
    memcpy(d->x + place_of(d, group, sample, row) * d->n, x, d->n * sizeof *x);
    if (group == 0)
        d->root[place_of(d, 0, sample, row)] = root;
}

/* The product of two rows, of both as much of the mean taken off as leaves 1 - centre of its
 * square. */
static double product_of(const struct shrinkage *d, const struct shrunk *of, uint32_t group,
                         const size_t at[2])
{
    const size_t first = place_of(d, group, 0, 0);
    const double off = 1 - sqrt(1 - of->centre), *mean = of->mean + group * d->n;
    const double root[] = {off * (double)d->root[at[0]], off * (double)d->root[at[1]]};
    const float *a = d->x + (first + at[0]) * d->n, *b = d->x + (first + at[1]) * d->n;
    double sum = 0;
    for (size_t k = 0; k < d->n; k++)
        sum += ((double)a[k] - root[0] * mean[k]) * ((double)b[k] - root[1] * mean[k]);
    return sum;
}

/* |H_s|^2 of a group, the mean of the samples kept: pairs of one row with itself and of two stand
 * for all that there are. */
static double square_of_one(const struct shrinkage *d, const struct shrunk *of, uint32_t group)
{
    const double kept = (double)d->kept_rows, rows = (double)d->rows,
                 scale = of->scale * (double)d->samples;
    double same = 0, other = 0;
    for (size_t s = 0; s < d->kept_samples; s++)
        for (size_t i = 0; i < d->kept_rows; i++)
            for (size_t k = 0; k <= i; k++) {
                const double p = product_of(d, of, group,
                                            (size_t[]){s * d->kept_rows + i, s * d->kept_rows + k});
                *(i == k ? &same : &other) += p * p / (double)d->kept_samples;
            }
    other *= kept > 1 ? 2 * rows * (rows - 1) / (kept * (kept - 1)) : 0;
    return scale * scale * (same * rows / kept + other);
}

/* |H|^2 of a group, the means' part taken off. */
static double square_of_all(const struct shrinkage *d, const struct shrunk *of, uint32_t group,
                            double *trace)
{
    const size_t n = d->n;
    const double *h = of->h + group * n * n, *mean = of->mean + group * n;
    double squares = 0;
    *trace = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            const double x = h[i * n + k] - of->centre * of->places * mean[i] * mean[k];
            squares += x * x;
            *trace += i == k ? x : 0;
        }
    return squares;
}

double pith_shrinkage_find(const struct shrinkage *d, const struct shrunk *of)
{
    double variance = 0, spread = 0;
    for (uint32_t g = 0; g < d->groups && d->samples > 1; g += d->each_group) {
        double trace;
        const double all = square_of_all(d, of, g, &trace);
        variance += (square_of_one(d, of, g) - all) / ((double)d->samples - 1);
        spread += all - trace * trace / (double)d->n;
    }
    if (d->samples > 1 && !(spread > 0))
        return 0; /* a multiple of the identity as it is */
    const double share = d->samples > 1 ? fmin(fmax(variance / spread, 0), MOST_SHARE) : MOST_SHARE;
    return share / (1 - share);
}
