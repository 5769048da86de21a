/* SPDX-License-Identifier: MIT */
#include "op_interface/broadcast.h"
#include "op_interface/op_range.h"

#define PIECE 4096u /* elements of a long row that one call computes: the unit of threads */

/* Dim of axis i counted in an aligned rank; 1 where the shape has no such axis. */
static uint32_t aligned_dim(const struct shape *s, uint32_t rank, uint32_t i)
{
    uint32_t missing = rank - s->rank;
    return i < missing ? 1 : s->dim[i - missing];
}

/* ONNX's multidirectional broadcasting (as NumPy's): shapes are aligned at their last axes, and an
 * axis of 1 is repeated. *out is untouched on failure; it may be a or b. */
enum pith_status pith_broadcast_shape(const struct shape *a, const struct shape *b,
                                      struct shape *out)
{
    struct shape s = {.rank = a->rank > b->rank ? a->rank : b->rank};
    for (uint32_t i = 0; i < s.rank; i++) {
        uint32_t da = aligned_dim(a, s.rank, i), db = aligned_dim(b, s.rank, i);
        if (da != db && da != 1 && db != 1)
            return PITH_ERR_CORRUPT;
        s.dim[i] = da == 1 ? db : da;
    }
    uint64_t count;
    enum pith_status st = pith_shape_count(&s, &count);
    if (st == PITH_OK)
        *out = s;
    return st;
}

/* Merges axis (dim, step a, step b) into the axis before it where both operands allow. Two axes are
 * one when the outer step is the inner step times the inner dim: that is so of dense operands, and
 * of repeated ones, whose steps both are 0. Rows are then longer and fewer. */
static void push_axis(struct broadcast *bc, size_t dim, size_t step_a, size_t step_b)
{
    if (dim == 1)
        return;
    if (bc->rank > 0) {
        uint32_t last = bc->rank - 1;
        if (bc->step[0][last] == step_a * dim && bc->step[1][last] == step_b * dim) {
            bc->dim[last] *= dim;
            bc->step[0][last] = step_a;
            bc->step[1][last] = step_b;
            return;
        }
    }
    bc->dim[bc->rank] = dim;
    bc->step[0][bc->rank] = step_a;
    bc->step[1][bc->rank] = step_b;
    bc->rank++;
}

/* Steps count elements of the operand; where it is repeated the step is 0. Axes of 1 in both are
 * left out, and rank is at least 1, so that there always is a row. */
struct broadcast pith_broadcast_plan(const struct shape *a, const struct shape *b)
{
    uint32_t rank = a->rank > b->rank ? a->rank : b->rank;
    size_t step[2][PITH_MAX_RANK];
    size_t n[2] = {1, 1};
    for (uint32_t i = rank; i-- > 0;) {
        uint32_t d[2] = {aligned_dim(a, rank, i), aligned_dim(b, rank, i)};
        for (uint32_t k = 0; k < 2; k++) {
            step[k][i] = d[k] == 1 ? 0 : n[k];
            n[k] *= d[k];
        }
    }
    struct broadcast bc = {.rank = 0};
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t da = aligned_dim(a, rank, i), db = aligned_dim(b, rank, i);
        push_axis(&bc, da == 1 ? db : da, step[0][i], step[1][i]);
    }
    if (bc.rank == 0) { /* one element */
        bc.dim[0] = 1;
        bc.rank = 1;
    }
    return bc;
}

/* Row numbers count all axes but the last, in the order of y. */
size_t pith_broadcast_offset(const struct broadcast *bc, uint32_t which, size_t row)
{
    size_t offset = 0;
    for (uint32_t i = bc->rank - 1; i-- > 0;) {
        offset += row % bc->dim[i] * bc->step[which][i];
        row /= bc->dim[i];
    }
    return offset;
}

struct broadcast_job {
    const struct broadcast *bc;
    pith_broadcast_row *row;
    const uint8_t *a, *b;
    uint8_t *y;
    size_t bytes[3]; /* of an element of a, b, y */
    size_t row_elems, pieces;
};

/* Items are pieces of rows, row by row. */
static void run_pieces(void *arg, size_t begin, size_t end)
{
    const struct broadcast_job *j = arg;
    uint32_t inner = j->bc->rank - 1;
    size_t sa = j->bc->step[0][inner], sb = j->bc->step[1][inner];
    for (size_t item = begin; item < end; item++) {
        size_t row = item / j->pieces, first = item % j->pieces * PIECE;
        size_t n = j->row_elems - first < PIECE ? j->row_elems - first : PIECE;
        const uint8_t *a = j->a + (pith_broadcast_offset(j->bc, 0, row) + first * sa) * j->bytes[0];
        const uint8_t *b = j->b + (pith_broadcast_offset(j->bc, 1, row) + first * sb) * j->bytes[1];
        j->row(a, sa, b, sb, j->y + (row * j->row_elems + first) * j->bytes[2], n);
    }
}

/* Long rows are cut into pieces, so that one long row feeds several threads, too. */
void pith_broadcast_run_mixed(const struct broadcast *bc, const struct op_env *env,
                              pith_broadcast_row *row, const void *a, const void *b, void *y,
                              const uint32_t bytes[3])
{
    size_t row_elems = bc->dim[bc->rank - 1], rows = 1;
    for (uint32_t i = 0; i + 1 < bc->rank; i++)
        rows *= bc->dim[i];
    size_t pieces = (row_elems + PIECE - 1) / PIECE;
    struct broadcast_job job = {bc,        row,   a, b, y, {bytes[0], bytes[1], bytes[2]},
                                row_elems, pieces};
    pith_op_range(env, rows * pieces, row_elems < PIECE ? row_elems : PIECE, run_pieces, &job);
}

void pith_broadcast_run(const struct broadcast *bc, const struct op_env *env,
                        pith_broadcast_row *row, const void *a, const void *b, void *y,
                        uint32_t elem_bytes)
{
    const uint32_t bytes[3] = {elem_bytes, elem_bytes, elem_bytes};
    pith_broadcast_run_mixed(bc, env, row, a, b, y, bytes);
}
