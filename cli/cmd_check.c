/* SPDX-License-Identifier: MIT */
/* pith check: will it import, is it sound, does data fit. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/common/engine_options.h"
#include "data_check.h"
#include "feed_options.h"
#include "pith_load.h"
#include "cli/common/json_out.h"
#include "pith_onnx.h"
#include "measure/engine.h"
#include "measure/range_check.h"
#include "cli/common/table.h"

struct check_options {
    struct cli_common common;
    struct cli_import import;
    struct cli_feed_options feed;
};

static const struct cli_option options[] = {
    CLI_FEED_DATA_OPTIONS(struct check_options, feed),
    CLI_STATE_OPTION(struct check_options, feed),
    CLI_IMPORT_OPTIONS(struct check_options, import),
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

static void print_issues(const char *path, const struct pith_onnx_report *r)
{
    struct cli_table t;
    cli_print("%s: %u of %u nodes unsupported", path, r->n_unsupported, r->n_nodes);
    cli_table_start(&t, 4);
    cli_table_left(&t, 2);
    cli_table_left(&t, 3);
    for (uint32_t i = 0; i < r->n_issues; i++) {
        const struct pith_onnx_issue *issue = &r->issues[i];
        char names[400];
        size_t n = 0;
        names[0] = '\0';
        for (uint32_t k = 0; k < issue->n_nodes && n < sizeof names; k++)
            n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", k ? " " : "",
                                  issue->nodes[k]);
        if (issue->count > issue->n_nodes && n < sizeof names)
            snprintf(names + n, sizeof names - n, " ...");
        cli_table_add(&t, "  %s", issue->op);
        cli_table_add(&t, "%ux", issue->count);
        cli_table_add(&t, "%s", names);
        cli_table_add(&t, "%s", issue->hint);
    }
    cli_table_print(&t, stdout);
}

static bool importable(const struct pith_onnx_report *r)
{
    return !r->n_unsupported && !r->n_open;
}

/* One command that fixes all of them; an input is named once. */
static void print_example(const char *path, const struct pith_onnx_report *r)
{
    char shapes[1024] = "";
    size_t n = 0;
    for (uint32_t i = 0; i < r->n_open && n < sizeof shapes; i++)
        if (i == 0 || strcmp(r->open_dims[i].example, r->open_dims[i - 1].example) != 0)
            n += (size_t)snprintf(shapes + n, sizeof shapes - n, " --input-shape '%s'",
                                  r->open_dims[i].example);
    cli_print("%s: for example: pith import %s%s", path, path, shapes);
}

static void print_report(const char *path, const struct pith_onnx_report *r)
{
    if (r->n_unsupported)
        print_issues(path, r);
    for (uint32_t i = 0; i < r->n_open; i++)
        cli_print("%s: input '%s' dim %u '%s' is open: give --input-shape %s", path,
                  r->open_dims[i].input, r->open_dims[i].dim, r->open_dims[i].symbol,
                  r->open_dims[i].example);
    if (r->n_open > 1)
        print_example(path, r);
}

static void json_unsupported(const struct pith_onnx_report *r)
{
    cli_json_open("unsupported", '[');
    for (uint32_t i = 0; r && i < r->n_issues; i++) {
        cli_json_open(NULL, '{');
        cli_json_string("op", r->issues[i].op);
        cli_json_uint("count", r->issues[i].count);
        cli_json_open("nodes", '[');
        for (uint32_t k = 0; k < r->issues[i].n_nodes; k++)
            cli_json_string(NULL, r->issues[i].nodes[k]);
        cli_json_close(']');
        cli_json_string("hint", r->issues[i].hint);
        cli_json_close('}');
    }
    cli_json_close(']');
}

static void json_open_dims(const struct pith_onnx_report *r)
{
    cli_json_open("open", '[');
    for (uint32_t i = 0; r && i < r->n_open; i++) {
        cli_json_open(NULL, '{');
        cli_json_string("input", r->open_dims[i].input);
        cli_json_uint("dim", r->open_dims[i].dim);
        cli_json_string("symbol", r->open_dims[i].symbol);
        cli_json_string("example", r->open_dims[i].example);
        cli_json_close('}');
    }
    cli_json_close(']');
}

