/* SPDX-License-Identifier: MIT */
/* test_pack.c - models into bytes and back. */
#include <stdint.h>
#include <stdio.h>
#include "test_run.h"
#include "base/byte_out.h"
#include "pith_load.h"
#include "pack/graph_open.h"
#include "pack/pack.h"
#include "pith_pack.h"
#include "runtime/made_file.h"
#include "sample_models.h"
#include "sanitized.h"
#include "pack/unpack.h"

static struct pith_buffer pack(const struct pith_model *m, bool compact, bool history)
{
    struct pith_pack_opts opts = {
        .size_bytes = sizeof opts, .compact = compact, .keep_history = history, .full = !compact};
    struct pith_buffer file = {NULL, 0};
    struct pith_error err = {0};
    enum pith_status st = pith_model_pack(m, &opts, &file, &err);
    if (st)
        print_error("pack: %s\n", err.text);
    assert_int_equal(st, PITH_OK);
    return file;
}

static struct pith_model *unpack(const struct pith_buffer *file)
{
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    enum pith_status st = pith_unpack(file->data, file->bytes, "sample", NULL, &m, &err);
    if (st)
        print_error("unpack: %s\n", err.text);
    assert_int_equal(st, PITH_OK);
    return m;
}

static void assert_same_bytes(const struct pith_buffer *a, const struct pith_buffer *b)
{
    assert_int_equal(a->bytes, b->bytes);
    assert_memory_equal(a->data, b->data, a->bytes);
}

static void round_trip(const struct pith_model *m, uint64_t seed)
{
    struct pith_buffer file = pack(m, false, true);
    struct pith_model *back = unpack(&file);
    const char *what = sample_difference(m, back);
    if (what)
        print_error("seed %llu: %s differs\n", (unsigned long long)seed, what);
    assert_null(what);
    struct pith_buffer again = pack(back, false, true);
    assert_same_bytes(&file, &again);
    pith_model_free(back);
    pith_buffer_free(&again);
    pith_buffer_free(&file);
}

TEST(lenet_round_trip)
{
    struct pith_model *m = sample_lenet(1, 40);
    struct pith_error err;
    assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
    round_trip(m, 1);
    sample_compress(m, 0.08, 32);
    round_trip(m, 1);
    pith_model_free(m);
}

static void *graph_of_file(const struct pith_buffer *file, struct graph *g)
{
    uint64_t need;
    struct tview *shapes;
    assert_int_equal(pith_graph_need(file->data, file->bytes, 0, &need, NULL), PITH_OK);
    void *mem = aligned_alloc(64, (need + 64) & ~UINT64_C(63));
    assert_int_equal(pith_graph_read((struct graph_bytes){file->data, file->bytes, 0}, NULL,
                                     (struct graph_room){mem, need}, g, &shapes, NULL),
                     PITH_OK);
    return mem;
}

/* Bytes of tables, codebooks and streams. */
static size_t stream_bytes(const struct pith_buffer *file)
{
    struct graph g;
    struct stream tables = {NULL, 0};
    void *mem = graph_of_file(file, &g);
    pith_chunk_find(file->data, file->bytes, TAG_TABLES, &tables);
    size_t n = tables.n_bytes;
    for (uint32_t i = 0; i < g.n_weights; i++)
        n += g.weights[i].codebook.n_bytes + g.weights[i].support_stream.n_bytes +
             g.weights[i].index_stream.n_bytes;
    free(mem);
    return n;
}

static void code_all(struct pith_model *m, enum pith_code code)
{
    for (uint32_t i = 0; i < m->n_values; i++)
        if (m->values[i].constant)
            m->values[i].constant->code = code;
}

/* Floats that are not pruned or clustered are shorter under Huffman codes, to the bit what they
 * were; those of small tensors stay where a runtime reads them in place. */
