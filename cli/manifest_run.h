/* SPDX-License-Identifier: MIT */
/* manifest_run.h - compresses every network of a manifest, each in a process of its own, some at a
 * time.
 *
 * Beside NETS.csv lies NETS.jsonl: a line for each network that ended, appended by one write, so
 * that shards may share it. A row whose last line is of the same options and files (by size and
 * time), and whose output is there, is not run again. What a network's command prints goes to
 * OUTPUT.log. */
#ifndef MANIFEST_RUN_H
#define MANIFEST_RUN_H

#include "cli/common/cli.h"

struct cli_manifest_run {
    const struct cli_command *cmd;   /* compress */
    const struct cli_common *common; /* with -n the table alone is printed */
    const char *path, *shard;        /* shard: NULL for all rows */
    uint64_t jobs;                   /* networks at a time */
};

/* EXIT_NO: some missed their goal or, with -n, were not run. Else the largest exit code of the
 * networks that failed. */
enum cli_exit cli_manifest_run(const struct cli_manifest_run *run);

#endif
