/* SPDX-License-Identifier: MIT */
/* test_infer_request.c - requests that are right and each way to be wrong; responses as JSON and
 * binary. */
#include <stdint.h>
#include <stdio.h>
#include "test_run.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "guard_page.h"
#include "serve/infer_response.h"

/* Inputs "x" [N, 2] f32 and "h" [N, 2] f16, outputs "y" [N, 3] f32 and "k" [N, 1] i64. */
static struct served_end inputs[] = {
    {.name = "x", .type = PITH_F32, .run = PITH_F32, .rank = 2, .dim = {1, 2}, .row_elems = 2},
    {.name = "h", .type = PITH_F16, .run = PITH_F32, .rank = 2, .dim = {1, 2}, .row_elems = 2}};
static struct served_end outputs[] = {
    {.name = "y", .type = PITH_F32, .run = PITH_F32, .rank = 2, .dim = {1, 3}, .row_elems = 3},
    {.name = "k", .type = PITH_I64, .run = PITH_I64, .rank = 2, .dim = {1, 1}, .row_elems = 1}};
static const struct served_model two = {.name = "net",
                                        .inputs = inputs,
                                        .n_inputs = 2,
                                        .outputs = outputs,
                                        .n_outputs = 2,
                                        .batch_open = true,
                                        .max_batch = 4,
                                        .labels = "cat\ndog \"Rex\"\r\nfish"};

/* The body ends at an unmapped page. */
static enum pith_status parse(const struct served_model *m, const void *body, size_t n,
                              size_t json_bytes, struct infer_request *r, struct guarded *memory,
                              struct pith_error *err)
{
    *memory = guard_new(n ? n : 1, 1);
    memcpy(memory->data, body, n);
    return infer_request_parse(m, memory->data, n, json_bytes, r, err);
}

#define X "{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[2,2],\"data\":[[1,2.5],[-3,1e3]]}"
#define H "{\"name\":\"h\",\"datatype\":\"FP16\",\"shape\":[2,2],\"data\":[0,1,2,3]}"

TEST(json_values_may_be_nested)
{
    static const char body[] = "{\"id\":\"7\",\"inputs\":[" H "," X "]}";
    static const float x[] = {1, 2.5f, -3, 1000}, h[] = {0, 1, 2, 3};
    struct infer_request r;
    struct guarded memory;
    assert_int_equal(parse(&two, body, strlen(body), strlen(body), &r, &memory, NULL), PITH_OK);
    assert_int_equal(r.rows, 2);
    assert_memory_equal(r.input[0], x, sizeof x);
    assert_memory_equal(r.input[1], h, sizeof h);
    assert_int_equal(r.answers[0].form, ANSWER_JSON);
    assert_int_equal(r.answers[1].form, ANSWER_JSON);
    assert_string_equal(r.id, "7");
    infer_request_free(&two, &r);
    guard_free(&memory);
}

TEST(binary_values_stand_behind_the_json)
{
    static const char json[] =
        "{\"inputs\":[{\"name\":\"h\",\"datatype\":\"FP16\",\"shape\":[1,2],\"parameters\":"
        "{\"binary_data_size\":4}},{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,2],"
        "\"parameters\":{\"binary_data_size\":8}}],\"outputs\":[{\"name\":\"k\",\"parameters\":"
        "{\"binary_data\":false}}],\"parameters\":{\"binary_data_output\":true}}";
    static const uint8_t values[] = {0x00, 0x3c, 0x00, 0xc0, 0, 0, 128, 63, 0, 0, 0, 64};
    static const float h[] = {1, -2}, x[] = {1, 2};
    const size_t n = strlen(json);
    char body[sizeof json + sizeof values];
    struct infer_request r;
    struct guarded memory;
    memcpy(body, json, n);
    memcpy(body + n, values, sizeof values);
    assert_int_equal(parse(&two, body, n + sizeof values, n, &r, &memory, NULL), PITH_OK);
    assert_memory_equal(r.input[0], x, sizeof x);
    assert_memory_equal(r.input[1], h, sizeof h);
    assert_int_equal(r.answers[0].form, ANSWER_NONE);
    assert_int_equal(r.answers[1].form, ANSWER_JSON);
    infer_request_free(&two, &r);
    guard_free(&memory);
    for (size_t cut = 1; cut <= sizeof values; cut++) {
        assert_int_equal(parse(&two, body, n + sizeof values - cut, n, &r, &memory, NULL),
                         PITH_ERR_ARGUMENT);
        infer_request_free(&two, &r);
        guard_free(&memory);
    }
}

