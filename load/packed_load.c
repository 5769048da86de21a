/* SPDX-License-Identifier: MIT */
/* packed_load.c - a network on its way to the runtime. A .pith is that already: it is mapped, or
 * read, and only its outline is made a model. Anything else is imported and packed, and the model
 * goes before a plan comes: of dense weights and what is made of them, one is in memory at a time.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include "base/error_fill.h"
#include "pith_load.h"
#include "pith_pack.h"
#include "pith_onnx.h"
#include "model_file.h"
#include "pack/unpack.h"
#include "pith_runtime.h"

void pith_packed_free(struct pith_packed *packed)
{
    if (!packed)
        return;
    struct model_file file = {packed->data, packed->bytes, packed->mapped};
    pith_model_file_close(&file);
    free(packed->name);
    pith_model_free(packed->outline);
    *packed = (struct pith_packed){0};
}

/* Finishes made, whose bytes are there; what it cannot finish it frees. */
static enum pith_status outline(struct pith_packed *made, const char *name, uint32_t flags,
                                const struct pith_import_opts *opts, struct pith_packed *packed,
                                struct pith_error *err)
{
    made->name = strdup(name);
    enum pith_status st =
        made->name
            ? pith_unpack(made->data, made->bytes, name,
                          &(struct unpack_opts){.flags = flags,
                                                .max_bytes = pith_tensor_limit(opts, made->bytes),
                                                .alloc = opts ? opts->alloc : NULL,
                                                .outline = true},
                          &made->outline, err)
            : pith_error_no_memory(err);
    if (st)
        pith_packed_free(made);
    else
        *packed = *made;
    return st;
}

/* Frees m. */
static enum pith_status pack(struct pith_model *m, const char *name,
                             const struct pith_import_opts *opts, struct pith_packed *packed,
                             struct pith_error *err)
{
    struct pith_buffer file;
    enum pith_status st = pith_model_pack(m, NULL, &file, err);
    pith_model_free(m);
    if (st)
        return st;
    struct pith_packed made = {.data = file.data, .bytes = file.bytes};
    return outline(&made, name, PITH_FLAG_NO_CHECKSUM, opts, packed, err);
}

enum pith_status pith_packed_read(struct pith_buffer *file, const char *name,
                                  const struct pith_import_opts *opts, struct pith_packed *packed,
                                  struct pith_error *err)
{
    if (!file || !name || !packed || (opts && opts->size_bytes != sizeof *opts))
        return PITH_ERR_ARGUMENT;
    struct pith_packed made = {.data = file->data, .bytes = file->bytes};
    struct pith_model *m;
    if (pith_is_pith(file->data, file->bytes)) {
        *file = (struct pith_buffer){0};
        return outline(&made, name, 0, opts, packed, err);
    }
    enum pith_status st = pith_model_read(file->data, file->bytes, name, opts, &m, err);
    pith_buffer_free(file);
    return st ? st : pack(m, name, opts, packed, err);
}

enum pith_status pith_packed_load(const char *path, const struct pith_import_opts *opts,
                                  struct pith_packed *packed, struct pith_error *err)
{
    if (!path || !packed || (opts && opts->size_bytes != sizeof *opts))
        return PITH_ERR_ARGUMENT;
    struct model_file f;
    struct pith_model *m;
    enum pith_status st = pith_model_file_open(path, &f, err);
    if (st)
        return st;
    if (pith_is_pith(f.data, f.bytes)) {
        struct pith_packed made = {.data = f.data, .bytes = f.bytes, .mapped = f.mapped};
        return outline(&made, path, 0, opts, packed, err);
    }
    st = pith_model_file_read(&f, path, opts, &m, err);
    pith_model_file_close(&f);
    return st ? st : pack(m, path, opts, packed, err);
}
