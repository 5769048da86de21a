/* SPDX-License-Identifier: MIT */
/* answer.c - from a request to its answer: who may ask, which path leads where, and inference. */
#include <stdlib.h>
#include <string.h>
#include "core/tensor.h"
#include "infer_response.h"
#include "metrics.h"
#include "pith_data.h"
#include "pith_host.h"
#include "serve_pages.h" /* made from serve/page */
#include "server.h"

#define JSON_TYPE "application/json"
#define MAX_PICTURE_BYTES (UINT64_C(128) << 20) /* decoded, before it is resized */
#define TOP_OF_PICTURE 5u

enum place {
    PLACE_NONE,
    PLACE_PAGE, /* the same for everybody, and without a token: it shows nothing by itself */
    PLACE_SERVER,
    PLACE_LIVE,
    PLACE_READY,
    PLACE_NETWORK,
    PLACE_NETWORK_READY,
    PLACE_INFER,
    PLACE_METRICS,
    PLACE_STATUS
};

struct page {
    const char *path, *type, *text;
    size_t bytes;
};
static const struct page pages[] = {
    {"/", "text/html; charset=utf-8", index_html, sizeof index_html - 1},
    {"/page.css", "text/css; charset=utf-8", page_css, sizeof page_css - 1},
    {"/page.js", "text/javascript; charset=utf-8", page_js, sizeof page_js - 1}};

struct route {
    enum place place;
    struct server_network *network;
    const struct page *page;
    const char *missing; /* PLACE_NONE: what there is none of */
};

/* ---- answers ----------------------------------------------------------------------------------
 */

void answer_error(struct http_answer *a, unsigned code, const char *text)
{
    pith_out_clear(&a->body);
    *a = (struct http_answer){.code = code, .type = JSON_TYPE};
    pith_json_format(&a->body, "{\"error\":");
    pith_json_quote(&a->body, text, strlen(text));
    pith_json_format(&a->body, "}");
}

static void answer_fixed(struct http_answer *a, const char *type, const void *bytes, size_t n)
{
    *a = (struct http_answer){.code = 200, .type = type, .fixed = bytes, .fixed_bytes = n};
}

static void answer_text(struct http_answer *a, const char *json)
{
    answer_fixed(a, JSON_TYPE, json, strlen(json));
}

static unsigned code_of(enum pith_status st)
{
    return st == PITH_ERR_MEMORY || st == PITH_ERR_STOPPED ? 503 : st == PITH_ERR_IO ? 500 : 400;
}

/* ---- who may ask ------------------------------------------------------------------------------
 */

/* The time does not depend on where they differ. */
static bool same_secret(const char *a, const char *b)
{
    const size_t n = strlen(a), n_b = strlen(b);
    unsigned char differs = n != n_b;
    for (size_t i = 0; i < n_b; i++)
        differs |= (unsigned char)(b[i] ^ a[n ? i % n : 0]);
    return !differs;
}

static bool has_token(const struct server *s, const struct http_request *r)
{
    static const char scheme[] = "Bearer ";
    const char *given = r->authorization;
    return !s->token || (given && strncasecmp(given, scheme, sizeof scheme - 1) == 0 &&
                         same_secret(s->token, given + sizeof scheme - 1));
}

/* Of a browser whose page was loaded from elsewhere, by a name that now leads to this machine (DNS
 * rebinding), the host is that name. */
static bool host_is_local(const char *host)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; host && i < sizeof names / sizeof *names; i++) {
        const size_t n = strlen(names[i]);
        if (strncasecmp(host, names[i], n) == 0 && (host[n] == 0 || host[n] == ':'))
            return true;
    }
    return host && strncmp(host, "127.", 4) == 0 && host[strspn(host, "0123456789.:")] == 0;
}

/* ---- paths ------------------------------------------------------------------------------------
 */

/* Moves *path behind the prefix if it begins so. */
static bool take(const char **path, const char *prefix)
{
    const size_t n = strlen(prefix);
    if (strncmp(*path, prefix, n) != 0)
        return false;
    *path += n;
    return true;
}

static struct server_network *take_network(struct server *s, const char **path)
{
    const size_t n = strcspn(*path, "/");
    for (uint32_t i = 0; i < s->n_networks; i++)
        if (strlen(s->networks[i].model.name) == n &&
            memcmp(s->networks[i].model.name, *path, n) == 0) {
            *path += n;
            return &s->networks[i];
        }
    return NULL;
}

static struct route network_route(struct server *s, const char *path)
{
    struct route r = {.network = take_network(s, &path), .missing = "path"};
    if (!r.network) {
        r.missing = "network";
        return r;
    }
    if (strncmp(path, "/versions/", 10) == 0 && !take(&path, "/versions/1")) {
        r.missing = "version";
        return r;
    }
    r.place = *path == 0                    ? PLACE_NETWORK
              : strcmp(path, "/ready") == 0 ? PLACE_NETWORK_READY
              : strcmp(path, "/infer") == 0 ? PLACE_INFER
                                            : PLACE_NONE;
    return r;
}

