/* SPDX-License-Identifier: MIT */
/* row_rounding.c - Babai's nearest plane, from the last weight to the first. Each adds a term to the error
 * that none after it changes, so what is too much can be told early. */
#include "row_rounding.h"

#include <math.h>

#include "cholesky.h"

double pith_round_row(const struct row_rounding *r, double scale, double enough, int16_t *q)
{
    double error = 0;
    for (size_t j = r->n; j-- > 0 && error < enough;) {
        const double *u = r->u + j * r->n;
        double back = pith_row_product(u + j + 1, r->e + j + 1, r->n - j - 1), level = 0;
        if (!r->kept || r->kept[j])
            level = nearbyint((r->goal[j] + back / u[j]) / scale);
        level = fmin(fmax(level, r->lowest), r->most);
        q[j] = (int16_t)level;
        r->e[j] = r->goal[j] - level * scale;
        double left = u[j] * r->e[j] + back;
        error += left * left;
    }
    return error;
}
