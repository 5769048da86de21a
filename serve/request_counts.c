/* SPDX-License-Identifier: MIT */
#include "request_counts.h"
#include <stdlib.h>

const double latency_bucket_ms[LATENCY_BUCKETS - 1] = {0.1, 0.25, 0.5, 1,   2.5,  5,    10,  25,
                                                       50,  100,  250, 500, 1000, 2500, 5000};

void request_counts_success(struct request_counts *c, const struct infer_request *request,
                            const struct infer_result *result, uint64_t start_ns, uint64_t end_ns)
{
    const double ms = (double)(end_ns - start_ns) / 1e6;
    uint32_t bucket = 0;
    while (bucket + 1 < LATENCY_BUCKETS && ms > latency_bucket_ms[bucket])
        bucket++;
    pthread_mutex_lock(&c->lock);
    c->recent[c->success % RECENT_REQUESTS].end_ns = end_ns;
    c->recent[c->success % RECENT_REQUESTS].ms = (float)ms;
    c->success++;
    c->rows += request->rows;
    c->batches += result->leads;
    c->request_ns += end_ns - start_ns;
    c->queue_ns += result->queue_ns;
    c->input_ns += result->input_ns;
    c->run_ns += result->run_ns;
    c->output_ns += result->output_ns;
    c->bucket[bucket]++;
    pthread_mutex_unlock(&c->lock);
}

void request_counts_failure(struct request_counts *c)
{
    pthread_mutex_lock(&c->lock);
    c->failure++;
    pthread_mutex_unlock(&c->lock);
}

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

void request_counts_latency(struct request_counts *c, uint64_t now_ns, double seconds,
                            struct latency *l)
{
    float ms[RECENT_REQUESTS];
    uint32_t n = 0;
    uint64_t first_ns = now_ns;
    const uint64_t span_ns = (uint64_t)(seconds * 1e9);
    pthread_mutex_lock(&c->lock);
    for (uint32_t i = 0; i < RECENT_REQUESTS && i < c->success; i++) {
        if (now_ns - c->recent[i].end_ns > span_ns)
            continue;
        ms[n++] = c->recent[i].ms;
        if (c->recent[i].end_ns < first_ns)
            first_ns = c->recent[i].end_ns;
    }
    pthread_mutex_unlock(&c->lock);
    *l = (struct latency){.n = n};
    if (n == 0)
        return;
    qsort(ms, n, sizeof *ms, by_value);
    l->p50_ms = ms[n / 2];
    l->p90_ms = ms[(size_t)n * 9 / 10];
    l->p99_ms = ms[(size_t)n * 99 / 100];
    l->max_ms = ms[n - 1];
    /* A full ring spans less than `seconds`. */
    l->per_second = n / (n == RECENT_REQUESTS ? (double)(now_ns - first_ns + 1) / 1e9 : seconds);
}
