/* SPDX-License-Identifier: MIT */
/* One progress line on a terminal, for what takes longer than a second.
 *
 * A thread of its own draws, so that steps which report nothing still show that time passes. */
#include <inttypes.h>
#include <langinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include "run_log.h"

#define BAR_CELLS 20
#define BESIDE_CELLS 28  /* columns of the name, per cent and the time left */
#define ELAPSED_CELLS 20 /* of the name and the time that is over */
#define FIRST_SHOWN_NS UINT64_C(1000000000)
#define REDRAW_NS UINT64_C(100000000)
#define EVENT_NS UINT64_C(1000000000) /* between two of them, but in the first minute */
#define FIRST_EVENT_NS UINT64_C(100000000)
#define EVENT_SHARE 50u /* of what is over, that the next one comes later by */

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int cli_columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                           : CLI_COLUMNS;
}

static bool wants_bar(const struct cli_common *c)
{
    const char *term = secure_getenv("TERM");
    if (c->quiet || (c->progress && strcmp(c->progress, "never") == 0))
        return false;
    if (c->progress && strcmp(c->progress, "always") == 0)
        return true;
    return isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0);
}

/* elapsed_ns: when so much was done; since_ns: from then on nothing was heard, and the time left
 * runs down. */
static void draw_share(uint64_t done, uint64_t total, uint64_t elapsed_ns, uint64_t since_ns,
                       int cells)
{
    bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    double share = done < total ? (double)done / (double)total : 1;
    double left_s = share > 0 ? (double)elapsed_ns * (1 - share) / share / 1e9 : 0;
    left_s = left_s * 1e9 > (double)since_ns ? left_s - (double)since_ns / 1e9 : 0;
    int full = (int)(share * cells);
    for (int i = 0; i < cells; i++)
        fputs(i < full ? (utf8 ? "█" : "#") : (utf8 ? "░" : "."), stderr);
    fprintf(stderr, " %3d%%", (int)(share * 100));
    if (share > 0)
        fprintf(stderr, "  eta %d:%02d", (int)(left_s / 60), (int)left_s % 60);
}

static void draw(struct cli_progress *p, uint64_t elapsed_ns)
{
    uint64_t s = elapsed_ns / 1000000000u;
    uint64_t done = atomic_load(&p->done);
    const int room = cli_columns() - BESIDE_CELLS;
    const int cells = room < BAR_CELLS ? (room > 0 ? room : 0) : BAR_CELLS;
    if (done != p->last_done || p->last_change_ns == 0) {
        p->last_done = done;
        p->last_change_ns = elapsed_ns;
    }
    fprintf(stderr, "\r%-10s ", p->what);
    if (p->total)
        draw_share(done, p->total, p->last_change_ns, elapsed_ns - p->last_change_ns, cells);
    else
        fprintf(stderr, "%" PRIu64 ":%02" PRIu64, s / 60, s % 60);
    const int left = p->total ? room - cells - 2 : cli_columns() - ELAPSED_CELLS;
    if (p->detail[0] && left > 0)
        fprintf(stderr, "  %.*s", left, p->detail);
    fputs("\033[K", stderr);
    fflush(stderr);
    p->drawn = true;
}

static void print_event(const struct cli_progress *p, const char *event)
{
    printf("{\"pith\":1,\"event\":\"%s\",\"step\":\"%s\",\"done\":%" PRIu64 ",\"total\":%" PRIu64
           ",\"seconds\":%.3f}\n",
           event, p->what, atomic_load(&p->done), p->total,
           (double)(now_ns() - p->started_ns) / 1e9);
    fflush(stdout);
}

/* Called with the lock. */
static void log_progress(const struct cli_progress *p, uint64_t elapsed_ns)
{
    struct cli_event e = CLI_EVENT("progress");
    const double total = (double)(p->part ? p->part_total : p->total);
    e.step = p->part ? p->part : p->what;
    e.done = (double)atomic_load(&p->done);
    e.total = total > 0 ? total : NAN;
    e.layer = p->part && strcmp(p->part, "layer") == 0 ? fmin(e.done + 1, total) : NAN;
    e.seconds = (double)elapsed_ns / 1e9;
    e.eta = p->part                   ? p->part_left_s
            : total > 0 && e.done > 0 ? e.seconds * (total - e.done) / e.done
                                      : NAN;
    cli_log(&e);
}

