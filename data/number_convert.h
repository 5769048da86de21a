/* SPDX-License-Identifier: MIT */
/* number_convert.h - one number from one element type to another without changing its value. */
#ifndef NUMBER_CONVERT_H
#define NUMBER_CONVERT_H

#include <stdbool.h>
#include "pith_types.h"

/* Either an integer of 64 bits or a real: no stored type needs both. */
struct number {
    bool whole; /* i holds it, else d */
    int64_t i;
    double d;
};

/* The low 1, 2, 4 or 8 bytes of v, in the machine's byte order. */
void pith_store_low_bytes(void *to, uint32_t bytes, uint64_t v);
/* Element at p, in the machine's byte order, 1..8 bytes by its type. */
struct number pith_number_load(enum pith_type type, const void *p);
/* The element to `to`; false, and nothing written, where the type cannot hold the value. A real is
 * rounded to the precision of f32 and f16 (but may not become infinite); an integer must be exact
 * in them; integers and bool take whole numbers in their range. */
bool pith_number_store(struct number v, enum pith_type type, void *to);
/* "3" or "0.5" for messages; out: at least 32 bytes. Returns out. */
const char *pith_number_text(struct number v, char *out);

#endif
