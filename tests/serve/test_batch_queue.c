/* SPDX-License-Identifier: MIT */
/* test_batch_queue.c - many threads get the rows of their requests, also beside others. */
#include <stdint.h>
#include <stdio.h>
#include "test_run.h"
#include <pthread.h>
#include <stdlib.h>
#include "measure/small_net.h"
#include "pith_pack.h"
#include "serve/batch_queue.h"
#include "serve/request_counts.h"

#define MAX_BATCH 6
#define N_THREADS 8
#define N_REQUESTS 200

struct served {
    struct pith_packed packed;
    struct served_model m;
    struct batch_queue *queue;
};

/* y = [x0 + x1, x0 - x1] */
static void open_served(struct served *s, double max_wait_s, double timeout_s)
{
    static const float w[] = {1, 1, 1, -1};
    struct pith_model *model = small_net(2, 2, w, false);
    struct pith_buffer file = {0};
    const struct pith_engine_opts e = {.size_bytes = sizeof e, .threads = 2};
    const struct batch_queue_opts o = {.engine = &e,
                                       .max_wait_ns = (uint64_t)(max_wait_s * 1e9),
                                       .timeout_ns = (uint64_t)(timeout_s * 1e9)};
    assert_int_equal(pith_model_pack(model, NULL, &file, NULL), PITH_OK);
    pith_model_free(model);
    assert_int_equal(pith_packed_read(&file, "net", NULL, &s->packed, NULL), PITH_OK);
    assert_int_equal(served_model_describe(&s->packed, "a/net.pith", MAX_BATCH, &s->m, NULL),
                     PITH_OK);
    assert_int_equal(batch_queue_open(&s->m, &s->packed, &o, &s->queue, NULL), PITH_OK);
}

static void close_served(struct served *s)
{
    batch_queue_close(s->queue);
    served_model_free(&s->m);
    pith_packed_free(&s->packed);
}

/* A request of `rows` rows that begin with number `first`; *led counts batches. */
static enum pith_status ask(struct served *s, uint32_t rows, float first, uint32_t *led)
{
    float x[2 * MAX_BATCH];
    struct infer_request r = {.rows = rows,
                              .shape = (struct infer_shape[]){{{rows, 2}, 2 * (uint64_t)rows}},
                              .input = (const void *[]){x},
                              .answers = (struct answer[]){{ANSWER_JSON, 0}}};
    struct infer_result result;
    for (uint32_t i = 0; i < 2 * rows; i++)
        x[i] = first + (float)i;
    const enum pith_status st = batch_queue_run(s->queue, &r, &result, NULL);
    const float *y = st ? NULL : result.outputs[0].data;
    if (y && (result.outputs[0].dim[0] != rows || result.outputs[0].bytes != 8 * rows))
        return PITH_ERR_CORRUPT;
    for (uint32_t i = 0; y && i < rows; i++)
        if (y[2 * i] != x[2 * i] + x[2 * i + 1] || y[2 * i + 1] != -1)
            return PITH_ERR_CORRUPT;
    *led += result.leads;
    infer_result_free(&s->m, &result);
    return st;
}

struct asker {
    struct served *s;
    uint32_t number, led, wrong;
    pthread_t thread;
};

static void *ask_often(void *user)
{
    struct asker *a = user;
    for (uint32_t i = 0; i < N_REQUESTS; i++)
        a->wrong +=
            ask(a->s, 1 + (i + a->number) % 3, (float)(1000 * a->number + i), &a->led) != PITH_OK;
    return NULL;
}

static uint32_t batches_of_many(struct served *s)
{
    struct asker askers[N_THREADS];
    uint32_t led = 0;
    for (uint32_t i = 0; i < N_THREADS; i++) {
        askers[i] = (struct asker){.s = s, .number = i};
        assert_int_equal(pthread_create(&askers[i].thread, NULL, ask_often, &askers[i]), 0);
    }
    for (uint32_t i = 0; i < N_THREADS; i++) {
        pthread_join(askers[i].thread, NULL);
        assert_int_equal(askers[i].wrong, 0);
        led += askers[i].led;
    }
    return led;
}

TEST(everyone_gets_his_rows)
{
    struct served s;
    open_served(&s, 0, 60);
    assert_in_range(batches_of_many(&s), 1, N_THREADS * N_REQUESTS);
    assert_int_equal(batch_queue_length(s.queue), 0);
    close_served(&s);
    open_served(&s, 0.002, 60); /* with time to wait, eight threads fill batches */
    assert_in_range(batches_of_many(&s), 1, N_THREADS * N_REQUESTS - 1);
    close_served(&s);
}

TEST(a_run_past_its_time_is_stopped)
{
    struct served s;
    uint32_t led = 0;
    open_served(&s, 0, 1e-9);
    assert_int_equal(ask(&s, 1, 1, &led), PITH_ERR_STOPPED);
    close_served(&s);
}

TEST(names_come_from_files)
{
    struct served s;
    struct served_model m;
    open_served(&s, 0, 60);
    assert_string_equal(s.m.name, "net");
    assert_int_equal(served_model_describe(&s.packed, "my net", 1, &m, NULL), PITH_OK);
    assert_string_equal(m.name, "my net");
    served_model_free(&m);
    assert_int_equal(served_model_describe(&s.packed, "a/", 1, &m, NULL), PITH_ERR_ARGUMENT);
    assert_int_equal(served_model_describe(&s.packed, "a\nb", 1, &m, NULL), PITH_ERR_ARGUMENT);
    char *json = json_to_text(served_model_metadata(&s.m));
    assert_non_null(
        strstr(json, "\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[-1,2]}]"));
    free(json);
    close_served(&s);
}

TEST(percentiles_are_of_recent_requests)
{
    struct request_counts *c = calloc(1, sizeof *c);
    const struct infer_request r = {.rows = 2};
    const struct infer_result result = {.leads = true, .run_ns = 5};
    struct latency l;
    const uint64_t ms = 1000000, now = 100000 * ms;
    pthread_mutex_init(&c->lock, NULL);
    for (uint32_t i = 0; i < 50; i++) /* long ago */
        request_counts_success(c, &r, &result, 0, 900 * ms);
    for (uint32_t i = 1; i <= 100; i++)
        request_counts_success(c, &r, &result, now - (i + 1) * ms, now - ms);
    request_counts_latency(c, now, 10, &l);
    assert_int_equal(l.n, 100);
    assert_float_equal(l.p50_ms, 51, 1e-3);
    assert_float_equal(l.p99_ms, 100, 1e-3);
    assert_float_equal(l.per_second, 10, 1e-6);
    assert_int_equal(c->rows, 300);
    assert_int_equal(c->bucket[12], 50); /* 500 to 1000 ms */
    free(c);
}

RUN_TESTS
