/* SPDX-License-Identifier: MIT */
#include "manifest_run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "array_files.h"
#include "cli/common/jobs.h"
#include "cli/common/json_out.h"
#include "cli/common/table.h"
#include "compress/recipe/json_value.h"
#include "manifest.h"
#include "pith_base.h"
#include "pith_host.h"

struct network {
    const struct manifest_row *row;
    json_t *line;   /* owns: what NETS.jsonl has of it; NULL: not run */
    bool was_run;   /* an earlier run wrote the output: it may be replaced */
    FILE *result;   /* owns, while it runs: what the command prints */
    uint64_t begun; /* ns */
};

struct batch {
    const struct cli_manifest_run *run;
    struct manifest manifest;
    struct network *network; /* owns: [manifest.n] */
    uint32_t *queue;         /* owns: which are to be run, [n_queue] */
    uint32_t n_queue, n_ended;
    uint64_t first, stride;
    char results[CLI_PATH_BYTES];
    bool torn;
};

/* ---- results of earlier runs ----------------------------------------------------------------- */

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static double number_of(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

static enum cli_exit exit_of(const struct network *w)
{
    return (enum cli_exit)json_integer_value(json_object_get(w->line, "exit"));
}

/* Met or missed, and the file that it wrote is still there. */
static bool is_done(const struct network *w)
{
    const json_t *result = json_object_get(w->line, "result");
    const char *written = text_of(result, "written");
    struct stat st;
    if (!w->line || exit_of(w) > EXIT_NO)
        return false;
    return !written ||
           (stat(written, &st) == 0 && (double)st.st_size == number_of(result, "bytes"));
}

/* A line is about the row of its output; with the same key it is the row's result. */
static void take_line(struct batch *b, json_t *line)
{
    const char *key = text_of(line, "key"), *output = text_of(line, "output");
    for (uint32_t i = 0; key && output && i < b->manifest.n; i++) {
        struct network *w = &b->network[i];
        if (strcmp(w->row->output, output) != 0)
            continue;
        w->was_run = w->was_run || text_of(json_object_get(line, "result"), "written");
        json_decref(w->line);
        w->line = strcmp(w->row->key, key) == 0 ? json_incref(line) : NULL;
    }
    json_decref(line);
}

static enum cli_exit read_results(struct batch *b)
{
    struct pith_buffer file = {0};
    struct stat st;
    if (stat(b->results, &st) != 0)
        return EXIT_DONE;
    enum cli_exit rc = cli_read_file(b->results, &file);
    const char *at = (const char *)file.data, *end = at + file.bytes;
    b->torn = !rc && file.bytes > 0 && end[-1] != '\n';
    while (!rc && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const size_t n = (size_t)((newline ? newline : end) - at);
        json_t *line = json_loadb(at, n, 0, NULL); /* a torn line is none */
        if (line)
            take_line(b, line);
        at += n + (newline ? 1 : 0);
    }
    pith_buffer_free(&file);
    return rc;
}

/* ---- one network ----------------------------------------------------------------------------- */

static struct network *queued(struct batch *b, uint64_t i)
{
    return &b->network[b->queue[i]];
}

static enum cli_exit start(void *user, uint64_t i)
{
    struct network *w = queued(user, i);
    w->begun = pith_clock_ns(NULL);
    w->result = tmpfile();
    if (w->result)
        return EXIT_DONE;
    cli_error("cannot make a temporary file: %s", strerror(errno));
    return EXIT_IO;
}

static enum cli_exit redirect(const struct network *w)
{
    char path[CLI_PATH_BYTES];
    if (snprintf(path, sizeof path, "%s.log", w->row->output) >= (int)sizeof path) {
        cli_error("%s: name too long", w->row->output);
        return EXIT_USAGE;
    }
    int log = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (log < 0 || dup2(fileno(w->result), STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0) {
        cli_error("cannot write '%s': %s", path, strerror(errno));
        return EXIT_IO;
    }
    close(log);
    return EXIT_DONE;
}

/* Options of the whole command that are of each network, too. Returns their number. */
static int common_words(const struct batch *b, const struct network *w, char text[8][40],
                        char **argv)
{
    const struct cli_common *c = b->run->common;
    int n = 0;
    snprintf(text[n++], 40, "--json");
    snprintf(text[n++], 40, "--progress=never");
    snprintf(text[n++], 40, "--seed=%" PRIu64, c->seed);
    snprintf(text[n++], 40, "--threads=%u", cli_threads_of_jobs(c, b->run->jobs));
    if (c->max_memory)
        snprintf(text[n++], 40, "--max-memory=%" PRIu64, c->max_memory);
    if (c->skip_broken)
        snprintf(text[n++], 40, "--skip-broken");
    if (c->force || w->was_run)
        snprintf(text[n++], 40, "--force");
    for (int i = 0; i < n; i++)
        argv[i] = text[i];
    return n;
}

static enum cli_exit run_network(void *user, uint64_t i)
{
    struct batch *b = user;
    const struct network *w = queued(b, i);
    char text[8][40], **argv = malloc((8 + w->row->n_words) * sizeof *argv);
    if (!argv)
        return cli_no_memory();
    enum cli_exit rc = redirect(w);
    int n = common_words(b, w, text, argv);
    for (uint32_t k = 0; k < w->row->n_words; k++)
        argv[n++] = (char *)(uintptr_t)w->row->word[k]; /* parsing moves them, no more */
    if (!rc)
        rc = cli_run_command(b->run->cmd, n, argv);
    free(argv);
    return rc;
}

/* ---- what came of it ------------------------------------------------------------------------- */

/* "top-1 98.8 % (was 99.1)", whichever of them the command measured. */
static void quality_text(const json_t *result, char text[80])
{
    const char *metric = text_of(result, "metric");
    const double before = number_of(result, "before"), after = number_of(result, "after"),
                 agreement = number_of(result, "agreement"), snr = number_of(result, "snr_db");
    if (metric && strcmp(metric, "psnr") == 0)
        snprintf(text, 80, "PSNR %.2f dB, was %.2f", after, before);
    else if (metric)
        snprintf(text, 80, "top-1 %.2f %%, was %.2f", 100 * after, 100 * before);
    else if (!isnan(agreement))
        snprintf(text, 80, "agreement %.1f %%", 100 * agreement);
    else if (!isnan(snr))
        snprintf(text, 80, "SQNR %.1f dB", snr);
    else
        snprintf(text, 80, "-");
}

static const char *error_text(const struct network *w)
{
    const json_t *error = json_object_get(json_object_get(w->line, "result"), "error");
    const char *text = error ? text_of(error, "text") : text_of(w->line, "error");
    return text ? text : "no result";
}

static const char *verdict(const struct network *w)
{
    return !w->line                  ? "not run"
           : exit_of(w) == EXIT_DONE ? "met"
           : exit_of(w) == EXIT_NO   ? "missed"
                                     : "failed";
}

static void report(const struct batch *b, const struct network *w)
{
    char bytes[32], quality[80];
    const json_t *result = json_object_get(w->line, "result");
    if (exit_of(w) > EXIT_NO) {
        cli_error("%s: %s", w->row->model, error_text(w));
        return;
    }
    quality_text(result, quality);
    cli_summary(b->run->common, "%u of %u  %s  %s, %.1fx smaller  %s  %s, in %.0f s", b->n_ended,
                b->n_queue, w->row->model,
                cli_format_bytes((uint64_t)number_of(result, "bytes"), bytes),
                number_of(result, "ratio"), quality, verdict(w), number_of(w->line, "seconds"));
}

/* What the command printed; NULL: no JSON. */
static json_t *read_result(struct network *w)
{
    json_t *result;
    rewind(w->result);
    result = json_loadf(w->result, JSON_DISABLE_EOF_CHECK, NULL);
    fclose(w->result);
    w->result = NULL;
    return result;
}

static enum cli_exit end(void *user, uint64_t i, int status)
{
    struct batch *b = user;
    struct network *w = queued(b, i);
    char error[80] = "";
    json_t *result = read_result(w);
    enum cli_exit rc = WIFEXITED(status) ? (enum cli_exit)WEXITSTATUS(status) : EXIT_MEMORY;
    if (cli_interrupted()) {
        json_decref(result);
        return EXIT_DONE; /* not ended */
    }
    if (!WIFEXITED(status))
        snprintf(error, sizeof error, "its process was ended by signal %d", WTERMSIG(status));
    const double seconds = (double)(pith_clock_ns(NULL) - w->begun) / 1e9;
    json_decref(w->line);
    w->line = json_pack("{s:i, s:s, s:s, s:s, s:i, s:f, s:o*, s:s*}", "pith", 1, "key", w->row->key,
                        "model", w->row->model, "output", w->row->output, "exit", (int)rc,
                        "seconds", seconds, "result", result, "error", *error ? error : NULL);
    char *line = w->line ? pith_json_text(w->line, JSON_COMPACT) : NULL;
    if (!line)
        return cli_no_memory();
    rc = cli_append_line(b->results, line, b->torn);
    b->torn = false;
    free(line);
    b->n_ended++;
    report(b, w);
    return rc;
}

/* ---- all ------------------------------------------------------------------------------------- */

static void print_table(const struct batch *b)
{
    static const char *const head[] = {"network", "was",  "size", "ratio",
                                       "quality", "time", "goal"};
    struct cli_table t;
    cli_table_start(&t, 7);
    cli_table_left(&t, 4);
    cli_table_left(&t, 6);
    for (int k = 0; k < 7; k++)
        cli_table_add(&t, "%s", head[k]);
    for (uint64_t i = b->first; i < b->manifest.n; i += b->stride) {
        const struct network *w = &b->network[i];
        const json_t *result = json_object_get(w->line, "result");
        const double bytes = number_of(result, "bytes"), ratio = number_of(result, "ratio");
        char was[32] = "-", size[32] = "-", quality[80] = "-";
        if (!isnan(bytes)) {
            cli_format_bytes((uint64_t)llround(bytes * ratio), was);
            cli_format_bytes((uint64_t)bytes, size);
            quality_text(result, quality);
        }
        cli_table_add(&t, "%s", w->row->model);
        cli_table_add(&t, "%s", was);
        cli_table_add(&t, "%s", size);
        cli_table_add(&t, isnan(ratio) ? "-" : "%.1fx", ratio);
        cli_table_add(&t, "%s", quality);
        cli_table_add(&t, w->line ? "%.0f s" : "-", number_of(w->line, "seconds"));
        if (w->line && exit_of(w) > EXIT_NO)
            cli_table_add(&t, "failed: %.60s", error_text(w));
        else
            cli_table_add(&t, "%s", verdict(w));
    }
    cli_table_print(&t, stdout);
}

struct counts {
    uint64_t n, met, missed, failed, not_run;
    enum cli_exit rc;
};

static struct counts count(const struct batch *b)
{
    struct counts c = {0};
    for (uint64_t i = b->first; i < b->manifest.n; i += b->stride) {
        const struct network *w = &b->network[i];
        const enum cli_exit rc = w->line ? exit_of(w) : EXIT_NO;
        c.n++;
        c.not_run += !w->line;
        c.met += rc == EXIT_DONE;
        c.missed += w->line && rc == EXIT_NO;
        c.failed += rc > EXIT_NO;
        c.rc = rc > c.rc ? rc : c.rc;
    }
    return c;
}

static enum cli_exit print_json(const struct batch *b, const struct counts *c)
{
    cli_json_begin();
    cli_json_string("manifest", b->manifest.path);
    cli_json_uint("met", c->met);
    cli_json_uint("missed", c->missed);
    cli_json_uint("failed", c->failed);
    cli_json_uint("not_run", c->not_run);
    cli_json_open("networks", '[');
    for (uint64_t i = b->first; i < b->manifest.n; i += b->stride) {
        const struct network *w = &b->network[i];
        char *line = w->line ? pith_json_text(w->line, JSON_COMPACT) : NULL;
        cli_json_open(NULL, '{');
        cli_json_uint("line", w->row->line);
        cli_json_string("model", w->row->model);
        cli_json_string("output", w->row->output);
        cli_json_string("goal", verdict(w));
        cli_json_raw("run", line ? line : "null");
        cli_json_close('}');
        free(line);
    }
    cli_json_close(']');
    cli_json_end();
    return c->rc;
}

static enum cli_exit summarize(const struct batch *b)
{
    const struct counts c = count(b);
    if (b->run->common->json)
        return print_json(b, &c);
    print_table(b);
    char more[80] = "";
    if (c.failed || c.not_run)
        snprintf(more, sizeof more, ", %" PRIu64 " failed, %" PRIu64 " not run", c.failed,
                 c.not_run);
    cli_summary(b->run->common,
                "%" PRIu64 " networks: %" PRIu64 " met the goal, %" PRIu64 " missed it%s", c.n,
                c.met, c.missed, more);
    return c.rc;
}

static enum cli_exit name_results(struct batch *b)
{
    const char *path = b->run->path, *slash = strrchr(path, '/'),
               *dot = strrchr(slash ? slash : path, '.');
    const int stem = dot ? (int)(dot - path) : (int)strlen(path);
    if (snprintf(b->results, sizeof b->results, "%.*s.jsonl", stem, path) < (int)sizeof b->results)
        return EXIT_DONE;
    cli_error("%s: name too long", path);
    return EXIT_USAGE;
}

static enum cli_exit run_queue(struct batch *b)
{
    for (uint64_t i = b->first; i < b->manifest.n; i += b->stride)
        if (!is_done(&b->network[i]))
            b->queue[b->n_queue++] = (uint32_t)i;
    const struct cli_jobs jobs = {b->n_queue, b->run->jobs, run_network, start, end, b};
    cli_set_kept("%s has the results so far; the same command continues", b->results);
    return cli_run_jobs(&jobs);
}

enum cli_exit cli_manifest_run(const struct cli_manifest_run *run)
{
    struct batch b = {.run = run};
    enum cli_exit rc = cli_read_shard(run->shard, &b.first, &b.stride);
    if (!rc)
        rc = cli_read_manifest(run->cmd, run->path, run->common->seed, &b.manifest);
    if (!rc)
        rc = name_results(&b);
    if (!rc) {
        b.network = calloc(b.manifest.n, sizeof *b.network);
        b.queue = calloc(b.manifest.n, sizeof *b.queue);
        rc = b.network && b.queue ? EXIT_DONE : cli_no_memory();
    }
    for (uint32_t i = 0; !rc && i < b.manifest.n; i++)
        b.network[i].row = &b.manifest.row[i];
    if (!rc)
        rc = read_results(&b);
    if (!rc && !run->common->dry_run)
        rc = run_queue(&b);
    if (!rc)
        rc = summarize(&b);
    for (uint32_t i = 0; b.network && i < b.manifest.n; i++)
        json_decref(b.network[i].line);
    free(b.network);
    free(b.queue);
    cli_free_manifest(&b.manifest);
    return rc;
}
