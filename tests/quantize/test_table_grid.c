/* SPDX-License-Identifier: MIT */
/* test_table_grid.c - tables that a Gather looks up in become integers: by row or by codebook, the
 * weight of a layer once, and those that somebody wants as floats not at all. */
#include "test_run.h"
#include "network_run.h"
#include "pith_pack.h"
#include "pith_quantize.h"

enum { ROWS = 200, COLS = 16, IDS = 12, SAMPLES = 24, OUT = IDS * ROWS };

struct wanted {
    bool tied;     /* the table is also the weight of the last layer */
    bool heavy;    /* one number of each row is a hundred times as large as the others */
    bool twice;    /* two look-ups */
    bool visible;  /* the table is an output of the network */
    bool pruned;   /* every third number */
    bool infinite; /* one number */
    bool columns;  /* of a matrix are looked up */
    uint32_t rows; /* 0: ROWS */
    float alpha;   /* of the last layer; 0: 1 */
};

struct result {
    double db; /* of outputs on held-out ids */
    struct pith_quantize_layer layer[PITH_QUANTIZE_PARTS * 16];
    char why[2][96]; /* of the tables */
    char first[64];  /* layer and tensor of layer 0, whose names go with the model */
    uint32_t n_layers, n_tables;
    uint64_t floats, integers; /* numbers of constants of 2 axes with more than 1 column */
    bool indices;              /* a constant of u8 has more than one number */
    size_t bytes;
};

static uint32_t table_of(struct pith_model *m, struct sample_random *r, const struct wanted *w)
{
    uint32_t rows = w->rows ? w->rows : ROWS;
    uint32_t dim[2] = {rows, COLS}, turned[2] = {COLS, rows};
    uint32_t v = add_constant(m, r, "table", 2, w->columns ? turned : dim);
    struct pith_const *c = m->values[v].constant;
    float *x = c->data;
    c->mask = w->pruned ? pith_model_alloc(m, c->count, 1) : NULL;
    for (uint32_t i = 0; i < c->count; i++) { /* rows of several sizes */
        x[i] *= w->heavy ? 1 : 0.25f * (float)(1 + i / COLS % 4);
        if (w->heavy && i % COLS == i / COLS % COLS)
            x[i] *= 100;
        if (c->mask && i % 3)
            c->mask[i] = 1;
        else if (c->mask)
            x[i] = 0;
    }
    if (w->infinite)
        x[5] = INFINITY;
    return v;
}

/* ids -> rows -> Gemm and Tanh -> Gemm, with the table or a matrix of its own. */
static struct pith_model *network(const struct wanted *w)
{
    struct sample_random r = sample_random_of(31);
    struct pith_model *m = sample_new();
    uint32_t ids = w->tied ? add_value(m, "ids", PITH_I32, 2, (const uint32_t[]){3, IDS / 3})
                           : add_value(m, "ids", PITH_I32, 1, (const uint32_t[]){IDS});
    m->inputs[m->n_inputs++] = ids;
    uint32_t table = table_of(m, &r, w);
    uint32_t x =
        add_node(m, PITH_OP_GATHER, "rows", "rows.out", 2, (const uint32_t[]){table, ids})->out[0];
    if (w->tied) {
        struct pith_node *flat = add_node(m, PITH_OP_RESHAPE, "flat", "flat.out", 1, &x);
        memcpy(&flat->attr[ATTR_RESHAPE_DIMS], (const int32_t[]){2, IDS, COLS},
               3 * sizeof(int32_t));
        x = flat->out[0];
    }
    if (w->columns) {
        m->nodes[m->n_nodes - 1].attr[ATTR_GATHER_AXIS] = 1;
        x = add_node(m, PITH_OP_TRANSPOSE, "turn", "turn.out", 1, &x)->out[0];
    }
    if (w->twice) {
        uint32_t y =
            add_node(m, PITH_OP_GATHER, "again", "again.out", 2, (const uint32_t[]){table, ids})
                ->out[0];
        x = add_node(m, PITH_OP_ADD, "sum", "sum.out", 2, (const uint32_t[]){x, y})->out[0];
    }
    x = add_layer(m, &r, PITH_OP_GEMM, "inner", x, 2, (const uint32_t[]){COLS, COLS});
    x = add_node(m, PITH_OP_TANH, "tanh", "tanh.out", 1, &x)->out[0];
    uint32_t weight = w->tied ? table : add_constant(m, &r, "w", 2, (const uint32_t[]){ROWS, COLS});
    struct pith_node *head =
        add_node(m, PITH_OP_GEMM, "head", "head.out", 2, (const uint32_t[]){x, weight});
    if (w->alpha != 0)
        memcpy(&head->attr[ATTR_GEMM_ALPHA], &w->alpha, sizeof w->alpha);
    m->outputs[m->n_outputs++] = head->out[0];
    if (w->visible)
        m->outputs[m->n_outputs++] = table;
    return sample_shaped(m);
}

