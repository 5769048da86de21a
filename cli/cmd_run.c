/* SPDX-License-Identifier: MIT */
/* pith run: outputs for inputs, of one call or of every sample of data. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "array_files.h"
#include "cli/common/engine_options.h"
#include "core/element_f32.h"
#include "base/escape_text.h"
#include "pith_load.h"
#include "class_scores.h"
#include "data_check.h"
#include "cli/bench/explain.h"
#include "measure/corner_copy.h"
#include "feed_options.h"
#include "cli/common/json_out.h"
#include "pith_host.h"

struct run_options {
    struct cli_common common;
    struct cli_feed_options feed;
    struct cli_list saves, dumps;
    const char *output_name;
    const char *softmax;
    uint64_t top;
    bool profile, explain;
    const char *plan;
    uint64_t max_steps;
    const char *device;
};

static const struct cli_option options[] = {
    {'d', "data", OPTION_LIST, offsetof(struct run_options, feed.data), "[NAME=]DATA",
     "run every sample and stack the outputs (formats: help eval)", 0, 0},
    {0, "range", OPTION_TEXT, offsetof(struct run_options, feed.range), "A:B[:STEP]",
     "samples A to B-1, every STEP-th; !A:B:STEP: all others", 0, 0},
    CLI_STATE_OPTION(struct run_options, feed),
    {0, "output-name", OPTION_TEXT, offsetof(struct run_options, output_name), "NAME",
     "output by name or number (default: the first)", 0, 0},
    {0, "save", OPTION_LIST, offsetof(struct run_options, saves), "NAME=FILE",
     "also write this output to an npy file", 0, 0},
    {0, "dump", OPTION_LIST, offsetof(struct run_options, dumps), "TENSOR[=FILE]",
     "write a layer's output (TENSOR.npy), one row per call", 0, 0},
    {0, "preprocess", OPTION_TEXT, offsetof(struct run_options, feed.preprocess), "SPEC",
     "overrides the stored preprocessing", 0, 0},
    {0, "top", OPTION_UINT, offsetof(struct run_options, top), "N",
     "print the N largest values (default 5; many samples: 1)", 1, 1000},
    CLI_SOFTMAX_OPTION(struct run_options, softmax),
    {0, "plan", OPTION_TEXT, offsetof(struct run_options, plan), "FILE",
     "use the plan of FILE (pith plan, pith tune)", 0, 0},
    {0, "profile", OPTION_FLAG, offsetof(struct run_options, profile), NULL,
     "print the time of every layer on stderr", 0, 0},
    {0, "explain", OPTION_FLAG, offsetof(struct run_options, explain), NULL,
     "time every candidate kernel of each step, on stderr", 0, 0},
    CLI_MAX_STEPS_OPTION(struct run_options, max_steps),
    CLI_DEVICE_OPTION(struct run_options, device),
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

/* An output that goes to a file: of every sample, one behind the other. */
struct wanted {
    uint32_t output;
    char path[CLI_PATH_BYTES];
    uint8_t *data;            /* owns */
    struct pith_tensor whole; /* of the first sample, or the longest */
    bool uneven;              /* a sample does not fit into it */
};

struct runner {
    const struct run_options *o;
    const char *model_path, *made_folder; /* NULL: none was made */
    struct pith_packed packed;            /* owns */
    struct pith_model *m;                 /* its outline */
    struct cli_feed feed;
    struct pith_engine *engine;
    struct pith_buffer plan_file;
    struct pith_plan *plan;
    uint32_t batch;
    uint32_t rows;          /* of what is shown, one for each sample of a batch; else 1 */
    bool stacked;           /* data was given: outputs are those of all samples */
    const char *picture;    /* borrows: the file that was fed; NULL: none */
    enum cli_scores scores; /* what `shown` holds */
    struct pith_answer_look answers;
    struct wanted *wanted; /* owns */
    uint32_t n_wanted;
    uint32_t shown;          /* output to print where none is written */
    struct pith_dump *dump;  /* owns: [o->dumps.n] */
    struct cli_progress bar; /* of runs whose outputs go to files */
    char dump_path[CLI_LIST_MAX][CLI_PATH_BYTES];
    enum cli_exit failed; /* of the dumps, written before the last result is printed */
};

