/* SPDX-License-Identifier: MIT */
/* test_steady.c - what runs for weeks: no run allocates, and a plan that is made and freed again
 * and again leaves neither memory nor open files behind. PITH_TEST_RUNS=10000000 and
 * PITH_TEST_LOADS=100000 take minutes. */
#include <stdint.h>
#include "test_run.h"
#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>
#include "pith_host.h"
#include "pith_pack.h"
#include "sample_models.h"
#include "sanitized.h"

#define MAX_GROWTH (TEST_KEEPS_FREED ? (size_t)512 << 20 : (size_t)64 << 10)

static unsigned long wanted(const char *name, unsigned long usual)
{
    const char *text = getenv(name);
    return text ? strtoul(text, NULL, 10) : usual;
}

static size_t resident_bytes(void)
{
    unsigned long all = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%lu %lu", &all, &resident), 2);
    fclose(f);
    return (size_t)resident * (size_t)sysconf(_SC_PAGESIZE);
}

static uint32_t open_files(void)
{
    uint32_t n = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static char path[] = "/tmp/test_steady.XXXXXX";

/* A small network in a file. */
static int make_file(void **state)
{
    struct pith_model *m = sample_lenet5(1);
    (void)state;
    int fd = mkstemp(path);
    sample_compress(m, 0.1, 16);
    uint64_t bytes;
    int failed = fd < 0 || pith_model_write(m, NULL, path, true, &bytes, NULL);
    close(fd);
    pith_model_free(m);
    return failed;
}

FIXTURE(remove_file)
{
    return unlink(path);
}

static void load_once(uint32_t runs)
{
    struct pith_session *s = NULL;
    struct pith_opts opts = {.size_bytes = sizeof opts};
    assert_int_equal(pith_open(path, &opts, &s, NULL), PITH_OK);
    while (runs--)
        assert_int_equal(pith_plan_run(pith_plan_of(s)), PITH_OK);
    pith_close(s);
}

TEST(runs)
{
    struct pith_session *s = NULL;
    unsigned long n = wanted("PITH_TEST_RUNS", 5000);
    struct pith_opts opts = {.size_bytes = sizeof opts};
    assert_int_equal(pith_open(path, &opts, &s, NULL), PITH_OK);
    for (int i = 0; i < 100; i++)
        assert_int_equal(pith_plan_run(pith_plan_of(s)), PITH_OK);
    uint32_t files = open_files();
    size_t resident = resident_bytes(), taken = mallinfo2().uordblks;
    resident = resident_bytes(); /* the first time, code comes in */
    for (unsigned long i = 0; i < n; i++)
        if (pith_plan_run(pith_plan_of(s)))
            fail();
    assert_int_equal(mallinfo2().uordblks, taken);
    size_t now = resident_bytes();
    print_message("%lu runs: %ld bytes more\n", n, (long)now - (long)resident);
    assert_true(now <= resident + MAX_GROWTH);
    assert_int_equal(open_files(), files);
    pith_close(s);
}

TEST(loads)
{
    unsigned long n = wanted("PITH_TEST_LOADS", 1000);
    for (int i = 0; i < 100; i++)
        load_once(1);
    size_t resident = resident_bytes();
    uint32_t files = open_files();
    for (unsigned long i = 0; i < n; i++)
        load_once(i % 100 == 0);
    size_t now = resident_bytes();
    print_message("%lu loads: %ld bytes more\n", n, (long)now - (long)resident);
    assert_true(now <= resident + MAX_GROWTH);
    assert_int_equal(open_files(), files);
}

RUN_TESTS_WITH(make_file, remove_file)
