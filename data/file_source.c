/* SPDX-License-Identifier: MIT */
/* file_source.c - a data file as bytes: read in place when it is plain (a tar may be larger than
 * memory), in memory when it is compressed or a pipe: the beginning first, from which a reader is
 * chosen and which may say how long the whole is. Files are read, never mapped: one that shrinks
 * meanwhile gives an error, not a signal. */
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
#define DEFLATE_MOST 1032u           /* bytes that one of deflate stands for */
#define HEAD_BYTES ((size_t)1 << 17) /* more than the longest header */

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

/* All that follows what is in memory; first_room: how many bytes are expected in all. */
static enum pith_status read_all(struct file_source *f, uint64_t first_room, uint64_t max_bytes,
                                 struct pith_error *err)
{
    uint64_t room = first_room < max_bytes ? first_room + 1 : max_bytes;
    if (f->bytes > max_bytes)
        return pith_within_bound(f->bytes, max_bytes, 0, f->name, err);
    for (;;) {
        uint8_t *data = realloc(f->mem, (size_t)room);
        if (!data)
            return pith_error_no_memory(err);
        f->mem = data;
        size_t got;
        enum pith_status st =
            pith_unpack_read(f->rest, data + f->bytes, (size_t)(room - f->bytes), &got, err);
        if (st != PITH_OK)
            return st;
        f->bytes += got;
        if (f->bytes < room)
            return PITH_OK;
        if (room >= max_bytes) {
            uint8_t next;
            st = pith_unpack_read(f->rest, &next, 1, &got, err);
            return st != PITH_OK || got == 0
                       ? st
                       : pith_within_bound(room + 1, max_bytes, 0, f->name, err);
        }
        room = room < max_bytes / 2 ? room * 2 : max_bytes;
    }
}

/* All of it is in memory. */
static void end_rest(struct file_source *f)
{
    if (f->fd > STDERR_FILENO)
        close(f->fd);
    f->fd = -1;
    pith_unpack_close(f->rest);
    f->rest = NULL;
}

/* The beginning of what is packed or a pipe. A device never ends, unless it is empty. */
static enum pith_status begin_rest(struct file_source *f, const struct stat *info,
                                   struct pith_error *err)
{
    size_t got = 0;
    enum pith_status st = pith_unpack_open(f->fd, f->name, &f->rest, err);
    uint8_t *head = malloc(HEAD_BYTES);
    if (st == PITH_OK)
        st = head ? pith_unpack_read(f->rest, head, HEAD_BYTES, &got, err)
                  : pith_error_no_memory(err);
    if (st == PITH_OK && got > 0 && (S_ISCHR(info->st_mode) || S_ISBLK(info->st_mode)))
        st = pith_error_fill(err, PITH_ERR_UNSUPPORTED, "%s: it is a device, not a file or a pipe",
                             f->name);
    if (st != PITH_OK) {
        free(head);
        return st;
    }
    f->packed_bytes = S_ISREG(info->st_mode) ? f->bytes : UINT64_MAX;
    f->mem = head;
    f->bytes = got;
    if (got < HEAD_BYTES)
        end_rest(f);
    return PITH_OK;
}

/* A plain file stays where it is; of anything else the beginning comes into memory. */
static enum pith_status look_inside(struct file_source *f, struct pith_error *err)
{
    struct stat info;
    uint8_t magic[8];
    if (fstat(f->fd, &info) != 0)
        return io_error(f, err);
    if (S_ISDIR(info.st_mode))
        return pith_error_fill(err, PITH_ERR_IO, "%s: it is a folder", f->name);
    if (!S_ISREG(info.st_mode) || info.st_size == 0)
        return begin_rest(f, &info, err);
    f->bytes = (uint64_t)info.st_size;
    size_t n = f->bytes < sizeof magic ? (size_t)f->bytes : sizeof magic;
    enum pith_status st = pith_source_at(f, 0, magic, n, err);
    if (st != PITH_OK || !pith_is_packed(magic, n))
        return st;
    if (magic[0] == 0x1f && n == sizeof magic) /* gzip ends with the length modulo 2^32 */
        st = pith_source_at(f, f->bytes - 4, magic, 4, err);
    else
        memset(magic, 0, 4);
    f->least = load_le32(magic);
    return st == PITH_OK ? begin_rest(f, &info, err) : st;
}

enum pith_status pith_source_open(const char *path, struct file_source *f, struct pith_error *err)
{
    bool stdin_wanted = strcmp(path, "-") == 0;
    *f = (struct file_source){.fd = -1, .name = strdup(stdin_wanted ? "standard input" : path)};
    if (!f->name)
        return pith_error_no_memory(err);
    f->fd = stdin_wanted ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    return f->fd < 0 ? io_error(f, err) : look_inside(f, err);
}

void pith_source_close(struct file_source *f)
{
    end_rest(f);
    free(f->mem);
    free(f->name);
    *f = (struct file_source){.fd = -1};
}

void pith_source_replace(struct file_source *f, struct pith_buffer *b)
{
    end_rest(f);
    free(f->mem);
    f->mem = b->data;
    f->bytes = b->bytes;
    *b = (struct pith_buffer){0};
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
    uint64_t wanted = *declared;
    if (wanted == 0 && f->least / DEFLATE_MOST <= f->packed_bytes) /* else it is cut off */
        wanted = f->least;
    return st == PITH_OK ? pith_within_bound(wanted, max_bytes, f->packed_bytes, f->name, err) : st;
}

static enum pith_status load_rest(struct file_source *f, uint64_t max_bytes, struct pith_error *err)
{
    uint64_t declared;
    enum pith_status st = find_length(f, max_bytes, &declared, err);
    if (st != PITH_OK)
        return st;
    st = read_all(f, declared ? declared : f->bytes,
                  declared ? declared : pith_input_bound(max_bytes, f->packed_bytes), err);
    if (st == PITH_ERR_LIMIT && declared)
        st = pith_error_fill(err, PITH_ERR_CORRUPT,
                             "%s: header declares %llu bytes in all, the file has more", f->name,
                             (unsigned long long)declared);
    if (st == PITH_OK)
        end_rest(f);
    return st;
}

enum pith_status pith_source_load(struct file_source *f, uint64_t max_bytes, struct pith_error *err)
{
    if (f->rest)
        return load_rest(f, max_bytes, err);
    if (f->fd < 0)
        return PITH_OK;
    enum pith_status st = pith_within_bound(f->bytes, max_bytes, f->bytes, f->name, err);
    if (st != PITH_OK)
        return st;
    uint8_t *whole = malloc((size_t)f->bytes + 1);
    st = whole ? pith_source_at(f, 0, whole, (size_t)f->bytes, err) : pith_error_no_memory(err);
    if (st != PITH_OK) {
        free(whole);
        return st;
    }
    f->mem = whole;
    end_rest(f);
    return PITH_OK;
}

enum pith_status pith_file_read(const char *path, uint64_t max_bytes, struct pith_buffer *file,
                                struct pith_error *err)
{
    if (!path || !file)
        return PITH_ERR_ARGUMENT;
    struct file_source f;
    enum pith_status st = pith_source_open(path, &f, err);
    if (st == PITH_OK)
        st = pith_source_load(&f, max_bytes, err);
    if (st == PITH_OK) {
        *file = (struct pith_buffer){f.mem, (size_t)f.bytes};
        f.mem = NULL;
    }
    pith_source_close(&f);
    return st;
}
