/* SPDX-License-Identifier: MIT */
/* http_daemon.c - connections and requests as libmicrohttpd brings them. Each connection has a
 * thread of its own, which also runs the network, so that a request is handed from thread to thread
 * only where it waits for others.
 *
 * A deadline holds for each of: the arrival of a request with its body, counted from the end of the
 * request before it; and its response on the way out. libmicrohttpd's own limit would count from
 * the last byte, so that a client that sends a byte every second stays for ever. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "base/error_fill.h"
#include "pith_host.h"
#include "server.h"

/* Of a connection: request line, headers, and a piece of the body. */
#define POOL_BYTES (256u << 10)
#define POOL_STEP_BYTES (64u << 10)
#define STACK_BYTES (2u << 20)
#define BACKLOG 128
#define GUARD_NS UINT64_C(200000000)
#define FIRST_BODY_BYTES 4096u

/* A request whose body arrives. */
struct arriving {
    uint8_t *body; /* owned */
    size_t bytes, room;
    uint64_t most_bytes;
    bool refused, answered;
};

/* ---- connections ------------------------------------------------------------------------------
 */

static void set_deadline(struct server *s, struct connection *c, uint64_t ns)
{
    pthread_mutex_lock(&s->connections_lock);
    if (c)
        c->deadline_ns = ns;
    pthread_mutex_unlock(&s->connections_lock);
}

static uint64_t deadline_from_now(const struct server *s)
{
    return pith_clock_ns(NULL) + s->timeout_ns;
}

static struct connection *connection_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        http.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static void unlink_connection(struct server *s, struct connection *c)
{
    if (c->next)
        c->next->before = c->before;
    *(c->before ? &c->before->next : &s->connections) = c->next;
}

/* The socket is closed after this has returned. */
static void on_connection(void *user, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct server *s = user;
    struct connection *c = *context;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED && !c)
        return;
    pthread_mutex_lock(&s->connections_lock);
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        unlink_connection(s, c);
        free(c);
        *context = NULL;
    } else if ((c = calloc(1, sizeof *c))) {
        c->fd = http.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        c->deadline_ns = deadline_from_now(s);
        c->next = s->connections;
        if (c->next)
            c->next->before = c;
        s->connections = c;
        *context = c;
    }
    pthread_mutex_unlock(&s->connections_lock);
}

/* Shuts sockets down whose deadline is over: their threads then find them closed. */
static void *guard(void *user)
{
    struct server *s = user;
    pthread_mutex_lock(&s->connections_lock);
    while (!s->guard_stop) {
        const uint64_t now = pith_clock_ns(NULL), next = now + GUARD_NS;
        for (struct connection *c = s->connections; c; c = c->next)
            if (now > c->deadline_ns)
                shutdown(c->fd, SHUT_RDWR);
        const struct timespec until = {(time_t)(next / 1000000000u), (long)(next % 1000000000u)};
        pthread_cond_timedwait(&s->guard_wake, &s->connections_lock, &until);
    }
    pthread_mutex_unlock(&s->connections_lock);
    return NULL;
}

/* ---- requests ---------------------------------------------------------------------------------
 */

static const char *header(struct MHD_Connection *c, const char *name)
{
    return http.lookup_connection_value(c, MHD_HEADER_KIND, name);
}

static struct http_request request_of(struct MHD_Connection *c, const char *path,
                                      const char *method)
{
    return (struct http_request){.method = method,
                                 .path = path,
                                 .content_type = header(c, "Content-Type"),
                                 .header_length = header(c, "Inference-Header-Content-Length"),
                                 .encoding = header(c, "Content-Encoding"),
                                 .authorization = header(c, "Authorization"),
                                 .host = header(c, "Host")};
}

static void add_headers(struct MHD_Response *r, const struct http_answer *a, bool last)
{
    char length[32];
    http.add_response_header(r, "Content-Type", a->type);
    http.add_response_header(r, "X-Content-Type-Options", "nosniff");
    http.add_response_header(r, "Cache-Control", "no-store");
    http.add_response_header(r, "Content-Security-Policy",
                             "default-src 'none'; script-src 'self'; style-src 'self'; "
                             "connect-src 'self'; img-src data: blob:; frame-ancestors 'none'");
    if (a->header_length) {
        snprintf(length, sizeof length, "%zu", a->header_length);
        http.add_response_header(r, "Inference-Header-Content-Length", length);
    }
    if (a->code == 503)
        http.add_response_header(r, "Retry-After", "1");
    if (a->code == 401)
        http.add_response_header(r, "WWW-Authenticate", "Bearer");
    if (last)
        http.add_response_header(r, "Connection", "close");
}

