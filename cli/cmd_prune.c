/* SPDX-License-Identifier: MIT */
/* pith prune: remove the smallest weights. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "stage_command.h"
#include "cli/common/stage_options.h"
#include "cli/common/table.h"

struct prune_options {
    struct cli_common common;
    struct cli_training_options from;
    struct pith_stage stage; /* its options, and those of the training, go straight there */
};

#define AT(member) offsetof(struct prune_options, member)
static const struct cli_option options[] = {
    CLI_STAGE_BASIC(struct prune_options, stage, PITH_STAGE_PRUNE),
    CLI_TRAINING_OPTIONS(struct prune_options, from),
    CLI_STAGE_ROW(struct prune_options, stage, PITH_STAGE_TRAIN, "epochs",
                  "epochs after each step (default 1)"),
    CLI_STAGE_ROW(struct prune_options, stage, PITH_STAGE_TRAIN, "lr", NULL),
    {0, "", OPTION_HEADING, 0, NULL, "Training", 0, 0},
    CLI_STAGE_ROW(struct prune_options, stage, PITH_STAGE_TRAIN, "batch", NULL),
    CLI_STAGE_ROW(struct prune_options, stage, PITH_STAGE_TRAIN, "augment", "as for train"),
    CLI_STAGE_ROW(struct prune_options, stage, PITH_STAGE_TRAIN, "weight_decay", NULL),
    CLI_STAGE_ROW(struct prune_options, stage, PITH_STAGE_TRAIN, "teacher",
                  "distillation teacher; start: the model before pruning"),
    {0, "preprocess", OPTION_TEXT, AT(from.preprocess), "SPEC",
     "overrides the stored preprocessing", 0, 0},
    CLI_STAGE_SET(struct prune_options, stage, PITH_STAGE_PRUNE,
                  "by its key in recipes; train.KEY: of the training"),
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

static void set_defaults(void *opts)
{
    pith_stage_init(&((struct prune_options *)opts)->stage, PITH_STAGE_PRUNE);
}

/* Data options given without a training; NULL: none. */
static const char *for_training(const struct cli_training_options *from)
{
    return from->data         ? "-d"
           : from->labels     ? "--labels"
           : from->range      ? "--range"
           : from->val        ? "--val"
           : from->hold       ? "--hold"
           : from->preprocess ? "--preprocess"
                              : NULL;
}

static enum cli_exit read_options(const struct prune_options *o)
{
    const struct pith_stage *s = &o->stage;
    const struct pith_prune_opts *p = &s->prune;
    bool fixed = p->pattern.kind == PITH_PATTERN_N_OF_M || p->pattern.kind == PITH_PATTERN_BALANCED;
    bool some = p->sparsity > 0 || p->by != PITH_PRUNE_BY_SPARSITY || p->n_layers > 0;
    if (!some && !fixed) {
        cli_error("nothing to do: give --sparsity, --sigma, --zeros, --layer or an N:M pattern");
        return EXIT_USAGE;
    }
    const char *lost = s->trains ? NULL : for_training(&o->from);
    if (lost) {
        cli_error("%s needs --train", lost);
        return EXIT_USAGE;
    }
    return cli_check_stage(s);
}

#define NAMED_LAYERS 4u

/* "prune      2 layers not pruned, which the pattern does not divide: conv1, fc" */
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
        cli_summary(c, "prune      %u layer%s not pruned, %s: %s%s", n, n == 1 ? "" : "s", why,
                    names, n > NAMED_LAYERS ? ", ..." : "");
}

static void print(const struct cli_common *c, const struct pith_stage_report *r)
{
    char a[32], b[32];
    struct cli_table t;
    cli_table_start(&t, 3);
    for (uint32_t i = 0; c->verbose && i < r->n_layers; i++) {
        cli_table_add(&t, "%s", r->prune[i].layer);
        cli_table_add(&t, "%s weights", pith_count_text(r->prune[i].count, a));
        cli_table_add(&t, "%.4f kept", (double)r->prune[i].kept / (double)r->prune[i].count);
    }
    cli_table_print(&t, stderr);
    print_left(c, r, PITH_PRUNE_LEFT_DEPTHWISE, "depthwise (--layer prunes them, too)");
    print_left(c, r, PITH_PRUNE_LEFT_PATTERN, "which the pattern does not divide");
    cli_summary(c, "prune      %s of %s weights kept (%.4f zeros)", pith_count_text(r->kept, a),
                pith_count_text(r->weights, b),
                r->weights ? 1 - (double)r->kept / (double)r->weights : 0.0);
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct prune_options *o = opts;
    enum cli_exit rc = read_options(o);
    return rc ? rc
              : cli_run_stage(&o->common, n_operands ? operands[0] : "-", &o->stage, &o->from, NULL,
                              print);
}

const struct cli_command cmd_prune = {
    "prune",
    "make",
    "remove weights by magnitude",
    "pith prune [MODEL] --sparsity 0.9 [-o FILE]",
    "Removes the smallest weights of each layer. Biases are never pruned, and pruned weights stay\n"
    "pruned. Depthwise convolutions are pruned only where --layer names them: removing a few of "
    "their\n"
    "weights costs much accuracy. Layers that the pattern does not divide are skipped, with a "
    "message.\n"
    "Patterns: any weight, N of M neighbours, blocks, k of each 128 weights of a row, whole output "
    "rows\n"
    "or input channels. With --steps and --train the sparsity grows in steps (a cubic schedule, "
    "most\n"
    "at first), and the network is retrained after each step.\n"
    "\n"
    "  pith prune net.pith --sparsity 90% --layer 'conv1=0.6' --layer 'fc_out=0' -o pruned.pith\n"
    "  pith prune net.pith --sparsity 95% --steps 8 --train -d train.idx --epochs 2 -o thin.pith",
    options,
    sizeof(struct prune_options),
    0,
    1,
    run,
    set_defaults};
