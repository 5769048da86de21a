/* SPDX-License-Identifier: MIT */
/* test_closure.c - import, export, import: the same network (closure.h), for the golden files of
 * version 1, what fuzzing has kept, networks at the edges of what each can say, and, where they are
 * there, the node cases of ONNX. */
#include <stdint.h>
#include "test_run.h"
#include <dirent.h>
#include <stdio.h>
#include "closure.h"
#include "pith_load.h"
#include "failing_import.h"
#include "network_text.h"

struct tally {
    uint32_t n[CLOSURE_OTHER_OUTPUTS + 1];
};

static void try_file(const char *path, struct tally *t)
{
    static const char *const name[] = {"same",     "equal",       "not ours",     "not run",
                                       "not read", "other types", "other outputs"};
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    const struct pith_import_opts opts = {.size_bytes = sizeof opts, .max_bytes = 64u << 20};
    if (pith_model_load(path, &opts, &m, NULL))
        return;
    enum closure c = closure_of(m, true, &err);
    t->n[c]++;
    if (c >= CLOSURE_NOT_READ)
        print_error("%s: %s: %s\n", path, name[c], err.text);
    pith_model_free(m);
}

/* Files of the folder, or the file `inner` in each of its folders. */
static void try_folder(const char *folder, const char *inner, struct tally *t)
{
    DIR *dir = opendir(folder);
    const struct dirent *e;
    char path[4096];
    while (dir && (e = readdir(dir)) != NULL) {
        snprintf(path, sizeof path, "%s/%s%s%s", folder, e->d_name, inner ? "/" : "",
                 inner ? inner : "");
        if (e->d_name[0] != '.')
            try_file(path, t);
    }
    if (dir)
        closedir(dir);
}

static void is_closed(const struct tally *t, uint32_t least)
{
    print_message("%u the same, %u equal, %u not in ONNX, %u not run\n", t->n[CLOSURE_SAME],
                  t->n[CLOSURE_EQUAL], t->n[CLOSURE_NOT_OURS], t->n[CLOSURE_NOT_RUN]);
    assert_int_equal(t->n[CLOSURE_NOT_READ], 0);
    assert_int_equal(t->n[CLOSURE_OTHER_TYPES], 0);
    assert_int_equal(t->n[CLOSURE_OTHER_OUTPUTS], 0);
    assert_true(t->n[CLOSURE_SAME] + t->n[CLOSURE_EQUAL] >= least);
}

TEST(kept_files)
{
    struct tally t = {0};
    try_folder("tests/golden/version_3", NULL, &t);
    try_folder("tests/fuzz/corpus/fuzz_pith", NULL, &t);
    try_folder("tests/fuzz/corpus/fuzz_onnx", NULL, &t);
    is_closed(&t, 30);
}

TEST(node_cases)
{
    const char *cases = getenv("PITH_NODE_CASES");
    char folder[4096];
    struct tally t = {0};
    snprintf(folder, sizeof folder, "%s/node", cases ? cases : "");
    DIR *dir = opendir(folder);
    if (!dir)
        skip();
    closedir(dir);
    try_folder(folder, "model.onnx", &t);
    is_closed(&t, 600);
}

/* ---- edges ----------------------------------------------------------------------------------- */

/* Imported, written and read again; the graph is taken. */
static void try_graph(const char *what, struct proto graph, struct tally *t)
{
    struct proto file = build_model(graph, 13);
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    if (pith_onnx_read(file.data, file.n, what, NULL, &m, &err))
        fail_msg("%s: %s", what, err.text);
    enum closure c = closure_of(m, true, &err);
    if (c >= CLOSURE_NOT_OURS)
        fail_msg("%s: %u: %s", what, c, err.text);
    t->n[c]++;
    pith_model_free(m);
    fail_import(&file, NULL, FEW);
    free(file.data);
}

TEST(flattened)
{
    struct tally t = {0};
    for (int64_t axis = -4; axis <= 4; axis++) {
        struct proto g = {0}, node = build_node("Flatten", "f", "x -> y");
        build_attr_int(&node, "axis", axis);
        proto_message(&g, GRAPH_NODE, node);
        build_input(&g, "x", 4, 2, 3, 1, 5);
        build_output(&g, "y");
        try_graph("Flatten", g, &t);
    }
    is_closed(&t, 9);
}

/* To more axes, to fewer than the input has, and along axes that the input has whole. */
TEST(expanded)
{
    static const int64_t to[][4] = {{2, 3, 4, 5}, {1, 1, 1, 5}, {1, 1, 4, 1}, {7, 1, 4, 5}};
    struct tally t = {0};
    for (size_t i = 0; i < sizeof to / sizeof *to; i++)
        for (size_t n = 1; n <= 4; n++) {
            struct proto g = {0};
            const int64_t dims[] = {(int64_t)n};
            proto_message(&g, GRAPH_NODE, build_node("Expand", "e", "x to -> y"));
            proto_message(&g, GRAPH_INITIALIZER,
                          build_tensor("to", 7, dims, 1, to[i] + 4 - n, 8 * n));
            build_input(&g, "x", 2, 4, 1);
            build_output(&g, "y");
            try_graph("Expand", g, &t);
        }
    is_closed(&t, 16);
}

