/* SPDX-License-Identifier: MIT */
/* test_refusals.c - what is wrong with a file is found where it is wrong. Good files of every kind
 * (tests/golden/version_3) are changed in one byte each, checksums mended, and read behind a guard
 * page: status, chunk and offset of each refusal stand in tests/golden/refusals.txt. A rule that is
 * no longer tested, or found out later, changes a line there. UPDATE=1 writes the list anew.
 *
 * Which byte becomes what is fixed: each byte of the header and of what is not data, and some
 * MOST_DATA of the data, get one of six changes by their place. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "guard_page.h"
#include "validate/format.h"
#include "pith_model.h"
#include "pack/unpack.h"
#include "pith_runtime.h"

#define FOLDER "tests/golden/"
#define DATA_STEP 61u
#define MOST_DATA 64u
#define MAX_BYTES (1u << 20) /* of tensors: lengths that became absurd are a limit */
#define FEWEST 1000u         /* refusals */

static const char *const file_name[] = {
    "bodies",
    "wiring",
    "wiring_compact",
    "types",
    "types_compact",
    "steps",
    "density0_centroids2_huffman",
    "density100_centroids1_groups_huffman",
    "density100_centroids2_adaptive",
    "density100_centroids2_groups_plain",
    "density30_centroids1_huffman",
    "density30_centroids2_plain",
    "density5_centroids0_adaptive",
    "density5_centroids0_huffman",
    "density5_centroids0_plain",
    "density5_centroids13_adaptive",
    "density5_centroids13_groups_adaptive",
    "density5_centroids13_groups_huffman",
    "density5_centroids13_huffman",
    "density60_centroids2_huffman",
    "shapes_compact",
    "integers",
    "planes",
    "rans_compact",
};
#define N_FILES (sizeof file_name / sizeof *file_name)

struct good {
    uint8_t *data; /* owns */
    size_t bytes;
    struct image im;
};

static void read_good(const char *name, struct good *g)
{
    char path[256];
    snprintf(path, sizeof path, FOLDER "version_3/%s.pith", name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    g->data = malloc(1u << 16);
    assert_non_null(g->data);
    g->bytes = fread(g->data, 1, 1u << 16, f);
    fclose(f);
    assert_in_range(g->bytes, 1, (1u << 16) - 1);
    assert_int_equal(pith_image_open(g->data, g->bytes, 0, &g->im, NULL), PITH_OK);
}

static uint8_t change(uint8_t was, size_t at)
{
    switch (at % 6) {
    case 0:
        return was ^ 1;
    case 1:
        return was ^ 0x80;
    case 2:
        return (uint8_t)(was + 1);
    case 3:
        return (uint8_t)(was - 1);
    case 4:
        return was ? 0 : 2;
    default:
        return was != 0xff ? 0xff : 0x7f;
    }
}

/* Checksums over what they covered; those of the table first, since they are in it. */
static void mend(const struct good *g, uint8_t *copy)
{
    if (g->im.compact) {
        store_le32(copy + g->bytes - COMPACT_CRC_BYTES,
                   pith_crc32c(0, copy, g->bytes - COMPACT_CRC_BYTES));
        return;
    }
    uint32_t n = load_le32(g->data + FULL_COUNT_AT);
    for (uint32_t i = 0; i < n; i++) {
        size_t entry = FULL_TABLE_AT + (size_t)i * FULL_ENTRY_BYTES;
        uint64_t at = load_le64(g->data + entry + 8), bytes = load_le64(g->data + entry + 16);
        if (load_le32(copy + entry + 4) == load_le32(g->data + entry + 4)) /* not the change */
            store_le32(copy + entry + 4, pith_crc32c(0, copy + at, (size_t)bytes));
    }
    size_t end = FULL_TABLE_AT + (size_t)n * FULL_ENTRY_BYTES;
    store_le32(copy + end, pith_crc32c(0, copy, end));
}

static bool is_data(const struct good *g, size_t at)
{
    const struct stream *data = &g->im.chunk[CHUNK_DATA];
    size_t first = (size_t)(data->bytes - g->data);
    return at >= first && at - first < data->n_bytes;
}

static bool is_tried(const struct good *g, size_t at)
{
    bool checksum = g->im.compact && at >= g->bytes - COMPACT_CRC_BYTES;
    size_t step = g->im.chunk[CHUNK_DATA].n_bytes / MOST_DATA | 1;
    return !checksum && (!is_data(g, at) || at % (step > DATA_STEP ? step : DATA_STEP) == 0);
}

/* The line of the list for the change at `at`; false: it is no refusal. */
static bool refusal(const struct good *g, const char *name, size_t at, char line[128])
{
    struct guarded copy = guard_new(g->bytes, 1);
    uint8_t *bytes = copy.data;
    struct pith_model *m = NULL;
    struct pith_error err = {0}, gate = {0};
    memcpy(bytes, g->data, g->bytes);
    bytes[at] = change(bytes[at], at);
    mend(g, bytes);
    enum pith_status st = pith_unpack(bytes, g->bytes, "bad",
                                      &(struct unpack_opts){.max_bytes = MAX_BYTES}, &m, &err);
    if (st &&
        pith_blob_check(bytes, g->bytes, 0, &gate)) { /* a message has the validation's offset */
        assert_int_equal(gate.status, st);
        assert_int_equal(gate.chunk, err.chunk);
        assert_int_equal(gate.offset, err.offset);
    }
    if (st) /* status 8, a limit, has no place: all tensors together are too much */
        snprintf(line, 128, "%s %zu %02x: %d %c%c%c%c %llu\n", name, at, bytes[at], (int)st,
                 err.chunk & 0xff ? (int)(err.chunk & 0xff) : '-',
                 err.chunk >> 8 & 0xff ? (int)(err.chunk >> 8 & 0xff) : '-',
                 err.chunk >> 16 & 0xff ? (int)(err.chunk >> 16 & 0xff) : '-',
                 err.chunk >> 24 ? (int)(err.chunk >> 24) : '-', (unsigned long long)err.offset);
    pith_model_free(m);
    guard_free(&copy);
    return st != PITH_OK;
}

TEST(refusals_are_the_listed_ones)
{
    const char *update = getenv("UPDATE");
    bool writes = update && *update;
    FILE *list = fopen(FOLDER "refusals.txt", writes ? "w" : "r");
    uint32_t n = 0, wrong = 0;
    char line[128], listed[128] = "";
    assert_non_null(list);
    for (size_t i = 0; i < N_FILES; i++) {
        struct good g = {0};
        read_good(file_name[i], &g);
        for (size_t at = 0; at < g.bytes; at++) {
            if (!is_tried(&g, at) || !refusal(&g, file_name[i], at, line))
                continue;
            n++;
            if (writes)
                fputs(line, list);
            else if ((!fgets(listed, sizeof listed, list) || strcmp(listed, line) != 0) &&
                     wrong++ == 0)
                print_error("%slisted: %s", line, listed);
        }
        free(g.data);
    }
    if (!writes && wrong == 0 && fgets(listed, sizeof listed, list)) {
        print_error("accepted: %s", listed);
        wrong++;
    }
    fclose(list);
    assert_int_equal(wrong, 0);
    assert_true(n >= FEWEST);
}

RUN_TESTS
