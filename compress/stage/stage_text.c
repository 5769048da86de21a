/* SPDX-License-Identifier: MIT */
/* stage_text.c - texts that options of a stage take out of what was given (stage_rows.h). */
#include "stage_rows.h"

#include <assert.h>
#include <string.h>

const char *pith_stage_keep_text(struct pith_stage_texts *texts, const char *text, size_t n)
{
    assert(texts);
    if (texts->n == PITH_STAGE_TEXTS || n == 0 || n >= PITH_STAGE_TEXT_BYTES)
        return NULL;
    char *kept = texts->text[texts->n++];
    memcpy(kept, text, n);
    kept[n] = '\0';
    return kept;
}