TEST(floats_are_coded)
{
    struct pith_error err;
    struct pith_model *m = sample_lenet5(1);
    assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
    code_all(m, PITH_CODE_PLAIN);
    struct pith_buffer plain = pack(m, false, true);
    code_all(m, PITH_CODE_HUFFMAN);
    struct pith_buffer coded = pack(m, false, true);
    assert_true(stream_bytes(&coded) < stream_bytes(&plain) * 85 / 100);
    struct pith_model *back = unpack(&coded);
    for (uint32_t i = 0, k = 0; i < m->n_values; i++) {
        const struct pith_const *c = m->values[i].constant;
        while (c && !back->values[k].constant)
            k++;
        if (!c)
            continue;
        const struct pith_const *r = back->values[k++].constant;
        assert_int_equal(r->count, c->count);
        assert_memory_equal(r->data, c->data, c->count * sizeof(float));
        assert_int_equal(r->code, c->count >= 4096 ? PITH_CODE_HUFFMAN : PITH_CODE_PLAIN);
    }
    struct pith_buffer again = pack(back, false, true);
    assert_same_bytes(&coded, &again);
    double seconds;
    assert_int_equal(pith_load_seconds(&coded, &seconds), PITH_OK);
    assert_true(seconds > 0.001 && seconds < 0.002); /* 430,000 floats of 3 ns */
    pith_model_free(back);
    pith_buffer_free(&again);
    pith_buffer_free(&coded);
    pith_buffer_free(&plain);
    pith_model_free(m);
}

/* Masks, codebooks and floats. */
TEST(nothing_is_coded_in_plain_files)
{
    const struct pith_pack_opts opts = {.size_bytes = sizeof opts, .plain = true};
    struct pith_model *m = sample_lenet(1, 40);
    struct pith_error err;
    assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
    for (uint32_t i = 0; i < 2; i++) {
        struct pith_buffer plain, file;
        code_all(m, PITH_CODE_PLAIN);
        assert_int_equal(pith_model_pack(m, NULL, &plain, &err), PITH_OK);
        for (enum pith_code code = PITH_CODE_HUFFMAN; code <= PITH_CODE_RANS; code++) {
            code_all(m, code);
            assert_int_equal(pith_model_pack(m, &opts, &file, &err), PITH_OK);
            assert_same_bytes(&file, &plain);
            pith_buffer_free(&file);
        }
        pith_buffer_free(&plain);
        sample_compress(m, 0.08, 32);
    }
    pith_model_free(m);
}

TEST(compact_lenet_costs_little)
{
    struct pith_model *m = sample_lenet5(1);
    sample_compress(m, 0.005, 8);
    struct pith_buffer file = pack(m, true, false);
    size_t beyond = file.bytes - stream_bytes(&file);
    if (getenv("PITH_TEST_PRINT"))
        print_message("%zu bytes, %zu beyond the streams\n", file.bytes, beyond);
    assert_in_range(beyond, 50, 100);
    struct pith_model *back = unpack(&file);
    struct pith_buffer again = pack(back, true, false);
    assert_same_bytes(&file, &again);
    pith_model_free(back);
    pith_buffer_free(&again);
    pith_buffer_free(&file);
    pith_model_free(m);
}

/* A trained LeNet-5 some of whose biases are 0: no mask of theirs is written, and the heads are the
 * short ones as long as that costs no stream more. */
static void check_trained_lenet(uint32_t one_of)
{
    struct pith_model *m = sample_lenet(1, 20);
    for (uint32_t i = 0; i < m->n_values; i++) {
        struct pith_const *c = m->values[i].constant;
        if (c && one_of == 1 && c->count == 25000) {
            sample_integers(m, c, 50, 1);
            c->mask = NULL; /* dense; the other layers stay floats */
        }
        if (c && m->values[i].rank > 1 && one_of > 1)
            sample_integers(m, c, 7, one_of);
        if (c && m->values[i].rank == 1)
            sample_integers(m, c, 15, 1);
        if (c && m->values[i].rank == 1 && c->count > 20) {
            c->mask[3] = c->codebook->index[3] = 0;
            ((float *)c->data)[3] = 0;
        }
    }
    struct pith_buffer file = pack(m, true, false);
    struct stream graph;
    assert_true(pith_chunk_find(file.data, file.bytes, TAG_GRAPH, &graph) == PITH_OK);
    assert_in_range(graph.n_bytes, 30, 76); /* 80 with masks */
    struct pith_model *back = unpack(&file);
    for (uint32_t i = 0, k = 0; i < m->n_values; i++) {
        const struct pith_const *c = m->values[i].constant;
        while (c && !back->values[k].constant)
            k++;
        if (!c)
            continue;
        const struct pith_const *r = back->values[k++].constant;
        assert_int_equal(r->count, c->count);
        assert_memory_equal(r->data, c->data, c->count * sizeof(float));
        if (m->values[i].rank > 1 && c->mask)
            assert_memory_equal(r->mask, c->mask, c->count);
        else if (c->count > 20) /* shorter ones may be plain indices */
            assert_null(r->mask);
    }
    struct pith_buffer again = pack(back, true, false);
    assert_same_bytes(&file, &again);
    pith_model_free(back);
    pith_buffer_free(&again);
    pith_buffer_free(&file);
    pith_model_free(m);
}

