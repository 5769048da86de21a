/* SPDX-License-Identifier: MIT */
/* data_numbers.c - samples stored as plain numbers, one behind the other: IDX, .npy and
 * headerless records. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "data_source.h"
#include "base/half_float.h"
#include "npy_header.h"
#include "number_convert.h"
#include "core/tensor.h"

uint64_t pith_load_stored(const uint8_t *p, uint32_t bytes, bool big_endian)
{
    uint64_t v = 0;
    for (uint32_t i = 0; i < bytes; i++)
        v |= (uint64_t)p[big_endian ? bytes - 1 - i : i] << 8 * i;
    return v;
}

static double f64_from_bits(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

double pith_stored_f64(enum pith_type type, bool big_endian, const uint8_t *p)
{
    uint64_t v = pith_load_stored(p, pith_type_bytes(type), big_endian);
    switch (type) {
    case PITH_F32:
        return (double)f32_from_bits((uint32_t)v);
    case PITH_F16:
        return (double)half_to_f32((uint16_t)v);
    case PITH_BF16:
        return (double)f32_from_bits((uint32_t)v << 16);
    case PITH_F64:
        return f64_from_bits(v);
    case PITH_I8:
        return (double)(int8_t)v;
    case PITH_I16:
        return (double)(int16_t)v;
    case PITH_I32:
        return (double)(int32_t)v;
    case PITH_I64:
        return (double)(int64_t)v;
    case PITH_U8:
    case PITH_U16:
    case PITH_BOOL:
        break;
    }
    return (double)v;
}

static bool is_real(enum pith_type type)
{
    return type == PITH_F32 || type == PITH_F64 || type == PITH_F16 || type == PITH_BF16;
}

static bool all_finite(const float *x, uint64_t n)
{
    const uint32_t exponent = 0x7f800000;
    uint32_t bits, found = 0;
    for (uint64_t k = 0; k < n; k++) {
        memcpy(&bits, &x[k], sizeof bits);
        found |= (bits & exponent) == exponent;
    }
    return !found;
}

bool pith_numbers_usable(enum pith_type type, const void *x, uint64_t n, bool *nan)
{
    const uint32_t each = pith_type_bytes(type);
    const uint8_t *p = x;
    bool infinite = false, mask = true;
    *nan = false;
    if (!is_real(type) || (type == PITH_F32 && all_finite(x, n)))
        return true;
    for (uint64_t k = 0; k < n; k++) {
        const double v = pith_stored_f64(type, false, p + k * each);
        *nan |= isnan(v);
        infinite |= isinf(v);
        mask &= v == 0 || v == -INFINITY;
    }
    return !*nan && (!infinite || mask);
}

bool pith_stored_i64(enum pith_type type, bool big_endian, const uint8_t *p, int64_t *v)
{
    if (type == PITH_I64) {
        *v = (int64_t)pith_load_stored(p, 8, big_endian);
        return true;
    }
    double d = pith_stored_f64(type, big_endian, p);
    if (!(fabs(d) < 0x1p53) || d != floor(d))
        return false;
    *v = (int64_t)d;
    return true;
}

static const uint8_t *stored_at(const struct data_source *s, uint64_t i)
{
    return s->file.mem + s->first + i * (s->hop ? s->hop : s->elems) * pith_type_bytes(s->type);
}

enum pith_status pith_stored_numbers(const struct data_source *s, uint64_t i, float *x,
                                     struct pith_error *err)
{
    (void)err;
    uint32_t each = pith_type_bytes(s->type);
    const uint8_t *p = stored_at(s, i);
    for (uint64_t k = 0; k < s->elems; k++)
        x[k] = (float)pith_stored_f64(s->type, s->big_endian, p + k * each);
    return PITH_OK;
}

enum pith_status pith_stored_as(const struct data_source *s, uint64_t i, enum pith_type type,
                                void *x, struct pith_error *err)
{
    uint32_t each = pith_type_bytes(s->type), to_bytes = pith_type_bytes(type);
    const uint8_t *p = stored_at(s, i);
    for (uint64_t k = 0; k < s->elems; k++, p += each) {
        struct number v = {.whole = !is_real(s->type)};
        char text[32];
        if (!v.whole)
            v.d = pith_stored_f64(s->type, s->big_endian, p);
        else
            (void)pith_stored_i64(s->type, s->big_endian, p, &v.i); /* integers always are one */
        if (!pith_number_store(v, type, (uint8_t *)x + k * to_bytes))
            return pith_error_fill(err, PITH_ERR_ARGUMENT,
                                   "%s: value %llu of sample %llu is %s, which the input's type "
                                   "cannot hold",
                                   s->file.name, (unsigned long long)k, (unsigned long long)i,
                                   pith_number_text(v, text));
    }
    return PITH_OK;
}