static void draw_ids(uint64_t seed, const struct wanted *w, int32_t *ids, uint32_t n)
{
    struct sample_random r = sample_random_of(seed);
    int32_t rows = (int32_t)(w->rows ? w->rows : ROWS);
    for (uint32_t i = 0; i < n; i++)
        ids[i] =
            (int32_t)(fabsf(sample_gauss(&r)) * 1000) % (2 * rows) - rows; /* from the end, too */
}

static void count_numbers(const struct pith_model *m, struct result *r)
{
    for (uint32_t v = 0; v < m->n_values; v++) {
        const struct pith_value *value = &m->values[v];
        if (!value->constant)
            continue;
        r->indices |= value->type == PITH_U8 && value->constant->count > 1;
        if (value->rank == 2 && value->dim[1] > 1)
            *(value->type == PITH_F32 ? &r->floats : &r->integers) += value->constant->count;
    }
}

static void look_at(const struct pith_quantize_layer *l, struct result *r)
{
    if (l->table)
        snprintf(r->why[r->n_tables++], sizeof r->why[0], "%s", l->why ? l->why : "");
}

static struct result quantize(const struct wanted w, struct pith_quantize_opts o)
{
    static int32_t fitted[SAMPLES * IDS], other[IDS];
    static float was[OUT], is[OUT], numbers[SAMPLES * IDS];
    struct result r = {0};
    struct pith_error err = {0};
    struct pith_buffer file = {0};
    struct pith_model *m = network(&w);
    draw_ids(1, &w, fitted, SAMPLES * IDS);
    draw_ids(2, &w, other, IDS);
    for (uint32_t i = 0; i < SAMPLES; i++)
        run_network(m, m, (const float *)(const void *)(fitted + i * IDS), IDS, NULL);
    run_network(m, NULL, (const float *)(const void *)other, IDS, was);
    o.size_bytes = sizeof o;
    for (uint32_t i = 0; i < SAMPLES * IDS; i++)
        numbers[i] = (float)fitted[i];
    struct pith_data *data = data_of_rows(numbers, SAMPLES, IDS);
    o.data = data;
    SUCCEEDS(pith_quantize(m, &o, r.layer, &r.n_layers, &err) ||
             pith_model_pack(m, NULL, &file, &err));
    run_network(m, NULL, (const float *)(const void *)other, IDS, is);
    for (uint32_t i = 0; i < r.n_layers; i++)
        look_at(&r.layer[i], &r);
    snprintf(r.first, sizeof r.first, "%s %s", r.layer[0].layer, r.layer[0].tensor);
    r.db = snr_db(was, is, OUT);
    r.bytes = file.bytes;
    count_numbers(m, &r);
    pith_data_free(data);
    pith_buffer_free(&file);
    pith_model_free(m);
    return r;
}

static const struct pith_quantize_opts as_usual = {0};

TEST(a_number_takes_a_byte)
{
    struct result r = quantize((struct wanted){0}, as_usual);
    assert_int_equal(r.n_layers, 3);
    assert_int_equal(r.n_tables, 1);
    assert_true(r.layer[0].table && !r.layer[0].why);
    assert_string_equal(r.first, "rows table");
    assert_int_equal(r.layer[0].n_weights, ROWS * COLS);
    assert_int_equal(r.layer[0].weight_bits, 8);
    assert_int_equal(r.floats, 0);
    assert_int_equal(r.integers, 2 * ROWS * COLS + COLS * COLS);
    assert_false(r.indices);
    if (r.layer[0].snr_db < 43 || r.db < 30)
        fail_msg("%.1f dB of the table, %.1f of outputs", r.layer[0].snr_db, r.db);
}

/* By row, steps as coarse as one number wants would leave little of the others: 127 steps of 0.8.
 */
