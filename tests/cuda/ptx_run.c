/* SPDX-License-Identifier: MIT */
/* ptx_run.c - runs instructions of PTX, a block after the other (ptx.h), each for all its lanes at
 * once, as it is looked up once so and its loops become vectors. Registers and shared memory begin
 * as NaN. Refused, with the line of the text: a shuffle, product of matrices or barrier that not
 * all lanes of a warp come to, a barrier that some thread has passed by, an address out of line or
 * beyond shared memory. */
#include "ptx_numbers.h"
#include "ptx_warp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "half_values.h"
#include "cuda/driver.h"
#include "cuda/kernels/launch.h"

#define MOST_WARPS (1024u / PTX_LANES)

/* Those that an instruction is done for, in turn. */
struct lanes {
    uint32_t n;
    uint8_t of[PTX_LANES];
};

struct machine {
    const struct ptx_kernel *k;
    const uint8_t *arg;
    uint32_t block[3], blocks_x;
    uint8_t *shared;
    struct warp warp[MOST_WARPS];
    uint32_t warps, shared_bytes;
    uint32_t now; /* the warp that runs */
    bool looks;   /* it has read what another block may write, and lets those run */
    struct ptx_counts *counts;
};

static _Noreturn void refuse(const struct machine *m, const struct ptx_instruction *i,
                             const char *why)
{
    fprintf(stderr, "ptx: kernel %s, line %u, block %u %u %u, warp %u: %s\n", m->k->name, i->line,
            m->block[0], m->block[1], m->block[2], m->now, why);
    abort();
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

/* v = what becomes of x, y and z, the operands a, b and c of each lane. */
#define EACH(type, result)                                                                         \
    for (uint32_t k = 0; k < n; k++) {                                                             \
        const type x = (type)a[k], y = (type)b[k], z = (type)c[k];                                 \
        (void)x, (void)y, (void)z;                                                                 \
        v[k] = (uint64_t)(result);                                                                 \
    }                                                                                              \
    return
/* The same of floats. */
#define EACH_FLOAT(type, of_bits, bits_of, nan, result)                                            \
    for (uint32_t k = 0; k < n; k++) {                                                             \
        const type x = of_bits(a[k]), y = of_bits(b[k]), z = of_bits(c[k]), r = (result);          \
        (void)y, (void)z;                                                                          \
        v[k] = r != r ? nan : bits_of(r);                                                          \
    }                                                                                              \
    return

#define FLOAT_OPS(EACH_ONE, fused, root)                                                           \
    switch (i->op) {                                                                               \
    case PTX_ADD:                                                                                  \
        EACH_ONE(x + y);                                                                           \
    case PTX_SUB:                                                                                  \
        EACH_ONE(x - y);                                                                           \
    case PTX_MUL:                                                                                  \
        EACH_ONE(x *y);                                                                            \
    case PTX_DIV:                                                                                  \
        EACH_ONE(x / y);                                                                           \
    case PTX_FMA:                                                                                  \
        EACH_ONE(fused(x, y, z));                                                                  \
    case PTX_RCP:                                                                                  \
        EACH_ONE(1 / x);                                                                           \
    case PTX_SQRT:                                                                                 \
        EACH_ONE(root(x));                                                                         \
    case PTX_MIN:                                                                                  \
        EACH_ONE(isnan(x) ? y : isnan(y) || x < y || (x == y && signbit(x)) ? x : y);              \
    case PTX_MAX:                                                                                  \
        EACH_ONE(isnan(x) ? y : isnan(y) || x > y || (x == y && signbit(y)) ? x : y);              \
    default:                                                                                       \
        refuse(m, i, "not of floats");                                                             \
    }

#define EACH_F32(result) EACH_FLOAT(float, f32_of, f32_bits, not_a_number(PTX_F32), result)
#define EACH_F64(result) EACH_FLOAT(double, f64_from_bits, f64_bits, not_a_number(PTX_F64), result)

static void float_op(const struct machine *m, const struct ptx_instruction *i, const uint64_t *a,
                     const uint64_t *b, const uint64_t *c, uint64_t *v, uint32_t n)
{
    const uint64_t sign = i->type == PTX_F32 ? 0x80000000 : 1ull << 63;
    if (i->op == PTX_NEG) {
        EACH(uint64_t, x ^ sign);
    }
    if (i->type == PTX_F64) {
        FLOAT_OPS(EACH_F64, fma, sqrt)
    }
    FLOAT_OPS(EACH_F32, fmaf, sqrtf)
}

static uint64_t divide(const struct machine *m, const struct ptx_instruction *i, uint64_t a,
                       uint64_t b)
{
    bool rest = i->op == PTX_REM;
    if (!b)
        refuse(m, i, "division by zero");
    if (!is_signed(i->type))
        return rest ? a % b : a / b;
    if (b == UINT64_MAX) /* the least number has no opposite */
        return rest ? 0 : 0 - a;
    return (uint64_t)(rest ? (int64_t)a % (int64_t)b : (int64_t)a / (int64_t)b);
}

static uint64_t shift_right(const struct ptx_instruction *i, uint64_t a, uint64_t by)
{
    uint32_t bits = 8u * type_bytes[i->type];
    if (is_signed(i->type))
        return (uint64_t)((int64_t)a >> (by < bits ? by : bits - 1));
    return by < bits ? a >> by : 0;
}

static uint64_t dot_bytes(uint64_t a, uint64_t b, uint64_t c)
{
    for (uint32_t k = 0; k < 32; k += 8)
        c += (uint64_t)((int64_t)(int8_t)(a >> k) * (int8_t)(b >> k));
    return c;
}

/* Four bytes of the eight of a and b; digits of 8 and more, which spread a sign, are not used. */
static uint64_t permute(const struct machine *m, const struct ptx_instruction *i, uint64_t a,
                        uint64_t b, uint64_t which)
{
    uint64_t v = 0;
    for (uint32_t k = 0; k < 4; k++) {
        const uint32_t digit = which >> 4 * k & 15;
        if (digit > 7)
            refuse(m, i, "a sign instead of a byte");
        v |= ((a | b << 32) >> 8 * digit & 0xff) << 8 * k;
    }
    return v;
}

/* The lowest n bits of a, in b from bit `at` on. */
static uint64_t insert_bits(uint64_t a, uint64_t b, uint64_t at, uint64_t n)
{
    uint64_t mask = n >= 32 ? UINT32_MAX : (1ull << n) - 1;
    return (b & ~(mask << at)) | (a & mask) << at;
}

static void integer_op(const struct machine *m, const struct ptx_instruction *i, const uint64_t *a,
                       const uint64_t *b, const uint64_t *c, uint64_t *v, uint32_t n)
{
    const bool sign = is_signed(i->type);
    const uint32_t bits = 8u * type_bytes[i->type];
    switch (i->op) {
    case PTX_ADD:
        EACH(uint64_t, x + y);
    case PTX_SUB:
        EACH(uint64_t, x - y);
    case PTX_MUL:
    case PTX_MUL_WIDE:
        EACH(uint64_t, x * y);
    case PTX_MAD:
        EACH(uint64_t, x * y + z);
    case PTX_DIV:
    case PTX_REM:
        EACH(uint64_t, divide(m, i, x, y));
    case PTX_NEG:
        EACH(uint64_t, 0 - x);
    case PTX_MIN:
        if (sign) {
            EACH(int64_t, x < y ? x : y);
        }
        EACH(uint64_t, x < y ? x : y);
    case PTX_MAX:
        if (sign) {
            EACH(int64_t, x < y ? y : x);
        }
        EACH(uint64_t, x < y ? y : x);
    case PTX_AND:
        EACH(uint64_t, x & y);
    case PTX_OR:
        EACH(uint64_t, x | y);
    case PTX_XOR:
        EACH(uint64_t, x ^ y);
    case PTX_NOT:
        if (i->type == PTX_PRED) {
            EACH(uint64_t, !x);
        }
        EACH(uint64_t, ~x);
    case PTX_SHL:
        EACH(uint64_t, y < bits ? x << y : 0);
    case PTX_SHR:
        EACH(uint64_t, shift_right(i, x, y));
    case PTX_POPC:
        EACH(uint64_t, __builtin_popcountll(x));
    case PTX_CLZ:
        EACH(uint64_t, x ? (uint32_t)__builtin_clzll(x) - (64 - bits) : bits);
    case PTX_DP4A:
        EACH(uint64_t, dot_bytes(x, y, z));
    case PTX_PRMT:
        EACH(uint64_t, permute(m, i, x, y, z));
    default:
        refuse(m, i, "not of integers");
    }
}

/* Of integers. */
#define COMPARE(EACH_ONE)                                                                          \
    switch (i->comparison) {                                                                       \
    case PTX_CMP_EQ:                                                                               \
        EACH_ONE(x == y);                                                                          \
    case PTX_CMP_NE:                                                                               \
        EACH_ONE(x != y);                                                                          \
    case PTX_CMP_LT:                                                                               \
        EACH_ONE(x < y);                                                                           \
    case PTX_CMP_LE:                                                                               \
        EACH_ONE(x <= y);                                                                          \
    case PTX_CMP_GT:                                                                               \
        EACH_ONE(x > y);                                                                           \
    case PTX_CMP_GE:                                                                               \
        EACH_ONE(x >= y);                                                                          \
    default:                                                                                       \
        refuse(m, i, "not of integers");                                                           \
    }

static bool compare_floats(const struct ptx_instruction *i, double a, double b)
{
    bool apart = isnan(a) || isnan(b);
    switch (i->comparison) {
    case PTX_CMP_NUM:
        return !apart;
    case PTX_CMP_NAN:
        return apart;
    case PTX_CMP_EQ:
        return a == b;
    case PTX_CMP_NE:
        return !apart && a != b;
    case PTX_CMP_LT:
        return a < b;
    case PTX_CMP_LE:
        return a <= b;
    case PTX_CMP_GT:
        return a > b;
    case PTX_CMP_GE:
        return a >= b;
    case PTX_CMP_EQU:
        return apart || a == b;
    case PTX_CMP_NEU:
        return apart || a != b;
    case PTX_CMP_LTU:
        return apart || a < b;
    case PTX_CMP_LEU:
        return apart || a <= b;
    case PTX_CMP_GTU:
        return apart || a > b;
    default:
        return apart || a >= b;
    }
}

#define EACH_SIGNED(result) EACH(int64_t, result)
#define EACH_UNSIGNED(result) EACH(uint64_t, result)

static void compare(const struct machine *m, const struct ptx_instruction *i, const uint64_t *a,
                    const uint64_t *b, uint64_t *v, uint32_t n)
{
    const uint64_t *const c = b; /* there is no third */
    if (i->type == PTX_F32) {
        EACH(uint64_t, compare_floats(i, (double)f32_of(x), (double)f32_of(y)));
    }
    if (i->type == PTX_F64) {
        EACH(uint64_t, compare_floats(i, f64_from_bits(x), f64_from_bits(y)));
    }
    if (is_signed(i->type)) {
        COMPARE(EACH_SIGNED)
    }
    COMPARE(EACH_UNSIGNED)
}

/* ---- operands -------------------------------------------------------------------------------- */

static uint64_t special(const struct machine *m, uint32_t which, uint32_t lane)
{
    switch (which) {
    case PTX_TID_X:
        return m->now * PTX_LANES + lane;
    case PTX_NTID_X:
        return m->warps * PTX_LANES;
    case PTX_NCTAID_X:
        return m->blocks_x;
    default:
        return m->block[which - PTX_CTAID_X];
    }
}

/* With an address its distance is added. */
static uint64_t value(const struct machine *m, const struct ptx_operand *o, uint32_t lane)
{
    if (o->kind == PTX_SPECIAL)
        return special(m, o->reg, lane);
    return (o->reg == PTX_NONE ? 0 : m->warp[m->now].reg[o->reg][lane]) + o->number;
}

static void put(struct machine *m, const struct ptx_operand *o, uint32_t lane, uint64_t v)
{
    m->warp[m->now].reg[o->reg][lane] = v;
    m->warp[m->now].written[o->reg] = true;
}

/* Of each lane, the low bits that the type has, with its sign in front or zeros. */
static void narrow_all(enum ptx_type t, uint64_t *v, uint32_t n)
{
    const uint32_t off = 64 - 8u * type_bytes[t];
    if (!off)
        return;
    if (is_signed(t))
        for (uint32_t k = 0; k < n; k++)
            v[k] = (uint64_t)((int64_t)(v[k] << off) >> off);
    else
        for (uint32_t k = 0; k < n; k++)
            v[k] = v[k] << off >> off;
}

/* Of the operand, as it is. */
static void take(const struct machine *m, const struct ptx_instruction *i, uint32_t k,
                 const struct lanes *l, uint64_t *v)
{
    const struct ptx_operand *o = &i->operand[k];
    if (k >= i->n || (o->kind != PTX_SPECIAL && o->reg == PTX_NONE))
        for (uint32_t lane = 0; lane < l->n; lane++)
            v[lane] = k < i->n ? o->number : 0;
    else if (o->kind == PTX_SPECIAL)
        for (uint32_t lane = 0; lane < l->n; lane++)
            v[lane] = special(m, o->reg, l->of[lane]);
    else if (l->n == PTX_LANES)
        memcpy(v, m->warp[m->now].reg[o->reg], sizeof m->warp->reg[0]);
    else
        for (uint32_t lane = 0; lane < l->n; lane++)
            v[lane] = m->warp[m->now].reg[o->reg][l->of[lane]];
}

/* As the instruction's type reads it. */
static void typed(const struct machine *m, const struct ptx_instruction *i, uint32_t k,
                  const struct lanes *l, uint64_t *v)
{
    take(m, i, k, l, v);
    narrow_all(i->type, v, l->n);
}

static void put_all(struct machine *m, const struct ptx_operand *o, const struct lanes *l,
                    const uint64_t *v)
{
    uint64_t *reg = m->warp[m->now].reg[o->reg];
    m->warp[m->now].written[o->reg] = true;
    if (l->n == PTX_LANES)
        memcpy(reg, v, sizeof m->warp->reg[0]);
    else
        for (uint32_t lane = 0; lane < l->n; lane++)
            reg[l->of[lane]] = v[lane];
}

static void compute(struct machine *m, const struct ptx_instruction *i, const struct lanes *l)
{
    uint64_t a[PTX_LANES], b[PTX_LANES], c[PTX_LANES], d[PTX_LANES], v[PTX_LANES];
    const uint32_t n = l->n;
    typed(m, i, 1, l, a);
    typed(m, i, 2, l, b);
    typed(m, i, 3, l, c);
    switch (i->op) {
    case PTX_MOV:
    case PTX_CVTA:
        for (uint32_t k = 0; k < n; k++)
            v[k] = i->vector == 2           ? (a[k] & 0xffff) | (b[k] & 0xffff) << 16
                   : i->space == PTX_SHARED ? a[k] + (uintptr_t)m->shared /* from there on global */
                                            : a[k];
        break;
    case PTX_CVT:
        take(m, i, 1, l, a);
        take(m, i, 2, l, b);
        for (uint32_t k = 0; k < n; k++)
            v[k] = convert(i, a[k]);
        for (uint32_t k = 0; k < n && is_pair(i->type); k++) /* the first goes to the upper half */
            v[k] = v[k] << 16 | convert(i, b[k]);
        break;
    case PTX_SELP:
        take(m, i, 3, l, c);
        for (uint32_t k = 0; k < n; k++)
            v[k] = c[k] ? a[k] : b[k];
        break;
    case PTX_SETP:
        compare(m, i, a, b, v, n);
        break;
    case PTX_BFI:
        typed(m, i, 4, l, d);
        for (uint32_t k = 0; k < n; k++)
            v[k] = insert_bits(a[k], b[k], c[k] & 255, d[k] & 255);
        break;
    default:
        if (i->type == PTX_F32 || i->type == PTX_F64)
            float_op(m, i, a, b, c, v, n);
        else
            integer_op(m, i, a, b, c, v, n);
    }
    if (i->op != PTX_SETP && i->op != PTX_MUL_WIDE && i->op != PTX_CVT)
        narrow_all(i->type, v, n);
    put_all(m, &i->operand[0], l, v);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static uint32_t distinct(uint64_t *v, uint32_t n)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = 0;
        while (k < kept && v[k] != v[i])
            k++;
        v[k] = v[i];
        kept += k == kept;
    }
    return kept;
}

