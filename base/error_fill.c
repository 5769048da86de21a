/* SPDX-License-Identifier: MIT */
/* error_fill.c - filling a struct pith_error. */
#include "error_fill.h"

#include <stdarg.h>
#include <stdio.h>
#include "escape_text.h"

enum pith_status pith_error_fill(struct pith_error *err, enum pith_status status,
                                 const char *format, ...)
{
    char text[sizeof err->text];
    if (!err)
        return status;
    err->status = status;
    err->chunk = 0;
    err->offset = 0;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pith_escape_text(text, err->text, sizeof err->text);
    return status;
}

enum pith_status pith_error_no_memory(struct pith_error *err)
{
    return pith_error_fill(err, PITH_ERR_MEMORY, "out of memory");
}
