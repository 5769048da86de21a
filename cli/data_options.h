/* SPDX-License-Identifier: MIT */
/* data_options.h - what a data set is opened with; feed_options.h has the options. */
#ifndef DATA_OPTIONS_H
#define DATA_OPTIONS_H

#include "cli/common/cli.h"
#include "pith_data.h"

/* Fills in what m's input wants: its name and shape, the class names that labels may be given by,
 * and the stored preprocessing unless o has one. */
void cli_data_shape(const struct pith_model *m, uint32_t input, struct pith_data_opts *o);

#endif
