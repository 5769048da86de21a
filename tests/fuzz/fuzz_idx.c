/* SPDX-License-Identifier: MIT */
/* IDX, CIFAR-10 and headerless records, labels in every form, gzip around them. Accepted data must
 * be readable to the last sample. */
#include <stdlib.h>
#include <string.h>
#include "data/data_source.h"
#include "data/npy_header.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void close_source(struct data_source *s)
{
    free(s->labels);
    free(s->targets);
    pith_source_close(&s->file);
}

static void read_ends(struct data_source *s)
{
    const uint64_t ends[] = {0, s->n_samples - 1};
    for (int i = 0; i < 2; i++) {
        struct pith_image image = {0};
        if (s->pictures) {
            if (s->picture(s, ends[i], &image, NULL) == PITH_OK)
                pith_image_free(&image);
        } else if (s->elems <= 1 << 20) {
            float *x = malloc(s->elems * sizeof *x);
            if (x)
                s->numbers(s, ends[i], x, NULL);
            free(x);
        }
    }
}

static void open_as(int kind, const uint8_t *bytes, size_t n)
{
    struct data_source s = {.max_bytes = 1 << 24};
    struct pith_error err;
    s.file = (struct file_source){-1, malloc(n + 1), n, strdup("fuzz")};
    if (!s.file.mem || !s.file.name)
        abort();
    memcpy(s.file.mem, bytes, n);
    enum pith_status st = kind == 0   ? pith_idx_open(&s, &err)
                          : kind == 1 ? pith_cifar_open(&s, &err)
                                      : pith_raw_open(&s, PITH_I16, 1 + n % 7, &err);
    if (st == PITH_OK)
        read_ends(&s);
    close_source(&s);
}

static void parse_labels(const uint8_t *bytes, size_t n)
{
    static const uint32_t two[] = {2};
    struct data_source s = {.n_samples = 1 + n % 5,
                            .max_bytes = 1 << 24,
                            .output_rank = 1,
                            .output_dim = two,
                            .class_names = "a\nb, c"};
    struct pith_error err;
    s.file = (struct file_source){-1, NULL, 0, strdup("fuzz")};
    if (n % 2) {
        static const char *const names[] = {"a/1.png", "b/1.png", "c.jpg", "d/e/f.png", "g.png"};
        for (uint64_t i = 0; i < s.n_samples; i++) {
            if (!pith_archive_add(&s.list, names[i], strlen(names[i]), i, 1))
                abort();
        }
    }
    if (pith_labels_parse(&s, bytes, n, "labels", &err) == PITH_OK && !s.labels && !s.targets)
        abort();
    pith_archive_free(&s.list);
    close_source(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n < 2)
        return 0;
    struct pith_buffer out;
    struct pith_error err;
    int kind = bytes[0] % 5;
    bytes++;
    n--;
    if (kind < 3)
        open_as(kind, bytes, n);
    else if (kind == 3)
        parse_labels(bytes, n);
    else if (pith_gzip_read(bytes, n, 1 << 22, "fuzz", &out, &err) == PITH_OK)
        free(out.data);
    return 0;
}
