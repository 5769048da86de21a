/* SPDX-License-Identifier: MIT */
/* choose_reader.c - which reader a data set is for: by what its path says (raw:, ...), that it is
 * a folder, or what the file begins with. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "data_source.h"
#include "npy_header.h"

/* x.bin, x.bin.gz, ... */
static bool is_bin(const char *path)
{
    const char *slash = strrchr(path, '/'), *end = strstr(slash ? slash : path, ".bin");
    return end && (end[4] == '\0' || end[4] == '.');
}

/* "raw:TYPE:N:FILE" */
struct raw_spec {
    enum pith_type type;
    uint64_t elems;
    const char *path;
};

static bool raw_type(const char *text, size_t n, enum pith_type *type)
{
    static const struct {
        const char *word;
        enum pith_type type;
    } types[] = {{"i8", PITH_I8},   {"u8", PITH_U8},   {"i16", PITH_I16}, {"u16", PITH_U16},
                 {"i32", PITH_I32}, {"f16", PITH_F16}, {"f32", PITH_F32}, {"f64", PITH_F64}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strlen(types[i].word) == n && memcmp(types[i].word, text, n) == 0) {
            *type = types[i].type;
            return true;
        }
    }
    return false;
}

/* "490:..." with 1 <= *n <= DATA_MAX_SAMPLE_ELEMS; *rest is what follows the colon. */
static bool parse_count(const char *text, uint64_t *n, const char **rest)
{
    *n = 0;
    for (; *text >= '0' && *text <= '9' && *n <= DATA_MAX_SAMPLE_ELEMS; text++)
        *n = *n * 10 + (uint64_t)(*text - '0');
    *rest = text + 1;
    return *text == ':' && *n >= 1 && *n <= DATA_MAX_SAMPLE_ELEMS;
}

static bool parse_raw(const char *text, struct raw_spec *raw)
{
    const char *count = strchr(text, ':');
    return count && raw_type(text, (size_t)(count - text), &raw->type) &&
           parse_count(count + 1, &raw->elems, &raw->path);
}

static enum pith_status load_file(struct data_source *s, const char *path, struct pith_error *err)
{
    enum pith_status st = pith_source_open(path, &s->file, err);
    return st == PITH_OK ? pith_source_load(&s->file, s->max_bytes, err) : st;
}

static enum pith_status open_raw(struct data_source *s, const char *path, struct pith_error *err)
{
    struct raw_spec raw;
    if (!parse_raw(path + strlen("raw:"), &raw))
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "'%s' is not raw:TYPE:VALUES:FILE with TYPE i8 u8 i16 u16 i32 f16 "
                               "f32 or f64",
                               path);
    enum pith_status st = load_file(s, raw.path, err);
    return st == PITH_OK ? pith_raw_open(s, raw.type, raw.elems, err) : st;
}

/* "wav:FRAME:HOP:FILE" */
static enum pith_status open_wav(struct data_source *s, const char *path, struct pith_error *err)
{
    uint64_t frame, hop;
    const char *rest;
    if (!parse_count(path + strlen("wav:"), &frame, &rest) || !parse_count(rest, &hop, &rest))
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "'%s' is not wav:FRAME:HOP:FILE with FRAME and HOP in samples",
                               path);
    enum pith_status st = load_file(s, rest, err);
    return st == PITH_OK ? pith_wav_open(s, frame, hop, err) : st;
}

/* "text:LENGTH[:STEP]:FILE" */
static bool parse_text(const char *path, uint64_t *length, uint64_t *step, const char **rest)
{
    if (strncmp(path, "text:", 5) != 0 || !parse_count(path + strlen("text:"), length, rest))
        return false;
    const char *file;
    if (parse_count(*rest, step, &file))
        *rest = file;
    else
        *step = *length;
    return true;
}

bool pith_text_shape(const char *path, uint32_t *rank, uint32_t *dim)
{
    uint64_t length, step;
    const char *rest;
    if (!parse_text(path, &length, &step, &rest))
        return false;
    *rank = 2;
    dim[0] = 1;
    dim[1] = (uint32_t)length;
    return true;
}

