/* SPDX-License-Identifier: MIT */
#include "stage_options.h"

#include <stdio.h>
#include <string.h>

#define MAX_OPTIONS 128u
#define NAME_BYTES 32u

/* Of one command at a time. */
static struct {
    struct cli_option option[MAX_OPTIONS];
    const struct pith_option *row[MAX_OPTIONS];  /* of OPTION_ROW */
    const struct cli_option *place[MAX_OPTIONS]; /* where it stands in the command's own table */
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

static void add(const struct cli_option *o, const struct pith_option *row,
                const struct cli_option *place)
{
    if (all.n == MAX_OPTIONS - 1)
        return;
    all.option[all.n] = *o;
    all.row[all.n] = row;
    all.place[all.n++] = place;
}

static void add_row(const struct cli_option *place, const struct pith_option *row)
{
    char *name = all.name[all.n], *help = all.help[all.n];
    snprintf(name, NAME_BYTES, "%s", row->option ? row->option : row->key);
    for (char *p = name; *p; p++)
        *p = *p == '_' ? '-' : *p;
    cli_row_help(row, help);
    const struct cli_option o = {
        row->letter, name, OPTION_ROW, place->offset, row->arg, place->help ? place->help : help,
        0,           0};
    add(&o, row, place);
}

static void add_rows(const struct cli_option *place)
{
    const struct pith_option_table *table = pith_stage_options((enum pith_stage_kind)place->min);
    const struct pith_option *row;
    for (uint32_t i = 0; (row = pith_option_row(table, i, NULL)); i++)
        if (place->kind == OPTION_ROWS ? row->level == (enum pith_option_level)place->max &&
                                             !(row->flags & PITH_OPTION_RECIPE)
                                       : strcmp(row->key, place->name) == 0)
            add_row(place, row);
}

const struct cli_option *cli_all_options(const struct cli_command *cmd)
{
    static const struct cli_option end = {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0};
    all.n = 0;
    for (const struct cli_option *o = cmd->options; o && o->name; o++)
        if (o->kind == OPTION_ROWS || o->kind == OPTION_ONE_ROW || o->kind == OPTION_REQUESTED)
            add_rows(o);
        else
            add(o, NULL, o);
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

const struct pith_option_table *cli_set_table(const struct cli_command *cmd, uint32_t i,
                                              const char **prefix)
{
    static const struct {
        enum pith_stage_kind kind;
        const char *prefix;
    } requested[] = {{PITH_STAGE_PRUNE, "prune."},         {PITH_STAGE_TRAIN, "prune.train."},
                     {PITH_STAGE_TRAIN, "train."},         {PITH_STAGE_CLUSTER, "cluster."},
                     {PITH_STAGE_CALIBRATE, "calibrate."}, {PITH_STAGE_QUANTIZE, "quantize."},
                     {PITH_STAGE_ENCODE, "encode."}};
    const struct pith_option_table *own = cli_stage_table(cmd);
    const struct cli_option *o = cmd->options;
    *prefix = i ? "train." : "";
    if (own)
        return i == 0 ? own
               : i == 1 && own == pith_stage_options(PITH_STAGE_PRUNE)
                   ? pith_stage_options(PITH_STAGE_TRAIN)
                   : NULL;
    while (o && o->name && o->kind != OPTION_SET_REQUESTED)
        o++;
    if (!o || !o->name || i >= sizeof requested / sizeof *requested)
        return NULL;
    *prefix = requested[i].prefix;
    return pith_stage_options(requested[i].kind);
}

/* ---- setting --------------------------------------------------------------------------------- */

/* Into a stage, where a training's rows are set in a prune, too; or into the requested options. */
static enum pith_status set_row(const struct cli_option *place, const struct pith_option *row,
                                const char *text, void *at, struct pith_error *err)
{
    enum pith_stage_kind kind = (enum pith_stage_kind)place->min;
    char key[64];
    if (place->kind == OPTION_REQUESTED)
        return pith_request_option(at, kind, row->key, text, err);
    bool nested = ((struct pith_stage *)at)->kind != kind;
    snprintf(key, sizeof key, "%s%s", nested ? "train." : "", row->key);
    return pith_stage_set(at, key, text, &texts, err);
}

enum cli_exit cli_store_row(const struct cli_option *o, const char *text, void *options)
{
    size_t i = (size_t)(o - all.option);
    const struct pith_option *row = all.row[i];
    struct pith_error err = {0};
    uint64_t zero;
    if ((row->kind == PITH_OPTION_UINT || row->kind == PITH_OPTION_BYTES) && row->min >= 1 &&
        pith_parse_uint(text, &zero) && zero == 0) { /* which stands for: not given */
        cli_error("--%s %s: out of range %g..%g", o->name, text, row->min, row->max);
        return EXIT_USAGE;
    }
    if (!set_row(all.place[i], row, text, (char *)options + o->offset, &err))
        return EXIT_DONE;
    cli_error("--%s %s", o->name, err.text);
    return EXIT_USAGE;
}

/* Prints what became of a former option; false: there was none of this name. */
static bool report_former(const struct pith_option_table *table, const char *name, size_t n)
{
    const struct pith_option *o;
    char now[NAME_BYTES + 8];
    if (!pith_option_former(table, name, n, &o))
        return false;
    if (!o) {
        cli_error("'%.*s' " PITH_OPTION_REMOVED, (int)n, name);
        return true;
    }
    pith_option_spell(o, true, now, sizeof now);
    cli_error("'%.*s' is now %s (see pith help %s%s)", (int)n, name, now, table->stage,
              cli_is_advanced(o) ? "-advanced" : "");
    return true;
}

static enum cli_exit no_such_key(const char *text, size_t n, const char *stage)
{
    const struct pith_option_table *table =
        stage ? pith_stage_options(pith_stage_named(stage, strlen(stage))) : NULL;
    if (table && report_former(table, text, n))
        return EXIT_USAGE;
    cli_error("--set '%.*s': no such key (see pith help %s%s)", (int)n, text,
              stage ? stage : "compress", table && cli_has_advanced(table) ? "-advanced" : "");
    return EXIT_USAGE;
}

static const struct pith_option *key_of(enum pith_stage_kind kind, const char *key, size_t n)
{
    const struct pith_option *row = pith_stage_option(kind, key, n, NULL);
    return row && !(row->flags & PITH_OPTION_RECIPE) ? row : NULL;
}

static enum cli_exit set_key(struct pith_stage *stage, const char *text, size_t n)
{
    struct pith_error err = {0};
    char key[64];
    if (n >= sizeof key || !key_of(stage->kind, text, n))
        return no_such_key(text, n, pith_stage_name(stage->kind));
    snprintf(key, sizeof key, "%.*s", (int)n, text);
    if (!pith_stage_set(stage, key, text + n + 1, &texts, &err))
        return EXIT_DONE;
    cli_error("--set %s=%s", key, err.text);
    return EXIT_USAGE;
}

/* "prune.sparsity=0.9" */
static enum cli_exit request_key(struct pith_requested_options *requested, const char *text,
                                 size_t n)
{
    struct pith_error err = {0};
    char key[PITH_REQUESTED_KEY_BYTES];
    size_t stage = strcspn(text, ".");
    enum pith_stage_kind kind = stage < n ? pith_stage_named(text, stage) : (enum pith_stage_kind)0;
    if (!kind || kind == PITH_STAGE_COMPRESS)
        return no_such_key(text, n, NULL);
    size_t bytes = n - stage - 1;
    if (bytes >= sizeof key || !key_of(kind, text + stage + 1, bytes))
        return no_such_key(text, n, pith_stage_name(kind));
    snprintf(key, sizeof key, "%.*s", (int)bytes, text + stage + 1);
    if (!pith_request_option(requested, kind, key, text + n + 1, &err))
        return EXIT_DONE;
    cli_error("--set %.*s=%s", (int)n, text, err.text);
    return EXIT_USAGE;
}

enum cli_exit cli_store_set(const struct cli_option *o, const char *text, void *options)
{
    void *at = (char *)options + o->offset;
    const char *equals = strchr(text, '=');
    if (!equals) {
        cli_error("--set '%s': not of the form %s", text, o->arg);
        return EXIT_USAGE;
    }
    size_t n = (size_t)(equals - text);
    return o->kind == OPTION_SET ? set_key(at, text, n) : request_key(at, text, n);
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

bool cli_report_set_only(const struct cli_command *cmd, const char *name, size_t n)
{
    const struct pith_option_table *table = cli_stage_table(cmd);
    const struct pith_option *o;
    for (uint32_t i = 0; table && (o = pith_option_row(table, i, NULL)); i++)
        if (cli_is_advanced(o) && is_called(o, name, n)) {
            cli_error("--%.*s is set by --set %s=%s (see pith help %s-advanced)", (int)n, name,
                      o->key, o->arg ? o->arg : "true", cmd->name);
            return true;
        }
    return table && report_former(table, name, n);
}

enum cli_exit cli_check_stage(const struct pith_stage *stage)
{
    char why[PITH_CONFLICT_BYTES];
    if (!pith_stage_conflict(stage, true, why))
        return EXIT_DONE;
    cli_error("%s", why);
    return EXIT_USAGE;
}