TEST(rows_with_few_large_numbers_have_a_codebook)
{
    struct result r = quantize((struct wanted){.heavy = true}, as_usual);
    assert_true(r.indices);
    assert_int_equal(r.floats, 0);
    if (r.layer[0].snr_db < 50)
        fail_msg("%.1f dB of the table", r.layer[0].snr_db);
    r = quantize((struct wanted){.heavy = true}, (struct pith_quantize_opts){.fixed_bits = 8});
    assert_false(r.indices);
    assert_true(r.layer[0].snr_db < 50);
}

TEST(a_layers_weight_is_stored_once)
{
    struct result alone = quantize((struct wanted){0}, as_usual);
    struct result tied = quantize((struct wanted){.tied = true}, as_usual);
    assert_int_equal(tied.floats, 0);
    assert_int_equal(tied.integers, ROWS * COLS + COLS * COLS);
    assert_true(tied.bytes + ROWS * COLS - 256 < alone.bytes);
    assert_true(tied.db > 30 && tied.layer[0].snr_db > 38);
    assert_true(fabs(tied.layer[0].snr_db - tied.layer[2].snr_db) < 0.1);
    tied = quantize((struct wanted){.tied = true, .alpha = 0.25f}, as_usual);
    assert_int_equal(tied.integers, ROWS * COLS + COLS * COLS);
    assert_true(tied.db > 30 && tied.layer[0].snr_db > 38);
    tied = quantize((struct wanted){.tied = true},
                    (struct pith_quantize_opts){.activation_bits = 16, .weight_bits = 16});
    assert_int_equal(tied.integers, ROWS * COLS + COLS * COLS);
    if (tied.db < 55 || tied.layer[0].snr_db < 80)
        fail_msg("%.1f dB of the table, %.1f of outputs", tied.layer[0].snr_db, tied.db);
}

TEST(two_look_ups_share)
{
    struct result r = quantize((struct wanted){.twice = true}, as_usual);
    assert_int_equal(r.n_tables, 2);
    assert_int_equal(r.integers, 2 * ROWS * COLS + COLS * COLS);
    assert_true(r.db > 30);
    assert_true(r.layer[0].snr_db == r.layer[1].snr_db);
}

TEST(what_is_pruned_stays_so)
{
    struct result r = quantize((struct wanted){.pruned = true}, as_usual);
    assert_int_equal(r.floats, 0);
    assert_false(r.indices);
    assert_true(r.db > 30);
}

static void expect_float(struct wanted w, struct pith_quantize_opts o, const char *why,
                         uint64_t floats)
{
    struct result r = quantize(w, o);
    assert_true(r.n_tables > 0);
    assert_string_equal(r.why[0], why);
    assert_int_equal(r.floats, floats);
}

TEST(some_stay_float)
{
    static const char *const table[] = {"rows"}, *const again[] = {"again"},
                             *const head[] = {"head"}, *const both[] = {"inner", "head"};
    uint64_t floats = ROWS * COLS;
    const struct pith_quantize_opts keep = {.keep = table, .n_keep = 1},
                                    keep_again = {.keep = again, .n_keep = 1},
                                    keep_head = {.keep = head, .n_keep = 1},
                                    keep_all = {.keep = both, .n_keep = 2};
    expect_float((struct wanted){0}, keep, "kept", floats);
    expect_float((struct wanted){.visible = true}, as_usual, "something else reads it as floats",
                 floats);
    expect_float((struct wanted){.twice = true}, keep_again, "something else reads it as floats",
                 floats);
    expect_float((struct wanted){.tied = true}, keep_head, "something else reads it as floats",
                 floats);
    expect_float((struct wanted){.infinite = true}, as_usual,
                 "some of its numbers are infinite or NaN",
                 floats + COLS * COLS); /* and the layer that reads its rows */
    expect_float((struct wanted){0}, keep_all, "",
                 ROWS * COLS + COLS * COLS); /* it alone is integers */
}

TEST(small_ones_and_columns_are_none)
{
    struct result r = quantize((struct wanted){.rows = 63}, as_usual);
    assert_int_equal(r.n_tables, 0);
    assert_int_equal(r.floats, 63 * COLS);
    r = quantize((struct wanted){.columns = true}, as_usual);
    assert_int_equal(r.n_tables, 0);
    assert_int_equal(r.floats, ROWS * COLS);
    r = quantize((struct wanted){.rows = 64}, as_usual);
    assert_int_equal(r.n_tables, 1);
    assert_int_equal(r.floats, 0);
}

RUN_TESTS
