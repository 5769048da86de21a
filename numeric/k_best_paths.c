/* SPDX-License-Identifier: MIT */
/* k_best_paths.c - K rows are rounded side by side; after each weight the K cheapest of their
 * continuations stay, two of each, or four where integers have a price.
 *
 * A path that goes on as two takes its past along. So that this is not copied at every weight,
 * places are taken in blocks: the feedback of errors behind a block to its weights is summed up
 * when it begins, for all its places at once, and while it lasts only its own errors and those sums
 * move from path to path; errors behind it follow when it ends.
 *
 *     e     [n, K]      errors, place by place
 *     rest  [PATH_BLOCK, K]  sum over i behind the block of U[j, i] e_i, of its places j
 */
#include "k_best_paths.h"

#include <math.h>
#include <string.h>

#include "low_rank.h"
#include "nearest_level.h"
#include "row_panel.h"

/* ---- sums ------------------------------------------------------------------------------------ */

/* sum[path] += factor[i] * e[i, path], i < n; k a constant wherever this is called. */
static inline void add_rows(const double *restrict factor, const double *restrict e, size_t n,
                            uint32_t k, double *restrict sum)
{
    double s[PITH_MOST_PATHS];
    memcpy(s, sum, k * sizeof *s);
    for (size_t i = 0; i < n; i++)
        for (uint32_t path = 0; path < k; path++)
            s[path] += factor[i] * e[i * k + path];
    memcpy(sum, s, k * sizeof *s);
}

static void add_products(const double *factor, const double *e, size_t n, uint32_t k, double *sum)
{
    switch (k) {
    case 4:
        add_rows(factor, e, n, 4, sum);
        break;
    case 8:
        add_rows(factor, e, n, 8, sum);
        break;
    case 16:
        add_rows(factor, e, n, 16, sum);
        break;
    case 32:
        add_rows(factor, e, n, 32, sum);
        break;
    case 64:
        add_rows(factor, e, n, 64, sum);
        break;
    default:
        add_rows(factor, e, n, k, sum);
    }
}

/* sum [rows, k] += the rows of the factor from u on, and columns, times e. */
static void add_feedback(const struct error_feedback *r, const double *u, size_t rows,
                         const double *e, size_t n, double *sum)
{
    const uint32_t k = r->n_paths;
    if (r->panel && k % PITH_ROW_PANEL == 0) {
        r->panel->add(&(struct panel_sum){
            .u = u, .e = e, .sum = sum, .stride = r->n, .rows = rows, .n = n, .k = k});
        return;
    }
    for (size_t row = 0; row < rows; row++)
        add_products(u + row * r->n, e, n, k, sum + row * k);
}

/* The sums of x_i e_i of each path, [rank, K] behind e. */
static double *sums_of(const struct error_feedback *r)
{
    return r->e + r->n * r->n_paths;
}

static void begin_block(struct path_search *x, size_t first, size_t last)
{
    const struct error_feedback *r = x->r;
    memset(x->rest, 0, sizeof x->rest);
    for (uint32_t path = 0; path < x->k; path++)
        x->origin[path] = path;
    if (r->u)
        add_feedback(r, r->u + first * r->n + last, last - first, r->e + last * x->k, r->n - last,
                     x->rest);
}

/* The feedback of the errors of each path to weight j, in the block that ends at last. */
static double feedback(const struct path_search *x, size_t j, size_t first, size_t last,
                       double *back)
{
    const struct error_feedback *r = x->r;
    memcpy(back, x->rest + (j - first) * x->k, x->k * sizeof *back);
    if (r->low) {
        add_feedback(r, r->low->a + j * r->low->rank, 1, sums_of(r), r->low->rank, back);
        return r->low->diagonal[j];
    }
    if (r->u)
        add_feedback(r, r->u + j * r->n + j + 1, 1, r->e + (j + 1) * x->k, last - j - 1, back);
    return r->u ? r->u[j * r->n + j] : 1;
}

/* ---- choices --------------------------------------------------------------------------------- */

/* Path goes on with this integer: kept if it is among the cheapest. */
static void choose(struct path_search *x, const struct path_stand *at, double level)
{
    struct path_choice c = pith_path_choice(x, at, level, x->r->price);
    x->n_choices = pith_path_keep(x->choice, x->n_choices, x->k, &c);
}

