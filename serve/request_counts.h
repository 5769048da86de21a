/* SPDX-License-Identifier: MIT */
/* request_counts.h - what a network's requests took. */
#ifndef REQUEST_COUNTS_H
#define REQUEST_COUNTS_H

#include <pthread.h>
#include "batch_queue.h"

#define LATENCY_BUCKETS 16u
#define RECENT_REQUESTS 1024u

/* Upper ends of all buckets but the last, in ms. */
extern const double latency_bucket_ms[LATENCY_BUCKETS - 1];

struct request_counts {
    pthread_mutex_t lock;
    uint64_t success, failure;
    uint64_t rows, batches;                                     /* that ran */
    uint64_t request_ns, queue_ns, input_ns, run_ns, output_ns; /* sums over requests */
    uint64_t bucket[LATENCY_BUCKETS];
    struct {
        uint64_t end_ns;
        float ms;
    } recent[RECENT_REQUESTS]; /* a ring: the last is at (success - 1) % RECENT_REQUESTS */
};

void request_counts_success(struct request_counts *c, const struct infer_request *request,
                            const struct infer_result *result, uint64_t start_ns, uint64_t end_ns);
void request_counts_failure(struct request_counts *c);

/* Latency of the successful requests that ended in the last `seconds`, at most RECENT_REQUESTS. */
struct latency {
    uint32_t n;
    double p50_ms, p90_ms, p99_ms, max_ms; /* 0 where n is 0 */
    double per_second;
};
void request_counts_latency(struct request_counts *c, uint64_t now_ns, double seconds,
                            struct latency *latency);

#endif
