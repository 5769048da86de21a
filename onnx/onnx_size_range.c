/* SPDX-License-Identifier: MIT */
/* onnx_size_range.c - of a network whose sizes are open: the largest and the usual value of each
 * size; whether imports make the same nodes, and formulas also hold far from the sizes that they
 * were found with. */
#include "onnx/onnx_open.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error_fill.h"
#include "op_interface/op_attr.h"
#include "op_interface/slice_axis.h"

#define MOST (1u << 24)                  /* of any size */
#define MOST_BYTES (UINT64_C(512) << 20) /* of the largest value, which bounds sizes, too */
#define USUAL_LENGTH 128u
#define USUAL_PICTURE 224u
#define LEAST_SMALLER 128u /* sizes are halved from here on, or from the usual ones */

/* ---- largest and usual values ---------------------------------------------------------------- */

static bool is_small(const struct pith_model *m)
{
    for (uint32_t v = 0; v < m->n_values; v++) {
        const struct pith_value *value = &m->values[v];
        if (!value->constant && pith_value_elems(value) > MOST_BYTES / pith_type_bytes(value->type))
            return false;
    }
    return true;
}

/* Size i as v, where the network takes that. */
static bool takes(struct pith_model *m, uint32_t *value, uint32_t i, uint32_t v)
{
    uint32_t before = value[i];
    value[i] = v;
    if (pith_model_set_sizes(m, value, NULL) == PITH_OK && is_small(m))
        return true;
    value[i] = before;
    pith_model_set_sizes(m, value, NULL);
    return false;
}

/* The largest that shapes and memory allow: a table of positions ends somewhere. */
static void find_max(struct pith_model *m, uint32_t *value, uint32_t i)
{
    uint32_t base = value[i], low = base, high = MOST;
    while (high - low > 1) {
        uint32_t mid = low + (high - low) / 2;
        *(takes(m, value, i, mid) ? &low : &high) = mid;
    }
    m->sizes[i].max = low;
    takes(m, value, i, base);
}

/* Sizes that share a table with size i are as small as can be: one may have all of it. */
static void leave_table(struct pith_model *m, struct size_names *names, uint32_t *value, uint32_t i)
{
    for (uint32_t k = 0; k < m->n_limits; k++) {
        const char *text = m->limits[k].formula;
        struct size_expression e = {0};
        bool shared = false;
        pith_size_parse(text, strlen(text), names, false, &e);
        for (uint32_t t = 0; t < e.n_terms; t++)
            shared = shared || (e.term[t].n_factors == 1 && e.term[t].factor[0] == i);
        for (uint32_t t = 0; t < e.n_terms && shared; t++) {
            const uint32_t other = e.term[t].factor[0];
            if (e.term[t].n_factors == 1 && other < m->n_sizes && other != i)
                takes(m, value, other, pith_model_least_size(m, other));
        }
    }
}

/* Size i of m is at least `least`: a limit of least - size. Room was made by add_limits. */
static enum pith_status add_least(struct pith_model *m, uint32_t i, uint32_t least)
{
    char text[SIZE_NAME_BYTES + 16];
    snprintf(text, sizeof text, "%" PRIu32 " - %s", least, m->sizes[i].name);
    m->limits[m->n_limits] = (struct pith_size_limit){0, pith_model_strdup(m, text)};
    return m->limits[m->n_limits++].formula ? PITH_OK : PITH_ERR_MEMORY;
}

