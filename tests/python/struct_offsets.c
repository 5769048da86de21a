/* SPDX-License-Identifier: MIT */
/* Prints "struct member offset" for what python/pith/_runtime.py declares anew, and the size as
 * member "". */
#include <stdio.h>
#include "pith_runtime.h"

#define MEMBER(type, name) printf(#type " " #name " %zu\n", offsetof(struct type, name))

int main(void)
{
    MEMBER(pith_error, status);
    MEMBER(pith_error, chunk);
    MEMBER(pith_error, offset);
    MEMBER(pith_error, text);
    printf("pith_error - %zu\n", sizeof(struct pith_error));
    MEMBER(pith_tensor, name);
    MEMBER(pith_tensor, name_bytes);
    MEMBER(pith_tensor, type);
    MEMBER(pith_tensor, rank);
    MEMBER(pith_tensor, dim);
    MEMBER(pith_tensor, bytes);
    MEMBER(pith_tensor, data);
    MEMBER(pith_tensor, scale);
    MEMBER(pith_tensor, zero_point);
    printf("pith_tensor - %zu\n", sizeof(struct pith_tensor));
    MEMBER(pith_opts, size_bytes);
    MEMBER(pith_opts, cpu_mask);
    MEMBER(pith_opts, flags);
    MEMBER(pith_opts, batch);
    MEMBER(pith_opts, max_bytes);
    MEMBER(pith_opts, user);
    MEMBER(pith_opts, parallel_for);
    MEMBER(pith_opts, clock_ns);
    MEMBER(pith_opts, observe);
    MEMBER(pith_opts, parallel_user);
    MEMBER(pith_opts, max_steps);
    MEMBER(pith_opts, stop);
    MEMBER(pith_opts, stop_user);
    MEMBER(pith_opts, init_memory);
    MEMBER(pith_opts, init_memory_bytes);
    MEMBER(pith_opts, costs);
    MEMBER(pith_opts, choices);
    MEMBER(pith_opts, n_choices);
    MEMBER(pith_opts, ordered);
    MEMBER(pith_opts, threads);
    MEMBER(pith_opts, n_changes);
    MEMBER(pith_opts, changes);
    MEMBER(pith_opts, weights_of);
    MEMBER(pith_opts, last_row_of);
    MEMBER(pith_opts, n_caches);
    MEMBER(pith_opts, caches);
    printf("pith_opts - %zu\n", sizeof(struct pith_opts));
    return 0;
}
