/* SPDX-License-Identifier: MIT */
/* npy_write.c - .npy version 1.0, little-endian, C order, header padded to 64 bytes as numpy does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "base/error_fill.h"
#include "pith_data.h"
#include "core/tensor.h"

enum { NPY_ALIGN = 64, NPY_HEAD_ROOM = 256 };

static const char *npy_descr(enum pith_type type)
{
    switch (type) {
    case PITH_F32:
        return "<f4";
    case PITH_F16:
        return "<f2";
    case PITH_F64:
        return "<f8";
    case PITH_I8:
        return "|i1";
    case PITH_U8:
        return "|u1";
    case PITH_I16:
        return "<i2";
    case PITH_U16:
        return "<u2";
    case PITH_I32:
        return "<i4";
    case PITH_I64:
        return "<i8";
    case PITH_BOOL:
        return "|b1";
    case PITH_BF16:
        break;
    }
    return NULL;
}

/* Returns the bytes of magic, length and dictionary; out: [NPY_HEAD_ROOM]. Eight axes of ten digits
 * take 96 of them. */
static size_t write_head(const char *descr, uint32_t rank, const uint32_t *dim, char *out)
{
    enum { PREFIX = 10 };
    int n = PREFIX;
    n += snprintf(out + n, NPY_HEAD_ROOM - (size_t)n,
                  "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (uint32_t i = 0; i < rank; i++)
        n += snprintf(out + n, NPY_HEAD_ROOM - (size_t)n, i ? " %u," : "%u,", dim[i]);
    if (rank > 1)
        n--; /* numpy leaves the last comma only after a single axis */
    n += snprintf(out + n, NPY_HEAD_ROOM - (size_t)n, "), }");
    while ((n + 1) % NPY_ALIGN != 0)
        out[n++] = ' ';
    out[n++] = '\n';
    memcpy(out, "\x93NUMPY\x01", 8);
    store_le16(out + 8, (uint16_t)(n - PREFIX));
    return (size_t)n;
}

static void copy_little_endian(const uint8_t *from, uint64_t n, uint32_t each, uint8_t *to)
{
    const uint16_t probe = 1;
    uint8_t first;
    memcpy(&first, &probe, 1);
    if (first == 1 && n > 0) {
        memcpy(to, from, (size_t)(n * each));
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < each; k++)
            to[i * each + k] = from[i * each + each - 1 - k];
    }
}

enum pith_status pith_npy_write(enum pith_type type, uint32_t rank, const uint32_t *dim,
                                const void *data, struct pith_buffer *file, struct pith_error *err)
{
    if (!dim || !data || !file)
        return PITH_ERR_ARGUMENT;
    const char *descr = npy_descr(type);
    if (!descr || rank > PITH_MAX_RANK)
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "cannot write npy: type %d, rank %u",
                               (int)type, rank);
    uint64_t n = 1, bytes, each = pith_type_bytes(type);
    bool ok = true;
    for (uint32_t i = 0; i < rank; i++)
        ok = ok && mul_ok(n, dim[i], &n);
    ok = ok && mul_ok(n, each, &bytes) && bytes < SIZE_MAX - NPY_HEAD_ROOM;
    char head[NPY_HEAD_ROOM];
    size_t head_bytes = write_head(descr, rank, dim, head);
    uint8_t *out = ok ? malloc(head_bytes + (size_t)bytes) : NULL;
    if (!out)
        return pith_error_no_memory(err);
    memcpy(out, head, head_bytes);
    copy_little_endian(data, n, (uint32_t)each, out + head_bytes);
    *file = (struct pith_buffer){out, head_bytes + (size_t)bytes};
    return PITH_OK;
}
