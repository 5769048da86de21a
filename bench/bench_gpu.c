/* SPDX-License-Identifier: MIT */
/* bench_gpu.c - networks and single matrices on a GPU: bits and times. Needs the runtime's archives
 * and libc alone, so that it can be taken to a bare machine (bench/gpu.sh).
 *
 *     bench_gpu make NET.pith...               NAME.in, NET.pith.out: seeded inputs of NAME.pith,
 *                                              NAME.f16.pith and NAME.int8.pith, the CPU's outputs
 *     bench_gpu run SECONDS MOST NET.pith...   beside the CPU, from host memory to host memory
 *     bench_gpu batch SECONDS NET.pith...      at batch 1, 8 and 64, on the device, as
 *                                              gpu_peers.py times torch; those in f16 as they are
 *                                              and ("+mma") by tensor cores
 *     bench_gpu layers SECONDS MOST            Han's nine layers and large matrices, 4 to 100 % of
 *                                              them kept, 16 values a weight, one row and, of some,
 *                                              4, 16 and 64, beside the same matrix dense (pith,
 *                                              cuBLASLt; f32, f16) and cuSPARSE
 *     bench_gpu steps NET.pith                 once, without a graph, for tools that look at copies
 *     bench_gpu cases NAME                     the cases of tests/cuda (gpu_cases.c)
 *
 * A line of JSON each. SECONDS is the time of one figure, a median; what is not begun within MOST
 * seconds is left out and counted. Times of layers and batches are of replays of a graph, between
 * events; layers run on copies of the matrix that exceed the L2 four times (cold) and on one (hot).
 * The emulator's times mean nothing, so matrices are small there. */
#include <math.h>
#include "gpu_layers.h"

/* ---- networks -------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
    return strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
}

/* A whole batch at once, no bands of rows; a batch that the file does not have is refused. */
static enum pith_status open_session(const char *path, uint32_t batch, uint32_t flags,
                                     struct pith_session **s, struct pith_error *err)
{
    struct pith_opts o;
    struct pith_tensor t;
    pith_opts_init(&o, sizeof o);
    o.batch = batch;
    o.flags = PITH_FLAG_WHOLE_BATCH | flags;
    enum pith_status st = pith_open(path, &o, s, err);
    if (st || batch == 1)
        return st;
    st = pith_plan_input(pith_plan_of(*s), 0, &t);
    if (st || (t.rank > 0 && t.dim[0] == batch))
        return st;
    pith_close(*s);
    *s = NULL;
    snprintf(err->text, sizeof err->text, "the batch is fixed");
    return PITH_ERR_UNSUPPORTED;
}

/* With the flags that leave the fewest steps to the CPU. *s and *gpu are the caller's to close. */
static enum pith_status open_plan(const char *path, uint32_t batch, struct pith_session **s,
                                  struct pith_cuda_plan **gpu, struct pith_error *err)
{
    for (int i = 0; i < 2; i++) {
        enum pith_status st = open_session(path, batch, i ? PITH_FLAG_NO_FUSION : 0, s, err);
        if (!st)
            st = pith_cuda_plan_new(cuda, pith_plan_of(*s), gpu, err);
        if (st || i == 1 || pith_cuda_plan_facts(*gpu).cpu_steps == 0)
            return st;
        pith_cuda_plan_free(*gpu);
        pith_close(*s);
        *gpu = NULL;
        *s = NULL;
    }
    return PITH_OK;
}

/* path + ".out", or the network's name + ".in". */
static void file_of(char name[1024], const char *path, bool outputs)
{
    static const char *const ends[] = {".f16.pith", ".int8.pith", ".pith"};
    snprintf(name, 1020, "%s", path);
    size_t n = strlen(name);
    for (size_t i = 0; !outputs && i < sizeof ends / sizeof *ends; i++)
        if (n > strlen(ends[i]) && strcmp(name + n - strlen(ends[i]), ends[i]) == 0) {
            n -= strlen(ends[i]);
            break;
        }
    strcpy(name + n, outputs ? ".out" : ".in");
}

/* All inputs, or outputs, one behind the other, as a file: written from the plan, or read, inputs
 * into the plan, outputs into *expected. */
