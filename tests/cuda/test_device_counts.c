/* SPDX-License-Identifier: MIT */
/* What the kernels that compressed layers and long tensors wait for cost on the device, counted in
 * the PTX that nvcc made of them: instructions a stored entry, 32-byte sectors a request to global
 * memory (four are the least for 32 lanes of 4 bytes), wavefronts an access to shared memory. */
#include <unistd.h>
#include "runtime/op_case.h"
#include "runtime/weight_case.h"
#include "emu_launch.h"
#include "guard_page.h"
#include "kernels/kernels.h"
#include "ptx.h"
#include "cuda/device_plan.h"
#include "cuda/pack_forms.h"
#include "cuda/pack_relative.h"
#include "op_interface/op_attr.h"

/* Sectors of a request, in hundredths: 4.0, and what rounding the counts up may add. */
#define MAX_SECTORS 400
static struct pith_plan plan = {.arena = NULL, .arena_bytes = UINT64_MAX};
static const struct ptx_module *module;
static uint64_t seed = 5;

static uint32_t processors; /* to plan for; 0: as of a large device */

/* behind: as in ptx.h. */
static struct ptx_counts run_step(const struct step *s, uint32_t behind)
{
    struct lowering l = {.plan = &plan, .processors = processors};
    struct ptx_counts counts = {.behind = behind};
    struct guarded constants = {0}, work;
    assert_true(pith_device_step(&l, s));
    work = guard_new(l.work_bytes + 256, 1);
    l.work = (uintptr_t)work.data;
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
        ptx_run(k, a->kernel, a->grid, l.args + a->arg, &counts);
    }
    if (l.n_constants)
        guard_free(&constants);
    guard_free(&work);
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
    struct ptx_counts c = run_step(&s, 0);
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

