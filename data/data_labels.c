/* SPDX-License-Identifier: MIT */
/* data_labels.c - labels from IDX, .npy, .npz, .csv and .txt, recognized by content: class numbers,
 * or names among those that the model stores (class_names.c).
 *
 * csv: the first line names the columns (file_columns, class_columns below), or is a row already:
 * a file name, then a class. Where there is a column of file names and the samples are pictures,
 * rows are matched by file name, each to one picture and each picture to one row, else row i is
 * sample i. Fields may be quoted, "" is a quote, lines end in LF or CRLF. They are separated by
 * ',', ';' or tabs, by the first of these with which the first line is of one of these forms.
 *
 * txt: one label a line. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "csv_fields.h"
#include "data_source.h"
#include "npy_header.h"
#include "number_convert.h"
#include "core/tensor.h"

enum { CSV_MAX_COLUMNS = 256, CSV_FIELD_BYTES = 1024 };

static enum pith_status wrong_count(const struct data_source *s, uint64_t n, const char *name,
                                    struct pith_error *err)
{
    char labels[32], samples[32];
    return pith_error_fill(err, PITH_ERR_CORRUPT, "%s: %s labels for %s samples of %s", name,
                           pith_count_text(n, labels), pith_count_text(s->n_samples, samples),
                           s->file.name);
}

/* each: labels of a sample. */
static enum pith_status make_labels(struct data_source *s, uint64_t each, struct pith_error *err)
{
    free(s->labels);
    s->labels = malloc((size_t)(s->n_samples * each) * sizeof *s->labels);
    s->label_elems = s->label_step = each;
    return s->labels ? PITH_OK : pith_error_no_memory(err);
}

void pith_source_warn(const struct data_source *s, const char *format, ...)
{
    char text[400];
    va_list args;
    if (!s->options.warn)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    s->options.warn(s->options.user, text);
}

/* ---- binary ---------------------------------------------------------------------------------- */

struct stored_labels {
    const uint8_t *p;
    enum pith_type type;
    uint32_t item_bytes, char_bytes;
    bool big_endian;
    uint64_t n, per_sample;
    const uint32_t *dim; /* [rank]: of one sample */
    uint32_t rank;
};

static bool is_float(enum pith_type type)
{
    return type == PITH_F16 || type == PITH_F32 || type == PITH_F64;
}

static uint64_t output_elems(const struct data_source *s)
{
    uint64_t n = s->options.output_rank > 0;
    for (uint32_t i = 0; i < s->options.output_rank; i++)
        n *= s->options.output_dim[i];
    return n;
}

/* Into the order of the output's axes. Targets of another size are refused where they are used. */
static enum pith_status order_targets(struct data_source *s, const struct stored_labels *l,
                                      const char *name, struct pith_error *err)
{
    char text[PITH_ORDER_TEXT_BYTES];
    if (l->per_sample != output_elems(s))
        return PITH_OK;
    const struct pith_order order =
        pith_array_order(l->dim, l->rank, 1, s->options.output_dim, s->options.output_rank);
    pith_order_text(&order, l->dim, l->rank, s->options.output_dim, s->options.output_rank, text);
    if (!order.fits)
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "%s: a target of %s", name, text);
    if (order.rows == 0)
        return PITH_OK;
    pith_source_warn(s, "%s: targets %s for the output", name, text);
    return pith_array_reorder(&order, s->targets, l->n * l->per_sample, sizeof *s->targets, err);
}

static enum pith_status take_targets(struct data_source *s, const struct stored_labels *l,
                                     const char *name, struct pith_error *err)
{
    uint64_t total;
    if (!mul_ok(l->n, l->per_sample, &total) || total > SIZE_MAX / sizeof *s->targets)
        return pith_error_no_memory(err);
    free(s->targets);
    s->targets = malloc((size_t)total * sizeof *s->targets);
    if (!s->targets)
        return pith_error_no_memory(err);
    for (uint64_t i = 0; i < total; i++)
        s->targets[i] = (float)pith_stored_f64(l->type, l->big_endian, l->p + i * l->item_bytes);
    s->target_elems = l->per_sample;
    return order_targets(s, l, name, err);
}

