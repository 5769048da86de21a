/* SPDX-License-Identifier: MIT */
/* onnx_size_range.c - of a network whose sizes are open: the largest and the usual value of each
 * size, and whether formulas also hold far from the sizes that they were found with. */
#include "onnx/onnx_open.h"

#include "base/error_fill.h"

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

void pith_onnx_choose_sizes(struct open_import *o, struct pith_model *m)
{
    uint32_t value[SIZE_NAMES];
    for (uint32_t i = 0; i < m->n_sizes; i++)
        value[i] = m->sizes[i].value;
    for (uint32_t i = 0; i < m->n_sizes; i++)
        find_max(m, value, i);
    for (uint32_t i = 0; i < m->n_sizes; i++) {
        const char *name = m->sizes[i].name;
        const uint32_t at = pith_size_name(&o->names, name, strlen(name));
        const uint32_t usual = (o->picture[at] ? USUAL_PICTURE : USUAL_LENGTH) / o->unit[at];
        if (o->outermost[at] && takes(m, value, i, 1))
            continue;
        if (usual > value[i])
            takes(m, value, i, usual < m->sizes[i].max ? usual : m->sizes[i].max);
    }
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

/* The nodes of an import are those of m: in shapes and, where `exact`, in all attributes. */
static enum pith_status same_numbers(struct open_import *o, const struct pith_model *m, bool exact)
{
    const struct pass *p = &o->pass[ONNX_FIT_PASSES];
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct node_note *node = &p->node[i];
        if (exact && memcmp(node->attr, m->nodes[i].attr, node->n_slots * sizeof *node->attr) != 0)
            return pith_onnx_fail_sized(o, node,
                                        "has an attribute that follows no formula of the sizes");
        if (!same_shapes(m, &m->nodes[i], node->shapes))
            return pith_onnx_fail_sized(o, node, "has another shape with other sizes");
    }
    return PITH_OK;
}

/* An import with the sizes that m has now makes m. *wrong: its outputs have other shapes, or the
 * same nodes have other numbers. */
static enum pith_status same_as_model(struct open_import *o, const struct pith_model *m, bool exact,
                                      bool *wrong)
{
    struct pass *p = &o->pass[ONNX_FIT_PASSES];
    uint32_t *value = o->value[ONNX_FIT_PASSES];
    *wrong = false;
    for (uint32_t i = 0; i < o->names.n; i++)
        for (uint32_t k = 0; k < m->n_sizes; k++)
            if (strcmp(m->sizes[k].name, o->names.name[o->same_as[i]]) == 0)
                value[i] = m->sizes[k].value;
    enum pith_status status = pith_onnx_sized_pass(o, ONNX_FIT_PASSES, NULL);
    if (!status && !same_outputs(p, m)) {
        *wrong = true;
        status = pith_error_fill(&o->err, PITH_ERR_UNSUPPORTED,
                                 "an output has another shape with other sizes");
    } else if (!status) {
        status = pith_onnx_same_nodes(o, p);
        *wrong = exact && status;
        if (!status) {
            status = same_numbers(o, m, exact);
            *wrong = status != PITH_OK;
        }
    }
    pith_onnx_free_pass(p);
    return status;
}

/* Sizes far beyond those that formulas were found with: numbers that were all equal there, or on
 * one line by chance, are not here. */
static enum pith_status test_larger(struct open_import *o, struct pith_model *m)
{
    static const uint32_t times[] = {1, 3, 10};
    uint32_t usual[SIZE_NAMES], value[SIZE_NAMES];
    bool wrong = false;
    enum pith_status status = PITH_OK;
    for (uint32_t i = 0; i < m->n_sizes; i++)
        usual[i] = m->sizes[i].value;
    for (uint32_t t = 0; t < 3 && !status; t++) {
        for (uint32_t i = 0; i < m->n_sizes; i++) {
            value[i] = usual[i] * times[t] + 3 + 2 * i;
            if (value[i] > m->sizes[i].max)
                value[i] = m->sizes[i].max;
        }
        if (pith_model_set_sizes(m, value, NULL) == PITH_OK && is_small(m))
            status = same_as_model(o, m, true, &wrong);
        if (t > 0 && !wrong && status != PITH_ERR_MEMORY)
            status = PITH_OK; /* import ends somewhere: a Slice leaves nothing */
    }
    pith_model_set_sizes(m, usual, NULL);
    return status == PITH_ERR_LIMIT ? PITH_OK : status; /* as large as memory lets it be */
}

/* The same for smaller ones, where shapes count: a Slice may end beyond its input, and a picture of
 * one pixel is not resized. Where import refuses a size or makes other nodes, nothing is said. */
static enum pith_status test_smaller(struct open_import *o, struct pith_model *m)
{
    uint32_t usual[SIZE_NAMES], value[SIZE_NAMES], most = 0;
    bool wrong = false;
    enum pith_status status = PITH_OK;
    for (uint32_t i = 0; i < m->n_sizes; i++) {
        usual[i] = m->sizes[i].value;
        most = usual[i] > most ? usual[i] : most;
    }
    memcpy(value, usual, sizeof value);
    for (most = most > LEAST_SMALLER ? most : LEAST_SMALLER; most > 0; most /= 2) {
        if (pith_model_set_sizes(m, value, NULL) == PITH_OK)
            status = same_as_model(o, m, false, &wrong);
        if (wrong || status == PITH_ERR_MEMORY)
            break;
        for (uint32_t i = 0; i < m->n_sizes; i++) {
            const uint32_t half = most / 2, max = m->sizes[i].max;
            value[i] = half > 2 ? (half | 1) + 2 * i : half;
            value[i] = value[i] > max ? max : value[i];
        }
    }
    pith_model_set_sizes(m, usual, NULL);
    return wrong || status == PITH_ERR_MEMORY ? status : PITH_OK;
}

enum pith_status pith_onnx_test_sizes(struct open_import *o, struct pith_model *m)
{
    enum pith_status status = test_larger(o, m);
    return status ? status : test_smaller(o, m);
}
