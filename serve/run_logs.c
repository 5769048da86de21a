/* SPDX-License-Identifier: MIT */
#include "run_logs.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/error_fill.h"
#include "report/chart/chart.h"

#define SUFFIX ".jsonl"
#define MAX_LOGS 64u               /* the latest */
#define MAX_BYTES (8 << 20)        /* of a log, from its end */
#define MAX_POINTS 4096u           /* of a curve */
#define MAX_LINE_BYTES (64u << 10) /* longer ones are no events */

enum column { LOSS, ACCURACY, VAL_LOSS, VAL_ACCURACY, BYTES, COLUMNS };
static const char *const column_key[COLUMNS] = {"loss", "accuracy", "val_loss", "val_accuracy",
                                                "bytes"};

/* What the events from the last "start" on say. Numbers are NAN where none does. */
struct run {
    char name[256], command[32], file[256], step[32], status[16];
    uint64_t log_bytes;
    double started, last; /* Unix time */
    double done, total, layer, epoch, epochs, eta, seconds;
    double now[COLUMNS];
    uint32_t n_files;
    /* [n] of epochs, or of files where there are none; NULL: not kept. Owned. */
    double *x, *y[COLUMNS];
    uint32_t n;
    bool of_epochs;
    bool has_curve[2]; /* loss, accuracy */
};

/* ---- one event --------------------------------------------------------------------------------
 */

