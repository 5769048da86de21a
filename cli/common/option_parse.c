/* SPDX-License-Identifier: MIT */
/* Reads a command line by the option tables: the command's own, then those all commands share.
 * Long options may be shortened to a unique prefix and take their argument as --name=X or
 * --name X; short ones as -oX or -o X. "--" ends the options; "-" alone is an operand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"
#include "stage_options.h"

#define COMMON(member) offsetof(struct cli_common, member)

const struct cli_option cli_common_options[] = {
    {'o', "output", OPTION_TEXT, COMMON(output), "FILE", "output file; - is stdout", 0, 0},
    {'f', "force", OPTION_FLAG, COMMON(force), NULL, "overwrite an existing output", 0, 0},
    {'q', "quiet", OPTION_COUNT, COMMON(quiet), NULL, "errors only", 0, 0},
    {'v', "verbose", OPTION_COUNT, COMMON(verbose), NULL, "more messages", 0, 0},
    {'T', "threads", OPTION_UINT, COMMON(threads), "N", "threads (default: all cores)", 1, 256},
    {0, "json", OPTION_OPT_TEXT, COMMON(json), NULL,
     "one JSON object on stdout; --json=lines: events too", 0, 0},
    {0, "seed", OPTION_UINT, COMMON(seed), "N", "seed of all randomness (default 1)", 1, 9e18},
    {0, "progress", OPTION_TEXT, COMMON(progress), "WHEN", "auto, always or never", 0, 0},
    {'n', "dry-run", OPTION_FLAG, COMMON(dry_run), NULL, "run without writing outputs", 0, 0},
    {0, "max-memory", OPTION_BYTES, COMMON(max_memory), "B",
     "memory one input file may take; default: by its length", 1, 1e15},
    {0, "skip-broken", OPTION_FLAG, COMMON(skip_broken), NULL,
     "leave out and count pictures that cannot be read", 0, 0},
    {0, "size", OPTION_LIST, COMMON(sizes), "NAME=N[:MAX],..",
     "open sizes of the network, and how large they may be", 0, 0},
    {'h', "", OPTION_FLAG, COMMON(help_short), NULL, NULL, 0, 0},
    {0, "help", OPTION_FLAG, COMMON(help_long), NULL, NULL, 0, 0},
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0}};

static const struct cli_option *find_letter(const struct cli_command *cmd, char letter)
{
    const struct cli_option *tables[2] = {cli_all_options(cmd), cli_common_options};
    for (int t = 0; t < 2; t++)
        for (const struct cli_option *o = tables[t]; o && o->name; o++)
            if (o->letter == letter)
                return o;
    return NULL;
}

/* Exact name, or the only option that begins so. *n_found: 0, 1 or more. */
static const struct cli_option *find_name(const struct cli_command *cmd, const char *name,
                                          size_t len, int *n_found)
{
    const struct cli_option *tables[2] = {cli_all_options(cmd), cli_common_options}, *found = NULL;
    *n_found = 0;
    for (int t = 0; t < 2; t++)
        for (const struct cli_option *o = tables[t]; o && o->name; o++) {
            if (len == 0 || strncmp(o->name, name, len) != 0)
                continue;
            if (o->name[len] == '\0') {
                *n_found = 1;
                return o;
            }
            found = o;
            ++*n_found;
        }
    return *n_found == 1 ? found : NULL;
}

static bool takes_argument(const struct cli_option *o)
{
    if (o->kind == OPTION_ROW)
        return o->arg != NULL;
    return o->kind != OPTION_FLAG && o->kind != OPTION_COUNT && o->kind != OPTION_OPT_TEXT;
}

static enum cli_exit bad_value(const struct cli_option *o, const char *text, const char *wanted)
{
    cli_error("--%s '%s': %s", o->name, text, wanted);
    return EXIT_USAGE;
}

