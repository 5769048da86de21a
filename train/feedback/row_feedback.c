/* SPDX-License-Identifier: MIT */
#include "row_feedback.h"

#include "least_squares.h"

#include <stdlib.h>

#define DAMPING 0.01 /* of the mean of H's diagonal */

void pith_row_feedback_free(struct row_feedback *s)
{
    free(s->natural);
    free(s->ordered);
    free(s->goal);
    free(s->error);
    free(s->crossed);
    free(s->order);
    *s = (struct row_feedback){0};
}

bool pith_row_feedback_open(struct row_feedback *s, uint32_t n, bool goals)
{
    size_t square = (size_t)n * n;
    *s = (struct row_feedback){.n = n,
                               .ordered = malloc(square * sizeof(double)),
                               .error = malloc(n * sizeof(double)),
                               .order = malloc(n * sizeof(uint32_t))};
    bool room = s->ordered && s->error && s->order;
    if (!goals)
        return room;
    s->natural = malloc(square * sizeof(double));
    s->crossed = malloc(square * sizeof(double));
    s->goal = malloc(n * sizeof(double));
    return room && s->natural && s->crossed && s->goal;
}

/* By the diagonal of h, falling; equal ones as they are. */
static void sort_inputs(const float *h, uint32_t n, uint32_t *order)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = i;
        float own = h[(size_t)i * n + i];
        for (; at > 0 && h[(size_t)order[at - 1] * n + order[at - 1]] < own; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

/* Symmetric: sums were added up in another order on each side of the diagonal. */
static double damped(const float *h, uint32_t n, uint32_t i, uint32_t k, double damping)
{
    return 0.5 * ((double)h[(size_t)i * n + k] + (double)h[(size_t)k * n + i]) +
           (i == k ? damping : 0);
}

static bool factor_natural(struct row_feedback *s, const float *both, const float *crossed,
                           double damping)
{
    uint32_t n = s->n;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++) {
            size_t at = (size_t)i * n + k;
            s->natural[at] = damped(both, n, i, k, damping);
            s->crossed[at] = (double)crossed[at] + (i == k ? damping : 0);
        }
    return pith_factor_upper(n, s->natural);
}

bool pith_row_feedback_factor(struct row_feedback *s, const float *both, const float *crossed)
{
    uint32_t n = s->n;
    double trace = 0;
    for (uint32_t i = 0; i < n; i++)
        trace += (double)both[(size_t)i * n + i];
    double damping = DAMPING * trace / n;
    sort_inputs(both, n, s->order);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++)
            s->ordered[(size_t)i * n + k] = damped(both, n, s->order[i], s->order[k], damping);
    return trace > 0 && (!s->natural || factor_natural(s, both, crossed, damping)) &&
           pith_factor_upper(n, s->ordered);
}

void pith_row_feedback_aim(struct row_feedback *s, const float *was)
{
    for (uint32_t i = 0; i < s->n; i++) {
        double sum = 0;
        for (uint32_t k = 0; k < s->n; k++)
            sum += s->crossed[(size_t)i * s->n + k] * (double)was[k];
        s->goal[i] = sum;
    }
    pith_solve_upper(s->n, s->natural, s->goal);
}

/* R^T e = D r, D the diagonal of R and r the roundings: g e = (D R^-1 g) r. */
double pith_row_feedback_noise(struct row_feedback *s, const float *g)
{
    double sum = 0;
    for (uint32_t i = 0; i < s->n; i++)
        s->error[i] = (double)g[s->order[i]];
    pith_solve_rows(s->n, s->ordered, s->error);
    for (uint32_t i = 0; i < s->n; i++) {
        double x = s->error[i] * s->ordered[(size_t)i * s->n + i];
        sum += x * x;
    }
    return sum;
}
