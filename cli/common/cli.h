/* SPDX-License-Identifier: MIT */
/* cli.h - the frame every command stands in: options, help, outputs, messages, exit codes.
 *
 * A command is a row {name, summary, synopsis, options, run} in command_table.c and one file
 * cmd_<name>.c. Its options are declared once; parsing, help and ranges follow from that table.
 * Only this folder writes to stdout and stderr and chooses exit codes. */
#ifndef CLI_H
#define CLI_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/count_text.h"
#include "pith_model.h"
#include "pith_load.h"
#include "base/number_text.h"
#include "pith_onnx.h"

/* Exit codes, a promise to scripts (docs: pith help exit-codes). */
enum cli_exit {
    EXIT_DONE = 0,
    EXIT_NO = 1,
    EXIT_USAGE = 2,
    EXIT_IO = 3,
    EXIT_BROKEN = 4,
    EXIT_UNSUPPORTED = 5,
    EXIT_MEMORY = 6,
    EXIT_INTERRUPTED = 130
};

struct cli_command;

#define CLI_LIST_MAX 64
struct cli_list {
    const char *item[CLI_LIST_MAX];
    uint32_t n;
};

/* First member of every command's option struct. */
struct cli_common {
    const struct cli_command *const
        *commands;        /* all there are, NULL behind the last: main sets it */
    const char *output;   /* -o; NULL: none given */
    bool force;           /* -f */
    uint32_t quiet;       /* -q, -qq */
    uint32_t verbose;     /* -v, -vv */
    uint64_t threads;     /* -T; 0: PITH_THREADS, else all cores */
    const char *json;     /* --json[=lines]; NULL: text */
    uint64_t seed;        /* --seed, default 1 */
    const char *progress; /* auto, always, never */
    bool dry_run;         /* -n */
    uint64_t max_memory;  /* --max-memory; 0: by the length of each input */
    bool skip_broken;
    struct cli_list sizes; /* --size; what it does not name is as arrays and files say */
    bool help_short, help_long;
};

enum option_kind {
    OPTION_FLAG,      /* bool */
    OPTION_COUNT,     /* uint32_t, counts occurrences */
    OPTION_TEXT,      /* const char * */
    OPTION_OPT_TEXT,  /* const char *, argument optional as --name=arg, else "" */
    OPTION_LIST,      /* struct cli_list, one entry per occurrence */
    OPTION_UINT,      /* uint64_t in [min, max] */
    OPTION_NUMBER,    /* double in [min, max] */
    OPTION_TIME,      /* double, seconds in [min, max]: 2ms, 90s, 30m, or a bare number */
    OPTION_FRACTION,  /* double: 0.9 or 90% */
    OPTION_PERCENT,   /* double, as a fraction: 0.5% (a bare number is refused); -1: not given */
    OPTION_BYTES,     /* uint64_t: 8M, 64KiB, 500K */
    OPTION_U32,       /* uint32_t in [min, max] */
    OPTION_FLOAT,     /* float in [min, max] */
    OPTION_HEADING,   /* no option: its help text heads those that follow. -h ends at the first */
    OPTION_ADVANCED,  /* no option: what follows stands on the advanced page, not in the help */
    OPTION_ROWS,      /* no option: here stand rows of a stage's table (stage_options.h) */
    OPTION_ONE_ROW,   /* the same of one row, by its key */
    OPTION_REQUESTED, /* the same, for a stage that is made later */
    OPTION_ROW,       /* one of them, in cli_all_options */
    OPTION_SET,       /* KEY=VALUE, by a stage's table */
    OPTION_SET_REQUESTED /* STAGE.KEY=VALUE, for stages that are made later */
};

struct cli_option {
    char letter; /* 0: long form only */
    const char *name;
    enum option_kind kind;
    size_t offset;   /* in the command's option struct */
    const char *arg; /* name of the argument in help; NULL for flags */
    const char *help;
    double min, max; /* OPTION_UINT, OPTION_NUMBER, OPTION_TIME, OPTION_FRACTION; max 0: no limit */
};