TEST(values_alone_are_rows_of_the_only_input)
{
    struct served_model one = two;
    struct infer_request r;
    struct guarded memory;
    const float x[] = {1, 2, 3, 4, 5, 6};
    one.n_inputs = 1;
    assert_int_equal(parse(&one, x, sizeof x, 0, &r, &memory, NULL), PITH_OK);
    assert_int_equal(r.rows, 3);
    assert_memory_equal(r.input[0], x, sizeof x);
    assert_int_equal(r.answers[1].form, ANSWER_BINARY);
    infer_request_free(&one, &r);
    guard_free(&memory);
    assert_int_equal(parse(&one, x, sizeof x - 4, 0, &r, &memory, NULL), PITH_ERR_ARGUMENT);
    infer_request_free(&one, &r);
    guard_free(&memory);
}

/* json and `bytes` behind it, of a network with the one input e. */
static enum pith_status parse_one(struct served_end *e, bool batch_open, const char *json,
                                  const void *values, size_t bytes, size_t json_more)
{
    const struct served_model m = {.name = "m",
                                   .inputs = e,
                                   .n_inputs = 1,
                                   .batch_open = batch_open,
                                   .max_batch = batch_open ? 4 : 1};
    const size_t n = strlen(json);
    char body[512];
    struct infer_request r;
    struct guarded memory;
    memcpy(body, json, n);
    memcpy(body + n, values, bytes);
    const enum pith_status st = parse(&m, body, n + bytes, n + json_more, &r, &memory, NULL);
    infer_request_free(&m, &r);
    guard_free(&memory);
    return st;
}

TEST(sizes_have_to_agree)
{
#define ONE(shape, size)                                                                           \
    "{\"inputs\":[{\"name\":\"o\",\"datatype\":\"BOOL\",\"shape\":" shape                          \
    ",\"parameters\":{\"binary_data_size\":" size "}}]}"
    static const uint8_t ones[8] = {1, 1, 1, 1, 1, 1, 1, 1}, two_is_no_bool[2] = {1, 2};
    struct served_end e = {
        .name = "o", .type = PITH_BOOL, .run = PITH_BOOL, .rank = 2, .dim = {1, 2}, .row_elems = 2};
    assert_int_equal(parse_one(&e, true, ONE("[2,2]", "4"), ones, 4, 0), PITH_OK);
    assert_int_equal(parse_one(&e, true, ONE("[2,2]", "8"), ones, 4, 0), PITH_ERR_ARGUMENT);
    assert_int_equal(parse_one(&e, true, ONE("[2,2]", "4"), ones, 5, 0), PITH_ERR_ARGUMENT);
    assert_int_equal(parse_one(&e, false, ONE("[1,2]", "2"), ones, 2, 0), PITH_OK);
    assert_int_equal(parse_one(&e, false, ONE("[2,2]", "2"), ones, 2, 0), PITH_ERR_ARGUMENT);
    assert_int_equal(parse_one(&e, false, ONE("[1,2]", "2"), two_is_no_bool, 2, 0),
                     PITH_ERR_ARGUMENT);
    assert_int_equal(parse_one(&e, true, "{}", ones, 0, 1), PITH_ERR_ARGUMENT);
}

