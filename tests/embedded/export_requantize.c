/* SPDX-License-Identifier: MIT */
/* export_requantize.c - requantization in integers alone has the bits of the float operations, for
 * sums of any size near ties. Compiled with -DNET_C="net.c", a source exported for a CPU without
 * floats. */
#include NET_C
#include <stdio.h>

int main(void)
{
    uint64_t state = 88172645463325252u;
    int wrong = 0;
    for (long i = 0; i < 4000000 && wrong < 3; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        const uint32_t m = 0x800000u | (uint32_t)(state & 0x7fffffu),
                       e = 40 + (uint32_t)(state >> 24) % 12;
        const uint32_t power = (127u - e) << 23;
        float factor;
        __builtin_memcpy(&factor, &power, 4);
        factor *= (float)m;
        const double tie = (double)((state >> 32) % 255) + 0.5;
        const double sum = tie / (double)factor + (double)(int)((state >> 50) % 7) - 3.0;
        if (sum > 2e9)
            continue;
        const uint8_t q = requantize((int32_t)sum, m | e << 24, 0),
                      wanted = to_u8((float)(int32_t)sum * factor, 0);
        if (q != wanted) {
            printf("sum %d, factor %u * 2^-%u: %u, not %u\n", (int)sum, m, e, q, wanted);
            wrong++;
        }
    }
    return wrong != 0;
}
