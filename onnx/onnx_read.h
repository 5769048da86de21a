/* SPDX-License-Identifier: MIT */
/* onnx_read.h - the importer's one entry, for those who need not see its insides (onnx.h). */
#ifndef PITH_ONNX_READ_H
#define PITH_ONNX_READ_H

#include "pith_model.h"
#include "pith_onnx.h"

/* name stands in messages. bytes are read during the call. */
enum pith_status pith_onnx_read(const void *bytes, size_t n, const char *name,
                                const struct pith_import_opts *opts, struct pith_model **m,
                                struct pith_error *err);

/* The same of a file mapped read-only: its pages are given back as they are read. */
enum pith_status pith_onnx_read_mapped(const void *bytes, size_t n, const char *name,
                                       const struct pith_import_opts *opts, struct pith_model **m,
                                       struct pith_error *err);

#endif