static enum pith_status take_number(struct data_source *s, const struct stored_labels *l,
                                    uint64_t i, const uint8_t *p, const char *name,
                                    struct pith_error *err)
{
    char text[32];
    int64_t v = 0;
    bool whole = pith_stored_i64(l->type, l->big_endian, p, &v);
    s->labels[i] = v;
    if (whole && v >= (l->per_sample > 1 ? INT32_MIN : 0) && v <= INT32_MAX)
        return PITH_OK;
    struct number n = {.whole = whole, .i = v};
    if (!whole)
        n.d = pith_stored_f64(l->type, l->big_endian, p);
    return pith_error_fill(err, PITH_ERR_CORRUPT,
                           "%s: the label of sample %llu is %s, not a class number", name,
                           (unsigned long long)(i / l->per_sample), pith_number_text(n, text));
}

/* The text of item i as UTF-8, without the zeros that fill it up; room: CSV_FIELD_BYTES. */
static size_t stored_text(const struct stored_labels *l, uint64_t i, char *text)
{
    const uint8_t *p = l->p + i * l->item_bytes;
    size_t n = 0;
    for (uint32_t k = 0; k < l->item_bytes && n + 4 < CSV_FIELD_BYTES; k += l->char_bytes) {
        uint32_t c = (uint32_t)pith_load_stored(p + k, l->char_bytes, l->big_endian);
        if (c == 0)
            break;
        if (l->char_bytes == 1 || c < 0x80) {
            text[n++] = (char)c;
        } else if (c < 0x800) {
            text[n++] = (char)(0xc0 | c >> 6);
            text[n++] = (char)(0x80 | (c & 0x3f));
        } else if (c < 0x10000) {
            text[n++] = (char)(0xe0 | c >> 12);
            text[n++] = (char)(0x80 | (c >> 6 & 0x3f));
            text[n++] = (char)(0x80 | (c & 0x3f));
        } else {
            text[n++] = (char)(0xf0 | (c >> 18 & 7));
            text[n++] = (char)(0x80 | (c >> 12 & 0x3f));
            text[n++] = (char)(0x80 | (c >> 6 & 0x3f));
            text[n++] = (char)(0x80 | (c & 0x3f));
        }
    }
    text[n] = '\0';
    return n;
}

/* A name, which may be a digit, before a number. */
static enum pith_status take_text(struct data_source *s, const struct stored_labels *l, uint64_t i,
                                  const char *name, struct pith_error *err)
{
    char text[CSV_FIELD_BYTES], reason[CLASS_REASON_BYTES];
    size_t n = stored_text(l, i, text);
    uint32_t found = pith_class_find(s->options.class_names, text, n, &s->labels[i]);
    if (found == 1 || (found == 0 && pith_class_number(text, n, &s->labels[i])))
        return PITH_OK;
    return pith_error_fill(err, s->options.class_names ? PITH_ERR_CORRUPT : PITH_ERR_UNSUPPORTED,
                           "%s: the label of sample %llu, '%.80s', %s", name,
                           (unsigned long long)(i / l->per_sample), text,
                           pith_class_unknown(s->options.class_names, found, reason));
}

/* Of an output [1, S, V], a class for each position: S. Else 1. */
static uint64_t output_positions(const struct data_source *s)
{
    return s->options.output_rank == 3 && s->options.output_dim[2] > 1
               ? output_elems(s) / s->options.output_dim[2]
               : 1;
}

static enum pith_status take_stored(struct data_source *s, const struct stored_labels *l,
                                    const char *name, struct pith_error *err)
{
    if (l->n != s->n_samples || l->per_sample == 0)
        return wrong_count(s, l->n, name, err);
    if (is_float(l->type) && (l->per_sample != 1 || output_elems(s) < 2))
        return take_targets(s, l, name, err);
    const uint64_t positions = output_positions(s);
    char or_each[64] = "";
    if (positions > 1)
        snprintf(or_each, sizeof or_each, " or one for each of the output's %llu positions",
                 (unsigned long long)positions);
    if (l->per_sample != 1 && l->per_sample != positions)
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED, "%s: %llu %s a sample, not a class%s",
                               name, (unsigned long long)l->per_sample,
                               l->char_bytes ? "texts" : "integers", or_each);
    enum pith_status st = make_labels(s, l->per_sample, err);
    for (uint64_t i = 0; st == PITH_OK && i < l->n * l->per_sample; i++) {
        const uint8_t *p = l->p + i * l->item_bytes;
        st = l->char_bytes ? take_text(s, l, i, name, err) : take_number(s, l, i, p, name, err);
    }
    return st;
}

