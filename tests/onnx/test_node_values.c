/* SPDX-License-Identifier: MIT */
/* test_node_values.c - ONNX's node cases imported, packed and run in this process, which sanitizers
 * and planted changes can watch. tests/conformance/node_cases.sh does the same by the commands, and
 * writes the list of cases that differ. Each attribute, changed, is refused. Inputs stay inputs
 * where the importer takes that; else all behind the first are frozen. Skipped where the cases are
 * not there. */
#include <stdint.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "base/half_float.h"
#include "onnx.pb-c.h"
#include "onnx/onnx_read.h"
#include "core/tensor.h"
#include "pith_data.h"
#include "pith_host.h"
#include "pith_onnx.h"
#include "pith_pack.h"

enum { MOST_TENSORS = 16, PASS = 873 };

struct node_case {
    const char *folder;
    Onnx__ModelProto *net;
    struct pith_buffer file, packed;
    Onnx__TensorProto *in[MOST_TENSORS];
};

/* What pith computes ONNX's types as, by their numbers; 0: not at all. */
static const uint8_t taken_as[17] = {
    [1] = PITH_F32,  [2] = PITH_U8,   [3] = PITH_I8,   [4] = PITH_U16,  [5] = PITH_I16,
    [6] = PITH_I32,  [7] = PITH_I64,  [9] = PITH_BOOL, [10] = PITH_F32, [11] = PITH_F32,
    [12] = PITH_I64, [13] = PITH_I64, [16] = PITH_F32};

static uint64_t elements(const Onnx__TensorProto *t)
{
    uint64_t n = 1;
    for (size_t i = 0; i < t->n_dims; i++)
        n *= (uint64_t)t->dims[i];
    return n;
}

static long double element(const Onnx__TensorProto *t, uint64_t i)
{
    union {
        int64_t i64;
        uint64_t u64;
        int32_t i32;
        uint32_t u32;
        int16_t i16;
        uint16_t u16;
        int8_t i8;
        uint8_t u8;
        float f32;
        double f64;
    } v = {0};
    const size_t bytes = t->raw_data.len / (size_t)elements(t);
    memcpy(&v, t->raw_data.data + i * bytes, bytes);
    switch (t->data_type) {
    case 1:
        return (long double)v.f32;
    case 3:
        return v.i8;
    case 4:
        return v.u16;
    case 5:
        return v.i16;
    case 6:
        return v.i32;
    case 7:
        return v.i64;
    case 10:
        return (long double)half_to_f32(v.u16);
    case 11:
        return (long double)v.f64;
    case 12:
        return v.u32;
    case 13:
        return v.u64;
    case 16:
        v.u32 <<= 16;
        return (long double)v.f32;
    default:
        return v.u8;
    }
}

/* Element i of memory of a type of pith. */
static long double stored(const void *data, enum pith_type type, uint64_t i)
{
    static const int32_t number[] = {
        [PITH_F32] = 1, [PITH_U8] = 2,  [PITH_I8] = 3,  [PITH_U16] = 4,
        [PITH_I16] = 5, [PITH_I32] = 6, [PITH_I64] = 7, [PITH_BOOL] = 9};
    int64_t dim = 1;
    Onnx__TensorProto t = {.n_dims = 1, .dims = &dim, .data_type = number[type]};
    t.raw_data.len = pith_type_bytes(type);
    t.raw_data.data = (uint8_t *)(uintptr_t)data + i * t.raw_data.len;
    return element(&t, 0);
}

static void store(void *data, enum pith_type type, uint64_t i, long double v)
{
    const size_t bytes = pith_type_bytes(type);
    const float f = (float)v;
    const int64_t n = type == PITH_F32 ? 0 : (int64_t)v;
    memcpy((uint8_t *)data + i * bytes, type == PITH_F32 ? (const void *)&f : &n, bytes);
}

/* input_0.pb and so on, of the type that the network gives it: bfloat16 is filed as its bits. NULL:
 * not there, no tensor of numbers, or not raw. */
static Onnx__TensorProto *read_tensor(const char *folder, const char *kind, size_t i,
                                      const Onnx__ValueInfoProto *info)
{
    char path[4096];
    struct pith_buffer b;
    snprintf(path, sizeof path, "%s/test_data_set_0/%s_%zu.pb", folder, kind, i);
    if (pith_file_read(path, 0, &b, NULL))
        return NULL;
    Onnx__TensorProto *t = pith_onnx__tensor_proto__unpack(NULL, b.bytes, b.data);
    pith_buffer_free(&b);
    const Onnx__TypeProto *type = info->type;
    if (t && type && type->tensor_type && type->tensor_type->elem_type == 16)
        t->data_type = 16;
    if (t && (t->data_type > 16 || !taken_as[t->data_type] ||
              (t->raw_data.len == 0 && elements(t) > 0))) {
        pith_onnx__tensor_proto__free_unpacked(t, NULL);
        t = NULL;
    }
    return t;
}

