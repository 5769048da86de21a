/* SPDX-License-Identifier: MIT */
/* test_pack_faults.c - a model whose weights are coded by classes is packed while each allocation
 * fails once. (Small files: tests/load/test_read_faults.c.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "compress/failing_heap.h"
#include "pith_pack.h"
#include "sample_models.h"

static struct pith_model *m;

static enum pith_status pack(struct pith_error *err)
{
    enum pith_status st;
    struct pith_buffer out = {0};
    const struct pith_pack_opts opts = {.size_bytes = sizeof opts, .compact = true};
    FAILING(pith_model_pack(m, &opts, &out, err));
    assert_int_equal(out.data == NULL, st != PITH_OK);
    pith_buffer_free(&out);
    return st;
}

/* The second convolution of LeNet-5 as integers: just enough, and soon fitted. */
static void classes(void **state)
{
    (void)state;
    m = sample_lenet5(1);
    for (uint32_t i = 0; i < m->n_values; i++)
        if (m->values[i].constant && m->values[i].constant->count == 25000)
            sample_integers(m, m->values[i].constant, 50, 1);
    assert_true(fail_each(pack, false, false) > 50);
    pith_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(classes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
