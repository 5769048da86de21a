/* SPDX-License-Identifier: MIT */
/* pith compare: what two models answer to the same inputs, layer by layer where wanted. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "array_files.h"
#include "cli/common/engine_options.h"
#include "pith_load.h"
#include "feed_options.h"
#include "cli/common/json_out.h"
#include "cli/tables/layer_reason.h"
#include "cli/common/table.h"

struct compare_options {
    struct cli_common common;
    struct cli_feed_options feed;
    bool layers, first;
    struct cli_list dumps;
    const char *tolerance;
    uint64_t samples;
    uint64_t max_steps;
};

static const struct cli_option options[] = {
    CLI_FEED_DATA_OPTIONS(struct compare_options, feed),
    CLI_STATE_OPTION(struct compare_options, feed),
    {0, "preprocess", OPTION_TEXT, offsetof(struct compare_options, feed.preprocess), "SPEC",
     "overrides the stored preprocessing", 0, 0},
    {0, "layers", OPTION_FLAG, offsetof(struct compare_options, layers), NULL,
     "compare every layer that both models have", 0, 0},
    {0, "first", OPTION_FLAG, offsetof(struct compare_options, first), NULL,
     "stop at the first layer beyond --tol and print the cause", 0, 0},
    {0, "tol", OPTION_TEXT, offsetof(struct compare_options, tolerance), "T",
     "snr>30dB, abs:1e-3, rel:1e-4 (of the range), bits", 0, 0},
    {0, "dump", OPTION_LIST, offsetof(struct compare_options, dumps), "TENSOR[=FILE]",
     "write a layer's outputs: TENSOR-A.npy, TENSOR-B.npy", 0, 0},
    {0, "samples", OPTION_UINT, offsetof(struct compare_options, samples), "N",
     "number of random inputs without -d (default 4)", 1, 100000},
    CLI_MAX_STEPS_OPTION(struct compare_options, max_steps),
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

struct tolerance {
    enum { TOL_NONE, TOL_SNR, TOL_ABS, TOL_REL, TOL_BITS } kind;
    double value;
};

static enum cli_exit parse_tolerance(const char *text, struct tolerance *t)
{
    char number[64];
    size_t n;
    *t = (struct tolerance){TOL_NONE, 0};
    if (!text)
        return EXIT_DONE;
    if (strcmp(text, "bits") == 0) {
        t->kind = TOL_BITS;
        return EXIT_DONE;
    }
    t->kind = strncmp(text, "snr>", 4) == 0   ? TOL_SNR
              : strncmp(text, "abs:", 4) == 0 ? TOL_ABS
              : strncmp(text, "rel:", 4) == 0 ? TOL_REL
                                              : TOL_NONE;
    n = t->kind == TOL_NONE ? 0 : strlen(text + 4);
    if (n > 0 && n < sizeof number) {
        memcpy(number, text + 4, n + 1);
        if (t->kind == TOL_SNR && n > 2 && strcmp(number + n - 2, "dB") == 0)
            number[n - 2] = '\0';
        if (pith_parse_number(number, &t->value))
            return EXIT_DONE;
    }
    cli_error("--tol '%s': give snr>30dB, abs:1e-3, rel:1e-4 or bits", text);
    return EXIT_USAGE;
}

/* Numbers that are NaN or infinite in one model alone are beyond every tolerance. The same in both
 * they are equal, but where there is nothing else no error was measured: bits alone may be equal.
 */
static bool within(const struct pith_difference *d, const struct tolerance *t)
{
    bool measured = d->elements == 0 || d->nonfinite_both < d->elements;
    if (t->kind != TOL_NONE && t->kind != TOL_BITS &&
        (d->nonfinite_a + d->nonfinite_b > 0 || !measured))
        return false;
    switch (t->kind) {
    case TOL_NONE:
        return true;
    case TOL_SNR:
        return d->snr_db > t->value;
    case TOL_ABS:
        return d->max_abs <= t->value;
    case TOL_REL:
        return d->max_abs <= t->value * d->range;
    case TOL_BITS:
        return d->equal_bits;
    }
    return false;
}

