/* SPDX-License-Identifier: MIT */
/* file_write.c - files are written whole or not at all: a temporary file in the same folder (so
 * that all stays inside one file system), written, synced, named, the folder synced. A
 * reader sees the old content or the new one, also after a power cut. A new file is given its name
 * by a call that fails where the name exists, so of several processes one makes it and the others
 * get an error. */
#define _GNU_SOURCE
#include "file_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "error_fill.h"
#include "file_temp.h"

#define PIPE_MAX_BYTES (UINT64_C(4) << 30)
#define CHUNK_BYTES (UINT64_C(1) << 30) /* Linux writes at most 2^31 - 4096 bytes a call */

static enum pith_status io_error(struct pith_error *err, const char *what, const char *path)
{
    int reason = errno;
    char text[128];
    return pith_error_fill(err, PITH_ERR_IO, "cannot %s '%s': %s", what, path,
                           strerror_r(reason, text, sizeof text));
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool write_all(int fd, const uint8_t *p, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, p, n < CHUNK_BYTES ? n : CHUNK_BYTES);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return false;
        p += done;
        n -= (size_t)done;
    }
    return true;
}

/* What the new file's mode shall be: that of the file it replaces, else what umask leaves. */
static mode_t final_mode(const char *path)
{
    struct stat old;
    if (stat(path, &old) == 0 && S_ISREG(old.st_mode))
        return old.st_mode & 0777;
    mode_t mask = 022;
    FILE *status = fopen("/proc/self/status", "re"); /* umask() itself cannot be read safely */
    if (!status)
        return 0666 & ~mask;
    char line[128];
    unsigned value;
    while (fgets(line, sizeof line, status))
        if (sscanf(line, "Umask: %o", &value) == 1)
            mask = (mode_t)value;
    fclose(status);
    return 0666 & ~mask;
}

/* A folder that cannot be opened or synced (some network file systems) is no failure of the file.
 */
static void sync_folder(const char *path)
{
    char folder[FILE_PATH_CAP];
    const char *slash = strrchr(path, '/');
    if (!slash)
        snprintf(folder, sizeof folder, ".");
    else
        snprintf(folder, sizeof folder, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)fsync(fd);
    (void)close(fd);
}

/* What a file is made of. */
struct content {
    const struct file_piece *pieces;
    uint32_t n;
    file_check *check; /* NULL: none */
};

static bool write_pieces(int fd, const struct content *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (!write_all(fd, c->pieces[i].bytes, c->pieces[i].n))
            return false;
    return true;
}

static bool fill_and_sync(int fd, mode_t mode, const struct content *c)
{
    return write_pieces(fd, c) && fchmod(fd, mode) == 0 && fsync(fd) == 0;
}

/* Pages of a mapping that are never read take no memory: a check that skips the elements of tensors
 * does not hold the file. */
static enum pith_status check_file(int fd, const struct content *c, const char *path,
                                   struct pith_error *err)
{
    size_t n = 0;
    for (uint32_t i = 0; i < c->n; i++)
        n += c->pieces[i].n;
    if (!c->check)
        return PITH_OK;
    void *p = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return io_error(err, "map", path);
    enum pith_status st = c->check(p, n, err);
    (void)munmap(p, n);
    return st;
}

static bool close_file(int fd, bool ok)
{
    int reason = errno;
    if (close(fd) != 0 && ok)
        return false;
    errno = reason;
    return ok;
}

/* Through a symbolic link, the file it points to is replaced, or made, and the link stays. */
static const char *resolve(const char *path, char real[FILE_PATH_CAP])
{
    struct stat st;
    if (lstat(path, &st) != 0 || !S_ISLNK(st.st_mode))
        return path;
    char *found = realpath(path, NULL), text[FILE_PATH_CAP];
    if (found) {
        int n = snprintf(real, FILE_PATH_CAP, "%s", found);
        free(found);
        return n > 0 && (unsigned)n < FILE_PATH_CAP ? real : path;
    }
    ssize_t bytes = readlink(path, text, sizeof text - 1);
    const char *slash = strrchr(path, '/');
    if (bytes <= 0)
        return path;
    text[bytes] = '\0';
    int folder = text[0] == '/' || !slash ? 0 : (int)(slash - path) + 1;
    int n = snprintf(real, FILE_PATH_CAP, "%.*s%s", folder, path, text);
    return n > 0 && (unsigned)n < FILE_PATH_CAP ? real : path;
}

/* Devices, pipes and the like cannot be renamed over: they are written as they are. */
static enum pith_status write_special(const char *path, const void *bytes, size_t n,
                                      struct pith_error *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return io_error(err, "open", path);
    bool ok = write_all(fd, bytes, n);
    int reason = errno;
    if (close(fd) != 0 && ok)
        return io_error(err, "write", path);
    errno = reason;
    return ok ? PITH_OK : io_error(err, "write", path);
}

static enum pith_status name_error(struct pith_error *err, const char *path)
{
    if (errno != EEXIST)
        return io_error(err, "write", path);
    return pith_error_fill(err, PITH_ERR_IO, "cannot write '%s': another process made it meanwhile",
                           path);
}