/* ---- inputs ---------------------------------------------------------------------------------- */

/* The way of a data set with one picture: resized, cropped and scaled as the model wants it. */
static enum cli_exit feed_picture(const struct runner *r, const struct pith_buffer *file,
                                  uint32_t input, float *to, const char *path)
{
    struct pith_error err = {0};
    struct pith_data *data;
    struct pith_data_opts o = {.size_bytes = sizeof o,
                               .path = path,
                               .content = file->data,
                               .content_bytes = file->bytes,
                               .preprocess = r->o->feed.preprocess};
    enum cli_exit rc;
    cli_data_shape(r->m, input, &o);
    if (pith_data_open(&o, &data, &err))
        return cli_fail(&err);
    if (pith_data_unscaled_pixels(data))
        cli_hint("%s", PITH_LOOK_RAW_PIXELS);
    rc = pith_data_read(data, 0, to, NULL, &err) ? cli_fail(&err) : EXIT_DONE;
    pith_data_free(data);
    return rc;
}

static bool is_npy(const struct pith_buffer *file)
{
    return file->bytes > 6 && memcmp(file->data, "\x93NUMPY", 6) == 0;
}

/* Raw values, exactly as many as the input takes, of its type or of that in the network's ONNX. */
static enum cli_exit feed_raw(const struct pith_model *m, uint32_t input,
                              const struct pith_buffer *file, const char *path, void **data)
{
    const struct pith_value *v = &m->values[m->inputs[input]];
    const enum pith_type type = pith_model_end_type(m, input);
    const uint64_t elems = pith_value_elems(v), bytes = elems * cli_type_bytes(v->type);
    const bool narrow = type != v->type && file->bytes == elems * cli_type_bytes(type);
    if (file->bytes != bytes && !narrow) {
        const char *format = pith_foreign_picture(file->data, file->bytes);
        if (format) {
            cli_error("%s: the picture is %s; pith reads PNG and JPEG: convert it first", path,
                      format);
            return EXIT_UNSUPPORTED;
        }
        cli_error("%s: neither npy, PNG, JPEG nor the %" PRIu64 " raw bytes of input '%s' (%s)",
                  path, elems * cli_type_bytes(type), v->name, pith_type_text(type));
        return EXIT_BROKEN;
    }
    *data = malloc((size_t)bytes + 1);
    if (!*data)
        return cli_no_memory();
    if (narrow)
        pith_elements_to_f32(type, file->data, (size_t)elems, *data);
    else
        memcpy(*data, file->data, (size_t)bytes);
    return EXIT_DONE;
}

/* An array with k times the values along an open batch sets the batch. */
static enum cli_exit take_batch(struct runner *r, const struct pith_buffer *file,
                                const struct pith_value *v, const char *path)
{
    struct pith_error err = {0};
    struct pith_array a;
    bool rows;
    if (!r->m->batch_open || r->feed.leading || r->feed.feed.n_states)
        return EXIT_DONE;
    if (pith_npy_read(file->data, file->bytes, path, &a, &err))
        return cli_fail(&err);
    rows = a.rank == v->rank && v->rank > 0 && a.dim[0] > 0 &&
           memcmp(a.dim + 1, v->dim + 1, (v->rank - 1) * sizeof *a.dim) == 0;
    if (rows && r->batch == 0)
        r->batch = a.dim[0];
    pith_array_free(&a);
    return EXIT_DONE;
}

static enum cli_exit feed_file(struct runner *r, const char *path, uint32_t input)
{
    const struct pith_value *v = &r->m->values[r->m->inputs[input]];
    void **to = &r->feed.constant[input];
    struct pith_buffer file;
    enum cli_exit rc = cli_read_file(path, &file);
    if (rc)
        return rc;
    if (strcmp(path, "-") == 0)
        path = "standard input";
    if (is_npy(&file)) {
        rc = take_batch(r, &file, v, path);
        if (!rc)
            rc = cli_convert_array(&file, path, v, r->batch ? r->batch : 1, to);
    } else if (cli_is_picture(file.data, file.bytes) && v->type == PITH_F32) {
        r->picture = path;
        *to = malloc((size_t)pith_value_elems(v) * sizeof(float) + 1);
        rc = *to ? feed_picture(r, &file, input, *to, path) : cli_no_memory();
    } else {
        rc = feed_raw(r->m, input, &file, path, to);
    }
    pith_buffer_free(&file);
    r->feed.input[input].constant = *to;
    return rc;
}