/* A wavefront serves each of the 32 banks with one word. */
static uint32_t wavefronts(uint64_t *word, uint32_t n)
{
    uint32_t in_bank[32] = {0}, most = 0;
    n = distinct(word, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *bank = &in_bank[word[i] % 32];
        ++*bank;
        most = *bank > most ? *bank : most;
    }
    return most;
}

static void count_access(struct machine *m, const struct ptx_instruction *i, const struct lanes *l)
{
    uint64_t unit[PTX_LANES];
    uint32_t bytes = i->space == PTX_SHARED ? 4 : 32;
    for (uint32_t k = 0; k < l->n; k++)
        unit[k] = value(m, &i->operand[i->op == PTX_LD ? i->n - 1 : 0], l->of[k]) / bytes;
    if (i->space == PTX_SHARED) {
        bool behind = m->counts->behind && 4 * (uint32_t)unit[0] >= m->counts->behind;
        uint32_t fronts = wavefronts(unit, l->n);
        m->counts->shared_accesses++;
        m->counts->wavefronts += fronts;
        m->counts->behind_accesses += behind;
        m->counts->behind_wavefronts += behind ? fronts : 0;
    } else if (i->space == PTX_GLOBAL) {
        m->counts->requests++;
        m->counts->sectors += distinct(unit, l->n);
    }
}

