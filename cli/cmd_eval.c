/* SPDX-License-Identifier: MIT */
/* pith eval: accuracy on labelled data. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "cli/common/engine_options.h"
#include "data_check.h"
#include "feed_options.h"
#include "pith_load.h"
#include "cli/common/json_out.h"

struct eval_options {
    struct cli_common common;
    struct cli_feed_options feed;
    bool confusion;
    uint64_t max_steps;
    const char *device;
};

static const struct cli_option options[] = {
    CLI_FEED_DATA_OPTIONS(struct eval_options, feed),
    CLI_STATE_OPTION(struct eval_options, feed),
    {0, "preprocess", OPTION_TEXT, offsetof(struct eval_options, feed.preprocess), "SPEC",
     "overrides the stored preprocessing", 0, 0},
    {0, "confusion", OPTION_FLAG, offsetof(struct eval_options, confusion), NULL,
     "print the confusion matrix", 0, 0},
    CLI_MAX_STEPS_OPTION(struct eval_options, max_steps),
    CLI_DEVICE_OPTION(struct eval_options, device),
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

static void print_json(const struct pith_accuracy *a)
{
    double n = (double)a->predictions;
    cli_json_uint("samples", a->samples);
    if (a->regression) {
        cli_json_number("mse", a->mse);
        cli_json_number("psnr", a->psnr);
        return;
    }
    cli_json_number("top1", (double)a->correct1 / n);
    cli_json_number("top5", (double)a->correct5 / n);
    cli_json_uint("correct1", a->correct1);
    cli_json_uint("correct5", a->correct5);
    cli_json_uint("nan", a->n_nan);
    cli_json_number("loss", a->loss);
    if (!a->positions)
        return;
    cli_json_number("perplexity", a->perplexity);
    cli_json_uint("positions", a->predictions);
}

static void print_text(const struct pith_accuracy *a)
{
    const double n = (double)a->predictions;
    if (a->regression) {
        printf("mse %.6g  psnr %.2f dB  on %" PRIu64 " samples\n", a->mse, a->psnr, a->samples);
        return;
    }
    printf("top-1 %.2f%% (%" PRIu64 ")  top-5 %.2f%% (%" PRIu64 ")  loss %.4f",
           100.0 * (double)a->correct1 / n, a->correct1, 100.0 * (double)a->correct5 / n,
           a->correct5, a->loss);
    if (a->positions)
        printf("  perplexity %.4f  on %" PRIu64 " positions of", a->perplexity, a->predictions);
    printf("%s %" PRIu64 " samples\n", a->positions ? "" : "  on", a->samples);
}

/* Only the pairs that occur: a thousand classes have a million cells. */
static void print_confusion(const uint64_t *table, uint32_t n, bool json)
{
    if (json)
        cli_json_open("confusion", '[');
    else
        puts("label prediction count");
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++) {
            uint64_t count = table[i * (size_t)n + k];
            if (count && json) {
                cli_json_open(NULL, '[');
                cli_json_uint(NULL, i);
                cli_json_uint(NULL, k);
                cli_json_uint(NULL, count);
                cli_json_close(']');
            } else if (count)
                printf("%5u %6u %5" PRIu64 "\n", i, k, count);
        }
    if (json)
        cli_json_close(']');
}

struct evaluation {
    struct pith_engine *engine;
    const struct pith_feed *feed;
    struct pith_accuracy accuracy;
    uint64_t *confusion; /* owns; NULL: not wanted */
    uint32_t n_classes;
};

static enum cli_exit count_confusion(struct evaluation *e, const struct pith_watch *watch)
{
    struct pith_error err = {0};
    struct pith_tensor t;
    pith_plan_output(pith_engine_plan(e->engine), 0, &t);
    e->n_classes = (uint32_t)(t.bytes / sizeof(float));
    if (e->accuracy.positions)
        e->n_classes /= (uint32_t)pith_data_label_count(pith_feed_labels(e->feed));
    e->confusion = calloc((size_t)e->n_classes * e->n_classes, sizeof *e->confusion);
    if (!e->confusion) {
        cli_error("out of memory for a table of %u classes", e->n_classes);
        return EXIT_MEMORY;
    }
    if (pith_confusion(e->engine, e->feed, watch, e->confusion, e->n_classes, &err))
        return cli_fail(&err);
    return EXIT_DONE;
}

static enum cli_exit measure(const struct eval_options *o, struct evaluation *e)
{
    struct pith_error err = {0};
    struct cli_progress bar;
    struct pith_watch watch = {cli_progress_step, &bar};
    enum pith_status st;
    enum cli_exit rc = EXIT_DONE;
    cli_progress_start(&bar, &o->common, "eval", pith_feed_count(e->feed));
    st = pith_evaluate(e->engine, e->feed, &watch, &e->accuracy, &err);
    cli_progress_end(&bar);
    if (st)
        return cli_fail(&err);
    if (o->confusion) {
        cli_progress_start(&bar, &o->common, "confusion", pith_feed_count(e->feed));
        rc = count_confusion(e, &watch);
        cli_progress_end(&bar);
    }
    return rc;
}

