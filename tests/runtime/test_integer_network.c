/* SPDX-License-Identifier: MIT */
/* Networks of integers as plans run them, fused and channels-last (integer_case.h). */
#include "integer_case.h"

/* ---- networks -------------------------------------------------------------------------------- */

enum kind {
    CONV,
    ADD,
    MUL,
    MAX_POOL,
    CONCAT,
    CONCAT_WHOLE,
    ELEMENT,
    MEAN,
    SLICE,
    PAD,
    AVERAGE,
    SOFTMAX,
    RESIZE,
    REAL,
    KINDS
};

struct bytes_value {
    struct shape s;
    enum pith_type type;
    uint32_t value, scale, zero;
    enum kind kind;
    uint32_t from[2]; /* numbers of values */
    struct layer layer;
    uint32_t pool[3];   /* kernel, stride, pad */
    bool relu;          /* behind ADD and MUL */
    bool whole;         /* SLICE, PAD and RESIZE of bytes as they are */
    bool plane;         /* MEAN as an AveragePool whose kernel is list[0] */
    int32_t list[3][8]; /* of an axis: start, end, step; begin, end of its pads; size, its scale */
    int32_t mode;       /* PAD, RESIZE; the axis of SOFTMAX */
    int32_t rule[2];    /* RESIZE: of coordinates, of the nearest */
    float border;
    enum pith_op op;
};

static struct bytes_value net[16];
static uint32_t n_net;

static uint32_t windows(uint32_t in, uint32_t kernel, uint32_t stride, uint32_t dilation,
                        uint32_t pads)
{
    return (in + pads - (kernel - 1) * dilation - 1) / stride + 1;
}

static void plan_conv(struct bytes_value *v, const struct bytes_value *x)
{
    struct conv_case *c = &v->layer.c;
    *c = conv_over(&x->s);
    v->s.dim[1] = c->w.dim[0];
    for (uint32_t i = 0; i < x->s.rank - 2; i++)
        v->s.dim[2 + i] = windows(x->s.dim[2 + i], c->w.dim[2 + i], c->list[0][i], c->list[1][i],
                                  c->list[2][i] + c->list[2][x->s.rank - 2 + i]);
    layer_constants(&v->layer, x->type, c->w.dim[0], 1);
    v->type = (enum pith_type)v->layer.params[0];
    v->zero = v->layer.zero_y;
}

static void plan_pool(struct bytes_value *v, const struct bytes_value *x)
{
    v->pool[0] = pick(1, 3);
    v->pool[1] = pick(1, 3);
    v->pool[2] = pick(0, v->pool[0] - 1);
    for (uint32_t i = 2; i < x->s.rank; i++) {
        if (x->s.dim[i] + 2 * v->pool[2] < v->pool[0])
            v->pool[0] = v->pool[1] = 1, v->pool[2] = 0;
        v->s.dim[i] = windows(x->s.dim[i], v->pool[0], v->pool[1], 1, 2 * v->pool[2]);
    }
}

static void plan_slice(struct bytes_value *v)
{
    for (uint32_t i = 0; i < v->s.rank; i++) {
        int32_t dim = (int32_t)v->s.dim[i], step = (int32_t)pick(1, 3);
        int32_t start = pick(0, 2) && dim > 1 ? (int32_t)pick(0, v->s.dim[i] - 1) : 0;
        bool forth = pick(0, 3) || start == 0;
        v->list[0][i] = start;
        v->list[1][i] = forth ? INT32_MAX : INT32_MIN;
        v->list[2][i] = forth ? step : -step;
        v->s.dim[i] = (uint32_t)(forth ? (dim - start + step - 1) / step : start / step + 1);
    }
}

static void plan_pad(struct bytes_value *v)
{
    static const float border[] = {0.0f, 0.25f, -3.0f, INFINITY};
    v->mode = (int32_t)pick(0, 4) - 2;
    v->mode = v->mode < 0 ? 0 : v->mode;
    v->border = v->mode == 0 && !v->whole ? border[pick(0, 3)] : 0;
    for (uint32_t i = 0; i < v->s.rank; i++) {
        int32_t dim = (int32_t)v->s.dim[i], most = v->mode == 1 && dim <= 4 ? dim - 1 : 4;
        for (uint32_t k = 0; k < 2; k++)
            v->list[k][i] = pick(0, 1) ? (int32_t)pick(0, (uint32_t)most) : 0;
        if (dim > 3 && v->mode == 0 && pick(0, 3) == 0)
            v->list[0][i] = -(int32_t)pick(1, 2);
        v->s.dim[i] = (uint32_t)(dim + v->list[0][i] + v->list[1][i]);
    }
}