/* What is being checked, and what was found so far. */
struct checked_file {
    const char *path;
    struct pith_buffer file;           /* owns */
    char dir[4096];                    /* where external data may lie; empty: standard input */
    struct pith_onnx_report *onnx;     /* owns; NULL: a .pith */
    struct pith_model *model;          /* owns */
    struct pith_weight_finding *found; /* owns: of the model's weights */
    struct pith_range_finding *ruled;  /* owns: by what calibration saw */
    uint32_t n_found, n_ruled;
    struct cli_feed feed;         /* owns */
    struct pith_error misfit;     /* why the data does not fit; PITH_OK: it does */
    struct pith_input_look *look; /* owns: [n_inputs] of the data; NULL: there is none */
    struct pith_answer_look answers;
};

static enum cli_exit open_checked_file(struct checked_file *s, const char *operand)
{
    const char *slash = strrchr(operand, '/');
    s->path = strcmp(operand, "-") == 0 ? "standard input" : operand;
    if (s->path == operand)
        snprintf(s->dir, sizeof s->dir, "%.*s", slash ? (int)(slash - operand + 1) : 1,
                 slash ? operand : ".");
    return cli_read_model_file(operand, &s->file);
}

static bool is_pith(const struct checked_file *s)
{
    /* an ONNX file begins with a protobuf field: a varint tag, never with pith's first byte */
    return (s->file.data[0] & 0x80) != 0;
}

static enum cli_exit survey_onnx(struct checked_file *s, const struct pith_import_opts *import)
{
    struct pith_error err = {0};
    struct pith_import_opts silent =
        *import; /* what the survey finds passes is read again, and warned of */
    silent.warn = NULL;
    if (pith_onnx_check(s->file.data, s->file.bytes, s->path, &silent, &s->onnx, &err))
        return cli_fail(&err);
    return importable(s->onnx) ? EXIT_DONE : EXIT_UNSUPPORTED;
}

#define LOOK_VALUES (UINT64_C(1) << 28) /* of an input */

/* Every sample, or of large sets many; then what the network answers. */
static enum cli_exit look_at_data(struct checked_file *s, struct pith_engine *e)
{
    struct pith_error err = {0};
    const struct pith_feed *feed = &s->feed.feed;
    s->look = calloc(s->model->n_inputs + 1u, sizeof *s->look);
    if (!s->look)
        return cli_no_memory();
    enum pith_status st = pith_check_data(s->model, feed, LOOK_VALUES, false, s->look, &s->misfit);
    if (st == PITH_ERR_MEMORY || st == PITH_ERR_IO)
        return cli_fail(&s->misfit);
    if (!st && pith_check_outputs(e, s->model, feed, &s->answers, &err))
        s->answers = (struct pith_answer_look){0};
    return st || s->answers.nan ? EXIT_NO : EXIT_DONE;
}

/* The data against the model: types, sizes and counts, and the values. */
static enum cli_exit check_data(const struct check_options *o, struct checked_file *s,
                                struct pith_engine *e)
{
    struct cli_feed_options in = o->feed;
    enum cli_exit rc;
    in.misfit = &s->misfit;
    rc = cli_open_feed(&in, s->model, NULL, 0, &s->feed);
    if (!rc && pith_engine_follow_sizes(e, s->model, &s->misfit))
        return cli_fail(&s->misfit);
    if (!rc && pith_feed_check(e, &s->feed.feed, &s->misfit) &&
        s->misfit.status != PITH_ERR_ARGUMENT)
        return cli_fail(&s->misfit);
    if (!rc && !s->misfit.status && s->feed.leading)
        rc = look_at_data(s, e);
    return rc == EXIT_NO || s->misfit.status ? EXIT_NO : rc;
}

/* A .pith is planned as it is: packing it again would take longer than reading it. */
static enum pith_status open_engine(struct checked_file *s, const struct pith_engine_opts *opts,
                                    struct pith_engine **e, struct pith_error *err)
{
    const struct pith_packed file = {
        .data = s->file.data, .bytes = s->file.bytes, .name = (char *)(uintptr_t)s->path};
    return s->onnx ? pith_engine_open(s->model, opts, e, err)
                   : pith_engine_open_packed(&file, opts, e, err);
}

