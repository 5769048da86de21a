/* SPDX-License-Identifier: MIT */
/* ptx_run.c - runs instructions of PTX, a block after the other (ptx.h). Registers and shared
 * memory begin as NaN. Refused, with the line of the text: lanes of a warp apart at a shuffle or
 * barrier, a barrier that some thread has passed by, an address out of line or beyond shared
 * memory. */
#include "ptx.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "pith_f32_bits.h"
#include "test_launch.h"

#define MOST_WARPS (1024u / PTX_LANES)
#define EXITED UINT32_MAX

struct warp {
    uint32_t pc[PTX_LANES];
    bool waits; /* at a barrier, all lanes that have not left */
    uint64_t (*reg)[PTX_LANES];
};

struct machine {
    const struct ptx_kernel *k;
    const uint8_t *arg;
    uint32_t block[3], blocks_x;
    uint8_t *shared;
    struct warp warp[MOST_WARPS];
    uint32_t warps, shared_bytes;
    uint32_t now; /* the warp that runs */
    struct ptx_counts *counts;
    ptx_stored *stored;
    void *user;
};

static _Noreturn void refuse(const struct machine *m, const struct ptx_instruction *i,
                             const char *why)
{
    fprintf(stderr, "ptx: kernel %s, line %u, block %u %u %u, warp %u: %s\n", m->k->name, i->line,
            m->block[0], m->block[1], m->block[2], m->now, why);
    abort();
}

/* ---- numbers in registers -------------------------------------------------------------------- */

static const uint8_t type_bytes[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 8, 2, 2, 4, 4};

