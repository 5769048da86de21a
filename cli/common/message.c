/* SPDX-License-Identifier: MIT */
/* Messages for the eyes: stderr, one line each, "pith: " in front - "pith prune: " in a pipe, so
 * that the reader of a failed pipeline knows which stage spoke. */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>
#include "cli.h"
#include "base/escape_text.h"

static const char *current_verb;

void cli_set_verb(const char *verb)
{
    current_verb = verb;
}

/* Lines quote names from files that others made: their escape sequences stay out. */
static void put_text(FILE *to, const char *format, va_list args)
{
    char text[2048], escaped[2048];
    vsnprintf(text, sizeof text, format, args);
    pith_escape_text(text, escaped, sizeof escaped);
    fprintf(to, "%s\n", escaped);
}

void cli_print(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put_text(stdout, format, args);
    va_end(args);
}

/* Of several processes, those that do not speak. */
static bool holds;
static char held[2048];

void cli_hold_errors(void)
{
    holds = true;
}

void cli_report_held_error(const char *who)
{
    holds = false;
    if (held[0])
        cli_error("%s%s", who, held);
}

static void print_line(const char *kind, const char *format, va_list args)
{
    if (holds) {
        vsnprintf(held, sizeof held, format, args);
        return;
    }
    bool piped = !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO);
    fputs("pith", stderr);
    if (current_verb && piped)
        fprintf(stderr, " %s", current_verb);
    fprintf(stderr, ": %s", kind);
    put_text(stderr, format, args);
}

static char last_error[2048];

const char *cli_last_error(void)
{
    return last_error;
}

void cli_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(last_error, sizeof last_error, format, args);
    va_end(args);
    va_start(args, format);
    print_line("", format, args);
    va_end(args);
}

void cli_warn(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line("warning: ", format, args);
    va_end(args);
}

static bool quiet;

void cli_set_quiet(bool is_quiet)
{
    quiet = is_quiet;
}

static struct {
    uint64_t max_memory, skipped;
    bool skip_broken;
    struct cli_list sizes;
} inputs;

void cli_set_inputs(const struct cli_common *c)
{
    inputs.max_memory = c->max_memory;
    inputs.skip_broken = c->skip_broken;
    inputs.sizes = c->sizes;
}

const struct cli_list *cli_sizes(void)
{
    return &inputs.sizes;
}

uint64_t cli_max_memory(void)
{
    return inputs.max_memory;
}

bool cli_skips_broken(void)
{
    return inputs.skip_broken;
}

void cli_count_skipped(uint64_t n)
{
    inputs.skipped += n;
}

uint64_t cli_skipped(void)
{
    return inputs.skipped;
}

void cli_hint(const char *format, ...)
{
    va_list args;
    if (quiet)
        return;
    va_start(args, format);
    print_line("warning: ", format, args);
    va_end(args);
}

void cli_summary(const struct cli_common *c, const char *format, ...)
{
    va_list args;
    if (c->quiet)
        return;
    va_start(args, format);
    put_text(stderr, format, args);
    va_end(args);
}

enum cli_exit cli_exit_of(enum pith_status status)
{
    switch (status) {
    case PITH_OK:
        return EXIT_DONE;
    case PITH_ERR_ARGUMENT:
        return EXIT_USAGE;
    case PITH_ERR_MEMORY:
    case PITH_ERR_LIMIT:
        return EXIT_MEMORY;
    case PITH_ERR_IO:
        return EXIT_IO;
    case PITH_ERR_UNSUPPORTED:
    case PITH_ERR_VERSION:
        return EXIT_UNSUPPORTED;
    case PITH_ERR_GOAL:
        return EXIT_NO;
    case PITH_ERR_STOPPED: /* 130 and 143 are for signals */
        return cli_interrupted() ? EXIT_INTERRUPTED : EXIT_NO;
    case PITH_ERR_CORRUPT:
    case PITH_ERR_SPACE:
        break;
    }
    return EXIT_BROKEN;
}

enum cli_exit cli_fail(const struct pith_error *err)
{
    if (cli_interrupted())
        return EXIT_INTERRUPTED;
    cli_error("%s", err->text[0] ? err->text : "unexplained failure");
    return cli_exit_of(err->status);
}

enum cli_exit cli_fail_to(const struct pith_error *err)
{
    if (cli_interrupted())
        return EXIT_INTERRUPTED;
    cli_error("cannot %s: %s", current_verb, err->text);
    return cli_exit_of(err->status);
}

enum cli_exit cli_no_memory(void)
{
    cli_error("out of memory");
    return EXIT_MEMORY;
}