static void plan_resize(struct bytes_value *v)
{
    v->mode = v->whole ? 0 : (int32_t)pick(0, 2);
    v->rule[0] = (int32_t)pick(0, 4);
    v->rule[1] = (int32_t)pick(0, 3);
    for (uint32_t i = 0; i < v->s.rank; i++) {
        uint32_t in = v->s.dim[i];
        if (pick(0, 2) && (i > 1 || pick(0, 9) == 0))
            v->s.dim[i] = pick(1, 2 * in);
        v->list[0][i] = (int32_t)v->s.dim[i];
        v->list[1][i] = (int32_t)f32_bits((float)v->s.dim[i] / (float)in);
    }
}

static void set_resize(int32_t *attr, void *arg)
{
    const struct bytes_value *v = arg;
    attr[ATTR_RESIZE_MODE] = v->mode;
    attr[ATTR_RESIZE_COORD] = v->rule[0];
    attr[ATTR_RESIZE_NEAREST] = v->rule[1];
    attr[ATTR_RESIZE_DIMS] = (int32_t)v->s.rank;
    memcpy(attr + ATTR_RESIZE_DIMS + 1, v->list[0], v->s.rank * sizeof *attr);
    if (v->list[1][0] == 0 || v->rule[1] % 2)
        return;
    attr[ATTR_RESIZE_SCALES] = (int32_t)v->s.rank;
    memcpy(attr + ATTR_RESIZE_SCALES + 1, v->list[1], v->s.rank * sizeof *attr);
}

static void set_concat_axis(int32_t *attr, void *arg)
{
    attr[ATTR_AXIS] = *(const int32_t *)arg;
}

static void set_softmax(int32_t *attr, void *arg)
{
    attr[ATTR_SOFTMAX_AXIS] = ((const struct bytes_value *)arg)->mode;
}

static void set_move(int32_t *attr, void *arg)
{
    const struct bytes_value *v = arg;
    bool pads = v->kind == PAD;
    uint32_t first = pads ? ATTR_PAD_BEGIN : ATTR_SLICE_STARTS;
    for (uint32_t k = 0; k < (pads ? 2 : 3); k++) {
        int32_t *list = attr + first + k * PITH_LIST_SLOTS;
        list[0] = (int32_t)v->s.rank;
        memcpy(list + 1, v->list[k], v->s.rank * sizeof *list);
    }
    if (pads) {
        attr[ATTR_PAD_MODE] = v->mode;
        attr[ATTR_PAD_VALUE] = (int32_t)f32_bits(v->border);
        return;
    }
    attr[ATTR_SLICE_AXES] = (int32_t)v->s.rank;
    for (uint32_t i = 0; i < v->s.rank; i++)
        attr[ATTR_SLICE_AXES + 1 + i] = (int32_t)i;
}

/* One number a channel of x. */
static bool is_per_channel(const struct shape *b, const struct shape *x)
{
    return b->dim[0] == x->dim[0] && b->dim[1] == x->dim[1] && b->rank == x->rank &&
           shape_product(b, 2, b->rank) == 1;
}

/* Chooses what value n_net is; false: its sources do not fit. */
static bool plan_value(struct bytes_value *v)
{
    static const enum pith_op ops[] = {PITH_OP_SIGMOID, PITH_OP_RELU, PITH_OP_HARD_SWISH,
                                       PITH_OP_TANH, PITH_OP_LEAKY_RELU};
    *v = (struct bytes_value){.kind = (enum kind)pick(0, REAL - 1), .op = ops[pick(0, 4)]};
    v->from[0] = pick(0, 1) ? n_net - 1 : pick(0, n_net - 1);
    v->from[1] = pick(0, n_net - 1);
    const struct bytes_value *x = &net[v->from[0]], *b = &net[v->from[1]];
    v->s = x->s;
    v->type = byte_type();
    bool two = v->kind == ADD || v->kind == MUL;
    v->relu = two && pick(0, 1);
    if (two && !pith_shape_equal(&x->s, &b->s) && !is_per_channel(&b->s, &x->s))
        v->from[1] = v->from[0];
    if (v->kind == CONCAT || v->kind == CONCAT_WHOLE) {
        struct shape s = b->s;
        s.dim[1] = x->s.dim[1];
        if (!pith_shape_equal(&s, &x->s) || (v->kind == CONCAT_WHOLE && b->type != x->type))
            return false;
        v->s.dim[1] += b->s.dim[1];
        v->type = v->kind == CONCAT_WHOLE ? x->type : v->type;
    }
    if (v->kind == CONV)
        plan_conv(v, x);
    if (v->kind == MAX_POOL || v->kind == AVERAGE)
        plan_pool(v, x);
    if (v->kind == SOFTMAX) {
        v->op = pick(0, 3) ? PITH_OP_SOFTMAX : PITH_OP_LOG_SOFTMAX;
        v->mode = (int32_t)pick(0, v->s.rank - 1);
    }
    for (uint32_t i = 2; v->kind == MEAN && i < v->s.rank; i++) {
        v->list[0][i - 2] = (int32_t)v->s.dim[i];
        v->s.dim[i] = 1;
    }
    v->plane = pick(0, 1);
    if (v->kind != CONV)
        v->zero = bytes_weight(v->type, (struct shape){0});
    v->scale = scale_weight();
    v->whole = pick(0, 1);
    if (v->kind == SLICE)
        plan_slice(v);
    if (v->kind == PAD)
        plan_pad(v);
    if (v->kind == RESIZE)
        plan_resize(v);
    if ((v->kind == SLICE || v->kind == PAD || v->kind == RESIZE) && v->whole) {
        v->type = x->type;
        v->zero = x->zero;
        v->scale = x->scale;
    }
    return shape_elems(&v->s) <= 20000;
}

