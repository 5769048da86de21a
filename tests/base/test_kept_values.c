/* SPDX-License-Identifier: MIT */
/* Arrays that wait: in memory, in files beyond the limit, and where there can be no file. */
#define _GNU_SOURCE
#include <stdint.h>
#include "test_run.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/kept_values.h"

/* ---- calls that fail (tests/module.mk has the linker replace them) -------------------------- */

static struct {
    int after;  /* reads and writes that go well before one fails; negative: none does */
    int reason; /* 0: it moves nothing */
    bool small, no_tmpfile;
} fault = {.after = -1};

static bool fails(void)
{
    if (fault.after < 0 || fault.after-- > 0)
        return false;
    errno = fault.reason;
    return true;
}

ssize_t __real_pread(int fd, void *p, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *p, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *p, size_t n, off_t at)
{
    if (fails())
        return fault.reason ? -1 : 0;
    return __real_pread(fd, p, fault.small && n > 300 ? 300 : n, at);
}

ssize_t __real_pwrite(int fd, const void *p, size_t n, off_t at);
ssize_t __wrap_pwrite(int fd, const void *p, size_t n, off_t at);
ssize_t __wrap_pwrite(int fd, const void *p, size_t n, off_t at)
{
    if (fails())
        return fault.reason ? -1 : 0;
    return __real_pwrite(fd, p, fault.small && n > 300 ? 300 : n, at);
}

int __real_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, mode_t mode)
{
    if (fault.no_tmpfile && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return __real_open(path, flags, mode);
}

static unsigned entries(const char *folder)
{
    unsigned n = 0;
    DIR *d = opendir(folder);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

enum { ARRAYS = 5, PARTS = 7, PART = 1000 };

static uint8_t byte_of(uint32_t i, uint64_t at)
{
    return (uint8_t)(i * 31 + at * 7 + at / 251);
}

static void write_part(struct kept_values *k, uint32_t i, uint64_t part)
{
    uint8_t data[PART];
    struct pith_error err = {0};
    for (uint64_t at = 0; at < PART; at++)
        data[at] = byte_of(i, part * PART + at);
    SUCCEEDS(pith_kept_open(k, i, PARTS * PART, &err) ||
             pith_kept_write(k, i, part * PART, data, PART, &err));
}

static void expect_part(const struct kept_values *k, uint32_t i, uint64_t part)
{
    uint8_t data[PART];
    struct pith_error err = {0};
    SUCCEEDS(pith_kept_read(k, i, part * PART, data, PART, &err));
    for (uint64_t at = 0; at < PART; at++)
        assert_int_equal(data[at], byte_of(i, part * PART + at));
}

static void expect_mapped(struct kept_values *k, uint32_t i)
{
    const void *data = NULL;
    assert_int_equal(pith_kept_map(k, i, &data, NULL), PITH_OK);
    for (uint64_t at = 0; at < PARTS * PART; at++)
        assert_int_equal(((const uint8_t *)data)[at], byte_of(i, at));
}

/* With memory for none of them, for two, for all; parts in any order, and again in a place left. */
TEST(test_all_come_back)
{
    static const uint64_t limit[] = {0, 2 * PARTS * PART, 1 << 20};
    for (int way = 0; way < 3; way++) {
        struct kept_values *k = pith_kept_new(ARRAYS, limit[way]);
        assert_non_null(k);
        for (uint32_t part = PARTS; part > 0; part--)
            for (uint32_t i = 0; i < ARRAYS; i++)
                write_part(k, i, part - 1);
        for (uint32_t i = 0; i < ARRAYS; i++)
            for (uint32_t part = 0; part < PARTS; part++)
                expect_part(k, i, part);
        expect_mapped(k, 1);
        pith_kept_drop(k, 0);
        pith_kept_drop(k, 0);
        write_part(k, 0, 3);
        expect_part(k, 0, 3);
        expect_part(k, ARRAYS - 1, 0);
        pith_kept_free(k);
    }
}

/* In a folder whose file system has no files without a name: none is left, by name or open; what is
 * moved a little at a time, with signals between, is whole; what fails is reported. */
TEST(test_files)
{
    char folder[] = "/tmp/pith-test-XXXXXX";
    struct pith_error err = {0};
    uint8_t data[PART];
    assert_non_null(mkdtemp(folder));
    assert_int_equal(setenv("TMPDIR", folder, 1), 0);
    const unsigned empty = entries(folder), opened = entries("/proc/self/fd");
    for (int way = 0; way < 2; way++) {
        struct kept_values *k = pith_kept_new(2, 0);
        fault.no_tmpfile = way == 1;
        fault.small = true;
        fault.reason = EINTR;
        for (uint32_t part = 0; part < PARTS; part++) {
            fault.after = (int)part % 4;
            write_part(k, 1, part);
            assert_true(fault.after < 0);
        }
        assert_int_equal(entries(folder), empty);
        assert_int_equal(entries("/proc/self/fd"), opened + 1);
        for (uint32_t part = 0; part < PARTS; part++) {
            fault.after = (int)part % 4;
            expect_part(k, 1, part);
            assert_true(fault.after < 0);
        }
        static const int reasons[] = {EIO, 0};
        for (int i = 0; i < 2; i++) {
            fault.reason = reasons[i];
            fault.after = 2;
            assert_int_equal(pith_kept_read(k, 1, 0, data, PART, &err), PITH_ERR_IO);
            assert_non_null(strstr(err.text, "cannot read back 0 MB between layers in /tmp/"));
            fault.after = 2;
            assert_int_equal(pith_kept_write(k, 1, 0, data, PART, &err), PITH_ERR_IO);
            assert_non_null(strstr(err.text, "cannot keep 0 MB"));
        }
        pith_kept_free(k);
        assert_int_equal(entries("/proc/self/fd"), opened);
        memset(&fault, 0, sizeof fault);
        fault.after = -1;
    }
    unsetenv("TMPDIR");
    assert_int_equal(rmdir(folder), 0);
    pith_kept_free(NULL);
}

TEST(test_no_place_for_files)
{
    struct pith_error err = {0};
    assert_int_equal(setenv("TMPDIR", "/nowhere/at all", 1), 0);
    struct kept_values *k = pith_kept_new(1, 8);
    for (int again = 0; again < 2; again++) { /* the room of what was dropped is free again */
        assert_int_equal(pith_kept_open(k, 0, 8, &err), PITH_OK);
        assert_int_equal(pith_kept_write(k, 0, 0, "12345678", 8, &err), PITH_OK);
        pith_kept_drop(k, 0);
    }
    assert_int_equal(pith_kept_open(k, 0, 9, &err), PITH_ERR_IO);
    assert_non_null(strstr(err.text, "/nowhere/at all"));
    assert_non_null(strstr(err.text, "TMPDIR"));
    pith_kept_free(k);
    unsetenv("TMPDIR");
}

RUN_TESTS
