/* SPDX-License-Identifier: MIT */
/* pith_stage.h - a stage as data: its kind and its options, before anything is run. How the options
 * are called, what they may be and what they need, pith_stage_options.h says. The options of
 * `compress`, which runs several stages, have the same form. */
#ifndef PITH_STAGE_H
#define PITH_STAGE_H

#include "pith_calibrate.h"
#include "pith_goal.h"
#include "pith_model.h"
#include "pith_pack.h"
#include "pith_prune.h"
#include "pith_quantize.h"
#include "pith_train.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define PITH_STAGE_LAYERS 64u
#define PITH_STAGE_STEPS 1000u

enum pith_stage_kind {
    PITH_STAGE_PRUNE = 1,
    PITH_STAGE_CLUSTER = 2,
    PITH_STAGE_ENCODE = 3,
    PITH_STAGE_TRAIN = 4,
    PITH_STAGE_QUANTIZE = 5,
    PITH_STAGE_CALIBRATE = 6,
    PITH_STAGE_COMPRESS = 7 /* no stage of a recipe: the recipe, and what it has to reach */
};

enum pith_encode_goal {
    PITH_FOR_SPEED = 0, /* of loading */
    PITH_FOR_SIZE = 1,  /* of the file; its header is compact */
    PITH_FOR_FLASH = 2  /* with a decoder of little memory and code; the header is compact */
};

struct pith_encode_opts {
    bool plain;    /* no entropy coding */
    bool adaptive; /* adaptive streams, for each tensor where they are smaller */
    bool huffman;  /* Huffman codes alone */
    bool rans;     /* rANS, for each tensor where it is smaller than Huffman codes */
    enum pith_encode_goal goal;
    bool keep_history; /* also in the compact header */
    bool lossless;     /* every number stays as it is: batch normalisation is not folded; grids that
                          the weights lie on are found (exact_grid.h), and their zeros */
};

/* What is chosen with no coder named. For speed: rANS for tensors of at least so many elements,
 * Huffman codes for others. */
#define PITH_RANS_ELEMENTS 65536u
/* For size: adaptive streams where the file is then loaded in less than this by the estimate of
 * pith_load_seconds, or is smaller by this share than with rANS; else rANS. For flash: Huffman
 * codes. */
#define PITH_ADAPTIVE_SECONDS 0.005
#define PITH_ADAPTIVE_SAVES 0.02
#define PITH_ADAPTIVE_SAVES_EXACT 0.005 /* of a lossless file, where nothing else can be saved */

/* How the constants will be written if a coder is named. */
enum pith_code pith_encode_code(const struct pith_encode_opts *opts);

/* QUANTIZE with data, but in fixed point: where the outputs are worse than the floor, up to so many
 * layers stay float, each of which brings at least the gain. */
#define PITH_KEEP_FLOOR_DB 20.0
#define PITH_KEEP_GAIN_DB 3.0
#define PITH_KEEP_MOST 4u
/* Each layer is tried alone, which takes time by the square of their number: in a network of more,
 * none is. */
#define PITH_KEEP_TRIED 400u
/* What quantize made of a network is worth a second look where its outputs are less than this above
 * their error, or more of the predictions than this part have changed, on the samples that were
 * compared.
 */
#define PITH_LOST_DB 25.0
#define PITH_LOST_ANSWERS 0.03

/* Options of the kind; the layer overrides stand in the arrays here, their patterns are borrowed
 * from the caller (for a recipe's stages: the recipe). */
enum pith_when { PITH_AUTO = 0, PITH_ALWAYS = 1, PITH_NEVER = 2 };

