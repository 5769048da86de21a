/* SPDX-License-Identifier: MIT */
/* bench_gpu_batch.c - a network on a GPU at batch 1, 8 and 64, from input to output on the device,
 * as bench/gpu_peers.py times torch. Needs the runtime's archives and libc alone (bench/gpu.sh).
 *
 *     bench_gpu_batch SECONDS NET.pith...        of each time; a line of JSON each
 *
 * Times are medians of replays of the plan's graph, by events. Inputs are zeros. Networks that are
 * stored in f16 (NAME.f16.pith) are timed twice: as they are, and, "NAME.f16.pith+mma", by tensor
 * cores. */
#include "gpu_open.h"
#include "gpu_times.h"

static int enqueue(void *gpu)
{
    struct pith_error err;
    return (int)pith_cuda_plan_enqueue(gpu, stream, &err);
}

static int bench(const char *path, uint32_t batch, enum pith_cuda_precision precision)
{
    struct pith_session *s = NULL;
    struct pith_cuda_plan *gpu = NULL;
    struct pith_error err = {0};
    uint32_t replays = 0;
    const char *file = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    char name[256];
    snprintf(name, sizeof name, "%s%s", file, precision == PITH_CUDA_F16 ? "+mma" : "");
    pith_cuda_set_precision(cuda, precision);
    enum pith_status st = gpu_open(cuda, path, batch, &s, &gpu, &err);
    if (!st) /* inputs, and code and caches that a first run readies */
        st = pith_cuda_plan_run(gpu, &err);
    if (st) {
        printf("{\"part\":\"batch\",\"name\":\"%s\",\"batch\":%u,\"error\":%d}\n", name, batch,
               (int)st);
        fprintf(stderr, "%s, batch %u: %s\n", name, batch, err.text);
    } else {
        struct pith_cuda_facts facts = pith_cuda_plan_facts(gpu);
        double us = device_us(enqueue, gpu, &replays);
        printf("{\"part\":\"batch\",\"name\":\"%s\",\"batch\":%u,\"us\":%.2f,\"replays\":%u,"
               "\"launches\":%u}\n",
               name, batch, us, replays, facts.launches);
    }
    fflush(stdout);
    pith_cuda_plan_free(gpu);
    pith_close(s);
    return st != PITH_OK;
}

int main(int argc, char **argv)
{
    enum { N_BATCHES = 3 };
    static const uint32_t batches[N_BATCHES] = {1, 8, 64}, few[N_BATCHES] = {1, 2, 3};
    int bad = 0;
    if (argc < 3) {
        fputs("usage: bench_gpu_batch SECONDS NET.pith...\n", stderr);
        return 2;
    }
    seconds_each = strtod(argv[1], NULL);
    if (!open_device("bench_gpu_batch"))
        return 2;
    for (int i = 2; i < argc; i++)
        for (size_t k = 0; k < 2 * N_BATCHES; k++) {
            const enum pith_cuda_precision precision =
                k < N_BATCHES ? PITH_CUDA_F32 : PITH_CUDA_F16;
            if (precision == PITH_CUDA_F32 || strstr(argv[i], ".f16.pith"))
                bad |= bench(argv[i], is_emulator ? few[k % N_BATCHES] : batches[k % N_BATCHES],
                             precision);
        }
    close_device();
    return bad;
}
