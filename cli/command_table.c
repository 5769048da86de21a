/* SPDX-License-Identifier: MIT */
/* Every command, in the order of `pith help`. A new one: a file cmd_<name>.c and a row here. */
#include "command_table.h"

extern const struct cli_command cmd_info, cmd_check, cmd_compare, cmd_sense, cmd_import, cmd_init,
    cmd_prune, cmd_cluster, cmd_calibrate, cmd_quantize, cmd_train, cmd_encode, cmd_compress,
    cmd_sweep, cmd_run, cmd_generate, cmd_serve, cmd_plan, cmd_tune, cmd_eval, cmd_bench,
    cmd_decode, cmd_export, cmd_recipe, cmd_help, cmd_completion, cmd_version, cmd_ops, cmd_report,
    cmd_weights;

const struct cli_command *const cli_commands[] = {
    &cmd_info,   &cmd_check,      &cmd_compare, &cmd_sense,     &cmd_report,   &cmd_import,
    &cmd_init,   &cmd_prune,      &cmd_cluster, &cmd_calibrate, &cmd_quantize, &cmd_train,
    &cmd_encode, &cmd_compress,   &cmd_sweep,   &cmd_run,       &cmd_generate, &cmd_serve,
    &cmd_plan,   &cmd_tune,       &cmd_eval,    &cmd_bench,     &cmd_decode,   &cmd_export,
    &cmd_help,   &cmd_completion, &cmd_version, &cmd_recipe,    &cmd_weights,  &cmd_ops,
    NULL};