/* What is compared, and where it goes. */
struct pairing {
    const struct compare_options *o;
    char **path;                  /* [2] */
    struct pith_packed packed[2]; /* owns; without layer options, that is all */
    struct pith_model *model[2];  /* owns; else */
    struct pith_model *m[2];      /* these, or their outlines */
    struct cli_feed feed;         /* owns */
    struct tolerance tol;
    struct pith_dump *dump[2];            /* owns: [o->dumps.n] each */
    char (*dump_path[2])[CLI_PATH_BYTES]; /* owns */
};

static bool outputs_within(const struct pairing *p, const struct pith_comparison *c)
{
    bool good = true;
    for (uint32_t i = 0; i < c->n_outputs; i++)
        good = good && within(&c->outputs[i], &p->tol);
    return good;
}

/* The first layer over tolerance; NULL: none. */
static const struct pith_difference *first_off(const struct pairing *p,
                                               const struct pith_comparison *c)
{
    for (uint32_t i = 0; i < c->n_layers; i++)
        if (!within(&c->layers[i], &p->tol))
            return &c->layers[i];
    return NULL;
}

/* ---- results --------------------------------------------------------------------------------- */

/* why: of the first layer over tolerance; NULL: not requested, or none is. */
static void print_layers(const struct pairing *p, const struct pith_comparison *c, const char *why)
{
    struct cli_table t;
    cli_table_start(&t, 5);
    cli_table_left(&t, 4);
    cli_table_add(&t, "layer");
    cli_table_add(&t, "snr dB");
    cli_table_add(&t, "cosine");
    cli_table_add(&t, "max err");
    cli_table_add(&t, "%s", "");
    for (uint32_t i = 0; i < c->n_layers; i++) {
        const struct pith_difference *d = &c->layers[i];
        bool good = within(d, &p->tol);
        cli_table_add(&t, "%s", d->layer);
        cli_table_add(&t, "%.1f", d->snr_db);
        cli_table_add(&t, "%.6f", d->cosine);
        cli_table_add(&t, "%.4g", d->max_abs);
        cli_table_add(&t, "%s",
                      d->nonfinite_a + d->nonfinite_b > 0 ? "<-- NaN or infinite in one only"
                      : good                              ? ""
                                                          : "<-- over tolerance");
        if (!good && p->o->first)
            break;
    }
    cli_table_print(&t, stdout);
    if (why)
        cli_print("first over tolerance: '%s' %s", first_off(p, c)->layer, why);
}

static void json_nonfinite(const struct pith_difference *d)
{
    cli_json_uint("nonfinite_a", d->nonfinite_a);
    cli_json_uint("nonfinite_b", d->nonfinite_b);
    cli_json_uint("nonfinite_both", d->nonfinite_both);
}

static void json_difference(const struct pith_difference *d)
{
    cli_json_number("snr_db", d->snr_db);
    cli_json_number("max_abs", d->max_abs);
    cli_json_number("range", d->range);
    json_nonfinite(d);
    cli_json_bool("equal_bits", d->equal_bits);
}

static void json_grid(const struct pith_difference *d)
{
    cli_json_number("step", d->step);
    cli_json_number("low", d->low);
    cli_json_number("high", d->high);
    cli_json_number("grid_db", d->grid_db);
    cli_json_number("clipped", d->clipped);
    cli_json_uint("dead", d->dead);
}

static void json_layers(const struct pairing *p, const struct pith_comparison *c, const char *why)
{
    cli_json_open("layers", '[');
    for (uint32_t i = 0; i < c->n_layers; i++) {
        cli_json_open(NULL, '{');
        cli_json_string("name", c->layers[i].layer);
        cli_json_number("snr_db", c->layers[i].snr_db);
        cli_json_number("cosine", c->layers[i].cosine);
        cli_json_number("max_abs", c->layers[i].max_abs);
        json_nonfinite(&c->layers[i]);
        if (c->layers[i].integers)
            json_grid(&c->layers[i]);
        cli_json_close('}');
    }
    cli_json_close(']');
    if (!why)
        return;
    cli_json_open("first", '{');
    cli_json_string("name", first_off(p, c)->layer);
    cli_json_string("reason", why);
    cli_json_close('}');
}

