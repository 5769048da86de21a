/* SPDX-License-Identifier: MIT */
/* serve.h - networks behind HTTP: the Open Inference Protocol V2 (docs/serve.md).
 *
 *     struct serve_opts o = {.size_bytes = sizeof o, .networks = n, .n_networks = 1, .engine = &e};
 *     struct server *s;
 *     if (serve_start(&o, &s, &err)) ...
 *     printf("%s\n", serve_address(s));
 *     ... until it shall end ...
 *     serve_stop(s);
 */
#ifndef SERVE_H
#define SERVE_H

#include "pith_load.h"
#include "pith_measure.h"

struct serve_network {
    const char *name; /* a path: its last part without .pith or .onnx is the name */
    const struct pith_packed *packed;
};

struct serve_opts {
    uint32_t size_bytes;
    const struct serve_network *networks; /* borrowed until serve_stop, and what they point to */
    uint32_t n_networks;
    const struct pith_engine_opts *engine; /* borrowed during the call; stop is replaced */
    const char *address; /* numeric; NULL: 127.0.0.1. Others than this machine's own need a token */
    uint16_t port;       /* 0: a free one */
    const char
        *token; /* that requests must have ("Authorization: Bearer TOKEN"); copied; NULL: none */
    uint32_t max_batch; /* rows of a batch of networks whose batch is open; 1..1024 */
    double max_wait_s;  /* that a request waits for others although its network is free */
    double timeout_s; /* for a request to arrive, to wait, to run, and for its response to leave */
    uint64_t max_body_bytes;
    uint32_t max_connections;
};

struct server;

/* Returns when connections are accepted. Threads of the server block all signals that the caller
 * blocks. PITH_ERR_ARGUMENT: no such address, two networks of one name, no token; PITH_ERR_IO:
 * cannot listen; PITH_ERR_UNSUPPORTED: there is no libmicrohttpd; PITH_ERR_MEMORY, and those of
 * pith_engine_open_packed. */
enum pith_status serve_start(const struct serve_opts *opts, struct server **server,
                             struct pith_error *err);
/* "http://127.0.0.1:8000" */
const char *serve_address(const struct server *server);
/* Why network i does not run on the requested device; "": it does. */
const char *serve_note(const struct server *server, uint32_t i);
/* Accepts no connection any more, refuses new requests, waits for those under way, at most
 * timeout_s, and frees the server. Accepts NULL. */
void serve_stop(struct server *server);

#endif