TEST(trained_lenet_costs_less)
{
    check_trained_lenet(11);
    check_trained_lenet(1);
}

/* Without a 0 among its centroids, a masked vector needs its mask. */
TEST(masked_vectors_without_a_0)
{
    struct pith_model *m = sample_lenet5(1);
    for (uint32_t i = 0; i < m->n_values; i++) {
        struct pith_const *c = m->values[i].constant;
        if (!c || m->values[i].rank != 1)
            continue;
        sample_integers(m, c, 15, 1);
        float *centroid = (float *)c->codebook->centroid;
        for (uint32_t k = 0; k < c->codebook->n_centroids; k++)
            centroid[k] += 100;
        for (uint64_t k = 0; k < c->count; k++) {
            c->mask[k] = k % 3 != 0;
            c->codebook->index[k] = c->mask[k] ? c->codebook->index[k] : 0;
            ((float *)c->data)[k] = c->mask[k] ? centroid[c->codebook->index[k]] : 0;
        }
    }
    struct pith_buffer file = pack(m, true, false);
    struct pith_model *back = unpack(&file);
    for (uint32_t i = 0, k = 0; i < m->n_values; i++) {
        const struct pith_const *c = m->values[i].constant;
        while (c && !back->values[k].constant)
            k++;
        if (c)
            assert_memory_equal(((float *)back->values[k++].constant->data), c->data,
                                c->count * sizeof(float));
    }
    pith_model_free(back);
    pith_buffer_free(&file);
    pith_model_free(m);
}

/* The weights of a LeNet-5 on a grid of so many levels, of which 5 are used; a tenth is kept. */
static struct pith_model *of_five_levels(uint32_t levels)
{
    struct pith_model *m = sample_lenet(1, 20);
    for (uint32_t i = 0; i < m->n_values; i++) {
        struct pith_const *c = m->values[i].constant;
        if (!c || m->values[i].rank < 2)
            continue;
        sample_integers(m, c, 5, 10);
        struct pith_codebook *b = c->codebook;
        c->mask[0] = 1; /* the fifth is used */
        b->index[0] = 10;
        ((float *)c->data)[0] = 5 * 0.125f;
        b->n_centroids = 2 * levels + 1;
        b->centroid = pith_model_alloc(m, b->n_centroids, sizeof(float));
        for (uint32_t k = 0; k < b->n_centroids; k++)
            b->centroid[k] = ((float)k - (float)levels) * 0.125f;
        for (uint64_t k = 0; k < c->count; k++)
            b->index[k] = (uint8_t)(c->mask[k] ? b->index[k] + levels - 5 : 255);
    }
    return m;
}

