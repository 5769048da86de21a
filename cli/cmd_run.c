/* SPDX-License-Identifier: MIT */
/* pith run: outputs for inputs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "data_options.h"
#include "json_out.h"
#include "pith_host.h"

struct run_options {
    struct cli_common common;
    const char *output_name, *preprocess;
    uint64_t top;
    bool profile;
};

static const struct cli_option options[] = {
    {0, "output-name", OPTION_TEXT, offsetof(struct run_options, output_name), "NAME",
     "this output, or its number (default: the first)", 0, 0},
    {0, "preprocess", OPTION_TEXT, offsetof(struct run_options, preprocess), "SPEC",
     "for a picture, instead of what the model stores", 0, 0},
    {0, "top", OPTION_UINT, offsetof(struct run_options, top), "N",
     "print the N largest values with their class (default 5)", 1, 1000},
    {0, "profile", OPTION_FLAG, offsetof(struct run_options, profile), NULL,
     "time of every layer on stderr", 0, 0},
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

struct runner {
    const struct run_options *o;
    const struct pith_model *m;
    struct pith_engine *engine;
    struct pith_plan *plan;
};

/* "name=file" names an input; a bare file is the next one. */
static enum cli_exit find_input(const struct runner *r, const char *operand, uint32_t position,
                                uint32_t *input, const char **path)
{
    const char *equals = strchr(operand, '=');
    struct pith_tensor t;
    *input = position;
    *path = operand;
    for (uint32_t i = 0; equals && i < pith_plan_input_count(r->plan); i++) {
        pith_plan_input(r->plan, i, &t);
        if (t.name_bytes == (size_t)(equals - operand) && memcmp(t.name, operand, t.name_bytes) == 0) {
            *input = i;
            *path = equals + 1;
            return EXIT_DONE;
        }
    }
    if (position < pith_plan_input_count(r->plan))
        return EXIT_DONE;
    cli_error("%s: the model has only %u inputs", operand, pith_plan_input_count(r->plan));
    return EXIT_USAGE;
}

static double element(const struct pith_array *a, uint64_t i)
{
    switch (a->type) {
    case PITH_F32:
        return (double)((const float *)a->data)[i];
    case PITH_F64:
        return ((const double *)a->data)[i];
    case PITH_I64:
        return (double)((const int64_t *)a->data)[i];
    case PITH_I32:
        return ((const int32_t *)a->data)[i];
    case PITH_I16:
        return ((const int16_t *)a->data)[i];
    case PITH_U16:
        return ((const uint16_t *)a->data)[i];
    case PITH_I8:
        return ((const int8_t *)a->data)[i];
    case PITH_U8:
    case PITH_BOOL:
        return ((const uint8_t *)a->data)[i];
    case PITH_F16:
    case PITH_BF16:
        break;
    }
    return 0;
}

static enum cli_exit feed_array(const struct pith_array *a, const struct pith_tensor *t, void *to,
                                const char *path)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        n *= t->dim[i];
    if (a->count != n) {
        cli_error("%s: %" PRIu64 " values, input '%.*s' takes %" PRIu64, path, a->count,
                  (int)t->name_bytes, t->name, n);
        return EXIT_USAGE;
    }
    if (a->type == t->type) {
        memcpy(to, a->data, t->bytes);
        return EXIT_DONE;
    }
    if (t->type != PITH_F32 || a->type == PITH_F16) {
        cli_error("%s: %s values for an input of %s", path, pith_type_text(a->type),
                  pith_type_text(t->type));
        return EXIT_USAGE;
    }
    for (uint64_t i = 0; i < n; i++)
        ((float *)to)[i] = (float)element(a, i);
    return EXIT_DONE;
}