/* The next integer towards 0 from the nearer of the two to it, and 0. */
static void choose_cheaper(struct path_search *x, const struct path_stand *at, double level,
                           double other)
{
    double inner = fabs(level) < fabs(other) ? level : other;
    if (inner > 0 || inner < 0) {
        choose(x, at, inner > 0 ? inner - 1 : inner + 1);
        if (fabs(inner) > 1)
            choose(x, at, 0);
    }
}

static void choose_next(struct path_search *x, size_t j, double u, const double *back)
{
    const struct error_feedback *r = x->r;
    double lowest = r->lowest, most = r->most;
    bool free = !r->kept || r->kept[j];
    x->n_choices = 0;
    for (uint32_t path = 0; path < x->n_paths; path++) {
        const struct path_stand at = {path, r->goal[j], u, back[path]};
        double wanted = (at.goal + back[path] / u) / x->scale;
        double level = nearest_level(free ? wanted : 0, r->lowest, r->most);
        double other = wanted > level ? level + 1 : level - 1;
        choose(x, &at, level);
        if (free && other >= lowest && other <= most)
            choose(x, &at, other);
        if (free && r->price)
            choose_cheaper(x, &at, level, other);
    }
}

/* rows [n, k]: each path has what the one had that it goes on with. k: as in add_rows. */
static inline void move(double *restrict rows, size_t n, uint32_t k, const uint32_t *from)
{
    for (size_t i = 0; i < n; i++, rows += k) {
        double was[PITH_MOST_PATHS];
        for (uint32_t path = 0; path < k; path++)
            was[path] = rows[path];
        for (uint32_t path = 0; path < k; path++)
            rows[path] = was[from[path]];
    }
}

static void move_rows(double *rows, size_t n, uint32_t k, const uint32_t *from)
{
    if (k == 4)
        move(rows, n, 4, from);
    else
        move(rows, n, k, from);
}

/* The choices become the paths. Lanes without a choice copy the first; their results are ignored.
 */
static void go_on(struct path_search *x, size_t j, size_t first, size_t last)
{
    const struct error_feedback *r = x->r;
    uint32_t from[PITH_MOST_PATHS] = {0}, origin[PITH_MOST_PATHS];
    bool moved = false;
    for (uint32_t path = 0; path < x->k; path++) {
        const struct path_choice *c = &x->choice[path < x->n_choices ? path : 0];
        from[path] = c->path;
        moved |= c->path != path;
        origin[path] = x->origin[c->path];
        r->e[j * x->k + path] = c->error;
        x->cost[path] = c->cost;
        x->state[path] = c->state;
    }
    x->n_paths = x->n_choices;
    memcpy(x->origin, origin, x->k * sizeof *origin);
    if (moved) {
        move_rows(r->e + (j + 1) * x->k, last - j - 1, x->k, from);
        move_rows(x->rest, r->u ? j - first : 0, x->k, from);
        if (r->low)
            move_rows(sums_of(r), r->low->rank, x->k, from);
    }
    for (size_t i = 0; r->low && i < r->low->rank; i++)
        for (uint32_t path = 0; path < x->k; path++)
            sums_of(r)[i * x->k + path] += r->low->x[j * r->low->rank + i] * r->e[j * x->k + path];
}

double pith_k_best_paths(const struct error_feedback *r, double scale, double enough, int16_t *q)
{
    struct path_search x = {.r = r, .scale = scale, .k = r->n_paths, .n_paths = 1};
    double back[PITH_MOST_PATHS];
    if (r->low)
        memset(sums_of(r), 0, r->low->rank * x.k * sizeof *r->e);
    for (size_t last = r->n, first; last > 0; last = first) {
        first = last > PATH_BLOCK ? last - PATH_BLOCK : 0;
        begin_block(&x, first, last);
        for (size_t j = last; j-- > first;) {
            double u = feedback(&x, j, first, last, back);
            if (r->trellis)
                pith_trellis_choices(&x, j, u, back);
            else
                choose_next(&x, j, u, back);
            go_on(&x, j, first, last);
            if (!(x.cost[0] < enough))
                return x.cost[0];
        }
        move_rows(r->e + last * x.k, r->n - last, x.k, x.origin);
    }
    for (size_t j = 0; j < r->n; j++) {
        double wanted = (r->goal[j] - r->e[j * x.k]) / scale;
        q[j] = (int16_t)nearest_level(wanted, r->lowest, r->most);
    }
    return x.cost[0];
}
