/* SPDX-License-Identifier: MIT */
/* pith quantize: integers for weights and activations. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "stage_command.h"
#include "table.h"

struct quantize_options {
    struct cli_common common;
    struct cli_training_options from;
    const char *to, *per, *rounding;
    struct cli_list keep;
    struct pith_stage stage; /* what needs no thought goes straight there */
};

#define AT(member) offsetof(struct quantize_options, member)
static const struct cli_option options[] = {
    {'d', "data", OPTION_TEXT, AT(from.data), "DATA", "samples without labels, as for eval; none: made up", 0,
     0},
    {0, "samples", OPTION_U32, AT(stage.samples), "N", "the first N of them; default 64", 1, 1e9},
    {0, "range", OPTION_TEXT, AT(from.range), "A:B[:STEP]", "these samples; !A:B:STEP all others", 0, 0},
    {0, "to", OPTION_TEXT, AT(to), "WHAT",
     "int8 (default); fixed:4 to fixed:8, fixed:16: scales powers of two", 0, 0},
    {0, "weights", OPTION_U32, AT(stage.quantize.weight_bits), "B", "bits of a weight: 2 to 8, or 16 (default 8)",
     2, 16},
    {0, "activations", OPTION_U32, AT(stage.quantize.activation_bits), "B",
     "bits of an activation: 2 to 8, or 16 (default 8)", 2, 16},
    {0, "per", OPTION_TEXT, AT(per), "WHAT", "one weight scale per channel (fixed: tensor), tensor", 0, 0},
    {0, "rounding", OPTION_TEXT, AT(rounding), "HOW", "weights: feedback (default with -d), adaptive, nearest", 0,
     0},
    {0, "bias-correct", OPTION_FLAG, AT(stage.quantize.bias_correct), NULL,
     "biases make up for their channel's mean error (default with -d)", 0, 0},
    {0, "keep-biases", OPTION_FLAG, AT(stage.quantize.keep_biases), NULL, "they do not", 0, 0},
    {0, "keep", OPTION_LIST, AT(keep), "GLOB", "these layers stay float", 0, 0},
    {0, "equalize", OPTION_FLAG, AT(stage.equalize), NULL,
     "move factors from layer to layer first: channels of one size", 0, 0},
    {0, "all-integers", OPTION_FLAG, AT(stage.all_integers), NULL,
     "none stays float because it costs much", 0, 0},
    {0, "preprocess", OPTION_TEXT, AT(from.preprocess), "SPEC", "instead of what the model stores", 0,
     0},
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

static void set_defaults(void *opts)
{
    struct quantize_options *o = opts;
    pith_stage_init(&o->stage, PITH_STAGE_QUANTIZE);
}

static bool choose(const char *option, const char *text, const char *const *words, int *index)
{
    if (cli_find_word(text, words, index))
        return true;
    cli_error("--%s '%s': not a choice", option, text);
    return false;
}

static enum cli_exit read_options(struct quantize_options *o)
{
    static const char *const targets[] = {"int8",    "fixed:4", "fixed:5",  "fixed:6",
                                          "fixed:7", "fixed:8", "fixed:16", NULL},
                             *const pers[] = {"default", "channel", "tensor", NULL},
                             *const roundings[] = {"default", "nearest", "feedback", "adaptive",
                                                                 NULL};
    int to = 0, per = 0, rounding = 0;
    if (!choose("to", o->to, targets, &to) || !choose("per", o->per, pers, &per) ||
        !choose("rounding", o->rounding, roundings, &rounding))
        return EXIT_USAGE;
    o->stage.quantize.fixed_bits = to ? (uint32_t)atoi(targets[to] + strlen("fixed:")) : 0;
    o->stage.quantize.per_channel = per == 1;
    o->stage.quantize.per_tensor = per == 2;
    o->stage.quantize.rounding = (enum pith_rounding)rounding;
    for (uint32_t i = 0; i < o->keep.n; i++)
        o->stage.keep[i] = o->keep.item[i];
    o->stage.quantize.n_keep = o->keep.n;
    if (o->from.data && strcmp(o->from.data, "none") == 0) {
        o->stage.synthetic = true;
        o->from.data = NULL;
    }
    if (!o->from.data && (o->from.range || (o->stage.samples && !o->stage.synthetic))) {
        cli_error("--range and --samples are of -d DATA, and there is none");
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

static void add_row(struct cli_table *t, const struct pith_quantize_layer *l)
{
    char a[32];
    cli_table_add(t, "%s", l->layer);
    cli_table_add(t, "%s weights", cli_format_count(l->n_weights, a));
    if (l->why) {
        cli_table_add(t, "float: %s", l->why);
        return;
    }
    double sum_bits = log2(l->most_sum + 1);
    if (isinf(l->snr_db))
        cli_table_add(t, "exact, sums < 2^%.1f of 2^%u", sum_bits, l->sum_bits - 1);
    else
        cli_table_add(t, "%.1f dB, sums < 2^%.1f of 2^%u", l->snr_db, sum_bits, l->sum_bits - 1);
}

/* What stayed float is said always. */
static void print(const struct cli_common *c, const struct pith_stage_report *r)
{
    char a[32];
    struct cli_table t;
    uint64_t n = 0;
    uint32_t whole = 0, wide = 0;
    cli_table_start(&t, 3);
    for (uint32_t i = 0; i < r->n_layers; i++) {
        whole += !r->quantize[i].why;
        wide += r->quantize[i].sum_bits == 64;
        n += r->quantize[i].why ? 0 : r->quantize[i].n_weights;
        if (c->verbose || r->quantize[i].why)
            add_row(&t, &r->quantize[i]);
    }
    cli_table_print(&t, stderr);
    if (r->synthetic)
        cli_say(c, "data       none: %u made-up samples stand for it, what follows is of these",
                r->synthetic);
    if (r->equalized)
        cli_say(c, "equalize   %u pairs of layers", r->equalized);
    if (r->judged && (c->verbose || r->output_db < PITH_KEEP_FLOOR_DB))
        cli_say(c, "outputs    %.1f dB above their error, %" PRIu64 " of %" PRIu64 " answers changed",
                r->output_db, r->changed, r->judged);
    cli_say(c, "quantize   %s weights in %u of %u layers are integers", cli_format_count(n, a), whole,
            r->n_layers);
    if (wide)
        cli_say(c, "sums       of %u of them have 64 bits, as 32 might overflow", wide);
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct quantize_options *o = opts;
    enum cli_exit rc = read_options(o);
    return rc ? rc
              : cli_run_stage(&o->common, n_operands ? operands[0] : "-", &o->stage, &o->from, print);
}

const struct cli_command cmd_quantize = {
    "quantize", "make", "integers for weights and activations",
    "pith quantize [MODEL] [-d DATA] [--weights 8] [-o FILE]",
    "Layers with weights compute with integers afterwards: weights i8, one scale an output channel;\n"
    "activations u8, on the grids that pith calibrate found, or, where the model has none, between the\n"
    "extremes seen on -d. Batch normalisation is folded into the layers first. What is before the first\n"
    "layer and behind the last stays float; so do layers that cannot be integers, and that is said.\n"
    "fixed:B is fixed point: weights and activations of B bits, one power of two a layer and a value (or,\n"
    "--per channel, a channel), sums become integers by shifting. No input overflows a sum: -v tells how\n"
    "near it may come, and where sums have 64 bits for that.\n\n"
    "  pith quantize net.pith -d images.tar --range 0:500:8 -o small.pith\n"
    "  pith quantize calibrated.pith --keep fc_out -o small.pith",
    options, sizeof(struct quantize_options), 0, 1, run, set_defaults};
