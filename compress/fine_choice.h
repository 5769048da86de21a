/* SPDX-License-Identifier: MIT */
/* fine_choice.h - which layers read their input as two bytes. */
#ifndef FINE_CHOICE_H
#define FINE_CHOICE_H

#include "pith_compress.h"

/* Values on a grid of their own, and what that alone costs. */
struct value_cost {
    uint32_t value;
    double error; /* squared change of the outputs, sum of a sample */
};

struct fine_layers {
    const char *layer[PITH_STAGE_LAYERS]; /* patterns in the model's memory */
    uint32_t n;
};

/* How layers may read what one byte is too coarse for. */
struct finer_way {
    bool (*may)(const struct pith_model *m, uint32_t v); /* all that read v */
    double left;                                         /* of the error */
};
extern const struct finer_way pith_way_fine, pith_way_halved;

/* cost: [n], put in order here; rest: what all other roundings cost; signal: of the outputs, as
 * errors are counted. PITH_ERR_MEMORY. */
enum pith_status pith_choose_fine(struct pith_model *m, const struct finer_way *way,
                                  struct value_cost *cost, uint32_t n, double rest, double signal,
                                  struct fine_layers *fine, struct pith_error *err);

#endif
