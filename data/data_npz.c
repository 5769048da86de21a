/* SPDX-License-Identifier: MIT */
/* data_npz.c - .npz: which of its arrays are the samples and which their labels.
 *
 * Who opens it may name the arrays that are samples, of this data set and of others. Else names
 * decide: those common for labels, then any name with a word of those in it
 * (test_labels, ground_truth), or with label, target or class as a part of one (testLabels). Of two
 * arrays without such a name the second may be labels by what it holds: one integer for each
 * sample. */
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "data_source.h"
#include "npy_header.h"

static size_t stem_bytes(const struct listed_file *m)
{
    size_t n = strlen(m->name);
    return n > 4 && strcmp(m->name + n - 4, ".npy") == 0 ? n - 4 : n;
}

static bool is_member(const struct listed_file *m, const char *stem)
{
    size_t n = strlen(stem);
    return strlen(m->name) == n + 4 && stem_bytes(m) == n && memcmp(m->name, stem, n) == 0;
}

/* What people call labels, the likeliest first. */
static const char *const label_names[] = {"y",       "Y",       "labels",  "Labels", "label",
                                          "Label",   "targets", "Targets", "target", "Target",
                                          "classes", "Classes", "class",   "Class",  "y_train",
                                          "Y_train", "y_test",  "Y_test",  "y_val",  "Y_val"};
#define N_LABEL_NAMES (sizeof label_names / sizeof label_names[0])

static const char *const label_words[] = {"y",       "label", "labels",  "lbl",      "target",
                                          "targets", "class", "classes", "category", "categories",
                                          "truth",   "gt",    "answer",  "answers"};

static bool is_one_of(const char *word, size_t n, const char *const *list, size_t n_list)
{
    for (size_t i = 0; i < n_list; i++) {
        size_t k = 0;
        while (k < n && list[i][k] == (char)tolower((unsigned char)word[k]))
            k++;
        if (k == n && list[i][k] == '\0')
            return true;
    }
    return false;
}

/* Whether one of the words of a name, runs of letters, is in the list. */
static bool has_word(const struct listed_file *m, const char *const *list, size_t n_list)
{
    const char *p = m->name, *end = m->name + stem_bytes(m);
    while (p < end) {
        const char *word = p;
        while (p < end && isalpha((unsigned char)*p))
            p++;
        if (p > word && is_one_of(word, (size_t)(p - word), list, n_list))
            return true;
        p += p < end;
    }
    return false;
}

/* Whether the name has this in it, in any case. */
static bool has_part(const struct listed_file *m, const char *part)
{
    for (const char *p = m->name; p + strlen(part) <= m->name + stem_bytes(m); p++)
        if (strncasecmp(p, part, strlen(part)) == 0)
            return true;
    return false;
}

static bool is_named(const struct data_source *s, const struct listed_file *m)
{
    for (uint32_t i = 0; i < s->options.n_arrays; i++)
        if (is_member(m, s->options.arrays[i]))
            return true;
    return s->options.input_name && is_member(m, s->options.input_name);
}

/* testLabels, class_ids; class_names is a list of texts, not of labels. */
static bool is_labels(const struct data_source *s, const struct listed_file *m)
{
    return !is_named(s, m) && !has_part(m, "name") &&
           (has_word(m, label_words, sizeof label_words / sizeof label_words[0]) ||
            has_part(m, "label") || has_part(m, "target") || has_part(m, "class"));
}

static const struct listed_file *with_name(const struct listed_file *m, size_t n, const char *stem)
{
    for (size_t i = 0; i < n && stem; i++)
        if (is_member(&m[i], stem))
            return &m[i];
    return NULL;
}

/* The requested array. Else that of the input's name, or `x`, or the first array that is
 * not labels. */
static const struct listed_file *find_samples(const struct data_source *s,
                                              const struct listed_file *m, size_t n)
{
    if (s->options.n_arrays)
        return with_name(m, n, s->options.arrays[0]);
    const struct listed_file *named = with_name(m, n, s->options.input_name);
    if (!named)
        named = with_name(m, n, "x");
    for (size_t i = 0; i < n && !named; i++)
        if (!is_labels(s, &m[i]))
            named = &m[i];
    return named;
}

/* x_test and y_test: a file may hold several pairs. */
static bool is_pair(const struct listed_file *x, const struct listed_file *y)
{
    return (x->name[0] == 'x' || x->name[0] == 'X') && (y->name[0] == 'y' || y->name[0] == 'Y') &&
           strcmp(x->name + 1, y->name + 1) == 0;
}

