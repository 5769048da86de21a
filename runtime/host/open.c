/* SPDX-License-Identifier: MIT */
/* A session: an image (mapped, read or borrowed) and a plan in memory of its own. Large files are
 * mapped read-only, so that processes that open the same model share its pages; small ones, and
 * what cannot be mapped (pipes), are read whole. */
#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE /* madvise */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "host/checked_opts.h"
#include "host/large_memory.h"
#include "pith_host.h"

#define DEFAULT_MAX_BYTES (UINT64_C(4) << 30)
/* A pipe's first read; the buffer doubles from there. */
#define READ_BYTES 65536u
#define MAPPED_BYTES (1 << 20) /* from here on */

enum image_kind { IMAGE_BORROWED, IMAGE_MAPPED, IMAGE_READ };

/* The plan points into the image, so the image outlives it. */
struct pith_session {
    enum image_kind kind;
    const void *image; /* owned unless borrowed */
    size_t bytes;
    void *memory; /* owned: the plan lives in it */
    struct pith_need need;
    struct pith_plan *plan;
};

/* The cast takes const away from what was allocated here. */
static void release_image(struct pith_session *s)
{
    if (s->kind == IMAGE_MAPPED)
        munmap((void *)(uintptr_t)s->image, s->bytes);
    else if (s->kind == IMAGE_READ)
        free((void *)(uintptr_t)s->image);
}

void pith_close(struct pith_session *s)
{
    if (!s)
        return;
    release_image(s);
    free(s->memory);
    free(s);
}

struct pith_plan *pith_plan_of(struct pith_session *s)
{
    if (!s)
        return NULL;
    return s->plan;
}

const void *pith_image_of(const struct pith_session *s, size_t *bytes)
{
    if (!s || !bytes)
        return NULL;
    *bytes = s->bytes;
    return s->image;
}

void pith_session_need(const struct pith_session *s, struct pith_need *need)
{
    if (!s || !need)
        return;
    *need = s->need;
}

/* ---- images --------------------------------------------------------------------------------- */

/* All of a file whose length is not known. The buffer doubles up to `max`. Twice as much each
 * time: linear in the end, and never more than twice what is needed. */
static enum pith_status read_all(int fd, uint64_t max, struct pith_session *s)
{
    uint8_t *data = NULL;
    size_t room = 0, used = 0;
    for (;;) {
        if (used == room) {
            size_t more = room ? 2 * room : READ_BYTES;
            uint8_t *grown = room < max && more > room ? realloc(data, more) : NULL;
            if (!grown) {
                free(data);
                return room < max ? PITH_ERR_MEMORY : PITH_ERR_LIMIT;
            }
            data = grown;
            room = more;
        }
        ssize_t n = read(fd, data + used, room - used);
        /* A signal is no error. */
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int why = errno;
            free(data);
            errno = why;
            return PITH_ERR_IO;
        }
        if (n == 0)
            break;
        used += (size_t)n;
    }
    uint8_t *exact = used > 0 ? realloc(data, used) : NULL;
    s->kind = IMAGE_READ;
    s->image = exact ? exact : data;
    s->bytes = used;
    return PITH_OK;
}

/* A file of no bytes cannot be mapped; the gate then says what is wrong with it. */
static enum pith_status map_or_read(int fd, uint64_t max, bool copy, struct pith_session *s)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return PITH_ERR_IO;
    if (S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        return PITH_ERR_IO;
    }
    if (S_ISREG(st.st_mode) && st.st_size >= MAPPED_BYTES && !copy) {
        if ((uint64_t)st.st_size > SIZE_MAX / 2)
            return PITH_ERR_LIMIT;
        /* Pages are shared among processes and come from the cache of files; nothing is read
         * that no kernel touches. */
        void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p != MAP_FAILED) {
            s->kind = IMAGE_MAPPED;
            s->image = p;
            s->bytes = (size_t)st.st_size;
            return PITH_OK;
        }
    }
    return read_all(fd, max, s);
}

/* errno is kept across close(), which may set it. */
static enum pith_status load_image(const char *path, uint64_t max, bool copy,
                                   struct pith_session *s, struct pith_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    enum pith_status st = fd < 0 ? PITH_ERR_IO : map_or_read(fd, max, copy, s);
    int why = errno;
    if (fd >= 0)
        close(fd);
    if (st == PITH_ERR_IO)
        return pith_error_set(err, st, "cannot read '%s': %s", path, strerror(why));
    if (st)
        return pith_error_set(err, st, "cannot read '%s': %s", path, pith_status_text(st));
    return PITH_OK;
}

/* ---- plans ---------------------------------------------------------------------------------- */

/* Working memory with which coded weights are decoded by several threads at once: for so many of
 * them, as long as that is no more than this. It is given back when the plan is made. Weights of
 * one network are decoded by several threads only where that takes little more memory: the peak
 * is what a small machine has to have. */
#define DECODE_AT_ONCE 16u
#define DECODE_BYTES (UINT64_C(16) << 20)

static uint64_t decode_bytes(const struct pith_opts *opts, const struct pith_need *need)
{
    uint64_t bytes = need->init_bytes, room = bytes > need->arena_bytes ? bytes : need->arena_bytes;
    if (!opts->parallel_for || bytes == 0 || bytes > DECODE_BYTES / 2 ||
        opts->flags & PITH_FLAG_INIT_APART)
        return 0;
    bytes *= DECODE_AT_ONCE + 1; /* one for the table of what is decoded where */
    bytes = bytes < DECODE_BYTES ? bytes : DECODE_BYTES;
    return bytes <= room ? 0 : bytes / need->align * need->align;
}

