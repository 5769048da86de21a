/* SPDX-License-Identifier: MIT */
/* onnx_tensor.c - initializers and constant tensors: elements in raw_data, in one of the typed
 * fields, or in a file of their own.
 *
 * Floats of 16 and 64 bits become f32 here, once: pith computes in f32. (A value of 64 bits that is
 * computed when the network runs is refused: what was meant to be exact would not be.) Unsigned 32-
 * and 64-bit integers become i64, which holds every index and size they can mean. */
#define _DEFAULT_SOURCE
#include "onnx.h"

#include <sys/mman.h>
#include <unistd.h>
#include "core/f64_bits.h"
#include "base/half_float.h"

#define DT(name) ONNX__TENSOR_PROTO__DATA_TYPE__##name

static const struct type_row {
    const char *name;
    int32_t data_type;
    uint32_t file_bytes; /* of one element in raw_data */
    enum pith_type type; /* 0: not supported */
} types[] = {
    {"float", DT(FLOAT), 4, PITH_F32},
    {"uint8", DT(UINT8), 1, PITH_U8},
    {"int8", DT(INT8), 1, PITH_I8},
    {"uint16", DT(UINT16), 2, PITH_U16},
    {"int16", DT(INT16), 2, PITH_I16},
    {"int32", DT(INT32), 4, PITH_I32},
    {"int64", DT(INT64), 8, PITH_I64},
    {"bool", DT(BOOL), 1, PITH_BOOL},
    {"float16", DT(FLOAT16), 2, PITH_F32},
    {"double", DT(DOUBLE), 8, PITH_F32},
    {"uint32", DT(UINT32), 4, PITH_I64},
    {"uint64", DT(UINT64), 8, PITH_I64},
    {"bfloat16", DT(BFLOAT16), 2, PITH_F32},
    {"string", DT(STRING), 0, 0},
    {"complex64", DT(COMPLEX64), 0, 0},
    {"complex128", DT(COMPLEX128), 0, 0},
    /* newer than the schema the headers were made from */
    {"float8e4m3fn", 17, 0, 0},
    {"float8e4m3fnuz", 18, 0, 0},
    {"float8e5m2", 19, 0, 0},
    {"float8e5m2fnuz", 20, 0, 0},
    {"uint4", 21, 0, 0},
    {"int4", 22, 0, 0},
    {"float4e2m1", 23, 0, 0},
};

static const struct type_row *row_of(int32_t data_type)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].data_type == data_type)
            return &types[i];
    return NULL;
}

enum pith_type pith_onnx_type(int32_t data_type)
{
    const struct type_row *row = row_of(data_type);
    return row ? row->type : 0;
}

const char *pith_onnx_type_name(int32_t data_type)
{
    const struct type_row *row = row_of(data_type);
    return row ? row->name : "unknown to this version";
}

/* Element `bits` (zero-extended) of data_type to dst; false when u64 does not fit i64. */
static bool convert(int32_t data_type, uint64_t bits, void *dst)
{
    float f;
    switch (data_type) {
    case DT(FLOAT16):
        f = half_to_f32((uint16_t)bits);
        break;
    case DT(BFLOAT16):
        f = f32_from_bits((uint32_t)bits << 16);
        break;
    case DT(DOUBLE):
        f = (float)f64_from_bits(bits);
        break;
    case DT(BOOL):
        *(uint8_t *)dst = bits != 0;
        return true;
    default:
        memcpy(dst, &bits, sizeof bits); /* UINT32, UINT64 */
        return bits <= INT64_MAX;
    }
    memcpy(dst, &f, sizeof f);
    return true;
}

/* The types whose bytes in a (little-endian) file are those in memory. */
static bool same_bytes(int32_t data_type)
{
    switch (data_type) {
    case DT(FLOAT16):
    case DT(BFLOAT16):
    case DT(DOUBLE):
    case DT(UINT32):
    case DT(UINT64):
    case DT(BOOL):
        return false;
    default:
        return true;
    }
}

static enum pith_status fail_tensor(struct onnx_import *im, const struct onnx_value *v,
                                    enum pith_status status, const char *what)
{
    return pith_onnx_fail(im, status, "tensor '%.100s' %s", v->name, what);
}

static enum pith_status fail_size(struct onnx_import *im, const struct onnx_value *v, uint64_t want,
                                  uint64_t have, const char *unit)
{
    return pith_onnx_fail(im, PITH_ERR_CORRUPT, "tensor '%.100s' needs %llu %s, the file has %llu",
                          v->name, (unsigned long long)want, unit, (unsigned long long)have);
}