static uint32_t real_of(const struct bytes_value *v)
{
    return gd_node(PITH_OP_DEQUANTIZE, NULL, NULL, 1, 3, v->value, v->scale, v->zero);
}

static void set_pool(int32_t *attr, void *arg)
{
    const struct bytes_value *v = arg;
    int32_t axes = (int32_t)v->s.rank - 2;
    attr[ATTR_POOL_KERNEL] = attr[ATTR_POOL_STRIDES] = axes;
    attr[ATTR_POOL_PADS] = 2 * axes;
    for (int32_t i = 1; i <= axes; i++) {
        attr[ATTR_POOL_KERNEL + i] = (int32_t)v->pool[0];
        attr[ATTR_POOL_STRIDES + i] = (int32_t)v->pool[1];
        attr[ATTR_POOL_PADS + i] = attr[ATTR_POOL_PADS + axes + i] = (int32_t)v->pool[2];
    }
}

static void set_plane(int32_t *attr, void *arg)
{
    const struct bytes_value *v = arg;
    attr[ATTR_POOL_KERNEL] = (int32_t)v->s.rank - 2;
    for (uint32_t i = 0; i + 2 < v->s.rank; i++)
        attr[ATTR_POOL_KERNEL + 1 + i] = v->list[0][i];
}

static void make_value(struct bytes_value *v)
{
    static const enum pith_op op[KINDS] = {[ADD] = PITH_OP_ADD,
                                           [MUL] = PITH_OP_MUL,
                                           [MAX_POOL] = PITH_OP_MAX_POOL,
                                           [CONCAT] = PITH_OP_CONCAT,
                                           [MEAN] = PITH_OP_GLOBAL_AVERAGE_POOL,
                                           [SLICE] = PITH_OP_SLICE,
                                           [PAD] = PITH_OP_PAD,
                                           [AVERAGE] = PITH_OP_AVERAGE_POOL,
                                           [RESIZE] = PITH_OP_RESIZE};
    const struct bytes_value *x = &net[v->from[0]], *b = &net[v->from[1]];
    if (v->kind == CONV) {
        v->value = requantize_node(&v->layer, conv_node(&v->layer, x->value));
        return;
    }
    if (v->kind == CONCAT_WHOLE) {
        v->value = gd_node(PITH_OP_CONCAT, NULL, NULL, 1, 2, x->value, b->value);
        return;
    }
    if (v->whole && (v->kind == SLICE || v->kind == PAD || v->kind == RESIZE)) {
        v->value =
            gd_node(op[v->kind], v->kind == RESIZE ? set_resize : set_move, v, 1, 1, x->value);
        return;
    }
    bool two = v->kind == ADD || v->kind == MUL || v->kind == CONCAT;
    uint32_t real[2] = {real_of(x), 0}, y;
    if (two)
        real[1] = v->from[0] == v->from[1] ? real[0] : real_of(b);
    bool plane = v->kind == MEAN && v->plane;
    bool by_op = v->kind == ELEMENT || v->kind == SOFTMAX;
    y = gd_node_of(by_op   ? v->op
                   : plane ? PITH_OP_AVERAGE_POOL
                           : op[v->kind],
                   plane                                       ? set_plane
                   : v->kind == MAX_POOL || v->kind == AVERAGE ? set_pool
                   : v->kind == SLICE || v->kind == PAD        ? set_move
                   : v->kind == RESIZE                         ? set_resize
                   : v->kind == SOFTMAX                        ? set_softmax
                                                               : NULL,
                   v, 1, two ? 2 : 1, real);
    if (v->relu)
        y = gd_node(PITH_OP_RELU, NULL, NULL, 1, 1, y);
    int32_t params[2] = {(int32_t)v->type, 1};
    v->value = gd_node(PITH_OP_QUANTIZE, set_type, params, 1, 3, y, v->scale, v->zero);
}