TEST(every_mistake_is_named)
{
#define ONLY(h) "{\"inputs\":[" X "," h "]}"
    static const struct {
        const char *body, *text;
    } cases[] = {
        {"", "JSON is broken"},
        {"[1,2", "JSON is broken"},
        {"[]", "no JSON object"},
        {"{\"inputs\":3}", "no list of inputs"},
        {"{\"inputs\":[3]}", "an input has no name"},
        {"{\"inputs\":[" X "]}", "input 'h' is missing"},
        {"{\"inputs\":[" X "," X "]}", "input 'x' is there twice"},
        {ONLY("{\"name\":\"z\"}"), "no input 'z'"},
        {ONLY("{\"name\":\"h\",\"datatype\":\"FP32\"}"), "must be FP16"},
        {ONLY("{\"name\":\"h\",\"datatype\":\"FP16\",\"shape\":[2,3]}"), "its shape"},
        {ONLY("{\"name\":\"h\",\"datatype\":\"FP16\",\"shape\":[2]}"), "its shape"},
        {ONLY("{\"name\":\"h\",\"datatype\":\"FP16\",\"shape\":[3,2]}"), "another batch"},
        {ONLY("{\"name\":\"h\",\"datatype\":\"FP16\",\"shape\":[0,2]}"), "a batch of 0"},
        {ONLY("{\"name\":\"h\",\"datatype\":\"FP16\",\"shape\":[5,2]}"), "a batch of 5"},
        {ONLY("{\"name\":\"h\",\"datatype\":\"FP16\",\"shape\":[2,2]}"), "either data or"},
        {ONLY("{\"name\":\"h\",\"datatype\":\"FP16\",\"shape\":[2,2],\"data\":[1,2,3]}"),
         "value 3 is missing"},
        {ONLY("{\"name\":\"h\",\"datatype\":\"FP16\",\"shape\":[2,2],\"data\":[1,2,3,4,5]}"),
         "value 4 is one too many"},
        {ONLY("{\"name\":\"h\",\"datatype\":\"FP16\",\"shape\":[2,2],\"data\":[1,\"2\",3,4]}"),
         "value 1 is missing or no such value"},
        {ONLY("{\"name\":\"h\",\"datatype\":\"FP16\",\"shape\":[2,2],\"data\":[1,1e39,3,4]}"),
         "value 1 is missing or no such value"},
        {ONLY("{\"name\":\"h\",\"datatype\":\"FP16\",\"shape\":[2,2],\"parameters\":"
              "{\"binary_data_size\":8}}"),
         "body ends before"},
        {ONLY("{\"name\":\"h\",\"datatype\":\"FP16\",\"shape\":[2,2],\"parameters\":"
              "{\"binary_data_size\":-8}}"),
         "binary_data_size is -8"},
        {ONLY("{\"name\":\"h\",\"datatype\":\"FP16\",\"parameters\":"
              "{\"shared_memory_region\":\"a\"}}"),
         "shared memory"},
        {"{\"inputs\":[" X "," H "],\"outputs\":[{\"name\":\"q\"}]}", "no output 'q'"},
        {"{\"inputs\":[" X "," H "],\"outputs\":[{}]}", "an output has no name"},
        {"{\"inputs\":[" X "," H "],\"outputs\":{}}", "must be a list"},
        {"{\"inputs\":[" X "," H "],\"outputs\":[{\"name\":\"y\",\"parameters\":"
         "{\"classification\":0}}]}",
         "must be 1 to 100"},
        {"{\"id\":1,\"inputs\":[" X "," H "]}", "'id' must be"},
        {"{\"inputs\":[" X "," H "]} 1", "JSON is broken"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pith_error err = {0};
        struct infer_request r;
        struct guarded memory;
        const size_t n = strlen(cases[i].body);
        const enum pith_status st = parse(&two, cases[i].body, n, n ? n : 1, &r, &memory, &err);
        if ((st != PITH_ERR_ARGUMENT && st != PITH_ERR_UNSUPPORTED) ||
            (n && !strstr(err.text, cases[i].text)))
            fail_msg("%s: %d, %s", cases[i].body, st, err.text);
        infer_request_free(&two, &r);
        guard_free(&memory);
    }
}

TEST(integers_have_a_range)
{
    static const struct {
        enum pith_type type;
        const char *fits[2], *not [2];
    } cases[] = {
        {PITH_I8, {"-128", "127"}, {"-129", "128"}},
        {PITH_U8, {"0", "255"}, {"-1", "256"}},
        {PITH_I16, {"-32768", "32767"}, {"-32769", "32768"}},
        {PITH_U16, {"0", "65535"}, {"-1", "65536"}},
        {PITH_I32, {"-2147483648", "2147483647"}, {"-2147483649", "2147483648"}},
        {PITH_I64, {"-9223372036854775808", "9223372036854775807"}, {"1.5", "true"}},
        {PITH_BOOL, {"false", "1"}, {"2", "null"}},
        {PITH_F64, {"1e300", "2"}, {"\"1\"", "true"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct served_end e = {.name = "v",
                               .type = cases[i].type,
                               .run = cases[i].type,
                               .rank = 1,
                               .dim = {1},
                               .row_elems = 1};
        const struct served_model m = {.name = "m", .inputs = &e, .n_inputs = 1, .max_batch = 1};
        for (int k = 0; k < 4; k++) {
            char body[256];
            struct infer_request r;
            snprintf(
                body, sizeof body,
                "{\"inputs\":[{\"name\":\"v\",\"datatype\":\"%s\",\"shape\":[1],\"data\":[%s]}]}",
                datatype_name(e.type), k < 2 ? cases[i].fits[k] : cases[i].not [k - 2]);
            assert_int_equal(
                infer_request_parse(&m, (uint8_t *)body, strlen(body), strlen(body), &r, NULL),
                k < 2 ? PITH_OK : PITH_ERR_ARGUMENT);
            if (k == 0 && e.type == PITH_I64)
                assert_true(*(const int64_t *)r.input[0] == INT64_MIN);
            if (k == 1 && e.type == PITH_I8)
                assert_int_equal(*(const int8_t *)r.input[0], 127);
            infer_request_free(&m, &r);
        }
    }
}

/* However long the text, no more numbers are read than the network has inputs for. */
TEST(numbers_are_counted_before_they_are_read)
{
    const size_t n = 1 << 20;
    char *body = malloc(n);
    struct infer_request r;
    struct pith_error err;
    memset(body, ',', n);
    memcpy(body, "{\"inputs\":[1", 12);
    assert_int_equal(infer_request_parse(&two, (uint8_t *)body, n, n, &r, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "more values than"));
    assert_true(infer_request_cost((uint8_t *)body, n) >= 24 * n);
    infer_request_free(&two, &r);
    free(body);
}

static char *response(struct answer *answers, size_t *json_bytes, size_t *bytes)
{
    static const float y[] = {1, INFINITY, -0.1f, 4, 5, 6};
    static const int64_t k[] = {-1, INT64_MAX};
    struct infer_output o[] = {{(void *)(uintptr_t)y, sizeof y, 2, {2, 3}},
                               {(void *)(uintptr_t)k, sizeof k, 2, {2, 1}}};
    const struct infer_result result = {.outputs = o};
    const struct infer_request request = {.rows = 2, .answers = answers, .id = (char[]){"a\"\n"}};
    struct byte_out out = {0};
    infer_response_write(&two, &request, &result, &out, json_bytes);
    assert_false(out.failed);
    *bytes = out.bytes;
    pith_out_u8(&out, 0);
    return (char *)out.data;
}

TEST(responses_are_json_with_values_behind)
{
    size_t json_bytes, bytes;
    char *text =
        response((struct answer[]){{ANSWER_JSON, 0}, {ANSWER_JSON, 0}}, &json_bytes, &bytes);
    assert_string_equal(
        text,
        "{\"model_name\":\"net\",\"model_version\":\"1\",\"id\":\"a\\\"\\u000a\",\"outputs\":["
        "{\"name\":\"y\",\"datatype\":\"FP32\",\"shape\":[2,3],\"data\":[1,null,-0.1,4,5,6]},"
        "{\"name\":\"k\",\"datatype\":\"INT64\",\"shape\":[2,1],\"data\":[-1,9223372036854775807]}]"
        "}");
    assert_int_equal(json_bytes, 0);
    free(text);

    text = response((struct answer[]){{ANSWER_BINARY, 0}, {ANSWER_NONE, 0}}, &json_bytes, &bytes);
    assert_int_equal(bytes, json_bytes + 24);
    assert_non_null(strstr(text, "\"shape\":[2,3],\"parameters\":{\"binary_data_size\":24}}]}"));
    assert_memory_equal(text + json_bytes + 8, ((float[]){-0.1f, 4}), 8);
    free(text);

    text = response((struct answer[]){{ANSWER_JSON, 2}, {ANSWER_NONE, 0}}, &json_bytes, &bytes);
    assert_non_null(
        strstr(text, "\"datatype\":\"BYTES\",\"shape\":[2,2],\"data\":[\"inf:1:dog \\\"Rex\\\"\","
                     "\"1:0:cat\",\"6:2:fish\",\"5:1:dog \\\"Rex\\\"\"]"));
    free(text);

    text = response((struct answer[]){{ANSWER_BINARY, 1}, {ANSWER_NONE, 0}}, &json_bytes, &bytes);
    assert_memory_equal(text + json_bytes,
                        "\x0f\0\0\0inf:1:dog \"Rex\"\x08\0\0\0"
                        "6:2:fish",
                        31);
    free(text);
}

RUN_TESTS
