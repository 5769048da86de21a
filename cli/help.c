/* SPDX-License-Identifier: MIT */
/* Help, made from the command and option tables: nothing is written twice. */
#include <stdio.h>
#include <string.h>
#include "cli/common/cli.h"
#include "cli/common/stage_options.h"

static const char *const groups[] = {"look", "make", "run", "ship", "misc"};

const struct cli_command *cli_find_command(const struct cli_command *const *commands,
                                           const char *name)
{
    for (uint32_t i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

/* "plan, tune": the command and those behind it that have its summary. Moves *i to the last of
 * them. */
static void join_names(const struct cli_command *const *commands, uint32_t *i, char names[64])
{
    const char *summary = commands[*i]->summary;
    snprintf(names, 64, "%s", commands[*i]->name);
    while (commands[*i + 1] && strcmp(commands[*i + 1]->summary, summary) == 0) {
        const size_t n = strlen(names);
        snprintf(names + n, 64 - n, ", %s", commands[++*i]->name);
    }
}

/* The commands of one group, a line each; those of the last group share one, with the summary of
 * the first, so that the overview fits a screen. */
static void print_group(const struct cli_command *const *commands, const char *group, bool last)
{
    const char *summary = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; commands[i]; i++) {
        const struct cli_command *c = commands[i];
        if (strcmp(c->group, group) != 0)
            continue;
        char names[64];
        join_names(commands, &i, names);
        if (!last)
            printf("%-5s %-10s %s\n", n ? "" : group, names, c->summary);
        else if (n == 0)
            printf("%-5s %s", group, c->name);
        else
            printf(", %s", c->name);
        summary = n++ ? summary : c->summary;
    }
    if (last && summary)
        printf(": %s\n", summary);
}

void cli_print_overview(const struct cli_command *const *commands)
{
    const size_t n = sizeof groups / sizeof *groups;
    puts("usage: pith <command> [options] ... (-h shows them; start with: pith compress net.onnx "
         "-d DATA)");
    for (size_t g = 0; g < n; g++)
        print_group(commands, groups[g], g + 1 == n);
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

void cli_print_common_options(void)
{
    for (const struct cli_option *o = cli_common_options; o->name; o++)
        print_option(o);
}

/* A command may have its own meaning of a common letter. */
static bool has_letter(const struct cli_command *cmd, char letter)
{
    for (const struct cli_option *o = cmd->options; o && o->name; o++)
        if (o->letter == letter)
            return true;
    return false;
}

/* "-o -f ...": what they do is a page of its own. */
static void print_common_names(const struct cli_command *cmd)
{
    printf("\nCommon:");
    for (const struct cli_option *o = cli_common_options; o->name; o++) {
        if (!o->help)
            continue;
        if (o->letter && has_letter(cmd, o->letter))
            continue;
        if (o->letter)
            printf(" -%c", o->letter);
        else
            printf(" --%s", o->name);
    }
    puts(" (help options)");
}

/* Behind a form feed the advanced page begins. */
static void print_description(const char *text)
{
    if (text)
        printf("\n%.*s\n", (int)strcspn(text, "\f"), text);
}

void cli_print_help(const struct cli_command *cmd, bool whole)
{
    printf("pith %s - %s\n\nusage: %s\n\n", cmd->name, cmd->summary, cmd->synopsis);
    const struct cli_option *o = cli_all_options(cmd);
    for (; o->name && o->kind != OPTION_ADVANCED && (whole || o->kind != OPTION_HEADING); o++)
        print_option(o);
    if (!whole) {
        printf("\nalso -o -f -q -v -T N --json --seed N -n; %s: pith help %s\n",
               o->name ? "more options" : "more", cmd->name);
        return;
    }
    print_common_names(cmd);
    print_description(cmd->description);
}

/* ---- the advanced page ----------------------------------------------------------------------- */

static void print_row(const struct pith_option *row)
{
    char left[64], help[CLI_HELP_BYTES];
    snprintf(left, sizeof left, "%s=%s", row->key, row->arg ? row->arg : "true");
    cli_row_help(row, help);
    printf("  %-22s %s\n", left, help);
    if (row->source)
        printf("  %-22s (%s)\n", "", row->source);
}

/* Those of one heading after the other, in the order in which headings come. */
static void print_rows(const struct pith_option_table *table)
{
    const struct pith_option *first, *row;
    for (uint32_t i = 0; (first = pith_option_row(table, i, NULL)); i++) {
        bool printed = !cli_is_advanced(first);
        for (uint32_t k = 0; k < i && !printed; k++) {
            row = pith_option_row(table, k, NULL);
            printed = cli_is_advanced(row) && strcmp(row->group, first->group) == 0;
        }
        if (printed)
            continue;
        printf("\n%s:\n", first->group);
        for (uint32_t k = i; (row = pith_option_row(table, k, NULL)); k++)
            if (cli_is_advanced(row) && strcmp(row->group, first->group) == 0)
                print_row(row);
    }
}

bool cli_print_advanced(const struct cli_command *cmd)
{
    const struct pith_option_table *table = cli_stage_table(cmd);
    const char *more = cmd->description ? strchr(cmd->description, '\f') : NULL;
    const struct cli_option *o = cli_all_options(cmd);
    while (o && o->name && o->kind != OPTION_ADVANCED)
        o++;
    bool has_options = o && o->name;
    if (!cli_has_advanced(table) && !more && !has_options)
        return false;
    printf("pith %s, advanced options (all others: pith help %s)\n", cmd->name, cmd->name);
    if (cli_has_advanced(table)) {
        puts("\nSet with --set KEY=VALUE, or by the same key in a recipe.");
        print_rows(table);
    }
    if (has_options)
        puts("\nOptions:");
    for (; has_options && o->name; o++)
        print_option(o);
    if (more)
        printf("\n%s\n", more + 1);
    return true;
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
