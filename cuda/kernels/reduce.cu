/* SPDX-License-Identifier: MIT */
/* reduce.cu - softmax, sums, means, norms: in the order of the CPU's sums (ref/sum_f32.h), so with
 * its bits. Element i of a row is added by lane i % 16 of a team; the lanes are folded
 * 16 -> 8 -> 4 -> 2 -> 1. (Exchanged both ways, lane k has what lane k ^ half has: a + b is b + a.)
 * Long rows go in pieces of 256, added in double. A lane loads AHEAD elements before it uses the
 * first: one behind the other, each would be waited for. */
#include "device_map.cuh"

#define PIECE 256u
#define PIECE_ROWS 64u /* of sums of columns */
#define AHEAD 8u

/* A row, or a piece of one, of values of a type. */
struct values {
    const void *x;
    uint32_t type;
};

DEVICE struct values row_of(const void *x, uint32_t type, size_t at)
{
    struct values v = {values_from(x, at, type), type};
    return v;
}

/* Elements at, at + step, ... of those below n; `other` where there is none. whole: all are there.
 * ahead, step and whether the type is VALUE_F32 are constants where this is called. */
DEVICE void load_ahead(struct values x, uint32_t at, uint32_t n, uint32_t ahead, uint32_t step,
                       bool whole, float other, float v[AHEAD])
{
    UNROLLED
    for (uint32_t k = 0; k < ahead; k++)
        v[k] = whole || at + k * step < n ? value_at(x.x, at + k * step, x.type) : other;
}

DEVICE float fold_team(float v)
{
    for (uint32_t half = LAUNCH_TEAM / 2; half > 0; half /= 2)
        v += shuffle_xor_f32(v, half);
    return v;
}

DEVICE float larger(float x, float than)
{
    return x > than ? x : than;
}

/* Of every step-th element from `first` on. */
DEVICE float part_max(struct values x, uint32_t n, uint32_t first, uint32_t ahead, uint32_t step)
{
    float max = value_at(x.x, 0, x.type), v[AHEAD];
    NOT_UNROLLED
    for (uint32_t at = first; at < n; at += ahead * step) {
        load_ahead(x, at, n, ahead, step, false, max, v);
        UNROLLED
        for (uint32_t k = 0; k < ahead; k++)
            max = larger(v[k], max);
    }
    return max;
}

DEVICE float team_max(struct values x, uint32_t n, uint32_t lane)
{
    float max = part_max(x, n, lane, AHEAD, LAUNCH_TEAM);
    for (uint32_t half = LAUNCH_TEAM / 2; half > 0; half /= 2)
        max = larger(shuffle_xor_f32(max, half), max);
    return max;
}

/* Rows of teams come in blocks of as many as there are teams, so that all lanes of a warp go the
 * same way; what lies beyond the last row is that row again, not written. */
#define FOR_TEAMS(row, rows)                                                                       \
    for (uint32_t row = BLOCK_X * LAUNCH_TEAMS + THREAD / LAUNCH_TEAM, first_row = row,            \
                  stop_row = ((rows) + LAUNCH_TEAMS - 1) / LAUNCH_TEAMS * LAUNCH_TEAMS;            \
         first_row < stop_row; first_row += BLOCKS_X * LAUNCH_TEAMS, row = first_row)

/* Whether AHEAD elements of a lane are there. */
DEVICE bool is_whole(uint32_t at, uint32_t n)
{
    return at + (AHEAD - 1) * LAUNCH_TEAM < n;
}

/* To sum, a lane's exponentials from element `at` on. */
DEVICE float exponentials(const struct softmax_args *arg, struct values x, uint32_t at, bool whole,
                          float max, float sum)
{
    float v[AHEAD];
    load_ahead(x, at, arg->n, AHEAD, LAUNCH_TEAM, whole, max, v);
    UNROLLED
    for (uint32_t k = 0; k < AHEAD; k++)
        if (whole || at + k * LAUNCH_TEAM < arg->n)
            sum += exp_f32(v[k] - max);
    return sum;
}

/* d: of an element, behind the largest. Exponentials are made once more: y may be too coarse for
 * them, and it takes less time than to leave them in memory. */
DEVICE void put_share(const struct softmax_args *arg, size_t at, float d, float sum)
{
    put_value(arg->y, at, arg->y_type, arg->is_log ? d - sum : exp_f32(d) * sum);
}

/* The row begins at element `first` of y. */
DEVICE void put_shares(const struct softmax_args *arg, struct values x, size_t first, uint32_t at,
                       bool whole, float max, float sum)
{
    float v[AHEAD];
    load_ahead(x, at, arg->n, AHEAD, LAUNCH_TEAM, whole, 0.0f, v);
    UNROLLED
    for (uint32_t k = 0; k < AHEAD; k++)
        if (whole || at + k * LAUNCH_TEAM < arg->n)
            put_share(arg, first + at + k * LAUNCH_TEAM, v[k] - max, sum);
}

