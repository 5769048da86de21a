/* SPDX-License-Identifier: MIT */
/* run_log.c - one writer for both forms. An event file of TensorBoard is a run of records
 * (TFRecord: length, masked CRC-32C of the length, bytes, masked CRC-32C of the bytes), each an
 * Event of tensorflow/core/util/event.proto, of which these fields are used: wall_time 1, step 2,
 * file_version 3, summary 5 { value 1 { tag 1, simple_value 2 } }. */
#include "run_log.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/json_text.h"
#include "jobs.h"
#include "kernels/crc32c.h"

#define CRC_MASK 0xa282ead8u /* of TFRecord */

static struct {
    pthread_mutex_t lock;
    struct cli_log_options o; /* both NULL: no log */
    const char *command;
    int events;       /* TensorBoard's file; -1: none yet */
    pid_t events_of;  /* the process that has it */
    uint64_t n_files; /* "file" events without a number */
    enum cli_exit failed;
} run_log = {.lock = PTHREAD_MUTEX_INITIALIZER, .events = -1};

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
    run_log.failed = out.failed ? cli_no_memory()
                                : cli_append_line(run_log.o.file, (const char *)out.data, false);
    pith_out_clear(&out);
}

/* ---- TensorBoard ------------------------------------------------------------------------------
 */

static void put_double(struct byte_out *out, uint32_t field, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    pith_out_varint(out, field << 3 | 1);
    pith_out_le64(out, bits);
}

static void put_field(struct byte_out *out, uint32_t field, const void *bytes, size_t n)
{
    pith_out_varint(out, field << 3 | 2);
    pith_out_varint(out, n);
    pith_out_bytes(out, bytes, n);
}

static void put_scalar(struct byte_out *summary, const char *tag, double x)
{
    struct byte_out value = {0};
    const float f = (float)x;
    uint32_t bits;
    if (!isfinite(x))
        return;
    memcpy(&bits, &f, sizeof bits);
    put_field(&value, 1, tag, strlen(tag));
    pith_out_varint(&value, 2 << 3 | 5);
    pith_out_le32(&value, bits);
    put_field(summary, 1, value.data, value.bytes);
    summary->failed |= value.failed;
    pith_out_clear(&value);
}

static uint32_t masked_crc(const void *p, size_t n)
{
    const uint32_t crc = pith_crc32c(0, p, n);
    return (crc >> 15 | crc << 17) + CRC_MASK;
}

static enum cli_exit write_record(const struct byte_out *event)
{
    struct byte_out record = {0};
    pith_out_le64(&record, event->bytes);
    pith_out_le32(&record, masked_crc(record.data, record.bytes));
    pith_out_bytes(&record, event->data, event->bytes);
    pith_out_le32(&record, masked_crc(event->data, event->bytes));
    const bool written = !record.failed && !event->failed &&
                         write(run_log.events, record.data, record.bytes) == (ssize_t)record.bytes;
    pith_out_clear(&record);
    if (written)
        return EXIT_DONE;
    cli_error("cannot write to '%s': %s", run_log.o.tensorboard, strerror(errno));
    return EXIT_IO;
}

/* A file of this process, named as TensorBoard looks for it, with its head. */
static enum cli_exit open_events(double now)
{
    char path[4096], host[128] = "localhost";
    struct byte_out head = {0};
    gethostname(host, sizeof host - 1);
    const int n = snprintf(path, sizeof path, "%s/events.out.tfevents.%010.0f.%s.%d",
                           run_log.o.tensorboard, floor(now), host, (int)getpid());
    mkdir(run_log.o.tensorboard, 0777);
    if (n < (int)sizeof path)
        run_log.events = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (run_log.events < 0) {
        cli_error("cannot write to '%s': %s", run_log.o.tensorboard, strerror(errno));
        return EXIT_IO;
    }
    run_log.events_of = getpid();
    put_double(&head, 1, now);
    put_field(&head, 3, "brain.Event:2", 13);
    const enum cli_exit rc = write_record(&head);
    pith_out_clear(&head);
    return rc;
}

static void put_scalars(const struct cli_event *e, uint64_t step, double now)
{
    struct byte_out event = {0}, summary = {0};
    const bool file = strcmp(e->event, "file") == 0;
    put_scalar(&summary, file ? "file/loss" : "train/loss", e->loss);
    put_scalar(&summary, file ? "file/accuracy" : "train/accuracy", e->accuracy);
    put_scalar(&summary, "validation/loss", e->val_loss);
    put_scalar(&summary, "validation/accuracy", e->val_accuracy);
    put_scalar(&summary, "train/rate", e->rate);
    put_scalar(&summary, file ? "file/bytes" : "train/bytes", e->bytes);
    put_scalar(&summary, "file/drop", e->drop);
    put_double(&event, 1, now);
    pith_out_varint(&event, 2 << 3);
    pith_out_varint(&event, step);
    put_field(&event, 5, summary.data, summary.bytes);
    event.failed |= summary.failed;
    /* After a fork the file is the parent's. */
    if (run_log.events < 0 || run_log.events_of != getpid())
        run_log.failed = open_events(now);
    if (!run_log.failed && summary.bytes)
        run_log.failed = write_record(&event);
    pith_out_clear(&summary);
    pith_out_clear(&event);
}

/* ---- the log ----------------------------------------------------------------------------------
 */

bool cli_logs(void)
{
    return run_log.o.file || run_log.o.tensorboard;
}

void cli_log(const struct cli_event *e)
{
    const double now = wall_time();
    if (!cli_logs())
        return;
    pthread_mutex_lock(&run_log.lock);
    if (run_log.o.file && !run_log.failed)
        put_line(e, now);
    const bool epoch = strcmp(e->event, "epoch") == 0, file = strcmp(e->event, "file") == 0;
    run_log.n_files += file;
    const double step = epoch                 ? e->epoch
                        : isfinite(e->number) ? e->number
                                              : (double)run_log.n_files;
    if (run_log.o.tensorboard && (epoch || file) && !run_log.failed)
        put_scalars(e, (uint64_t)step, now);
    pthread_mutex_unlock(&run_log.lock);
}

enum cli_exit cli_log_start(const struct cli_log_options *o, const char *command, const char *input)
{
    struct cli_event start = CLI_EVENT("start");
    run_log.o = *o;
    run_log.command = command;
    run_log.failed = EXIT_DONE;
    if (!cli_logs())
        return EXIT_DONE;
    start.command = command;
    start.file = input;
    cli_log(&start);
    if (o->tensorboard && !run_log.failed)
        run_log.failed = open_events(wall_time());
    const enum cli_exit rc = run_log.failed;
    if (rc)
        run_log.o = (struct cli_log_options){0};
    return rc;
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
    run_log.o = (struct cli_log_options){0};
    if (run_log.events >= 0)
        close(run_log.events);
    run_log.events = -1;
    return rc ? rc : run_log.failed;
}
