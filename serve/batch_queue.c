/* SPDX-License-Identifier: MIT */
#include "batch_queue.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/error_fill.h"
#include "core/tensor.h"
#include "measure/engine.h"
#include "pith_host.h"

#define MAX_PLANS 16 /* max_batch is at most 2^15 */

struct job {
    const struct infer_request *request;
    struct infer_result *result;
    struct job *next;
    pthread_cond_t wake;
    enum pith_status status;
    struct pith_error *err;
    uint64_t arrived_ns;
    bool taken; /* out of the queue, into a batch */
    bool done;
};

struct batch_queue {
    const struct served_model *m;
    struct pith_engine *engines[MAX_PLANS]; /* owns: of 2^i rows; the last of max_batch */
    uint32_t rows[MAX_PLANS];
    uint32_t n_engines;
    uint64_t max_wait_ns, timeout_ns;
    _Atomic uint64_t run_until_ns, busy_ns;
    pthread_mutex_t lock; /* of all that follows */
    struct job *first, **end;
    uint32_t n_waiting;
    uint64_t waiting_rows;
    pthread_cond_t arrival;
    bool busy;
};

/* ---- open, close ------------------------------------------------------------------------------
 */

static int run_overdue(void *user)
{
    struct batch_queue *q = user;
    return pith_clock_ns(NULL) > atomic_load_explicit(&q->run_until_ns, memory_order_relaxed);
}

static enum pith_status open_engines(struct batch_queue *q, const struct pith_packed *packed,
                                     const struct pith_engine_opts *opts, struct pith_error *err)
{
    struct pith_engine_opts o = *opts;
    o.stop = run_overdue;
    o.stop_user = q;
    for (uint32_t rows = 1;; rows = rows * 2 < q->m->max_batch ? rows * 2 : q->m->max_batch) {
        o.batch = q->m->batch_open ? rows : 0;
        enum pith_status st = pith_engine_open_packed(packed, &o, &q->engines[q->n_engines], err);
        if (st)
            return st;
        q->rows[q->n_engines++] = rows;
        o.share = q->engines[0];
        if (rows >= q->m->max_batch || q->m->sizes_open) /* whose plans follow the requests */
            return PITH_OK;
    }
}

static void init_condition(pthread_cond_t *c)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(c, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

enum pith_status batch_queue_open(const struct served_model *m, const struct pith_packed *packed,
                                  const struct batch_queue_opts *opts, struct batch_queue **queue,
                                  struct pith_error *err)
{
    struct batch_queue *q = calloc(1, sizeof *q);
    if (!q)
        return pith_error_no_memory(err);
    q->m = m;
    q->max_wait_ns = opts->max_wait_ns;
    q->timeout_ns = opts->timeout_ns;
    q->end = &q->first;
    atomic_store(&q->run_until_ns, UINT64_MAX);
    pthread_mutex_init(&q->lock, NULL);
    init_condition(&q->arrival);
    enum pith_status st = open_engines(q, packed, opts->engine, err);
    if (st)
        batch_queue_close(q);
    else
        *queue = q;
    return st;
}

void batch_queue_close(struct batch_queue *q)
{
    if (!q)
        return;
    while (q->n_engines > 0) /* the first has the threads of all */
        pith_engine_close(q->engines[--q->n_engines]);
    pthread_cond_destroy(&q->arrival);
    pthread_mutex_destroy(&q->lock);
    free(q);
}

const struct pith_engine *batch_queue_engine(const struct batch_queue *q)
{
    return q->engines[0];
}

uint64_t batch_queue_bytes(const struct batch_queue *q)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < q->n_engines; i++)
        bytes += pith_engine_need(q->engines[i]).bytes;
    return bytes;
}

uint64_t batch_queue_busy_ns(const struct batch_queue *q)
{
    return atomic_load_explicit(&q->busy_ns, memory_order_relaxed);
}

uint32_t batch_queue_length(struct batch_queue *q)
{
    pthread_mutex_lock(&q->lock);
    const uint32_t n = q->n_waiting;
    pthread_mutex_unlock(&q->lock);
    return n;
}

/* ---- the queue, under its lock ----------------------------------------------------------------
 */

static void wait_until(pthread_cond_t *c, pthread_mutex_t *lock, uint64_t ns)
{
    const struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    pthread_cond_timedwait(c, lock, &t);
}

static void append(struct batch_queue *q, struct job *job)
{
    *q->end = job;
    q->end = &job->next;
    q->n_waiting++;
    q->waiting_rows += job->request->rows;
    pthread_cond_signal(&q->arrival);
}

