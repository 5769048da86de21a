/* SPDX-License-Identifier: MIT */
#include "infer_request.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/error_fill.h"
#include "core/element_f32.h"
#include "core/tensor.h"

/* A number takes so much memory, however short its text: numbers are counted before any is read. */
#define VALUE_BYTES 64u
#define OTHER_VALUES 4096u /* values of a request besides those of its inputs */
#define MAX_TOP 100
#define MAX_ELEMS (UINT64_C(1) << 40) /* of an input, before its values are counted */

struct reader {
    const struct served_model *m;
    struct infer_request *r;
    struct pith_error *err;
    const uint8_t *binary; /* what is left of the values behind the JSON */
    size_t binary_bytes;
    bool binary_default; /* outputs that say nothing else are binary */
    uint64_t n_values;   /* that the JSON has at most */
};

static enum pith_status bad(struct reader *in, const char *format, const char *name)
{
    return pith_error_fill(in->err, PITH_ERR_ARGUMENT, format, name);
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool put_integer(enum pith_type type, json_int_t v, uint8_t *to)
{
    static const struct {
        json_int_t low, high;
    } range[] = {[PITH_I8] = {INT8_MIN, INT8_MAX},
                 [PITH_U8] = {0, UINT8_MAX},
                 [PITH_I16] = {INT16_MIN, INT16_MAX},
                 [PITH_U16] = {0, UINT16_MAX},
                 [PITH_I32] = {INT32_MIN, INT32_MAX},
                 [PITH_I64] = {INT64_MIN, INT64_MAX},
                 [PITH_BOOL] = {0, 1}};
    if (v < range[type].low || v > range[type].high)
        return false;
    for (uint32_t i = 0; i < pith_type_bytes(type); i++) /* little-endian, as the runtime is */
        to[i] = (uint8_t)((uint64_t)v >> 8 * i);
    return true;
}

/* The floats of 2 bytes are floats of 4 to the runtime. */
static bool put_value(enum pith_type run, const json_t *v, uint8_t *to)
{
    if (run == PITH_BOOL && json_is_boolean(v)) {
        *to = json_is_true(v);
        return true;
    }
    if (run == PITH_F64 && json_is_number(v)) {
        const double d = json_number_value(v);
        memcpy(to, &d, sizeof d);
        return true;
    }
    if (run == PITH_F32 && json_is_number(v)) {
        const float f = (float)json_number_value(v);
        memcpy(to, &f, sizeof f);
        return isfinite(f);
    }
    return run != PITH_F32 && run != PITH_F64 && json_is_integer(v) &&
           put_integer(run, json_integer_value(v), to);
}

/* Values of nested lists, one behind the other. */
struct value_sink {
    enum pith_type run;
    uint8_t *to;
    uint64_t n, room;
};

static bool put_values(const json_t *list, struct value_sink *s, uint32_t depth)
{
    const size_t n = json_array_size(list);
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(list, i);
        if (json_is_array(v)) {
            if (depth == PITH_MAX_RANK || !put_values(v, s, depth + 1))
                return false;
            continue;
        }
        if (s->n == s->room || !put_value(s->run, v, s->to + s->n * pith_type_bytes(s->run)))
            return false;
        s->n++;
    }
    return true;
}

static enum pith_status read_list(struct reader *in, uint32_t input, const json_t *data)
{
    const struct served_end *e = &in->m->inputs[input];
    struct value_sink s = {.run = e->run, .room = in->r->shape[input].elems};
    if (s.room > in->n_values)
        return bad(in, "input '%s': data has fewer values than its shape", e->name);
    s.to = malloc((size_t)(s.room * pith_type_bytes(e->run)) + 1);
    in->r->made[input] = s.to;
    if (!s.to)
        return pith_error_no_memory(in->err);
    if (!put_values(data, &s, 1) || s.n != s.room)
        return pith_error_fill(in->err, PITH_ERR_ARGUMENT,
                               "input '%s': data must be %" PRIu64 " values of %s; value %" PRIu64
                               " is %s",
                               e->name, s.room, datatype_name(e->type), s.n,
                               s.n == s.room ? "one too many" : "missing or no such value");
    in->r->input[input] = s.to;
    return PITH_OK;
}