/* Read whole: every chunk, stream and shape; then a plan is made, and data is held against it. */
static enum cli_exit check_model(const struct check_options *o, struct checked_file *s,
                                 const struct pith_import_opts *import)
{
    struct pith_engine *e;
    struct pith_engine_opts engine;
    struct pith_error err = {0};
    enum cli_exit rc = cli_engine_opts(&o->common, &engine);
    if (rc)
        return rc;
    if (pith_model_read(s->file.data, s->file.bytes, s->path, import, &s->model, &err))
        return cli_fail(&err);
    cli_trim_heap();
    if (pith_weight_check(s->model, &s->found, &s->n_found, &err) ||
        pith_range_check(s->model, &s->ruled, &s->n_ruled, &err) ||
        open_engine(s, &engine, &e, &err))
        return cli_fail(&err);
    rc = check_data(o, s, e);
    pith_engine_close(e);
    return rc;
}

/* Each weight with values that are NaN or infinite, from *at on: the survey of an ONNX file knows
 * them, also where it cannot be imported. false: no more. */
static bool next_nonfinite(const struct checked_file *s, uint32_t *at, const char **name,
                           uint64_t *count)
{
    if (s->onnx) {
        if (*at == s->onnx->n_nonfinite)
            return false;
        *name = s->onnx->nonfinite[*at].tensor;
        *count = s->onnx->nonfinite[(*at)++].count;
        return true;
    }
    while (*at < s->n_found) {
        const struct pith_weight_finding *f = &s->found[(*at)++];
        *name = f->tensor;
        *count = f->count;
        if (f->kind == PITH_WEIGHT_NONFINITE)
            return true;
    }
    return false;
}

/* ---- suspicious weights ---------------------------------------------------------------------- */

static void print_finding(const char *path, const struct pith_weight_finding *f)
{
    char count[32], of[32], what[256];
    pith_count_text(f->count, count);
    pith_count_text(f->of, of);
    if (f->kind == PITH_WEIGHT_DENORMAL)
        snprintf(what, sizeof what,
                 "%s of %s values are denormal (below 1.18e-38): slow on many processors", count,
                 of);
    else if (f->kind == PITH_WEIGHT_DEAD)
        snprintf(what, sizeof what, "%s of %s output channels %s all zero, the first is %" PRIu64,
                 count, of, f->count == 1 ? "is" : "are", f->first);
    else
        snprintf(what, sizeof what,
                 "outlier: value %" PRIu64 " is %.4g in magnitude, the 99.9th percentile %.4g: "
                 "%.1f%% of a range up to it is unused",
                 f->first, f->largest, f->rest, 100 * (1 - f->rest / f->largest));
    cli_print("%s: note: layer '%s' weight '%s': %s", path, f->layer, f->tensor, what);
}

static void print_ruled(const char *path, const struct pith_range_finding *f)
{
    char count[32], of[32];
    pith_count_text(f->count, count);
    pith_count_text(f->of, of);
    printf(
        "%s: note: value '%s': %s outlier%s: the largest of %s numbers is %.4g in magnitude, the "
        "99.9th percentile %.4g: %.1f%% of a range up to it is unused\n",
        path, f->value, count, f->count == 1 ? "" : "s", of, f->largest, f->rest,
        100 * (1 - f->rest / f->largest));
}

static void print_findings(const struct checked_file *s)
{
    for (uint32_t i = 0; i < s->n_found; i++)
        if (s->found[i].kind != PITH_WEIGHT_NONFINITE)
            print_finding(s->path, &s->found[i]);
    for (uint32_t i = 0; i < s->n_ruled; i++)
        print_ruled(s->path, &s->ruled[i]);
}

static void json_ruled(const struct pith_range_finding *f)
{
    cli_json_open(NULL, '{');
    cli_json_string("kind", "range");
    cli_json_string("tensor", f->value);
    cli_json_uint("count", f->count);
    cli_json_uint("of", f->of);
    cli_json_number("largest", f->largest);
    cli_json_number("rest", f->rest);
    cli_json_number("wasted", 1 - f->rest / f->largest);
    cli_json_close('}');
}

static void json_findings(const struct checked_file *s)
{
    static const char *const kinds[] = {"", "nonfinite", "denormal", "dead", "outlier"};
    cli_json_open("suspicious", '[');
    for (uint32_t i = 0; i < s->n_found; i++) {
        const struct pith_weight_finding *f = &s->found[i];
        if (f->kind == PITH_WEIGHT_NONFINITE)
            continue;
        cli_json_open(NULL, '{');
        cli_json_string("kind", kinds[f->kind]);
        cli_json_string("layer", f->layer);
        cli_json_string("tensor", f->tensor);
        cli_json_uint("count", f->count);
        cli_json_uint("of", f->of);
        cli_json_uint("first", f->first);
        if (f->kind == PITH_WEIGHT_OUTLIER) {
            cli_json_number("largest", f->largest);
            cli_json_number("rest", f->rest);
            cli_json_number("wasted", 1 - f->rest / f->largest);
        }
        cli_json_close('}');
    }
    for (uint32_t i = 0; i < s->n_ruled; i++)
        json_ruled(&s->ruled[i]);
    cli_json_close(']');
}

