/* SPDX-License-Identifier: MIT */
/* Help, made from the command and option tables: nothing is written twice. */
#include <stdio.h>
#include <string.h>
#include "cli.h"

static const char *const groups[] = {"look", "make", "run", "ship", "misc"};

const struct cli_command *cli_find_command(const struct cli_command *const *commands,
                                           const char *name)
{
    for (uint32_t i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

void cli_print_overview(const struct cli_command *const *commands)
{
    puts("usage: pith <command> [options] ... (-h shows them; start with: pith compress net.onnx "
         "-d DATA)");
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        bool first = true;
        for (uint32_t i = 0; commands[i]; i++) {
            const struct cli_command *c = commands[i];
            if (strcmp(c->group, groups[g]) != 0)
                continue;
            printf("%-5s %-10s %s\n", first ? groups[g] : "", c->name, c->summary);
            first = false;
        }
    }
}

static void print_option(const struct cli_option *o)
{
    char left[64];
    if (!o->help)
        return;
    if (o->kind == OPTION_HEADING) {
        printf("\n%s:\n", o->help);
        return;
    }
    snprintf(left, sizeof left, "%c%c%s --%s%s%s", o->letter ? '-' : ' ',
             o->letter ? o->letter : ' ', o->letter ? "," : " ", o->name, o->arg ? " " : "",
             o->arg ? o->arg : "");
    printf("  %-28s %s\n", left, o->help);
}

void cli_print_help(const struct cli_command *cmd, bool whole)
{
    printf("pith %s - %s\n\nusage: %s\n\n", cmd->name, cmd->summary, cmd->synopsis);
    const struct cli_option *o = cmd->options;
    for (; o && o->name && (whole || o->kind != OPTION_HEADING); o++)
        print_option(o);
    if (!whole) {
        printf("\nalso -o -f -q -v -T N --json --seed N -n; %s: pith help %s\n",
               o && o->name ? "more options" : "more", cmd->name);
        return;
    }
    puts("\nAll commands:");
    for (o = cli_common_options; o->name; o++)
        print_option(o);
    if (cmd->description)
        printf("\n%s\n", cmd->description);
}

/* Optimal string alignment distance, words shorter than 32. */
static unsigned distance(const char *a, const char *b)
{
    unsigned d[33][33];
    size_t na = strlen(a), nb = strlen(b);
    if (na > 32 || nb > 32)
        return 99;
    for (size_t i = 0; i <= na; i++)
        d[i][0] = (unsigned)i;
    for (size_t j = 0; j <= nb; j++)
        d[0][j] = (unsigned)j;
    for (size_t i = 1; i <= na; i++)
        for (size_t j = 1; j <= nb; j++) {
            unsigned best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (d[i - 1][j] + 1 < best)
                best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best)
                best = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    return d[na][nb];
}

void cli_suggest(const struct cli_command *const *commands, const char *unknown)
{
    unsigned best = 4;
    for (uint32_t i = 0; commands[i]; i++) {
        unsigned d = distance(unknown, commands[i]->name);
        best = d < best ? d : best;
    }
    cli_error("'%s' is not a pith command; see pith help", unknown);
    for (uint32_t i = 0; best < 4 && commands[i]; i++)
        if (distance(unknown, commands[i]->name) == best)
            fprintf(stderr, "did you mean '%s'?\n", commands[i]->name);
}
