/* SPDX-License-Identifier: MIT */
/* sample_walk.h - a network run on many samples at once, some nodes at a time: before a layer
 * multiplies, its inputs of all samples lie ready, as the layers before it, changed already, made
 * them. Each node runs once for each sample, however many layers there are.
 *
 *     pith_sample_walk_open(m, &opts, &w, err);
 *     pith_sample_walk_to(w, node, err);                  all nodes before it
 *     pith_sample_walk_read(w, m->nodes[node].in[0], sample, x, err);
 *     ... change m's weight of that node ...
 *     pith_sample_walk_to(w, next, err);
 *     pith_sample_walk_close(w);
 *
 * What is kept are the values that are still to be read, of all samples, in memory to a limit, the
 * others in files (pith_kept_values.h); inputs are read from the data set each time. A loop or
 * branch runs as a whole. Results do not depend on threads. */
#ifndef SAMPLE_WALK_H
#define SAMPLE_WALK_H

#include "pith_data.h"
#include "pith_model.h"

struct sample_walk;

struct sample_walk_opts {
    struct pith_data *data;          /* borrowed */
    uint64_t n_samples;              /* the first of data; 1 .. its number */
    const struct pith_opts *runtime; /* cpu_mask, parallel_for; NULL: defaults */
    uint64_t memory_bytes;           /* that kept values may take */
};

/* m is borrowed; its constants may change between calls, nothing else. PITH_ERR_ARGUMENT: data does
 * not fit; PITH_ERR_UNSUPPORTED: several inputs, or one that is not f32; PITH_ERR_MEMORY. */
enum pith_status pith_sample_walk_open(const struct pith_model *m,
                                       const struct sample_walk_opts *opts, struct sample_walk **w,
                                       struct pith_error *err);
void pith_sample_walk_close(struct sample_walk *w); /* accepts NULL */
/* Runs the nodes before `node`, which is none of those run already and in no loop or branch.
 * PITH_ERR_MEMORY, _IO, and what reading data and running return. */
enum pith_status pith_sample_walk_to(struct sample_walk *w, uint32_t node, struct pith_error *err);
/* Elements of a value. */
uint64_t pith_sample_walk_elems(const struct sample_walk *w, uint32_t value);
/* An f32 value that some node not yet run reads. PITH_ERR_IO, what reading data returns. */
enum pith_status pith_sample_walk_read(const struct sample_walk *w, uint32_t value, uint64_t sample,
                                       float *x, struct pith_error *err);

#endif
