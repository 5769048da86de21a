/* SPDX-License-Identifier: MIT */
/* test_sweep.c - specs and their combinations, results in any order from any process, and the
 * front. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "pith_sweep.h"
#include "measure/small_net.h"

#define SPEC                                                                                       \
    "{\"pith\":1,\"sweep\":{\"stages.0.sparsity\":[0.25,0.5],\"stages.1.bits\":[1,2,3],"           \
    "\"stages.0.layers\":[{\"fc\":0.75}]},"                                                        \
    "\"stages\":[{\"do\":\"prune\"},{\"do\":\"cluster\",\"bits\":8},{\"do\":\"encode\"}]}"

static struct pith_sweep *parse(const char *text)
{
    struct pith_sweep *s = NULL;
    struct pith_error err = {0};
    SUCCEEDS(pith_sweep_parse(text, strlen(text), "grid", &s, &err));
    return s;
}

TEST(the_last_key_changes_fastest)
{
    struct pith_sweep *s = parse(SPEC);
    assert_int_equal(pith_sweep_count(s), 6);
    for (uint64_t i = 0; i < 6; i++) {
        char wanted[160];
        char *params = pith_sweep_params(s, i);
        struct pith_recipe *r = NULL;
        snprintf(
            wanted, sizeof wanted,
            "{\"stages.0.sparsity\":%s,\"stages.1.bits\":%d,\"stages.0.layers\":{\"fc\":0.75}}",
            i < 3 ? "0.25" : "0.5", (int)(i % 3) + 1);
        assert_string_equal(params, wanted);
        assert_int_equal(pith_sweep_recipe(s, i, &r, NULL), PITH_OK);
        assert_true(r->stages[0].prune.sparsity == (i < 3 ? 0.25 : 0.5));
        assert_int_equal(r->stages[1].cluster.n_centroids, 2u << (i % 3));
        assert_string_equal(r->stages[0].prune.layers[0].pattern, "fc");
        pith_recipe_free(r);
        free(params);
    }
    pith_sweep_free(s);
}

/* A path that leads into what another one put there: each combination has its own copy of it. */
TEST(a_value_stays_as_the_spec_has_it)
{
    struct pith_sweep *s = parse(
        "{\"pith\":1,\"sweep\":{\"stages.0\":[{\"do\":\"prune\",\"layers\":{\"a\":0.1}}],"
        "\"stages.0.layers.b\":[0.2,0.3]},\"stages\":[{\"do\":\"prune\"},{\"do\":\"encode\"}]}");
    for (uint64_t i = 0; i < 2; i++) {
        char wanted[160];
        struct pith_recipe *r = NULL;
        assert_int_equal(pith_sweep_recipe(s, i, &r, NULL), PITH_OK);
        assert_int_equal(r->stages[0].prune.n_layers, 2);
        assert_true(r->stages[0].prune.layers[1].value == (i ? 0.3 : 0.2));
        char *params = pith_sweep_params(s, i);
        snprintf(wanted, sizeof wanted,
                 "{\"stages.0\":{\"do\":\"prune\",\"layers\":{\"a\":0.1}},"
                 "\"stages.0.layers.b\":%s}",
                 i ? "0.3" : "0.2");
        assert_string_equal(params, wanted);
        free(params);
        pith_recipe_free(r);
    }
    pith_sweep_free(s);
}

#define WITH(sweep)                                                                                \
    "{\"pith\":1,\"sweep\":" sweep ",\"stages\":[{\"do\":\"prune\"},{\"do\":\"encode\"}]}"

