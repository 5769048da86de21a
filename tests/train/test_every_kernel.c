/* SPDX-License-Identifier: MIT */
/* test_every_kernel.c - every entry of every list of kernels (runtime, training, calibration, Gram
 * matrices, panels of rows): it is what a table with its features runs and is masked where they
 * are; it leaves what the reference leaves, on operands of many sizes, unless the tests of its
 * table (tests/runtime/test_kernels_*.c) compare it; and
 *
 *     test_every_kernel bench [WORD]
 *
 * times it, a line each. An entry needs no line here: its member has a trial already. */
#include "base/cpu_allowed.h"
#include "trials_dense.h"
#include "trials_rows.h"
#include "trials_train.h"

enum { ROUNDS = 40 };

struct entry {
    const char *table, *member, *name;
    uint32_t needs;
};

#define ENTRY(table, member, name, needs) {#table, #member, #name, needs},
#define ENTRY_DENSE(member, type, name, needs) ENTRY(dense, member, name, needs)
#define ENTRY_ORDERED(member, type, name, needs) ENTRY(ordered, member, name, needs)
#define ENTRY_SPARSE(member, type, name, needs) ENTRY(sparse, member, name, needs)
#define ENTRY_ROW(member, type, name, needs) ENTRY(row, member, name, needs)
#define ENTRY_INTEGER(member, type, name, needs) ENTRY(integer, member, name, needs)
#define ENTRY_DECODE(member, type, name, needs) ENTRY(decode, member, name, needs)
#define ENTRY_CHECKSUM(member, type, name, needs) ENTRY(checksum, member, name, needs)
#define ENTRY_TRAIN(member, type, name, needs) ENTRY(train, member, name, needs)
#define ENTRY_CALIBRATE(member, type, name, needs) ENTRY(calibrate, member, name, needs)
#define ENTRY_GRAM(member, type, name, needs) ENTRY(gram, member, name, needs)
#define ENTRY_ROW_PANEL(member, type, name, needs) ENTRY(row_panel, member, name, needs)

static const struct entry entries[] = {
    DENSE_KERNELS(ENTRY_DENSE) ORDERED_KERNELS(ENTRY_ORDERED) SPARSE_KERNELS(ENTRY_SPARSE)
        ROW_KERNELS(ENTRY_ROW) INTEGER_KERNELS(ENTRY_INTEGER) DECODE_KERNELS(ENTRY_DECODE)
            CHECKSUM_KERNELS(ENTRY_CHECKSUM) TRAIN_KERNELS(ENTRY_TRAIN)
                CALIBRATE_KERNELS(ENTRY_CALIBRATE) GRAM_KERNELS(ENTRY_GRAM)
                    ROW_PANEL_KERNELS(ENTRY_ROW_PANEL)};
#define N_ENTRIES (sizeof entries / sizeof *entries)