/* With nothing given at all, the one input that lacks a source is standard input. */
static enum cli_exit open_inputs(struct runner *r, char **operands, uint32_t n)
{
    static char standard_input[] = "-";
    char *only_stdin[] = {standard_input};
    struct cli_feed_options in = r->o->feed;
    bool nothing = n == 0 && in.data.n == 0;
    in.own_sizes = true;
    enum cli_exit rc =
        cli_open_feed(&in, r->m, nothing ? only_stdin : operands, nothing ? 1 : n, &r->feed);
    for (uint32_t i = 0; i < r->feed.n_operands && !rc; i++)
        if (!r->feed.operand_opened[i])
            rc = feed_file(r, r->feed.operand_path[i], r->feed.operand_input[i]);
    r->stacked = r->feed.leading != NULL;
    bool pictures = r->picture || (r->stacked && pith_data_pictures(r->feed.leading));
    if (!rc)
        rc = cli_score_kind(r->m, r->shown, r->o->softmax, pictures, &r->scores);
    return rc;
}

/* ---- outputs --------------------------------------------------------------------------------- */

static enum cli_exit no_output(const struct runner *r, const char *name)
{
    cli_error("no output '%s': the model has %u (see pith info)", name, r->m->n_outputs);
    return EXIT_USAGE;
}

static enum cli_exit want(struct runner *r, uint32_t output, const char *path)
{
    struct wanted *w = &r->wanted[r->n_wanted++];
    w->output = output;
    if (strlen(path) >= sizeof w->path) {
        cli_error("%s: name too long", path);
        return EXIT_USAGE;
    }
    strcpy(w->path, path);
    return cli_check_array(&r->o->common, path, r->model_path);
}

/* -o FOLDER: every output under its name. */
static enum cli_exit want_folder(struct runner *r, const char *folder)
{
    enum cli_exit rc = EXIT_DONE;
    for (uint32_t i = 0; i < r->m->n_outputs && !rc; i++) {
        const char *name = r->m->values[r->m->outputs[i]].name;
        char path[CLI_PATH_BYTES], file[256];
        cli_array_file_name(name, strlen(name), i, ".npy", file, sizeof file);
        if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, file) >= sizeof path) {
            cli_error("%s: name too long", folder);
            return EXIT_USAGE;
        }
        for (uint32_t k = 0; k < r->n_wanted; k++)
            if (strcmp(r->wanted[k].path, path) == 0)
                snprintf(path, sizeof path, "%s/%u.npy", folder, i);
        rc = want(r, i, path);
    }
    return rc;
}

static enum cli_exit want_save(struct runner *r, const char *text)
{
    uint32_t output;
    for (const char *eq = strchr(text, '='); eq; eq = strchr(eq + 1, '='))
        if (cli_find_output(r->m, text, (size_t)(eq - text), &output))
            return want(r, output, eq + 1);
    cli_error("--save '%s': not NAME=FILE with an output of the model (see pith info)", text);
    return EXIT_USAGE;
}

/* "out/" names a folder, which is made where there is none. */
static bool is_folder(struct runner *r, const char *path)
{
    struct stat st;
    size_t n = strlen(path);
    if (stat(path, &st) == 0)
        return S_ISDIR(st.st_mode);
    if (n == 0 || path[n - 1] != '/' || mkdir(path, 0777) != 0)
        return false;
    r->made_folder = path;
    return true;
}