/* An address of the space as one of this process. */
static uint8_t *reach(const struct machine *m, const struct ptx_instruction *i, uint64_t address)
{
    uint32_t bytes = type_bytes[i->type] * i->vector;
    if (address & (bytes - 1))
        refuse(m, i, "an address out of line");
    if (i->space == PTX_GLOBAL)
        return (uint8_t *)(uintptr_t)address;
    if (i->space == PTX_PARAM) /* read only */
        return (uint8_t *)(uintptr_t)(m->arg + address);
    if ((uint32_t)address > m->shared_bytes || (uint32_t)address + bytes > m->shared_bytes)
        refuse(m, i, "beyond shared memory");
    return m->shared + (uint32_t)address;
}

static void load(struct machine *m, const struct ptx_instruction *i, uint32_t lane)
{
    const uint32_t bytes = type_bytes[i->type];
    const uint8_t *from = reach(m, i, value(m, &i->operand[i->n - 1], lane));
    for (uint32_t k = 0; k < i->vector; k++, from += bytes) {
        uint64_t v = 0;
        memcpy(&v, from, bytes);
        put(m, &i->operand[k], lane, narrow(i->type, v));
    }
}

static void store(struct machine *m, const struct ptx_instruction *i, uint32_t lane)
{
    const uint32_t bytes = type_bytes[i->type];
    uint8_t *to = reach(m, i, value(m, &i->operand[0], lane));
    for (uint32_t k = 1; k <= i->vector; k++, to += bytes) {
        uint64_t v = value(m, &i->operand[k], lane);
        memcpy(to, &v, bytes);
    }
}

