/* SPDX-License-Identifier: MIT */
#include "server.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/error_fill.h"
#include "core/tensor.h"
#include "pith_host.h"

#define BODY_BYTES (UINT64_C(64) << 10)    /* of a request besides its values */
#define NUMBER_BYTES 32u                   /* of a value in JSON, with what stands around it */
#define PICTURE_BYTES (UINT64_C(16) << 20) /* of a PNG or JPEG */
#define BODIES_AT_ONCE 8u                  /* of the largest size */
#define PICTURES_AT_ONCE 4u
#define DRAIN_STEP_NS 10000000

bool server_take_memory(struct server *s, uint64_t bytes)
{
    const uint64_t before = atomic_fetch_add(&s->memory_used, bytes);
    if (before <= s->memory_budget && bytes <= s->memory_budget - before)
        return true;
    atomic_fetch_sub(&s->memory_used, bytes);
    return false;
}

void server_give_memory(struct server *s, uint64_t bytes)
{
    atomic_fetch_sub(&s->memory_used, bytes);
}

/* ---- networks ---------------------------------------------------------------------------------
 */

static uint64_t body_limit(const struct served_model *m, uint64_t most)
{
    uint64_t bytes = BODY_BYTES;
    if (m->sizes_open)
        return most;
    for (uint32_t i = 0; i < m->n_inputs; i++)
        bytes += m->inputs[i].row_elems * m->max_batch * NUMBER_BYTES;
    if (m->preprocess && bytes < PICTURE_BYTES)
        bytes = PICTURE_BYTES;
    return bytes < most ? bytes : most;
}

static enum pith_status name_is_new(const struct server *s, const char *name,
                                    struct pith_error *err)
{
    for (uint32_t i = 0; i < s->n_networks; i++)
        if (strcmp(s->networks[i].model.name, name) == 0)
            return pith_error_fill(err, PITH_ERR_ARGUMENT,
                                   "two networks are called '%s': give one another name", name);
    return PITH_OK;
}

static enum pith_status open_network(struct server *s, const struct serve_opts *o,
                                     const struct serve_network *from, struct pith_error *err)
{
    struct server_network *n = &s->networks[s->n_networks];
    const struct batch_queue_opts queue = {.engine = o->engine,
                                           .max_wait_ns = (uint64_t)(o->max_wait_s * 1e9),
                                           .timeout_ns = s->timeout_ns};
    enum pith_status st =
        served_model_describe(from->packed, from->name, o->max_batch, &n->model, err);
    if (st)
        return st;
    st = name_is_new(s, n->model.name, err);
    if (st) {
        served_model_free(&n->model);
        return st;
    }
    pthread_mutex_init(&n->counts.lock, NULL);
    s->n_networks++;
    n->max_body_bytes = body_limit(&n->model, o->max_body_bytes);
    n->metadata = json_to_text(served_model_metadata(&n->model));
    if (!n->metadata)
        return pith_error_no_memory(err);
    return batch_queue_open(&n->model, from->packed, &queue, &n->queue, err);
}

static enum pith_status open_networks(struct server *s, const struct serve_opts *o,
                                      struct pith_error *err)
{
    enum pith_status st = PITH_OK;
    s->networks = calloc(o->n_networks + 1u, sizeof *s->networks);
    if (!s->networks)
        return pith_error_no_memory(err);
    for (uint32_t i = 0; i < o->n_networks && !st; i++)
        st = open_network(s, o, &o->networks[i], err);
    return st;
}

const char *serve_note(const struct server *s, uint32_t i)
{
    return i < s->n_networks ? pith_engine_note(batch_queue_engine(s->networks[i].queue)) : "";
}

/* ---- start, stop ------------------------------------------------------------------------------
 */

static bool opts_fit(const struct serve_opts *o)
{
    return o && o->size_bytes == sizeof *o && o->networks && o->n_networks && o->engine &&
           o->max_batch >= 1 && o->max_batch <= 1024 && o->max_wait_s >= 0 && o->timeout_s > 0 &&
           o->max_body_bytes > 0 && o->max_connections > 0;
}

static void free_server(struct server *s)
{
    for (uint32_t i = 0; i < s->n_networks; i++) {
        struct server_network *n = &s->networks[i];
        batch_queue_close(n->queue);
        served_model_free(&n->model);
        pthread_mutex_destroy(&n->counts.lock);
        free(n->metadata);
    }
    free(s->networks);
    gpu_meter_close(s->gpus);
    free(s->token);
    pthread_cond_destroy(&s->picture_done);
    pthread_mutex_destroy(&s->pictures_lock);
    pthread_cond_destroy(&s->guard_wake);
    pthread_mutex_destroy(&s->connections_lock);
    free(s);
}

static struct server *new_server(const struct serve_opts *o)
{
    struct server *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->listener = -1;
    s->timeout_ns = (uint64_t)(o->timeout_s * 1e9);
    s->memory_budget = o->max_body_bytes * BODIES_AT_ONCE;
    s->pictures_free = PICTURES_AT_ONCE;
    s->started_ns = pith_clock_ns(NULL);
    s->gpus = gpu_meter_open();
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&s->guard_wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_cond_init(&s->picture_done, NULL);
    pthread_mutex_init(&s->connections_lock, NULL);
    pthread_mutex_init(&s->pictures_lock, NULL);
    return s;
}

enum pith_status serve_start(const struct serve_opts *o, struct server **server,
                             struct pith_error *err)
{
    if (!opts_fit(o) || !server)
        return PITH_ERR_ARGUMENT;
    enum pith_status st = http_library_load(err);
    if (st)
        return st;
    struct server *s = new_server(o);
    if (!s)
        return pith_error_no_memory(err);
    if (o->token && !(s->token = strdup(o->token)))
        st = pith_error_no_memory(err);
    if (!st)
        st = open_networks(s, o, err);
    if (!st)
        st = http_daemon_start(s, o, err);
    if (st) {
        http_daemon_stop(s);
        free_server(s);
        return st;
    }
    *server = s;
    return PITH_OK;
}

const char *serve_address(const struct server *s)
{
    return s->address;
}

void serve_stop(struct server *s)
{
    if (!s)
        return;
    const struct timespec step = {0, DRAIN_STEP_NS};
    const uint64_t until = pith_clock_ns(NULL) + s->timeout_ns;
    atomic_store(&s->draining, true);
    http_daemon_quiesce(s);
    while (atomic_load(&s->n_answering) > 0 && pith_clock_ns(NULL) < until)
        nanosleep(&step, NULL);
    http_daemon_stop(s);
    free_server(s);
}
