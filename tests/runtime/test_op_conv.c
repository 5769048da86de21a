/* SPDX-License-Identifier: MIT */
/* Conv against plain double loops, and its shape rule against files that lie. */
#include "dense_case.h"
#include "op_interface/op_attr.h"

struct conv_case {
    uint32_t n, c, o, group, axes;
    uint32_t in[4], kernel[4], stride[4], dil[4], pad[8]; /* pads: begins, then ends */
};

static void set_list(struct dense_case *t, uint32_t slot, uint32_t n, const uint32_t *values)
{
    t->attr[slot] = (int32_t)n;
    for (uint32_t i = 0; i < n; i++)
        t->attr[slot + 1 + i] = (int32_t)values[i];
}

static void conv_open(struct dense_case *t, const struct conv_case *k, bool bias)
{
    uint32_t x[6] = {k->n, k->c}, w[6] = {k->o, k->c / k->group};
    for (uint32_t i = 0; i < k->axes; i++)
        x[2 + i] = k->in[i], w[2 + i] = k->kernel[i];
    case_open(t, PITH_OP_CONV);
    case_view(&t->view[0], 2 + k->axes, x);
    case_view(&t->view[1], 2 + k->axes, w);
    if (bias) {
        case_view(&t->view[2], 1, &k->o);
        t->in[2] = &t->view[2];
        t->args.n_in = 3;
    }
    t->attr[ATTR_CONV_GROUP] = (int32_t)k->group;
    set_list(t, ATTR_CONV_STRIDES, k->axes, k->stride);
    set_list(t, ATTR_CONV_DILATIONS, k->axes, k->dil);
    set_list(t, ATTR_CONV_PADS, 2 * k->axes, k->pad);
}

/* Input element under tap `tap` of output pixel `pixel` in a plane; false outside. */
static bool under(const struct conv_case *k, const struct shape *y, size_t pixel, size_t tap,
                  size_t *at)
{
    size_t step = 1;
    *at = 0;
    for (uint32_t i = k->axes; i-- > 0;) {
        int64_t p = (int64_t)(pixel % y->dim[2 + i]) * k->stride[i] +
                    (int64_t)(tap % k->kernel[i]) * k->dil[i] - k->pad[i];
        if (p < 0 || p >= k->in[i])
            return false;
        *at += (size_t)p * step;
        step *= k->in[i];
        pixel /= y->dim[2 + i];
        tap /= k->kernel[i];
    }
    return true;
}

static size_t product(const uint32_t *v, uint32_t n)
{
    size_t p = 1;
    for (uint32_t i = 0; i < n; i++)
        p *= v[i];
    return p;
}

/* The sums of output channel o of image n. */
static void expect_channel(struct dense_case *t, const struct conv_case *k, uint32_t n, uint32_t o)
{
    uint32_t c_group = k->c / k->group, c0 = o / (k->o / k->group) * c_group;
    const struct shape *y = &t->view[4].shape;
    size_t pixels = product(y->dim + 2, k->axes), taps = product(k->kernel, k->axes);
    size_t plane = product(k->in, k->axes), from;
    const float *x = t->view[0].data, *w = t->view[1].data, *bias = t->view[2].data;
    for (size_t p = 0; p < pixels; p++) {
        size_t at = ((size_t)n * k->o + o) * pixels + p;
        if (bias)
            case_add(t, at, bias[o], 1);
        for (size_t i = 0; i < taps; i++)
            for (size_t c = 0, on = under(k, y, p, i, &from); on && c < c_group; c++)
                case_add(t, at, x[((size_t)n * k->c + c0 + c) * plane + from],
                         w[(o * c_group + c) * taps + i]);
    }
}

static void check_conv(const struct conv_case *k)
{
    struct dense_case t;
    char what[160];
    snprintf(what, sizeof what,
             "conv %u-D n%u c%u o%u g%u in %ux%u kernel %ux%u stride %u,%u dil %u,%u", k->axes,
             k->n, k->c, k->o, k->group, k->in[0], k->in[1], k->kernel[0], k->kernel[1],
             k->stride[0], k->stride[1], k->dil[0], k->dil[1]);
    conv_open(&t, k, pick(0, 1));
    assert_int_equal(case_shape(&t), PITH_OK);
    case_expect(&t, k->c / k->group * (uint32_t)product(k->kernel, k->axes));
    for (uint32_t n = 0; n < k->n; n++)
        for (uint32_t o = 0; o < k->o; o++)
            expect_channel(&t, k, n, o);
    case_check(&t, what);
    case_close(&t);
}

