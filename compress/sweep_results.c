/* SPDX-License-Identifier: MIT */
/* Lines that sweeps wrote, of any number of processes, and the front of them: the results that no
 * other one beats in bytes without losing quality. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "json_value.h"
#include "error_fill.h"
#include "sweep_spec.h"

/* results->json: "spec:combination" -> the line as an object. */
static json_t *lines_of(const struct pith_sweep_results *r)
{
    return r->json;
}

static void format_key(char key[48], const char *spec, json_int_t combination)
{
    snprintf(key, 48, "%.16s:%" JSON_INTEGER_FORMAT, spec, combination);
}

/* A whole result: it has bytes. One with an error is known, but not done. */
static bool is_result(const json_t *line)
{
    return json_is_string(json_object_get(line, "spec")) &&
           json_is_integer(json_object_get(line, "combination")) &&
           json_is_object(json_object_get(line, "params")) &&
           (json_is_integer(json_object_get(line, "bytes")) ||
            json_is_string(json_object_get(line, "error")));
}

static enum pith_status add_line(struct pith_sweep_results *r, const char *text, size_t n,
                                 struct pith_error *err)
{
    json_t *line = NULL;
    char key[48];
    r->n_lines++;
    enum pith_status st = pith_json_load(text, n, "results", &line, NULL);
    if (st == PITH_ERR_MEMORY)
        return pith_error_no_memory(err);
    if (st || !is_result(line)) {
        r->n_foreign++;
        json_decref(line);
        return PITH_OK;
    }
    format_key(key, json_string_value(json_object_get(line, "spec")),
               json_integer_value(json_object_get(line, "combination")));
    if (json_object_get(line, "error") && json_object_get(lines_of(r), key)) {
        json_decref(line); /* what has succeeded once needs no second try */
        return PITH_OK;
    }
    return json_object_set_new(lines_of(r), key, line) ? pith_error_no_memory(err) : PITH_OK;
}

/* NAN where there is no such number. */
static double number_of(const json_t *line, const char *key)
{
    const json_t *v = json_object_get(line, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

static enum pith_status add_point(struct pith_sweep_results *r, json_t *line,
                                  struct pith_error *err)
{
    struct pith_sweep_point *p = &r->point[r->n];
    char *params = pith_json_text(json_object_get(line, "params"), JSON_COMPACT);
    if (!params || json_object_set_new(line, "text", json_string(params))) {
        free(params);
        return pith_error_no_memory(err);
    }
    free(params);
    p->params = json_string_value(json_object_get(line, "text"));
    p->combination = (uint64_t)json_integer_value(json_object_get(line, "combination"));
    p->bytes = (uint64_t)json_integer_value(json_object_get(line, "bytes"));
    p->seconds = number_of(line, "seconds");
    p->regression = json_object_get(line, "psnr") != NULL;
    p->quality = number_of(line, p->regression ? "psnr" : "top1");
    r->n++;
    return PITH_OK;
}

static enum pith_status list_points(struct pith_sweep_results *r, struct pith_error *err)
{
    const char *key;
    json_t *line;
    enum pith_status st = PITH_OK;
    free(r->point);
    r->n = 0;
    r->point = calloc(json_object_size(lines_of(r)) + 1, sizeof *r->point);
    if (!r->point)
        return pith_error_no_memory(err);
    json_object_foreach(lines_of(r), key, line) if (!st && json_object_get(line, "bytes")) st =
        add_point(r, line, err);
    return st;
}

enum pith_status pith_sweep_results_add(struct pith_sweep_results *r, const char *text, size_t n,
                                        struct pith_error *err)
{
    enum pith_status st = PITH_OK;
    if (!r->json)
        r->json = json_object();
    if (!r->json)
        return pith_error_no_memory(err);
    for (size_t at = 0; at < n && !st;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t len = end ? (size_t)(end - text) - at : n - at;
        if (len > 0)
            st = add_line(r, text + at, len, err);
        at += len + 1;
    }
    return st ? st : list_points(r, err);
}

void pith_sweep_results_free(struct pith_sweep_results *r)
{
    json_decref(lines_of(r));
    free(r->point);
    *r = (struct pith_sweep_results){0};
}

bool pith_sweep_done(const struct pith_sweep *s, const struct pith_sweep_results *r, uint64_t i)
{
    char mark[16], key[48];
    snprintf(mark, sizeof mark, "%08" PRIx32, s->mark);
    format_key(key, mark, (json_int_t)i);
    return json_object_get(json_object_get(lines_of(r), key), "bytes") != NULL;
}

static double quality_of(const struct pith_sweep_point *p)
{
    return isnan(p->quality) ? 0 : p->quality;
}

/* Smallest first; of equal ones the best, then the lowest number. */
static int by_bytes(const void *a, const void *b)
{
    const struct pith_sweep_point *p = a, *q = b;
    if (p->bytes != q->bytes)
        return p->bytes < q->bytes ? -1 : 1;
    if (quality_of(p) != quality_of(q))
        return quality_of(p) > quality_of(q) ? -1 : 1;
    return (p->combination > q->combination) - (p->combination < q->combination);
}

uint32_t pith_sweep_front(struct pith_sweep_results *r)
{
    uint32_t n = 0;
    if (r->n)
        qsort(r->point, r->n, sizeof *r->point, by_bytes);
    for (uint32_t i = 0; i < r->n; i++) {
        struct pith_sweep_point p = r->point[i];
        if (n > 0 && !(quality_of(&p) > quality_of(&r->point[n - 1])))
            continue;
        r->point[i] = r->point[n];
        r->point[n++] = p;
    }
    return n;
}
