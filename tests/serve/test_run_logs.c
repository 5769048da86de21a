/* SPDX-License-Identifier: MIT */
/* test_run_logs.c - logs of runs in a folder: what the page gets of them, also of broken ones, and
 * their curves. */
#include <stdint.h>
#include <stdio.h>
#include "test_run.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "data/data_folder.h"
#include "serve/run_logs.h"

#define START(time, command)                                                                       \
    "{\"time\":" time ",\"event\":\"start\",\"command\":\"" command "\",\"file\":\"net.pith\"}\n"
#define EPOCH(time, n, loss)                                                                       \
    "{\"time\":" time ",\"event\":\"epoch\",\"epoch\":" n ",\"epochs\":8,\"loss\":" loss           \
    ",\"val_accuracy\":0.5,\"seconds\":3,\"eta\":9}\n"
#define END(time, status) "{\"time\":" time ",\"event\":\"end\",\"status\":\"" status "\"}\n"
#define SMALL(bytes)                                                                               \
    "{\"time\":30,\"event\":\"file\",\"bytes\":" bytes ",\"accuracy\":0.9,\"done\":2,\"total\":8}" \
    "\n"

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/pith-runs-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static void put_log(const char *name, const char *text)
{
    put(name, text, strlen(text));
}

/* The list of runs; the caller frees it. */
static json_t *list_runs(void)
{
    struct byte_out out = {0};
    struct pith_error err;
    assert_int_equal(run_logs_list(folder, &out, &err), PITH_OK);
    json_t *root = json_loadb((const char *)out.data, out.bytes, 0, NULL);
    assert_non_null(root);
    pith_out_clear(&out);
    return root;
}

static const char *text_of(const json_t *run, const char *key)
{
    const char *text = json_string_value(json_object_get(run, key));
    return text ? text : "";
}

