/* SPDX-License-Identifier: MIT */
/* engine_options.h - what an engine is opened with: threads, instruction sets, a device. */
#ifndef ENGINE_OPTIONS_H
#define ENGINE_OPTIONS_H

#include "cli.h"
#include "export/export.h"
#include "pith_measure.h"

#define CLI_MAX_STEPS_OPTION(type, member)                                                         \
    {                                                                                              \
        0, "max-steps", OPTION_UINT, offsetof(type, member), "N",                                  \
            "stop a run after N steps (default 2^32)", 1, 1e18                                     \
    }

#define CLI_DEVICE_OPTION(type, member)                                                            \
    {                                                                                              \
        0, "device", OPTION_TEXT, offsetof(type, member), "NAME",                                  \
            "cpu, cuda:N[,f16] or auto (the faster); default PITH_DEVICE", 0, 0                    \
    }

/* --device, else PITH_DEVICE: a device that cannot be had is a failure with the former, with the
 * latter the CPU takes over. EXIT_USAGE. */
enum cli_exit cli_device(const char *option, struct pith_engine_opts *opts);
/* Says once why an engine is not on the requested device, where it is not. */
void cli_device_note(const struct pith_engine *e);

#define CLI_TARGET_OPTION(type, member, what)                                                      \
    {                                                                                              \
        0, "target", OPTION_TEXT, offsetof(type, member), "CPU",                                   \
            what " cortex-m0, -m4f ... (pith help export)", 0, 0                                   \
    }

/* EXIT_USAGE: the text names no target. */
enum cli_exit cli_target(const char *text, enum pith_export_target *target);

/* Of `run` and `generate`, */
#define CLI_RUN_SUMMARY "outputs for inputs; tokens behind a prompt"

/* Of `plan` and `tune`, which so share a line of the overview. */
#define CLI_PLAN_SUMMARY "choose kernels for this machine, by estimate or by timing"

/* Threads and PITH_CPU for an engine; ^C and SIGTERM end its runs between two steps. */
enum cli_exit cli_engine_opts(const struct cli_common *c, struct pith_engine_opts *opts);

#endif
