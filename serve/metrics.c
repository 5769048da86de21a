/* SPDX-License-Identifier: MIT */
#include "metrics.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "infer_response.h"
#include "measure/engine.h"
#include "pith_host.h"

#define RECENT_SECONDS 60

/* Of one network, at one moment. */
struct snapshot {
    const char *name;
    struct request_counts counts; /* its lock is not used */
    uint32_t waiting;
};

static void take_snapshot(struct server_network *n, struct snapshot *to)
{
    pthread_mutex_lock(&n->counts.lock);
    const size_t first = offsetof(struct request_counts, success); /* behind the lock */
    memcpy((char *)&to->counts + first, (const char *)&n->counts + first, sizeof n->counts - first);
    pthread_mutex_unlock(&n->counts.lock);
    to->name = n->model.name;
    to->waiting = batch_queue_length(n->queue);
}

/* Resident bytes of this process; 0: unknown. */
static uint64_t resident_bytes(void)
{
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%*u %llu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* ---- Prometheus -------------------------------------------------------------------------------
 */

/* In quotes: backslash, quote and line end escaped, as JSON does; a name has no control characters.
 */
static void put_labels(struct byte_out *out, const char *name)
{
    pith_json_format(out, "{model=");
    pith_json_quote(out, name, strlen(name));
    pith_json_format(out, ",version=\"1\"");
}

static void put_head(struct byte_out *out, const char *name, const char *type, const char *help)
{
    pith_json_format(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

enum unit { COUNT, NANOSECONDS };
static const struct metric {
    const char *name, *type, *help;
    enum unit unit;
    size_t offset; /* of a uint64_t in struct request_counts */
} metrics[] = {
    {"nv_inference_request_success", "counter", "Number of successful inference requests", COUNT,
     offsetof(struct request_counts, success)},
    {"nv_inference_request_failure", "counter", "Number of failed inference requests", COUNT,
     offsetof(struct request_counts, failure)},
    {"nv_inference_count", "counter", "Number of inferences performed", COUNT,
     offsetof(struct request_counts, rows)},
    {"nv_inference_exec_count", "counter", "Number of batches executed", COUNT,
     offsetof(struct request_counts, batches)},
    {"nv_inference_request_duration_us", "counter", "Cumulative duration of requests", NANOSECONDS,
     offsetof(struct request_counts, request_ns)},
    {"nv_inference_queue_duration_us", "counter", "Cumulative time in the queue", NANOSECONDS,
     offsetof(struct request_counts, queue_ns)},
    {"nv_inference_compute_input_duration_us", "counter", "Cumulative time of copying inputs",
     NANOSECONDS, offsetof(struct request_counts, input_ns)},
    {"nv_inference_compute_infer_duration_us", "counter", "Cumulative time of inference",
     NANOSECONDS, offsetof(struct request_counts, run_ns)},
    {"nv_inference_compute_output_duration_us", "counter", "Cumulative time of copying outputs",
     NANOSECONDS, offsetof(struct request_counts, output_ns)}};

static void put_counters(struct byte_out *out, const struct snapshot *s, uint32_t n)
{
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        const struct metric *m = &metrics[i];
        put_head(out, m->name, m->type, m->help);
        for (uint32_t k = 0; k < n; k++) {
            uint64_t v;
            memcpy(&v, (const char *)&s[k].counts + m->offset, sizeof v);
            pith_json_format(out, "%s", m->name);
            put_labels(out, s[k].name);
            pith_json_format(out, "} %" PRIu64 "\n", m->unit == NANOSECONDS ? v / 1000 : v);
        }
    }
}

static void put_histogram(struct byte_out *out, const struct snapshot *s)
{
    static const char name[] = "nv_inference_first_response_histogram_ms";
    uint64_t sum = 0;
    for (uint32_t b = 0; b < LATENCY_BUCKETS; b++) {
        char end[32] = "+Inf";
        sum += s->counts.bucket[b];
        if (b + 1 < LATENCY_BUCKETS)
            snprintf(end, sizeof end, "%g", latency_bucket_ms[b]);
        pith_json_format(out, "%s_bucket", name);
        put_labels(out, s->name);
        pith_json_format(out, ",le=\"%s\"} %" PRIu64 "\n", end, sum);
    }
    pith_json_format(out, "%s_sum", name);
    put_labels(out, s->name);
    pith_json_format(out, "} %.3f\n%s_count", (double)s->counts.request_ns / 1e6, name);
    put_labels(out, s->name);
    pith_json_format(out, "} %" PRIu64 "\n", sum);
}

static const struct {
    const char *name, *type, *help;
    size_t offset; /* of a double in struct gpu_reading */
} gpu_metrics[] = {{"nv_gpu_utilization", "gauge", "GPU utilization rate, 0 to 1",
                    offsetof(struct gpu_reading, utilization)},
                   {"nv_gpu_power_usage", "gauge", "GPU power usage in watts",
                    offsetof(struct gpu_reading, power_w)},
                   {"nv_gpu_power_limit", "gauge", "GPU power limit in watts",
                    offsetof(struct gpu_reading, power_limit_w)},
                   {"nv_energy_consumption", "counter", "GPU energy consumption in joules",
                    offsetof(struct gpu_reading, energy_j)},
                   {"nv_gpu_memory_total_bytes", "gauge", "GPU total memory in bytes",
                    offsetof(struct gpu_reading, memory_total_bytes)},
                   {"nv_gpu_memory_used_bytes", "gauge", "GPU used memory in bytes",
                    offsetof(struct gpu_reading, memory_used_bytes)}};

static void put_gpus(struct byte_out *out, const struct gpu_meter *meter)
{
    struct gpu_reading r;
    for (size_t i = 0; gpu_meter_count(meter) && i < sizeof gpu_metrics / sizeof *gpu_metrics;
         i++) {
        put_head(out, gpu_metrics[i].name, gpu_metrics[i].type, gpu_metrics[i].help);
        for (uint32_t g = 0; gpu_meter_read(meter, g, &r); g++) {
            double v;
            memcpy(&v, (const char *)&r + gpu_metrics[i].offset, sizeof v);
            if (isfinite(v))
                pith_json_format(out, "%s{gpu_uuid=\"%s\"} %.15g\n", gpu_metrics[i].name, r.uuid,
                                 v);
        }
    }
}

static void put_waiting(struct byte_out *out, const struct snapshot *s, uint32_t n)
{
    static const char name[] = "nv_inference_pending_request_count";
    put_head(out, name, "gauge", "Number of requests that wait");
    for (uint32_t i = 0; i < n; i++) {
        pith_json_format(out, "%s", name);
        put_labels(out, s[i].name);
        pith_json_format(out, "} %u\n", s[i].waiting);
    }
}

void metrics_prometheus(struct server *s, struct byte_out *out)
{
    struct snapshot *all = calloc(s->n_networks + 1u, sizeof *all);
    if (!all) {
        out->failed = true;
        return;
    }
    for (uint32_t i = 0; i < s->n_networks; i++)
        take_snapshot(&s->networks[i], &all[i]);
    put_counters(out, all, s->n_networks);
    put_waiting(out, all, s->n_networks);
    put_head(out, "nv_inference_first_response_histogram_ms", "histogram",
             "Duration from request to response in ms");
    for (uint32_t i = 0; i < s->n_networks; i++)
        put_histogram(out, &all[i]);
    put_head(out, "nv_cpu_memory_used_bytes", "gauge", "Resident memory of this process in bytes");
    pith_json_format(out, "nv_cpu_memory_used_bytes %" PRIu64 "\n", resident_bytes());
    put_gpus(out, s->gpus);
    free(all);
}

/* ---- JSON for the page ------------------------------------------------------------------------
 */

static void put_network(struct byte_out *out, struct server_network *n, uint64_t now)
{
    struct snapshot s;
    struct latency l;
    const struct pith_engine *e = batch_queue_engine(n->queue);
    const char *device = pith_engine_device(e);
    take_snapshot(n, &s);
    request_counts_latency(&n->counts, now, RECENT_SECONDS, &l);
    pith_json_format(out, "{\"name\":");
    pith_json_quote(out, s.name, strlen(s.name));
    pith_json_format(out, ",\"device\":");
    pith_json_quote(out, device ? device : "CPU", strlen(device ? device : "CPU"));
    pith_json_format(out,
                     ",\"file_bytes\":%zu,\"memory_bytes\":%" PRIu64
                     ",\"max_batch\":%u,\"success\":%" PRIu64 ",\"failure\":%" PRIu64
                     ",\"rows\":%" PRIu64 ",\"batches\":%" PRIu64 ",\"busy_s\":%.6f,\"waiting\":%u",
                     pith_engine_file_bytes(e), batch_queue_bytes(n->queue), n->model.max_batch,
                     s.counts.success, s.counts.failure, s.counts.rows, s.counts.batches,
                     (double)batch_queue_busy_ns(n->queue) / 1e9, s.waiting);
    pith_json_format(
        out,
        ",\"recent\":{\"requests\":%u,\"per_second\":%.4g,\"p50_ms\":%.4g,\"p90_ms\":%.4g,"
        "\"p99_ms\":%.4g,\"max_ms\":%.4g},\"buckets\":[",
        l.n, l.per_second, l.p50_ms, l.p90_ms, l.p99_ms, l.max_ms);
    for (uint32_t b = 0; b < LATENCY_BUCKETS; b++)
        pith_json_format(out, b ? ",%" PRIu64 : "%" PRIu64, s.counts.bucket[b]);
    pith_json_format(out, "]}");
}

void metrics_status(struct server *s, struct byte_out *out)
{
    const uint64_t now = pith_clock_ns(NULL);
    struct gpu_reading r;
    const uint32_t v = pith_version();
    pith_json_format(out,
                     "{\"version\":\"%u.%u.%u\",\"uptime_s\":%.3f,\"resident_bytes\":%" PRIu64
                     ",\"bucket_ms\":[",
                     v >> 16, v >> 8 & 255, v & 255, (double)(now - s->started_ns) / 1e9,
                     resident_bytes());
    for (uint32_t b = 0; b + 1 < LATENCY_BUCKETS; b++)
        pith_json_format(out, b ? ",%g" : "%g", latency_bucket_ms[b]);
    pith_json_format(out, "],\"networks\":[");
    for (uint32_t i = 0; i < s->n_networks; i++) {
        if (i)
            pith_out_u8(out, ',');
        put_network(out, &s->networks[i], now);
    }
    pith_json_format(out, "],\"gpus\":[");
    for (uint32_t g = 0; gpu_meter_read(s->gpus, g, &r); g++)
        pith_json_format(out, "%s{\"utilization\":%.4g,\"power_w\":%.4g}", g ? "," : "",
                         isfinite(r.utilization) ? r.utilization : -1,
                         isfinite(r.power_w) ? r.power_w : -1);
    pith_json_format(out, "]}");
}
