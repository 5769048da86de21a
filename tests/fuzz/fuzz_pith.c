/* SPDX-License-Identifier: MIT */
/* fuzz_pith.c - any bytes as a .pith, checksums off. What the gate accepts is written again from
 * the parsed graph and must give the same bytes (the canonical form); what also decodes is packed
 * as a model, and packing that file's model again must give the same bytes; written as ONNX and
 * read again it is the same network (closure.h). What can be planned in 64 MB is run by the
 * reference and by the best kernels here; of networks whose operators do not magnify differences
 * and whose values stay small, the outputs must agree. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "closure.h"
#include "pack/pack.h"
#include "pith_pack.h"
#include "pith_host.h"
#include "pack/unpack.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

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
    struct pith_pack_opts opts = {
        .size_bytes = sizeof opts, .compact = compact, .keep_history = true, .full = !compact};
    if (pith_unpack(
            data, n, "fuzz",
            &(struct unpack_opts){.flags = PITH_FLAG_NO_CHECKSUM, .max_bytes = MAX_MODEL_BYTES}, &m,
            NULL))
        return;
    if (pith_model_pack(m, &opts, &file, NULL) == PITH_OK) {
        require(pith_unpack(file.data, file.bytes, "fuzz",
                            &(struct unpack_opts){.max_bytes = MAX_MODEL_BYTES}, &second,
                            NULL) == PITH_OK);
        require(pith_model_pack(second, &opts, &again, NULL) == PITH_OK);
        require(again.bytes == file.bytes && memcmp(again.data, file.data, file.bytes) == 0);
        struct pith_error err = {0};
        enum closure found = closure_of(m, false, &err);
        if (found >= CLOSURE_NOT_READ)
            fprintf(stderr, "closure %d: %s\n", (int)found, err.text);
        require(found < CLOSURE_NOT_READ);
        pith_model_free(second);
        pith_buffer_free(&file);
        pith_buffer_free(&again);
    }
    pith_model_free(m);
}

/* ---- running --------------------------------------------------------------------------------- */

#define MAX_PLAN_BYTES (64u << 20)
#define MAX_WORK 200000000.0 /* multiplications of a run: about a second under the sanitizers */
#define SMALL 100.0f
#define AGREE 0.05f

struct watched {
    bool small; /* all values so far are finite and small */
};

static void watch(void *user, const struct pith_layer *layer, const struct pith_tensor *out)
{
    struct watched *w = user;
    const float *x = out->data;
    (void)layer;
    for (uint64_t i = 0; out->type == PITH_F32 && i < out->bytes / sizeof *x; i++)
        w->small = w->small && fabsf(x[i]) <= SMALL;
}

/* Operators that are at most as steep as a sum of their inputs. */
static bool gentle(const struct graph *g)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        switch (g->nodes[i].info->op) {
        case PITH_OP_CONV:
        case PITH_OP_GEMM:
        case PITH_OP_MATMUL:
        case PITH_OP_ADD:
        case PITH_OP_SUB:
        case PITH_OP_RELU:
        case PITH_OP_TANH:
        case PITH_OP_SIGMOID:
        case PITH_OP_SOFTMAX:
        case PITH_OP_MAX_POOL:
        case PITH_OP_AVERAGE_POOL:
        case PITH_OP_GLOBAL_AVERAGE_POOL:
        case PITH_OP_CONCAT:
        case PITH_OP_FLATTEN:
        case PITH_OP_RESHAPE:
        case PITH_OP_TRANSPOSE:
            break;
        default:
            return false;
        }
    }
    return true;
}

/* How often nodes of loops run, at most. */
static double loop_steps(const struct graph *g)
{
    double steps = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        double trips = 1;
        for (uint32_t o = g->nodes[i].region; o != PITH_NO_NODE; o = g->nodes[o].region)
            if (g->nodes[o].info->op == PITH_OP_LOOP)
                trips *= g->nodes[o].attr[ATTR_LOOP_TRIPS];
        steps += trips > 1 ? trips : 0;
    }
    return steps;
}

static void fill_inputs(struct pith_plan *plan)
{
    struct pith_tensor t;
    for (uint32_t k = 0; k < pith_plan_input_count(plan); k++) {
        require(pith_plan_input(plan, k, &t) == PITH_OK);
        uint8_t *p = pith_plan_input_data(plan, k);
        float *x = (float *)(void *)p;
        for (uint64_t i = 0; i < t.bytes; i++)
            p[i] = (uint8_t)(i % 2);
        for (uint64_t i = 0; t.type == PITH_F32 && i < t.bytes / sizeof *x; i++)
            x[i] = (float)(i * 37 % 101) / 50.0f - 1.0f;
    }
}

