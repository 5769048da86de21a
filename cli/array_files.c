/* SPDX-License-Identifier: MIT */
#include "array_files.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "pith_host.h"

#define MAX_ELEMENT_BYTES 8

uint32_t cli_type_bytes(enum pith_type type)
{
    static const uint8_t bytes[] = {0, 4, 2, 2, 8, 1, 1, 2, 2, 4, 8, 1};
    return (uint32_t)type < sizeof bytes ? bytes[type] : 0;
}

double cli_element(enum pith_type type, const void *p)
{
    struct pith_array one = {.type = type, .count = 1, .data = (void *)(uintptr_t)p};
    double v = 0;
    int64_t i;
    if (type != PITH_I64) { /* every other type goes into a double exactly */
        (void)pith_array_convert(&one, PITH_F64, &v, "", NULL);
        return v;
    }
    memcpy(&i, p, sizeof i);
    return (double)i;
}

/* In the order of the axes that the input has, of `batch` rows. */
static enum cli_exit order_array(struct pith_array *a, const char *path, const struct pith_value *v,
                                 uint32_t batch)
{
    struct pith_error err = {0};
    const struct pith_order order = pith_array_order(a->dim, a->rank, batch, v->dim, v->rank);
    char text[PITH_ORDER_TEXT_BYTES];
    pith_order_text(&order, a->dim, a->rank, v->dim, v->rank, text);
    if (!order.fits) {
        cli_error("%s: %s for input '%s'", path, text, v->name);
        return EXIT_USAGE;
    }
    if (order.rows)
        cli_hint("%s: %s for input '%s'", path, text, v->name);
    return pith_array_reorder(&order, a->data, a->count, cli_type_bytes(a->type), &err)
               ? cli_fail(&err)
               : EXIT_DONE;
}

enum cli_exit cli_convert_array(const struct pith_buffer *file, const char *path,
                                const struct pith_value *v, uint32_t batch, void **data)
{
    struct pith_error err = {0};
    struct pith_array array;
    uint64_t n = pith_value_elems(v) * batch;
    enum cli_exit rc = EXIT_DONE;
    if (pith_npy_read(file->data, file->bytes, path, &array, &err))
        return cli_fail(&err);
    if (array.count == 0 && n != 0) {
        cli_error("%s: an array without elements, input '%s' takes %" PRIu64, path, v->name, n);
        rc = EXIT_UNSUPPORTED;
    } else if (array.count != n) {
        cli_error("%s: %" PRIu64 " values, input '%s' takes %" PRIu64 "%s", path, array.count,
                  v->name, n,
                  array.count > n && array.count % n == 0 ? " (give it with -d to run each)" : "");
        rc = EXIT_USAGE;
    } else {
        *data = malloc((size_t)n * MAX_ELEMENT_BYTES + 1);
        rc = *data ? order_array(&array, path, v, batch) : cli_no_memory();
        if (!rc && pith_array_convert(&array, v->type, *data, path, &err))
            rc = cli_fail(&err);
    }
    pith_array_free(&array);
    return rc;
}

enum cli_exit cli_read_array(const char *path, const struct pith_value *v, uint32_t batch,
                             void **data)
{
    struct pith_buffer file;
    enum cli_exit rc = cli_read_file(path, &file);
    if (rc)
        return rc;
    rc = cli_convert_array(&file, strcmp(path, "-") == 0 ? "standard input" : path, v, batch, data);
    pith_buffer_free(&file);
    return rc;
}

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
}

void cli_array_file_name(const char *name, size_t name_bytes, uint32_t number, const char *tail,
                         char *out, size_t room)
{
    size_t n = name_bytes < room - strlen(tail) - 1 ? name_bytes : room - strlen(tail) - 1;
    if (n == 0) {
        snprintf(out, room, "%u%s", number, tail);
        return;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = is_plain(name[i]) ? name[i] : '_';
    if (out[0] == '.') /* no hidden file, and not the folder itself */
        out[0] = '_';
    memcpy(out + n, tail, strlen(tail) + 1);
}

static bool is_text(const char *has, const char *name, size_t bytes)
{
    return bytes > 0 && strlen(has) == bytes && memcmp(has, name, bytes) == 0;
}

/* The last node of that name, or the node and output that compute the value of that name. */
static bool find_layer(const struct pith_model *m, const char *name, size_t bytes,
                       struct pith_dump *dump)
{
    for (uint32_t i = m->n_nodes; i-- > 0;) {
        const struct pith_node *node = &m->nodes[i];
        bool layer = is_text(node->name, name, bytes);
        for (uint32_t k = 0; k < node->n_out; k++) {
            const char *value = m->values[node->out[k]].name;
            if (!layer && !is_text(value, name, bytes))
                continue;
            *dump = (struct pith_dump){
                .name = node->name, .label = layer ? node->name : value, .step = i, .output = k};
            return true;
        }
    }
    return false;
}

enum cli_exit cli_dump_split(const struct pith_model *m, const char *model, const char *text,
                             struct pith_dump *dump, const char **path)
{
    size_t n = strlen(text);
    *path = NULL;
    while (!find_layer(m, text, n, dump)) { /* a name may hold '=': the longest one wins */
        while (n > 0 && text[n - 1] != '=')
            n--;
        if (n == 0) {
            cli_error("--dump '%s': %s has no layer or value of that name", text, model);
            return EXIT_USAGE;
        }
        n--;
        *path = text + n + 1;
    }
    return EXIT_DONE;
}

void cli_dump_path(const char *text, const char *file, const char *mark, char *out, size_t room)
{
    char tail[16];
    size_t n = file ? strlen(file) : 0;
    snprintf(tail, sizeof tail, "%s.npy", mark);
    if (!file) {
        cli_array_file_name(text, strlen(text), 0, tail, out, room);
        return;
    }
    if (n > 4 && strcmp(file + n - 4, ".npy") == 0)
        n -= 4;
    snprintf(out, room, "%.*s%s", (int)n, file, *mark ? tail : file + n);
}

enum cli_exit cli_check_array(const struct cli_common *c, const char *path, const char *input)
{
    struct cli_common to = *c;
    to.output = path;
    return cli_check_output(&to, input);
}

enum cli_exit cli_write_array(const struct cli_common *c, const char *path,
                              struct pith_buffer *file)
{
    struct cli_common to = *c;
    enum cli_exit rc;
    to.output = path;
    rc = cli_write_output(&to, file->data, file->bytes);
    pith_buffer_free(file);
    return rc;
}