static const struct {
    const char *table, *member;
    void (*run)(struct trial *t);
} trials[] = {
    {"dense", "gemm_f32", trial_gemm_f32},
    {"dense", "im2col_f32", trial_im2col_f32},
    {"dense", "even_f32", trial_even_f32},
    {"dense", "conv_rows_f32", trial_conv_rows_f32},
    {"dense", "conv_f32", trial_conv_f32},
    {"dense", "depthwise_f32", trial_depthwise_f32},
    {"dense", "gemv_f32", trial_gemv_f32},
    {"dense", "pool_f32", trial_pool_f32},
    {"dense", "pack_rows_f32", trial_pack_rows_f32},
    {"dense", "winograd_in", trial_winograd_in},
    {"dense", "winograd_out", trial_winograd_out},
    {"dense", "winograd4_in", trial_winograd4_in},
    {"dense", "winograd4_out", trial_winograd4_out},
    {"ordered", "gemm_f32", trial_ordered_gemm_f32},
    {"ordered", "gemv_f32", trial_ordered_gemv_f32},
    {"ordered", "depthwise_f32", trial_ordered_depthwise_f32},
    {"sparse", "matvec[FORM_CSR_VALUE]", trial_csr_value},
    {"sparse", "matvec[FORM_CSR_CODEBOOK]", trial_csr_codebook},
    {"sparse", "matvec[FORM_WINDOW]", trial_window},
    {"sparse", "matvec[FORM_DENSE4]", trial_dense4},
    {"sparse", "matvec[FORM_DENSE5]", trial_dense5},
    {"sparse", "matvec[FORM_DENSE8]", trial_dense8},
    {"sparse", "rows[FORM_WINDOW]", trial_window_rows},
    {"sparse", "rows[FORM_DENSE4]", trial_dense4_rows},
    {"sparse", "rows[FORM_DENSE5]", trial_dense5_rows},
    {"sparse", "quads", trial_quads},
    {"row", "relu", trial_relu},
    {"row", "tanh", trial_tanh},
    {"row", "sigmoid", trial_sigmoid},
    {"row", "swish", trial_swish},
    {"row", "erf", trial_erf},
    {"row", "gelu", trial_gelu},
    {"row", "gelu_tanh", trial_gelu_tanh},
    {"row", "clip", trial_clip},
    {"row", "exp", trial_exp},
    {"row", "softmax", trial_softmax},
    {"row", "layer_norm", trial_layer_norm},
    {"row", "sum_rows", trial_sum_rows},
    {"row", "extreme_rows", trial_extreme_rows},
    {"row", "sum_columns", trial_sum_columns},
    {"row", "extreme_columns", trial_extreme_columns},
    {"row", "softmax_columns", trial_softmax_columns},
    {"row", "where", trial_where},
    {"row", "elementwise", trial_elementwise},
    {"integer", "gemm_i8", trial_gemm_i8},
    {"integer", "gemm_grid", trial_gemm_grid},
    {"integer", "gemm_slots", trial_gemm_slots},
    {"integer", "depthwise_i8", trial_depthwise_i8},
    {"integer", "gemm_i16[0]", trial_gemm_i16_short},
    {"integer", "gemm_i16[1]", trial_gemm_i16_long},
    {"integer", "winograd_in", trial_winograd_i8_in},
    {"integer", "winograd_out", trial_winograd_i8_out},
    {"integer", "bytes.combine", trial_combine},
    {"integer", "bytes.combine_reals", trial_combine_reals},
    {"integer", "bytes.quantize", trial_quantize},
    {"integer", "bytes.dequantize", trial_dequantize},
    {"integer", "bytes.largest", trial_largest},
    {"integer", "bytes.interleave", trial_interleave},
    {"integer", "bytes.mean", trial_mean},
    {"integer", "bytes.look_up", trial_look_up},
    {"integer", "bytes.real_sums", trial_real_sums},
    {"decode", "huff_chains", trial_huff_chains},
    {"decode", "rans_rows", trial_rans_rows},
    {"checksum", "crc32c", trial_crc32c},
    {"train", "winograd", trial_winograd},
    {"train", "panel", trial_panel},
    {"train", "rows", trial_rows},
    {"train", "fake", trial_fake},
    {"calibrate", "run_sums", trial_run_sums},
    {"calibrate", "histogram_count", trial_histogram_count},
    {"gram", "tile", trial_tile},
    {"row_panel", "panel", trial_row_panel},
};

/* The features, and those that they stand on (pith_runtime.h). */
static uint32_t table_features(uint32_t needs)
{
    if (needs & PITH_CPU_AMX)
        needs |= PITH_CPU_VNNI;
    if (needs & (PITH_CPU_VBMI | PITH_CPU_VNNI))
        needs |= PITH_CPU_AVX512;
    if (needs & (PITH_CPU_AVX512 | PITH_CPU_AVXVNNI))
        needs |= PITH_CPU_AVX2;
    if (needs & PITH_CPU_I8MM)
        needs |= PITH_CPU_DOTPROD;
    return needs & PITH_CPU_DOTPROD ? needs | PITH_CPU_NEON : needs;
}

static bool has(uint32_t features)
{
    return (pith_cpu_features() & features) == features;
}

/* ---- the lists ------------------------------------------------------------------------------- */

