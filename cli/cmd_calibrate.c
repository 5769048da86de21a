/* SPDX-License-Identifier: MIT */
/* pith calibrate: what numbers a network's values take, and the integers for them. */
#include <inttypes.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdio.h>
#include <string.h>
#include "cli/common/engine_options.h"
#include "data_check.h"
#include "feed_options.h"
#include "cli/common/json_out.h"
#include "pith_calibrate.h"
#include "pith_compress.h"
#include "cli/tables/range_table.h"
#include "cli/common/stage_options.h"

struct calibrate_options {
    struct cli_common common;
    struct cli_feed_options feed;
    struct pith_stage stage;
};

static const struct cli_option options[] = {
    CLI_FEED_DATA_OPTIONS(struct calibrate_options, feed),
    CLI_STATE_OPTION(struct calibrate_options, feed),
    {0, "preprocess", OPTION_TEXT, offsetof(struct calibrate_options, feed.preprocess), "SPEC",
     "overrides the stored preprocessing", 0, 0},
    CLI_STAGE_BASIC(struct calibrate_options, stage, PITH_STAGE_CALIBRATE),
    CLI_STAGE_SET(struct calibrate_options, stage, PITH_STAGE_CALIBRATE,
                  "any of these options by its recipe key"),
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

static void set_defaults(void *opts)
{
    pith_stage_init(&((struct calibrate_options *)opts)->stage, PITH_STAGE_CALIBRATE);
}

/* What is said of data that is not given; NULL: nothing. */
static const char *of_data(const struct cli_feed_options *feed)
{
    return feed->range        ? "--range"
           : feed->labels     ? "--labels"
           : feed->states.n   ? "--state"
           : feed->preprocess ? "--preprocess"
                              : NULL;
}

static enum cli_exit check_usage(struct calibrate_options *o, uint32_t n_operands)
{
    bool merge = o->stage.merge;
    o->stage.with_data = o->feed.data.n > 0;
    o->feed.first = o->stage.samples;
    if (merge && n_operands < 2) {
        cli_error("--merge: give at least two calibrated copies of a model");
        return EXIT_USAGE;
    }
    if (!merge && n_operands > 1) {
        cli_error("give one model (--merge puts several together)");
        return EXIT_USAGE;
    }
    if (!o->stage.with_data && of_data(&o->feed)) {
        cli_error("%s has no effect without data: give -d DATA", of_data(&o->feed));
        return EXIT_USAGE;
    }
    return cli_check_stage(&o->stage);
}

/* ---- what is done ---------------------------------------------------------------------------- */

struct calibrating {
    const struct calibrate_options *o;
    struct pith_model *m;
    struct cli_feed feed;
    struct cli_progress bar;
};

/* A bar for the samples, another for what choosing takes. */
static void show_part(void *user, const char *what, uint64_t done, uint64_t total)
{
    struct calibrating *c = user;
    if (!c->bar.what || strcmp(c->bar.what, what) != 0) {
        cli_progress_end(&c->bar);
        cli_progress_start(&c->bar, &c->o->common, what, total);
    }
    cli_progress_step(&c->bar, done);
}

static bool stop(void *user)
{
    (void)user;
    return cli_interrupted();
}

/* Two plans are made, one behind the other: what the first took goes back to the system. */
static void return_large_blocks(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

static enum cli_exit merge(struct calibrating *c, char **operands, uint32_t n_operands)
{
    for (uint32_t i = 1; i < n_operands; i++) {
        struct pith_model *other = NULL;
        struct pith_error err = {0};
        enum cli_exit rc = cli_load_model(operands[i], NULL, &other);
        if (!rc && pith_calibrate_merge(c->m, other, &err))
            rc = cli_fail(&err);
        pith_model_free(other);
        if (rc)
            return rc;
    }
    return EXIT_DONE;
}

static enum cli_exit run_stage(struct calibrating *c, struct pith_stage_report *report)
{
    struct pith_error err = {0};
    struct pith_engine_opts e;
    struct pith_stage_context context = {.size_bytes = sizeof context,
                                         .seed = c->o->common.seed,
                                         .stop = stop,
                                         .user = c,
                                         .part = show_part};
    bool has_data = c->o->stage.with_data;
    enum cli_exit rc = has_data ? cli_open_feed(&c->o->feed, c->m, NULL, 0, &c->feed) : EXIT_DONE;
    if (!rc && has_data)
        rc = cli_check_outputs(&c->o->common, NULL, c->m, &c->feed.feed);
    if (!rc && has_data)
        rc = cli_engine_opts(&c->o->common, &e);
    if (rc)
        return rc;
    if (has_data) {
        context.feed = &c->feed.feed;
        context.threads = e.threads;
        context.cpu_mask = e.cpu_mask;
    }
    enum pith_status st = pith_stage_run_with(c->m, &c->o->stage, &context, report, &err);
    cli_progress_end(&c->bar);
    if (st)
        return cli_fail(&err);
    return cli_interrupted() ? EXIT_INTERRUPTED : EXIT_DONE;
}

/* ---- output --------------------------------------------------------------------------------- */

static void warn(const struct calibrating *c, const struct pith_range_report *r)
{
    if (r->n_without)
        cli_warn("%u values were infinite or have no statistics: they have no grid", r->n_without);
    if (r->n_tiny)
        cli_warn("%u values have a scale below 2^-126: it was set to that", r->n_tiny);
    if (r->n_zero && c->o->common.verbose)
        cli_warn("%u values were always 0: their scale is 1", r->n_zero);
}

static void print_json(const struct calibrating *c, const struct pith_stage_report *report,
                       uint64_t bytes)
{
    const struct pith_range_report *r = &report->ranges;
    cli_json_begin();
    cli_json_uint("bytes", bytes);
    cli_json_uint("samples", report->n_samples);
    cli_json_uint("grids", r->n_grids);
    cli_json_uint("runs", r->n_runs);
    cli_json_open("methods", '{');
    for (int k = PITH_RANGE_MAX; k < PITH_RANGE_AUTO; k++)
        cli_json_uint(pith_range_method_text((enum pith_range_method)k), r->n_method[k]);
    cli_json_close('}');
    cli_json_ranges(c->m);
    cli_json_end();
}

static void print_text(const struct calibrating *c, const struct pith_stage_report *report)
{
    const struct pith_range_report *r = &report->ranges;
    char methods[96] = "";
    for (int k = PITH_RANGE_MAX; k < PITH_RANGE_AUTO; k++) {
        size_t at = strlen(methods);
        if (r->n_method[k])
            snprintf(methods + at, sizeof methods - at, "%s%s %u", at ? ", " : "",
                     pith_range_method_text((enum pith_range_method)k), r->n_method[k]);
    }
    if (c->o->common.verbose)
        cli_print_ranges(c->m, stderr);
    cli_summary(&c->o->common,
                "calibrate  %" PRIu64 " samples, %u ranges (%s), %u of them per channel",
                report->n_samples, r->n_grids, methods, r->n_channel_grids);
}

static enum cli_exit calibrate(struct calibrating *c, char **operands, uint32_t n_operands)
{
    struct pith_stage_report report = {0};
    uint64_t bytes = 0;
    enum cli_exit rc = cli_load_model(n_operands ? operands[0] : "-", NULL, &c->m);
    if (!rc && c->o->stage.merge)
        rc = merge(c, operands, n_operands);
    if (!rc)
        rc = run_stage(c, &report);
    if (!rc)
        rc = cli_write_model(&c->o->common, c->m, &bytes);
    if (rc)
        return rc;
    warn(c, &report.ranges);
    if (c->o->common.json)
        print_json(c, &report, bytes);
    print_text(c, &report);
    pith_stage_report_free(&report);
    return EXIT_DONE;
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct calibrating c = {.o = opts};
    return_large_blocks();
    enum cli_exit rc = check_usage(opts, n_operands);
    if (!rc)
        rc = cli_check_model_output(&c.o->common, n_operands ? operands[0] : "-");
    if (!rc)
        rc = calibrate(&c, operands, n_operands);
    cli_close_feed(&c.feed);
    pith_model_free(c.m);
    return rc;
}

const struct cli_command cmd_calibrate = {
    "calibrate",
    "make",
    "activation ranges, scales and zero points",
    "pith calibrate [MODEL] -d DATA [--method HOW] [-o FILE]",
    "Runs the samples (64 are enough) and stores a histogram of every activation in the model; "
    "memory\n"
    "does not grow with their number. Each activation then gets a scale and a zero point from its\n"
    "range: max covers all values, percentile drops the rarest, kl minimises the loss of "
    "information,\n"
    "mse minimises the squared error, aciq does the same in closed form. auto chooses for each\n"
    "activation the method that changes the outputs of the network least on a few samples "
    "(without\n"
    "data: mse). Without -d the stored histograms are used again.\n" CLI_STATE_TEXT "\n"
    "  pith calibrate net.pith -d images.tar --range 0:500:8 -o ranges.pith\n"
    "  pith calibrate ranges.pith --method max -o max.pith\n"
    "  pith calibrate --merge a.pith b.pith c.pith -o all.pith",
    options,
    sizeof(struct calibrate_options),
    0,
    CLI_LIST_MAX,
    run,
    set_defaults};
