/* SPDX-License-Identifier: MIT */
/* load_estimate.c - what decoding a file takes, from what is in it: counted, not timed, so that the
 * same file gives the same number on every machine. */
#include <stdlib.h>
#include "decode/weight.h"
#include "graph_open.h"
#include "pack.h"
#include "pith_model.h"
#include "pith_pack.h"
#include "pith_runtime.h"

/* Nanoseconds of one core (AMD EPYC, the release build) an element, from `pith_open_memory` timed
 * by bench/bench_load.c on what `pith encode --coder adaptive` and `--coder huffman` make.
 * Classes: SqueezeNet in 16 centroids, 30. Huffman: eight layers of 2048x2048 in 16 centroids, 4.
 * Byte planes: MobileNet-v2 as it was imported, 3. */
#define CLASSES_NS 30.0
#define HUFFMAN_NS 4.0
#define PLANES_NS 3.0
#define RANS_NS 0.6

static void add_up(const struct graph *g, double *ns)
{
    for (uint32_t i = 0; i < g->n_weights; i++) {
        const struct weight *w = &g->weights[i];
        if (w->code == CODE_ADAPTIVE)
            *ns += ADAPTIVE_NS * (double)(w->grid == GRID_PLAIN ? w->nnz : w->count);
        else if (w->code == CODE_CLASSES)
            *ns += CLASSES_NS * (double)w->count;
        else if (w->code == CODE_PLANES)
            *ns += PLANES_NS * (double)w->count;
        else if (w->code == CODE_RANS && w->support != SUPPORT_GAPS)
            *ns += RANS_NS * (double)w->nnz;
        else if (w->code == CODE_HUFFMAN || w->support == SUPPORT_GAPS)
            *ns += HUFFMAN_NS * (double)w->nnz;
    }
}

enum pith_status pith_load_seconds(const struct pith_buffer *file, double *seconds)
{
    if (!file || !seconds)
        return PITH_ERR_ARGUMENT;
    struct pith_error why;
    struct open_graph o;
    double ns = 0;
    enum pith_status st = pith_graph_open(file->data, file->bytes, PITH_FLAG_NO_CHECKSUM, &o, &why);
    if (!st) {
        add_up(&o.g, &ns);
        *seconds = ns * 1e-9;
    }
    pith_graph_close(&o);
    return st;
}
