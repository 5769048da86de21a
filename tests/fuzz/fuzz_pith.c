/* SPDX-License-Identifier: MIT */
/* fuzz_pith.c - any bytes as a .pith, checksums off. What the gate accepts is written again from the
 * parsed graph and must give the same bytes (the canonical form); what also decodes is packed as a
 * model, and packing that file's model again must give the same bytes. */
#include <stdlib.h>
#include <string.h>
#include "pack.h"
#include "unpack.h"

#define MAX_MODEL_BYTES (1u << 24)

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* Checksums of the input are arbitrary: both files are compared without them. */
static void clear_checksums(uint8_t *p, size_t n, bool compact)
{
    if (compact) {
        memset(p + n - COMPACT_CRC_BYTES, 0, COMPACT_CRC_BYTES);
        return;
    }
    uint32_t count = load_le32(p + FULL_COUNT_AT);
    for (uint32_t i = 0; i < count; i++)
        memset(p + FULL_TABLE_AT + i * FULL_ENTRY_BYTES + 4, 0, 4);
    memset(p + FULL_TABLE_AT + count * FULL_ENTRY_BYTES, 0, FULL_CRC_BYTES);
}

static void written_again(const uint8_t *data, size_t n, const struct graph *g)
{
    struct image im;
    struct pack_file f = {.compact = g->compact};
    struct pith_buffer again;
    require(pith_image_open(data, n, PITH_FLAG_NO_CHECKSUM, &im, NULL) == PITH_OK);
    if (im.unknown)
        return;
    require(pith_pack_graph(g, &f) == PITH_OK);
    static const enum chunk_kind text[] = {CHUNK_HISTORY, CHUNK_META, CHUNK_NAMES, CHUNK_STATS};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        pith_out_bytes(&f.chunk[text[i]], im.chunk[text[i]].bytes, im.chunk[text[i]].n_bytes);
    require(pith_pack_container(&f, &again) == PITH_OK);
    require(again.bytes == n);
    uint8_t *copy = malloc(n);
    require(copy != NULL);
    memcpy(copy, data, n);
    clear_checksums(copy, n, g->compact);
    clear_checksums(again.data, n, g->compact);
    require(memcmp(copy, again.data, n) == 0);
    free(copy);
    pith_buffer_free(&again);
    pith_pack_clear(&f);
}

static void packed_again(const uint8_t *data, size_t n, bool compact)
{
    struct pith_model *m, *second;
    struct pith_buffer file, again;
    struct pith_pack_opts opts = {.size_bytes = sizeof opts,
                                  .compact = compact,
                                  .keep_history = true,
                                  .keep_names = true};
    if (pith_unpack(data, n, "fuzz", PITH_FLAG_NO_CHECKSUM, MAX_MODEL_BYTES, NULL, &m, NULL))
        return;
    if (pith_model_pack(m, &opts, &file, NULL) == PITH_OK) {
        require(pith_unpack(file.data, file.bytes, "fuzz", 0, MAX_MODEL_BYTES, NULL, &second,
                            NULL) == PITH_OK);
        require(pith_model_pack(second, &opts, &again, NULL) == PITH_OK);
        require(again.bytes == file.bytes && memcmp(again.data, file.data, file.bytes) == 0);
        pith_model_free(second);
        pith_buffer_free(&file);
        pith_buffer_free(&again);
    }
    pith_model_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    uint64_t need;
    struct graph g;
    struct tview *shapes;
    if (pith_graph_need(data, n, PITH_FLAG_NO_CHECKSUM, &need, NULL) || need > (64u << 20))
        return 0;
    void *mem = aligned_alloc(64, (size_t)((need + 64) & ~UINT64_C(63)));
    require(mem != NULL);
    if (pith_graph_read(data, n, PITH_FLAG_NO_CHECKSUM, 0, mem, need, &g, &shapes, NULL) ==
        PITH_OK) {
        written_again(data, n, &g);
        packed_again(data, n, g.compact);
    }
    free(mem);
    return 0;
}