/* Nor a 0 that masks imply. The reader adds the 0 to the grid. */
TEST(levels_that_are_not_used_take_no_bytes)
{
    struct pith_model *m = of_five_levels(127), *few = of_five_levels(5);
    struct pith_buffer file = pack(m, true, false), file_of_few = pack(few, true, false);
    assert_same_bytes(&file, &file_of_few);
    struct pith_model *back = unpack(&file);
    for (uint32_t i = 0; i < back->n_values; i++) {
        const struct pith_const *c = back->values[i].constant;
        if (!c || back->values[i].rank < 2)
            continue;
        assert_int_equal(c->codebook->n_centroids, 11);
        for (uint32_t k = 0; k < 11; k++)
            assert_true(c->codebook->centroid[k] == ((float)k - 5) * 0.125f);
        for (uint64_t k = 0; k < c->count; k++)
            if (c->mask[k])
                assert_true(((float *)c->data)[k] == c->codebook->centroid[c->codebook->index[k]]);
    }
    struct pith_buffer again = pack(back, true, false);
    assert_same_bytes(&file, &again);
    pith_model_free(back);
    pith_model_free(few);
    pith_model_free(m);
    pith_buffer_free(&again);
    pith_buffer_free(&file_of_few);
    pith_buffer_free(&file);
}

TEST(indices_beyond_the_grid_are_refused)
{
    struct pith_model *m = of_five_levels(20);
    struct pith_buffer file = {NULL, 0};
    struct pith_error err;
    m->values[m->nodes[0].in[1]].constant->codebook->index[0] = 255; /* it is stored */
    assert_int_equal(pith_model_pack(m, NULL, &file, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "index 255"));
    assert_null(file.data);
    pith_model_free(m);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void pack_fails(const struct pith_model *m, const char *text)
{
    struct pith_buffer file = {NULL, 0};
    struct pith_error err = {0};
    enum pith_status st = pith_model_pack(m, NULL, &file, &err);
    if (st != PITH_ERR_ARGUMENT || strcmp(err.text, text) != 0)
        fail_msg("status %d '%s', expected '%s'", st, err.text, text);
    assert_null(file.data);
}

/* A LeNet-5 with plain codes; its first weight has 20 * 25 elements. */
static struct pith_model *clustered_lenet(double kept, struct pith_const **first)
{
    struct pith_model *m = sample_lenet(5, 40);
    sample_compress(m, kept, 16);
    code_all(m, PITH_CODE_PLAIN);
    *first = m->values[m->nodes[0].in[1]].constant;
    assert_int_equal((*first)->count, 500);
    return m;
}

TEST(a_pruned_minus_zero_is_zero)
{
    struct pith_const *k;
    struct pith_model *m = clustered_lenet(0.5, &k);
    uint64_t pruned = 0;
    while (k->mask[pruned])
        pruned++;
    ((float *)k->data)[pruned] = -0.0f;
    struct pith_buffer file = pack(m, false, false);
    pith_buffer_free(&file);
    ((float *)k->data)[pruned] = -0x1p-149f;
    pack_fails(m, "cannot pack 'conv1.weight': a pruned element is not 0");
    pith_model_free(m);
}

/* What stands for an element that is pruned is no index. */
TEST(indices_of_kept_elements_are_centroids)
{
    struct pith_const *k;
    struct pith_model *m = clustered_lenet(0.5, &k);
    uint64_t pruned = 0, kept = 0;
    while (k->mask[pruned])
        pruned++;
    while (!k->mask[kept])
        kept++;
    k->codebook->index[pruned] = 255;
    struct pith_buffer file = pack(m, false, false);
    struct pith_model *back = unpack(&file);
    assert_int_equal(back->values[back->nodes[0].in[1]].constant->codebook->n_centroids, 16);
    pith_model_free(back);
    pith_buffer_free(&file);
    k->codebook->index[kept] = 16;
    char text[128];
    snprintf(text, sizeof text,
             "cannot pack 'conv1.weight': index 16 of element %d, codebook has 16", (int)kept);
    pack_fails(m, text);
    pith_model_free(m);
}

TEST(codebooks_fit_their_tensors)
{
    static const struct {
        uint32_t n_centroids;
        uint64_t group_elems, n_groups;
        const char *says;
    } cases[] = {
        {16, 0, 1, "16 centroids in 1 groups"},     {16, 499, 1, "16 centroids in 1 groups"},
        {16, 250, 1, "16 centroids in 1 groups"},   {16, 500, 2, "16 centroids in 2 groups"},
        {257, 500, 1, "257 centroids in 1 groups"}, {0, 500, 1, "0 centroids in 1 groups"}};
    struct pith_const *k;
    struct pith_model *m = clustered_lenet(0.5, &k);
    float centroid[257];
    for (int i = 0; i < 257; i++)
        centroid[i] = (float)(1 + i);
    k->codebook->centroid = centroid;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        k->codebook->n_centroids = cases[i].n_centroids;
        k->codebook->group_elems = cases[i].group_elems;
        k->codebook->n_groups = cases[i].n_groups;
        char text[128];
        snprintf(text, sizeof text,
                 "cannot pack 'conv1.weight': codebook of %s does not fit 500 elements",
                 cases[i].says);
        pack_fails(m, text);
    }
    pith_model_free(m);
}