TEST(what_is_wrong_is_named)
{
    static const struct {
        const char *text;
        enum pith_status status;
        const char *says;
    } cases[] = {
        {"{", PITH_ERR_CORRUPT, "grid: line 1"},
        {"[]", PITH_ERR_ARGUMENT, "'sweep' must be an object"},
        {"{\"pith\":1,\"stages\":[{\"do\":\"prune\"}]}", PITH_ERR_ARGUMENT, "'sweep' must be"},
        {WITH("{}"), PITH_ERR_ARGUMENT, "1 to 32 lists"},
        {WITH("{\"stages.0.sparsity\":0.5}"), PITH_ERR_ARGUMENT,
         "'stages.0.sparsity' must be a list"},
        {WITH("{\"stages.0.sparsity\":[]}"), PITH_ERR_ARGUMENT, "must be a list"},
        {WITH("{\"stages.2.sparsity\":[0.5]}"), PITH_ERR_ARGUMENT, "which is not there"},
        {WITH("{\"stages.x.sparsity\":[0.5]}"), PITH_ERR_ARGUMENT, "which is not there"},
        {WITH("{\"stages.5\":[{\"do\":\"prune\"}]}"), PITH_ERR_ARGUMENT, "which is not there"},
        {WITH("{\"stages.0.sparsity.x\":[0.5]}"), PITH_ERR_ARGUMENT, "which is not there"},
        {WITH("{\"stages.0.\":[0.5]}"), PITH_ERR_ARGUMENT, "which is not there"},
        {WITH("{\"stages.0.sparsty\":[0.5]}"), PITH_ERR_ARGUMENT, "no key 'sparsty'"},
        {WITH("{\"stages.0.sparsity\":[0.5,1.5]}"), PITH_ERR_ARGUMENT, "number in 0..1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pith_sweep *s = NULL;
        struct pith_error err = {0};
        enum pith_status st =
            pith_sweep_parse(cases[i].text, strlen(cases[i].text), "grid", &s, &err);
        if (st != cases[i].status || !strstr(err.text, cases[i].says))
            fail_msg("%s\nstatus %d, '%s', expected '%s'", cases[i].text, st, err.text,
                     cases[i].says);
        assert_null(s);
    }
}

static void add(struct pith_sweep_results *r, const char *text)
{
    struct pith_error err = {0};
    SUCCEEDS(pith_sweep_results_add(r, text, strlen(text), &err));
}

static void bind(struct pith_sweep *s, const struct pith_model *m, const char *name,
                 struct pith_data *data)
{
    const struct pith_sweep_inputs on = {.size_bytes = sizeof on,
                                         .model = m,
                                         .model_name = name,
                                         .data = data,
                                         .data_name = data ? "raw:f32:4:x/val.f32" : NULL,
                                         .range = data ? "0::2" : NULL};
    struct pith_error err = {0};
    SUCCEEDS(pith_sweep_bind(s, &on, &err));
}

/* n samples of 4 values, the first of which is first; targets: what the net answers, or not. */
static struct pith_data *numbers(uint64_t n, float first)
{
    const uint32_t dim[] = {1, 4};
    struct pith_data *data = NULL;
    float *x = calloc(n * 4, sizeof *x), *y = calloc(n * 2, sizeof *y);
    x[0] = first;
    y[0] = 1;
    assert_int_equal(
        pith_data_of_numbers(
            &(struct pith_numbers){
                .rank = 2, .dim = dim, .n = n, .x = x, .targets = y, .target_elems = 2},
            &data, NULL),
        PITH_OK);
    return data;
}

/* Runs combination 0 on data and says whether it then counts as done on `next`. */
static bool counts_for(const struct pith_model *m, struct pith_data *data, struct pith_data *next)
{
    struct pith_sweep *s = parse(SPEC), *again = parse(SPEC);
    struct pith_compress_opts o = {.size_bytes = sizeof o, .max_drop = -1, .seed = 1, .data = data};
    struct pith_sweep_results r = {0};
    struct pith_error err = {0};
    struct pith_sweep_output output = {0};
    bind(s, m, "net.pith", data);
    bind(again, m, "net.pith", next);
    SUCCEEDS(pith_sweep_run(s, 0, m, &o, &output, &err));
    assert_non_null(strstr(output.line, "\"version\":\""));
    assert_non_null(strstr(output.line, "\"data\":{\"name\":\"val.f32\",\"crc32c\":\""));
    assert_non_null(strstr(output.line, "\"range\":\"0::2\",\"samples\":"));
    add(&r, output.line);
    assert_string_equal(r.point[0].model, "net.pith");
    assert_string_equal(r.point[0].data, "val.f32");
    assert_int_equal(r.point[0].samples, pith_data_count(data));
    bool done = pith_sweep_done(again, &r, 0);
    pith_sweep_output_free(&output);
    pith_sweep_results_free(&r);
    pith_sweep_free(s);
    pith_sweep_free(again);
    return done;
}

TEST(results_on_other_data_are_others)
{
    const float w[8] = {1, -2, 3, -4, 5, -6, 7, -8};
    struct pith_model *m = small_net(4, 2, w, false);
    struct pith_data *two = numbers(2, 1), *same = numbers(2, 1), *three = numbers(3, 1),
                     *other = numbers(2, 2);
    assert_true(counts_for(m, two, same));
    assert_false(counts_for(m, two, three));
    assert_false(counts_for(m, two, other));
    assert_false(counts_for(m, two, NULL));
    pith_data_free(two);
    pith_data_free(same);
    pith_data_free(three);
    pith_data_free(other);
    pith_model_free(m);
}

/* Runs all combinations; what one line says counts, the model stays. */
TEST(results_record_what_is_done)
{
    const float w[8] = {1, -2, 3, -4, 5, -6, 7, -8};
    struct pith_model *m = small_net(4, 2, w, false), *other = small_net(4, 2, w, true);
    struct pith_sweep *s = parse(SPEC), *elsewhere = parse(SPEC);
    struct pith_compress_opts o = {.size_bytes = sizeof o, .max_drop = -1, .seed = 1};
    struct pith_sweep_results r = {0};
    struct pith_error err = {0};
    bind(s, m, "folder/net.pith", NULL);
    bind(elsewhere, other, NULL, NULL);
    for (uint64_t i = 6; i-- > 0;) {
        struct pith_sweep_output output = {0};
        assert_false(pith_sweep_done(s, &r, i));
        SUCCEEDS(pith_sweep_run(s, i, m, &o, &output, &err));
        assert_null(strchr(output.line, '\n'));
        assert_non_null(strstr(output.line, "\"bytes\":"));
        assert_non_null(strstr(output.line, "\"model\":{\"name\":\"net.pith\",\"crc32c\":\""));
        assert_null(strstr(output.line, "\"data\":"));
        add(&r, output.line);
        assert_true(pith_sweep_done(s, &r, i));
        assert_false(pith_sweep_done(elsewhere, &r, i));
        pith_sweep_output_free(&output);
    }
    assert_int_equal(r.n, 6);
    assert_int_equal(m->n_history, 0);
    pith_sweep_results_free(&r);
    pith_sweep_free(s);
    pith_sweep_free(elsewhere);
    pith_model_free(m);
    pith_model_free(other);
}

/* 4 does not divide the 2 columns of a row. */
TEST(what_cannot_be_run_is_said_in_its_line)
{
    const float w[8] = {1, -2, 3, -4, 5, -6, 7, -8};
    struct pith_model *m = small_net(4, 2, w, false);
    struct pith_sweep *s =
        parse("{\"pith\":1,\"sweep\":{\"stages.0.pattern\":[\"3x3\",\"any\"]},"
              "\"stages\":[{\"do\":\"prune\",\"sparsity\":0.5},{\"do\":\"encode\"}]}");
    struct pith_compress_opts o = {.size_bytes = sizeof o, .max_drop = -1, .seed = 1};
    struct pith_sweep_results r = {0};
    struct pith_error err = {0};
    struct pith_sweep_output output = {0};
    assert_int_equal(pith_sweep_run(s, 0, m, &o, &output, &err), PITH_OK);
    assert_non_null(strstr(output.line, "\"error\":\"cannot prune"));
    add(&r, output.line);
    assert_int_equal(r.n, 0);
    assert_int_equal(r.n_foreign, 0);
    assert_false(pith_sweep_done(s, &r, 0)); /* another version may be able to */
    pith_sweep_output_free(&output);
    pith_sweep_results_free(&r);
    pith_sweep_free(s);
    pith_model_free(m);
}

#define LINE(spec, n, rest)                                                                        \
    "{\"pith\":1,\"spec\":\"" spec "\",\"combination\":" n ",\"params\":{}," rest "}\n"

TEST(the_front_holds_what_nothing_beats)
{
    static const struct {
        uint64_t combination, bytes;
    } front[] = {{3, 100}, {1, 200}, {0, 300}};
    struct pith_sweep_results r = {0};
    add(&r, LINE("aa", "0", "\"bytes\":300,\"top1\":0.99,\"seconds\":1")
                LINE("aa", "1", "\"bytes\":200,\"top1\":0.98,\"seconds\":1")
                    LINE("aa", "2", "\"bytes\":250,\"top1\":0.97,\"seconds\":1"));
    add(&r, LINE("aa", "3", "\"bytes\":100,\"top1\":0.90,\"seconds\":1")
                LINE("bb", "3", "\"bytes\":100,\"top1\":0.89,\"seconds\":1")
                    LINE("aa", "4", "\"bytes\":400,\"top1\":0.99,\"seconds\":1")
                        LINE("aa", "5", "\"error\":\"no\""));
    add(&r, "not json\n{\"pith\":1}\n{\"pith\":1,\"spec\":\"aa\",\"comb");
    assert_int_equal(r.n, 6);
    assert_int_equal(r.n_lines, 10);
    assert_int_equal(r.n_foreign, 3);
    assert_int_equal(pith_sweep_front(&r), 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(r.point[i].combination, front[i].combination);
        assert_int_equal(r.point[i].bytes, front[i].bytes);
    }
    assert_true(r.point[0].quality == 0.90);
    pith_sweep_results_free(&r);
}

TEST(the_last_result_counts)
{
    struct pith_sweep_results r = {0};
    add(&r, LINE("aa", "0", "\"bytes\":300,\"psnr\":30"));
    add(&r, LINE("aa", "0", "\"bytes\":200,\"psnr\":31"));
    add(&r, LINE("aa", "0", "\"error\":\"no\"")); /* but not a failure behind a success */
    assert_int_equal(r.n, 1);
    assert_int_equal(r.point[0].bytes, 200);
    assert_true(r.point[0].regression && r.point[0].quality == 31);
    pith_sweep_results_free(&r);
}

/* Finding the front moves the points; lines that come later find theirs all the same. */
TEST(results_go_on_behind_a_front)
{
    struct pith_sweep_results r = {0};
    add(&r, LINE("aa", "0", "\"bytes\":300,\"top1\":0.5") LINE("aa", "1", "\"error\":\"no\"")
                LINE("aa", "2", "\"bytes\":100,\"top1\":0.25"));
    assert_int_equal(pith_sweep_front(&r), 2);
    assert_int_equal(r.point[0].combination, 2);
    add(&r, LINE("aa", "0", "\"bytes\":50,\"top1\":0.75")
                LINE("aa", "1", "\"bytes\":40,\"top1\":0.5,\"at\":0"));
    assert_int_equal(r.n, 3);
    assert_int_equal(pith_sweep_front(&r), 2);
    assert_int_equal(r.point[0].combination, 1);
    assert_int_equal(r.point[0].bytes, 40);
    assert_int_equal(r.point[1].combination, 0);
    assert_int_equal(r.point[1].bytes, 50);
    assert_int_equal(r.point[2].combination, 2);
    pith_sweep_results_free(&r);
}

#define OF(model, data, n, rest)                                                                   \
    LINE("aa" model data, n,                                                                       \
         "\"model\":{\"name\":\"m" model "\",\"crc32c\":\"" model "\"},"                           \
         "\"data\":{\"name\":\"d" data "\",\"crc32c\":\"" data "\"}," rest)

/* Each pair of model and data: what beats a point of another pair says nothing of this one. */
TEST(models_and_data_have_fronts_of_their_own)
{
    static const struct {
        const char *model, *data;
        uint64_t bytes;
    } front[] = {{"m1", "d1", 300}, {"m1", "d2", 310}, {"m2", "d1", 100}, {"m2", "d1", 200}};
    struct pith_sweep_results r = {0};
    add(&r, OF("2", "1", "0", "\"bytes\":200,\"top1\":0.9")
                OF("1", "1", "0", "\"bytes\":300,\"top1\":0.5")
                    OF("2", "1", "1", "\"bytes\":100,\"top1\":0.8")
                        OF("1", "2", "0", "\"bytes\":310,\"top1\":0.4")
                            OF("1", "1", "1", "\"bytes\":400,\"top1\":0.45"));
    assert_int_equal(pith_sweep_front(&r), 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_string_equal(r.point[i].model, front[i].model);
        assert_string_equal(r.point[i].data, front[i].data);
        assert_int_equal(r.point[i].bytes, front[i].bytes);
    }
    assert_false(pith_sweep_comparable(&r.point[0], &r.point[1]));
    assert_true(pith_sweep_comparable(&r.point[2], &r.point[3]));
    pith_sweep_results_free(&r);
}

TEST(without_data_the_smallest_is_the_front)
{
    struct pith_sweep_results r = {0};
    add(&r, LINE("aa", "0", "\"bytes\":300") LINE("aa", "1", "\"bytes\":200"));
    assert_int_equal(pith_sweep_front(&r), 1);
    assert_int_equal(r.point[0].bytes, 200);
    assert_true(isnan(r.point[0].quality));
    pith_sweep_results_free(&r);
}

/* Each field of a line by value, and lines that lack one or have it of another kind. */
TEST(lines_are_read_by_their_fields)
{
    static const char *const foreign[] = {
        "{\"combination\":1,\"params\":{},\"bytes\":5}",
        "{\"spec\":7,\"combination\":1,\"params\":{},\"bytes\":5}",
        "{\"spec\":\"a\",\"combination\":\"1\",\"params\":{},\"bytes\":5}",
        "{\"spec\":\"a\",\"combination\":1,\"params\":[],\"bytes\":5}",
        "{\"spec\":\"a\",\"combination\":1,\"params\":{},\"bytes\":\"5\"}",
        "{\"spec\":\"a\",\"combination\":1,\"params\":{},\"error\":5}",
        "{\"spec\":\"a\",\"combination\":1,\"params\":{}}"};
    enum { FOREIGN = sizeof foreign / sizeof *foreign };
    struct pith_sweep_results r = {0};
    for (int i = 0; i < FOREIGN; i++)
        add(&r, foreign[i]);
    assert_true(r.n == 0 && r.n_foreign == FOREIGN && r.n_lines == FOREIGN);
    add(&r,
        "{\"spec\":\"a1\",\"combination\":12,\"params\":{\"b\": 3},\"bytes\":77,\"seconds\":2.5,"
        "\"top1\":0.75,\"at\":9,\"model\":{\"name\":\"m.onnx\",\"crc32c\":\"11\"},"
        "\"data\":{\"name\":\"d\",\"crc32c\":\"22\",\"samples\":1000}}\n\n"
        "{\"spec\":\"a1\",\"combination\":13,\"params\":{},\"bytes\":78}");
    assert_int_equal(r.n, 2);
    assert_int_equal(r.n_lines, FOREIGN + 2); /* an empty one does not count */
    const struct pith_sweep_point *p = r.point;
    assert_string_equal(p->params, "{\"b\":3}");
    assert_string_equal(p->spec, "a1");
    assert_true(p->combination == 12 && p->bytes == 77 && p->samples == 1000);
    assert_true(p->seconds == 2.5 && p->quality == 0.75 && !p->regression);
    assert_string_equal(p->model, "m.onnx");
    assert_string_equal(p->model_crc32c, "11");
    assert_string_equal(p->data, "d");
    assert_string_equal(p->data_crc32c, "22");
    assert_true(isnan(p[1].seconds) && isnan(p[1].quality) && p[1].samples == 0);
    assert_string_equal(p[1].model, "");
    assert_false(pith_sweep_comparable(p, p + 1));
    assert_true(pith_sweep_comparable(p, p) && !pith_sweep_comparable(NULL, p));
    assert_false(pith_sweep_comparable(p, NULL));
    assert_int_equal(pith_sweep_results_add(&r, NULL, 1, NULL), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_sweep_results_add(NULL, "", 0, NULL), PITH_ERR_ARGUMENT);
    pith_sweep_results_free(&r);
    pith_sweep_results_free(NULL);
    assert_int_equal(pith_sweep_front(NULL), 0);
}

TEST(names_of_files_stay_in_their_folder)
{
    char name[PITH_SWEEP_NAME_BYTES], stem[260], expected[PITH_SWEEP_NAME_BYTES];
    static const struct {
        const char *model, *spec, *name;
    } cases[] = {{"net.onnx", "1a2b", "net-1a2b-5.pith"},
                 {"net.v2.onnx", "1a2b", "net.v2-1a2b-5.pith"},
                 {"net", "1a2b", "net-1a2b-5.pith"},
                 {"", "1a2b", "model-1a2b-5.pith"},
                 {".onnx", "1a2b", ".onnx-1a2b-5.pith"},
                 {"../a b\n.onnx", "../x", ".._a_b_-.._x-5.pith"},
                 {"net", "0123456789abcdefgh", "net-0123456789abcdef-5.pith"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct pith_sweep_point p = {
            .model = cases[i].model, .spec = cases[i].spec, .combination = 5};
        pith_sweep_file_name(&p, name);
        assert_string_equal(name, cases[i].name);
    }
    memset(stem, 'x', sizeof stem);
    for (int n = 199; n <= 201; n++) { /* 200 bytes of a model's name at most */
        stem[n] = 0;
        const struct pith_sweep_point p = {.model = stem, .spec = "s", .combination = UINT64_MAX};
        pith_sweep_file_name(&p, name);
        snprintf(expected, sizeof expected, "%.200s-s-18446744073709551615.pith", stem);
        assert_string_equal(name, expected);
        stem[n] = 'x';
    }
    pith_sweep_file_name(NULL, name);
}

RUN_TESTS
