/* SPDX-License-Identifier: MIT */
/* test_file_write.c - files appear whole or not at all, and nothing is left beside them, whichever
 * call to the system fails. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "open_files.h"
#include "base/file_write.h"
#include "base/file_temp.h"

/* ---- calls that fail (tests/module.mk has the linker replace them) -------------------------- */

static struct {
    const char *call; /* NULL: none fails */
    int after;        /* calls of it that go well before; negative: it has failed */
    int reason;
    bool no_tmpfile, no_link; /* what a file system lacks */
    int no_noreplace;         /* 0, or what it says to that */
    bool small;               /* reads and writes move few bytes at a time */
} fault;

static bool fails(const char *call)
{
    if (!fault.call || strcmp(fault.call, call) != 0 || fault.after-- != 0)
        return false;
    errno = fault.reason;
    return true;
}

static bool lacks(bool what, int reason)
{
    if (what)
        errno = reason;
    return what;
}

int __real_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, mode_t mode)
{
    if (fails("open") || lacks(fault.no_tmpfile && (flags & O_TMPFILE) == O_TMPFILE, EOPNOTSUPP))
        return -1;
    return __real_open(path, flags, mode);
}

int __real_fcntl(int fd, int command, long of);
int __wrap_fcntl(int fd, int command, long of);
int __wrap_fcntl(int fd, int command, long of)
{
    return fails("fcntl") ? -1 : __real_fcntl(fd, command, of);
}

ssize_t __real_write(int fd, const void *p, size_t n);
ssize_t __wrap_write(int fd, const void *p, size_t n);
ssize_t __wrap_write(int fd, const void *p, size_t n)
{
    return fails("write") ? -1 : __real_write(fd, p, fault.small && n > 999 ? 999 : n);
}

ssize_t __real_read(int fd, void *p, size_t n);
ssize_t __wrap_read(int fd, void *p, size_t n);
ssize_t __wrap_read(int fd, void *p, size_t n)
{
    return fails("read") ? -1 : __real_read(fd, p, fault.small && n > 999 ? 999 : n);
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    return fails("fsync") ? -1 : __real_fsync(fd);
}

int __real_fchmod(int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode)
{
    return fails("fchmod") ? -1 : __real_fchmod(fd, mode);
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd) /* closes in any case, as Linux does */
{
    bool failed = fails("close");
    int reason = errno, done = __real_close(fd);
    errno = failed ? reason : errno;
    return failed ? -1 : done;
}

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to)
{
    return fails("rename") ? -1 : __real_rename(from, to);
}

int __real_renameat2(int a, const char *from, int b, const char *to, unsigned flags);
int __wrap_renameat2(int a, const char *from, int b, const char *to, unsigned flags);
int __wrap_renameat2(int a, const char *from, int b, const char *to, unsigned flags)
{
    if (fails("renameat2") || lacks(fault.no_noreplace != 0, fault.no_noreplace))
        return -1;
    return __real_renameat2(a, from, b, to, flags);
}

int __real_link(const char *from, const char *to);
int __wrap_link(const char *from, const char *to);
int __wrap_link(const char *from, const char *to)
{
    return fails("link") || lacks(fault.no_link, EPERM) ? -1 : __real_link(from, to);
}

int __real_linkat(int a, const char *from, int b, const char *to, int flags);
int __wrap_linkat(int a, const char *from, int b, const char *to, int flags);
int __wrap_linkat(int a, const char *from, int b, const char *to, int flags)
{
    return fails("linkat") ? -1 : __real_linkat(a, from, b, to, flags);
}

/* ---- a folder that goes away ---------------------------------------------------------------- */

static char folder[64];

