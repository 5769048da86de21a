/* SPDX-License-Identifier: MIT */
/* layer_walk.h - a network run on many samples at once, some nodes at a time: before a layer
 * multiplies, its inputs of all samples lie ready, as the layers before it, changed already, made
 * them. Each node runs once for each sample, however many layers there are.
 *
 *     pith_layer_walk_open(m, &opts, &w, err);
 *     pith_layer_walk_to(w, node, err);                   all nodes before it
 *     pith_layer_input_open(w, node, pith_layer_walk_body(w, node), &in, err);
 *     pith_layer_input_read(&in, sample, x, err);         sums of these: layer_moments.h
 *     pith_layer_input_close(&in);
 *     ... change m's weight of that node ...
 *     pith_layer_walk_to(w, next, err);
 *     pith_layer_walk_close(w);
 *
 * What is kept are the values that are still to be read, of all samples, in memory to a limit, the
 * others in files (kept_values.h); inputs are read from the feed each time. Results do not
 * depend on threads. A sample is a call of the feed (recorded_feed.h). Two networks that are
 * compared have a walk each (network_pair.h). */
#ifndef PITH_LAYER_WALK_H
#define PITH_LAYER_WALK_H

#include "pith_model.h"
#include "measure/recorded_feed.h"

struct layer_walk;

struct layer_walk_opts {
    struct recorded_feed *feed;      /* borrowed */
    const struct pith_opts *runtime; /* cpu_mask, max_bytes, parallel_for; NULL: defaults */
    uint64_t memory_bytes;           /* that kept values may take */
    /* Each value that comes from the feed, or is kept, of each sample, before anything reads it:
     * data [its bytes] may be changed. On several threads at once. NULL: not wanted. */
    enum pith_status (*change)(void *user, uint32_t value, uint64_t sample, void *data,
                               struct pith_error *err);
    void *user;
};

/* m is borrowed; its constants may change between calls, nothing else. It is the model that the
 * feed was opened with, or one of the same inputs. PITH_ERR_MEMORY. */
enum pith_status pith_layer_walk_open(const struct pith_model *m,
                                      const struct layer_walk_opts *opts, struct layer_walk **w,
                                      struct pith_error *err);
void pith_layer_walk_close(struct layer_walk *w); /* accepts NULL */
const struct pith_model *pith_layer_walk_model(const struct layer_walk *w);
/* Runs the nodes before `node`, or before the outermost loop or branch that it is in; nothing where
 * they were run already.
 * PITH_ERR_MEMORY, _IO, and what reading data, running and opts.change return. */
enum pith_status pith_layer_walk_to(struct layer_walk *w, uint32_t node, struct pith_error *err);
/* Keeps a value that some node makes until the nodes before `node` were run, though nothing reads
 * it any more. Before it is made. */
void pith_layer_walk_hold(struct layer_walk *w, uint32_t value, uint32_t node);
uint64_t pith_layer_walk_samples(const struct layer_walk *w);
/* x: [its bytes] one sample of a value that is kept, or comes from the feed. PITH_ERR_IO, what
 * reading data returns. */
enum pith_status pith_layer_walk_read(const struct layer_walk *w, uint32_t value, uint64_t sample,
                                      void *x, struct pith_error *err);
/* All samples of a value that is kept, or comes from the feed: [samples, bytes of one], until the
 * walk goes on or is closed. PITH_ERR_MEMORY, _IO, what reading data returns. */
enum pith_status pith_layer_walk_map(struct layer_walk *w, uint32_t value, const void **data,
                                     struct pith_error *err);

/* ---- a layer's inputs ------------------------------------------------------------------------ */

/* The nodes begin .. end - 1 of the outermost loop or branch that a node is in; begin == end: it
 * is in none. A loop or branch runs as a whole. */
struct body_span {
    uint32_t begin, end;
};
/* node: 0..m->n_nodes */
struct body_span pith_layer_walk_body(const struct layer_walk *w, uint32_t node);

/* What a layer multiplies its weight with, wherever that comes from:
 *
 *     input 0                        a value that the walk keeps
 *     input 0, in a loop or branch   a record of it, all times one behind the other
 *     the state before each step     of a recurrent product: its results, one step later */
struct layer_input {
    struct layer_walk *walk; /* borrowed */
    const struct pith_node *node;
    struct kept_values *record; /* owns: array 0, each time that the value was made; or NULL */
    uint64_t n_records;
    bool is_state;
    uint64_t elems; /* of a sample; 0: nothing is known, or not as much of each */
};

/* The walk stands at the node, or at the beginning of its body, whose nodes are run once more when
 * it goes on. elems stays 0 where the inputs are not to be had: of a recurrent product in a body,
 * or of sequences of different lengths; and where a loop or branch does not make them as often in
 * each sample. Close in any case. PITH_ERR_MEMORY, _IO, what running returns. */
enum pith_status pith_layer_input_open(struct layer_walk *walk, uint32_t node,
                                       struct body_span body, struct layer_input *in,
                                       struct pith_error *err);
void pith_layer_input_close(struct layer_input *in); /* accepts zeros */
/* x: [elems] of an f32 input. PITH_ERR_IO, what reading data returns. */
enum pith_status pith_layer_input_read(const struct layer_input *in, uint64_t sample, float *x,
                                       struct pith_error *err);
/* All there is of input 0, of any type, one behind the other, *n of them: of each sample one; in a
 * loop or branch each time, up to as many in all as if each sample made it as often as the first.
 * Until `in` is closed or the walk goes on. As pith_layer_walk_map. */
enum pith_status pith_layer_input_map(const struct layer_input *in, const void **data, uint64_t *n,
                                      struct pith_error *err);

#endif