TEST(constants_fill_their_shapes)
{
    struct pith_model *m = sample_lenet5(5);
    struct pith_const *k = m->values[m->nodes[0].in[1]].constant;
    k->count = 499;
    pack_fails(m, "cannot pack 'conv1.weight': 499 elements do not fit its shape");
    pith_model_free(m);
}

/* A layer of rows x cols in 7 levels, and one of floats; spread: of the logarithm of what each row
 * and each column is multiplied by. */
static struct pith_model *layer_of_levels(uint32_t rows, uint32_t cols, double spread)
{
    struct sample_random r = sample_random_of(9);
    struct pith_model *m = sample_new();
    double *scale = malloc((rows + cols) * sizeof *scale);
    assert_non_null(scale);
    uint32_t x = add_input(m, "x", 2, (const uint32_t[]){1, cols});
    x = add_layer(m, &r, PITH_OP_GEMM, "fc", x, 2, (const uint32_t[]){rows, cols});
    x = add_layer(m, &r, PITH_OP_GEMM, "floats", x, 2, (const uint32_t[]){20, rows});
    m->outputs[m->n_outputs++] = x;
    sample_prune(m, m->nodes[1].in[1], 0.2);
    m->values[m->nodes[1].in[1]].constant->code = spread > 0 ? PITH_CODE_ADAPTIVE : PITH_CODE_PLAIN;
    struct pith_const *k = m->values[m->nodes[0].in[1]].constant;
    sample_integers(m, k, 3, 1);
    k->mask = NULL;
    for (uint32_t i = 0; i < rows + cols; i++)
        scale[i] = exp(spread * ((double)sample_below(&r, 2001) / 1000 - 1));
    for (uint64_t i = 0; i < k->count; i++) {
        double v = (double)sample_below(&r, 1001) + (double)sample_below(&r, 1001) - 1000;
        v *= scale[i / cols] * scale[rows + i % cols] / 300;
        int level = (int)(v < -3 ? -3 : v > 3 ? 3 : v);
        k->codebook->index[i] = (uint8_t)(level + 3);
        ((float *)k->data)[i] = (float)level * 0.125f;
    }
    free(scale);
    return m;
}

/* Classes where they cost hardly more bytes; where rows and columns differ, what learns is smaller
 * and taken, unless it takes more than a second to decode; floats are coded as the others are. */
TEST(streams_are_chosen_by_bytes_and_time)
{
    static const struct {
        uint32_t rows, cols;
        double spread;
        enum weight_code code;
    } want[] = {
        {300, 400, 0, CODE_CLASSES}, {300, 400, 3, CODE_ADAPTIVE}, {1650, 1650, 3, CODE_CLASSES}};
    for (uint32_t i = 0; i < TEST_ROUNDS(3, 2); i++) {
        struct pith_model *m = layer_of_levels(want[i].rows, want[i].cols, want[i].spread);
        struct pith_buffer file = pack(m, true, false);
        struct open_graph o;
        struct pith_error err;
        assert_int_equal(pith_graph_open(file.data, file.bytes, 0, &o, &err), PITH_OK);
        assert_int_equal(o.g.weights[0].code, want[i].code);
        assert_int_equal(o.g.weights[2].code == CODE_ADAPTIVE, want[i].code == CODE_ADAPTIVE);
        pith_graph_close(&o);
        struct pith_model *back = unpack(&file);
        const struct pith_const *a = m->values[m->nodes[0].in[1]].constant;
        const struct pith_const *b = back->values[back->nodes[0].in[1]].constant;
        assert_memory_equal(a->data, b->data, a->count * sizeof(float));
        if (a->count < 1000000) { /* for the time that it takes */
            struct pith_buffer again = pack(back, true, false);
            assert_same_bytes(&file, &again);
            pith_buffer_free(&again);
        }
        pith_model_free(back);
        pith_buffer_free(&file);
        pith_model_free(m);
    }
}