FIXTURE(make_folder)
{
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

FIXTURE(remove_folder)
{
    memset(&fault, 0, sizeof fault);
    entries(true);
    return rmdir(folder);
}

static const char *in_folder(const char *name)
{
    static char paths[2][512];
    static unsigned next;
    char *path = paths[next++ % 2];
    snprintf(path, 512, "%s/%s", folder, name);
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

TEST(new_and_replaced)
{
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

TEST(link_stays)
{
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

TEST(link_to_nothing)
{
    char path[256], target[256];
    struct stat st;
    snprintf(path, sizeof path, "%s", in_folder("link"));
    snprintf(target, sizeof target, "%s", in_folder("not_yet"));
    assert_int_equal(symlink("nowhere/at/all", path), 0);
    assert_int_equal(pith_file_write(path, "new", 3, NULL), PITH_ERR_IO);
    assert_int_equal(entries(false), 1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("not_yet", path), 0);
    assert_int_equal(pith_file_write(path, "new", 3, NULL), PITH_OK);
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_content(target, "new");
    assert_int_equal(entries(false), 2);
}

TEST(failures_leave_nothing)
{
    struct pith_error err;
    assert_int_equal(pith_file_write(in_folder("no/such"), "x", 1, &err), PITH_ERR_IO);
    char text[256];
    snprintf(text, sizeof text, "cannot create a file beside '%s': No such file or directory",
             in_folder("no/such"));
    assert_string_equal(err.text, text);
    assert_int_equal(pith_file_write(folder, "x", 1, &err), PITH_ERR_IO);
    assert_non_null(strstr(err.text, "is a folder"));
    assert_int_equal(entries(false), 0);
}

/* A full disk, as a limit on the length of files. */
TEST(no_space)
{
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

TEST(devices_are_written_to)
{
    struct stat st;
    struct pith_error err;
    assert_int_equal(pith_file_write("/dev/null", "x", 1, NULL), PITH_OK);
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    assert_int_equal(pith_file_write("/dev/full", "x", 1, &err), PITH_ERR_IO);
    assert_non_null(strstr(err.text, "No space left"));
}

TEST(reading)
{
    struct pith_error err;
    struct pith_buffer file = {NULL, 0};
    const char *path = in_folder("a");
    assert_int_equal(pith_file_load(path, 10, &file, &err), PITH_ERR_IO);
    assert_int_equal(pith_file_write(path, "", 0, NULL), PITH_OK);
    assert_int_equal(pith_file_load(path, 10, &file, &err), PITH_ERR_IO);
    assert_non_null(strstr(err.text, "empty input"));
    assert_int_equal(pith_file_write(path, "0123456789", 10, NULL), PITH_OK);
    assert_int_equal(pith_file_load(path, 9, &file, &err), PITH_ERR_LIMIT);
    char text[256];
    snprintf(text, sizeof text, "cannot read '%s': longer than 9 bytes", path);
    assert_string_equal(err.text, text);
    assert_int_equal(pith_file_load(folder, 9, &file, &err), PITH_ERR_IO);
    assert_null(file.data);
    assert_int_equal(pith_file_load(path, 10, &file, &err), PITH_OK);
    assert_int_equal(file.bytes, 10);
    pith_buffer_free(&file);
}

/* ---- every call fails once ------------------------------------------------------------------ */

static const char *const calls[] = {"open",   "write",     "fsync", "fchmod", "close",
                                    "rename", "renameat2", "link",  "linkat", "fcntl"};
enum { CALLS = sizeof calls / sizeof *calls, FILE_SYSTEMS = 6 };

static void file_system(int i) /* the best first */
{
    memset(&fault, 0, sizeof fault);
    fault.no_tmpfile = i > 0;
    static const int says[FILE_SYSTEMS] = {0, 0, EINVAL, ENOSYS, ENOTSUP, EINVAL};
    fault.no_noreplace = says[i];
    fault.no_link = i > 4;
}

/* One write with call number `after` of its kind failing; false: there are not so many. */
static bool write_with_fault(bool replace, int system, const char *call, int after, int reason)
{
    struct pith_error err = {0};
    const char *path = in_folder("a.pith");
    entries(true);
    file_system(system);
    if (replace)
        assert_int_equal(pith_file_write(path, "old", 3, NULL), PITH_OK);
    unsigned opened = open_files();
    fault.call = call;
    fault.after = after;
    fault.reason = reason;
    enum pith_status st = (replace ? pith_file_write : pith_file_write_new)(path, "newer", 5, &err);
    bool failed = fault.after < 0;
    fault.call = NULL;
    if (open_files() != opened)
        fail_msg("%s %d: files left open", call, after);
    if (entries(false) != (st == PITH_OK || replace))
        fail_msg("%s %d, file system %d: %u files, status %d", call, after, system, entries(false),
                 st);
    if (st == PITH_OK || replace)
        assert_content(path, st == PITH_OK ? "newer" : "old");
    if (st && (st != PITH_ERR_IO || !strstr(err.text, strerror(reason)) || !strstr(err.text, path)))
        fail_msg("%s %d: status %d '%s'", call, after, st, err.text);
    return failed;
}

TEST(every_call_fails_once)
{
    unsigned called = 0;
    for (int system = 0; system < FILE_SYSTEMS; system++)
        for (int replace = 0; replace < 2; replace++)
            for (int c = 0; c < CALLS; c++)
                for (int after = 0; write_with_fault(replace, system, calls[c], after, EIO);
                     after++)
                    called |= 1u << c;
    assert_int_equal(called, (1u << CALLS) - 1);
}

/* What may not be done fails the write; what only makes it safer, a sync of the folder, does not.
 */
TEST(which_failures_count)
{
    static const struct {
        const char *call;
        bool counts;
    } cases[] = {{"write", true}, {"fsync", true},  {"fchmod", true},
                 {"close", true}, {"rename", true}, {"linkat", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pith_error err;
        file_system(0);
        assert_int_equal(pith_file_write(in_folder("a"), "old", 3, NULL), PITH_OK);
        fault.call = cases[i].call;
        /* without a name, the first descriptor is duplicated; what is closed first is the file */
        fault.reason = ENOSPC;
        assert_int_equal(pith_file_write(in_folder("a"), "new", 3, &err), PITH_ERR_IO);
        assert_non_null(strstr(err.text, "No space left"));
        fault.call = NULL;
        assert_content(in_folder("a"), "old");
        assert_int_equal(entries(false), 1);
    }
}

TEST(a_name_that_is_taken)
{
    struct pith_error err;
    for (int system = 0; system < FILE_SYSTEMS; system++) {
        file_system(system);
        entries(true);
        assert_int_equal(pith_file_write_new(in_folder("a"), "first", 5, NULL), PITH_OK);
        assert_int_equal(pith_file_write_new(in_folder("a"), "second", 6, &err), PITH_ERR_IO);
        assert_non_null(strstr(err.text, "another process made it meanwhile"));
        assert_content(in_folder("a"), "first");
        assert_int_equal(entries(false), 1);
    }
}

TEST(signals_and_short_counts)
{
    static uint8_t many[100000];
    struct pith_buffer file;
    for (size_t i = 0; i < sizeof many; i++)
        many[i] = (uint8_t)(i * 7 + i / 251);
    fault.small = true;
    for (int at = 0; at < 3; at++) {
        fault.call = "write";
        fault.after = at;
        fault.reason = EINTR;
        assert_int_equal(pith_file_write(in_folder("a"), many, sizeof many, NULL), PITH_OK);
        assert_true(fault.after < 0);
        fault.call = "read";
        fault.after = at;
        assert_int_equal(pith_file_load(in_folder("a"), sizeof many, &file, NULL), PITH_OK);
        assert_true(fault.after < 0);
        assert_int_equal(file.bytes, sizeof many);
        assert_memory_equal(file.data, many, sizeof many);
        pith_buffer_free(&file);
    }
    assert_null(file.data);
    assert_int_equal(file.bytes, 0);
    pith_buffer_free(NULL);
    struct pith_error err;
    unsigned opened = open_files();
    fault.call = "read";
    fault.after = 1;
    fault.reason = EIO;
    assert_int_equal(pith_file_load(in_folder("a"), sizeof many, &file, &err), PITH_ERR_IO);
    assert_non_null(strstr(err.text, strerror(EIO)));
    assert_int_equal(open_files(), opened);
}

/* Pipes: of any length, up to the limit. */
TEST(pipes_are_read_to_their_end)
{
    static uint8_t many[200000];
    for (size_t i = 0; i < sizeof many; i++)
        many[i] = (uint8_t)(i * 5 + i / 253);
    static const size_t counts[] = {1, 65534, 65535, 65536, 65537, 131071, 131072, 131073, 200000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        for (uint64_t less = 0; less < 2; less++) {
            int ends[2];
            char name[32];
            struct pith_buffer file;
            struct pith_error err;
            assert_int_equal(pipe(ends), 0);
            pid_t child = fork();
            if (child == 0) {
                signal(SIGPIPE, SIG_DFL);
                close(ends[0]);
                size_t done = 0;
                while (done < counts[i]) {
                    ssize_t n = write(ends[1], many + done, counts[i] - done);
                    if (n < 0)
                        break;
                    done += (size_t)n;
                }
                _exit(0);
            }
            close(ends[1]);
            snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
            enum pith_status st = pith_file_load(name, counts[i] - less, &file, &err);
            close(ends[0]);
            waitpid(child, NULL, 0);
            assert_int_equal(st, less ? PITH_ERR_LIMIT : PITH_OK);
            if (!less) {
                assert_int_equal(file.bytes, counts[i]);
                assert_memory_equal(file.data, many, counts[i]);
                pith_buffer_free(&file);
            }
        }
    }
}

/* ---- names ---------------------------------------------------------------------------------- */

/* A file of two hours ago, or of now. */
static void put_old(const char *name, bool old)
{
    const struct timeval then[2] = {{time(NULL) - 7200, 0}, {time(NULL) - 7200, 0}};
    int fd = open(in_folder(name), O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    close(fd);
    if (old)
        assert_int_equal(utimes(in_folder(name), then), 0);
}

static bool is_there(const char *name)
{
    return access(in_folder(name), F_OK) == 0;
}

/* Of files beside the target those go that a process left which is gone, and no others. */
TEST(what_killed_processes_left)
{
    pid_t gone = fork();
    if (gone == 0)
        _exit(0);
    waitpid(gone, NULL, 0);
    const struct {
        const char *form;
        pid_t process;
        bool old, stays;
    } files[] = {
        {"a.pith.pith-%d-ABCDEF", gone, true, false},
        {"a.pith.pith-%d-abc123", gone, false, true},    /* of another machine, maybe */
        {"a.pith.pith-%d-ABCDEG", getpid(), true, true}, /* a live writer */
        {"a.pith.pith-%d-ABCDEFG", gone, true, true},
        {"a.pith.pith-%d-ABCDE", gone, true, true},
        {"a.pith.pith-%d+ABCDEF", gone, true, true},
        {"b.pith.pith-%d-ABCDEF", gone, true, true},
        {"a.pith.pitH-%d-ABCDEF", gone, true, true},
        {"a.pith.pith-%d-ABCDEF", 0, true, true},
        {"a.pith.pith-%d-ABCDEF", -gone, true, true},
    };
    for (int system = 0; system < 2; system++) {
        char name[64], link[64];
        struct stat st;
        file_system(system);
        for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
            snprintf(name, sizeof name, files[i].form, (int)files[i].process);
            put_old(name, files[i].old);
        }
        assert_int_equal(symlink("nowhere", in_folder("link")), 0);
        snprintf(link, sizeof link, "a.pith.pith-%d-LINKED", (int)gone);
        assert_int_equal(rename(in_folder("link"), in_folder(link)), 0);
        assert_int_equal(lutimes(in_folder(link), (struct timeval[2]){{1, 0}, {1, 0}}), 0);
        assert_int_equal(pith_file_write(in_folder("a.pith"), "new", 3, NULL), PITH_OK);
        assert_int_equal(lstat(in_folder(link), &st), 0);
        for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
            snprintf(name, sizeof name, files[i].form, (int)files[i].process);
            if (is_there(name) != files[i].stays)
                fail_msg("%s: %s", name, files[i].stays ? "is gone" : "stays");
        }
        entries(true);
    }
}

/* A process of another user cannot be checked: its file stays. */
TEST(files_of_other_users_stay)
{
    if (geteuid() != 0)
        skip();
    put_old("a.pith.pith-1-ABCDEF", true);
    assert_int_equal(chmod(folder, 0777), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(setuid(65534) || pith_file_write(in_folder("a.pith"), "new", 3, NULL));
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_true(is_there("a.pith.pith-1-ABCDEF"));
}

/* Ten at once, of which the list has room for eight: a handler removes those, and after a release
 * there is room again. */
TEST(files_being_written_are_known)
{
    enum { MANY = 10, KNOWN = 8 };
    static struct file_temp temps[MANY];
    char target[MANY][256];
    fault.no_tmpfile = true;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            snprintf(target[i], sizeof target[i], round ? "%s/t%d" : "%s/of the first round%d",
                     folder, i);
            int fd = pith_temp_make(&temps[i], target[i]);
            assert_true(fd >= 0);
            close(fd);
            assert_int_equal(strncmp(temps[i].path, target[i], strlen(target[i])), 0);
        }
        assert_int_equal(entries(false), MANY);
        if (round == 0) {
            pith_file_remove_temps();
            assert_int_equal(entries(false), MANY - KNOWN);
        } else {
            assert_int_equal(pith_temp_replace(&temps[0], target[0]), 0);
            pith_temp_release(&temps[0], false);
            pith_file_remove_temps();
            assert_int_equal(entries(false), 1 + MANY - KNOWN);
        }
        for (int i = round; i < MANY; i++)
            pith_temp_release(&temps[i], true);
        assert_int_equal(entries(true), round);
    }
}

/* Paths up to and beyond the longest that a name can be made of. */
TEST(long_paths)
{
    static char path[FILE_PATH_CAP + 8];
    for (int system = 0; system < 2; system++) {
        file_system(system);
        unsigned written = 0;
        for (size_t n = FILE_PATH_CAP - 40; n < FILE_PATH_CAP + 4; n++) {
            size_t at = (size_t)sprintf(path, "%s", folder);
            while (at + 3 < n)
                at += (size_t)sprintf(path + at, "/.");
            sprintf(path + at, at + 2 < n ? "//a" : "/a");
            assert_int_equal(strlen(path), n);
            struct pith_error err;
            enum pith_status st = pith_file_write(path, "x", 1, &err);
            written += st == PITH_OK;
            assert_true(st == PITH_OK || st == PITH_ERR_IO);
            if (entries(false) != (written > 0))
                fail_msg("file system %d, path of %zu bytes: status %d, %u files", system, n, st,
                         entries(false));
        }
        assert_true(written > 5 && written < 40);
        entries(true);
    }
}

TEST(modes)
{
    struct stat st;
    mode_t before = umask(027);
    assert_int_equal(pith_file_write(in_folder("a"), "x", 1, NULL), PITH_OK);
    umask(before);
    assert_int_equal(stat(in_folder("a"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
}

/* ---- pieces, and a look at the whole -------------------------------------------------------- */

static unsigned looked;

static enum pith_status look(const void *bytes, size_t n, struct pith_error *err)
{
    (void)err;
    looked++;
    assert_int_equal(n, 6);
    assert_memory_equal(bytes, "abcdef", 6);
    return looked == 1 ? PITH_OK : PITH_ERR_CORRUPT;
}

TEST(pieces_are_looked_at)
{
    const struct file_piece pieces[] = {{"ab", 2}, {"", 0}, {"cdef", 4}};
    struct pith_error err;
    const char *path = in_folder("a");
    looked = 0;
    unsigned opened = open_files();
    assert_int_equal(pith_file_write_pieces(path, true, pieces, 3, look, &err), PITH_OK);
    assert_content(path, "abcdef");
    assert_int_equal(pith_file_write_pieces(path, true, pieces, 3, look, &err), PITH_ERR_CORRUPT);
    assert_int_equal(looked, 2);
    assert_int_equal(pith_file_write_pieces(path, false, pieces, 1, NULL, &err), PITH_ERR_IO);
    assert_int_equal(pith_file_write_pieces(path, true, pieces, 1, NULL, &err), PITH_OK);
    assert_content(path, "ab");
    assert_int_equal(entries(false), 1);
    assert_int_equal(open_files(), opened);
}

RUN_EACH_TEST_WITH(make_folder, remove_folder)
