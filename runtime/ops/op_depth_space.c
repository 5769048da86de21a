/* SPDX-License-Identifier: MIT */
/* op_depth_space.c - DepthToSpace and SpaceToDepth with blocks of B x B: six axes in another order.
 *
 *     DCR             x [N, B, B, C, H, W]  ->  y [N, C, H, B, W, B]
 *     CRD             x [N, C, B, B, H, W]  ->  the same
 *     SpaceToDepth    x [N, C, H, B, W, B]  ->  y [N, B, B, C, H, W]
 *
 * ONNX DepthToSpace-13 and SpaceToDepth-13. strided_copy.c merges what stays together and copies
 * rows, so that no loop over six axes is here. DCR and CRD differ in whether the block's offset
 * is the slow or the fast part of the channel; PyTorch's PixelShuffle is CRD. */
#include "ops/op_list.h"
#include "op_interface/shape_rule.h"
#include "op_interface/strided_copy.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

enum { DCR = 0, CRD = 1, SPACE_TO_DEPTH = 2 };

static enum pith_status shape_depth_space(const struct op_args *args)
{
    enum pith_status st = pith_in_present(args, 1);
    if (st)
        return st;
    struct shape s = args->in[0]->shape;
    uint32_t block = (uint32_t)args->attr[ATTR_DEPTH_SPACE_BLOCK]; /* 1..2^15: squared < 2^31 */
    if (s.rank != 4)
        return PITH_ERR_CORRUPT;
    if (args->attr[ATTR_DEPTH_SPACE_KIND] == SPACE_TO_DEPTH) {
        uint64_t channels = (uint64_t)s.dim[1] * block * block;
        if (s.dim[2] % block || s.dim[3] % block || channels > INT32_MAX)
            return PITH_ERR_CORRUPT;
        s.dim[1] = (uint32_t)channels;
        s.dim[2] /= block;
        s.dim[3] /= block;
    } else {
        uint64_t height = (uint64_t)s.dim[2] * block, width = (uint64_t)s.dim[3] * block;
        if (s.dim[1] % (block * block) || height > INT32_MAX || width > INT32_MAX)
            return PITH_ERR_CORRUPT;
        s.dim[1] /= block * block;
        s.dim[2] = (uint32_t)height;
        s.dim[3] = (uint32_t)width;
    }
    return pith_out_set(args->out[0], args->in[0]->type, &s);
}

static void run_depth_space(const struct op_args *args, const struct op_env *env)
{
    /* from[kind][i]: the axis of x that axis i of y is, as the table above shows them. */
    static const uint8_t from[3][6] = {{0, 3, 4, 1, 5, 2}, {0, 1, 4, 2, 5, 3}, {0, 3, 5, 1, 2, 4}};
    const struct tview *x = args->in[0], *y = args->out[0];
    int32_t kind = args->attr[ATTR_DEPTH_SPACE_KIND];
    size_t b = (size_t)args->attr[ATTR_DEPTH_SPACE_BLOCK], n = x->shape.dim[0];
    const uint32_t *small = kind == SPACE_TO_DEPTH ? y->shape.dim : x->shape.dim;
    size_t c = kind == SPACE_TO_DEPTH ? x->shape.dim[1] : y->shape.dim[1];
    size_t h = small[2], w = small[3];
    const size_t dims[3][6] = {{n, b, b, c, h, w}, {n, c, b, b, h, w}, {n, c, h, b, w, b}};
    struct strided_copy box = {.rank = 6};
    for (uint32_t i = 0; i < 6; i++) {
        /* Row-major steps of x, in the order of y's axes. */
        box.dim[i] = dims[kind][from[kind][i]];
        box.step[i] = 1;
        for (uint32_t k = from[kind][i] + 1u; k < 6; k++)
            box.step[i] *= (ptrdiff_t)dims[kind][k];
    }
    pith_strided_copy(&box, env, pith_type_bytes(x->type), x->data, y->data);
}

static const struct attr_field fields[] = {
    {ATTR_INT, ATTR_DEPTH_SPACE_KIND, 0, DCR, SPACE_TO_DEPTH},
    {ATTR_INT, ATTR_DEPTH_SPACE_BLOCK, 0, 1, 1 << 15},
};

const struct op_info pith_op_depth_space = {
    .op = PITH_OP_DEPTH_SPACE,
    .n_in_min = 1,
    .n_in_max = 1,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = 2,
    .n_slots = 2,
    .fields = fields,
    .traits = {.flags = TRAIT_MOVES},
    .shape = shape_depth_space,
    .run = run_depth_space,
};
