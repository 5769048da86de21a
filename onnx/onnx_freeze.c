/* SPDX-License-Identifier: MIT */
/* onnx_freeze.c - the elements of an input that --set-input makes constant: one number for all of
 * them, a comma-separated list in row-major order, or @file.npy. */
#include "onnx/graph/onnx.h"
#include "data/number_convert.h"
#include "pith_data.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static bool parse_number(const char **text, enum pith_type type, void *dst, uint64_t i)
{
    char *end;
    bool ok;
    errno = 0;
    if (type == PITH_F32) {
        float f = strtof(*text, &end);
        ok = isfinite(f);
        memcpy((uint8_t *)dst + i * sizeof f, &f, sizeof f);
    } else {
        const struct number v = {.whole = true, .i = strtoll(*text, &end, 10)};
        ok = pith_number_store(v, type, (uint8_t *)dst + i * pith_type_bytes(type)) && errno == 0;
    }
    ok = ok && end != *text && (*end == 0 || (*end == ',' && end[1] != 0));
    *text = *end == ',' ? end + 1 : end;
    return ok;
}

static enum pith_status fail_count(struct onnx_import *im, const struct onnx_value *v,
                                   uint64_t have)
{
    return pith_onnx_fail(im, PITH_ERR_ARGUMENT,
                          "input '%.100s' has %llu elements, %llu values are given", v->name,
                          (unsigned long long)shape_elems(&v->shape), (unsigned long long)have);
}

/* The values' dims where the input's are open, then room for its elements. */
static enum pith_status settle_shape(struct onnx_import *im, struct onnx_value *v, uint32_t rank,
                                     const uint32_t *dim, uint64_t given)
{
    for (uint32_t i = 0; i < v->shape.rank; i++) {
        if (v->shape.dim[i] == 0 && rank == v->shape.rank)
            v->shape.dim[i] = dim[i];
        v->empty = v->empty || v->shape.dim[i] == 0;
    }
    uint64_t count = 0;
    if (v->empty ? given > 0 : pith_shape_count(&v->shape, &count) != PITH_OK)
        return pith_onnx_fail(
            im, PITH_ERR_ARGUMENT,
            "input '%.100s' has %s, %llu values are given: give --input-shape too", v->name,
            v->empty ? "an open shape" : "too many elements", (unsigned long long)given);
    v->data = pith_onnx_alloc(&im->budget, count + 1, pith_type_bytes(v->type));
    return v->data ? PITH_OK : pith_onnx_no_memory(im);
}

static enum pith_status freeze_text(struct onnx_import *im, struct onnx_value *v, const char *text)
{
    uint32_t each = pith_type_bytes(v->type);
    uint64_t given = *text != 0, n = 0;
    for (const char *p = text; *p; p++)
        given += *p == ',';
    const uint32_t length[1] = {given > INT32_MAX ? INT32_MAX : (uint32_t)given};
    if (v->shape.rank > 1 && v->shape.dim[0] == 0)
        v->shape.dim[0] = 1; /* a batch of one */
    enum pith_status status = settle_shape(im, v, 1, length, given);
    if (status || v->empty)
        return status;
    uint64_t count = shape_elems(&v->shape);
    if (given != 1 && given != count)
        return fail_count(im, v, given);
    while (n < given) {
        if (!parse_number(&text, v->type, v->data, n))
            return pith_onnx_fail(im, PITH_ERR_ARGUMENT,
                                  "value %llu given for input '%.100s' is no number that fits",
                                  (unsigned long long)n, v->name);
        n++;
    }
    for (uint64_t i = 1; given == 1 && i < count; i++)
        memcpy((uint8_t *)v->data + i * each, v->data, each);
    return PITH_OK;
}

static enum pith_status freeze_array(struct onnx_import *im, struct onnx_value *v,
                                     const struct pith_array *a, const char *path)
{
    enum pith_status status = settle_shape(im, v, a->rank, a->dim, a->count);
    if (status || v->empty)
        return status;
    if (a->count != shape_elems(&v->shape))
        return fail_count(im, v, a->count);
    return pith_array_convert(a, v->type, v->data, path, im->err);
}

static enum pith_status freeze_file(struct onnx_import *im, struct onnx_value *v, const char *path)
{
    struct pith_buffer file;
    struct pith_array array;
    uint64_t most = im->budget.in_proportion ? ONNX_MOST_BYTES : im->budget.limit;
    enum pith_status status = pith_file_read(path, most, &file, im->err);
    if (status)
        return status;
    pith_onnx_read_beside(&im->budget, file.bytes);
    status = pith_npy_read(file.data, file.bytes, path, &array, im->err);
    pith_buffer_free(&file);
    if (status)
        return status;
    status = freeze_array(im, v, &array, path);
    pith_array_free(&array);
    return status;
}

enum pith_status pith_onnx_freeze(struct onnx_import *im, uint32_t value, const char *text)
{
    struct onnx_value *v = &im->values[value];
    v->constant = true;
    return *text == '@' ? freeze_file(im, v, text + 1) : freeze_text(im, v, text);
}