static char *text_of(const Onnx__TensorProto *t)
{
    const uint64_t n = elements(t);
    char *text = calloc(n + 1, 40), *p = text;
    assert_non_null(text);
    for (uint64_t i = 0; i < n; i++)
        p += sprintf(p, taken_as[t->data_type] == PITH_F32 ? "%s%.9Lg" : "%s%.0Lf", i ? "," : "",
                     element(t, i));
    return text;
}

static struct pith_session *open_case(struct node_case *c, size_t n_free)
{
    struct pith_input_value frozen[MOST_TENSORS];
    struct pith_import_opts opts = {.size_bytes = sizeof opts, .set_inputs = frozen};
    struct pith_model *m = NULL;
    struct pith_session *s = NULL;
    for (size_t i = n_free; i < c->net->graph->n_input; i++)
        if (c->in[i])
            frozen[opts.n_set_inputs++] =
                (struct pith_input_value){c->net->graph->input[i]->name, text_of(c->in[i])};
    if (!pith_onnx_read(c->file.data, c->file.bytes, c->folder, &opts, &m, NULL) &&
        !pith_model_pack(m, NULL, &c->packed, NULL))
        (void)pith_open_memory(c->packed.data, c->packed.bytes, NULL, &s, NULL);
    for (uint32_t i = 0; i < opts.n_set_inputs; i++)
        free((char *)(uintptr_t)frozen[i].text);
    pith_model_free(m);
    if (!s)
        pith_buffer_free(&c->packed);
    return s;
}

static bool is_called(const struct pith_tensor *t, const char *name)
{
    return strlen(name) == t->name_bytes && memcmp(name, t->name, t->name_bytes) == 0;
}

static void feed(const struct node_case *c, struct pith_plan *plan)
{
    struct pith_tensor t;
    for (uint32_t k = 0; pith_plan_input(plan, k, &t) == PITH_OK; k++)
        for (size_t i = 0; i < c->net->graph->n_input; i++)
            if (c->in[i] && is_called(&t, c->net->graph->input[i]->name))
                for (uint64_t e = 0; e < elements(c->in[i]); e++)
                    store(pith_plan_input_data(plan, k), t.type, e, element(c->in[i], e));
}

/* Within the tolerance of ONNX's own runner; bfloat16 as far as its steps allow, which ONNX cuts.
 */
static bool is_equal(const struct pith_tensor *t, const Onnx__TensorProto *wanted)
{
    const long double rtol = wanted->data_type == 16 ? 0.0078125L : 1e-3L;
    bool same = t->type == taken_as[wanted->data_type] && t->rank == wanted->n_dims;
    for (uint32_t i = 0; i < t->rank && same; i++)
        same = t->dim[i] == wanted->dims[i];
    for (uint64_t i = 0; same && i < elements(wanted); i++) {
        const long double x = element(wanted, i), y = stored(t->data, t->type, i);
        same = x == y || (isnan(x) && isnan(y)) || fabsl(x - y) <= 1e-7L + rtol * fabsl(x);
    }
    return same;
}

/* The outputs that the case has tensors for; *n: how many those are. */
static bool outputs_are_equal(const struct node_case *c, const struct pith_plan *plan, uint32_t *n)
{
    struct pith_tensor t;
    bool same = true;
    for (size_t i = 0; i < c->net->graph->n_output; i++) {
        Onnx__TensorProto *wanted = read_tensor(c->folder, "output", i, c->net->graph->output[i]);
        for (uint32_t k = 0;
             wanted && elements(wanted) > 0 && pith_plan_output(plan, k, &t) == PITH_OK; k++)
            if (is_called(&t, c->net->graph->output[i]->name)) {
                same = same && is_equal(&t, wanted);
                ++*n;
            }
        if (wanted)
            pith_onnx__tensor_proto__free_unpacked(wanted, NULL);
    }
    return same;
}

struct tally {
    uint32_t passed, wrong;
    char failing[8192]; /* tests/conformance/node_cases/failing.txt behind a line end */
};

static void run_case(struct node_case *c, const char *name, struct tally *t)
{
    char listed[256];
    struct pith_session *s = open_case(c, MOST_TENSORS);
    uint32_t n = 0;
    if (!s)
        s = open_case(c, 1);
    if (!s)
        return;
    feed(c, pith_plan_of(s));
    bool passed =
        pith_plan_run(pith_plan_of(s)) == PITH_OK && outputs_are_equal(c, pith_plan_of(s), &n);
    snprintf(listed, sizeof listed, "\n%s:", name + strlen("test_"));
    if (passed)
        t->passed += n > 0;
    else if (!strstr(t->failing, listed)) {
        print_error("%s: another result\n", name);
        t->wrong++;
    }
    pith_close(s);
}

static void try_case(const char *folder, const char *name, struct tally *t)
{
    char path[4096 + 16];
    struct node_case c = {.folder = folder};
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    if (pith_file_read(path, 0, &c.file, NULL))
        return;
    c.net = pith_onnx__model_proto__unpack(NULL, c.file.bytes, c.file.data);
    if (c.net && c.net->graph->n_input <= MOST_TENSORS) {
        for (size_t i = 0; i < c.net->graph->n_input; i++)
            c.in[i] = read_tensor(folder, "input", i, c.net->graph->input[i]);
        run_case(&c, name, t);
    }
    for (size_t i = 0; i < MOST_TENSORS; i++)
        if (c.in[i])
            pith_onnx__tensor_proto__free_unpacked(c.in[i], NULL);
    if (c.net)
        pith_onnx__model_proto__free_unpacked(c.net, NULL);
    pith_buffer_free(&c.file);
    pith_buffer_free(&c.packed);
}

