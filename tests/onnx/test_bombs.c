/* SPDX-License-Identifier: MIT */
/* test_bombs.c - small ONNX files that require much memory: one constant that an operator makes of
 * next to nothing, of sizes from 2^12 elements to what no number holds, doubled up to 28 times,
 * read in several ways; over a thousand. Each is taken or refused within a second of processor
 * time, and all of them within 64 MiB. (A few of each kind of file, by the commands:
 * tests/cli/hostile_files.sh.) */
#include <stdint.h>
#include "test_run.h"
#include <malloc.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include "pith_onnx.h"
#include "onnx/onnx_read.h"
#include "proto_builder.h"
#include "sanitized.h"

#define MAX_SECONDS 1.0
#define MAX_MORE_BYTES ((TEST_KEEPS_FREED ? 512.0 : 64.0) * (1 << 20))

static void put_ints(struct proto *g, const char *name, size_t n, const int64_t *v)
{
    const int64_t dims[] = {(int64_t)n};
    proto_message(g, GRAPH_INITIALIZER, build_tensor(name, BUILD_INT64, dims, 1, v, 8 * n));
}

static void put_scalar(struct proto *g, const char *name, int64_t v)
{
    proto_message(g, GRAPH_INITIALIZER, build_tensor(name, BUILD_INT64, NULL, 0, &v, 8));
}

static void put_node(struct proto *g, const char *op, const char *links)
{
    proto_message(g, GRAPH_NODE, build_node(op, op, links));
}

/* ---- what makes c0 of `size` elements ------------------------------------------------------- */

static void constant_of_shape(struct proto *g, int64_t size)
{
    put_ints(g, "s", 1, &size);
    put_node(g, "ConstantOfShape", "s -> c0");
}

static void square(struct proto *g, int64_t size)
{
    const int64_t s[] = {size, size};
    put_ints(g, "s", 2, s);
    put_node(g, "ConstantOfShape", "s -> c0");
}

static void eye(struct proto *g, int64_t size)
{
    const int64_t s[] = {size, size};
    put_ints(g, "s", 2, s);
    put_node(g, "ConstantOfShape", "s -> z");
    put_node(g, "EyeLike", "z -> c0");
}

static void expand(struct proto *g, int64_t size)
{
    const int64_t s[] = {size, 3};
    put_ints(g, "s", 2, s);
    build_floats(g, "k", 1, 0, 1, 1);
    put_node(g, "Expand", "k s -> c0");
}

static void tile(struct proto *g, int64_t size)
{
    put_ints(g, "s", 1, &size);
    build_floats(g, "k", 1, 1, 1, 3);
    put_node(g, "Tile", "k s -> c0");
}

static void range(struct proto *g, int64_t size)
{
    put_scalar(g, "from", 0);
    put_scalar(g, "to", size);
    put_scalar(g, "by", 1);
    put_node(g, "Range", "from to by -> r");
    struct proto cast = build_node("Cast", "cast", "r -> c0");
    build_attr_int(&cast, "to", BUILD_FLOAT);
    proto_message(g, GRAPH_NODE, cast);
}

static void pad(struct proto *g, int64_t size)
{
    const int64_t s[] = {size, size / 2};
    put_ints(g, "s", 2, s);
    build_floats(g, "k", 1, 1, 1, 3);
    put_node(g, "Pad", "k s -> c0");
}

static void one_hot(struct proto *g, int64_t size)
{
    const int64_t at[] = {0, 1, 2};
    put_ints(g, "at", 3, at);
    put_scalar(g, "depth", size);
    build_floats(g, "k", 0, 1, 1, 2);
    put_node(g, "OneHot", "at depth k -> c0");
}

static void resize(struct proto *g, int64_t size)
{
    const int64_t s[] = {1, 1, size, size};
    put_ints(g, "s", 4, s);
    build_floats(g, "k", 1, 1, 4, 1, 1, 2, 2);
    put_node(g, "Resize", "k ' ' s -> c0");
}

/* A column and a row of that many, and what op makes of both. */
static void crosswise(struct proto *g, int64_t size, const char *op)
{
    const int64_t a[] = {size, 1}, b[] = {1, size};
    put_ints(g, "a", 2, a);
    put_ints(g, "b", 2, b);
    put_node(g, "ConstantOfShape", "a -> p");
    put_node(g, "ConstantOfShape", "b -> q");
    put_node(g, op, "p q -> c0");
}

static void multiply(struct proto *g, int64_t size)
{
    crosswise(g, size, "MatMul");
}