static enum cli_exit choose_outputs(struct runner *r)
{
    const struct run_options *o = r->o;
    const char *name = o->output_name;
    enum cli_exit rc = EXIT_DONE;
    r->wanted = calloc(o->saves.n + r->m->n_outputs + 1u, sizeof *r->wanted);
    if (!r->wanted)
        return cli_no_memory();
    if (name && !cli_find_output(r->m, name, strlen(name), &r->shown))
        return no_output(r, name);
    if (o->common.output)
        rc = is_folder(r, o->common.output) ? want_folder(r, o->common.output)
                                            : want(r, r->shown, o->common.output);
    for (uint32_t i = 0; i < o->saves.n && !rc; i++)
        rc = want_save(r, o->saves.item[i]);
    return rc;
}

static enum cli_exit choose_dump(struct runner *r, uint32_t i)
{
    const char *text = r->o->dumps.item[i], *path;
    enum cli_exit rc = cli_dump_split(r->m, r->model_path, text, &r->dump[i], &path);
    if (rc)
        return rc;
    cli_dump_path(text, path, "", r->dump_path[i], sizeof r->dump_path[i]);
    return cli_check_array(&r->o->common, r->dump_path[i], r->model_path);
}

static enum cli_exit choose_dumps(struct runner *r)
{
    enum cli_exit rc = EXIT_DONE;
    r->dump = calloc(r->o->dumps.n + 1u, sizeof *r->dump);
    if (!r->dump)
        return cli_no_memory();
    for (uint32_t i = 0; i < r->o->dumps.n && !rc; i++)
        rc = choose_dump(r, i);
    return rc;
}

static void print_class(const struct runner *r, const struct cli_score_reader *s, uint64_t k)
{
    int len;
    const char *name = cli_class_name(pith_model_get_meta(r->m, "labels"), k, &len);
    if (!r->o->common.json) {
        char cut[256], shown[256];
        snprintf(cut, sizeof cut, "%.*s", len, name);
        pith_escape_text(cut, shown, sizeof shown);
        printf("%" PRIu64 "\t%.6g%s%s\n", k, cli_score(s, k), len ? "\t" : "", shown);
        return;
    }
    cli_json_open(NULL, '{');
    cli_json_uint("class", k);
    cli_json_number("value", cli_score_value(s, k));
    if (r->scores != CLI_SCORES_VALUES)
        cli_json_number("probability", cli_score(s, k));
    if (len)
        cli_json_bytes("name", name, (size_t)len);
    cli_json_close('}');
}

/* Samples of a data set, or rows of a batch. */
static bool shows_many(const struct runner *r)
{
    return r->stacked || r->rows > 1;
}

static const char *sample_file(const struct runner *r, uint64_t sample)
{
    return r->stacked ? pith_data_sample_file(r->feed.leading, sample) : NULL;
}

/* The name of the picture, else the number of the sample. What would break the line or reach for
 * the terminal is a question mark. */
static void print_sample(const struct runner *r, uint64_t sample)
{
    const char *name = sample_file(r, sample);
    if (!name)
        printf("%" PRIu64, sample);
    for (const char *p = name; name && *p; p++)
        putchar((unsigned char)*p < 0x20 || *p == 0x7f ? '?' : *p);
    putchar('\t');
}

static void json_sample(const struct runner *r, uint64_t sample)
{
    const char *name = sample_file(r, sample);
    cli_json_open(NULL, '{');
    cli_json_uint("sample", sample);
    if (name)
        cli_json_string("file", name);
}

/* The largest values of one sample; of many each line begins with which one it is. */
static void print_top(const struct runner *r, const struct pith_tensor *t, uint64_t sample)
{
    uint64_t top = r->o->top ? r->o->top : shows_many(r) ? 1 : 5;
    bool json = r->o->common.json != NULL;
    struct cli_score_reader s;
    cli_read_scores(&s, r->scores, t);
    if (json && shows_many(r))
        json_sample(r, sample);
    if (json)
        cli_json_open("top", '[');
    for (uint64_t k = 0, best = s.n; k < top && (best = cli_next_score(&s, best)) != s.n; k++) {
        if (shows_many(r) && !json)
            print_sample(r, sample);
        print_class(r, &s, best);
    }
    if (json)
        cli_json_close(']');
    if (json && shows_many(r))
        cli_json_close('}');
}

