/* SPDX-License-Identifier: MIT */
/* pith help [COMMAND[-advanced] | options | exit-codes | environment | preprocess | presets] */
#include <stdio.h>
#include <string.h>
#include "cli/common/cli.h"
#include "help_topics.h"
#include "compress/recipe/preset.h"
#include "cli/common/table.h"

struct help_options {
    struct cli_common common;
    bool man;
};

static const struct cli_option options[] = {
    /* for the build: without help text, so not shown */
    {0, "man", OPTION_FLAG, offsetof(struct help_options, man), NULL, NULL, 0, 0},
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

static void print_topic(const struct help_row *rows)
{
    struct cli_table t;
    cli_table_start(&t, 2);
    cli_table_left(&t, 1);
    for (const struct help_row *r = rows; r->name; r++) {
        cli_table_add(&t, "%s", r->name);
        cli_table_add(&t, "%s", r->text);
    }
    cli_table_print(&t, stdout);
}

static enum cli_exit print_man(const struct cli_command *const *commands, const char *page)
{
    if (!page)
        cli_print_page_names(commands);
    else if (!cli_print_page(commands, page)) {
        cli_error("no manual page '%s'", page);
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

static void print_options(void)
{
    cli_print_common_options();
    puts("\nIf an option is repeated, the last value counts; -d, --set, --keep and other lists "
         "accumulate.");
}

/* "train-advanced" */
static bool print_advanced(const struct cli_command *const *commands, const char *topic)
{
    static const char suffix[] = "-advanced";
    char name[64];
    size_t n = strlen(topic), end = sizeof suffix - 1;
    if (n <= end || n >= sizeof name || strcmp(topic + n - end, suffix) != 0)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)(n - end), topic);
    const struct cli_command *cmd = cli_find_command(commands, name);
    return cmd && cli_print_advanced(cmd);
}

/* A name and its stages, a line each. */
static void print_presets(void)
{
    const struct pith_preset *preset;
    puts("pith compress --preset NAME; in recipes \"preset\": NAME. Figures: "
         "docs/results/presets.md");
    for (uint32_t i = 0; (preset = pith_preset_row(i)); i++) {
        printf("\n%s: %s\n", preset->name, preset->help);
        for (const char *line = preset->stages; line;) {
            int n = (int)strcspn(line, "\n");
            printf("  %.*s\n", n, line);
            line = line[n] ? line + n + 1 : NULL;
        }
    }
}

static enum cli_exit print_page(const struct cli_command *const *commands, const char *topic)
{
    const struct cli_command *cmd = cli_find_command(commands, topic);
    if (cmd)
        cli_print_help(cmd, true);
    else if (print_advanced(commands, topic))
        return EXIT_DONE;
    else if (strcmp(topic, "options") == 0)
        print_options();
    else if (strcmp(topic, "exit-codes") == 0)
        print_topic(cli_exit_codes);
    else if (strcmp(topic, "environment") == 0)
        print_topic(cli_environment);
    else if (strcmp(topic, "preprocess") == 0)
        print_topic(cli_preprocessing);
    else if (strcmp(topic, "presets") == 0)
        print_presets();
    else {
        cli_suggest(commands, topic);
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    const struct help_options *o = opts;
    const char *topic = n_operands ? operands[0] : NULL;
    if (o->man)
        return print_man(o->common.commands, topic);
    if (topic)
        return print_page(o->common.commands, topic);
    cli_print_overview(o->common.commands);
    return EXIT_DONE;
}

const struct cli_command cmd_help = {
    "help",
    "misc",
    "COMMAND, options, exit-codes, environment, preprocess, presets",
    "pith help [COMMAND[-advanced] | options | exit-codes | environment | preprocess | presets]",
    NULL,
    options,
    sizeof(struct help_options),
    0,
    1,
    run,
    NULL};
