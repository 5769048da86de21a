/* SPDX-License-Identifier: MIT */
/* pith generate: tokens behind a prompt, one after the other. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array_files.h"
#include "class_scores.h"
#include "cli/common/engine_options.h"
#include "cli/common/json_out.h"
#include "feed_options.h"
#include "pith_host.h"
#include "pith_load.h"

struct generate_options {
    struct cli_common common;
    const char *ids, *text;
    uint64_t tokens;
    double temperature;
    uint32_t top_k;
    uint64_t stop;
    struct cli_list states;
};

#define NO_STOP UINT64_MAX

static const struct cli_option options[] = {
    {0, "ids", OPTION_TEXT, offsetof(struct generate_options, ids), "FILE",
     "the prompt: an npy file of token ids", 0, 0},
    {0, "text", OPTION_TEXT, offsetof(struct generate_options, text), "TEXT",
     "the prompt, where class names are single characters", 0, 0},
    {'n', "tokens", OPTION_UINT, offsetof(struct generate_options, tokens), "N",
     "how many tokens to generate; default 64", 1, 1e6},
    {0, "temperature", OPTION_NUMBER, offsetof(struct generate_options, temperature), "T",
     "draw by softmax(logits / T); default 0: the best token", 0, 1e6},
    {0, "top-k", OPTION_U32, offsetof(struct generate_options, top_k), "K",
     "draw from the K best (default: all)", 1, 4e9},
    {0, "stop", OPTION_UINT, offsetof(struct generate_options, stop), "ID", "end behind this token",
     0, 4e9},
    {0, "state", OPTION_LIST, offsetof(struct generate_options, states), "OUT=IN",
     "feed output OUT back as input IN (default: present.. as past..)", 0, 0},
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

static void defaults(void *options_given)
{
    struct generate_options *o = options_given;
    o->tokens = 64;
    o->stop = NO_STOP;
}

struct generation {
    const struct generate_options *o;
    struct pith_packed packed; /* owns */
    struct pith_model *m;      /* its outline */
    struct pith_engine_opts engine;
    struct pith_opts opts; /* owns threads */
    struct pith_plans *plans;
    struct pith_generator *g;
    void **given;         /* owns: [m->n_inputs], each its values or NULL */
    int64_t *ids;         /* owns: prompt and what follows */
    uint32_t n_prompt, n; /* of them */
    const char *names;    /* borrows: a token a line; NULL: tokens are printed as numbers */
    uint64_t prompt_ns, step_ns;
};

/* ---- names of tokens ------------------------------------------------------------------------ */

/* The text of a token. */
static const char *token_name(const char *names, uint64_t id, char text[64])
{
    int bytes;
    const char *name = cli_class_name(names, id, &bytes);
    text[pith_class_name_text(name, bytes < 63 ? (size_t)bytes : 63, text)] = 0;
    return text;
}

static uint64_t count_names(const char *names)
{
    uint64_t n = 0;
    for (const char *p = names; p; n++) {
        p = strchr(p, '\n');
        p = p ? p + 1 : NULL;
        if (p && !*p)
            p = NULL;
    }
    return n;
}

/* ---- the prompt ----------------------------------------------------------------------------- */

static enum cli_exit make_room(struct generation *r, uint64_t n_prompt)
{
    if (n_prompt == 0 || n_prompt > 1u << 24) {
        cli_error("the prompt has %" PRIu64 " tokens", n_prompt);
        return EXIT_USAGE;
    }
    r->ids = calloc((size_t)(n_prompt + r->o->tokens), sizeof *r->ids);
    r->n = r->n_prompt = (uint32_t)n_prompt;
    return r->ids ? EXIT_DONE : cli_no_memory();
}

/* The caller frees *a, also after a failure. */
static enum cli_exit read_npy(const char *path, struct pith_array *a)
{
    struct pith_error err = {0};
    struct pith_buffer file;
    enum cli_exit rc = cli_read_file(path, &file);
    if (rc)
        return rc;
    if (pith_npy_read(file.data, file.bytes, path, a, &err))
        rc = cli_fail(&err);
    pith_buffer_free(&file);
    return rc;
}

static enum cli_exit read_ids(struct generation *r)
{
    struct pith_error err = {0};
    struct pith_array a = {0};
    enum cli_exit rc = read_npy(r->o->ids, &a);
    if (!rc && a.count && a.dim[a.rank - 1] != a.count) {
        cli_error("%s: one prompt, a row of ids, is taken", r->o->ids);
        rc = EXIT_USAGE;
    }
    rc = rc ? rc : make_room(r, a.count);
    if (!rc && pith_array_convert(&a, PITH_I64, r->ids, r->o->ids, &err))
        rc = cli_fail(&err);
    pith_array_free(&a);
    return rc;
}

static enum cli_exit read_text(struct generation *r)
{
    struct pith_error err = {0};
    struct pith_ids ids;
    if (pith_text_ids(r->names ? r->names : "", r->o->text, strlen(r->o->text), "--text", &ids,
                      &err))
        return cli_fail(&err);
    enum cli_exit rc = make_room(r, ids.n);
    for (uint64_t i = 0; i < ids.n && !rc; i++)
        r->ids[i] = ids.id[i];
    free(ids.id);
    return rc;
}

