/* SPDX-License-Identifier: MIT */
/* tape_steps.c - building a tape: layouts, steps, who writes a gradient first, tensors, nodes. */
#include "tape_state.h"
#include "model/operator_kind.h"

#include <string.h>

/* ---- layouts and steps ----------------------------------------------------------------------- */

static bool has_layout(const struct tape *t, uint32_t value, enum tape_layout layout)
{
    return tape_at(t, 0, value, layout)->type != 0;
}

static void add_tensor(struct tape *t, const struct tape_shapes *s, uint32_t value,
                       enum tape_layout layout)
{
    for (uint32_t slice = 0; slice < t->n_slices; slice++)
        *tape_at(t, slice, value, layout) = (struct tape_tensor){
            .type = s->view[value].type, .shape = s->view[value].shape, .layout = layout};
}

/* The value in that layout: there already, or by one more step. */
static void want(struct tape *t, const struct tape_shapes *s, uint32_t value,
                 enum tape_layout layout)
{
    if (has_layout(t, value, layout))
        return;
    add_tensor(t, s, value, layout);
    if (tape_layouts_agree(&s->view[value].shape))
        return;
    t->step[t->n_steps++] = (struct tape_step){.converts = true, .value = value, .to = layout};
}

/* Whose layout an operator that takes either one follows. */
static uint32_t leading_input(const struct tape_shapes *s, const struct pith_node *node)
{
    const struct shape *out = &s->view[node->out[0]].shape;
    for (uint32_t i = 0; i < node->n_in; i++)
        if (node->in[i] != PITH_VALUE_NONE && pith_shape_equal(out, &s->view[node->in[i]].shape))
            return node->in[i];
    return node->in[0];
}

static enum tape_layout layout_of(const struct tape *t, const struct tape_shapes *s,
                                  const struct pith_node *node, const struct grad_op *op)
{
    if (!op || node->n_in == 0 || node->in[0] == PITH_VALUE_NONE)
        return TAPE_ROW_MAJOR;
    if (op->layout == GRAD_CHANNELS_LAST && s->view[node->in[0]].shape.rank >= 3)
        return TAPE_CHANNELS_LAST;
    if (op->layout == GRAD_EITHER && s->view[node->out[0]].shape.rank >= 3)
        return t->primary[leading_input(s, node)];
    return TAPE_ROW_MAJOR;
}

static enum tape_layout input_layout(const struct grad_op *op, uint32_t i, enum tape_layout layout,
                                     uint32_t in_rank, uint32_t out_rank)
{
    bool follows = op && op->layout == GRAD_EITHER ? in_rank == out_rank : i == 0;
    return follows && in_rank >= 3 ? layout : TAPE_ROW_MAJOR;
}

static void lay_out_node(struct tape *t, const struct tape_shapes *s, uint32_t at)
{
    const struct pith_node *node = &t->m->nodes[at];
    const struct grad_op *op = pith_grad_of(node);
    enum tape_layout layout = layout_of(t, s, node, op);
    uint32_t out_rank = s->view[node->out[0]].shape.rank;
    for (uint32_t i = 0; i < node->n_in; i++)
        if (node->in[i] != PITH_VALUE_NONE)
            want(t, s, node->in[i],
                 input_layout(op, i, layout, s->view[node->in[i]].shape.rank, out_rank));
    for (uint32_t i = 0; i < node->n_out; i++) {
        t->primary[node->out[i]] = s->view[node->out[i]].shape.rank >= 3 ? layout : TAPE_ROW_MAJOR;
        add_tensor(t, s, node->out[i], t->primary[node->out[i]]);
    }
    t->step[t->n_steps++] = (struct tape_step){.op = op, .at = at, .layout = layout};
}

