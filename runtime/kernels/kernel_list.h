/* SPDX-License-Identifier: MIT */
/* kernel_list.h - what is made of a list of kernels. A list is a macro of lines, worst to
 * best:
 *
 *     #define ROW_KERNELS(KERNEL) KERNEL(relu, row_f32_fn, pith_relu_row_f32_avx2, PITH_CPU_AVX2)
 *
 * the member of its table that the entry fills, the entry's type (a function, or a table of
 * functions), its name, the PITH_CPU_ bits it needs. Prototypes and tables are made of it, and
 * tests and times of every entry (tests/train/test_every_kernel.c). */
#ifndef PITH_KERNEL_LIST_H
#define PITH_KERNEL_LIST_H

#define KERNEL_DECLARE(member, type, name, needs) extern type name;

/* In a function that fills table k: the last entry whose needs are among `features` stays. Where a
 * build leaves out what it needs, the compiler sees so and nothing refers to the entry. */
#define KERNEL_TAKE(member, type, name, needs)                                                     \
    if ((features & (needs)) == (needs))                                                           \
        k->member = &name;

#endif
