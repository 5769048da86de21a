/* SPDX-License-Identifier: MIT */
/* test_closure.c - import, export, import: the same network (closure.h), for the golden files of
 * version 1, what fuzzing has kept, and, where they are there, the node cases of ONNX. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include "closure.h"
#include "pith_load.h"

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

static void kept_files(void **state)
{
    struct tally t = {0};
    (void)state;
    try_folder("tests/golden/version_1", NULL, &t);
    try_folder("tests/fuzz/corpus/fuzz_pith", NULL, &t);
    try_folder("tests/fuzz/corpus/fuzz_onnx", NULL, &t);
    is_closed(&t, 30);
}

static void node_cases(void **state)
{
    const char *cases = getenv("PITH_NODE_CASES");
    char folder[4096];
    struct tally t = {0};
    (void)state;
    snprintf(folder, sizeof folder, "%s/node", cases ? cases : "");
    DIR *dir = opendir(folder);
    if (!dir)
        skip();
    closedir(dir);
    try_folder(folder, "model.onnx", &t);
    is_closed(&t, 600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_files),
        cmocka_unit_test(node_cases),
    };
    return cmocka_run_group_tests_name("closure", tests, NULL, NULL);
}
