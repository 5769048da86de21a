/* SPDX-License-Identifier: MIT */
/* sizes.h - open sizes from their text, for who has a model and no file. */
#ifndef HOST_SIZES_H
#define HOST_SIZES_H

#include "pith_host.h"

/* As pith_sizes_open, from text[n] (sizes.c says its form). */
enum pith_status pith_sizes_read(const char *text, size_t n, struct pith_sizes **sizes,
                                 struct pith_error *err);

#endif