struct pith_stage {
    enum pith_stage_kind kind;
    uint64_t seed; /* CLUSTER and what trains: from the recipe; 0: the caller's */
    struct pith_prune_opts prune;
    struct pith_cluster_opts cluster;
    struct pith_encode_opts encode;
    struct pith_prune_amount prune_layers[PITH_STAGE_LAYERS];
    struct pith_cluster_size cluster_layers[PITH_STAGE_LAYERS];
    /* TRAIN, and PRUNE in steps, which trains after each. Of `train`, the members features,
     * teacher, threads, seed, progress, stop, user and enough are filled in when the stage runs;
     * keep_best counts only where there is validation data. */
    struct pith_train_opts train;
    const char *teacher;  /* "start": the network as the recipe found it; else a file; NULL: none */
    const char *integers; /* TRAIN: it ends as a network of integers, which train with it
                             (pith_integer_spec_parse); NULL: it does not */
    double until_drop;    /* train until the validation accuracy is at most this fraction below that
                             of the teacher, or where there is none of the network as the recipe
                             found it; negative: not */
    uint32_t start; /* the recipe found it: 0; or as after so many of its stages (in recipes of
                       models that were trained in several runs) */
    /* QUANTIZE: of `quantize`, the members keep, data and n_samples are filled in when the stage
     * runs. */
    struct pith_quantize_opts quantize;
    const char *keep[PITH_STAGE_LAYERS]; /* quantize.n_keep of them */
    enum pith_type floats; /* QUANTIZE: PITH_F16 or PITH_BF16: what stays float is rounded to that
                              and takes 2 bytes a number in the file; 0: PITH_F16 where the samples
                              decided that layers stay float, and weights of layers with codebooks
                              where the outputs allow it, else PITH_F32 */
    uint32_t samples;  /* QUANTIZE: to calibrate on, the first so many; 0: 64. CALIBRATE: 0: all */
    bool all_integers; /* QUANTIZE: no layer stays float because of what it costs */
    bool equalize; /* QUANTIZE: factors move from layer to layer first, so that channels are of one
                      size; the model is not calibrated */
    enum pith_when smooth; /* QUANTIZE: factors move from the inputs of matrix products behind
                              normalizations to the weights first, with data, of a model not
                              calibrated. AUTO: where some channel is far larger than the others */
    bool synthetic; /* QUANTIZE: without data, pictures of random discs stand for it; 32 of them
                       where samples is 0, by context.seed */
    /* CALIBRATE: of `ranges`, samples is filled in when the stage runs. */
    struct pith_range_opts ranges;
    bool with_data;              /* else grids are chosen again, from the stored statistics */
    bool add;                    /* to the stored statistics; else they are dropped */
    bool merge;                  /* of the command alone: merges the statistics of several models */
    bool trains;                 /* PRUNE: what is left is trained, after each of the steps */
    uint32_t steps;              /* PRUNE: 0 or 1..PITH_STAGE_STEPS; 0: one */
    struct pith_goal goal;       /* COMPRESS */
    const char *recipe, *preset; /* COMPRESS: a file, a name (preset.h); NULL: none */
};

/* "int8"; "w4a8": weights of 2 to 8 bits, activations of 2 to 8; "ternary": weights -1, 0, 1,
 * activations of 8 bits; "fixed:8": both of 2 to 8 bits, in fixed point. The first and the last
 * layer have at least 8 bits, but with ",all" behind. */
struct pith_integer_spec {
    int32_t lowest, highest; /* of weights */
    uint32_t activation_bits;
    bool radix, all;
};
/* False: this is none of these; *spec is untouched. */
bool pith_integer_spec_parse(const char *text, struct pith_integer_spec *spec);
/* Weights of so many bits; 8 keep clear of -128, as pith_quantize does. */
void pith_integer_spec_set_weights(struct pith_integer_spec *spec, uint32_t bits);

/* A stage with the defaults of its kind. */
void pith_stage_init(struct pith_stage *stage, enum pith_stage_kind kind);

/* Whether the stage needs data to train on. */
bool pith_stage_trains(const struct pith_stage *stage);
/* Whether the stage needs the network as it was when the recipe began. */
bool pith_stage_needs_original(const struct pith_stage *stage);
/* Whether ENCODE chooses the coder: none is named. */
bool pith_encode_chooses(const struct pith_encode_opts *opts);
struct pith_pack_opts pith_stage_pack_opts(const struct pith_stage *encode);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
