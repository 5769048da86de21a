/* SPDX-License-Identifier: MIT */
/* arm_instructions.c - what bench/arm_instructions.sh counts the instructions of: RUNS runs of one
 * thing, by the reference (level 0) or NEON (1). Prints how many elements a run has.
 *
 *     arm_instructions LEVEL RUNS product KIND ROWS PERCENT CENTROIDS
 *                      KIND: a run form's number, -1 dense f32, -2 a sparse matrix times ROWS rows
 *     arm_instructions LEVEL RUNS row exp|tanh|sigmoid|gelu|softmax|layer-norm
 *     arm_instructions LEVEL RUNS network FILE */
#include "product_case.h"
#include "pith_runtime.h"

#define ROWS 256u
#define COLS 512u
#define ALWAYS 65535u

static uint64_t product(uint32_t runs, uint32_t features, char **arg)
{
    struct pith_kernels k;
    struct pith_costs *c = &k.sparse.costs;
    const int kind = atoi(arg[0]);
    const uint32_t m = (uint32_t)atoi(arg[1]);
    pith_kernels_fill(&k, features);
    memset(c, 0, sizeof *c);
    c->dense[0] = c->dense[1] = c->dense[2] = c->tiles = 1;
    c->csr_centroids = kind == FORM_CSR_VALUE ? 0 : 256;
    if (kind >= 0)
        c->form[kind] = ALWAYS;
    if (kind == -2)
        c->quads[0] = c->quads[1] = ALWAYS;
    struct matrix matrix = {ROWS, COLS, (uint32_t)atoi(arg[2]), (uint32_t)atoi(arg[3])};
    struct weight w = weight_new(&matrix);
    struct made_product made = product_new(&w, m, &k, PITH_FLAG_DECODE_ONCE);
    made.d.a = new_bytes((uint64_t)m * COLS * sizeof(float));
    made.d.y = new_bytes((uint64_t)m * ROWS * sizeof(float));
    for (uint32_t i = 0; i < runs; i++)
        pith_product_run(&made.p, &made.d, &made.env);
    return w.nnz * m;
}

static uint64_t row(uint32_t runs, uint32_t features, const char *name)
{
    struct pith_kernels k;
    pith_kernels_fill(&k, features);
    float *x = new_bytes(COLS * sizeof *x), *y = new_bytes(COLS * sizeof *y);
    struct norm_row norm = {x, y, x, x, 1e-5f};
    for (uint32_t i = 0; i < COLS; i++)
        x[i] = (float)i / COLS;
    for (uint32_t i = 0; i < runs; i++) {
        if (!strcmp(name, "exp"))
            k.row.exp(x, 0.5f, y, COLS);
        else if (!strcmp(name, "tanh"))
            k.row.tanh(x, y, COLS);
        else if (!strcmp(name, "sigmoid"))
            k.row.sigmoid(x, y, COLS);
        else if (!strcmp(name, "gelu"))
            k.row.gelu(x, y, COLS);
        else if (!strcmp(name, "softmax"))
            k.row.softmax(x, y, COLS);
        else
            k.row.layer_norm(&norm, COLS);
    }
    return COLS;
}

static uint64_t network(uint32_t runs, uint32_t features, const char *name)
{
    FILE *f = fopen(name, "rb");
    if (!f || fseek(f, 0, SEEK_END))
        exit(1);
    const size_t bytes = (size_t)ftell(f);
    void *image = new_bytes(bytes);
    rewind(f);
    struct pith_opts opts;
    struct pith_need need;
    struct pith_plan *plan;
    pith_opts_init(&opts, sizeof opts);
    opts.cpu_mask = features ? features : PITH_CPU_REF;
    const size_t arena = bytes * 8 + (64u << 20);
    void *memory = new_bytes(arena);
    if (fread(image, 1, bytes, f) != bytes || fclose(f) ||
        pith_plan_need(image, bytes, &opts, memory, arena, &need) ||
        pith_plan_init(memory, arena, image, bytes, &opts, &plan))
        exit(1);
    for (uint32_t i = 0; i < runs; i++)
        if (pith_plan_run(plan))
            exit(1);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    const uint32_t features = atoi(argv[1]) ? PITH_CPU_NEON : 0, runs = (uint32_t)atoi(argv[2]);
    uint64_t elements = 1;
    if (!strcmp(argv[3], "product") && argc == 8)
        elements = product(runs, features, argv + 4);
    else if (!strcmp(argv[3], "row"))
        elements = row(runs, features, argv[4]);
    else
        elements = network(runs, features, argv[4]);
    printf("elements %llu\n", (unsigned long long)elements);
    return 0;
}
