/* SPDX-License-Identifier: MIT */
/* plane_encode.h - floats as byte planes (docs/format-streams.md, section 9). */
#ifndef PITH_PLANE_ENCODE_H
#define PITH_PLANE_ENCODE_H

#include "decode/plane_decode.h"

/* Room that pith_planes_encode needs for n floats. */
size_t pith_planes_bound(uint64_t n);

/* value: [n], n >= 1. dst: pith_planes_bound(n). PITH_ERR_MEMORY. */
enum pith_status pith_planes_encode(const float *value, uint64_t n, uint8_t *dst, size_t *bytes);

#endif
