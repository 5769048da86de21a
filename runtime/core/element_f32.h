/* SPDX-License-Identifier: MIT */
/* element_f32.h - stored elements of any type as f32. */
#ifndef PITH_ELEMENT_F32_H
#define PITH_ELEMENT_F32_H

#include <stddef.h>
#include "pith_types.h"

/* src: n little-endian elements of `type`, any alignment. f16, bf16 exactly; f64 and integers
 * rounded to nearest even. Nothing is written for an unknown type. */
void pith_elements_to_f32(enum pith_type type, const uint8_t *src, size_t n, float *dst);

#endif