static enum pith_status from_idx(struct data_source *s, const uint8_t *bytes, size_t n,
                                 const char *name, struct pith_error *err)
{
    uint32_t rank = bytes[3], count = (uint32_t)pith_load_stored(bytes + 4, 4, true);
    if (rank != 1 || bytes[2] != 0x08)
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                               "%s: IDX labels must be one unsigned byte a sample", name);
    if (n - 8 != count)
        return pith_error_fill(err, PITH_ERR_CORRUPT,
                               "%s: header declares %u labels, the file has %zu", name, count,
                               n - 8);
    struct stored_labels l = {bytes + 8, PITH_U8, 1, 0, true, count, 1, NULL, 0};
    return take_stored(s, &l, name, err);
}

static enum pith_status from_npy(struct data_source *s, const uint8_t *bytes, size_t n,
                                 const char *name, struct pith_error *err)
{
    struct npy_header h;
    enum pith_status st = pith_npy_parse_text(bytes, n, name, &h, err);
    if (st != PITH_OK)
        return st;
    if (h.rank == 0 || h.dim[0] == 0)
        return wrong_count(s, h.rank ? 0 : 1, name, err);
    if (h.wide_unsigned && h.item_bytes == 4)
        return pith_error_fill(err, PITH_ERR_UNSUPPORTED,
                               "%s: labels of type u4 are not supported: use i4 or i8", name);
    struct stored_labels l = {bytes + h.data_offset, h.type,       h.item_bytes,
                              h.char_bytes,          h.big_endian, h.dim[0],
                              h.count / h.dim[0],    h.dim + 1,    h.rank - 1};
    return take_stored(s, &l, name, err);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* A class number, or the name of one class; else *found: of how many. */
static bool read_label(const struct data_source *s, const char *text, int64_t *v, uint32_t *found)
{
    *found = 0;
    if (pith_class_number(text, strlen(text), v))
        return true;
    *found = pith_class_find(s->options.class_names, text, strlen(text), v);
    return *found == 1;
}

static bool at_blank_line(struct csv_reader *r)
{
    return r->p < r->end && (*r->p == '\n' || *r->p == '\r');
}

struct csv_row {
    char file[CSV_FIELD_BYTES];
    char class_text[CSV_FIELD_BYTES];
};

struct csv_columns {
    int file, label; /* -1: none */
};

/* Names of columns in any case, the likeliest first. */
static const char *const file_columns[] = {"file",       "filename", "file_name", "image",
                                           "image_name", "img",      "path",      NULL};
static const char *const class_columns[] = {"class",  "label", "class_id", "label_id",
                                            "target", "y",     NULL};

static bool same_word(const char *a, const char *b)
{
    while (*a && tolower((unsigned char)*a) == *b)
        a++, b++;
    return *a == *b;
}

/* Place of a name in such a list, its length: not there. */
static int rank_of(const char *name, const char *const *list)
{
    int i = 0;
    while (list[i] && !same_word(name, list[i]))
        i++;
    return i;
}

static void read_columns(struct csv_reader *r, struct csv_columns *c, char *field)
{
    *c = (struct csv_columns){-1, -1};
    int best_file = rank_of("", file_columns), best_class = rank_of("", class_columns);
    bool more = true;
    for (int k = 0; more; k++) {
        more = pith_csv_field(r, field, CSV_FIELD_BYTES);
        int file = rank_of(field, file_columns), label = rank_of(field, class_columns);
        if (file < best_file) {
            best_file = file;
            c->file = k;
        }
        if (label < best_class) {
            best_class = label;
            c->label = k;
        }
    }
}

static void read_row(struct csv_reader *r, const struct csv_columns *c, char *field,
                     struct csv_row *row)
{
    row->file[0] = row->class_text[0] = '\0';
    bool more = true;
    for (int k = 0; more && k < CSV_MAX_COLUMNS; k++) {
        more = pith_csv_field(r, field, CSV_FIELD_BYTES);
        if (k == c->file)
            strcpy(row->file, field);
        if (k == c->label)
            strcpy(row->class_text, field);
    }
    r->bad = r->bad || more;
}

/* ---- rows to samples ------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Pictures by base name, for rows that name no folder. */
struct name_ref {
    const char *base;
    uint32_t sample;
};

static int compare_refs(const void *a, const void *b)
{
    const struct name_ref *x = a, *y = b;
    int order = strcmp(x->base, y->base);
    return order ? order : x->sample < y->sample ? -1 : x->sample > y->sample;
}

static struct name_ref *make_refs(const struct data_source *s)
{
    struct name_ref *refs = malloc((s->list.n + 1) * sizeof *refs);
    for (size_t i = 0; refs && i < s->list.n; i++)
        refs[i] = (struct name_ref){base_name(s->list.entry[i].name), (uint32_t)i};
    if (refs && s->list.n > 1)
        qsort(refs, s->list.n, sizeof *refs, compare_refs);
    return refs;
}

/* First reference whose base name is not below `base`. */
static size_t find_ref(const struct name_ref *refs, size_t n, const char *base)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (strcmp(refs[mid].base, base) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool path_ends_with(const char *path, const char *tail)
{
    size_t n = strlen(path), k = strlen(tail);
    return k <= n && strcmp(path + n - k, tail) == 0 && (k == n || path[n - k - 1] == '/');
}

struct csv_job {
    struct data_source *s;
    struct csv_reader r;
    const char *name;
    struct pith_error *err;
    struct name_ref *refs; /* NULL: by order */
    uint64_t n_rows;
};

static enum pith_status csv_error(const struct csv_job *j, uint64_t line, const char *what)
{
    return pith_error_fill(j->err, PITH_ERR_CORRUPT, "%s: line %llu: %s", j->name,
                           (unsigned long long)line, what);
}

/* The pictures that a row's file name matches: the one of just this path, else those whose path
 * ends in it. Returns how many, at most 2 into sample. */
static uint32_t find_named(const struct csv_job *j, const char *file, uint32_t sample[2])
{
    const struct data_source *s = j->s;
    const char *base = base_name(file);
    uint32_t n = 0;
    for (size_t i = find_ref(j->refs, s->list.n, base);
         i < s->list.n && strcmp(j->refs[i].base, base) == 0; i++) {
        const char *name = s->list.entry[j->refs[i].sample].name;
        if (strcmp(name, file) == 0) {
            sample[0] = j->refs[i].sample;
            return 1;
        }
        if (path_ends_with(name, file) && n < 2)
            sample[n++] = j->refs[i].sample;
    }
    return n;
}

/* Each row is for one picture, which has no class yet: what is misspelt or named twice would be
 * evaluated against a wrong label. */
static enum pith_status label_named(struct csv_job *j, const char *file, int64_t label,
                                    uint64_t line)
{
    struct data_source *s = j->s;
    unsigned long long at = line;
    uint32_t sample[2], n = find_named(j, file, sample);
    if (n == 0)
        return pith_error_fill(j->err, PITH_ERR_CORRUPT,
                               "%s: line %llu: no picture '%.200s' in %.200s", j->name, at, file,
                               s->file.name);
    if (n > 1)
        return pith_error_fill(
            j->err, PITH_ERR_CORRUPT,
            "%s: line %llu: '%.100s' is '%.150s' and '%.150s': name the folder, too", j->name, at,
            file, s->list.entry[sample[0]].name, s->list.entry[sample[1]].name);
    if (s->labels[sample[0]] != PITH_NO_LABEL)
        return pith_error_fill(j->err, PITH_ERR_CORRUPT,
                               "%s: line %llu: '%.200s' has a class already", j->name, at, file);
    s->labels[sample[0]] = label;
    return PITH_OK;
}

static enum pith_status take_row(struct csv_job *j, const struct csv_row *row, uint64_t line)
{
    char reason[CLASS_REASON_BYTES];
    int64_t label;
    if (j->r.bad)
        return csv_error(j, line, "quotes do not match");
    uint32_t found;
    if (!read_label(j->s, row->class_text, &label, &found))
        return pith_error_fill(j->err, PITH_ERR_CORRUPT, "%s: line %llu: '%.80s' %s", j->name,
                               (unsigned long long)line, row->class_text,
                               pith_class_unknown(j->s->options.class_names, found, reason));
    if (j->refs)
        return label_named(j, row->file, label, line);
    if (j->n_rows < j->s->n_samples)
        j->s->labels[j->n_rows] = label;
    j->n_rows++;
    return PITH_OK;
}

static enum pith_status check_all_labelled(const struct csv_job *j)
{
    if (!j->refs)
        return j->n_rows == j->s->n_samples ? PITH_OK
                                            : wrong_count(j->s, j->n_rows, j->name, j->err);
    for (uint64_t i = 0; i < j->s->n_samples; i++) {
        if (j->s->labels[i] == PITH_NO_LABEL)
            return pith_error_fill(j->err, PITH_ERR_CORRUPT, "%s: no row for '%s'", j->name,
                                   j->s->list.entry[i].name);
    }
    return PITH_OK;
}

/* Rows of `file` and `class` until the end. */
static enum pith_status read_rows(struct csv_job *j, const struct csv_columns *columns)
{
    struct csv_row *row = malloc(sizeof *row);
    char *field = malloc(CSV_FIELD_BYTES);
    enum pith_status st = row && field ? PITH_OK : pith_error_no_memory(j->err);
    while (st == PITH_OK && j->r.p < j->r.end) {
        uint64_t line = j->r.line;
        bool blank = at_blank_line(&j->r);
        read_row(&j->r, columns, field, row);
        if (!blank)
            st = take_row(j, row, line);
    }
    free(row);
    free(field);
    return st;
}

static enum pith_status from_rows(struct csv_job *j, const struct csv_columns *columns)
{
    enum pith_status st = make_labels(j->s, 1, j->err);
    if (st != PITH_OK)
        return st;
    for (uint64_t i = 0; i < j->s->n_samples; i++)
        j->s->labels[i] = PITH_NO_LABEL;
    if (columns->file >= 0 && j->s->list.n > 0) {
        j->refs = make_refs(j->s);
        if (!j->refs)
            return pith_error_no_memory(j->err);
    }
    st = read_rows(j, columns);
    if (st == PITH_OK)
        st = check_all_labelled(j);
    free(j->refs);
    return st;
}

/* Is the first line a row, a label or a file name and a label, or the names of columns? */
static bool read_first_line(struct csv_job *j, char separator, struct csv_columns *c, char *field)
{
    struct csv_reader r = j->r;
    int64_t number;
    uint32_t found;
    r.separator = separator;
    bool more = pith_csv_field(&r, field, CSV_FIELD_BYTES);
    *c = (struct csv_columns){-1, 0};
    if (read_label(j->s, field, &number, &found) && !r.bad) {
        j->r.separator = separator;
        return true;
    }
    *c = (struct csv_columns){0, 1};
    if (more && !pith_csv_field(&r, field, CSV_FIELD_BYTES) &&
        read_label(j->s, field, &number, &found) && !r.bad) {
        j->r.separator = separator;
        return true;
    }
    r = j->r;
    r.separator = separator;
    read_columns(&r, c, field);
    if (r.bad || c->label < 0)
        return false;
    j->r = r;
    return true;
}

/* The whole line first: names of classes hold commas. */
static enum pith_status from_text(struct csv_job *j)
{
    static const char separators[] = {'\0', ',', ';', '\t'};
    struct csv_columns columns = {-1, 0};
    char field[CSV_FIELD_BYTES];
    bool known = j->r.p == j->r.end;
    for (size_t i = 0; i < sizeof separators && !known; i++)
        known = read_first_line(j, separators[i], &columns, field);
    if (known)
        return from_rows(j, &columns);
    struct csv_reader r = j->r;
    char reason[CLASS_REASON_BYTES];
    int64_t number;
    uint32_t found;
    pith_csv_field(&r, field, CSV_FIELD_BYTES);
    (void)read_label(j->s, field, &number, &found);
    return pith_error_fill(j->err, PITH_ERR_CORRUPT,
                           "%s: line 1: '%.80s' %s; nor is it a line of column names with `class` "
                           "or `label` among them",
                           j->name, field,
                           pith_class_unknown(j->s->options.class_names, found, reason));
}

enum pith_status pith_labels_parse(struct data_source *s, const uint8_t *bytes, size_t n,
                                   const char *name, struct pith_error *err)
{
    if (pith_is_npy(bytes, n))
        return from_npy(s, bytes, n, name, err);
    if (pith_is_idx(bytes, n))
        return from_idx(s, bytes, n, name, err);
    if (pith_is_zip(bytes, n))
        return pith_npz_labels(s, bytes, n, name, err);
    size_t bom = n >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    const char *text = (const char *)bytes;
    struct csv_job j = {
        .s = s, .r = {text + bom, text + n, 1, false, '\0'}, .name = name, .err = err};
    if (memchr(bytes, '\0', n))
        return pith_error_fill(err, PITH_ERR_CORRUPT,
                               "%s: labels are neither IDX, npy, npz nor text", name);
    return from_text(&j);
}

enum pith_status pith_labels_read(struct data_source *s, const char *path, struct pith_error *err)
{
    struct pith_buffer file;
    enum pith_status st = pith_file_read(path, s->max_bytes, &file, err);
    if (st != PITH_OK)
        return st;
    st = pith_labels_parse(s, file.data, file.bytes, path, err);
    free(file.data);
    return st;
}
