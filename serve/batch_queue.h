/* SPDX-License-Identifier: MIT */
/* batch_queue.h - runs requests to one network from many threads. Requests that wait while it is
 * busy run together as one batch.
 *
 * There is a plan for each batch of 1, 2, 4 ... max_batch rows; rows that no request fills are
 * zeros. No thread of its own: of the threads that wait, one runs the next batch for all whose rows
 * are in it. */
#ifndef BATCH_QUEUE_H
#define BATCH_QUEUE_H

#include "infer_request.h"
#include "pith_measure.h"

struct infer_output {
    void *data; /* owned: as the runtime gave it; NULL: not requested */
    uint64_t bytes;
    uint32_t rank;
    uint32_t dim[PITH_MAX_RANK];
};

struct infer_result {
    struct infer_output *outputs;         /* owned: [n_outputs] */
    uint64_t queue_ns;                    /* waiting for other requests */
    uint64_t input_ns, run_ns, output_ns; /* of the batch: copying in, running, copying out */
    bool leads;                           /* counts the batch: set in one of its requests */
};

struct batch_queue;

struct batch_queue_opts {
    const struct pith_engine_opts *engine; /* borrowed during the call */
    uint64_t max_wait_ns; /* that a request waits for others although the network is free */
    uint64_t timeout_ns;  /* in the queue, and of a run */
};

/* Makes the plans: m and packed must live until batch_queue_close. What pith_engine_open_packed
 * returns. */
enum pith_status batch_queue_open(const struct served_model *m, const struct pith_packed *packed,
                                  const struct batch_queue_opts *opts, struct batch_queue **queue,
                                  struct pith_error *err);
/* No thread may be in batch_queue_run any more. Accepts NULL. */
void batch_queue_close(struct batch_queue *queue);

/* Returns when the request has run. *result is the caller's in any case: infer_result_free.
 * PITH_ERR_LIMIT: too many steps; PITH_ERR_STOPPED: timeout; PITH_ERR_MEMORY. */
enum pith_status batch_queue_run(struct batch_queue *queue, const struct infer_request *request,
                                 struct infer_result *result, struct pith_error *err);
void infer_result_free(const struct served_model *m, struct infer_result *result);

/* Requests that wait now. */
uint32_t batch_queue_length(struct batch_queue *queue);
/* Memory of all plans, their share of a common image included. */
uint64_t batch_queue_bytes(const struct batch_queue *queue);
/* Time that it was running, in all. */
uint64_t batch_queue_busy_ns(const struct batch_queue *queue);
/* The first plan's engine; for messages about its device. */
const struct pith_engine *batch_queue_engine(const struct batch_queue *queue);

#endif
