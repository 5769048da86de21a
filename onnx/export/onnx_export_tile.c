/* SPDX-License-Identifier: MIT */
/* onnx_export_tile.c - Tile as ONNX's Tile, or as Expand where only axes of 1 are repeated. Repeats
 * that follow another tensor's rows (an entry of 0) are put together from its shape:
 *
 *     Shape(reference) -- Gather(0) -- Concat(entries before, ., entries behind) -- repeats */
#include "onnx_export.h"
#include "base/error_fill.h"
#include "op_interface/op_attr.h"

/* Entries [from, to) as an initializer, if there are any. */
static void put_entries(struct op_export *e, Onnx__NodeProto *node, uint32_t from, uint32_t to)
{
    int64_t v[PITH_MAX_RANK];
    for (uint32_t i = from; i < to; i++)
        v[i - from] = e->node->attr[ATTR_TILE_REPEATS + 1 + i];
    if (to > from)
        pith_export_input(node, pith_export_ints_tensor(e->x, v, to - from));
}

/* Name of the repeats, entry `at` being the reference's rows; the nodes stand in front of e->to. */
static const char *computed_repeats(struct op_export *e, uint32_t n, uint32_t at)
{
    static const int64_t first[] = {0};
    struct onnx_export *x = e->x;
    char *shape = pith_export_name(x, "shape"), *rows = pith_export_name(x, "rows");
    char *repeats = pith_export_name(x, "repeats");
    Onnx__NodeProto *made[3];
    static const char *const op[3] = {"Shape", "Gather", "Concat"};
    for (uint32_t i = 0; i < 3; i++)
        made[i] = pith_export_node(x, op[i], "");
    if (x->failed)
        return NULL;
    for (uint32_t i = 0; i < 3; i++)
        x->graph.node[x->graph.n_node - 4 + i] = made[i];
    x->graph.node[x->graph.n_node - 1] = e->to;
    pith_export_input(made[0], x->names[e->node->in[1]]);
    pith_export_output(made[0], shape);
    pith_export_input(made[1], shape);
    pith_export_input(made[1], pith_export_ints_tensor(x, first, 1));
    pith_export_output(made[1], rows);
    put_entries(e, made[2], 0, at);
    pith_export_input(made[2], rows);
    put_entries(e, made[2], at + 1, n);
    pith_export_output(made[2], repeats);
    pith_export_int(x, made[2], "axis", 0);
    return repeats;
}

enum pith_status pith_export_tile(struct op_export *e)
{
    const struct pith_value *x = &e->x->m->values[e->node->in[0]];
    const int32_t *entry = e->node->attr + ATTR_TILE_REPEATS + 1;
    uint32_t n = attr_count(e->node->attr, ATTR_TILE_REPEATS), follows = n, n_follow = 0;
    bool expands = true;
    for (uint32_t i = 0; i < n; i++) {
        if (i + x->rank >= n && entry[i] != 1)
            expands = expands && x->dim[i + x->rank - n] == 1;
        if (entry[i] == 0) {
            follows = i;
            n_follow++;
        }
    }
    if ((!expands && n != x->rank) || n_follow > 1)
        return pith_error_fill(e->x->err, PITH_ERR_UNSUPPORTED,
                               "cannot write node '%.100s' (Tile) as ONNX opset 13: repeats of "
                               "another number of dims",
                               e->node->name);
    e->to->n_input = 1; /* the reference goes into the repeats */
    if (expands)
        pith_export_rename(e, n ? "Expand" : "Identity");
    if (n_follow)
        pith_export_input(e->to, computed_repeats(e, n, follows));
    else
        put_entries(e, e->to, 0, n);
    return PITH_OK;
}