/* Leaves *a empty. */
static enum MHD_Result send_answer(struct server *s, struct MHD_Connection *connection,
                                   struct http_answer *a)
{
    if (a->body.failed) {
        pith_out_clear(&a->body);
        answer_error(a, 503, "out of memory");
    }
    struct MHD_Response *r =
        a->fixed
            ? http.create_response_from_buffer(a->fixed_bytes, (void *)(uintptr_t)a->fixed,
                                               MHD_RESPMEM_PERSISTENT)
            : http.create_response_from_buffer(a->body.bytes, a->body.data, MHD_RESPMEM_MUST_FREE);
    if (!r) {
        pith_out_clear(&a->body);
        return MHD_NO;
    }
    a->body = (struct byte_out){0}; /* the response frees it */
    add_headers(r, a, atomic_load(&s->draining));
    set_deadline(s, connection_of(connection), deadline_from_now(s));
    const enum MHD_Result sent = http.queue_response(connection, a->code, r);
    http.destroy_response(r);
    return sent;
}

static enum MHD_Result refuse(struct server *s, struct MHD_Connection *connection, unsigned code,
                              const char *text)
{
    struct http_answer a = {0};
    answer_error(&a, code, text);
    return send_answer(s, connection, &a);
}

static bool reserve_body(struct server *s, struct arriving *in, uint64_t bytes)
{
    if (bytes <= in->room)
        return true;
    if (!server_take_memory(s, bytes - in->room))
        return false;
    uint8_t *body = realloc(in->body, (size_t)bytes);
    if (!body) {
        server_give_memory(s, bytes - in->room);
        return false;
    }
    in->body = body;
    in->room = (size_t)bytes;
    return true;
}

/* What Content-Length gives; 0: none, so that the body comes in chunks or not at all. */
static uint64_t length_given(struct MHD_Connection *connection)
{
    const char *text = header(connection, "Content-Length");
    return text ? strtoull(text, NULL, 10) : 0; /* libmicrohttpd refuses what is no number */
}

static enum MHD_Result begin(struct server *s, struct MHD_Connection *connection, const char *path,
                             const char *method, void **context)
{
    struct arriving *in = calloc(1, sizeof *in);
    if (!in)
        return MHD_NO;
    *context = in;
    atomic_fetch_add(&s->n_answering, 1);
    const struct http_request r = request_of(connection, path, method);
    struct http_answer a = {0};
    const uint64_t length = length_given(connection);
    if (!answer_may_begin(s, &r, &in->most_bytes, &a)) {
        in->refused = true;
        return send_answer(s, connection, &a);
    }
    in->refused = length > in->most_bytes;
    if (in->refused)
        return refuse(s, connection, 413, "the body is longer than requests to this path may be");
    in->refused = !reserve_body(s, in, length);
    return in->refused ? refuse(s, connection, 503, "too much is being received: try again later")
                       : MHD_YES;
}

/* Past a limit the connection ends: a response is possible before or after a body only. */
static enum MHD_Result receive(struct server *s, struct arriving *in, const char *data, size_t *n)
{
    if (*n > in->most_bytes - in->bytes)
        return MHD_NO;
    uint64_t room = in->room ? in->room : FIRST_BODY_BYTES;
    while (room < in->bytes + *n)
        room *= 2;
    if (!reserve_body(s, in, room < in->most_bytes ? room : in->most_bytes))
        return MHD_NO;
    memcpy(in->body + in->bytes, data, *n);
    in->bytes += *n;
    *n = 0;
    return MHD_YES;
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *data,
                                  size_t *n, void **context)
{
    struct server *s = user;
    struct arriving *in = *context;
    (void)version;
    if (!in)
        return begin(s, connection, path, method, context);
    if (in->refused || in->answered)
        return MHD_NO;
    if (*n > 0)
        return receive(s, in, data, n);
    in->answered = true;
    set_deadline(s, connection_of(connection), UINT64_MAX);
    struct http_request r = request_of(connection, path, method);
    struct http_answer a = {0};
    r.body = in->body ? in->body : (const uint8_t *)"";
    r.body_bytes = in->bytes;
    answer_request(s, &r, &a);
    return send_answer(s, connection, &a);
}