DEVICE void share_rows(const struct softmax_args *arg, uint32_t type)
{
    const uint32_t lane = THREAD % LAUNCH_TEAM;
    FOR_TEAMS(row, arg->rows)
    {
        const bool there = row < arg->rows;
        const size_t first = (size_t)(there ? row : arg->rows - 1) * arg->n;
        const struct values x = row_of(arg->x, type, first);
        const uint32_t n = there ? arg->n : 0;
        float max = team_max(x, arg->n, lane), sum = 0.0f;
        uint32_t at = lane;
        for (; is_whole(at, n); at += AHEAD * LAUNCH_TEAM)
            sum = exponentials(arg, x, at, true, max, sum);
        if (at < n)
            sum = exponentials(arg, x, at, false, max, sum);
        sum = fold_team(sum);
        sum = arg->is_log ? log_f32(sum) : 1.0f / sum;
        for (at = lane; is_whole(at, n); at += AHEAD * LAUNCH_TEAM)
            put_shares(arg, x, first, at, true, max, sum);
        if (at < n)
            put_shares(arg, x, first, at, false, max, sum);
    }
}

KERNEL(softmax_rows, softmax_args){BODY_OF_TYPE(share_rows, arg)}

KERNEL(softmax_columns, softmax_args)
{
    FOR_EACH(i, arg->rows * arg->inner)
    {
        size_t at = (size_t)(i / arg->inner) * arg->n * arg->inner + i % arg->inner;
        const struct values x = row_of(arg->x, arg->x_type, at);
        float max = value_at(x.x, 0, x.type), sum = 0.0f;
        for (uint32_t k = 1; k < arg->n; k++)
            max = larger(value_at(x.x, (size_t)k * arg->inner, x.type), max);
        for (uint32_t k = 0; k < arg->n; k++)
            sum += exp_f32(value_at(x.x, (size_t)k * arg->inner, x.type) - max);
        sum = arg->is_log ? log_f32(sum) : 1.0f / sum;
        for (uint32_t k = 0; k < arg->n; k++)
            put_share(arg, at + (size_t)k * arg->inner,
                      value_at(x.x, (size_t)k * arg->inner, x.type) - max, sum);
    }
}

DEVICE uint32_t walk_offset(const struct launch_walk *w, uint32_t index)
{
    uint32_t offset = 0;
    for (uint32_t i = w->rank; i-- > 0;) {
        offset += index % w->dim[i] * w->step[i];
        index /= w->dim[i];
    }
    return offset;
}

DEVICE float summand(uint32_t kind, float x, float minus)
{
    if (kind == REDUCE_DEVICE_SUM_ABS)
        return x < 0.0f ? -x : x;
    if (kind == REDUCE_DEVICE_SUM_SQUARE || kind == REDUCE_DEVICE_ROOT)
        return (x - minus) * (x - minus);
    return x;
}

DEVICE float add_ahead(struct values x, uint32_t at, uint32_t n, uint32_t kind, float minus,
                       bool whole, float sum)
{
    float v[AHEAD];
    load_ahead(x, at, n, AHEAD, LAUNCH_TEAM, whole, 0.0f, v);
    UNROLLED
    for (uint32_t k = 0; k < AHEAD; k++)
        if (whole || at + k * LAUNCH_TEAM < n)
            sum += summand(kind, v[k], minus);
    return sum;
}

/* To sum, what a lane of a team adds. */
DEVICE float added_by_lane(struct values x, uint32_t n, uint32_t lane, uint32_t kind, float minus,
                           float sum)
{
    uint32_t at = lane;
    for (; is_whole(at, n); at += AHEAD * LAUNCH_TEAM)
        sum = add_ahead(x, at, n, kind, minus, true, sum);
    return at < n ? add_ahead(x, at, n, kind, minus, false, sum) : sum;
}

DEVICE float team_sum(struct values x, uint32_t n, uint32_t lane, uint32_t kind, float minus)
{
    return fold_team(added_by_lane(x, n, lane, kind, minus, 0.0f));
}

/* ---- softmax of few long rows ----------------------------------------------------------------
 * A block has a row. Only the additions, whose order is that of a team, are left to one warp, which
 * has them from shared memory, part by part; meanwhile the other warps make the next part. */

#define LONG_AHEAD 4u
#define LONG_PART (LONG_AHEAD * LAUNCH_THREADS)
#define WARPS (LAUNCH_THREADS / 32u)

struct long_row {
    float part[2][LONG_PART], max[WARPS], sum;
};