void cli_progress_part(struct cli_progress *p, const char *part, uint64_t total, double left_s)
{
    if (!p->running)
        return;
    pthread_mutex_lock(&p->lock);
    p->part = part;
    p->part_total = total;
    p->part_left_s = left_s;
    pthread_mutex_unlock(&p->lock);
}

/* Until the next picture, or event: so that short steps have some, too. */
static uint64_t wait_ns(const struct cli_progress *p, uint64_t elapsed_ns)
{
    if (!p->events && !p->logs)
        return elapsed_ns ? REDRAW_NS : FIRST_SHOWN_NS;
    const uint64_t part = elapsed_ns / EVENT_SHARE;
    return part < FIRST_EVENT_NS ? FIRST_EVENT_NS : part < EVENT_NS ? part : EVENT_NS;
}

/* Wakes for every picture to be shown; ends when `stop` is set. */
static void *watch_step(void *arg)
{
    struct cli_progress *p = arg;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    p->next_ns = p->started_ns + wait_ns(p, 0);
    pthread_mutex_lock(&p->lock);
    while (!p->stop) {
        struct timespec until = {(time_t)(p->next_ns / 1000000000u),
                                 (long)(p->next_ns % 1000000000u)};
        pthread_cond_timedwait(&p->wake, &p->lock, &until);
        if (p->stop || now_ns() < p->next_ns)
            continue;
        if (p->events)
            print_event(p, "progress");
        if (p->logs)
            log_progress(p, now_ns() - p->started_ns);
        if (p->bar && now_ns() - p->started_ns >= FIRST_SHOWN_NS)
            draw(p, now_ns() - p->started_ns);
        p->next_ns = now_ns() + wait_ns(p, now_ns() - p->started_ns);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void start_thread(struct cli_progress *p)
{
    pthread_condattr_t monotonic;
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&p->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    p->running = pthread_create(&p->thread, NULL, watch_step, p) == 0; /* else: no bar, no harm */
}

void cli_progress_start(struct cli_progress *p, const struct cli_common *c, const char *what,
                        uint64_t total)
{
    memset(p, 0, sizeof *p);
    p->what = what;
    p->total = total;
    p->started_ns = now_ns();
    p->bar = wants_bar(c);
    p->events = c->json && strcmp(c->json, "lines") == 0;
    if (p->events)
        print_event(p, "start");
    p->logs = cli_logs();
    if (p->bar || p->events || p->logs)
        start_thread(p);
}

bool cli_progress_step(void *progress, uint64_t done)
{
    struct cli_progress *p = progress;
    atomic_store(&p->done, done);
    return !cli_interrupted();
}

void cli_progress_detail(struct cli_progress *p, const char *detail)
{
    if (!p->running)
        return;
    pthread_mutex_lock(&p->lock);
    snprintf(p->detail, sizeof p->detail, "%s", detail);
    pthread_mutex_unlock(&p->lock);
}

void cli_progress_hide(struct cli_progress *p)
{
    if (!p->running || !p->bar)
        return;
    pthread_mutex_lock(&p->lock);
    if (p->drawn)
        fputs("\r\033[K", stderr);
    p->drawn = false;
    if (p->next_ns < now_ns() + REDRAW_NS)
        p->next_ns = now_ns() + REDRAW_NS;
    pthread_mutex_unlock(&p->lock);
}

void cli_progress_end(struct cli_progress *p)
{
    if (!p->running)
        return;
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    p->running = false;
    if (p->drawn)
        fputs("\r\033[K", stderr);
    if (p->events && !cli_interrupted())
        atomic_store(&p->done, p->total); /* steps need not report their last sample */
    if (p->events)
        print_event(p, "end");
}
