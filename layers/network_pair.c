/* SPDX-License-Identifier: MIT */
#include "network_pair.h"

/* Rows of inputs that are summed up for each column. A share of the places of pictures is enough:
 * neighbours are much alike. */
#define ROWS_PER_COLUMN 256u
#define LEAST_ROWS 32768u

enum pith_status pith_network_pair_open(const struct pith_model *was, const struct pith_model *now,
                                        const struct layer_walk_opts *opts, struct network_pair *p,
                                        struct pith_error *err)
{
    struct layer_walk_opts unchanged = *opts;
    unchanged.change = NULL;
    *p = (struct network_pair){{NULL, NULL}};
    enum pith_status status =
        now ? pith_layer_walk_open(now, &unchanged, &p->walk[0], err) : PITH_OK;
    return status ? status : pith_layer_walk_open(was, opts, &p->walk[now != NULL], err);
}

void pith_network_pair_close(struct network_pair *p)
{
    pith_layer_walk_close(p->walk[0]);
    pith_layer_walk_close(p->walk[1]);
}

static enum pith_status sum_up(const struct layer_input in[2], const struct moments_opts *opts,
                               struct layer_moments *m, struct pith_error *err)
{
    struct moments_opts o = *opts;
    struct layer_rows rows[2] = {{0}};
    const bool both = in[1].walk != NULL;
    o.samples = pith_layer_walk_samples(in[0].walk);
    o.per_column = ROWS_PER_COLUMN;
    o.least_rows = LEAST_ROWS;
    enum pith_status status = pith_layer_rows_of(&in[0], &rows[0], err);
    if (!status && both)
        status = pith_layer_rows_of(&in[1], &rows[1], err);
    if (!status)
        status = pith_layer_moments(&rows[0], both ? &rows[1] : NULL, &o, m, err);
    pith_layer_rows_end(&rows[0]);
    pith_layer_rows_end(&rows[1]);
    return status;
}

enum pith_status pith_network_pair_moments(const struct network_pair *p, uint32_t node,
                                           struct body_span span, const struct moments_opts *opts,
                                           struct layer_moments *m, struct pith_error *err)
{
    struct layer_input in[2] = {{0}};
    enum pith_status status = PITH_OK;
    *m = (struct layer_moments){0};
    for (int i = 0; i < 2 && p->walk[i] && !status; i++) {
        status = pith_layer_walk_to(p->walk[i], span.begin < span.end ? span.begin : node, err);
        if (!status)
            status = pith_layer_input_open(p->walk[i], node, span, &in[i], err);
    }
    if (!status && in[0].elems > 0 && (!in[1].walk || in[0].elems == in[1].elems))
        status = sum_up(in, opts, m, err);
    pith_layer_input_close(&in[0]);
    pith_layer_input_close(&in[1]);
    return status;
}
