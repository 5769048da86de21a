/* SPDX-License-Identifier: MIT */
/* jobs.h - pieces of work in processes of their own, some at a time, and what those that share a
 * job by hand need: shards, and results as lines of one file. */
#ifndef JOBS_H
#define JOBS_H

#include "cli.h"

#define CLI_MAX_JOBS 256

struct cli_jobs {
    uint64_t n, at_a_time;                        /* at most CLI_MAX_JOBS */
    enum cli_exit (*run)(void *user, uint64_t i); /* in the new process, whose exit code it is */
    /* In this process, may be NULL: before, and after with the status of waitpid(). */
    enum cli_exit (*start)(void *user, uint64_t i);
    enum cli_exit (*end)(void *user, uint64_t i, int status);
    void *user;
};

/* Runs all of them, in order; after an interrupt or a failure of start or end no other begins, and
 * those that run are awaited. The largest exit code of end or, without it, of the processes (one
 * that a signal ended: EXIT_MEMORY); EXIT_INTERRUPTED. */
enum cli_exit cli_run_jobs(const struct cli_jobs *jobs);

/* Threads of each of n processes: -T, or the cores shared among them. */
uint32_t cli_threads_of_jobs(const struct cli_common *c, uint64_t n);

/* "I/N": pieces I, I+N, ... (NULL: all). EXIT_USAGE. */
enum cli_exit cli_read_shard(const char *text, uint64_t *first, uint64_t *stride);

/* The line and its newline in one write, so that lines of several processes do not mix. torn: the
 * file does not end with a newline. EXIT_IO, EXIT_MEMORY. */
enum cli_exit cli_append_line(const char *path, const char *line, bool torn);

#endif
