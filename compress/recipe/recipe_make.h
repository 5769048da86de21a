/* SPDX-License-Identifier: MIT */
/* recipe_make.h - what recipes with a preset and command lines share. */
#ifndef RECIPE_MAKE_H
#define RECIPE_MAKE_H

#include "preset.h"

/* Stages of a preset, but for the options of `said`: texts do not count, they are not set here.
 * r->stages and r->texts are set. PITH_ERR_ARGUMENT (no such preset; said of a stage that is none
 * of its own), PITH_ERR_MEMORY. */
enum pith_status pith_preset_stages(const char *preset, const struct pith_requested_options *said,
                                    struct pith_recipe *r, struct pith_error *err);

#endif
