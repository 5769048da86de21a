/* SPDX-License-Identifier: MIT */
/* model_file.h - the bytes of a model file: a large regular one is mapped, so that it takes no
 * memory of its own; what else there is, is read whole. */
#ifndef MODEL_FILE_H
#define MODEL_FILE_H

#include "pith_model.h"
#include "pith_onnx.h"

struct model_file {
    const uint8_t *data; /* owns */
    size_t bytes;        /* at least 1 */
    bool mapped;         /* read-only; the file must not change meanwhile */
};

/* PITH_ERR_IO, _LIMIT, _MEMORY; PITH_ERR_UNSUPPORTED of a folder that another tool makes. */
enum pith_status pith_model_file_open(const char *path, struct model_file *f,
                                      struct pith_error *err);
void pith_model_file_close(struct model_file *f);

/* The model in f, which path names: pith_model_read, with what lies in the same folder; of an .onnx
 * that is mapped, pages that were copied are given back. */
enum pith_status pith_model_file_read(const struct model_file *f, const char *path,
                                      const struct pith_import_opts *opts, struct pith_model **m,
                                      struct pith_error *err);

/* Bytes that the tensors of a .pith of n bytes may take; 0: what pith_unpack sets. opts may be
 * NULL.
 */
uint64_t pith_tensor_limit(const struct pith_import_opts *opts, size_t n);

#endif
