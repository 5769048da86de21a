/* SPDX-License-Identifier: MIT */
/* test_file_write.c - files appear whole or not at all, and nothing is left beside them. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "pith_file_write.h"

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/pith-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static unsigned entries(bool remove_them)
{
    char path[512];
    unsigned n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (e->d_name[0] == '.')
            continue;
        n++;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (remove_them)
            unlink(path);
    }
    closedir(d);
    return n;
}

static int remove_folder(void **state)
{
    (void)state;
    entries(true);
    return rmdir(folder);
}

static const char *in_folder(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void assert_content(const char *path, const char *want)
{
    struct pith_buffer file;
    assert_int_equal(pith_file_load(path, 1000, &file, NULL), PITH_OK);
    assert_int_equal(file.bytes, strlen(want));
    assert_memory_equal(file.data, want, file.bytes);
    pith_buffer_free(&file);
}

static void new_and_replaced(void **state)
{
    (void)state;
    struct stat st;
    const char *path = in_folder("a.pith");
    assert_int_equal(pith_file_write(path, "one", 3, NULL), PITH_OK);
    assert_content(path, "one");
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(pith_file_write(path, "three", 5, NULL), PITH_OK);
    assert_content(path, "three");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(entries(false), 1);
}

static void link_stays(void **state)
{
    (void)state;
    struct stat st;
    char target[512];
    snprintf(target, sizeof target, "%s/target", folder);
    assert_int_equal(pith_file_write(target, "old", 3, NULL), PITH_OK);
    const char *path = in_folder("link");
    assert_int_equal(symlink("target", path), 0);
    assert_int_equal(pith_file_write(path, "new", 3, NULL), PITH_OK);
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_content(target, "new");
}

static void failures_leave_nothing(void **state)
{
    (void)state;
    struct pith_error err;
    assert_int_equal(pith_file_write(in_folder("no/such"), "x", 1, &err), PITH_ERR_IO);
    assert_non_null(strstr(err.text, "no/such"));
    assert_int_equal(pith_file_write(folder, "x", 1, &err), PITH_ERR_IO);
    assert_non_null(strstr(err.text, "is a folder"));
    assert_int_equal(entries(false), 0);
}

/* A full disk, as a limit on the length of files. */
static void no_space(void **state)
{
    (void)state;
    struct rlimit old, small;
    struct pith_error err;
    static uint8_t big[100000];
    const char *path = in_folder("a.pith");
    assert_int_equal(pith_file_write(path, "old", 3, NULL), PITH_OK);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 50000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    enum pith_status st = pith_file_write(path, big, sizeof big, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(st, PITH_ERR_IO);
    assert_content(path, "old");
    assert_int_equal(entries(false), 1);
}

static void devices_are_written_to(void **state)
{
    (void)state;
    struct stat st;
    struct pith_error err;
    assert_int_equal(pith_file_write("/dev/null", "x", 1, NULL), PITH_OK);
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    assert_int_equal(pith_file_write("/dev/full", "x", 1, &err), PITH_ERR_IO);
    assert_non_null(strstr(err.text, "No space left"));
}

static void reading(void **state)
{
    (void)state;
    struct pith_error err;
    struct pith_buffer file = {NULL, 0};
    const char *path = in_folder("a");
    assert_int_equal(pith_file_load(path, 10, &file, &err), PITH_ERR_IO);
    assert_int_equal(pith_file_write(path, "", 0, NULL), PITH_OK);
    assert_int_equal(pith_file_load(path, 10, &file, &err), PITH_ERR_IO);
    assert_non_null(strstr(err.text, "empty input"));
    assert_int_equal(pith_file_write(path, "0123456789", 10, NULL), PITH_OK);
    assert_int_equal(pith_file_load(path, 9, &file, &err), PITH_ERR_LIMIT);
    assert_int_equal(pith_file_load(folder, 9, &file, &err), PITH_ERR_IO);
    assert_null(file.data);
    assert_int_equal(pith_file_load(path, 10, &file, &err), PITH_OK);
    assert_int_equal(file.bytes, 10);
    pith_buffer_free(&file);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(new_and_replaced),
        IN_FOLDER(link_stays),
        IN_FOLDER(failures_leave_nothing),
        IN_FOLDER(no_space),
        IN_FOLDER(reading),
        cmocka_unit_test(devices_are_written_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