enum pith_status pith_onnx_choose_sizes(struct open_import *o, struct pith_model *m)
{
    uint32_t value[SIZE_NAMES], others[SIZE_NAMES];
    struct size_names names = {0};
    enum pith_status status = PITH_OK;
    for (uint32_t i = 0; i < m->n_sizes; i++) {
        value[i] = m->sizes[i].value;
        pith_size_add_name(&names, m->sizes[i].name, strlen(m->sizes[i].name));
    }
    for (uint32_t i = 0; i < m->n_sizes; i++) {
        memcpy(others, value, sizeof others);
        leave_table(m, &names, others, i);
        find_max(m, others, i);
        pith_model_set_sizes(m, value, NULL);
    }
    for (uint32_t i = 0; i < m->n_sizes && !status; i++) {
        const char *name = m->sizes[i].name;
        const uint32_t at = pith_size_name(&o->names, name, strlen(name));
        const struct size_range *r = pith_onnx_range_of(o, at);
        const uint32_t usual = (o->picture[at] ? USUAL_PICTURE : USUAL_LENGTH) / o->unit[at];
        uint32_t *max = &m->sizes[i].max;
        if (r && r->step == 1) {
            *max = r->high < *max ? r->high : *max;
            status = r->low > 1 ? add_least(m, i, r->low) : PITH_OK;
        }
        if (o->outermost[at] && takes(m, value, i, 1))
            continue;
        if (r && r->step == 1 && (usual < r->low || usual > *max))
            takes(m, value, i, pith_onnx_roundest(r->low, *max));
        else if (r || usual > value[i]) {
            uint32_t v = usual < *max ? usual : *max;
            while (!takes(m, value, i, v) && v / 2 > value[i])
                v /= 2;
        }
    }
    return status ? pith_error_no_memory(&o->err) : PITH_OK;
}

/* ---- the same nodes ----------------------------------------------------------------------------
 */

/* A node of m, at the sizes that it has, that repeats nothing, or resizes to the same size: import
 * may leave it out. */
static bool is_idle(const struct pith_model *m, uint32_t node)
{
    const struct pith_node *n = &m->nodes[node];
    if (n->op != PITH_OP_TILE && n->op != PITH_OP_RESIZE)
        return false;
    const struct pith_value *x = &m->values[n->in[0]], *y = &m->values[n->out[0]];
    return x->rank == y->rank && memcmp(x->dim, y->dim, x->rank * sizeof *x->dim) == 0;
}

static struct input_note noted_as(const struct input_note *in, const struct input_note *as)
{
    return in->constant ? *in : as[in->is];
}

/* as: what the values of a's pass are in that of b. */
static bool same_node(const struct node_note *a, const struct node_note *b,
                      const struct input_note *as)
{
    bool same = a->op == b->op && a->n_in == b->n_in && a->n_out == b->n_out;
    for (uint32_t i = 0; i < a->n_in && same; i++) {
        const struct input_note in = noted_as(&a->in[i], as);
        same = in.constant == b->in[i].constant && in.is == b->in[i].is;
    }
    return same;
}

enum pith_status pith_onnx_same_nodes(struct open_import *o, const struct pass *p,
                                      const struct pith_model *m)
{
    const struct pass *base = &o->pass[0];
    const struct node_note *differs = NULL;
    uint32_t k = 0;
    struct input_note *as = calloc(base->n_numbers + 1u, sizeof *as);
    if (!as)
        return pith_error_no_memory(&o->err);
    for (uint32_t i = 0; i <= base->n_numbers; i++)
        as[i].is = i;
    for (uint32_t i = 0; i < base->n_nodes && !differs; i++) {
        struct node_note *a = &base->node[i];
        const bool same = k < p->n_nodes && same_node(a, &p->node[k], as);
        a->pair = same ? k : UINT32_MAX;
        if (!same && m && is_idle(m, i))
            as[a->first] = noted_as(&a->in[0], as);
        else if (!same)
            differs = a;
        for (uint32_t n = 0; n < a->n_out && same; n++)
            as[a->first + n].is = p->node[k].first + n;
        k += same;
    }
    free(as);
    if ((!m && p->n_nodes != base->n_nodes) || p->n_bounds != base->n_bounds ||
        (!differs && k != p->n_nodes))
        return pith_error_fill(&o->err, PITH_ERR_UNSUPPORTED,
                               "it has %u nodes with some sizes and %u with others", base->n_nodes,
                               p->n_nodes);
    return differs ? pith_onnx_fail_sized(o, differs, "reads other things with other sizes")
                   : PITH_OK;
}

