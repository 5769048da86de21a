/* SPDX-License-Identifier: MIT */
/* node_list.c - room for all that is added is made at once, so that pointers into it stay valid. */
#include "node_list.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/error_fill.h"
#include "validate/format.h"

bool pith_node_list_begin(struct node_list *l, struct pith_model *m, uint64_t n_nodes,
                          uint64_t n_values)
{
    *l = (struct node_list){.m = m};
    n_nodes += m->n_nodes;
    n_values += m->n_values;
    if (n_nodes > UINT32_MAX || n_values > UINT32_MAX)
        return false;
    struct pith_value *values = pith_model_alloc(m, n_values + 1, sizeof *values);
    l->node = pith_model_alloc(m, n_nodes + 1, sizeof *l->node);
    if (!values || !l->node)
        return false;
    if (m->n_values)
        memcpy(values, m->values, m->n_values * sizeof *values);
    m->values = values;
    l->room = (uint32_t)n_nodes;
    l->value_room = (uint32_t)n_values;
    return true;
}

uint32_t pith_list_value(struct node_list *l, enum pith_type type, uint32_t rank,
                         const uint32_t *dim)
{
    assert(l->m->n_values < l->value_room);
    struct pith_value *v = &l->m->values[l->m->n_values];
    *v = (struct pith_value){.name = "", .type = type, .rank = rank, .min = 1, .max = 0};
    for (uint32_t i = 0; i < rank; i++)
        v->dim[i] = dim[i];
    return l->m->n_values++;
}

uint32_t pith_list_constant(struct node_list *l, enum pith_type type, uint32_t rank,
                            const uint32_t *dim, void *data)
{
    uint32_t v = pith_list_value(l, type, rank, dim);
    struct pith_const *c = pith_model_alloc(l->m, 1, sizeof *c);
    l->failed |= !c || !data;
    if (l->failed)
        return v;
    c->count = 1;
    for (uint32_t i = 0; i < rank; i++)
        c->count *= dim[i];
    c->data = data;
    l->m->values[v].constant = c;
    return v;
}

char *pith_list_part_name(struct node_list *l, const char *name, uint32_t first, uint32_t last)
{
    char text[MAX_NAME_BYTES + 1], part[sizeof ":4294967295-4294967295"];
    size_t n = strlen(name), room = MAX_NAME_BYTES;
    room -= (size_t)snprintf(part, sizeof part, ":%u-%u", first, last - 1);
    if (n > room) /* not in the middle of a UTF-8 sequence */
        for (n = room; n > 0 && ((uint8_t)name[n] & 0xC0) == 0x80;)
            n--;
    snprintf(text, sizeof text, "%.*s%s", (int)n, name, part);
    char *copy = pith_model_strdup(l->m, name[0] ? text : "");
    l->failed |= !copy;
    return copy;
}

void pith_list_name_part(struct node_list *l, uint32_t v, const char *name, uint32_t first,
                         uint32_t last)
{
    char *part = pith_list_part_name(l, name, first, last);
    for (uint32_t i = 0; i < l->m->n_values && part; i++)
        if (strcmp(l->m->values[i].name, part) == 0)
            return;
    if (part)
        l->m->values[v].name = part;
}

struct pith_node *pith_list_node_like(struct node_list *l, const struct pith_node *like)
{
    assert(l->n < l->room);
    struct pith_node *node = &l->node[l->n];
    if (!pith_model_make_node(l->m, like, node)) {
        l->failed = true;
        return NULL;
    }
    l->n++;
    return node;
}

struct pith_node *pith_list_node(struct node_list *l, const char *name, uint32_t op, uint32_t n_in,
                                 const uint32_t *in, uint32_t out)
{
    return pith_list_node_like(l, &(struct pith_node){.name = (char *)(uintptr_t)name,
                                                      .op = op,
                                                      .n_in = n_in,
                                                      .in = (uint32_t *)(uintptr_t)in,
                                                      .n_out = 1,
                                                      .out = &out});
}

void pith_list_copy(struct node_list *l, const struct pith_node *node)
{
    struct pith_node *copy = pith_list_node_like(l, node);
    if (copy) {
        copy->attr = node->attr;
        copy->sized = node->sized;
        copy->n_sized = node->n_sized;
    }
}

enum pith_status pith_node_list_end(struct node_list *l, struct pith_error *err)
{
    if (l->failed)
        return pith_error_no_memory(err);
    l->m->nodes = l->node;
    l->m->n_nodes = l->n;
    return pith_model_drop_unused(l->m, err);
}
