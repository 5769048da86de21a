/* SPDX-License-Identifier: MIT */
#include "run_log.h"
#include <pthread.h>
#include <string.h>
#include <time.h>
#include "base/json_text.h"
#include "jobs.h"

static struct {
    pthread_mutex_t lock;
    const char *file; /* NULL: no log */
    const char *command;
    enum cli_exit failed;
} run_log = {.lock = PTHREAD_MUTEX_INITIALIZER};

static double wall_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- lines of JSON ----------------------------------------------------------------------------
 */

static void put_text(struct byte_out *out, const char *key, const char *text)
{
    if (!text)
        return;
    pith_json_format(out, ",\"%s\":", key);
    pith_json_quote(out, text, strlen(text));
}

static void put_number(struct byte_out *out, const char *key, double x)
{
    if (isfinite(x))
        pith_json_format(out, ",\"%s\":%.15g", key, x);
}

static void put_line(const struct cli_event *e, double now)
{
    struct byte_out out = {0};
    pith_json_format(&out, "{\"pith\":1,\"time\":%.3f,\"event\":\"%s\"", now, e->event);
    put_text(&out, "command", e->command);
    put_text(&out, "file", e->file);
    put_text(&out, "step", e->step);
    put_text(&out, "encoder", e->encoder);
    put_text(&out, "status", e->status);
    put_number(&out, "done", e->done);
    put_number(&out, "total", e->total);
    put_number(&out, "layer", e->layer);
    put_number(&out, "number", e->number);
    put_number(&out, "epoch", e->epoch);
    put_number(&out, "epochs", e->epochs);
    put_number(&out, "loss", e->loss);
    put_number(&out, "accuracy", e->accuracy);
    put_number(&out, "val_loss", e->val_loss);
    put_number(&out, "val_accuracy", e->val_accuracy);
    put_number(&out, "rate", e->rate);
    put_number(&out, "kept", e->kept);
    put_number(&out, "bytes", e->bytes);
    put_number(&out, "quality", e->quality);
    put_number(&out, "drop", e->drop);
    put_number(&out, "seconds", e->seconds);
    put_number(&out, "eta", e->eta);
    pith_out_bytes(&out, "}", 2); /* and the end of the text */
    run_log.failed =
        out.failed ? cli_no_memory() : cli_append_line(run_log.file, (const char *)out.data, false);
    pith_out_clear(&out);
}

/* ---- the log ----------------------------------------------------------------------------------
 */

bool cli_logs(void)
{
    return run_log.file != NULL;
}

void cli_log(const struct cli_event *e)
{
    const double now = wall_time();
    if (!cli_logs())
        return;
    pthread_mutex_lock(&run_log.lock);
    if (!run_log.failed)
        put_line(e, now);
    pthread_mutex_unlock(&run_log.lock);
}

enum cli_exit cli_log_start(const char *file, const char *command, const char *input)
{
    struct cli_event start = CLI_EVENT("start");
    run_log.file = file;
    run_log.command = command;
    run_log.failed = EXIT_DONE;
    if (!cli_logs())
        return EXIT_DONE;
    start.command = command;
    start.file = input;
    cli_log(&start);
    if (run_log.failed)
        run_log.file = NULL;
    return run_log.failed;
}

enum cli_exit cli_log_end(enum cli_exit rc)
{
    struct cli_event end = CLI_EVENT("end");
    if (!cli_logs())
        return rc;
    end.command = run_log.command;
    end.status = rc == EXIT_DONE          ? "done"
                 : rc == EXIT_NO          ? "missed"
                 : rc == EXIT_INTERRUPTED ? "interrupted"
                                          : "failed";
    cli_log(&end);
    run_log.file = NULL;
    return rc ? rc : run_log.failed;
}
