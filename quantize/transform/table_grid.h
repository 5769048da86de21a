/* SPDX-License-Identifier: MIT */
/* table_grid.h - tables in which Gather looks up rows (embeddings), in a byte for each number.
 *
 * No layer computes with them, so they stay float when layers become integers, and are most of the
 * file of a network of language. Written with integers, a looked-up row becomes floats behind the
 * look-up, so that the whole table never exists as floats:
 *
 *     by row        Gather(q, ids) -> Cast -> Mul by Gather(scale, ids)         scale: [rows, 1]
 *     by codebook   Gather(index, ids) -> Cast -> Gather(centroid, ...)         up to 256 centroids
 *
 * whichever has less squared error. A table that is also the weight of a layer of integers (a tied
 * embedding) has that layer's integers and scales. */
#ifndef TABLE_GRID_H
#define TABLE_GRID_H

#include "integer_rewrite.h"
#include "quantize/layer/table_choice.h"

struct integer_table {
    uint32_t bits;
    double snr_db; /* of its numbers; HUGE_VAL: they did not change */
};

/* Writes the tables of the plan (node_plan.table), once layers have their last integers. n->origin
 * and n->product hold no longer. *tables: [the plan's n_nodes], owned by the caller.
 * PITH_ERR_MEMORY. */
enum pith_status pith_write_tables(const struct integer_plan *p, struct integer_network *n,
                                   struct integer_table **tables, struct pith_error *err);

#endif
