/* SPDX-License-Identifier: MIT */
/* test_request_counts.c - sums, buckets and the latency of recent requests. */
#include <stdint.h>
#include "test_run.h"
#include "serve/request_counts.h"

#define MS UINT64_C(1000000)

static struct request_counts counts;

static void begin(void)
{
    counts = (struct request_counts){.lock = PTHREAD_MUTEX_INITIALIZER};
}

static void end_at(uint64_t end_ns, uint64_t took_ns)
{
    const struct infer_request request = {.rows = 3};
    const struct infer_result result = {
        .leads = 1, .queue_ns = 1, .input_ns = 20, .run_ns = 300, .output_ns = 4000};
    request_counts_success(&counts, &request, &result, end_ns - took_ns, end_ns);
}

TEST(sums_and_buckets)
{
    begin();
    end_at(1000 * MS, MS / 10);       /* the end of a bucket is in it */
    end_at(2000 * MS, MS / 10 + 1);   /* the next */
    end_at(9000 * MS, 5000 * MS);     /* the last with an end */
    end_at(9000 * MS, 5000 * MS + 1); /* without one */
    request_counts_failure(&counts);
    assert_int_equal(counts.success, 4);
    assert_int_equal(counts.failure, 1);
    assert_int_equal(counts.rows, 12);
    assert_int_equal(counts.batches, 4);
    assert_int_equal(counts.request_ns, 10000 * MS + MS / 5 + 2);
    assert_int_equal(counts.queue_ns, 4);
    assert_int_equal(counts.input_ns, 80);
    assert_int_equal(counts.run_ns, 1200);
    assert_int_equal(counts.output_ns, 16000);
    for (uint32_t b = 0; b < LATENCY_BUCKETS; b++)
        assert_int_equal(counts.bucket[b], b < 2 || b >= LATENCY_BUCKETS - 2);
}

TEST(latency_is_of_the_last_seconds)
{
    struct latency l;
    begin();
    request_counts_latency(&counts, 5000 * MS, 1, &l);
    assert_true(l.n == 0 && l.p50_ms == 0 && l.per_second == 0);
    for (uint64_t i = 1; i <= 200; i++) /* 1 to 200 ms, the longest first */
        end_at(10000 * MS + i * MS, (201 - i) * MS);
    end_at(9000 * MS, 500 * MS); /* too old by one ms */
    request_counts_latency(&counts, 14001 * MS, 5, &l);
    assert_int_equal(l.n, 200);
    assert_true(l.p50_ms == 101 && l.p90_ms == 181 && l.p99_ms == 199 && l.max_ms == 200);
    assert_true(l.per_second == 40);
    request_counts_latency(&counts, 14000 * MS, 5, &l);
    assert_int_equal(l.n, 201);
    assert_true(l.max_ms == 500);
}

/* Of more requests than the ring holds the last ones; they fill less than the seconds. */
TEST(a_full_ring)
{
    struct latency l;
    begin();
    for (uint64_t i = 0; i < RECENT_REQUESTS + 10; i++)
        end_at(1000 * MS + i * MS, i < 10 ? 900 * MS : MS);
    request_counts_latency(&counts, 1000 * MS + (RECENT_REQUESTS + 9) * MS, 60, &l);
    assert_int_equal(l.n, RECENT_REQUESTS);
    assert_true(l.max_ms == 1);
    assert_true(l.per_second > 1000 && l.per_second < 1002); /* 1,024 in 1.023 s */
}

RUN_TESTS
