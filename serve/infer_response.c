/* SPDX-License-Identifier: MIT */
#include "infer_response.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/narrow_float.h"
#include "core/element_f32.h"
#include "core/tensor.h"
#include "host/decimal.h"

#define NUMBER_BYTES 32

/* ---- numbers ----------------------------------------------------------------------------------
 */

static int64_t integer_at(enum pith_type type, const uint8_t *p)
{
    const uint32_t bytes = pith_type_bytes(type);
    const bool is_signed = type != PITH_U8 && type != PITH_U16 && type != PITH_BOOL;
    uint64_t v = 0;
    for (uint32_t i = 0; i < bytes; i++)
        v |= (uint64_t)p[i] << 8 * i;
    if (is_signed && bytes < 8 && v >> (8 * bytes - 1))
        v |= UINT64_MAX << 8 * bytes;
    return (int64_t)v;
}

/* JSON has no infinity and no NaN: these are null. */
static void put_number(struct byte_out *out, enum pith_type type, const uint8_t *p)
{
    char text[NUMBER_BYTES];
    float f = 0;
    double d = 0;
    if (type == PITH_F32) {
        memcpy(&f, p, sizeof f);
        if (isfinite(f))
            pith_out_bytes(out, text, pith_decimal_format(f, text));
        else
            pith_out_bytes(out, "null", 4);
    } else if (type == PITH_F64) {
        memcpy(&d, p, sizeof d);
        pith_json_format(out, isfinite(d) ? "%.17g" : "null", d);
    } else if (type == PITH_BOOL) {
        pith_json_format(out, "%s", *p ? "true" : "false");
    } else {
        pith_json_format(out, "%" PRId64, integer_at(type, p));
    }
}

static void put_values(struct byte_out *out, enum pith_type run, const struct infer_output *o)
{
    const uint32_t each = pith_type_bytes(run);
    for (uint64_t i = 0; i < o->bytes / each; i++) {
        if (i)
            pith_out_u8(out, ',');
        put_number(out, run, (const uint8_t *)o->data + i * each);
    }
}

static uint64_t wire_bytes(const struct served_end *e, const struct infer_output *o)
{
    return o->bytes / pith_type_bytes(e->run) * pith_type_bytes(e->type);
}

/* As clients read them: the floats of 2 bytes are floats of 4 to the runtime. */
static void put_binary(struct byte_out *out, const struct served_end *e,
                       const struct infer_output *o)
{
    const float *wide = o->data;
    if (e->type == e->run) {
        pith_out_bytes(out, o->data, (size_t)o->bytes);
        return;
    }
    uint8_t *to = pith_out_room(out, (size_t)wire_bytes(e, o));
    for (uint64_t i = 0; to && i < o->bytes / sizeof *wide; i++) {
        const uint16_t bits = pith_narrow_bits(e->type, pith_narrow_round(e->type, wide[i]));
        to[2 * i] = (uint8_t)bits;
        to[2 * i + 1] = (uint8_t)(bits >> 8);
    }
}

/* ---- the largest values of a row, as texts ----------------------------------------------------
 */

/* Rows of classes: the first axis is the batch, or the only one is the classes. */
static uint64_t class_rows(const struct infer_output *o)
{
    return o->rank > 1 ? o->dim[0] : 1;
}

static uint64_t class_count(const struct served_end *e, const struct infer_output *o)
{
    const uint64_t rows = class_rows(o);
    return rows ? o->bytes / pith_type_bytes(e->run) / rows : 0;
}

static uint64_t top_count(const struct served_end *e, const struct infer_output *o, uint32_t top)
{
    const uint64_t n = class_count(e, o);
    return top < n ? top : n;
}

static const char *label_of(const struct served_model *m, uint64_t class, int *length)
{
    const char *p = m->labels;
    for (; p && class > 0; class --) {
        p = strchr(p, '\n');
        p = p ? p + 1 : NULL;
    }
    *length = p ? (int)strcspn(p, "\r\n") : 0;
    return p ? p : "";
}

/* The class whose value comes next below that of `last` (equal ones by their number); n: none does.
 */
static uint64_t next_class(const float *value, uint64_t n, uint64_t last)
{
    uint64_t best = n;
    for (uint64_t i = 0; i < n; i++) {
        const bool after =
            last == n || value[i] < value[last] || (value[i] == value[last] && i > last);
        if (after && (best == n || value[i] > value[best]))
            best = i;
    }
    return best;
}

/* "0.93:281:tabby cat" in a buffer of its own; each as a text of JSON, or behind its length of 4
 * bytes. */
