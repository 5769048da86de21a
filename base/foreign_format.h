/* SPDX-License-Identifier: MIT */
/* foreign_format.h - networks in other formats than ONNX and .pith, recognized by their first
 * bytes.
 */
#ifndef PITH_FOREIGN_FORMAT_H
#define PITH_FOREIGN_FORMAT_H

#include <stddef.h>

/* What the n bytes of a file are, and how to get ONNX from it: "a TensorFlow Lite model: ...",
 * static text without a full stop. NULL: none of the formats known here; in particular every ONNX
 * and every .pith file. */
const char *pith_foreign_format(const void *bytes, size_t n);

/* The same of a folder that cannot be read as a file. NULL: no TensorFlow SavedModel lies in it. */
const char *pith_foreign_folder(const char *path);

#endif
