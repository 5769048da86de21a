/* SPDX-License-Identifier: MIT */
/* node_list.h - a model's nodes written anew, some of them as several. The model's own arrays
 * stay as they are until pith_node_list_end, for those who hold copies of its struct. */
#ifndef PITH_NODE_LIST_H
#define PITH_NODE_LIST_H

#include "pith_model.h"

struct node_list {
    struct pith_model *m; /* of its values only n_values grows, in a copy that has room */
    struct pith_node *node;
    uint32_t n;
    uint32_t room, value_room;
    bool failed; /* memory ran out: then functions return numbers and NULL that must not be used */
};

/* For at most n_nodes nodes and n_values values more than m has. false: no memory. */
bool pith_node_list_begin(struct node_list *l, struct pith_model *m, uint64_t n_nodes,
                          uint64_t n_values);

/* Values without statistics and without a name. */
uint32_t pith_list_value(struct node_list *l, enum pith_type type, uint32_t rank,
                         const uint32_t *dim);
/* data: [count of dim], in m's memory. */
uint32_t pith_list_constant(struct node_list *l, enum pith_type type, uint32_t rank,
                            const uint32_t *dim, void *data);

/* "name:first-last" for the part [first, last) of something, its name cut where that would be too
 * long,
 * "" for "". NULL: no memory. */
char *pith_list_part_name(struct node_list *l, const char *name, uint32_t first, uint32_t last);
/* Value v is called so, unless another one is: then it has no name. */
void pith_list_name_part(struct node_list *l, uint32_t v, const char *name, uint32_t first,
                         uint32_t last);

/* A node with the default attributes, as pith_model_make_node. NULL: no memory. */
struct pith_node *pith_list_node_like(struct node_list *l, const struct pith_node *like);
/* The same for a node of one output. */
struct pith_node *pith_list_node(struct node_list *l, const char *name, uint32_t op, uint32_t n_in,
                                 const uint32_t *in, uint32_t out);
void pith_list_copy(struct node_list *l, const struct pith_node *node);

/* The list becomes m's nodes, and unused values are dropped. PITH_ERR_MEMORY. */
enum pith_status pith_node_list_end(struct node_list *l, struct pith_error *err);

#endif
