/* SPDX-License-Identifier: MIT */
/* value_record.h - a value each time that it is made, in samples' runs of some nodes of a walk. */
#ifndef VALUE_RECORD_H
#define VALUE_RECORD_H

#include "layer_walk.h"

/* Output `output` of node `node`, in runs of the nodes first .. last - 1 in which it is; they are
 * run again when the walk goes on. A loop or branch is in there as a whole. An output that the
 * model leaves out has a shape nowhere: dim, of `rank` axes, and is f32; else NULL. */
struct record_spec {
    uint32_t first, last, node, output;
    uint32_t rank;
    const uint32_t *dim;
};

struct value_record {
    uint64_t times; /* in each sample; 0: not as often in all, or not made at all */
    uint64_t n;     /* in all */
    uint64_t elems, bytes;
    struct kept_values *kept; /* owns: array 0 is [n, elems], sample after sample */
};

/* The walk stands at spec->first. Samples that make the value more often than the first one to make
 * it at all may be cut off, the last ones first. PITH_ERR_MEMORY, _IO, what running returns. */
enum pith_status pith_layer_walk_record(struct layer_walk *w, const struct record_spec *spec,
                                        struct value_record *r, struct pith_error *err);

#endif