/* Steps without their slices: conversions, nodes in order, outputs row-major in the end. */
static enum pith_status list_steps(struct tape *t, const struct tape_shapes *s,
                                   struct pith_error *err)
{
    const struct pith_model *m = t->m;
    uint64_t most = m->n_nodes + (uint64_t)m->n_values * TAPE_LAYOUTS;
    t->step = pith_tape_take(t, most + 1, sizeof *t->step);
    if (!t->step)
        return pith_tape_no_memory(err);
    for (uint32_t v = 0; v < m->n_values; v++)
        if (m->values[v].constant)
            add_tensor(t, s, v, TAPE_ROW_MAJOR);
    for (uint32_t i = 0; i < m->n_inputs; i++)
        add_tensor(t, s, m->inputs[i], TAPE_ROW_MAJOR);
    for (uint32_t n = 0; n < m->n_nodes; n++)
        lay_out_node(t, s, n);
    for (uint32_t i = 0; i < m->n_outputs; i++)
        want(t, s, m->outputs[i], TAPE_ROW_MAJOR);
    return PITH_OK;
}

/* The layout in which a step reads input i of its node, which is there. */
static enum tape_layout layout_read(const struct tape *t, const struct tape_step *step, uint32_t i)
{
    const struct pith_node *node = &t->m->nodes[step->at];
    uint32_t out_rank = tape_at(t, 0, node->out[0], t->primary[node->out[0]])->shape.rank;
    uint32_t rank = t->m->values[node->in[i]].rank;
    return input_layout(step->op, i, step->layout, rank, out_rank);
}

/* Input i of a step's node, in the layout that it is read in; NULL: left out. */
static struct tape_tensor *node_input(const struct tape *t, const struct tape_step *step,
                                      uint32_t slice, uint32_t i)
{
    const struct pith_node *node = &t->m->nodes[step->at];
    uint32_t v = node->in[i];
    return v == PITH_VALUE_NONE ? NULL : tape_at(t, slice, v, layout_read(t, step, i));
}

/* NULL: none. */
static struct tape_tensor *residual_of(const struct tape *t, const struct tape_step *step,
                                       uint32_t slice)
{
    bool any = step->rectifies && step->residual != UINT32_MAX;
    return any ? tape_at(t, slice, step->residual, step->layout) : NULL;
}

/* ---- gradients ------------------------------------------------------------------------------- */

/* Whether a tensor's gradient already has a part when backward comes to a step. */
static bool *part_of(const struct tape *t, bool *has_part, const struct tape_tensor *x)
{
    uint64_t at = (uint64_t)(x - t->tensor);
    if (at % TAPE_LAYOUTS != TAPE_ROW_MAJOR && tape_layouts_agree(&x->shape) && x[-1].type)
        at--;
    return &has_part[at];
}

static bool propagates(const struct tape *t, const struct tape_step *step)
{
    const struct pith_node *node = &t->m->nodes[step->at];
    bool wanted = false;
    for (uint32_t i = 0; i < node->n_out && !step->converts; i++)
        wanted = wanted || t->wants_grad[tape_output(t, step, i)];
    return step->converts ? t->wants_grad[step->value] : wanted && step->op;
}

/* Backward's order: the last reader of a value is the first to write its gradient. A value that
 * nothing reads, or only what leads nowhere, keeps the zeros of the beginning. */
static enum pith_status first_parts(struct tape *t, struct tape_step *step, bool *has_part)
{
    uint32_t n_in = step->converts ? 1 : t->m->nodes[step->at].n_in, n = n_in + step->rectifies;
    bool *sets = pith_tape_take(t, n + 1u, sizeof *sets);
    step->sets = sets;
    if (!sets)
        return PITH_ERR_MEMORY;
    for (uint32_t i = 0; i < n && propagates(t, step); i++) {
        const struct tape_tensor *x =
            step->converts ? tape_at(t, 0, step->value, (enum tape_layout)(1 - (int)step->to))
            : i == n_in    ? residual_of(t, step, 0)
                           : node_input(t, step, 0, i);
        if (!x || !x->grad)
            continue;
        bool *part = part_of(t, has_part, x);
        sets[i] = !*part;
        *part = true;
    }
    return PITH_OK;
}