DEVICE float block_max(struct values x, uint32_t n, struct long_row *t)
{
    float max = part_max(x, n, THREAD, LONG_AHEAD, LAUNCH_THREADS);
    for (uint32_t half = 16; half > 0; half /= 2)
        max = larger(shuffle_xor_f32(max, half), max);
    if (THREAD % 32u == 0)
        t->max[THREAD / 32u] = max;
    barrier();
    UNROLLED
    for (uint32_t k = 0; k < WARPS; k++)
        max = larger(t->max[k], max);
    return max;
}

/* Two parts take turns, so that one barrier a part does: behind it the part before is added up. */
DEVICE float block_sum(const struct softmax_args *arg, struct values x, float max,
                       struct long_row *t)
{
    const uint32_t lane = THREAD % LAUNCH_TEAM;
    float sum = 0.0f, v[AHEAD];
    for (uint32_t at = 0; at < arg->n; at += LONG_PART) {
        const uint32_t left = arg->n - at;
        float *part = t->part[at / LONG_PART % 2u];
        load_ahead(x, at + THREAD, arg->n, LONG_AHEAD, LAUNCH_THREADS, false, max, v);
        UNROLLED
        for (uint32_t k = 0; k < LONG_AHEAD; k++)
            part[THREAD + k * LAUNCH_THREADS] = exp_f32(v[k] - max);
        barrier();
        if (THREAD < 32u)
            sum = added_by_lane(row_of(part, VALUE_F32, 0), left < LONG_PART ? left : LONG_PART,
                                lane, REDUCE_DEVICE_MEAN, 0.0f, sum);
    }
    if (THREAD < 32u)
        sum = fold_team(sum);
    if (THREAD == 0)
        t->sum = arg->is_log ? log_f32(sum) : 1.0f / sum;
    barrier();
    return t->sum;
}

DEVICE void share_long(struct long_row *t, const struct softmax_args *arg, uint32_t type)
{
    for (uint32_t row = BLOCK_X; row < arg->rows; row += BLOCKS_X) {
        const struct values x = row_of(arg->x, type, (size_t)row * arg->n);
        float v[AHEAD];
        const float max = block_max(x, arg->n, t), sum = block_sum(arg, x, max, t);
        for (uint32_t at = THREAD; at < arg->n; at += LONG_PART) {
            load_ahead(x, at, arg->n, LONG_AHEAD, LAUNCH_THREADS, false, max, v);
            UNROLLED
            for (uint32_t k = 0; k < LONG_AHEAD; k++)
                if (at + k * LAUNCH_THREADS < arg->n)
                    put_share(arg, (size_t)row * arg->n + at + k * LAUNCH_THREADS, v[k] - max, sum);
        }
    }
}

KERNEL(softmax_long, softmax_args)
{
    SHARED struct long_row t;
    BODY_OF_TYPE(share_long, &t, arg)
}

DEVICE double team_long_sum(struct values x, uint32_t n, uint32_t lane, uint32_t kind, float minus)
{
    double sum = 0;
    for (uint32_t at = 0; at < n; at += PIECE)
        sum += (double)team_sum(row_of(x.x, x.type, at), n - at < PIECE ? n - at : PIECE, lane,
                                kind, minus);
    return sum;
}

/* A loop a kind: testing the kind at each element takes twice the instructions. */
DEVICE double team_long_sum_of(struct values x, uint32_t n, uint32_t lane, uint32_t kind)
{
    if (kind == REDUCE_DEVICE_SUM)
        return team_long_sum(x, n, lane, REDUCE_DEVICE_SUM, 0.0f);
    if (kind == REDUCE_DEVICE_SUM_ABS)
        return team_long_sum(x, n, lane, REDUCE_DEVICE_SUM_ABS, 0.0f);
    return team_long_sum(x, n, lane, REDUCE_DEVICE_SUM_SQUARE, 0.0f);
}

DEVICE float reduced(const struct reduce_args *arg, double sum)
{
    if (arg->kind == REDUCE_DEVICE_MEAN)
        return (float)(sum / (double)arg->divisor);
    if (arg->kind == REDUCE_DEVICE_FLAT_MEAN)
        return (float)sum / arg->divisor;
    return arg->kind == REDUCE_DEVICE_ROOT ? square_root((float)sum) : (float)sum;
}

