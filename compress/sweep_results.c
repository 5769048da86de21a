/* SPDX-License-Identifier: MIT */
/* Lines that sweeps wrote, of any number of processes, and the Pareto front of them: the results
 * that no other one of the same model and data beats in bytes without losing quality. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "compress/recipe/json_value.h"
#include "base/error_fill.h"
#include "sweep_spec.h"

/* results->json: "spec:combination" -> the line as an object. Of a measured one "text" is what its
 * point borrows, and "at" that point's place, until pith_sweep_front moves them. */
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

static bool is_measured(const json_t *line)
{
    return json_object_get(line, "bytes") != NULL;
}

/* NAN where there is no such number. */
static double number_of(const json_t *line, const char *key)
{
    const json_t *v = json_object_get(line, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

/* line.part.key; "" where there is no such text. */
static const char *text_of(const json_t *line, const char *part, const char *key)
{
    const char *text = json_string_value(json_object_get(json_object_get(line, part), key));
    return text ? text : "";
}

static void fill_point(struct pith_sweep_point *p, const json_t *line)
{
    p->params = json_string_value(json_object_get(line, "text"));
    p->spec = json_string_value(json_object_get(line, "spec"));
    p->combination = (uint64_t)json_integer_value(json_object_get(line, "combination"));
    p->bytes = (uint64_t)json_integer_value(json_object_get(line, "bytes"));
    p->seconds = number_of(line, "seconds");
    p->regression = json_object_get(line, "psnr") != NULL;
    p->quality = number_of(line, p->regression ? "psnr" : "top1");
    p->model = text_of(line, "model", "name");
    p->model_crc32c = text_of(line, "model", "crc32c");
    p->data = text_of(line, "data", "name");
    p->data_crc32c = text_of(line, "data", "crc32c");
    p->samples =
        (uint64_t)json_integer_value(json_object_get(json_object_get(line, "data"), "samples"));
}

/* Room for one more point. */
static bool grow(struct pith_sweep_results *r)
{
    struct pith_sweep_point *point;
    uint32_t room = r->room ? 2 * r->room : 16;
    if (r->n < r->room)
        return true;
    point = realloc(r->point, room * sizeof *point);
    if (!point)
        return false;
    r->point = point;
    r->room = room;
    return true;
}

/* Takes the reference of line, a measured one, in the place of `known`, which may be NULL. Nothing
 * changes on failure. */
static enum pith_status add_point(struct pith_sweep_results *r, const char *key, json_t *line,
                                  const json_t *known, struct pith_error *err)
{
    const json_t *place = json_object_get(known, "at");
    uint32_t at = place ? (uint32_t)json_integer_value(place) : r->n;
    char *params = pith_json_text(json_object_get(line, "params"), JSON_COMPACT);
    if (!params || !grow(r) || json_object_set_new(line, "text", json_string(params)) ||
        json_object_set_new(line, "at", json_integer(at))) {
        free(params);
        json_decref(line);
        return pith_error_no_memory(err);
    }
    free(params);
    if (json_object_set_new(lines_of(r), key, line))
        return pith_error_no_memory(err);
    fill_point(&r->point[at], line);
    r->n += at == r->n;
    return PITH_OK;
}

static enum pith_status add_line(struct pith_sweep_results *r, const char *text, size_t n,
                                 struct pith_error *err)
{
    json_t *line = NULL, *known;
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
    json_object_del(line, "at"); /* ours alone */
    format_key(key, json_string_value(json_object_get(line, "spec")),
               json_integer_value(json_object_get(line, "combination")));
    known = json_object_get(lines_of(r), key);
    if (json_object_get(line, "error") && known) {
        json_decref(line); /* what has succeeded once needs no second try */
        return PITH_OK;
    }
    if (is_measured(line))
        return add_point(r, key, line, known, err);
    return json_object_set_new(lines_of(r), key, line) ? pith_error_no_memory(err) : PITH_OK;
}

/* Points in the order of the lines, where "at" says. */
static void sort_back(struct pith_sweep_results *r)
{
    const char *key;
    json_t *line;
    json_object_foreach(lines_of(r), key, line)
    {
        const json_t *at = json_object_get(line, "at");
        if (at)
            fill_point(&r->point[json_integer_value(at)], line);
    }
    r->sorted = false;
}

enum pith_status pith_sweep_results_add(struct pith_sweep_results *r, const char *text, size_t n,
                                        struct pith_error *err)
{
    if (!r || !text)
        return PITH_ERR_ARGUMENT;
    enum pith_status st = PITH_OK;
    if (!r->json)
        r->json = json_object();
    if (!r->json)
        return pith_error_no_memory(err);
    if (r->sorted)
        sort_back(r);
    for (size_t at = 0; at < n && !st;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t len = end ? (size_t)(end - text) - at : n - at;
        if (len > 0)
            st = add_line(r, text + at, len, err);
        at += len + 1;
    }
    return st;
}

void pith_sweep_results_free(struct pith_sweep_results *r)
{
    if (!r)
        return;
    json_decref(lines_of(r));
    free(r->point);
    *r = (struct pith_sweep_results){0};
}

bool pith_sweep_done(const struct pith_sweep *s, const struct pith_sweep_results *r, uint64_t i)
{
    if (!s || !r)
        return false;
    char mark[16], key[48];
    snprintf(mark, sizeof mark, "%08" PRIx32, s->mark);
    format_key(key, mark, (json_int_t)i);
    return is_measured(json_object_get(lines_of(r), key));
}

static double quality_of(const struct pith_sweep_point *p)
{
    return isnan(p->quality) ? 0 : p->quality;
}

static int by_inputs(const struct pith_sweep_point *p, const struct pith_sweep_point *q)
{
    int order = strcmp(p->model_crc32c, q->model_crc32c);
    return order ? order : strcmp(p->data_crc32c, q->data_crc32c);
}

bool pith_sweep_comparable(const struct pith_sweep_point *a, const struct pith_sweep_point *b)
{
    if (!a || !b)
        return false;
    return by_inputs(a, b) == 0;
}

/* By model and data, then smallest first; of equal ones the best, then the lowest number. */
static int by_bytes(const void *a, const void *b)
{
    const struct pith_sweep_point *p = a, *q = b;
    int order = by_inputs(p, q);
    if (order)
        return order;
    if (p->bytes != q->bytes)
        return p->bytes < q->bytes ? -1 : 1;
    if (quality_of(p) != quality_of(q))
        return quality_of(p) > quality_of(q) ? -1 : 1;
    return (p->combination > q->combination) - (p->combination < q->combination);
}

void pith_sweep_file_name(const struct pith_sweep_point *p, char name[PITH_SWEEP_NAME_BYTES])
{
    if (!p || !name)
        return;
    const char *model = *p->model ? p->model : "model", *dot = strrchr(model, '.');
    int stem = dot && dot > model ? (int)(dot - model) : (int)strlen(model);
    snprintf(name, PITH_SWEEP_NAME_BYTES, "%.*s-%.16s-%" PRIu64 ".pith", stem < 200 ? stem : 200,
             model, p->spec, p->combination);
    for (char *c = name; *c; c++) /* lines come from anywhere: no other folder is named */
        if (*c == '/' || (unsigned char)*c <= ' ')
            *c = '_';
}

uint32_t pith_sweep_front(struct pith_sweep_results *r)
{
    if (!r)
        return 0;
    uint32_t n = 0;
    if (r->n)
        qsort(r->point, r->n, sizeof *r->point, by_bytes);
    r->sorted = true;
    for (uint32_t i = 0; i < r->n; i++) {
        struct pith_sweep_point p = r->point[i];
        if (n > 0 && pith_sweep_comparable(&p, &r->point[n - 1]) &&
            !(quality_of(&p) > quality_of(&r->point[n - 1])))
            continue;
        r->point[i] = r->point[n];
        r->point[n++] = p;
    }
    return n;
}
