/* SPDX-License-Identifier: MIT */
/* command_table.h - every command. Commands themselves see the table in cli_common.commands. */
#ifndef COMMAND_TABLE_H
#define COMMAND_TABLE_H

#include "cli/common/cli.h"

extern const struct cli_command *const cli_commands[]; /* ends with NULL */

#endif
