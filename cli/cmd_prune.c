/* SPDX-License-Identifier: MIT */
/* pith prune: remove the smallest weights. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "stage_command.h"
#include "stage_options.h"
#include "table.h"

struct prune_options {
    struct cli_common common;
    bool train;
    struct cli_training_options from;
    struct pith_stage stage; /* its options, and those of the training, go straight there */
};

#define AT(member) offsetof(struct prune_options, member)
static const struct cli_option options[] = {
    CLI_STAGE_BASIC(struct prune_options, stage, PITH_STAGE_PRUNE),
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
    CLI_STAGE_SET(struct prune_options, stage, PITH_STAGE_PRUNE, "an option by its key in recipes"),
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

static void set_defaults(void *opts)
{
    struct prune_options *o = opts;
    pith_stage_init(&o->stage, PITH_STAGE_PRUNE);
    o->stage.train.epochs = 1;
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
    if (lost) {
        cli_error("%s is for --train", lost);
        return EXIT_USAGE;
    }
    if (o->train && !s->steps)
        s->steps = 1;
    return EXIT_DONE;
}

static enum cli_exit read_options(const struct prune_options *o, struct pith_stage *s)
{
    const struct pith_prune_opts *p = &s->prune;
    bool fixed = p->pattern.kind == PITH_PATTERN_N_OF_M || p->pattern.kind == PITH_PATTERN_BALANCED;
    bool some = p->sparsity > 0 || p->by != PITH_PRUNE_BY_SPARSITY || p->n_layers > 0;
    if (!some && !fixed) {
        cli_error("nothing to do: give --sparsity, --sigma, --zeros, --layer or an N:M pattern");
        return EXIT_USAGE;
    }
    enum cli_exit rc = read_steps(o, s);
    return rc ? rc : cli_check_stage(s);
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
