/* SPDX-License-Identifier: MIT */
/* stage_rows.h - the tables of the kinds of stages, and what their rows share. */
#ifndef STAGE_ROWS_H
#define STAGE_ROWS_H

#include "pith_stage_options.h"

/* A row in a line or two: its kind, its key and the member it sets; what its value is called in
 * help (NULL: a flag), the line of help, and behind it what else the row has:
 *
 *     PITH_ROW(UINT, "steps", steps, "N", "little by little", .min = 1, .max = 1000),
 *     PITH_OWN_ROW("halves", &pith_own_halves, "GLOB", "these layers ...", PITH_ADVANCED(methods)),
 */
#define PITH_ROW(kind_, key_, member, arg_, ...)                                                   \
    {                                                                                              \
        .key = key_, .kind = PITH_OPTION_##kind_, .at = offsetof(struct pith_stage, member),       \
        .arg = arg_, .help = __VA_ARGS__                                                           \
    }
#define PITH_OWN_ROW(key_, own_, arg_, ...)                                                        \
    {                                                                                              \
        .key = key_, .kind = PITH_OPTION_OWN, .own = own_, .arg = arg_, .help = __VA_ARGS__        \
    }
#define PITH_ADVANCED(group_) .level = PITH_OPTION_ADVANCED, .group = group_

extern const struct pith_option_table pith_train_stage_options, pith_quantize_stage_options,
    pith_cluster_stage_options, pith_encode_stage_options, pith_prune_stage_options,
    pith_calibrate_stage_options, pith_compress_options;

/* Those that recipes do not hold as a text. */
extern const struct pith_option_own pith_own_keep, pith_own_bias_correct, pith_own_cluster_layers,
    pith_own_sparsity, pith_own_sigma, pith_own_zeros, pith_own_prune_layers, pith_own_prune_train;

/* Sets prune.by, where no other amount was given. */
enum pith_status pith_prune_choose(struct pith_stage *s, enum pith_prune_by by,
                                   struct pith_error *err);
/* What is left is trained: in one step, where none are named. */
void pith_prune_set_trains(struct pith_stage *s);

/* The value in "GLOB=value", behind the last =; NULL, with err filled: there is none, or no glob.
 */
const char *pith_stage_layer_value(const char *text, struct pith_error *err);
/* The glob in front of that value, kept in texts. NULL, with err filled: it is too long, there are
 * too many, or of n layers the stage has no room for one more. */
const char *pith_stage_keep_glob(struct pith_stage_texts *texts, const char *text,
                                 const char *value, uint32_t n, struct pith_error *err);

#endif