/* Gives the whole pages in [begin, end) back to the system: zeros, or the file's bytes, come where
 * they are touched again. Where that cannot be done they stay. */
static void give_back(uintptr_t begin, uintptr_t end)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    begin = (begin + page - 1) / page * page;
    end = end / page * page;
    if (begin < end)
        (void)madvise((void *)begin, end - begin, MADV_DONTNEED);
}

/* A finished plan keeps its weights and its arena. What decoding took beyond the arena is not
 * touched again, and of a mapped image that was mostly decoded little is read. */
static void release_init(const struct pith_session *s, const struct pith_opts *opts)
{
    const struct pith_need *n = &s->need;
    bool inside = !(opts->flags & PITH_FLAG_INIT_APART);
    uintptr_t end = (uintptr_t)s->memory + n->bytes, image = (uintptr_t)s->image;
    if (inside && n->init_bytes > n->arena_bytes)
        give_back(end - (n->init_bytes - n->arena_bytes), end);
    if (s->kind == IMAGE_MAPPED && n->weights_bytes >= s->bytes / 2)
        give_back(image, image + s->bytes);
}

static enum pith_status init_plan(struct pith_session *s, const struct pith_opts *opts)
{
    s->memory = pith_large_memory(s->need.align, s->need.bytes);
    enum pith_status st = s->memory ? pith_plan_init(s->memory, (size_t)s->need.bytes, s->image,
                                                     s->bytes, opts, &s->plan)
                                    : PITH_ERR_MEMORY;
    if (!st)
        release_init(s, opts);
    return st;
}

/* Two sizes: with working memory apart the plan itself may be smaller. */
static enum pith_status make_plan(struct pith_session *s, const struct pith_opts *given)
{
    enum pith_status st = pith_plan_size(s->image, s->bytes, given, &s->need);
    if (st)
        return st;
    struct pith_opts opts = checked_opts(given);
    uint64_t bytes = decode_bytes(&opts, &s->need);
    opts.init_memory = bytes ? pith_large_memory(s->need.align, bytes) : opts.init_memory;
    if (!bytes || !opts.init_memory) /* without, it is decoded one after the other */
        return init_plan(s, &opts);
    void *memory = opts.init_memory;
    opts.init_memory_bytes = bytes;
    opts.flags |= PITH_FLAG_INIT_APART;
    st = pith_plan_size(s->image, s->bytes, &opts, &s->need);
    if (!st)
        st = init_plan(s, &opts);
    free(memory);
    return st;
}

/* The core returns a status; validating again finds the offset. name NULL: an image in memory.

 * The second reading costs time in the case of an error alone. */
static void explain(const struct pith_session *s, const struct pith_opts *opts, const char *name,
                    enum pith_status st, struct pith_error *err)
{
    struct pith_error where;
    const char *before = name ? "'" : "", *after = name ? "': " : "";
    memset(&where, 0, sizeof where);
    if (!err)
        return;
    if (!name)
        name = "";
    if (pith_blob_check(s->image, s->bytes, opts ? opts->flags : 0, &where) == st) {
        err->chunk = where.chunk;
        err->offset = where.offset;
        pith_error_set(err, st, "%s%s%s%s at byte %llu", before, name, after, pith_status_text(st),
                       (unsigned long long)where.offset);
        return;
    }
    err->chunk = 0;
    err->offset = 0;
    pith_error_set(err, st, "%s%s%s%s", before, name, after, pith_status_text(st));
}

/* One place where a session that could not be finished is taken apart. */
static enum pith_status finish_open(struct pith_session *made, const struct pith_opts *opts,
                                    const char *name, struct pith_session **s,
                                    struct pith_error *err)
{
    enum pith_status st = make_plan(made, opts);
    if (st) {
        explain(made, opts, name, st, err);
        pith_close(made);
        return st;
    }
    *s = made;
    return PITH_OK;
}

enum pith_status pith_open_memory(const void *image, size_t bytes, const struct pith_opts *opts,
                                  struct pith_session **s, struct pith_error *err)
{
    if (!image || !s)
        return PITH_ERR_ARGUMENT;
    struct pith_session *made = calloc(1, sizeof *made);
    if (!made)
        return pith_error_set(err, PITH_ERR_MEMORY, "%s", pith_status_text(PITH_ERR_MEMORY));
    made->kind = IMAGE_BORROWED;
    made->image = image;
    made->bytes = bytes;
    return finish_open(made, opts, NULL, s, err);
}

enum pith_status pith_open(const char *path, const struct pith_opts *opts, struct pith_session **s,
                           struct pith_error *err)
{
    if (!path || !s ||
        (opts &&
         (opts->size_bytes < sizeof opts->size_bytes || opts->size_bytes > PITH_MAX_OPTS_BYTES)))
        return PITH_ERR_ARGUMENT;
    struct pith_session *made = calloc(1, sizeof *made);
    uint64_t max = opts && opts->max_bytes ? opts->max_bytes : DEFAULT_MAX_BYTES;
    if (!made)
        return pith_error_set(err, PITH_ERR_MEMORY, "cannot open '%s': out of memory", path);
    bool copy = opts && opts->flags & PITH_OPEN_READ;
    enum pith_status st = load_image(path, max, copy, made, err);
    if (st) {
        free(made);
        return st;
    }
    return finish_open(made, opts, path, s, err);
}
