/* SPDX-License-Identifier: MIT */
/* help_topics.h - what help and the manual pages say beyond the options. */
#ifndef HELP_TOPICS_H
#define HELP_TOPICS_H

#include "cli/common/cli.h"

struct help_row {
    const char *name, *text;
};

/* All end with name == NULL. */
extern const struct help_row cli_exit_codes[], cli_environment[], cli_preprocessing[];
extern const char cli_overview_text[];

/* ---- man_page.c: mdoc on stdout ---- */
void cli_print_page_names(const struct cli_command *const *commands);
/* name: "pith", "pith-prune"; false: no such page. */
bool cli_print_page(const struct cli_command *const *commands, const char *name);

#endif
