/* SPDX-License-Identifier: MIT */
/* pith_option.h - the options of a stage, as data.
 *
 * A stage has one table of them. A row says how an option is called, what values it takes, where in
 * the stage's struct it lies and what it is for. The command line, recipes, defaults, checks, help,
 * manual pages, completion and what a checkpoint remembers of a run are all made from it: who adds
 * an option adds a row, a member and the code that reads the member.
 *
 *     {.key = "warm_up",                    // in recipes; --warm-up, or --set warm_up=0.1
 *      .kind = PITH_OPTION_FLOAT,
 *      .at = offsetof(struct pith_train_opts, warm_up),
 *      .max = 1,                            // 0..1, and 0 where nothing is said
 *      .flags = PITH_OPTION_RUN,            // another value makes another model
 *      .level = PITH_OPTION_ADVANCED,       // by --set alone: pith help train-advanced
 *      .group = "Steps",
 *      .arg = "SHARE",
 *      .help = "share of the run with a linearly rising rate"},
 *
 * Rows are of one struct; a table joins the rows of several structs that lie in one (the options of
 * pith_train in struct pith_stage, and what the stage adds to them). */
#ifndef PITH_OPTION_H
#define PITH_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pith_types.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum pith_option_kind {
    PITH_OPTION_FLAG,    /* bool */
    PITH_OPTION_UINT,    /* uint32_t */
    PITH_OPTION_SEED,    /* uint64_t, above 0 */
    PITH_OPTION_FLOAT,   /* float */
    PITH_OPTION_NUMBER,  /* double */
    PITH_OPTION_SHARE,   /* double; as text also 90% */
    PITH_OPTION_PERCENT, /* double; always "0.5%", for 0.005; negative: not given */
    PITH_OPTION_BYTES,   /* double; as text also 500K, 2M, 64KiB */
    PITH_OPTION_TIME,    /* double, seconds; as text also 2ms, 90s, 30m, 1.5h */
    PITH_OPTION_WORD,    /* an enum, by one of `words` */
    PITH_OPTION_CHOICE,  /* bool, by one of two words */
    PITH_OPTION_SWITCH,  /* the same; in recipes true (its second word) and false (its third) */
    PITH_OPTION_TEXT,    /* const char *, borrowed; NULL: not given */
    PITH_OPTION_OWN      /* more than one member: see `own` */
};

/* Lists of these end with text == NULL. */
struct pith_word {
    const char *text;
    int value;
};

enum pith_option_flag {
    PITH_OPTION_RUN = 1,     /* part of a training run's identity */
    PITH_OPTION_ALWAYS = 2,  /* recipes say it also where it has its default, but
                                for want of what it needs */
    PITH_OPTION_COMMAND = 4, /* of the command line alone: recipes do not have it */
    PITH_OPTION_RECIPE = 8,  /* of recipes alone */
    PITH_OPTION_GOAL = 16    /* of COMPRESS: in recipes a key of "goal" */
};

enum pith_option_level {
    PITH_OPTION_BASIC,    /* an option of the command, on its shortest help */
    PITH_OPTION_PLAIN,    /* an option of the command, on its help */
    PITH_OPTION_ADVANCED, /* --set KEY=VALUE */
    PITH_OPTION_RARE      /* an option of the command, on its page of what is rarely used */
};

struct pith_option_own; /* how compress/ reads and writes what is no single member */

struct pith_option {
    const char *key;    /* in recipes; its option is the same with - for _ */
    const char *option; /* NULL, or what it is called on the command line instead */
    char letter;        /* 'r': also -r; 0: none */
    enum pith_option_kind kind;
    size_t at;                     /* in the struct that the rows are of */
    double min, max;               /* of numbers; the default is good, too, where it is outside */
    double normal;                 /* the default: a number, a word's value, 1 for true */
    const struct pith_word *words; /* of a WORD or SWITCH */
    /* What it does nothing without, and what it cannot go with: keys, or KEY=WORD, with | between
     * alternatives. Both hold where the value is not the default; "row|tensor: levels" holds for
     * these two words only. */
    const char *needs, *without;
    uint32_t flags; /* of enum pith_option_flag */
    enum pith_option_level level;
    const char *group;  /* heading it stands below on the advanced page */
    const char *arg;    /* what its value is called in help; NULL: a flag */
    const char *help;   /* one line; defaults and words are added to it */
    const char *source; /* where the method comes from; NULL: nowhere in particular */
    const struct pith_option_own *own;
};

/* Rows of one struct. */
struct pith_option_set {
    const struct pith_option *rows;
    uint32_t n;
};

#define PITH_OPTION_PARTS 2u
struct pith_option_table {
    const char *stage; /* "train" */
    struct {
        const struct pith_option_set *set; /* NULL: none */
        size_t at;                         /* where its struct lies in the stage's */
    } part[PITH_OPTION_PARTS];
};

/* Row i of all, and in *at the place of its value in the stage's struct; NULL past the last. */
const struct pith_option *pith_option_row(const struct pith_option_table *table, uint32_t i,
                                          size_t *at);
/* The row of a key, of which there are n characters; NULL: no such. at may be NULL. */
const struct pith_option *pith_option_find(const struct pith_option_table *table, const char *key,
                                           size_t n, size_t *at);

/* Sets every value but those of kind OWN to its default. of: the struct that the rows are of. */
void pith_option_defaults(const struct pith_option_set *set, void *of);
/* Whether the value is another than the default; not for OWN. value: where it lies. */
bool pith_option_given(const struct pith_option *o, const void *value);
/* Of the same row; not for OWN. */
void pith_option_copy(const struct pith_option *o, const void *from, void *to);
/* The word that stands for the value; NULL: none does. */
const char *pith_option_word(const struct pith_option *o, const void *value);

/* Sets the value from a text, as a command line has it; texts are borrowed; not for OWN. FLAG: "",
 * true or false. PITH_ERR_ARGUMENT: err->text quotes the text and gives the reason
 * ("200: out of range 1..127"), *value is untouched. */
enum pith_status pith_option_read(const struct pith_option *o, const char *text, void *value,
                                  struct pith_error *err);

#define PITH_OPTION_LINE_BYTES 512u
/* "lr 0.001": the key and every digit of its value. A text is cut after 400 bytes. Not for OWN. */
void pith_option_line(const struct pith_option *o, const void *value,
                      char line[PITH_OPTION_LINE_BYTES]);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
