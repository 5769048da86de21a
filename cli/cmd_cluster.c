/* SPDX-License-Identifier: MIT */
/* pith cluster: few values instead of many. */
#include <inttypes.h>
#include <string.h>
#include "stage_command.h"
#include "table.h"

struct cluster_options {
    struct cli_common common;
    uint64_t bits, centroids, iterations;
    const char *init, *per, *values;
    struct cli_list layers;
};

static const struct cli_option options[] = {
    {0, "bits", OPTION_UINT, offsetof(struct cluster_options, bits), "B",
     "bits an index: 1 to 8 (default 4)", 1, 8},
    {0, "centroids", OPTION_UINT, offsetof(struct cluster_options, centroids), "K",
     "values a codebook: 2 to 256", 2, 256},
    {0, "init", OPTION_TEXT, offsetof(struct cluster_options, init), "HOW",
     "linear (default), density, random, exact", 0, 0},
    {0, "per", OPTION_TEXT, offsetof(struct cluster_options, per), "WHAT",
     "one codebook per tensor (default), channel, group:N", 0, 0},
    {0, "values", OPTION_TEXT, offsetof(struct cluster_options, values), "TYPE",
     "centroids as f32 (default) or f16", 0, 0},
    {0, "iterations", OPTION_UINT, offsetof(struct cluster_options, iterations), "N",
     "at most N rounds of k-means (default 300)", 1, 1e6},
    {0, "layer", OPTION_LIST, offsetof(struct cluster_options, layers), "GLOB=B",
     "other bits for these layers; 0 leaves them alone", 0, 0},
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

/* "8" or "8bit" */
static bool read_layer(struct pith_stage *s, uint32_t i, const char *pattern, const char *value)
{
    if (value[0] < '0' || value[0] > '8' || (value[1] && strcmp(value + 1, "bit") != 0))
        return false;
    s->cluster_layers[i].pattern = pattern;
    s->cluster_layers[i].n_centroids = value[0] == '0' ? 0 : 1u << (value[0] - '0');
    s->cluster.layers = s->cluster_layers;
    s->cluster.n_layers = i + 1;
    return true;
}

static enum cli_exit choose(const char *option, const char *text, const char *const *words,
                            int *index)
{
    if (cli_find_word(text, words, index))
        return EXIT_DONE;
    cli_error("--%s '%s': not a choice", option, text);
    return EXIT_USAGE;
}

static enum cli_exit read_per(const char *text, struct pith_cluster_opts *o)
{
    if (!text || strcmp(text, "tensor") == 0)
        o->per = PITH_CLUSTER_PER_TENSOR;
    else if (strcmp(text, "channel") == 0)
        o->per = PITH_CLUSTER_PER_CHANNEL;
    else if (strncmp(text, "group:", 6) == 0 && pith_parse_uint(text + 6, &o->group_elems) &&
             o->group_elems > 0)
        o->per = PITH_CLUSTER_PER_GROUP;
    else {
        cli_error("--per '%s': give tensor, channel or group:N", text);
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

static enum cli_exit read_options(const struct cluster_options *o, struct pith_stage *s)
{
    static const char *const inits[] = {"linear", "density", "random", "exact", NULL};
    static const char *const values[] = {"f32", "f16", NULL};
    int init, value;
    pith_stage_init(s, PITH_STAGE_CLUSTER);
    if (o->bits && o->centroids) {
        cli_error("give --bits or --centroids");
        return EXIT_USAGE;
    }
    if (choose("init", o->init, inits, &init) || choose("values", o->values, values, &value) ||
        read_per(o->per, &s->cluster))
        return EXIT_USAGE;
    s->cluster.init = (enum pith_cluster_init)init;
    s->cluster.values = (enum pith_cluster_values)value;
    s->cluster.n_centroids = o->bits ? 1u << o->bits : (uint32_t)o->centroids;
    s->cluster.iterations = (uint32_t)o->iterations;
    return cli_layer_overrides(&o->layers, read_layer, s);
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
        cli_table_add(&t, "%s weights", cli_format_count(r->cluster[i].n_weights, a));
        cli_table_add(&t, "%u centroids", r->cluster[i].n_centroids);
        cli_table_add(&t, "%.1f dB", r->cluster[i].snr_db);
    }
    cli_table_print(&t, stderr);
    cli_say(c, "cluster    %s weights in %u layers, SNR %.1f dB", cli_format_count(n, a),
            r->n_layers, r->snr_db);
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct cluster_options *o = opts;
    struct pith_stage stage;
    enum cli_exit rc = read_options(o, &stage);
    return rc ? rc
              : cli_run_stage(&o->common, n_operands ? operands[0] : "-", &stage, NULL, NULL,
                              print);
}

const struct cli_command cmd_cluster = {
    "cluster",
    "make",
    "trained codebooks: few values instead of many",
    "pith cluster [MODEL] [--bits 4] [-o FILE]",
    "One-dimensional k-means over the weights that pruning left; zero stays exact. Batch "
    "normalisation\n"
    "is folded into the layer before it first.\n\n"
    "  pith cluster pruned.pith --bits 5 --layer 'conv*=8' -o small.pith",
    options,
    sizeof(struct cluster_options),
    0,
    1,
    run,
    NULL};
