/* SPDX-License-Identifier: MIT */
/* feedback_panel.c - rows do not depend on one another, but all go through the same factor from
 * its last row to its first: beside each other they take it through memory once, and what each row
 * has lost so far is a lane of a vector. A row that has lost enough is a lane whose result is
 * ignored. */
#include "feedback_panel.h"

#include "low_rank.h"
#include "nearest_level.h"

#include <string.h>

/* The search of scales for rows of 1,536 takes 0.54 (AVX2) and 0.46 (AVX-512) of the time that it
 * takes row by row; with vectors of two numbers 1.24. */
#define WIDE 32u

bool pith_feedback_panel_pays(const struct row_panel_kernels *kernels)
{
    return kernels->vector_bytes >= WIDE;
}

static bool any_left(const struct feedback_panel *p, const double *error, const double *enough)
{
    for (uint32_t row = 0; row < p->rows; row++)
        if (error[row] < enough[row])
            return true;
    return false;
}

/* As pith_error_feedback() on one path, step for step; returns what the row loses by it. */
static double round_weight(const struct feedback_panel *p, uint32_t row, size_t j, double u,
                           double back, double scale)
{
    const size_t at = j * PITH_ROW_PANEL + row;
    double wanted = !p->kept || p->kept[at] ? (p->goal[at] + back / u) / scale : 0;
    double level = nearest_level(wanted, p->lowest, p->most);
    p->q[row * p->n + j] = (int16_t)level;
    p->e[at] = p->goal[at] - level * scale;
    double left = u * p->e[at] + back;
    return left * left;
}

/* The feedback of the errors so far, up to that of weight j + 1, to weight j; its diagonal of
 * U. */
static double feedback(const struct feedback_panel *p, size_t j, double *back)
{
    const double *u = p->u ? p->u + j * p->n : NULL;
    if (p->low) {
        p->kernels->dot(p->low->a + j * p->low->rank, p->e + p->n * PITH_ROW_PANEL, p->low->rank,
                        back);
        return p->low->diagonal[j];
    }
    if (!u)
        return 1;
    p->kernels->dot(u + j + 1, p->e + (j + 1) * PITH_ROW_PANEL, p->n - j - 1, back);
    return u[j];
}

static void add_to_sums(const struct feedback_panel *p, size_t j)
{
    double *sum = p->e + p->n * PITH_ROW_PANEL;
    const double *e = p->e + j * PITH_ROW_PANEL, *x = p->low->x + j * p->low->rank;
    for (size_t k = 0; k < p->low->rank; k++, sum += PITH_ROW_PANEL)
        for (uint32_t row = 0; row < PITH_ROW_PANEL; row++)
            sum[row] += x[k] * e[row];
}

void pith_feedback_panel(const struct feedback_panel *p, const double *scale, const double *enough,
                         double *error)
{
    for (uint32_t row = 0; row < PITH_ROW_PANEL; row++)
        error[row] = 0;
    if (p->low)
        memset(p->e + p->n * PITH_ROW_PANEL, 0, p->low->rank * PITH_ROW_PANEL * sizeof *p->e);
    for (size_t j = p->n; j-- > 0 && any_left(p, error, enough);) {
        double back[PITH_ROW_PANEL] = {0}, u = feedback(p, j, back);
        for (uint32_t row = 0; row < p->rows; row++)
            if (error[row] < enough[row])
                error[row] += round_weight(p, row, j, u, back[row], scale[row]);
        if (p->low)
            add_to_sums(p, j);
    }
}
