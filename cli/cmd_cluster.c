/* SPDX-License-Identifier: MIT */
/* pith cluster: few values instead of many. */
#include <inttypes.h>
#include <string.h>
#include "stage_command.h"
#include "cli/common/stage_options.h"
#include "cli/common/table.h"

struct cluster_options {
    struct cli_common common;
    struct pith_stage stage;
};

static const struct cli_option options[] = {
    CLI_STAGE_BASIC(struct cluster_options, stage, PITH_STAGE_CLUSTER),
    CLI_STAGE_SET(struct cluster_options, stage, PITH_STAGE_CLUSTER,
                  "any of these options by its recipe key"),
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

static void set_defaults(void *opts)
{
    pith_stage_init(&((struct cluster_options *)opts)->stage, PITH_STAGE_CLUSTER);
}

static void print(const struct cli_common *c, const struct pith_stage_report *r)
{
    char a[32];
    struct cli_table t;
    uint64_t n = 0;
    cli_table_start(&t, 4);
    for (uint32_t i = 0; i < r->n_layers; i++) {
        n += r->cluster[i].n_weights;
        if (!c->verbose)
            continue;
        cli_table_add(&t, "%s", r->cluster[i].layer);
        cli_table_add(&t, "%s weights", pith_count_text(r->cluster[i].n_weights, a));
        cli_table_add(&t, "%u centroids", r->cluster[i].n_centroids);
        cli_table_add(&t, "%.1f dB", r->cluster[i].snr_db);
    }
    cli_table_print(&t, stderr);
    cli_summary(c, "cluster    %s weights in %u layers, SNR %.1f dB", pith_count_text(n, a),
                r->n_layers, r->snr_db);
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct cluster_options *o = opts;
    enum cli_exit rc = cli_check_stage(&o->stage);
    return rc ? rc
              : cli_run_stage(&o->common, n_operands ? operands[0] : "-", &o->stage, NULL, NULL,
                              print);
}

const struct cli_command cmd_cluster = {
    "cluster",
    "make",
    "trained codebooks that weights share (k-means)",
    "pith cluster [MODEL] [--bits 4] [-o FILE]",
    "One-dimensional k-means over the weights that are not pruned; zero stays exact. Batch\n"
    "normalization is folded first.\n"
    "\n"
    "  pith cluster pruned.pith --bits 5 --layer 'conv*=8' -o small.pith",
    options,
    sizeof(struct cluster_options),
    0,
    1,
    run,
    set_defaults};
