/* SPDX-License-Identifier: MIT */
/* synthetic_pictures.h - samples for a network of which there are none. */
#ifndef SYNTHETIC_PICTURES_H
#define SYNTHETIC_PICTURES_H

#include "pith_data.h"
#include "pith_model.h"

/* n samples for m's only input, which is f32, through the preprocessing that m stores; the same for
 * the same seed. Free with pith_data_free. PITH_ERR_ARGUMENT: another input, or one of pictures
 * without preprocessing; PITH_ERR_MEMORY. */
enum pith_status pith_synthetic_pictures(const struct pith_model *m, uint32_t n, uint64_t seed,
                                         struct pith_data **data, struct pith_error *err);

#endif
