/* SPDX-License-Identifier: MIT */
#include "row_paths.h"

#include <stdlib.h>
#include <string.h>

struct choice {
    double cost, error;
    uint32_t path; /* that it goes on with */
};

struct search {
    const struct row_feedback *s;
    const struct grid *grid;
    double factor;
    uint32_t n_paths;
    double cost[ROW_PATHS];
    uint32_t n_choices; /* the cheapest so far, cheapest first */
    struct choice choice[ROW_PATHS];
};

bool pith_row_paths_open(struct row_paths *p, uint32_t n)
{
    p->error = malloc((size_t)n * ROW_PATHS * sizeof *p->error);
    return p->error;
}

void pith_row_paths_free(struct row_paths *p)
{
    free(p->error);
    *p = (struct row_paths){0};
}

/* sum_{i<at} e_i R_ij / R_jj of each path. */
static void make_up(const struct row_feedback *s, const double *error, uint32_t at, double *sum)
{
    memset(sum, 0, ROW_PATHS * sizeof *sum);
    for (uint32_t i = 0; i < at; i++, error += ROW_PATHS) {
        double r = s->ordered[(size_t)i * s->n + at];
        for (uint32_t k = 0; k < ROW_PATHS; k++)
            sum[k] += error[k] * r;
    }
    for (uint32_t k = 0; k < ROW_PATHS; k++)
        sum[k] /= s->ordered[(size_t)at * s->n + at];
}

/* Path goes on with this level: kept if it is among the cheapest. */
static void choose(struct search *x, uint32_t at, uint32_t path, double wanted, int32_t level)
{
    double became = (double)((float)level * x->grid->step) * x->factor;
    double off = (wanted - became) * x->s->ordered[(size_t)at * x->s->n + at];
    struct choice c = {x->cost[path] + off * off, x->s->goal[x->s->order[at]] - became, path};
    uint32_t to = x->n_choices;
    if (to == ROW_PATHS && !(c.cost < x->choice[--to].cost))
        return;
    for (; to > 0 && c.cost < x->choice[to - 1].cost; to--)
        x->choice[to] = x->choice[to - 1];
    x->choice[to] = c;
    x->n_choices += x->n_choices < ROW_PATHS;
}

static void choose_next(struct search *x, uint32_t at, bool alive, const double *made_up)
{
    x->n_choices = 0;
    for (uint32_t path = 0; path < x->n_paths; path++) {
        double wanted = x->s->goal[x->s->order[at]] + made_up[path];
        float latent = (float)(wanted / x->factor);
        int32_t level = alive ? pith_grid_level(x->grid, latent, GRID_HALFWAY) : 0;
        int32_t other = level + (latent > (float)level * x->grid->step ? 1 : -1);
        choose(x, at, path, wanted, level);
        if (alive && abs(other) <= x->grid->levels)
            choose(x, at, path, wanted, other);
    }
}

/* The choices become the paths. */
static void go_on(struct search *x, uint32_t at, double *error)
{
    for (uint32_t i = 0; i < at; i++, error += ROW_PATHS) {
        double was[ROW_PATHS];
        memcpy(was, error, sizeof was);
        for (uint32_t k = 0; k < x->n_choices; k++)
            error[k] = was[x->choice[k].path];
    }
    memset(error, 0, ROW_PATHS * sizeof *error);
    for (uint32_t k = 0; k < x->n_choices; k++) {
        error[k] = x->choice[k].error;
        x->cost[k] = x->choice[k].cost;
    }
    x->n_paths = x->n_choices;
}

void pith_row_paths_round(struct row_paths *p, const struct row_feedback *s,
                          const struct grid *grid, double factor, const uint8_t *alive, float *v)
{
    struct search x = {.s = s, .grid = grid, .factor = factor, .n_paths = 1};
    for (uint32_t j = 0; j < s->n; j++) {
        double made_up[ROW_PATHS];
        make_up(s, p->error, j, made_up);
        choose_next(&x, j, !alive || alive[s->order[j]], made_up);
        go_on(&x, j, p->error);
    }
    for (uint32_t j = 0; j < s->n; j++) {
        uint32_t k = s->order[j];
        float latent = (float)((s->goal[k] - p->error[(size_t)j * ROW_PATHS]) / factor);
        v[k] = (float)pith_grid_level(grid, latent, GRID_HALFWAY) * grid->step;
    }
}
