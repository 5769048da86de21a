/* SPDX-License-Identifier: MIT */
/* pith plan: what was chosen and placed to run a model on this machine, as a file. */
#include <stdlib.h>
#include "array_files.h"
#include "cli/common/engine_options.h"
#include "pith_load.h"

static enum cli_exit write_plan(const struct cli_common *c, struct pith_engine *e)
{
    const struct pith_plan *plan = pith_engine_plan(e);
    struct pith_buffer file = {.bytes = (size_t)pith_plan_file_bytes(plan)};
    file.data = malloc(file.bytes);
    if (!file.data)
        return cli_no_memory();
    pith_plan_file_write(plan, file.data, file.bytes); /* has room, and no observer is set */
    return cli_write_array(c, c->output, &file);
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    const struct cli_common *c = opts;
    struct pith_packed packed = {0};
    struct pith_engine *e = NULL;
    struct pith_engine_opts o;
    struct pith_error err = {0};
    (void)n_operands;
    if (!c->output) {
        cli_error("where to? -o net.plan");
        return EXIT_USAGE;
    }
    enum cli_exit rc = cli_check_array(c, c->output, operands[0]);
    if (!rc)
        rc = cli_load_packed(operands[0], &packed);
    if (!rc)
        rc = cli_engine_opts(c, &o);
    if (!rc && pith_engine_open_packed(&packed, &o, &e, &err))
        rc = cli_fail(&err);
    if (!rc)
        rc = write_plan(c, e);
    pith_engine_close(e);
    pith_packed_free(&packed);
    return rc;
}

const struct cli_command cmd_plan = {
    "plan",
    "run",
    CLI_PLAN_SUMMARY,
    "pith plan MODEL -o net.plan",
    "The file names the kernel of every step and the place of every value in memory, for this "
    "model\n"
    "on CPUs with the same instruction sets, this version of pith, and with threads (-T) or "
    "without.\n"
    "pith run --plan uses it and refuses it elsewhere; pith info net.pith net.plan prints it.\n"
    "\n"
    "  pith plan net.pith -T 1 -o net.plan\n"
    "  pith run net.pith --plan net.plan -T 1 digit.png",
    NULL,
    sizeof(struct cli_common),
    1,
    1,
    run,
    NULL};
