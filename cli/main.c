/* SPDX-License-Identifier: MIT */
/* pith: find the command, parse its options, run it. */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "command_table.h"
#include "cli/common/error_location.h"
#include "cli/common/json_out.h"

/* Options that cannot be parsed may end before --json is. */
static bool wants_json(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strncmp(argv[i], "--json", 6) == 0 && (argv[i][6] == '\0' || argv[i][6] == '='))
            return true;
    return false;
}

enum cli_exit cli_run_command(const struct cli_command *cmd, int argc, char **argv)
{
    uint32_t n_operands = 0;
    enum cli_exit rc;
    struct cli_common *common;
    char count[32];
    void *options = calloc(1, cmd->struct_bytes);
    if (!options) {
        cli_error("out of memory");
        return EXIT_MEMORY;
    }
    common = options;
    common->commands = cli_commands;
    const char **words =
        malloc(((size_t)argc + 1) * sizeof *words); /* parsing moves those of argv */
    for (int i = 0; words && i < argc; i++)
        words[i] = argv[i];
    cli_set_words(words, words ? argc : 0);
    cli_set_verb(cmd->name);
    rc = cli_parse(cmd, argc, argv, options, &n_operands);
    bool parsed = rc == EXIT_DONE;
    cli_set_quiet(common->quiet > 0);
    cli_set_inputs(common);
    if (common->json)
        cli_end_in_order(); /* the object says that it was interrupted */
    if (rc == EXIT_DONE && (common->help_short || common->help_long)) {
        cli_print_help(cmd, common->help_long);
    } else if (rc == EXIT_DONE) {
        rc = cmd->run(options, argv, n_operands);
        if (cli_skipped() > 0)
            cli_summary(common, "skipped %s picture%s that cannot be read",
                        pith_count_text(cli_skipped(), count), cli_skipped() == 1 ? "" : "s");
    }
    if (rc != EXIT_DONE && (common->json || (!parsed && wants_json(argc, argv))))
        cli_json_error(rc);
    free(options);
    free(words);
    return rc;
}

/* 128 + the signal, as a shell reports a process that the signal ended. */
static int exit_status(enum cli_exit rc)
{
    cli_end_in_order();
    if (rc != EXIT_INTERRUPTED || !cli_interrupted())
        return (int)rc;
    cli_print_interrupted();
    return cli_interrupt_status();
}

/* A full disk or a closed pipe shows only when buffered output is flushed. */
static enum cli_exit flush_stdout(enum cli_exit rc)
{
    bool flushed = fflush(stdout) == 0;
    int reason = errno;
    if ((flushed && !ferror(stdout)) || rc) /* earlier failures are printed already */
        return rc;
    if (flushed) /* an earlier write failed; errno is of something else by now */
        cli_error("cannot write to standard output");
    else if (reason != EPIPE)
        cli_error("cannot write to standard output: %s", strerror(reason));
    return EXIT_IO;
}

int main(int argc, char **argv)
{
    const struct cli_command *cmd;
    setlocale(LC_CTYPE, "");
    cli_catch_signals();
    if (argc < 2) {
        cli_print_overview(cli_commands);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        argv[1] = "help";
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
        argv[1] = "version";
    cmd = cli_find_command(cli_commands, argv[1]);
    if (!cmd) {
        if (argv[1][0] == '-')
            cli_error("%s: options follow the command: pith COMMAND [options]; see pith help",
                      argv[1]);
        else
            cli_suggest(cli_commands, argv[1]);
        if (wants_json(argc, argv))
            cli_json_error(EXIT_USAGE);
        return exit_status(flush_stdout(EXIT_USAGE));
    }
    return exit_status(flush_stdout(cli_run_command(cmd, argc - 2, argv + 2)));
}