static enum cli_exit read_prompt(struct generation *r)
{
    if (!r->o->ids == !r->o->text) {
        cli_error("give the prompt as --ids FILE or --text TEXT");
        return EXIT_USAGE;
    }
    return r->o->ids ? read_ids(r) : read_text(r);
}

/* ---- inputs --------------------------------------------------------------------------------- */

static enum cli_exit pair_state(struct generation *r, const char *text)
{
    for (const char *eq = strchr(text, '='); eq; eq = strchr(eq + 1, '=')) {
        uint32_t out, in;
        if (cli_find_output(r->m, text, (size_t)(eq - text), &out) &&
            cli_find_input(r->m, eq + 1, strlen(eq + 1), &in) &&
            pith_generator_pair(r->g, in, out) == PITH_OK)
            return EXIT_DONE;
    }
    cli_error("--state '%s': not OUT=IN with an output and an input of the model (see pith info)",
              text);
    return EXIT_USAGE;
}

/* NAME=FILE.npy: a value that does not change, such as what an encoder made. */
static enum cli_exit give_input(struct generation *r, const char *text)
{
    struct pith_error err = {0};
    struct pith_array a = {0};
    const char *eq = strchr(text, '=');
    uint32_t input = 0;
    if (!eq || !cli_find_input(r->m, text, (size_t)(eq - text), &input) || r->given[input]) {
        cli_error("'%s': not NAME=FILE with an input of the model (see pith info)", text);
        return EXIT_USAGE;
    }
    const struct pith_value *v = &r->m->values[r->m->inputs[input]];
    enum cli_exit rc = read_npy(eq + 1, &a);
    r->given[input] = malloc((size_t)a.count * 8 + 1);
    if (!rc && !r->given[input])
        rc = cli_no_memory();
    if (!rc && pith_array_convert(&a, v->type, r->given[input], eq + 1, &err))
        rc = cli_fail(&err);
    struct pith_tensor t = {.name = v->name,
                            .name_bytes = (uint32_t)strlen(v->name),
                            .type = v->type,
                            .rank = a.rank,
                            .bytes = a.count * cli_type_bytes(v->type),
                            .data = r->given[input]};
    for (uint32_t i = 0; i < a.rank && i < PITH_MAX_RANK; i++)
        t.dim[i] = a.dim[i];
    if (!rc && pith_generator_give(r->g, input, &t)) {
        cli_error("'%s': the ids are the prompt", text);
        rc = EXIT_USAGE;
    }
    pith_array_free(&a);
    return rc;
}

/* ---- tokens --------------------------------------------------------------------------------- */

static void print_token(const struct generation *r, int64_t id)
{
    char name[64];
    if (r->o->common.json)
        return;
    if (r->names)
        fputs(token_name(r->names, (uint64_t)id, name), stdout);
    else
        printf("%s%" PRId64, r->n > r->n_prompt + 1 ? " " : "", id);
    fflush(stdout);
}

static enum cli_exit generate(struct generation *r)
{
    struct pith_error err = {0};
    const float *logits;
    uint32_t n_logits, fed = 0;
    uint64_t random = r->o->common.seed;
    enum cli_exit rc = EXIT_DONE;
    for (uint64_t i = 0; i < r->o->tokens && !rc; i++) {
        const uint64_t start = pith_clock_ns(NULL);
        if (pith_generator_run(r->g, r->ids + fed, r->n - fed, &logits, &n_logits, &err)) {
            rc = cli_fail(&err);
            break;
        }
        *(i == 0 ? &r->prompt_ns : &r->step_ns) += pith_clock_ns(NULL) - start;
        fed = r->n;
        r->ids[r->n] =
            pith_choose_token(logits, n_logits, (float)r->o->temperature, r->o->top_k, &random);
        print_token(r, r->ids[r->n++]);
        if ((uint64_t)r->ids[r->n - 1] == r->o->stop)
            break;
        rc = cli_interrupted() ? EXIT_INTERRUPTED : EXIT_DONE;
    }
    if (!r->o->common.json)
        putchar('\n');
    fflush(stdout); /* before what is said on standard error */
    return rc;
}

static enum cli_exit check_ids(const struct generation *r)
{
    const uint64_t n_names = count_names(r->names);
    for (uint32_t i = 0; i < r->n_prompt; i++)
        if (r->ids[i] < 0 || (n_names && (uint64_t)r->ids[i] >= n_names)) {
            cli_error("token %u of the prompt is %" PRId64 ", the model's are 0 to %" PRIu64, i,
                      r->ids[i], n_names ? n_names - 1 : INT64_MAX);
            return EXIT_USAGE;
        }
    return EXIT_DONE;
}

