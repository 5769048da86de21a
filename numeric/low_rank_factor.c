/* SPDX-License-Identifier: MIT */
/* low_rank_factor.c - what is left of D + X X^T after a row of Cholesky's factor is taken off is
 * again a diagonal and a product through r numbers:
 *
 *     A = D + X G X^T,  G = I at first
 *     U[j, j]^2 = d_j + x_j G x_j,   p_j = G x_j / U[j, j],   U[j, i] = p_j . x_i
 *     G -= p_j p_j^T
 *
 * so no n x n matrix is ever made. Sums have a fixed order: the same bits on every machine. */
#include "low_rank_factor.h"

#include <math.h>
#include <string.h>

#include "cholesky.h"

static void start(double *g, size_t r)
{
    memset(g, 0, r * r * sizeof *g);
    for (size_t k = 0; k < r; k++)
        g[k * r + k] = 1;
}

/* g -= p p^T; both triangles get the same numbers. */
static void take_off(double *restrict g, const double *restrict p, size_t r)
{
    for (size_t i = 0; i < r; i++)
        for (size_t k = 0; k < r; k++)
            g[i * r + k] -= p[i] * p[k];
}

/* room: G [r, r], then G x_j [r]. Some 2 n r^2 multiplications. */
bool pith_low_rank_cholesky(struct low_rank_factor *f, const double *d, double *room)
{
    size_t r = f->r;
    double *g = room, *gx = room + r * r;
    start(g, r);
    for (size_t j = 0; j < f->n; j++) {
        const double *x = f->x + j * r;
        double *p = f->p + j * r;
        for (size_t i = 0; i < r; i++)
            gx[i] = pith_dot(g + i * r, x, r);
        double square = d[j] + pith_dot(gx, x, r);
        if (!(square > 0) || !isfinite(square))
            return false;
        f->diagonal[j] = sqrt(square);
        for (size_t i = 0; i < r; i++)
            p[i] = gx[i] / f->diagonal[j];
        take_off(g, p, r);
    }
    return true;
}
