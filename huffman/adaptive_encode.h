/* SPDX-License-Identifier: MIT */
/* adaptive_encode.h - one weight as an adaptive stream (docs/format-streams.md, section 8). */
#ifndef ADAPTIVE_ENCODE_H
#define ADAPTIVE_ENCODE_H

#include "class_encode.h"

/* dst: [cap]; NULL: counted only. PITH_ERR_ARGUMENT as of pith_class_check; PITH_ERR_SPACE;
 * PITH_ERR_MEMORY. */
enum pith_status pith_adaptive_encode(const struct class_input *in, uint8_t *dst, size_t cap,
                                      size_t *bytes);
/* value, mask (NULL: all are stored): [w->count]. */
enum pith_status pith_adaptive_encode_floats(const struct weight *w, const float *value,
                                             const uint8_t *mask, uint8_t *dst, size_t cap,
                                             size_t *bytes);

#endif
