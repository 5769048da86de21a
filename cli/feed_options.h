/* SPDX-License-Identifier: MIT */
/* feed_options.h - the options that say where the inputs of a model come from, shared by run, eval,
 * compare, check and compress: -d [NAME=]DATA for each input, --state OUT=IN for what comes back.
 */
#ifndef FEED_OPTIONS_H
#define FEED_OPTIONS_H

#include "data_options.h"
#include "pith_measure.h"

struct cli_feed_options {
    struct cli_list data, states;
    const char *labels, *range, *preprocess;
    uint64_t first; /* samples, where there are more; 0: all */
    bool own_sizes; /* samples of several sizes run each at its own; else pictures are cut to a
                       common size for work that needs samples of one size, and others filled up */
    struct pith_error
        *misfit; /* receives why data does not fit, with EXIT_NO; NULL: an error is printed */
};

#define CLI_DATA_HELP "IDX, CIFAR, npy, npz, folder, tar, raw:TYPE:N:F, wav:N:H:F, text:N:F"
#define CLI_FEED_DATA_OPTIONS(type, member)                                                        \
    {'d', "data", OPTION_LIST, offsetof(type, member.data), "[NAME=]DATA", CLI_DATA_HELP, 0, 0},   \
        {0,           "labels",                                                                    \
         OPTION_TEXT, offsetof(type, member.labels),                                               \
         "FILE",      "labels: IDX, npy, npz, csv or txt",                                         \
         0,           0},                                                                          \
    {                                                                                              \
        0, "range", OPTION_TEXT, offsetof(type, member.range), "A:B[:STEP]",                       \
            "samples A to B-1, every STEP-th; !A:B:STEP: all others", 0, 0                         \
    }
#define CLI_STATE_OPTION(type, member)                                                             \
    {                                                                                              \
        0, "state", OPTION_LIST, offsetof(type, member.states), "OUT=IN[@NPY]",                    \
            "feed output OUT back as input IN; initially zeros or NPY", 0, 0                       \
    }
/* For --help of commands that take both. */
#define CLI_STATE_TEXT                                                                             \
    "Several inputs: -d NAME=DATA for each, with equally many samples, or one .npz whose arrays "  \
    "have\n"                                                                                       \
    "the names of the inputs.\n"                                                                   \
    "--state OUT=IN runs the model as a stream: the output OUT of a call is the input IN of the "  \
    "next,\n"                                                                                      \
    "and the samples are the steps of one stream. A sample that is several inputs long is a "      \
    "sequence\n"                                                                                   \
    "of its own: the state starts anew with it, and the output of its last step counts.\n"         \
    "wav:FRAME:HOP:FILE (WAV, FLAC, OGG, ...) gives frames of FRAME values in [-1, "               \
    "1). "                                                                                         \
    "Frame i\n"                                                                                    \
    "ends with sample (i+1)*HOP of the recording, so it starts with FRAME-HOP samples of "         \
    "context.\n"                                                                                   \
    "Zeros are added before the first and after the last sample. Channels are averaged.\n"

/* A feed and all that it points to. */
struct cli_feed {
    struct pith_feed feed;
    struct pith_feed_input *input; /* owns, and the data sets in it: [n_inputs] */
    void **constant;               /* owns, each: [n_inputs] */
    bool *taken;                   /* owns: [n_inputs] have a source */
    uint32_t *from_array; /* owns: [n_inputs] which -d, from 1 on, has an array of its name */
    struct pith_state state[CLI_LIST_MAX];
    void *first[CLI_LIST_MAX]; /* owns: of the states */
    uint32_t n_operands;
    uint32_t *operand_input;   /* owns: which input each is for */
    const char **operand_path; /* owns, borrows the texts: the operand without its name */
    bool *operand_opened;      /* owns: a folder, or one of many pictures: opened as data already */
    struct pith_data *leading; /* borrows: the first data set given; NULL: none */
    struct pith_tensor *given; /* owns: [n_inputs] shapes that open sizes follow; of samples of
                                  several sizes the largest; rank UINT32_MAX: not known */
    bool uneven;               /* its samples have several sizes */
};

/* By name, or by number where no input (output) has that name. */
bool cli_find_input(const struct pith_model *m, const char *name, size_t bytes, uint32_t *input);
bool cli_find_output(const struct pith_model *m, const char *name, size_t bytes, uint32_t *output);

/* PNG or JPEG by the first n bytes. */
bool cli_is_picture(const void *head, size_t n);

/* open[PITH_MAX_RANK]: true for dimensions of an input that open sizes give. false: there are none.
 */
bool cli_open_dims(const struct pith_model *m, uint32_t input, bool *open);
/* Open sizes of m become those of the samples that the first of data names for input 0. *cuts: they
 * are pictures of several sizes, to be cut (cli_cut_pictures). */
enum cli_exit cli_fit_sizes(struct pith_model *m, const struct cli_feed_options *data, bool *cuts);
/* Pictures, opened with open heights and widths, as large as m takes them. */
enum cli_exit cli_cut_pictures(const struct pith_model *m, uint32_t input, struct pith_data *data);

/* Opens all data sets and first states. An item without a name is for the next input that has
 * nothing yet, operands first; where two or more have nothing, a .npz of -d is for those whose
 * names its arrays have. operands (may be NULL): "[NAME=]FILE", only assigned to inputs here, but
 * for folders, which are data, and for several without a name where one input is left and the first
 * is a picture or a folder: these are one data set for that input. Inputs may stay without a
 * source. Open sizes of m follow the shapes of arrays. The data is looked at (data_check.h) but
 * where in->misfit is given. Close in any case.
 */
enum cli_exit cli_open_feed(const struct cli_feed_options *in, struct pith_model *m,
                            char **operands, uint32_t n_operands, struct cli_feed *feed);
void cli_close_feed(struct cli_feed *feed);

#endif