static void put_classes(struct byte_out *out, const struct served_model *m, const float *value,
                        uint64_t n, const struct answer *a, bool first)
{
    for (uint64_t k = 0, class = n; k < a->top && (class = next_class(value, n, class)) != n; k++) {
        char text[512], number[DECIMAL_TEXT_BYTES] = "inf";
        int length;
        const char *label = label_of(m, class, &length);
        number[isfinite(value[class]) ? pith_decimal_format(value[class], number) : 3] = 0;
        snprintf(text, sizeof text, length ? "%s:%" PRIu64 ":%.*s" : "%s:%" PRIu64, number, class,
                 length, label);
        if (a->form == ANSWER_BINARY) {
            pith_out_le32(out, (uint32_t)strlen(text));
            pith_out_bytes(out, text, strlen(text));
            continue;
        }
        if (k || !first)
            pith_out_u8(out, ',');
        pith_json_quote(out, text, strlen(text));
    }
}

static void put_top(struct byte_out *out, const struct served_model *m, const struct served_end *e,
                    const struct infer_output *o, const struct answer *a)
{
    const uint64_t rows = class_rows(o), n = class_count(e, o);
    float *value = malloc((size_t)n * sizeof *value + 1);
    out->failed |= !value;
    for (uint64_t row = 0; value && row < rows; row++) {
        pith_elements_to_f32(e->run, (const uint8_t *)o->data + row * n * pith_type_bytes(e->run),
                             (size_t)n, value);
        for (uint64_t i = 0; i < n; i++)
            value[i] = isnan(value[i]) ? -INFINITY : value[i];
        put_classes(out, m, value, n, a, row == 0);
    }
    free(value);
}

/* ---- the whole --------------------------------------------------------------------------------
 */

static void put_shape(struct byte_out *out, const struct infer_output *o, const uint64_t *top)
{
    pith_json_format(out, "\"shape\":[");
    if (top && o->rank > 1)
        pith_json_format(out, "%" PRIu64 ",", class_rows(o));
    if (top)
        pith_json_format(out, "%" PRIu64, *top);
    for (uint32_t d = 0; !top && d < o->rank; d++)
        pith_json_format(out, d ? ",%u" : "%u", o->dim[d]);
    pith_json_format(out, "]");
}

static void put_output(struct byte_out *out, struct byte_out *binary, const struct served_model *m,
                       uint32_t i, const struct answer *a, const struct infer_output *o)
{
    const struct served_end *e = &m->outputs[i];
    const uint64_t top = a->top ? top_count(e, o, a->top) : 0;
    pith_json_format(out, "{\"name\":");
    pith_json_quote(out, e->name, strlen(e->name));
    pith_json_format(out, ",\"datatype\":\"%s\",", a->top ? "BYTES" : datatype_name(e->type));
    put_shape(out, o, a->top ? &top : NULL);
    if (a->form == ANSWER_BINARY) {
        const size_t before = binary->bytes;
        if (a->top)
            put_top(binary, m, e, o, a);
        else
            put_binary(binary, e, o);
        pith_json_format(out, ",\"parameters\":{\"binary_data_size\":%zu}}",
                         binary->bytes - before);
        return;
    }
    pith_json_format(out, ",\"data\":[");
    if (a->top)
        put_top(out, m, e, o, a);
    else
        put_values(out, e->run, o);
    pith_json_format(out, "]}");
}

void infer_response_write(const struct served_model *m, const struct infer_request *request,
                          const struct infer_result *result, struct byte_out *out,
                          size_t *json_bytes)
{
    const size_t before = out->bytes;
    struct byte_out binary = {0};
    bool any = false, any_binary = false;
    pith_json_format(out, "{\"model_name\":");
    pith_json_quote(out, m->name, strlen(m->name));
    pith_json_format(out, ",\"model_version\":\"1\"");
    if (request->id) {
        pith_json_format(out, ",\"id\":");
        pith_json_quote(out, request->id, strlen(request->id));
    }
    pith_json_format(out, ",\"outputs\":[");
    for (uint32_t i = 0; i < m->n_outputs; i++) {
        const struct answer *a = &request->answers[i];
        if (a->form == ANSWER_NONE)
            continue;
        if (any)
            pith_out_u8(out, ',');
        put_output(out, &binary, m, i, a, &result->outputs[i]);
        any = true;
        any_binary |= a->form == ANSWER_BINARY;
    }
    pith_json_format(out, "]}");
    *json_bytes = any_binary ? out->bytes - before : 0;
    pith_out_bytes(out, binary.data, binary.bytes);
    out->failed |= binary.failed;
    pith_out_clear(&binary);
}
