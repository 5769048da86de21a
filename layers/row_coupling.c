/* SPDX-License-Identifier: MIT */
/* row_coupling.c - rows that are rounded at once are a block of U: their common minimum is what
 * they are moved to, and each costs what it costs by itself there.
 *
 * Reference: YAQA (Tseng et al., 2025) feeds errors forward along both sides of a layer's
 * Kronecker-factored Hessian. */
#include "row_coupling.h"

#include <math.h>
#include <stdlib.h>

#include "numeric/cholesky.h"
#include "numeric/error_feedback.h"
#include "base/error_fill.h"
#include "base/kept_values.h"

/* Of what gradients say two rows have in common, with many samples: large errors that cancel to
 * first order do not behind the next nonlinearity (0.3 and 0.7 gain less, 0.85 loses). */
#define SHARE 0.5
/* That rows have nothing in common counts as so many samples, and one for each answer. */
#define SAMPLES_OF_NONE 32.0
/* Below, nothing is gained: 512 samples of 1,000 classes have 0.166. */
#define LEAST_SHARE 0.17
#define LEAST_AT_ONCE 2u
#define BLOCKS 32u /* of a layer of many rows, at most */

/* Below the diagonal and on it. */
static enum pith_status sum_draws(const struct pith_sensitivity *known, uint32_t value, double *g,
                                  struct pith_error *err)
{
    const struct pith_row_sensitivity *of = &known->of[value];
    const size_t n = (size_t)of->rows, bytes = n * sizeof(float);
    float *x = malloc(bytes);
    enum pith_status status = x ? PITH_OK : pith_error_no_memory(err);
    for (uint64_t i = 0; i < known->n_samples * of->n_draws && !status; i++) {
        status = pith_kept_read(known->draw, value, i * bytes, x, bytes, err);
        for (size_t r = 0; r < n && !status; r++)
            for (size_t k = 0; k <= r; k++)
                g[r * n + k] += (double)x[r] * (double)x[k];
    }
    free(x);
    return status;
}

void pith_row_coupling_close(struct row_coupling *c)
{
    free(c->order);
    free(c->compensation);
    *c = (struct row_coupling){0};
}

/* The sums below the diagonal of g become G above it, by place: as correlations, since the losses
 * know the diagonal better. square: [n] room. */
static void place_rows(double *g, size_t n, double share, const double *loss, const size_t *order,
                       double *square)
{
    for (size_t r = 0; r < n; r++)
        square[r] = g[r * n + r];
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++) {
            const size_t a = order[i] > order[k] ? order[i] : order[k], b = order[i] + order[k] - a;
            const double both = square[a] * square[b];
            g[i * n + k] =
                both > 0 ? share * g[a * n + b] / sqrt(both) * sqrt(loss[a] * loss[b]) : 0;
        }
    for (size_t i = 0; i < n; i++)
        g[i * n + i] = loss[order[i]];
}

/* Rows of U become those of the compensation: the block's own part of U, turned round, times U. */
static void solve_block(const struct row_coupling *c, size_t first, size_t last, double *loss)
{
    const size_t n = (size_t)c->rows;
    double *u = c->compensation;
    for (size_t j = first; j < last; j++) {
        loss[c->order[j]] = 0;
        for (size_t i = first; i <= j; i++)
            loss[c->order[j]] += u[i * n + j] * u[i * n + j];
    }
    for (size_t j = last; j-- > first;)
        for (size_t k = last; k < n; k++) {
            for (size_t i = j + 1; i < last; i++)
                u[j * n + k] -= u[j * n + i] * u[i * n + k];
            u[j * n + k] /= u[j * n + j];
        }
}

static double share_of(uint64_t samples, uint64_t answers)
{
    return SHARE * (double)samples / ((double)samples + SAMPLES_OF_NONE + (double)answers);
}

enum pith_status pith_row_coupling_open(const struct pith_sensitivity *known, uint32_t value,
                                        uint64_t answers, double *loss, struct row_coupling *c,
                                        struct pith_error *err)
{
    *c = (struct row_coupling){0};
    const double share = known ? share_of(known->n_samples, answers) : 0;
    if (share < LEAST_SHARE || !known->of[value].n_draws)
        return PITH_OK;
    const size_t n = (size_t)known->of[value].rows;
    double *square = malloc(n * sizeof *square);
    *c = (struct row_coupling){.rows = n,
                               .at_once = n / BLOCKS > LEAST_AT_ONCE ? n / BLOCKS : LEAST_AT_ONCE,
                               .order = malloc(2 * n * sizeof *c->order), /* and room behind */
                               .compensation = calloc(n * n, sizeof *c->compensation)};
    enum pith_status status = square && c->order && c->compensation
                                  ? sum_draws(known, value, c->compensation, err)
                                  : pith_error_no_memory(err);
    bool factored = false;
    if (!status) {
        pith_order_by_diagonal(loss, n, c->order);
        place_rows(c->compensation, n, share, loss, c->order, square);
        factored = pith_cholesky(c->compensation, n);
    }
    free(square);
    for (size_t last = n; factored && last > 0;) {
        const size_t first = last > c->at_once ? last - (size_t)c->at_once : 0;
        solve_block(c, first, last, loss);
        last = first;
    }
    if (!factored)
        pith_row_coupling_close(c);
    return status;
}
