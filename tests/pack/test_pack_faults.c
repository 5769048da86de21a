/* SPDX-License-Identifier: MIT */
/* test_pack_faults.c - a model whose weights are coded by classes is packed, and small models with
 * all that a file keeps are packed and read, while each allocation fails once. (Other small files,
 * here and there: tests/load/test_read_faults.c.) */
#include <stdint.h>
#include "test_run.h"
#define FAILING_MODEL
#include "compress/failing_heap.h"
#include "pith_load.h"
#include "pith_pack.h"
#include "sample_models.h"
#include "sanitized.h"

static struct pith_model *m;
static struct pith_pack_opts opts = {.size_bytes = sizeof opts, .compact = true};

static enum pith_status pack(struct pith_error *err)
{
    enum pith_status st;
    struct pith_buffer out = {0};
    FAILING(pith_model_pack(m, &opts, &out, err));
    assert_int_equal(out.data == NULL, st != PITH_OK);
    pith_buffer_free(&out);
    return st;
}

/* The second convolution of LeNet-5 as integers: just enough, and soon fitted. */
TEST(classes)
{
    m = sample_lenet(1, 20);
    for (uint32_t i = 0; i < m->n_values; i++)
        if (m->values[i].constant && m->values[i].constant->count == 25000)
            sample_integers(m, m->values[i].constant, 50, 1);
    heap.stride = TEST_ROUNDS(1, 8);
    assert_true(fail_each(pack, false, false) > 50);
    heap.stride = 1;
    pith_model_free(m);
}

static struct pith_buffer file;

static enum pith_status read_back(struct pith_error *err)
{
    enum pith_status st;
    struct pith_model *back = NULL;
    FAILING(pith_model_read(file.data, file.bytes, "net", NULL, &back, err));
    assert_int_equal(back == NULL, st != PITH_OK);
    pith_model_free(back);
    return st;
}

TEST(each_allocation_of_a_pack_and_a_read)
{
    for (uint32_t seed = 1; seed <= TEST_ROUNDS(8, 6); seed++) {
        opts.compact = seed % 2;
        opts.full = seed % 2 == 0;
        m = sample_random_model(seed);
        assert_true(fail_each(pack, true, false) > 20);
        assert_int_equal(pith_model_pack(m, &opts, &file, NULL), PITH_OK);
        fail_all(read_back, false);
        pith_buffer_free(&file);
        pith_model_free(m);
    }
}

RUN_TESTS
