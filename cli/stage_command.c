/* SPDX-License-Identifier: MIT */
#include "stage_command.h"
#include <string.h>

#define MAX_PATTERN 256

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
        if (!equals || len == 0 || len >= MAX_PATTERN || i >= PITH_STAGE_LAYERS) {
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

enum cli_exit cli_run_stage(const struct cli_common *c, const char *path,
                            const struct pith_stage *stage,
                            void (*print)(const struct cli_common *c,
                                          const struct pith_stage_report *report))
{
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    struct pith_stage_report report = {0};
    enum cli_exit rc = cli_check_output(c, path);
    if (!rc)
        rc = cli_load_model(path, NULL, &m);
    if (!rc && pith_stage_run(m, stage, c->seed, &report, &err))
        rc = cli_fail(&err);
    if (!rc)
        rc = cli_write_model(c, m, NULL);
    if (!rc && !c->quiet)
        print(c, &report);
    pith_stage_report_free(&report);
    pith_model_free(m);
    return rc;
}