/* Values from `first` on, in a loop whose state is what value 0 was; the outputs are its last state
 * and the last value of each round. */
static void make_in_loop(uint32_t first)
{
    struct gd_loop l = {.trips = 3, .n_states = 1};
    uint32_t outside = net[0].value, next, y;
    net[0].value = next = gd_loop_begin(&l, 1, outside) + 1;
    for (uint32_t k = first; k < n_net; k++) {
        make_value(&net[k]);
        if (net[k].type == net[0].type && pith_shape_equal(&net[k].s, &net[0].s))
            next = net[k].value;
    }
    y = gd_loop_end(&l, 2, next, net[n_net - 1].value);
    net[0].value = outside;
    gd_output(y);
    gd_output(y + 1);
}

/* Squeeze and excite: a layer's values times a number of each of their channels, between layers of
 * pixels or of an order that the caller sees. The Add is no residual of the layer. */
TEST(test_numbers_of_channels)
{
    for (uint32_t i = 0; i < CASES * 3 / 8; i++) {
        struct shape x = {4, {pick(1, 2), pick(1, 9), pick(1, 21), pick(2, 21)}};
        uint32_t outputs = pick(0, 9) ? pick(1, 70) : 2100, v = new_graph(&x, PITH_U8);
        struct layer l[2];
        conv_of_pixels(&l[0], &x, outputs);
        x.dim[1] = outputs;
        conv_of_pixels(&l[1], &x, 3);
        net[0] = (struct bytes_value){.s = x, .type = PITH_U8, .zero = l[0].zero_y};
        net[1] = (struct bytes_value){.s = x, .kind = MEAN, .type = byte_type()};
        net[2] = (struct bytes_value){.s = x, .kind = pick(0, 1) ? ADD : MUL, .type = PITH_U8};
        net[2].from[pick(0, 1)] = 1;
        net[2].relu = pick(0, 1);
        for (uint32_t k = 0; k < 3; k++) {
            net[k].scale = scale_weight();
            net[k].zero = k ? bytes_weight(net[k].type, (struct shape){0}) : net[k].zero;
        }
        net[0].value = layer_of(&l[0], v);
        make_value(&net[1]);
        make_value(&net[2]);
        const bool more = pick(0, 2);
        gd_output(more ? layer_of(&l[1], net[2].value) : net[2].value);
        check_levels("numbers of channels", 3 + more);
        release_case();
    }
}

/* A number for each place of the last axis, as a bias behind a product of matrices has it, between
 * layers of pixels, which have to do without channels-last values there. */
TEST(test_numbers_of_columns)
{
    for (uint32_t i = 0; i < CASES * 3 / 8; i++) {
        struct shape x = {4, {pick(1, 2), pick(1, 9), pick(1, 9), pick(2, 60)}};
        struct bytes_value sum = {.type = PITH_U8};
        struct layer l[2];
        if (pick(0, 9) == 0)
            x.dim[3] = pick(1000, 2200);
        const uint32_t v = new_graph(&x, PITH_U8), columns = x.dim[3];
        struct shape row = {pick(0, 1) ? 1 : 3, {columns}};
        if (row.rank == 3)
            row = (struct shape){3, {1, 1, columns}};
        plain_layer(&l[0], &x);
        x.dim[1] = 8;
        conv_of_pixels(&l[1], &x, 3);
        float *p = own(malloc(columns * sizeof *p));
        for (uint32_t k = 0; k < columns; k++)
            p[k] = ((float)pick(0, 200) - 100.0f) * 0.05f;
        const uint32_t added = gd_weight_of(PITH_F32, p, &row);
        net[0] = (struct bytes_value){.scale = scale_weight(), .zero = l[0].zero_y};
        sum.scale = scale_weight();
        sum.zero = bytes_weight(sum.type, (struct shape){0});
        net[0].value = layer_of(&l[0], v);
        const bool first = pick(0, 1), more = pick(0, 1);
        const uint32_t real = real_of(&net[0]);
        uint32_t y = gd_node(pick(0, 1) ? PITH_OP_ADD : PITH_OP_MUL, NULL, NULL, 1, 2,
                             first ? added : real, first ? real : added);
        if (pick(0, 1))
            y = gd_node(PITH_OP_RELU, NULL, NULL, 1, 1, y);
        int32_t params[2] = {(int32_t)sum.type, 1};
        y = gd_node(PITH_OP_QUANTIZE, set_type, params, 1, 3, y, sum.scale, sum.zero);
        gd_output(more ? layer_of(&l[1], y) : y);
        check_levels("numbers of columns", 2 + more);
        release_case();
    }
}

