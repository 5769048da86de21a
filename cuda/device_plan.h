/* SPDX-License-Identifier: MIT */
/* device_plan.h - a plan on a device: what its files share. */
#ifndef DEVICE_PLAN_H
#define DEVICE_PLAN_H

#include "device_lower.h"

/* Actions of a step, and where it runs. */
struct device_step {
    uint32_t first, n; /* in lowering.action */
    bool on_cpu;
    uint64_t bytes; /* of its weights, inputs and outputs there */
};

/* Steps of a run that is timed, in the order of the walk, each behind its event; the last event is
 * behind all. */
struct device_mark {
    void *event; /* owns */
    uint32_t step;
};
struct device_times {
    struct device_mark *mark; /* owns */
    uint32_t n, room;
    void *pair[2]; /* own: around one step, where there is no graph */
};

/* A run as one launch (device_program.c). */
struct device_program {
    struct action *action; /* owns, while the graph is made: all that a run puts on the stream */
    uint32_t n, room;
    device_address memory; /* owns: its steps */
    struct program_table table;
    uint64_t graph_ns, program_ns; /* what runs took; 0: they were not timed */
};

/* An input or output of the graph: its bytes on the device and in pinned memory. */
struct device_end {
    device_address address; /* 0: nothing reads it, or it is a constant of the plan */
    uint64_t bytes, pinned_at;
};

struct pith_cuda_plan {
    struct pith_cuda *cuda; /* borrows, and plan */
    struct pith_plan *plan;
    struct lowering lowering;
    struct device_step *step; /* owns: [plan->n_steps] */
    struct device_end *end;   /* owns: [n_inputs + n_outputs] */
    uint32_t n_inputs, n_outputs;
    device_address arena, constants; /* own */
    uint8_t *pinned;                 /* owns */
    uint64_t device_bytes;
    device_stream stream; /* owns */
    void *graph;          /* owns; NULL: steps are put on the stream one by one */
    uint64_t graph_steps; /* that a run of it counts */
    uint32_t launches;    /* actions of one run */
    bool capturing;
    struct device_program program;
    struct device_times times; /* of a plan that has a clock */
    uint32_t decoded;          /* weights */
    enum pith_status lost;     /* what the driver ended in */
};

/* device_run.c: puts all steps on the stream, in the order that the network's loops and branches
 * make of them. limit: steps it may count. PITH_ERR_LIMIT, PITH_ERR_STOPPED, PITH_ERR_IO. */
enum pith_status pith_device_enqueue(struct pith_cuda_plan *p, uint64_t limit,
                                     struct pith_error *err);
/* Whether the walk never has to wait: no step needs the CPU, and no data decides. */
bool pith_device_is_fixed(const struct pith_cuda_plan *p);
/* device_plan.c: what `put` puts on the stream, as a graph that can be launched. */
enum pith_status pith_device_capture(struct pith_cuda_plan *p,
                                     enum pith_status (*put)(struct pith_cuda_plan *p,
                                                             struct pith_error *err),
                                     void **graph, struct pith_error *err);
/* device_program.c: an action of the walk that is captured; a result of the driver. */
int pith_device_record(struct device_program *d, const struct action *a);
/* The faster of p->graph and one launch of what was recorded becomes p->graph. */
enum pith_status pith_device_one_launch(struct pith_cuda_plan *p, struct pith_error *err);
/* device_chain.c: joins launches of steps of l->plan that are functions of an element. */
void pith_device_chain(struct lowering *l, struct device_step *step);
/* Addresses that the walk needs of a control step. */
void pith_device_lower_control(struct lowering *l, const struct step *s);

/* device_times.c: an event before step `at`, in a capture; one more, of any step, ends the last.
 * All return results of the driver. */
int pith_device_mark(struct pith_cuda_plan *p, uint32_t at);
/* Adds the times between the events to the plan's steps, after the run has been waited for. */
int pith_device_read_times(struct pith_cuda_plan *p);
/* Two events around a step that is put on the stream by itself: 0 before, 1 behind. Their distance
 * in ns, once they are behind. */
int pith_device_pair(struct pith_cuda_plan *p, uint32_t which);
int pith_device_pair_ns(struct pith_cuda_plan *p, uint64_t *ns);
/* Zeroes the times of all steps. */
void pith_device_reset_times(struct pith_cuda_plan *p);
void pith_device_times_free(struct pith_cuda_plan *p);

/* pack.c: the bytes of a constant as they go to the device. PITH_ERR_CORRUPT, _MEMORY. */
enum pith_status pith_device_pack(const struct constant *c, uint8_t *to);

#endif