static void on_completed(void *user, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode why)
{
    struct server *s = user;
    struct arriving *in = *context;
    (void)why;
    if (!in)
        return;
    set_deadline(s, connection_of(connection), deadline_from_now(s));
    server_give_memory(s, in->room);
    free(in->body);
    free(in);
    *context = NULL;
    atomic_fetch_sub(&s->n_answering, 1);
}

/* ---- listening --------------------------------------------------------------------------------
 */

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static bool read_address(const char *text, uint16_t port, union address *a, socklen_t *bytes)
{
    *a = (union address){0};
    if (inet_pton(AF_INET, text, &a->v4.sin_addr) == 1) {
        a->v4.sin_family = AF_INET;
        a->v4.sin_port = htons(port);
        *bytes = sizeof a->v4;
        return true;
    }
    a->v6.sin6_family = AF_INET6;
    a->v6.sin6_port = htons(port);
    *bytes = sizeof a->v6;
    return inet_pton(AF_INET6, text, &a->v6.sin6_addr) == 1;
}

static bool is_loopback(const union address *a)
{
    return a->any.sa_family == AF_INET ? ntohl(a->v4.sin_addr.s_addr) >> 24 == 127
                                       : IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
}

static bool listen_at(int fd, union address *a, socklen_t bytes)
{
    const int on = 1;
    return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
           bind(fd, &a->any, bytes) == 0 && listen(fd, BACKLOG) == 0 &&
           getsockname(fd, &a->any, &bytes) == 0;
}

static enum pith_status listen_socket(struct server *s, const struct serve_opts *o,
                                      struct pith_error *err)
{
    const char *text = o->address ? o->address : "127.0.0.1";
    union address a;
    socklen_t bytes;
    if (!read_address(text, o->port, &a, &bytes))
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "'%s' is no numeric address", text);
    s->local = is_loopback(&a);
    if (!s->local && !o->token)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "listening at %s, which others can reach, needs a token", text);
    const bool v6 = a.any.sa_family == AF_INET6;
    s->listener = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s->listener < 0 || !listen_at(s->listener, &a, bytes))
        return pith_error_fill(err, PITH_ERR_IO, "cannot listen at %s port %u: %s", text, o->port,
                               strerror(errno));
    snprintf(s->address, sizeof s->address, v6 ? "http://[%s]:%u" : "http://%s:%u", text,
             ntohs(v6 ? a.v6.sin6_port : a.v4.sin_port));
    return PITH_OK;
}

enum pith_status http_daemon_start(struct server *s, const struct serve_opts *o,
                                   struct pith_error *err)
{
    enum pith_status st = listen_socket(s, o, err);
    if (st)
        return st;
    s->guard_runs = pthread_create(&s->guard, NULL, guard, s) == 0;
    if (!s->guard_runs)
        return pith_error_no_memory(err);
    s->daemon = http.start_daemon(
        MHD_USE_AUTO_INTERNAL_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_ITC, 0, NULL, NULL,
        on_request, s, MHD_OPTION_LISTEN_SOCKET, s->listener, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)o->max_connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL_BYTES,
        MHD_OPTION_CONNECTION_MEMORY_INCREMENT, (size_t)POOL_STEP_BYTES,
        MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, s, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_END);
    if (!s->daemon)
        return pith_error_fill(err, PITH_ERR_IO, "cannot start the server at %s", s->address);
    return PITH_OK;
}

void http_daemon_quiesce(struct server *s)
{
    if (s->daemon)
        s->listener = http.quiesce_daemon(s->daemon);
    if (s->listener >= 0)
        close(s->listener);
    s->listener = -1;
}

void http_daemon_stop(struct server *s)
{
    http_daemon_quiesce(s);
    if (s->daemon)
        http.stop_daemon(s->daemon);
    if (!s->guard_runs)
        return;
    pthread_mutex_lock(&s->connections_lock);
    s->guard_stop = true;
    pthread_cond_signal(&s->guard_wake);
    pthread_mutex_unlock(&s->connections_lock);
    pthread_join(s->guard, NULL);
}
