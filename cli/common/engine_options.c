/* SPDX-License-Identifier: MIT */
#include "engine_options.h"
#include <stdlib.h>
#include <string.h>

static int interrupted(void *unused)
{
    (void)unused;
    return cli_interrupted();
}

enum cli_exit cli_engine_opts(const struct cli_common *c, struct pith_engine_opts *opts)
{
    enum cli_exit rc;
    *opts = (struct pith_engine_opts){.size_bytes = sizeof *opts, .stop = interrupted};
    rc = cli_threads(c, &opts->threads);
    return rc ? rc : cli_cpu_mask(&opts->cpu_mask);
}

enum cli_exit cli_device(const char *option, struct pith_engine_opts *opts)
{
    const char *text = option ? option : secure_getenv("PITH_DEVICE");
    if (!text || !*text)
        return EXIT_DONE;
    if (!pith_engine_device_known(text)) {
        cli_error("%s%s: not a device (cpu, cuda:0, cuda:1 ..., auto; cuda:0,f16)",
                  option ? "--device " : "PITH_DEVICE=", text);
        return EXIT_USAGE;
    }
    opts->device = text;
    opts->device_or_fail = option != NULL;
    const char *blas = secure_getenv("PITH_CUBLASLT");
    opts->blas = !blas ? "" : strcmp(blas, "none") == 0 ? NULL : blas;
    return EXIT_DONE;
}

void cli_device_note(const struct pith_engine *e)
{
    static bool said;
    const char *note = pith_engine_note(e);
    if (!*note || said)
        return;
    said = true;
    cli_warn("%s; the CPU takes over", note);
}

enum cli_exit cli_target(const char *text, enum pith_export_target *target)
{
    static const struct pith_option row = {.kind = PITH_OPTION_WORD, .words = pith_export_targets};
    struct pith_error err = {0};
    if (!pith_option_read(&row, text, target, &err))
        return EXIT_DONE;
    cli_error("--target %s", err.text);
    return EXIT_USAGE;
}
