/* SPDX-License-Identifier: MIT */
/* model_load.c - a model from a file or from memory, .pith and .onnx told apart by content. A large
 * .onnx is mapped, so that it and the network made of it are not both in memory. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "error_fill.h"
#include "file_write.h"
#include "foreign_format.h"
#include "onnx_read.h"
#include "unpack.h"

#define MAX_FILE_BYTES (UINT64_C(1) << 36) /* 64 GiB: more is not a model but a mistake */
#define MAPPED_BYTES (1 << 20)             /* from here on */

struct mapping {
    void *bytes;
    size_t n;
};

enum pith_status pith_model_read(const void *bytes, size_t n, const char *name, const char *dir,
                                 const struct pith_import_opts *opts, struct pith_model **m,
                                 struct pith_error *err)
{
    if (n == 0)
        return pith_error_fill(err, PITH_ERR_IO, "%s: empty input", name);
    if (pith_is_pith(bytes, n))
        return pith_unpack(bytes, n, name, 0, opts ? opts->max_bytes : 0, opts ? opts->alloc : NULL,
                           m, err);
    return pith_onnx_read(bytes, n, name, dir, opts, m, err);
}

/* The folder of path, for tensors that an ONNX file keeps beside it. The caller frees. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

/* A regular file with an ONNX network, mapped; false: what else it may be, or cannot be mapped. */
static bool map_onnx(const char *path, struct mapping *map)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    map->bytes = MAP_FAILED;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= MAPPED_BYTES &&
        (uint64_t)st.st_size <= MAX_FILE_BYTES) {
        map->n = (size_t)st.st_size;
        map->bytes = mmap(NULL, map->n, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    if (fd >= 0)
        (void)close(fd);
    if (map->bytes == MAP_FAILED)
        return false;
    if (!pith_is_pith(map->bytes, map->n))
        return true;
    (void)munmap(map->bytes, map->n);
    return false;
}

static enum pith_status load_from(const char *path, const char *dir,
                                  const struct pith_import_opts *opts, struct pith_model **m,
                                  struct pith_error *err)
{
    struct pith_buffer file;
    struct mapping map;
    enum pith_status st;
    if (map_onnx(path, &map)) {
        st = pith_onnx_read_mapped(map.bytes, map.n, path, dir, opts, m, err);
        (void)munmap(map.bytes, map.n);
        return st;
    }
    st = pith_file_load(path, MAX_FILE_BYTES, &file, err);
    const char *foreign = st == PITH_ERR_IO ? pith_foreign_folder(path) : NULL;
    if (foreign)
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED, "%s: is no ONNX but %s", path, foreign);
    if (st)
        return st;
    st = pith_model_read(file.data, file.bytes, path, dir, opts, m, err);
    pith_buffer_free(&file);
    return st;
}

enum pith_status pith_model_load(const char *path, const struct pith_import_opts *opts,
                                 struct pith_model **m, struct pith_error *err)
{
    char *dir = folder_of(path);
    enum pith_status st = dir ? load_from(path, dir, opts, m, err) : pith_error_no_memory(err);
    free(dir);
    return st;
}
