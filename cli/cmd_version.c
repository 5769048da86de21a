/* SPDX-License-Identifier: MIT */
/* pith version: the library's version, the format's, and what this CPU offers. */
#include <stdio.h>
#include "cli/common/json_out.h"
#include "pith_host.h"

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    const struct cli_common *c = opts;
    uint32_t v = pith_version();
    char cpu[128], version[32];
    (void)operands;
    (void)n_operands;
    pith_cpu_names(pith_cpu_features(), cpu, sizeof cpu);
    snprintf(version, sizeof version, "%u.%u.%u", v >> 16, v >> 8 & 255, v & 255);
    if (!c->json) {
        printf("pith %s (format %d; cpu %s)\n", version, PITH_FORMAT_VERSION, cpu);
        return EXIT_DONE;
    }
    cli_json_begin();
    cli_json_string("version", version);
    cli_json_uint("format", PITH_FORMAT_VERSION);
    cli_json_string("cpu", cpu);
    cli_json_end();
    return EXIT_DONE;
}

const struct cli_command cmd_version = {"version",
                                        "misc",
                                        "version of pith, of the file format, and CPU features",
                                        "pith version",
                                        NULL,
                                        NULL,
                                        sizeof(struct cli_common),
                                        0,
                                        0,
                                        run,
                                        NULL};