/* `target` is `path`, links followed. */
static enum pith_status write_regular(const char *path, const char *target, bool replace,
                                      const struct content *c, struct pith_error *err)
{
    struct file_temp temp;
    mode_t mode = final_mode(target);
    int fd = pith_temp_make(&temp, target);
    if (fd < 0)
        return io_error(err, "create a file beside", path);
    bool ok = fill_and_sync(fd, mode, c);
    enum pith_status st = ok ? check_file(fd, c, path, err) : PITH_OK;
    ok = close_file(fd, ok);
    if (!ok)
        st = io_error(err, "write", path);
    else if (!st && (replace ? pith_temp_replace : pith_temp_new)(&temp, target) != 0)
        st = name_error(err, path);
    pith_temp_release(&temp, st != PITH_OK);
    if (!st)
        sync_folder(target);
    return st;
}

static enum pith_status write_file(const char *path, bool replace, const void *bytes, size_t n,
                                   struct pith_error *err)
{
    const struct file_piece whole = {bytes, n};
    const struct content content = {&whole, 1, NULL};
    char real[FILE_PATH_CAP];
    struct stat old;
    const char *target = resolve(path, real);
    if (stat(target, &old) != 0 || S_ISREG(old.st_mode))
        return write_regular(path, target, replace, &content, err);
    if (S_ISDIR(old.st_mode))
        return pith_error_fill(err, PITH_ERR_IO, "cannot write '%s': it is a folder", path);
    return write_special(path, bytes, n, err);
}

enum pith_status pith_file_write_pieces(const char *path, bool replace,
                                        const struct file_piece *pieces, uint32_t n_pieces,
                                        file_check *check, struct pith_error *err)
{
    char real[FILE_PATH_CAP];
    const struct content content = {pieces, n_pieces, check};
    return write_regular(path, resolve(path, real), replace, &content, err);
}

enum pith_status pith_file_write(const char *path, const void *bytes, size_t n,
                                 struct pith_error *err)
{
    if (!path || (n > 0 && !bytes))
        return PITH_ERR_ARGUMENT;
    return write_file(path, true, bytes, n, err);
}

enum pith_status pith_file_write_new(const char *path, const void *bytes, size_t n,
                                     struct pith_error *err)
{
    if (!path || (n > 0 && !bytes))
        return PITH_ERR_ARGUMENT;
    return write_file(path, false, bytes, n, err);
}

/* ---- reading --------------------------------------------------------------------------------- */

static enum pith_status too_long(const char *path, uint64_t max_bytes, struct pith_error *err)
{
    return pith_error_fill(err, PITH_ERR_LIMIT, "cannot read '%s': longer than %llu bytes", path,
                           (unsigned long long)max_bytes);
}

/* Grows while bytes come: right for pipes, and for regular files one allocation of their size plus
 * one byte, which proves the end. */
static enum pith_status read_all(int fd, const char *path, size_t first, uint64_t max_bytes,
                                 struct pith_buffer *file, struct pith_error *err)
{
    size_t cap = first + 1;
    file->bytes = 0;
    file->data = malloc(cap);
    if (!file->data)
        return pith_error_no_memory(err);
    for (;;) {
        if (file->bytes == cap) {
            uint8_t *more = cap > SIZE_MAX / 2 ? NULL : realloc(file->data, cap * 2);
            if (!more)
                return pith_error_no_memory(err);
            file->data = more;
            cap *= 2;
        }
        size_t want = cap - file->bytes;
        ssize_t got = read(fd, file->data + file->bytes, want < CHUNK_BYTES ? want : CHUNK_BYTES);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return io_error(err, "read", path);
        if (got == 0)
            return PITH_OK;
        file->bytes += (size_t)got;
        if (file->bytes > max_bytes)
            return too_long(path, max_bytes, err);
    }
}

static enum pith_status read_open(int fd, const char *path, uint64_t max_bytes,
                                  struct pith_buffer *file, struct pith_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return io_error(err, "read", path);
    if (S_ISDIR(st.st_mode))
        return pith_error_fill(err, PITH_ERR_IO, "cannot read '%s': it is a folder", path);
    size_t first = 65535;
    if (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)) { /* one that never ends, unless it is empty */
        char byte;
        if (read(fd, &byte, 1) > 0)
            return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                                   "cannot read '%s': it is a device, not a file or a pipe", path);
    }
    if (!S_ISREG(st.st_mode) && max_bytes > PIPE_MAX_BYTES)
        max_bytes = PIPE_MAX_BYTES;
    if (S_ISREG(st.st_mode)) {
        if ((uint64_t)st.st_size > max_bytes || (uint64_t)st.st_size > SIZE_MAX / 2)
            return too_long(path, max_bytes, err);
        first = (size_t)st.st_size;
    }
    struct pith_buffer got = {NULL, 0};
    enum pith_status status = read_all(fd, path, first, max_bytes, &got, err);
    if (!status && got.bytes == 0)
        status = pith_error_fill(err, PITH_ERR_IO, "cannot read '%s': empty input", path);
    if (status)
        pith_buffer_free(&got);
    else
        *file = got;
    return status;
}

enum pith_status pith_file_load(const char *path, uint64_t max_bytes, struct pith_buffer *file,
                                struct pith_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return io_error(err, "open", path);
    enum pith_status st = read_open(fd, path, max_bytes, file, err);
    (void)close(fd);
    return st;
}