/* The loss adds to outputs and features: they have a part from the beginning. */
static enum pith_status plan_gradients(struct tape *t)
{
    bool *has_part = pith_tape_take(t, (uint64_t)t->n_values * TAPE_LAYOUTS + 1, sizeof *has_part);
    enum pith_status status = has_part ? PITH_OK : PITH_ERR_MEMORY;
    for (uint32_t i = 0; i < t->m->n_outputs && has_part; i++)
        *part_of(t, has_part, tape_at(t, 0, t->m->outputs[i], TAPE_ROW_MAJOR)) = true;
    for (uint32_t i = 0; i < t->opts.n_features && has_part; i++) {
        uint32_t v = t->opts.feature[i];
        *part_of(t, has_part, tape_at(t, 0, v, t->primary[v])) = true;
    }
    for (uint32_t i = t->n_steps; i > 0 && !status; i--)
        status = first_parts(t, &t->step[i - 1], has_part);
    return status;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static enum pith_status place_parameters(struct tape *t)
{
    t->gradients.of_slice = pith_tape_take(t, (uint64_t)t->n_slices * t->n_parameters + 1,
                                           sizeof *t->gradients.of_slice);
    for (uint32_t i = 0; i < t->n_parameters; i++)
        t->gradients.n += (t->parameter[i].count + 15) & ~UINT64_C(15); /* aligned to 64 bytes */
    t->gradients.sum = pith_tape_take(t, t->gradients.n + 1, sizeof *t->gradients.sum);
    t->gradients.joined_by =
        pith_tape_take(t, t->n_parameters + 1u, sizeof *t->gradients.joined_by);
    if (!t->gradients.of_slice || !t->gradients.sum || !t->gradients.joined_by)
        return PITH_ERR_MEMORY;
    uint64_t at = 0;
    for (uint32_t i = 0; i < t->n_parameters; i++) {
        struct tape_parameter *p = &t->parameter[i];
        float *was = t->m->values[p->value].constant->data;
        p->data = t->opts.borrows ? was : pith_tape_take(t, p->count, sizeof *p->data);
        p->grad = t->gradients.sum + at;
        at += (p->count + 15) & ~UINT64_C(15);
        if (!p->data)
            return PITH_ERR_MEMORY;
        if (p->data != was)
            memcpy(p->data, was, p->count * sizeof *p->data);
        for (uint32_t s = 0; s < t->n_slices; s++) {
            float *grad = t->n_slices == 1 ? p->grad : pith_tape_take(t, p->count, sizeof *grad);
            if (!grad)
                return PITH_ERR_MEMORY;
            t->gradients.of_slice[(size_t)s * t->n_parameters + i] = grad;
        }
    }
    return PITH_OK;
}

static enum pith_status place_statistics(struct tape *t)
{
    for (uint32_t i = 0; i < t->n_statistics; i++) {
        struct tape_parameter *q = &t->statistic[i];
        q->data = pith_tape_take(t, q->count, sizeof *q->data);
        if (!q->data)
            return PITH_ERR_MEMORY;
        memcpy(q->data, t->m->values[q->value].constant->data, q->count * sizeof *q->data);
    }
    return PITH_OK;
}

/* Memory for a slice's tensor, or that of its other layout where both are the same bytes. */
static enum pith_status place(struct tape *t, uint32_t slice, uint32_t value,
                              enum tape_layout layout)
{
    struct tape_tensor *x = tape_at(t, slice, value, layout);
    uint32_t p = t->parameter_of[value], q = t->statistic_of[value];
    const struct tape_tensor *twin = tape_at(t, slice, value, TAPE_ROW_MAJOR);
    uint64_t count;
    if (x->type == 0 || pith_value_elems(&t->m->values[value]) == 0) /* an empty cache, say */
        return PITH_OK;
    if (layout != TAPE_ROW_MAJOR && twin->type && tape_layouts_agree(&x->shape)) {
        x->data = twin->data;
        x->grad = twin->grad;
        return PITH_OK;
    }
    if (layout == TAPE_ROW_MAJOR && q != UINT32_MAX) {
        x->data = t->statistic[q].data;
        return PITH_OK;
    }
    if (layout == TAPE_ROW_MAJOR && p != UINT32_MAX) {
        x->data = t->parameter[p].data;
        x->grad = t->gradients.of_slice[(size_t)slice * t->n_parameters + p];
        return PITH_OK;
    }
    if (layout == TAPE_ROW_MAJOR && t->m->values[value].constant) {
        x->data = t->m->values[value].constant->data;
        return PITH_OK;
    }
    if (pith_shape_count(&x->shape, &count))
        return PITH_ERR_MEMORY;
    x->data = pith_tape_take(t, count, pith_type_bytes(x->type));
    const bool wants_grad = t->wants_grad[value];
    if (wants_grad)
        x->grad = pith_tape_take(t, count, sizeof *x->grad);
    return x->data && (x->grad || !wants_grad) ? PITH_OK : PITH_ERR_MEMORY;
}

static enum pith_status place_tensors(struct tape *t, struct pith_error *err)
{
    enum pith_status status = place_parameters(t);
    if (!status)
        status = place_statistics(t);
    for (uint32_t s = 0; s < t->n_slices; s++)
        for (uint32_t v = 0; v < t->n_values; v++)
            for (int layout = 0; layout < TAPE_LAYOUTS && !status; layout++)
                status = place(t, s, v, (enum tape_layout)layout);
    return status ? pith_tape_no_memory(err) : PITH_OK;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* The tensors of a slice that a step works on. */
static enum pith_status wire(struct tape *t, const struct tape_step *step, struct grad_node *n)
{
    const struct pith_node *node = &t->m->nodes[step->at];
    struct tape_tensor **in = pith_tape_take(t, node->n_in + 1u, sizeof *in);
    struct tape_tensor **out = pith_tape_take(t, node->n_out + 1u, sizeof *out);
    if (!in || !out)
        return PITH_ERR_MEMORY;
    n->fixed = 0;
    for (uint32_t i = 0; i < node->n_in; i++) {
        in[i] = node_input(t, step, n->slice, i);
        if (in[i] && i < 32 && t->m->values[node->in[i]].constant)
            n->fixed |= 1u << i;
    }
    for (uint32_t i = 0; i < node->n_out; i++)
        out[i] = tape_at(t, n->slice, tape_output(t, step, i), t->primary[node->out[i]]);
    n->rectifies = step->rectifies;
    n->residual = residual_of(t, step, n->slice);
    n->sets_residual = step->sets[node->n_in];
    n->info = pith_op_get(node->op);
    n->attr = node->attr;
    n->name = node->name;
    n->n_in = node->n_in;
    n->n_out = node->n_out;
    n->in = in;
    n->out = out;
    n->channels = in[0] && in[0]->shape.rank > 1 ? in[0]->shape.dim[1] : 0;
    n->training = t->opts.training;
    n->prim = t->prim[n->slice];
    n->sets = step->sets;
    n->kernels = &t->kernels;
    n->rows = t->rows;
    return PITH_OK;
}

static void move_channels(struct shape *s)
{
    uint32_t channels = s->dim[1];
    for (uint32_t i = 2; i < s->rank; i++)
        s->dim[i - 1] = s->dim[i];
    s->dim[s->rank - 1] = channels;
}

/* The runtime knows one layout: it gets shapes and attributes in which the channels are the last
 * axis. */
static enum pith_status run_channels_last(struct tape *t, const struct grad_op *op,
                                          const struct grad_node *n, struct tview *view,
                                          struct op_args *run)
{
    int32_t *attr = pith_tape_take(t, n->info->n_slots + 1u, sizeof *attr);
    if (!attr)
        return PITH_ERR_MEMORY;
    memcpy(attr, n->attr, n->info->n_slots * sizeof *attr);
    op->channels_last(attr, n->out[0]->shape.rank);
    run->attr = attr;
    for (uint32_t i = 0; i < n->n_in + n->n_out; i++) {
        const struct tape_tensor *x = i < n->n_in ? n->in[i] : n->out[i - n->n_in];
        if (x && x->layout == TAPE_CHANNELS_LAST)
            move_channels(&view[i].shape);
    }
    return PITH_OK;
}

/* Where forward is the runtime's: its arguments; *scratch_bytes: what it takes. */
static enum pith_status prepare_run(struct tape *t, const struct grad_op *op,
                                    const struct grad_node *n, struct op_args *run,
                                    uint64_t *scratch_bytes)
{
    struct tview *view = pith_tape_take(t, n->n_in + n->n_out + 1u, sizeof *view);
    const struct tview **in = pith_tape_take(t, n->n_in + 1u, sizeof *in);
    struct tview **out = pith_tape_take(t, n->n_out + 1u, sizeof *out);
    if (!view || !in || !out)
        return PITH_ERR_MEMORY;
    for (uint32_t i = 0; i < n->n_in + n->n_out; i++) {
        const struct tape_tensor *x = i < n->n_in ? n->in[i] : n->out[i - n->n_in];
        if (x)
            view[i] = (struct tview){x->type, x->shape, x->data};
        if (i >= n->n_in)
            out[i - n->n_in] = &view[i];
        else
            in[i] = x ? &view[i] : NULL;
    }
    *run = (struct op_args){
        .info = n->info, .attr = n->attr, .n_in = n->n_in, .n_out = n->n_out, .in = in, .out = out};
    struct op_env env = {.kernels = &t->kernels};
    struct op_need need = {0};
    enum pith_status status = PITH_OK;
    if (op && op->channels_last && n->out[0]->layout == TAPE_CHANNELS_LAST)
        status = run_channels_last(t, op, n, view, run);
    uint32_t lowered = status ? 0 : op_lowered_bytes(run, &env);
    if (lowered && !(run->lowered = pith_tape_take(t, lowered, 1)))
        return PITH_ERR_MEMORY;
    if (!status && n->info->need)
        status = n->info->need(run, &env, &need);
    if (status)
        return status;
    *scratch_bytes = need.scratch_bytes;
    if (need.prep_bytes) {
        run->prep = pith_tape_take(t, need.prep_bytes, 1);
        env.scratch = pith_tape_take(t, need.prep_scratch_bytes + 1, 1);
        if (!run->prep || !env.scratch)
            return PITH_ERR_MEMORY;
        status = n->info->prepare ? n->info->prepare(run, &env) : PITH_OK;
    }
    return status;
}

static enum pith_status wire_step(struct tape *t, struct tape_step *step)
{
    struct grad_node *nodes = pith_tape_take(t, t->n_slices, sizeof *nodes);
    enum pith_status status = nodes ? PITH_OK : PITH_ERR_MEMORY;
    for (uint32_t s = 0; s < t->n_slices && !status; s++) {
        nodes[s].slice = s;
        nodes[s].n_slices = t->n_slices;
        status = wire(t, step, &nodes[s]);
    }
    if (!status)
        step->node = nodes;
    return status;
}

static enum pith_status prepare_slice(struct tape *t, struct tape_step *step, uint32_t slice,
                                      uint64_t *scratch_bytes)
{
    struct grad_node *n = &step->node[slice];
    uint64_t bytes = 0, run_bytes = 0;
    enum pith_status status = PITH_OK;
    n->run = &step->run[slice];
    if (!step->op || !step->op->forward || step->op->runs)
        status = prepare_run(t, step->op, n, &step->run[slice], &run_bytes);
    if (!status && step->op && step->op->prepare)
        status = step->op->prepare(n, &bytes);
    bytes = run_bytes > bytes ? run_bytes : bytes;
    *scratch_bytes = bytes > *scratch_bytes ? bytes : *scratch_bytes;
    return status;
}

static enum pith_status prepare_step(struct tape *t, struct tape_step *step,
                                     uint64_t *scratch_bytes, struct pith_error *err)
{
    enum pith_status status = PITH_OK;
    struct grad_node *nodes = step->node;
    step->run = pith_tape_take(t, t->n_slices, sizeof *step->run);
    if (!step->run)
        return pith_tape_no_memory(err);
    for (uint32_t s = 0; s < t->n_slices && !status; s++)
        status = prepare_slice(t, step, s, scratch_bytes);
    if (!status && step->op && step->op->shared_sums) {
        uint64_t each = (uint64_t)nodes[0].channels * step->op->shared_sums;
        step->shared = pith_tape_take(t, each * (t->n_slices + 1), sizeof *step->shared);
        for (uint32_t s = 0; s < t->n_slices && step->shared; s++)
            nodes[s].shared = step->shared;
        status = step->shared ? PITH_OK : PITH_ERR_MEMORY;
    }
    if (status == PITH_ERR_UNSUPPORTED)
        return pith_error_set(err, status, "node '%.100s' (%s) cannot be trained here",
                              t->m->nodes[step->at].name, pith_node_text(&t->m->nodes[step->at]));
    return status ? pith_tape_no_memory(err) : PITH_OK;
}

static uint32_t count_readers(const struct tape *t, uint32_t value)
{
    uint32_t readers = 0;
    for (uint32_t n = 0; n < t->m->n_nodes; n++)
        for (uint32_t i = 0; i < t->m->nodes[n].n_in; i++)
            readers += t->m->nodes[n].in[i] == value;
    return readers;
}

/* Whether the gradient of a node's input 1 waits until all slices are done. */
static void join_step(struct tape *t, const struct tape_step *step)
{
    const struct pith_node *node = &t->m->nodes[step->at];
    uint32_t p = node->n_in > 1 && node->in[1] != PITH_VALUE_NONE ? t->parameter_of[node->in[1]]
                                                                  : UINT32_MAX;
    if (p == UINT32_MAX || t->n_slices < PITH_TRAIN_SLICES || !step->op || !step->op->joins ||
        !step->sets[1] || count_readers(t, node->in[1]) != 1 || !step->op->joins(&step->node[0]))
        return;
    t->gradients.joined_by[p] = step;
    for (uint32_t s = 0; s < t->n_slices; s++)
        step->node[s].joins = true;
}

/* Operators' states and scratch. */
static enum pith_status prepare_steps(struct tape *t, struct pith_error *err)
{
    uint64_t scratch_bytes = 0;
    for (uint32_t i = 0; i < t->n_steps; i++) {
        enum pith_status status =
            t->step[i].converts ? PITH_OK : prepare_step(t, &t->step[i], &scratch_bytes, err);
        if (status)
            return status;
        if (!t->step[i].converts)
            join_step(t, &t->step[i]);
    }
    t->scratch = pith_tape_take(t, t->n_slices, sizeof *t->scratch);
    for (uint32_t s = 0; s < t->n_slices && t->scratch; s++)
        if (!(t->scratch[s] = pith_tape_take(t, scratch_bytes + 1, 1)))
            return pith_tape_no_memory(err);
    if (!t->scratch)
        return pith_tape_no_memory(err);
    for (uint32_t i = 0; i < t->n_steps; i++)
        for (uint32_t s = 0; s < t->n_slices && t->step[i].node; s++)
            t->step[i].node[s].scratch = t->scratch[s];
    return PITH_OK;
}

enum pith_status pith_tape_make_steps(struct tape *t, const struct tape_shapes *s,
                                      struct pith_error *err)
{
    enum pith_status status = list_steps(t, s, err);
    if (!status && t->opts.training && pith_tape_fuse(t))
        status = pith_tape_no_memory(err);
    if (!status)
        status = place_tensors(t, err);
    if (!status && plan_gradients(t))
        status = pith_tape_no_memory(err);
    for (uint32_t i = 0; i < t->n_steps && !status; i++)
        if (!t->step[i].converts && wire_step(t, &t->step[i]))
            status = pith_tape_no_memory(err);
    return status ? status : prepare_steps(t, err);
}