/* samples: NULL where only labels are looked for. */
static const struct listed_file *find_labels(const struct data_source *s,
                                             const struct listed_file *m, size_t n,
                                             const struct listed_file *samples)
{
    for (size_t i = 0; i < n && samples; i++) {
        if (is_labels(s, &m[i]) && is_pair(samples, &m[i]))
            return &m[i];
    }
    for (size_t k = 0; k < N_LABEL_NAMES; k++) {
        for (size_t i = 0; i < n; i++) {
            if (is_member(&m[i], label_names[k]) && !is_named(s, &m[i]))
                return &m[i];
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (&m[i] != samples && is_labels(s, &m[i]))
            return &m[i];
    }
    return NULL;
}

/* One integer for each of n samples. */
static bool counts_as_labels(const struct pith_buffer *array, const char *name, uint64_t n)
{
    struct npy_header h;
    return pith_npy_parse(array->data, array->bytes, name, &h, NULL) == PITH_OK && h.rank > 0 &&
           h.dim[0] == n && h.count == n && h.type != PITH_F16 && h.type != PITH_F32 &&
           h.type != PITH_F64;
}

static enum pith_status decode_member(const struct file_source *f, const struct listed_file *m,
                                      uint64_t max_bytes, struct pith_buffer *out,
                                      struct pith_error *err)
{
    struct listed_file one = *m;
    return pith_zip_decode(f, &one, 1, max_bytes, out, err);
}

static void write_names(const struct listed_file *m, size_t n, char *list, size_t list_bytes)
{
    size_t at = 0;
    for (size_t i = 0; i < n && at < list_bytes; i++)
        at += (size_t)snprintf(list + at, list_bytes - at, "%s%.*s", i ? ", " : "",
                               (int)stem_bytes(&m[i]), m[i].name);
}

static void explain_no_labels(struct data_source *s, const struct listed_file *m, size_t n)
{
    char list[200];
    write_names(m, n, list, sizeof list);
    snprintf(s->unlabelled, sizeof s->unlabelled,
             "of its arrays (%s) none is named as labels are: y, labels, targets, classes, y_test, "
             "...",
             list);
}

/* Labels that cannot be read are none: most commands do without. */
static enum pith_status take_labels(struct data_source *s, const struct listed_file *y,
                                    const struct pith_buffer *array, struct pith_error *err)
{
    struct pith_error own = {0};
    char name[300];
    snprintf(name, sizeof name, "%.200s: %.*s", s->file.name,
             (int)(stem_bytes(y) < 64 ? stem_bytes(y) : 64), y->name);
    enum pith_status st = pith_labels_parse(s, array->data, array->bytes, name, &own);
    if (st == PITH_ERR_UNSUPPORTED) {
        free(s->labels);
        s->labels = NULL;
        snprintf(s->unlabelled, sizeof s->unlabelled, "its array %.*s cannot be read as labels",
                 (int)(stem_bytes(y) < 64 ? stem_bytes(y) : 64), y->name);
        pith_source_warn(s, "not taken as labels: %s", own.text);
        return PITH_OK;
    }
    if (st != PITH_OK && err)
        *err = own;
    return st;
}

/* The array beside the samples, where there is no other. */
static enum pith_status take_other(struct data_source *s, const struct pith_buffer *other,
                                   struct pith_error *err)
{
    char count[32];
    if (!counts_as_labels(other, s->file.name, s->n_samples)) {
        size_t at = strlen(s->unlabelled);
        snprintf(s->unlabelled + at, sizeof s->unlabelled - at,
                 ", and the other array does not hold one integer for each of %s samples",
                 pith_count_text(s->n_samples, count));
        return PITH_OK;
    }
    return pith_labels_parse(s, other->data, other->bytes, s->file.name, err);
}

/* f: the zip, which becomes the array of samples. */
static enum pith_status open_members(struct data_source *s, const struct listed_file *m, size_t n,
                                     struct pith_error *err)
{
    const struct listed_file *x = find_samples(s, m, n), *y = find_labels(s, m, n, x);
    const struct listed_file *other = !y && n == 2 ? x == m ? m + 1 : m : NULL;
    if (other && is_named(s, other))
        other = NULL;
    if (!x)
        return pith_error_fill(err, PITH_ERR_CORRUPT, "%s: no array of samples inside",
                               s->file.name);
    struct pith_buffer samples = {0}, labels = {0};
    enum pith_status st = decode_member(&s->file, x, s->max_bytes, &samples, err);
    if (st == PITH_OK && (y || other))
        st = decode_member(&s->file, y ? y : other, s->max_bytes, &labels, err);
    if (st == PITH_OK) {
        explain_no_labels(s, m, n);
        pith_source_replace(&s->file, &samples);
        st = pith_npy_open(s, err);
    }
    if (st == PITH_OK && y)
        st = take_labels(s, y, &labels, err);
    else if (st == PITH_OK && other)
        st = take_other(s, &labels, err);
    free(samples.data);
    free(labels.data);
    return st;
}

static bool only_pictures(const struct file_list *list)
{
    bool picture = false, array = false;
    for (size_t i = 0; i < list->n; i++) {
        picture |= pith_is_picture_name(list->entry[i].name);
        array |= stem_bytes(&list->entry[i]) < strlen(list->entry[i].name);
    }
    return picture && !array;
}

enum pith_status pith_zip_open(struct data_source *s, struct pith_error *err)
{
    enum pith_status st = pith_archive_list(&s->file, &s->list, err);
    if (st != PITH_OK || only_pictures(&s->list))
        return st == PITH_OK ? pith_zip_pictures_open(s, err) : st;
    struct file_list members = s->list;
    s->list = (struct file_list){0};
    st = open_members(s, members.entry, members.n, err);
    pith_list_free(&members);
    return st;
}

enum pith_status pith_npz_labels(struct data_source *s, const uint8_t *bytes, size_t n,
                                 const char *name, struct pith_error *err)
{
    const struct file_source f = {
        .fd = -1, .mem = (uint8_t *)(uintptr_t)bytes, .bytes = n, .name = (char *)(uintptr_t)name};
    struct file_list list = {0};
    struct pith_buffer labels = {0};
    const struct listed_file *y = NULL;
    enum pith_status st = pith_archive_list(&f, &list, err);
    if (st == PITH_OK) {
        y = list.n == 1 ? list.entry : find_labels(s, list.entry, list.n, NULL);
        st = y ? decode_member(&f, y, s->max_bytes, &labels, err)
               : pith_error_fill(err, PITH_ERR_CORRUPT, "%s: no array of labels inside", name);
    }
    if (st == PITH_OK && !pith_is_npy(labels.data, labels.bytes))
        st = pith_error_fill(err, PITH_ERR_CORRUPT, "%s: its labels are no array", name);
    else if (st == PITH_OK)
        st = pith_labels_parse(s, labels.data, labels.bytes, name, err);
    free(labels.data);
    pith_list_free(&list);
    return st;
}

static bool is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static bool list_zip(struct file_source *f, struct file_list *list)
{
    uint8_t head[4];
    return !pith_source_at(f, 0, head, sizeof head, NULL) && pith_is_zip(head, sizeof head) &&
           (!f->rest || !pith_source_load(f, 0, NULL)) && !pith_archive_list(f, list, NULL);
}

uint32_t pith_data_find_arrays(const char *path, const char *const *names, uint32_t n, bool *has,
                               char *text, size_t text_bytes)
{
    if (!path || !names || !has || !text)
        return 0;
    struct file_source f = {.fd = -1};
    struct file_list list = {0};
    uint32_t found = 0;
    text[0] = '\0';
    if (is_file(path) && !pith_source_open(path, &f, NULL) && list_zip(&f, &list))
        write_names(list.entry, list.n, text, text_bytes);
    for (uint32_t i = 0; i < n; i++) {
        has[i] = with_name(list.entry, list.n, names[i]) != NULL;
        found += has[i];
    }
    pith_list_free(&list);
    pith_source_close(&f);
    return found;
}

/* Of a member, decoded whole: a header is at its beginning, but members have no other way. */
static bool member_shape(struct file_source *f, const char *array, const char *input_name,
                         struct npy_header *h)
{
    const struct data_source s = {.options.input_name = input_name,
                                  .options.arrays = &array,
                                  .options.n_arrays = array != NULL};
    struct file_list list = {0};
    struct pith_buffer b = {0};
    const struct listed_file *m = list_zip(f, &list) ? find_samples(&s, list.entry, list.n) : NULL;
    bool found =
        m && !decode_member(f, m, 0, &b, NULL) && !pith_npy_head(b.data, b.bytes, f->name, h, NULL);
    pith_buffer_free(&b);
    pith_list_free(&list);
    return found;
}

/* Of what is filled up to the longest sample. */
static bool padded_shape(const char *path, const char *input_name, uint32_t *rank, uint32_t *dim)
{
    const struct pith_data_opts o = {
        .size_bytes = sizeof o, .path = path, .input_name = input_name};
    struct pith_data *data;
    if (pith_data_open(&o, &data, NULL))
        return false;
    *rank = pith_data_shape(data, dim);
    dim[0] = (uint32_t)pith_data_count(data);
    pith_data_free(data);
    return true;
}

bool pith_data_array_shape(const char *path, const char *array, const char *input_name,
                           uint32_t *rank, uint32_t *dim)
{
    struct file_source f = {.fd = -1};
    struct npy_header h;
    uint8_t head[4096];
    bool found = false;
    if (!path || !rank || !dim)
        return false;
    if (pith_text_shape(path, rank, dim))
        return true;
    if (!is_file(path))
        return pith_folder_has_arrays(path) && padded_shape(path, input_name, rank, dim);
    if (!pith_source_open(path, &f, NULL)) {
        size_t n = f.bytes < sizeof head ? (size_t)f.bytes : sizeof head;
        if (n && !pith_source_at(&f, 0, head, n, NULL)) {
            if (pith_is_number_text(head, n)) {
                pith_source_close(&f);
                return padded_shape(path, input_name, rank, dim);
            }
            found = pith_is_zip(head, n) ? member_shape(&f, array, input_name, &h)
                                         : !pith_npy_head(head, n, f.name, &h, NULL);
        }
    }
    pith_source_close(&f);
    if (found) {
        *rank = h.rank;
        memcpy(dim, h.dim, sizeof h.dim);
    }
    return found;
}