enum pith_status pith_targets_check(const struct data_source *s, const uint32_t *chosen, uint64_t n,
                                    struct pith_error *err)
{
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t at = chosen ? chosen[i] : i;
        if (!all_finite(s->targets + at * s->target_elems, s->target_elems))
            return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                                   "%s: the target of sample %llu is NaN or infinite", s->file.name,
                                   (unsigned long long)at);
    }
    return PITH_OK;
}

static enum pith_status check_counts(const struct data_source *s, struct pith_error *err)
{
    if (s->n_samples == 0 || s->elems == 0)
        return pith_error_fill(err, PITH_ERR_CORRUPT, "%s: no samples", s->file.name);
    if (s->n_samples > DATA_MAX_SAMPLES || s->elems > DATA_MAX_SAMPLE_ELEMS)
        return pith_error_fill(
            err, PITH_ERR_LIMIT, "%s: %llu samples of %llu values, at most 268,435,456 of each",
            s->file.name, (unsigned long long)s->n_samples, (unsigned long long)s->elems);
    return PITH_OK;
}

/* ---- headerless records ---------------------------------------------------------------------- */

enum pith_status pith_raw_open(struct data_source *s, enum pith_type type, uint64_t elems,
                               struct pith_error *err)
{
    uint64_t record;
    if (!mul_ok(elems, pith_type_bytes(type), &record) || record == 0 ||
        s->file.bytes % record != 0)
        return pith_error_fill(
            err, PITH_ERR_CORRUPT, "%s: %llu bytes are not a whole number of records of %llu bytes",
            s->file.name, (unsigned long long)s->file.bytes, (unsigned long long)record);
    s->type = type;
    s->elems = elems;
    s->rank = 1;
    s->dim[0] = (uint32_t)elems;
    s->n_samples = s->file.bytes / record;
    s->numbers = pith_stored_numbers;
    return check_counts(s, err);
}

/* ---- IDX ------------------------------------------------------------------------------------- */

static bool idx_type(uint8_t code, enum pith_type *type)
{
    switch (code) {
    case 0x08:
        *type = PITH_U8;
        return true;
    case 0x09:
        *type = PITH_I8;
        return true;
    case 0x0b:
        *type = PITH_I16;
        return true;
    case 0x0c:
        *type = PITH_I32;
        return true;
    case 0x0d:
        *type = PITH_F32;
        return true;
    case 0x0e:
        *type = PITH_F64;
        return true;
    default:
        return false;
    }
}

bool pith_is_idx(const uint8_t *head, size_t n)
{
    enum pith_type type;
    return n >= 8 && head[0] == 0 && head[1] == 0 && idx_type(head[2], &type) && head[3] >= 1 &&
           head[3] <= PITH_MAX_RANK;
}

static uint32_t load_be32(const uint8_t *p)
{
    return (uint32_t)pith_load_stored(p, 4, true);
}

uint64_t pith_idx_bytes(const uint8_t *head, size_t n)
{
    enum pith_type type;
    uint64_t bytes;
    if (!pith_is_idx(head, n) || n < 4 + 4 * (size_t)head[3] || !idx_type(head[2], &type))
        return 0;
    bytes = pith_type_bytes(type);
    for (uint32_t i = 0; i < head[3]; i++)
        if (!mul_ok(bytes, load_be32(head + 4 + 4 * i), &bytes))
            return 0;
    return add_ok(bytes, 4 + 4 * (uint64_t)head[3], &bytes) ? bytes : 0;
}

/* Grey pictures, to be resized and cropped like others. */
static enum pith_status idx_picture(struct data_source *s, uint64_t i, struct pith_image *image,
                                    struct pith_error *err)
{
    enum pith_status st = pith_image_new(s->dim[1], s->dim[0], 1, s->file.name, image, err);
    if (st == PITH_OK)
        memcpy(image->pixels, s->file.mem + s->first + i * s->elems, (size_t)s->elems);
    return st;
}

