/* SPDX-License-Identifier: MIT */
/* sweep_cost.c - the figures are of drawn networks: dense, convolutional with and without residuals
 * and groups, GRU, LSTM, of weights of Student's t, by processor
 * time of one thread, least squares of relative errors. */
#include "sweep_cost.h"

#include <math.h>
#include <stdlib.h>

#include "pith_op_semantics.h"

/* Rows of statistics, which are taken of all that the samples have, and columns of a matrix
 * (rd/weight_sweep.c, rd/layer_statistics.c). */
#define ROWS_PER_COLUMN 256.0
#define LEAST_ROWS 32768.0
#define MOST_COLUMNS 2048.0
#define TRELLIS_COLUMNS 16.0

/* ns */
#define GATHER 12.0    /* a number of a row, of both networks */
#define GRAM 0.02      /* a product of two of them */
#define FACTOR 0.26    /* of a matrix of n columns n^3 times */
#define TRELLIS 5100.0 /* a weight */
#define PLAIN 1500.0
#define FEEDBACK 0.95 /* a weight, for each column of its row */
#define WALK_MAC 0.1  /* of two networks */
#define WALK_OUT 3.3
#define LAYER 1.5e6
#define CODED 2000.0 /* a weight */
#define OPENED 250.0
#define RUN_MAC 0.04
#define RUN_OUT 2.0
#define RUN_NODE 500.0
#define GRADIENT_MAC 0.16
#define GRADIENT_STEP 0.83 /* a product of a step that the next one waits for */
#define GRADIENT_LOOP 1.9  /* and of a loop's body (of kws_GRU_L alone) */
#define GRADIENT_OUT 4.2
#define GRADIENT_IN 3.5 /* a number of a window */
#define GRADIENT_WEIGHT 3.2

struct counts {
    double rows, cols; /* of the weight */
    double groups;     /* matrices of statistics */
    double places;     /* of a sample, that each row is multiplied at */
};

static struct counts counts_of(const struct pith_model *m, const struct pith_weight_ref *ref)
{
    const struct pith_node *node = &m->nodes[ref->node];
    struct counts c = {.rows = (double)ref->rows, .cols = (double)ref->cols, .groups = 1};
    const double outs = (double)pith_value_elems(&m->values[node->out[0]]);
    c.places = outs / c.rows;
    if (pith_op_is(node->op, TRAIT_RECURS)) /* a state of as many numbers as columns each step */
        c.places = outs / c.cols;
    else
        c.groups = fmax(1, pith_op_groups(node->op, node->attr));
    return c;
}

double pith_sweep_cost_layer(const struct pith_model *m, const struct pith_weight_ref *ref,
                             double samples)
{
    const struct counts c = counts_of(m, ref);
    const double weights = c.rows * c.cols, blocks = ceil(c.cols / MOST_COLUMNS),
                 n = c.cols / blocks, all = samples * c.places,
                 rows = fmin(all, fmax(ROWS_PER_COLUMN * n, LEAST_ROWS));
    const double statistics = c.groups * rows * c.cols * (GATHER + GRAM * n),
                 factor = FACTOR * c.groups * blocks * n * n * n,
                 rounding = weights * ((n < TRELLIS_COLUMNS ? PLAIN : TRELLIS) + FEEDBACK * n),
                 walk = all * c.rows * (WALK_OUT + WALK_MAC * c.cols);
    return LAYER + statistics + factor + rounding + walk;
}

double pith_sweep_cost_coder(double weights)
{
    return CODED * weights;
}

/* Of all products together, and of one sample's gradients. */
static void add_layer(struct sweep_cost *sum, const struct pith_model *m,
                      const struct pith_weight_ref *ref, double samples, double steps)
{
    const struct counts c = counts_of(m, ref);
    const uint32_t op = m->nodes[ref->node].op;
    const double each = steps > 1                      ? GRADIENT_LOOP
                        : pith_op_is(op, TRAIT_RECURS) ? GRADIENT_STEP
                                                       : GRADIENT_MAC;
    const double weights = c.rows * c.cols, outs = c.rows * c.places * steps, macs = outs * c.cols;
    sum->macs += macs;
    sum->run += RUN_MAC * macs + RUN_OUT * outs;
    sum->gradients += each * macs + GRADIENT_OUT * outs + GRADIENT_WEIGHT * weights;
    if (op == PITH_OP_CONV)
        sum->gradients += GRADIENT_IN * c.places * c.cols * c.groups;
    sum->layers += pith_sweep_cost_layer(m, ref, samples * steps);
    sum->coder += pith_sweep_cost_coder(weights);
    sum->open += OPENED * weights;
}

static struct sweep_cost add_layers(const struct pith_model *m, double samples, double steps)
{
    struct sweep_cost sum = {.run = RUN_NODE * m->n_nodes * steps, .steps = steps};
    struct pith_weight_ref *refs = malloc((m->n_nodes + (size_t)1) * sizeof *refs);
    const uint32_t n = refs ? pith_model_weights(m, refs) : 0;
    for (uint32_t i = 0; i < n; i++)
        add_layer(&sum, m, &refs[i], samples, steps);
    free(refs);
    return sum;
}

static bool has_loops(const struct pith_model *m)
{
    for (uint32_t i = 0; i < m->n_nodes; i++)
        if (pith_op_is(m->nodes[i].op, TRAIT_OPENS_BODY))
            return true;
    return false;
}

struct sweep_cost pith_sweep_cost(const struct pith_model *m, double samples, double macs)
{
    const struct sweep_cost once = add_layers(m, samples, 1);
    if (!has_loops(m) || !(macs > once.macs) || !(once.macs > 0))
        return once;
    return add_layers(m, samples, macs / once.macs);
}