/* Of a batch, a row a sample; an output that has no such rows is shown as values. */
static void cut_rows(struct runner *r, const struct pith_tensor *t)
{
    bool cut = !r->stacked && r->batch > 1 && t->rank > 1 && t->dim[0] == r->batch;
    r->rows = cut ? r->batch : 1;
    if (r->batch > 1 && !cut)
        r->scores = CLI_SCORES_VALUES;
}

static void print_result(struct runner *r, uint64_t sample)
{
    struct pith_tensor t;
    pith_plan_output(r->plan, r->shown, &t);
    t.data = pith_plan_output_data(r->plan, r->shown);
    cut_rows(r, &t);
    if (r->o->common.json && sample == 0) {
        cli_json_begin();
        if (!r->stacked && r->picture)
            cli_json_string("file", r->picture);
        cli_json_bytes("output", t.name, t.name_bytes);
        if (shows_many(r))
            cli_json_open("samples", '[');
    }
    t.bytes /= r->rows;
    for (uint32_t i = 0; i < r->rows; i++, t.data = (const uint8_t *)t.data + t.bytes)
        print_top(r, &t, sample + i);
}

static enum cli_exit write_dump(const struct runner *r, uint32_t i)
{
    struct pith_error err = {0};
    struct pith_buffer npy;
    if (pith_dump_npy(&r->dump[i], &npy, &err))
        return cli_fail(&err);
    return cli_write_array(&r->o->common, r->dump_path[i], &npy);
}

static enum cli_exit write_dumps(const struct runner *r)
{
    enum cli_exit rc = EXIT_DONE;
    for (uint32_t i = 0; i < r->o->dumps.n && !rc; i++)
        rc = write_dump(r, i);
    return rc;
}

/* t into the first corner of `whole`, which is zero elsewhere. false: it is larger. */
static bool copy_corner(const struct pith_tensor *t, const struct pith_tensor *whole, uint8_t *to)
{
    bool fits = t->rank == whole->rank && t->type == whole->type;
    for (uint32_t i = 0; i < t->rank && fits; i++)
        fits = t->dim[i] <= whole->dim[i];
    if (fits)
        pith_copy_corner(&(struct corner){t->rank, t->dim, cli_type_bytes(t->type)}, t->dim,
                         t->data, whole->dim, to);
    return fits;
}

/* Called after every sample, while its outputs lie in the plan. */
static bool take_sample(void *user, uint64_t sample)
{
    struct runner *r = user;
    r->plan = pith_engine_plan(r->engine); /* of this sample's sizes */
    if (r->stacked)
        pith_see_answer(r->m, r->plan, sample, pith_data_label(r->feed.leading, sample),
                        &r->answers);
    for (uint32_t i = 0; i < r->n_wanted; i++) {
        struct wanted *w = &r->wanted[i];
        struct pith_tensor t;
        pith_plan_output(r->plan, w->output, &t);
        const bool varies = w->whole.bytes != t.bytes && !r->feed.uneven;
        if (sample == 0 && varies) /* at most what there is room for: it is as long as it comes */
            w->whole = t;
        w->uneven |=
            (sample && varies) || !copy_corner(&t, &w->whole, w->data + sample * w->whole.bytes);
    }
    if (r->n_wanted)
        return cli_progress_step(&r->bar, sample + 1);
    if (sample + 1 ==
        pith_feed_count(&r->feed.feed)) /* first what may fail, then what is printed */
        r->failed = write_dumps(r);
    if (r->failed)
        return false;
    print_result(r, sample);
    return !cli_interrupted();
}

#define MAX_STACK_BYTES (UINT64_C(4) << 30)

static enum cli_exit make_room(struct runner *r)
{
    uint64_t n = pith_feed_count(&r->feed.feed);
    for (uint32_t i = 0; i < r->n_wanted; i++) {
        struct wanted *w = &r->wanted[i];
        struct pith_tensor t;
        pith_plan_output(r->plan, w->output, &t);
        w->whole = t;
        if (t.bytes > MAX_STACK_BYTES / n || n > UINT32_MAX) {
            cli_error("output '%.*s' of %" PRIu64
                      " samples takes more than 4 GiB: choose some with "
                      "--range",
                      (int)t.name_bytes, t.name, n);
            return EXIT_MEMORY;
        }
        w->data = calloc(1, (size_t)(t.bytes * n) + 1);
        if (!w->data)
            return cli_no_memory();
    }
    return EXIT_DONE;
}