DEVICE void sum_up_rows(const struct reduce_args *arg, uint32_t type)
{
    const uint32_t lane = THREAD % LAUNCH_TEAM;
    const bool in_pieces = arg->kind >= REDUCE_DEVICE_SUM;
    FOR_TEAMS(row, arg->outputs)
    {
        const bool there = row < arg->outputs;
        const uint32_t at = walk_offset(&arg->kept, there ? row : arg->outputs - 1);
        double sum = 0;
        for (uint32_t r = 0; r < arg->reduced.count; r++) {
            const struct values piece = row_of(arg->x, type, at + walk_offset(&arg->reduced, r));
            sum += in_pieces ? team_long_sum_of(piece, arg->row, lane, arg->kind)
                             : (double)team_sum(piece, arg->row, lane, REDUCE_DEVICE_MEAN, 0.0f);
        }
        if (there && lane == 0)
            put_value(arg->y, row, arg->y_type, reduced(arg, sum));
    }
}

KERNEL(reduce_rows, reduce_args){BODY_OF_TYPE(sum_up_rows, arg)}

DEVICE double joined(uint32_t kind, double acc, float x)
{
    const double v = (double)x;
    switch (kind) {
    case REDUCE_DEVICE_MAX:
        return v > acc || v != v ? v : acc;
    case REDUCE_DEVICE_MIN:
        return v < acc || v != v ? v : acc;
    case REDUCE_DEVICE_FLAT_MAX:
        return v > acc ? v : acc;
    case REDUCE_DEVICE_PRODUCT:
        return acc * v;
    case REDUCE_DEVICE_SUM_ABS:
        return acc + (x < 0.0f ? -v : v);
    case REDUCE_DEVICE_SUM_SQUARE:
    case REDUCE_DEVICE_ROOT:
        return acc + v * v;
    default:
        return acc + v;
    }
}

DEVICE double first_value(uint32_t kind, float x)
{
    const double inf = (double)f32_from_bits(0x7f800000u);
    switch (kind) {
    case REDUCE_DEVICE_MAX:
        return -inf;
    case REDUCE_DEVICE_MIN:
        return inf;
    case REDUCE_DEVICE_FLAT_MAX:
        return (double)x;
    default:
        return kind == REDUCE_DEVICE_PRODUCT ? 1.0 : 0.0;
    }
}

KERNEL(reduce_columns, reduce_args)
{
    FOR_EACH(i, arg->outputs)
    {
        const uint32_t at = walk_offset(&arg->kept, i / arg->inner) + i % arg->inner;
        double acc = first_value(arg->kind, value_at(arg->x, at, arg->x_type));
        const struct launch_walk *w = &arg->reduced;
        const uint32_t axis = w->rank > 0 ? w->dim[w->rank - 1] : 1;
        const bool sums = arg->kind == REDUCE_DEVICE_MEAN || arg->kind == REDUCE_DEVICE_SUM;
        for (uint32_t r = 0, n; sums && r < w->count; r += n) {
            float piece = 0.0f;
            const uint32_t left = axis - r % axis;
            n = left < PIECE_ROWS ? left : PIECE_ROWS;
            for (uint32_t k = 0; k < n; k++)
                piece += value_at(arg->x, at + walk_offset(w, r + k), arg->x_type);
            acc += (double)piece;
        }
        for (uint32_t r = 0; !sums && r < w->count; r++) {
            const uint32_t row = at + walk_offset(w, r);
            for (uint32_t k = 0; k < arg->row; k++)
                acc = joined(arg->kind, acc, value_at(arg->x, row + k, arg->x_type));
        }
        put_value(arg->y, i, arg->y_type, reduced(arg, acc));
    }
}

DEVICE void normalize_rows(const struct norm_args *arg, uint32_t type)
{
    const uint32_t lane = THREAD % LAUNCH_TEAM, n = arg->n;
    FOR_TEAMS(row, arg->rows)
    {
        const bool there = row < arg->rows;
        const uint32_t at = there ? row : arg->rows - 1;
        const struct values x = row_of(arg->x, type, (size_t)at * n);
        float mean = 0.0f;
        if (!arg->about_zero)
            mean = (float)(team_long_sum(x, n, lane, REDUCE_DEVICE_SUM, 0.0f) / (double)n);
        double square = team_long_sum(x, n, lane, REDUCE_DEVICE_SUM_SQUARE, mean) / (double)n;
        float factor = 1.0f / square_root((float)square + arg->epsilon);
        const uint32_t first = at % arg->groups * arg->per_row;
        for (uint32_t i = lane; there && i < n; i += LAUNCH_TEAM) {
            const uint32_t k = first + i / arg->run;
            float v = (value_at(x.x, i, x.type) - mean) * (factor * arg->scale[k]);
            if (!arg->is_layer || arg->bias)
                v += arg->bias ? arg->bias[k] : 0.0f;
            put_value(arg->y, (size_t)row * n + i, arg->y_type, v);
        }
    }
}

KERNEL(norm_rows, norm_args)
{
    BODY_OF_TYPE(normalize_rows, arg)
}