/* The way of a data set with one picture: resized, cropped and scaled as the model wants it. */
static enum cli_exit feed_picture(const struct runner *r, const struct pith_buffer *file,
                                  uint32_t input, void *to, const char *path)
{
    struct pith_error err = {0};
    struct pith_data *data;
    struct pith_data_opts o = {.size_bytes = sizeof o,
                               .path = path,
                               .content = file->data,
                               .content_bytes = file->bytes,
                               .preprocess = r->o->preprocess};
    enum cli_exit rc;
    cli_data_shape(r->m, input, &o);
    if (pith_data_open(&o, &data, &err))
        return cli_fail(&err);
    rc = pith_data_read(data, 0, to, NULL, &err) ? cli_fail(&err) : EXIT_DONE;
    pith_data_free(data);
    return rc;
}

static bool is_picture(const struct pith_buffer *file)
{
    return file->bytes > 4 && (memcmp(file->data, "\x89PNG", 4) == 0 ||
                               memcmp(file->data, "\xff\xd8\xff", 3) == 0);
}

static enum cli_exit feed_file(const struct runner *r, const char *path, uint32_t input)
{
    struct pith_error err = {0};
    struct pith_buffer file;
    struct pith_array array;
    struct pith_tensor t;
    void *to = pith_plan_input_data(r->plan, input);
    enum cli_exit rc = cli_read_file(path, &file);
    if (rc)
        return rc;
    if (strcmp(path, "-") == 0)
        path = "standard input";
    pith_plan_input(r->plan, input, &t);
    if (file.bytes > 6 && memcmp(file.data, "\x93NUMPY", 6) == 0) {
        rc = pith_npy_read(file.data, file.bytes, path, &array, &err) ? cli_fail(&err)
                                                                     : EXIT_DONE;
        if (!rc) {
            rc = feed_array(&array, &t, to, path);
            pith_array_free(&array);
        }
    } else if (is_picture(&file) && t.type == PITH_F32) {
        rc = feed_picture(r, &file, input, to, path);
    } else if (file.bytes == t.bytes) {
        memcpy(to, file.data, file.bytes);
    } else {
        cli_error("%s: neither npy, PNG, JPEG nor the %" PRIu64 " raw bytes of input '%.*s'", path,
                  t.bytes, (int)t.name_bytes, t.name);
        rc = EXIT_BROKEN;
    }
    pith_buffer_free(&file);
    return rc;
}

/* By name, or by number (0 is the first) where names are absent, as in files with the compact
 * header. */
static enum cli_exit find_output(const struct runner *r, uint32_t *output, struct pith_tensor *t)
{
    const char *name = r->o->output_name;
    uint64_t number;
    for (*output = 0; *output < pith_plan_output_count(r->plan); ++*output) {
        pith_plan_output(r->plan, *output, t);
        if (!name || (t->name_bytes == strlen(name) && memcmp(t->name, name, t->name_bytes) == 0))
            return EXIT_DONE;
    }
    if (cli_parse_uint(name, &number) && number < pith_plan_output_count(r->plan)) {
        *output = (uint32_t)number;
        pith_plan_output(r->plan, *output, t);
        return EXIT_DONE;
    }
    cli_error("no output '%s': the model has %u (see pith info)", name,
              pith_plan_output_count(r->plan));
    return EXIT_USAGE;
}

/* Line k of the stored class names. */
static const char *class_name(const struct pith_model *m, uint64_t k, int *len)
{
    const char *p = pith_model_get_meta(m, "labels");
    for (; p && k > 0; k--) {
        p = strchr(p, '\n');
        p = p ? p + 1 : NULL;
    }
    *len = p ? (int)strcspn(p, "\r\n") : 0;
    return p ? p : "";
}

/* The next element in falling order behind *last (NULL: none yet), equal ones by number; NULL: no
 * more. */
static const float *next_largest(const float *y, uint64_t n, const float *last)
{
    const float *best = NULL;
    for (const float *p = y; p < y + n; p++) {
        bool after = !last || *p < *last || (*p == *last && p > last);
        if (after && (!best || *p > *best))
            best = p;
    }
    return best;
}

