/* SPDX-License-Identifier: MIT */
/* text_ids.c - text as numbers: an id for each character, the class of that name. Samples are
 * windows on the text, each with the characters behind its own as labels:
 *
 *     text    t h e   c a t           text:3:2:FILE
 *     sample 0 [t h e]   labels [h e _]
 *     sample 1     [e _ c]   labels [_ c a]
 *
 * The class names of a model are lines of text, in which a newline cannot stand for itself: \n is
 * its name. */
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "data_source.h"
#include "validate/format.h"

#define CODE_POINTS 0x110000u
#define NO_CLASS (-1)

/* The bytes of the UTF-8 character at p; 0: it is none. n >= 1 are there. */
static size_t take_character(const char *p, size_t n, uint32_t *code)
{
    const uint8_t *b = (const uint8_t *)p;
    const size_t bytes = b[0] < 0x80 ? 1 : b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : 4;
    if (bytes > n || !pith_utf8_ok(b, bytes))
        return 0;
    *code = bytes == 1 ? b[0] : b[0] & (0x7fu >> bytes);
    for (size_t i = 1; i < bytes; i++)
        *code = *code << 6 | (b[i] & 0x3fu);
    return bytes;
}

size_t pith_class_name_text(const char *name, size_t n, char *text)
{
    static const char escapes[][2] = {{'n', '\n'}, {'r', '\r'}, {'t', '\t'}, {'\\', '\\'}};
    size_t bytes = 0;
    if (!name || !text)
        return 0;
    for (size_t i = 0; i < n; i++) {
        char c = name[i];
        for (size_t k = 0; k < sizeof escapes / sizeof *escapes; k++)
            if (name[i] == '\\' && i + 1 < n && name[i + 1] == escapes[k][0]) {
                c = escapes[k][1];
                i++;
                break;
            }
        text[bytes++] = c;
    }
    return bytes;
}

/* The one character that a class name of n bytes stands for; false: there are more, or none. */
static bool name_character(const char *name, size_t n, uint32_t *code)
{
    char text[8];
    const size_t bytes = n <= sizeof text ? pith_class_name_text(name, n, text) : 0;
    return bytes > 0 && take_character(text, bytes, code) == bytes;
}

/* class_of [CODE_POINTS]: of each character, or NO_CLASS. */
static enum pith_status read_names(const char *names, const char *name, int32_t *class_of,
                                   struct pith_error *err)
{
    int32_t class = 0;
    for (uint32_t i = 0; i < CODE_POINTS; i++)
        class_of[i] = NO_CLASS;
    for (const char *line = names; line && *line; class ++) {
        size_t n = strcspn(line, "\n");
        uint32_t code;
        if (!name_character(line, n, &code))
            return pith_error_fill(err, PITH_ERR_ARGUMENT,
                                   "%s: text needs class names of one character each, class %d is "
                                   "'%.*s'",
                                   name, class, (int)(n < 40 ? n : 40), line);
        if (class_of[code] != NO_CLASS)
            return pith_error_fill(err, PITH_ERR_ARGUMENT, "%s: classes %d and %d are both '%.*s'",
                                   name, class_of[code], class, (int)n, line);
        class_of[code] = class;
        line += n + (line[n] == '\n');
    }
    if (class == 0)
        return pith_error_fill(err, PITH_ERR_ARGUMENT,
                               "%s: text needs a model with class names of one character each "
                               "(pith import --class-names FILE)",
                               name);
    return PITH_OK;
}

/* ids->id: room for n. */
static enum pith_status take_ids(const char *text, size_t n, const char *name,
                                 const int32_t *class_of, struct pith_ids *ids,
                                 struct pith_error *err)
{
    unsigned long long line = 1;
    for (size_t at = 0, bytes; at < n; at += bytes) {
        uint32_t code;
        bytes = take_character(text + at, n - at, &code);
        if (bytes == 0)
            return pith_error_fill(err, PITH_ERR_CORRUPT, "%s: line %llu: not UTF-8", name, line);
        if (class_of[code] == NO_CLASS)
            return pith_error_fill(
                err, PITH_ERR_ARGUMENT,
                "%s: line %llu: no class is named by the character %s%.*s%sU+%04X", name, line,
                code < ' ' ? "" : "'", code < ' ' ? 0 : (int)bytes, text + at,
                code < ' ' ? "" : "', ", code);
        ids->id[ids->n++] = class_of[code];
        line += code == '\n';
    }
    return PITH_OK;
}

enum pith_status pith_text_ids(const char *class_names, const char *text, size_t n,
                               const char *name, struct pith_ids *ids, struct pith_error *err)
{
    if (!class_names || !text || !name || !ids)
        return PITH_ERR_ARGUMENT;
    int32_t *class_of = malloc(CODE_POINTS * sizeof *class_of);
    struct pith_ids made = {.id = malloc((n + 1) * sizeof *made.id)};
    enum pith_status st = class_of && made.id ? PITH_OK : pith_error_no_memory(err);
    if (!st)
        st = read_names(class_names, name, class_of, err);
    if (!st)
        st = take_ids(text, n, name, class_of, &made, err);
    free(class_of);
    if (st)
        free(made.id);
    else
        *ids = made;
    return st;
}

/* Into file.mem, which the text was in; labels are the same one place on. */
static enum pith_status keep_ids(struct data_source *s, const int32_t *ids, uint64_t n,
                                 struct pith_error *err)
{
    uint8_t *mem = malloc((size_t)n * sizeof *ids);
    s->labels = malloc((size_t)n * sizeof *s->labels);
    if (!mem || !s->labels) {
        free(mem);
        return pith_error_no_memory(err);
    }
    for (uint64_t i = 0; i < n; i++)
        store_le32(mem + i * sizeof *ids, (uint32_t)ids[i]);
    for (uint64_t i = 0; i + 1 < n; i++)
        s->labels[i] = ids[i + 1];
    free(s->file.mem);
    s->file.mem = mem;
    s->file.bytes = n * sizeof *ids;
    return PITH_OK;
}

enum pith_status pith_text_open(struct data_source *s, uint64_t length, uint64_t step,
                                struct pith_error *err)
{
    struct pith_ids ids = {0};
    enum pith_status st =
        pith_text_ids(s->options.class_names ? s->options.class_names : "",
                      (const char *)s->file.mem, (size_t)s->file.bytes, s->file.name, &ids, err);
    const uint64_t n = ids.n;
    if (!st && n <= length)
        st = pith_error_fill(err, PITH_ERR_ARGUMENT,
                             "%s: %llu characters are less than a sample of %llu and the one "
                             "behind it",
                             s->file.name, (unsigned long long)n, (unsigned long long)length);
    if (!st && n > DATA_MAX_SAMPLES)
        st = pith_error_fill(err, PITH_ERR_LIMIT, "%s: %llu characters, at most 268,435,456",
                             s->file.name, (unsigned long long)n);
    if (!st)
        st = keep_ids(s, ids.id, n, err);
    free(ids.id);
    if (st)
        return st;
    s->type = PITH_I32;
    s->rank = 1;
    s->dim[0] = (uint32_t)length;
    s->elems = s->label_elems = length;
    s->hop = s->label_step = step;
    s->n_samples = (n - 1 - length) / step + 1;
    s->numbers = pith_stored_numbers;
    return PITH_OK;
}
