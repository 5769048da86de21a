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
 * others in files (pith_kept_values.h); inputs are read from the feed each time. A loop or branch
 * runs as a whole; what its layers read can be recorded (value_record). Results do not depend on
 * threads. A sample is a call of the feed (pith_recorded_feed.h). */
#ifndef SAMPLE_WALK_H
#define SAMPLE_WALK_H

#include "pith_model.h"
#include "pith_recorded_feed.h"

struct sample_walk;

struct sample_walk_opts {
    struct recorded_feed *feed;      /* borrowed */
    const struct pith_opts *runtime; /* cpu_mask, parallel_for; NULL: defaults */
    uint64_t memory_bytes;           /* that kept values may take */
};

/* m is borrowed; its constants may change between calls, nothing else. It is the model that the
 * feed was opened with, or a copy. PITH_ERR_MEMORY. */
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

/* A value each time that it is made, in samples' runs of some nodes. */
struct value_record {
    uint64_t times; /* in each sample; 0: it is not as often in all, or not made at all */
    uint64_t elems;
    struct kept_values *kept; /* owns: array 0 is [samples, times, elems] f32 */
};

/* Of output `output` of node `node`, which is f32, in runs of the nodes first .. last - 1 in which
 * it is; they are run again by whoever goes on. A loop or branch is in there as a whole. An output
 * that the model leaves out has a shape nowhere: dim, of `rank` axes, else NULL. The walk stands at
 * `first`. PITH_ERR_MEMORY, _IO, what running returns. */
struct record_spec {
    uint32_t first, last, node, output;
    uint32_t rank;
    const uint32_t *dim;
};
enum pith_status pith_sample_walk_record(struct sample_walk *w, const struct record_spec *spec,
                                         struct value_record *r, struct pith_error *err);
void pith_value_record_end(struct value_record *r); /* accepts zeros */

#endif
