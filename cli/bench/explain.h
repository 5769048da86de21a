/* SPDX-License-Identifier: MIT */
/* explain.h - why a step runs the kernel that it runs: what its others take on this machine. */
#ifndef EXPLAIN_H
#define EXPLAIN_H

#include <stdio.h>
#include "cli/common/cli.h"
#include "pith_tune.h"

struct cli_explained {
    struct pith_tuned found; /* owns */
};

#define EXPLAIN_SECONDS 2.0 /* of timing, by default */

/* With a plan file or a device (NULL: none): says why not. */
bool cli_explain_refuses(const char *plan, const char *device);

/* Times every kernel of every step for about `seconds`. opts: as pith_tune takes them. */
enum cli_exit cli_explain(const struct pith_packed *packed, const struct pith_engine_opts *opts,
                          double seconds, struct cli_explained *explained);
/* A line a step of the engine's plan, which is the planned one; or the member "explain". */
void cli_explain_print(const struct cli_explained *explained, struct pith_engine *engine, FILE *to);
void cli_explain_json(const struct cli_explained *explained, struct pith_engine *engine);
void cli_explain_free(struct cli_explained *explained); /* accepts zeros */

#endif