static double f64_of(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static uint64_t of_f64(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static bool is_signed(enum ptx_type t)
{
    return t == PTX_S8 || t == PTX_S16 || t == PTX_S32 || t == PTX_S64;
}

/* The low bits that a type has, with its sign in front or zeros. */
static uint64_t narrow(enum ptx_type t, uint64_t v)
{
    uint32_t off = 64 - 8u * type_bytes[t];
    return is_signed(t) ? (uint64_t)((int64_t)(v << off) >> off) : v << off >> off;
}

static uint64_t not_a_number(enum ptx_type t)
{
    return t == PTX_F32 ? 0x7fffffff : 0x7fffffffffffffff; /* the one that NVIDIA's units make */
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static double float_result(const struct machine *m, const struct ptx_instruction *i, double a,
                           double b, double c)
{
    switch (i->op) {
    case PTX_ADD:
        return a + b;
    case PTX_SUB:
        return a - b;
    case PTX_MUL:
        return a * b;
    case PTX_DIV:
        return a / b;
    case PTX_FMA:
        return fma(a, b, c);
    case PTX_RCP:
        return 1.0 / a;
    case PTX_SQRT:
        return sqrt(a);
    case PTX_MIN:
        return isnan(a) ? b : isnan(b) || a < b || (a == b && signbit(a)) ? a : b;
    case PTX_MAX:
        return isnan(a) ? b : isnan(b) || a > b || (a == b && signbit(b)) ? a : b;
    default:
        refuse(m, i, "not of floats");
    }
}

/* A sum, product, quotient or root of floats in double is rounded to them as if it were exact: 53
 * bits are more than twice 24 and 2 (Figueroa 1995). fma is not, and has a function of its own. */
static uint64_t float_op(const struct machine *m, const struct ptx_instruction *i, uint64_t a,
                         uint64_t b, uint64_t c)
{
    uint64_t sign = i->type == PTX_F32 ? 0x80000000 : 1ull << 63;
    if (i->op == PTX_NEG)
        return a ^ sign;
    if (i->type == PTX_F64) {
        double v = float_result(m, i, f64_of(a), f64_of(b), f64_of(c));
        return isnan(v) ? not_a_number(PTX_F64) : of_f64(v);
    }
    float v = i->op == PTX_FMA ? fmaf(f32_from_bits((uint32_t)a), f32_from_bits((uint32_t)b),
                                      f32_from_bits((uint32_t)c))
                               : (float)float_result(m, i, (double)f32_from_bits((uint32_t)a),
                                                     (double)f32_from_bits((uint32_t)b), 0);
    return isnan(v) ? not_a_number(PTX_F32) : f32_bits(v);
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

static uint64_t less(const struct ptx_instruction *i, uint64_t a, uint64_t b, bool or_equal)
{
    if (is_signed(i->type))
        return (int64_t)a < (int64_t)b || (or_equal && a == b);
    return a < b || (or_equal && a == b);
}

static uint64_t integer_op(const struct machine *m, const struct ptx_instruction *i, uint64_t a,
                           uint64_t b, uint64_t c)
{
    switch (i->op) {
    case PTX_ADD:
        return a + b;
    case PTX_SUB:
        return a - b;
    case PTX_MUL:
    case PTX_MUL_WIDE:
        return a * b;
    case PTX_MAD:
        return a * b + c;
    case PTX_DIV:
    case PTX_REM:
        return divide(m, i, a, b);
    case PTX_NEG:
        return 0 - a;
    case PTX_MIN:
        return less(i, a, b, false) ? a : b;
    case PTX_MAX:
        return less(i, a, b, false) ? b : a;
    case PTX_AND:
        return a & b;
    case PTX_OR:
        return a | b;
    case PTX_XOR:
        return a ^ b;
    case PTX_NOT:
        return i->type == PTX_PRED ? !a : ~a;
    case PTX_SHL:
        return b < 8u * type_bytes[i->type] ? a << b : 0;
    case PTX_SHR:
        return shift_right(i, a, b);
    case PTX_POPC:
        return (uint64_t)__builtin_popcountll(a);
    case PTX_CLZ:
        return a ? (uint64_t)__builtin_clzll(a) - (64 - 8u * type_bytes[i->type])
                 : 8u * type_bytes[i->type];
    case PTX_DP4A:
        return dot_bytes(a, b, c);
    case PTX_PRMT:
        return permute(m, i, a, b, c);
    default:
        refuse(m, i, "not of integers");
    }
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

static bool compare(const struct machine *m, const struct ptx_instruction *i, uint64_t a,
                    uint64_t b)
{
    if (i->type == PTX_F32)
        return compare_floats(i, (double)f32_from_bits((uint32_t)a),
                              (double)f32_from_bits((uint32_t)b));
    if (i->type == PTX_F64)
        return compare_floats(i, f64_of(a), f64_of(b));
    switch (i->comparison) {
    case PTX_CMP_EQ:
        return a == b;
    case PTX_CMP_NE:
        return a != b;
    case PTX_CMP_LT:
        return less(i, a, b, false);
    case PTX_CMP_LE:
        return less(i, a, b, true);
    case PTX_CMP_GT:
        return less(i, b, a, false);
    case PTX_CMP_GE:
        return less(i, b, a, true);
    default:
        refuse(m, i, "not of integers");
    }
}

/* Towards zero; what does not fit is the nearest number that does, NaN 0. */
static uint64_t integer_of(double v, enum ptx_type to)
{
    uint32_t bits = 8u * type_bytes[to] - is_signed(to);
    double limit = ldexp(1.0, (int)bits), low = is_signed(to) ? -limit : 0.0;
    if (isnan(v))
        return 0;
    if (v >= limit)
        return bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
    return v <= low ? (is_signed(to) ? 0 - (1ull << bits) : 0)
           : v < 0  ? (uint64_t)(int64_t)v
                    : (uint64_t)v;
}

/* A 16-bit float of an f32, the nearest, ties to even: the exponent of the result is found first,
 * and the number counted in steps of its last bit. */
static uint64_t half_of(float f, bool is_bf16)
{
    const int digits = is_bf16 ? 8 : 11, least = is_bf16 ? -126 : -14;
    const uint64_t sign = signbit(f) ? 0x8000 : 0, infinite = is_bf16 ? 0x7f80 : 0x7c00;
    int e;
    if (isnan(f))
        return 0x7fff;
    if (isinf(f) || f == 0.0f)
        return sign | (f == 0.0f ? 0 : infinite);
    frexp((double)f, &e);
    e = e - 1 < least ? least : e - 1;
    const uint64_t steps = (uint64_t)nearbyint(ldexp(fabs((double)f), digits - 1 - e));
    const uint64_t bits = steps + ((uint64_t)(e - least) << (digits - 1)); /* one bit is implied */
    return sign | (bits < infinite ? bits : infinite);
}

static float of_half(uint64_t bits, bool is_bf16)
{
    const uint32_t fraction_bits = is_bf16 ? 7 : 10, most = is_bf16 ? 255 : 31;
    const uint64_t exponent = bits >> fraction_bits & most;
    const uint64_t fraction = bits & ((1u << fraction_bits) - 1);
    const int least = is_bf16 ? -126 : -14;
    double v = exponent ? (double)(fraction | 1u << fraction_bits) : (double)fraction;
    if (exponent == most)
        v = fraction ? (double)NAN : (double)INFINITY;
    else
        v = ldexp(v, least - (int)fraction_bits + (exponent ? (int)exponent - 1 : 0));
    return (float)(bits >> 15 & 1 ? -v : v);
}

static bool is_pair(enum ptx_type t)
{
    return t == PTX_F16X2 || t == PTX_BF16X2;
}

static uint64_t convert(const struct ptx_instruction *i, uint64_t v)
{
    if (i->type == PTX_F16 || i->type == PTX_BF16 || is_pair(i->type))
        return half_of(f32_from_bits((uint32_t)v), i->type == PTX_BF16 || i->type == PTX_BF16X2);
    bool to_float = i->type == PTX_F32 || i->type == PTX_F64;
    if (i->from == PTX_F32 || i->from == PTX_F64) {
        double d = i->from == PTX_F32 ? (double)f32_from_bits((uint32_t)v) : f64_of(v);
        if (!to_float)
            return integer_of(d, i->type);
        return i->type == PTX_F64 ? of_f64(d)
               : isnan(d)         ? not_a_number(PTX_F32)
                                  : f32_bits((float)d);
    }
    v = narrow(i->from, v);
    if (i->type == PTX_F32) /* at once: by way of double it would be rounded twice */
        return f32_bits(is_signed(i->from) ? (float)(int64_t)v : (float)v);
    if (i->type == PTX_F64)
        return of_f64(is_signed(i->from) ? (double)(int64_t)v : (double)v);
    return narrow(i->type, v);
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
}

/* Of the operand, as the instruction's type reads it. */
static uint64_t typed(const struct machine *m, const struct ptx_instruction *i, uint32_t k,
                      uint32_t lane)
{
    return k < i->n ? narrow(i->type, value(m, &i->operand[k], lane)) : 0;
}

static void compute(struct machine *m, const struct ptx_instruction *i, uint32_t lane)
{
    uint64_t a = typed(m, i, 1, lane), b = typed(m, i, 2, lane), c = typed(m, i, 3, lane), v;
    switch (i->op) {
    case PTX_MOV:
        v = i->vector == 2 ? (a & 0xffff) | (b & 0xffff) << 16 : a;
        break;
    case PTX_CVTA:
        v = a;
        break;
    case PTX_CVT:
        v = convert(i, value(m, &i->operand[1], lane));
        if (is_pair(i->type)) /* the first operand goes to the upper half */
            v = v << 16 | convert(i, value(m, &i->operand[2], lane));
        break;
    case PTX_SELP:
        v = value(m, &i->operand[3], lane) ? a : b;
        break;
    case PTX_SETP:
        v = compare(m, i, a, b);
        break;
    case PTX_BFI:
        v = insert_bits(a, b, c & 255, typed(m, i, 4, lane) & 255);
        break;
    default:
        v = i->type == PTX_F32 || i->type == PTX_F64 ? float_op(m, i, a, b, c)
                                                     : integer_op(m, i, a, b, c);
    }
    if (i->op != PTX_SETP && i->op != PTX_MUL_WIDE && i->op != PTX_CVT)
        v = narrow(i->type, v);
    put(m, &i->operand[0], lane, v);
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

static void count_access(struct machine *m, const struct ptx_instruction *i, uint32_t mask)
{
    uint64_t unit[PTX_LANES];
    uint32_t n = 0, bytes = i->space == PTX_SHARED ? 4 : 32;
    for (uint32_t lane = 0; lane < PTX_LANES; lane++)
        if (mask >> lane & 1)
            unit[n++] = value(m, &i->operand[i->op == PTX_LD ? i->n - 1 : 0], lane) / bytes;
    if (i->space == PTX_SHARED) {
        bool behind = m->counts->behind && n > 0 && 4 * (uint32_t)unit[0] >= m->counts->behind;
        uint32_t fronts = wavefronts(unit, n);
        m->counts->shared_accesses++;
        m->counts->wavefronts += fronts;
        m->counts->behind_accesses += behind;
        m->counts->behind_wavefronts += behind ? fronts : 0;
    } else if (i->space == PTX_GLOBAL) {
        m->counts->requests++;
        m->counts->sectors += distinct(unit, n);
    }
}

/* An address of the space as one of this process. */
static uint8_t *reach(const struct machine *m, const struct ptx_instruction *i, uint64_t address)
{
    uint32_t bytes = type_bytes[i->type] * i->vector;
    if (address % bytes)
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
    if (i->space == PTX_GLOBAL)
        m->stored(to, (size_t)bytes * i->vector, m->user);
    for (uint32_t k = 1; k <= i->vector; k++, to += bytes) {
        uint64_t v = value(m, &i->operand[k], lane);
        memcpy(to, &v, bytes);
    }
}

/* ---- control --------------------------------------------------------------------------------- */

static void shuffle(struct machine *m, const struct ptx_instruction *i)
{
    uint64_t v[PTX_LANES];
    for (uint32_t lane = 0; lane < PTX_LANES; lane++)
        v[lane] = value(m, &i->operand[1], lane);
    for (uint32_t lane = 0; lane < PTX_LANES; lane++) {
        uint64_t by = value(m, &i->operand[2], lane);
        uint64_t from = i->op == PTX_SHFL_DOWN ? lane + by : (lane ^ by) % PTX_LANES;
        put(m, &i->operand[0], lane, v[from < PTX_LANES ? from : lane]);
    }
}

/* sum + the products of what two words hold; of floats one after the other, each exact, their sum
 * rounded (hardware tells no order). */
static uint64_t add_word(const struct ptx_instruction *i, uint64_t a, uint64_t b, uint64_t sum)
{
    if (i->from == PTX_S8)
        return dot_bytes(a, b, sum);
    const bool is_bf16 = i->from == PTX_BF16;
    float v = f32_from_bits((uint32_t)sum);
    v = fmaf(of_half(a & 0xffff, is_bf16), of_half(b & 0xffff, is_bf16), v);
    v = fmaf(of_half(a >> 16 & 0xffff, is_bf16), of_half(b >> 16 & 0xffff, is_bf16), v);
    return f32_bits(v);
}

/* sum[16, 8] = a[16, K] b[K, 8] + c, in words of K / 8 or (eight terms) two: lane 4 g + t has words
 * t and t + 4 of rows g and g + 8 of a and of column g of b, and columns 2 t and 2 t + 1 of those
 * rows of the sum. Operands: the four of the sum, of a two for each four words, of b one, four of
 * c. */
static void multiply(struct machine *m, const struct ptx_instruction *i)
{
    const uint32_t words = i->from == PTX_S8 ? i->terms / 4 : i->terms / 2;
    uint64_t a[PTX_LANES][4], b[PTX_LANES][2], sums[PTX_LANES][4];
    for (uint32_t lane = 0; lane < PTX_LANES; lane++) {
        for (uint32_t k = 0; k < words / 2; k++)
            a[lane][k] = value(m, &i->operand[4 + k], lane);
        for (uint32_t k = 0; k < words / 4; k++)
            b[lane][k] = value(m, &i->operand[4 + words / 2 + k], lane);
        for (uint32_t k = 0; k < 4; k++)
            sums[lane][k] = value(m, &i->operand[4 + words / 2 + words / 4 + k], lane);
    }
    for (uint32_t lane = 0; lane < PTX_LANES; lane++)
        for (uint32_t k = 0; k < 4; k++) {
            uint64_t sum = sums[lane][k];
            for (uint32_t word = 0; word < words; word++) {
                const uint32_t row = lane / 4 * 4 + word % 4;
                const uint32_t column = (lane % 4 * 2 + k % 2) * 4 + word % 4;
                sum = add_word(i, a[row][k / 2 + word / 4 * 2], b[column][word / 4], sum);
            }
            put(m, &i->operand[k], lane, narrow(i->type, sum));
        }
}

/* The lanes at the lowest place, and that place; 0: all have left. */
static uint32_t next_lanes(const struct warp *w, uint32_t *at)
{
    uint32_t mask = 0;
    *at = EXITED;
    for (uint32_t lane = 0; lane < PTX_LANES; lane++)
        *at = w->pc[lane] < *at ? w->pc[lane] : *at;
    for (uint32_t lane = 0; lane < PTX_LANES && *at != EXITED; lane++)
        mask |= (uint32_t)(w->pc[lane] == *at) << lane;
    return mask;
}

static void step_lane(struct machine *m, const struct ptx_instruction *i, uint32_t lane)
{
    uint32_t *pc = &m->warp[m->now].pc[lane];
    switch (i->op) {
    case PTX_BRA:
        *pc = i->target;
        break;
    case PTX_RET:
        *pc = EXITED;
        break;
    case PTX_LD:
        load(m, i, lane);
        break;
    case PTX_ST:
        store(m, i, lane);
        break;
    case PTX_SHFL: /* of the whole warp */
    case PTX_SHFL_DOWN:
    case PTX_MMA:
    case PTX_BAR:
        break;
    default:
        compute(m, i, lane);
    }
}

/* The lanes of `at` that the guard lets do what stands there. */
static uint32_t guarded(const struct machine *m, const struct ptx_instruction *i, uint32_t at)
{
    uint32_t mask = 0;
    for (uint32_t lane = 0; lane < PTX_LANES; lane++)
        if (at >> lane & 1 &&
            (i->guard == PTX_NONE || !m->warp[m->now].reg[i->guard][lane] == i->unless))
            mask |= 1u << lane;
    return mask;
}

/* One instruction of the warp; false: it has left, or waits. */
static bool step(struct machine *m)
{
    struct warp *w = &m->warp[m->now];
    uint32_t at, lanes = next_lanes(w, &at);
    if (!lanes || w->waits)
        return false;
    const struct ptx_instruction *i = &m->k->code[at];
    if (at >= m->k->n)
        refuse(m, &m->k->code[m->k->n - 1], "behind the last instruction");
    bool shuffles = i->op == PTX_SHFL || i->op == PTX_SHFL_DOWN;
    if ((shuffles || i->op == PTX_MMA || i->op == PTX_BAR) && lanes != UINT32_MAX)
        refuse(m, i, "lanes of a warp are apart");
    m->counts->instructions++;
    for (uint32_t lane = 0; lane < PTX_LANES; lane++)
        w->pc[lane] += lanes >> lane & 1;
    lanes = guarded(m, i, lanes);
    if (shuffles)
        shuffle(m, i);
    if (i->op == PTX_MMA)
        multiply(m, i);
    if ((i->op == PTX_LD || i->op == PTX_ST) && lanes)
        count_access(m, i, lanes);
    for (uint32_t lane = 0; lane < PTX_LANES; lane++)
        if (lanes >> lane & 1)
            step_lane(m, i, lane);
    w->waits = i->op == PTX_BAR;
    return true;
}

static void begin_block(struct machine *m)
{
    memset(m->shared, 0xff, m->shared_bytes);
    for (uint32_t i = 0; i < m->warps; i++) {
        memset(m->warp[i].pc, 0, sizeof m->warp[i].pc);
        m->warp[i].waits = false;
        memset(m->warp[i].reg, 0xff, m->k->registers * sizeof *m->warp[i].reg);
    }
}

static void run_block(struct machine *m)
{
    begin_block(m);
    for (;;) {
        uint32_t waiting = 0;
        for (m->now = 0; m->now < m->warps; m->now++) {
            while (step(m))
                continue;
            waiting += m->warp[m->now].waits;
        }
        if (!waiting)
            return;
        m->now = 0;
        if (waiting < m->warps)
            refuse(m, &m->k->code[0], "a barrier that some warp has passed by");
        for (uint32_t i = 0; i < m->warps; i++)
            m->warp[i].waits = false;
    }
}

void ptx_run(const struct ptx_kernel *k, uint32_t kernel, const uint32_t grid[3], const void *arg,
             struct ptx_counts *counts, ptx_stored *stored, void *user)
{
    const struct launch_block block = launch_block_of(kernel, arg);
    struct machine m = {.k = k,
                        .arg = arg,
                        .blocks_x = grid[0],
                        .warps = block.threads / PTX_LANES,
                        .shared_bytes = k->shared_bytes + block.shared,
                        .shared = malloc(k->shared_bytes + block.shared + 1),
                        .counts = counts,
                        .stored = stored,
                        .user = user};
    for (uint32_t i = 0; i < m.warps; i++)
        m.warp[i].reg = malloc((k->registers + 1) * sizeof *m.warp[i].reg);
    for (m.block[2] = 0; m.block[2] < grid[2]; m.block[2]++)
        for (m.block[1] = 0; m.block[1] < grid[1]; m.block[1]++)
            for (m.block[0] = 0; m.block[0] < grid[0]; m.block[0]++)
                run_block(&m);
    for (uint32_t i = 0; i < m.warps; i++)
        free(m.warp[i].reg);
    free(m.shared);
}
