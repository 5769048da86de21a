/* SPDX-License-Identifier: MIT */
/* class_scores.h - what `run` prints of an output: its largest values, as probabilities where it is
 * that of a classifier. */
#ifndef CLASS_SCORES_H
#define CLASS_SCORES_H

#include "cli/common/cli.h"

enum cli_scores {
    CLI_SCORES_VALUES,        /* no classes: values as they are */
    CLI_SCORES_PROBABILITIES, /* of classes, as they are */
    CLI_SCORES_LOGITS /* of classes: softmax, but where a sample's values are probabilities */
};

#define CLI_SOFTMAX_OPTION(type, member)                                                           \
    {                                                                                              \
        0, "softmax", OPTION_TEXT, offsetof(type, member), "auto|always|never",                    \
            "print softmax probabilities (auto: for classifiers)", 0, 0                            \
    }

/* What m's output holds: word as the option takes it (NULL: auto), pictures: whether such are fed.
 * auto takes an f32 output of one axis longer than 1 for classes where pictures are fed or the
 * model has class names; behind a Softmax or Sigmoid they are probabilities, else logits. */
enum cli_exit cli_score_kind(const struct pith_model *m, uint32_t output, const char *word,
                             bool pictures, enum cli_scores *kind);

/* Name k of the stored class names (one a line; NULL: none), *len bytes of it; "" where there is
 * none. Not terminated. */
const char *cli_class_name(const char *names, uint64_t k, int *len);

/* Element i of t as it is to be printed. */
struct cli_score_reader {
    const struct pith_tensor *t;
    uint64_t n;
    bool softmax;
    double max, total; /* of exp(value - max) */
};
void cli_read_scores(struct cli_score_reader *r, enum cli_scores kind, const struct pith_tensor *t);
double cli_score_value(const struct cli_score_reader *r, uint64_t i); /* as the output has it */
double cli_score(const struct cli_score_reader *r, uint64_t i); /* its probability, or the same */
/* The next element in falling order behind last (n: none yet), equal ones by number; n: no more. */
uint64_t cli_next_score(const struct cli_score_reader *r, uint64_t last);

#endif
