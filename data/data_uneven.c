/* SPDX-License-Identifier: MIT */
/* data_uneven.c - samples of different lengths: a folder of .npy files, one a sample, and text with
 * a line of numbers for each. In memory they stand one behind the other, filled up with zeros to
 * the longest; only the first axis of a sample may differ. */
#define _XOPEN_SOURCE 700
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/number_text.h"
#include "core/bytes.h"
#include "core/tensor.h"
#include "data_source.h"
#include "npy_header.h"

/* Samples as they are read, each with its own length. */
struct gathered {
    struct data_source *s;
    uint8_t *values; /* owns: all samples, one behind the other */
    uint64_t n_values, room;
    uint32_t *length; /* owns: [n] elements of the first axis */
    uint64_t n, n_room;
    uint32_t longest, rank, dim[PITH_MAX_RANK]; /* of a sample; dim[0] is not used */
    uint64_t row;                               /* elements behind the first axis */
};

static bool grow(void **list, uint64_t *room, uint64_t n, size_t each)
{
    if (n <= *room)
        return true;
    uint64_t more = n > 2 * *room ? n : 2 * *room;
    void *grown = more > SIZE_MAX / each ? NULL : realloc(*list, (size_t)more * each);
    if (!grown)
        return false;
    *list = grown;
    *room = more;
    return true;
}

static enum pith_status begin_sample(struct gathered *g, struct pith_error *err)
{
    if (g->n == DATA_MAX_SAMPLES)
        return pith_error_fill(err, PITH_ERR_LIMIT, "%s: more than %d samples", g->s->file.name,
                               DATA_MAX_SAMPLES);
    if (!grow((void **)&g->length, &g->n_room, g->n + 1, sizeof *g->length))
        return pith_error_no_memory(err);
    g->length[g->n++] = 0;
    return PITH_OK;
}

/* Rows of the sample that was begun last. */
static enum pith_status add_rows(struct gathered *g, const void *values, uint64_t rows,
                                 struct pith_error *err)
{
    const uint32_t each = pith_type_bytes(g->s->type);
    const uint64_t n = rows * g->row;
    uint32_t *length = &g->length[g->n - 1];
    if (rows > DATA_MAX_SAMPLE_ELEMS - *length || n > DATA_MAX_SAMPLE_ELEMS)
        return pith_error_fill(err, PITH_ERR_LIMIT, "%s: a sample of more than %d values",
                               g->s->file.name, DATA_MAX_SAMPLE_ELEMS);
    if (!grow((void **)&g->values, &g->room, g->n_values + n, each))
        return pith_error_no_memory(err);
    memcpy(g->values + g->n_values * each, values, (size_t)n * each);
    g->n_values += n;
    *length += (uint32_t)rows;
    g->longest = *length > g->longest ? *length : g->longest;
    return PITH_OK;
}

/* All samples into s->file.mem, as long as the longest. `read` bytes were read. */
static enum pith_status fill_up(struct gathered *g, uint64_t read, struct pith_error *err)
{
    struct data_source *s = g->s;
    const uint64_t each = pith_type_bytes(s->type), sample = g->longest * g->row * each;
    uint64_t bytes;
    if (g->n == 0 || sample == 0)
        return pith_error_fill(err, PITH_ERR_CORRUPT, "%s: no samples", s->file.name);
    if (!mul_ok(g->n, sample, &bytes))
        return pith_error_fill(err, PITH_ERR_LIMIT, "%s: too many values", s->file.name);
    enum pith_status st = pith_within_bound(bytes, s->max_bytes, read, s->file.name, err);
    if (st)
        return st;
    uint8_t *to = calloc(1, (size_t)bytes);
    if (!to)
        return pith_error_no_memory(err);
    bool uneven = false;
    const uint8_t *from = g->values;
    for (uint64_t i = 0; i < g->n; i++) {
        const size_t n = (size_t)(g->length[i] * g->row * each);
        uneven |= g->length[i] != g->longest;
        memcpy(to + i * sample, from, n);
        from += n;
    }
    free(s->file.mem);
    s->file.mem = to;
    s->file.bytes = bytes;
    s->first = 0;
    s->n_samples = g->n;
    s->rank = g->rank;
    memcpy(s->dim, g->dim, sizeof s->dim);
    s->dim[0] = g->longest;
    s->elems = g->longest * g->row;
    s->numbers = pith_stored_numbers;
    s->lengths = uneven ? g->length : NULL;
    g->length = uneven ? NULL : g->length;
    return PITH_OK;
}