struct cli_command {
    const char *name;
    const char *group; /* heading in `pith help` */
    const char *summary;
    const char *synopsis;
    const char *description; /* for --help: plain paragraphs and examples; what is behind a form
                                feed stands on the advanced page */
    const struct cli_option *options; /* ends with name == NULL */
    size_t struct_bytes;
    uint32_t min_operands, max_operands;
    enum cli_exit (*run)(void *options, char **operands, uint32_t n_operands);
    void (*defaults)(void *options); /* sets what is not zero by default; NULL: nothing */
};

/* ---- option_parse.c -------------------------------------------------------------------- */
/* Fills `options` (struct_bytes, zeroed) and moves operands to the front of argv. */
enum cli_exit cli_parse(const struct cli_command *cmd, int argc, char **argv, void *options,
                        uint32_t *n_operands);
extern const struct cli_option cli_common_options[]; /* ends with name == NULL */

/* ---- main.c ------------------------------------------------------------------------------ */
/* Parses the words behind the name of a command, which may be moved, and runs it. */
enum cli_exit cli_run_command(const struct cli_command *cmd, int argc, char **argv);

/* ---- units.c ---------------------------------------------------------------------------- */
/* false: not a number of bytes (whole text must match); see number_text.h. */
bool cli_parse_bytes(const char *text, uint64_t *value);
/* Which of the NULL-terminated words the text is; NULL stands for the first. */
bool cli_find_word(const char *text, const char *const *words, int *index);
/* The next text of a list with commas between; *at moves behind it, and is NULL behind the last.
 * false: it is empty, or does not fit. */
bool cli_next_item(const char **at, char item[32]);
/* "12.0 KiB"; buffer of 32. */
const char *cli_format_bytes(uint64_t bytes, char buffer[32]);

/* ---- help.c ------------------------------------------------------------------------------ */
/* commands: ends with NULL. */
const struct cli_command *cli_find_command(const struct cli_command *const *commands,
                                           const char *name); /* NULL: none */
void cli_print_overview(const struct cli_command *const *commands);
void cli_print_help(const struct cli_command *cmd, bool whole);
void cli_print_common_options(void);
/* What stands behind --set, and what else is rarely used; false: there is nothing. */
bool cli_print_advanced(const struct cli_command *cmd);
void cli_suggest(const struct cli_command *const *commands, const char *unknown);

