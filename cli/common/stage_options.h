/* SPDX-License-Identifier: MIT */
/* stage_options.h - a stage's table of options (pith_stage_options.h) on the command line of its
 * command. The command's own table says where they stand:
 *
 *     CLI_STAGE_BASIC(struct train_options, stage, PITH_STAGE_TRAIN),     rows of the shortest help
 *     {0, "", OPTION_HEADING, 0, NULL, "More", 0, 0},
 *     CLI_STAGE_PLAIN(struct train_options, stage, PITH_STAGE_TRAIN),     other options
 *     CLI_STAGE_SET(struct train_options, stage, PITH_STAGE_TRAIN, "..."),    --set KEY=VALUE: all
 *
 * Single rows, also of another stage: of the training in a prune, and of the stages that a command
 * makes later from the requested options (preset.h):
 *
 *     CLI_STAGE_ROW(struct prune_options, stage, PITH_STAGE_TRAIN, "batch", NULL),
 *     CLI_REQUESTED_ROW(struct compress_options, requested, PITH_STAGE_PRUNE, "sparsity", NULL),
 *     CLI_REQUESTED_SET(struct compress_options, requested),          --set prune.pattern=2:4
 */
#ifndef STAGE_OPTIONS_H
#define STAGE_OPTIONS_H

#include "cli.h"
#include "compress/recipe/preset.h"
#include "pith_stage_options.h"

#define CLI_STAGE_BASIC(type, member, kind)                                                        \
    {                                                                                              \
        0, "", OPTION_ROWS, offsetof(type, member), NULL, NULL, kind, PITH_OPTION_BASIC            \
    }
#define CLI_STAGE_PLAIN(type, member, kind)                                                        \
    {                                                                                              \
        0, "", OPTION_ROWS, offsetof(type, member), NULL, NULL, kind, PITH_OPTION_PLAIN            \
    }
#define CLI_STAGE_RARE(type, member, kind)                                                         \
    {                                                                                              \
        0, "", OPTION_ROWS, offsetof(type, member), NULL, NULL, kind, PITH_OPTION_RARE             \
    }
#define CLI_STAGE_SET(type, member, kind, what)                                                    \
    {                                                                                              \
        0, "set", OPTION_SET, offsetof(type, member), "KEY=VALUE", what "; may be repeated", kind, \
            0                                                                                      \
    }
/* help: NULL, or instead of the row's */
#define CLI_STAGE_ROW(type, member, kind, key, help)                                               \
    {                                                                                              \
        0, key, OPTION_ONE_ROW, offsetof(type, member), NULL, help, kind, 0                        \
    }
#define CLI_REQUESTED_ROW(type, member, kind, key, help)                                           \
    {                                                                                              \
        0, key, OPTION_REQUESTED, offsetof(type, member), NULL, help, kind, 0                      \
    }
#define CLI_REQUESTED_SET(type, member)                                                            \
    {                                                                                              \
        0, "set", OPTION_SET_REQUESTED, offsetof(type, member), "STAGE.KEY=VALUE",                 \
            "option of a stage, such as cluster.bits=4; repeatable", 0, 0                          \
    }

/* The command's options with the rows of its stage among them; until the next call. */
const struct cli_option *cli_all_options(const struct cli_command *cmd);
/* The table of the stage that the command sets by --set; NULL: none. */
const struct pith_option_table *cli_stage_table(const struct cli_command *cmd);
/* Table i of those whose keys --set takes, and what stands before them ("", "train.", ...); NULL
 * past the last. */
const struct pith_option_table *cli_set_table(const struct cli_command *cmd, uint32_t i,
                                              const char **prefix);
/* Whether a row is set by --set alone; whether the table has such rows. */
bool cli_is_advanced(const struct pith_option *o);
bool cli_has_advanced(const struct pith_option_table *table);

/* Sets a row's option (OPTION_ROW, from cli_all_options), or one by KEY=VALUE (OPTION_SET,
 * OPTION_SET_REQUESTED). */
enum cli_exit cli_store_row(const struct cli_option *o, const char *text, void *options);
enum cli_exit cli_store_set(const struct cli_option *o, const char *text, void *options);
/* Reports an option that exists as --set KEY=VALUE alone; false: there is none of that name. */
bool cli_report_set_only(const struct cli_command *cmd, const char *name, size_t n);

#define CLI_HELP_BYTES 200u
/* A row's line of help: what it is, its words, its default. */
void cli_row_help(const struct pith_option *o, char line[CLI_HELP_BYTES]);

/* What options say together (pith_stage_conflict); EXIT_DONE: nothing is wrong. */
enum cli_exit cli_check_stage(const struct pith_stage *stage);

#endif