static void print_json(const struct pairing *p, const struct pith_comparison *c, const char *why,
                       bool good)
{
    cli_json_begin();
    cli_json_uint("samples", c->samples);
    cli_json_number("agreement", (double)c->agree / (double)c->predictions);
    cli_json_number("kl", c->classes ? c->kl : NAN);
    cli_json_number("kl_standard_error", c->classes ? c->kl_se : NAN);
    cli_json_number("logit_snr_db", c->classes ? c->logit_db : NAN);
    json_difference(&c->output);
    cli_json_bool("ok", good);
    cli_json_string("worst", c->output.layer);
    cli_json_open("outputs", '[');
    for (uint32_t i = 0; i < c->n_outputs; i++) {
        const struct pith_difference *d = &c->outputs[i];
        cli_json_open(NULL, '{');
        cli_json_string("name", d->layer);
        json_difference(d);
        cli_json_close('}');
    }
    cli_json_close(']');
    json_layers(p, c, why);
    cli_json_end();
}

static void print_difference(const struct pith_difference *d)
{
    if (d->nonfinite_a + d->nonfinite_b > 0)
        printf("%" PRIu64 " of %" PRIu64 " numbers are NaN or infinite in one model only (%" PRIu64
               " in A, %" PRIu64 " in B)",
               d->nonfinite_a + d->nonfinite_b, d->elements, d->nonfinite_a, d->nonfinite_b);
    else
        printf("snr %.1f dB, max error %.4g of range %.4g", d->snr_db, d->max_abs, d->range);
    if (d->nonfinite_both > 0)
        printf(", %" PRIu64 " of %" PRIu64 " numbers are NaN or infinite in both",
               d->nonfinite_both, d->elements);
}

/* Which output: by its name where there are several. */
static const char *output_name(const struct pith_comparison *c, uint32_t i, char text[300])
{
    text[0] = '\0';
    if (c->n_outputs > 1)
        snprintf(text, 300, c->outputs[i].layer[0] ? " '%.255s'" : " %.0s%u", c->outputs[i].layer,
                 i);
    return text;
}

/* The largest of a list of numbers is a prediction; of one number, boxes or a picture it is not. */
static bool predicts(const struct pith_model *m)
{
    const struct pith_value *y = &m->values[m->outputs[0]];
    uint32_t wide = 0;
    for (uint32_t i = 0; i < y->rank; i++)
        wide += y->dim[i] > 1;
    return wide == 1;
}

static void print_outputs(const struct pith_model *m, const struct pith_comparison *c)
{
    char name[300];
    for (uint32_t i = 0; i < c->n_outputs; i++) {
        const struct pith_difference *d = &c->outputs[i];
        printf("output%s: ", output_name(c, i, name));
        print_difference(d);
        if (i == 0 && (c->classes || predicts(m)))
            printf(", same prediction %" PRIu64 " of %" PRIu64, c->agree, c->predictions);
        if (i == 0 && c->classes)
            printf(", logits %.1f dB, KL %.4f +- %.4f nats", c->logit_db, c->kl, c->kl_se);
        puts(d->equal_bits ? ", equal bits" : "");
    }
    if (c->n_outputs > 1 && !c->output.equal_bits)
        printf("worst output:%s\n", output_name(c, c->worst, name));
}

