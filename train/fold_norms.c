/* SPDX-License-Identifier: MIT */
#include "fold_norms.h"

#include "op_interface/op_info.h"
#include "train/state/ranks.h"

#include <stdlib.h>
#include <string.h>

/* Behind the leading one: an error of some 1 % of a channel's gain on the mean, far less than what
 * few levels do to its weights. */
#define STEP_BITS 4u

/* ---- the graph, so that it can be put back --------------------------------------------------- */

/* NULL: out of memory, or nothing to copy. */
static void *copy_of(struct pith_model *m, const void *from, uint64_t n, size_t each)
{
    void *to = pith_model_alloc(m, n + 1, each);
    if (to && n)
        memcpy(to, from, (size_t)n * each);
    return to;
}

static bool copy_node(struct pith_model *m, struct pith_node *n)
{
    n->in = copy_of(m, n->in, n->n_in, sizeof *n->in);
    n->out = copy_of(m, n->out, n->n_out, sizeof *n->out);
    n->attr = copy_of(m, n->attr, pith_op_get(n->op)->n_slots, sizeof *n->attr);
    return n->in && n->out && n->attr;
}

/* Everything of m that a fold changes in place becomes a copy; was: the original. */
static bool copy_graph(struct pith_model *m, struct pith_model *was)
{
    *was = *m;
    m->nodes = copy_of(m, was->nodes, was->n_nodes, sizeof *m->nodes);
    m->values = copy_of(m, was->values, was->n_values, sizeof *m->values);
    m->inputs = copy_of(m, was->inputs, was->n_inputs, sizeof *m->inputs);
    m->outputs = copy_of(m, was->outputs, was->n_outputs, sizeof *m->outputs);
    bool ok = m->nodes && m->values && m->inputs && m->outputs;
    for (uint32_t i = 0; i < was->n_nodes && ok; i++)
        ok = copy_node(m, &m->nodes[i]);
    for (uint32_t i = 0; i < was->n_values && ok; i++)
        if (m->values[i].constant) {
            m->values[i].constant = copy_of(m, m->values[i].constant, 1, sizeof(struct pith_const));
            ok = m->values[i].constant != NULL;
        }
    if (!ok)
        pith_norms_put_back(m, was);
    return ok;
}

void pith_norms_put_back(struct pith_model *m, const struct pith_model *was)
{
    if (was->nodes)
        *m = *was;
}

/* ---- the fold -------------------------------------------------------------------------------- */

enum pith_status pith_norms_fold(struct run *r, struct pith_model *was)
{
    uint32_t folded = 0;
    if (!copy_graph(r->m, was))
        return pith_tape_no_memory(r->err);
    enum pith_status status =
        pith_model_fold_onto_grids(r->m, STEP_BITS, r->opts->bias_levels, &folded, r->err);
    if (!status && folded)
        status = pith_model_infer_shapes(r->m, r->err);
    if (status)
        pith_norms_put_back(r->m, was);
    r->result->folded = folded;
    return status;
}

enum pith_status pith_norms_validate(struct run *r)
{
    struct pith_train_result *to = r->result;
    if (!r->val || to->folded == 0)
        return PITH_OK;
    return pith_ranks_agree(r->opts->ranks,
                            pith_run_validate(r, r->m, &to->val_loss, &to->val_accuracy), r->err);
}
