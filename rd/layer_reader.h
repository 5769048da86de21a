/* SPDX-License-Identifier: MIT */
/* layer_reader.h - what a layer multiplies its weight with, sample by sample, wherever that comes
 * from:
 *
 *     input 0                        a value that the walk keeps
 *     input 0, in a loop or branch   a record of it, all times one behind the other
 *     the state before each step     of a recurrent product: its results, one step later */
#ifndef LAYER_READER_H
#define LAYER_READER_H

#include "sample_walk.h"

/* The nodes begin .. end - 1 of the outermost loop or branch that a layer is in; begin == end: it
 * is in none. */
struct body_span {
    uint32_t begin, end;
};

struct layer_reader {
    struct sample_walk *walk;
    const struct pith_model *m;
    const struct pith_node *node;
    struct value_record record; /* elems 0: none */
    bool is_state;
    uint64_t elems; /* of a sample; 0: nothing is known */
};

/* The walk stands at the node, or at the beginning of the body. elems stays 0 where the inputs are
 * not to be had: what a branch or loop makes is not as often in each sample; a recurrent product in
 * a body, or one of sequences of different lengths. Close in any case. What pith_sample_walk_record
 * returns. */
enum pith_status pith_layer_reader_open(struct sample_walk *walk, const struct pith_model *m,
                                        uint32_t node, struct body_span body,
                                        struct layer_reader *r, struct pith_error *err);
void pith_layer_reader_close(struct layer_reader *r); /* accepts zeros */
/* x: [elems] */
enum pith_status pith_layer_reader_read(const struct layer_reader *r, uint64_t sample, float *x,
                                        struct pith_error *err);

#endif
