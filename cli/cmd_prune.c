/* SPDX-License-Identifier: MIT */
/* pith prune: remove the smallest weights. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "stage_command.h"
#include "table.h"

struct prune_options {
    struct cli_common common;
    double sparsity, sigma;
    const char *pattern, *scope;
    bool zeros, train;
    struct cli_list layers;
    const char *schedule;
    struct cli_training_options from;
    struct pith_stage stage; /* the options of the training go straight there */
};

#define AT(member) offsetof(struct prune_options, member)
static const struct cli_option options[] = {
    {0, "sparsity", OPTION_FRACTION, offsetof(struct prune_options, sparsity), "SHARE",
     "share of weights to remove: 0.9 or 90%", 0, 1},
    {0, "sigma", OPTION_NUMBER, offsetof(struct prune_options, sigma), "S",
     "remove below S standard deviations of the layer", 0, 100},
    {0, "zeros", OPTION_FLAG, offsetof(struct prune_options, zeros), NULL,
     "remove exactly the zeros there are (lossless)", 0, 0},
    {0, "pattern", OPTION_TEXT, offsetof(struct prune_options, pattern), "P",
     "any, 2:4, 1x4, balanced:12/128, row, channel", 0, 0},
    {0, "scope", OPTION_TEXT, offsetof(struct prune_options, scope), "S",
     "layer (default): each layer alike; global", 0, 0},
    {0, "layer", OPTION_LIST, offsetof(struct prune_options, layers), "GLOB=V",
     "another value for these layers; 0 leaves them alone", 0, 0},
    {0, "steps", OPTION_U32, AT(stage.steps), "N", "little by little, with --train after each step",
     1, PITH_STAGE_STEPS},
    {0, "schedule", OPTION_TEXT, AT(schedule), "S", "of the steps: cubic (default), linear", 0, 0},
    {0, "train", OPTION_FLAG, AT(train), NULL, "train what is left; see pith help train", 0, 0},
    CLI_TRAINING_OPTIONS(struct prune_options, from),
    {0, "epochs", OPTION_U32, AT(stage.train.epochs), "N", "after each step; default 1", 1, 100000},
    {0, "lr", OPTION_FLOAT, AT(stage.train.rate), "RATE", "learning rate; default 0.001", 1e-30,
     1e30},
    {0, "", OPTION_HEADING, 0, NULL, "Training", 0, 0},
    {0, "batch", OPTION_U32, AT(stage.train.batch), "N",
     "samples of a step, a multiple of 8; default 128", 8, 65536},
    {0, "augment", OPTION_TEXT, AT(stage.train.augment), "LIST", "as for train", 0, 0},
    {0, "weight-decay", OPTION_FLOAT, AT(stage.train.weight_decay), "D", "default 0", 0, 10},
    {0, "teacher", OPTION_TEXT, AT(stage.teacher), "MODEL",
     "learn its classes too; start: the model before pruning", 0, 0},
    {0, "preprocess", OPTION_TEXT, AT(from.preprocess), "SPEC", "instead of what the model stores",
     0, 0},
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

static void set_defaults(void *opts)
{
    struct prune_options *o = opts;
    pith_stage_init(&o->stage, PITH_STAGE_PRUNE);
    o->stage.train.epochs = 1;
}

static bool read_layer(struct pith_stage *s, uint32_t i, const char *pattern, const char *value)
{
    char number[64];
    size_t n = strlen(value);
    bool percent = n > 1 && n < sizeof number && value[n - 1] == '%';
    double v;
    if (n >= sizeof number)
        return false;
    memcpy(number, value, n + 1);
    if (percent)
        number[n - 1] = '\0';
    if (!pith_parse_number(number, &v))
        return false;
    s->prune_layers[i] = (struct pith_prune_amount){pattern, percent ? v / 100 : v};
    s->prune.layers = s->prune_layers;
    s->prune.n_layers = i + 1;
    return true;
}

/* An option of the training that was given; NULL: none. */
static const char *for_training(const struct prune_options *o)
{
    const struct pith_train_opts *t = &o->stage.train;
    struct pith_train_opts normal;
    pith_train_opts_init(&normal, sizeof normal);
    const struct {
        const char *name;
        bool given;
    } options_of[] = {
        {"-d", o->from.data != NULL},
        {"--labels", o->from.labels != NULL},
        {"--range", o->from.range != NULL},
        {"--val", o->from.val != NULL},
        {"--hold", o->from.hold != NULL},
        {"--preprocess", o->from.preprocess != NULL},
        {"--epochs", t->epochs != 1},
        {"--lr", t->rate < normal.rate || t->rate > normal.rate},
        {"--batch", t->batch != normal.batch},
        {"--augment", t->augment != NULL},
        {"--weight-decay", t->weight_decay > 0},
        {"--teacher", o->stage.teacher != NULL},
    };
    for (size_t i = 0; i < sizeof options_of / sizeof *options_of; i++)
        if (options_of[i].given)
            return options_of[i].name;
    return NULL;
}

static enum cli_exit read_steps(const struct prune_options *o, struct pith_stage *s)
{
    if (s->steps && !o->train) {
        cli_error("--steps needs --train: without training between them, all steps are one");
        return EXIT_USAGE;
    }
    const char *lost = o->train ? NULL : for_training(o);
    if (lost || (o->schedule && !s->steps)) {
        cli_error("%s is for %s", lost ? lost : "--schedule", lost ? "--train" : "--steps");
        return EXIT_USAGE;
    }
    if (o->schedule && strcmp(o->schedule, "linear") == 0)
        s->schedule = PITH_PRUNE_LINEAR;
    else if (o->schedule && strcmp(o->schedule, "cubic") != 0) {
        cli_error("--schedule '%s': give cubic or linear", o->schedule);
        return EXIT_USAGE;
    }
    if (o->train && !s->steps)
        s->steps = 1;
    return EXIT_DONE;
}

static enum cli_exit read_options(const struct prune_options *o, struct pith_stage *s)
{
    struct pith_error err = {0};
    s->prune.sparsity = o->sparsity;
    if ((o->sparsity > 0) + (o->sigma > 0) + o->zeros > 1) {
        cli_error("give one of --sparsity, --sigma and --zeros");
        return EXIT_USAGE;
    }
    if (o->sigma > 0) {
        s->prune.by = PITH_PRUNE_BY_SIGMA;
        s->prune.sigma = o->sigma;
    }
    if (o->zeros)
        s->prune.by = PITH_PRUNE_BY_ZERO;
    if (o->pattern && pith_pattern_parse(o->pattern, &s->prune.pattern, &err))
        return cli_fail(&err);
    if (o->scope && strcmp(o->scope, "global") != 0 && strcmp(o->scope, "layer") != 0) {
        cli_error("--scope '%s': give layer or global", o->scope);
        return EXIT_USAGE;
    }
    if (o->scope && strcmp(o->scope, "global") == 0)
        s->prune.scope = PITH_PRUNE_GLOBAL;
    if (o->sparsity == 0 && o->sigma == 0 && !o->zeros && o->layers.n == 0 &&
        s->prune.pattern.kind != PITH_PATTERN_N_OF_M &&
        s->prune.pattern.kind != PITH_PATTERN_BALANCED) {
        cli_error("nothing to do: give --sparsity, --sigma, --zeros, --layer or an N:M pattern");
        return EXIT_USAGE;
    }
    enum cli_exit rc = read_steps(o, s);
    return rc ? rc : cli_layer_overrides(&o->layers, read_layer, s);
}

#define NAMED_LAYERS 4u

/* "prune      2 layers left alone, which the pattern does not divide: conv1, fc" */
static void print_left(const struct cli_common *c, const struct pith_stage_report *r,
                       enum pith_prune_left left, const char *why)
{
    char names[256] = "";
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_layers; i++) {
        if (r->prune[i].left != left)
            continue;
        size_t at = strlen(names);
        if (n < NAMED_LAYERS)
            snprintf(names + at, sizeof names - at, "%s%.48s", n ? ", " : "", r->prune[i].layer);
        n++;
    }
    if (n > 0)
        cli_say(c, "prune      %u layer%s left alone, %s: %s%s", n, n == 1 ? "" : "s", why, names,
                n > NAMED_LAYERS ? ", ..." : "");
}

