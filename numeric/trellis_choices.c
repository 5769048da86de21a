/* SPDX-License-Identifier: MIT */
/* trellis_choices.c - how paths go on where integers are levels of a trellis. Levels beside each
 * other are odd and even, so the two next to what a path wants are the best of those that lead to
 * each of two states. */
#include <math.h>

#include "k_best_paths.h"

/* The cheapest choices that lead to each state, most of each. */
struct lists {
    uint32_t most, n[PITH_MOST_STATES];
    struct path_choice choice[PITH_MOST_PATHS];
};

static double integer_of(double k, uint32_t quantizer)
{
    return k > 0 ? 2 * k - quantizer : 0;
}

/* The nearest level to a distance from 0. */
static double nearest_level(double far, uint32_t quantizer)
{
    if (!quantizer)
        return nearbyint(far / 2);
    return far < 0.5 ? 0 : fmax(1, nearbyint((far + 1) / 2));
}

/* k: level, of the sign of what is wanted; below 0: of the other sign. */
static void choose(const struct path_search *x, const struct path_stand *at, double k, double sign,
                   struct lists *to)
{
    const struct error_feedback *r = x->r;
    const uint32_t state = x->state[at->path], quantizer = state & 1;
    const double integer = (k < 0 ? -sign : sign) * integer_of(fabs(k), quantizer);
    if (integer < r->lowest || integer > r->most)
        return;
    const double *price = r->price;
    if (price && quantizer)
        price += r->most - r->lowest + 1;
    struct path_choice c = pith_path_choice(x, at, integer, price);
    uint32_t next = c.state = r->trellis->next[state][(uint32_t)fabs(k) & 1];
    to->n[next] = pith_path_keep(to->choice + next * to->most, to->n[next], to->most, &c);
}

static void choose_levels(const struct path_search *x, const struct path_stand *at,
                          struct lists *to)
{
    const struct error_feedback *r = x->r;
    const uint32_t quantizer = x->state[at->path] & 1;
    const double wanted = (at->goal + at->back / at->u) / x->scale, far = fabs(wanted);
    const double sign = wanted < 0 ? -1 : 1, bound = wanted < 0 ? -(double)r->lowest : r->most;
    const double most = floor((fmax(bound, 0) + quantizer) / 2);
    const double k = fmin(nearest_level(far, quantizer), most);
    const double other = far > integer_of(k, quantizer) ? k + 1 : k - 1, inner = fmin(k, other);
    choose(x, at, k, sign, to);
    choose(x, at, other, sign, to);
    if (r->price && inner > 0)
        choose(x, at, inner - 1, sign, to);
    if (r->price && inner > 1)
        choose(x, at, 0, sign, to);
}

/* All lists as one, cheapest first; equal ones by their states. */
static void merge(struct path_search *x, const struct lists *from)
{
    uint32_t at[PITH_MOST_STATES] = {0}, n_states = x->r->trellis->n_states;
    for (x->n_choices = 0; x->n_choices < x->k; x->n_choices++) {
        const struct path_choice *best = NULL;
        for (uint32_t s = 0; s < n_states; s++) {
            const struct path_choice *c = from->choice + s * from->most + at[s];
            if (at[s] < from->n[s] && (!best || c->cost < best->cost))
                best = c;
        }
        if (!best)
            return;
        at[best->state]++;
        x->choice[x->n_choices] = *best;
    }
}

void pith_trellis_choices(struct path_search *x, size_t j, double u, const double *back)
{
    const struct error_feedback *r = x->r;
    struct lists lists = {.most = x->k / r->trellis->n_states};
    for (uint32_t path = 0; path < x->n_paths; path++) {
        const struct path_stand at = {path, r->goal[j], u, back[path]};
        if (!r->kept || r->kept[j])
            choose_levels(x, &at, &lists);
        else
            choose(x, &at, 0, 1, &lists);
    }
    merge(x, &lists);
}
