/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "model_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error_fill.h"
#include "base/file_write.h"
#include "base/foreign_format.h"

#define MAX_FILE_BYTES (UINT64_C(1) << 36) /* 64 GiB: more is not a model but a mistake */
#define MAPPED_BYTES (1 << 20)             /* from here on */

/* false: it is to be read. */
static bool map(const char *path, struct model_file *f)
{
    struct stat st;
    void *bytes = MAP_FAILED;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= MAPPED_BYTES &&
        (uint64_t)st.st_size <= MAX_FILE_BYTES)
        bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (fd >= 0)
        (void)close(fd);
    if (bytes == MAP_FAILED)
        return false;
    *f = (struct model_file){bytes, (size_t)st.st_size, true};
    return true;
}

enum pith_status pith_model_file_open(const char *path, struct model_file *f,
                                      struct pith_error *err)
{
    struct pith_buffer file;
    if (map(path, f))
        return PITH_OK;
    enum pith_status st = pith_file_load(path, MAX_FILE_BYTES, &file, err);
    const char *foreign = st == PITH_ERR_IO ? pith_foreign_folder(path) : NULL;
    if (foreign)
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED, "%s: not ONNX but %s", path, foreign);
    if (!st)
        *f = (struct model_file){file.data, file.bytes, false};
    return st;
}

void pith_model_file_close(struct model_file *f)
{
    void *bytes = (void *)(uintptr_t)f->data;
    if (f->mapped)
        (void)munmap(bytes, f->bytes);
    else
        free(bytes);
    *f = (struct model_file){0};
}
