/* SPDX-License-Identifier: MIT */
/* test_onnx_inputs.c - inputs that options freeze or give a shape: values to the ends of each type,
 * from text and from files, and each refusal. */
#include <stdint.h>
#include <inttypes.h>
#include <unistd.h>
#include "test_run.h"
#include "network_text.h"
#include "pith_data.h"

/* The elements of output 0, which is called y, as text. */
static void print_output(struct pith_plan *plan, char *text)
{
    struct pith_tensor t;
    *text = 0;
    assert_int_equal(pith_plan_output(plan, 0, &t), PITH_OK);
    for (uint64_t i = 0; i < t.bytes / pith_type_bytes(t.type); i++) {
        int64_t v = t.type == PITH_F32   ? 0
                    : t.type == PITH_I64 ? ((const int64_t *)t.data)[i]
                    : t.type == PITH_I32 ? ((const int32_t *)t.data)[i]
                    : t.type == PITH_I16 ? ((const int16_t *)t.data)[i]
                    : t.type == PITH_U16 ? ((const uint16_t *)t.data)[i]
                    : t.type == PITH_I8  ? ((const int8_t *)t.data)[i]
                                         : ((const uint8_t *)t.data)[i];
        text += i ? sprintf(text, " ") : 0;
        text += t.type == PITH_F32 ? sprintf(text, "%.9g", (double)((const float *)t.data)[i])
                                   : sprintf(text, "%" PRId64, v);
    }
}

/* v, an input of a type and dims, is frozen and given out. made: its elements, or the refusal
 * behind the name of the file. */
static void freezes(const char *type, const char *dims, const char *value, const char *made)
{
    const struct pith_input_value set = {"v", value};
    const struct pith_import_opts opts = {
        .size_bytes = sizeof opts, .set_inputs = &set, .n_set_inputs = 1};
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    char net[256], got[512];
    snprintf(net, sizeof net, "v %s [%s]; x f32 [1] | Identity v -> y; Relu x -> z | y z", type,
             dims);
    struct proto file = network_file(net, NULL, false);
    if (pith_onnx_read(file.data, file.n, "f", &opts, &m, &err)) {
        snprintf(got, sizeof got, "%s", err.text + (strncmp(err.text, "f: ", 3) == 0 ? 3 : 0));
    } else {
        struct running r = run_network(m, NULL, net);
        print_output(pith_plan_of(r.s), got);
        stop_running(&r);
    }
    if (strcmp(got, made) != 0)
        fail_msg("%s [%s] = %s: '%s', expected '%s'", type, dims, value, got, made);
    free(file.data);
}

