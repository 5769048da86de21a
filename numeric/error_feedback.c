/* SPDX-License-Identifier: MIT */
/* error_feedback.c - Babai's nearest plane, from the last weight to the first. Each adds a term to
 * the error that none after it changes, so an error above the limit is known early.
 */
#include "error_feedback.h"

#include <string.h>

#include "k_best_paths.h"
#include "nearest_level.h"
#include "cholesky.h"
#include "low_rank.h"

/* The feedback of the errors so far to weight j; of a low rank from their sum behind e. */
static double feedback(const struct error_feedback *r, size_t j, double *diagonal)
{
    if (r->low) {
        *diagonal = r->low->diagonal[j];
        return pith_dot(r->low->a + j * r->low->rank, r->e + r->n, r->low->rank);
    }
    const double *u = r->u ? r->u + j * r->n : NULL;
    *diagonal = u ? u[j] : 1;
    return u ? pith_dot(u + j + 1, r->e + j + 1, r->n - j - 1) : 0;
}

static double one_path(const struct error_feedback *r, double scale, double enough, int16_t *q)
{
    double error = 0, u;
    if (r->low)
        memset(r->e + r->n, 0, r->low->rank * sizeof *r->e);
    for (size_t j = r->n; j-- > 0 && error < enough;) {
        double back = feedback(r, j, &u);
        double wanted = !r->kept || r->kept[j] ? (r->goal[j] + back / u) / scale : 0;
        double level = nearest_level(wanted, r->lowest, r->most);
        q[j] = (int16_t)level;
        r->e[j] = r->goal[j] - level * scale;
        for (size_t k = 0; r->low && k < r->low->rank; k++)
            r->e[r->n + k] += r->low->x[j * r->low->rank + k] * r->e[j];
        double left = u * r->e[j] + back;
        error += left * left;
    }
    return error;
}

double pith_error_feedback(const struct error_feedback *r, double scale, double enough, int16_t *q)
{
    return r->n_paths > 1 || r->price || r->trellis ? pith_k_best_paths(r, scale, enough, q)
                                                    : one_path(r, scale, enough, q);
}

/* ---- order ----------------------------------------------------------------------------------- */

static void merge(const double *diagonal, size_t *to, const size_t *a, size_t n_a, const size_t *b,
                  size_t n_b)
{
    while (n_a || n_b) {
        bool first = n_b == 0 || (n_a && diagonal[*a] <= diagonal[*b]);
        if (first) {
            *to++ = *a++;
            n_a--;
        } else {
            *to++ = *b++;
            n_b--;
        }
    }
}

/* A merge sort by halves. */
void pith_order_by_diagonal(const double *diagonal, size_t n, size_t *order)
{
    size_t *room = order + n;
    for (size_t k = 0; k < n; k++)
        order[k] = k;
    for (size_t run = 1; run < n; run *= 2) {
        for (size_t at = 0; at < n; at += 2 * run) {
            size_t n_a = run < n - at ? run : n - at;
            size_t n_b = run < n - at - n_a ? run : n - at - n_a;
            merge(diagonal, room + at, order + at, n_a, order + at + n_a, n_b);
        }
        memcpy(order, room, n * sizeof *room);
    }
}
