/* SPDX-License-Identifier: MIT */
/* Integer convolutions and matrix products as plans run them (integer_case.h). */
#include "integer_case.h"

TEST(test_convolutions)
{
    for (uint32_t i = 0; i < CASES; i++) {
        struct shape x = random_input();
        enum pith_type type = byte_type();
        uint32_t v = new_graph(&x, type);
        struct layer l = {.c = conv_over(&x)};
        layer_constants(&l, type, l.c.w.dim[0], 1);
        some_zero_w(&l);
        gd_output(requantize_node(&l, conv_node(&l, v)));
        check_levels("convolution", 1);
        release_case();
    }
}

/* Patches, as transformers have them: windows that lie apart, with what no window sees between them
 * now and then. */
TEST(test_patches)
{
    for (uint32_t i = 0; i < CASES / 4; i++) {
        const uint32_t kernel = pick(4, 16), stride = kernel + pick(0, 3) / 3;
        const uint32_t high = stride * pick(2, 5) + pick(0, 3), wide = stride * pick(2, 5);
        const struct shape x = {4, {pick(1, 2), pick(1, 4), high, wide}};
        const enum pith_type type = byte_type();
        const uint32_t v = new_graph(&x, type);
        struct layer l = {.c = {.x = x, .group = 1}};
        l.c.w = (struct shape){4, {pick(1, 80), x.dim[1], kernel, kernel}};
        for (uint32_t axis = 0; axis < 2; axis++) {
            l.c.list[0][axis] = stride;
            l.c.list[1][axis] = 1;
        }
        layer_constants(&l, type, l.c.w.dim[0], 1);
        gd_output(requantize_node(&l, conv_node(&l, v)));
        check_levels("patches", 1);
        release_case();
    }
}

static uint32_t real_node(struct layer *l, uint32_t acc)
{
    return gd_node(PITH_OP_DEQUANTIZE, set_axis, &l->params[1], 1, 2, acc, l->factor);
}

/* Sums that are read as they are, or as real numbers. */
TEST(test_sums)
{
    for (uint32_t i = 0; i < CASES / 4; i++) {
        struct shape x = random_input();
        enum pith_type type = byte_type();
        uint32_t v = new_graph(&x, type);
        struct layer l = {.c = conv_over(&x)};
        layer_constants(&l, type, l.c.w.dim[0], 1);
        some_zero_w(&l);
        uint32_t acc = conv_node(&l, v);
        gd_output(i % 2 ? real_node(&l, acc) : acc);
        check_levels("sums", 1);
        release_case();
    }
}

TEST(test_products)
{
    for (uint32_t i = 0; i < CASES; i++) {
        uint32_t k = pick(1, 90), n = pick(1, 150);
        struct shape x = {.rank = pick(1, 3), .dim = {pick(1, 3), pick(1, 40), k}};
        x.dim[x.rank - 1] = k;
        for (uint32_t d = x.rank; d < 3; d++)
            x.dim[d] = 0;
        enum pith_type type = byte_type();
        uint32_t v = new_graph(&x, type);
        struct layer l = {.c.w = product_weight(k, n, i % 3 == 0)};
        layer_constants(&l, type, n, (int32_t)x.rank - 1);
        some_zero_w(&l);
        uint32_t acc = product_node(&l, v, i % 3 == 0);
        uint32_t kind = pick(0, 4);
        gd_output(kind == 0 ? acc : kind == 1 ? real_node(&l, acc) : requantize_node(&l, acc));
        check_levels("product", 1);
        release_case();
    }
}

/* Of 16 bits; where they are extreme, sums of pairs leave 32 bits. */
static uint32_t words_weight(enum pith_type type, struct shape s)
{
    size_t n = shape_elems(&s);
    uint16_t *p = own(malloc(n * sizeof *p));
    bool extreme = pick(0, 2) == 0;
    for (size_t i = 0; i < n; i++)
        p[i] = extreme && pick(0, 9) ? 0x8000 : (uint16_t)random_u64(&seed);
    return gd_weight_of(type, p, &s);
}

/* Products of 16 bits leave their sums, which a Requantize reads or nothing. */
TEST(test_words)
{
    for (uint32_t i = 0; i < CASES / 2; i++) {
        struct shape x = random_input();
        enum pith_type type = pick(0, 1) ? PITH_I16 : PITH_U16;
        enum pith_type type_w = pick(0, 2) ? PITH_I16 : PITH_I8;
        bool product = pick(0, 2) == 0;
        if (product)
            x = (struct shape){2, {pick(1, 40), pick(1, 90)}};
        uint32_t v = new_graph(&x, type), n = pick(1, 70);
        const bool turned = pick(0, 1);
        struct layer l = {.c = {.w = product_weight(x.dim[1], n, turned)}};
        if (!product) {
            l.c = conv_over(&x);
            n = l.c.w.dim[0];
        }
        layer_constants(&l, PITH_U8, n, 1);
        l.w = type_w == PITH_I16 ? words_weight(type_w, l.c.w) : bytes_weight(type_w, l.c.w);
        l.zero_x = pick(0, 1) ? words_weight(type, (struct shape){0}) : PITH_NO_VALUE;
        if (type_w == PITH_I16 && l.bias != PITH_NO_VALUE) {
            int64_t *bias = own(malloc(n * sizeof *bias));
            for (uint32_t k = 0; k < n; k++)
                bias[k] = (int64_t)random_u64(&seed) >> pick(0, 63);
            l.bias = gd_weight_of(PITH_I64, bias, &(struct shape){1, {n}});
        }
        uint32_t acc = product ? product_node(&l, v, turned) : conv_node(&l, v);
        bool values = pick(0, 1);
        gd_output(values ? requantize_node(&l, acc) : acc);
        check_levels("words", 1 + values);
        release_case();
    }
}

