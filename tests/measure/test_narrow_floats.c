/* SPDX-License-Identifier: MIT */
/* Constants stored as f16 and f64 are computed in f32, also behind operators that move any type: a
 * view, a copy and a repetition of one must hold f32 values. */
#include "test_run.h"
#include "small_net.h"

#define N 64u

/* y = x + Identity(Tile(c, 2)[0:N]), c all `one` in its type. */
static struct pith_model *moved_constant(enum pith_type type)
{
    struct sample_random r = sample_random_of(1);
    struct pith_model *m = sample_new();
    uint32_t x = add_input(m, "x", 1, (const uint32_t[]){N}), c, y;
    c = add_constant(m, &r, "c", 1, (const uint32_t[]){N});
    m->values[c].type = type;
    m->values[c].constant->data = pith_model_alloc(m, N, 8);
    for (uint32_t i = 0; i < N; i++)
        if (type == PITH_F16)
            ((uint16_t *)m->values[c].constant->data)[i] = 0x3c00; /* 1.0 */
        else
            ((double *)m->values[c].constant->data)[i] = 1.0;
    struct pith_node *tile = add_node(m, PITH_OP_TILE, "tile", "t", 1, &c);
    tile->attr[0] = 1;
    tile->attr[1] = 2;
    y = tile->out[0];
    struct pith_node *slice = add_node(m, PITH_OP_SLICE, "slice", "s", 1, &y);
    slice->attr[ATTR_SLICE_AXES] = slice->attr[ATTR_SLICE_STARTS] = slice->attr[ATTR_SLICE_ENDS] =
        1;
    slice->attr[ATTR_SLICE_STARTS + 1] = 7;
    slice->attr[ATTR_SLICE_ENDS + 1] = 7 + (int32_t)N;
    y = slice->out[0];
    y = add_node(m, PITH_OP_IDENTITY, "id", "i", 1, &y)->out[0];
    /* the model's own shapes follow the stored type; what is run follows f32 */
    m->values[c].type = PITH_F32;
    y = add_node(m, PITH_OP_ADD, "add", "y", 2, (const uint32_t[]){x, y})->out[0];
    sample_done(m, y);
    m->values[c].type = type;
    return m;
}

TEST(test_moved_constants)
{
    static const enum pith_type types[] = {PITH_F16, PITH_F64};
    for (size_t k = 0; k < 2; k++) {
        struct pith_model *m = moved_constant(types[k]);
        struct pith_engine *e = engine_of(m);
        struct pith_plan *plan = pith_engine_plan(e);
        float *x = pith_plan_input_data(plan, 0);
        for (uint32_t i = 0; i < N; i++)
            x[i] = (float)i;
        assert_int_equal(pith_plan_run(plan), PITH_OK);
        const float *y = pith_plan_output_data(plan, 0);
        for (uint32_t i = 0; i < N; i++)
            assert_true(y[i] == (float)i + 1.0f);
        pith_engine_close(e);
        pith_model_free(m);
    }
}

RUN_TESTS
