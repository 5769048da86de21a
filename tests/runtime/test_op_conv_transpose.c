/* SPDX-License-Identifier: MIT */
/* ConvTranspose over one to four axes against its definition: each input element, times the kernel,
 * is added where the kernel lies; with the weight as a constant and as data, at every level. */
#include "dense_case.h"
#include "op_interface/op_attr.h"

struct up_case {
    uint32_t n, c, o, group, axes; /* c, o: channels of a group */
    uint32_t in[4], kernel[4], stride[4], dil[4], pad[8], extra[4];
};

static void set_list(struct dense_case *t, uint32_t slot, uint32_t n, const uint32_t *values)
{
    t->attr[slot] = (int32_t)n;
    for (uint32_t i = 0; i < n; i++)
        t->attr[slot + 1 + i] = (int32_t)values[i];
}

static void up_open(struct dense_case *t, const struct up_case *k, bool bias)
{
    uint32_t x[6] = {k->n, k->c * k->group}, w[6] = {k->c * k->group, k->o};
    uint32_t outputs = k->o * k->group;
    for (uint32_t i = 0; i < k->axes; i++)
        x[2 + i] = k->in[i], w[2 + i] = k->kernel[i];
    case_open(t, PITH_OP_CONV_TRANSPOSE);
    case_view(&t->view[0], 2 + k->axes, x);
    case_view(&t->view[1], 2 + k->axes, w);
    if (bias) {
        case_view(&t->view[2], 1, &outputs);
        t->in[2] = &t->view[2];
        t->args.n_in = 3;
    }
    t->attr[ATTR_CONV_T_GROUP] = (int32_t)k->group;
    set_list(t, ATTR_CONV_T_STRIDES, k->axes, k->stride);
    set_list(t, ATTR_CONV_T_DILATIONS, k->axes, k->dil);
    set_list(t, ATTR_CONV_T_PADS, 2 * k->axes, k->pad);
    set_list(t, ATTR_CONV_T_EXTRA, k->axes, k->extra);
}

/* Output element that tap `tap` of input element `pixel` of a plane is added to; false: none. */
static bool over(const struct up_case *k, const struct shape *y, size_t pixel, size_t tap,
                 size_t *at)
{
    size_t step = 1;
    *at = 0;
    for (uint32_t i = k->axes; i-- > 0;) {
        int64_t p = (int64_t)(pixel % k->in[i]) * k->stride[i] +
                    (int64_t)(tap % k->kernel[i]) * k->dil[i] - k->pad[i];
        if (p < 0 || p >= y->dim[2 + i])
            return false;
        *at += (size_t)p * step;
        step *= y->dim[2 + i];
        pixel /= k->in[i];
        tap /= k->kernel[i];
    }
    return true;
}

/* Everything that input channel c of group g of image n adds. */
static void expect_channel(struct dense_case *t, const struct up_case *k, size_t n, size_t g,
                           size_t c)
{
    const struct shape *x = &t->view[0].shape, *w = &t->view[1].shape, *y = &t->view[4].shape;
    size_t pixels = shape_product(x, 2, x->rank), taps = shape_product(w, 2, w->rank), to;
    size_t out = shape_product(y, 2, y->rank), own = g * k->c + c;
    const float *px = (const float *)t->view[0].data + (n * k->c * k->group + own) * pixels;
    const float *pw = (const float *)t->view[1].data + own * k->o * taps;
    for (size_t p = 0; p < pixels; p++)
        for (size_t i = 0; i < k->o * taps; i++)
            if (over(k, y, p, i % taps, &to))
                case_add(t, ((n * k->group + g) * k->o + i / taps) * out + to, px[p], pw[i]);
}

static void check_up(const struct up_case *k)
{
    struct dense_case t;
    char what[160];
    snprintf(what, sizeof what, "%u-D n%u c%u o%u g%u in %ux%u kernel %ux%u stride %u,%u", k->axes,
             k->n, k->c, k->o, k->group, k->in[0], k->in[1], k->kernel[0], k->kernel[1],
             k->stride[0], k->stride[1]);
    up_open(&t, k, pick(0, 1));
    if (case_shape(&t)) { /* the pads left nothing */
        case_close(&t);
        return;
    }
    for (uint32_t i = 0; i < k->axes; i++)
        assert_int_equal(t.view[4].shape.dim[2 + i],
                         (k->in[i] - 1) * k->stride[i] + (k->kernel[i] - 1) * k->dil[i] + 1 +
                             k->extra[i] - k->pad[i] - k->pad[k->axes + i]);
    case_expect(&t, k->c * 81 + 1);
    size_t n_y = shape_elems(&t.view[4].shape), out = n_y / k->n / k->o / k->group;
    t.args.fuse = (struct epilogue){.act = ACT_NONE};
    memset(t.sum, 0, n_y * sizeof *t.sum);
    memset(t.size, 0, n_y * sizeof *t.size);
    const float *bias = t.view[2].data;
    for (size_t i = 0; i < n_y && bias; i++)
        case_add(&t, i, bias[i / out % (k->o * k->group)], 1);
    for (size_t i = 0; i < (size_t)k->n * k->group * k->c; i++)
        expect_channel(&t, k, i / k->c / k->group, i / k->c % k->group, i % k->c);
    case_check(&t, what);
    case_close(&t);
}

TEST(test_random)
{
    seed = 0x7a;
    for (int i = 0; i < 120; i++) {
        struct up_case k = {.n = pick(1, 2), .axes = pick(1, 4), .group = pick(1, 2)};
        k.c = pick(1, 6);
        k.o = pick(1, k.axes < 3 ? 40 : 5);
        if (i % 4 == 0) /* depthwise */
            k.c = k.o = 1, k.group = pick(1, 9);
        for (uint32_t a = 0; a < k.axes; a++) {
            k.in[a] = pick(1, k.axes < 3 ? 12 : 4), k.kernel[a] = pick(1, 3);
            k.stride[a] = pick(1, i % 5 ? 3 : 5), k.dil[a] = pick(1, 3), k.extra[a] = pick(0, 1);
        }
        for (uint32_t a = 0; a < 2 * k.axes; a++)
            k.pad[a] = pick(0, 2);
        check_up(&k);
    }
}

/* As decoders have them: several units of output channels, several tiles. */
TEST(test_network_shapes)
{
    static const struct up_case cases[] = {
        {1, 32, 48, 1, 2, {9, 11}, {4, 4}, {2, 2}, {1, 1}, {1, 1, 1, 1}, {0}},
        {1, 8, 200, 1, 1, {70}, {3}, {2}, {1}, {0}, {1}},
        {2, 5, 9, 3, 2, {16, 5}, {2, 2}, {2, 2}, {1, 1}, {0}, {0}},
        {1, 6, 30, 1, 3, {4, 5, 6}, {2, 2, 2}, {2, 2, 2}, {1, 1, 1}, {0}, {0}},
        {1, 45, 5, 2, 2, {9, 11}, {4, 3}, {3, 2}, {1, 2}, {1, 1, 1, 1}, {0}}, /* few outputs */
        {1, 24, 3, 1, 2, {130, 1}, {3, 1}, {3, 2}, {1, 1}, {0}, {0}},         /* one column */
        {1, 5, 9, 1, 2, {30, 1}, {1, 1}, {3, 3}, {2, 2}, {0}, {0}},
    };
    seed = 0x7b;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_up(&cases[i]);
}

RUN_TESTS