static void print_class(const struct runner *r, uint64_t k, double value)
{
    int len;
    const char *name = class_name(r->m, k, &len);
    if (!r->o->common.json) {
        printf("%" PRIu64 "\t%.6g%s%.*s\n", k, value, len ? "\t" : "", len, name);
        return;
    }
    cli_json_open(NULL, '{');
    cli_json_uint("class", k);
    cli_json_number("value", value);
    if (len)
        cli_json_bytes("name", name, (size_t)len);
    cli_json_close('}');
}

static void print_top(const struct runner *r, const struct pith_tensor *t, const float *y)
{
    uint64_t top = r->o->top ? r->o->top : 5, n = t->bytes / sizeof *y;
    const float *best = NULL;
    if (r->o->common.json) {
        cli_json_begin();
        cli_json_bytes("output", t->name, t->name_bytes);
        cli_json_open("top", '[');
    }
    for (uint64_t k = 0; k < top && (best = next_largest(y, n, best)) != NULL; k++)
        print_class(r, (uint64_t)(best - y), (double)*best);
    if (r->o->common.json) {
        cli_json_close(']');
        cli_json_end();
    }
}

static enum cli_exit write_result(const struct runner *r)
{
    struct pith_error err = {0};
    struct pith_buffer npy;
    struct pith_tensor t;
    uint32_t output;
    const void *y;
    enum cli_exit rc = find_output(r, &output, &t);
    if (rc)
        return rc;
    y = pith_plan_output_data(r->plan, output);
    if (!r->o->common.output && t.type == PITH_F32) {
        print_top(r, &t, y);
        return EXIT_DONE;
    }
    if (pith_npy_write(t.type, t.rank, t.dim, y, &npy, &err))
        return cli_fail(&err);
    rc = cli_write_output(&r->o->common, npy.data, npy.bytes);
    pith_buffer_free(&npy);
    return rc;
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

static enum cli_exit execute(struct runner *r, char **operands, uint32_t n_operands)
{
    enum cli_exit rc = EXIT_DONE;
    static char standard_input[] = "-";
    char *only_stdin[] = {standard_input};
    if (n_operands == 0) {
        operands = only_stdin;
        n_operands = 1;
    }
    if (n_operands != pith_plan_input_count(r->plan)) {
        uint32_t n = pith_plan_input_count(r->plan);
        cli_error("the model has %u input%s, %u given", n, n == 1 ? "" : "s", n_operands);
        return EXIT_USAGE;
    }
    for (uint32_t i = 0; !rc && i < n_operands; i++) {
        uint32_t input;
        const char *path;
        rc = find_input(r, operands[i], i, &input, &path);
        if (!rc)
            rc = feed_file(r, path, input);
    }
    if (rc)
        return rc;
    pith_plan_run(r->plan);
    if (r->o->profile)
        print_profile(r);
    return write_result(r);
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    struct runner r = {.o = opts};
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    struct pith_engine_opts engine;
    enum cli_exit rc = EXIT_DONE;
    if (r.o->common.output)
        rc = cli_check_output(&r.o->common, operands[0]);
    if (!rc)
        rc = cli_load_model(operands[0], NULL, &m);
    if (!rc)
        rc = cli_engine_opts(&r.o->common, &engine);
    if (!rc) {
        engine.profile = r.o->profile;
        rc = pith_engine_open(m, &engine, &r.engine, &err) ? cli_fail(&err) : EXIT_DONE;
    }
    if (!rc) {
        r.m = m;
        r.plan = pith_engine_plan(r.engine);
        rc = execute(&r, operands + 1, n_operands - 1);
    }
    pith_engine_close(r.engine);
    pith_model_free(m);
    return rc;
}

const struct cli_command cmd_run = {
    "run", "run", "outputs for inputs", "pith run MODEL [INPUT | NAME=INPUT]... [-o out.npy]",
    "An input is a .npy file, a PNG or JPEG picture (resized, cropped and scaled by the stored\n"
    "preprocessing), or raw little-endian values; without one, standard input. Without -o the largest\n"
    "values are printed as: class, value, name.\n\n"
    "  pith run net.pith digit.png\n"
    "  pith run net.pith x=x.npy state=s.npy -o y.npy",
    options, sizeof(struct run_options), 1, 32, run};