/* ---- message.c -------------------------------------------------------------------------- */
void cli_set_verb(const char *verb); /* prefixes messages where stdin or stdout is a pipe */
/* One line on stderr: "pith: ...". */
void cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The text of the last one, "" before. */
const char *cli_last_error(void);
/* Errors are held, the last of them, until it is printed behind `who`. */
void cli_hold_errors(void);
void cli_report_held_error(const char *who);
void cli_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A warning that -q silences: of what may well be meant. */
void cli_hint(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_set_quiet(bool is_quiet);
/* A line of results on stdout, with what names hold escaped. */
void cli_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Summary line for the eyes, unless -q. */
void cli_summary(const struct cli_common *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Prints err and returns its exit code. */
enum cli_exit cli_fail(const struct pith_error *err);
/* The same behind "cannot VERB: ". */
enum cli_exit cli_fail_to(const struct pith_error *err);
enum cli_exit cli_exit_of(enum pith_status status);
/* Says "out of memory"; EXIT_MEMORY. */
enum cli_exit cli_no_memory(void);

/* ---- progress.c -------------------------------------------------------------------------- */
#define CLI_DETAIL_BYTES 160
/* A bar on a terminal for what takes more than a second, and the events of --json=lines; silent
 * otherwise. One step at a time. */
struct cli_progress {
    const char *what;
    char detail[CLI_DETAIL_BYTES];      /* behind the time */
    const char *part;                   /* of the step, for the log; NULL: it has none */
    uint64_t part_total;                /* done is of the part then; 0: unknown */
    double part_left_s;                 /* until the end of the step; NAN: unknown */
    uint64_t next_ns;                   /* when it is drawn again */
    uint64_t last_done, last_change_ns; /* done when it last changed, and when that was drawn */
    uint64_t total;                     /* 0: unknown, the time is shown */
    _Atomic uint64_t done;
    uint64_t started_ns;
    bool bar, events, logs, drawn, running, stop;
    pthread_t thread;
    pthread_mutex_t lock; /* of stop, detail, next_ns and what is drawn */
    pthread_cond_t wake;
};
void cli_progress_start(struct cli_progress *p, const struct cli_common *c, const char *what,
                        uint64_t total);
/* Fits the progress callbacks of the library; returns false once the user pressed ^C. */
bool cli_progress_step(void *progress, uint64_t done);
/* What it is at; detail may be "". */
void cli_progress_detail(struct cli_progress *p, const char *detail);
/* Which part of the step it is at (a string that stays), what cli_progress_step counts of it, and
 * the time left of the whole step. */
void cli_progress_part(struct cli_progress *p, const char *part, uint64_t total, double left_s);
/* Takes the bar away for a message, which is to come at once. */
void cli_progress_hide(struct cli_progress *p);
void cli_progress_end(struct cli_progress *p);

/* Width of the terminal that standard error is; where it is none, CLI_COLUMNS. */
#define CLI_COLUMNS 100
int cli_columns(void);

/* ---- signals.c --------------------------------------------------------------------------- */
/* A signal that requests the end came: ^C, SIGTERM, SIGHUP, SIGXCPU. What fails afterwards fails
 * for that reason: cli_fail and cli_write_output return EXIT_INTERRUPTED, which main turns into 128
 * + the signal's number. */
bool cli_interrupted(void);
int cli_interrupt_status(void);
/* What stays when a signal ends the process, and how to go on: the rest of the last line on
 * standard error, which begins "pith: interrupted: ". May be called again. */
__attribute__((format(printf, 1, 2))) void cli_set_kept(const char *format, ...);
void cli_print_interrupted(void); /* prints that line; async-signal-safe */
/* From here on a signal that requests the end waits for as long as it takes, where otherwise the
 * process ends after a second: there is something to bring in order, or the end is near. */
void cli_end_in_order(void);
/* Once, before anything else. */
void cli_catch_signals(void);

/* ---- message.c: what all inputs are read by -------------------------------------------------- */
void cli_set_inputs(const struct cli_common *c);
const struct cli_list *cli_sizes(void); /* --size */
uint64_t cli_max_memory(void); /* bytes; 0: each reader's default, by the length of the file */
bool cli_skips_broken(void);
void cli_count_skipped(uint64_t n); /* samples that were left out */
uint64_t cli_skipped(void);

/* ---- model_files.c ------------------------------------------------------------------------- */
/* Reads a model named on the command line; "-" is stdin (refused on a terminal). */
enum cli_exit cli_load_model(const char *path, const struct pith_import_opts *opts,
                             struct pith_model **m);
/* The same of a model that is only run: see pith_packed_load. */
enum cli_exit cli_load_packed(const char *path, struct pith_packed *packed);

/* Memory that was freed goes back to the system: after an import, before a plan. */
void cli_trim_heap(void);
/* pith_import_opts.warn of commands: a line on stderr. */
void cli_import_warn(void *user, const char *text);
/* Reads a whole file or stdin; owned by the caller. */
enum cli_exit cli_read_file(const char *path, struct pith_buffer *file);
/* The same of a model: a folder that is a network in another format is reported as such. */
enum cli_exit cli_read_model_file(const char *path, struct pith_buffer *file);
/* Something and then the suffix. */
bool cli_ends_in(const char *path, const char *suffix);
/* Refuses early what cli_write_output would refuse at the end: an existing file without -f, output
 * equal to the input, a terminal, a folder that cannot be written. Without -o: stdout. */
enum cli_exit cli_check_output(const struct cli_common *c, const char *input);
/* The same for a command that writes a .pith: a name that ends in .onnx is refused, too. */
enum cli_exit cli_check_model_output(const struct cli_common *c, const char *input);
/* net.onnx -> net.pith in the current folder; another ending stays in front of .pith. malloc'ed. */
char *cli_derive_output(const char *input);
bool cli_same_file(const char *a, const char *b); /* both exist and are one */
/* The part of it that goes for any file: no folder, and its own can be written. */
enum cli_exit cli_check_writable(const char *path);
/* Whole or not at all; "-" is stdout. */
enum cli_exit cli_write_output(const struct cli_common *c, const void *bytes, size_t n);
/* Packs m in its working form and writes it to -o. *bytes (may be NULL): the size. */
/* "3.1x smaller", "1.2x larger". */
const char *cli_ratio_text(double before_bytes, double after_bytes, char text[32]);
/* file, packed from m; where it is compact and goes to a file, its layers' names and its history to
 * one of that name and .json (history_beside.h). */
enum cli_exit cli_write_packed(const struct cli_common *c, const struct pith_model *m,
                               const struct pith_buffer *file);
enum cli_exit cli_write_model(const struct cli_common *c, const struct pith_model *m,
                              uint64_t *bytes);

/* ---- import_options.c ------------------------------------------------------------------- */
/* Options that decide how an ONNX file is read, shared by import, check and compress. */
struct cli_import {
    struct cli_list shapes, set_inputs;
    const char *outputs, *preprocess, *labels;
};
#define CLI_IMPORT_OPTIONS(type, member)                                                           \
    {0,                                                                                            \
     "input-shape",                                                                                \
     OPTION_LIST,                                                                                  \
     offsetof(type, member.shapes),                                                                \
     "NAME:1x3x224x224",                                                                           \
     "fix the shape of an input",                                                                  \
     0,                                                                                            \
     0},                                                                                           \
        {0,                                                                                        \
         "set-input",                                                                              \
         OPTION_LIST,                                                                              \
         offsetof(type, member.set_inputs),                                                        \
         "NAME=VALUE",                                                                             \
         "freeze an input to a constant",                                                          \
         0,                                                                                        \
         0},                                                                                       \
        {0,           "outputs",                                                                   \
         OPTION_TEXT, offsetof(type, member.outputs),                                              \
         "A,B",       "cut the graph at these values",                                             \
         0,           0},                                                                          \
        {0,           "preprocess",                                                                \
         OPTION_TEXT, offsetof(type, member.preprocess),                                           \
         "SPEC",      "imagenet, unit or scale=1/255,mean=..,crop=224 (stored)",                   \
         0,           0},                                                                          \
    {                                                                                              \
        0, "class-names", OPTION_TEXT, offsetof(type, member.labels), "FILE",                      \
            "class names, one per line (stored)", 0, 0                                             \
    }
/* --preprocess checked and in its canonical form, room for PITH_PREPROCESS_TEXT_BYTES: a mistake
 * found at the first picture would be late. */
enum cli_exit cli_read_preprocess(const char *text, char *canonical);
struct cli_import_storage; /* what the opts point to */
/* Fills *opts; release with cli_import_free. */
enum cli_exit cli_import_opts(const struct cli_import *in, struct pith_import_opts *opts,
                              struct cli_import_storage **storage);
void cli_import_free(struct cli_import_storage *storage);

/* -T, else PITH_THREADS, else pith_processor_count(); exits with usage on what is no number of
 * threads. */
enum cli_exit cli_threads(const struct cli_common *c, uint32_t *n);
/* PITH_CPU as a feature mask for pith_opts.cpu_mask, and for all stages of this process; exits with
 * usage on an unknown name. */
enum cli_exit cli_cpu_mask(uint32_t *mask);

#endif
