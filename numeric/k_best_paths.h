/* SPDX-License-Identifier: MIT */
/* k_best_paths.h - error feedback along several paths at once. */
#ifndef K_BEST_PATHS_H
#define K_BEST_PATHS_H

#include "error_feedback.h"

#define PATH_BLOCK 32u

struct path_choice {
    double cost, error;
    uint32_t path;  /* that it goes on with */
    uint32_t state; /* of the trellis, behind it */
};

struct path_search {
    const struct error_feedback *r;
    double scale;
    uint32_t k; /* r->n_paths */
    uint32_t n_paths;
    double cost[PITH_MOST_PATHS];
    uint32_t state[PITH_MOST_PATHS];
    uint32_t n_choices; /* the cheapest so far, cheapest first */
    struct path_choice choice[PITH_MOST_PATHS];
    uint32_t origin[PITH_MOST_PATHS]; /* of each path, when the block began */
    double rest[PATH_BLOCK * PITH_MOST_PATHS];
};

/* Where a path stands: it goes on with one of some integers. */
struct path_stand {
    uint32_t path;
    double goal, u, back; /* of the weight; its diagonal; the feedback of the errors so far */
};

/* As pith_error_feedback; r->n_paths > 1, or a price. */
double pith_k_best_paths(const struct error_feedback *r, double scale, double enough, int16_t *q);

/* What it costs that a path goes on with this integer; price: of integers from r->lowest on, or
 * NULL. */
static inline struct path_choice pith_path_choice(const struct path_search *x,
                                                  const struct path_stand *at, double level,
                                                  const double *price)
{
    double error = at->goal - level * x->scale, left = at->u * error + at->back;
    struct path_choice c = {
        .cost = x->cost[at->path] + left * left, .error = error, .path = at->path};
    if (price)
        c.cost += price[(int32_t)level - x->r->lowest];
    return c;
}

/* Into a list [n] of at most most, cheapest first; equal ones as they came. The new n. */
static inline uint32_t pith_path_keep(struct path_choice *list, uint32_t n, uint32_t most,
                                      const struct path_choice *c)
{
    uint32_t to = n;
    if (to == most && !(c->cost < list[--to].cost))
        return n;
    for (; to > 0 && c->cost < list[to - 1].cost; to--)
        list[to] = list[to - 1];
    list[to] = *c;
    return n + (n < most);
}

/* The choices of weight j under r->trellis. u, back: its diagonal, and for each path the feedback
 * of the errors so far. */
void pith_trellis_choices(struct path_search *x, size_t j, double u, const double *back);

#endif
