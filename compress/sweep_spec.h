/* SPDX-License-Identifier: MIT */
#ifndef SWEEP_SPEC_H
#define SWEEP_SPEC_H

#include <jansson.h>
#include "pith_sweep.h"

struct pith_sweep {
    char *name;   /* of the spec, for messages */
    json_t *base; /* the recipe without "sweep" */
    json_t *axes; /* path -> list of values */
    uint64_t count;
    json_t *about;      /* what its lines say of version, model and data; NULL: not bound */
    uint32_t spec_mark; /* checksum of the spec */
    uint32_t mark;      /* of the spec, and once bound of model and data too */
};

#endif