static void print_nonfinite(const struct checked_file *s)
{
    const char *name;
    uint64_t n;
    for (uint32_t at = 0; next_nonfinite(s, &at, &name, &n);)
        cli_print("%s: weight '%s' has %" PRIu64 " value%s NaN or infinite", s->path, name, n,
                  n == 1 ? " that is" : "s that are");
}

static void json_nonfinite(const struct checked_file *s)
{
    const char *name;
    uint64_t n;
    cli_json_open("nonfinite", '[');
    for (uint32_t at = 0; next_nonfinite(s, &at, &name, &n);) {
        cli_json_open(NULL, '{');
        cli_json_string("tensor", name);
        cli_json_uint("count", n);
        cli_json_close('}');
    }
    cli_json_close(']');
}

static bool is_sound(const struct checked_file *s)
{
    const char *name;
    uint64_t n;
    uint32_t at = 0;
    return !next_nonfinite(s, &at, &name, &n);
}

static bool has_table(const struct checked_file *s)
{
    return s->look && !s->misfit.status;
}

static void print_look(const struct checked_file *s)
{
    static const char *const heads[] = {"input", "samples", "min",           "mean",
                                        "max",   "zeros",   "calibrated for"};
    struct cli_table t;
    cli_table_start(&t, 7);
    cli_table_left(&t, 6);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        cli_table_add(&t, "%s", heads[i]);
    for (uint32_t i = 0; i < s->model->n_inputs; i++) {
        const struct pith_input_look *l = &s->look[i];
        if (l->samples == 0)
            continue;
        cli_table_add(&t, "%s", l->name);
        cli_table_add(&t, "%" PRIu64, l->samples);
        cli_table_add(&t, "%.4g", l->min);
        cli_table_add(&t, "%.4g", l->mean);
        cli_table_add(&t, "%.4g", l->max);
        cli_table_add(&t, "%.3f", l->zeros);
        if (l->ranged)
            cli_table_add(&t, "%.4g to %.4g", l->low, l->high);
        else
            cli_table_add(&t, "-");
    }
    cli_table_print(&t, stdout);
    const char *pre = pith_model_get_meta(s->model, "preprocess");
    if (pre)
        printf("preprocess: %s\n", *pre ? pre : "none (raw)");
}

/* The findings, each to `put`. */
static void each_finding(const struct checked_file *s,
                         void (*put)(const char *path, const char *text), const char *path)
{
    char text[PITH_LOOK_TEXT_BYTES];
    for (uint32_t i = 0; i < s->model->n_inputs; i++)
        for (uint32_t k = 0; k < PITH_LOOK_KINDS; k++)
            if (pith_look_finding(&s->look[i], k, text))
                put(path, text);
    if (cli_answer_finding(s->model, &s->feed.feed, &s->answers, text))
        put(path, text);
}

static void put_line(const char *path, const char *text)
{
    printf("%s: warning: %s\n", path, text);
}

static void put_json(const char *path, const char *text)
{
    (void)path;
    cli_json_string(NULL, text);
}

static void json_look(const struct checked_file *s)
{
    cli_json_open("data", '[');
    for (uint32_t i = 0; i < s->model->n_inputs; i++) {
        const struct pith_input_look *l = &s->look[i];
        if (l->samples == 0)
            continue;
        cli_json_open(NULL, '{');
        cli_json_string("input", l->name);
        cli_json_uint("samples", l->samples);
        cli_json_number("min", l->min);
        cli_json_number("mean", l->mean);
        cli_json_number("max", l->max);
        cli_json_number("zeros", l->zeros);
        if (l->ranged) {
            cli_json_number("range_min", l->low);
            cli_json_number("range_max", l->high);
        }
        cli_json_close('}');
    }
    cli_json_close(']');
    if (pith_model_get_meta(s->model, "preprocess"))
        cli_json_string("preprocess", pith_model_get_meta(s->model, "preprocess"));
    cli_json_open("findings", '[');
    each_finding(s, put_json, NULL);
    cli_json_close(']');
}