static enum cli_exit report(const struct generation *r)
{
    struct pith_error err = {0};
    const uint32_t made = r->n - r->n_prompt, dim[] = {r->n};
    const double prompt_ms = (double)r->prompt_ns / 1e6,
                 rate = made > 1 ? 1e9 * (made - 1) / (double)r->step_ns : 0;
    enum cli_exit rc = EXIT_DONE;
    struct pith_buffer npy;
    if (r->o->common.output)
        rc = pith_npy_write(PITH_I64, 1, dim, r->ids, &npy, &err)
                 ? cli_fail(&err)
                 : cli_write_array(&r->o->common, r->o->common.output, &npy);
    if (r->o->common.json && !rc) {
        cli_json_begin();
        cli_json_uint("prompt", r->n_prompt);
        cli_json_open("ids", '[');
        for (uint32_t i = r->n_prompt; i < r->n; i++)
            cli_json_uint(NULL, (uint64_t)r->ids[i]);
        cli_json_close(']');
        cli_json_number("prompt_ms", prompt_ms);
        cli_json_number("tokens_per_s", rate);
        cli_json_end();
    }
    cli_summary(&r->o->common, "%u tokens, %.1f tokens/s; prompt of %u in %.1f ms", made, rate,
                r->n_prompt, prompt_ms);
    return rc;
}

static enum cli_exit open_generator(struct generation *r)
{
    struct pith_error err = {0};
    r->m = r->packed.outline;
    r->names = pith_model_get_meta(r->m, "labels");
    r->given = calloc(r->m->n_inputs + 1u, sizeof *r->given);
    if (!r->given)
        return cli_no_memory();
    enum cli_exit rc = cli_engine_opts(&r->o->common, &r->engine);
    if (rc)
        return rc;
    pith_opts_init(&r->opts, sizeof r->opts);
    r->opts.flags = PITH_FLAG_NO_CHECKSUM; /* the image was checked when it was loaded */
    r->opts.cpu_mask = r->engine.cpu_mask;
    r->opts.stop = r->engine.stop;
    r->opts.stop_user = r->engine.stop_user;
    if ((r->engine.threads > 1 && pith_threads_start(&r->opts, r->engine.threads)) ||
        pith_plans_open(r->packed.data, r->packed.bytes, &r->opts, &r->plans, &err) ||
        pith_generator_open(r->plans, &r->g, &err))
        return cli_fail(&err);
    return EXIT_DONE;
}

static enum cli_exit run_generation(struct generation *r, char **operands, uint32_t n_operands)
{
    struct pith_error err = {0};
    const char *net = operands[0];
    enum cli_exit rc =
        r->o->common.output ? cli_check_array(&r->o->common, r->o->common.output, net) : EXIT_DONE;
    rc = rc ? rc : cli_load_packed(net, &r->packed);
    rc = rc ? rc : open_generator(r);
    for (uint32_t i = 0; i < r->o->states.n && !rc; i++)
        rc = pair_state(r, r->o->states.item[i]);
    for (uint32_t i = 1; i < n_operands && !rc; i++)
        rc = give_input(r, operands[i]);
    rc = rc ? rc : read_prompt(r);
    rc = rc ? rc : check_ids(r);
    if (!rc && pith_generator_check(r->g, r->n_prompt + (uint32_t)r->o->tokens - 1, &err)) {
        cli_error("%" PRIu64 " tokens behind a prompt of %u: %s", r->o->tokens, r->n_prompt,
                  err.text);
        rc = cli_exit_of(err.status);
    }
    if (!rc)
        pith_generator_restart(r->g);
    rc = rc ? rc : generate(r);
    return rc ? rc : report(r);
}

static enum cli_exit run(void *options_given, char **operands, uint32_t n_operands)
{
    struct generation r = {.o = options_given};
    enum cli_exit rc = run_generation(&r, operands, n_operands);
    for (uint32_t i = 0; r.given && i < r.m->n_inputs; i++)
        free(r.given[i]);
    free(r.given);
    free(r.ids);
    pith_generator_close(r.g);
    pith_plans_close(r.plans);
    pith_threads_stop(&r.opts);
    pith_packed_free(&r.packed);
    return rc;
}

const struct cli_command cmd_generate = {
    "generate",
    "run",
    CLI_RUN_SUMMARY,
    "pith generate MODEL --ids FILE|--text TEXT [-n N] [NAME=FILE]",
    "The model is a decoder: ids [1, length] in, scores of the next token out. Outputs called\n"
    "present.. are fed back as inputs called past.., which are empty at first; without such a\n"
    "cache all tokens run again each time, or as many of the last as the model takes. Masks are\n"
    "filled with ones, positions counted; other inputs are given as NAME=FILE.\n"
    "Tokens are printed as text where the model stores class names, one a token (import\n"
    "--class-names), in which \\n is a line end; else as ids. -o FILE.npy gets the ids of the\n"
    "prompt and all behind it.\n"
    "\n"
    "  pith generate gpt.pith --ids prompt.npy -n 64 -o ids.npy\n"
    "  pith generate shakespeare.pith --text ROMEO: -n 400 --temperature 0.8 --top-k 20 --seed 7",
    options,
    sizeof(struct generate_options),
    1,
    CLI_LIST_MAX,
    run,
    defaults};