static double number_of(const json_t *e, const char *key)
{
    const json_t *v = json_object_get(e, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

static void set_number(double *to, const json_t *e, const char *key)
{
    const double x = number_of(e, key);
    *to = isfinite(x) ? x : *to;
}

static void set_text(char *to, size_t room, const json_t *e, const char *key)
{
    const char *text = json_string_value(json_object_get(e, key));
    if (text)
        snprintf(to, room, "%s", text);
}

static void begin_run(struct run *r, const json_t *e)
{
    set_text(r->command, sizeof r->command, e, "command");
    r->file[0] = r->step[0] = 0;
    set_text(r->file, sizeof r->file, e, "file");
    strcpy(r->status, "running");
    r->started = number_of(e, "time");
    r->done = r->total = r->layer = r->epoch = r->epochs = r->eta = r->seconds = NAN;
    for (int c = 0; c < COLUMNS; c++)
        r->now[c] = NAN;
    r->n = r->n_files = 0;
    r->of_epochs = false;
}

static void add_point(struct run *r, const json_t *e, double x)
{
    if (!r->x || r->n == MAX_POINTS)
        return;
    r->x[r->n] = x;
    for (int c = 0; c < COLUMNS; c++)
        r->y[c][r->n] = number_of(e, column_key[c]);
    r->n++;
}

static void take_event(struct run *r, const json_t *e)
{
    const char *event = json_string_value(json_object_get(e, "event"));
    if (!event || (!r->status[0] && strcmp(event, "start") != 0))
        return;
    if (strcmp(event, "start") == 0)
        begin_run(r, e);
    set_number(&r->last, e, "time");
    const bool epoch = strcmp(event, "epoch") == 0, file = strcmp(event, "file") == 0;
    if (epoch || file || strcmp(event, "progress") == 0) {
        set_text(r->step, sizeof r->step, e, "step");
        r->layer = number_of(e, "layer");
        set_number(&r->done, e, "done");
        set_number(&r->total, e, "total");
        r->eta = number_of(e, "eta");
        r->seconds = number_of(e, "seconds");
        set_number(&r->epoch, e, "epoch");
        set_number(&r->epochs, e, "epochs");
        for (int c = 0; c < COLUMNS; c++)
            set_number(&r->now[c], e, column_key[c]);
    }
    r->n_files += file;
    if (epoch && !r->of_epochs)
        r->n = 0; /* files before the first epoch are no part of the curve */
    r->of_epochs |= epoch;
    if (epoch || (file && !r->of_epochs))
        add_point(r, e, epoch ? r->epoch : number_of(e, "bytes"));
    if (strcmp(event, "end") == 0)
        set_text(r->status, sizeof r->status, e, "status");
}

/* ---- one log ----------------------------------------------------------------------------------
 */

static void take_line(struct run *r, const char *line, size_t n)
{
    json_t *e = n <= MAX_LINE_BYTES ? json_loadb(line, n, 0, NULL) : NULL;
    if (json_is_object(e))
        take_event(r, e);
    json_decref(e);
}

/* Of progress only the last is of use. */
static void take_lines(struct run *r, const char *text, size_t n)
{
    static const char progress[] = "\"event\":\"progress\"";
    const char *last = NULL, *end;
    size_t n_last = 0;
    for (; (end = memchr(text, '\n', n)); n -= (size_t)(end + 1 - text), text = end + 1) {
        const size_t length = (size_t)(end - text);
        if (memmem(text, length, progress, sizeof progress - 1)) {
            last = text;
            n_last = length;
            continue;
        }
        if (last && length)
            take_line(r, last, n_last);
        last = NULL;
        take_line(r, text, length);
    }
    if (last)
        take_line(r, last, n_last);
}

static bool name_fits(const char *name)
{
    const size_t n = strlen(name);
    return name[0] != '.' && !strchr(name, '/') && n < sizeof((struct run *)0)->name &&
           n > sizeof SUFFIX - 1 && strcmp(name + n - (sizeof SUFFIX - 1), SUFFIX) == 0;
}

/* The last MAX_BYTES of a regular file in the folder; text: the caller's. */
static bool read_end(int folder, const char *name, char **text, size_t *n, uint64_t *bytes)
{
    struct stat st;
    const int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool read = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    *text = read ? malloc(MAX_BYTES) : NULL;
    if (*text) {
        *bytes = (uint64_t)st.st_size;
        const off_t from = st.st_size > MAX_BYTES ? st.st_size - MAX_BYTES : 0;
        const ssize_t got = pread(fd, *text, MAX_BYTES, from);
        *n = got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0)
        close(fd);
    return *text != NULL;
}

static bool any_finite(const double *y, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (isfinite(y[i]))
            return true;
    return false;
}

/* what: "loss" or "accuracy". */
static bool has_curve(const struct run *r, const char *what)
{
    for (int c = LOSS; c < BYTES && r->n > 1; c++)
        if (strstr(column_key[c], what) && any_finite(r->y[c], r->n))
            return true;
    return false;
}

/* False: it is no log of a run. */
static bool read_run(int folder, const char *name, struct run *r)
{
    char *text;
    size_t n = 0;
    if (!name_fits(name) || !read_end(folder, name, &text, &n, &r->log_bytes))
        return false;
    snprintf(r->name, sizeof r->name, "%s", name);
    /* Of a long log the start is gone: what is left is taken for one run. */
    if (r->log_bytes > MAX_BYTES)
        begin_run(r, NULL);
    take_lines(r, text, n);
    free(text);
    r->has_curve[0] = has_curve(r, "loss");
    r->has_curve[1] = has_curve(r, "accuracy");
    return r->status[0] != 0;
}

static int open_folder(const char *folder, struct pith_error *err)
{
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        pith_error_fill(err, PITH_ERR_IO, "%s: %s", folder, strerror(errno));
    return fd;
}

/* ---- the list ---------------------------------------------------------------------------------
 */

static void put_text(struct byte_out *out, const char *key, const char *text)
{
    pith_json_format(out, ",\"%s\":", key);
    if (*text)
        pith_json_quote(out, text, strlen(text));
    else
        pith_json_format(out, "null");
}

static void put_number(struct byte_out *out, const char *key, double x)
{
    pith_json_format(out, isfinite(x) ? ",\"%s\":%.6g" : ",\"%s\":null", key, x);
}

static void put_count(struct byte_out *out, const char *key, double x, double of)
{
    char text[64] = "";
    if (isfinite(x))
        snprintf(text, sizeof text, isfinite(of) ? "%.0f of %.0f" : "%.0f", x, of);
    put_text(out, key, text);
}

/* How much of the run is over, 0 to 1; NAN: unknown. */
static double share_of(const struct run *r)
{
    const bool files = r->n_files && strcmp(r->command, "sweep") == 0;
    if (strcmp(r->status, "done") == 0)
        return 1;
    if (isfinite(r->epoch) && r->epochs > 0)
        return fmin(1, r->epoch / r->epochs);
    if (files && r->total > 0)
        return fmin(1, (isfinite(r->done) ? r->done : r->n_files) / r->total);
    return isfinite(r->eta) && isfinite(r->seconds) && r->eta + r->seconds > 0
               ? r->seconds / (r->eta + r->seconds)
               : NAN;
}

static void put_run(struct byte_out *out, const struct run *r)
{
    const double now = (double)time(NULL);
    pith_json_format(out, "{\"name\":");
    pith_json_quote(out, r->name, strlen(r->name));
    put_text(out, "command", r->command);
    put_text(out, "file", r->file);
    put_text(out, "status", r->status);
    put_text(out, "step", r->step);
    put_number(out, "share", share_of(r));
    put_count(out, "epoch", r->epoch, r->epochs);
    put_count(out, "done", r->done, r->total);
    put_number(out, "layer", r->layer);
    put_number(out, "eta", r->eta);
    put_number(out, "age_s", fmax(0, now - r->last));
    for (int c = 0; c < COLUMNS; c++)
        put_number(out, column_key[c], r->now[c]);
    const bool loss = r->has_curve[0], accuracy = r->has_curve[1];
    pith_json_format(out, ",\"curves\":[%s%s%s],\"log_bytes\":%" PRIu64 "}", loss ? "\"loss\"" : "",
                     loss && accuracy ? "," : "", accuracy ? "\"accuracy\"" : "", r->log_bytes);
}

static bool is_running(const struct run *r)
{
    return strcmp(r->status, "running") == 0;
}

static int in_order(const void *a, const void *b)
{
    const struct run *x = a, *y = b;
    if (is_running(x) != is_running(y))
        return is_running(y) - is_running(x);
    return x->started != y->started ? (x->started < y->started) - (x->started > y->started)
                                    : strcmp(x->name, y->name);
}

static bool alloc_points(struct run *r)
{
    bool has_all = (r->x = malloc(MAX_POINTS * sizeof *r->x)) != NULL;
    for (int c = 0; c < COLUMNS; c++)
        has_all &= (r->y[c] = malloc(MAX_POINTS * sizeof *r->y[c])) != NULL;
    return has_all;
}

static void free_points(struct run *r)
{
    free(r->x);
    for (int c = 0; c < COLUMNS; c++)
        free(r->y[c]);
}

/* Reads all logs into run[MAX_LOGS], the oldest left out; points are counted in `shared` alone. */
static uint32_t read_runs(DIR *d, struct run *run, const struct run *shared)
{
    uint32_t n = 0;
    for (const struct dirent *e; (e = readdir(d));) {
        struct run one = *shared;
        if (!read_run(dirfd(d), e->d_name, &one))
            continue;
        if (n == MAX_LOGS) {
            qsort(run, n, sizeof *run, in_order);
            if (in_order(&one, &run[n - 1]) > 0)
                continue;
            n--;
        }
        run[n++] = one;
    }
    qsort(run, n, sizeof *run, in_order);
    return n;
}

enum pith_status run_logs_list(const char *folder, struct byte_out *out, struct pith_error *err)
{
    const int fd = open_folder(folder, err);
    if (fd < 0)
        return PITH_ERR_IO;
    DIR *d = fdopendir(fd);
    struct run shared = {0}, *run = calloc(MAX_LOGS, sizeof *run);
    const bool ready = d && run && alloc_points(&shared);
    const uint32_t n = ready ? read_runs(d, run, &shared) : 0;
    pith_json_format(out, "{\"folder\":");
    pith_json_quote(out, folder, strlen(folder));
    pith_json_format(out, ",\"runs\":[");
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            pith_out_u8(out, ',');
        put_run(out, &run[i]);
    }
    pith_json_format(out, "]}");
    free_points(&shared);
    free(run);
    if (d)
        closedir(d);
    else
        close(fd);
    return ready ? PITH_OK : pith_error_no_memory(err);
}

/* ---- curves -----------------------------------------------------------------------------------
 */

static void draw(const struct run *r, const char *what, struct chart *c)
{
    struct chart_series series[BYTES];
    struct chart_plot p = {.series = series,
                           .x_name = r->of_epochs ? "epoch" : "bytes",
                           .y_name = what,
                           .log_x = !r->of_epochs,
                           .limit = NAN,
                           .ring_x = NAN,
                           .ring_y = NAN};
    for (int i = LOSS; i < BYTES; i++) {
        const bool held_out = i >= VAL_LOSS;
        if (!strstr(column_key[i], what) || !any_finite(r->y[i], r->n))
            continue;
        series[p.n_series++] = (struct chart_series){.name = held_out       ? "held out"
                                                             : r->of_epochs ? "training"
                                                                            : "files",
                                                     .x = r->x,
                                                     .y = r->y[i],
                                                     .n = r->n,
                                                     .line = r->of_epochs,
                                                     .dots = !r->of_epochs,
                                                     .classes = held_out ? "c" : "a"};
    }
    pith_chart_plot(c, what, what, &p);
}

enum pith_status run_logs_curve(const char *folder, const char *name, const char *what,
                                struct pith_buffer *svg, struct pith_error *err)
{
    const int fd = open_folder(folder, err);
    struct run r = {0};
    struct chart c;
    struct chart_text text = {0};
    if (fd < 0)
        return PITH_ERR_IO;
    if (!alloc_points(&r)) {
        free_points(&r);
        close(fd);
        return pith_error_no_memory(err);
    }
    const bool there = read_run(fd, name, &r) && has_curve(&r, what);
    close(fd);
    if (there) {
        draw(&r, what, &c);
        pith_chart_put(&c, PITH_CHART_ALONE, &text);
        pith_chart_free(&c);
    }
    free_points(&r);
    if (!there)
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "there is no such log with this curve");
    if (text.failed) {
        pith_text_free(&text);
        return pith_error_no_memory(err);
    }
    *svg = (struct pith_buffer){(uint8_t *)text.data, text.bytes};
    return PITH_OK;
}