static void unlink_job(struct batch_queue *q, struct job **at)
{
    struct job *job = *at;
    *at = job->next;
    if (q->end == &job->next)
        q->end = at;
    job->next = NULL;
    q->n_waiting--;
    q->waiting_rows -= job->request->rows;
}

static void give_up(struct batch_queue *q, struct job *job)
{
    struct job **at = &q->first;
    while (*at != job)
        at = &(*at)->next;
    unlink_job(q, at);
    job->done = true;
    job->status = pith_error_fill(job->err, PITH_ERR_STOPPED,
                                  "network '%s' is busy: the request waited too long", q->m->name);
}

/* Whether the rows of two requests have one shape. */
static bool have_equal_rows(const struct served_model *m, const struct infer_request *a,
                            const struct infer_request *b)
{
    for (uint32_t i = 0; i < m->n_inputs; i++)
        for (uint32_t d = m->batch_open; d < m->inputs[i].rank; d++)
            if (a->shape[i].dim[d] != b->shape[i].dim[d])
                return false;
    return true;
}

/* The oldest requests whose rows fit into a batch together. */
static struct job *take_batch(struct batch_queue *q, uint32_t *rows)
{
    struct job *batch = NULL, **end = &batch;
    *rows = 0;
    while (q->first && *rows + q->first->request->rows <= q->m->max_batch &&
           (!batch || have_equal_rows(q->m, batch->request, q->first->request))) {
        struct job *job = q->first;
        unlink_job(q, &q->first);
        job->taken = true;
        *rows += job->request->rows;
        *end = job;
        end = &job->next;
    }
    return batch;
}

/* ---- a batch ----------------------------------------------------------------------------------
 */

static void copy_inputs(const struct served_model *m, struct pith_plan *plan,
                        const struct job *batch, uint32_t plan_rows)
{
    for (uint32_t i = 0; i < m->n_inputs; i++) {
        const struct infer_request *first = batch->request;
        const size_t row =
            (size_t)(first->shape[i].elems / first->rows) * pith_type_bytes(m->inputs[i].run);
        uint8_t *to = pith_plan_input_data(plan, i), *end = to + row * plan_rows;
        for (const struct job *j = batch; j; j = j->next) {
            memcpy(to, j->request->input[i], row * j->request->rows);
            to += row * j->request->rows;
        }
        memset(to, 0, (size_t)(end - to));
    }
}

/* Rows from first_row on, of plan_rows in the plan. */
static enum pith_status copy_output(const struct served_model *m, const struct pith_plan *plan,
                                    uint32_t output, uint32_t first_row, uint32_t plan_rows,
                                    const struct job *job)
{
    struct infer_output *o = &job->result->outputs[output];
    struct pith_tensor t;
    pith_plan_output(plan, output, &t);
    const uint64_t row = m->batch_open ? t.bytes / plan_rows : t.bytes;
    const uint32_t rows = m->batch_open ? job->request->rows : 1;
    o->bytes = row * rows;
    o->rank = t.rank;
    memcpy(o->dim, t.dim, sizeof o->dim);
    if (m->batch_open && t.rank > 0)
        o->dim[0] = rows;
    o->data = malloc((size_t)o->bytes + 1);
    if (!o->data)
        return PITH_ERR_MEMORY;
    if (o->bytes)
        memcpy(o->data, (const uint8_t *)pith_plan_output_data(plan, output) + row * first_row,
               (size_t)o->bytes);
    return PITH_OK;
}

static void copy_outputs(const struct served_model *m, const struct pith_plan *plan,
                         struct job *batch, uint32_t plan_rows)
{
    uint32_t row = 0;
    for (struct job *j = batch; j; row += j->request->rows, j = j->next)
        for (uint32_t i = 0; i < m->n_outputs && !j->status; i++)
            if (j->request->answers[i].form)
                j->status = copy_output(m, plan, i, row, plan_rows, j);
}

