/* SPDX-License-Identifier: MIT */
#include "manifest.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/common/stage_options.h"
#include "data/csv_fields.h"
#include "kernels/crc32c.h"
#include "pith_base.h"
#include "pith_preprocess.h"

enum { MAX_WORDS = 2 * MANIFEST_MAX_COLUMNS + 64, MAX_DEPTH = 16 };

enum column_kind { COLUMN_MODEL, COLUMN_GOAL, COLUMN_OPTION };

struct column {
    enum column_kind kind;
    char name[64];            /* as the file has it */
    struct cli_option option; /* of COLUMN_OPTION */
};

struct reading {
    const struct cli_command *cmd;
    struct manifest *m;
    uint64_t seed;
    struct csv_reader csv;
    struct column column[MANIFEST_MAX_COLUMNS];
    uint32_t n_columns;
    char field[MANIFEST_FIELD_BYTES];
    struct manifest_row *row; /* the one being read */
    size_t n_text;
};

static enum cli_exit wrong(const struct reading *r, uint64_t line, const char *column,
                           const char *text)
{
    if (column)
        cli_error("%s: line %llu, column %s: %s", r->m->path, (unsigned long long)line, column,
                  text);
    else
        cli_error("%s: line %llu: %s", r->m->path, (unsigned long long)line, text);
    return EXIT_USAGE;
}

/* The next field without blanks around it; true: more follow. */
static bool next_field(struct reading *r)
{
    while (r->csv.p < r->csv.end && (*r->csv.p == ' ' || *r->csv.p == '\t'))
        r->csv.p++; /* a quote may follow */
    const bool more = pith_csv_field(&r->csv, r->field, sizeof r->field);
    size_t from = strspn(r->field, " \t"), n = strlen(r->field);
    while (n > from && (r->field[n - 1] == ' ' || r->field[n - 1] == '\t'))
        n--;
    memmove(r->field, r->field + from, n - from);
    r->field[n - from] = '\0';
    return more;
}

/* ---- the first line -------------------------------------------------------------------------- */

/* Of the command as a whole, not of one network. */
static bool is_of_command(const char *name)
{
    static const char *const words[] = {"manifest", "jobs",     "shard",   "dry-run", "json",
                                        "force",    "progress", "threads", "seed"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(name, words[i]) == 0)
            return true;
    return false;
}

static const struct cli_option *find_option(const struct cli_command *cmd, const char *name)
{
    const struct cli_option *tables[2] = {cli_all_options(cmd), cli_common_options};
    for (int t = 0; t < 2; t++)
        for (const struct cli_option *o = tables[t]; o && o->name; o++)
            if (o->arg && strcmp(o->name, name) == 0 && !is_of_command(name))
                return o;
    return NULL;
}

static enum cli_exit read_column(struct reading *r, struct column *c)
{
    char text[256], name[sizeof c->name];
    const size_t n = strlen(r->field);
    memcpy(c->name, r->field, n < sizeof c->name ? n + 1 : sizeof c->name);
    c->name[sizeof c->name - 1] = '\0';
    memcpy(name, c->name, sizeof name);
    for (char *p = name; *p; p++)
        *p = *p == '_' ? '-' : *p;
    c->kind = strcmp(name, "model") == 0  ? COLUMN_MODEL
              : strcmp(name, "goal") == 0 ? COLUMN_GOAL
                                          : COLUMN_OPTION;
    const struct cli_option *option = find_option(r->cmd, name);
    for (const struct column *other = r->column; other < c; other++)
        if (strcmp(other->name, c->name) == 0)
            return wrong(r, 1, c->name, "there are two of that name");
    if (option)
        c->option = *option;
    if (c->kind != COLUMN_OPTION || option)
        return EXIT_DONE;
    snprintf(text, sizeof text,
             "unknown; columns are model, data, labels, preprocess, goal, input_shape, output and "
             "other options of pith %s that take a value",
             r->cmd->name);
    return wrong(r, 1, c->name, text);
}

