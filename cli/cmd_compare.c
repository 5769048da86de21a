/* SPDX-License-Identifier: MIT */
/* pith compare: what two models answer to the same inputs, layer by layer where wanted. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "data_options.h"
#include "json_out.h"
#include "table.h"

struct compare_options {
    struct cli_common common;
    struct cli_data data;
    bool layers, first;
    const char *tolerance;
    uint64_t samples;
};

static const struct cli_option options[] = {
    CLI_DATA_OPTIONS(struct compare_options, data),
    {0, "layers", OPTION_FLAG, offsetof(struct compare_options, layers), NULL,
     "every layer that both models name", 0, 0},
    {0, "first", OPTION_FLAG, offsetof(struct compare_options, first), NULL,
     "stop the table at the first layer beyond --tol", 0, 0},
    {0, "tol", OPTION_TEXT, offsetof(struct compare_options, tolerance), "T",
     "snr>30dB, abs:1e-3, rel:1e-4 (of the range), bits", 0, 0},
    {0, "samples", OPTION_UINT, offsetof(struct compare_options, samples), "N",
     "seeded inputs without -d (default 4)", 1, 100000},
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
        if (cli_parse_number(number, &t->value))
            return EXIT_DONE;
    }
    cli_error("--tol '%s': give snr>30dB, abs:1e-3, rel:1e-4 or bits", text);
    return EXIT_USAGE;
}

static bool within(const struct pith_difference *d, const struct tolerance *t)
{
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

static void print_layers(const struct pith_comparison *c, const struct compare_options *o,
                         const struct tolerance *tol)
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
        bool good = within(d, tol);
        cli_table_add(&t, "%s", d->layer);
        cli_table_add(&t, "%.1f", d->snr_db);
        cli_table_add(&t, "%.6f", d->cosine);
        cli_table_add(&t, "%.4g", d->max_abs);
        cli_table_add(&t, "%s", good ? "" : "<-- over tolerance");
        if (!good && o->first)
            break;
    }
    cli_table_print(&t, stdout);
}

static void print_json(const struct pith_comparison *c, bool good)
{
    cli_json_begin();
    cli_json_uint("samples", c->samples);
    cli_json_number("agreement", (double)c->agree / (double)c->samples);
    cli_json_number("snr_db", c->output.snr_db);
    cli_json_number("max_abs", c->output.max_abs);
    cli_json_number("range", c->output.range);
    cli_json_bool("equal_bits", c->output.equal_bits);
    cli_json_bool("ok", good);
    cli_json_open("layers", '[');
    for (uint32_t i = 0; i < c->n_layers; i++) {
        cli_json_open(NULL, '{');
        cli_json_string("name", c->layers[i].layer);
        cli_json_number("snr_db", c->layers[i].snr_db);
        cli_json_number("cosine", c->layers[i].cosine);
        cli_json_number("max_abs", c->layers[i].max_abs);
        cli_json_close('}');
    }
    cli_json_close(']');
    cli_json_end();
}

static enum cli_exit report(const struct compare_options *o, const struct pith_comparison *c,
                            const struct tolerance *tol)
{
    bool good = within(&c->output, tol);
    for (uint32_t i = 0; i < c->n_layers; i++)
        good = good && within(&c->layers[i], tol);
    if (o->common.json)
        print_json(c, good);
    else {
        if (o->layers || o->first)
            print_layers(c, o, tol);
        printf("output: snr %.1f dB, max error %.4g of range %.4g, same answer %" PRIu64 " of %" PRIu64
               "%s\n",
               c->output.snr_db, c->output.max_abs, c->output.range, c->agree, c->samples,
               c->output.equal_bits ? ", equal bits" : "");
    }
    return good ? EXIT_DONE : EXIT_NO;
}

static enum cli_exit compare(const struct compare_options *o, const struct pith_model *a,
                             const struct pith_model *b, struct pith_data *data)
{
    struct tolerance tol;
    struct pith_error err = {0};
    struct pith_engine_opts opts;
    struct pith_comparison c;
    struct cli_progress bar;
    struct pith_watch watch = {cli_progress_step, &bar};
    uint32_t n = o->samples ? (uint32_t)o->samples : 4;
    enum pith_status st;
    enum cli_exit rc = parse_tolerance(o->tolerance, &tol);
    if (!rc)
        rc = cli_engine_opts(&o->common, &opts);
    if (rc)
        return rc;
    cli_progress_start(&bar, &o->common, "compare", data ? pith_data_count(data) : n);
    st = pith_compare(a, b, data, n, o->common.seed, o->layers || o->first, &opts, &watch, &c, &err);
    cli_progress_end(&bar);
    if (st)
        return cli_fail(&err);
    rc = report(o, &c, &tol);
    pith_comparison_free(&c);
    return rc;
}

/* A layer with its batch normalisation folded in computes what two layers of an unfolded model do:
 * only between models in the same form do layers of one name mean the same. */
static enum cli_exit fold_both(struct pith_model *a, struct pith_model *b)
{
    struct pith_error err = {0};
    uint32_t n;
    if (pith_model_fold_batch_norm(a, &n, &err) || pith_model_fold_batch_norm(b, &n, &err))
        return cli_fail(&err);
    return EXIT_DONE;
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct compare_options *o = opts;
    struct pith_model *a = NULL, *b = NULL;
    struct pith_data *data = NULL;
    enum cli_exit rc = cli_load_model(operands[0], NULL, &a);
    (void)n_operands;
    if (!rc)
        rc = cli_load_model(operands[1], NULL, &b);
    if (!rc && (o->layers || o->first))
        rc = fold_both(a, b);
    if (!rc && o->data.path)
        rc = cli_open_data(&o->data, a, &data);
    if (!rc)
        rc = compare(o, a, b, data);
    pith_data_free(data);
    pith_model_free(a);
    pith_model_free(b);
    return rc;
}

const struct cli_command cmd_compare = {
    "compare", "look", "outputs of two models, layer by layer",
    "pith compare A B [-d DATA] [--layers] [--tol snr>30dB]",
    "A is the original. Without data both run on seeded inputs. With --tol the exit code tells\n"
    "whether output and layers are within it (1: no). Layers are compared with batch normalisation\n"
    "folded into them.\n\n"
    "  pith compare net.onnx net.pith -d val.idx --layers --first --tol 'snr>20dB'",
    options, sizeof(struct compare_options), 2, 2, run};
