/* SPDX-License-Identifier: MIT */
/* pith report: what compression did to a network, as one page. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "cli/common/engine_options.h"
#include "feed_options.h"
#include "cli/common/json_out.h"
#include "pith_report.h"

struct report_options {
    struct cli_common common;
    struct cli_feed_options feed;
    const char *vs, *log, *sweep, *svg;
    double seconds;
};

#define AT(member) offsetof(struct report_options, member)
static const struct cli_option options[] = {
    {0, "vs", OPTION_TEXT, AT(vs), "ORIGINAL", "the network before compression: .onnx or .pith", 0,
     0},
    CLI_FEED_DATA_OPTIONS(struct report_options, feed),
    CLI_STATE_OPTION(struct report_options, feed),
    {0, "preprocess", OPTION_TEXT, AT(feed.preprocess), "SPEC",
     "overrides the stored preprocessing", 0, 0},
    {0, "sweep", OPTION_TEXT, AT(sweep), "FILE", "results of pith sweep (.jsonl)", 0, 0},
    {0, "log", OPTION_TEXT, AT(log), "FILE", "events of pith train, compress or sweep --log", 0, 0},
    {0, "time", OPTION_TIME, AT(seconds), "T",
     "measure inference times, T for each model: 500ms, 2s", 0.01, 600},
    {0, "svg", OPTION_TEXT, AT(svg), "DIR", "also write each figure as DIR/NAME.svg", 0, 0},
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

struct making {
    const struct report_options *o;
    struct pith_packed packed, vs; /* own */
    struct cli_feed feed;          /* owns */
    struct pith_buffer log, sweep; /* own */
    struct cli_progress bar;
    enum cli_exit rc; /* of a figure */
};

/* ---- inputs ---------------------------------------------------------------------------------- */

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Of a file that was packed when it was read; 0: it was a .pith, which is read as it is. */
static uint64_t other_bytes(const char *path, const struct pith_packed *packed)
{
    struct stat s;
    const bool other =
        stat(path, &s) == 0 && S_ISREG(s.st_mode) && (uint64_t)s.st_size != packed->bytes;
    return other ? (uint64_t)s.st_size : 0;
}

static enum cli_exit read_log(const char *path, struct pith_buffer *file,
                              struct pith_report_log *log)
{
    if (!path)
        return EXIT_DONE;
    const enum cli_exit rc = cli_read_file(path, file);
    /* an empty file is a file all the same */
    *log = (struct pith_report_log){path, file->data ? (const char *)file->data : "", file->bytes};
    return rc;
}

/* As the network stores the preprocessing, or what it was made from. */
static enum cli_exit open_feed(struct making *k)
{
    struct cli_feed_options feed = k->o->feed;
    if (!feed.preprocess)
        feed.preprocess = pith_model_get_meta(k->packed.outline, "preprocess");
    if (!feed.preprocess && k->vs.data)
        feed.preprocess = pith_model_get_meta(k->vs.outline, "preprocess");
    return cli_open_feed(&feed, k->packed.outline, NULL, 0, &k->feed);
}

static enum cli_exit check_options(const struct report_options *o, uint32_t n_operands)
{
    if (n_operands > 1 && o->vs) {
        cli_error("--vs goes with one network; two operands are compared with each other");
        return EXIT_USAGE;
    }
    if (!o->common.output) {
        cli_error("name the page: -o report.html");
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

static enum cli_exit make_folder(const char *path)
{
    struct stat s;
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &s) == 0 && S_ISDIR(s.st_mode)))
        return EXIT_DONE;
    cli_error("%s: cannot make the folder: %s", path, strerror(errno));
    return EXIT_IO;
}

/* ---- callbacks ------------------------------------------------------------------------------- */

static bool write_figure(void *user, const char *name, const char *svg, size_t bytes)
{
    struct making *k = user;
    struct pith_error err = {0};
    char path[4096];
    const int n = snprintf(path, sizeof path, "%s/%s.svg", k->o->svg, name);
    if (n < 0 || (size_t)n >= sizeof path) {
        cli_error("--svg: the path is too long");
        k->rc = EXIT_USAGE;
    } else if (pith_file_write(path, svg, bytes, &err))
        k->rc = cli_fail(&err);
    return !k->rc;
}

static bool progress(void *user, const char *part, uint64_t done, uint64_t all)
{
    struct making *k = user;
    k->bar.total = all;
    cli_progress_detail(&k->bar, part);
    return cli_progress_step(&k->bar, done);
}

/* ---- the command ----------------------------------------------------------------------------- */

static void add_word(char *to, size_t room, const char *option, const char *word)
{
    const size_t n = strlen(to);
    if (word && n < room)
        snprintf(to + n, room - n, "%s%s %s", n ? " " : "", option, word);
}