static enum cli_exit write_wanted(const struct runner *r, const struct wanted *w)
{
    struct pith_error err = {0};
    struct pith_buffer npy;
    struct pith_tensor t;
    uint32_t dim[PITH_MAX_RANK], axes = 0;
    t = w->whole;
    if (w->uneven) {
        cli_error(
            "output '%.*s' has another shape for each sample: run one at a time, with --range",
            (int)t.name_bytes, t.name);
        return EXIT_UNSUPPORTED;
    }
    const uint32_t samples = r->stacked ? (uint32_t)pith_feed_count(&r->feed.feed) : 1;
    const bool batch = t.rank > 0 && t.dim[0] == 1; /* where the samples go */
    if (r->stacked && !batch && t.rank == PITH_MAX_RANK) {
        cli_error("output '%.*s' has %u axes already: one more is needed for the samples",
                  (int)t.name_bytes, t.name, t.rank);
        return EXIT_UNSUPPORTED;
    }
    if (r->stacked && !batch)
        dim[axes++] = samples;
    memcpy(dim + axes, t.dim, t.rank * sizeof *dim);
    if (batch)
        dim[0] = samples;
    if (pith_npy_write(t.type, t.rank + axes, dim, w->data, &npy, &err))
        return cli_fail(&err);
    return cli_write_array(&r->o->common, w->path, &npy);
}

static void observe(void *user, const struct pith_layer *layer, const struct pith_tensor *out)
{
    struct runner *r = user;
    pith_dump_see(r->dump, r->o->dumps.n, layer, out);
}

static void print_profile(const struct runner *r)
{
    struct pith_layer l;
    for (uint32_t i = 0; i < pith_plan_layer_count(r->plan); i++) {
        pith_plan_layer(r->plan, i, &l);
        fprintf(stderr, "%10.1f us  %-16s %-16s %.*s\n", (double)l.ns / 1e3, pith_op_text(l.op),
                l.kernel, (int)l.name_bytes, l.name);
    }
}

/* Behind the outputs: the kernels are timed on inputs of their own. */
static enum cli_exit explain(const struct runner *r)
{
    struct cli_explained explained = {0};
    struct pith_engine_opts o;
    enum cli_exit rc = cli_engine_opts(&r->o->common, &o);
    o.batch = r->batch;
    o.max_steps = r->o->max_steps;
    if (!rc)
        rc = cli_explain(&r->packed, &o, EXPLAIN_SECONDS, &explained);
    if (!rc)
        cli_explain_print(&explained, r->engine, stderr);
    cli_explain_free(&explained);
    return rc;
}

static enum cli_exit execute(struct runner *r)
{
    struct pith_error err = {0};
    enum pith_status st;
    char finding[CLI_ANSWER_TEXT_BYTES];
    enum cli_exit rc = make_room(r);
    if (rc)
        return rc;
    if (r->n_wanted)
        cli_progress_start(&r->bar, &r->o->common, "run", pith_feed_count(&r->feed.feed));
    st = pith_feed_run(r->engine, &r->feed.feed, take_sample, r, &err);
    if (r->n_wanted)
        cli_progress_end(&r->bar);
    if (r->failed)
        return r->failed;
    if (st)
        return cli_fail(&err);
    if (cli_answer_finding(r->m, &r->feed.feed, &r->answers, finding))
        cli_hint("%s", finding);
    cli_device_note(r->engine);
    if (r->n_wanted == 0 && r->o->common.json) {
        if (shows_many(r))
            cli_json_close(']');
        cli_json_end();
    }
    if (r->o->profile)
        print_profile(r);
    if (r->o->explain)
        rc = explain(r);
    for (uint32_t i = 0; i < r->n_wanted && !rc; i++)
        rc = write_wanted(r, &r->wanted[i]);
    return rc || !r->n_wanted ? rc : write_dumps(r);
}

