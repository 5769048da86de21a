/* SPDX-License-Identifier: MIT */
/* signals.c - what ends the process from outside. The signals that request the end (^C, SIGTERM, a
 * terminal that closes, a limit of processor time that is near) let the running step stop: the
 * first sets a mark, the second, or a second without an end, ends the process at once. All others
 * that would end it do so as ever, with the same status and core file, but no temporary file stays
 * behind. A limit of file size is an error of write, not a signal. What the caller had ignored
 * (nohup, a shell's background job) or a sanitizer caught stays so.
 *
 * The threads of the pool and of the progress bar block signals: a handler never runs beside the
 * thread that writes a file. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cli.h"
#include "error_location.h"

#define LINE_BYTES 4096

static volatile sig_atomic_t last_signal, in_order;
/* The last line of an interrupted process. A signal can come while the next one is being made, in
 * the other place. */
static char last_line[2][LINE_BYTES] = {"pith: interrupted\n"};
static volatile sig_atomic_t line_at;

enum { PATIENCE_SECONDS = 1 };

void cli_set_kept(const char *format, ...)
{
    const int next = !line_at;
    char *line = last_line[next];
    va_list args;
    int n = snprintf(line, LINE_BYTES, "pith: interrupted: ");
    va_start(args, format);
    vsnprintf(line + n, LINE_BYTES - (size_t)n - 1, format, args);
    va_end(args);
    strcat(line, "\n");
    line_at = next;
}

void cli_print_interrupted(void)
{
    const char *line = last_line[line_at];
    ssize_t written = write(STDERR_FILENO, line, strlen(line));
    (void)written;
}

/* The step did not look at the mark: one large layer is being rounded, or a file decoded. */
static void on_overdue(int sig)
{
    (void)sig;
    if (in_order)
        return; /* it came in between */
    pith_file_remove_temps();
    cli_print_interrupted();
    _exit(128 + last_signal);
}

static void on_request(int sig)
{
    if (last_signal) {
        pith_file_remove_temps();
        _exit(128 + sig);
    }
    last_signal = sig;
    if (in_order)
        return;
    struct sigaction action = {.sa_handler = on_overdue};
    sigfillset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    alarm(PATIENCE_SECONDS);
}

/* The default action follows on return: SA_RESETHAND has put it back. A fault occurs again. */
static void on_end(int sig)
{
    pith_file_remove_temps();
    raise(sig);
}

static void catch_signal(int sig, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, old;
    sigfillset(&action.sa_mask);
    if (sigaction(sig, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
        sigaction(sig, &action, NULL);
}

void cli_catch_signals(void)
{
    static const int requests[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU};
    static const int ends[] = {
        SIGQUIT,   SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGABRT,
        SIGSEGV,   SIGBUS,  SIGFPE,  SIGILL,  SIGTRAP,   SIGSYS,
#ifdef SIGIO
        SIGIO,
#endif
#ifdef SIGPWR
        SIGPWR,
#endif
#ifdef SIGSTKFLT
        SIGSTKFLT,
#endif
    };
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        catch_signal(requests[i], on_request, 0);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        catch_signal(ends[i], on_end, (int)SA_RESETHAND);
    for (int sig = SIGRTMIN; sig <= SIGRTMAX; sig++)
        catch_signal(sig, on_end, (int)SA_RESETHAND);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

void cli_end_in_order(void)
{
    in_order = 1;
    if (last_signal)
        alarm(0);
}

bool cli_interrupted(void)
{
    return last_signal != 0;
}

int cli_interrupt_status(void)
{
    return 128 + last_signal;
}
