/* SPDX-License-Identifier: MIT */
/* pith version: the library's version, the format's, and what this CPU offers. */
#include <stdio.h>
#include "cli.h"
#include "pith_host.h"

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    const struct cli_common *c = opts;
    uint32_t v = pith_version();
    char cpu[128];
    (void)operands;
    (void)n_operands;
    pith_cpu_names(pith_cpu_features(), cpu, sizeof cpu);
    if (c->json)
        printf("{\"pith\":1,\"version\":\"%u.%u.%u\",\"format\":0,\"cpu\":\"%s\"}\n", v >> 16,
               v >> 8 & 255, v & 255, cpu);
    else
        printf("pith %u.%u.%u (format 0; cpu %s)\n", v >> 16, v >> 8 & 255, v & 255, cpu);
    return EXIT_DONE;
}

const struct cli_command cmd_version = {
    "version", "misc", "version of pith, of the file format, and CPU features", "pith version",
    NULL, NULL, sizeof(struct cli_common), 0, 0, run};
