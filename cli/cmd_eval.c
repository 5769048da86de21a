/* SPDX-License-Identifier: MIT */
/* pith eval: accuracy on labelled data. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "data_options.h"

struct eval_options {
    struct cli_common common;
    struct cli_data data;
    const char *preprocess;
    bool confusion;
};

static const struct cli_option options[] = {
    CLI_DATA_OPTIONS(struct eval_options, data),
    {0, "preprocess", OPTION_TEXT, offsetof(struct eval_options, preprocess), "SPEC",
     "instead of what the model stores", 0, 0},
    {0, "confusion", OPTION_FLAG, offsetof(struct eval_options, confusion), NULL,
     "print the table of labels and answers", 0, 0},
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

static void print_json(const struct pith_accuracy *a)
{
    printf("{\"pith\":1,\"samples\":%" PRIu64, a->samples);
    if (a->regression)
        printf(",\"mse\":%.9g,\"psnr\":%.6g}\n", a->mse, isfinite(a->psnr) ? a->psnr : 999.0);
    else
        printf(",\"top1\":%.9g,\"top5\":%.9g,\"correct1\":%" PRIu64 ",\"correct5\":%" PRIu64
               ",\"loss\":%.9g}\n",
               (double)a->correct1 / (double)a->samples, (double)a->correct5 / (double)a->samples,
               a->correct1, a->correct5, a->loss);
}

static void print_text(const struct pith_accuracy *a)
{
    if (a->regression)
        printf("mse %.6g  psnr %.2f dB  on %" PRIu64 " samples\n", a->mse, a->psnr, a->samples);
    else
        printf("top-1 %.2f%% (%" PRIu64 ")  top-5 %.2f%% (%" PRIu64 ")  loss %.4f  on %" PRIu64
               " samples\n",
               100.0 * (double)a->correct1 / (double)a->samples, a->correct1,
               100.0 * (double)a->correct5 / (double)a->samples, a->correct5, a->loss, a->samples);
}

static enum cli_exit print_confusion(struct pith_engine *e, struct pith_data *data)
{
    struct pith_error err = {0};
    struct pith_tensor t;
    uint64_t *table;
    uint32_t n;
    pith_plan_output(pith_engine_plan(e), 0, &t);
    n = (uint32_t)(t.bytes / sizeof(float));
    table = calloc((size_t)n * n, sizeof *table);
    if (!table) {
        cli_error("out of memory for a table of %u classes", n);
        return EXIT_MEMORY;
    }
    if (pith_confusion(e, data, NULL, table, n, &err)) {
        free(table);
        return cli_fail(&err);
    }
    puts("label answer count");
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++)
            if (table[i * (size_t)n + k])
                printf("%u %u %" PRIu64 "\n", i, k, table[i * (size_t)n + k]);
    free(table);
    return EXIT_DONE;
}

static enum cli_exit evaluate(const struct eval_options *o, const struct pith_model *m,
                              struct pith_data *data)
{
    struct pith_error err = {0};
    struct pith_engine_opts opts;
    struct pith_engine *e;
    struct pith_accuracy a;
    struct cli_progress bar;
    struct pith_watch watch = {cli_progress_step, &bar};
    enum cli_exit rc = cli_engine_opts(&o->common, &opts);
    if (rc)
        return rc;
    if (pith_engine_open(m, &opts, &e, &err))
        return cli_fail(&err);
    cli_progress_start(&bar, &o->common, "eval", pith_data_count(data));
    rc = pith_evaluate(e, data, &watch, &a, &err) ? EXIT_NO : EXIT_DONE;
    cli_progress_end(&bar);
    if (rc)
        rc = cli_interrupted() ? EXIT_INTERRUPTED : cli_fail(&err);
    else if (o->common.json)
        print_json(&a);
    else
        print_text(&a);
    if (!rc && o->confusion)
        rc = print_confusion(e, data);
    pith_engine_close(e);
    return rc;
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct eval_options *o = opts;
    struct pith_model *m = NULL;
    struct pith_data *data = NULL;
    enum cli_exit rc;
    o->data.preprocess = o->preprocess;
    rc = cli_load_model(n_operands ? operands[0] : "-", NULL, &m);
    if (!rc)
        rc = cli_open_data(&o->data, m, &data);
    if (!rc)
        rc = evaluate(o, m, data);
    pith_data_free(data);
    pith_model_free(m);
    return rc;
}

const struct cli_command cmd_eval = {
    "eval", "run", "accuracy on labelled data", "pith eval [MODEL] -d DATA [--labels FILE]",
    "The labels of an IDX file are found beside it; class folders and labels.csv inside a folder or\n"
    "tar file too.\n\n"
    "  pith eval net.pith -d t10k-images-idx3-ubyte.gz\n"
    "  pith eval net.pith -d imagenet.tar --labels labels.csv --json\n"
    "  pith eval kws.pith -d raw:i8:490:mfcc.bin.gz --labels labels.csv",
    options, sizeof(struct eval_options), 0, 1, run};
