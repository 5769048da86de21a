/* SPDX-License-Identifier: MIT */
/* test_pack.c - models into bytes and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "byte_out.h"
#include "pack.h"
#include "sample_models.h"
#include "unpack.h"

static struct pith_buffer pack(const struct pith_model *m, bool compact, bool history)
{
    struct pith_pack_opts opts = {
        .size_bytes = sizeof opts, .compact = compact, .keep_history = history, .keep_names = true};
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
    enum pith_status st = pith_unpack(file->data, file->bytes, "sample", 0, 0, NULL, &m, &err);
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

static void lenet_round_trip(void **state)
{
    (void)state;
    struct pith_model *m = sample_lenet5(1);
    struct pith_error err;
    assert_int_equal(pith_model_infer_shapes(m, &err), PITH_OK);
    round_trip(m, 1);
    sample_compress(m, 0.08, 32);
    round_trip(m, 1);
    pith_model_free(m);
}

/* Bytes of tables, codebooks and streams. */
static size_t stream_bytes(const struct pith_buffer *file)
{
    uint64_t need;
    struct graph g;
    struct tview *shapes;
    struct stream tables = {NULL, 0};
    assert_int_equal(pith_graph_need(file->data, file->bytes, 0, &need, NULL), PITH_OK);
    void *mem = aligned_alloc(64, (need + 64) & ~UINT64_C(63));
    assert_int_equal(pith_graph_read(file->data, file->bytes, 0, 0, mem, need, &g, &shapes, NULL),
                     PITH_OK);
    pith_chunk_find(file->data, file->bytes, TAG_TABLES, &tables);
    size_t n = tables.n_bytes;
    for (uint32_t i = 0; i < g.n_weights; i++)
        n += g.weights[i].codebook.n_bytes + g.weights[i].support_stream.n_bytes +
             g.weights[i].index_stream.n_bytes;
    free(mem);
    return n;
}

static void compact_lenet_costs_little(void **state)
{
    (void)state;
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

static void random_models_round_trip(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct pith_model *m = sample_random_model(seed);
        round_trip(m, seed);
        pith_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lenet_round_trip),
        cmocka_unit_test(compact_lenet_costs_little),
        cmocka_unit_test(random_models_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
