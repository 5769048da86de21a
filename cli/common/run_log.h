/* SPDX-License-Identifier: MIT */
/* run_log.h - what a command is at, for those who watch it: lines of JSON (--log). A process has
 * one log, which every part of a command may write to from any thread; without the option nothing
 * is written.
 *
 *     {"pith":1,"time":1764412345.125,"event":"epoch","epoch":3,"epochs":8,"loss":0.0123,...} */
#ifndef RUN_LOG_H
#define RUN_LOG_H

#include <math.h>
#include "cli.h"

#define CLI_LOG_OPTION(type, member, what)                                                         \
    {                                                                                              \
        0, "log", OPTION_TEXT, offsetof(type, member), "FILE", what, 0, 0                          \
    }
#define CLI_LOG_HELP "append events as lines of JSON"

/* One event. Numbers that are NAN and texts that are NULL are left out. */
struct cli_event {
    const char *event; /* "start", "progress", "epoch", "file", "end" */
    const char *command, *file, *step, *encoder, *status;
    double done, total; /* of the step */
    double layer;       /* that the step is at, from 1 */
    double number;      /* of a file: its combination, or its place in a search */
    double epoch, epochs;
    double loss, accuracy; /* of training samples; of a file: on its validation samples */
    double val_loss, val_accuracy;
    double rate, kept, bytes;
    double quality, drop; /* of a file of a search; drop: fraction lost of the accuracy */
    double seconds, eta;  /* of the epoch or step; until the end */
};
#define CLI_EVENT(name)                                                                            \
    {                                                                                              \
        .event = (name), .done = NAN, .total = NAN, .layer = NAN, .number = NAN, .epoch = NAN,     \
        .epochs = NAN, .loss = NAN, .accuracy = NAN, .val_loss = NAN, .val_accuracy = NAN,         \
        .rate = NAN, .kept = NAN, .bytes = NAN, .quality = NAN, .drop = NAN, .seconds = NAN,       \
        .eta = NAN                                                                                 \
    }

/* Begins the log in a file (NULL: none) with its "start"; input: the file that the command reads.
 * EXIT_IO: cannot be written. */
enum cli_exit cli_log_start(const char *file, const char *command, const char *input);
bool cli_logs(void);
/* A log that can no longer be written ends, with an error that cli_log_end returns. */
void cli_log(const struct cli_event *e);
/* Writes the "end" and closes the log. Returns rc, or, where that is EXIT_DONE, what failed in the
 * log. */
enum cli_exit cli_log_end(enum cli_exit rc);

#endif
