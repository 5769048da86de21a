/* SPDX-License-Identifier: MIT */
#include "loss_rows.h"

#include "sampled_fisher.h"
#include "layer_inputs.h"

#include <stdlib.h>

#define KEPT_BYTES (UINT64_C(32) << 20) /* in memory */

/* A step that multiplies. */
struct row_use {
    uint64_t rows;  /* of a unit; 0: it is none */
    double sum;     /* of the batch that tells what is usual */
    uint32_t value; /* of the weight */
};

struct loss_rows {
    const struct feedback_sweep *sweep;
    struct sampled_fisher drawn;
    struct row_use *use; /* [n_steps] */
    double *usual; /* [n_values] squared gradient of a row of this weight's results; 0: unknown */
    double *found; /* [n_values] */
    uint32_t *n_uses; /* [n_values] */
    uint64_t batch;   /* units */
    float *weight;    /* [the most rows] */
    struct kept_values *kept;
};

/* Of the squared gradients of a row's results: one place of a sample of a convolution, the channels
 * of group g; or a row of a product. */
static double row_gradient(const struct grad_node *n, uint32_t op, uint32_t groups, uint32_t sample,
                           uint32_t g, uint64_t at)
{
    const struct tape_tensor *y = n->out[0];
    uint64_t channels = y->shape.dim[pith_op_channel_axis(op, y->shape.rank)], each = channels;
    uint64_t by_channel = 1, first = at * channels;
    double sum = 0;
    if (op == PITH_OP_CONV) {
        uint64_t places = shape_elems(&y->shape) / y->shape.dim[0] / channels;
        bool last = y->layout == TAPE_CHANNELS_LAST;
        each = channels / groups;
        by_channel = last ? 1 : places;
        first = sample * channels * places + at * (last ? channels : 1) + g * each * by_channel;
    }
    for (uint64_t c = 0; c < each && y->grad; c++) {
        double d = (double)y->grad[first + c * by_channel];
        sum += d * d;
    }
    return sum;
}

/* visit(arg, square) of each row of a step in the unit that went backward. */
static void each_row(const struct loss_rows *l, uint32_t step,
                     void (*visit)(struct loss_rows *l, uint32_t step, uint64_t row, double square),
                     struct loss_rows *arg)
{
    const struct tape *t = l->drawn.tape;
    const struct grad_node *n = &t->step[step].node[0];
    const uint32_t op = t->m->nodes[t->step[step].at].op;
    const uint32_t samples = op == PITH_OP_CONV ? l->sweep->samples : 1;
    const uint32_t groups = pith_op_groups(op, n->attr);
    const uint64_t places = l->use[step].rows / samples / groups;
    uint64_t row = 0;
    for (uint32_t k = 0; k < samples; k++)
        for (uint32_t g = 0; g < groups; g++)
            for (uint64_t at = 0; at < places; at++)
                visit(arg, step, row++, row_gradient(n, op, groups, k, g, at));
}

static void add_row(struct loss_rows *l, uint32_t step, uint64_t row, double square)
{
    (void)row;
    l->use[step].sum += square;
}

static void weigh_row(struct loss_rows *l, uint32_t step, uint64_t row, double square)
{
    const double share = (double)l->sweep->opts->gptq_fisher_share,
                 usual = l->usual[l->use[step].value];
    l->weight[row] = (float)(1 - share + (usual > 0 ? share * square / usual : share));
}

static enum pith_status keep_rows(struct loss_rows *l, uint32_t step, uint64_t unit)
{
    const uint64_t bytes = l->use[step].rows * sizeof *l->weight;
    each_row(l, step, weigh_row, l);
    return pith_kept_write(l->kept, step, l->sweep->n_units * bytes, unit * bytes, l->weight, bytes,
                           l->sweep->err);
}

/* Forward and backward of some units; what is usual is looked for in them, or known. */
static enum pith_status pass(struct loss_rows *l, uint64_t first, bool search)
{
    struct tape *t = l->drawn.tape;
    enum pith_status status = PITH_OK;
    for (uint64_t u = first; u < first + l->batch && u < l->sweep->n_units && !status; u++) {
        status = pith_sweep_read(l->sweep, u, t, 0);
        if (status)
            break;
        pith_tape_forward(t);
        pith_sampled_fisher_backward(&l->drawn, u * l->sweep->samples);
        for (uint32_t i = 0; i < t->n_steps && !status; i++) {
            if (l->use[i].rows == 0)
                continue;
            if (search)
                each_row(l, i, add_row, l);
            else
                status = keep_rows(l, i, u);
        }
    }
    return status;
}