TEST(test_random)
{
    seed = 0xc0471;
    for (int i = 0; i < 120; i++) {
        struct conv_case k = {.n = pick(1, 2), .axes = pick(1, 2), .group = pick(1, 3)};
        k.c = k.group * pick(1, 6);
        k.o = k.group * pick(1, 11);
        for (uint32_t a = 0; a < 2; a++) {
            k.kernel[a] = pick(1, 4), k.stride[a] = pick(1, 3), k.dil[a] = pick(1, 2);
            uint32_t reach = (k.kernel[a] - 1) * k.dil[a] + 1;
            k.in[a] = pick(reach, reach + 14);
        }
        const bool column = k.axes == 2 && i % 3 == 0; /* which kernels take for a row */
        if (column)
            k.kernel[1] = k.in[1] = 1;
        for (uint32_t a = 0; a < 2 * k.axes; a++)
            k.pad[a] = column && a % 2 ? 0 : pick(0, 2);
        check_conv(&k);
    }
}

TEST(test_random_volumes)
{
    seed = 0x3d;
    for (int i = 0; i < 60; i++) {
        struct conv_case k = {.n = pick(1, 2), .axes = pick(3, 4), .group = pick(1, 2)};
        k.c = k.group * pick(1, 4);
        k.o = k.group * pick(1, 9);
        for (uint32_t a = 0; a < k.axes; a++) {
            k.kernel[a] = pick(1, 3), k.stride[a] = pick(1, 2), k.dil[a] = pick(1, 2);
            uint32_t reach = (k.kernel[a] - 1) * k.dil[a] + 1;
            k.in[a] = pick(reach, reach + 4);
        }
        for (uint32_t a = 0; a < 2 * k.axes; a++)
            k.pad[a] = pick(0, 2);
        check_conv(&k);
    }
}

#ifdef CASES /* few, under emulation */
enum { TIMES = 1 };
#else
enum { TIMES = 3 };
#endif

