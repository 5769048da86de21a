/* SPDX-License-Identifier: MIT */
/* onnx_state.c - the state of an import, which every file of it reads and adds to: values by
 * number, rows of the table of operators, and error messages.
 */
#include "onnx.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/escape_text.h"

enum { ONNX_MESSAGE = sizeof((struct pith_error){0}.text) };

/* "net.onnx: ", then what format makes; names come from the file. */
static void write_text(const struct onnx_import *im, const char *fmt, va_list ap,
                       char escaped[ONNX_MESSAGE])
{
    char text[ONNX_MESSAGE];
    int n = snprintf(text, sizeof text, "%.150s: ", im->file);
    vsnprintf(text + n, sizeof text - (size_t)n, fmt, ap);
    pith_escape_text(text, escaped, ONNX_MESSAGE);
}

enum pith_status pith_onnx_fail(struct onnx_import *im, enum pith_status status, const char *fmt,
                                ...)
{
    va_list ap;
    if (!im->err)
        return status;
    im->err->status = status;
    im->err->chunk = 0;
    va_start(ap, fmt);
    write_text(im, fmt, ap, im->err->text);
    va_end(ap);
    return status;
}

void pith_onnx_warn(const struct onnx_import *im, const char *fmt, ...)
{
    char text[ONNX_MESSAGE];
    va_list ap;
    if (!im->opts || !im->opts->warn)
        return;
    va_start(ap, fmt);
    write_text(im, fmt, ap, text);
    va_end(ap);
    im->opts->warn(im->opts->warn_user, text);
}

enum pith_status pith_onnx_no_memory(struct onnx_import *im)
{
    enum pith_status status = pith_onnx_memory_status(&im->budget);
    if (status == PITH_ERR_LIMIT)
        return pith_onnx_fail(im, status,
                              "import needs more than %llu bytes of memory (--max-memory)",
                              (unsigned long long)im->budget.limit);
    return pith_onnx_fail(im, status, "not enough memory");
}

const char *pith_onnx_label(const Onnx__NodeProto *node)
{
    if (node->name && *node->name)
        return node->name;
    for (size_t i = 0; i < node->n_output; i++)
        if (*node->output[i])
            return node->output[i];
    return "?";
}

uint32_t pith_onnx_add_value(struct onnx_import *im, const char *name)
{
    if (im->n_values == im->cap_values) {
        uint32_t cap = im->cap_values < 64 ? 64 : im->cap_values * 2;
        struct onnx_value *grown = pith_onnx_alloc(&im->budget, cap, sizeof *grown);
        if (!grown)
            return ONNX_VALUE_NONE;
        if (im->n_values)
            memcpy(grown, im->values, im->n_values * sizeof *grown);
        pith_onnx_free(&im->budget, im->values);
        im->values = grown;
        im->cap_values = cap;
    }
    im->values[im->n_values] =
        (struct onnx_value){.name = name, .alias = im->n_values, .producer = ONNX_NONE};
    return im->n_values++;
}

uint32_t pith_onnx_alias(const struct onnx_import *im, uint32_t value)
{
    while (value != ONNX_VALUE_NONE && im->values[value].alias != value)
        value = im->values[value].alias;
    return value;
}

static int compare_row(const void *op_type, const void *row)
{
    return strcmp(op_type, ((const struct onnx_row *)row)->op_type);
}

static const struct onnx_row *find_row(const struct onnx_row *list, size_t n, const char *op_type)
{
    return bsearch(op_type, list, n, sizeof *list, compare_row);
}

const struct onnx_row *pith_onnx_row(const struct onnx_import *im, const Onnx__NodeProto *node)
{
    const struct onnx_table *t = im->table;
    const char *domain = node->domain ? node->domain : "";
    if (strcmp(domain, "com.microsoft") == 0)
        return find_row(t->microsoft, t->n_microsoft, node->op_type);
    if (*domain && strcmp(domain, "ai.onnx") != 0)
        return NULL;
    return find_row(t->standard, t->n_standard, node->op_type);
}
