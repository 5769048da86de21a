/* SPDX-License-Identifier: MIT */
#include "op_interface/broadcast.h"
#include "op_interface/op_range.h"
#include "op_interface/strided_copy.h"

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

/* Elements of an operand before a place of the first n axes. */
static size_t offset_over(const struct broadcast *bc, uint32_t which, uint32_t n, size_t place)
{
    size_t offset = 0;
    for (uint32_t i = n; i-- > 0;) {
        offset += place % bc->dim[i] * bc->step[which][i];
        place /= bc->dim[i];
    }
    return offset;
}

/* Row numbers count all axes but the last, in the order of y. */
size_t pith_broadcast_offset(const struct broadcast *bc, uint32_t which, size_t row)
{
    return offset_over(bc, which, bc->rank - 1, row);
}

struct broadcast_job {
    const struct broadcast *bc;
    pith_broadcast_row *row;
    const uint8_t *a, *b;
    uint8_t *y;
    size_t bytes[3]; /* of an element of a, b, y */
    size_t row_elems, pieces;
    struct {                 /* of short rows */
        uint32_t axis;       /* the first of those within a tile */
        size_t inner, count; /* elements of a step along it, and steps */
        size_t tiles;        /* along it */
        bool dense[2];       /* the operand lies as y does */
    } tile;
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

/* ---- short rows ----------------------------------------------------------------------------- */

#if defined(__x86_64__) || defined(__aarch64__)
/* Starting a row takes as long as computing some tens of elements. So as many short rows as make a
 * tile are computed as one row of y, on copies of operands that do not lie as it does. */
#define SHORT_ROW 32u
#define REPEATED_ROW 128u /* of an operand that is the same in all tiles: it is copied once */
#define TILE 512u
#define TILE_BYTES (8u * TILE)

static void set_tile(struct broadcast_job *j)
{
    const struct broadcast *bc = j->bc;
    uint32_t axis = bc->rank - 1;
    size_t inner = 1;
    while (axis > 0 && inner * bc->dim[axis] <= TILE)
        inner *= bc->dim[axis--];
    j->tile.axis = axis;
    j->tile.inner = inner;
    j->tile.count = TILE / inner < bc->dim[axis] ? TILE / inner : bc->dim[axis];
    j->tile.tiles = (bc->dim[axis] + j->tile.count - 1) / j->tile.count;
    for (uint32_t k = 0; k < 2; k++) {
        size_t step = 1;
        j->tile.dense[k] = true;
        for (uint32_t i = bc->rank; i-- > axis; step *= bc->dim[i])
            j->tile.dense[k] = j->tile.dense[k] && bc->step[k][i] == step;
    }
}

/* n elements of an operand's tile, one after the other. */
static void copy_tile(const struct broadcast_job *j, uint32_t which, const uint8_t *from, size_t n,
                      uint8_t *to)
{
    const struct broadcast *bc = j->bc;
    const uint32_t last = bc->rank - 1;
    const size_t bytes = j->bytes[which];
    size_t at[PITH_MAX_RANK] = {0};
    for (size_t done = 0; done < n; done += j->row_elems, to += j->row_elems * bytes) {
        pith_copy_row(from, (ptrdiff_t)bc->step[which][last], to, 1, j->row_elems, (uint32_t)bytes);
        for (uint32_t i = last; i-- > j->tile.axis;) {
            from += bc->step[which][i] * bytes;
            if (++at[i] < bc->dim[i])
                break;
            from -= bc->dim[i] * bc->step[which][i] * bytes;
            at[i] = 0;
        }
    }
}

/* Items are tiles. What repeats from tile to tile is copied once. */
static void run_tiles(void *arg, size_t begin, size_t end)
{
    const struct broadcast_job *j = arg;
    const uint8_t *data[2] = {j->a, j->b};
    uint64_t copy[2][TILE_BYTES / 8];
    const uint8_t *copied[2] = {NULL, NULL};
    size_t n_copied[2] = {0, 0};
    for (size_t item = begin; item < end; item++) {
        const size_t outer = item / j->tile.tiles, first = item % j->tile.tiles * j->tile.count;
        const size_t dim = j->bc->dim[j->tile.axis], left = dim - first;
        const size_t n = (left < j->tile.count ? left : j->tile.count) * j->tile.inner;
        const void *operand[2];
        for (uint32_t k = 0; k < 2; k++) {
            const size_t at = offset_over(j->bc, k, j->tile.axis, outer);
            const uint8_t *from =
                data[k] + (at + first * j->bc->step[k][j->tile.axis]) * j->bytes[k];
            operand[k] = j->tile.dense[k] ? (const void *)from : copy[k];
            if (j->tile.dense[k] || (copied[k] == from && n_copied[k] >= n))
                continue;
            copy_tile(j, k, from, n, (uint8_t *)copy[k]);
            copied[k] = from, n_copied[k] = n;
        }
        j->row(operand[0], 1, operand[1], 1,
               j->y + (outer * dim + first) * j->tile.inner * j->bytes[2], n);
    }
}

#endif

/* Long rows are cut into pieces, so that one long row feeds several threads, too. */
void pith_broadcast_run(const struct broadcast *bc, const struct op_env *env,
                        pith_broadcast_row *row, const struct broadcast_data *data)
{
    size_t row_elems = bc->dim[bc->rank - 1], rows = 1;
    for (uint32_t i = 0; i + 1 < bc->rank; i++)
        rows *= bc->dim[i];
    size_t pieces = (row_elems + PIECE - 1) / PIECE;
    struct broadcast_job job = {.bc = bc,
                                .row = row,
                                .a = data->a,
                                .b = data->b,
                                .y = data->y,
                                .bytes = {data->bytes[0], data->bytes[1], data->bytes[2]},
                                .row_elems = row_elems,
                                .pieces = pieces};
#ifdef SHORT_ROW
    const uint32_t last = bc->rank - 1;
    const bool repeated = last == 1 && ((bc->step[0][0] == 0 && bc->step[0][1] == 1) ||
                                        (bc->step[1][0] == 0 && bc->step[1][1] == 1));
    if (rows > 1 && row_elems < (repeated ? REPEATED_ROW : SHORT_ROW)) {
        set_tile(&job);
        size_t outer = 1;
        for (uint32_t i = 0; i < job.tile.axis; i++)
            outer *= bc->dim[i];
        pith_op_range(env, outer * job.tile.tiles, job.tile.count * job.tile.inner, run_tiles,
                      &job);
        return;
    }
#endif
    pith_op_range(env, rows * pieces, row_elems < PIECE ? row_elems : PIECE, run_pieces, &job);
}