/* ---- a test --------------------------------------------------------------------------------- */

static bool same_outputs(const struct pass *p, const struct pith_model *m)
{
    bool same = p->n_outputs == m->n_outputs;
    for (uint32_t i = 0; i < p->n_outputs && same; i++) {
        const struct pith_value *v = &m->values[m->outputs[i]];
        same = v->rank == p->output[i].rank &&
               memcmp(v->dim, p->output[i].dim, v->rank * sizeof *v->dim) == 0;
    }
    return same;
}

static bool same_shapes(const struct pith_model *m, const struct pith_node *node, uint32_t shapes)
{
    uint32_t crc = 0;
    for (uint32_t k = 0; k < node->n_out; k++)
        crc = pith_onnx_add_shape(crc, m->values[node->out[k]].rank, m->values[node->out[k]].dim);
    return crc == shapes;
}

/* The ends of a Slice may lie beyond what they cut: how much is left counts. */
static bool same_slice(const int32_t *a, const int32_t *b, const struct pith_value *x)
{
    bool same = attr_count(a, ATTR_SLICE_AXES) == attr_count(b, ATTR_SLICE_AXES);
    for (uint32_t i = 0; i < attr_count(a, ATTR_SLICE_AXES) && same; i++) {
        const int32_t axis = a[ATTR_SLICE_AXES + 1 + i];
        int64_t first[2], count[2];
        slice_axis(a, i, x->dim[axis], &first[0], &count[0]);
        slice_axis(b, i, x->dim[axis], &first[1], &count[1]);
        same = axis == b[ATTR_SLICE_AXES + 1 + i] && first[0] == first[1] && count[0] == count[1] &&
               attr_item(a, ATTR_SLICE_STEPS, i, 1) == attr_item(b, ATTR_SLICE_STEPS, i, 1);
    }
    return same;
}

/* What an import with the sizes that m has now makes. */
enum trial {
    TRIAL_SAME,
    TRIAL_REFUSED,     /* nothing */
    TRIAL_OTHER_NODES, /* outputs of the same shapes by other nodes, or others of their numbers */
    TRIAL_WRONG,       /* other shapes */
};

/* Of sizes shapes say all: 0 is that of the input, which import writes where they are the same. */
static bool same_resize(const int32_t *a, const int32_t *b)
{
    return memcmp(a, b, ATTR_RESIZE_DIMS * sizeof *a) == 0 &&
           memcmp(a + ATTR_RESIZE_SCALES, b + ATTR_RESIZE_SCALES,
                  (ATTR_RESIZE_EXCLUDE + 1 - ATTR_RESIZE_SCALES) * sizeof *a) == 0;
}

/* Of a Reshape shapes say all: an entry is a number, or what is left. */
static bool same_attributes(const struct pith_model *m, const struct pith_node *is,
                            const struct node_note *node)
{
    if (is->op == PITH_OP_SLICE)
        return same_slice(node->attr, is->attr, &m->values[is->in[0]]);
    if (is->op == PITH_OP_RESIZE)
        return same_resize(node->attr, is->attr);
    return is->op == PITH_OP_RESHAPE ||
           memcmp(node->attr, is->attr, node->n_slots * sizeof *node->attr) == 0;
}

/* The nodes of an import are those of m. */
static enum trial compare_numbers(struct open_import *o, const struct pith_model *m)
{
    const struct node_note *other = NULL;
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct pith_node *is = &m->nodes[i];
        const struct node_note *node = &o->pass[0].node[i];
        if (node->pair == UINT32_MAX)
            continue;
        node = &o->pass[ONNX_FIT_PASSES].node[node->pair];
        if (!same_shapes(m, is, node->shapes)) {
            pith_onnx_fail_sized(o, node, "has another shape with other sizes");
            return TRIAL_WRONG;
        }
        const bool same = same_attributes(m, is, node);
        other = same || other ? other : node;
    }
    if (other)
        pith_onnx_fail_sized(o, other, "has an attribute that follows no formula of the sizes");
    return other ? TRIAL_OTHER_NODES : TRIAL_SAME;
}