/* atom.add: what was there before, the address, what is added. */
static void add_there(struct machine *m, const struct ptx_instruction *i, uint32_t lane)
{
    uint32_t v;
    uint8_t *at = reach(m, i, value(m, &i->operand[1], lane));
    if (i->type != PTX_U32 || i->space != PTX_GLOBAL)
        refuse(m, i, "an atomic that is not known");
    memcpy(&v, at, sizeof v);
    put(m, &i->operand[0], lane, v);
    v += (uint32_t)value(m, &i->operand[2], lane);
    memcpy(at, &v, sizeof v);
}

/* ---- control --------------------------------------------------------------------------------- */

static void shuffle(struct machine *m, const struct ptx_instruction *i)
{
    uint64_t v[PTX_LANES];
    for (uint32_t lane = 0; lane < PTX_LANES; lane++)
        v[lane] = value(m, &i->operand[1], lane);
    for (uint32_t lane = 0; lane < PTX_LANES; lane++) {
        uint64_t by = value(m, &i->operand[2], lane);
        put(m, &i->operand[0], lane, v[(lane ^ by) % PTX_LANES]);
    }
}

/* sum[16, 8] = a[16, K] b[K, 8] + c, in words of K / 8 or (eight terms) two: lane 4 g + t has words
 * t and t + 4 of rows g and g + 8 of a and of column g of b, and columns 2 t and 2 t + 1 of those
 * rows of the sum. Operands: the four of the sum, of a two for each four words, of b one, four of
 * c. Products of floats are added one after the other, each exact, their sum rounded (hardware
 * gives no order). */
