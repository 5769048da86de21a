/* SPDX-License-Identifier: MIT */
/* what_if.c - see what_if.h. */
#include "what_if.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "cli/common/json_out.h"
#include "pith_pack.h"
#include "pith_prune.h"
#include "pith_quantize.h"
#include "cli/common/table.h"

/* ---- the text -------------------------------------------------------------------------------- */

static bool set_part(struct cli_what_if *w, const char *key, const char *value)
{
    if (strcmp(key, "density") == 0)
        return pith_parse_number(value, &w->density) && w->density > 0 && w->density <= 1;
    if (strcmp(key, "bits") == 0)
        return pith_parse_uint(value, &w->bits) && w->bits >= 1 && w->bits <= 8;
    if (strcmp(key, "pattern") == 0 && strlen(value) < sizeof w->pattern) {
        memcpy(w->pattern, value, strlen(value) + 1);
        return true;
    }
    return false;
}

/* One KEY=VALUE of n characters. */
static bool take_part(struct cli_what_if *w, const char *text, size_t n)
{
    char part[64];
    if (n >= sizeof part)
        return false;
    memcpy(part, text, n);
    part[n] = '\0';
    char *equals = strchr(part, '=');
    if (!equals)
        return false;
    *equals = '\0';
    return set_part(w, part, equals + 1);
}

enum cli_exit cli_what_if_parse(const char *text, struct cli_what_if *w)
{
    struct pith_pattern pattern;
    struct pith_error err = {0};
    bool good = true;
    *w = (struct cli_what_if){.pattern = "any"};
    for (const char *at = text; good; at++) {
        size_t n = strcspn(at, ",");
        good = take_part(w, at, n);
        at += n;
        if (!*at)
            break;
    }
    if (good && pith_pattern_parse(w->pattern, &pattern, &err))
        return cli_fail(&err);
    bool fixed =
        good && (pattern.kind == PITH_PATTERN_N_OF_M || pattern.kind == PITH_PATTERN_BALANCED);
    if (good && fixed == (w->density == 0))
        return EXIT_DONE;
    cli_error("--what-if '%s': density=D with 0 < D <= 1, or pattern=2:4, balanced:12/128; then "
              "bits=1..8, pattern=1x4",
              text);
    return EXIT_USAGE;
}

/* ---- the model ------------------------------------------------------------------------------- */

static enum cli_exit shrink(const struct cli_what_if *w, struct pith_model *m)
{
    struct pith_error err = {0};
    struct pith_prune_opts prune = {.size_bytes = sizeof prune,
                                    .sparsity = w->density > 0 ? 1 - w->density : 0};
    struct pith_cluster_opts cluster = {.size_bytes = sizeof cluster};
    cluster.n_centroids = w->bits ? 1u << w->bits : 0;
    if (pith_pattern_parse(w->pattern, &prune.pattern, &err) ||
        pith_prune(m, &prune, NULL, NULL, &err) ||
        (w->bits && pith_cluster(m, &cluster, NULL, NULL, &err)))
        return cli_fail(&err);
    return EXIT_DONE;
}

enum cli_exit cli_what_if_load(const struct cli_what_if *w, const char *path,
                               struct pith_packed *packed)
{
    struct pith_model *m = NULL;
    struct pith_buffer file = {0};
    struct pith_error err = {0};
    enum cli_exit rc = cli_load_model(path, NULL, &m);
    if (!rc)
        rc = shrink(w, m);
    if (!rc && (pith_model_pack(m, NULL, &file, &err) ||
                pith_packed_read(&file, path, NULL, packed, &err)))
        rc = cli_fail(&err);
    pith_model_free(m);
    return rc;
}

/* ---- output --------------------------------------------------------------------------------- */

/* Layer i of both plans, where it has weights: the same nodes are fused in the same way. */
static bool layer_of(struct pith_engine *e[2], uint32_t i, struct pith_layer l[2])
{
    for (int side = 0; side < 2; side++) {
        const struct pith_plan *plan = pith_engine_plan(e[side]);
        if (i >= pith_plan_layer_count(plan))
            return false;
        pith_plan_layer(plan, i, &l[side]);
    }
    return l[0].op == l[1].op && l[0].file_bytes > 0 && l[0].macs > 0;
}

static double ratio_of(struct pith_engine *e[2], uint32_t i)
{
    uint64_t pruned = pith_engine_layer_ns(e[1], i);
    return (double)pith_engine_layer_ns(e[0], i) / (double)(pruned ? pruned : 1);
}

void cli_what_if_print(struct pith_engine *dense, struct pith_engine *pruned)
{
    static const char *const heads[] = {"step", "layer", "as it is", "us", "pruned", "us", "ratio"};
    struct pith_engine *e[2] = {dense, pruned};
    struct pith_layer l[2];
    struct cli_table t;
    cli_table_start(&t, 7);
    for (uint32_t c = 0; c < 7; c++)
        cli_table_add(&t, "%s", heads[c]);
    cli_table_left(&t, 1);
    cli_table_left(&t, 2);
    cli_table_left(&t, 4);
    for (uint32_t i = 0; i < pith_plan_layer_count(pith_engine_plan(dense)); i++) {
        if (!layer_of(e, i, l))
            continue;
        cli_table_add(&t, "%" PRIu32, i); /* many exporters name no node */
        cli_table_add(&t, "%.*s", (int)l[0].name_bytes, l[0].name);
        for (int side = 0; side < 2; side++) {
            cli_table_add(&t, "%s", l[side].kernel);
            cli_table_add(&t, "%.1f", (double)pith_engine_layer_ns(e[side], i) / 1e3);
        }
        cli_table_add(&t, "%.2fx", ratio_of(e, i));
    }
    cli_table_print(&t, stdout);
}

void cli_what_if_json(struct pith_engine *dense, struct pith_engine *pruned)
{
    struct pith_engine *e[2] = {dense, pruned};
    struct pith_layer l[2];
    cli_json_open("what_if_layers", '[');
    for (uint32_t i = 0; i < pith_plan_layer_count(pith_engine_plan(dense)); i++) {
        if (!layer_of(e, i, l))
            continue;
        cli_json_open(NULL, '{');
        cli_json_uint("step", i);
        cli_json_bytes("name", l[0].name, l[0].name_bytes);
        cli_json_string("kernel", l[0].kernel);
        cli_json_uint("ns", pith_engine_layer_ns(e[0], i));
        cli_json_string("pruned_kernel", l[1].kernel);
        cli_json_uint("pruned_ns", pith_engine_layer_ns(e[1], i));
        cli_json_close('}');
    }
    cli_json_close(']');
}
