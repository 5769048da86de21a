/* SPDX-License-Identifier: MIT */
/* spec_context.c - context-coded tensors (S11). */
#include "spec_context.h"
#include <stdlib.h>
#include "spec_codebook.h"
#include "spec_slices.h"

struct distribution {
    uint32_t M[16], n;
};

struct contexts {
    struct span code;
    uint64_t at;       /* bit of the number that is the lowest one at the place of range */
    uint64_t low_code; /* the number up to there, less low */
    uint32_t range;
    uint32_t N, zero, classes, first[17], k[16], magnitude[16], told[16];
    bool apart; /* N does not count zero then */
    struct distribution All, R[16], S[24], T[17][16];
    uint32_t P[97], looks[97]; /* Z, D[0..31], F[0..63] */
};

static uint32_t code_bit_at(const struct contexts *x, uint64_t bit)
{
    uint64_t at = x->code.at + bit / 8;
    return at < x->code.end ? file[at] >> (7 - bit % 8) & 1 : 0;
}

static uint32_t coded_symbol(struct contexts *x, const uint32_t *M, uint32_t n)
{
    uint32_t B[17], s = 0;
    for (uint32_t i = 0; i < 16; i++) {
        uint32_t least = i + 1 < n ? 2 * (n - 1 - i) : 0;
        B[i] = ((M[i] * (65536 - 2 * n) >> 16) + least) * x->range >> 16;
    }
    while (s < 16 && x->low_code < B[s]) {
        s++;
    }
    x->low_code -= B[s];
    x->range = (s > 0 ? B[s - 1] : x->range) - B[s];
    while (x->range < 32768) {
        x->range <<= 1;
        x->low_code = x->low_code << 1 | code_bit_at(x, x->at++);
    }
    return s;
}

static void learn_symbol(struct distribution *d, uint32_t s)
{
    uint32_t r = 131072 / (2 * d->n + 3);
    for (uint32_t i = 0; i < 16; i++) {
        if (i < s) {
            d->M[i] += ((65535 - d->M[i]) * r + 32768) >> 16;
        } else {
            d->M[i] -= (d->M[i] * r + 32768) >> 16;
        }
    }
    if (d->n < 200) {
        d->n++;
    }
}

static void make_even(uint32_t *M, uint32_t n)
{
    for (uint32_t i = 0; i < 16; i++) {
        M[i] = i < n ? 65536 * (n - 1 - i) / n : 0;
    }
}

static void read_context_head(struct contexts *x, struct span *s, uint32_t *mean)
{
    uint64_t at = s->at;
    uint32_t g = u8(s);
    x->apart = g >= 128;
    g %= 128;
    must(g < 120, at, "a mean is below 120");
    must(!x->apart || x->N > 1, at, "a level beside zero");
    x->N -= x->apart;
    *mean = ((8 + g % 8) << (g / 8)) << 5;
    x->classes = x->N;
    if (x->N > 16) {
        x->classes = u8(s) + 1u;
        must(x->classes <= 16, at, "at most 16 classes");
        for (uint32_t i = 0; i < x->classes; i += 2) {
            uint32_t two = u8(s);
            x->k[i] = two & 15;
            if (i + 1 < x->classes) {
                x->k[i + 1] = two >> 4;
            } else {
                must(two >> 4 == 0, at, "the unused half of a byte of sizes");
            }
        }
    }
    for (uint32_t i = 0; i < x->classes; i++) {
        must(x->k[i] <= 8 && x->first[i] < x->N, at, "a class of 256 levels at most, below N");
        x->first[i + 1] = x->first[i] + (1u << x->k[i]);
    }
    must(x->first[x->classes] >= x->N, at, "classes have all levels");
    x->code = *s;
}

static void set_magnitudes(const struct tensor *t, struct contexts *x, const uint32_t *centroid)
{
    bool has_zero = false;
    for (uint32_t i = 0; i < t->n_centroids; i++) {
        x->zero += centroid[i] >> 31;
        has_zero = has_zero || centroid[i] == 0;
    }
    int64_t h = t->support == 0 && !has_zero, zero = x->zero;
    must(!x->apart || h == 0, t->elements.at, "a zero that can be told apart");
    for (uint32_t i = 0; i < x->classes; i++) {
        int64_t a = x->first[i], b = (i + 1 < x->classes ? x->first[i + 1] : x->N) - INT64_C(1);
        int64_t over = x->apart ? (a >= zero) + (b >= zero) : h;
        int64_t sum = a + b - 2 * zero + over, size = sum < 0 ? -sum : sum;
        x->magnitude[i] = (uint32_t)(8192 * size);
        x->told[i] = x->apart ? 1u + (size >= 6 ? 2 : 0) + (size >= 12 ? 2 : 0) + (sum < 0) : i + 1;
    }
}

