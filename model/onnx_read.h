/* SPDX-License-Identifier: MIT */
/* onnx_read.h - the importer's one entry, for those who need not see its insides (onnx.h). */
#ifndef ONNX_READ_H
#define ONNX_READ_H

#include "pith_model.h"

/* name stands in messages; dir is where external data may lie (NULL: none allowed). */
enum pith_status pith_onnx_read(const void *bytes, size_t n, const char *name, const char *dir,
                                const struct pith_import_opts *opts, struct pith_model **m,
                                struct pith_error *err);

#endif
