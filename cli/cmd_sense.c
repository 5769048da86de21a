/* SPDX-License-Identifier: MIT */
/* pith sense: what it costs to make one layer coarse, layer by layer. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/common/csv_out.h"
#include "cli/common/engine_options.h"
#include "data_check.h"
#include "feed_options.h"
#include "cli/common/json_out.h"
#include "base/escape_text.h"
#include "pith_sense.h"
#include "cli/common/table.h"

#define MAX_TRIALS (TABLE_COLUMNS - 2) /* beside the layer and its weights */
#define MOST_SENSITIVE 3               /* layers that cost most */

struct sense_options {
    struct cli_common common;
    struct cli_feed_options feed;
    const char *bits, *prune;
    uint64_t samples;
    bool activations, sort, csv;
};

#define AT(member) offsetof(struct sense_options, member)
static const struct cli_option options[] = {
    CLI_FEED_DATA_OPTIONS(struct sense_options, feed),
    CLI_STATE_OPTION(struct sense_options, feed),
    {0, "preprocess", OPTION_TEXT, AT(feed.preprocess), "SPEC",
     "overrides the stored preprocessing", 0, 0},
    {0, "samples", OPTION_UINT, AT(samples), "N",
     "samples of each trial, evenly spaced (default 8)", 1, 1e6},
    {0, "bits", OPTION_TEXT, AT(bits), "B,B,...", "bits of a weight (default 8,6,4,3,2)", 0, 0},
    {0, "activations", OPTION_FLAG, AT(activations), NULL,
     "quantize the layer's input instead of its weights", 0, 0},
    {0, "prune", OPTION_TEXT, AT(prune), "S,S,...", "prune these shares instead of quantizing", 0,
     0},
    {0, "sort", OPTION_FLAG, AT(sort), NULL, "most sensitive layers first", 0, 0},
    {0, "csv", OPTION_FLAG, AT(csv), NULL, "CSV, one line per layer and trial", 0, 0},
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

struct sensing {
    const struct sense_options *o;
    struct pith_model *m;
    struct cli_feed feed;
    struct pith_sense_trial trial[MAX_TRIALS];
    uint32_t n_trials;
    struct cli_progress bar;
    struct pith_sense found;
    uint32_t *order; /* owns: [n_layers] as printed */
    uint32_t *worst; /* owns: [n_layers] by the trial in the middle */
};

/* ---- options --------------------------------------------------------------------------------- */

static enum cli_exit read_trials(struct sensing *s, const char *option, const char *text,
                                 enum pith_sense_kind kind)
{
    double least = kind == PITH_SENSE_PRUNE ? 0 : 2;
    double most = kind == PITH_SENSE_PRUNE ? 1 : kind == PITH_SENSE_BITS ? 8 : 16;
    for (const char *at = text; at;) {
        char number[32];
        double a = -1;
        bool good = cli_next_item(&at, number) && pith_parse_number(number, &a) && a >= least &&
                    a <= most && (kind == PITH_SENSE_PRUNE || a == floor(a));
        if (!good || s->n_trials == MAX_TRIALS) {
            cli_error("--%s '%s': at most %d numbers from %g to %g", option, text, MAX_TRIALS,
                      least, most);
            return EXIT_USAGE;
        }
        s->trial[s->n_trials++] = (struct pith_sense_trial){kind, a};
    }
    return EXIT_DONE;
}

static enum cli_exit read_options(struct sensing *s)
{
    const struct sense_options *o = s->o;
    if (o->feed.data.n == 0) {
        cli_error("give samples: -d DATA");
        return EXIT_USAGE;
    }
    if (o->prune && (o->bits || o->activations)) {
        cli_error("--prune cannot go with --bits or --activations");
        return EXIT_USAGE;
    }
    if (o->csv && o->common.json) {
        cli_error("--csv and --json exclude each other");
        return EXIT_USAGE;
    }
    if (o->prune)
        return read_trials(s, "prune", o->prune, PITH_SENSE_PRUNE);
    return read_trials(s, "bits", o->bits ? o->bits : "8,6,4,3,2",
                       o->activations ? PITH_SENSE_ACTIVATIONS : PITH_SENSE_BITS);
}

/* ---- output --------------------------------------------------------------------------------- */

static const char *kind_text(const struct sensing *s)
{
    static const char *const text[] = {"", "weights", "activations", "prune"};
    return text[s->trial[0].kind];
}

static void format_db(double db, char text[16])
{
    if (isinf(db))
        snprintf(text, 16, "%s", db > 0 ? "same" : "lost");
    else
        snprintf(text, 16, "%.1f", db);
}

/* The trial that layers are put in order by. */
static uint32_t middle(const struct sensing *s)
{
    return s->n_trials / 2;
}

static void print_worst(const struct sensing *s)
{
    const struct pith_sense_trial *t = &s->trial[middle(s)];
    printf("most sensitive at ");
    if (t->kind == PITH_SENSE_PRUNE)
        printf("share %g: ", t->amount);
    else
        printf("%g bits: ", t->amount);
    for (uint32_t i = 0; i < MOST_SENSITIVE && i < s->found.n_layers; i++) {
        const struct pith_sense_layer *l = &s->found.layer[s->worst[i]];
        char db[16], layer[256];
        pith_escape_text(l->layer, layer, sizeof layer);
        format_db(l->cost[middle(s)].output_db, db);
        printf("%s'%s' (%s dB", i ? ", " : "", layer, db);
        if (s->found.predictions)
            printf(", %" PRIu64 " of %" PRIu64 " predictions changed", l->cost[middle(s)].changed,
                   s->found.predictions);
        putchar(')');
    }
    putchar('\n');
}

static void print_table(const struct sensing *s)
{
    struct cli_table t;
    char text[32];
    cli_table_start(&t, 2 + s->n_trials);
    cli_table_add(&t, "layer");
    cli_table_add(&t, "weights");
    for (uint32_t k = 0; k < s->n_trials; k++)
        if (s->trial[k].kind == PITH_SENSE_PRUNE)
            cli_table_add(&t, "%g", s->trial[k].amount);
        else
            cli_table_add(&t, "%g bits", s->trial[k].amount);
    for (uint32_t i = 0; i < s->found.n_layers; i++) {
        const struct pith_sense_layer *l = &s->found.layer[s->order[i]];
        cli_table_add(&t, "%s", l->layer);
        cli_table_add(&t, "%s", pith_count_text(l->n_weights, text));
        for (uint32_t k = 0; k < s->n_trials; k++) {
            format_db(l->cost[k].output_db, text);
            cli_table_add(&t, "%s", text);
        }
    }
    printf("SQNR of the outputs in dB, one layer's %s %s at a time; %" PRIu64 " samples\n",
           s->trial[0].kind == PITH_SENSE_ACTIVATIONS ? "input" : "weights",
           s->trial[0].kind == PITH_SENSE_PRUNE ? "pruned" : "quantized", s->found.samples);
    cli_table_print(&t, stdout);
    print_worst(s);
}

static void print_csv(const struct sensing *s)
{
    puts("layer,tensor,weights,what,amount,output_db,layer_db,changed,predictions");
    for (uint32_t i = 0; i < s->found.n_layers; i++)
        for (uint32_t k = 0; k < s->n_trials; k++) {
            const struct pith_sense_layer *l = &s->found.layer[s->order[i]];
            const struct pith_sense_cost *c = &l->cost[k];
            cli_csv_text(l->layer, strlen(l->layer));
            putchar(',');
            cli_csv_text(l->tensor, strlen(l->tensor));
            printf(",%" PRIu64 ",%s,%g,%.2f,%.2f,%" PRIu64 ",%" PRIu64 "\n", l->n_weights,
                   kind_text(s), s->trial[k].amount, c->output_db, c->layer_db, c->changed,
                   s->found.predictions);
        }
}

static void json_layer(const struct sensing *s, const struct pith_sense_layer *l)
{
    cli_json_open(NULL, '{');
    cli_json_string("name", l->layer);
    cli_json_string("tensor", l->tensor);
    cli_json_uint("weights", l->n_weights);
    cli_json_open("cost", '[');
    for (uint32_t k = 0; k < s->n_trials; k++) {
        cli_json_open(NULL, '{');
        cli_json_number("amount", s->trial[k].amount);
        cli_json_number("output_db", l->cost[k].output_db);
        cli_json_number("layer_db", l->cost[k].layer_db);
        cli_json_uint("changed", l->cost[k].changed);
        cli_json_close('}');
    }
    cli_json_close(']');
    cli_json_close('}');
}

static void print_json(const struct sensing *s)
{
    cli_json_begin();
    cli_json_string("what", kind_text(s));
    cli_json_uint("samples", s->found.samples);
    cli_json_uint("predictions", s->found.predictions);
    cli_json_open("layers", '[');
    for (uint32_t i = 0; i < s->found.n_layers; i++)
        json_layer(s, &s->found.layer[s->order[i]]);
    cli_json_close(']');
    cli_json_open("worst", '[');
    for (uint32_t i = 0; i < MOST_SENSITIVE && i < s->found.n_layers; i++)
        cli_json_string(NULL, s->found.layer[s->worst[i]].layer);
    cli_json_close(']');
    cli_json_end();
}

static enum cli_exit print(struct sensing *s)
{
    s->order = malloc(s->found.n_layers * sizeof *s->order);
    s->worst = malloc(s->found.n_layers * sizeof *s->worst);
    if (!s->order || !s->worst)
        return cli_no_memory();
    pith_sense_order(&s->found, middle(s), s->worst);
    for (uint32_t i = 0; i < s->found.n_layers; i++)
        s->order[i] = s->o->sort ? s->worst[i] : i;
    if (s->o->common.json)
        print_json(s);
    else if (s->o->csv)
        print_csv(s);
    else
        print_table(s);
    return EXIT_DONE;
}

/* ---- the command ----------------------------------------------------------------------------- */

static bool step(void *user, uint64_t done, uint64_t total)
{
    struct sensing *s = user;
    s->bar.total = total;
    return cli_progress_step(&s->bar, done);
}

static enum cli_exit sense(struct sensing *s)
{
    struct pith_error err = {0};
    struct pith_engine_opts e;
    enum cli_exit rc = cli_engine_opts(&s->o->common, &e);
    if (rc)
        return rc;
    const struct pith_calibrate_opts samples = {.size_bytes = sizeof samples,
                                                .feed = &s->feed.feed,
                                                .threads = e.threads,
                                                .cpu_mask = e.cpu_mask,
                                                .progress = step,
                                                .user = s};
    const struct pith_sense_opts opts = {.size_bytes = sizeof opts,
                                         .samples = &samples,
                                         .n_samples = (uint32_t)s->o->samples,
                                         .trials = s->trial,
                                         .n_trials = s->n_trials};
    cli_progress_start(&s->bar, &s->o->common, "sense", s->n_trials);
    enum pith_status st = pith_model_merge_convs(s->m, &err); /* as quantize does */
    if (!st)
        st = pith_sense(s->m, &opts, &s->found, &err);
    cli_progress_end(&s->bar);
    return st ? cli_fail(&err) : print(s);
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct sensing s = {.o = opts};
    enum cli_exit rc = read_options(&s);
    if (!rc)
        rc = cli_load_model(n_operands ? operands[0] : "-", NULL, &s.m);
    if (!rc)
        rc = cli_open_feed(&s.o->feed, s.m, NULL, 0, &s.feed);
    if (!rc)
        rc = cli_check_outputs(&s.o->common, NULL, s.m, &s.feed.feed);
    if (!rc)
        rc = sense(&s);
    pith_sense_free(&s.found);
    free(s.order);
    free(s.worst);
    cli_close_feed(&s.feed);
    pith_model_free(s.m);
    return rc;
}

const struct cli_command cmd_sense = {
    "sense",
    "look",
    "per-layer sensitivity to quantization and pruning",
    "pith sense [MODEL] -d DATA [--bits 8,6,4,3,2 | --prune 0.5,0.9]",
    "Quantizes or prunes one layer at a time and leaves all others as they are. The table prints "
    "the\n"
    "SQNR of the outputs in dB (20 dB: a large error, 40 dB: a small one) and the most sensitive\n"
    "layers. Weights are rounded to nearest with one scale per channel, without GPTQ and bias\n"
    "correction: pith quantize loses less, but in the same layers. Batch normalization is folded\n"
    "first. --csv and --json also give the error of the layer's own output. The time grows with "
    "the\n"
    "number of layers, trials and --samples.\n" CLI_STATE_TEXT "\n"
    "  pith sense net.pith -d images.tar --range 0:500:8\n"
    "  pith sense net.pith -d images.tar --activations --bits 8,6 --sort\n"
    "  pith sense net.pith -d images.tar --prune 0.5,0.7,0.9 --csv > layers.csv",
    options,
    sizeof(struct sense_options),
    0,
    1,
    run,
    NULL};
