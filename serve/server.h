/* SPDX-License-Identifier: MIT */
/* server.h - the parts of a server: networks, connections, answers. */
#ifndef SERVER_H
#define SERVER_H

#include <pthread.h>
#include <stdatomic.h>
#include "base/byte_out.h"
#include "gpu_meter.h"
#include "http_library.h"
#include "request_counts.h"
#include "serve.h"

struct server_network {
    struct served_model model;
    struct batch_queue *queue;
    struct request_counts counts;
    char *metadata;          /* owned: JSON */
    uint64_t max_body_bytes; /* of a request to it */
};

/* One that is open. The guard closes it at its deadline. */
struct connection {
    struct connection *next, *before;
    int fd;
    uint64_t
        deadline_ns; /* of server.connections_lock; UINT64_MAX: its request is being answered */
};

struct server {
    struct server_network *networks; /* owned: [n_networks] */
    uint32_t n_networks;
    char *token; /* owned; NULL: none is needed */
    bool local;  /* listens to this machine alone */
    char address[96];
    uint64_t timeout_ns;
    uint64_t
        memory_budget; /* for the bodies of requests and what is read from them, all together */
    _Atomic uint64_t memory_used;
    atomic_bool draining;
    atomic_uint n_answering; /* requests that are under way */
    uint64_t started_ns;
    struct gpu_meter *gpus; /* owns; NULL: there are none */

    struct MHD_Daemon *daemon;
    int listener;                     /* -1: closed, or the daemon's */
    pthread_mutex_t connections_lock; /* of what follows, and of every connection */
    pthread_cond_t guard_wake;
    struct connection *connections;
    bool guard_stop;
    bool guard_runs;
    pthread_t guard;

    pthread_mutex_t pictures_lock; /* of pictures_free, with the condition */
    pthread_cond_t picture_done;
    uint32_t pictures_free; /* pictures that may still be decoded at once */
};

/* Takes bytes of the budget; false: there are not so many. */
bool server_take_memory(struct server *s, uint64_t bytes);
void server_give_memory(struct server *s, uint64_t bytes);

/* ---- http_daemon.c: libmicrohttpd's side ------------------------------------------------------
 */
/* Listens, and starts the threads. PITH_ERR_IO, _MEMORY. */
enum pith_status http_daemon_start(struct server *s, const struct serve_opts *opts,
                                   struct pith_error *err);
/* No new connection; those under way go on. */
void http_daemon_quiesce(struct server *s);
void http_daemon_stop(struct server *s);

/* ---- answer.c: what a request is answered, without any HTTP library ----------------------------
 */
struct http_request {
    const char *method, *path; /* the path unescaped, without "?..." */
    const char *content_type;  /* NULL: none given; so below */
    const char *header_length; /* Inference-Header-Content-Length */
    const char *encoding;      /* Content-Encoding */
    const char *authorization, *host;
    const uint8_t *body;
    size_t body_bytes;
};

struct http_answer {
    unsigned code;
    const char *type;     /* Content-Type */
    struct byte_out body; /* owned by the caller: pith_out_clear */
    const void *fixed;    /* not NULL: the body, which is never freed */
    size_t fixed_bytes;
    size_t header_length; /* not 0: Inference-Header-Content-Length */
};

/* Before the body arrives: is the request allowed, and how long may its body be? True: *most_bytes
 * is set. False: *a is the answer, and the body is not read. */
bool answer_may_begin(struct server *s, const struct http_request *r, uint64_t *most_bytes,
                      struct http_answer *a);
void answer_request(struct server *s, const struct http_request *r, struct http_answer *a);
/* {"error": text} */
void answer_error(struct http_answer *a, unsigned code, const char *text);

#endif