static void print_data(const struct check_options *o, const struct checked_file *s)
{
    const struct pith_data *d = s->feed.leading;
    if (s->misfit.status)
        printf("data does not fit: %s\n", s->misfit.text);
    else if (d)
        printf("%s: %" PRIu64 " samples fit%s\n", o->feed.data.item[0], pith_data_count(d),
               pith_data_labelled(d) ? ", labelled" : ", no labels");
    if (d && pith_data_reordered(d))
        printf("%s\n", pith_data_reordered(d));
    if (has_table(s)) {
        print_look(s);
        each_finding(s, put_line, o->feed.data.item[0]);
    }
}

static void print_text(const struct check_options *o, const struct checked_file *s, bool ok)
{
    if (s->onnx)
        print_report(s->path, s->onnx);
    print_nonfinite(s);
    print_findings(s);
    if (ok)
        printf("%s: ok, %u node%s\n", s->path, s->model->n_nodes,
               s->model->n_nodes == 1 ? "" : "s");
    print_data(o, s);
}

static void print_json(const struct checked_file *s, bool ok)
{
    cli_json_begin();
    cli_json_bool("ok", ok);
    json_unsupported(s->onnx);
    json_open_dims(s->onnx);
    json_nonfinite(s);
    json_findings(s);
    if (s->misfit.status)
        cli_json_string("misfit", s->misfit.text);
    if (s->feed.leading && !s->misfit.status) {
        cli_json_uint("samples", pith_data_count(s->feed.leading));
        cli_json_bool("labelled", pith_data_labelled(s->feed.leading));
    }
    if (has_table(s))
        json_look(s);
    cli_json_end();
}

/* NaN and infinite weights and data that does not fit make the honest answer no; what cannot be
 * imported is exit 5. */
static enum cli_exit check(const struct check_options *o, struct checked_file *s,
                           const struct pith_import_opts *import)
{
    enum cli_exit rc = is_pith(s) ? EXIT_DONE : survey_onnx(s, import);
    bool surveyed = s->onnx != NULL;
    if (!rc)
        rc = check_model(o, s, import);
    if (!rc && !is_sound(s))
        rc = EXIT_NO;
    if (rc == EXIT_DONE || rc == EXIT_NO || (surveyed && !importable(s->onnx)))
        o->common.json ? print_json(s, rc == EXIT_DONE) : print_text(o, s, rc == EXIT_DONE);
    return rc;
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct check_options *o = opts;
    struct checked_file s = {0};
    struct pith_import_opts import;
    struct cli_import_storage *storage = NULL;
    enum cli_exit rc = cli_import_opts(&o->import, &import, &storage);
    import.strict = true;
    if (!rc)
        rc = open_checked_file(&s, n_operands ? operands[0] : "-");
    import.dir = *s.dir ? s.dir : NULL;
    if (!rc)
        rc = check(o, &s, &import);
    cli_close_feed(&s.feed);
    free(s.found);
    free(s.ruled);
    free(s.look);
    pith_model_free(s.model);
    pith_onnx_report_free(s.onnx);
    pith_buffer_free(&s.file);
    cli_import_free(storage);
    return rc;
}

const struct cli_command cmd_check = {
    "check",
    "look",
    "can it be imported, is it sound, does the data fit",
    "pith check [MODEL] [-d DATA] [--input-shape NAME:DIMS]",
    "Prints every unsupported node with a remedy, open dimensions with the --input-shape that "
    "fixes\n"
    "them, and whether the data fits the inputs. A table compares the data with the range that "
    "the\n"
    "network was calibrated for. Warnings name constant inputs, pixels without preprocessing, "
    "values\n"
    "far out of range, and one class for all samples.\n"
    "Weights that are NaN or infinite are an error. Notes name what often hurts accuracy: "
    "denormal\n"
    "values (below 2^-126), output channels of zeros, and outliers: a largest weight more than 10\n"
    "times the 99.9th percentile of the layer's nonzero weights (layers of 1,000 or more), or, in "
    "a\n"
    "calibrated model, an activation more than 5 times that percentile.\n"
    "\n"
    "Exit 0: sound; 1: imports, but weights, data or outputs are not finite, or the data does not\n"
    "fit; 4: broken file; 5: cannot be imported.",
    options,
    sizeof(struct check_options),
    0,
    1,
    run,
    NULL};
