/* SPDX-License-Identifier: MIT */
/* train_kernels.h - the list of training's kernels, in the manner of the runtime's
 * (kernel_list.h): each entry is the table that one template makes for one instruction set,
 * whose contract stands in the header of its struct. */
#ifndef TRAIN_KERNELS_H
#define TRAIN_KERNELS_H

#include "channel_rows.h"
#include "fake_rows.h"
#include "panel_product.h"
#include "kernels/kernel_list.h"
#include "winograd_kernels.h"

struct train_kernels {
    const struct winograd_kernels *winograd;
    const struct panel_kernels *panel;
    const struct channel_rows *rows;
    const struct fake_rows *fake;
};

#define TRAIN_KERNELS_ANY(KERNEL)                                                                  \
    KERNEL(winograd, const struct winograd_kernels, pith_winograd_base, 0)                         \
    KERNEL(panel, const struct panel_kernels, pith_panel_base, 0)                                  \
    KERNEL(rows, const struct channel_rows, pith_channel_rows_base, 0)                             \
    KERNEL(fake, const struct fake_rows, pith_fake_rows_base, 0)
#ifdef __x86_64__
#define TRAIN_KERNELS_OWN(KERNEL)                                                                  \
    KERNEL(winograd, const struct winograd_kernels, pith_winograd_avx2, PITH_CPU_AVX2)             \
    KERNEL(panel, const struct panel_kernels, pith_panel_avx2, PITH_CPU_AVX2)                      \
    KERNEL(rows, const struct channel_rows, pith_channel_rows_avx2, PITH_CPU_AVX2)                 \
    KERNEL(fake, const struct fake_rows, pith_fake_rows_avx2, PITH_CPU_AVX2)                       \
    KERNEL(winograd, const struct winograd_kernels, pith_winograd_avx512, PITH_CPU_AVX512)         \
    KERNEL(panel, const struct panel_kernels, pith_panel_avx512, PITH_CPU_AVX512)                  \
    KERNEL(rows, const struct channel_rows, pith_channel_rows_avx512, PITH_CPU_AVX512)             \
    KERNEL(fake, const struct fake_rows, pith_fake_rows_avx512, PITH_CPU_AVX512)
#else
#define TRAIN_KERNELS_OWN(KERNEL)
#endif
#define TRAIN_KERNELS(KERNEL) TRAIN_KERNELS_ANY(KERNEL) TRAIN_KERNELS_OWN(KERNEL)

TRAIN_KERNELS(KERNEL_DECLARE)

/* features: PITH_CPU_ bits, 0: the base alone. */
void pith_train_kernels_fill(struct train_kernels *k, uint32_t features);
/* Of the features that the process may use (cpu_allowed.h). */
struct train_kernels pith_train_kernels(void);

#endif