/* x * sigmoid(x) as exporters of bytes write it, between layers; the sigmoid is read by somebody
 * else, too, in every second case. */
TEST(test_swish_of_bytes)
{
    for (uint32_t shared = 0; shared < 2; shared++) {
        struct shape x = {4, {1, 8, 9, 5}};
        struct layer l[2];
        uint32_t v = new_graph(&x, PITH_U8);
        for (uint32_t k = 0; k < 2; k++)
            plain_layer(&l[k], &x);
        for (uint32_t k = 0; k < 3; k++) {
            net[k] = (struct bytes_value){.s = x, .type = PITH_U8, .scale = scale_weight()};
            net[k].zero = k ? bytes_weight(PITH_U8, (struct shape){0}) : l[0].zero_y;
        }
        net[0].value = layer_of(&l[0], v);
        net[1].kind = ELEMENT;
        net[1].op = PITH_OP_SIGMOID;
        net[2].kind = MUL;
        net[2].from[1] = 1;
        make_value(&net[1]);
        make_value(&net[2]);
        gd_output(layer_of(&l[1], net[2].value));
        if (shared)
            gd_output(net[1].value);
        check_levels("swish", 3 + shared);
        release_case();
    }
}

TEST(test_networks)
{
    for (uint32_t i = 0; i < CASES; i++) {
        struct shape x = random_input();
        net[0] = (struct bytes_value){.s = x, .type = byte_type(), .value = 0};
        new_graph(&x, net[0].type);
        net[0].scale = scale_weight();
        net[0].zero = bytes_weight(net[0].type, (struct shape){0});
        uint32_t n = pick(2, 8);
        for (n_net = 1; n_net < n && n_owned < 50;)
            n_net += plan_value(&net[n_net]);
        uint32_t inside = n_net == 1 || pick(0, 2) ? n_net : pick(1, n_net - 1);
        for (uint32_t k = 1; k < inside; k++)
            make_value(&net[k]);
        if (inside < n_net)
            make_in_loop(inside);
        uint32_t other = pick(0, inside - 1);
        if (pick(0, 1))
            gd_output(real_of(&net[other]));
        if (pick(0, 3) == 0 && other > 0 && other < n_net - 1)
            gd_output(net[other].value);
        if (inside == n_net)
            gd_output(net[n_net - 1].value);
        check_levels("network", 0);
        release_case();
    }
}

/* Between layers of one tap, whose values lie channels-last, a layer of 3x3 by Winograd's way; in
 * every second case a residual is added to it. Values of one channel or pixel have no such order.
 */
TEST(test_winograd)
{
    for (uint32_t i = 0; i < CASES * 3 / 8; i++) {
        const bool adds = i % 2;
        struct shape x = {4, {pick(1, 2), pick(1, 8), pick(2, 21), pick(2, 21)}};
        const uint32_t channels = pick(2, 75), outputs = adds ? channels : pick(2, 150);
        uint32_t pad[4];
        for (uint32_t k = 0; k < 4; k++)
            pad[k] = adds || x.dim[2 + k % 2] < 5 ? 1 : pick(0, 3);
        uint32_t v = new_graph(&x, PITH_U8);
        struct layer l[3];
        square_layer(&l[0], PITH_U8, &x, channels, 1, pad);
        x.dim[1] = channels;
        square_layer(&l[1], (enum pith_type)l[0].params[0], &x, outputs, 3, pad);
        x.dim[1] = outputs;
        for (uint32_t k = 0; k < 2; k++)
            x.dim[2 + k] += pad[k] + pad[2 + k] - 2;
        struct bytes_value sum = {
            .kind = ADD, .type = (enum pith_type)l[1].params[0], .from = {0, 1}};
        square_layer(&l[2], sum.type, &x, pick(1, 20), 1, pad);
        sum.zero = bytes_weight(sum.type, (struct shape){0});
        sum.scale = scale_weight();
        sum.relu = pick(0, 1);
        for (uint32_t k = 0; k < 2; k++)
            net[k] = (struct bytes_value){.scale = scale_weight(), .zero = l[k].zero_y};
        for (uint32_t k = 0; k < 2; k++)
            v = net[k].value = requantize_node(&l[k], conv_node(&l[k], v));
        if (adds)
            make_value(&sum);
        gd_output(requantize_node(&l[2], conv_node(&l[2], adds ? sum.value : v)));
        forced[1] = WINOGRAD_CHOICE;
        n_forced = 3;
        check_levels("Winograd", 3);
        n_forced = 0;
        release_case();
    }
}

