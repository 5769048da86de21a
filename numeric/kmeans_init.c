/* SPDX-License-Identifier: MIT */
/* kmeans_init.c - where centroids start: evenly over the range, the best of the three starts of
 * Deep Compression (Han et al., 2016, section 3.2). */
#include "kmeans.h"

#include <math.h>

void pith_kmeans_sort(struct centroids *c)
{
    for (uint32_t i = 1; i < c->n; i++) {
        double x = c->at[i];
        uint32_t j = i;
        for (; j > 0 && c->at[j - 1] > x; j--)
            c->at[j] = c->at[j - 1];
        c->at[j] = x;
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        if (n == 0 || c->at[i] != c->at[n - 1])
            c->at[n++] = c->at[i];
    }
    c->n = n;
}

/* The centroid nearest to 0 becomes 0. */
static void pin_zero(struct centroids *c)
{
    uint32_t nearest = 0;
    for (uint32_t i = 1; i < c->n; i++) {
        if (fabs(c->at[i]) < fabs(c->at[nearest]))
            nearest = i;
    }
    if (c->pin_zero)
        c->at[nearest] = 0;
}

/* Even over the range, so that the few large weights have centroids near them. */
void pith_kmeans_linear(const struct sorted_values *s, struct centroids *c)
{
    double low = (double)s->v[0], high = (double)s->v[s->n - 1];
    c->n = c->wanted;
    for (uint32_t i = 0; i < c->n; i++)
        c->at[i] = c->n == 1 ? (low + high) / 2 : low + (high - low) * i / (c->n - 1);
    pith_kmeans_sort(c);
    pin_zero(c);
}
