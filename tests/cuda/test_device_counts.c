/* SPDX-License-Identifier: MIT */
/* What the kernels that compressed layers and long tensors wait for cost on the device, counted in
 * the PTX that nvcc made of them: instructions a stored entry, 32-byte sectors a request to global
 * memory (four are the least for 32 lanes of 4 bytes), wavefronts an access to shared memory. */
#include <unistd.h>
#include "runtime/op_case.h"
#include "runtime/weight_case.h"
#include "emu_launch.h"
#include "guard_page.h"
#include "pith_kernels.h"
#include "ptx.h"
#include "test_cuda.h"

/* Sectors of a request, in hundredths: 4.0, and what rounding the counts up may add. */
#define MAX_SECTORS 400
static struct pith_plan plan = {.arena = NULL, .arena_bytes = UINT64_MAX};
static const struct ptx_module *module;
static uint64_t seed = 5;

static void forget(void *to, size_t bytes, void *user)
{
    (void)to;
    (void)bytes;
    (void)user;
}

static struct ptx_counts run_step(const struct step *s)
{
    struct lowering l = {.plan = &plan};
    struct ptx_counts counts = {0};
    struct guarded constants = {0};
    assert_true(pith_device_step(&l, s));
    if (l.n_constants) {
        constants = guard_new(l.constant_bytes, 1);
        for (uint32_t i = 0; i < l.n_constants; i++)
            assert_int_equal(
                pith_device_pack(&l.constant[i], (uint8_t *)constants.data + l.constant[i].offset),
                PITH_OK);
        l.n_actions = l.n_args = 0;
        l.constants = (uintptr_t)constants.data;
        assert_true(pith_device_step(&l, s));
    }
    for (uint32_t i = 0; i < l.n_actions; i++) {
        const struct action *a = &l.action[i];
        assert_int_equal(a->kind, ACTION_LAUNCH);
        const struct ptx_kernel *k = ptx_find(module, emu_kernel_name(a->kernel));
        assert_non_null(k);
        ptx_run(k, a->grid, l.args + a->arg, &counts, forget, NULL);
    }
    if (l.n_constants)
        guard_free(&constants);
    pith_device_lowering_free(&l);
    return counts;
}

static void random_input(struct one_op *t, uint32_t i, uint32_t rank, const uint32_t *dims)
{
    one_op_in(t, i, PITH_F32, rank, dims, NULL);
    size_t n = shape_elems(&t->in[i].shape);
    float *data = aligned_alloc(256, (n * sizeof *data + 255) / 256 * 256); /* as on the device */
    assert_non_null(data);
    for (size_t k = 0; k < n; k++)
        data[k] = random_f32(&seed);
    t->in[i].data = data;
}

/* The operator's own sectors a request are at most the least there are. */
static void check_sectors(const char *name, struct one_op *t)
{
    assert_int_equal(one_op_shape(t), PITH_OK);
    size_t n = shape_elems(&t->out[0].shape);
    struct guarded out = guard_new(n * sizeof(float), 1);
    t->out[0].data = out.data;
    struct step s = {.args = t->args};
    struct ptx_counts c = run_step(&s);
    print_message("%-10s %6.1f instructions an element, %.2f sectors a request\n", name,
                  32.0 * (double)c.instructions / (double)n,
                  (double)c.sectors / (double)c.requests);
    assert_true(c.requests > 0);
    assert_true(100 * c.sectors <= MAX_SECTORS * c.requests);
    guard_free(&out);
    for (uint32_t i = 0; i < t->args.n_in; i++)
        free(t->in[i].data);
    t->out[0].data = NULL;
    for (uint32_t i = 0; i < t->args.n_in; i++)
        t->in[i].data = NULL;
    one_op_close(t);
}

