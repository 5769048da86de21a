/* SPDX-License-Identifier: MIT */
/* stage_command.h - what prune, cluster and quantize share: read a model, run one stage, write the
 * model. */
#ifndef STAGE_COMMAND_H
#define STAGE_COMMAND_H

#include "cli/common/cli.h"
#include "feed_options.h"
#include "pith_compress.h"
#include "training.h"

/* Loads operands[0] or stdin, runs the stage, calls print with the report (unless -q), writes.
 * from: data for a stage that trains, feed: for one that calibrates, where they name some; else
 * NULL. */
enum cli_exit
cli_run_stage(const struct cli_common *c, const char *path, const struct pith_stage *stage,
              const struct cli_training_options *from, const struct cli_feed_options *feed,
              void (*print)(const struct cli_common *c, const struct pith_stage_report *report));

/* Layers that stay float, and the SQNR on held-out samples. */
void cli_print_quantized(const struct cli_common *c, const struct pith_stage_report *r);
/* What quantize made is worth a second look (PITH_LOST_DB, PITH_LOST_ANSWERS). */
bool cli_lost_much(const struct pith_stage_report *r);

#endif
