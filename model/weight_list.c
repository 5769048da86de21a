/* SPDX-License-Identifier: MIT */
/* weight_list.c - which constants of a model are weights, and which of them a pattern matches. */
#include <fnmatch.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include "core/op_number.h"
#include "op_interface/op_attr.h"
#include "op_interface/op_info.h"
#include "op_interface/op_traits.h"
#include "pith_model.h"

/* Rows of the first input are looked up: along an axis, not single elements. */
static bool is_table(const struct pith_node *node)
{
    return node->op == PITH_OP_GATHER && node->attr[ATTR_GATHER_KIND] == 0;
}

/* v if it is a constant of floats with rows and columns, else PITH_VALUE_NONE. */
static uint32_t matrix(const struct pith_model *m, uint32_t v)
{
    if (v == PITH_VALUE_NONE)
        return v;
    const struct pith_value *w = &m->values[v];
    return w->constant && w->type == PITH_F32 && w->rank >= 2 ? v : PITH_VALUE_NONE;
}

uint32_t pith_node_weight(const struct pith_model *m, const struct pith_node *node)
{
    if (!m || !node)
        return 0;
    uint32_t i = pith_op_has_weight(node->op) ? pith_op_traits(node->op).weight_input : UINT32_MAX;
    return i < node->n_in ? matrix(m, node->in[i]) : PITH_VALUE_NONE;
}

bool pith_model_make_node(struct pith_model *m, const struct pith_node *like,
                          struct pith_node *made)
{
    const struct op_info *info = m && like && made ? pith_op_get(like->op) : NULL;
    if (!info)
        return false;
    const struct pith_node node = {
        .name = like->name,
        .op = like->op,
        .attr = pith_model_alloc(m, info->n_slots + UINT64_C(1), sizeof *node.attr),
        .n_in = like->n_in,
        .n_out = like->n_out,
        .in = pith_model_alloc(m, like->n_in + UINT64_C(1), sizeof *node.in),
        .out = pith_model_alloc(m, like->n_out + UINT64_C(1), sizeof *node.out)};
    if (!node.attr || !node.in || !node.out)
        return false;
    pith_op_attr_defaults(info, node.attr);
    if (node.n_in)
        memcpy(node.in, like->in, node.n_in * sizeof *node.in);
    if (node.n_out)
        memcpy(node.out, like->out, node.n_out * sizeof *node.out);
    *made = node;
    return true;
}

uint32_t pith_node_bias(const struct pith_node *node)
{
    if (!node)
        return 0;
    uint32_t i = pith_op_traits(node->op).bias_input;
    return i > 0 && i < node->n_in ? node->in[i] : PITH_VALUE_NONE;
}

bool pith_node_by_rows(const struct pith_node *node)
{
    if (!node)
        return false;
    bool turns_x = node->op == PITH_OP_GEMM && node->attr[ATTR_GEMM_TRANS_A];
    return pith_op_has_weight(node->op) && !pith_op_is(node->op, TRAIT_RECURS) &&
           pith_op_rows_first(node->op, node->attr) && !turns_x;
}

bool pith_node_is_depthwise(const struct pith_model *m, const struct pith_node *node)
{
    if (!m || !node)
        return false;
    return pith_node_by_rows(node) && pith_op_groups(node->op, node->attr) > 1 &&
           m->values[node->in[1]].dim[1] == 1;
}

uint32_t pith_model_weights(const struct pith_model *m, struct pith_weight_ref *refs)
{
    if (!m || !refs)
        return 0;
    uint32_t n = 0;
    uint8_t *listed = calloc(m->n_values ? m->n_values : 1, 1);
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct pith_node *node = &m->nodes[i];
        uint32_t value = is_table(node) ? matrix(m, node->in[0]) : pith_node_weight(m, node);
        if (value == PITH_VALUE_NONE)
            continue;
        const struct pith_value *v = &m->values[value];
        bool again = listed ? listed[value] : false;
        for (uint32_t k = 0; !listed && !again && k < n; k++)
            again = refs[k].value == value; /* slower, when memory is out */
        if (again)
            continue;
        if (listed)
            listed[value] = 1;
        refs[n++] = (struct pith_weight_ref){
            .value = value,
            .node = i,
            .op = node->op,
            .layer = node->name[0] ? node->name : m->values[node->out[0]].name,
            .tensor = v->name,
            .rows = v->dim[0],
            .cols = v->constant->count / v->dim[0],
        };
    }
    free(listed);
    return n;
}

/* The number of the constant of integers that the node multiplies with, or looks up rows of. */
static uint32_t integers_of(const struct pith_model *m, const struct pith_node *node)
{
    bool product = pith_op_is(node->op, TRAIT_INTEGERS), table = is_table(node);
    if ((!product && !table) || node->in[product] == PITH_VALUE_NONE)
        return PITH_VALUE_NONE;
    const struct pith_value *v = &m->values[node->in[product]];
    bool small = v->type == PITH_I8 || v->type == PITH_U8 || v->type == PITH_I16;
    return v->constant && v->rank > (table ? 1 : 0) && (product || small) ? node->in[product]
                                                                          : PITH_VALUE_NONE;
}

uint32_t pith_model_all_weights(const struct pith_model *m, struct pith_weight_ref *refs)
{
    if (!m || !refs)
        return 0;
    uint32_t n = pith_model_weights(m, refs);
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct pith_node *node = &m->nodes[i];
        uint32_t value = integers_of(m, node), at = n;
        bool skipped = value == PITH_VALUE_NONE;
        for (uint32_t k = 0; k < n && !skipped; k++) /* several nodes may read it */
            skipped = refs[k].value == value;
        if (skipped)
            continue;
        const struct pith_value *v = &m->values[value];
        for (; at > 0 && refs[at - 1].node > i; at--)
            refs[at] = refs[at - 1];
        refs[at] = (struct pith_weight_ref){
            .value = value,
            .node = i,
            .op = node->op,
            .layer = node->name[0] ? node->name : m->values[node->out[0]].name,
            .tensor = v->name,
            .rows = v->dim[0],
            .cols = v->constant->count / v->dim[0],
        };
        n++;
    }
    return n;
}

static bool regex_matches(const char *pattern, const struct pith_weight_ref *ref)
{
    regex_t re;
    if (regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB))
        return false;
    bool hit =
        regexec(&re, ref->layer, 0, NULL, 0) == 0 || regexec(&re, ref->tensor, 0, NULL, 0) == 0;
    regfree(&re);
    return hit;
}

bool pith_weight_matches(const struct pith_weight_ref *ref, const char *pattern)
{
    if (!ref || !pattern)
        return false;
    if (strncmp(pattern, "re:", 3) == 0)
        return regex_matches(pattern + 3, ref);
    return fnmatch(pattern, ref->layer, 0) == 0 || fnmatch(pattern, ref->tensor, 0) == 0;
}

const char *pith_weight_pattern(struct pith_model *m, const char *name)
{
    if (!m || !name)
        return NULL;
    char *pattern = pith_model_alloc(m, 2 * strlen(name) + 1, 1);
    for (char *to = pattern; to && *name; name++) {
        if (strchr("*?[\\", *name) || (to == pattern && *name == 'r'))
            *to++ = '\\';
        *to++ = *name;
    }
    return pattern;
}