/* Output 0 (malloc'ed), if the image can be planned within the limits. */
static float *output_of(const uint8_t *data, size_t n, const struct graph *g,
                        struct pith_opts *opts, uint64_t *bytes)
{
    struct pith_need need;
    struct pith_plan *plan;
    struct pith_tensor t;
    double work = 0;
    float *out = NULL;
    if (pith_plan_size(data, n, opts, &need))
        return NULL;
    require(need.bytes <= MAX_PLAN_BYTES);
    void *mem = aligned_alloc((size_t)need.align, (size_t)((need.bytes + 63) & ~UINT64_C(63)));
    require(mem != NULL);
    if (pith_plan_init(mem, (size_t)need.bytes, data, n, opts, &plan) == PITH_OK) {
        struct pith_layer layer;
        for (uint32_t i = 0; pith_plan_layer(plan, i, &layer) == PITH_OK; i++)
            work += (double)layer.macs;
        work += loop_steps(g) * (double)need.arena_bytes;
        fill_inputs(plan);
        if (work < MAX_WORK && pith_plan_run(plan) == PITH_OK) {
            require(pith_plan_output(plan, 0, &t) == PITH_OK);
            *bytes = t.type == PITH_F32 ? t.bytes : 0;
            out = malloc((size_t)*bytes + 1);
            require(out != NULL);
            memcpy(out, pith_plan_output_data(plan, 0), (size_t)*bytes);
        }
    }
    free(mem);
    return out;
}

static void run_both_ways(const uint8_t *data, size_t n, const struct graph *g)
{
    struct watched w = {.small = gentle(g)};
    uint64_t bytes = 0, ref_bytes = 0;
    struct pith_opts opts = {
        .size_bytes = sizeof opts, .flags = PITH_FLAG_NO_CHECKSUM, .max_bytes = MAX_PLAN_BYTES};
    float *best = output_of(data, n, g, &opts, &bytes);
    opts.cpu_mask = PITH_CPU_REF;
    opts.observe = watch;
    opts.user = &w;
    float *ref = output_of(data, n, g, &opts, &ref_bytes);
    if (best && ref && w.small) {
        require(bytes == ref_bytes);
        for (uint64_t i = 0; i < bytes / sizeof *ref; i++)
            require(fabsf(best[i] - ref[i]) <= AGREE);
    }
    free(best);
    free(ref);
}

/* ---- the mutator ----------------------------------------------------------------------------- */

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* One chunk changes, and may get longer or shorter: the headers around it are made to fit, which a
 * change of bytes anywhere would break nine times of ten. 0: the file is beyond that. */
static size_t mutate_chunk(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    static const enum chunk_kind kind[] = {CHUNK_GRAPH, CHUNK_GRAPH,   CHUNK_GRAPH,
                                           CHUNK_DATA,  CHUNK_TABLES,  CHUNK_META,
                                           CHUNK_NAMES, CHUNK_HISTORY, CHUNK_STATS};
    static uint8_t room[1u << 16];
    struct image im;
    struct pith_buffer made;
    enum chunk_kind changed = kind[seed % (sizeof kind / sizeof *kind)];
    if (pith_image_open(data, size, PITH_FLAG_NO_CHECKSUM, &im, NULL) || im.unknown ||
        im.chunk[changed].n_bytes > sizeof room)
        return 0;
    struct pack_file f = {.compact = im.compact};
    for (uint32_t k = 0; k < CHUNK_KINDS; k++) {
        struct stream from = im.chunk[k];
        if (k == changed) {
            if (from.n_bytes)
                memcpy(room, from.bytes, from.n_bytes);
            from = (struct stream){room, LLVMFuzzerMutate(room, from.n_bytes,
                                                          from.n_bytes + 16 < sizeof room
                                                              ? from.n_bytes + 16
                                                              : sizeof room)};
        }
        if (k == CHUNK_DATA)
            pith_pieces_add(&f.data, from.bytes, from.n_bytes);
        else
            pith_out_bytes(&f.chunk[k], from.bytes, from.n_bytes);
    }
    size_t n = 0;
    if (pith_pack_container(&f, &made) == PITH_OK) {
        n = made.bytes <= max_size ? made.bytes : 0;
        if (n)
            memcpy(data, made.data, n);
        pith_buffer_free(&made);
    }
    pith_pack_clear(&f);
    return n;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    size_t n = seed % 8 ? mutate_chunk(data, size, max_size, seed / 8) : 0;
    return n ? n : LLVMFuzzerMutate(data, size, max_size);
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
    if (pith_graph_read((struct graph_bytes){data, n, PITH_FLAG_NO_CHECKSUM}, 0,
                        (struct graph_room){mem, need}, &g, &shapes, NULL) == PITH_OK) {
        /* What takes milliseconds is done with one file of 16 each, chosen by their bytes, so that
         * the same file always meets the same. */
        uint32_t turn = pith_crc32c(0, data, n) % 16;
        written_again(data, n, &g);
        if (turn == 0)
            packed_again(data, n, g.compact);
        if (turn == 1)
            run_both_ways(data, n, &g);
    }
    free(mem);
    return 0;
}
