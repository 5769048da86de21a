/* SPDX-License-Identifier: MIT */
/* model_load.c - a model from a file or from memory, .pith and .onnx recognized by content. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include "base/error_fill.h"
#include "model/exact_grid.h"
#include "pith_load.h"
#include "pith_onnx.h"
#include "model_file.h"
#include "onnx/onnx_read.h"
#include "pack/unpack.h"

#define STRICT_ANYHOW (UINT64_C(40) << 20)
#define STRICT_PER_BYTE 18u

uint64_t pith_tensor_limit(const struct pith_import_opts *opts, size_t n)
{
    if (!opts || opts->max_bytes || !opts->strict)
        return opts ? opts->max_bytes : 0;
    return STRICT_ANYHOW + (uint64_t)n * STRICT_PER_BYTE;
}

/* Weights that are on a grid already are kept so: of ONNX every command makes what import writes.
 * Takes ownership of read. */
static enum pith_status keep_grids(struct pith_model *read, const struct pith_import_opts *opts,
                                   struct pith_model **m, struct pith_error *err)
{
    enum pith_status st =
        opts && opts->no_grids ? PITH_OK : pith_find_grids(read, opts ? opts->grids : NULL, err);
    if (st)
        pith_model_free(read);
    else
        *m = read;
    return st;
}

enum pith_status pith_model_read(const void *bytes, size_t n, const char *name,
                                 const struct pith_import_opts *opts, struct pith_model **m,
                                 struct pith_error *err)
{
    if (!bytes || !name || !m || (opts && opts->size_bytes != sizeof *opts))
        return PITH_ERR_ARGUMENT;
    if (n == 0)
        return pith_error_fill(err, PITH_ERR_IO, "%s: empty input", name);
    if (pith_is_pith(bytes, n))
        return pith_unpack(bytes, n, name,
                           &(struct unpack_opts){.max_bytes = pith_tensor_limit(opts, n),
                                                 .alloc = opts ? opts->alloc : NULL},
                           m, err);
    struct pith_model *read = NULL;
    enum pith_status st = pith_onnx_read(bytes, n, name, opts, &read, err);
    return st ? st : keep_grids(read, opts, m, err);
}

/* The folder of path, for tensors that an ONNX file keeps beside it. The caller frees. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

enum pith_status pith_model_file_read(const struct model_file *f, const char *path,
                                      const struct pith_import_opts *opts, struct pith_model **m,
                                      struct pith_error *err)
{
    char *dir = folder_of(path);
    if (!dir)
        return pith_error_no_memory(err);
    struct pith_import_opts here =
        opts ? *opts : (struct pith_import_opts){.size_bytes = sizeof here};
    struct pith_model *read = NULL;
    enum pith_status st;
    here.dir = dir;
    if (f->mapped && !pith_is_pith(f->data, f->bytes)) {
        st = pith_onnx_read_mapped(f->data, f->bytes, path, &here, &read, err);
        st = st ? st : keep_grids(read, opts, m, err);
    } else {
        st = pith_model_read(f->data, f->bytes, path, &here, m, err);
    }
    free(dir);
    return st;
}

enum pith_status pith_model_load(const char *path, const struct pith_import_opts *opts,
                                 struct pith_model **m, struct pith_error *err)
{
    if (!path || !m || (opts && opts->size_bytes != sizeof *opts))
        return PITH_ERR_ARGUMENT;
    struct model_file f;
    enum pith_status st = pith_model_file_open(path, &f, err);
    if (st)
        return st;
    st = pith_model_file_read(&f, path, opts, m, err);
    pith_model_file_close(&f);
    return st;
}