/* n numbers of the centroids -7 .. 7, as a file holds weights of few bits. */
static void use_few_values(struct weight *w, size_t n)
{
    static const uint8_t minus_7_to_7[] = {0xfe, 0x00};
    uint8_t *index = own(malloc(n / 2 + 1));
    for (size_t i = 0; i < n; i++) {
        uint32_t q = pick(0, 14);
        index[i / 2] = (uint8_t)(i % 2 ? index[i / 2] | q << 4 : q);
    }
    w->grid = GRID_CODEBOOK;
    w->n_centroids = 15;
    w->index_bits = 4;
    w->codebook = (struct stream){minus_7_to_7, sizeof minus_7_to_7};
    w->index_stream = (struct stream){index, (n + 1) / 2};
}

/* The only step runs on the kernel of this number in its operator's list, with the bits of the best
 * one; what does not take it is refused. */
static void check_choice(uint8_t choice, const char *name)
{
    static _Alignas(64) uint8_t work[1 << 16];
    struct pith_opts best, opts;
    struct pith_need need;
    struct pith_layer layer;
    struct pith_tensor t;
    if (!SLOTS_BUILT) /* the reference alone */
        return;
    pith_opts_init(&best, sizeof best);
    opts = best;
    opts.choices = &choice;
    opts.n_choices = 1;
    if (!name) {
        assert_int_equal(pith_plan_need(gd_image(), 0, &opts, work, sizeof work, &need),
                         PITH_ERR_CORRUPT);
        return;
    }
    uint8_t *want = NULL;
    for (uint32_t i = 0; i < 2; i++) {
        void *mem = gd_plan(i ? &opts : &best, &plan, &need);
        assert_int_equal(pith_plan_input(plan, 0, &t), PITH_OK);
        memset(pith_plan_input_data(plan, 0), 77, t.bytes);
        assert_int_equal(pith_plan_run(plan), PITH_OK);
        assert_int_equal(pith_plan_output(plan, 0, &t), PITH_OK);
        if (i == 0) {
            want = malloc(t.bytes);
            memcpy(want, pith_plan_output_data(plan, 0), t.bytes);
        } else {
            assert_memory_equal(want, pith_plan_output_data(plan, 0), t.bytes);
            assert_int_equal(pith_plan_layer(plan, 0, &layer), PITH_OK);
            assert_string_equal(layer.kernel, name);
            assert_int_equal(layer.choice, choice);
        }
        free(mem);
    }
    free(want);
}

/* Which of an output's weights stay. */
enum kept_where { EVENLY, PILED, FAR_APART };

/* Pruned weights as a file holds them: `kept` of 100 evenly, or all of them among few outputs, or
 * evenly in the first and the last 50 columns of a matrix. */
static uint32_t pruned_weights(struct shape s, enum kept_where where, uint32_t kept,
                               uint32_t output_axis)
{
    size_t n = shape_elems(&s), stored = 0, per_output = output_axis ? 1 : n / s.dim[0];
    uint8_t *value = own(some_bytes(n, PITH_I8)), *bitmap = own(calloc(n / 8 + 1, 1));
    for (size_t i = 0; i < n; i++) {
        const size_t run = n / s.dim[output_axis];
        const uint32_t output = (uint32_t)(i / per_output % s.dim[output_axis]);
        const size_t column = output_axis ? i / s.dim[1] : i % run;
        if (where == PILED ? output * 100 >= kept * s.dim[output_axis] : pick(0, 99) >= kept)
            continue;
        if (where == FAR_APART && column >= 50 && column + 50 < run)
            continue;
        bitmap[i / 8] |= (uint8_t)(1u << i % 8);
        stored++;
    }
    uint32_t v = gd_weight_of(PITH_I8, value, &s);
    struct weight *w = &gd.weight[gd.g.n_weights - 1];
    w->support = SUPPORT_BITMAP;
    w->nnz = stored;
    w->support_stream = (struct stream){bitmap, (n + 7) / 8};
    w->index_stream.n_bytes = stored;
    return v;
}

/* They are multiplied in slots where there is a kernel, and give the
 * bits of dense ones. */
