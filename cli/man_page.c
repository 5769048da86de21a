/* SPDX-License-Identifier: MIT */
/* Manual pages in mdoc(7), made from the same tables as the help texts. */
#include <stdio.h>
#include <string.h>
#include "cli/common/cli.h"
#include "help_topics.h"
#include "cli/common/stage_options.h"
#include "pith_runtime.h"

/* Of the last change of the command line; pages must not depend on the day they are made. */
#define PAGE_DATE "November 21, 2026"

/* A blank between sentences: mdoc wants each on a line of its own. */
static bool ends_sentence(const char *text, size_t i, size_t n)
{
    return i > 0 && i + 1 < n && text[i] == ' ' && text[i - 1] == '.' && text[i + 1] >= 'A' &&
           text[i + 1] <= 'Z';
}

/* Text that mdoc takes literally: no macro at the start of a line, no escape, hyphens as typed. */
static void put_text(const char *text, size_t n)
{
    bool line_start = true;
    for (size_t i = 0; i < n; i++) {
        if (line_start && (text[i] == '.' || text[i] == '\''))
            fputs("\\&", stdout);
        if (text[i] == '\\')
            fputs("\\e", stdout);
        else if (text[i] == '-')
            fputs("\\-", stdout);
        else if (ends_sentence(text, i, n))
            putchar('\n');
        else
            putchar(text[i]);
        line_start = text[i] == '\n';
    }
}

static void put_line(const char *text)
{
    put_text(text, strlen(text));
    putchar('\n');
}

static void put_head(const char *name, const char *summary)
{
    printf(".Dd %s\n.Dt ", PAGE_DATE);
    for (const char *p = name; *p; p++)
        putchar(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
    printf(" 1\n.Os pith %d.%d.%d\n.Sh NAME\n.Nm %s\n.Nd ", PITH_VERSION_MAJOR, PITH_VERSION_MINOR,
           PITH_VERSION_PATCH, name);
    put_line(summary);
}

/* Lines that begin with two blanks are examples, shown as they are; an empty line ends a paragraph.
 */
static void put_paragraphs(const char *text)
{
    bool literal = false, gap = false;
    while (*text) {
        size_t n = strcspn(text, "\n\f");
        bool example = strncmp(text, "  ", 2) == 0;
        if (example != literal)
            puts(example ? ".Bd -literal -offset indent" : ".Ed");
        else if (gap && n > 0)
            puts(".Pp");
        literal = example;
        gap = n == 0 && !example;
        put_text(text + (example ? 2 : 0), n - (example ? 2 : 0));
        if (n > 0)
            putchar('\n');
        gap = gap || text[n] == '\f';
        text += n + (text[n] == '\n' || text[n] == '\f');
    }
    if (literal)
        puts(".Ed");
}

static void put_heading(const char *text)
{
    puts(".El");
    printf(".Ss ");
    put_line(text);
    puts(".Bl -tag -width Ds");
}

static void put_option(const struct cli_option *o)
{
    if (!o->help)
        return;
    if (o->kind == OPTION_HEADING) {
        put_heading(o->help);
        return;
    }
    fputs(".It ", stdout);
    if (o->letter)
        printf("Fl %c , ", o->letter);
    fputs("Fl \\-", stdout);
    put_text(o->name, strlen(o->name));
    if (o->arg) {
        fputs(" Ar ", stdout);
        put_text(o->arg, strlen(o->arg));
    }
    putchar('\n');
    put_line(o->help);
}

static void put_options(const char *title, const struct cli_option *options)
{
    const struct cli_option *shown = options;
    while (shown && shown->name && !shown->help)
        shown++;
    if (!shown || !shown->name)
        return;
    printf(".Sh %s\n.Bl -tag -width Ds\n", title);
    for (const struct cli_option *o = options; o->name; o++)
        put_option(o);
    puts(".El");
}

static void put_row(const struct pith_option *row)
{
    char help[CLI_HELP_BYTES];
    fputs(".It ", stdout);
    put_text(row->key, strlen(row->key));
    putchar('=');
    put_line(row->arg ? row->arg : "true");
    cli_row_help(row, help);
    put_line(help);
    if (row->source) {
        put_text("(", 1);
        put_text(row->source, strlen(row->source));
        puts(")");
    }
}

static void put_rows(const struct pith_option_table *table)
{
    const struct pith_option *row;
    puts(".Sh KEYS OF --SET\n.Bl -tag -width Ds");
    for (uint32_t i = 0; (row = pith_option_row(table, i, NULL)); i++)
        if (cli_is_advanced(row))
            put_row(row);
    puts(".El");
}

static void put_topic(const char *title, const struct help_row *rows)
{
    printf(".Sh %s\n.Bl -tag -width Ds\n", title);
    for (const struct help_row *r = rows; r->name; r++) {
        fputs(".It ", stdout);
        put_line(r->name);
        put_line(r->text);
    }
    puts(".El");
}

static void put_command_list(const struct cli_command *const *commands)
{
    puts(".Sh COMMANDS\n.Bl -tag -width Ds");
    for (uint32_t i = 0; commands[i]; i++) {
        printf(".It Xr pith-%s 1\n", commands[i]->name);
        put_line(commands[i]->summary);
    }
    puts(".El");
}

static void print_main_page(const struct cli_command *const *commands)
{
    put_head("pith", "make a trained network small and run it fast");
    puts(".Sh SYNOPSIS\n.Nm\n.Ar command\n.Op Ar options\n.Ar ...\n.Sh DESCRIPTION");
    put_paragraphs(cli_overview_text);
    put_command_list(commands);
    put_options("COMMON OPTIONS", cli_common_options);
    put_topic("ENVIRONMENT", cli_environment);
    put_topic("EXIT STATUS", cli_exit_codes);
}

static void print_command_page(const struct cli_command *cmd)
{
    char name[64];
    snprintf(name, sizeof name, "pith-%s", cmd->name);
    put_head(name, cmd->summary);
    puts(".Sh SYNOPSIS");
    put_line(cmd->synopsis);
    puts(".Sh DESCRIPTION");
    put_paragraphs(cmd->description ? cmd->description : cmd->summary);
    put_options("OPTIONS", cli_all_options(cmd));
    if (cli_has_advanced(cli_stage_table(cmd)))
        put_rows(cli_stage_table(cmd));
    put_options("COMMON OPTIONS", cli_common_options);
    put_topic("EXIT STATUS", cli_exit_codes);
    puts(".Sh SEE ALSO\n.Xr pith 1");
}

void cli_print_page_names(const struct cli_command *const *commands)
{
    puts("pith");
    for (uint32_t i = 0; commands[i]; i++)
        printf("pith-%s\n", commands[i]->name);
}

bool cli_print_page(const struct cli_command *const *commands, const char *name)
{
    const struct cli_command *cmd =
        strncmp(name, "pith-", 5) == 0 ? cli_find_command(commands, name + 5) : NULL;
    if (cmd)
        print_command_page(cmd);
    else if (strcmp(name, "pith") == 0)
        print_main_page(commands);
    else
        return false;
    return true;
}