TEST(test_long_tensors)
{
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

/* A codebook in shared memory; x lies behind it. */
#define BOOK_BYTES (PACK_CENTROIDS * (uint32_t)sizeof(float))

struct cost {
    struct ptx_counts counts;
    uint64_t entries;
};

/* Entries of relative index: fillers are some. */
static uint64_t relative_entries(const struct weight *w)
{
    uint64_t bytes;
    assert_int_equal(pith_relative_pack(w, NULL, &bytes), PITH_OK);
    uint8_t *packed = malloc(bytes);
    assert_int_equal(pith_relative_pack(w, packed, &bytes), PITH_OK);
    struct relative_layout at = pith_relative_layout(w);
    uint32_t lines;
    memcpy(&lines, packed + at.row_at + w->shape.dim[0] * sizeof lines, sizeof lines);
    free(packed);
    return (uint64_t)lines * SPMV_LANES * 2 * RELATIVE_LOT /
           (at.wide ? RELATIVE_PAIR_WIDE : RELATIVE_PAIR);
}

/* Of the product with m rows of x. density 0: a matrix without nonzeros; above 1: of dense support.
 * Entries are those of the kernel's form, for each row of x. */
static struct cost cost_of(double density, uint32_t centroids, uint32_t m,
                           enum launch_kernel kernel)
{
    struct weight_want want = {.rows = 64,
                               .cols = 4096,
                               .density = density,
                               .dense = density > 1,
                               .n_centroids = centroids,
                               .n_groups = 1,
                               .scale = 1.0f};
    uint64_t own = 5; /* so that a form's counts do not follow what was counted before it */
    struct weight_case k = case_new(&want, &own);
    struct guarded x = guard_random((size_t)m * want.cols, 1, &own);
    struct cost cost = {0};
    float *y = malloc((size_t)m * want.rows * sizeof *y);
    struct one_op t;
    one_op_open(&t, PITH_OP_GEMM, 2, 1);
    one_op_in(&t, 0, PITH_F32, DIMS(m, want.cols), x.data);
    one_op_in(&t, 1, PITH_F32, DIMS(want.rows, want.cols), NULL);
    assert_int_equal(one_op_shape(&t), PITH_OK);
    t.args.weight = &k.w;
    t.out[0].data = y;
    struct step s = {.args = t.args};
    cost.counts = run_step(&s, BOOK_BYTES);
    cost.entries = m * (kernel == LAUNCH_spmv_relative ? relative_entries(&k.w) : k.w.nnz);
    free(y);
    case_free(&k);
    guard_free(&x);
    return cost;
}

/* What a form may cost an entry: instructions, wavefronts of an access to shared memory, and of one
 * to x there. */
struct limit {
    const char *name;
    double density;
    uint32_t centroids, m;
    enum launch_kernel kernel;
    double instructions, wavefronts, of_x;
};

static double share(uint64_t n, uint64_t of)
{
    return of ? (double)n / (double)of : 0;
}

/* Without entries nothing is done but copying x, whose reads have no conflicts, and the sums of no
 * terms: all instructions that are more are for entries, also those of a row's begin and end. The
 * accesses to shared memory that are more than with few entries are theirs alone. */
static void check_form(const struct limit *l)
{
    struct cost none = cost_of(0, l->centroids, l->m, l->kernel);
    struct cost few = cost_of(0.8 * l->density, l->centroids, l->m, l->kernel);
    struct cost more = cost_of(l->density, l->centroids, l->m, l->kernel);
    double entries = (double)(more.entries - none.entries);
    double instructions = 32.0 * (double)(more.counts.instructions - none.counts.instructions);
    double fronts = share(more.counts.wavefronts - few.counts.wavefronts,
                          more.counts.shared_accesses - few.counts.shared_accesses);
    double of_x = share(more.counts.behind_wavefronts - none.counts.behind_wavefronts,
                        more.counts.behind_accesses - none.counts.behind_accesses);
    print_message("%-18s %6.1f instructions an entry, %.2f wavefronts a read, %.2f of x\n", l->name,
                  instructions / entries, fronts, of_x);
    assert_true(entries > 0);
    assert_true(instructions <= l->instructions * entries);
    assert_true(fronts <= l->wavefronts);
    assert_true(of_x <= l->of_x);
}

TEST(test_forms)
{
    /* up to 32 centroids lie in banks of their own: one wavefront whichever are read */
    static const struct limit limits[] = {
        {"relative, 4 bits", 0.25, 16, 1, LAUNCH_spmv_relative, 9.6, 1.6, 2.3},
        {"relative, sparser", 0.09, 16, 1, LAUNCH_spmv_relative, 8.9, 1.6, 2.5},
        {"relative, 8 bits", 0.13, 200, 1, LAUNCH_spmv_relative, 11.5, 2.4, 2.4},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        check_form(&limits[i]);
}

TEST(test_codes)
{
    static const struct limit limits[] = {
        {"codes, 2 bits", 2, 4, 1, LAUNCH_gemv_codes, 3.5, 4.01, 0},
        {"codes, 4 bits", 2, 16, 1, LAUNCH_gemv_codes, 4.6, 2.01, 0},
        {"codes, 8 bits", 2, 256, 1, LAUNCH_gemv_codes, 6.6, 1.01, 0},
        {"4 bits, four rows", 2, 16, 4, LAUNCH_gemv_codes_many, 2.2, 2.01, 0},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        const struct limit *l = &limits[i];
        processors = 1; /* one table for all */
        struct cost c = cost_of(l->density, l->centroids, l->m, l->kernel);
        processors = 0;
        double instructions = 32.0 * (double)c.counts.instructions / (double)c.entries;
        double fronts = (double)c.counts.wavefronts / (double)c.counts.shared_accesses;
        print_message("%-18s %6.1f instructions an element, %.2f wavefronts a read\n", l->name,
                      instructions, fronts);
        assert_true(instructions <= l->instructions);
        assert_true(fronts <= l->wavefronts);
    }
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
    return run_listed_tests(NULL, NULL);
}