static enum cli_exit report(const struct pairing *p, const struct pith_comparison *c)
{
    const struct pith_difference *off = first_off(p, c);
    bool good = outputs_within(p, c) && !off, explained = off && p->o->first;
    char text[160];
    const char *why = explained ? text : NULL;
    if (explained && cli_layer_reason(p->m[0], p->m[1], c, off, text, sizeof text))
        return EXIT_MEMORY;
    if (p->o->common.json)
        print_json(p, c, why, good);
    else {
        if (p->o->layers || p->o->first)
            print_layers(p, c, why);
        print_outputs(p->m[0], c);
    }
    return good ? EXIT_DONE : EXIT_NO;
}

/* ---- dumps ----------------------------------------------------------------------------------- */

static enum cli_exit choose_dumps(struct pairing *p, uint32_t side)
{
    uint32_t n = p->o->dumps.n;
    enum cli_exit rc = EXIT_DONE;
    p->dump[side] = calloc(n + 1u, sizeof *p->dump[side]);
    p->dump_path[side] = calloc(n + 1u, sizeof *p->dump_path[side]);
    if (!p->dump[side] || !p->dump_path[side])
        return cli_no_memory();
    for (uint32_t i = 0; i < n && !rc; i++) {
        const char *file;
        rc = cli_dump_split(p->m[side], p->path[side], p->o->dumps.item[i], &p->dump[side][i],
                            &file);
        if (rc)
            break;
        cli_dump_path(p->o->dumps.item[i], file, side ? "-B" : "-A", p->dump_path[side][i],
                      CLI_PATH_BYTES);
        rc = cli_check_array(&p->o->common, p->dump_path[side][i], p->path[side]);
    }
    return rc;
}

static enum cli_exit write_dumps(const struct pairing *p, uint32_t side)
{
    enum cli_exit rc = EXIT_DONE;
    for (uint32_t i = 0; i < p->o->dumps.n && !rc; i++) {
        struct pith_error err = {0};
        struct pith_buffer npy;
        if (pith_dump_npy(&p->dump[side][i], &npy, &err))
            return cli_fail(&err);
        rc = cli_write_array(&p->o->common, p->dump_path[side][i], &npy);
    }
    return rc;
}

/* ---- the comparison -------------------------------------------------------------------------- */

static enum cli_exit compare(struct pairing *p)
{
    const struct compare_options *o = p->o;
    struct pith_error err = {0};
    struct pith_engine_opts engine;
    struct pith_comparison c;
    struct cli_progress bar;
    struct pith_watch watch = {cli_progress_step, &bar};
    struct pith_compare_opts opts = {.size_bytes = sizeof opts,
                                     .feed = &p->feed.feed,
                                     .n_random = o->samples ? o->samples : 4,
                                     .seed = o->common.seed,
                                     .layers = o->layers || o->first,
                                     .engine = &engine,
                                     .watch = &watch,
                                     .n_dumps = o->dumps.n,
                                     .dump_a = p->dump[0],
                                     .dump_b = p->dump[1],
                                     .packed_a = p->model[0] ? NULL : &p->packed[0],
                                     .packed_b = p->model[1] ? NULL : &p->packed[1]};
    enum pith_status st;
    enum cli_exit rc = cli_engine_opts(&o->common, &engine), answer;
    if (rc)
        return rc;
    engine.max_steps = o->max_steps;
    cli_progress_start(&bar, &o->common, "compare",
                       p->feed.leading ? pith_feed_count(&p->feed.feed) : opts.n_random);
    st = pith_compare(p->m[0], p->m[1], &opts, &c, &err);
    cli_progress_end(&bar);
    if (st)
        return cli_fail(&err);
    answer = report(p, &c);
    pith_comparison_free(&c);
    for (uint32_t side = 0; side < 2 && !rc; side++)
        rc = write_dumps(p, side);
    return rc ? rc : answer;
}

/* A layer with its batch normalisation folded in computes what two layers of an unfolded model do:
 * only between models in the same form do layers of one name mean the same. */
static enum cli_exit fold_both(struct pairing *p)
{
    struct pith_error err = {0};
    uint32_t n;
    if (pith_model_fold_batch_norm(p->m[0], &n, &err) ||
        pith_model_fold_batch_norm(p->m[1], &n, &err))
        return cli_fail(&err);
    return EXIT_DONE;
}