/* Scales that a damaged file may have, on both sides of a chain. */
TEST(test_odd_scales)
{
    static const float scale[] = {0.5f,   -0.25f, 0.0f,     -0.0f,     1e-38f,
                                  1e-45f, 3e38f,  INFINITY, -INFINITY, NAN};
    const uint32_t n = sizeof scale / sizeof *scale;
    for (uint32_t i = 0; i < n * n * REAL; i++) {
        enum kind kind = (enum kind)(i % REAL);
        struct shape x = {4, {1, 3, 5, 4}};
        if (kind == CONV || kind == CONCAT_WHOLE)
            continue;
        n_net = 2;
        net[0] = (struct bytes_value){.s = x, .type = byte_type()};
        int32_t end = kind == SLICE ? INT32_MAX : kind == RESIZE ? 0 : 1;
        net[1] = (struct bytes_value){.s = x,
                                      .type = byte_type(),
                                      .kind = kind,
                                      .op = kind == SOFTMAX ? PITH_OP_SOFTMAX : PITH_OP_RELU,
                                      .pool = {2, 1, 1},
                                      .list = {{0}, {end, end, end, end}, {1, 1, 1, 1}},
                                      .relu = kind == ADD || kind == MUL};
        new_graph(&x, net[0].type);
        for (uint32_t k = 0; k < 2; k++) {
            const float *s = &scale[k ? i / REAL / n : i / REAL % n];
            net[k].scale = gd_weight_of(PITH_F32, s, &(struct shape){0});
            net[k].zero = bytes_weight(net[k].type, (struct shape){0});
        }
        make_value(&net[1]);
        gd_output(net[1].value);
        check_levels("odd scales", 1);
        release_case();
    }
}

/* A convolution writes its channels into the pixels of the concat that alone reads them; one that
 * somebody else reads is copied. */
TEST(test_concat_of_pixels)
{
    for (uint32_t shared = 0; shared < 2; shared++) {
        struct shape x = {4, {2, 8, 4, 5}};
        struct pith_need need;
        struct layer l[4];
        uint32_t v = new_graph(&x, PITH_U8), y[2];
        for (uint32_t i = 0; i < 4; i++) {
            l[i] = (struct layer){.c = {.x = x, .w = {4, {i == 0 ? 5 : 7, 8, 1, 1}}, .group = 1}};
            l[i].c.w.dim[1] = i == 2 ? 12 : i == 3 ? 5 : 8;
            for (uint32_t k = 0; k < 2; k++)
                l[i].c.list[0][k] = l[i].c.list[1][k] = 1;
            layer_constants(&l[i], PITH_U8, l[i].c.w.dim[0], 1);
            l[i].params[0] = PITH_U8;
            l[i].zero_y = bytes_weight(PITH_U8, (struct shape){0});
        }
        for (uint32_t i = 0; i < 2; i++)
            y[i] = requantize_node(&l[i], conv_node(&l[i], v));
        uint32_t joined = gd_node(PITH_OP_CONCAT, NULL, NULL, 1, 2, y[0], y[1]);
        gd_output(requantize_node(&l[2], conv_node(&l[2], joined)));
        if (shared)
            gd_output(requantize_node(&l[3], conv_node(&l[3], y[0])));
        struct pith_opts opts = {.size_bytes = sizeof opts};
        void *mem = gd_plan(&opts, &plan, &need);
        const uint8_t *at = plan->value[joined].data;
        assert_int_equal(plan->value[y[0]].data == at, !shared);
        assert_ptr_equal(plan->value[y[1]].data, at + 5);
        assert_int_equal(plan->step[1].args.y_step, 12);
        free(mem);
        check_levels("concat", 4 + shared);
        release_case();
    }
}

/* A convolution whose values are added to a residual: one step, if nothing else reads them
 * and the residual is there before. */