/* The plan for the shapes of the batch, and how many rows it has. */
static enum pith_status choose_plan(struct batch_queue *q, const struct job *batch, uint32_t rows,
                                    struct pith_engine **engine, uint32_t *plan_rows,
                                    struct pith_error *err)
{
    const struct served_model *m = q->m;
    uint32_t k = 0;
    while (!m->sizes_open && q->rows[k] < rows)
        k++;
    *engine = q->engines[k];
    *plan_rows = m->sizes_open ? rows : q->rows[k];
    struct pith_tensor *t = m->sizes_open ? calloc(m->n_inputs + 1u, sizeof *t) : NULL;
    if (!m->sizes_open)
        return PITH_OK;
    if (!t)
        return pith_error_no_memory(err);
    for (uint32_t i = 0; i < m->n_inputs; i++) {
        t[i] = (struct pith_tensor){.name = m->inputs[i].name,
                                    .name_bytes = (uint32_t)strlen(m->inputs[i].name),
                                    .rank = m->inputs[i].rank};
        memcpy(t[i].dim, batch->request->shape[i].dim, sizeof t[i].dim);
    }
    const enum pith_status st = pith_engine_fit_sizes(*engine, rows, t, m->n_inputs, err);
    free(t);
    return st;
}

static void run_batch(struct batch_queue *q, struct job *batch, uint32_t rows)
{
    struct pith_error err = {0};
    struct pith_engine *engine;
    uint32_t plan_rows;
    const uint64_t start = pith_clock_ns(NULL);
    atomic_store_explicit(&q->run_until_ns, start + q->timeout_ns, memory_order_relaxed);
    enum pith_status st = choose_plan(q, batch, rows, &engine, &plan_rows, &err);
    struct pith_plan *plan = pith_engine_plan(engine);
    if (!st)
        copy_inputs(q->m, plan, batch, plan_rows);
    const uint64_t copied = pith_clock_ns(NULL);
    st = st ? st : pith_engine_run(engine, &err);
    const uint64_t ran = pith_clock_ns(NULL);
    for (struct job *j = batch; j && st; j = j->next) {
        j->status = st;
        *j->err = err;
    }
    if (!st)
        copy_outputs(q->m, plan, batch, plan_rows);
    const uint64_t end = pith_clock_ns(NULL);
    atomic_fetch_add_explicit(&q->busy_ns, end - start, memory_order_relaxed);
    for (struct job *j = batch; j; j = j->next) {
        j->result->queue_ns = start - j->arrived_ns;
        j->result->input_ns = copied - start;
        j->result->run_ns = ran - copied;
        j->result->output_ns = end - ran;
        j->result->leads = j == batch;
    }
}

/* Called with the lock, which is open while the batch runs. */
static void lead(struct batch_queue *q)
{
    uint32_t rows;
    q->busy = true;
    const uint64_t until = q->first->arrived_ns + q->max_wait_ns;
    while (q->first && q->waiting_rows < q->m->max_batch && pith_clock_ns(NULL) < until)
        wait_until(&q->arrival, &q->lock, until);
    struct job *batch = take_batch(q, &rows);
    pthread_mutex_unlock(&q->lock);
    if (batch)
        run_batch(q, batch, rows);
    pthread_mutex_lock(&q->lock);
    while (batch) {
        struct job *next = batch->next; /* its thread may be gone after the lock */
        batch->done = true;
        pthread_cond_signal(&batch->wake);
        batch = next;
    }
    q->busy = false;
    if (q->first)
        pthread_cond_signal(&q->first->wake);
}

enum pith_status batch_queue_run(struct batch_queue *q, const struct infer_request *request,
                                 struct infer_result *result, struct pith_error *err)
{
    struct pith_error ignored;
    struct job job = {.request = request,
                      .result = result,
                      .err = err ? err : &ignored,
                      .arrived_ns = pith_clock_ns(NULL)};
    const uint64_t until = job.arrived_ns + q->timeout_ns;
    *result =
        (struct infer_result){.outputs = calloc(q->m->n_outputs + 1u, sizeof *result->outputs)};
    if (!result->outputs)
        return pith_error_no_memory(err);
    init_condition(&job.wake);
    pthread_mutex_lock(&q->lock);
    append(q, &job);
    while (!job.done) {
        if (!q->busy && q->first)
            lead(q);
        else if (!job.taken && pith_clock_ns(NULL) >= until)
            give_up(q, &job);
        else if (job.taken)
            pthread_cond_wait(&job.wake, &q->lock);
        else
            wait_until(&job.wake, &q->lock, until);
    }
    if (!q->busy && q->first)
        pthread_cond_signal(&q->first->wake);
    pthread_mutex_unlock(&q->lock);
    pthread_cond_destroy(&job.wake);
    return job.status == PITH_ERR_MEMORY ? pith_error_no_memory(err) : job.status;
}

void infer_result_free(const struct served_model *m, struct infer_result *r)
{
    for (uint32_t i = 0; r->outputs && i < m->n_outputs; i++)
        free(r->outputs[i].data);
    free(r->outputs);
    *r = (struct infer_result){0};
}
