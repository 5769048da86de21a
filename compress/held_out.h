/* SPDX-License-Identifier: MIT */
/* held_out.h - which samples quantization is fitted to, and which validate it.
 *
 * Ranges, rounding and bias correction see the fitted samples alone. The held-out ones choose
 * (which layers stay float) and report. */
#ifndef HELD_OUT_H
#define HELD_OUT_H

#include "pith_compress.h"

#define PITH_HELD_OUT_FROM 12u /* samples: with fewer, all are fitted to */
#define PITH_HELD_OUT_LEAST 8u
#define PITH_HELD_OUT_MOST 256u

struct held_out {
    struct pith_data *data;       /* borrowed */
    const struct pith_feed *feed; /* borrowed; instead of data */
    uint32_t *numbers; /* owns: [n_fitted + n_held] of all samples, the fitted ones first; NULL: all
                          are fitted to */
    uint32_t *was;     /* owns: [n_was] the samples that were picked before; NULL: all */
    uint64_t n_fitted, n_held, n_was;
};

enum held_part { PART_FITTED, PART_HELD };

/* Of n samples a fifth is held out, at least 8, and where more than `samples` are left, these, too:
 * up to 256, or of networks with large values up to 32. Up to `samples` of the others are fitted
 * to. Both are evenly spread; of a stream the first steps are fitted to, and the next ones are held
 * out. The data sets then have PART_FITTED. PITH_ERR_MEMORY. End in any case. */
enum pith_status pith_hold_out(const struct pith_model *m, const struct pith_stage_context *context,
                               uint32_t samples, struct held_out *h, struct pith_error *err);
/* The data sets have the samples of this part from now on; nothing happens where none is held. */
enum pith_status pith_held_out_pick(const struct held_out *h, enum held_part part,
                                    struct pith_error *err);
/* The data sets have the samples again that they had before. Accepts zeros. */
void pith_held_out_end(struct held_out *h);

#endif