/* 0 0 type rank | rank dims, 4 bytes each | elements; all big-endian. */
enum pith_status pith_idx_open(struct data_source *s, struct pith_error *err)
{
    const uint8_t *b = s->file.mem;
    if (!pith_is_idx(b, (size_t)s->file.bytes))
        return pith_error_fill(err, PITH_ERR_CORRUPT, "%s: not an IDX file", s->file.name);
    uint32_t rank = b[3];
    (void)idx_type(b[2], &s->type);
    s->first = 4 + 4 * (uint64_t)rank;
    if (s->first > s->file.bytes)
        return pith_error_fill(err, PITH_ERR_CORRUPT, "%s: IDX header ends early", s->file.name);
    s->n_samples = load_be32(b + 4);
    s->rank = rank - 1;
    s->elems = 1;
    bool ok = true;
    for (uint32_t i = 0; i < s->rank; i++) {
        s->dim[i] = load_be32(b + 8 + 4 * i);
        ok = ok && mul_ok(s->elems, s->dim[i], &s->elems);
    }
    uint64_t bytes = 0;
    ok = ok && mul_ok(s->elems, s->n_samples, &bytes) &&
         mul_ok(bytes, pith_type_bytes(s->type), &bytes);
    if (!ok || bytes != s->file.bytes - s->first)
        return pith_error_fill(err, PITH_ERR_CORRUPT,
                               "%s: header declares %llu bytes of data, the file has %llu",
                               s->file.name, (unsigned long long)bytes,
                               (unsigned long long)(s->file.bytes - s->first));
    s->big_endian = true;
    s->pictures = s->type == PITH_U8 && s->rank == 2 && s->dim[0] <= IMAGE_MAX_SIDE &&
                  s->dim[1] <= IMAGE_MAX_SIDE && s->elems <= IMAGE_MAX_PIXELS;
    if (s->pictures)
        s->picture = idx_picture;
    else
        s->numbers = pith_stored_numbers;
    return check_counts(s, err);
}

/* ---- CIFAR-10 binary ------------------------------------------------------------------------- */

enum { CIFAR_SIDE = 32, CIFAR_PLANE = 32 * 32, CIFAR_RECORD = 1 + 3 * 32 * 32, CIFAR_CLASSES = 10 };

static enum pith_status cifar_picture(struct data_source *s, uint64_t i, struct pith_image *image,
                                      struct pith_error *err)
{
    enum pith_status st = pith_image_new(CIFAR_SIDE, CIFAR_SIDE, 3, s->file.name, image, err);
    if (st != PITH_OK)
        return st;
    const uint8_t *planes = s->file.mem + i * CIFAR_RECORD + 1;
    for (uint32_t p = 0; p < CIFAR_PLANE; p++) {
        for (uint32_t c = 0; c < 3; c++)
            image->pixels[3 * p + c] = planes[c * CIFAR_PLANE + p];
    }
    return PITH_OK;
}

/* Records of one label byte and three planes of 32x32: red, green, blue. */
enum pith_status pith_cifar_open(struct data_source *s, struct pith_error *err)
{
    if (s->file.bytes == 0 || s->file.bytes % CIFAR_RECORD != 0)
        return pith_error_fill(err, PITH_ERR_CORRUPT,
                               "%s: %llu bytes are not a whole number of CIFAR-10 records of 3,073 "
                               "bytes",
                               s->file.name, (unsigned long long)s->file.bytes);
    s->n_samples = s->file.bytes / CIFAR_RECORD;
    s->pictures = true;
    s->picture = cifar_picture;
    s->rank = 3;
    s->dim[0] = 3;
    s->dim[1] = s->dim[2] = CIFAR_SIDE;
    s->elems = 3 * CIFAR_PLANE;
    enum pith_status st = check_counts(s, err);
    if (st != PITH_OK)
        return st;
    s->labels = malloc((size_t)s->n_samples * sizeof *s->labels);
    if (!s->labels)
        return pith_error_no_memory(err);
    for (uint64_t i = 0; i < s->n_samples; i++) {
        s->labels[i] = s->file.mem[i * CIFAR_RECORD];
        if (s->labels[i] >= CIFAR_CLASSES)
            return pith_error_fill(err, PITH_ERR_CORRUPT,
                                   "%s: record %llu has label %d, CIFAR-10 has 0 to 9",
                                   s->file.name, (unsigned long long)i, (int)s->labels[i]);
    }
    return PITH_OK;
}

/* ---- .npy ------------------------------------------------------------------------------------ */

enum pith_status pith_npy_open(struct data_source *s, struct pith_error *err)
{
    struct npy_header h;
    enum pith_status st = pith_npy_parse(s->file.mem, (size_t)s->file.bytes, s->file.name, &h, err);
    if (st != PITH_OK)
        return st;
    if (h.rank == 0)
        return pith_error_fill(err, PITH_ERR_CORRUPT, "%s: a single number, not samples",
                               s->file.name);
    if (h.wide_unsigned)
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                               "%s: samples of type u4 or u8 are not supported", s->file.name);
    s->type = h.type;
    s->big_endian = h.big_endian;
    s->first = h.data_offset;
    s->n_samples = h.dim[0];
    s->rank = h.rank - 1;
    memcpy(s->dim, h.dim + 1, s->rank * sizeof s->dim[0]);
    s->elems = h.dim[0] ? h.count / h.dim[0] : 0;
    s->numbers = pith_stored_numbers;
    return check_counts(s, err);
}