static enum trial compare_trial(struct open_import *o, const struct pith_model *m)
{
    const struct pass *p = &o->pass[ONNX_FIT_PASSES];
    if (!same_outputs(p, m)) {
        pith_error_fill(&o->err, PITH_ERR_UNSUPPORTED,
                        "an output has another shape with other sizes");
        return TRIAL_WRONG;
    }
    return pith_onnx_same_nodes(o, p, m) ? TRIAL_OTHER_NODES : compare_numbers(o, m);
}

/* The next trial has these values of m's sizes. */
static void set_values(struct open_import *o, const struct pith_model *m, const uint32_t *value)
{
    for (uint32_t i = 0; i < o->names.n; i++)
        for (uint32_t k = 0; k < m->n_sizes; k++)
            if (strcmp(m->sizes[k].name, o->names.name[o->same_as[i]]) == 0)
                o->value[ONNX_FIT_PASSES][i] = value[k];
}

/* PITH_ERR_MEMORY, or PITH_OK and *trial; why it is not TRIAL_SAME is in o->err. */
static enum pith_status try_model(struct open_import *o, const struct pith_model *m,
                                  enum trial *trial)
{
    uint32_t value[SIZE_NAMES];
    for (uint32_t k = 0; k < m->n_sizes; k++)
        value[k] = m->sizes[k].value;
    set_values(o, m, value);
    enum pith_status status = pith_onnx_sized_pass(o, ONNX_FIT_PASSES, NULL);
    *trial = status ? TRIAL_REFUSED : compare_trial(o, m);
    pith_onnx_free_pass(&o->pass[ONNX_FIT_PASSES]);
    return status == PITH_ERR_MEMORY ? status : PITH_OK;
}

/* The largest value of size i is where m ends, not where the network does: an import with one more
 * makes the same nodes. Formulas are wrong from there on. */
static enum pith_status test_end(struct open_import *o, struct pith_model *m, const uint32_t *usual,
                                 uint32_t i)
{
    uint32_t value[SIZE_NAMES];
    memcpy(value, usual, m->n_sizes * sizeof *value);
    const uint32_t max = m->sizes[i].max;
    value[i] = ++m->sizes[i].max;
    enum pith_status status = pith_model_set_sizes(m, value, NULL);
    m->sizes[i].max = max;
    if (status != PITH_ERR_CORRUPT)
        return status == PITH_ERR_MEMORY ? status : pith_model_set_sizes(m, usual, NULL);
    set_values(o, m, value);
    status = pith_onnx_sized_pass(o, ONNX_FIT_PASSES, NULL);
    if (!status)
        status = pith_onnx_same_nodes(o, &o->pass[ONNX_FIT_PASSES], NULL);
    pith_onnx_free_pass(&o->pass[ONNX_FIT_PASSES]);
    if (status)
        return status == PITH_ERR_MEMORY ? status : PITH_OK;
    return pith_error_fill(&o->err, PITH_ERR_UNSUPPORTED,
                           "its formulas hold for a size %s of up to %" PRIu32 " alone",
                           m->sizes[i].name, max);
}

/* Sizes far beyond those that formulas were found with: numbers that were all equal there, or on
 * one line by chance, are not here. Import may end before: a Slice leaves nothing, memory ends. */