static enum cli_exit read_columns(struct reading *r)
{
    enum cli_exit rc = EXIT_DONE;
    bool has_model = false;
    for (bool more = true; more && !rc;) {
        more = next_field(r);
        if (r->n_columns == MANIFEST_MAX_COLUMNS)
            return wrong(r, 1, NULL, "more than 64 columns");
        rc = read_column(r, &r->column[r->n_columns]);
        has_model = has_model || r->column[r->n_columns].kind == COLUMN_MODEL;
        r->n_columns++;
    }
    if (rc || (has_model && !r->csv.bad))
        return rc;
    return wrong(r, 1, NULL,
                 r->csv.bad ? "quotes do not match"
                            : "no column model; the first line names the columns");
}

/* ---- a row ----------------------------------------------------------------------------------- */

/* A copy of n characters in the row's text, or NULL: more than all fields of a row have. */
static const char *keep(struct reading *r, const char *text, size_t n)
{
    char *at = r->row->text + r->n_text;
    if (r->n_text + n + 1 > 2 * (size_t)MANIFEST_FIELD_BYTES)
        return NULL;
    memcpy(at, text, n);
    at[n] = '\0';
    r->n_text += n + 1;
    return at;
}

static enum cli_exit add_word(struct reading *r, const char *text, size_t n)
{
    const char *copy = keep(r, text, n);
    if (!copy || r->row->n_words == MAX_WORDS)
        return wrong(r, r->row->line, NULL, "more than 8,192 characters or 192 words");
    r->row->word[r->row->n_words++] = copy;
    return EXIT_DONE;
}

static enum cli_exit add_option(struct reading *r, const char *name, const char *value, size_t n)
{
    char text[MANIFEST_FIELD_BYTES + 80];
    int length = snprintf(text, sizeof text, "--%s=%.*s", name, (int)n, value);
    return add_word(r, text, (size_t)length);
}

/* Of options that may be repeated, the values have ';' between them. */
static enum cli_exit add_values(struct reading *r, const struct cli_option *o)
{
    enum cli_exit rc = EXIT_DONE;
    if (o->kind != OPTION_LIST)
        return add_option(r, o->name, r->field, strlen(r->field));
    for (const char *at = r->field; at && !rc;) {
        const size_t n = strcspn(at, ";");
        rc = add_option(r, o->name, at, n);
        at = at[n] ? at + n + 1 : NULL;
    }
    return rc;
}

/* "0.5%", or options with blanks between them. */
static enum cli_exit add_goal(struct reading *r)
{
    enum cli_exit rc = EXIT_DONE;
    if (r->field[0] != '-')
        return add_option(r, "max-drop", r->field, strlen(r->field));
    for (const char *at = r->field; *at && !rc;) {
        const size_t n = strcspn(at, " \t");
        rc = add_word(r, at, n);
        at += n;
        at += strspn(at, " \t");
    }
    return rc;
}

/* What parsing reported meanwhile (cli_hold_errors), if anything, behind the place. */
static void report_held(const struct reading *r, const char *column)
{
    char place[512];
    snprintf(place, sizeof place, "%s: line %llu%s%s: ", r->m->path,
             (unsigned long long)r->row->line, column ? ", column " : "", column ? column : "");
    cli_report_held_error(place);
}

/* Whether the words from `from` on are options of the command; the message names the column. */
static enum cli_exit check_words(struct reading *r, uint32_t from, const char *column)
{
    char *argv[MAX_WORDS + 3];
    int argc = 0;
    uint32_t n_operands;
    void *scratch = calloc(1, r->cmd->struct_bytes);
    if (!scratch)
        return cli_no_memory();
    for (uint32_t i = from; i < r->row->n_words; i++)
        argv[argc++] = (char *)(uintptr_t)r->row->word[i]; /* parsing moves them, no more */
    cli_hold_errors();
    enum cli_exit rc = cli_parse(r->cmd, argc, argv, scratch, &n_operands);
    report_held(r, column);
    if (!rc && column && n_operands > 0)
        rc = wrong(r, r->row->line, column,
                   "give a percentage such as 0.5%, or options as on the "
                   "command line, each with its --");
    free(scratch);
    return rc;
}

/* A mistake that a network's command would find hours later. */
static enum cli_exit check_preprocess(const struct reading *r, const struct column *c)
{
    char canonical[PITH_PREPROCESS_TEXT_BYTES];
    if (c->kind != COLUMN_OPTION || strcmp(c->option.name, "preprocess") != 0)
        return EXIT_DONE;
    cli_hold_errors();
    enum cli_exit rc = cli_read_preprocess(r->field, canonical);
    report_held(r, c->name);
    return rc;
}

