/* SPDX-License-Identifier: MIT */
/* bench_train.c - one step of training, forward and backward without the optimizer, on seeded
 * numbers:
 *
 *     bench_train MODEL [BATCH [THREADS [REPEATS]]]
 *
 * Prints the median step and the shortest (other work on the machine makes steps longer, never
 * shorter). Without a model it has nothing to measure. bench/train_torch.py times the same two
 * networks in PyTorch. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "pith_load.h"
#include "pith_host.h"
#include "pith_train.h"
#include "train/tape/tape.h"

static void fill(struct tape *t)
{
    for (uint32_t s = 0; s < PITH_TRAIN_SLICES; s++) {
        struct tape_tensor *x = pith_tape_input(t, s, 0);
        for (size_t i = 0; i < shape_elems(&x->shape); i++)
            ((float *)x->data)[i] = 0.5f + 0.5f * sinf((float)i * 0.37f + (float)s);
    }
}

static void step(struct tape *t)
{
    pith_tape_forward(t);
    for (uint32_t s = 0; s < PITH_TRAIN_SLICES; s++) {
        struct tape_tensor *y = pith_tape_output(t, s, 0);
        for (size_t i = 0; i < shape_elems(&y->shape); i++)
            y->grad[i] = cosf((float)i * 0.7f + (float)s);
    }
    pith_tape_backward(t);
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void measure(struct tape *t, const struct tape_opts *o, uint32_t repeats)
{
    double *seconds = calloc(repeats, sizeof *seconds);
    fill(t);
    step(t);
    for (uint32_t i = 0; i < repeats && seconds; i++) {
        uint64_t start = pith_clock_ns(NULL);
        step(t);
        seconds[i] = 1e-9 * (double)(pith_clock_ns(NULL) - start);
    }
    if (seconds) {
        qsort(seconds, repeats, sizeof *seconds, ascending);
        printf("step %.2f ms (shortest %.2f), %.0f samples/s (batch %u, %u threads)\n",
               1e3 * seconds[repeats / 2], 1e3 * seconds[0], o->batch / seconds[repeats / 2],
               o->batch, o->threads);
    }
    free(seconds);
}

int main(int argc, char **argv)
{
    struct pith_model *m;
    struct pith_error err = {0};
    struct tape *t;
    struct tape_opts o = {.batch = argc > 2 ? (uint32_t)atoi(argv[2]) : 128,
                          .threads = argc > 3 ? (uint32_t)atoi(argv[3]) : 2,
                          .training = true};
    if (argc < 2) {
        puts("usage: bench_train MODEL [BATCH [THREADS [REPEATS]]]");
        return 0;
    }
    if (pith_model_load(argv[1], NULL, &m, &err) || pith_tape_new(m, &o, &t, &err)) {
        puts(err.text);
        return 1;
    }
    measure(t, &o, argc > 4 && atoi(argv[4]) > 0 ? (uint32_t)atoi(argv[4]) : 21);
    pith_tape_free(t);
    pith_model_free(m);
    return 0;
}