TEST(test_residuals)
{
    for (uint32_t i = 0; i < CASES / 2; i++) {
        struct shape x = random_input();
        bool late = i % 8 == 7, shared = i % 8 == 6, more = pick(0, 1), grouped;
        uint32_t v = new_graph(&x, PITH_U8);
        struct layer l[3];
        for (uint32_t k = 0; k < 3; k++) {
            if (k == 2) /* reads the sum, channels-last */
                x.dim[1] = l[1].c.w.dim[0];
            l[k] = (struct layer){.c = conv_over(&x)};
            for (uint32_t d = 2; d < x.rank; d++) { /* outputs of the shape of x */
                l[k].c.w.dim[d] = l[k].c.list[0][d - 2] = l[k].c.list[1][d - 2] = 1;
                l[k].c.list[2][d - 2] = l[k].c.list[2][x.rank - 4 + d] = 0;
            }
            if (k == 1 && l[0].c.w.dim[0] != l[1].c.w.dim[0])
                l[1].c = l[0].c;
            layer_constants(&l[k], PITH_U8, l[k].c.w.dim[0], 1);
        }
        grouped = l[1].c.group > 1;
        struct bytes_value term[2], sum = {.kind = ADD, .type = PITH_U8};
        memset(term, 0, sizeof term);
        sum.zero = bytes_weight(sum.type, (struct shape){0});
        sum.scale = scale_weight();
        sum.relu = pick(0, 1);
        for (uint32_t k = 0; k < 2; k++) {
            term[k].scale = scale_weight();
            term[k].zero = l[k].zero_y;
        }
        sum.from[late] = 1;
        sum.from[!late] = 0;
        for (uint32_t k = 0; k < 2; k++) {
            term[k].value = requantize_node(&l[k], conv_node(&l[k], v));
            net[k] = term[k];
        }
        make_value(&sum);
        gd_output(more ? requantize_node(&l[2], conv_node(&l[2], sum.value)) : sum.value);
        if (shared)
            gd_output(term[1].value);
        check_levels("residual", (shared || grouped ? 3u : 2u) + (uint32_t)more);
        release_case();
    }
}

/* The same of matrix products, each with a bias behind it or none. */
TEST(test_residuals_of_products)
{
    for (uint32_t i = 0; i < CASES / 10; i++) {
        struct shape x = {2, {pick(1, 9), pick(1, 60)}};
        uint32_t v = new_graph(&x, PITH_I8), n = pick(1, 70), bias[2];
        struct layer l[2];
        struct bytes_value sum = {.kind = ADD, .type = byte_type(), .from = {1, 0}};
        for (uint32_t k = 0; k < 2; k++) {
            l[k] = (struct layer){.c.w = {2, {x.dim[1], n}}};
            layer_constants(&l[k], PITH_I8, n, 1);
            bias[k] = sums_weight(n);
        }
        sum.zero = bytes_weight(sum.type, (struct shape){0});
        sum.scale = scale_weight();
        sum.relu = pick(0, 1);
        for (uint32_t k = 0; k < 2; k++)
            net[k] = (struct bytes_value){.scale = scale_weight(), .zero = l[k].zero_y};
        for (uint32_t k = 0; k < 2; k++) {
            uint32_t acc =
                gd_node(PITH_OP_MATMUL_INTEGER, NULL, NULL, 1, 3, v, l[k].w, l[k].zero_x);
            if (pick(0, 1))
                acc = gd_node(PITH_OP_ADD, NULL, NULL, 1, 2, bias[k], acc);
            net[k].value = requantize_node(&l[k], acc);
        }
        make_value(&sum);
        gd_output(sum.value);
        check_levels("residual of products", 2);
        release_case();
    }
}

/* A Slice or Pad of bytes between convolutions moves pixels to storage of its own. */
TEST(test_moves_of_pixels)
{
    for (uint32_t pads = 0; pads < 2; pads++) {
        struct shape x = {4, {1, 8, 6, 5}};
        struct bytes_value v = {.s = x, .kind = pads ? PAD : SLICE, .whole = true};
        struct layer l[2];
        uint32_t in = new_graph(&x, PITH_U8);
        for (uint32_t i = 0; i < 4; i++) {
            v.list[0][i] = i == 2;
            v.list[1][i] = pads ? i == 3 : INT32_MAX;
            v.list[2][i] = 1;
        }
        for (uint32_t i = 0; i < 2; i++) {
            l[i] = (struct layer){.c = {.x = x, .w = {4, {8, 8, 1, 1}}, .group = 1}};
            for (uint32_t k = 0; k < 2; k++)
                l[i].c.list[0][k] = l[i].c.list[1][k] = 1;
            layer_constants(&l[i], PITH_U8, 8, 1);
            l[i].params[0] = PITH_U8;
            l[i].zero_y = bytes_weight(PITH_U8, (struct shape){0});
        }
        n_net = 1;
        net[0] = (struct bytes_value){.s = x, .type = PITH_U8};
        net[0].value = requantize_node(&l[0], conv_node(&l[0], in));
        make_value(&v);
        gd_output(requantize_node(&l[1], conv_node(&l[1], v.value)));
        check_levels("move", 3);
        release_case();
    }
}

