/* SPDX-License-Identifier: MIT */
/* stage_text.c - texts that options of a stage take out of what was given (stage_rows.h). */
#include "stage_rows.h"

#include <assert.h>
#include <string.h>

#include "base/error_fill.h"

/* A copy of the first n bytes that lives as long as texts; NULL: none, or too many of them. */
static const char *stage_keep_text(struct pith_stage_texts *texts, const char *text, size_t n)
{
    assert(texts);
    if (texts->n == PITH_STAGE_TEXTS || n == 0 || n >= PITH_STAGE_TEXT_BYTES)
        return NULL;
    char *kept = texts->text[texts->n++];
    memcpy(kept, text, n);
    kept[n] = '\0';
    return kept;
}

const char *pith_stage_layer_value(const char *text, struct pith_error *err)
{
    const char *equals = strrchr(text, '=');
    if (equals && equals != text)
        return equals + 1;
    pith_error_fill(err, PITH_ERR_ARGUMENT, "'%.100s': not of the form GLOB=value", text);
    return NULL;
}

const char *pith_stage_keep_glob(struct pith_stage_texts *texts, const char *text,
                                 const char *value, uint32_t n, struct pith_error *err)
{
    const char *glob = stage_keep_text(texts, text, (size_t)(value - text) - 1);
    if (glob && n < PITH_STAGE_LAYERS)
        return glob;
    pith_error_fill(err, PITH_ERR_ARGUMENT, "'%.100s': too long, or given too often", text);
    return NULL;
}
