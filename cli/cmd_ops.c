/* SPDX-License-Identifier: MIT */
/* pith ops: which ONNX operators import understands. */
#include <stdio.h>
#include "cli/common/json_out.h"
#include "pith_onnx.h"

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    const struct cli_common *c = opts;
    const char *name;
    (void)operands;
    (void)n_operands;
    if (c->json) {
        cli_json_begin();
        cli_json_open("ops", '[');
    }
    for (uint32_t i = 0; (name = pith_onnx_op_name(i)) != NULL; i++)
        if (c->json)
            cli_json_string(NULL, name);
        else
            puts(name);
    if (c->json) {
        cli_json_close(']');
        cli_json_end();
    }
    return EXIT_DONE;
}

const struct cli_command cmd_ops = {"ops",
                                    "misc",
                                    "supported ONNX operators (opsets 7 to 28)",
                                    "pith ops [--json]",
                                    NULL,
                                    NULL,
                                    sizeof(struct cli_common),
                                    0,
                                    0,
                                    run,
                                    NULL};