/* The entry is in the table of its features; without them, and in the reference, it is not. */
#define CHECK(fill, table_type, member, name, needs)                                               \
    do {                                                                                           \
        struct table_type own, less;                                                               \
        fill(&own, table_features(needs));                                                         \
        fill(&less, table_features(needs) & ~(uint32_t)(needs));                                   \
        if (own.member != &(name) || ((needs) != 0 && less.member == &(name)))                     \
            fail_msg("%s is not what its features run", #name);                                    \
    } while (0);
#define CHECK_DENSE(m, t, n, f) CHECK(pith_dense_kernels_fill, dense_kernels, m, n, f)
#define CHECK_ORDERED(m, t, n, f) CHECK(pith_ordered_kernels_fill, dense_kernels, m, n, f)
#define CHECK_SPARSE(m, t, n, f) CHECK(pith_sparse_kernels_fill, sparse_kernels, m, n, f)
#define CHECK_ROW(m, t, n, f) CHECK(pith_row_kernels_fill, row_kernels, m, n, f)
#define CHECK_INTEGER(m, t, n, f) CHECK(pith_integer_kernels_fill, integer_kernels, m, n, f)
#define CHECK_DECODE(m, t, n, f) CHECK(pith_decode_kernels_fill, decode_kernels, m, n, f)
#define CHECK_CHECKSUM(m, t, n, f) CHECK(pith_checksum_kernels_fill, checksum_kernels, m, n, f)
#define CHECK_TRAIN(m, t, n, f) CHECK(pith_train_kernels_fill, train_kernels, m, n, f)
#define CHECK_CALIBRATE(m, t, n, f) CHECK(pith_calibrate_kernels_fill, calibrate_kernels, m, n, f)
#define CHECK_GRAM(m, t, n, f) CHECK(pith_gram_kernels_fill, gram_kernels, m, n, f)
#define CHECK_ROW_PANEL(m, t, n, f) CHECK(pith_row_panel_kernels_fill, row_panel_table, m, n, f)

TEST(entries_are_taken_and_masked){
    DENSE_KERNELS(CHECK_DENSE) ORDERED_KERNELS(CHECK_ORDERED) SPARSE_KERNELS(CHECK_SPARSE)
        ROW_KERNELS(CHECK_ROW) INTEGER_KERNELS(CHECK_INTEGER) DECODE_KERNELS(CHECK_DECODE)
            CHECKSUM_KERNELS(CHECK_CHECKSUM) TRAIN_KERNELS(CHECK_TRAIN)
                CALIBRATE_KERNELS(CHECK_CALIBRATE) GRAM_KERNELS(CHECK_GRAM)
                    ROW_PANEL_KERNELS(CHECK_ROW_PANEL)}

/* What PITH_CPU masks for this process is masked for the stages. */
TEST(stages_are_masked)
{
    pith_cpu_allow(PITH_CPU_REF);
    assert_int_equal(pith_cpu_allowed(), 0);
    assert_ptr_equal(pith_train_kernels().winograd, &pith_winograd_base);
    assert_ptr_equal(pith_gram_tile(), pith_gram_tile_base);
    assert_ptr_equal(pith_row_panel_kernels().solve, pith_row_panel_base.solve);
    pith_cpu_allow(PITH_CPU_AVX2);
    assert_int_equal(pith_cpu_allowed(), pith_cpu_features() & PITH_CPU_AVX2);
    pith_cpu_allow(0);
    assert_int_equal(pith_cpu_allowed(), pith_cpu_features());
}

/* ---- what they leave, and when --------------------------------------------------------------- */

static struct trial run_trial(const struct entry *e, uint32_t features, uint64_t from, bool timed)
{
    struct trial t = {.features = features, .timed = timed};
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
        if (!strcmp(trials[i].table, e->table) && !strcmp(trials[i].member, e->member)) {
            seed = from;
            trials[i].run(&t);
            return t;
        }
    fail_msg("no trial of %s.%s", e->table, e->member);
    return t;
}

static bool same(const struct trial_result *want, const struct trial_result *got)
{
    if (want->n != got->n || got->bound == 0)
        return want->n == got->n && memcmp(want->data, got->data, want->n) == 0;
    const float *a = want->data, *b = got->data;
    for (size_t i = 0; i < want->n / sizeof *a; i++)
        if (!(fabs((double)a[i] - (double)b[i]) <= got->bound))
            return false;
    return true;
}

/* By tests/runtime/test_kernels_*.c, against sums in double and on buffers at unmapped pages. */
static bool has_tests_of_its_own(const struct entry *e)
{
    return !strcmp(e->table, "dense") || !strcmp(e->table, "sparse") || !strcmp(e->table, "row") ||
           !strcmp(e->table, "integer");
}

TEST(entries_leave_the_same)
{
    for (size_t i = 0; i < N_ENTRIES; i++)
        for (uint64_t round = 0; !has_tests_of_its_own(&entries[i]) &&
                                 has(table_features(entries[i].needs)) && round < ROUNDS;
             round++) {
            struct trial want = run_trial(&entries[i], 0, round + 1, false);
            struct trial got =
                run_trial(&entries[i], table_features(entries[i].needs), round + 1, false);
            assert_true(want.n_results > 0 && want.n_results == got.n_results);
            for (uint32_t r = 0; r < got.n_results; r++)
                if (!same(&want.result[r], &got.result[r]))
                    fail_msg("%s, round %d: result %u is not the reference's", entries[i].name,
                             (int)round, r);
            trial_close(&want);
            trial_close(&got);
        }
}

static int bench(const char *word)
{
    printf("%-36s %-32s %9s %9s %9s\n", "kernel", "entry", "us", "G/s", "of ref");
    for (size_t i = 0; i < N_ENTRIES; i++) {
        const struct entry *e = &entries[i];
        if (word && !strstr(e->name, word))
            continue;
        if (!has(table_features(e->needs))) {
            printf("%-10s%-26s %-32s not on this CPU\n", e->table, e->member, e->name);
            continue;
        }
        struct trial t = run_trial(e, table_features(e->needs), 1, true);
        struct trial reference = run_trial(e, 0, 1, true);
        printf("%-10s%-26s %-32s %9.2f %9.2f", e->table, e->member, e->name, t.ns / 1e3,
               t.work / t.ns);
        if (reference.work > 0) /* else the reference has no kernel here */
            printf(" %8.2fx", reference.ns / reference.work * t.work / t.ns);
        printf("\n");
        trial_close(&t);
        trial_close(&reference);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "bench"))
        return bench(argc > 2 ? argv[2] : NULL);
    return run_listed_tests(NULL, NULL);
}
