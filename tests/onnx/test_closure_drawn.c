/* SPDX-License-Identifier: MIT */
/* test_closure_drawn.c - what a .pith may say, export writes so that import takes it, or refuses by
 * a message that says what: networks of every operator, drawn over all ranges of its attributes
 * (drawn_network.h). A file of them that export wrote and import refused is a loss of somebody's
 * network. PITH_TEST_TRIALS: how many networks for each operator. */
#include <stdint.h>
#include "test_run.h"
#include "closure.h"
#include "drawn_network.h"
#include "pack/unpack.h"
#include "test_seed.h"

#define USUAL_TRIALS 40
#define LEAST_TRIED 10 /* networks of each operator */

struct tally {
    uint32_t drawn, let_through, closed, refused, broken;
};

static void print_failure(const struct pith_model *m, enum closure c, const struct pith_error *err)
{
    static const char *const name[] = {
        [CLOSURE_NOT_READ] = "not read",
        [CLOSURE_OTHER_TYPES] = "other types",
        [CLOSURE_OTHER_OUTPUTS] = "other outputs",
    };
    print_error("%s%s: %s\n", name[c], m->batch_open ? ", open batch" : "", err->text);
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const struct pith_node *n = &m->nodes[i];
        const struct op_info *info = pith_op_get(n->op);
        print_error("  operator %u of", n->op);
        for (uint32_t k = 0; k < n->n_in; k++) {
            if (n->in[k] == PITH_VALUE_NONE) {
                print_error(" -");
                continue;
            }
            const struct pith_value *v = &m->values[n->in[k]];
            print_error(" %u%s:%u[", n->in[k], v->constant ? "c" : "", v->type);
            for (uint32_t a = 0; a < v->rank; a++)
                print_error("%s%u", a ? " " : "", v->dim[a]);
            print_error("]");
        }
        print_error(" ->");
        for (uint32_t k = 0; k < n->n_out; k++)
            print_error(" %u", n->out[k]);
        print_error(", attributes");
        for (uint32_t k = 0; k < info->n_slots; k++)
            print_error(" %d", n->attr[k]);
        print_error("\n");
    }
}

/* drawn: it is freed; NULL: none was found. */
static void try_network(struct pith_model *drawn, struct tally *t)
{
    if (!drawn)
        return;
    struct pith_buffer file = {0};
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    t->drawn++;
    enum pith_status status = pith_model_pack(drawn, NULL, &file, NULL);
    if (!status && pith_unpack(file.data, file.bytes, "drawn", NULL, &m, NULL) == PITH_OK) {
        enum closure c = closure_of(m, m->n_nodes == 1, &err);
        t->let_through++;
        t->closed += c < CLOSURE_NOT_OURS || c == CLOSURE_NOT_RUN;
        t->refused += c == CLOSURE_NOT_OURS;
        t->broken += c >= CLOSURE_NOT_READ;
        if (c >= CLOSURE_NOT_READ)
            print_failure(m, c, &err);
        pith_model_free(m);
    }
    pith_buffer_free(&file);
    pith_model_free(drawn);
}

static uint32_t trials(void)
{
    const char *wanted = getenv("PITH_TEST_TRIALS");
    return wanted ? (uint32_t)strtoul(wanted, NULL, 10) : USUAL_TRIALS;
}

/* what: of which networks the tally is. false: too few to say anything. */
static bool is_enough(const struct tally *t, const char *what, uint32_t number)
{
    bool enough = t->let_through >= LEAST_TRIED;
    if (!enough || getenv("PITH_TEST_TELL"))
        print_error("%s %u: %u drawn, %u let through, %u closed, %u refused, %u broken\n", what,
                    number, t->drawn, t->let_through, t->closed, t->refused, t->broken);
    return enough;
}

static void add(struct tally *sum, const struct tally *t)
{
    sum->drawn += t->drawn;
    sum->let_through += t->let_through;
    sum->closed += t->closed;
    sum->refused += t->refused;
    sum->broken += t->broken;
}

static void is_closed(const struct tally *t, uint32_t too_few)
{
    print_message("%u networks, %u let through: %u closed, %u refused, %u broken\n", t->drawn,
                  t->let_through, t->closed, t->refused, t->broken);
    assert_int_equal(too_few, 0);
    assert_int_equal(t->broken, 0);
}

TEST(every_operator)
{
    struct sample_random r = sample_random_of(test_seed(1));
    struct tally all = {0};
    uint32_t too_few = 0;
    for (uint32_t op = 1; op < PITH_OP_END; op++) {
        struct tally t = {0};
        for (uint32_t i = 0; i < trials() && draw_is_drawn(op); i++)
            try_network(draw_network(&r, op), &t);
        too_few += draw_is_drawn(op) && !is_enough(&t, "operator", op);
        add(&all, &t);
    }
    is_closed(&all, too_few);
}

/* What export writes together: layers of integers, recurrent layers, attention, grids. */
TEST(chains)
{
    static const uint32_t chain[][5] = {
        {PITH_OP_MATMUL_INTEGER, PITH_OP_REQUANTIZE},
        {PITH_OP_CONV_INTEGER, PITH_OP_REQUANTIZE},
        {PITH_OP_MATMUL_INTEGER, PITH_OP_DEQUANTIZE},
        {PITH_OP_CONV_INTEGER, PITH_OP_DEQUANTIZE},
        {PITH_OP_MATMUL_INTEGER, PITH_OP_ADD, PITH_OP_REQUANTIZE},
        {PITH_OP_QUANTIZE, PITH_OP_CONV_INTEGER, PITH_OP_REQUANTIZE, PITH_OP_DEQUANTIZE},
        {PITH_OP_QUANTIZE, PITH_OP_MATMUL_INTEGER, PITH_OP_REQUANTIZE, PITH_OP_DEQUANTIZE},
        {PITH_OP_QUANTIZE, PITH_OP_DEQUANTIZE, PITH_OP_CONV, PITH_OP_QUANTIZE},
        {PITH_OP_QUANTIZE, PITH_OP_TRANSPOSE, PITH_OP_MATMUL_INTEGER, PITH_OP_REQUANTIZE},
        {PITH_OP_DYNAMIC_QUANTIZE, PITH_OP_MATMUL_INTEGER, PITH_OP_CAST, PITH_OP_MUL},
        {PITH_OP_MATMUL, PITH_OP_RECURRENT},
        {PITH_OP_MATMUL, PITH_OP_ADD, PITH_OP_RECURRENT},
        {PITH_OP_TRANSPOSE, PITH_OP_RESHAPE, PITH_OP_TRANSPOSE, PITH_OP_MATMUL},
        {PITH_OP_CONV, PITH_OP_BATCH_NORM, PITH_OP_RELU, PITH_OP_CONV},
        {PITH_OP_MATMUL, PITH_OP_SOFTMAX, PITH_OP_MATMUL},
    };
    struct sample_random r = sample_random_of(test_seed(2));
    struct tally all = {0};
    uint32_t too_few = 0;
    for (uint32_t c = 0; c < sizeof chain / sizeof *chain; c++) {
        struct tally t = {0};
        /* Some are found seldom. */
        for (uint32_t i = 0; i < trials() || (t.let_through < LEAST_TRIED && i < 20 * trials());
             i++)
            try_network(draw_chain(&r, chain[c]), &t);
        too_few += !is_enough(&t, "chain", c);
        add(&all, &t);
    }
    is_closed(&all, too_few);
}

RUN_TESTS
