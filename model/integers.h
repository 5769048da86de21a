/* SPDX-License-Identifier: MIT */
/* integers.h - constants that are integers times scales (struct pith_integers). */
#ifndef INTEGERS_H
#define INTEGERS_H

#include "pith_model.h"

/* Does k's f32 data, of the shape of v, follow from k->integers? q: NULL, or room for k->count
 * integers of their type, which it gets; where the answer is no they are unspecified. */
bool pith_integers_hold(const struct pith_value *v, const struct pith_const *k, void *q);
/* The smallest and the largest number of an integer type of 8 or 16 bits. */
int32_t pith_integer_lowest(enum pith_type type);
int32_t pith_integer_highest(enum pith_type type);
/* Integers for v's constant, that its data follows from, where `from` are those of a tensor that it
 * was made of by moving elements: along whichever axis they fit. Sets v->constant->integers, or
 * leaves it. PITH_ERR_MEMORY. */
enum pith_status pith_integers_adopt(struct pith_model *m, struct pith_value *v,
                                     const struct pith_integers *from);

#endif