static enum cli_exit take_field(struct reading *r, const struct column *c)
{
    struct manifest_row *row = r->row;
    const uint32_t from = row->n_words;
    enum cli_exit rc = EXIT_DONE;
    if (strlen(r->field) + 1 == sizeof r->field)
        return wrong(r, row->line, c->name, "more than 4,094 characters");
    if (c->kind == COLUMN_MODEL) {
        row->model = keep(r, r->field, strlen(r->field));
        return *r->field && strcmp(r->field, "-") != 0
                   ? EXIT_DONE
                   : wrong(r, row->line, c->name, "give the file of a network");
    }
    if (!*r->field)
        return EXIT_DONE;
    rc = c->kind == COLUMN_GOAL ? add_goal(r) : add_values(r, &c->option);
    if (!rc && c->kind == COLUMN_OPTION && strcmp(c->option.name, "output") == 0)
        row->output = strchr(row->word[from], '=') + 1;
    if (!rc)
        rc = check_words(r, from, c->name);
    return rc ? rc : check_preprocess(r, c);
}

static enum cli_exit add_output(struct reading *r)
{
    struct manifest_row *row = r->row;
    if (row->output)
        return EXIT_DONE;
    char *path = cli_derive_output(row->model);
    if (!path)
        return cli_no_memory();
    enum cli_exit rc = add_option(r, "output", path, strlen(path));
    if (!rc)
        row->output = strchr(row->word[row->n_words - 1], '=') + 1;
    free(path);
    return rc;
}

/* ---- what a row depends on ------------------------------------------------------------------- */

static uint32_t add_file(uint32_t crc, const char *path, int depth);

/* Of files in a folder, in any order. */
static uint32_t add_folder(uint32_t crc, const char *path, int depth)
{
    DIR *d = opendir(path);
    uint32_t sum = 0;
    for (const struct dirent *e; d && (e = readdir(d));) {
        char name[4096];
        if (e->d_name[0] == '.' ||
            snprintf(name, sizeof name, "%s/%s", path, e->d_name) >= (int)sizeof name)
            continue;
        sum += add_file(pith_crc32c(0, e->d_name, strlen(e->d_name)), name, depth + 1);
    }
    if (d)
        closedir(d);
    return pith_crc32c(crc, &sum, sizeof sum);
}

static uint32_t add_file(uint32_t crc, const char *path, int depth)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return crc;
    if (S_ISDIR(st.st_mode))
        return depth < MAX_DEPTH ? add_folder(crc, path, depth) : crc;
    const uint64_t is[] = {(uint64_t)st.st_size, (uint64_t)st.st_mtim.tv_sec,
                           (uint64_t)st.st_mtim.tv_nsec};
    return pith_crc32c(crc, is, sizeof is);
}

/* The word, and each file that it or what stands behind a '=' or ':' of it names. */
static uint32_t add_dependence(uint32_t crc, const char *word)
{
    crc = pith_crc32c(crc, word, strlen(word) + 1);
    for (const char *at = word; at; at = strpbrk(at, "=:"), at = at ? at + 1 : NULL)
        crc = add_file(crc, at, 0);
    return crc;
}

static void make_key(struct reading *r)
{
    const uint64_t all[] = {pith_version(), r->seed};
    uint32_t crc = pith_crc32c(0, all, sizeof all);
    for (uint32_t i = 0; i < r->row->n_words; i++)
        if (strncmp(r->row->word[i], "--output=", strlen("--output=")) != 0)
            crc = add_dependence(crc, r->row->word[i]);
    crc = pith_crc32c(crc, r->row->output, strlen(r->row->output));
    snprintf(r->row->key, sizeof r->row->key, "%08x", (unsigned)crc);
}

/* ---- all rows -------------------------------------------------------------------------------- */

