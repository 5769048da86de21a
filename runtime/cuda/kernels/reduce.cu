/* SPDX-License-Identifier: MIT */
/* reduce.cu - softmax, sums, means, norms: in the order of the CPU's sums (ref/sum_f32.h), so with
 * its bits. Element i of a row is added by lane i % 16 of a team; the lanes are folded
 * 16 -> 8 -> 4 -> 2 -> 1. (Exchanged both ways, lane k has what lane k ^ half has: a + b is b + a.)
 * Long rows go in pieces of 256, added in double. */
#include "device_map.cuh"

#define PIECE 256u

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

DEVICE float team_max(const float *x, uint32_t n, uint32_t lane)
{
    float max = x[0];
    for (uint32_t i = lane; i < n; i += LAUNCH_TEAM)
        max = larger(x[i], max);
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

KERNEL(softmax_rows, softmax_args)
{
    const uint32_t lane = THREAD % LAUNCH_TEAM, n = arg->n;
    FOR_TEAMS(row, arg->rows)
    {
        const bool there = row < arg->rows;
        const float *x = arg->x + (size_t)(there ? row : arg->rows - 1) * n;
        float *y = arg->y + (size_t)row * n;
        float max = team_max(x, n, lane), sum = 0.0f;
        for (uint32_t i = lane; there && i < n; i += LAUNCH_TEAM) {
            float d = x[i] - max, e = exp_f32(d);
            sum += e;
            y[i] = arg->is_log ? d : e;
        }
        sum = fold_team(sum);
        if (arg->is_log)
            sum = log_f32(sum);
        for (uint32_t i = lane; there && i < n; i += LAUNCH_TEAM)
            y[i] = arg->is_log ? y[i] - sum : y[i] / sum;
    }
}

KERNEL(softmax_columns, softmax_args)
{
    FOR_EACH(i, arg->rows * arg->inner)
    {
        size_t at = (size_t)(i / arg->inner) * arg->n * arg->inner + i % arg->inner;
        const float *x = arg->x + at;
        float *y = arg->y + at, max = x[0], sum = 0.0f;
        for (uint32_t k = 1; k < arg->n; k++)
            max = larger(x[(size_t)k * arg->inner], max);
        for (uint32_t k = 0; k < arg->n; k++) {
            float d = x[(size_t)k * arg->inner] - max, e = exp_f32(d);
            sum += e;
            y[(size_t)k * arg->inner] = arg->is_log ? d : e;
        }
        sum = arg->is_log ? log_f32(sum) : sum;
        for (uint32_t k = 0; k < arg->n; k++) {
            float *p = &y[(size_t)k * arg->inner];
            *p = arg->is_log ? *p - sum : *p / sum;
        }
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

DEVICE float team_sum(const float *x, uint32_t n, uint32_t lane, uint32_t kind, float minus)
{
    float sum = 0.0f;
    for (uint32_t i = lane; i < n; i += LAUNCH_TEAM)
        sum += summand(kind, x[i], minus);
    return fold_team(sum);
}

DEVICE double team_long_sum(const float *x, uint32_t n, uint32_t lane, uint32_t kind, float minus)
{
    double sum = 0;
    for (uint32_t at = 0; at < n; at += PIECE)
        sum += (double)team_sum(x + at, n - at < PIECE ? n - at : PIECE, lane, kind, minus);
    return sum;
}

DEVICE float reduced(const struct reduce_args *arg, double sum)
{
    if (arg->kind == REDUCE_DEVICE_MEAN)
        return (float)(sum / (double)arg->divisor);
    if (arg->kind == REDUCE_DEVICE_FLAT_MEAN)
        return (float)sum / arg->divisor;
    return arg->kind == REDUCE_DEVICE_ROOT ? square_root((float)sum) : (float)sum;
}

KERNEL(reduce_rows, reduce_args)
{
    const uint32_t lane = THREAD % LAUNCH_TEAM;
    const bool in_pieces = arg->kind >= REDUCE_DEVICE_SUM;
    FOR_TEAMS(row, arg->outputs)
    {
        const bool there = row < arg->outputs;
        const float *x = arg->x + walk_offset(&arg->kept, there ? row : arg->outputs - 1);
        double sum = 0;
        for (uint32_t r = 0; r < arg->reduced.count; r++) {
            const float *piece = x + walk_offset(&arg->reduced, r);
            sum += in_pieces ? team_long_sum(piece, arg->row, lane, arg->kind, 0.0f)
                             : (double)team_sum(piece, arg->row, lane, arg->kind, 0.0f);
        }
        if (there && lane == 0)
            arg->y[row] = reduced(arg, sum);
    }
}

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
        const float *x = arg->x + walk_offset(&arg->kept, i / arg->inner) + i % arg->inner;
        double acc = first_value(arg->kind, x[0]);
        for (uint32_t r = 0; r < arg->reduced.count; r++) {
            const float *row = x + walk_offset(&arg->reduced, r);
            for (uint32_t k = 0; k < arg->row; k++)
                acc = joined(arg->kind, acc, row[k]);
        }
        arg->y[i] = reduced(arg, acc);
    }
}

KERNEL(norm_rows, norm_args)
{
    const uint32_t lane = THREAD % LAUNCH_TEAM, n = arg->n;
    FOR_TEAMS(row, arg->rows)
    {
        const bool there = row < arg->rows;
        const uint32_t at = there ? row : arg->rows - 1;
        const float *x = arg->x + (size_t)at * n;
        float mean = (float)(team_long_sum(x, n, lane, REDUCE_DEVICE_SUM, 0.0f) / (double)n);
        double square = team_long_sum(x, n, lane, REDUCE_DEVICE_SUM_SQUARE, mean) / (double)n;
        float factor = 1.0f / square_root((float)square + arg->epsilon);
        const uint32_t first = at % arg->groups * arg->per_row;
        for (uint32_t i = lane; there && i < n; i += LAUNCH_TEAM) {
            const uint32_t k = first + i / arg->run;
            float v = (x[i] - mean) * (factor * arg->scale[k]);
            bool adds = !arg->is_layer || arg->bias || i >= n / LAUNCH_TEAM * LAUNCH_TEAM;
            arg->y[(size_t)row * n + i] = adds ? v + (arg->bias ? arg->bias[k] : 0.0f) : v;
        }
    }
}
