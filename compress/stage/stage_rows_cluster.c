/* SPDX-License-Identifier: MIT */
/* stage_rows_cluster.c - the options of the stage `cluster`. Recipes say them in this order. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error_fill.h"
#include "base/number_text.h"
#include "stage_rows.h"

#define DEFAULT_CENTROIDS 16u

/* ---- how many values ------------------------------------------------------------------------- */

static enum pith_status read_bits(struct pith_stage *s, const char *text,
                                  struct pith_stage_texts *texts, struct pith_error *err)
{
    static const struct pith_option row = {
        .kind = PITH_OPTION_UINT, .min = 1, .max = 8, .normal = 1};
    uint32_t bits = 0;
    (void)texts;
    enum pith_status st = pith_option_read(&row, text, &bits, err);
    if (!st)
        s->cluster.n_centroids = 1u << bits;
    return st;
}

static void print_bits(const struct pith_stage *s, char *text, size_t room)
{
    const uint32_t n = s->cluster.n_centroids ? s->cluster.n_centroids : DEFAULT_CENTROIDS;
    snprintf(text, room, "%d", __builtin_ctz(n));
}

static bool has_bits(const struct pith_stage *s)
{
    return s->cluster.n_centroids != 0;
}

static const struct pith_option_own bits = {read_bits, print_bits, has_bits, true};

/* ---- for what -------------------------------------------------------------------------------- */

/* "tensor", "channel" or "group:64" */
static enum pith_status read_per(struct pith_stage *s, const char *text,
                                 struct pith_stage_texts *texts, struct pith_error *err)
{
    uint64_t elems = 0;
    (void)texts;
    bool group = strncmp(text, "group:", 6) == 0 && pith_parse_uint(text + 6, &elems) && elems > 0;
    if (strcmp(text, "tensor") == 0)
        s->cluster.per = PITH_CLUSTER_PER_TENSOR;
    else if (strcmp(text, "channel") == 0)
        s->cluster.per = PITH_CLUSTER_PER_CHANNEL;
    else if (group)
        s->cluster.per = PITH_CLUSTER_PER_GROUP;
    else
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "'%.60s': give tensor, channel or group:N",
                               text);
    s->cluster.group_elems = elems;
    return PITH_OK;
}

static void print_per(const struct pith_stage *s, char *text, size_t room)
{
    if (s->cluster.per == PITH_CLUSTER_PER_GROUP)
        snprintf(text, room, "group:%" PRIu64, s->cluster.group_elems);
    else
        snprintf(text, room, "%s",
                 s->cluster.per == PITH_CLUSTER_PER_CHANNEL ? "channel" : "tensor");
}

static bool has_per(const struct pith_stage *s)
{
    return s->cluster.per != PITH_CLUSTER_PER_TENSOR;
}

static const struct pith_option_own per = {read_per, print_per, has_per, false};

/* "conv*=8" or "conv*=8bit" */
static enum pith_status read_layer(struct pith_stage *s, const char *text,
                                   struct pith_stage_texts *texts, struct pith_error *err)
{
    const char *value = pith_stage_layer_value(text, err);
    if (!value)
        return PITH_ERR_ARGUMENT;
    if (value[0] < '0' || value[0] > '8' || (value[1] && strcmp(value + 1, "bit") != 0))
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "'%.100s': '%.100s' is not a valid value",
                               text, value);
    const char *pattern = pith_stage_keep_glob(texts, text, value, s->cluster.n_layers, err);
    if (!pattern)
        return PITH_ERR_ARGUMENT;
    s->cluster_layers[s->cluster.n_layers++] =
        (struct pith_cluster_size){pattern, value[0] == '0' ? 0 : 1u << (value[0] - '0')};
    s->cluster.layers = s->cluster_layers;
    return PITH_OK;
}

static bool has_layers(const struct pith_stage *s)
{
    return s->cluster.n_layers > 0;
}

const struct pith_option_own pith_own_cluster_layers = {read_layer, NULL, has_layers, false};

/* ---- rows ------------------------------------------------------------------------------------ */

static const struct pith_word values[] = {
    {"f32", PITH_CLUSTER_F32}, {"f16", PITH_CLUSTER_F16}, {NULL, 0}};

static const struct pith_option rows[] = {
    PITH_OWN_ROW("bits", &bits, "B", "bits of a codebook index: 1 to 8 (default 4)",
                 .flags = PITH_OPTION_ALWAYS,
                 .source = "Han et al., 2016, Deep compression, section 3.2"),
    PITH_OWN_ROW("per", &per, "WHAT", "one codebook per tensor (default), channel or group:N",
                 .flags = PITH_OPTION_ALWAYS),
    PITH_ROW(WORD, "values", cluster.values, "TYPE", "type of the centroids",
             .normal = PITH_CLUSTER_F32, .words = values, .flags = PITH_OPTION_ALWAYS),
    PITH_OWN_ROW("layers", &pith_own_cluster_layers, "GLOB=B",
                 "bits for these layers; 0: not clustered", .option = "layer"),
};
static const struct pith_option_set all = {rows, sizeof rows / sizeof *rows};

const struct pith_option_table pith_cluster_stage_options = {"cluster", {{&all, 0}, {NULL, 0}}};