static enum cli_exit read_fields(struct reading *r)
{
    enum cli_exit rc = EXIT_DONE;
    uint32_t k = 0;
    for (bool more = true; more && !rc; k++) {
        more = next_field(r);
        if (k >= r->n_columns)
            return wrong(r, r->row->line, NULL,
                         "more fields than the first line has columns: "
                         "fields that hold a comma are quoted");
        rc = r->csv.bad ? wrong(r, r->row->line, r->column[k].name, "quotes do not match")
                        : take_field(r, &r->column[k]);
    }
    if (!rc && k < r->n_columns)
        return wrong(r, r->row->line, NULL, "fewer fields than the first line has columns");
    return rc;
}

static enum cli_exit read_row(struct reading *r)
{
    struct manifest *m = r->m;
    if (m->n == MANIFEST_MAX_ROWS)
        return wrong(r, r->csv.line, NULL, "more than 10,000 rows");
    if ((m->n & (m->n - 1)) == 0) { /* 0 and powers of two: full */
        void *more = realloc(m->row, (m->n ? 2 * (size_t)m->n : 1) * sizeof *m->row);
        if (!more)
            return cli_no_memory();
        m->row = more;
    }
    r->row = &m->row[m->n++];
    r->n_text = 0;
    *r->row = (struct manifest_row){.line = r->csv.line,
                                    .word = malloc(MAX_WORDS * sizeof *r->row->word),
                                    .text = malloc(2 * (size_t)MANIFEST_FIELD_BYTES)};
    if (!r->row->word || !r->row->text)
        return cli_no_memory();
    enum cli_exit rc = read_fields(r);
    if (!rc)
        rc = add_output(r);
    if (!rc)
        rc = add_word(r, "--", 2);
    if (!rc)
        rc = add_word(r, r->row->model, strlen(r->row->model));
    if (!rc)
        rc = check_words(r, 0, NULL);
    if (!rc)
        make_key(r);
    return rc;
}

static int by_output(const void *a, const void *b)
{
    const struct manifest_row *const *x = a, *const *y = b;
    return strcmp((*x)->output, (*y)->output);
}

static enum cli_exit check_outputs(const struct reading *r)
{
    const struct manifest *m = r->m;
    const struct manifest_row **sorted = malloc(m->n * sizeof *sorted);
    enum cli_exit rc = EXIT_DONE;
    if (!sorted)
        return cli_no_memory();
    for (uint32_t i = 0; i < m->n; i++)
        sorted[i] = &m->row[i];
    qsort(sorted, m->n, sizeof *sorted, by_output);
    for (uint32_t i = 1; i < m->n && !rc; i++) {
        const struct manifest_row *a = sorted[i - 1], *b = sorted[i];
        if (strcmp(a->output, b->output) != 0)
            continue;
        cli_error("%s: lines %llu and %llu both write %s: a column output names the files", m->path,
                  (unsigned long long)(a->line < b->line ? a->line : b->line),
                  (unsigned long long)(a->line < b->line ? b->line : a->line), a->output);
        rc = EXIT_USAGE;
    }
    free(sorted);
    return rc;
}

enum cli_exit cli_read_manifest(const struct cli_command *cmd, const char *path, uint64_t seed,
                                struct manifest *m)
{
    struct pith_buffer file = {0};
    struct reading *r = calloc(1, sizeof *r);
    m->path = path;
    enum cli_exit rc = r ? cli_read_file(path, &file) : cli_no_memory();
    if (!rc) {
        const char *text = (const char *)file.data;
        const size_t bom = file.bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
        *r = (struct reading){.cmd = cmd, .m = m, .seed = seed};
        r->csv = (struct csv_reader){text + bom, text + file.bytes, 1, false, ','};
        rc = read_columns(r);
    }
    while (!rc && r->csv.p < r->csv.end) {
        if (*r->csv.p == '\n' || *r->csv.p == '\r')
            next_field(r);
        else
            rc = read_row(r);
    }
    if (!rc && m->n == 0)
        rc = wrong(r, 2, NULL, "no networks");
    if (!rc)
        rc = check_outputs(r);
    pith_buffer_free(&file);
    free(r);
    return rc;
}

void cli_free_manifest(struct manifest *m)
{
    for (uint32_t i = 0; i < m->n; i++) {
        free(m->row[i].word);
        free(m->row[i].text);
    }
    free(m->row);
    *m = (struct manifest){0};
}
