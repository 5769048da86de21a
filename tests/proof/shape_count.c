/* SPDX-License-Identifier: MIT */
/* All shapes of any rank and dims: elements are counted without overflow, to 2^40 at most, and
 * bytes to 2^43. */
#include "proof.h"
#include "runtime/core/tensor.c"

int main(void)
{
    struct shape s;
    uint64_t count = 0, bytes = 0;
    any_bytes((uint8_t *)&s, sizeof s);
    if (pith_shape_count(&s, &count) == PITH_OK) {
        //@ assert count <= 1099511627776;
    }
    if (pith_shape_bytes(&s, (enum pith_type)Frama_C_interval(0, 20), &bytes) == PITH_OK) {
        //@ assert bytes <= 8796093022208;
    }
    return 0;
}
