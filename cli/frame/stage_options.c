/* SPDX-License-Identifier: MIT */
#include "stage_options.h"

#include <stdio.h>
#include <string.h>

#define MAX_OPTIONS 128u
#define NAME_BYTES 32u

/* Of one command at a time. */
static struct {
    struct cli_option option[MAX_OPTIONS];
    const struct pith_option *row[MAX_OPTIONS]; /* of OPTION_ROW */
    char name[MAX_OPTIONS][NAME_BYTES], help[MAX_OPTIONS][CLI_HELP_BYTES];
    uint32_t n;
} all;

/* A stage borrows them as long as the process lives. */
static struct pith_stage_texts texts;

bool cli_is_advanced(const struct pith_option *o)
{
    return o->level == PITH_OPTION_ADVANCED && !(o->flags & PITH_OPTION_RECIPE);
}

bool cli_has_advanced(const struct pith_option_table *table)
{
    const struct pith_option *o;
    for (uint32_t i = 0; table && (o = pith_option_row(table, i, NULL)); i++)
        if (cli_is_advanced(o))
            return true;
    return false;
}

/* ---- help ------------------------------------------------------------------------------------ */

/* "default" stands for what the line says. */
static void add_words(const struct pith_option *o, char *line, size_t room)
{
    const char *before = *line ? ": " : "";
    for (const struct pith_word *w = o->words; w->text; w++) {
        size_t n = strlen(line);
        if (strcmp(w->text, "default") == 0)
            continue;
        bool normal = w->value <= o->normal && w->value >= o->normal;
        snprintf(line + n, room - n, "%s%s%s", before, w->text, normal ? " (default)" : "");
        before = ", ";
    }
}

void cli_row_help(const struct pith_option *o, char line[CLI_HELP_BYTES])
{
    snprintf(line, CLI_HELP_BYTES, "%s", o->help ? o->help : "");
    size_t n = strlen(line);
    if (o->words)
        add_words(o, line, CLI_HELP_BYTES);
    else if (o->normal > 0)
        snprintf(line + n, CLI_HELP_BYTES - n, "; default %g", o->normal);
}

/* ---- the command's options ------------------------------------------------------------------- */

static void add(const struct cli_option *o, const struct pith_option *row)
{
    if (all.n == MAX_OPTIONS - 1)
        return;
    all.option[all.n] = *o;
    all.row[all.n++] = row;
}

static void add_row(const struct cli_option *place, const struct pith_option *row)
{
    char *name = all.name[all.n], *help = all.help[all.n];
    snprintf(name, NAME_BYTES, "%s", row->option ? row->option : row->key);
    for (char *p = name; *p; p++)
        *p = *p == '_' ? '-' : *p;
    cli_row_help(row, help);
    const struct cli_option o = {0, name, OPTION_ROW, place->offset, row->arg, help, 0, 0};
    add(&o, row);
}

static void add_rows(const struct cli_option *place)
{
    const struct pith_option_table *table = pith_stage_options((enum pith_stage_kind)place->min);
    const struct pith_option *row;
    for (uint32_t i = 0; (row = pith_option_row(table, i, NULL)); i++)
        if (row->level == (enum pith_option_level)place->max && !(row->flags & PITH_OPTION_RECIPE))
            add_row(place, row);
}

const struct cli_option *cli_all_options(const struct cli_command *cmd)
{
    static const struct cli_option end = {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0};
    all.n = 0;
    for (const struct cli_option *o = cmd->options; o && o->name; o++)
        if (o->kind == OPTION_ROWS)
            add_rows(o);
        else
            add(o, NULL);
    all.option[all.n] = end;
    return all.option;
}

const struct pith_option_table *cli_stage_table(const struct cli_command *cmd)
{
    for (const struct cli_option *o = cmd->options; o && o->name; o++)
        if (o->kind == OPTION_SET)
            return pith_stage_options((enum pith_stage_kind)o->min);
    return NULL;
}

/* ---- setting --------------------------------------------------------------------------------- */

enum cli_exit cli_store_row(const struct cli_option *o, const char *text, void *options)
{
    struct pith_stage *stage = (struct pith_stage *)((char *)options + o->offset);
    struct pith_error err = {0};
    if (!pith_stage_set(stage, all.row[o - all.option]->key, text, &texts, &err))
        return EXIT_DONE;
    cli_error("--%s %s", o->name, err.text);
    return EXIT_USAGE;
}

/* Whether an option was once called so; then what it is called now has been said. */
static bool told_of_renamed(const struct pith_option_table *table, const char *name, size_t n)
{
    const struct pith_option *o = pith_option_renamed(table, name, n);
    char now[NAME_BYTES + 8];
    if (!o)
        return false;
    pith_option_spell(o, true, now, sizeof now);
    cli_error("'%.*s' is now %s (see pith help %s%s)", (int)n, name, now, table->stage,
              cli_is_advanced(o) ? "-advanced" : "");
    return true;
}

enum cli_exit cli_store_set(const struct cli_option *o, const char *text, void *options)
{
    struct pith_stage *stage = (struct pith_stage *)((char *)options + o->offset);
    const struct pith_option_table *table = pith_stage_options(stage->kind);
    const char *equals = strchr(text, '=');
    struct pith_error err = {0};
    if (!equals) {
        cli_error("--set '%s': not of the form KEY=VALUE", text);
        return EXIT_USAGE;
    }
    const struct pith_option *row = pith_option_find(table, text, (size_t)(equals - text), NULL);
    if (!row && told_of_renamed(table, text, (size_t)(equals - text)))
        return EXIT_USAGE;
    if (!row || row->flags & PITH_OPTION_RECIPE) {
        cli_error("--set '%.*s': no such key (see pith help %s%s)", (int)(equals - text), text,
                  table->stage, cli_has_advanced(table) ? "-advanced" : "");
        return EXIT_USAGE;
    }
    if (!pith_stage_set(stage, row->key, equals + 1, &texts, &err))
        return EXIT_DONE;
    cli_error("--set %s=%s", row->key, err.text);
    return EXIT_USAGE;
}

static bool is_called(const struct pith_option *o, const char *name, size_t n)
{
    char key[NAME_BYTES];
    if (n >= sizeof key)
        return false;
    for (size_t i = 0; i < n; i++)
        key[i] = name[i] == '-' ? '_' : name[i];
    key[n] = '\0';
    return strcmp(o->key, key) == 0 ||
           (o->option && strlen(o->option) == n && memcmp(o->option, name, n) == 0);
}

bool cli_told_as_set(const struct cli_command *cmd, const char *name, size_t n)
{
    const struct pith_option_table *table = cli_stage_table(cmd);
    const struct pith_option *o;
    for (uint32_t i = 0; table && (o = pith_option_row(table, i, NULL)); i++)
        if (cli_is_advanced(o) && is_called(o, name, n)) {
            cli_error("--%.*s is set by --set %s=%s (see pith help %s-advanced)", (int)n, name,
                      o->key, o->arg ? o->arg : "true", cmd->name);
            return true;
        }
    return table && told_of_renamed(table, name, n);
}

enum cli_exit cli_check_stage(const struct pith_stage *stage)
{
    char why[PITH_MISFIT_BYTES];
    if (!pith_stage_misfit(stage, true, why))
        return EXIT_DONE;
    cli_error("%s", why);
    return EXIT_USAGE;
}
