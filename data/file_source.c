/* SPDX-License-Identifier: MIT */
/* file_source.c - a data file as bytes: read in place when it is plain (a tar may be larger than
 * memory), in memory when it is gzip or a pipe: the beginning first, from which a reader is chosen
 * and which may say how long the whole is. Files are read, never mapped: one that shrinks meanwhile
 * gives an error, not a signal. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/bytes.h"
#include "data_source.h"
#include "npy_header.h"

#define BOUND_ANYHOW (UINT64_C(64) << 20)
#define BOUND_PER_BYTE 100u
#define BOUND_MOST (UINT64_C(4) << 30)
#define HEAD_BYTES ((size_t)1 << 17) /* more than the longest header */
#define READ_PIECE ((size_t)1 << 30)

static enum pith_status io_error(const struct file_source *f, struct pith_error *err)
{
    return pith_error_fill(err, PITH_ERR_IO, "%s: %s", f->name, strerror(errno));
}

uint64_t pith_input_bound(uint64_t max_bytes, uint64_t n)
{
    if (max_bytes)
        return max_bytes;
    return n < (BOUND_MOST - BOUND_ANYHOW) / BOUND_PER_BYTE ? BOUND_ANYHOW + n * BOUND_PER_BYTE
                                                            : BOUND_MOST;
}

enum pith_status pith_within_bound(uint64_t wanted, uint64_t max_bytes, uint64_t n,
                                   const char *name, struct pith_error *err)
{
    uint64_t bound = pith_input_bound(max_bytes, n);
    char many[32], most[32];
    if (wanted <= bound)
        return PITH_OK;
    return pith_error_fill(err, PITH_ERR_LIMIT,
                           "%s: %s bytes or more when inflated or decoded; allowed are %s "
                           "(--max-memory allows more)",
                           name, pith_count_text(wanted, many), pith_count_text(bound, most));
}

/* Reads until end or n bytes; *got: how many. A signal whose handler does not restart calls ends
 * it: a pipe may never end by itself. */
static enum pith_status read_some(const struct file_source *f, uint8_t *to, size_t n, size_t *got,
                                  struct pith_error *err)
{
    *got = 0;
    while (*got < n) {
        size_t piece = n - *got < READ_PIECE ? n - *got : READ_PIECE;
        ssize_t r = read(f->fd, to + *got, piece);
        if (r < 0)
            return io_error(f, err);
        if (r == 0)
            break;
        *got += (size_t)r;
    }
    return PITH_OK;
}

/* What is behind the bytes that are in `b` already, to the end; first_room: what is expected, b's
 * bytes at least. */