/* Along another axis than that of channels the parts of a Concat are no pieces of pixels. */
TEST(test_concat_of_rows)
{
    struct shape x = {4, {1, 8, 4, 5}};
    struct bytes_value v = {.type = PITH_U8};
    struct layer l[3];
    uint32_t in = new_graph(&x, PITH_U8), y[2];
    for (uint32_t i = 0; i < 3; i++)
        plain_layer(&l[i], &x);
    v.scale = scale_weight();
    v.zero = bytes_weight(PITH_U8, (struct shape){0});
    for (uint32_t i = 0; i < 2; i++) {
        v.value = layer_of(&l[i], in);
        y[i] = real_of(&v);
    }
    int32_t rows = 2, params[2] = {PITH_U8, 1};
    uint32_t joined = gd_node(PITH_OP_CONCAT, set_concat_axis, &rows, 1, 2, y[0], y[1]);
    joined = gd_node(PITH_OP_QUANTIZE, set_type, params, 1, 3, joined, v.scale, v.zero);
    gd_output(layer_of(&l[2], joined));
    check_levels("concat of rows", 4);
    release_case();
}

/* Convolutions that run sample by sample, for what they read is large, write their channels into
 * the pixels of a concat that runs over the whole batch. */
TEST(test_concat_of_samples_pixels)
{
    if (!PLAN_SEGMENTS)
        skip();
    enum { BATCH = 4, SIDE = 128, STEP = 8 };
    struct shape x = {4, {BATCH, 16, SIDE, SIDE}},
                 small = {4, {BATCH, 12, SIDE / STEP, SIDE / STEP}};
    const uint32_t outputs[4] = {16, 5, 7, 8};
    struct pith_need need;
    struct layer l[4];
    uint32_t v = new_graph(&x, PITH_U8), y[2];
    for (uint32_t i = 0; i < 4; i++) {
        conv_of_pixels(&l[i], i == 3 ? &small : &x, outputs[i]);
        l[i].c.list[0][0] = l[i].c.list[0][1] = i == 1 || i == 2 ? STEP : 1;
    }
    v = layer_of(&l[0], v);
    for (uint32_t i = 0; i < 2; i++)
        y[i] = layer_of(&l[1 + i], v);
    uint32_t joined = gd_node(PITH_OP_CONCAT, NULL, NULL, 1, 2, y[0], y[1]);
    gd_output(layer_of(&l[3], joined));
    struct pith_opts opts = {.size_bytes = sizeof opts, .batch = BATCH};
    void *mem = gd_plan(&opts, &plan, &need);
    assert_int_equal(plan->n_segments, 1);
    assert_int_equal(plan->segment[0].n_groups, BATCH);
    assert_int_equal(plan->segment[0].end, 3);
    assert_ptr_equal(plan->value[y[1]].data, plan->value[joined].data + outputs[1]);
    free(mem);
    check_levels("concat of samples' pixels", 5);
    release_case();
}

/* A residual that somebody reads at the end in the graph's order: the sum has that order, too, and
 * so what follows it, which was looked at before. */
TEST(test_residual_read_late)
{
    struct shape x = {4, {1, 8, 4, 5}};
    struct layer l[3];
    uint32_t in = new_graph(&x, PITH_U8);
    for (uint32_t i = 0; i < 3; i++)
        plain_layer(&l[i], &x);
    struct bytes_value sum = {.kind = ADD, .type = PITH_U8, .from = {0, 1}},
                       part = {.s = x, .kind = SLICE, .whole = true, .from = {2}};
    for (uint32_t k = 0; k < 3; k++) {
        net[k] = (struct bytes_value){.type = PITH_U8, .scale = scale_weight()};
        net[k].zero = k < 2 ? l[k].zero_y : bytes_weight(PITH_U8, (struct shape){0});
    }
    for (uint32_t i = 0; i < 4; i++) {
        part.list[0][i] = i == 2;
        part.list[1][i] = INT32_MAX;
        part.list[2][i] = 1;
    }
    sum.scale = net[2].scale;
    sum.zero = net[2].zero;
    for (uint32_t k = 0; k < 2; k++)
        net[k].value = layer_of(&l[k], in);
    make_value(&sum);
    net[2].value = sum.value;
    make_value(&part);
    gd_output(layer_of(&l[2], part.value));
    gd_output(real_of(&net[0]));
    check_levels("residual read late", 5);
    release_case();
}

RUN_TESTS