static int64_t lg(uint32_t x)
{
    uint32_t e = 0;
    while (x >> e > 1) {
        e++;
    }
    return 8 * e + ((x << 3 >> e) & 7);
}

/* Rounded down. */
static uint32_t moved(uint32_t average, uint32_t v, uint64_t looks)
{
    int64_t step = ((int64_t)v - average) * (65536 / (5 + (looks < 44 ? (int64_t)looks : 44)));
    return (uint32_t)(average + (step >= 0 ? step / 65536 : -((65535 - step) / 65536)));
}

static uint32_t activity_of(const struct contexts *x, uint32_t A, uint32_t C, uint32_t mean)
{
    int64_t eighths = 3 * (lg(A) + lg(C)) - 6 * lg(mean), unit = x->apart ? 16 : 8;
    int64_t middle = x->apart ? 16 : 12, most = x->apart ? 31 : 23;
    int64_t level = (eighths >= 0 ? eighths / unit : -((unit - 1 - eighths) / unit)) + middle;
    return level < 0 ? 0 : level > most ? (uint32_t)most : (uint32_t)level;
}

/* Of decisions: what has seen nothing is as Z. */
static void begin_decision(struct contexts *x, uint32_t d)
{
    if (x->looks[d] == 0) {
        x->P[d] = x->P[0];
        x->looks[d] = x->looks[0] < 2 ? x->looks[0] : 2;
    }
}

static void learn_decision(struct contexts *x, uint32_t d, uint32_t bit)
{
    int64_t step = ((int64_t)(bit << 22) - x->P[d]) * (131072 / (2 * x->looks[d] + 3));
    x->P[d] = (uint32_t)(x->P[d] + (step >= 0 ? step / 65536 : -((65535 - step) / 65536)));
    if (x->looks[d] < 200) {
        x->looks[d]++;
    }
}

static uint32_t context_decision(struct contexts *x, uint32_t activity, uint32_t around)
{
    uint32_t D = 1 + activity, F = 33 + around;
    begin_decision(x, D);
    begin_decision(x, F);
    uint32_t p = (x->P[D] + x->P[F]) >> 7;
    p = p < 3 ? 3 : p > 65533 ? 65533 : p;
    uint32_t B = p * x->range >> 16, bit = x->low_code < B;
    x->low_code -= bit ? 0 : B;
    x->range = bit ? B : x->range - B;
    while (x->range < 32768) {
        x->range <<= 1;
        x->low_code = x->low_code << 1 | code_bit_at(x, x->at++);
    }
    learn_decision(x, D, bit);
    learn_decision(x, F, bit);
    learn_decision(x, 0, bit);
    return bit;
}

static struct distribution *begun(struct contexts *x, struct distribution *d)
{
    if (d->n == 0) {
        *d = x->All;
        d->n = x->All.n < 4 ? x->All.n : 4;
    }
    return d;
}

static uint32_t context_class(struct contexts *x, uint32_t activity, uint32_t before,
                              uint32_t place)
{
    struct distribution *S = begun(x, &x->S[activity]), *T = begun(x, &x->T[before][place]);
    uint32_t M[16];
    for (uint32_t i = 0; i < 16; i++) {
        M[i] = (S->M[i] + T->M[i] + 1) >> 1;
    }
    uint32_t s = coded_symbol(x, M, x->classes);
    learn_symbol(S, s);
    learn_symbol(T, s);
    learn_symbol(&x->All, s);
    return s;
}

static uint32_t context_level(struct contexts *x, uint32_t class)
{
    uint32_t k = x->k[class], even[16], high;
    if (k == 0) {
        return x->first[class];
    }
    high = coded_symbol(x, x->R[class].M, 1u << (k < 4 ? k : 4));
    learn_symbol(&x->R[class], high);
    if (k <= 4) {
        return x->first[class] + high;
    }
    make_even(even, 1u << (k - 4));
    return x->first[class] + (high << (k - 4)) + coded_symbol(x, even, 1u << (k - 4));
}