/* Shapes that take each way through conv_run.c, at the sizes where networks have them. */
TEST(test_network_shapes)
{
    static const struct conv_case cases[] = {
        /* first layer; pointwise of 7 x 7 pixels, of a residual block, of 13 x 13 */
        {1, 3, 16, 1, 2, {33, 31}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
        {1, 160, 24, 1, 2, {7, 7}, {1, 1}, {1, 1}, {1, 1}, {0}},
        {2, 20, 9, 1, 2, {14, 14}, {1, 1}, {1, 1}, {1, 1}, {0}},
        {1, 48, 20, 1, 2, {13, 13}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
        /* more than one block of K */
        {1, 100, 5, 1, 2, {6, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
        {1, 5, 3, 1, 1, {70}, {400}, {1}, {1}, {200, 200}},
        /* bands of rows: several, a last one with fewer rows, residual channels, images and groups,
         * rows above and below the image, one input channel */
        {1, 16, 16, 1, 2, {32, 32}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
        {2, 6, 10, 2, 2, {37, 48}, {5, 3}, {2, 1}, {2, 3}, {4, 3, 4, 3}},
        {1, 1, 20, 1, 2, {30, 64}, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}},
        {1, 4, 9, 1, 2, {3, 96}, {3, 2}, {1, 1}, {1, 1}, {9, 40, 9, 0}},
        {1, 3, 8, 1, 1, {600}, {7}, {1}, {2}, {6, 6}},
        /* parts of a long row, under long windows with strides */
        {1, 40, 9, 1, 1, {5000}, {33}, {3}, {2}, {30, 35}},
        {2, 20, 6, 2, 1, {9000}, {16}, {7}, {1}, {9, 3}},
        /* one input channel, tiles; few output channels */
        {1, 1, 64, 1, 2, {49, 10}, {10, 4}, {2, 2}, {1, 1}, {4, 1, 5, 1}},
        {1, 1, 2, 1, 2, {49, 10}, {10, 4}, {2, 2}, {1, 1}, {4, 1, 5, 1}},
        /* pointwise, what is under a tile copied: many channels, planes of whole 4 KiB, groups, K
         * in blocks, few columns, volumes */
        {1, 160, 100, 1, 2, {10, 10}, {1, 1}, {1, 1}, {1, 1}, {0}},
        {1, 40, 30, 1, 2, {32, 32}, {1, 1}, {1, 1}, {1, 1}, {0}},
        {2, 320, 200, 2, 2, {5, 5}, {1, 1}, {1, 1}, {1, 1}, {0}},
        {1, 780, 97, 1, 2, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {0}},
        {1, 20, 24, 1, 1, {1024}, {1}, {1}, {1}, {0}},
        {1, 130, 96, 1, 3, {4, 2, 8}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0}},
        /* pointwise with a stride */
        {1, 10, 12, 1, 2, {15, 15}, {1, 1}, {2, 2}, {1, 1}, {0}},
        /* depthwise: plain, multiplied, 5 x 5, wider than the kernels take */
        {2, 7, 7, 7, 2, {14, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
        {1, 5, 5, 5, 2, {29, 40}, {3, 3}, {2, 2}, {1, 1}, {0, 0, 1, 1}},
        {2, 3, 6, 3, 2, {9, 20}, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}},
        {1, 2, 2, 2, 1, {60}, {20}, {1}, {1}, {3, 9}},
        /* a product: the kernel covers the input */
        {3, 4, 10, 1, 2, {5, 6}, {5, 6}, {1, 1}, {1, 1}, {0}},
        {5, 33, 50, 1, 2, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0}},
        /* volumes: more than one block of K, pointwise, the kernel covers the input */
        {1, 30, 7, 1, 3, {5, 6, 9}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1, 1, 1, 1}},
        {2, 12, 9, 1, 3, {3, 5, 7}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0}},
        {3, 4, 11, 1, 3, {2, 5, 3}, {2, 5, 3}, {1, 1, 1}, {1, 1, 1}, {0}},
        /* Winograd: odd planes, several blocks and images, 49 and 48 tiles, outputs that are no
         * multiple of a panel or of a pass, padding of no and of two pixels; of small planes */
        {1, 40, 30, 1, 2, {26, 28}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
        {2, 64, 33, 1, 2, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
        {1, 20, 33, 1, 2, {24, 30}, {3, 3}, {1, 1}, {1, 1}, {0, 2, 2, 0}},
        {2, 24, 41, 1, 2, {27, 19}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
        {1, 64, 70, 1, 2, {13, 13}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
        {1, 32, 24, 1, 2, {16, 18}, {3, 3}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
        {1, 32, 37, 1, 2, {11, 21}, {3, 3}, {1, 1}, {1, 1}, {2, 2, 2, 2}},
        /* the same with more channels than a panel in cache has */
        {1, 150, 20, 1, 2, {25, 29}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
        {1, 300, 11, 1, 2, {17, 16}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
        /* all padding */
        {1, 2, 3, 1, 2, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {3, 3, 3, 3}},
    };
    seed = 0xbeef;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int again = 0; again < TIMES; again++)
            check_conv(&cases[i]);
}

static enum pith_status shape_of(const struct conv_case *k, void (*spoil)(struct dense_case *t))
{
    struct dense_case t;
    conv_open(&t, k, true);
    if (spoil)
        spoil(&t);
    enum pith_status st = case_shape(&t);
    case_close(&t);
    return st;
}

static void spoil_bias(struct dense_case *t)
{
    t->view[2].shape.dim[0]++;
}

static void spoil_type(struct dense_case *t)
{
    t->view[0].type = PITH_I8;
}

static void spoil_rank(struct dense_case *t)
{
    t->view[1].shape.rank--;
}

static void spoil_rank7(struct dense_case *t)
{
    for (int i = 0; i < 2; i++) {
        t->view[i].shape.rank = 7;
        for (uint32_t k = 4; k < 7; k++)
            t->view[i].shape.dim[k] = 1;
    }
}

static void spoil_channels(struct dense_case *t)
{
    t->view[1].shape.dim[1]++;
}

static void spoil_list(struct dense_case *t)
{
    t->attr[ATTR_CONV_PADS] = 3;
}

static void spoil_missing(struct dense_case *t)
{
    t->in[1] = NULL;
}

static void spoil_huge(struct dense_case *t)
{
    t->view[0].shape.dim[0] = 1u << 30;
    t->view[0].shape.dim[2] = 1u << 30;
}

static void spoil_group(struct dense_case *t)
{
    t->attr[ATTR_CONV_GROUP] = 0;
}

TEST(test_hostile_shapes)
{
    const struct conv_case k = {1, 4, 6, 2, 2, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {0}};
    struct conv_case wide = k, three = k;
    seed = 1;
    assert_int_equal(shape_of(&k, NULL), PITH_OK);
    assert_int_equal(shape_of(&k, spoil_bias), PITH_ERR_CORRUPT);
    assert_int_equal(shape_of(&k, spoil_type), PITH_ERR_UNSUPPORTED);
    assert_int_equal(shape_of(&k, spoil_rank), PITH_ERR_CORRUPT);
    assert_int_equal(shape_of(&k, spoil_rank7), PITH_ERR_UNSUPPORTED);
    assert_int_equal(shape_of(&k, spoil_channels), PITH_ERR_CORRUPT);
    assert_int_equal(shape_of(&k, spoil_list), PITH_ERR_CORRUPT);
    assert_int_equal(shape_of(&k, spoil_missing), PITH_ERR_CORRUPT);
    assert_int_equal(shape_of(&k, spoil_huge), PITH_ERR_CORRUPT);
    assert_int_equal(shape_of(&k, spoil_group), PITH_ERR_CORRUPT);
    wide.kernel[1] = 6;
    assert_int_equal(shape_of(&wide, NULL), PITH_ERR_CORRUPT);
    three.o = 7; /* 2 groups */
    assert_int_equal(shape_of(&three, NULL), PITH_ERR_CORRUPT);
}

RUN_TESTS
