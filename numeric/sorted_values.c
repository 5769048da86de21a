/* SPDX-License-Identifier: MIT */
/* sorted_values.c - see sorted_values.h. Sorting is by radix over integer keys that order like
 * the floats: four passes of 8 bits, linear for any input. A pass counts the digits of each piece,
 * then every piece moves its own values to places that no other one takes. */
#include "sorted_values.h"

#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "base/in_parallel.h"

/* Of so few values the four passes over DIGITS counters take longer than their sorting. */
enum { SMALL_SORT = 48, DIGITS = 256 };

bool pith_sorted_begin(struct sorted_values *s, uint64_t capacity)
{
    uint64_t blocks = capacity / SORTED_BLOCK + 1;
    *s = (struct sorted_values){.capacity = capacity};
    s->v = malloc((capacity + 1) * sizeof *s->v);
    s->scratch = malloc((capacity + 1) * sizeof *s->scratch);
    s->sum = malloc(blocks * sizeof *s->sum);
    s->squares = malloc(blocks * sizeof *s->squares);
    s->digits = malloc(sizeof(uint64_t[PITH_PIECES][DIGITS]));
    return s->v && s->scratch && s->sum && s->squares && s->digits;
}

void pith_sorted_end(struct sorted_values *s)
{
    free(s->v);
    free(s->scratch);
    free(s->sum);
    free(s->squares);
    free(s->digits);
    *s = (struct sorted_values){0};
}

static void insertion_sort(float *v, uint64_t n)
{
    for (uint64_t i = 1; i < n; i++) {
        float x = v[i];
        uint64_t j = i;
        for (; j > 0 && v[j - 1] > x; j--)
            v[j] = v[j - 1];
        v[j] = x;
    }
}

/* Negative floats order backwards by their bits: flip all of those, and the sign of the others. */
static uint32_t sort_key(float f)
{
    uint32_t bits = f32_bits(f);
    return bits ^ (bits >> 31 ? 0xffffffffu : 0x80000000u);
}

struct radix_pass {
    const float *from;
    float *to;
    uint64_t n, (*digits)[DIGITS]; /* of each piece: how many values have a digit, then where the
                                      next goes */
    uint32_t shift, n_pieces;
};

static uint64_t piece_start(const struct radix_pass *p, uint32_t piece)
{
    return pith_piece_start(p->n, p->n_pieces, piece);
}

/* Two sets of counters: neighbours often have one digit, and would wait for each other's sum. */
static void count_digits(void *arg, uint32_t piece)
{
    const struct radix_pass *p = arg;
    uint64_t end = piece_start(p, piece + 1), i = piece_start(p, piece);
    uint64_t *even = p->digits[piece], odd[DIGITS] = {0};
    memset(even, 0, sizeof odd);
    for (; i + 1 < end; i += 2) {
        even[sort_key(p->from[i]) >> p->shift & 0xff]++;
        odd[sort_key(p->from[i + 1]) >> p->shift & 0xff]++;
    }
    if (i < end)
        even[sort_key(p->from[i]) >> p->shift & 0xff]++;
    for (uint32_t d = 0; d < DIGITS; d++)
        even[d] += odd[d];
}

static void move_values(void *arg, uint32_t piece)
{
    const struct radix_pass *p = arg;
    uint64_t end = piece_start(p, piece + 1), *next = p->digits[piece];
    for (uint64_t i = piece_start(p, piece); i < end; i++)
        p->to[next[sort_key(p->from[i]) >> p->shift & 0xff]++] = p->from[i];
}

/* Stable: of one digit, values of earlier pieces come first. false: all have one digit, nothing
 * moves. */
static bool radix_pass(const struct sorted_values *s, const float *from, float *to, uint32_t shift)
{
    uint32_t n_pieces = pith_pieces_of(s->n);
    struct radix_pass p = {from, to, s->n, (uint64_t(*)[DIGITS])s->digits, shift, n_pieces};
    uint64_t at = 0;
    pith_in_parallel(s->runtime, n_pieces, count_digits, &p);
    for (uint32_t d = 0; d < DIGITS; d++) {
        uint64_t first = at;
        for (uint32_t k = 0; k < n_pieces; k++) {
            uint64_t count = p.digits[k][d];
            p.digits[k][d] = at;
            at += count;
        }
        if (at - first == s->n)
            return false;
    }
    pith_in_parallel(s->runtime, n_pieces, move_values, &p);
    return true;
}