static enum pith_status open_text(struct data_source *s, const char *path, struct pith_error *err)
{
    uint64_t length, step;
    const char *rest;
    if (!parse_text(path, &length, &step, &rest))
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "'%s' is not text:LENGTH[:STEP]:FILE with LENGTH and STEP in "
                               "characters",
                               path);
    enum pith_status st = load_file(s, rest, err);
    return st == PITH_OK ? pith_text_open(s, length, step, err) : st;
}

typedef enum pith_status open_function(struct data_source *s, struct pith_error *err);

/* By content; only CIFAR's records have no mark of their own. NULL: none. */
static open_function *choose_reader(const char *path, const uint8_t *head, size_t n)
{
    if (pith_is_tar(head, n))
        return pith_tar_open;
    if (pith_is_npy(head, n))
        return pith_npy_open;
    if (pith_is_zip(head, n))
        return pith_zip_open;
    if (pith_is_png(head, n) || pith_is_jpeg(head, n))
        return pith_one_picture_open;
    if (is_bin(path))
        return pith_cifar_open;
    return pith_is_idx(head, n)           ? pith_idx_open
           : pith_is_number_text(head, n) ? pith_lines_open
                                          : NULL;
}

/* A file that is in memory already. */
static enum pith_status take_content(struct data_source *s, const struct pith_data_opts *o,
                                     struct pith_error *err)
{
    s->file.mem = malloc(o->content_bytes ? o->content_bytes : 1);
    s->file.name = strdup(o->path);
    if (!s->file.mem || !s->file.name)
        return pith_error_no_memory(err);
    memcpy(s->file.mem, o->content, o->content_bytes);
    s->file.bytes = o->content_bytes;
    return PITH_OK;
}

static enum pith_status open_file(struct data_source *s, const struct pith_data_opts *o,
                                  struct pith_error *err)
{
    const char *path = o->path;
    enum pith_status st =
        o->content ? take_content(s, o, err) : pith_source_open(path, &s->file, err);
    if (st != PITH_OK)
        return st;
    uint8_t head[TAR_BLOCK];
    size_t n = s->file.bytes < sizeof head ? (size_t)s->file.bytes : sizeof head;
    st = pith_source_at(&s->file, 0, head, n, err);
    if (st != PITH_OK)
        return st;
    open_function *open = choose_reader(path, head, n);
    if (!open && pith_foreign_picture(head, n))
        return pith_error_foreign_picture(s->file.name, pith_foreign_picture(head, n), err);
    if (!open)
        return pith_error_fill(
            err, PITH_ERR_CORRUPT,
            "%s: not IDX, npy, npz, PNG, JPEG, a tar or zip of those, or CIFAR-10 "
            "(.bin); headerless records are given as raw:TYPE:VALUES:FILE, sound "
            "as wav:FRAME:HOP:FILE, text as text:LENGTH:FILE",
            s->file.name);
    bool in_place = open == pith_tar_open || open == pith_zip_open || open == pith_one_picture_open;
    if (!in_place || s->file.rest)
        st = pith_source_load(&s->file, s->max_bytes, err);
    return st == PITH_OK ? open(s, err) : st;
}

enum pith_status pith_open_reader(struct data_source *s, const struct pith_data_opts *o,
                                  struct pith_error *err)
{
    const char *path = o->path;
    struct stat info;
    if (o->content)
        return open_file(s, o, err);
    if (o->files)
        return pith_files_open(s, path, o->files, o->n_files, err);
    if (strncmp(path, "raw:", 4) == 0)
        return open_raw(s, path, err);
    if (strncmp(path, "wav:", 4) == 0)
        return open_wav(s, path, err);
    if (strncmp(path, "text:", 5) == 0)
        return open_text(s, path, err);
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return pith_folder_has_arrays(path) ? pith_arrays_open(s, path, o->rank, err)
                                            : pith_folder_open(s, path, err);
    return open_file(s, o, err);
}