/* Calls f with each folder of cases and its name; false: there are none. */
static bool each_case(void f(const char *folder, const char *name, struct tally *t),
                      struct tally *t)
{
    const char *cases = getenv("PITH_NODE_CASES");
    char folder[2048], path[4096];
    const struct dirent *e;
    snprintf(folder, sizeof folder, "%s/node", cases ? cases : "");
    DIR *dir = opendir(folder);
    while (dir && (e = readdir(dir)) != NULL) {
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (e->d_name[0] != '.')
            f(path, e->d_name, t);
    }
    return dir && closedir(dir) == 0;
}

TEST(test_values)
{
    struct tally t = {.failing = "\n"};
    FILE *list = fopen("tests/conformance/node_cases/failing.txt", "r");
    assert_non_null(list);
    t.failing[1 + fread(t.failing + 1, 1, sizeof t.failing - 2, list)] = 0;
    fclose(list);
    if (!each_case(try_case, &t))
        skip();
    assert_int_equal(t.wrong, 0);
    assert_int_equal(t.passed, PASS);
}

/* ---- attributes ------------------------------------------------------------------------------ */

#define KIND(name) ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##name

/* Attributes that no inference looks at, or that may be any number. */
static const char free_to_be[] =
    " seed saturate detect_positive detect_negative storage_order k start end dtype "
    "ratio kernel_shape/ConvTranspose ";

/* The changed network is refused, by a sentence that names the attribute where `named`. */
static void expect_refusal(const Onnx__ModelProto *net, const Onnx__NodeProto *node,
                           const char *attr, bool named, struct tally *t)
{
    const size_t n = pith_onnx__model_proto__get_packed_size(net);
    uint8_t *bytes = malloc(n);
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    char with[128], alone[128];
    assert_non_null(bytes);
    pith_onnx__model_proto__pack(net, bytes);
    snprintf(with, sizeof with, " %s/%s ", attr, node->op_type);
    snprintf(alone, sizeof alone, " %s ", attr);
    const bool taken = pith_onnx_read(bytes, n, "net", NULL, &m, &err) == PITH_OK;
    t->passed++;
    if (taken ? !strstr(free_to_be, with) && !strstr(free_to_be, alone)
              : named && !strstr(err.text, attr)) {
        print_error("%s: '%s' changed: %s\n", node->op_type, attr, taken ? "taken" : err.text);
        t->wrong++;
    }
    pith_model_free(m);
    free(bytes);
}

/* Another type; a word that is none; a list that is too short; an absurd number. */
static void change(const Onnx__ModelProto *net, const Onnx__NodeProto *node,
                   Onnx__AttributeProto *a, struct tally *t)
{
    const Onnx__AttributeProto was = *a;
    a->has_i = a->has_s = true;
    a->type = was.type == KIND(INT) ? KIND(STRING) : KIND(INT);
    expect_refusal(net, node, a->name, true, t);
    *a = was;
    if (was.type == KIND(STRING))
        a->s = (ProtobufCBinaryData){8, (uint8_t *)(uintptr_t) "nonsense"};
    else if (was.type == KIND(INTS) && was.n_ints > 1 && strcmp(was.name, "axes") != 0)
        a->n_ints--;
    else if (was.type == KIND(INT))
        a->i = -77;
    else
        return;
    expect_refusal(net, node, a->name, was.type == KIND(STRING), t);
    *a = was;
}

static void change_case(const char *folder, const char *name, struct tally *t)
{
    struct pith_buffer file;
    struct pith_model *m = NULL;
    char path[4096 + 16];
    (void)name;
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    if (pith_file_read(path, 0, &file, NULL))
        return;
    Onnx__ModelProto *net = pith_onnx__model_proto__unpack(NULL, file.bytes, file.data);
    if (net && pith_onnx_read(file.data, file.bytes, "net", NULL, &m, NULL) == PITH_OK)
        for (size_t i = 0; i < net->graph->n_node; i++) {
            const Onnx__NodeProto *node = net->graph->node[i];
            for (size_t k = 0; k < node->n_attribute; k++)
                if ((node->attribute[k]->type <= KIND(STRING) ||
                     node->attribute[k]->type >= KIND(FLOATS)) &&
                    strcmp(node->op_type, "Constant") != 0 && strcmp(node->op_type, "Scan") != 0)
                    change(net, node, node->attribute[k], t);
        }
    pith_model_free(m);
    if (net)
        pith_onnx__model_proto__free_unpacked(net, NULL);
    pith_buffer_free(&file);
}

TEST(test_attributes)
{
    struct tally t = {0};
    if (!each_case(change_case, &t))
        skip();
    assert_int_equal(t.wrong, 0);
    assert_true(t.passed > 1000);
}

RUN_TESTS
