/* SPDX-License-Identifier: MIT */
/* The reader of graphs, counting: inputs and outputs, and for each operator all attributes and all
 * wiring, in graph chunks of any length. Attributes stay inside of the operator's slots; no list is
 * read or copied beyond its own. (Not shown: that the second pass, which stores, needs what the
 * first has counted. Both are the same code on the same bytes.) */
#include "any_reader.h"
#include "runtime/validate/graph_parse.c"
#include "runtime/op_interface/op_attr.c"

static uint8_t bytes[1];
static const struct image image = {.blob = bytes};
static struct pith_error error;

/* A tensor is read elsewhere (weight_head.c, weight_read.c). */
enum pith_status pith_parse_weight(struct graph_parse *p, struct weight *w)
{
    p->weight_at = (uint32_t)any_u64();
    w->count = any_u64();
    return Frama_C_interval(0, 1) ? PITH_OK : PITH_ERR_CORRUPT;
}

enum pith_status pith_parse_weights_end(struct graph_parse *p)
{
    return p->data_at == any_u64() ? PITH_OK : PITH_ERR_CORRUPT;
}

bool pith_parse_dims(struct reader *r, struct shape *s, uint32_t first, bool square)
{
    any_bytes((uint8_t *)s->dim, sizeof s->dim);
    return any_step(r) && first <= s->rank + square;
}

enum pith_status pith_shape_count(const struct shape *s, uint64_t *count)
{
    *count = s->rank * any_u64();
    return Frama_C_interval(0, 1) ? PITH_OK : PITH_ERR_CORRUPT;
}

uint32_t pith_type_bytes(enum pith_type type)
{
    return type == PITH_F32 ? 4 : (uint32_t)Frama_C_interval(0, 8);
}

enum pith_status pith_fail(struct pith_error *err, enum pith_status status, uint32_t chunk,
                           uint64_t offset)
{
    return err && chunk != offset ? status : status;
}

/* Counting, somewhere among nodes. */
static struct graph_parse any_place(void)
{
    struct graph_parse p = {.im = &image, .err = &error, .r = reader_of(bytes, 1)};
    p.g.n_inputs = (uint32_t)Frama_C_interval(1, MAX_INPUTS);
    p.g.n_weights = (uint32_t)Frama_C_interval(0, MAX_WEIGHTS);
    p.g.n_values = (uint32_t)Frama_C_interval(1, MAX_VALUES);
    p.n_introduced = (uint32_t)Frama_C_interval(0, MAX_WEIGHTS);
    p.chain = (uint32_t)Frama_C_interval(0, MAX_VALUES);
    return p;
}

static void attributes(const struct op_info *info)
{
    int32_t room[PITH_OP_MAX_SLOTS];
    int32_t *attr = room + PITH_OP_MAX_SLOTS - info->n_slots;
    struct graph_parse p = any_place();
    pith_op_attr_defaults(info, attr);
    p.attributes[info->op] = Frama_C_interval(0, 1) ? bytes : NULL;
    if (parse_attributes(&p, info, attr) == PITH_OK)
        pith_op_check(info, attr, (uint32_t)any_u64(), (uint32_t)any_u64());
}

static void wiring(const struct op_info *info)
{
    struct graph_parse p = any_place();
    struct graph_node node = {.info = info, .first_out = p.g.n_values};
    if (Frama_C_interval(0, 1) ? explicit_wiring(&p, &node) : default_wiring(&p, &node))
        return;
    //@ assert node.n_in <= 65535;
    //@ assert node.n_out <= 65535;
}

int main(void)
{
    bool lists_outputs;
    any_bytes(bytes, sizeof bytes);
    //@ loop unroll 100;
    for (uint32_t op = 0; op < PITH_OP_END; op++) {
        const struct op_info *info = pith_op_get(op);
        if (info) {
            attributes(info);
            wiring(info);
        }
    }
    struct graph_parse p = any_place();
    parse_inputs(&p, &lists_outputs);
    parse_outputs(&p, lists_outputs);
    return 0;
}