static enum cli_exit load_side(struct pairing *p, uint32_t side, bool whole)
{
    enum cli_exit rc = whole ? cli_load_model(p->path[side], NULL, &p->model[side])
                             : cli_load_packed(p->path[side], &p->packed[side]);
    p->m[side] = whole ? p->model[side] : p->packed[side].outline;
    return rc;
}

/* Both get the same inputs: as the first model stores it, or the second, as where a network is held
 * against the ONNX file that it was made from. */
static enum cli_exit open_feed(struct pairing *p)
{
    struct cli_feed_options feed = p->o->feed;
    for (uint32_t side = 0; side < 2 && !feed.preprocess; side++)
        feed.preprocess = pith_model_get_meta(p->m[side], "preprocess");
    enum cli_exit rc = cli_open_feed(&feed, p->m[0], NULL, 0, &p->feed);
    struct pith_error err = {0};
    if (!rc && pith_model_same_sizes(p->m[1], p->m[0], &err))
        rc = cli_fail(&err);
    return rc;
}

static enum cli_exit open_both(struct pairing *p)
{
    const struct compare_options *o = p->o;
    bool layers = o->layers || o->first || o->dumps.n;
    enum cli_exit rc = parse_tolerance(o->tolerance, &p->tol);
    if (!rc && o->first && p->tol.kind == TOL_NONE) {
        cli_error("--first needs --tol");
        return EXIT_USAGE;
    }
    for (uint32_t side = 0; side < 2 && !rc; side++)
        rc = load_side(p, side, layers);
    if (!rc && layers)
        rc = fold_both(p);
    for (uint32_t side = 0; side < 2 && !rc; side++)
        rc = choose_dumps(p, side);
    return rc ? rc : open_feed(p);
}

static void close_both(struct pairing *p)
{
    cli_close_feed(&p->feed);
    for (uint32_t side = 0; side < 2; side++) {
        for (uint32_t i = 0; p->dump[side] && i < p->o->dumps.n; i++)
            pith_dump_free(&p->dump[side][i]);
        free(p->dump[side]);
        free(p->dump_path[side]);
        pith_model_free(p->model[side]);
        pith_packed_free(&p->packed[side]);
    }
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct pairing p = {.o = opts, .path = operands};
    (void)n_operands;
    enum cli_exit rc = open_both(&p);
    if (!rc)
        rc = compare(&p);
    close_both(&p);
    return rc;
}

const struct cli_command cmd_compare = {
    "compare",
    "look",
    "difference between two models, layer by layer",
    "pith compare A B [-d [NAME=]DATA] [--layers] [--tol snr>30dB]",
    "A is the original, an ONNX file or a .pith. Without data both models run on random inputs "
    "from a\n"
    "seed. All outputs are compared, paired by name. With --tol the exit code is 1 where outputs "
    "or\n"
    "layers differ by more. A value that is\n"
    "NaN or infinite in one model only is beyond every tolerance; where both have the same NaN "
    "or\n"
    "infinity, it is equal. Layers are paired by name (by position where a file has no names), "
    "with\n"
    "batch normalization folded; integers of B are compared as the real numbers that they "
    "represent.\n"
    "--first names the cause at the first layer beyond --tol: values clipped by its integer range, "
    "a\n"
    "coarse step, its weights, or its inputs.\n"
    "For classifiers the mean KL divergence from A to B is printed with its standard error. "
    "--dump\n"
    "writes a layer's outputs in each model, with an axis in front for samples and loop "
    "iterations.\n" CLI_STATE_TEXT "\n"
    "  pith compare net.onnx net.pith -d val.idx --layers --first --tol 'snr>20dB'\n"
    "  pith compare net.onnx net.pith -d val.idx --range 0:1 --dump conv3",
    options,
    sizeof(struct compare_options),
    2,
    2,
    run,
    NULL};
