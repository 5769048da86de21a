/* SPDX-License-Identifier: MIT */
/* onnx_external.c - tensor elements that lie in a file beside the model.
 *
 * The file name comes from the model, so it may only lead to a regular file inside the model's own
 * folder: relative, no "..", no symbolic link at any step. Linux's openat2 decides that in the
 * kernel, without a race; where it is missing, each component is opened by itself with O_NOFOLLOW,
 * which cannot be raced either as every step starts from an open folder. */
#include "onnx.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/openat2.h>
#include <sys/syscall.h>
#endif

struct place {
    const char *location;
    uint64_t offset;
    bool has_length;
    uint64_t length;
};

static bool parse_u64(const char *text, uint64_t *v)
{
    if (!text || *text < '0' || *text > '9')
        return false;
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    *v = n;
    return errno == 0 && *end == 0;
}

static bool read_place(const Onnx__TensorProto *t, struct place *place)
{
    *place = (struct place){0};
    for (size_t i = 0; i < t->n_external_data; i++) {
        const char *key = t->external_data[i]->key, *value = t->external_data[i]->value;
        if (!key || !value)
            return false;
        if (strcmp(key, "location") == 0)
            place->location = value;
        else if (strcmp(key, "offset") == 0 && !parse_u64(value, &place->offset))
            return false;
        else if (strcmp(key, "length") == 0) {
            if (!parse_u64(value, &place->length))
                return false;
            place->has_length = true;
        }
    }
    return place->location != NULL;
}

/* Relative, and no component is empty, "." or "..". */
static bool contained(const char *path)
{
    if (*path == 0)
        return false;
    while (*path) {
        size_t n = strcspn(path, "/");
        if (n == 0 || n > 255 || (n == 1 && path[0] == '.') ||
            (n == 2 && path[0] == '.' && path[1] == '.'))
            return false;
        path += n;
        if (*path == '/' && *++path == 0)
            return false;
    }
    return true;
}

/* path component by component; takes ownership of dir. */
static int open_stepwise(int dir, const char *path)
{
    while (dir >= 0) {
        char name[256];
        size_t n = strcspn(path, "/");
        memcpy(name, path, n);
        name[n] = 0;
        path += n;
        bool last = *path == 0;
        int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (last ? 0 : O_DIRECTORY);
        int next = openat(dir, name, flags);
        close(dir);
        if (last)
            return next;
        dir = next;
        path++;
    }
    return -1;
}

/* A file descriptor, or -1. */
static int open_beneath(const char *dir_name, const char *path)
{
    int dir = open(*dir_name ? dir_name : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return -1;
#if defined __linux__ && defined SYS_openat2
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    long fd = syscall(SYS_openat2, dir, path, &how, sizeof how);
    if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) {
        close(dir);
        return (int)fd;
    }
#endif
    return open_stepwise(dir, path);
}

static bool read_at(int fd, uint64_t offset, void *dst, uint64_t bytes)
{
    uint8_t *p = dst;
    while (bytes > 0) {
        size_t step = bytes < (1u << 30) ? (size_t)bytes : 1u << 30;
        ssize_t n = pread(fd, p, step, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        offset += (uint64_t)n;
        bytes -= (uint64_t)n;
    }
    return true;
}

static enum pith_status read_part(struct onnx_import *im, const char *name, int fd,
                                  const struct place *place, void *dst, uint64_t bytes)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return pith_onnx_fail(im, PITH_ERR_CORRUPT,
                              "tensor '%.60s': external file '%.100s' is not a regular file", name,
                              place->location);
    uint64_t size = (uint64_t)st.st_size;
    if (place->offset > size || bytes > size - place->offset)
        return pith_onnx_fail(im, PITH_ERR_CORRUPT,
                              "tensor '%.60s' needs %llu bytes at %llu of '%.100s', which has %llu",
                              name, (unsigned long long)bytes, (unsigned long long)place->offset,
                              place->location, (unsigned long long)size);
    if (dst && !read_at(fd, place->offset, dst, bytes))
        return pith_onnx_fail(im, PITH_ERR_IO, "cannot read external file '%.100s'",
                              place->location);
    return PITH_OK;
}

enum pith_status pith_onnx_external(struct onnx_import *im, const Onnx__TensorProto *t, void *dst,
                                    uint64_t bytes)
{
    const char *name = t->name ? t->name : "";
    struct place place;
    if (!read_place(t, &place))
        return pith_onnx_fail(im, PITH_ERR_CORRUPT,
                              "tensor '%.100s': its external location is missing or broken", name);
    if (place.has_length && place.length != bytes)
        return pith_onnx_fail(im, PITH_ERR_CORRUPT,
                              "tensor '%.100s' needs %llu bytes, its external part has %llu", name,
                              (unsigned long long)bytes, (unsigned long long)place.length);
    if (!contained(place.location))
        return pith_onnx_fail(im, PITH_ERR_CORRUPT,
                              "tensor '%.60s': external file '%.100s' is not inside the folder of "
                              "the model",
                              name, place.location);
    if (!im->opts || !im->opts->dir)
        return pith_onnx_fail(im, PITH_ERR_UNSUPPORTED,
                              "tensor '%.60s' lies in '%.100s': a model from a pipe cannot have "
                              "external data",
                              name, place.location);
    int fd = open_beneath(im->opts->dir, place.location);
    if (fd < 0)
        return pith_onnx_fail(im, PITH_ERR_IO,
                              "cannot open external file '%.100s' of tensor '%.60s' inside the "
                              "folder of the model",
                              place.location, name);
    enum pith_status status = read_part(im, name, fd, &place, dst, bytes);
    close(fd);
    if (!status && !dst) /* which is tested once */
        pith_onnx_read_beside(&im->budget, bytes);
    return status;
}