/* Each mode with each rule of coordinates, by sizes and by scales that no size follows from. */
TEST(resized)
{
    static const char *const mode[] = {"nearest", "linear", "cubic"};
    static const char *const rule[] = {"half_pixel", "pytorch_half_pixel", "align_corners",
                                       "asymmetric"};
    static const char *const nearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                          "ceil"};
    struct tally t = {0};
    for (size_t i = 0; i < 3 * 4 * 4 * 2; i++) {
        bool by_scale = i % 2;
        struct proto g = {0};
        struct proto node = build_node("Resize", "r", by_scale ? "x ' by -> y" : "x ' ' to -> y");
        build_attr_text(&node, "mode", mode[i / 32]);
        build_attr_text(&node, "coordinate_transformation_mode", rule[i / 8 % 4]);
        build_attr_text(&node, "nearest_mode", nearest[i / 2 % 4]);
        proto_message(&g, GRAPH_NODE, node);
        if (by_scale) {
            const int64_t dims[] = {4};
            const float scale[] = {1, 1, 1.7f, 0.45f};
            proto_message(&g, GRAPH_INITIALIZER,
                          build_tensor("by", BUILD_FLOAT, dims, 1, scale, 16));
        } else {
            build_ints(&g, "to", 4, 1, 2, 5, 13);
        }
        build_input(&g, "x", 4, 1, 2, 7, 9);
        build_output(&g, "y");
        try_graph("Resize", g, &t);
    }
    is_closed(&t, 96);
}

/* s -> s + s while it is above -100, from -1 on; trips: how often at most. */
static void try_loop(int64_t trips, struct tally *t)
{
    static const float least = -100;
    static const uint8_t yes = 1;
    const int64_t one[] = {1};
    struct proto body = text_graph(" | add:Add s s -> t; max:ReduceMax t -> m; less:Less least m "
                                   "-> on; squeeze:Squeeze on -> go | go t"),
                 g = {0}, node = build_node("Loop", "loop", "n yes x -> y");
    proto_message(&body, GRAPH_INITIALIZER, build_tensor("least", BUILD_FLOAT, one, 1, &least, 4));
    proto_message(&body, GRAPH_INPUT, build_value("i", 7, NULL, 0));
    proto_message(&body, GRAPH_INPUT, build_value("c", 9, NULL, 0));
    proto_message(&body, GRAPH_INPUT, build_value("s", BUILD_FLOAT, one, 1));
    build_attr_graph(&node, "body", body);
    proto_message(&g, GRAPH_NODE, node);
    proto_message(&g, GRAPH_INITIALIZER, build_tensor("n", 7, NULL, 0, &trips, 8));
    proto_message(&g, GRAPH_INITIALIZER, build_tensor("yes", 9, NULL, 0, &yes, 1));
    build_input(&g, "x", 1, 1);
    build_output(&g, "y");
    try_graph("Loop", g, t);
}

/* Trips that 31 bits hold just, or not. */
TEST(looped)
{
    struct tally t = {0};
    try_loop(1, &t);
    try_loop(INT32_MAX - 1, &t);
    try_loop(INT32_MAX, &t);
    try_loop(INT64_MAX, &t);
    is_closed(&t, 4);
}

/* A value that is an output under three names, and an input that is one. */
TEST(renamed)
{
    struct tally t = {0};
    struct proto g = text_graph(
        "x f32 [5] | r:Relu x -> y; i:Identity y -> again; j:Identity x -> same | y again same");
    try_graph("outputs", g, &t);
    is_closed(&t, 1);
}

/* One value that is an output `times` times, as a .pith may say; value 0 is the input. */
static void try_doubled(uint32_t value, uint32_t times, struct tally *t)
{
    struct proto g = text_graph("x f32 [5] | r:Relu x -> y; n:Neg y -> y.1 | y y.1");
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    uint32_t outputs[3] = {value, value, value};
    struct proto file = build_model(g, 13);
    assert_int_equal(pith_onnx_read(file.data, file.n, "doubled", NULL, &m, &err), PITH_OK);
    uint32_t *kept = m->outputs, n = m->n_outputs;
    m->outputs = outputs;
    m->n_outputs = times;
    t->n[closure_of(m, true, &err)]++;
    m->outputs = kept;
    m->n_outputs = n;
    pith_model_free(m);
    free(file.data);
}

TEST(doubled)
{
    struct tally t = {0};
    for (uint32_t value = 0; value < 3; value++)
        for (uint32_t times = 1; times <= 3; times++)
            try_doubled(value, times, &t);
    is_closed(&t, 9);
}

RUN_TESTS
