/* SPDX-License-Identifier: MIT */
/* sizes.h - open sizes from their text, for who has a model and no file. */
#ifndef HOST_SIZES_H
#define HOST_SIZES_H

#include "host/size_expression.h"
#include "pith_host.h"

/* As pith_sizes_open, from text[n] (sizes.c says its form). */
enum pith_status pith_sizes_read(const char *text, size_t n, struct pith_sizes **sizes,
                                 struct pith_error *err);
/* PITH_ERR_ARGUMENT: with these values a formula is more than `most`. */
enum pith_status pith_size_check_limit(const struct size_expression *e,
                                       const struct size_names *names, uint32_t most,
                                       const uint32_t *value, struct pith_error *err);
/* PITH_ERR_ARGUMENT, always: a size has this value, and max is its largest. */
enum pith_status pith_size_out_of_range(const char *name, uint64_t value, uint32_t max,
                                        struct pith_error *err);

#endif
