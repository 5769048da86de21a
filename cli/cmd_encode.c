/* SPDX-License-Identifier: MIT */
/* pith encode: batch normalisation folded, gaps and indices entropy-coded: the final file. */
#include <math.h>
#include <string.h>
#include "cli/common/cli.h"
#include "pith_pack.h"
#include "cli/common/json_out.h"
#include "pith_compress.h"
#include "compress/output/pack_small.h"
#include "cli/common/stage_options.h"

#define LOAD_STEP 0.01 /* seconds; less is not printed */

struct encode_options {
    struct cli_common common;
    struct pith_stage stage;
};

static const struct cli_option options[] = {
    CLI_STAGE_BASIC(struct encode_options, stage, PITH_STAGE_ENCODE),
    CLI_STAGE_SET(struct encode_options, stage, PITH_STAGE_ENCODE,
                  "any of these options by its recipe key"),
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

static void set_defaults(void *opts)
{
    pith_stage_init(&((struct encode_options *)opts)->stage, PITH_STAGE_ENCODE);
}

static enum cli_exit encode(const struct encode_options *o, struct pith_model *m,
                            struct pith_buffer *file)
{
    struct pith_error err = {0};
    struct pith_pack_opts pack = pith_stage_pack_opts(&o->stage);
    uint64_t plain_bytes;
    if (pith_small_bytes(m, &plain_bytes, &err) ||
        pith_stage_run(m, &o->stage, o->common.seed, NULL, &err) ||
        pith_pack_small(m, &pack, plain_bytes, file, &err))
        return cli_fail(&err);
    return EXIT_DONE;
}

/* The estimate in steps of LOAD_STEP (below, 0). Negative: there was no memory for it, which is no
 * failure of encoding. */
static double seconds_to_load(const struct pith_buffer *file)
{
    double seconds;
    if (pith_load_seconds(file, &seconds))
        return -1;
    return seconds < LOAD_STEP ? 0 : round(seconds / LOAD_STEP) * LOAD_STEP;
}

static void report(const struct cli_common *c, const struct pith_buffer *file)
{
    char text[32];
    double seconds = seconds_to_load(file);
    if (c->json) {
        cli_json_begin();
        cli_json_uint("bytes", file->bytes);
        if (seconds >= 0)
            cli_json_number("load_seconds", seconds);
        cli_json_end();
    }
    if (seconds > 0)
        cli_summary(c, "encode     %s, about %.2f s to load on one core",
                    cli_format_bytes(file->bytes, text), seconds);
    else
        cli_summary(c, "encode     %s", cli_format_bytes(file->bytes, text));
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct encode_options *o = opts;
    struct pith_model *m = NULL;
    struct pith_buffer file = {0};
    const char *path = n_operands ? operands[0] : "-";
    enum cli_exit rc = cli_check_stage(&o->stage);
    if (!rc)
        rc = cli_check_model_output(&o->common, path);
    if (!rc)
        rc = cli_load_model(path, NULL, &m);
    if (!rc)
        rc = encode(o, m, &file);
    if (!rc)
        rc = cli_write_packed(&o->common, m, &file);
    if (!rc)
        report(&o->common, &file);
    pith_buffer_free(&file);
    pith_model_free(m);
    return rc;
}

const struct cli_command cmd_encode = {
    "encode",
    "make",
    "entropy-code: the final file",
    "pith encode [MODEL] [-o net.pith] [options]",
    "Folds batch normalization, merges parallel convolutions (not with --lossless), entropy-codes\n"
    "weight positions (gaps), codebook indices and bytes of floats where codes are shorter.\n"
    "Coded tensors are expanded when the file is loaded; plain floats are read in place.\n"
    "--for says what matters: load speed, file size, or flash of a microcontroller.\n"
    "--for speed (default) codes indices of large tensors (65,536 elements) with rANS where it is\n"
    "smaller than Huffman, all others with Huffman. --for size and --for flash write a compact "
    "header\n"
    "without names, with one checksum and without alignment; layer names and history go to\n"
    "OUTPUT.json beside it. --for size takes the adaptive coder where the file still loads within\n"
    "5 ms or where it saves at least 2 % beside rANS, else rANS. --for flash takes Huffman codes,\n"
    "which have the smallest decoder.\n"
    "Decoding takes about 0.6 ns per element with rANS (AVX2) and 4 ns with Huffman. The adaptive\n"
    "coder gives the smallest files, above all after pruning: where its streams take 16 KiB or "
    "more,\n"
    "they are rANS with a table for each class of elements (30 ns per element), else an "
    "arithmetic\n"
    "code that learns (370 ns). When one core needs 10 ms or more to decode the file, the command\n"
    "prints the estimate (JSON: load_seconds).",
    options,
    sizeof(struct encode_options),
    0,
    1,
    run,
    set_defaults};