static bool move(struct pith_plan *plan, const char *path, bool outputs, bool write,
                 uint8_t **expected)
{
    char name[1024];
    file_of(name, path, outputs);
    FILE *f = fopen(name, write ? "wb" : "rb");
    if (!f)
        return false;
    bool good = true;
    uint64_t at = 0;
    uint32_t n = outputs ? pith_plan_output_count(plan) : pith_plan_input_count(plan);
    for (uint32_t i = 0; i < n && good; i++) {
        struct pith_tensor t;
        outputs ? pith_plan_output(plan, i, &t) : pith_plan_input(plan, i, &t);
        if (write) {
            const void *data =
                outputs ? pith_plan_output_data(plan, i) : pith_plan_input_data(plan, i);
            good = fwrite(data, 1, t.bytes, f) == t.bytes;
        } else if (outputs) {
            uint8_t *bigger = realloc(*expected, (size_t)(at + t.bytes));
            *expected = bigger ? bigger : *expected;
            good = bigger && fread(bigger + at, 1, t.bytes, f) == t.bytes;
        } else {
            good = fread(pith_plan_input_data(plan, i), 1, t.bytes, f) == t.bytes;
        }
        at += t.bytes;
    }
    return fclose(f) == 0 && good;
}

static int make_one(const char *path)
{
    struct pith_session *s;
    struct pith_error err;
    if (pith_open(path, NULL, &s, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    struct pith_plan *plan = pith_plan_of(s);
    random_state = 1;
    for (uint32_t i = 0; i < pith_plan_input_count(plan); i++) {
        struct pith_tensor t;
        float *x = pith_plan_input_data(plan, i);
        if (pith_plan_input(plan, i, &t))
            continue;
        memset(x, 0, t.bytes); /* an index or a flag: 0 is one everywhere */
        for (uint64_t k = 0; t.type == PITH_F32 && k < t.bytes / sizeof *x; k++)
            x[k] = next_value();
    }
    bool good = move(plan, path, false, true, NULL) && pith_plan_run(plan) == PITH_OK &&
                move(plan, path, true, true, NULL);
    pith_close(s);
    return good ? 0 : 1;
}

/* Largest difference of the outputs from those of the file, as a share of the largest value; 0: all
 * bits are equal. */
static double difference(struct pith_plan *plan, const char *path)
{
    uint8_t *expected = NULL;
    uint64_t at = 0;
    double off = 0, largest = 0;
    if (!move(plan, path, true, false, &expected)) {
        free(expected);
        return NAN;
    }
    for (uint32_t i = 0; i < pith_plan_output_count(plan); i++) {
        struct pith_tensor t;
        pith_plan_output(plan, i, &t);
        const float *x = pith_plan_output_data(plan, i);
        const float *y = (const float *)(const void *)(expected + at);
        if (t.type != PITH_F32 && memcmp(x, y, t.bytes) != 0)
            off = INFINITY;
        for (uint64_t k = 0; t.type == PITH_F32 && k < t.bytes / sizeof *x; k++) {
            double d = fabs((double)x[k] - (double)y[k]);
            off = d <= off ? off : d; /* NaN stays */
            largest = fmax(largest, fabs((double)y[k]));
        }
        at += t.bytes;
    }
    free(expected);
    return off > 0 && largest > 0 ? off / largest : off;
}

/* Of runs of the device's plan, or of the CPU's where gpu is NULL, from host to host. */
static double median_us(struct pith_plan *plan, struct pith_cuda_plan *gpu, double seconds)
{
    static double us[MOST_RUNS];
    struct pith_error err;
    uint64_t begin = pith_clock_ns(NULL), now = begin;
    uint32_t n = 0;
    while (n < (is_emulator ? 1 : MOST_RUNS) && (n < 3 || (double)(now - begin) < seconds * 1e9)) {
        uint64_t start = pith_clock_ns(NULL);
        if (gpu ? pith_cuda_plan_run(gpu, &err) : pith_plan_run(plan))
            return NAN;
        now = pith_clock_ns(NULL);
        us[n++] = (double)(now - start) / 1e3;
    }
    qsort(us, n, sizeof *us, by_value);
    return us[n / 2];
}

/* By the plan that the CPU has without a device: steps joined, bands of rows. */
static double cpu_us(const char *path, double seconds)
{
    struct pith_session *s = NULL;
    struct pith_error err;
    double us = NAN;
    if (!pith_open(path, NULL, &s, &err) && move(pith_plan_of(s), path, false, false, NULL))
        us = median_us(pith_plan_of(s), NULL, seconds);
    pith_close(s);
    return us;
}

/* seconds 0: once, without the graph, and no times. */
static int run_one(const char *path, double seconds)
{
    struct pith_session *s = NULL;
    struct pith_cuda_plan *gpu = NULL;
    struct pith_error err = {0};
    double off = NAN;
    enum pith_status st = open_plan(path, 1, &s, &gpu, &err);
    if (!st && seconds <= 0 && gpu->graph) {
        cuda->cuGraphExecDestroy(gpu->graph);
        gpu->graph = NULL;
    }
    if (!st && move(pith_plan_of(s), path, false, false, NULL))
        st = pith_cuda_plan_run(gpu, &err);
    if (st) {
        printf("{\"part\":\"network\",\"name\":\"%s\",\"error\":%d}\n", base_name(path), (int)st);
        fprintf(stderr, "%s: %s\n", path, err.text);
    } else {
        struct pith_cuda_facts facts = pith_cuda_plan_facts(gpu);
        off = difference(pith_plan_of(s), path);
        if (seconds > 0)
            printf("{\"part\":\"network\",\"name\":\"%s\",\"off\":%.3g,\"gpu_us\":%.2f,"
                   "\"cpu_us\":%.2f,\"launches\":%u,\"cpu_steps\":%u,\"graph_us\":%.2f,"
                   "\"one_launch_us\":%.2f}\n",
                   base_name(path), off, median_us(pith_plan_of(s), gpu, seconds / 2),
                   cpu_us(path, seconds / 2), facts.launches, facts.cpu_steps,
                   (double)facts.graph_ns / 1e3, (double)facts.one_launch_ns / 1e3);
    }
    fflush(stdout);
    pith_cuda_plan_free(gpu);
    pith_close(s);
    return !(off <= 1e-3);
}

static int run_all(double seconds, double most, int n, char **paths)
{
    uint64_t start = pith_clock_ns(NULL);
    int bad = 0, missed = 0;
    printf("{\"part\":\"device\",\"name\":\"%s\"}\n", pith_cuda_name(cuda));
    for (int i = 0; i < n; i++)
        if ((double)(pith_clock_ns(NULL) - start) > most * 1e9)
            missed++;
        else
            bad |= run_one(paths[i], fmin(seconds, most / n));
    if (missed)
        printf("{\"part\":\"left_out\",\"networks\":%d}\n", missed);
    return bad;
}

static int enqueue_plan(void *gpu)
{
    struct pith_error err;
    return (int)pith_cuda_plan_enqueue(gpu, stream, &err);
}

static int batch_one(const char *path, uint32_t batch, enum pith_cuda_precision precision)
{
    struct pith_session *s = NULL;
    struct pith_cuda_plan *gpu = NULL;
    struct pith_error err = {0};
    pith_cuda_set_precision(cuda, precision);
    enum pith_status st = open_plan(path, batch, &s, &gpu, &err);
    if (!st) /* inputs, and code and caches that a first run readies */
        st = pith_cuda_plan_run(gpu, &err);
    printf("{\"part\":\"batch\",\"name\":\"%s%s\",\"batch\":%u,", base_name(path),
           precision == PITH_CUDA_F16 ? "+mma" : "", batch);
    if (st)
        printf("\"error\":%d}\n", (int)st);
    else
        printf("\"us\":%.2f}\n", device_us(enqueue_plan, gpu));
    if (st)
        fprintf(stderr, "%s, batch %u: %s\n", path, batch, err.text);
    fflush(stdout);
    pith_cuda_plan_free(gpu);
    pith_close(s);
    return st != PITH_OK;
}

static int batch_all(int n, char **paths)
{
    static const uint32_t batches[] = {1, 8, 64}, few[] = {1, 2, 3};
    int bad = 0;
    for (int i = 0; i < n; i++)
        for (int mma = 0; mma < (strstr(paths[i], ".f16.pith") ? 2 : 1); mma++)
            for (int k = 0; k < 3; k++)
                bad |= batch_one(paths[i], is_emulator ? few[k] : batches[k],
                                 mma ? PITH_CUDA_F16 : PITH_CUDA_F32);
    return bad;
}

/* ---- the program ----------------------------------------------------------------------------- */

#ifdef GPU_CASES
int main_cases(const char *name);
#else
#define main_cases(name) 2 /* they are in what bench/gpu.sh builds */
#endif

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "";
    int bad = 0;
    if (strcmp(what, "cases") == 0)
        return main_cases(argv[2]);
    if (strcmp(what, "make") == 0) {
        for (int i = 2; i < argc; i++)
            bad |= make_one(argv[i]);
        return bad;
    }
    bool is_run = argc > 4 && strcmp(what, "run") == 0;
    bool is_batch = argc > 3 && strcmp(what, "batch") == 0;
    bool is_layers = argc == 4 && strcmp(what, "layers") == 0;
    if (!is_run && !is_batch && !is_layers && strcmp(what, "steps") != 0) {
        fputs("usage: bench_gpu make NET.pith... | run SECONDS MOST NET.pith... | batch SECONDS "
              "NET.pith...\n       | layers SECONDS MOST | steps NET.pith | cases NAME\n",
              stderr);
        return 2;
    }
    open_device();
    seconds_each = strtod(argv[2], NULL);
    if (is_run)
        bad = run_all(seconds_each, strtod(argv[3], NULL), argc - 4, argv + 4);
    else if (is_batch)
        bad = batch_all(argc - 3, argv + 3);
    else if (is_layers)
        bad = layers(strtod(argv[3], NULL));
    else
        bad = run_one(argv[2], 0);
    close_device();
    return bad;
}
