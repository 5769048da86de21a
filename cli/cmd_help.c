/* SPDX-License-Identifier: MIT */
/* pith help [COMMAND | exit-codes] */
#include <stdio.h>
#include <string.h>
#include "cli.h"

static const char exit_codes[] =
    "0  done\n"
    "1  the answer is no: a goal was not met, outputs differ, a check failed\n"
    "2  wrong usage\n"
    "3  cannot read or write\n"
    "4  a file is broken or not what it claims to be\n"
    "5  valid but unsupported\n"
    "6  out of memory, or a limit exceeded\n"
    "130 / 143  interrupted\n";

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    const struct cli_command *cmd;
    (void)opts;
    if (n_operands == 0) {
        cli_print_overview();
        return EXIT_DONE;
    }
    if (strcmp(operands[0], "exit-codes") == 0) {
        fputs(exit_codes, stdout);
        return EXIT_DONE;
    }
    cmd = cli_find_command(operands[0]);
    if (!cmd) {
        cli_suggest(operands[0]);
        return EXIT_USAGE;
    }
    cli_print_help(cmd, true);
    return EXIT_DONE;
}

const struct cli_command cmd_help = {
    "help", "misc", "this overview, one command, or exit-codes", "pith help [COMMAND | exit-codes]",
    NULL, NULL, sizeof(struct cli_common), 0, 1, run};