static void multiply(struct machine *m, const struct ptx_instruction *i)
{
    const bool bytes = i->from == PTX_S8;
    const uint32_t words = bytes ? i->terms / 4 : i->terms / 2, of_a = 4 + words / 2;
    const uint32_t of_c = of_a + words / 4;
    const float *half = bytes ? NULL : half_values(i->from == PTX_BF16);
    uint64_t a[16][8], b[8][8], sum[16][8];
    float a_half[16][16], b_half[16][8]; /* b by terms */
    for (uint32_t lane = 0; lane < PTX_LANES; lane++) {
        const uint32_t g = lane / 4, t = lane % 4;
        for (uint32_t k = 0; k < words / 2; k++)
            a[g + k % 2 * 8][t + k / 2 * 4] = value(m, &i->operand[4 + k], lane);
        for (uint32_t k = 0; k < words / 4; k++)
            b[g][t + k * 4] = value(m, &i->operand[of_a + k], lane);
        for (uint32_t k = 0; k < 4; k++)
            sum[g + k / 2 * 8][2 * t + k % 2] = value(m, &i->operand[of_c + k], lane);
    }
    for (uint32_t term = 0; term < 2 * words && half; term++) {
        for (uint32_t row = 0; row < 16; row++)
            a_half[row][term] = half[a[row][term / 2] >> term % 2 * 16 & 0xffff];
        for (uint32_t column = 0; column < 8; column++)
            b_half[term][column] = half[b[column][term / 2] >> term % 2 * 16 & 0xffff];
    }
    for (uint32_t row = 0; row < 16; row++) {
        float v[8];
        for (uint32_t column = 0; column < 8 && bytes; column++)
            for (uint32_t word = 0; word < words; word++)
                sum[row][column] = dot_bytes(a[row][word], b[column][word], sum[row][column]);
        for (uint32_t column = 0; column < 8; column++)
            v[column] = f32_of(sum[row][column]);
        for (uint32_t term = 0; term < 2 * words && half; term++)
            for (uint32_t column = 0; column < 8; column++)
                v[column] = fmaf(a_half[row][term], b_half[term][column], v[column]);
        for (uint32_t column = 0; column < 8 && half; column++)
            sum[row][column] = f32_bits(v[column]);
    }
    for (uint32_t lane = 0; lane < PTX_LANES; lane++)
        for (uint32_t k = 0; k < 4; k++)
            put(m, &i->operand[k], lane,
                narrow(i->type, sum[lane / 4 + k / 2 * 8][lane % 4 * 2 + k % 2]));
}

