/* SPDX-License-Identifier: MIT */
/* pith encode: batch normalisation folded, gaps and indices entropy-coded: the final file. */
#include <math.h>
#include <string.h>
#include "cli.h"
#include "pith_pack.h"
#include "json_out.h"
#include "pith_compress.h"
#include "stage_options.h"

#define LOAD_STEP 0.01 /* seconds; less is not told */

struct encode_options {
    struct cli_common common;
    struct pith_stage stage;
};

static const struct cli_option options[] = {
    CLI_STAGE_BASIC(struct encode_options, stage, PITH_STAGE_ENCODE),
    CLI_STAGE_SET(struct encode_options, stage, PITH_STAGE_ENCODE,
                  "one of these by its key in recipes"),
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
    if (pith_stage_run(m, &o->stage, o->common.seed, NULL, &err) ||
        pith_model_pack(m, &pack, file, &err))
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
        cli_say(c, "encode     %s, about %.2f s to load on one core",
                cli_format_bytes(file->bytes, text), seconds);
    else
        cli_say(c, "encode     %s", cli_format_bytes(file->bytes, text));
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
        rc = cli_write_output(&o->common, file.data, file.bytes);
    if (!rc)
        report(&o->common, &file);
    pith_buffer_free(&file);
    pith_model_free(m);
    return rc;
}

const struct cli_command cmd_encode = {
    "encode",
    "make",
    "entropy-code; the final file",
    "pith encode [MODEL] [-o net.pith] [options]",
    "Batch normalisation is folded into the layer before it (not with --lossless, which finds "
    "grids\n"
    "that the weights lie on, and codes short tensors, too). Gaps, indices and, of tensors of "
    "4096\n"
    "floats or more, their bytes get Huffman codes where they are shorter so; what is coded is "
    "expanded\n"
    "when the file is loaded, plain floats (--coder none) are read where they lie. Nothing is "
    "lost.\n"
    "--for speed (default) takes rANS for the indices of tensors of 65,536 elements or more, where "
    "it\n"
    "is smaller than Huffman codes (--coder rans: of all tensors): a billion elements a second "
    "with\n"
    "where there is AVX2. --for size and --for flash write the compact header:\n"
    "no names, one checksum, nothing aligned. --coder adaptive is slower to load (some million\n"
    "elements a second) and smaller, most of all where few weights are left; it is taken for each\n"
    "tensor where it wins. --for size alone takes it where the file still loads in less than 5 ms, "
    "or\n"
    "is smaller by 2 % at least than with Huffman codes, else rANS; --for flash takes Huffman "
    "codes,\n"
    "whose decoder is the smallest. Besides bytes the command tells about how "
    "long\n"
    "one core decodes the file, from 10 ms on (JSON: load_seconds): an estimate from the number of "
    "coded\n"
    "elements, 220 ns for each in adaptive streams, 4 ns for each in Huffman codes, 0.6 ns by "
    "rANS, 3 ns\n"
    "for each float.",
    options,
    sizeof(struct encode_options),
    0,
    1,
    run,
    set_defaults};
