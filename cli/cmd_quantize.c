/* SPDX-License-Identifier: MIT */
/* pith quantize: integers for weights and activations. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "pith_host.h"
#include "stage_command.h"
#include "cli/common/stage_options.h"
#include "cli/common/table.h"

struct quantize_options {
    struct cli_common common;
    struct cli_feed_options feed;
    struct pith_stage stage; /* its options go straight there */
};

#define AT(member) offsetof(struct quantize_options, member)
static const struct cli_option options[] = {
    {'d', "data", OPTION_LIST, AT(feed.data), "[NAME=]DATA",
     "calibration set, no labels needed; none: synthetic", 0, 0},
    CLI_STATE_OPTION(struct quantize_options, feed),
    {0, "range", OPTION_TEXT, AT(feed.range), "A:B[:STEP]",
     "samples A to B-1, every STEP-th; !A:B:STEP: all others", 0, 0},
    CLI_STAGE_BASIC(struct quantize_options, stage, PITH_STAGE_QUANTIZE),
    {0, "preprocess", OPTION_TEXT, AT(feed.preprocess), "SPEC",
     "imagenet, unit or scale=1/255,mean=..,crop=224 (stored)", 0, 0},
    CLI_STAGE_SET(struct quantize_options, stage, PITH_STAGE_QUANTIZE,
                  "options of pith help quantize-advanced"),
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

static void set_defaults(void *opts)
{
    struct quantize_options *o = opts;
    pith_stage_init(&o->stage, PITH_STAGE_QUANTIZE);
}

static enum cli_exit read_options(struct quantize_options *o)
{
    if (o->feed.data.n == 1 && strcmp(o->feed.data.item[0], "none") == 0) {
        o->stage.synthetic = true;
        o->feed.data.n = 0;
    }
    bool alone = o->feed.range || o->feed.states.n || (o->stage.samples && !o->stage.synthetic);
    if (o->feed.data.n == 0 && alone) {
        cli_error("--range, --samples and --state need -d DATA");
        return EXIT_USAGE;
    }
    return cli_check_stage(&o->stage);
}

static void add_row(struct cli_table *t, const struct pith_quantize_layer *l)
{
    char a[32];
    cli_table_add(t, "%s", l->layer);
    cli_table_add(t, "%s weights", pith_count_text(l->n_weights, a));
    if (l->why) {
        cli_table_add(t, "float: %s", l->why);
        return;
    }
    double sum_bits = log2(l->most_sum + 1);
    if (l->table) {
        cli_table_add(t, "%u bits, %.1f dB, rows looked up", l->weight_bits, l->snr_db);
        return;
    }
    if (isinf(l->snr_db))
        cli_table_add(t, "%u bits, exact, sums < 2^%.1f of 2^%u", l->weight_bits, sum_bits,
                      l->sum_bits - 1);
    else
        cli_table_add(t, "%u bits, %.1f dB, sums < 2^%.1f of 2^%u", l->weight_bits, l->snr_db,
                      sum_bits, l->sum_bits - 1);
}

static void say_bits(const struct cli_common *c, const struct pith_stage_report *r)
{
    uint32_t least = UINT32_MAX, most = 0;
    double bits = 0, n = 0;
    for (uint32_t i = 0; i < r->n_layers; i++) {
        const struct pith_quantize_layer *l = &r->quantize[i];
        if (l->why)
            continue;
        least = l->weight_bits < least ? l->weight_bits : least;
        most = l->weight_bits > most ? l->weight_bits : most;
        bits += (double)l->weight_bits * (double)l->n_weights;
        n += (double)l->n_weights;
    }
    if (least < most)
        cli_summary(c, "bits       %.2f per weight: %u, up to %u in layers with few weights",
                    bits / n, least, most);
}

/* Of few samples the noise of one or two is most of the sum. */
#define UNSURE_DB 0.5

static void say_outputs(const struct cli_common *c, const struct pith_stage_report *r)
{
    char how[48], from[96], expected[32] = "";
    if (isinf(r->reported_db))
        snprintf(how, sizeof how,
                 r->reported_db > 0 ? "identical" : "infinite or NaN in one of the networks");
    else
        snprintf(how, sizeof how, "SQNR %.1f dB", r->reported_db);
    if (r->held_out)
        snprintf(from, sizeof from, "%" PRIu64 " held-out samples%s", r->held_out,
                 r->ranges_given ? " (pith calibrate may have used them)" : "");
    else
        snprintf(from, sizeof from, "the calibration samples");
    if (!isnan(r->expected_changes))
        snprintf(expected, sizeof expected, " (%.1f %% expected)", 100 * r->expected_changes);
    cli_summary(c, "outputs    %s on %s, %" PRIu64 " of %" PRIu64 " predictions changed%s", how,
                from, r->changed, r->predictions, expected);
}

/* What these figures cannot say. */
static void say_unsure(const struct pith_stage_report *r)
{
    if (!r->held_out)
        cli_warn(
            "with fewer than 12 samples none is held out: the loss on other samples is unknown");
    else if (isfinite(r->reported_db) && r->reported_error_db > UNSURE_DB)
        cli_warn("%" PRIu64 " held-out samples leave the SQNR uncertain by %.1f dB (two standard "
                 "errors): give more samples",
                 r->held_out, 2 * r->reported_error_db);
}

static void say_lost(const struct pith_stage_report *r)
{
    char what[80] = "more than 3 % of the predictions change";
    if (!(r->output_db >= PITH_LOST_DB))
        snprintf(what, sizeof what, "the outputs without their means have an SQNR of %.1f dB",
                 r->output_db);
    cli_warn("%s: try --rounding adaptive, more samples, or --keep LAYER (pith sense lists "
             "sensitive layers)",
             what);
}

static void say_floats(const struct cli_common *c, const struct pith_stage_report *r)
{
    char n[32], weights[32], beyond[64] = "", indexed[80] = "";
    const char *type = pith_type_text(r->floats);
    if (r->n_beyond)
        snprintf(beyond, sizeof beyond, "; %u tensors beyond its range stay f32", r->n_beyond);
    if (r->n_codebooks)
        snprintf(indexed, sizeof indexed, "; %s weights in a byte each (codebooks)",
                 pith_count_text(r->n_indexed, weights));
    cli_summary(c, "floats     %s numbers in 2 bytes each (%s)%s%s",
                pith_count_text(r->n_narrow, n), type, indexed, beyond);
}

/* The table above has their names. */
static void say_kept(const struct cli_common *c, const struct pith_stage_report *r)
{
    char n[32];
    bool less = r->kept_bytes < 0;
    cli_summary(c, "kept       %u sensitive %s float: %s bytes %s than as integers",
                r->n_kept_float, r->n_kept_float == 1 ? "layer stays" : "layers stay",
                pith_count_text((uint64_t)(less ? -r->kept_bytes : r->kept_bytes), n),
                less ? "less" : "more");
}

/* What stayed float is said always. */
/* What was done before weights and activations became integers, and what to mind. */
static void say_methods(const struct cli_common *c, const struct pith_stage_report *r)
{
    if (r->synthetic)
        cli_summary(c, "data       none: %u synthetic samples are used, also for the figures below",
                    r->synthetic);
    if (r->equalized)
        cli_summary(c, "equalize   %u pairs of layers", r->equalized);
    if (r->smoothed)
        cli_summary(c, "smooth     %u inputs of matrix products", r->smoothed);
    if (r->reestimated)
        cli_summary(c,
                    "reestimate means and variances of channels: the outputs have a higher SQNR");
    if (r->n_infinite)
        cli_warn("%u values were infinite for some sample: layers that read them stay float",
                 r->n_infinite);
    if (r->n_tiny)
        cli_warn("%u values have a scale below 2^-126: it was set to that", r->n_tiny);
}

static void print(const struct cli_common *c, const struct pith_stage_report *r)
{
    char a[32], looked_up[48] = "";
    struct cli_table t;
    uint64_t n = 0;
    uint32_t whole = 0, wide = 0, tables = 0, whole_tables = 0;
    cli_table_start(&t, 3);
    for (uint32_t i = 0; i < r->n_layers; i++) {
        tables += r->quantize[i].table;
        whole_tables += r->quantize[i].table && !r->quantize[i].why;
        whole += !r->quantize[i].table && !r->quantize[i].why;
        wide += r->quantize[i].sum_bits == 64;
        n += r->quantize[i].why ? 0 : r->quantize[i].n_weights;
        if (c->verbose || r->quantize[i].why)
            add_row(&t, &r->quantize[i]);
    }
    cli_table_print(&t, stderr);
    say_methods(c, r);
    bool lost = cli_lost_much(r);
    if (r->predictions) {
        say_outputs(c, r);
        say_unsure(r);
    }
    if (lost)
        say_lost(r);
    if (tables)
        snprintf(looked_up, sizeof looked_up, " and %u of %u tables", whole_tables, tables);
    cli_summary(c, "quantize   %s weights in %u of %u layers%s are integers", pith_count_text(n, a),
                whole, r->n_layers - tables, looked_up);
    say_bits(c, r);
    if (wide)
        cli_summary(c, "sums       of %u of them have 64 bits, as 32 might overflow", wide);
    if (r->floats)
        say_floats(c, r);
    if (r->n_kept_float && r->integer_bytes)
        say_kept(c, r);
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct quantize_options *o = opts;
    enum cli_exit rc = read_options(o);
    return rc ? rc
              : cli_run_stage(&o->common, n_operands ? operands[0] : "-", &o->stage, NULL, &o->feed,
                              print);
}

const struct cli_command cmd_quantize = {
    "quantize",
    "make",
    "integer weights and activations (INT8, fixed point)",
    "pith quantize [MODEL] [-d DATA] [--weights 8] [-o FILE]",
    "Layers with weights then compute with integers: weights i8 with one scale per output "
    "channel,\n"
    "activations u8 with the scales of pith calibrate or, where the model has none, from the "
    "minimum\n"
    "and maximum over -d. Batch normalization is folded first. Everything before the first and "
    "after\n"
    "the last layer stays float, as do layers that cannot be quantized and, with -d, sensitive "
    "layers\n"
    "(they are listed). fixed:B is fixed point, with scales that are powers of two.\n"
    "More: pith help quantize-advanced, docs/quantize.md.\n"
    "\n"
    "  pith quantize net.pith -d images.tar --range 0:500:8 -o small.pith\n"
    "  pith quantize calibrated.pith --keep fc_out -o small.pith\n"
    "  pith quantize vad.pith -d wav:576:512:speech.wav --state stateN=state -o small.pith"
    "\fOf 12 and more samples of -d a fifth is held out, at least 8. Nothing is fitted to these; "
    "they\n"
    "decide which layers stay float and how layers are rounded, and the printed SQNR is measured "
    "on\n"
    "them. Embedding tables get i8, too, with one scale per row, or a codebook. With --floats auto "
    "a\n"
    "float weight takes one or two bytes. In fixed point, weights and activations have B bits, "
    "with one\n"
    "power of two per layer and activation (--per channel: per channel), and sums become integers "
    "by\n"
    "shifting. No input can overflow a sum: -v prints the largest possible sum, and where sums "
    "have 64\n"
    "bits. Several inputs: -d NAME=DATA for each; --state: pith help run.\n"
    "\n"
    "  pith quantize net.pith -d images.tar --weights 4 --set smooth=always -o small.pith",
    options,
    sizeof(struct quantize_options),
    0,
    1,
    run,
    set_defaults};
