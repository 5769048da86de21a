/* SPDX-License-Identifier: MIT */
/* pith_stage_options.h - each kind of stage and its table of options (pith_option.h).
 *
 *     struct pith_stage s;
 *     char why[PITH_CONFLICT_BYTES];
 *     pith_stage_init(&s, PITH_STAGE_TRAIN);
 *     pith_stage_set(&s, "lr", "0.002", NULL, &err);
 *     pith_stage_set(&s, "score", "fisher", NULL, &err);
 *     pith_stage_conflict(&s, false, why);           // "'score' needs 'sparsity' or
 * 'keep_weights'"
 *
 * Of a prune in steps, "train" holds the options of what trains between them: those of TRAIN. */
#ifndef PITH_STAGE_OPTIONS_H
#define PITH_STAGE_OPTIONS_H

#include "pith_option.h"
#include "pith_stage.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Of struct pith_stage; NULL: no such kind. */
const struct pith_option_table *pith_stage_options(enum pith_stage_kind kind);

/* The row of one of its keys, of which there are n characters; of a prune also "train.epochs", that
 * of its training. NULL: no such. at may be NULL. */
const struct pith_option *pith_stage_option(enum pith_stage_kind kind, const char *key, size_t n,
                                            size_t *at);
/* "prune"; NULL: no such kind. And its kind; 0: no such stage. */
const char *pith_stage_name(enum pith_stage_kind kind);
enum pith_stage_kind pith_stage_named(const char *name, size_t n);

#define PITH_STAGE_TEXTS 128u
#define PITH_STAGE_TEXT_BYTES 256u
/* Where parts of a text live on that a stage borrows: patterns of layers, names of values. */
struct pith_stage_texts {
    char text[PITH_STAGE_TEXTS][PITH_STAGE_TEXT_BYTES];
    uint32_t n;
};

/* What options do that are more than one member of the struct. */
struct pith_option_own {
    /* As pith_option_read; of a list, adds to it. NULL: only recipes have it. */
    enum pith_status (*read)(struct pith_stage *s, const char *text, struct pith_stage_texts *texts,
                             struct pith_error *err);
    /* The text that read takes for the present value; NULL: recipes have no text for it but a list
     * or an object of their own (recipe/own_json.h). */
    void (*print)(const struct pith_stage *s, char *text, size_t room);
    bool (*given)(const struct pith_stage *s);
    bool is_number; /* the text is a whole number, and recipes say it as one */
};

/* Sets an option from a text, as a command line has it; the text is borrowed. PITH_ERR_ARGUMENT:
 * no such key (err->text: ""), or as pith_option_read. texts: NULL where no option is a list. */
enum pith_status pith_stage_set(struct pith_stage *s, const char *key, const char *text,
                                struct pith_stage_texts *texts, struct pith_error *err);
/* Whether it is not as by default. at: from pith_option_row. */
bool pith_stage_given(const struct pith_stage *s, const struct pith_option *o, size_t at);

#define PITH_CONFLICT_BYTES 256u
/* Whether some option does nothing for want of another, or cannot go with another; why: in a line,
 * with options as on the command line, or with keys as in recipes. Of a stage that trains in steps
 * its training, too. */
bool pith_stage_conflict(const struct pith_stage *s, bool as_options,
                         char why[PITH_CONFLICT_BYTES]);
/* Whether none is given of those that the row's column `needs` names; it must be of keys alone. */
bool pith_stage_needs_option(const struct pith_stage *s, const struct pith_option_table *table,
                             const struct pith_option *o);
/* Whether there was an option of this name, of n characters, as a key or on the command line. *now:
 * the option that replaced it; NULL: it was removed. */
bool pith_option_former(const struct pith_option_table *table, const char *name, size_t n,
                        const struct pith_option **now);
#define PITH_OPTION_REMOVED "was removed (see docs/tried.md)"
/* "--warm-up", or "--set warm_up" where it is no option by itself. */
void pith_option_spell(const struct pith_option *o, bool as_option, char *text, size_t room);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
