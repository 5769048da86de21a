/* SPDX-License-Identifier: MIT */
/* feed_sizes.h - open sizes of a model from the data that its inputs are given. */
#ifndef FEED_SIZES_H
#define FEED_SIZES_H

#include "feed_options.h"

#define BY_ARRAYS (UINT32_MAX - 1) /* an item of -d whose arrays have inputs' names */

/* What a data set is opened from: a path, or many files that path is a name for. */
struct data_origin {
    const char *path;
    const char *const *files; /* NULL: path */
    size_t n_files;
    const char *const *arrays; /* of a .npz, the wanted one first; NULL: chosen by name */
    uint32_t n_arrays;
};

/* f->given, with no shape known. */
enum cli_exit cli_begin_shapes(const struct pith_model *m, struct cli_feed *f);
/* Sizes follow the arrays and pictures that are given. input, path: [in->data.n] of each -d, and
 * the input it is for. */
enum cli_exit cli_fit_feed_sizes(const struct cli_feed_options *in, struct pith_model *m,
                                 const uint32_t *input, const char *const *path,
                                 struct cli_feed *f);
/* The same of many pictures for one input. */
enum cli_exit cli_fit_pictures(const struct cli_feed_options *in, struct pith_model *m,
                               uint32_t input, const struct data_origin *from, struct cli_feed *f);

#endif
