/* SPDX-License-Identifier: MIT */
/* goal_run.h - compress under a goal: shows the search, writes its file, reports a missed goal. */
#ifndef GOAL_RUN_H
#define GOAL_RUN_H

#include "feed_options.h"
#include "pith_goal_compress.h"

/* NAME.best.pith beside NAME.pith or NAME: where the best of a search lies that has missed its
 * goal, or has not ended. EXIT_USAGE: the name is too long. */
#define CLI_BEST_BYTES 4096
enum cli_exit cli_best_path(const char *output, char best[CLI_BEST_BYTES]);

struct cli_goal_run {
    const struct cli_common *common;
    const char *input; /* its path */
    const struct pith_goal *goal;
    const struct cli_feed *feed;
    const double *output_weight; /* as of struct pith_goal_compress_opts */
    bool for_speed;
    const char *checkpoint; /* NULL: none */
    bool resume;
    uint64_t before_bytes; /* of the constants as the network's file has them */
};

/* EXIT_NO: missed. */
enum cli_exit cli_goal_run(const struct cli_goal_run *run, struct pith_model *m);

#endif