static void sort_values(struct sorted_values *s)
{
    for (uint64_t i = 0; i < s->n; i++)
        s->v[i] += 0.0f; /* -0 becomes +0 */
    if (s->n <= SMALL_SORT) {
        insertion_sort(s->v, s->n);
        return;
    }
    for (uint32_t shift = 0; shift < 32; shift += 8)
        if (radix_pass(s, s->v, s->scratch, shift)) {
            float *sorted = s->scratch;
            s->scratch = s->v;
            s->v = sorted;
        }
}

void pith_sorted_build(struct sorted_values *s, uint64_t n)
{
    s->n = n;
    sort_values(s);
    /* sums of v - median: where all values are far from 0, their squares would leave no digits */
    s->shift = n ? (double)s->v[n / 2] : 0;
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (i % SORTED_BLOCK == 0) {
            s->sum[i / SORTED_BLOCK] = sum;
            s->squares[i / SORTED_BLOCK] = squares;
        }
        double d = (double)s->v[i] - s->shift;
        sum += d;
        squares += d * d;
    }
    if (n % SORTED_BLOCK == 0) {
        s->sum[n / SORTED_BLOCK] = sum;
        s->squares[n / SORTED_BLOCK] = squares;
    }
}

/* Of values [0, to): what is kept for whole blocks, and the values behind the last of those. */
static struct range_sums prefix(const struct sorted_values *s, uint64_t to)
{
    struct range_sums r = {(double)to, s->sum[to / SORTED_BLOCK], s->squares[to / SORTED_BLOCK]};
    for (uint64_t i = to - to % SORTED_BLOCK; i < to; i++) {
        double d = (double)s->v[i] - s->shift;
        r.sum += d;
        r.squares += d * d;
    }
    return r;
}

/* Of values [from, to). */
static struct range_sums sorted_sums(const struct sorted_values *s, uint64_t from, uint64_t to)
{
    struct range_sums a = prefix(s, from), b = prefix(s, to);
    return (struct range_sums){b.n - a.n, b.sum - a.sum, b.squares - a.squares};
}

/* A mean never leaves its interval, whatever the rounding of the sums: equal values give exactly
 * that value. */
double pith_sorted_mean(const struct sorted_values *s, uint64_t from, uint64_t to)
{
    struct range_sums r = sorted_sums(s, from, to);
    double mean = s->shift + r.sum / r.n;
    double low = (double)s->v[from], high = (double)s->v[to - 1];
    return mean < low ? low : mean > high ? high : mean;
}

/* Few values are added up one by one: a difference of two prefix sums would hold their rounding,
 * which is as large as the error of a narrow cluster. */
double pith_sorted_error(const struct sorted_values *s, uint64_t from, uint64_t to, double centre)
{
    if (to - from <= SORTED_BLOCK) {
        double error = 0;
        for (uint64_t i = from; i < to; i++)
            error += ((double)s->v[i] - centre) * ((double)s->v[i] - centre);
        return error;
    }
    struct range_sums r = sorted_sums(s, from, to);
    double c = centre - s->shift;
    double error = r.squares - 2 * c * r.sum + r.n * c * c;
    return error > 0 ? error : 0;
}

/* Binary search for the first value above x. */
uint64_t pith_sorted_count_to(const struct sorted_values *s, double x)
{
    uint64_t low = 0, high = s->n;
    while (low < high) {
        uint64_t mid = low + (high - low) / 2;
        if ((double)s->v[mid] <= x)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

uint64_t pith_sorted_distinct(const struct sorted_values *s, uint64_t limit)
{
    uint64_t n = s->n > 0;
    for (uint64_t i = 1; i < s->n && n < limit; i++)
        n += s->v[i] != s->v[i - 1];
    return n;
}
