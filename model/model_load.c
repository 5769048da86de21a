/* SPDX-License-Identifier: MIT */
/* model_load.c - a model from a file or from memory, .pith and .onnx told apart by content. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include "error_fill.h"
#include "file_write.h"
#include "foreign_format.h"
#include "onnx_read.h"
#include "unpack.h"

#define MAX_FILE_BYTES (UINT64_C(1) << 36) /* 64 GiB: more is not a model but a mistake */

enum pith_status pith_model_read(const void *bytes, size_t n, const char *name, const char *dir,
                                 const struct pith_import_opts *opts, struct pith_model **m,
                                 struct pith_error *err)
{
    if (n == 0)
        return pith_error_fill(err, PITH_ERR_IO, "%s: empty input", name);
    if (pith_is_pith(bytes, n))
        return pith_unpack(bytes, n, name, 0, opts ? opts->max_bytes : 0, opts ? opts->alloc : NULL,
                           m, err);
    return pith_onnx_read(bytes, n, name, dir, opts, m, err);
}

/* The folder of path, for tensors that an ONNX file keeps beside it. The caller frees. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

enum pith_status pith_model_load(const char *path, const struct pith_import_opts *opts,
                                 struct pith_model **m, struct pith_error *err)
{
    struct pith_buffer file;
    enum pith_status st = pith_file_load(path, MAX_FILE_BYTES, &file, err);
    const char *foreign = st == PITH_ERR_IO ? pith_foreign_folder(path) : NULL;
    if (foreign)
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED, "%s: is no ONNX but %s", path, foreign);
    if (st)
        return st;
    char *dir = folder_of(path);
    if (dir)
        st = pith_model_read(file.data, file.bytes, path, dir, opts, m, err);
    else
        st = pith_error_no_memory(err);
    free(dir);
    pith_buffer_free(&file);
    return st;
}