static enum pith_status read_all(const struct file_source *f, uint64_t first_room,
                                 uint64_t max_bytes, struct pith_buffer *b, struct pith_error *err)
{
    uint64_t room = first_room < max_bytes ? first_room + 1 : max_bytes;
    if (b->bytes > max_bytes)
        return pith_within_bound(b->bytes, max_bytes, 0, f->name, err);
    for (;;) {
        uint8_t *data = realloc(b->data, (size_t)room);
        if (!data)
            return pith_error_no_memory(err);
        b->data = data;
        size_t got;
        enum pith_status st = read_some(f, b->data + b->bytes, (size_t)room - b->bytes, &got, err);
        b->bytes += got;
        if (st != PITH_OK || b->bytes < room)
            return st;
        if (room >= max_bytes) {
            uint8_t next;
            st = read_some(f, &next, 1, &got, err);
            return st != PITH_OK || got == 0
                       ? st
                       : pith_within_bound(room + 1, max_bytes, 0, f->name, err);
        }
        room = room < max_bytes / 2 ? room * 2 : max_bytes;
    }
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

/* The packed bytes stay until all is wanted. */
static enum pith_status begin_gzip(struct file_source *f, struct pith_buffer packed,
                                   struct pith_error *err)
{
    struct pith_buffer head = {0};
    bool whole = false;
    enum pith_status st =
        pith_gzip_begin(packed.data, packed.bytes, HEAD_BYTES, f->name, &head, &whole, err);
    if (st == PITH_OK)
        take_memory(f, head);
    f->packed = packed;
    f->begun = !whole;
    return st;
}

/* A device never ends, unless it is empty. */
static enum pith_status refuse_device(const struct file_source *f, const struct stat *info,
                                      size_t got, struct pith_error *err)
{
    if (got == 0 || (!S_ISCHR(info->st_mode) && !S_ISBLK(info->st_mode)))
        return PITH_OK;
    return pith_error_fill(err, PITH_ERR_UNSUPPORTED, "%s: it is a device, not a file or a pipe",
                           f->name);
}

/* A plain file stays where it is; of anything else the beginning comes into memory. */
static enum pith_status look_inside(struct file_source *f, uint64_t max_bytes,
                                    struct pith_error *err)
{
    struct stat info;
    if (fstat(f->fd, &info) != 0)
        return io_error(f, err);
    if (S_ISDIR(info.st_mode))
        return pith_error_fill(err, PITH_ERR_IO, "%s: it is a folder", f->name);
    bool regular = S_ISREG(info.st_mode);
    uint8_t magic[3];
    size_t got = 0;
    enum pith_status st = PITH_OK;
    struct pith_buffer b = {0};
    if (regular) {
        f->bytes = (uint64_t)info.st_size;
        if (f->bytes >= sizeof magic)
            st = pith_source_at(f, 0, magic, sizeof magic, err);
        if (st != PITH_OK || f->bytes < sizeof magic || !pith_is_gzip(magic, sizeof magic))
            return st;
        st = read_all(f, f->bytes, pith_input_bound(max_bytes, UINT64_MAX), &b, err);
    } else {
        b.data = malloc(HEAD_BYTES);
        if (!b.data)
            return pith_error_no_memory(err);
        st = read_some(f, b.data, HEAD_BYTES, &got, err);
        b.bytes = got;
        if (st == PITH_OK)
            st = refuse_device(f, &info, got, err);
        if (st == PITH_OK && pith_is_gzip(b.data, b.bytes))
            st = read_all(f, 1 << 20, pith_input_bound(max_bytes, UINT64_MAX), &b, err);
    }
    if (st == PITH_OK && pith_is_gzip(b.data, b.bytes))
        return begin_gzip(f, b, err);
    if (st != PITH_OK) {
        free(b.data);
        return st;
    }
    f->begun = got == HEAD_BYTES;
    if (f->begun) {
        f->mem = b.data;
        f->bytes = b.bytes;
    } else {
        take_memory(f, b);
    }
    return PITH_OK;
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
    pith_buffer_free(&f->packed);
    *f = (struct file_source){.fd = -1};
}

enum pith_status pith_source_at(const struct file_source *f, uint64_t offset, void *to, size_t n,
                                struct pith_error *err)
{
    if (offset > f->bytes || n > f->bytes - offset)
        return pith_error_fill(err, PITH_ERR_CORRUPT,
                               "%s: ends at %llu bytes, %zu more are needed at %llu", f->name,
                               (unsigned long long)f->bytes, n, (unsigned long long)offset);
    if (f->mem) {
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

/* What is to come of a source that is begun: what its header says, or as much as is allowed. */
static enum pith_status find_length(const struct file_source *f, uint64_t max_bytes,
                                    uint64_t *declared, struct pith_error *err)
{
    enum pith_status st = PITH_OK;
    *declared = 0;
    if (pith_is_npy(f->mem, (size_t)f->bytes))
        st = pith_npy_bytes(f->mem, (size_t)f->bytes, f->name, declared, err);
    else if (pith_is_idx(f->mem, (size_t)f->bytes))
        *declared = pith_idx_bytes(f->mem, (size_t)f->bytes);
    uint64_t n = f->packed.data ? f->packed.bytes : UINT64_MAX, wanted = *declared;
    if (wanted == 0 && n != UINT64_MAX) /* gzip ends with the length modulo 2^32 */
        wanted = load_le32(f->packed.data + n - 4);
    return st == PITH_OK ? pith_within_bound(wanted, max_bytes, n, f->name, err) : st;
}

static enum pith_status load_rest(struct file_source *f, uint64_t max_bytes, struct pith_error *err)
{
    uint64_t declared;
    struct pith_buffer b = {0};
    enum pith_status st = find_length(f, max_bytes, &declared, err);
    if (st != PITH_OK)
        return st;
    uint64_t most =
        declared ? declared
                 : pith_input_bound(max_bytes, f->packed.data ? f->packed.bytes : UINT64_MAX);
    if (f->packed.data) {
        st = pith_gzip_read(f->packed.data, f->packed.bytes, most, f->name, &b, err);
    } else {
        b = (struct pith_buffer){f->mem, (size_t)f->bytes};
        f->mem = NULL;
        st = read_all(f, declared ? declared : f->bytes, most, &b, err);
    }
    if (st == PITH_ERR_LIMIT && declared)
        st = pith_error_fill(err, PITH_ERR_CORRUPT,
                             "%s: header declares %llu bytes in all, the file has more", f->name,
                             (unsigned long long)declared);
    if (st != PITH_OK) {
        free(b.data);
        return st;
    }
    take_memory(f, b);
    pith_buffer_free(&f->packed);
    f->begun = false;
    return PITH_OK;
}

enum pith_status pith_source_load(struct file_source *f, uint64_t max_bytes, struct pith_error *err)
{
    if (f->begun)
        return load_rest(f, max_bytes, err);
    if (f->fd < 0)
        return PITH_OK;
    if (lseek(f->fd, 0, SEEK_SET) < 0)
        return io_error(f, err);
    struct pith_buffer b = {0};
    enum pith_status st = pith_within_bound(f->bytes, max_bytes, f->bytes, f->name, err);
    if (st == PITH_OK)
        st = read_all(f, f->bytes, pith_input_bound(max_bytes, UINT64_MAX), &b, err);
    if (st == PITH_OK)
        take_memory(f, b);
    else
        free(b.data);
    return st;
}

enum pith_status pith_file_read(const char *path, uint64_t max_bytes, struct pith_buffer *file,
                                struct pith_error *err)
{
    if (!path || !file)
        return PITH_ERR_ARGUMENT;
    struct file_source f;
    enum pith_status st = pith_source_open(path, max_bytes, &f, err);
    if (st == PITH_OK)
        st = pith_source_load(&f, max_bytes, err);
    if (st == PITH_OK) {
        *file = (struct pith_buffer){f.mem, (size_t)f.bytes};
        f.mem = NULL;
    }
    pith_source_close(&f);
    return st;
}
