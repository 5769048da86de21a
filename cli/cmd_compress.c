/* SPDX-License-Identifier: MIT */
/* pith compress: the whole job - read, prune, cluster, encode, measure - under a limit. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "array_files.h"
#include "cli/common/engine_options.h"
#include "pith_onnx.h"
#include "data_check.h"
#include "feed_options.h"
#include "goal_run.h"
#include "manifest_run.h"
#include "cli/common/jobs.h"
#include "cli/common/json_out.h"
#include "cli/common/run_log.h"
#include "cli/tables/layer_table.h"
#include "pith_compress.h"
#include "pith_host.h"
#include "model/plain_copy.h"
#include "cli/common/stage_options.h"
#include "stage_command.h"
#include "training.h"

struct compress_options {
    struct cli_common common;
    struct cli_import import;
    struct cli_feed_options feed;
    struct cli_training_options from;        /* val and hold; the rest is in feed */
    struct pith_stage stage;                 /* options of the whole command */
    struct pith_requested_options requested; /* options of its stages */
    const char *checkpoint, *weigh;
    bool resume;
    const char *log;
    const char *manifest, *shard;
    uint64_t jobs;
};

static const struct cli_option options[] = {
    CLI_FEED_DATA_OPTIONS(struct compress_options, feed),
    CLI_STATE_OPTION(struct compress_options, feed),
    CLI_VALIDATION_OPTIONS(struct compress_options, from),
    CLI_STAGE_BASIC(struct compress_options, stage, PITH_STAGE_COMPRESS),
    CLI_REQUESTED_ROW(struct compress_options, requested, PITH_STAGE_PRUNE, "sparsity", NULL),
    CLI_REQUESTED_ROW(struct compress_options, requested, PITH_STAGE_CLUSTER, "bits",
                      "bits of a codebook index: 1 to 8 (default 8 or the preset's)"),
    CLI_REQUESTED_ROW(struct compress_options, requested, PITH_STAGE_ENCODE, "for", NULL),
    CLI_REQUESTED_ROW(struct compress_options, requested, PITH_STAGE_ENCODE, "lossless",
                      "bit-identical outputs: detect quantized weights, entropy-code"),
    CLI_REQUESTED_SET(struct compress_options, requested),
    {0, "", OPTION_HEADING, 0, NULL, "More", 0, 0},
    CLI_STAGE_PLAIN(struct compress_options, stage, PITH_STAGE_COMPRESS),
    CLI_IMPORT_OPTIONS(struct compress_options, import),
    {0, "", OPTION_ADVANCED, 0, NULL, NULL, 0, 0},
    CLI_STAGE_RARE(struct compress_options, stage, PITH_STAGE_COMPRESS),
    {0, "weigh", OPTION_TEXT, offsetof(struct compress_options, weigh), "OUT=W,..",
     "factor of an output's loss: 10 is 10 dB more, 0 ignores it", 0, 0},
    CLI_LOG_OPTION(struct compress_options, log, CLI_LOG_HELP),
    {0, "checkpoint", OPTION_TEXT, offsetof(struct compress_options, checkpoint), "FILE",
     "save the state of the search in FILE", 0, 0},
    {0, "resume", OPTION_FLAG, offsetof(struct compress_options, resume), NULL,
     "continue from --checkpoint", 0, 0},
    {0, "manifest", OPTION_TEXT, offsetof(struct compress_options, manifest), "FILE.csv",
     "compress the network of each row, each in a process of its own", 0, 0},
    {'j', "jobs", OPTION_UINT, offsetof(struct compress_options, jobs), "N",
     "networks of the manifest at a time (default 1)", 1, CLI_MAX_JOBS},
    {0, "shard", OPTION_TEXT, offsetof(struct compress_options, shard), "I/N",
     "only networks I, I+N, I+2N, ... of the manifest", 0, 0},
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

static void set_defaults(void *opts)
{
    pith_stage_init(&((struct compress_options *)opts)->stage, PITH_STAGE_COMPRESS);
}

static enum cli_exit read_recipe(const char *path, struct pith_recipe **recipe)
{
    struct pith_error err = {0};
    struct pith_buffer file;
    enum cli_exit rc = cli_read_file(path, &file);
    if (rc)
        return rc;
    if (pith_recipe_parse((const char *)file.data, file.bytes, path, recipe, &err))
        rc = cli_fail(&err);
    pith_buffer_free(&file);
    return rc;
}

static enum cli_exit refuse_changes(const struct compress_options *o)
{
    bool changes = o->stage.preset != NULL;
    for (uint32_t i = 0; i < o->requested.n; i++)
        changes = changes || o->requested.option[i].kind != PITH_STAGE_ENCODE;
    if (!changes || !pith_requests_lossless(&o->requested))
        return EXIT_DONE;
    cli_error("--lossless cannot go with --preset, --sparsity or --bits, which change outputs");
    return EXIT_USAGE;
}

static enum cli_exit get_recipe(const struct compress_options *o, struct pith_recipe **recipe)
{
    struct pith_error err = {0};
    enum cli_exit rc = cli_check_stage(&o->stage);
    if (!rc && o->stage.recipe && o->requested.n) {
        cli_error("give a recipe, or --preset and options of stages");
        return EXIT_USAGE;
    }
    if (!rc)
        rc = refuse_changes(o);
    if (!rc && o->stage.recipe)
        rc = read_recipe(o->stage.recipe, recipe);
    else if (!rc && pith_recipe_make(o->stage.preset, &o->requested, recipe, &err))
        rc = cli_fail(&err);
    if (!rc)
        pith_recipe_set_goal(*recipe, &o->stage);
    return rc;
}

struct display {
    const struct cli_common *common;
    struct cli_progress bar;
};

static void show_stage(void *user, const char *what, uint64_t total)
{
    struct display *d = user;
    cli_progress_end(&d->bar);
    cli_progress_start(&d->bar, d->common, what, total);
}

/* A line for each epoch, with the bar out of its way. */
static void show_epoch(void *user, const struct pith_train_progress *p)
{
    struct display *d = user;
    cli_progress_end(&d->bar);
    cli_print_epoch(d->common, p);
    cli_progress_start(&d->bar, d->common, "train", 0);
}

static void show_report(void *user, const struct pith_stage *stage,
                        const struct pith_stage_report *report)
{
    struct display *d = user;
    cli_progress_end(&d->bar);
    if (stage->kind == PITH_STAGE_QUANTIZE && !d->common->quiet)
        cli_print_quantized(d->common, report);
}

static bool step(void *user, uint64_t done)
{
    return cli_progress_step(&((struct display *)user)->bar, done);
}

static double top1(const struct pith_accuracy *a)
{
    return (double)a->correct1 / (double)a->predictions;
}

/* Where a result goes; one that misses its goal never gets the requested name: net.pith becomes
 * net.best.pith, and of standard output nothing. */
struct target {
    const char *input;
    struct cli_common common; /* with the name that is written */
    char missed[CLI_BEST_BYTES];
    bool dropped;    /* nothing is written */
    bool unmeasured; /* outputs may change, and there is no data to show how much */
};

static enum cli_exit choose_target(struct target *t, bool met)
{
    const char *path = t->common.output;
    if (met)
        return EXIT_DONE;
    t->dropped = !path || strcmp(path, "-") == 0;
    if (t->dropped)
        return EXIT_DONE;
    enum cli_exit rc = cli_best_path(path, t->missed);
    if (rc)
        return rc;
    t->dropped = cli_same_file(t->input, t->missed);
    t->common.output = t->missed;
    t->common.force = true; /* the file of an earlier miss is replaced: pith chose its name */
    return EXIT_DONE;
}

static enum cli_exit write_result(struct target *t, const struct pith_model *m,
                                  const struct pith_compress_result *r)
{
    enum cli_exit rc = choose_target(t, r->met);
    if (rc || t->dropped)
        return rc;
    if (t->common.output == t->missed)
        rc = cli_check_writable(t->missed);
    return rc ? rc : cli_write_packed(&t->common, m, &r->file);
}

static void json_text(const char *key, const char *text)
{
    if (text)
        cli_json_string(key, text);
    else
        cli_json_raw(key, "null");
}

/* Without data the measured members are null; for regression data they are PSNR in dB. `written` is
 * the file that there is now, null where there is none. */
static void print_json(const struct target *t, const struct pith_compress_result *r,
                       const struct layer_rows *layers, uint64_t before_bytes, double seconds)
{
    bool db = r->has_accuracy && r->before.regression;
    bool nowhere = t->dropped || t->common.dry_run;
    cli_json_begin();
    cli_json_string("input", t->input);
    json_text("written", nowhere ? NULL : t->common.output);
    cli_json_uint("bytes", r->file.bytes);
    cli_json_number("ratio", (double)before_bytes / (double)r->file.bytes);
    json_text("metric", !r->has_accuracy ? NULL : db ? "psnr" : "top1");
    cli_json_number("before", !r->has_accuracy ? NAN : db ? r->before.psnr : top1(&r->before));
    cli_json_number("after", !r->has_accuracy ? NAN : db ? r->after.psnr : top1(&r->after));
    cli_json_number("drop", r->has_accuracy ? r->drop : NAN);
    cli_json_number("limit", r->limit >= 0 ? r->limit : NAN);
    cli_json_number("seconds", seconds);
    cli_json_bool("met", r->met);
    cli_json_layers(layers);
    cli_json_end();
}

static void print_summary(const struct target *t, const struct pith_compress_result *r,
                          uint64_t before_bytes)
{
    char before[32], after[32], ratio[32], accuracy[80] = "";
    if (r->has_accuracy && r->before.regression)
        snprintf(accuracy, sizeof accuracy, "  psnr %.2f dB (was %.2f)", r->after.psnr,
                 r->before.psnr);
    else if (r->has_accuracy)
        snprintf(accuracy, sizeof accuracy, "  top-1 %.2f%% (was %.2f%%, %+.2f)",
                 100 * top1(&r->after), 100 * top1(&r->before), -100 * r->drop);
    else if (t->unmeasured)
        snprintf(accuracy, sizeof accuracy, "  (without -d DATA the loss is not measured)");
    cli_summary(&t->common, "%s  %s, was %s: %s%s",
                t->dropped         ? "(not written)"
                : t->common.output ? t->common.output
                                   : "-",
                cli_format_bytes(r->file.bytes, after), cli_format_bytes(before_bytes, before),
                cli_ratio_text((double)before_bytes, (double)r->file.bytes, ratio), accuracy);
}

/* What is printed is made first: after the file is there nothing may fail. */
static void log_result(const struct target *t, const struct pith_compress_result *r)
{
    struct cli_event e = CLI_EVENT("file");
    const bool labels = r->has_accuracy && !r->after.regression;
    e.file = t->dropped ? NULL : t->common.output;
    e.bytes = (double)r->file.bytes;
    e.loss = r->has_accuracy ? r->after.loss : NAN;
    e.accuracy = labels ? top1(&r->after) : NAN;
    e.drop = labels ? r->drop : NAN;
    cli_log(&e);
}

static enum cli_exit put_out(struct target *t, const struct pith_model *m,
                             const struct pith_compress_result *r, uint64_t before_bytes,
                             double seconds)
{
    struct layer_rows rows;
    enum cli_exit rc = cli_layer_rows(r->file.data, r->file.bytes, "the result", NULL, &rows);
    if (!rc)
        rc = cli_count_nonzeros(&rows, r->file.data, r->file.bytes, "the result");
    if (rc)
        return rc;
    rc = write_result(t, m, r);
    if (!rc && t->common.json)
        print_json(t, r, &rows, before_bytes, seconds);
    if (!rc && !t->common.quiet)
        cli_print_layers(&rows, stderr);
    if (!rc)
        print_summary(t, r, before_bytes);
    if (!rc)
        log_result(t, r);
    cli_warn_nothing_kept(&rows);
    cli_layer_rows_free(&rows);
    return rc;
}

/* In one line, with what became of the file. */
static enum cli_exit report_missed(const struct target *t, const struct pith_error *err)
{
    if (t->dropped || t->common.dry_run)
        cli_error("%s: nothing is written", err->text);
    else
        cli_error("%s: saved as %s", err->text, t->missed);
    return EXIT_NO;
}

/* What measures and what trains. With --val or --hold, -d trains and they measure. */
struct job_data {
    struct cli_feed feed; /* -d, where it measures */
    struct pith_data *train, *val;
    struct pith_feed_input val_input;
    struct pith_feed val_feed;
};

/* Quantizing learns ranges, if nothing else, from the samples that there are: of several inputs it
 * takes those that measure. */
static bool trains(const struct compress_options *o, const struct pith_recipe *recipe)
{
    bool one_input = o->feed.data.n == 1 && o->feed.states.n == 0;
    for (uint32_t i = 0; i < recipe->n_stages; i++)
        if (pith_stage_trains(&recipe->stages[i]) ||
            ((recipe->stages[i].kind == PITH_STAGE_QUANTIZE ||
              recipe->stages[i].kind == PITH_STAGE_CALIBRATE) &&
             one_input))
            return true;
    return false;
}

static enum cli_exit open_training(const struct compress_options *o, struct pith_model *m,
                                   struct job_data *d)
{
    struct cli_training_options from = {.data = o->feed.data.n ? o->feed.data.item[0] : NULL,
                                        .labels = o->feed.labels,
                                        .range = o->feed.range,
                                        .val = o->from.val,
                                        .hold = o->from.hold};
    if (o->feed.data.n > 1 || o->feed.states.n) {
        cli_error("training needs a network with one input and no --state");
        return EXIT_USAGE;
    }
    enum cli_exit rc = cli_open_training(&from, &o->common, m, &d->train, &d->val);
    if (rc || !d->val)
        return rc;
    d->val_input = (struct pith_feed_input){.data = d->val};
    d->val_feed =
        (struct pith_feed){.size_bytes = sizeof d->val_feed,
                           .n_inputs = 1,
                           .input = &d->val_input,
                           .own_sizes = pith_data_uneven(d->val) && pith_data_pictures(d->val)};
    return EXIT_DONE;
}

static enum cli_exit open_job_data(const struct compress_options *o, struct pith_model *m,
                                   const struct pith_recipe *recipe, struct job_data *d)
{
    bool has_validation = o->from.val || o->from.hold;
    if (trains(o, recipe) && !has_validation && recipe->goal.max_drop >= 0) {
        cli_error("a limit on the drop needs a validation set when stages train: --val or --hold");
        return EXIT_USAGE;
    }
    if (trains(o, recipe) || has_validation) {
        enum cli_exit rc = open_training(o, m, d);
        if (rc || has_validation)
            return rc;
        cli_warn(
            "accuracy is measured on the training samples: --val or --hold sets a validation set");
    }
    if (o->feed.data.n == 0)
        return EXIT_DONE;
    enum cli_exit rc = cli_open_feed(&o->feed, m, NULL, 0, &d->feed);
    return rc ? rc : cli_check_outputs(&o->common, NULL, m, &d->feed.feed);
}

static void close_job_data(struct job_data *d)
{
    cli_close_feed(&d->feed);
    pith_data_free(d->train);
    pith_data_free(d->val);
}

static enum cli_exit compress(const struct compress_options *o, const char *path,
                              struct pith_model *m, const struct pith_recipe *recipe,
                              const struct job_data *data, uint64_t before_bytes)
{
    struct target target = {.input = path,
                            .common = o->common,
                            .unmeasured = !o->feed.data.n && !data->val &&
                                          !pith_requests_lossless(&o->requested)};
    const struct pith_feed *feed = data->val        ? &data->val_feed
                                   : o->feed.data.n ? &data->feed.feed
                                                    : NULL;
    struct display display = {.common = &o->common};
    struct pith_watch watch = {step, &display};
    struct pith_compress_opts opts = {.size_bytes = sizeof opts,
                                      .feed = feed,
                                      .seed = o->common.seed,
                                      .max_drop = -1, /* the recipe's */
                                      .watch = &watch,
                                      .train = data->train,
                                      .val = data->val,
                                      .train_progress = show_epoch,
                                      .stop = cli_stop_training,
                                      .progress = show_stage,
                                      .report = show_report,
                                      .user = &display};
    struct pith_compress_result result = {0};
    struct pith_error err = {0};
    enum pith_status st;
    uint64_t start = pith_clock_ns(NULL);
    enum cli_exit rc = cli_engine_opts(&o->common, &opts.engine);
    if (rc)
        return rc;
    st = pith_compress(m, recipe, &opts, &result, &err);
    cli_progress_end(&display.bar);
    if (st && st != PITH_ERR_GOAL)
        return cli_fail(&err);
    rc = put_out(&target, m, &result, before_bytes, (double)(pith_clock_ns(NULL) - start) / 1e9);
    if (!rc && st == PITH_ERR_GOAL)
        rc = report_missed(&target, &err);
    pith_compress_result_free(&result);
    return rc;
}

/* A search, unless somebody says how: with data, and nothing but a goal and a header. */
static bool searches(const struct compress_options *o, const struct pith_recipe *recipe)
{
    for (uint32_t i = 0; i < o->requested.n; i++)
        if (o->requested.option[i].kind != PITH_STAGE_ENCODE ||
            strcmp(o->requested.option[i].key, "for") != 0)
            return false;
    return o->feed.data.n > 0 && (!o->stage.recipe || recipe->n_stages == 0) && !o->stage.preset &&
           !o->from.val && !o->from.hold;
}

static enum cli_exit refuse_search_goals(const struct compress_options *o,
                                         const struct pith_recipe *recipe)
{
    const struct pith_goal *g = &recipe->goal;
    if (recipe->n_stages > 0 && !o->checkpoint && !o->resume && !o->weigh &&
        !(g->min_agreement > 0) && !(g->min_snr > 0) && !(g->max_size > 0) && !(g->max_ram > 0) &&
        !(g->max_latency > 0) && !(g->time > 0) && g->run == PITH_GOAL_RUN_ANY &&
        !pith_goal_shapes(g))
        return EXIT_DONE;
    cli_error("%s needs a search: -d DATA, and no stages by recipe, preset or options (with stages "
              "only --max-drop limits)",
              o->checkpoint || o->resume ? "--checkpoint"
              : o->weigh                 ? "--weigh"
                                         : "such a goal");
    return EXIT_USAGE;
}

/* Whether --for speed was given: only a recipe made from options has requested options. */
static bool for_speed(const struct compress_options *o, const struct pith_recipe *recipe)
{
    return o->requested.n > 0 && recipe->stages[recipe->n_stages - 1].encode.goal == PITH_FOR_SPEED;
}

/* A new search throws an old one's checkpoint away: not by mistake. */
static enum cli_exit check_checkpoint(const struct compress_options *o)
{
    if (o->resume && !o->checkpoint) {
        cli_error("--resume needs --checkpoint FILE");
        return EXIT_USAGE;
    }
    if (!o->checkpoint || o->resume || o->common.force || access(o->checkpoint, F_OK) != 0)
        return o->checkpoint ? cli_check_writable(o->checkpoint) : EXIT_DONE;
    cli_error("%s exists: go on with --resume, or start anew with -f", o->checkpoint);
    return EXIT_USAGE;
}

/* Those with more centroids than weights, as exact grids have of short rows: each file of a search
 * has codebooks of its own, and beside numbers these only take memory. */
static enum cli_exit drop_large_codebooks(struct pith_model **m)
{
    struct pith_error err = {0};
    struct pith_model *copy = NULL;
    bool *plain = calloc((*m)->n_values + (size_t)1, sizeof *plain), any = false;
    if (!plain)
        return cli_no_memory();
    for (uint32_t v = 0; v < (*m)->n_values; v++) {
        const struct pith_const *c = (*m)->values[v].constant;
        const struct pith_codebook *b = c ? c->codebook : NULL;
        plain[v] = b && b->n_groups * b->n_centroids > c->count;
        any = any || plain[v];
    }
    enum pith_status st = any ? pith_model_copy_plain(*m, plain, &copy, &err) : PITH_OK;
    free(plain);
    if (copy) {
        pith_model_free(*m);
        *m = copy;
    }
    return st ? cli_fail(&err) : EXIT_DONE;
}

/* One of "boxes=1,scores=10", which ends at a comma. *weight: [outputs]. */
static enum cli_exit weigh_one(const char *one, const struct pith_model *m, double *weight)
{
    const int length = (int)strcspn(one, ",");
    const char *equals = memchr(one, '=', (size_t)length);
    const size_t name = equals ? (size_t)(equals - one) : (size_t)length;
    char *end = NULL;
    const double w = equals ? strtod(equals + 1, &end) : -1;
    if (!equals || end == equals + 1 || end != one + length || !(w >= 0) || isinf(w)) {
        cli_error("--weigh %.*s: give OUTPUT=WEIGHT, a weight of at least 0", length, one);
        return EXIT_USAGE;
    }
    for (uint32_t i = 0; i < m->n_outputs; i++)
        if (strlen(m->values[m->outputs[i]].name) == name &&
            strncmp(m->values[m->outputs[i]].name, one, name) == 0) {
            weight[i] = w;
            return EXIT_DONE;
        }
    cli_error("--weigh %.*s: the model has no output '%.*s'", length, one, (int)name, one);
    return EXIT_USAGE;
}

/* *weight: the caller's; NULL where none was requested. */
static enum cli_exit weigh_outputs(const char *weigh, const struct pith_model *m, double **weight)
{
    enum cli_exit rc = EXIT_DONE;
    bool any = false;
    *weight = weigh ? malloc((m->n_outputs + (size_t)1) * sizeof **weight) : NULL;
    if (!*weight)
        return weigh ? cli_no_memory() : EXIT_DONE;
    for (uint32_t i = 0; i < m->n_outputs; i++)
        (*weight)[i] = 1;
    for (const char *at = weigh; at && !rc; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        rc = weigh_one(at, m, *weight);
    for (uint32_t i = 0; i < m->n_outputs; i++)
        any = any || (*weight)[i] > 0;
    if (rc || any)
        return rc;
    cli_error("--weigh %s: no output is left to measure a loss on", weigh);
    return EXIT_USAGE;
}

static enum cli_exit search(struct compress_options *o, const char *path, struct pith_model *m,
                            const struct pith_recipe *recipe, uint64_t before_bytes)
{
    struct cli_feed feed = {0};
    double *weight = NULL;
    struct pith_goal goal = recipe->goal;
    struct cli_goal_run run = {.common = &o->common,
                               .input = path,
                               .goal = &goal,
                               .feed = &feed,
                               .for_speed = for_speed(o, recipe),
                               .checkpoint = o->checkpoint,
                               .resume = o->resume,
                               .before_bytes = before_bytes};
    if (!pith_goal_limits_loss(&goal) && !(goal.max_size > 0) && !(goal.max_ram > 0))
        goal.max_drop = PITH_GOAL_DEFAULT_DROP;
    enum cli_exit rc = check_checkpoint(o);
    if (!rc)
        rc = weigh_outputs(o->weigh, m, &weight);
    run.output_weight = weight;
    if (!rc)
        rc = cli_open_feed(&o->feed, m, NULL, 0, &feed);
    if (!rc)
        rc = cli_check_outputs(&o->common, NULL, m, &feed.feed);
    if (!rc)
        rc = cli_goal_run(&run, m);
    cli_close_feed(&feed);
    free(weight);
    return rc;
}

/* The output is there, and --resume has nothing to add to it: it is not written again. */
static bool is_done(const struct compress_options *o)
{
    return o->resume && o->checkpoint && o->common.output &&
           pith_goal_compress_is_done(o->checkpoint, o->common.output);
}

static enum cli_exit run_with_output(struct compress_options *o, const char *path)
{
    struct pith_import_opts import;
    struct cli_import_storage *storage = NULL;
    struct pith_recipe *recipe = NULL;
    struct pith_model *m = NULL;
    struct job_data data = {0};
    uint64_t before_bytes = 0;
    enum cli_exit rc = is_done(o) ? EXIT_DONE : cli_check_model_output(&o->common, path);
    if (!rc)
        rc = get_recipe(o, &recipe);
    if (!rc)
        rc = cli_import_opts(&o->import, &import, &storage);
    if (!rc)
        rc = cli_load_model(path, &import, &m);
    if (!rc)
        for (uint32_t i = 0; i < m->n_values; i++)
            before_bytes += pith_stored_bytes(&m->values[i]);
    if (!rc && searches(o, recipe)) {
        rc = drop_large_codebooks(&m);
        if (!rc)
            rc = search(o, path, m, recipe, before_bytes);
    } else if (!rc) {
        rc = refuse_search_goals(o, recipe);
        if (!rc)
            rc = open_job_data(o, m, recipe, &data);
        if (!rc)
            rc = compress(o, path, m, recipe, &data, before_bytes);
    }
    close_job_data(&data);
    pith_model_free(m);
    cli_import_free(storage);
    pith_recipe_free(recipe);
    return rc;
}

/* Options of one network beside --manifest: they would hold for all of them, but for some. */
static enum cli_exit refuse_options(const struct compress_options *o)
{
    struct compress_options *plain = calloc(1, sizeof *plain);
    uint32_t n;
    if (!plain)
        return cli_no_memory();
    cli_parse(cli_find_command(o->common.commands, "compress"), 0, NULL, plain, &n);
    plain->common = o->common;
    plain->manifest = o->manifest;
    plain->shard = o->shard;
    plain->jobs = o->jobs;
    const bool same = memcmp(o, plain, sizeof *plain) == 0 && !o->common.output;
    free(plain);
    if (same)
        return EXIT_DONE;
    cli_error("with --manifest, options of networks are columns of %s", o->manifest);
    return EXIT_USAGE;
}

static enum cli_exit run_manifest(const struct compress_options *o, uint32_t n_operands)
{
    const struct cli_manifest_run run = {cli_find_command(o->common.commands, "compress"),
                                         &o->common, o->manifest, o->shard, o->jobs ? o->jobs : 1};
    if (n_operands == 0) {
        enum cli_exit rc = refuse_options(o);
        return rc ? rc : cli_manifest_run(&run);
    }
    cli_error("--manifest and a model: networks are rows of %s", o->manifest);
    return EXIT_USAGE;
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct compress_options *o = opts;
    char *derived = NULL;
    enum cli_exit rc;
    if (o->manifest)
        return run_manifest(o, n_operands);
    if (n_operands == 0 || o->jobs || o->shard) {
        cli_error(n_operands == 0 ? "give a model, or --manifest FILE.csv"
                                  : "-j and --shard need --manifest FILE.csv");
        return EXIT_USAGE;
    }
    if (!o->common.output && strcmp(operands[0], "-") != 0) {
        derived = cli_derive_output(operands[0]);
        if (!derived)
            return cli_no_memory();
        o->common.output = derived;
    }
    rc = cli_log_start(o->log, "compress", operands[0]);
    if (!rc)
        rc = run_with_output(o, operands[0]);
    free(derived);
    return cli_log_end(rc);
}

const struct cli_command cmd_compress = {
    "compress",
    "make",
    "the smallest file within a goal",
    "pith compress MODEL [-d DATA] [--max-drop 0.5%] [--max-size B] [--preset NAME | -r FILE]",
    "Writes the smallest file within the goal. More, and many networks: pith help "
    "compress-advanced.\n"
    "  pith compress net.onnx -d pictures/ -o net.pith\n"
    "\fThe search writes up to 8 files and keeps the smallest within the goal; -n prints a range "
    "of\n"
    "bytes in seconds. --max-drop P% (default 0.5%): with labels, at most P points of top-1\n"
    "(with targets: P dB of PSNR). Without labels, or where the test samples do not resolve P\n"
    "points, the mean KL\n"
    "divergence from the original's classes is at most 4 P nats (0.5%: 0.02). Outputs that are "
    "not\n"
    "classes keep an SQNR of 30 dB at 0.5%, and 3 dB less for each doubling of P. Of several "
    "outputs\n"
    "the worst decides (--weigh). An output is read as class scores after a Softmax, or where it "
    "is the\n"
    "only output, a row of numbers from a last product, and shorter than the input.\n"
    "Samples are split at random: 10 of 16 calibrate, 3 select, 3 test; 256 are good, 2 the "
    "minimum.\n"
    "Selection adds one standard error to each loss; the verdict uses the loss on the test "
    "samples.\n"
    "--run any uses float arithmetic, or integers where float files miss the goal. --pattern and\n"
    "--levels apply to the layers that pith prune would prune; weights are removed by cost, not by "
    "size.\n"
    "\n"
    "A missed goal ends with exit 1: the nearest file is written as net.best.pith, and net.pith "
    "stays as\n"
    "it was (with -o - nothing is written). When --time is over, the best file so far decides "
    "between\n"
    "exit 0 and 1. An interrupt leaves the best file so far in net.best.pith; the same command "
    "with\n"
    "--checkpoint FILE and --resume continues, to the same bytes. Without -o, net.onnx gives "
    "net.pith\n"
    "in the current folder.\n"
    "\n"
    "With --bits, --sparsity, a recipe (pith help recipe) or a preset the stages run once, and\n"
    "--max-drop alone decides. Without data the default is: cluster to 8 bits, encode. Recipes "
    "may\n"
    "train on -d and validate on --val or --hold. Options of stages (--sparsity, --set "
    "train.epochs=4)\n"
    "override the preset. --lossless only encodes: outputs stay bit-identical.\n"
    "\n"
    "--manifest NETS.csv compresses many networks. Its first line names the columns: model, goal "
    "(0.5%,\n"
    "or options), and other options by their names (data, labels, preprocess, input_shape, "
    "output).\n"
    "Repeated options have ';' between their values. Each network runs in a process of its own; "
    "what it\n"
    "prints goes to OUTPUT.log, its result to a line of NETS.jsonl. The same command continues: "
    "networks\n"
    "whose options and files (by size and time) are unchanged are not run again. -n prints the "
    "table\n"
    "alone. Exit 1: some missed their goal; otherwise the largest exit code of those that failed.\n"
    "\n"
    "  pith compress net.onnx -d val.tar --preprocess imagenet --max-drop 1% --max-size 2M\n"
    "  pith compress net.onnx -d train.idx --hold 0::10 --preset deep-compression --max-drop 0.5%\n"
    "  pith compress net.onnx --bits 6\n"
    "  pith compress net.onnx --lossless --for size\n"
    "  pith compress --manifest nets.csv -j 4\n"
    "  pith compress --manifest nets.csv --shard $SLURM_ARRAY_TASK_ID/30",
    options,
    sizeof(struct compress_options),
    0,
    1,
    run,
    set_defaults};
