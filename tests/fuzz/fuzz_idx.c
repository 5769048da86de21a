/* SPDX-License-Identifier: MIT */
/* IDX, CIFAR-10 and headerless records, labels in every form, and compressed bytes. Accepted data
 * must be readable to the last sample. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
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
    s.file =
        (struct file_source){.fd = -1, .mem = malloc(n + 1), .bytes = n, .name = strdup("fuzz")};
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
                            .options.output_rank = 1,
                            .options.output_dim = two,
                            .options.class_names = "a\nb, c"};
    struct pith_error err;
    s.file = (struct file_source){.fd = -1, .name = strdup("fuzz")};
    if (n % 2) {
        static const char *const names[] = {"a/1.png", "b/1.png", "c.jpg", "d/e/f.png", "g.png"};
        for (uint64_t i = 0; i < s.n_samples; i++) {
            if (!pith_list_add(&s.list, names[i], i, 1))
                abort();
        }
    }
    if (pith_labels_parse(&s, bytes, n, "labels", &err) == PITH_OK && !s.labels && !s.targets)
        abort();
    pith_list_free(&s.list);
    close_source(&s);
}

static void unpack(const uint8_t *bytes, size_t n)
{
    static uint8_t to[1 << 16];
    struct unpacker *u;
    struct pith_error err;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET))
        abort();
    size_t got = 1;
    if (pith_unpack_open(fd, "fuzz", &u, &err) == PITH_OK) {
        for (int pieces = 0; pieces < 64 && got > 0; pieces++)
            if (pith_unpack_read(u, to, sizeof to, &got, &err))
                got = 0;
        pith_unpack_close(u);
    }
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n < 2)
        return 0;
    int kind = bytes[0] % 5;
    bytes++;
    n--;
    if (kind < 3)
        open_as(kind, bytes, n);
    else if (kind == 3)
        parse_labels(bytes, n);
    else
        unpack(bytes, n);
    return 0;
}