TEST(random_models_round_trip)
{
    for (uint64_t seed = 1; seed <= TEST_ROUNDS(200, 30); seed++) {
        struct pith_model *m = sample_random_model(seed);
        round_trip(m, seed);
        pith_model_free(m);
    }
}

/* Every byte is in one section, and the tensors' parts sum to the sections. */
static void check_account(const struct pith_buffer *file)
{
    struct pith_byte_account *a = NULL;
    uint64_t total = 0, parts = 0, streams = 0;
    assert_int_equal(pith_byte_account_new(file->data, file->bytes, &a, NULL), PITH_OK);
    for (uint32_t s = 0; s < PITH_SECTIONS; s++)
        total += a->section[s];
    for (uint32_t s = PITH_SECTION_TABLES; s <= PITH_SECTION_BIASES; s++)
        streams += a->section[s];
    for (uint32_t i = 0; i < a->n_tensors; i++)
        parts += a->tensor[i].support + a->tensor[i].codebook + a->tensor[i].index +
                 a->tensor[i].values + a->tensor[i].table;
    assert_int_equal(total, file->bytes);
    assert_int_equal(a->total, file->bytes);
    assert_int_equal(parts, streams);
    assert_int_equal(a->section[PITH_SECTION_OTHER], 0);
    assert_in_range(a->section[PITH_SECTION_PADDING], 0, 64 * (a->n_tensors + 1));
    pith_byte_account_free(a);
}

TEST(every_byte_is_accounted_for)
{
    for (uint64_t seed = 1; seed <= TEST_ROUNDS(60, 20); seed++) {
        struct pith_model *m = sample_random_model(seed);
        struct pith_buffer file = pack(m, false, true);
        check_account(&file);
        pith_buffer_free(&file);
        pith_model_free(m);
    }
}

/* A chunk that this version does not know is of no other section. */
TEST(unknown_chunks_are_accounted_for)
{
    static struct made f;
    struct pith_model *m = sample_random_model(5);
    struct pith_buffer file = pack(m, false, true);
    struct pith_byte_account *a = NULL;
    struct piece pieces[16];
    char tags[16][5] = {{0}};
    const uint32_t n = load_le32(file.data + FULL_COUNT_AT);
    assert_true(n < 16);
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *e = file.data + FULL_TABLE_AT + i * FULL_ENTRY_BYTES;
        memcpy(tags[i], e, 4);
        pieces[i] = (struct piece){tags[i], file.data + load_le64(e + 8), load_le64(e + 16)};
    }
    pieces[n] = (struct piece){"zzzz", "other", 5};
    seal_full(&f, pieces, n + 1);
    assert_int_equal(pith_byte_account_new(f.data, f.bytes, &a, NULL), PITH_OK);
    assert_int_equal(a->section[PITH_SECTION_OTHER], 5);
    assert_int_equal(a->total, f.bytes);
    pith_byte_account_free(a);
    pith_buffer_free(&file);
    pith_model_free(m);
}

TEST(only_checked_models_are_packed)
{
    struct pith_model *m = sample_lenet5(3);
    struct pith_buffer file = {NULL, 0};
    struct pith_error err;
    struct pith_pack_opts compact = {.size_bytes = sizeof compact, .compact = true};
    assert_int_equal(pith_model_pack(m, &compact, &file, &err), PITH_OK);
    assert_true(file.bytes > 65535); /* files of any length have it */
    pith_model_free(unpack(&file));
    pith_buffer_free(&file);
    sample_compress(m, 0.1, 16);
    struct pith_const *k = m->values[m->nodes[0].in[1]].constant;
    uint64_t pruned = 0;
    while (k->mask[pruned])
        pruned++;
    ((float *)k->data)[pruned] = 1.0f;
    assert_int_equal(pith_model_pack(m, NULL, &file, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "conv1.weight"));
    ((float *)k->data)[pruned] = 0.0f;
    k->codebook->centroid[0] = 9e9f;
    assert_int_equal(pith_model_pack(m, NULL, &file, &err), PITH_ERR_ARGUMENT);
    k->codebook->centroid[0] = -9e9f;
    m->values[m->nodes[0].in[1]].name = m->values[m->inputs[0]].name;
    assert_int_equal(pith_model_pack(m, NULL, &file, &err), PITH_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "'image'"));
    assert_null(file.data);
    pith_model_free(m);
}

