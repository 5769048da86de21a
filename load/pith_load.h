/* SPDX-License-Identifier: MIT */
/* pith_load.h - a network from a file, .onnx or .pith, recognized by content: as a model that
 * stages change (pith_model_load), or as what the runtime executes (pith_packed_load). */
#ifndef PITH_LOAD_H
#define PITH_LOAD_H

#include "pith_model.h"
#include "pith_onnx.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Reads .onnx or .pith, recognized by content. Messages name the file. *m is untouched on failure.
 * PITH_ERR_IO, _CORRUPT, _UNSUPPORTED (err->text names the first; see pith_onnx_check for all),
 * _MEMORY, _LIMIT. opts may be NULL; of it, .pith obeys max_bytes (of all tensors; 0: 48 MiB and 4
 * KiB for each byte of the file, at most 4 GiB), alloc, and strict: with max_bytes 0, 40 MiB and 18
 * bytes for each byte of the file. */
enum pith_status pith_model_load(const char *path, const struct pith_import_opts *opts,
                                 struct pith_model **m, struct pith_error *err);
/* The same from memory; `name` stands in messages; opts->dir is where external data may lie. bytes
 * are only read during the call. */
enum pith_status pith_model_read(const void *bytes, size_t n, const char *name,
                                 const struct pith_import_opts *opts, struct pith_model **m,
                                 struct pith_error *err);

/* A network as the runtime takes it, and what it says of itself: a large .pith is mapped, and its
 * weights are never expanded but by the plan. Zeroed, it is none. */
struct pith_packed {
    const uint8_t *data; /* a .pith whose checksums are right */
    size_t bytes;
    char *name; /* for messages */
    struct pith_model
        *outline; /* everything but what weights hold: data of constants with two axes or
                     more is NULL, and so are mask and codebook. In the file's order */
    bool mapped;  /* private */
};

/* Reads .onnx or .pith as pith_model_load does, and fails as it does. What is no .pith is packed,
 * with the model freed before the call returns. A mapped file must not be changed until
 * pith_packed_free. *packed is untouched on failure. */
enum pith_status pith_packed_load(const char *path, const struct pith_import_opts *opts,
                                  struct pith_packed *packed, struct pith_error *err);
/* The same from memory, as pith_model_read. Takes ownership of file->data in any case: file is then
 * empty. */
enum pith_status pith_packed_read(struct pith_buffer *file, const char *name,
                                  const struct pith_import_opts *opts, struct pith_packed *packed,
                                  struct pith_error *err);
void pith_packed_free(struct pith_packed *packed); /* leaves it zeroed */

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
