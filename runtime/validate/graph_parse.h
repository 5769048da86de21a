/* SPDX-License-Identifier: MIT */
/* graph_parse.h - the state of one pass over the graph chunk.
 *
 * The chunk is read twice by the same code: once to count (`fill` false: nothing is stored),
 * once to fill the arrays whose sizes the first pass counted.
 *
 * With one code for both passes they cannot disagree about what is accepted: a second,
 * simpler counting pass would be a second parser to prove. */
#ifndef GRAPH_PARSE_H
#define GRAPH_PARSE_H

#include "validate/format.h"
#include "core/op_number.h"

/* The fields fall into what is being read, what was read so far (values repeat: shapes, tables,
 * attributes and wiring are written by reference to what stood before), and where the second
 * pass stores. */
struct graph_parse {
    const struct image *im;
    struct pith_error *err;
    struct reader r; /* the graph chunk */
    bool fill;
    bool batch_open;
    struct graph g;

    /* tensors (weight_head.c, weight_read.c) */
    struct reader tables;
    /* In the order of tensors, without offsets: each stream begins where the one before ends. */
    uint64_t data_at;         /* in the data chunk */
    uint32_t n_tables;        /* introduced so far */
    struct huff_table *table; /* [n_tables] */
    struct shape prev_shape;
    bool has_prev;
    uint32_t prev_centroids[2]; /* of vectors (rank < 2), of others; 0: no codebook yet */
    uint32_t weight_at;         /* number of the tensor */

    /* nodes */
    const uint8_t
        *attributes[PITH_OP_END]; /* where an operator's were written last; NULL: nowhere */
    uint32_t n_introduced;        /* constants that some node has named */
    uint32_t chain;               /* first output of the node before; the first input at first */
    uint64_t n_slots;             /* of all nodes */
    uint32_t max_in, max_out;     /* of one node */
    uint32_t n_coded;             /* weights */
    struct graph_counts counts;   /* of nodes */
    int32_t *slots;
    uint32_t *refs;
};

/* PITH_ERR_CORRUPT at the reader's place in the graph chunk. */
enum pith_status pith_parse_corrupt(struct graph_parse *p);
/* PITH_ERR_UNSUPPORTED there: a value that this version leaves free. */
enum pith_status pith_parse_unsupported(struct graph_parse *p);

/* The whole chunk, in the pass that p->fill says (graph_parse.c). */
enum pith_status pith_parse_graph(struct graph_parse *p);

/* A tensor's description up to its streams; w: zeroed (weight_head.c). */
enum pith_status pith_parse_head(struct graph_parse *p, struct weight *w);

/* One tensor, its streams cut out of the data chunk. */
enum pith_status pith_parse_weight(struct graph_parse *p, struct weight *w);
/* Data and tables are used up. */
enum pith_status pith_parse_weights_end(struct graph_parse *p);

/* dims[first..rank) of s; square: the last two are stored once. */
bool pith_parse_dims(struct reader *r, struct shape *s, uint32_t first, bool square);

#endif
