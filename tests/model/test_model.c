/* SPDX-License-Identifier: MIT */
/* test_model.c - arena, texts, the list of weights, patterns; every allocation failed once. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "sample_models.h"

struct counting {
    size_t live, calls, fail_at;
};

static void *counting_alloc(void *user, size_t bytes)
{
    struct counting *c = user;
    if (++c->calls == c->fail_at)
        return NULL;
    c->live++;
    return malloc(bytes);
}

static void counting_free(void *user, void *p)
{
    struct counting *c = user;
    c->live--;
    free(p);
}

TEST(arena)
{
    struct pith_model *m = NULL;
    assert_int_equal(pith_model_new(NULL, &m), PITH_OK);
    uint8_t *last = NULL;
    for (uint64_t n = 0; n < 3000; n++) {
        uint8_t *p = pith_model_alloc(m, n, 7);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (uint64_t i = 0; i < n * 7; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xee, n * 7);
        assert_ptr_not_equal(p, last);
        last = p;
    }
    assert_null(pith_model_alloc(m, UINT64_MAX, 2));
    assert_null(pith_model_alloc(m, UINT64_MAX / 2, 1));
    pith_model_free(m);
    pith_model_free(NULL);
}

TEST(texts)
{
    struct pith_model *m = NULL;
    char key[8];
    assert_int_equal(pith_model_new(NULL, &m), PITH_OK);
    assert_null(pith_model_get_meta(m, "k0"));
    for (int i = 36; i >= 0; i--) {
        snprintf(key, sizeof key, "k%d", i * 7 % 37);
        assert_int_equal(pith_model_set_meta(m, key, key + 1), PITH_OK);
    }
    assert_int_equal(pith_model_set_meta(m, "k5", "five"), PITH_OK);
    assert_int_equal(m->n_meta, 37);
    assert_string_equal(pith_model_get_meta(m, "k5"), "five");
    assert_string_equal(pith_model_get_meta(m, "k36"), "36");
    for (uint32_t i = 1; i < m->n_meta; i++)
        assert_true(strcmp(m->meta[i - 1].key, m->meta[i].key) < 0);
    for (int i = 0; i < 9; i++)
        assert_int_equal(pith_model_add_history(m, i % 2 ? "prune" : "import", "{}"), PITH_OK);
    assert_int_equal(m->n_history, 9);
    assert_string_equal(m->history[7].key, "prune");
    pith_model_free(m);
}

static enum pith_status use(struct counting *c)
{
    struct pith_alloc alloc = {counting_alloc, counting_free, c};
    struct pith_model *m = NULL;
    enum pith_status st = pith_model_new(&alloc, &m);
    if (!st)
        st = pith_model_set_meta(m, "a", "b");
    if (!st)
        st = pith_model_add_history(m, "c", "d");
    if (!st && !pith_model_alloc(m, 100000, 1))
        st = PITH_ERR_MEMORY;
    pith_model_free(m);
    return st;
}

TEST(memory_runs_out)
{
    struct counting c = {0};
    assert_int_equal(use(&c), PITH_OK);
    assert_int_equal(c.live, 0);
    size_t calls = c.calls;
    assert_true(calls >= 4);
    for (size_t i = 1; i <= calls; i++) {
        c = (struct counting){.fail_at = i};
        assert_int_equal(use(&c), PITH_ERR_MEMORY);
        assert_int_equal(c.live, 0);
    }
}

TEST(weights_of_lenet)
{
    struct pith_model *m = sample_lenet5(1);
    struct pith_weight_ref *refs = calloc(m->n_nodes, sizeof *refs);
    assert_int_equal(pith_model_weights(m, refs), 4);
    assert_string_equal(refs[1].layer, "conv2");
    assert_string_equal(refs[1].tensor, "conv2.weight");
    assert_int_equal(refs[1].rows, 50);
    assert_int_equal(refs[1].cols, 500);
    assert_int_equal(refs[3].rows, 10);
    assert_true(pith_weight_matches(&refs[1], "conv*"));
    assert_true(pith_weight_matches(&refs[1], "*.weight"));
    assert_true(pith_weight_matches(&refs[1], "re:^conv[23]$"));
    assert_true(pith_weight_matches(&refs[3], "ip[12]"));
    assert_false(pith_weight_matches(&refs[1], "conv"));
    assert_false(pith_weight_matches(&refs[1], "re:^ip"));
    assert_false(pith_weight_matches(&refs[1], "re:("));
    free(refs);
    pith_model_free(m);
}

/* One constant read by two layers is listed once. */
TEST(shared_weight)
{
    struct pith_model *m = sample_lenet5(1);
    struct pith_weight_ref *refs = calloc(m->n_nodes, sizeof *refs);
    m->nodes[2].in[1] = m->nodes[0].in[1];
    assert_int_equal(pith_model_weights(m, refs), 3);
    assert_int_equal(refs[0].node, 0);
    free(refs);
    pith_model_free(m);
}

RUN_TESTS