/* Those of the running lanes that the guard lets do what stands there. */
static uint32_t guarded(const struct machine *m, const struct ptx_instruction *i)
{
    const struct warp *w = &m->warp[m->now];
    uint32_t mask = 0;
    if (i->guard == PTX_NONE)
        return w->lanes;
    for (uint32_t lane = 0; lane < PTX_LANES; lane++)
        mask |= (uint32_t)(!w->reg[i->guard][lane] == i->unless) << lane;
    return mask & w->lanes;
}

static void run(struct machine *m, const struct ptx_instruction *i, const struct lanes *l)
{
    switch (i->op) {
    case PTX_LD:
        for (uint32_t k = 0; k < l->n; k++)
            load(m, i, l->of[k]);
        break;
    case PTX_ST:
        for (uint32_t k = 0; k < l->n; k++)
            store(m, i, l->of[k]);
        break;
    case PTX_ATOM:
        for (uint32_t k = 0; k < l->n; k++)
            add_there(m, i, l->of[k]);
        break;
    case PTX_MEMBAR: /* memory is written at once */
    case PTX_FENCE:
        break;
    default:
        compute(m, i, l);
    }
}

static struct lanes listed(uint32_t mask)
{
    struct lanes l = {0};
    for (; mask; mask &= mask - 1)
        l.of[l.n++] = (uint8_t)__builtin_ctz(mask);
    return l;
}

/* One instruction of the warp; false: it has left, or waits. */
static bool step(struct machine *m)
{
    static const char apart[] = "lanes of a warp are apart";
    struct warp *w = &m->warp[m->now];
    if (w->waits)
        return false;
    if (w->at >= w->next)
        choose_lanes(w);
    if (w->at == EXITED) {
        if (w->held)
            refuse(m, &m->k->code[w->pc[__builtin_ctz(w->held)]], apart);
        return false;
    }
    const struct ptx_instruction *i = &m->k->code[w->at];
    if (w->at >= m->k->n)
        refuse(m, &m->k->code[m->k->n - 1], "behind the last instruction");
    if (i->op == PTX_SHFL || i->op == PTX_MMA || i->op == PTX_BAR || i->op == PTX_BAR_WARP) {
        const enum gathering g = gather(w);
        if (g == LANES_APART)
            refuse(m, i, apart);
        if (g == LANES_TO_COME)
            return true;
    }
    const uint32_t mask = guarded(m, i);
    w->at++;
    if (m->counts)
        m->counts->instructions++;
    if (i->op == PTX_BRA || i->op == PTX_RET) {
        go(w, mask, i->op == PTX_BRA ? i->target : EXITED);
    } else if (i->op == PTX_SHFL) {
        shuffle(m, i);
    } else if (i->op == PTX_MMA) {
        multiply(m, i);
    } else if (i->op == PTX_BAR) {
        w->waits = true;
    } else if (i->op != PTX_BAR_WARP && mask) {
        const struct lanes l = listed(mask);
        if ((i->op == PTX_LD || i->op == PTX_ST) && m->counts)
            count_access(m, i, &l);
        run(m, i, &l);
        m->looks = i->op == PTX_LD && i->is_volatile;
    }
    return true;
}

