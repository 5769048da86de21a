/* SPDX-License-Identifier: MIT */
/* fuzz_text.c - texts that people write: preprocessing, which is printed and read again; labels of
 * 3 samples; one option of a stage, "key=value"; a range of samples. The first byte selects which.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "data/data_source.h"
#include "data/npy_header.h"
#include "pith_preprocess.h"
#include "pith_stage_options.h"

static void must(int holds)
{
    if (!holds)
        abort();
}

static void preprocess(const char *text, size_t n)
{
    struct pith_preprocess pre, again;
    struct pith_error err = {0};
    char printed[PITH_PREPROCESS_TEXT_BYTES], twice[PITH_PREPROCESS_TEXT_BYTES];
    if (pith_preprocess_read(text, n, &pre, &err)) {
        must(err.text[0] != 0);
        return;
    }
    must(pith_preprocess_format(&pre, printed, sizeof printed) == PITH_OK);
    must(pith_preprocess_parse(printed, strlen(printed), &again) == PITH_OK);
    must(pith_preprocess_format(&again, twice, sizeof twice) == PITH_OK);
    must(strcmp(printed, twice) == 0);
}

static void labels(const char *text, size_t n)
{
    struct data_source s = {.n_samples = 3,
                            .elems = 1,
                            .max_bytes = 1u << 20,
                            .options.class_names = "a\nn01440764 b_c, D"};
    struct pith_error err = {0};
    enum pith_status st = pith_labels_parse(&s, (const uint8_t *)text, n, "labels", &err);
    must(st ? err.text[0] != 0 : s.labels || s.targets);
    free(s.labels);
    free(s.targets);
}

/* text: NUL-terminated. */
static void option(char *text)
{
    static struct pith_stage_texts texts;
    struct pith_stage stage;
    struct pith_error err = {0};
    char *equals = text[0] ? strchr(text + 1, '=') : NULL;
    if (!equals)
        return;
    *equals = 0;
    pith_stage_init(&stage, (enum pith_stage_kind)(1 + (uint8_t)text[0] % PITH_STAGE_COMPRESS));
    texts.n = 0;
    if (pith_stage_set(&stage, text + 1, equals + 1, &texts, &err))
        must(err.text[0] != 0 || !pith_stage_option(stage.kind, text + 1, strlen(text + 1), NULL));
}

static void range(const char *text)
{
    uint32_t *chosen = NULL;
    uint64_t n = 0;
    struct pith_error err = {0};
    if (pith_range_choose(text, 1000, "data", &chosen, &n, &err))
        must(err.text[0] != 0);
    else
        for (uint64_t i = 0; chosen && i < n; i++)
            must(chosen[i] < 1000);
    free(chosen);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = n ? malloc(n) : NULL; /* without the first byte, with a NUL */
    if (!text)
        return 0;
    memcpy(text, data + 1, n - 1);
    text[n - 1] = 0;
    switch (data[0] % 4) {
    case 0:
        preprocess(text, n - 1);
        break;
    case 1:
        labels(text, n - 1);
        break;
    case 2:
        option(text);
        break;
    default:
        range(text);
    }
    free(text);
    return 0;
}