/* What raw_data is in the file: onnx_wire.c left the long ones there. */
static ProtobufCBinaryData raw_of(const struct onnx_import *im, const Onnx__TensorProto *t)
{
    ProtobufCBinaryData raw = t->raw_data;
    if (raw.len != ONNX_RAW_REF_BYTES)
        return raw;
    return (ProtobufCBinaryData){.len = (size_t)load_le64(raw.data + 8),
                                 .data = (uint8_t *)(uintptr_t)(im->bytes + load_le64(raw.data))};
}

/* Elements that were copied need not stay in memory for the file's sake. Short ones lie in a copy
 * of protobuf-c's, whose pages hold other things, too, and would come back as zeros. */
static void drop_pages(const struct onnx_import *im, const Onnx__TensorProto *t, const uint8_t *raw,
                       size_t n)
{
    bool in_file = t->raw_data.len == ONNX_RAW_REF_BYTES;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = (uintptr_t)raw / page * page, to = ((uintptr_t)raw + n) / page * page;
    if (im->mapped && in_file && from < to)
        (void)madvise((void *)from, to - from, MADV_DONTNEED);
}

/* raw: `count` elements in file form, to dst. */
static enum pith_status from_raw(struct onnx_import *im, const struct onnx_value *v,
                                 const uint8_t *raw, uint64_t count, void *dst)
{
    int32_t dt = v->tensor->data_type;
    uint32_t bytes = row_of(dt)->file_bytes;
    if (same_bytes(dt)) {
        memcpy(dst, raw, count * bytes);
        return PITH_OK;
    }
    for (uint64_t i = 0; i < count; i++) {
        uint8_t le[8] = {0};
        memcpy(le, raw + i * bytes, bytes);
        if (!convert(dt, load_le64(le), (uint8_t *)dst + i * pith_type_bytes(v->type)))
            return fail_tensor(im, v, PITH_ERR_UNSUPPORTED, "holds a number above 2^63 - 1");
    }
    return PITH_OK;
}

/* Piece by piece, so that a long tensor is not in memory twice. */
static enum pith_status from_file(struct onnx_import *im, const struct onnx_value *v,
                                  uint64_t count, void *dst)
{
    enum { PIECE = 1 << 18 }; /* elements */
    const ProtobufCBinaryData raw = raw_of(im, v->tensor);
    size_t each = row_of(v->tensor->data_type)->file_bytes, to_each = pith_type_bytes(v->type);
    enum pith_status status = PITH_OK;
    for (uint64_t i = 0; i < count && !status; i += PIECE) {
        uint64_t n = count - i < PIECE ? count - i : PIECE;
        status = from_raw(im, v, raw.data + i * each, n, (uint8_t *)dst + i * to_each);
        drop_pages(im, v->tensor, raw.data + i * each, n * each);
    }
    return status;
}

struct typed {
    const void *data;
    size_t n;
    uint32_t bytes; /* of one element as protobuf-c holds it */
};

/* The typed field that data_type is kept in (onnx.proto, TensorProto). */
static struct typed typed_field(const Onnx__TensorProto *t)
{
    switch (t->data_type) {
    case DT(FLOAT):
        return (struct typed){t->float_data, t->n_float_data, 4};
    case DT(DOUBLE):
        return (struct typed){t->double_data, t->n_double_data, 8};
    case DT(INT64):
        return (struct typed){t->int64_data, t->n_int64_data, 8};
    case DT(UINT32):
    case DT(UINT64):
        return (struct typed){t->uint64_data, t->n_uint64_data, 8};
    default:
        return (struct typed){t->int32_data, t->n_int32_data, 4};
    }
}

static enum pith_status from_typed(struct onnx_import *im, const struct onnx_value *v,
                                   uint64_t count, void *dst)
{
    const Onnx__TensorProto *t = v->tensor;
    struct typed f = typed_field(t);
    uint32_t bytes = pith_type_bytes(v->type);
    for (uint64_t i = 0; i < count; i++) {
        uint8_t le[8] = {0};
        memcpy(le, (const uint8_t *)f.data + i * f.bytes, f.bytes);
        void *out = (uint8_t *)dst + i * bytes;
        if (same_bytes(t->data_type))
            memcpy(out, le, bytes); /* small integers stand in the low bytes of their int32 */
        else if (!convert(t->data_type, load_le64(le), out))
            return fail_tensor(im, v, PITH_ERR_UNSUPPORTED, "holds a number above 2^63 - 1");
    }
    return PITH_OK;
}