TEST(test_text)
{
    static const char number[] = "value 0 given for input 'v' is no number that fits";
    static const char second[] = "value 1 given for input 'v' is no number that fits";
    static const struct {
        const char *type, *dims, *value, *made;
    } cases[] = {
        {"f32", "2", "1.5", "1.5 1.5"},
        {"f32", "3", "1,-2,0.25", "1 -2 0.25"},
        {"f32", "1", "3.4e38", "3.39999995e+38"},
        {"f32", "1", "3.5e38", number},
        {"f32", "1", "nan", number},
        {"f32", "1", "inf", number},
        {"f32", "2,2", "7", "7 7 7 7"},
        {"f16", "2", "1.5", "1.5 1.5"},
        {"i8", "2", "127,-128", "127 -128"},
        {"i8", "1", "128", number},
        {"i8", "2", "0,-129", second},
        {"u8", "2", "255,0", "255 0"},
        {"u8", "1", "256", number},
        {"u8", "1", "-1", number},
        {"i16", "2", "32767,-32768", "32767 -32768"},
        {"i16", "1", "32768", number},
        {"u16", "2", "65535,0", "65535 0"},
        {"u16", "1", "65536", number},
        {"i32", "2", "2147483647,-2147483648", "2147483647 -2147483648"},
        {"i32", "1", "2147483648", number},
        {"i32", "1", "-2147483649", number},
        {"i64", "2", "9223372036854775807,-9223372036854775808",
         "9223372036854775807 -9223372036854775808"},
        {"i64", "1", "9223372036854775808", number},
        {"bool", "2", "1,0", "1 0"},
        {"bool", "1", "2", number},
        {"i64", "1", "x", number},
        {"i64", "1", "1x", number},
        {"i64", "1", "1.5", number},
        {"i64", "2", "1,", "value 0 given for input 'v' is no number that fits"},
        {"i64", "3", "1,,2", second},
        {"i64", "2", "1;2", number},
        {"i64", "3", "1,2", "input 'v' has 3 elements, 2 values are given"},
        {"i64", "2", "1,2,3", "input 'v' has 2 elements, 3 values are given"},
        {"i64", "2", "", "input 'v' has 2 elements, 0 values are given"},
        /* open lengths are those of the values, an open batch is 1 */
        {"i64", "a", "1,2,3", "1 2 3"},
        {"i64", "a", "5", "5"},
        {"i64", "a,2", "1,2", "1 2"},
        {"i64", "a,2", "4", "4 4"},
        {"i64", "2,a", "1,2",
         "input 'v' has an open shape, 2 values are given: give --input-shape too"},
        {"f32", "2147483647,2147483647,2147483647", "1",
         "input 'v' has too many elements, 1 values are given: give --input-shape too"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        freezes(cases[i].type, cases[i].dims, cases[i].value, cases[i].made);
}

TEST(test_file)
{
    static const float f32[] = {1.5f, -2, 300};
    static const double f64[] = {1.5, -2, 300};
    static const uint16_t f16[] = {0x3e00, 0xc000, 0x5cb0}, u16[] = {1, 2, 65535};
    static const int8_t i8[] = {1, -2, 127};
    static const uint8_t u8[] = {1, 2, 255}, boolean[] = {1, 0, 1};
    static const int16_t i16[] = {1, -2, 300};
    static const int32_t i32[] = {1, -2, 70000};
    static const int64_t i64[] = {1, -2, INT64_C(5000000000)};
    static const struct {
        enum pith_type of;
        const void *data;
        const char *type, *dims, *made; /* NULL: the file's name, and `bad` */
        const char *bad;
    } cases[] = {
        {PITH_F32, f32, "f32", "3", "1.5 -2 300", NULL},
        {PITH_F64, f64, "f32", "3", "1.5 -2 300", NULL},
        {PITH_F16, f16, "f32", "3", "1.5 -2 300", NULL},
        {PITH_I64, i64, "f32", "3", "1 -2 5e+09", NULL},
        {PITH_U8, u8, "f32", "3", "1 2 255", NULL},
        {PITH_I64, i64, "i64", "3", "1 -2 5000000000", NULL},
        {PITH_I32, i32, "i64", "3", "1 -2 70000", NULL},
        {PITH_I16, i16, "i32", "3", "1 -2 300", NULL},
        {PITH_U16, u16, "i32", "3", "1 2 65535", NULL},
        {PITH_I8, i8, "i16", "3", "1 -2 127", NULL},
        {PITH_BOOL, boolean, "bool", "3", "1 0 1", NULL},
        {PITH_U8, u8, "i64", "a", "1 2 255", NULL},
        {PITH_I64, i64, "i32", "3", NULL, "element 2 is 5000000000 (i64), which i32 cannot hold"},
        {PITH_I32, i32, "i16", "3", NULL, "element 2 is 70000 (i32), which i16 cannot hold"},
        {PITH_I16, i16, "u16", "3", NULL, "element 1 is -2 (i16), which u16 cannot hold"},
        {PITH_U8, u8, "i8", "3", NULL, "element 2 is 255 (u8), which i8 cannot hold"},
        {PITH_U8, u8, "bool", "3", NULL, "element 1 is 2 (u8), which bool cannot hold"},
        {PITH_F32, f32, "i64", "3", NULL, "element 0 is 1.5 (f32), which i64 cannot hold"},
        {PITH_F64, f64, "i64", "3", NULL, "element 0 is 1.5 (f64), which i64 cannot hold"},
        {PITH_F16, f16, "i64", "3", NULL, "element 0 is 1.5 (f16), which i64 cannot hold"},
        {PITH_U8, u8, "i64", "4", "input 'v' has 4 elements, 3 values are given", NULL},
        {PITH_U8, u8, "i64", "a,3",
         "input 'v' has an open shape, 3 values are given: give --input-shape too", NULL},
    };
    char path[] = "/tmp/pith_inputs_XXXXXX", text[64], bad[128];
    const uint32_t three = 3;
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    snprintf(text, sizeof text, "@%s", path);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pith_buffer b;
        assert_int_equal(pith_npy_write(cases[i].of, 1, &three, cases[i].data, &b, NULL), PITH_OK);
        FILE *f = fopen(path, "wb");
        assert_true(f && fwrite(b.data, 1, b.bytes, f) == b.bytes && fclose(f) == 0);
        pith_buffer_free(&b);
        snprintf(bad, sizeof bad, "%s: %s", path, cases[i].bad ? cases[i].bad : "");
        freezes(cases[i].type, cases[i].dims, text, cases[i].made ? cases[i].made : bad);
    }
    unlink(path);
    snprintf(bad, sizeof bad, "%s: No such file or directory", path);
    freezes("i64", "3", text, bad);
}

TEST(test_shapes)
{
    static const char one[] = "x f32 [N,a,4] | Relu x -> y | y",
                      fixed[] = "x f32 [1,2] | Relu x -> y | y",
                      two[] = "x f32 [N,4]; z f32 [N,4] | Add x z -> y | y";
    static const struct {
        const char *net;
        struct pith_input_shape shape;
        const char *made; /* of y, or the refusal */
    } cases[] = {
        {one, {NULL, 3, {0, 7, 4}}, "Nx7x4"},
        {one, {"x", 3, {3, 7, 4}}, "3x7x4"},
        {one, {"x", 3, {3, 7, 0}}, "3x7x4"},
        {one, {"x", 2, {3, 7}}, "input 'x' has 3 dims, the shape given has 2"},
        {one, {"x", 9, {3, 7}}, "an input shape has 9 dims, at most 8"},
        {one, {"x", 3, {1, 7, 5}}, "input 'x' dim 2 is 4 in the file, 5 is given"},
        {one, {"q", 3, {1, 7, 4}}, "a shape is given for 'q', which is no input"},
        {two,
         {NULL, 2, {1, 4}},
         "an input shape without a name needs a network with one input, this one has 2"},
        {two, {"x", 2, {0, 4}}, "Nx4"},
        {fixed, {"x", 2, {5, 2}}, "5x2"}, /* the batch may be another one */
        {fixed, {"x", 2, {5, 3}}, "input 'x' dim 1 is 2 in the file, 3 is given"},
        {one, {"x", 3, {2147483647, 2147483647, 4}}, "input 'x' has too many elements"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct pith_import_opts opts = {
            .size_bytes = sizeof opts, .shapes = &cases[i].shape, .n_shapes = 1};
        struct pith_model *m = NULL;
        struct pith_error err = {0};
        char got[512] = "", *p = got;
        struct proto file = network_file(cases[i].net, NULL, false);
        if (pith_onnx_read(file.data, file.n, "f", &opts, &m, &err)) {
            snprintf(got, sizeof got, "%s", err.text + (strncmp(err.text, "f: ", 3) == 0 ? 3 : 0));
        } else {
            const struct pith_value *y = &m->values[m->outputs[0]];
            for (uint32_t k = 0; k < y->rank; k++)
                p += k == 0 && m->batch_open ? sprintf(p, "N")
                                             : sprintf(p, "%s%u", k ? "x" : "", y->dim[k]);
        }
        if (strcmp(got, cases[i].made) != 0)
            fail_msg("case %zu: '%s', expected '%s'", i, got, cases[i].made);
        pith_model_free(m);
        free(file.data);
    }
}

TEST(other_inputs)
{
    static const struct {
        const char *net, *why;
    } cases[] = {
        {"x f64 [1,2] | Relu x -> y | y",
         "f: input 'x' is double (f64), which is not supported: export the network in float32"},
        {"x f32 [1,1,1,1,1,1,1,1,1] | Relu x -> y | y", "f: input 'x' has 9 dims, at most 8"},
        {"x f32 [3,0] | Relu x -> y | y", "f: input 'x' has no elements, dim 1 is 0: if that "
                                          "stands for any size, give --input-shape x:3x1"},
        {"x f32 [2147483647,2147483647,2147483647] | Relu x -> y | y",
         "f: input 'x' has too many elements"},
        {"x f32 [2147483648] | Relu x -> y | y", "f: input 'x' dim 0 is 2147483648"},
        {"x f32 [1]; v c64 [1] | Add x v -> y | y",
         "f: input 'v' has type unknown to this version"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pith_model *m = NULL;
        struct pith_error err = {0};
        struct proto file = network_file(cases[i].net, NULL, false);
        if (pith_onnx_read(file.data, file.n, "f", NULL, &m, &err) == PITH_OK)
            fail_msg("%s is taken", cases[i].net);
        assert_string_equal(err.text, cases[i].why);
        free(file.data);
    }
}

RUN_TESTS