static void release(struct gathered *g)
{
    free(g->values);
    free(g->length);
}

/* ---- a folder of arrays ---------------------------------------------------------------------- */

static bool is_array_name(const char *name)
{
    const size_t n = strlen(name);
    return n > 4 && strcmp(name + n - 4, ".npy") == 0;
}

static enum pith_status list_arrays(const char *path, struct file_list *list,
                                    struct pith_error *err)
{
    DIR *folder = opendir(path);
    enum pith_status st = PITH_OK;
    if (!folder)
        return pith_error_fill(err, PITH_ERR_IO, "%s: %s", path, strerror(errno));
    for (struct dirent *e; (e = readdir(folder)) && !st;)
        if (is_array_name(e->d_name) && !pith_list_add(list, e->d_name, 0, 0))
            st = pith_error_no_memory(err);
    closedir(folder);
    pith_list_sort(list);
    return st;
}

bool pith_folder_has_arrays(const char *path)
{
    DIR *folder = opendir(path);
    bool arrays = false, others = false;
    for (struct dirent *e; folder && !others && (e = readdir(folder));) {
        struct stat s;
        arrays |= is_array_name(e->d_name);
        others = pith_is_picture_name(e->d_name) ||
                 (e->d_name[0] != '.' && !fstatat(dirfd(folder), e->d_name, &s, 0) &&
                  S_ISDIR(s.st_mode));
    }
    if (folder)
        closedir(folder);
    return arrays && !others;
}

/* The first array says what the others must be. rank: of the input with its batch axis, which an
 * array may have, too; 0: none has it. */
static enum pith_status add_array(struct gathered *g, const struct pith_array *a, const char *path,
                                  uint32_t rank, struct pith_error *err)
{
    const bool batch = rank && a->rank == rank && a->dim[0] == 1;
    const uint32_t *dim = a->dim + batch, own = a->rank - batch;
    bool same = own > 0;
    if (same && g->n == 0) {
        g->s->type = a->type;
        g->rank = own;
        g->row = 1;
        for (uint32_t i = 1; i < own; i++)
            g->row *= g->dim[i] = dim[i];
    }
    same = same && a->type == g->s->type && own == g->rank;
    for (uint32_t i = 1; i < own && same; i++)
        same = dim[i] == g->dim[i];
    if (!same || a->count == 0)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "%s: arrays of a folder have one type, and one shape but for the "
                               "first axis, which is not 0",
                               path);
    enum pith_status st = begin_sample(g, err);
    return st ? st : add_rows(g, a->data, dim[0], err);
}

static enum pith_status read_array(struct gathered *g, const char *path, uint32_t rank,
                                   uint64_t *read, struct pith_error *err)
{
    struct file_source f = {.fd = -1};
    struct pith_array a = {0};
    enum pith_status st = pith_source_open(path, &f, err);
    st = st ? st : pith_source_load(&f, g->s->max_bytes, err);
    st = st ? st : pith_npy_read(f.mem, (size_t)f.bytes, path, &a, err);
    st = st ? st : add_array(g, &a, path, rank, err);
    *read += f.bytes;
    pith_array_free(&a);
    pith_source_close(&f);
    return st;
}

static enum pith_status read_all(struct data_source *s, const char *path,
                                 const struct file_list *list, uint32_t *rank,
                                 struct pith_error *err)
{
    struct gathered g = {.s = s};
    uint64_t read = 0;
    enum pith_status st = PITH_OK;
    for (size_t i = 0; i < list->n && !st; i++) {
        const size_t n = strlen(path) + strlen(list->entry[i].name) + 2;
        char *name = malloc(n);
        if (!name) {
            st = pith_error_no_memory(err);
            break;
        }
        snprintf(name, n, "%s/%s", path, list->entry[i].name);
        st = read_array(&g, name, *rank, &read, err);
        free(name);
    }
    *rank = g.rank;
    st = st ? st : fill_up(&g, read, err);
    release(&g);
    return st;
}