static void add_crosswise(struct proto *g, int64_t size)
{
    crosswise(g, size, "Add");
}

/* A pool over a window of that size. */
static void pool(struct proto *g, int64_t size)
{
    const int64_t s[] = {1, 1, 1 << 10, 1 << 10};
    int side = size < INT32_MAX ? (int)size : INT32_MAX;
    put_ints(g, "s", 4, s);
    put_node(g, "ConstantOfShape", "s -> z");
    struct proto node = build_node("AveragePool", "pool", "z -> c0");
    build_attr_ints(&node, "kernel_shape", 2, side, side);
    build_attr_ints(&node, "pads", 4, side - 1, side - 1, side - 1, side - 1);
    proto_message(g, GRAPH_NODE, node);
}

/* ---- how often it is doubled, and who reads it ----------------------------------------------- */

static void doubled(struct proto *g, int times)
{
    for (int i = 0; i < times; i++) {
        char links[40];
        snprintf(links, sizeof links, "c%d c%d -> c%d", i, i, i + 1);
        struct proto node = build_node("Concat", "concat", links);
        build_attr_int(&node, "axis", 0);
        proto_message(g, GRAPH_NODE, node);
    }
}

static void read_by(struct proto *g, int times, int how)
{
    static const char *const op[] = {"Add", "Shape", "ReduceSum", "Exp"};
    char links[40];
    snprintf(links, sizeof links, how ? "c%d -> d" : "c%d x -> y", times);
    put_node(g, op[how], links);
    if (how == 1)
        put_node(g, "ConstantOfShape", "d -> e");
    if (how)
        put_node(g, "Add", how == 1 ? "e x -> y" : "d x -> y");
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double most_bytes(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)use.ru_maxrss * 1024;
}

struct tally {
    uint32_t n, taken;
    double longest, first_bytes;
};

static void try_file(const struct proto *file, const char *what, struct tally *t)
{
    struct pith_model *m = NULL;
    struct pith_onnx_report *report = NULL;
    struct pith_error err = {0};
    double start = seconds();
    if (!pith_onnx_check(file->data, file->n, "bomb", NULL, &report, &err))
        pith_onnx_report_free(report);
    enum pith_status status = pith_onnx_read(file->data, file->n, "bomb", NULL, &m, &err);
    double took = seconds() - start, more = most_bytes() - t->first_bytes;
    if (status)
        assert_true(err.text[0] != 0);
    pith_model_free(m);
    t->n++;
    t->taken += status == PITH_OK;
    t->longest = took > t->longest ? took : t->longest;
    if (took > MAX_SECONDS || more > MAX_MORE_BYTES)
        fail_msg("%s of %zu bytes: %.2f s, %.0f bytes more, %s", what, file->n, took, more,
                 err.text);
}

TEST(bombs)
{
    static const struct {
        const char *name;
        void (*make)(struct proto *g, int64_t size);
    } maker[] = {
        {"ConstantOfShape", constant_of_shape},
        {"a square", square},
        {"EyeLike", eye},
        {"Expand", expand},
        {"Tile", tile},
        {"Range", range},
        {"Pad", pad},
        {"OneHot", one_hot},
        {"Resize", resize},
        {"MatMul", multiply},
        {"Add", add_crosswise},
        {"AveragePool", pool},
    };
    static const int64_t size[] = {1 << 12,   1 << 16,          1 << 20,   1 << 23, 1 << 28,
                                   INT32_MAX, (int64_t)1 << 40, INT64_MAX, -1};
    static const int times[] = {0, 3, 28};
    mallopt(M_MMAP_THRESHOLD, 1 << 16); /* what a file took goes back before the next one */
    struct tally t = {.first_bytes = most_bytes()};
    for (size_t i = 0; i < sizeof maker / sizeof *maker * 9 * 3 * 4; i++) {
        struct proto g = {0};
        maker[i / (9 * 3 * 4)].make(&g, size[i / (3 * 4) % 9]);
        doubled(&g, times[i / 4 % 3]);
        read_by(&g, times[i / 4 % 3], (int)(i % 4));
        build_input(&g, "x", 1, 1);
        build_output(&g, "y");
        struct proto file = build_model(g, 13);
        try_file(&file, maker[i / (9 * 3 * 4)].name, &t);
        free(file.data);
    }
    print_message("%u files, %u taken, %.3f s the longest, %.1f MiB more\n", t.n, t.taken,
                  t.longest, (most_bytes() - t.first_bytes) / (1 << 20));
    assert_true(t.n >= 1000 && t.taken > 0 && t.taken < t.n);
}

RUN_TESTS