static void test_long_tensors(void **state)
{
    (void)state;
    struct one_op t;
    one_op_open(&t, PITH_OP_RELU, 1, 1);
    random_input(&t, 0, DIMS(64, 1024));
    check_sectors("Relu", &t);
    one_op_open(&t, PITH_OP_ADD, 2, 1);
    random_input(&t, 0, DIMS(64, 1024));
    random_input(&t, 1, DIMS(64, 1024));
    check_sectors("Add", &t);
    one_op_open(&t, PITH_OP_BATCH_NORM, 5, 1);
    random_input(&t, 0, DIMS(1, 64, 32, 32));
    for (uint32_t i = 1; i < 5; i++)
        random_input(&t, i, DIMS(64));
    check_sectors("BatchNorm", &t);
    one_op_open(&t, PITH_OP_CONCAT, 2, 1);
    t.attr[ATTR_AXIS] = 1;
    random_input(&t, 0, DIMS(64, 512));
    random_input(&t, 1, DIMS(64, 512));
    check_sectors("Concat", &t);
}

struct cost {
    struct ptx_counts counts;
    uint64_t entries;
};

static struct cost sparse_cost(double density, uint32_t centroids)
{
    struct weight_want want = {.rows = 64,
                               .cols = 4096,
                               .density = density,
                               .n_centroids = centroids,
                               .n_groups = 1,
                               .scale = 1.0f};
    struct weight_case k = case_new(&want, &seed);
    struct guarded x = guard_random(want.cols, 1, &seed);
    struct cost cost = {0};
    float y[64];
    struct one_op t;
    one_op_open(&t, PITH_OP_GEMM, 2, 1);
    one_op_in(&t, 0, PITH_F32, DIMS(1, want.cols), x.data);
    one_op_in(&t, 1, PITH_F32, DIMS(want.rows, want.cols), NULL);
    assert_int_equal(one_op_shape(&t), PITH_OK);
    t.args.weight = &k.w;
    t.out[0].data = y;
    struct step s = {.args = t.args};
    cost.counts = run_step(&s);
    uint64_t bytes;
    assert_int_equal(pith_relative_bytes(&k.w, &bytes), PITH_OK);
    uint8_t *packed = malloc(bytes);
    assert_int_equal(pith_relative_pack(&k.w, packed), PITH_OK);
    struct relative_layout at = pith_relative_layout(&k.w);
    uint32_t words;
    memcpy(&words, packed + at.row_at + want.rows * sizeof words, sizeof words);
    cost.entries = (uint64_t)words * (at.wide ? 2 : 4);
    free(packed);
    case_free(&k);
    guard_free(&x);
    return cost;
}

/* What is more than with no entries was done for them, and not for x or the codebook. An
 * entry reads a number of x and one of the codebook. */
static void check_sparse(const char *name, uint32_t centroids, double most, double fronts_of_x)
{
    struct cost few = sparse_cost(0.0, centroids), more = sparse_cost(0.09, centroids);
    double entries = (double)(more.entries - few.entries);
    double instructions = 32.0 * (double)(more.counts.instructions - few.counts.instructions);
    double gathers = (double)(more.counts.shared_accesses - few.counts.shared_accesses) / 2;
    double fronts = (double)(more.counts.wavefronts - few.counts.wavefronts);
    print_message("%-10s %6.1f instructions an entry, %.2f wavefronts for x and codebook\n", name,
                  instructions / entries, fronts / gathers);
    assert_true(entries > 0);
    assert_true(instructions <= most * entries);
    assert_true(fronts <= fronts_of_x * gathers);
}

static void test_sparse(void **state)
{
    (void)state;
    /* 16 centroids lie in 16 banks: one wavefront whichever are read */
    check_sparse("4 bits", 16, 16.2, 3.3 + 1.0);
    check_sparse("8 bits", 200, 18.6, 6.7);
}

int main(void)
{
    const char *path = getenv("PTX"), *folder = getenv("PITH_O");
    char built[512];
    snprintf(built, sizeof built, "%s/../cuda/compute_75.ptx", folder ? folder : "build/release");
    if (access(path ? path : built, R_OK) != 0) {
        puts("no PTX: built without nvcc");
        return 77;
    }
    module = ptx_read(path ? path : built);
    if (!module)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_tensors),
        cmocka_unit_test(test_sparse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
