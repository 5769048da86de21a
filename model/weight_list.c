/* SPDX-License-Identifier: MIT */
/* weight_list.c - which constants of a model are weights, and which of them a pattern means. */
#include <fnmatch.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include "pith_op_semantics.h"
#include "pith_model.h"

static bool takes_weight(uint32_t op)
{
    return op == PITH_OP_CONV || op == PITH_OP_GEMM || op == PITH_OP_MATMUL ||
           op == PITH_OP_CONV_TRANSPOSE || op == PITH_OP_RECURRENT;
}

/* Which input is the weight: a Gather's table (along an axis, not of elements) is the first. */
static uint32_t weight_input(const struct pith_node *node)
{
    return node->op == PITH_OP_GATHER && node->attr[ATTR_GATHER_KIND] == 0 ? 0 : 1;
}

/* The number of the node's constant f32 weight, or PITH_VALUE_NONE. Only tensors of rank 2 and more
 * have rows and columns. */
static uint32_t weight_of(const struct pith_model *m, const struct pith_node *node)
{
    uint32_t i = weight_input(node);
    if ((i == 1 && !takes_weight(node->op)) || node->n_in < 2 || node->in[i] == PITH_VALUE_NONE)
        return PITH_VALUE_NONE;
    const struct pith_value *v = &m->values[node->in[i]];
    return v->constant && v->type == PITH_F32 && v->rank >= 2 ? node->in[i] : PITH_VALUE_NONE;
}

uint32_t pith_model_weights(const struct pith_model *m, struct pith_weight_ref *refs)
{
    uint32_t n = 0;
    uint8_t *listed = calloc(m->n_values ? m->n_values : 1, 1);
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct pith_node *node = &m->nodes[i];
        uint32_t value = weight_of(m, node);
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
    bool product = node->op == PITH_OP_CONV_INTEGER || node->op == PITH_OP_MATMUL_INTEGER;
    bool table = node->op == PITH_OP_GATHER && node->attr[ATTR_GATHER_KIND] == 0;
    if ((!product && !table) || node->in[product] == PITH_VALUE_NONE)
        return PITH_VALUE_NONE;
    const struct pith_value *v = &m->values[node->in[product]];
    bool small = v->type == PITH_I8 || v->type == PITH_U8 || v->type == PITH_I16;
    return v->constant && v->rank > (table ? 1 : 0) && (product || small) ? node->in[product]
                                                                          : PITH_VALUE_NONE;
}

uint32_t pith_model_all_weights(const struct pith_model *m, struct pith_weight_ref *refs)
{
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
    if (strncmp(pattern, "re:", 3) == 0)
        return regex_matches(pattern + 3, ref);
    return fnmatch(pattern, ref->layer, 0) == 0 || fnmatch(pattern, ref->tensor, 0) == 0;
}

const char *pith_weight_pattern(struct pith_model *m, const char *name)
{
    char *pattern = pith_model_alloc(m, 2 * strlen(name) + 1, 1);
    for (char *to = pattern; to && *name; name++) {
        if (strchr("*?[\\", *name) || (to == pattern && *name == 'r'))
            *to++ = '\\';
        *to++ = *name;
    }
    return pattern;
}
