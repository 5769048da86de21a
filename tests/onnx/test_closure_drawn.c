/* SPDX-License-Identifier: MIT */
/* test_closure_drawn.c - what a .pith may say, export writes so that import takes it, or refuses by
 * a message that says what: networks of every operator, drawn over all ranges of its attributes
 * (drawn_network.h). A file of them that export wrote and import refused is a loss of somebody's
 * network. PITH_TEST_TRIALS: how many networks for each operator. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "closure.h"
#include "drawn_network.h"
#include "pith_unpack.h"
#include "test_seed.h"

#define USUAL_TRIALS 40
#define LEAST_TRIED 10 /* networks of each operator */

struct tally {
    uint32_t drawn, let_through, closed, refused, broken;
};

static void tell(const struct pith_model *m, enum closure c, const struct pith_error *err)
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

static void try_network(const struct pith_model *drawn, struct tally *t)
{
    struct pith_buffer file = {0};
    struct pith_model *m = NULL;
    struct pith_error err = {0};
    t->drawn++;
    if (pith_model_pack(drawn, NULL, &file, NULL))
        return;
    if (pith_unpack(file.data, file.bytes, "drawn", 0, 0, NULL, &m, NULL) == PITH_OK) {
        enum closure c = closure_of(m, m->n_nodes == 1, &err);
        t->let_through++;
        t->closed += c < CLOSURE_NOT_OURS || c == CLOSURE_NOT_RUN;
        t->refused += c == CLOSURE_NOT_OURS;
        t->broken += c >= CLOSURE_NOT_READ;
        if (c >= CLOSURE_NOT_READ)
            tell(m, c, &err);
        pith_model_free(m);
    }
    pith_buffer_free(&file);
}

static void every_operator(void **state)
{
    const char *wanted = getenv("PITH_TEST_TRIALS"), *only = getenv("PITH_TEST_OPERATOR");
    uint32_t trials = wanted ? (uint32_t)strtoul(wanted, NULL, 10) : USUAL_TRIALS, broken = 0;
    struct sample_random r = sample_random_of(test_seed(1));
    struct tally all = {0};
    (void)state;
    for (uint32_t op = 1; op < PITH_OP_END; op++) {
        struct tally t = {0};
        if (!draw_is_drawn(op) || (only && op != strtoul(only, NULL, 10)))
            continue;
        for (uint32_t i = 0; i < trials; i++) {
            struct pith_model *m = draw_network(&r, op);
            if (!m)
                continue;
            try_network(m, &t);
            pith_model_free(m);
        }
        if (t.let_through < LEAST_TRIED)
            print_error("operator %u: %u networks\n", op, t.let_through);
        broken += t.let_through < LEAST_TRIED;
        all.drawn += t.drawn;
        all.let_through += t.let_through;
        all.closed += t.closed;
        all.refused += t.refused;
        all.broken += t.broken;
    }
    print_message("%u networks, %u let through: %u closed, %u refused, %u broken\n", all.drawn,
                  all.let_through, all.closed, all.refused, all.broken);
    assert_int_equal(broken, 0);
    assert_int_equal(all.broken, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_operator)};
    return cmocka_run_group_tests_name("closure_drawn", tests, NULL, NULL);
}