static struct route find_route(struct server *s, const char *path)
{
    static const struct {
        const char *path;
        enum place place;
    } places[] = {{"/v2", PLACE_SERVER},           {"/v2/", PLACE_SERVER},
                  {"/v2/health/live", PLACE_LIVE}, {"/v2/health/ready", PLACE_READY},
                  {"/metrics", PLACE_METRICS},     {"/status", PLACE_STATUS}};
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        if (strcmp(path, pages[i].path) == 0)
            return (struct route){.place = PLACE_PAGE, .page = &pages[i]};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (strcmp(path, places[i].path) == 0)
            return (struct route){.place = places[i].place};
    if (take(&path, "/v2/models/"))
        return network_route(s, path);
    return (struct route){.missing = "path"};
}

/* ---- inference --------------------------------------------------------------------------------
 */

static bool has_type(const struct http_request *r, const char *type)
{
    const size_t n = strlen(type);
    return r->content_type && strncasecmp(r->content_type, type, n) == 0;
}

static bool is_picture(const uint8_t *p, size_t n)
{
    return (n > 8 && memcmp(p, "\x89PNG\r\n\x1a\n", 8) == 0) ||
           (n > 3 && memcmp(p, "\xff\xd8\xff", 3) == 0);
}

/* Decoding takes memory by the size of the picture: only so many are decoded at once. */
static void begin_picture(struct server *s)
{
    pthread_mutex_lock(&s->pictures_lock);
    while (s->pictures_free == 0)
        pthread_cond_wait(&s->picture_done, &s->pictures_lock);
    s->pictures_free--;
    pthread_mutex_unlock(&s->pictures_lock);
}

static void end_picture(struct server *s)
{
    pthread_mutex_lock(&s->pictures_lock);
    s->pictures_free++;
    pthread_cond_signal(&s->picture_done);
    pthread_mutex_unlock(&s->pictures_lock);
}

/* values: malloc'ed, of one row. */
static enum pith_status decode_picture(const struct served_model *m, const struct http_request *r,
                                       float *values, struct pith_error *err)
{
    const struct served_end *e = m->inputs;
    struct pith_data *data;
    struct pith_data_opts o = {.size_bytes = sizeof o,
                               .path = "the picture",
                               .content = r->body,
                               .content_bytes = r->body_bytes,
                               .preprocess = m->preprocess,
                               .input_name = e->name,
                               .rank = e->rank,
                               .max_bytes = MAX_PICTURE_BYTES};
    memcpy(o.dim, e->dim, sizeof o.dim);
    enum pith_status st = pith_data_open(&o, &data, err);
    if (st)
        return st;
    st = pith_data_read(data, 0, values, NULL, err);
    pith_data_free(data);
    return st;
}

static enum pith_status picture_request(struct server *s, const struct served_model *m,
                                        const struct http_request *r, struct infer_request *request,
                                        struct pith_error *err)
{
    if (!m->preprocess || m->n_inputs != 1 || m->inputs->run != PITH_F32)
        return pith_error_set(err, PITH_ERR_UNSUPPORTED,
                              "network '%s' has no stored preprocessing for pictures", m->name);
    if (!is_picture(r->body, r->body_bytes))
        return pith_error_set(err, PITH_ERR_ARGUMENT, "the body is neither PNG nor JPEG");
    float *values = malloc((size_t)m->inputs->row_elems * sizeof *values + 1);
    if (!values)
        return pith_error_set(err, PITH_ERR_MEMORY, "out of memory");
    begin_picture(s);
    enum pith_status st = decode_picture(m, r, values, err);
    end_picture(s);
    if (st) {
        free(values);
        return st;
    }
    st = infer_request_of_values(m, values, request, err);
    for (uint32_t i = 0; !st && m->labels && i < m->n_outputs; i++)
        request->answers[i].top = i == 0 ? TOP_OF_PICTURE : 0;
    return st;
}

/* The header's number; false: it is none, or more than the body has. */
static bool json_length(const struct http_request *r, size_t *n)
{
    char *end;
    *n = r->body_bytes;
    if (!r->header_length)
        return true;
    const unsigned long long v = strtoull(r->header_length, &end, 10);
    *n = (size_t)v;
    return r->header_length[0] >= '0' && r->header_length[0] <= '9' && *end == 0 &&
           v <= r->body_bytes;
}

/* Reads the request in memory that the server's budget has. */
static enum pith_status body_request(struct server *s, const struct served_model *m,
                                     const struct http_request *r, struct infer_request *request,
                                     struct pith_error *err)
{
    size_t json_bytes;
    if (!json_length(r, &json_bytes))
        return pith_error_set(err, PITH_ERR_ARGUMENT,
                              "Inference-Header-Content-Length is no length within the body");
    if (r->body_bytes == 0)
        return pith_error_set(err, PITH_ERR_ARGUMENT, "the request has no body");
    const uint64_t cost = infer_request_cost(r->body, json_bytes);
    if (!server_take_memory(s, cost))
        return pith_error_set(err, PITH_ERR_MEMORY, "too many large requests: try again later");
    enum pith_status st = infer_request_parse(m, r->body, r->body_bytes, json_bytes, request, err);
    server_give_memory(s, cost);
    return st;
}