/* Where the input's rank is not known, arrays that differ elsewhere may have a batch axis. */
enum pith_status pith_arrays_open(struct data_source *s, const char *path, uint32_t rank,
                                  struct pith_error *err)
{
    struct file_list list = {0};
    const bool known = rank != 0;
    s->file = (struct file_source){.fd = -1, .name = strdup(path)};
    enum pith_status st = s->file.name ? list_arrays(path, &list, err) : pith_error_no_memory(err);
    st = st ? st : read_all(s, path, &list, &rank, err);
    if (st == PITH_ERR_ARGUMENT && !known && rank > 1 &&
        read_all(s, path, &list, &rank, NULL) == PITH_OK)
        st = PITH_OK;
    pith_list_free(&list);
    return st;
}

/* ---- lines of numbers ------------------------------------------------------------------------ */

bool pith_is_number_text(const uint8_t *head, size_t n)
{
    bool digit = false;
    for (size_t i = 0; i < n; i++) {
        if (!memchr("0123456789 \t,\r\n+-.eE", head[i], 21))
            return false;
        digit |= head[i] >= '0' && head[i] <= '9';
    }
    return digit;
}

/* At *p, behind blanks and one comma. false: the line is over, or what stands there is no number.
 */
static bool next_number(const char **p, double *v)
{
    const char *at = *p + strspn(*p, " \t");
    at += *at == ',' ? 1 + strspn(at + 1, " \t") : 0;
    const bool minus = *at == '-';
    at += *at == '-' || *at == '+';
    if (!pith_take_decimal(&at, v) || (*at && !strchr(" \t,\r\n", *at)))
        return false;
    *v = minus ? -*v : *v;
    *p = at;
    return true;
}

static enum pith_status read_line(struct gathered *g, const char **p, uint64_t line,
                                  struct pith_error *err)
{
    double v;
    *p += strspn(*p, " \t\r");
    if (**p == '\n' || !**p)
        return PITH_OK;
    enum pith_status st = begin_sample(g, err);
    while (!st && next_number(p, &v)) {
        const float f = (float)v;
        const int64_t i = (int64_t)(fabs(v) < 0x1p53 ? v : 0);
        st = add_rows(g, g->s->type == PITH_I64 ? (const void *)&i : &f, 1, err);
    }
    *p += strspn(*p, " \t\r");
    if (!st && **p && **p != '\n')
        return pith_error_fill(err, PITH_ERR_CORRUPT,
                               "%s: line %" PRIu64 " has no number at '%.20s'", g->s->file.name,
                               line, *p);
    return st;
}

enum pith_status pith_lines_open(struct data_source *s, struct pith_error *err)
{
    struct gathered g = {.s = s, .rank = 1, .row = 1};
    char *text = malloc((size_t)s->file.bytes + 1);
    if (!text)
        return pith_error_no_memory(err);
    memcpy(text, s->file.mem, (size_t)s->file.bytes);
    text[s->file.bytes] = 0;
    /* ids are integers, whatever their input is */
    s->type = strpbrk(text, ".eE") ? PITH_F32 : PITH_I64;
    enum pith_status st = PITH_OK;
    uint64_t line = 1;
    for (const char *p = text; *p && !st; p += *p == '\n')
        st = read_line(&g, &p, line++, err);
    st = st ? st : fill_up(&g, s->file.bytes, err);
    free(text);
    release(&g);
    return st;
}

/* ---- a mask ---------------------------------------------------------------------------------- */

enum pith_status pith_data_mask(const struct pith_data *of, struct pith_data **mask,
                                struct pith_error *err)
{
    uint32_t dim[PITH_MAX_RANK];
    if (!of || !mask || !pith_data_uneven(of) || pith_data_pictures(of))
        return PITH_ERR_ARGUMENT;
    const uint64_t n = pith_data_count(of);
    pith_data_shape(of, dim);
    dim[0] = 1;
    float *x = calloc((size_t)n * dim[1] + 1, sizeof *x);
    uint32_t *lengths = malloc((size_t)n * sizeof *lengths + 1);
    if (!x || !lengths) {
        free(x);
        free(lengths);
        return pith_error_no_memory(err);
    }
    for (uint64_t i = 0; i < n; i++) {
        uint32_t own[PITH_MAX_RANK];
        pith_data_sample_shape(of, i, own);
        lengths[i] = own[1];
        for (uint32_t k = 0; k < lengths[i]; k++)
            x[i * dim[1] + k] = 1;
    }
    enum pith_status st = pith_data_of_numbers(
        &(struct pith_numbers){.rank = 2, .dim = dim, .n = n, .x = x}, mask, err);
    if (st)
        free(lengths);
    else
        pith_data_set_lengths(*mask, lengths);
    return st;
}