static void print(const struct cli_common *c, const struct pith_stage_report *r)
{
    char a[32], b[32];
    struct cli_table t;
    cli_table_start(&t, 3);
    for (uint32_t i = 0; c->verbose && i < r->n_layers; i++) {
        cli_table_add(&t, "%s", r->prune[i].layer);
        cli_table_add(&t, "%s weights", cli_format_count(r->prune[i].count, a));
        cli_table_add(&t, "%.4f kept", (double)r->prune[i].kept / (double)r->prune[i].count);
    }
    cli_table_print(&t, stderr);
    print_left(c, r, PITH_PRUNE_LEFT_DEPTHWISE, "depthwise (--layer prunes them, too)");
    print_left(c, r, PITH_PRUNE_LEFT_PATTERN, "which the pattern does not divide");
    cli_say(c, "prune      %s of %s weights kept (%.4f zeros)", cli_format_count(r->kept, a),
            cli_format_count(r->weights, b),
            r->weights ? 1 - (double)r->kept / (double)r->weights : 0.0);
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct prune_options *o = opts;
    enum cli_exit rc = read_options(o, &o->stage);
    return rc ? rc
              : cli_run_stage(&o->common, n_operands ? operands[0] : "-", &o->stage, &o->from, NULL,
                              print);
}

const struct cli_command cmd_prune = {
    "prune",
    "make",
    "remove weights by magnitude",
    "pith prune [MODEL] --sparsity 0.9 [-o FILE]",
    "The largest weights of each layer stay; biases are never touched; what is already pruned "
    "stays\n"
    "pruned. Depthwise convolutions are left alone unless --layer names them: a few of their "
    "weights\n"
    "less are many answers lost. So are layers that the pattern does not divide; a line says "
    "which.\n"
    "Patterns: any element; N of M neighbours; blocks; k of each 128 of a row; whole output\n"
    "rows or input channels. With --steps and --train the amount is reached little by little, and "
    "what\n"
    "is left is trained after each step: most goes first (cubic), or the same share each time.\n\n"
    "  pith prune net.pith --sparsity 90% --layer 'conv1=0.6' --layer 'fc_out=0' -o pruned.pith\n"
    "  pith prune net.pith --sparsity 95% --steps 8 --train -d train.idx --epochs 2 -o thin.pith",
    options,
    sizeof(struct prune_options),
    0,
    1,
    run,
    set_defaults};