static bool all_known(const struct loss_rows *l)
{
    for (uint32_t i = 0; i < l->drawn.tape->n_steps; i++)
        if (l->use[i].rows && !(l->usual[l->use[i].value] > 0))
            return false;
    return true;
}

/* The mean over a weight's steps of that over their rows. */
static void find_usual(struct loss_rows *l)
{
    const struct tape *t = l->drawn.tape;
    for (uint32_t i = 0; i < t->n_steps; i++)
        l->found[l->use[i].value] = 0;
    for (uint32_t i = 0; i < t->n_steps; i++) {
        struct row_use *use = &l->use[i];
        if (use->rows)
            l->found[use->value] +=
                use->sum / ((double)use->rows * (double)l->batch * l->n_uses[use->value]);
        use->sum = 0;
    }
    for (uint32_t i = 0; i < t->n_steps; i++)
        if (l->use[i].rows && !(l->usual[l->use[i].value] > 0))
            l->usual[l->use[i].value] = l->found[l->use[i].value];
}

static enum pith_status all_batches(struct loss_rows *l)
{
    enum pith_status status = PITH_OK;
    for (uint64_t u = 0; u < l->sweep->n_units && !status; u += l->batch) {
        if (!all_known(l)) {
            status = pass(l, u, true);
            find_usual(l);
        }
        if (!status)
            status = pass(l, u, false);
    }
    return status;
}

static enum pith_status list_uses(struct loss_rows *l)
{
    const struct tape *t = l->drawn.tape;
    uint64_t most = 0;
    l->use = calloc(t->n_steps + 1u, sizeof *l->use);
    l->usual = calloc(t->n_values + 1u, sizeof *l->usual);
    l->found = calloc(t->n_values + 1u, sizeof *l->found);
    l->n_uses = calloc(t->n_values + 1u, sizeof *l->n_uses);
    l->kept = pith_kept_new(t->n_steps, KEPT_BYTES);
    if (!l->use || !l->usual || !l->found || !l->n_uses || !l->kept)
        return pith_tape_no_memory(l->sweep->err);
    for (uint32_t i = 0; i < t->n_steps; i++) {
        struct row_use *use = &l->use[i];
        use->rows = pith_layer_rows(t, i, l->sweep->samples);
        if (use->rows)
            use->value = t->m->nodes[t->step[i].at].in[1];
        l->n_uses[use->value] += use->rows > 0;
        most = use->rows > most ? use->rows : most;
    }
    l->weight = malloc((size_t)(most + 1) * sizeof *l->weight);
    return l->weight ? PITH_OK : pith_tape_no_memory(l->sweep->err);
}

enum pith_status pith_loss_rows_new(const struct pith_model *m, const struct feedback_sweep *sweep,
                                    uint64_t batch, struct loss_rows **l)
{
    struct loss_rows *made = calloc(1, sizeof *made);
    if (!made)
        return pith_tape_no_memory(sweep->err);
    made->sweep = sweep;
    made->batch = batch / sweep->samples;
    enum pith_status status =
        pith_sampled_fisher_open(m, sweep->opts, sweep->samples, 1, &made->drawn, sweep->err);
    if (!status)
        status = list_uses(made);
    if (!status)
        status = all_batches(made);
    pith_sampled_fisher_close(&made->drawn);
    if (status)
        pith_loss_rows_free(made);
    else
        *l = made;
    return status;
}

void pith_loss_rows_free(struct loss_rows *l)
{
    if (!l)
        return;
    pith_kept_free(l->kept);
    free(l->use);
    free(l->usual);
    free(l->found);
    free(l->n_uses);
    free(l->weight);
    free(l);
}

uint64_t pith_loss_rows_count(const struct loss_rows *l, uint32_t step)
{
    return l->use[step].rows;
}

enum pith_status pith_loss_rows_read(const struct loss_rows *l, uint32_t step, uint64_t unit,
                                     float *weight)
{
    const uint64_t bytes = l->use[step].rows * sizeof *weight;
    return pith_kept_read(l->kept, step, unit * bytes, weight, bytes, l->sweep->err);
}
