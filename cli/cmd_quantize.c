/* SPDX-License-Identifier: MIT */
/* pith quantize: integers for weights and activations. */
#include <string.h>
#include "stage_command.h"
#include "cli/common/stage_options.h"

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

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct quantize_options *o = opts;
    enum cli_exit rc = read_options(o);
    return rc ? rc
              : cli_run_stage(&o->common, n_operands ? operands[0] : "-", &o->stage, NULL, &o->feed,
                              cli_print_quantized);
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
