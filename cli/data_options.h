/* SPDX-License-Identifier: MIT */
/* data_options.h - the options that name a data set, shared by eval, compress, compare, check. */
#ifndef DATA_OPTIONS_H
#define DATA_OPTIONS_H

#include "cli.h"
#include "pith_data.h"
#include "pith_measure.h"

struct cli_data {
    const char *path, *labels, *range, *preprocess;
};

#define CLI_DATA_OPTIONS(type, member)                                                             \
    {'d', "data", OPTION_TEXT, offsetof(type, member.path), "DATA",                               \
     "IDX, CIFAR-10, npy, npz, raw:TYPE:N:FILE, folder or tar", 0, 0},                            \
        {0, "labels", OPTION_TEXT, offsetof(type, member.labels), "FILE",                          \
         "labels: IDX, npy, csv or txt", 0, 0},                                                    \
    {                                                                                              \
        0, "range", OPTION_TEXT, offsetof(type, member.range), "A:B[:STEP]",                       \
            "these samples; !A:B:STEP all others", 0, 0                                            \
    }

/* Fills in what m's input wants: its name and shape, and the stored preprocessing unless o has one. */
void cli_data_shape(const struct pith_model *m, uint32_t input, struct pith_data_opts *o);

/* Opens the data set for m's first input with the preprocessing stored in m (or given here). */
enum cli_exit cli_open_data(const struct cli_data *in, const struct pith_model *m,
                            struct pith_data **data);

/* Threads and PITH_CPU for an engine. */
enum cli_exit cli_engine_opts(const struct cli_common *c, struct pith_engine_opts *opts);

#endif
