/* SPDX-License-Identifier: MIT */
/* pith calibrate: what numbers a network's values take, and the integers for them. */
#include <inttypes.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdio.h>
#include <string.h>
#include "feed_options.h"
#include "json_out.h"
#include "pith_calibrate.h"
#include "range_table.h"

struct calibrate_options {
    struct cli_common common;
    struct cli_feed_options feed;
    uint64_t samples, bits;
    double percentile;
    const char *method, *per;
    bool symmetric, radix, merge, add;
};

static const struct cli_option options[] = {
    CLI_FEED_DATA_OPTIONS(struct calibrate_options, feed),
    CLI_STATE_OPTION(struct calibrate_options, feed),
    {0, "preprocess", OPTION_TEXT, offsetof(struct calibrate_options, feed.preprocess), "SPEC",
     "instead of what the model stores", 0, 0},
    {0, "samples", OPTION_UINT, offsetof(struct calibrate_options, samples), "N",
     "the first N samples (default: all)", 1, 0},
    {0, "method", OPTION_TEXT, offsetof(struct calibrate_options, method), "HOW",
     "auto (default), max, percentile, kl, mse, aciq", 0, 0},
    {0, "percentile", OPTION_NUMBER, offsetof(struct calibrate_options, percentile), "P",
     "share kept by percentile: above 50 to 100 (default 99.99)", 50, 100},
    {0, "bits", OPTION_UINT, offsetof(struct calibrate_options, bits), "B",
     "bits an integer: 2 to 16 (default 8)", 2, 16},
    {0, "per", OPTION_TEXT, offsetof(struct calibrate_options, per), "WHAT",
     "one scale per tensor, channel, or depthwise (default)", 0, 0},
    {0, "symmetric", OPTION_FLAG, offsetof(struct calibrate_options, symmetric), NULL,
     "zero point 0", 0, 0},
    {0, "radix", OPTION_FLAG, offsetof(struct calibrate_options, radix), NULL,
     "scales are powers of two; symmetric, too", 0, 0},
    {0, "add", OPTION_FLAG, offsetof(struct calibrate_options, add), NULL,
     "to what the model has seen; else that is forgotten", 0, 0},
    {0, "merge", OPTION_FLAG, offsetof(struct calibrate_options, merge), NULL,
     "put together several calibrated copies of a model", 0, 0},
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

static enum cli_exit read_options(const struct calibrate_options *o, struct pith_range_opts *r)
{
    static const char *const pers[] = {"depthwise", "tensor", "channel", NULL};
    int per;
    *r = (struct pith_range_opts){.size_bytes = sizeof *r,
                                  .percentile = o->percentile,
                                  .bits = (uint32_t)o->bits,
                                  .symmetric = o->symmetric,
                                  .radix = o->radix};
    for (int k = PITH_RANGE_MAX; o->method && k <= PITH_RANGE_AUTO; k++)
        if (strcmp(o->method, pith_range_method_text((enum pith_range_method)k)) == 0)
            r->method = (enum pith_range_method)k;
    if (o->method && r->method == 0) {
        cli_error("--method '%s': give max, percentile, kl, mse, aciq or auto", o->method);
        return EXIT_USAGE;
    }
    if (!cli_find_word(o->per, pers, &per)) {
        cli_error("--per '%s': give depthwise, tensor or channel", o->per);
        return EXIT_USAGE;
    }
    r->per = (enum pith_range_per)per;
    return EXIT_DONE;
}

/* What only a run over data heeds; NULL: not given. */
static const char *needs_data(const struct calibrate_options *o)
{
    bool automatic = o->method && strcmp(o->method, "auto") == 0;
    return o->add               ? "--add"
           : o->samples         ? "--samples"
           : o->feed.range      ? "--range"
           : o->feed.labels     ? "--labels"
           : o->feed.states.n   ? "--state"
           : o->feed.preprocess ? "--preprocess"
           : automatic          ? "--method auto"
                                : NULL;
}

/* auto compares the proposal of percentile with the others. */
static bool heeds_percentile(const struct calibrate_options *o)
{
    return o->method ? strcmp(o->method, "percentile") == 0 || strcmp(o->method, "auto") == 0
                     : o->feed.data.n > 0;
}

static enum cli_exit check_usage(const struct calibrate_options *o, uint32_t n_operands)
{
    if (o->merge && (o->feed.data.n > 0 || o->add)) {
        cli_error("--merge takes calibrated models, no data");
        return EXIT_USAGE;
    }
    if (o->merge && n_operands < 2) {
        cli_error("--merge: give at least two calibrated copies of a model");
        return EXIT_USAGE;
    }
    if (!o->merge && n_operands > 1) {
        cli_error("give one model (--merge puts several together)");
        return EXIT_USAGE;
    }
    if (o->feed.data.n == 0 && needs_data(o)) {
        cli_error("%s has no effect without data: give -d DATA", needs_data(o));
        return EXIT_USAGE;
    }
    if (o->percentile != 0 && !heeds_percentile(o)) {
        cli_error("--percentile has no effect here: give --method percentile");
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

/* ---- what is done ---------------------------------------------------------------------------- */

struct calibrating {
    const struct calibrate_options *o;
    struct pith_model *m;
    struct cli_feed feed;
    struct pith_calibrate_opts samples;
    struct cli_progress bar;
    uint64_t n_seen;
};

static bool step(void *user, uint64_t done, uint64_t total)
{
    (void)total;
    return cli_progress_step(user, done);
}

/* Two plans are made, one behind the other: what the first took goes back to the system. */
static void return_large_blocks(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

/* An interrupted run would give ranges of fewer samples than asked for: nothing is written. */
static enum cli_exit observe(struct calibrating *c)
{
    struct pith_error err = {0};
    struct pith_engine_opts e;
    enum cli_exit rc = cli_open_feed(&c->o->feed, c->m, NULL, 0, &c->feed);
    if (!rc)
        rc = cli_engine_opts(&c->o->common, &e);
    if (rc)
        return rc;
    uint64_t total = pith_feed_count(&c->feed.feed);
    c->samples = (struct pith_calibrate_opts){.size_bytes = sizeof c->samples,
                                              .feed = &c->feed.feed,
                                              .n_samples = c->o->samples,
                                              .threads = e.threads,
                                              .cpu_mask = e.cpu_mask,
                                              .progress = step,
                                              .user = &c->bar};
    if (!c->o->add)
        pith_calibrate_reset(c->m);
    cli_progress_start(&c->bar, &c->o->common, "calibrate",
                       c->o->samples && c->o->samples < total ? c->o->samples : total);
    enum pith_status st = pith_calibrate(c->m, &c->samples, &c->n_seen, &err);
    cli_progress_end(&c->bar);
    if (st)
        return cli_fail(&err);
    return cli_interrupted() ? EXIT_INTERRUPTED : EXIT_DONE;
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

static enum cli_exit choose(struct calibrating *c, struct pith_range_opts *r,
                            struct pith_range_report *report)
{
    struct pith_error err = {0};
    bool has_data = c->o->feed.data.n > 0;
    if (has_data) {
        r->samples = &c->samples;
        cli_progress_start(&c->bar, &c->o->common, "choose", 0);
    }
    enum pith_status st = pith_choose_grids(c->m, r, report, &err);
    if (has_data)
        cli_progress_end(&c->bar);
    if (st)
        return cli_fail(&err);
    return cli_interrupted() ? EXIT_INTERRUPTED : EXIT_DONE;
}

/* ---- what is told ---------------------------------------------------------------------------- */

static uint64_t most_samples(const struct pith_model *m)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < m->n_inputs; i++) {
        const struct pith_value_stats *s = m->values[m->inputs[i]].stats;
        n = s && s->n_samples > n ? s->n_samples : n;
    }
    return n;
}

/* What the model holds now is told by one entry, whatever came before it. */
static void drop_history(struct pith_model *m)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_history; i++)
        if (strcmp(m->history[i].key, "calibrate") != 0)
            m->history[n++] = m->history[i];
    m->n_history = n;
}

static enum cli_exit add_history(const struct calibrating *c, const struct pith_range_opts *r)
{
    char text[160];
    enum pith_range_method method = r->method           ? r->method
                                    : c->o->feed.data.n ? PITH_RANGE_AUTO
                                                        : PITH_RANGE_MSE;
    snprintf(text, sizeof text, "{\"samples\": %" PRIu64 ", \"method\": \"%s\", \"bits\": %u%s%s}",
             most_samples(c->m), pith_range_method_text(method), r->bits ? r->bits : 8,
             r->symmetric ? ", \"symmetric\": true" : "", r->radix ? ", \"radix\": true" : "");
    drop_history(c->m);
    return pith_model_add_history(c->m, "calibrate", text) ? cli_no_memory() : EXIT_DONE;
}

static void warn(const struct calibrating *c, const struct pith_range_report *r)
{
    if (r->n_without)
        cli_warn("%u values were infinite or have no statistics: they have no grid", r->n_without);
    if (r->n_tiny)
        cli_warn("%u values have a scale below 2^-126: it was set to that", r->n_tiny);
    if (r->n_zero && c->o->common.verbose)
        cli_warn("%u values were always 0: their scale is 1", r->n_zero);
}

static void print_json(const struct calibrating *c, const struct pith_range_report *r,
                       uint64_t bytes)
{
    cli_json_begin();
    cli_json_uint("bytes", bytes);
    cli_json_uint("samples", most_samples(c->m));
    cli_json_uint("grids", r->n_grids);
    cli_json_uint("runs", r->n_runs);
    cli_json_open("methods", '{');
    for (int k = PITH_RANGE_MAX; k < PITH_RANGE_AUTO; k++)
        cli_json_uint(pith_range_method_text((enum pith_range_method)k), r->n_method[k]);
    cli_json_close('}');
    cli_json_ranges(c->m);
    cli_json_end();
}

static void print_text(const struct calibrating *c, const struct pith_range_report *r)
{
    char methods[96] = "";
    for (int k = PITH_RANGE_MAX; k < PITH_RANGE_AUTO; k++) {
        size_t at = strlen(methods);
        if (r->n_method[k])
            snprintf(methods + at, sizeof methods - at, "%s%s %u", at ? ", " : "",
                     pith_range_method_text((enum pith_range_method)k), r->n_method[k]);
    }
    if (c->o->common.verbose)
        cli_print_ranges(c->m, stderr);
    cli_say(&c->o->common, "calibrate  %" PRIu64 " samples, %u grids (%s), %u of them by channel",
            most_samples(c->m), r->n_grids, methods, r->n_channel_grids);
}

static enum cli_exit calibrate(struct calibrating *c, char **operands, uint32_t n_operands)
{
    struct pith_range_opts r;
    struct pith_range_report report;
    uint64_t bytes = 0;
    enum cli_exit rc = read_options(c->o, &r);
    if (!rc)
        rc = cli_load_model(n_operands ? operands[0] : "-", NULL, &c->m);
    if (!rc && c->o->merge)
        rc = merge(c, operands, n_operands);
    if (!rc && c->o->feed.data.n > 0)
        rc = observe(c);
    if (!rc)
        rc = choose(c, &r, &report);
    if (!rc)
        rc = add_history(c, &r);
    if (!rc)
        rc = cli_write_model(&c->o->common, c->m, &bytes);
    if (rc)
        return rc;
    warn(c, &report);
    if (c->o->common.json)
        print_json(c, &report, bytes);
    print_text(c, &report);
    return EXIT_DONE;
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct calibrating c = {.o = opts};
    return_large_blocks();
    enum cli_exit rc = check_usage(c.o, n_operands);
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
    "ranges of activations, and integers for them",
    "pith calibrate [MODEL] -d DATA [--method HOW] [-o FILE]",
    "Runs samples (64 do) and keeps, in the model, a histogram of every value: memory does not "
    "grow with\n"
    "their number. From it each value gets a grid of integers. max covers all that was seen; "
    "percentile\n"
    "leaves out the rarest, kl what costs least information, mse what costs least squared error, "
    "aciq\n"
    "the same in closed form. auto takes, value by value, the choice that changes the outputs of "
    "the\n"
    "network least on a few samples (without data: mse). Without -d the grids are chosen again "
    "from\n"
    "what the model has seen.\n" CLI_STATE_TEXT "\n"
    "  pith calibrate net.pith -d images.tar --range 0:500:8 -o seen.pith\n"
    "  pith calibrate seen.pith --method max -o max.pith\n"
    "  pith calibrate --merge a.pith b.pith c.pith -o all.pith",
    options,
    sizeof(struct calibrate_options),
    0,
    CLI_LIST_MAX,
    run,
    NULL};
