/* SPDX-License-Identifier: MIT */
/* kmeans.c - Lloyd's iteration ("Least squares quantization in PCM", 1982) in one dimension.
 *
 * A step costs O(K log n): boundaries are midpoints found by binary search, means come from prefix
 * sums. A centroid that no value is nearest to is worth nothing, so it is taken away and put where
 * the error is: on the outermost value of the cluster with the largest squared error. */
#include "kmeans.h"

#include <math.h>
#include <string.h>

#define ITERATIONS 300

struct clusters {
    uint64_t edge[KMEANS_MAX + 1]; /* cluster j holds values [edge[j], edge[j + 1]) */
};

/* A value half way between two centroids belongs to the lower. */
static void find_edges(const struct sorted_values *s, const struct centroids *c, struct clusters *k)
{
    k->edge[0] = 0;
    for (uint32_t j = 1; j < c->n; j++)
        k->edge[j] = pith_sorted_count_to(s, (c->at[j - 1] + c->at[j]) / 2);
    k->edge[c->n] = s->n;
}

static bool is_pinned(const struct centroids *c, uint32_t j)
{
    return c->pin_zero && c->at[j] == 0;
}

/* Drops centroids without values, moves the others to their means; edges follow. */
static void move_to_means(const struct sorted_values *s, struct centroids *c, struct clusters *k)
{
    uint32_t n = 0;
    for (uint32_t j = 0; j < c->n; j++) {
        uint64_t from = k->edge[j], to = k->edge[j + 1];
        if (from == to)
            continue;
        c->at[n] = is_pinned(c, j) ? 0 : pith_sorted_mean(s, from, to);
        k->edge[n++] = from;
    }
    c->n = n;
    k->edge[n] = s->n;
}

/* Keeps the order. */
static void insert(struct centroids *c, double x)
{
    uint32_t j = c->n;
    for (; j > 0 && c->at[j - 1] > x; j--)
        c->at[j] = c->at[j - 1];
    c->at[j] = x;
    c->n++;
}

/* The value of cluster j that is furthest from its centre: as they are sorted, one of its ends. */
static double outermost(const struct sorted_values *s, const struct clusters *k, uint32_t j,
                        double centre)
{
    double low = (double)s->v[k->edge[j]], high = (double)s->v[k->edge[j + 1] - 1];
    return centre - low >= high - centre ? low : high;
}

/* Fills up to c->wanted, at most one new centroid in each present cluster, worst clusters first.
 * false: there was nothing to gain anywhere. */
static bool add_missing(const struct sorted_values *s, struct centroids *c,
                        const struct clusters *k)
{
    double error[KMEANS_MAX], place[KMEANS_MAX];
    uint32_t present = c->n;
    for (uint32_t j = 0; j < present; j++) {
        error[j] = pith_sorted_error(s, k->edge[j], k->edge[j + 1], c->at[j]);
        place[j] = outermost(s, k, j, c->at[j]);
        if (place[j] == c->at[j])
            error[j] = 0;
    }
    bool added = false;
    while (c->n < c->wanted) {
        uint32_t worst = 0;
        for (uint32_t j = 1; j < present; j++)
            worst = error[j] > error[worst] ? j : worst;
        if (!(error[worst] > 0))
            break;
        insert(c, place[worst]);
        error[worst] = 0;
        added = true;
    }
    return added;
}

void pith_kmeans_lloyd(const struct sorted_values *s, struct centroids *c)
{
    struct clusters now, before;
    memset(&before, 0, sizeof before);
    for (uint32_t i = 0; i < ITERATIONS; i++) {
        find_edges(s, c, &now);
        move_to_means(s, c, &now);
        bool added = c->n < c->wanted && add_missing(s, c, &now);
        /* no value changed its cluster: means would stay where they are from here on */
        if (!added && memcmp(now.edge, before.edge, (c->n + 1) * sizeof now.edge[0]) == 0)
            break;
        before = now;
    }
    /* the last means have moved the edges once more, and a cluster may have lost all its values */
    find_edges(s, c, &now);
    uint32_t n = 0;
    for (uint32_t j = 0; j < c->n; j++) {
        if (now.edge[j] < now.edge[j + 1])
            c->at[n++] = c->at[j];
    }
    c->n = n;
}
