/* SPDX-License-Identifier: MIT */
#include "jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pith_host.h"

struct pool {
    const struct cli_jobs *jobs;
    struct {
        pid_t pid; /* 0: none */
        uint64_t job;
    } child[CLI_MAX_JOBS];
    uint64_t next, running;
    enum cli_exit rc;     /* the largest so far */
    bool ends, signalled; /* no other begins; the running ones were requested to end */
};

static void take_exit(struct pool *p, enum cli_exit rc)
{
    p->rc = rc > p->rc ? rc : p->rc;
}

/* In the place `at`, which is free. */
static void start_job(struct pool *p, uint64_t at)
{
    const struct cli_jobs *j = p->jobs;
    const uint64_t i = p->next++;
    enum cli_exit rc = j->start ? j->start(j->user, i) : EXIT_DONE;
    fflush(stdout);
    const pid_t pid = rc ? -1 : fork();
    if (pid == 0) {
        rc = j->run(j->user, i);
        fflush(stdout);
        _exit((int)rc);
    }
    if (pid < 0) {
        if (!rc)
            cli_error("cannot start process %llu of %llu: %s", (unsigned long long)i + 1,
                      (unsigned long long)j->n, strerror(errno));
        take_exit(p, rc ? rc : EXIT_MEMORY);
        p->ends = true;
        return;
    }
    p->child[at].pid = pid;
    p->child[at].job = i;
    p->running++;
}

static void start_jobs(struct pool *p)
{
    for (uint64_t at = 0; at < p->jobs->at_a_time; at++)
        if (!p->child[at].pid && p->next < p->jobs->n && !p->ends && !cli_interrupted())
            start_job(p, at);
}

static void pass_interrupt(struct pool *p)
{
    if (!cli_interrupted() || p->signalled)
        return;
    p->signalled = true;
    for (uint64_t at = 0; at < p->jobs->at_a_time; at++)
        if (p->child[at].pid)
            kill(p->child[at].pid, SIGTERM);
}

static void end_job(struct pool *p, pid_t pid, int status)
{
    const struct cli_jobs *j = p->jobs;
    uint64_t at = 0;
    while (at < j->at_a_time && p->child[at].pid != pid)
        at++;
    if (at == j->at_a_time)
        return; /* a child that the caller of pith left behind */
    p->child[at].pid = 0;
    p->running--;
    if (!j->end) {
        take_exit(p, WIFEXITED(status) ? (enum cli_exit)WEXITSTATUS(status) : EXIT_MEMORY);
        return;
    }
    const enum cli_exit rc = j->end(j->user, p->child[at].job, status);
    take_exit(p, rc);
    p->ends = p->ends || rc > EXIT_NO;
}

enum cli_exit cli_run_jobs(const struct cli_jobs *jobs)
{
    struct pool p = {.jobs = jobs};
    signal(SIGCHLD, SIG_DFL); /* a parent that ignores it hands that down, and then waitpid() finds
                                 no child */
    for (start_jobs(&p); p.running > 0; start_jobs(&p)) {
        int status;
        cli_end_in_order(); /* when they have */
        pass_interrupt(&p);
        const pid_t pid = waitpid(-1, &status, 0);
        if (pid > 0) {
            end_job(&p, pid, status);
        } else if (errno != EINTR) {
            cli_error("cannot wait for processes: %s", strerror(errno));
            return EXIT_MEMORY;
        }
    }
    return cli_interrupted() ? EXIT_INTERRUPTED : p.rc;
}

uint32_t cli_threads_of_jobs(const struct cli_common *c, uint64_t n)
{
    const uint64_t cores = pith_processor_count();
    return (uint32_t)(c->threads ? c->threads : cores > n ? cores / n : 1);
}

enum cli_exit cli_read_shard(const char *text, uint64_t *first, uint64_t *stride)
{
    char number[32];
    const char *slash = text ? strchr(text, '/') : NULL;
    *first = 0;
    *stride = 1;
    if (!text)
        return EXIT_DONE;
    size_t n = slash ? (size_t)(slash - text) : sizeof number;
    if (n < sizeof number) {
        memcpy(number, text, n);
        number[n] = '\0';
        if (pith_parse_uint(number, first) && pith_parse_uint(slash + 1, stride) &&
            *first < *stride && *stride <= 1000000)
            return EXIT_DONE;
    }
    cli_error("--shard '%s': give I/N with I from 0 to N-1", text);
    return EXIT_USAGE;
}

enum cli_exit cli_append_line(const char *path, const char *line, bool torn)
{
    size_t n = strlen(line);
    char *text = malloc(n + 3);
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0666);
    enum cli_exit rc = text ? EXIT_DONE : cli_no_memory();
    if (!rc) {
        int bytes = snprintf(text, n + 3, "%s%s\n", torn ? "\n" : "", line);
        if (fd < 0 || write(fd, text, (size_t)bytes) != bytes) {
            cli_error("cannot append to '%s': %s", path, strerror(errno));
            rc = EXIT_IO;
        }
    }
    if (fd >= 0)
        close(fd);
    free(text);
    return rc;
}
