/* SPDX-License-Identifier: MIT */
#include "row_feedback.h"

#include "pith_cholesky.h"
#include "pith_error_feedback.h"

#include <math.h>
#include <stdlib.h>

#define DAMPING 0.01 /* of the mean of H's diagonal */

void pith_row_feedback_free(struct row_feedback *s)
{
    free(s->natural);
    free(s->ordered);
    free(s->crossed);
    free(s->goal);
    free(s->solution);
    free(s->order);
    free(s->error);
    free(s->level);
    free(s->kept);
    *s = (struct row_feedback){0};
}

bool pith_row_feedback_open(struct row_feedback *s, uint32_t n, bool goals)
{
    size_t square = (size_t)n * n;
    *s = (struct row_feedback){.n = n,
                               .ordered = malloc(square * sizeof *s->ordered),
                               .solution = malloc(n * sizeof *s->solution),
                               .order = malloc(2 * (size_t)n * sizeof *s->order)};
    bool room = s->ordered && s->solution && s->order;
    if (!goals)
        return room;
    s->natural = malloc(square * sizeof *s->natural);
    s->crossed = malloc(square * sizeof *s->crossed);
    s->goal = malloc(n * sizeof *s->goal);
    s->error = malloc((size_t)n * ROW_PATHS * sizeof *s->error);
    s->level = malloc(n * sizeof *s->level);
    s->kept = malloc(n);
    return room && s->natural && s->crossed && s->goal && s->error && s->level && s->kept;
}

static double damped(const double *h, uint32_t n, size_t i, size_t k, double damping)
{
    return h[i * n + k] + (i == k ? damping : 0);
}

static bool factor_natural(struct row_feedback *s, const double *both, const double *crossed,
                           double damping)
{
    uint32_t n = s->n;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++) {
            size_t at = (size_t)i * n + k;
            s->natural[at] = damped(both, n, i, k, damping);
            s->crossed[at] = crossed[at] + (i == k ? damping : 0);
        }
    return pith_cholesky(s->natural, n);
}

static bool factor_ordered(struct row_feedback *s, const double *both, double damping)
{
    uint32_t n = s->n;
    for (uint32_t k = 0; k < n; k++) /* from behind: of equal ones the first is rounded first */
        s->solution[n - 1 - k] = both[(size_t)k * n + k];
    pith_order_by_diagonal(s->solution, n, s->order);
    for (uint32_t k = 0; k < n; k++)
        s->order[k] = n - 1 - s->order[k];
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = i; k < n; k++)
            s->ordered[(size_t)i * n + k] = damped(both, n, s->order[i], s->order[k], damping);
    return pith_cholesky(s->ordered, n);
}

bool pith_row_feedback_factor(struct row_feedback *s, const double *both, const double *crossed)
{
    double trace = 0;
    for (uint32_t i = 0; i < s->n; i++)
        trace += both[(size_t)i * s->n + i];
    double damping = DAMPING * trace / s->n;
    return trace > 0 && (!s->natural || factor_natural(s, both, crossed, damping)) &&
           factor_ordered(s, both, damping);
}

void pith_row_feedback_aim(struct row_feedback *s, const float *was)
{
    for (uint32_t i = 0; i < s->n; i++) {
        double sum = 0;
        for (uint32_t k = 0; k < s->n; k++)
            sum += s->crossed[(size_t)i * s->n + k] * (double)was[k];
        s->goal[i] = sum;
    }
    pith_cholesky_solve(s->natural, s->n, s->goal);
}

void pith_row_feedback_round(struct row_feedback *s, const struct grid *grid, double factor,
                             const uint8_t *alive, float *v)
{
    const struct error_feedback row = {.n = s->n,
                                       .u = s->ordered,
                                       .goal = s->solution,
                                       .kept = alive ? s->kept : NULL,
                                       .lowest = -grid->levels,
                                       .most = grid->levels,
                                       .n_paths = ROW_PATHS,
                                       .e = s->error};
    for (uint32_t j = 0; j < s->n; j++) {
        s->solution[j] = s->goal[s->order[j]];
        s->kept[j] = !alive || alive[s->order[j]];
        s->level[j] = 0;
    }
    pith_error_feedback(&row, (double)grid->step * factor, HUGE_VAL, s->level);
    for (uint32_t j = 0; j < s->n; j++)
        v[s->order[j]] = (float)s->level[j] * grid->step;
}

/* U e = D r, D the diagonal of U and r the roundings: g e = (D U^-T g) r. */
double pith_row_feedback_noise(struct row_feedback *s, const float *g)
{
    double sum = 0;
    for (uint32_t i = 0; i < s->n; i++)
        s->solution[i] = (double)g[s->order[i]];
    pith_cholesky_forward(s->ordered, s->n, s->solution);
    for (uint32_t i = 0; i < s->n; i++) {
        double x = s->solution[i] * s->ordered[(size_t)i * s->n + i];
        sum += x * x;
    }
    return sum;
}