TEST(test_pruned_products)
{
    const bool slots = pith_cpu_features() & (PITH_CPU_AVX2 | PITH_CPU_DOTPROD);
    for (uint32_t i = 0; i < 40; i++) {
        uint32_t k = pick(64, 400), n = pick(1, 150), rows = pick(0, 1) ? pick(1, 9) : pick(10, 70);
        struct shape x = {2, {rows, k}};
        enum pith_type type = byte_type();
        uint32_t v = new_graph(&x, type);
        const bool turned = i % 5 == 0;
        struct layer l = {.c.w = product_weight(k, n, turned)};
        layer_constants(&l, type, n, 1);
        l.w = pruned_weights(l.c.w, pick(0, 3) ? EVENLY : PILED, pick(1, 15), !turned);
        uint32_t acc = product_node(&l, v, turned);
        gd_output(i % 3 == 0 ? real_node(&l, acc) : requantize_node(&l, acc));
        check_levels("pruned product", 1);
        const bool some = gd.weight[gd.g.n_weights - 1].nnz > 0;
        check_choice(1, NULL); /* weights stay in place on the reference alone */
        check_choice(2, "gemm-i8");
        check_choice(SLOTS_CHOICE, slots && some ? "spmm-i8" : NULL);
        release_case();
    }
}

/* So many nonzeros of few values are halved; and groups may lie further apart than one step goes,
 * which needs more of them than are promised room where there are few. */
TEST(test_slots_of_large_products)
{
    for (uint32_t i = 0; i < 4; i++) {
        const bool is_far = i % 2;
        uint32_t k = is_far ? pick(9000, 14000) : 2500, n = is_far ? pick(1, 40) : 1400;
        struct shape x = {2, {pick(1, 5), k}};
        enum pith_type type = byte_type();
        uint32_t v = new_graph(&x, type);
        struct layer l = {.c.w = product_weight(k, n, i < 2)};
        layer_constants(&l, type, n, 1);
        l.w = pruned_weights(l.c.w,
                             is_far ? FAR_APART
                             : i    ? EVENLY
                                    : PILED,
                             is_far ? 60 : 20, i >= 2);
        struct weight *w = &gd.weight[gd.g.n_weights - 1];
        if (!is_far)
            use_few_values(w, w->nnz);
        gd_output(requantize_node(&l, product_node(&l, v, i < 2)));
        check_levels("large pruned product", 1);
        release_case();
    }
}

/* Slots copy the rows of a window side by side, where its columns are. */
static bool has_slots(const struct conv_case *c)
{
    const uint32_t last = c->x.rank - 3;
    const uint32_t taps = c->w.dim[2] * (last ? c->w.dim[3] : 1);
    return (pith_cpu_features() & (PITH_CPU_AVX2 | PITH_CPU_DOTPROD)) && c->group == 1 &&
           (taps == 1 || c->list[1][last] == 1);
}

/* Convolutions of one tap are such products; of more taps, windows are copied. */
TEST(test_pruned_convolutions)
{
    for (uint32_t i = 0; i < CASES / 4; i++) {
        struct shape x = random_input();
        x.dim[1] = pick(0, 1) ? 64 : pick(70, 140);
        enum pith_type type = byte_type();
        uint32_t v = new_graph(&x, type);
        struct layer l = {.c = conv_over(&x)};
        if (pick(0, 2))
            for (uint32_t d = 2; d < x.rank; d++)
                l.c.w.dim[d] = 1;
        layer_constants(&l, type, l.c.w.dim[0], 1);
        l.w = pruned_weights(l.c.w, pick(0, 3) ? EVENLY : PILED, pick(1, 20), 0);
        gd_output(requantize_node(&l, conv_node(&l, v)));
        const bool some = gd.weight[gd.g.n_weights - 1].nnz > 0, slots = some && has_slots(&l.c);
        forced[0] = SLOTS_CHOICE;
        n_forced = slots && pick(0, 2);
        check_levels("pruned convolution", 1);
        n_forced = 0;
        check_choice(SLOTS_CHOICE, slots ? "spmm-i8" : NULL);
        release_case();
    }
}

/* Weights around a zero point of their own, three axes, a second reader: the plain operator. */
TEST(test_what_is_not_packed)
{
    for (uint32_t i = 0; i < 20; i++) {
        struct shape x = random_input();
        if (i % 2 == 0)
            x = (struct shape){5, {1, 3, 4, 5, 6}};
        uint32_t v = new_graph(&x, PITH_U8);
        struct layer l = {.c = {.x = x, .group = 1, .w = {x.rank, {4, x.dim[1]}}}};
        for (uint32_t d = 2; d < x.rank; d++)
            l.c.w.dim[d] = l.c.list[0][d - 2] = 1;
        l.c.list[1][0] = l.c.list[1][1] = l.c.list[1][2] = 1;
        layer_constants(&l, PITH_U8, 4, 1);
        uint32_t zero = i % 2 ? bytes_weight(PITH_I8, (struct shape){1, {4}}) : PITH_NO_VALUE;
        uint32_t acc =
            gd_node(PITH_OP_CONV_INTEGER, set_conv, &l.c, 1, 5, v, l.w, l.zero_x, zero, l.bias);
        gd_output(requantize_node(&l, acc));
        check_levels("not packed", 2);
        release_case();
    }
}

RUN_TESTS
