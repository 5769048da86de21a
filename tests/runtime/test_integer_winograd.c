/* SPDX-License-Identifier: MIT */
/* Winograd's convolutions of integers as plans run them (integer_case.h). */
#include "integer_case.h"

/* The largest sums that there are: of 227 channels, every pixel and weight -128. */
TEST(test_winograd_of_many_channels)
{
    static const uint32_t pad[4] = {0, 0, 0, 0};
    struct shape x = {4, {1, 1, 6, 6}};
    uint32_t v = new_graph(&x, PITH_U8);
    struct layer l[3];
    for (uint32_t k = 0; k < 3; k++) {
        square_layer(&l[k], PITH_U8, &x, k == 0 ? 227 : 3, k == 1 ? 3 : 1, pad);
        const size_t n = shape_elems(&l[k].c.w);
        float *factor = own(malloc(sizeof *factor));
        uint8_t *zero = own(malloc(1)), *zero_x = own(calloc(1, 1));
        *factor = k == 0 ? 0.0f : 0x1p-18f;
        *zero = k == 0 ? 0x80 : 0;
        l[k].params[0] = PITH_I8;
        l[k].factor = gd_weight_of(PITH_F32, factor, &(struct shape){0});
        l[k].zero_y = gd_weight_of(PITH_I8, zero, &(struct shape){0});
        l[k].zero_x = gd_weight_of(k ? PITH_I8 : PITH_U8, zero_x, &(struct shape){0});
        l[k].w = gd_weight_of(PITH_I8, memset(own(malloc(n)), k == 2 ? 1 : 0x80, n), &l[k].c.w);
        l[k].bias = PITH_NO_VALUE;
        x.dim[1] = k == 0 ? 227 : 3;
        x.dim[2] = x.dim[3] = k == 0 ? 6 : 4;
    }
    for (uint32_t k = 0; k < 2; k++)
        v = requantize_node(&l[k], conv_node(&l[k], v));
    gd_output(requantize_node(&l[2], conv_node(&l[2], v)));
    forced[1] = WINOGRAD_CHOICE;
    n_forced = 3;
    check_levels("Winograd of many channels", 3);
    n_forced = 0;
    release_case();
}

RUN_TESTS
