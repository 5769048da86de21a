/* SPDX-License-Identifier: MIT */
/* One progress line on a terminal, for what takes longer than a second; and ^C: the first asks the
 * running step to stop, the second ends the process at once. */
#include <locale.h>
#include <langinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cli.h"

#define BAR_CELLS 20
#define FIRST_SHOWN_NS 1000000000u
#define REDRAW_NS 100000000u

static volatile sig_atomic_t interrupts;

static void on_signal(int sig)
{
    if (++interrupts > 1)
        _exit(128 + sig);
}

void cli_catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

bool cli_interrupted(void)
{
    return interrupts != 0;
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool wants_bar(const struct cli_common *c)
{
    const char *term = getenv("TERM");
    if (c->quiet || (c->progress && strcmp(c->progress, "never") == 0))
        return false;
    if (c->progress && strcmp(c->progress, "always") == 0)
        return true;
    return isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0);
}

void cli_progress_start(struct cli_progress *p, const struct cli_common *c, const char *what,
                        uint64_t total)
{
    *p = (struct cli_progress){.what = what, .total = total, .on = wants_bar(c)};
    p->started_ns = now_ns();
}

static void draw(const struct cli_progress *p, uint64_t done, uint64_t elapsed_ns)
{
    bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    double share = p->total ? (double)done / (double)p->total : 0;
    int full = (int)(share * BAR_CELLS);
    uint64_t left = share > 0 ? (uint64_t)((double)elapsed_ns * (1 - share) / share / 1e9) : 0;
    fprintf(stderr, "\r%-10s ", p->what);
    for (int i = 0; i < BAR_CELLS; i++)
        fputs(i < full ? (utf8 ? "█" : "#") : (utf8 ? "░" : "."), stderr);
    fprintf(stderr, " %3d%%  eta %d:%02d ", (int)(share * 100), (int)(left / 60), (int)(left % 60));
    fflush(stderr);
}

bool cli_progress_step(void *progress, uint64_t done)
{
    struct cli_progress *p = progress;
    uint64_t now;
    if (!p->on)
        return !cli_interrupted();
    now = now_ns();
    if (now - p->started_ns >= FIRST_SHOWN_NS && now - p->shown_ns >= REDRAW_NS) {
        draw(p, done, now - p->started_ns);
        p->shown_ns = now;
        p->drawn = true;
    }
    return !cli_interrupted();
}

void cli_progress_end(struct cli_progress *p)
{
    if (p->drawn)
        fputs("\r\033[K", stderr);
    p->drawn = false;
}