static double number_of(const json_t *run, const char *key)
{
    const json_t *v = json_object_get(run, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

static void runs_are_listed(void **state)
{
    (void)state;
    put_log("train.jsonl",
            START("10", "train") EPOCH("11", "1", "9") END("12", "failed") START("20", "train")
                EPOCH("21", "1", "3")
                    EPOCH("22", "2", "1.5") "no event\n[1]\n{\"event\":\"epoch\",\"epoch\":3");
    put_log("sweep.jsonl", START("15", "sweep") SMALL("100") SMALL("90"));
    put_log("done.jsonl", START("40", "compress") SMALL("100") END("41", "done"));
    put_log("none.jsonl", "{\"event\":\"epoch\",\"epoch\":1}\nno log\n");
    put_log("table.csv", START("10", "train"));
    put_log(".hidden.jsonl", START("10", "train"));
    put_log("empty.jsonl", "");
    assert_int_equal(mkdir(at("below"), 0777), 0);
    put_log("below/train.jsonl", START("10", "train") EPOCH("11", "1", "9") EPOCH("12", "2", "8"));
    assert_int_equal(symlink(at("train.jsonl"), at("link.jsonl")), 0);
    json_t *root = list_runs();
    const json_t *runs = json_object_get(root, "runs"), *run;
    assert_string_equal(text_of(root, "folder"), folder);
    assert_int_equal(json_array_size(runs), 3);
    run = json_array_get(runs, 0); /* running ones first, the latest of them first */
    assert_string_equal(text_of(run, "name"), "train.jsonl");
    assert_string_equal(text_of(run, "command"), "train");
    assert_string_equal(text_of(run, "file"), "net.pith");
    assert_string_equal(text_of(run, "status"), "running");
    assert_string_equal(text_of(run, "epoch"), "2 of 8");
    assert_true(number_of(run, "share") == 0.25 && number_of(run, "loss") == 1.5);
    assert_true(number_of(run, "eta") == 9 && isnan(number_of(run, "accuracy")));
    assert_int_equal(json_array_size(json_object_get(run, "curves")), 2);
    run = json_array_get(runs, 1);
    assert_string_equal(text_of(run, "name"), "sweep.jsonl");
    assert_string_equal(text_of(run, "done"), "2 of 8");
    assert_true(number_of(run, "share") == 0.25 && number_of(run, "bytes") == 90);
    assert_int_equal(json_array_size(json_object_get(run, "curves")), 1);
    run = json_array_get(runs, 2);
    assert_string_equal(text_of(run, "status"), "done");
    assert_true(number_of(run, "share") == 1);
    assert_int_equal(json_array_size(json_object_get(run, "curves")), 0); /* of one point */
    json_decref(root);
}

static void curves_are_drawn(void **state)
{
    (void)state;
    static const struct {
        const char *name, *what, *x_name;
    } curves[] = {{"train.jsonl", "loss", ">epoch<"},
                  {"train.jsonl", "accuracy", ">held out<"},
                  {"sweep.jsonl", "accuracy", ">bytes<"}},
      none[] = {{"sweep.jsonl", "loss", ""},
                {"done.jsonl", "accuracy", ""},
                {"train.jsonl", "bytes", ""},
                {"none.jsonl", "loss", ""},
                {"link.jsonl", "loss", ""},
                {"below/train.jsonl", "loss", ""},
                {"../train.jsonl", "loss", ""},
                {"nowhere.jsonl", "loss", ""},
                {"", "loss", ""}};
    struct pith_error err = {0};
    struct pith_buffer svg;
    for (size_t i = 0; i < sizeof curves / sizeof *curves; i++) {
        assert_int_equal(run_logs_curve(folder, curves[i].name, curves[i].what, &svg, &err),
                         PITH_OK);
        if (!memmem(svg.data, svg.bytes, curves[i].x_name, strlen(curves[i].x_name)))
            fail_msg("curve %zu: %.*s", i, (int)svg.bytes, (const char *)svg.data);
        if (i == 0 && memmem(svg.data, svg.bytes, "held out", 8))
            fail_msg("accuracy in the curve of the loss");
        pith_buffer_free(&svg);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(run_logs_curve(folder, none[i].name, none[i].what, &svg, &err),
                         PITH_ERR_ARGUMENT);
    assert_int_equal(run_logs_curve("/nowhere", "a.jsonl", "loss", &svg, &err), PITH_ERR_IO);
    assert_string_equal(err.text, "/nowhere: No such file or directory");
    struct byte_out out = {0};
    assert_int_equal(run_logs_list("/nowhere", &out, &err), PITH_ERR_IO);
}

/* 64 logs at most, and the oldest are left out; of a long log its end is read. */
static void the_latest_runs_count(void **state)
{
    (void)state;
    char name[32], text[128];
    for (int i = 0; i < 70; i++) {
        snprintf(name, sizeof name, "many%02d.jsonl", i);
        snprintf(text, sizeof text, START("%d", "train") END("%d", "done"), 1000 + i, 2000);
        put_log(name, text);
    }
    const size_t n = (8 << 20) + 100;
    char *log = malloc(n);
    assert_non_null(log);
    memset(log, '\n', n);
    memcpy(log, START("5000", "train"), sizeof START("5000", "train") - 1);
    const size_t last = sizeof EPOCH("6000", "4", "0.5") - 1;
    memcpy(log + n - last, EPOCH("6000", "4", "0.5"), last);
    put("long.jsonl", log, n);
    free(log);
    json_t *root = list_runs();
    const json_t *runs = json_object_get(root, "runs");
    assert_int_equal(json_array_size(runs), 64);
    bool is_long = false;
    for (size_t i = 0; i < 64; i++) {
        const json_t *run = json_array_get(runs, i);
        const char *of = text_of(run, "name");
        assert_true(strncmp(of, "many", 4) != 0 || atoi(of + 4) >= 9);
        if (strcmp(of, "long.jsonl") == 0)
            is_long = number_of(run, "share") == 0.5 && !*text_of(run, "command");
    }
    assert_true(is_long);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_listed),
        cmocka_unit_test(curves_are_drawn),
        cmocka_unit_test(the_latest_runs_count),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