static enum cli_exit check_range(const struct cli_option *o, const char *text, double v)
{
    if (v < o->min || (o->max > 0 && v > o->max)) {
        cli_error("--%s %s: out of range %g..%g", o->name, text, o->min, o->max);
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

/* "90%" or "0.9" -> 0.9. A percentage option refuses the bare number and shows both readings. */
static enum cli_exit parse_share(const struct cli_option *o, const char *text, double *out)
{
    size_t len = strlen(text);
    char number[64];
    double v;
    bool percent = len > 1 && len < sizeof number && text[len - 1] == '%';
    memcpy(number, text, len < sizeof number ? len + 1 : sizeof number);
    number[sizeof number - 1] = '\0';
    if (percent)
        number[len - 1] = '\0';
    if (!pith_parse_number(number, &v))
        return bad_value(o, text,
                         o->kind == OPTION_PERCENT ? "not a percentage such as 0.5%"
                                                   : "not a share such as 0.9 or 90%");
    if (o->kind == OPTION_PERCENT && !percent) {
        cli_error("--%s %s is ambiguous: write %s%% or %g%%", o->name, text, text, v * 100);
        return EXIT_USAGE;
    }
    *out = percent ? v / 100 : v;
    return check_range(o, text, *out);
}

static enum cli_exit store_uint(const struct cli_option *o, const char *text, void *at)
{
    uint64_t uint;
    if (!pith_parse_uint(text, &uint))
        return bad_value(o, text, "not a whole number");
    if (check_range(o, text, (double)uint))
        return EXIT_USAGE;
    if (o->kind == OPTION_UINT)
        *(uint64_t *)at = uint;
    else
        *(uint32_t *)at = (uint32_t)uint;
    return EXIT_DONE;
}

static enum cli_exit store_number(const struct cli_option *o, const char *text, void *at)
{
    double number;
    if (!pith_parse_number(text, &number))
        return bad_value(o, text, "not a number");
    if (check_range(o, text, number))
        return EXIT_USAGE;
    if (o->kind == OPTION_NUMBER)
        *(double *)at = number;
    else
        *(float *)at = (float)number;
    return EXIT_DONE;
}

static enum cli_exit store_time(const struct cli_option *o, const char *text, double *seconds)
{
    double v;
    if (!pith_parse_seconds(text, &v))
        return bad_value(o, text, "not a time such as 2ms, 90s, 30m or 1.5h");
    if (check_range(o, text, v))
        return EXIT_USAGE;
    *seconds = v;
    return EXIT_DONE;
}

static enum cli_exit store_bytes(const struct cli_option *o, const char *text, uint64_t *bytes)
{
    return cli_parse_bytes(text, bytes) ? EXIT_DONE
                                        : bad_value(o, text, "not a size such as 200K or 64KiB");
}

static enum cli_exit store_item(const struct cli_option *o, const char *text, struct cli_list *list)
{
    if (list->n == CLI_LIST_MAX)
        return bad_value(o, text, "given too often");
    list->item[list->n++] = text;
    return EXIT_DONE;
}

static enum cli_exit store(const struct cli_option *o, const char *text, void *options)
{
    void *at = (char *)options + o->offset;
    switch (o->kind) {
    case OPTION_FLAG:
        *(bool *)at = true;
        break;
    case OPTION_COUNT:
        ++*(uint32_t *)at;
        break;
    case OPTION_TEXT:
    case OPTION_OPT_TEXT:
        *(const char **)at = text;
        break;
    case OPTION_LIST:
        return store_item(o, text, at);
    case OPTION_UINT:
    case OPTION_U32:
        return store_uint(o, text, at);
    case OPTION_NUMBER:
    case OPTION_FLOAT:
        return store_number(o, text, at);
    case OPTION_TIME:
        return store_time(o, text, at);
    case OPTION_HEADING:
    case OPTION_ADVANCED:
    case OPTION_ROWS:
    case OPTION_ONE_ROW:
    case OPTION_REQUESTED:
        break;
    case OPTION_ROW:
        return cli_store_row(o, text, options);
    case OPTION_SET:
    case OPTION_SET_REQUESTED:
        return cli_store_set(o, text, options);
    case OPTION_FRACTION:
    case OPTION_PERCENT:
        return parse_share(o, text, at);
    case OPTION_BYTES:
        return store_bytes(o, text, at);
    }
    return EXIT_DONE;
}

/* One word that begins with "--". *used: words consumed. */
static enum cli_exit parse_long(const struct cli_command *cmd, char **words, int n_words,
                                void *options, int *used)
{
    const char *name = words[0] + 2, *equals = strchr(name, '=');
    size_t len = equals ? (size_t)(equals - name) : strlen(name);
    int n_found;
    const struct cli_option *o = find_name(cmd, name, len, &n_found);
    *used = 1;
    if (!o && n_found == 0 && cli_report_set_only(cmd, name, len))
        return EXIT_USAGE;
    if (!o) {
        cli_error("%s option '--%.*s' (see pith %s -h)", n_found ? "ambiguous" : "unknown",
                  (int)len, name, cmd->name);
        return EXIT_USAGE;
    }
    if (!takes_argument(o)) {
        if (equals && o->kind != OPTION_OPT_TEXT)
            return bad_value(o, equals + 1, "takes no argument");
        return store(o, equals ? equals + 1 : "", options);
    }
    if (equals)
        return store(o, equals + 1, options);
    if (n_words < 2) {
        cli_error("--%s needs an argument: %s", o->name, o->arg);
        return EXIT_USAGE;
    }
    *used = 2;
    return store(o, words[1], options);
}

/* A word of short options: -qv, -oFILE, -o FILE. */
static enum cli_exit parse_short(const struct cli_command *cmd, char **words, int n_words,
                                 void *options, int *used)
{
    *used = 1;
    for (const char *p = words[0] + 1; *p; p++) {
        const struct cli_option *o = find_letter(cmd, *p);
        enum cli_exit rc;
        if (!o) {
            cli_error("unknown option '-%c' (see pith %s -h)", *p, cmd->name);
            return EXIT_USAGE;
        }
        if (!takes_argument(o)) {
            rc = store(o, "", options);
            if (rc)
                return rc;
            continue;
        }
        if (p[1] != '\0')
            return store(o, p + 1, options);
        if (n_words < 2) {
            cli_error("-%c needs an argument: %s", *p, o->arg);
            return EXIT_USAGE;
        }
        *used = 2;
        return store(o, words[1], options);
    }
    return EXIT_DONE;
}

static enum cli_exit check_operands(const struct cli_command *cmd, uint32_t n)
{
    if (n >= cmd->min_operands && n <= cmd->max_operands)
        return EXIT_DONE;
    cli_error("%s operand%s", n < cmd->min_operands ? "missing" : "too many",
              n < cmd->min_operands ? "" : "s");
    fprintf(stderr, "usage: %s\n", cmd->synopsis);
    return EXIT_USAGE;
}

static enum cli_exit check_common(const struct cli_common *c)
{
    const char *p = c->progress;
    if (p && strcmp(p, "auto") != 0 && strcmp(p, "always") != 0 && strcmp(p, "never") != 0) {
        cli_error("--progress '%s': give auto, always or never", p);
        return EXIT_USAGE;
    }
    if (c->json && *c->json && strcmp(c->json, "lines") != 0) {
        cli_error("--json '%s': give --json or --json=lines", c->json);
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

enum cli_exit cli_parse(const struct cli_command *cmd, int argc, char **argv, void *options,
                        uint32_t *n_operands)
{
    struct cli_common *c = options;
    enum cli_exit rc = EXIT_DONE;
    bool only_operands = false;
    uint32_t n = 0;
    c->seed = 1;
    if (cmd->defaults)
        cmd->defaults(options);
    for (const struct cli_option *o = cmd->options; o && o->name; o++) {
        void *at = (char *)options + o->offset;
        if (o->kind == OPTION_PERCENT)
            *(double *)at = -1; /* not given */
    }
    for (int i = 0; i < argc;) {
        int used = 1;
        if (only_operands || argv[i][0] != '-' || argv[i][1] == '\0')
            argv[n++] = argv[i];
        else if (strcmp(argv[i], "--") == 0)
            only_operands = true;
        else if (argv[i][1] == '-')
            rc = parse_long(cmd, argv + i, argc - i, options, &used);
        else
            rc = parse_short(cmd, argv + i, argc - i, options, &used);
        if (rc)
            return rc;
        i += used;
    }
    *n_operands = n;
    if (c->help_short || c->help_long)
        return EXIT_DONE;
    rc = check_operands(cmd, n);
    return rc ? rc : check_common(c);
}
