/* SPDX-License-Identifier: MIT */
/* fuzz_streams.c - any bytes as the streams of one tensor: adaptive, rANS-coded, byte planes,
 * Huffman-coded, with and without a support, whole and in pieces. The tensor is
 * described in a .pith around them, so the gate's rules hold; then it is expanded, some twice to
 * the same, and its streams are in blocks of their own, so that a read past the end is noticed. */
#include <stdlib.h>
#include <string.h>
#include "kernels/crc32c.h"
#include "validate/format.h"
#include "validate/graph.h"
#include "decode/weight.h"
#include "backwards.h"
#include "decode/gap_decode.h"
#include "decode/weight_cut.h"
#include "pith_runtime.h"

#define MAX_ELEMENTS 4096u
#define GRAPH_ROOM 64u

static void must(int holds)
{
    if (!holds)
        abort();
}

static uint8_t *put_varint(uint8_t *p, uint64_t v)
{
    for (; v > 127; v >>= 7)
        *p++ = (uint8_t)(v | 0x80);
    *p++ = (uint8_t)v;
    return p;
}

/* input [1, cols]; one tensor as the bytes describe it; Add, which takes many shapes. */
static size_t put_graph(uint8_t *g, const uint8_t *header, size_t n_header, uint32_t cols)
{
    uint8_t *p = g;
    *p++ = 0;
    *p++ = 2;
    *p++ = 1;
    p = put_varint(p, cols);
    *p++ = 1;
    memcpy(p, header, n_header);
    p += n_header;
    *p++ = 4;
    return (size_t)(p - g);
}

static void *exact_copy(const void *from, size_t n)
{
    void *copy = malloc(n ? n : 1);
    must(copy != NULL);
    if (n)
        memcpy(copy, from, n);
    return copy;
}

/* In pieces as whole: the status, and the elements at `whole`. */
static void check_pieces(const struct weight *w, const float *whole, enum pith_status st,
                         void *scratch)
{
    uint32_t calls = 0;
    struct op_env env = {.user = &calls, .parallel_for = backwards};
    float *cut = malloc((size_t)w->count * sizeof *cut);
    must(cut != NULL);
    must(pith_weight_cut_f32(&env, w, cut, scratch) == st);
    must(st || memcmp(cut, whole, (size_t)w->count * sizeof *cut) == 0);
    free(cut);
}

/* again: a second time, to the same. */
static void expand(const struct weight *described, bool again)
{
    struct weight w = *described;
    if (w.count > MAX_ELEMENTS)
        return;
    w.support_stream.bytes = exact_copy(w.support_stream.bytes, w.support_stream.n_bytes);
    w.index_stream.bytes = exact_copy(w.index_stream.bytes, w.index_stream.n_bytes);
    w.codebook.bytes = exact_copy(w.codebook.bytes, w.codebook.n_bytes);
    float *a = malloc((size_t)w.count * sizeof *a);
    void *scratch = aligned_alloc(64, (pith_weight_scratch_bytes(&w) + 127) & ~(size_t)63);
    must(a && scratch);
    enum pith_status st = pith_weight_expand_f32(&w, a, scratch);
    must(st == PITH_OK || st == PITH_ERR_CORRUPT);
    if (again) {
        float *b = malloc((size_t)w.count * sizeof *b);
        must(b != NULL);
        must(pith_weight_expand_f32(&w, b, scratch) == st);
        if (!st)
            must(memcmp(a, b, (size_t)w.count * sizeof *a) == 0);
        free(b);
    }
    if (pith_weight_is_cut(&w))
        check_pieces(&w, a, st, scratch);
    free(scratch);
    free(a);
    free((void *)(uintptr_t)w.support_stream.bytes);
    free((void *)(uintptr_t)w.index_stream.bytes);
    free((void *)(uintptr_t)w.codebook.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* One byte: how many of the next describe the tensor; one: columns; one: bytes of tables. The rest
 * is tables and data. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n < 3 || data[0] > 40 || n - 3 < (size_t)data[0] + data[2] || data[2] > 127)
        return 0;
    static uint8_t file[1u << 16];
    uint8_t graph[GRAPH_ROOM], *p = file;
    size_t n_graph = put_graph(graph, data + 3, data[0], data[1]);
    size_t rest = n - 3 - data[0];
    if (rest > sizeof file / 2)
        return 0;
    *p++ = COMPACT_MAGIC_0;
    *p++ = COMPACT_MAGIC_1 | FORMAT_VERSION;
    *p++ = 1;
    p = put_varint(p, n_graph);
    if (data[2]) {
        *p++ = 2;
        *p++ = data[2];
    }
    *p++ = COMPACT_DATA;
    memcpy(p, graph, n_graph);
    memcpy(p + n_graph, data + 3 + data[0], rest);
    size_t bytes = (size_t)(p - file) + n_graph + rest + COMPACT_CRC_BYTES;
    static uint8_t memory[1u << 20] __attribute__((aligned(64)));
    uint64_t need;
    struct graph g;
    struct tview *shapes;
    if (pith_graph_need(file, bytes, PITH_FLAG_NO_CHECKSUM, &need, NULL) || need > sizeof memory ||
        pith_graph_read((struct graph_bytes){file, bytes, PITH_FLAG_NO_CHECKSUM}, 0,
                        (struct graph_room){memory, need}, &g, &shapes, NULL))
        return 0;
    /* One file of 16, chosen by its bytes, is expanded by both decoders, each twice; of the others
     * every second by either. */
    static uint32_t cpu;
    cpu = cpu ? cpu : pith_cpu_features();
    uint32_t turn = pith_crc32c(0, data, n) % 16;
    for (uint32_t i = 0; i < g.n_weights; i++) {
        if (turn == 0 || turn % 2)
            expand(&g.weights[i], turn == 0);
        g.weights[i].cpu = cpu;
        if (turn == 0 || turn % 2 == 0)
            expand(&g.weights[i], turn == 0);
    }
    return 0;
}
