/* SPDX-License-Identifier: MIT */
/* file_source.c - a data file as bytes: read in place when it is plain (a tar may be larger than
 * memory), whole in memory when it is gzip or a pipe. Files are read, never mapped: one that
 * shrinks meanwhile gives an error, not a signal. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data_source.h"

#define DEFAULT_MAX_BYTES (4ull << 30)
#define READ_PIECE ((size_t)1 << 30)

static enum pith_status io_error(const struct file_source *f, struct pith_error *err)
{
    return pith_error_fill(err, PITH_ERR_IO, "%s: %s", f->name, strerror(errno));
}

/* Reads until end or n bytes; *got tells how many. */
static enum pith_status read_some(const struct file_source *f, uint8_t *to, size_t n, size_t *got,
                                  struct pith_error *err)
{
    *got = 0;
    while (*got < n) {
        size_t piece = n - *got < READ_PIECE ? n - *got : READ_PIECE;
        ssize_t r = read(f->fd, to + *got, piece);
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return io_error(f, err);
        if (r == 0)
            break;
        *got += (size_t)r;
    }
    return PITH_OK;
}

/* From the current position to the end; first_room: what is expected. */
static enum pith_status read_all(const struct file_source *f, uint64_t first_room,
                                 uint64_t max_bytes, struct pith_buffer *out,
                                 struct pith_error *err)
{
    uint64_t room = first_room < max_bytes ? first_room + 1 : max_bytes;
    struct pith_buffer b = {NULL, 0};
    enum pith_status st = PITH_OK;
    for (;;) {
        uint8_t *data = realloc(b.data, (size_t)room);
        if (!data) {
            st = pith_error_no_memory(err);
            break;
        }
        b.data = data;
        size_t got;
        st = read_some(f, b.data + b.bytes, (size_t)room - b.bytes, &got, err);
        b.bytes += got;
        if (st != PITH_OK || b.bytes < room)
            break;
        if (room == max_bytes) {
            st = pith_error_fill(err, PITH_ERR_LIMIT, "%s: larger than %llu bytes", f->name,
                                 (unsigned long long)max_bytes);
            break;
        }
        room = room < max_bytes / 2 ? room * 2 : max_bytes;
    }
    if (st == PITH_OK)
        *out = b;
    else
        free(b.data);
    return st;
}

static void take_memory(struct file_source *f, struct pith_buffer b)
{
    if (f->fd > STDERR_FILENO)
        close(f->fd);
    f->fd = -1;
    free(f->mem);
    f->mem = b.data;
    f->bytes = b.bytes;
}

static enum pith_status inflate_memory(struct file_source *f, uint64_t max_bytes,
                                       struct pith_error *err)
{
    if (!pith_is_gzip(f->mem, (size_t)f->bytes))
        return PITH_OK;
    struct pith_buffer out;
    enum pith_status st = pith_gzip_read(f->mem, (size_t)f->bytes, max_bytes, f->name, &out, err);
    if (st == PITH_OK)
        take_memory(f, out);
    return st;
}

/* A plain file stays where it is; anything else comes into memory. */
static enum pith_status look_inside(struct file_source *f, uint64_t max_bytes,
                                    struct pith_error *err)
{
    struct stat info;
    if (fstat(f->fd, &info) != 0)
        return io_error(f, err);
    if (S_ISDIR(info.st_mode))
        return pith_error_fill(err, PITH_ERR_IO, "%s: is a folder", f->name);
    bool regular = S_ISREG(info.st_mode);
    if (regular) {
        uint8_t head[3];
        f->bytes = (uint64_t)info.st_size;
        if (f->bytes < sizeof head)
            return PITH_OK;
        enum pith_status st = pith_source_at(f, 0, head, sizeof head, err);
        if (st != PITH_OK || !pith_is_gzip(head, sizeof head))
            return st;
    }
    struct pith_buffer b;
    enum pith_status st = read_all(f, regular ? f->bytes : 1 << 20, max_bytes, &b, err);
    if (st != PITH_OK)
        return st;
    take_memory(f, b);
    return inflate_memory(f, max_bytes, err);
}

enum pith_status pith_source_open(const char *path, uint64_t max_bytes, struct file_source *f,
                                  struct pith_error *err)
{
    bool stdin_wanted = strcmp(path, "-") == 0;
    *f = (struct file_source){.fd = -1, .name = strdup(stdin_wanted ? "standard input" : path)};
    if (!f->name)
        return pith_error_no_memory(err);
    f->fd = stdin_wanted ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    enum pith_status st = f->fd < 0 ? io_error(f, err) : look_inside(f, max_bytes, err);
    if (st != PITH_OK)
        pith_source_close(f);
    return st;
}

void pith_source_close(struct file_source *f)
{
    if (f->fd > STDERR_FILENO)
        close(f->fd);
    free(f->mem);
    free(f->name);
    *f = (struct file_source){.fd = -1};
}

enum pith_status pith_source_at(const struct file_source *f, uint64_t offset, void *to, size_t n,
                                struct pith_error *err)
{
    if (offset > f->bytes || n > f->bytes - offset)
        return pith_error_fill(err, PITH_ERR_CORRUPT,
                               "%s: ends at %llu bytes, %zu more wanted at %llu", f->name,
                               (unsigned long long)f->bytes, n, (unsigned long long)offset);
    if (f->fd < 0) {
        memcpy(to, f->mem + offset, n);
        return PITH_OK;
    }
    size_t got = 0;
    while (got < n) {
        ssize_t r = pread(f->fd, (uint8_t *)to + got, n - got, (off_t)(offset + got));
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return io_error(f, err);
        if (r == 0)
            return pith_error_fill(err, PITH_ERR_IO, "%s: became shorter while it was read",
                                   f->name);
        got += (size_t)r;
    }
    return PITH_OK;
}

enum pith_status pith_source_load(struct file_source *f, uint64_t max_bytes, struct pith_error *err)
{
    if (f->fd < 0)
        return PITH_OK;
    if (lseek(f->fd, 0, SEEK_SET) < 0)
        return io_error(f, err);
    struct pith_buffer b;
    enum pith_status st = read_all(f, f->bytes, max_bytes, &b, err);
    if (st == PITH_OK)
        take_memory(f, b);
    return st;
}

enum pith_status pith_file_read(const char *path, uint64_t max_bytes, struct pith_buffer *file,
                                struct pith_error *err)
{
    uint64_t limit = max_bytes ? max_bytes : DEFAULT_MAX_BYTES;
    struct file_source f;
    enum pith_status st = pith_source_open(path, limit, &f, err);
    if (st == PITH_OK)
        st = pith_source_load(&f, limit, err);
    if (st == PITH_OK) {
        *file = (struct pith_buffer){f.mem, (size_t)f.bytes};
        f.mem = NULL;
    }
    pith_source_close(&f);
    return st;
}
