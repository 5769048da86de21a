/* SPDX-License-Identifier: MIT */
/* pith recipe show MODEL | lint FILE | write: recipes out of models, checked, or made. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/common/cli.h"
#include "pith_compress.h"
#include "pith_load.h"
#include "cli/common/stage_options.h"

struct recipe_options {
    struct cli_common common;
    struct pith_stage stage; /* the preset */
    struct pith_requested_options requested;
};

static const struct cli_option options[] = {
    CLI_STAGE_ROW(struct recipe_options, stage, PITH_STAGE_COMPRESS, "preset",
                  "write: recipe of this preset"),
    CLI_REQUESTED_ROW(struct recipe_options, requested, PITH_STAGE_PRUNE, "sparsity",
                      "write: share of weights to remove"),
    CLI_REQUESTED_ROW(struct recipe_options, requested, PITH_STAGE_CLUSTER, "bits",
                      "write: bits of an index, 1 to 8 (default 5 or the preset's)"),
    CLI_REQUESTED_SET(struct recipe_options, requested),
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

static enum cli_exit put(const struct cli_common *c, char *text)
{
    size_t n = strlen(text);
    enum cli_exit rc = EXIT_DONE;
    text[n] = '\n';
    if (c->output)
        rc = cli_check_output(c, NULL);
    if (!rc && c->output)
        rc = cli_write_output(c, text, n + 1);
    else if (!rc)
        fwrite(text, 1, n + 1, stdout);
    return rc;
}

/* Takes ownership of text. */
static enum cli_exit print_recipe(const struct cli_common *c, char *text)
{
    char *with_newline = realloc(text, strlen(text) + 2);
    enum cli_exit rc;
    if (!with_newline) {
        free(text);
        return cli_no_memory();
    }
    rc = put(c, with_newline);
    free(with_newline);
    return rc;
}

static enum cli_exit show(const struct cli_common *c, const char *path)
{
    struct pith_packed packed = {0};
    struct pith_error err = {0};
    char *text;
    enum cli_exit rc = cli_load_packed(path, &packed);
    if (rc)
        return rc;
    if (pith_recipe_of_model(packed.outline, &text, &err))
        rc = cli_fail(&err);
    else
        rc = print_recipe(c, text);
    pith_packed_free(&packed);
    return rc;
}

/* Prints the recipe as pith reads it: every default written out. */
static enum cli_exit lint(const struct cli_common *c, const char *path)
{
    struct pith_buffer file;
    struct pith_recipe *r = NULL;
    struct pith_error err = {0};
    char *text;
    enum cli_exit rc = cli_read_file(path, &file);
    if (rc)
        return rc;
    if (pith_recipe_parse((const char *)file.data, file.bytes, path, &r, &err) ||
        pith_recipe_print(r, &text, &err))
        rc = cli_fail(&err);
    else
        rc = print_recipe(c, text);
    pith_recipe_free(r);
    pith_buffer_free(&file);
    return rc;
}

static void set_defaults(void *opts)
{
    pith_stage_init(&((struct recipe_options *)opts)->stage, PITH_STAGE_COMPRESS);
}

#define CLASSIC_BITS "5"

static enum cli_exit write(struct recipe_options *o)
{
    struct pith_recipe *r = NULL;
    struct pith_error err = {0};
    char *text;
    bool classic = !o->stage.preset && !pith_is_requested(&o->requested, PITH_STAGE_CLUSTER) &&
                   !pith_is_requested(&o->requested, PITH_STAGE_QUANTIZE);
    if (classic &&
        pith_request_option(&o->requested, PITH_STAGE_CLUSTER, "bits", CLASSIC_BITS, &err))
        return cli_fail(&err);
    if (pith_recipe_make(o->stage.preset, &o->requested, &r, &err))
        return cli_fail(&err);
    enum cli_exit rc =
        pith_recipe_print(r, &text, &err) ? cli_fail(&err) : print_recipe(&o->common, text);
    pith_recipe_free(r);
    return rc;
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct recipe_options *o = opts;
    const char *what = operands[0], *path = n_operands > 1 ? operands[1] : "-";
    if (strcmp(what, "show") == 0)
        return show(&o->common, path);
    if (strcmp(what, "lint") == 0)
        return lint(&o->common, path);
    if (strcmp(what, "write") == 0 && n_operands == 1)
        return write(o);
    cli_error("give show MODEL, lint FILE or write");
    return EXIT_USAGE;
}

const struct cli_command cmd_recipe = {
    "recipe",
    "misc",
    "show, check or write a recipe",
    "pith recipe show MODEL | lint FILE | write [--preset NAME] [--sparsity S] [--bits B]",
    "show prints the recipe that made a model; pith compress -r repeats it. lint checks a recipe "
    "and\n"
    "prints it with all defaults. The keys of a stage are the long options of its command, with _ "
    "for\n"
    "-; \"layers\" stands for --layer. write prints the default recipe of compress or that of a "
    "preset.\n"
    "\"preset\": NAME starts with its stages, and \"stages\" changes them.\n"
    "\n"
    "  { \"pith\": 1,\n"
    "    \"goal\": { \"max_drop\": \"0.5%\" },\n"
    "    \"stages\": [\n"
    "      { \"do\": \"prune\", \"sparsity\": 0.9, \"layers\": { \"conv1\": 0.6 },\n"
    "        \"steps\": 6, \"train\": { \"epochs\": 1 } },\n"
    "      { \"do\": \"cluster\", \"bits\": 4 },\n"
    "      { \"do\": \"train\", \"epochs\": 8, \"lr\": 0.001, \"teacher\": \"start\", "
    "\"until_drop\": \"0.3%\" },\n"
    "      { \"do\": \"encode\", \"for\": \"size\" } ] }\n"
    "\n"
    "The teacher \"start\" is the network before the recipe or, with \"start\": N, after N stages.",
    options,
    sizeof(struct recipe_options),
    1,
    2,
    run,
    set_defaults};