static enum pith_status infer(struct server *s, struct server_network *n,
                              const struct http_request *r, struct http_answer *a,
                              struct pith_error *err)
{
    const uint64_t start = pith_clock_ns(NULL);
    const bool picture = has_type(r, "image/");
    struct infer_request request = {0};
    struct infer_result result = {0};
    enum pith_status st = picture ? picture_request(s, &n->model, r, &request, err)
                                  : body_request(s, &n->model, r, &request, err);
    if (!st)
        st = batch_queue_run(n->queue, &request, &result, err);
    if (!st) {
        *a = (struct http_answer){.code = 200};
        infer_response_write(&n->model, &request, &result, &a->body, &a->header_length);
        a->type = a->header_length ? "application/octet-stream" : JSON_TYPE;
        st = a->body.failed ? PITH_ERR_MEMORY : PITH_OK;
    }
    if (!st)
        request_counts_success(&n->counts, &request, &result, start, pith_clock_ns(NULL));
    infer_result_free(&n->model, &result);
    infer_request_free(&n->model, &request);
    return st;
}

static void answer_infer(struct server *s, struct server_network *n, const struct http_request *r,
                         struct http_answer *a)
{
    struct pith_error err = {0};
    enum pith_status st = infer(s, n, r, a, &err);
    if (!st)
        return;
    request_counts_failure(&n->counts);
    answer_error(a, code_of(st), err.text[0] ? err.text : pith_status_text(st));
}

/* ---- all --------------------------------------------------------------------------------------
 */

static bool refuse(struct http_answer *a, unsigned code, const char *text)
{
    answer_error(a, code, text);
    return false;
}

bool answer_may_begin(struct server *s, const struct http_request *r, uint64_t *most_bytes,
                      struct http_answer *a)
{
    const struct route to = find_route(s, r->path);
    const bool probe = to.place == PLACE_LIVE || to.place == PLACE_READY;
    char text[64];
    *most_bytes = 0;
    if (!s->token && s->local && !host_is_local(r->host))
        return refuse(a, 403, "the host is not this machine");
    if (!probe && to.place != PLACE_PAGE && !has_token(s, r))
        return refuse(a, 401, "the request needs the server's token");
    if (to.place == PLACE_NONE) {
        snprintf(text, sizeof text, "there is no such %s", to.missing);
        return refuse(a, 404, text);
    }
    if (strcmp(r->method, to.place == PLACE_INFER ? "POST" : "GET") != 0 &&
        (to.place == PLACE_INFER || strcmp(r->method, "HEAD") != 0))
        return refuse(a, 405,
                      to.place == PLACE_INFER ? "this path takes POST" : "this path takes GET");
    if (to.place != PLACE_INFER)
        return true;
    if (r->encoding && strcasecmp(r->encoding, "identity") != 0)
        return refuse(a, 415, "compressed bodies are not supported");
    if (atomic_load(&s->draining))
        return refuse(a, 503, "the server is shutting down");
    *most_bytes = to.network->max_body_bytes;
    return true;
}

static void answer_ready(const struct server *s, struct http_answer *a)
{
    if (atomic_load(&s->draining))
        answer_error(a, 503, "the server is shutting down");
    else
        answer_text(a, "{\"ready\":true}");
}

static void answer_server(struct http_answer *a)
{
    const uint32_t v = pith_version();
    *a = (struct http_answer){.code = 200, .type = JSON_TYPE};
    pith_json_format(
        &a->body,
        "{\"name\":\"pith\",\"version\":\"%u.%u.%u\",\"extensions\":[\"binary_tensor_data\","
        "\"classification\"]}",
        v >> 16, v >> 8 & 255, v & 255);
}

void answer_request(struct server *s, const struct http_request *r, struct http_answer *a)
{
    const struct route to = find_route(s, r->path);
    switch (to.place) {
    case PLACE_LIVE:
        answer_text(a, "{\"live\":true}");
        return;
    case PLACE_READY:
    case PLACE_NETWORK_READY:
        answer_ready(s, a);
        return;
    case PLACE_SERVER:
        answer_server(a);
        return;
    case PLACE_NETWORK:
        answer_text(a, to.network->metadata);
        return;
    case PLACE_INFER:
        answer_infer(s, to.network, r, a);
        return;
    case PLACE_PAGE:
        answer_fixed(a, to.page->type, to.page->text, to.page->bytes);
        return;
    case PLACE_METRICS:
        *a = (struct http_answer){.code = 200, .type = "text/plain; version=0.0.4; charset=utf-8"};
        metrics_prometheus(s, &a->body);
        return;
    case PLACE_STATUS:
        *a = (struct http_answer){.code = 200, .type = JSON_TYPE};
        metrics_status(s, &a->body);
        return;
    case PLACE_NONE:
        break;
    }
    answer_error(a, 404, "there is no such path");
}