static enum pith_status from_external(struct onnx_import *im, const struct onnx_value *v,
                                      uint64_t count, void *dst)
{
    uint64_t bytes = count * row_of(v->tensor->data_type)->file_bytes;
    if (same_bytes(v->tensor->data_type))
        return pith_onnx_external(im, v->tensor, dst, bytes);
    uint8_t *raw = pith_onnx_alloc(&im->budget, bytes, 1);
    if (!raw)
        return pith_onnx_no_memory(im);
    enum pith_status status = pith_onnx_external(im, v->tensor, raw, bytes);
    if (!status)
        status = from_raw(im, v, raw, count, dst);
    pith_onnx_free(&im->budget, raw);
    return status;
}

static bool is_external(const Onnx__TensorProto *t)
{
    return t->has_data_location && t->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
}

/* The elements that the shape claims are there: tested before memory is allocated for them. */
static enum pith_status check_elements(struct onnx_import *im, const struct onnx_value *v)
{
    const Onnx__TensorProto *t = v->tensor;
    uint64_t count;
    if (pith_shape_count(&v->shape, &count))
        return fail_tensor(im, v, PITH_ERR_CORRUPT, "has too many elements");
    uint64_t bytes = count * row_of(t->data_type)->file_bytes; /* count <= 2^40 */
    if (is_external(t))
        return pith_onnx_external(im, t, NULL, bytes);
    if (t->has_raw_data)
        return raw_of(im, t).len == bytes ? PITH_OK
                                          : fail_size(im, v, bytes, raw_of(im, t).len, "bytes");
    size_t n = typed_field(t).n;
    return n == count ? PITH_OK : fail_size(im, v, count, n, "elements");
}

enum pith_status pith_onnx_describe_tensor(struct onnx_import *im, uint32_t value)
{
    struct onnx_value *v = &im->values[value];
    const Onnx__TensorProto *t = v->tensor;
    v->type = pith_onnx_type(t->data_type);
    if (!v->type)
        return pith_onnx_fail(im, PITH_ERR_UNSUPPORTED, "tensor '%.100s' has type %s", v->name,
                              pith_onnx_type_name(t->data_type));
    if (t->segment)
        return fail_tensor(im, v, PITH_ERR_UNSUPPORTED, "is stored in segments");
    if (t->n_dims > PITH_MAX_RANK)
        return pith_onnx_fail(im, PITH_ERR_UNSUPPORTED, "tensor '%.100s' has %zu dims, at most %u",
                              v->name, t->n_dims, PITH_MAX_RANK);
    v->shape = (struct shape){.rank = (uint32_t)t->n_dims};
    v->wide = t->data_type == DT(DOUBLE);
    for (uint32_t i = 0; i < v->shape.rank; i++) {
        if (t->dims[i] < 0 || t->dims[i] > INT32_MAX)
            return pith_onnx_fail(im, PITH_ERR_CORRUPT, "tensor '%.100s' dim %u is %lld", v->name,
                                  i, (long long)t->dims[i]);
        v->empty |= t->dims[i] == 0;
        v->shape.dim[i] = (uint32_t)t->dims[i];
    }
    enum pith_status status = v->empty ? PITH_OK : check_elements(im, v);
    v->known = !status; /* it may be loaded */
    return status;
}

enum pith_status pith_onnx_copy(struct onnx_import *im, uint32_t value, void *dst)
{
    const struct onnx_value *v = &im->values[value];
    uint64_t count = shape_elems(&v->shape);
    if (v->data) {
        memcpy(dst, v->data, count * pith_type_bytes(v->type));
        return PITH_OK;
    }
    if (is_external(v->tensor))
        return from_external(im, v, count, dst);
    if (v->tensor->has_raw_data)
        return from_file(im, v, count, dst);
    return from_typed(im, v, count, dst);
}

enum pith_status pith_onnx_no_room(struct onnx_import *im, uint32_t value)
{
    const struct onnx_value *v = &im->values[value];
    enum pith_status status = pith_onnx_memory_status(&im->budget);
    if (status != PITH_ERR_LIMIT)
        return pith_onnx_no_memory(im);
    return pith_onnx_fail(
        im, status,
        "tensor '%.100s' holds %llu bytes: import needs more than %llu bytes of memory "
        "(--max-memory)",
        v->name, (unsigned long long)(shape_elems(&v->shape) * pith_type_bytes(v->type)),
        (unsigned long long)im->budget.limit);
}

enum pith_status pith_onnx_load(struct onnx_import *im, uint32_t value)
{
    if (im->values[value].data || im->values[value].empty)
        return PITH_OK;
    void *data = pith_onnx_alloc(&im->budget, shape_elems(&im->values[value].shape),
                                 pith_type_bytes(im->values[value].type));
    if (!data)
        return pith_onnx_no_room(im, value);
    enum pith_status status = pith_onnx_copy(im, value, data);
    if (status)
        pith_onnx_free(&im->budget, data);
    else
        im->values[value].data = data;
    return status;
}