static enum cli_exit open_engine(struct runner *r)
{
    struct pith_error err = {0};
    struct pith_engine_opts o;
    enum cli_exit rc = cli_engine_opts(&r->o->common, &o);
    if (!rc)
        rc = cli_device(r->o->device, &o);
    if (rc)
        return rc;
    o.profile = r->o->profile || r->o->explain;
    o.batch = r->batch;
    o.max_steps = r->o->max_steps;
    o.user = r;
    o.observe = r->o->dumps.n ? observe : NULL;
    if (r->o->plan)
        rc = cli_read_file(r->o->plan, &r->plan_file);
    if (rc)
        return rc;
    o.plan_file = r->plan_file.data;
    o.plan_file_bytes = r->plan_file.bytes;
    o.plan_name = r->o->plan;
    if (pith_engine_open_packed(&r->packed, &o, &r->engine, &err))
        return cli_fail(&err);
    cli_device_note(r->engine);
    r->plan = pith_engine_plan(r->engine);
    return EXIT_DONE;
}

static void close_runner(struct runner *r)
{
    pith_engine_close(r->engine);
    pith_buffer_free(&r->plan_file);
    cli_close_feed(&r->feed);
    for (uint32_t i = 0; i < r->n_wanted; i++)
        free(r->wanted[i].data);
    free(r->wanted);
    for (uint32_t i = 0; r->dump && i < r->o->dumps.n; i++)
        pith_dump_free(&r->dump[i]);
    free(r->dump);
    pith_packed_free(&r->packed);
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct runner r = {.o = opts, .model_path = operands[0]};
    if (r.o->explain && cli_explain_refuses(r.o->plan, r.o->device))
        return EXIT_USAGE;
    enum cli_exit rc = cli_load_packed(operands[0], &r.packed);
    r.m = r.packed.outline;
    if (!rc)
        rc = choose_outputs(&r);
    if (!rc)
        rc = choose_dumps(&r);
    if (!rc)
        rc = open_inputs(&r, operands + 1, n_operands - 1);
    if (!rc)
        rc = open_engine(&r);
    if (!rc)
        rc = execute(&r);
    if (rc && r.made_folder)
        rmdir(r.made_folder); /* where nothing came into it */
    close_runner(&r);
    return rc;
}

const struct cli_command cmd_run = {
    "run",
    "run",
    CLI_RUN_SUMMARY,
    "pith run MODEL [[NAME=]INPUT]... [-d [NAME=]DATA] [-o out.npy]",
    "An input is a .npy file (converted to the input's type where no value changes), a PNG or "
    "JPEG\n"
    "picture (with the stored preprocessing) or raw little-endian values; without a file it is "
    "read\n"
    "from standard input. A folder stands for all pictures in it, and several pictures and folders "
    "may\n"
    "be given for the last open input. With -d every sample of a data set is run, while the other\n"
    "inputs stay the same. Outputs of all samples are joined along their first axis where it is "
    "1,\n"
    "else along a new one. -o FILE writes the first output (or --output-name), -o FOLDER/ every\n"
    "output as NAME.npy. Without -o and --save the largest values are printed, one per line: "
    "class,\n"
    "value and name, separated by tabs.\n"
    "For several samples the file name or the sample number comes first, and --top 1 is the "
    "default.\n"
    "With pictures or stored class names, a vector of f32 is read as class scores and printed as\n"
    "probabilities: the softmax, or the value itself after a Softmax or Sigmoid, or where the "
    "values\n"
    "of a sample lie in 0..1 and sum to 1 (--softmax always or never overrides "
    "this).\n" CLI_STATE_TEXT
    "--dump writes an inner value, with an axis in front for calls and loop iterations.\n"
    "\n"
    "  pith run net.pith digit.png\n"
    "  pith run net.pith *.jpg holiday/\n"
    "  pith run net.pith x=x.npy mask=m.npy -o out/\n"
    "  pith run vad.pith -d wav:576:512:speech.wav --state stateN=state -o probabilities.npy",
    options,
    sizeof(struct run_options),
    1,
    UINT32_MAX,
    run,
    NULL};