static enum pith_status test_larger(struct open_import *o, struct pith_model *m,
                                    const uint32_t *usual)
{
    static const uint32_t times[] = {1, 3, 10};
    uint32_t value[SIZE_NAMES];
    for (uint32_t t = 0; t < 3; t++) {
        enum trial trial = TRIAL_SAME;
        enum pith_status status = PITH_OK;
        for (uint32_t i = 0; i < m->n_sizes; i++) {
            value[i] = usual[i] * times[t] + 3 + 2 * i;
            if (value[i] > m->sizes[i].max)
                value[i] = m->sizes[i].max;
        }
        if (pith_model_set_sizes(m, value, NULL) == PITH_OK && is_small(m))
            status = try_model(o, m, &trial);
        if (status || trial >= TRIAL_OTHER_NODES)
            return status ? status : PITH_ERR_UNSUPPORTED;
        if (trial == TRIAL_REFUSED && t == 0 && o->err.status != PITH_ERR_LIMIT)
            return PITH_ERR_UNSUPPORTED;
    }
    return PITH_OK;
}

/* value: sizes with which import makes other nodes. One of them is to blame: m takes it from where
 * on it does not. PITH_ERR_UNSUPPORTED: none is alone. */
static enum pith_status find_least(struct open_import *o, struct pith_model *m,
                                   const uint32_t *usual, const uint32_t *value)
{
    const struct pith_error why = o->err;
    for (uint32_t i = m->n_sizes; i-- > 0;) {
        uint32_t at[SIZE_NAMES], other = value[i], same = usual[i];
        memcpy(at, usual, sizeof at);
        for (at[i] = other; same > other;) {
            enum trial trial = TRIAL_REFUSED;
            enum pith_status status = PITH_OK;
            if (pith_model_set_sizes(m, at, NULL) == PITH_OK)
                status = try_model(o, m, &trial);
            if (status)
                return status;
            if (at[i] == value[i] && trial < TRIAL_OTHER_NODES)
                break;
            *(trial < TRIAL_OTHER_NODES ? &same : &other) = at[i];
            if (same - other == 1)
                return add_least(m, i, same) ? pith_error_no_memory(&o->err) : PITH_OK;
            at[i] = other + (same - other) / 2;
        }
    }
    o->err = why;
    return PITH_ERR_UNSUPPORTED;
}

/* The same for smaller ones. Where import makes other nodes, m takes larger ones alone. */
static enum pith_status test_smaller(struct open_import *o, struct pith_model *m,
                                     const uint32_t *usual)
{
    uint32_t value[SIZE_NAMES], most = LEAST_SMALLER;
    for (uint32_t i = 0; i < m->n_sizes; i++)
        most = usual[i] > most ? usual[i] : most;
    memcpy(value, usual, sizeof value);
    while (most > 0) {
        enum trial trial = TRIAL_SAME;
        enum pith_status status = PITH_OK;
        if (pith_model_set_sizes(m, value, NULL) == PITH_OK)
            status = try_model(o, m, &trial);
        if (status || trial == TRIAL_WRONG)
            return status ? status : PITH_ERR_UNSUPPORTED;
        if (trial == TRIAL_OTHER_NODES) { /* then once more, which m refuses now */
            status = find_least(o, m, usual, value);
            if (status)
                return status;
            continue;
        }
        most /= 2;
        for (uint32_t i = 0; i < m->n_sizes; i++) {
            const uint32_t max = m->sizes[i].max;
            value[i] = most > 2 ? (most | 1) + 2 * i : most;
            value[i] = value[i] > max ? max : value[i];
        }
    }
    return PITH_OK;
}

enum pith_status pith_onnx_test_sizes(struct open_import *o, struct pith_model *m)
{
    uint32_t usual[SIZE_NAMES];
    for (uint32_t i = 0; i < m->n_sizes; i++)
        usual[i] = m->sizes[i].value;
    enum pith_status status = PITH_OK;
    for (uint32_t i = 0; i < m->n_sizes && !status; i++)
        status = test_end(o, m, usual, i);
    if (!status)
        status = test_larger(o, m, usual);
    if (!status)
        status = test_smaller(o, m, usual);
    pith_model_set_sizes(m, usual, NULL);
    return status;
}