static void begin_contexts(struct contexts *x)
{
    x->range = 65535;
    x->at = 16;
    for (uint32_t i = 0; i < 16; i++) {
        x->low_code = x->low_code << 1 | code_bit_at(x, i);
    }
    make_even(x->All.M, x->classes);
    x->All.n = x->apart ? 4 : 0;
    x->P[0] = UINT32_C(1) << 21;
    for (uint32_t i = 0; i < x->classes; i++) {
        make_even(x->R[i].M, 1u << (x->k[i] < 4 ? x->k[i] : 4));
    }
}

static void end_contexts(const struct contexts *x)
{
    uint64_t bits = (x->code.end - x->code.at) * 8;
    must(x->low_code == 0, x->code.at, "the number is low");
    for (uint64_t i = x->at; i < bits; i++) {
        must(code_bit_at(x, i) == 0, x->code.at, "bits behind the number");
    }
    must(bits == 0 || file[x->code.end - 1] != 0, x->code.end - 1, "no zero byte at the end");
}

/* Rows from `first` on, behind one head. How many elements are stored. */
static uint64_t read_levels(const struct tensor *t, struct contexts *x, uint32_t mean,
                            const uint32_t *centroid, uint64_t first, uint64_t rows, uint8_t *value)
{
    uint64_t cols = t->count / (t->rank < 2 ? 1 : t->dim[0]), stored = 0;
    uint32_t place = 1, line = t->rank > 3 ? t->dim[t->rank - 1] : 0, activity = x->apart ? 16 : 12;
    uint32_t *average = zeroed(cols, sizeof *average);
    uint8_t *kept = zeroed(cols, 1); /* by column: the last level is not zero */
    for (uint32_t i = 2; i < t->rank; i++) {
        place *= t->dim[i];
    }
    for (uint64_t c = 0; c < cols; c++) {
        average[c] = mean;
    }
    for (uint64_t row = 0, i = first * cols; row < rows; row++) {
        uint32_t A = mean, before = 0;
        for (uint64_t c = 0; c < cols; c++, i++) {
            uint32_t around = 0, level = x->zero, v = 0, told = 0;
            around |= c > 0 ? kept[c - 1] : 0u;
            around |= c > 1 ? kept[c - 2] * 2u : 0u;
            around |= kept[c] * 4u;
            around |= c + 1 < cols ? kept[c + 1] * 8u : 0u;
            around |= place > 1 && c >= place ? kept[c - place] * 16u : 0u;
            around |= line > 0 && c >= line ? kept[c - line] * 32u : 0u;
            if (!x->apart || context_decision(x, activity, around)) {
                uint32_t s = x->apart ? activity / 2 : activity;
                uint32_t class = context_class(x, s, before, (uint32_t)(c % place % 16));
                level = context_level(x, class);
                must(level < x->N, x->code.at, "a level is below N");
                level += x->apart && level >= x->zero;
                v = x->magnitude[class];
                told = x->told[class];
            }
            kept[c] = told > 0;
            average[c] = moved(average[c], v, row);
            if (c + 1 == cols) {
                activity = activity_of(x, mean, average[0], mean);
            } else {
                activity = activity_of(x, A, average[c + 1], mean);
            }
            A = moved(A, v, c);
            before = told;
            if (t->support != 0 && level == x->zero) {
                continue;
            }
            uint32_t index = level - (t->support != 0 && level > x->zero);
            uint64_t group = i / (t->count / t->n_groups);
            write_value(t, value, i, centroid[group * t->n_centroids + index]);
            stored++;
        }
    }
    free(average);
    free(kept);
    end_contexts(x);
    return stored;
}

static uint64_t read_slice(const struct tensor *t, struct span s, const uint32_t *centroid,
                           uint64_t first, uint64_t rows, uint8_t *value)
{
    struct contexts *x = zeroed(1, sizeof *x);
    uint32_t mean;
    x->N = t->n_centroids + (t->support != 0);
    read_context_head(x, &s, &mean);
    set_magnitudes(t, x, centroid);
    begin_contexts(x);
    uint64_t stored = read_levels(t, x, mean, centroid, first, rows, value);
    free(x);
    return stored;
}

void read_context_values(const struct tensor *t, uint8_t *value)
{
    uint64_t stored = 0;
    uint32_t *centroid = read_codebook(t);
    struct slices all = slices_of(t);
    struct slice s;
    while (next_slice(t, &all, &s)) {
        stored += read_slice(t, s.bytes, centroid, s.first, s.rows, value);
    }
    must(stored == t->nnz, t->elements.at, "as many elements are stored as nnz says");
    free(centroid);
}
