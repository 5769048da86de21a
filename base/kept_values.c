/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* O_TMPFILE */
#include "kept_values.h"
#include "error_fill.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct kept_array {
    uint64_t total; /* 0: not there */
    uint8_t *data;  /* NULL: in the file */
    void *mapped;   /* the file, once mapped; else NULL */
    int file;
};

struct kept_values {
    uint32_t n;
    uint64_t free_bytes;
    struct kept_array *array;
};

struct kept_values *pith_kept_new(uint32_t n, uint64_t most_bytes)
{
    struct kept_values *k = malloc(sizeof *k);
    if (!k)
        return NULL;
    *k = (struct kept_values){n, most_bytes, calloc(n + (size_t)1, sizeof *k->array)};
    if (!k->array) {
        free(k);
        return NULL;
    }
    return k;
}

void pith_kept_free(struct kept_values *k)
{
    for (uint32_t i = 0; k && i < k->n; i++)
        pith_kept_drop(k, i);
    if (k)
        free(k->array);
    free(k);
}

void pith_kept_drop(struct kept_values *k, uint32_t i)
{
    struct kept_array *a = &k->array[i];
    if (a->total && a->data)
        k->free_bytes += a->total;
    else if (a->total)
        close(a->file);
    if (a->mapped)
        munmap(a->mapped, (size_t)a->total);
    free(a->data);
    *a = (struct kept_array){0};
}

static const char *directory(void)
{
    const char *named = secure_getenv("TMPDIR");
    return named && *named ? named : "/var/tmp";
}

static enum pith_status file_error(struct pith_error *err, const char *what, uint64_t bytes)
{
    return pith_error_fill(err, PITH_ERR_IO,
                           "cannot %s %" PRIu64 " MB between layers in %.200s: %s "
                           "(TMPDIR names another directory)",
                           what, bytes >> 20, directory(), strerror(errno));
}

/* Of a file system that has no files without a name it gets one, for a moment. */
static int open_nameless(void)
{
    int fd = -1;
#ifdef O_TMPFILE
    fd = open(directory(), O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
#endif
    char path[4096];
    if (fd >= 0 || snprintf(path, sizeof path, "%s/pith-XXXXXX", directory()) >= (int)sizeof path)
        return fd;
    fd = mkstemp(path);
    if (fd >= 0)
        unlink(path);
    return fd;
}

static enum pith_status make(struct kept_values *k, struct kept_array *a, uint64_t total,
                             struct pith_error *err)
{
    if (total <= k->free_bytes && total <= SIZE_MAX && (a->data = malloc((size_t)total))) {
        k->free_bytes -= total;
    } else {
        a->file = open_nameless();
        if (a->file < 0)
            return file_error(err, "keep", total);
    }
    a->total = total;
    return PITH_OK;
}

enum pith_status pith_kept_open(struct kept_values *k, uint32_t i, uint64_t total,
                                struct pith_error *err)
{
    return k->array[i].total ? PITH_OK : make(k, &k->array[i], total, err);
}

enum pith_status pith_kept_write(struct kept_values *k, uint32_t i, uint64_t at, const void *data,
                                 size_t bytes, struct pith_error *err)
{
    struct kept_array *a = &k->array[i];
    enum pith_status status = PITH_OK;
    if (a->data)
        memcpy(a->data + at, data, bytes);
    for (size_t done = 0; !status && !a->data && done < bytes;) {
        ssize_t w = pwrite(a->file, (const uint8_t *)data + done, bytes - done, (off_t)(at + done));
        if (w > 0)
            done += (size_t)w;
        else if (w == 0 || errno != EINTR)
            status = file_error(err, "keep", a->total);
    }
    return status;
}

enum pith_status pith_kept_read(const struct kept_values *k, uint32_t i, uint64_t at, void *data,
                                size_t bytes, struct pith_error *err)
{
    const struct kept_array *a = &k->array[i];
    if (a->data)
        memcpy(data, a->data + at, bytes);
    for (size_t done = 0; !a->data && done < bytes;) {
        ssize_t r = pread(a->file, (uint8_t *)data + done, bytes - done, (off_t)(at + done));
        if (r > 0)
            done += (size_t)r;
        else if (r == 0 || errno != EINTR)
            return file_error(err, "read back", a->total);
    }
    return PITH_OK;
}

enum pith_status pith_kept_map(struct kept_values *k, uint32_t i, const void **data,
                               struct pith_error *err)
{
    struct kept_array *a = &k->array[i];
    if (!a->data && !a->mapped) {
        void *mapped = mmap(NULL, (size_t)a->total, PROT_READ, MAP_SHARED, a->file, 0);
        if (mapped == MAP_FAILED)
            return file_error(err, "read back", a->total);
        a->mapped = mapped;
    }
    *data = a->data ? (const void *)a->data : a->mapped;
    return PITH_OK;
}
