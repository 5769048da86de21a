/* SPDX-License-Identifier: MIT */
/* mixed_precision.h - mixed precision: which layers read more than 8 bits - 16-bit activations or
 * floats - by the sensitivity of the outputs to each value's rounding. */
#ifndef MIXED_PRECISION_H
#define MIXED_PRECISION_H

#include "pith_compress.h"

/* Values on a grid of their own, and what that alone costs. */
struct value_cost {
    uint32_t value;
    double error; /* squared change of the outputs, sum of a sample */
};

struct wider_layers {
    const char *layer[PITH_STAGE_LAYERS]; /* patterns; these and all else in the model's memory */
    const char *name[PITH_STAGE_LAYERS];  /* of the layer */
    const char *why[PITH_STAGE_LAYERS];   /* where layers stay float; else NULL */
    uint32_t n;
};

/* How layers may read what one byte is too coarse for. Nothing is done where the outputs are known
 * to be `enough` dB above their error; else until they are `wanted` dB above it. */
struct finer_way {
    bool (*may)(const struct pith_model *m, uint32_t v); /* all that read v */
    double left;                                         /* of the error */
    double enough, wanted;
    double share;  /* of all products, that may be done so */
    double passes; /* over a value, in products, to take it apart or convert it */
    bool floats;   /* no layer of integers is left on either side where that would be slow */
};
extern const struct finer_way pith_way_int16, pith_way_float;

/* Adds to wider, behind what it has. cost: [n]; rest: what all other roundings cost; signal: of the
 * outputs, as errors are counted. PITH_ERR_MEMORY. */
enum pith_status pith_choose_precision(struct pith_model *m, const struct finer_way *way,
                                       const struct value_cost *cost, uint32_t n, double rest,
                                       double signal, struct wider_layers *wider,
                                       struct pith_error *err);

#endif
