/* SPDX-License-Identifier: MIT */
/* layer_support.h - which weights of a layer may be other than 0 where the sweep is to keep a
 * pattern (pith_prune.h). What a removal costs decides, given H and the goals:
 *
 *     N:M, balanced     row by row, window after window, while rows are rounded (row_windows.h)
 *     blocks, elements  before, for the whole layer (block_choice.h)
 *     without H, or where blocks have rows of several groups, or windows columns of several blocks:
 *                       before, by F w^2 */
#ifndef LAYER_SUPPORT_H
#define LAYER_SUPPORT_H

#include "block_choice.h"
#include "row_windows.h"

struct layer_support {
    const struct pith_pattern *pattern; /* borrowed; NULL: the layer has none */
    double price;                       /* nats that a weight is worth */
    uint8_t *kept;                      /* [rows, n] as the weight; NULL: rows choose, or none is */
    struct row_windows windows;         /* factor NULL: rows do not choose */
    struct row_windows_room *room;      /* [n_rooms] one a thread */
    uint32_t n_rooms;
};

/* A layer as it is to be rounded: rows of the weight, or those of blocks of its columns one behind
 * the other, so many for each of the factor's groups. */
struct supported_layer {
    const struct layer_factor *factor;
    uint64_t rows, weight_rows; /* of all groups; of the weight */
    size_t weight_cols;
    uint32_t blocks;         /* of columns */
    const float *w, *weight; /* [rows, factor->n]; [weight_rows, weight_cols] */
    const double *loss;      /* [rows] F */
    bool keep_zeros;         /* those of w, which count */
    const struct pith_opts *runtime;
};

/* How many columns are to stay together in the order of rounding (pith_layer_factor): cols, which
 * blocks cut. */
size_t pith_support_window(const struct pith_pattern *pattern, size_t cols, uint32_t blocks);

/* Fills kept or windows. PITH_ERR_MEMORY; what is left then is freed by close, too. */
enum pith_status pith_support_choose(struct layer_support *s, const struct supported_layer *l,
                                     struct pith_error *err);
/* As choose_kept of a struct layer_round; support: one whose rows choose. */
void pith_support_row(const void *support, uint32_t thread, uint32_t group, const double *target,
                      uint8_t *kept);
void pith_support_close(struct layer_support *s); /* accepts zeros */

#endif