static void print(const struct eval_options *o, const struct evaluation *e)
{
    if (o->common.json)
        cli_json_begin();
    (o->common.json ? print_json : print_text)(&e->accuracy);
    if (e->accuracy.n_nan)
        cli_warn("%" PRIu64 " of %" PRIu64 " %s give NaN in output 0: they count as wrong",
                 e->accuracy.n_nan, e->accuracy.predictions,
                 e->accuracy.positions ? "positions" : "samples");
    if (e->confusion)
        print_confusion(e->confusion, e->n_classes, o->common.json);
    if (o->common.json)
        cli_json_end();
}

static enum cli_exit evaluate(const struct eval_options *o, const struct pith_packed *packed,
                              const struct cli_feed *feed)
{
    struct evaluation e = {.feed = &feed->feed};
    struct pith_error err = {0};
    struct pith_engine_opts opts;
    enum cli_exit rc;
    if (!pith_feed_labels(&feed->feed)) {
        const char *why = pith_data_unlabelled(feed->leading);
        cli_error("%s: no labels found%s%s; give --labels FILE", o->feed.data.item[0],
                  *why ? ": " : "", why);
        return EXIT_USAGE;
    }
    rc = cli_engine_opts(&o->common, &opts);
    if (!rc)
        rc = cli_device(o->device, &opts);
    if (rc)
        return rc;
    opts.max_steps = o->max_steps;
    if (pith_engine_open_packed(packed, &opts, &e.engine, &err))
        return cli_fail(&err);
    rc = cli_check_outputs(&o->common, e.engine, packed->outline, &feed->feed);
    rc = rc ? rc : measure(o, &e);
    cli_device_note(e.engine);
    if (!rc)
        print(o, &e);
    free(e.confusion);
    pith_engine_close(e.engine);
    return rc;
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct eval_options *o = opts;
    struct pith_packed packed = {0};
    struct cli_feed feed = {0};
    enum cli_exit rc;
    if (o->feed.data.n == 0) {
        cli_error("no data: give -d DATA");
        return EXIT_USAGE;
    }
    o->feed.own_sizes = true;
    rc = cli_load_packed(n_operands ? operands[0] : "-", &packed);
    if (!rc)
        rc = cli_open_feed(&o->feed, packed.outline, NULL, 0, &feed);
    if (!rc)
        rc = evaluate(o, &packed, &feed);
    cli_close_feed(&feed);
    pith_packed_free(&packed);
    return rc;
}

const struct cli_command cmd_eval = {
    "eval",
    "run",
    "accuracy on labelled data",
    "pith eval [MODEL] -d DATA [--labels FILE]",
    "Labels of an IDX file are found beside it; so are class folders and labels.csv in a folder,\n"
    "tar or zip. A csv has a header with the columns class (or label) and file, or rows of\n"
    "file,class; rows "
    "are matched to pictures by name. Without names, row i belongs to sample i.\n"
    "A label is a class number or a class name that the model stores (pith import --class-names).\n"
    "Folders whose names are neither are numbered in alphabetical order, with a warning. In an "
    ".npz\n"
    "the array of labels is y, labels, target, class, y_test or a similar name.\n"
    "Where the output is a class for each of S positions, labels may be an array of [samples, S]; "
    "a\n"
    "negative label does not count. Then top-1 and the loss are of positions, and perplexity = "
    "exp(loss).\n"
    "text:LENGTH[:STEP]:FILE gives windows of LENGTH characters, one every STEP (LENGTH), as "
    "class\n"
    "numbers; the labels are the next characters. The model stores class names of one character "
    "each; \\n\n"
    "is the newline's.\n"
    "Samples of different lengths are a folder of .npy files, one a sample, or text with a line "
    "of\n"
    "numbers for each, such as token ids. Where lengths are open, run and eval take each as it "
    "is;\n"
    "other commands fill up with zeros. A mask that is not given says what is filled up. Pictures\n"
    "may have several sizes where height and width are open.\n" CLI_STATE_TEXT "\n"
    "  pith eval net.pith -d t10k-images-idx3-ubyte.gz\n"
    "  pith eval net.pith -d imagenet.tar --labels labels.csv --json\n"
    "  pith eval kws.pith -d raw:i8:490:mfcc.bin.gz --labels labels.csv\n"
    "  pith eval writer.pith -d text:128:play.txt",
    options,
    sizeof(struct eval_options),
    0,
    1,
    run,
    NULL};
