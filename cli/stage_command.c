/* SPDX-License-Identifier: MIT */
#include "stage_command.h"
#include <string.h>
#include "json_out.h"

#define MAX_PATTERN 256

_Static_assert(CLI_LIST_MAX <= PITH_STAGE_LAYERS, "a --layer for each entry of a list");

/* Patterns live as long as the process: the stage borrows them. */
static char patterns[PITH_STAGE_LAYERS][MAX_PATTERN];

enum cli_exit cli_layer_overrides(const struct cli_list *list,
                                  bool (*read)(struct pith_stage *s, uint32_t i, const char *pattern,
                                               const char *value),
                                  struct pith_stage *stage)
{
    for (uint32_t i = 0; i < list->n; i++) {
        const char *text = list->item[i], *equals = strrchr(text, '=');
        size_t len = equals ? (size_t)(equals - text) : 0;
        if (!equals || len == 0 || len >= MAX_PATTERN) {
            cli_error("--layer '%s': not of the form GLOB=value", text);
            return EXIT_USAGE;
        }
        memcpy(patterns[i], text, len);
        patterns[i][len] = '\0';
        if (!read(stage, i, patterns[i], equals + 1)) {
            cli_error("--layer '%s': '%s' is not a value for it", text, equals + 1);
            return EXIT_USAGE;
        }
    }
    return EXIT_DONE;
}

static void json_pruned(const struct pith_prune_layer *l)
{
    cli_json_string("name", l->layer);
    cli_json_uint("weights", l->count);
    cli_json_uint("kept", l->kept);
}

static void json_clustered(const struct pith_cluster_layer *l)
{
    cli_json_string("name", l->layer);
    cli_json_uint("weights", l->n_weights);
    cli_json_uint("centroids", l->n_centroids);
    cli_json_number("snr_db", l->snr_db);
}

static void print_json(const struct pith_stage_report *r, uint64_t bytes)
{
    cli_json_begin();
    cli_json_uint("bytes", bytes);
    cli_json_uint("weights", r->weights);
    cli_json_uint("kept", r->kept);
    cli_json_open("layers", '[');
    for (uint32_t i = 0; i < r->n_layers; i++) {
        cli_json_open(NULL, '{');
        if (r->prune)
            json_pruned(&r->prune[i]);
        else
            json_clustered(&r->cluster[i]);
        cli_json_close('}');
    }
    cli_json_close(']');
    cli_json_end();
}

static enum cli_exit run_shown(const struct cli_common *c, const struct pith_stage *stage,
                               struct pith_model *m, struct pith_stage_report *report)
{
    struct pith_error err = {0};
    struct cli_progress bar;
    enum pith_status st;
    cli_progress_start(&bar, c, stage->kind == PITH_STAGE_PRUNE ? "prune" : "cluster", 0);
    st = pith_stage_run(m, stage, c->seed, report, &err);
    cli_progress_end(&bar);
    return st ? cli_fail(&err) : EXIT_DONE;
}

enum cli_exit cli_run_stage(const struct cli_common *c, const char *path,
                            const struct pith_stage *stage,
                            void (*print)(const struct cli_common *c,
                                          const struct pith_stage_report *report))
{
    struct pith_model *m = NULL;
    struct pith_stage_report report = {0};
    uint64_t bytes = 0;
    enum cli_exit rc = cli_check_output(c, path);
    if (!rc)
        rc = cli_load_model(path, NULL, &m);
    if (!rc)
        rc = run_shown(c, stage, m, &report);
    if (!rc)
        rc = cli_write_model(c, m, &bytes);
    if (!rc && c->json)
        print_json(&report, bytes);
    if (!rc && !c->quiet)
        print(c, &report);
    pith_stage_report_free(&report);
    pith_model_free(m);
    return rc;
}
