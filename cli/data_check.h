/* SPDX-License-Identifier: MIT */
/* data_check.h - what every command with -d says about its data before it works with it. */
#ifndef DATA_CHECK_H
#define DATA_CHECK_H

#include "cli/common/cli.h"
#include "measure/sample_check.h"

/* Warns of what pith_check_data finds; a sample that is NaN or infinite is refused. */
enum cli_exit cli_check_data(const struct pith_model *m, const struct pith_feed *feed);

/* Warns of answers that are NaN, infinite or all of one class. e: runs m (or the network it
 * outlines). NULL: one is made for this, and NaN is refused, for answers are what the command works
 * with. */
enum cli_exit cli_check_outputs(const struct cli_common *c, struct pith_engine *e,
                                const struct pith_model *m, const struct pith_feed *feed);

#define CLI_ANSWER_TEXT_BYTES 400
/* What is found of the answers, in words; false: nothing. */
bool cli_answer_finding(const struct pith_model *m, const struct pith_feed *feed,
                        const struct pith_answer_look *look, char text[CLI_ANSWER_TEXT_BYTES]);

#endif