/* n bytes in the body, as long as the values of the input. */
static enum pith_status take_bytes(struct reader *in, uint32_t input, const uint8_t *bytes)
{
    const struct served_end *e = &in->m->inputs[input];
    const size_t n = (size_t)in->r->shape[input].elems;
    in->r->input[input] = bytes;
    if (e->type == PITH_BOOL)
        for (size_t i = 0; i < n; i++)
            if (bytes[i] > 1)
                return bad(in, "input '%s': a BOOL is 0 or 1", e->name);
    if (e->type == e->run)
        return PITH_OK;
    float *wide = malloc(n * sizeof *wide + 1);
    in->r->made[input] = wide;
    if (!wide)
        return pith_error_no_memory(in->err);
    pith_elements_to_f32(e->type, bytes, n, wide);
    in->r->input[input] = wide;
    return PITH_OK;
}

static enum pith_status read_binary(struct reader *in, uint32_t input, json_int_t size)
{
    const struct served_end *e = &in->m->inputs[input];
    const uint64_t bytes = in->r->shape[input].elems * pith_type_bytes(e->type);
    if (size < 0 || (uint64_t)size != bytes)
        return pith_error_fill(in->err, PITH_ERR_ARGUMENT,
                               "input '%s': binary_data_size is %" JSON_INTEGER_FORMAT
                               ", its shape has %" PRIu64 " bytes of %s",
                               e->name, size, bytes, datatype_name(e->type));
    if (bytes > in->binary_bytes)
        return bad(in, "input '%s': the body ends before its binary data does", e->name);
    const uint8_t *at = in->binary;
    in->binary += bytes;
    in->binary_bytes -= (size_t)bytes;
    return take_bytes(in, input, at);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

/* The end of this name; n: none has it. */
static uint32_t find_end(const struct served_end *ends, uint32_t n, const char *name)
{
    uint32_t i = 0;
    while (i < n && strcmp(ends[i].name, name) != 0)
        i++;
    return i;
}

static enum pith_status set_rows(struct reader *in, const struct served_end *e, json_int_t rows)
{
    if (rows < 1 || rows > in->m->max_batch)
        return pith_error_fill(in->err, PITH_ERR_ARGUMENT,
                               "input '%s': a batch of %" JSON_INTEGER_FORMAT
                               ", where 1 to %u are allowed",
                               e->name, rows, in->m->max_batch);
    if (in->r->rows && in->r->rows != (uint32_t)rows)
        return bad(in, "input '%s': another batch than the input before it has", e->name);
    in->r->rows = (uint32_t)rows;
    return PITH_OK;
}

static enum pith_status read_shape(struct reader *in, uint32_t input, const json_t *shape)
{
    const struct served_end *e = &in->m->inputs[input];
    struct infer_shape *to = &in->r->shape[input];
    bool same = json_is_array(shape) && json_array_size(shape) == e->rank;
    to->elems = 1;
    for (uint32_t d = 0; same && d < e->rank; d++) {
        const json_int_t dim = json_integer_value(json_array_get(shape, d));
        if (d == 0 && in->m->batch_open) {
            enum pith_status st = set_rows(in, e, dim);
            if (st)
                return st;
        } else {
            same = e->open[d] ? dim >= 0 && dim <= INT32_MAX : dim == (json_int_t)e->dim[d];
        }
        to->dim[d] = (uint32_t)dim;
        same = same && !__builtin_mul_overflow(to->elems, to->dim[d], &to->elems) &&
               to->elems <= MAX_ELEMS;
    }
    if (!same)
        return bad(in, "input '%s': its shape is not that of the network's metadata", e->name);
    return in->m->batch_open ? PITH_OK : set_rows(in, e, 1);
}

static enum pith_status read_input(struct reader *in, const json_t *json)
{
    const char *name = json_string_value(json_object_get(json, "name"));
    const char *datatype = json_string_value(json_object_get(json, "datatype"));
    const json_t *parameters = json_object_get(json, "parameters");
    const json_t *size = json_object_get(parameters, "binary_data_size");
    const json_t *data = json_object_get(json, "data");
    const uint32_t input = name ? find_end(in->m->inputs, in->m->n_inputs, name) : 0;
    if (!name)
        return bad(in, "%s", "an input has no name");
    if (input == in->m->n_inputs)
        return bad(in, "the network has no input '%s'", name);
    const struct served_end *e = &in->m->inputs[input];
    if (in->r->input[input])
        return bad(in, "input '%s' is there twice", e->name);
    if (!datatype || strcmp(datatype, datatype_name(e->type)) != 0)
        return pith_error_fill(in->err, PITH_ERR_ARGUMENT, "input '%s': its datatype must be %s",
                               e->name, datatype_name(e->type));
    if (json_object_get(parameters, "shared_memory_region"))
        return pith_error_fill(in->err, PITH_ERR_UNSUPPORTED,
                               "input '%s': shared memory is not supported", e->name);
    enum pith_status st = read_shape(in, input, json_object_get(json, "shape"));
    if (st)
        return st;
    if (json_is_array(data) && !size)
        return read_list(in, input, data);
    if (json_is_integer(size) && !data)
        return read_binary(in, input, json_integer_value(size));
    return bad(in, "input '%s' needs either data or a binary_data_size", e->name);
}

static enum pith_status read_inputs(struct reader *in, const json_t *inputs)
{
    enum pith_status st = PITH_OK;
    if (!json_is_array(inputs))
        return bad(in, "%s", "the request has no list of inputs");
    for (size_t i = 0; i < json_array_size(inputs) && !st; i++)
        st = read_input(in, json_array_get(inputs, i));
    for (uint32_t i = 0; i < in->m->n_inputs && !st; i++)
        if (!in->r->input[i])
            st = bad(in, "input '%s' is missing", in->m->inputs[i].name);
    if (!st && in->binary_bytes > 0)
        st = bad(in, "%s", "the body is longer than its inputs");
    if (!in->r->rows)
        in->r->rows = 1; /* a network without inputs */
    return st;
}

/* ---- outputs --------------------------------------------------------------------------------- */

static enum pith_status read_output(struct reader *in, const json_t *json)
{
    const char *name = json_string_value(json_object_get(json, "name"));
    const json_t *parameters = json_object_get(json, "parameters");
    const json_t *binary = json_object_get(parameters, "binary_data");
    const json_t *top = json_object_get(parameters, "classification");
    const uint32_t output = name ? find_end(in->m->outputs, in->m->n_outputs, name) : 0;
    if (!name)
        return bad(in, "%s", "an output has no name");
    if (output == in->m->n_outputs)
        return bad(in, "the network has no output '%s'", name);
    if (json_object_get(parameters, "shared_memory_region"))
        return pith_error_fill(in->err, PITH_ERR_UNSUPPORTED,
                               "output '%s': shared memory is not supported", name);
    const json_int_t n = top ? json_integer_value(top) : 0;
    if (top && (n < 1 || n > MAX_TOP))
        return bad(in, "output '%s': classification must be 1 to 100", name);
    const bool is_binary = binary ? json_is_true(binary) : in->binary_default;
    in->r->answers[output].form = is_binary ? ANSWER_BINARY : ANSWER_JSON;
    in->r->answers[output].top = (uint32_t)n;
    return PITH_OK;
}

static enum pith_status read_outputs(struct reader *in, const json_t *outputs)
{
    enum pith_status st = PITH_OK;
    if (outputs && !json_is_array(outputs))
        return bad(in, "%s", "'outputs' must be a list");
    for (size_t i = 0; i < json_array_size(outputs) && !st; i++)
        st = read_output(in, json_array_get(outputs, i));
    for (uint32_t i = 0; i < in->m->n_outputs && json_array_size(outputs) == 0; i++)
        in->r->answers[i].form = in->binary_default ? ANSWER_BINARY : ANSWER_JSON;
    return st;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static enum pith_status begin(const struct served_model *m, struct infer_request *r,
                              struct pith_error *err)
{
    *r = (struct infer_request){.shape = calloc(m->n_inputs + 1u, sizeof *r->shape),
                                .input = calloc(m->n_inputs + 1u, sizeof *r->input),
                                .made = calloc(m->n_inputs + 1u, sizeof *r->made),
                                .answers = calloc(m->n_outputs + 1u, sizeof *r->answers)};
    return r->shape && r->input && r->made && r->answers ? PITH_OK : pith_error_no_memory(err);
}

/* The only input has the file's shape. */
static void set_own_shape(const struct served_model *m, struct infer_request *r)
{
    memcpy(r->shape->dim, m->inputs->dim, sizeof r->shape->dim);
    if (m->batch_open)
        r->shape->dim[0] = r->rows;
    r->shape->elems = m->inputs->row_elems * r->rows;
}

static uint64_t most_values(const struct served_model *m)
{
    uint64_t n = OTHER_VALUES;
    for (uint32_t i = 0; i < m->n_inputs; i++)
        n += m->inputs[i].row_elems * m->max_batch;
    return n;
}

static uint64_t count_values(const uint8_t *json, size_t n)
{
    uint64_t values = 0;
    for (size_t i = 0; i < n; i++)
        values += json[i] == ',' || json[i] == '[' || json[i] == '{';
    return values;
}

uint64_t infer_request_cost(const uint8_t *json, size_t n)
{
    return count_values(json, n) * VALUE_BYTES;
}

static enum pith_status read_json(struct reader *in, const uint8_t *body, size_t n)
{
    json_error_t at = {.line = 0};
    in->n_values = count_values(body, n);
    if (!in->m->sizes_open && in->n_values > most_values(in->m))
        return bad(in, "%s", "more values than the network has inputs for");
    json_t *json = json_loadb((const char *)body, n, JSON_REJECT_DUPLICATES, &at);
    if (!json)
        return pith_error_fill(in->err, PITH_ERR_ARGUMENT, "the JSON is broken: line %d: %s",
                               at.line, at.text);
    const json_t *id = json_object_get(json, "id");
    enum pith_status st =
        json_is_object(json) ? PITH_OK : bad(in, "%s", "the request is no JSON object");
    in->binary_default =
        json_is_true(json_object_get(json_object_get(json, "parameters"), "binary_data_output"));
    if (!st && id && !json_is_string(id))
        st = bad(in, "%s", "'id' must be a text");
    if (!st && id)
        in->r->id = strdup(json_string_value(id));
    if (!st && id && !in->r->id)
        st = pith_error_no_memory(in->err);
    if (!st)
        st = read_inputs(in, json_object_get(json, "inputs"));
    if (!st)
        st = read_outputs(in, json_object_get(json, "outputs"));
    json_decref(json);
    return st;
}

static void answer_all(const struct served_model *m, struct infer_request *r, enum answer_form form)
{
    for (uint32_t i = 0; i < m->n_outputs; i++)
        r->answers[i].form = form;
}

/* The whole body is rows of the only input. */
static enum pith_status read_raw(struct reader *in, const uint8_t *body, size_t n)
{
    const struct served_end *e = in->m->inputs;
    if (in->m->n_inputs != 1)
        return bad(in, "%s", "values alone are for networks with one input");
    const uint64_t row = e->row_elems * pith_type_bytes(e->type);
    if (row == 0 || n == 0 || n % row != 0)
        return pith_error_fill(in->err, PITH_ERR_ARGUMENT,
                               "input '%s': %zu bytes are no multiple of the %" PRIu64
                               " bytes that it has",
                               e->name, n, row);
    enum pith_status st = set_rows(in, e, n / row > INT32_MAX ? -1 : (json_int_t)(n / row));
    answer_all(in->m, in->r, ANSWER_BINARY);
    if (!st)
        set_own_shape(in->m, in->r);
    return st ? st : take_bytes(in, 0, body);
}

enum pith_status infer_request_parse(const struct served_model *m, const uint8_t *body, size_t n,
                                     size_t json_bytes, struct infer_request *r,
                                     struct pith_error *err)
{
    struct reader in = {.m = m, .r = r, .err = err};
    enum pith_status st = begin(m, r, err);
    if (st)
        return st;
    if (json_bytes > n)
        return bad(&in, "%s", "the body is shorter than Inference-Header-Content-Length");
    if (json_bytes == 0)
        return read_raw(&in, body, n);
    in.binary = body + json_bytes;
    in.binary_bytes = n - json_bytes;
    return read_json(&in, body, json_bytes);
}

enum pith_status infer_request_of_values(const struct served_model *m, float *values,
                                         struct infer_request *r, struct pith_error *err)
{
    enum pith_status st = begin(m, r, err);
    if (st) {
        free(values);
        return st;
    }
    r->rows = 1;
    set_own_shape(m, r);
    r->made[0] = values;
    r->input[0] = values;
    answer_all(m, r, ANSWER_JSON);
    return PITH_OK;
}

void infer_request_free(const struct served_model *m, struct infer_request *r)
{
    for (uint32_t i = 0; r->made && i < m->n_inputs; i++)
        free(r->made[i]);
    free(r->made);
    free(r->input);
    free(r->shape);
    free(r->answers);
    free(r->id);
    *r = (struct infer_request){0};
}