/* Without folders: the page does not depend on where it was made. */
static void command_text(const struct making *k, char **operands, uint32_t n, char *to, size_t room)
{
    const struct report_options *o = k->o;
    char seconds[32];
    to[0] = '\0';
    add_word(to, room, "pith", "report");
    for (uint32_t i = 0; i < n; i++)
        add_word(to, room, "", last_part(operands[i]));
    add_word(to, room, "--vs", o->vs ? last_part(o->vs) : NULL);
    for (uint32_t i = 0; i < o->feed.data.n; i++)
        add_word(to, room, "-d", last_part(o->feed.data.item[i]));
    add_word(to, room, "--labels", o->feed.labels ? last_part(o->feed.labels) : NULL);
    add_word(to, room, "--range", o->feed.range);
    add_word(to, room, "--preprocess", o->feed.preprocess);
    for (uint32_t i = 0; i < o->feed.states.n; i++)
        add_word(to, room, "--state", o->feed.states.item[i]);
    add_word(to, room, "--sweep", o->sweep ? last_part(o->sweep) : NULL);
    add_word(to, room, "--log", o->log ? last_part(o->log) : NULL);
    snprintf(seconds, sizeof seconds, "%gs", o->seconds);
    add_word(to, room, "--time", o->seconds > 0 ? seconds : NULL);
}

static enum cli_exit make_page(struct making *k, struct pith_report_opts *opts)
{
    const struct report_options *o = k->o;
    struct pith_error err = {0};
    struct pith_buffer html = {0};
    struct pith_engine_opts engine;
    enum cli_exit rc = cli_engine_opts(&o->common, &engine);
    if (rc)
        return rc;
    opts->threads = engine.threads;
    opts->cpu_mask = engine.cpu_mask;
    opts->seconds = o->seconds;
    opts->figure = o->svg ? write_figure : NULL;
    opts->progress = progress;
    opts->user = k;
    cli_progress_start(&k->bar, &o->common, "report", 0);
    const enum pith_status st = pith_report(opts, &html, &err);
    cli_progress_end(&k->bar);
    if (st)
        return k->rc ? k->rc : cli_fail(&err);
    rc = cli_write_output(&o->common, html.data, html.bytes);
    if (!rc && o->common.json)
        cli_json_size(html.bytes);
    pith_buffer_free(&html);
    return rc;
}

static enum cli_exit open_all(struct making *k, char **operands, uint32_t n_operands,
                              struct pith_report_opts *opts)
{
    const struct report_options *o = k->o;
    const char *net = operands[n_operands - 1], *vs = n_operands > 1 ? operands[0] : o->vs;
    enum cli_exit rc = check_options(o, n_operands);
    if (!rc)
        rc = cli_check_output(&o->common, net);
    if (!rc && o->svg)
        rc = make_folder(o->svg);
    if (!rc)
        rc = cli_load_packed(net, &k->packed);
    if (!rc && vs)
        rc = cli_load_packed(vs, &k->vs);
    if (!rc && o->feed.data.n)
        rc = open_feed(k);
    if (!rc)
        rc = read_log(o->log, &k->log, &opts->curve);
    if (!rc)
        rc = read_log(o->sweep, &k->sweep, &opts->sweep);
    if (rc)
        return rc;
    opts->name = last_part(net);
    opts->packed = &k->packed;
    opts->vs_name = vs ? last_part(vs) : NULL;
    opts->vs = vs ? &k->vs : NULL;
    opts->onnx_bytes = other_bytes(net, &k->packed);
    opts->vs_onnx_bytes = vs ? other_bytes(vs, &k->vs) : 0;
    opts->two_models = n_operands > 1;
    opts->feed = o->feed.data.n ? &k->feed.feed : NULL;
    opts->data_name = o->feed.data.n ? last_part(o->feed.data.item[0]) : NULL;
    return EXIT_DONE;
}

static enum cli_exit run(void *options_given, char **operands, uint32_t n_operands)
{
    struct making k = {.o = options_given};
    struct pith_report_opts opts = {.size_bytes = sizeof opts};
    char command[2048];
    command_text(&k, operands, n_operands, command, sizeof command);
    opts.command = command;
    enum cli_exit rc = open_all(&k, operands, n_operands, &opts);
    if (!rc)
        rc = make_page(&k, &opts);
    cli_close_feed(&k.feed);
    pith_packed_free(&k.packed);
    pith_packed_free(&k.vs);
    pith_buffer_free(&k.log);
    pith_buffer_free(&k.sweep);
    return rc;
}

const struct cli_command cmd_report = {
    "report",
    "look",
    "one HTML page: bytes, graph, accuracy, weights of a network",
    "pith report NET [--vs ORIGINAL] [-d DATA] -o report.html\n"
    "pith report A B [-d DATA] -o report.html",
    "Writes a static page of at most 500 KB without scripts or anything from outside. The same "
    "inputs\n"
    "give the same bytes, except for times (--time). Two networks: what differs between A and B.\n"
    "--vs adds the state before compression and, with -d, what each layer loses when it alone is\n"
    "compressed. -d adds accuracy, changed predictions and activations.\n"
    "<script type=\"application/json\" id=\"pith\"> in the page holds every "
    "number.\n" CLI_STATE_TEXT "\n"
    "  pith report net.pith --vs net.onnx -d val.tar -o report.html\n"
    "  pith compress net.onnx -d val.tar --log net.jsonl -o net.pith\n"
    "  pith report net.pith --vs net.onnx --log net.jsonl -o report.html --svg figures",
    options,
    sizeof(struct report_options),
    1,
    2,
    run,
    NULL};