/* A constant alone, of i8: `levels` integers around 0, every second one pruned on request. */
static struct pith_model *integers(uint32_t levels, bool is_pruned, enum pith_code code)
{
    struct pith_model *m;
    struct sample_random r = sample_random_of(levels);
    assert_int_equal(pith_model_new(NULL, &m), PITH_OK);
    m->n_values = 2;
    m->n_inputs = m->n_outputs = 1;
    m->values = pith_model_alloc(m, 2, sizeof *m->values);
    m->inputs = pith_model_alloc(m, 1, sizeof *m->inputs);
    m->outputs = pith_model_alloc(m, 1, sizeof *m->outputs);
    struct pith_const *c = m->values[1].constant = pith_model_alloc(m, 1, sizeof *c);
    m->values[0] = (struct pith_value){.name = "", .type = PITH_F32, .min = 1};
    m->values[1] = (struct pith_value){
        .name = "", .type = PITH_I8, .rank = 2, .dim = {100, 60}, .constant = c, .min = 1};
    m->outputs[0] = 1;
    *c = (struct pith_const){.count = 6000, .data = pith_model_alloc(m, 6000, 1), .code = code};
    c->mask = is_pruned ? pith_model_alloc(m, 6000, 1) : NULL;
    for (uint32_t i = 0; i < 6000; i++) {
        int q = (int)sample_below(&r, levels) - (int)(levels / 2);
        if (is_pruned)
            c->mask[i] = i % 2;
        ((int8_t *)c->data)[i] = (int8_t)(is_pruned && i % 2 == 0 ? 0 : q);
    }
    return m;
}

TEST(integers_take_the_bits_they_need)
{
    for (uint32_t form = 0; form < 6; form++)
        for (uint32_t bits = 1; bits <= 8; bits++) {
            enum pith_code code = (enum pith_code)(form / 2);
            struct pith_model *m = integers((1u << bits) - (bits > 1), form % 2, code);
            struct pith_buffer file = pack(m, false, false);
            struct pith_model *back = unpack(&file);
            const struct pith_const *a = m->values[1].constant, *b = back->values[1].constant;
            uint32_t stored = form % 2 ? 3000 : 6000, support = form % 2 ? 750 : 0;
            assert_memory_equal(a->data, b->data, 6000);
            assert_null(b->codebook);
            assert_in_range(file.bytes, 0, 300 + support + (bits < 8 ? stored / 8 * bits : stored));
            struct pith_buffer again = pack(back, false, false);
            assert_same_bytes(&file, &again);
            check_account(&file);
            pith_buffer_free(&again);
            pith_buffer_free(&file);
            pith_model_free(back);
            pith_model_free(m);
        }
}

TEST(bombs_are_refused)
{
    struct pith_model *m = sample_lenet5(3), *back = NULL;
    struct pith_error err;
    struct pith_buffer file = pack(m, false, false);
    assert_int_equal(pith_unpack(file.data, file.bytes, "x",
                                 &(struct unpack_opts){.max_bytes = 100000}, &back, &err),
                     PITH_ERR_LIMIT);
    file.data[file.bytes / 2] ^= 1;
    assert_int_equal(pith_model_read(file.data, file.bytes, "x.pith", NULL, &back, &err),
                     PITH_ERR_CORRUPT);
    assert_non_null(strstr(err.text, "x.pith"));
    assert_non_null(strstr(err.text, "DATA"));
    assert_null(back);
    pith_buffer_free(&file);
    pith_model_free(m);
}

RUN_TESTS
