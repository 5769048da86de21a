/* SPDX-License-Identifier: MIT */
/* spec_operators.h - the operators and their attributes: F11. A new row of its table is a new row
 * of the one in spec_operators.c. */
#ifndef SPEC_OPERATORS_H
#define SPEC_OPERATORS_H

#include "spec_bytes.h"

enum kind { END, INT, FLOAT, LIST };

struct attribute {
    enum kind kind;
    const char *name;
    int64_t lo, hi; /* INT, LIST */
    int64_t value;  /* default of INT */
    float real;     /* default of FLOAT */
    bool needed;    /* no default: must be written */
    bool infinite;  /* FLOAT: may be infinite */
};

enum { MAX_ATTRIBUTES = 8 };

struct op {
    const char *name;
    uint32_t min_in, max_in, default_in; /* default_in 0: always wired */
    uint32_t min_out, max_out;
    struct attribute attribute[MAX_ATTRIBUTES + 1];
};

/* By number; one without name is none. */
extern const struct op ops[];
extern const uint64_t n_ops;

extern int64_t int_value[MAX_ATTRIBUTES]; /* of the attributes of the node being read */

/* Prints them, too; written: not all are the defaults. */
void read_attributes(struct span *s, const struct op *op, bool written);

#endif