static void begin_block(struct machine *m)
{
    memset(m->shared, 0xff, m->shared_bytes);
    for (uint32_t i = 0; i < m->warps; i++) {
        m->warp[i].lanes = UINT32_MAX;
        m->warp[i].at = 0;
        m->warp[i].next = EXITED;
        m->warp[i].held = 0;
        m->warp[i].waits = false;
        for (uint32_t k = 0; k < m->k->registers; k++)
            if (m->warp[i].written[k])
                memset(m->warp[i].reg[k], 0xff, sizeof m->warp[i].reg[k]);
        memset(m->warp[i].written, 0, m->k->registers * sizeof *m->warp[i].written);
    }
}

/* Whether it has ended; else it has read what another block may write. */
static bool run_block(struct machine *m)
{
    for (;;) {
        uint32_t waiting = 0;
        for (m->now = 0; m->now < m->warps; m->now++) {
            while (step(m))
                if (m->looks) {
                    m->looks = false;
                    return false;
                }
            waiting += m->warp[m->now].waits;
        }
        if (!waiting)
            return true;
        m->now = 0;
        if (waiting < m->warps)
            refuse(m, &m->k->code[0], "a barrier that some warp has passed by");
        for (uint32_t i = 0; i < m->warps; i++)
            m->warp[i].waits = false;
    }
}

/* No machine has them now. Those of a program are megabytes: only what was written is set anew. */
static struct register_file *spare;

static void take_room(struct machine *m)
{
    m->shared = malloc(m->shared_bytes + 1);
    for (uint32_t i = 0; i < m->warps; i++) {
        struct register_file *f = spare ? spare : calloc(1, sizeof *f);
        spare = f->next;
        if (f->n < m->k->registers) {
            f->reg = realloc(f->reg, m->k->registers * sizeof *f->reg);
            f->written = realloc(f->written, m->k->registers * sizeof *f->written);
            memset(f->written + f->n, true, m->k->registers - f->n);
            f->n = m->k->registers;
        }
        m->warp[i].file = f;
        m->warp[i].reg = f->reg;
        m->warp[i].written = f->written;
    }
}

static void give_room(struct machine *m)
{
    for (uint32_t i = 0; i < m->warps; i++) {
        m->warp[i].file->next = spare;
        spare = m->warp[i].file;
    }
    free(m->shared);
}

/* Blocks that wait for others keep a machine each, and go on in turn when all have begun. */
void ptx_run(const struct ptx_kernel *k, uint32_t kernel, const uint32_t grid[3], const void *arg,
             struct ptx_counts *counts)
{
    const struct launch_block block = launch_block_of(kernel, arg);
    const uint32_t blocks = grid[0] * grid[1] * grid[2];
    struct machine m = {.k = k,
                        .arg = arg,
                        .blocks_x = grid[0],
                        .warps = block.threads / PTX_LANES,
                        .shared_bytes = block.shared ? PTX_BEHIND(k->shared_bytes) + block.shared
                                                     : k->shared_bytes,
                        .counts = counts};
    struct machine *waiting = NULL;
    uint32_t n = 0;
    take_room(&m);
    for (uint32_t i = 0; i < blocks; i++) {
        m.block[0] = i % grid[0];
        m.block[1] = i / grid[0] % grid[1];
        m.block[2] = i / grid[0] / grid[1];
        begin_block(&m);
        if (run_block(&m))
            continue;
        waiting = realloc(waiting, (n + 1) * sizeof *waiting);
        waiting[n++] = m;
        take_room(&m);
    }
    give_room(&m);
    for (uint32_t left = n, i = 0; left; i = (i + 1) % n)
        if (waiting[i].shared && run_block(&waiting[i])) {
            give_room(&waiting[i]);
            waiting[i].shared = NULL;
            left--;
        }
    free(waiting);
}
