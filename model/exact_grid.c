/* SPDX-License-Identifier: MIT */
/* exact_grid.c - which weights lie on a grid already. Floats as trained are distinguished from
 * grids by their first few numbers, so that looking costs a network of floats next to nothing.
 *
 * The scale of a row. Let M be its largest magnitude, and M = fl(s L) for an integer L, where fl
 * rounds to f32. Then s lies within M / L * (1 +- 2^-24), and that holds fl(M / L) and at most its
 * two neighbours: if none of the three gives every number of the row, no s does for this L. L is
 * that of the row before, as a rule, else the smallest that fits; then a common divisor of all
 * integers goes into the scale. */
#include "exact_grid.h"

#include <stdlib.h>
#include <string.h>
#include "core/bytes.h"
#include "base/error_fill.h"
#include "base/narrow_float.h"

#define SIGN 0x80000000u
#define INFINITE 0x7f800000u
#define SMALLEST_NORMAL 0x00800000u
#define MOST 256u   /* centroids */
#define HIGHEST 127 /* integers of a row, where its zero point is 0 */
#define LARGEST 255 /* magnitude of an integer of 8 bits less its zero point */
#define FEWEST 256u /* elements of a weight: below, a codebook saves little */
#define FEWEST_NARROW 128u
#define STEP_BYTES 6u /* of a row's scale in a file, about */

/* ---- few values ------------------------------------------------------------------------------ */

#define SLOTS 1024u
#define EMPTY 0xffffu

struct distinct {
    uint32_t n, bits[MOST]; /* in order of appearance */
    uint16_t slot[SLOTS];   /* numbers of them */
};

/* The number of the value; MOST: it is one too many. */
static uint32_t number_of(struct distinct *d, uint32_t bits)
{
    uint32_t at = bits * 2654435761u >> 22;
    while (d->slot[at] != EMPTY) {
        if (d->bits[d->slot[at]] == bits)
            return d->slot[at];
        at = (at + 1) % SLOTS;
    }
    if (d->n == MOST)
        return MOST;
    d->bits[d->n] = bits;
    d->slot[at] = (uint16_t)d->n;
    return d->n++;
}

/* index[i]: number of x[i]; false: there are too many, or one is not finite. */
static bool collect(struct distinct *d, const float *x, uint64_t n, uint8_t *index)
{
    d->n = 0;
    memset(d->slot, 0xff, sizeof d->slot);
    for (uint64_t i = 0; i < n; i++) {
        uint32_t number = number_of(d, f32_bits(x[i]));
        if (number == MOST)
            return false;
        index[i] = (uint8_t)number;
    }
    for (uint32_t i = 0; i < d->n; i++)
        if ((d->bits[i] & ~SIGN) >= INFINITE)
            return false;
    return true;
}

/* Ascending as f32 in total order: -0 before +0. */
static int by_value(const void *a, const void *b)
{
    uint32_t x = f32_bits(*(const float *)a), y = f32_bits(*(const float *)b);
    x = x & SIGN ? ~x : x | SIGN;
    y = y & SIGN ? ~y : y | SIGN;
    return (x > y) - (x < y);
}

/* ---- multiples of a scale -------------------------------------------------------------------- */

/* k[i] * scale is x[i], to the bit, and -256 <= k[i] <= 255? x + 1.5 * 2^23 has the integer nearest
 * to x in its low bits; |x| is at most 255 and some. */
static bool fits(const float *x, uint64_t n, float scale, int16_t *k)
{
    const float to_integer = 12582912.0f, inverse = 1.0f / scale;
    const uint64_t begin = 8, block = 256;
    for (uint64_t i = 0, end = begin; i < n; end += block) {
        uint32_t wrong = 0;
        for (end = end < n ? end : n; i < end; i++) {
            float shifted = x[i] * inverse + to_integer;
            int32_t q = (int32_t)(f32_bits(shifted) - f32_bits(to_integer));
            wrong |= f32_bits((float)q * scale) ^ f32_bits(x[i]);
            wrong |= (uint32_t)(q + LARGEST + 1) & ~511u;
            k[i] = (int16_t)q;
        }
        if (wrong)
            return false;
    }
    return true;
}

/* The scale for which the largest magnitude is `most` times it; 0: there is none. */
static float scale_for(const float *x, uint64_t n, float largest, uint32_t most, int16_t *k)
{
    uint32_t nearest = f32_bits(largest / (float)most);
    static const uint32_t beside[] = {0, 1, UINT32_MAX};
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t bits = nearest + beside[i];
        if (bits >= SMALLEST_NORMAL && bits < INFINITE && fits(x, n, f32_from_bits(bits), k))
            return f32_from_bits(bits);
    }
    return 0;
}

static uint32_t divisor_of(const int16_t *k, uint64_t n)
{
    uint32_t g = 0;
    for (uint64_t i = 0; i < n && g != 1; i++) {
        uint32_t a = (uint32_t)(k[i] < 0 ? -k[i] : k[i]);
        while (a) {
            uint32_t rest = g % a;
            g = a;
            a = rest;
        }
    }
    return g;
}

/* Something between 0 and the largest, as a part of that, to try many integers with at once; 0: the
 * row has nothing else. */
static double another(const float *x, uint64_t n, float largest)
{
    for (uint64_t i = 0; i < n; i++) {
        float a = x[i] < 0 ? -x[i] : x[i];
        if (a > 0 && a < largest)
            return (double)a / (double)largest;
    }
    return 0;
}

/* Smallest first: a grid within a grid is not looked for. */
static float search(const float *x, uint64_t n, float largest, uint32_t *most, int16_t *k)
{
    double part = another(x, n, largest);
    for (*most = 1; *most <= LARGEST; ++*most) {
        double at = part * *most, off = at - (double)(int32_t)(at + 0.5);
        if (off > 1e-3 || off < -1e-3)
            continue;
        float scale = scale_for(x, n, largest, *most, k);
        if (scale > 0)
            return scale;
    }
    return 0;
}

static uint32_t largest_magnitude(const float *x, uint64_t n)
{
    uint32_t most = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t a = f32_bits(x[i]) & ~SIGN;
        most = a > most ? a : most;
    }
    return most;
}

static bool all_plus_zero(const float *x, uint64_t n)
{
    uint32_t any = 0;
    for (uint64_t i = 0; i < n; i++)
        any |= f32_bits(x[i]);
    return any == 0;
}

static void note_range(const int16_t *k, uint64_t n, struct pith_row_grid *g)
{
    for (uint64_t i = 0; i < n; i++) {
        g->low = k[i] < g->low ? k[i] : g->low;
        g->high = k[i] > g->high ? k[i] : g->high;
    }
}

bool pith_find_row_grid(const float *x, uint64_t n, uint32_t *hint, struct pith_row_grid *g,
                        int16_t *k)
{
    uint32_t bits = largest_magnitude(x, n), most = *hint;
    float largest = f32_from_bits(bits);
    *g = (struct pith_row_grid){0};
    if (bits == 0) {
        memset(k, 0, (size_t)n * sizeof *k);
        return all_plus_zero(x, n);
    }
    if (bits >= INFINITE)
        return false;
    g->scale = most ? scale_for(x, n, largest, most, k) : 0;
    if (!(g->scale > 0))
        g->scale = search(x, n, largest, &most, k);
    if (!(g->scale > 0))
        return false;
    *hint = most;
    uint32_t divisor = divisor_of(k, n);
    float larger = divisor > 1 ? scale_for(x, n, largest, most / divisor, k) : 0;
    if (larger > 0) {
        g->scale = larger;
    } else if (divisor > 1) {
        scale_for(x, n, largest, most, k); /* k was overwritten */
    }
    note_range(k, n, g);
    return g->high - g->low < (int32_t)MOST;
}

/* ---- codebooks ------------------------------------------------------------------------------- */

static uint32_t index_bits(uint32_t n_centroids)
{
    uint32_t bits = 1;
    while (n_centroids > 1u << bits)
        bits++;
    return bits;
}

/* Bytes of a plain file without and with the codebook. */
static bool pays(const struct pith_const *k, uint32_t n_centroids, uint64_t codebook_bytes)
{
    uint64_t each = k->stored ? 16 : 32;
    return k->count * index_bits(n_centroids) + 8 * codebook_bytes < k->count * each;
}

static struct pith_codebook *new_codebook(struct pith_model *m, uint32_t n_centroids,
                                          uint64_t n_groups, uint64_t group_elems)
{
    struct pith_codebook *b = pith_model_alloc(m, 1, sizeof *b);
    if (!b)
        return NULL;
    *b = (struct pith_codebook){
        .n_centroids = n_centroids, .group_elems = group_elems, .n_groups = n_groups};
    b->centroid = pith_model_alloc(m, n_groups * n_centroids, sizeof *b->centroid);
    return b->centroid ? b : NULL;
}

/* From -`below` times the scale on. */
static void write_multiples(float scale, int32_t below, uint32_t n, float *centroid)
{
    for (uint32_t i = 0; i < n; i++)
        centroid[i] = scale * (float)((int32_t)i - below);
}

/* How many centroids, of which `below` are negative: symmetric but for -128 where that holds all,
 * else (false) as many as the row has. */
static bool is_symmetric(const struct pith_row_grid *g, uint32_t *n, int32_t *below)
{
    int32_t most = g->high > -g->low ? g->high : -g->low;
    bool symmetric = g->high <= HIGHEST && g->low >= -HIGHEST - 1;
    *below = symmetric ? most : -g->low;
    *n = !symmetric       ? (uint32_t)(g->high - g->low) + 1
         : most > HIGHEST ? MOST
                          : 2 * (uint32_t)most + 1;
    return symmetric;
}

static bool reaches_infinity(float scale, int32_t below, uint32_t n)
{
    int32_t above = (int32_t)n - 1 - below, most = above > below ? above : below;
    return (f32_bits(scale * (float)most) & ~SIGN) >= INFINITE;
}

/* Few values that are multiples of a scale, as all of these multiples where the indices stay as
 * short: the file then holds a scale instead of the values. */
static bool lay_multiples(struct pith_codebook *b, const float *sorted, uint32_t n,
                          uint8_t number[MOST])
{
    struct pith_row_grid g;
    int16_t k[MOST];
    uint32_t hint = 0, n_centroids;
    int32_t below;
    if (n < 3 || !pith_find_row_grid(sorted, n, &hint, &g, k) || !(g.scale > 0))
        return false;
    is_symmetric(&g, &n_centroids, &below);
    if (index_bits(n_centroids) > index_bits(n) || reaches_infinity(g.scale, below, n_centroids))
        return false;
    b->n_centroids = n_centroids;
    write_multiples(g.scale, below, n_centroids, b->centroid);
    for (uint32_t i = 0; i < n; i++)
        number[i] = (uint8_t)(k[i] + below);
    return true;
}

static enum pith_status give_few(struct pith_model *m, struct pith_const *k,
                                 const struct distinct *d, uint8_t *index)
{
    struct pith_codebook *b = new_codebook(m, MOST, 1, k->count);
    float sorted[MOST];
    uint8_t number[MOST], of[MOST] = {0};
    if (!b)
        return PITH_ERR_MEMORY;
    memcpy(sorted, d->bits, d->n * sizeof *sorted);
    qsort(sorted, d->n, sizeof *sorted, by_value);
    for (uint32_t i = 0; i < d->n; i++)
        number[i] = (uint8_t)i;
    if (!lay_multiples(b, sorted, d->n, number)) {
        b->n_centroids = d->n;
        memcpy(b->centroid, sorted, d->n * sizeof *sorted);
    }
    for (uint32_t i = 0; i < d->n; i++)
        for (uint32_t s = 0; s < d->n; s++)
            if (f32_bits(sorted[s]) == d->bits[i])
                of[i] = number[s];
    for (uint64_t i = 0; i < k->count; i++)
        index[i] = of[index[i]];
    b->index = index;
    k->codebook = b;
    return PITH_OK;
}

/* Centroids of each row, and below[rows]: how many are negative. Rows whose zero points differ have
 * each its own. 0: some would be infinite, or more than MOST. */
static uint32_t lay_rows(const struct pith_row_grid *grid, uint64_t rows, int32_t *below)
{
    struct pith_row_grid all = {0};
    uint32_t n, each;
    int32_t common;
    for (uint64_t r = 0; r < rows; r++) {
        all.low = grid[r].low < all.low ? grid[r].low : all.low;
        all.high = grid[r].high > all.high ? grid[r].high : all.high;
    }
    bool symmetric = is_symmetric(&all, &n, &common);
    for (uint64_t r = 0; r < rows && !symmetric; r++) {
        each = (uint32_t)(grid[r].high - grid[r].low) + 1;
        n = r == 0 || each > n ? each : n;
    }
    for (uint64_t r = 0; r < rows; r++) {
        below[r] = symmetric ? common : -grid[r].low;
        if (reaches_infinity(grid[r].scale, below[r], n))
            return 0;
    }
    return n;
}

/* grid, below: [rows]; index holds their integers modulo 256. */
static enum pith_status give_rows(struct pith_model *m, struct pith_const *k, uint64_t rows,
                                  const struct pith_row_grid *grid, int32_t *below, uint8_t *index)
{
    uint64_t cols = k->count / rows;
    uint32_t n = lay_rows(grid, rows, below);
    float scale = 1;
    if (n == 0 || !pays(k, n, rows * STEP_BYTES))
        return PITH_OK;
    struct pith_codebook *b = new_codebook(m, n, rows, cols);
    if (!b)
        return PITH_ERR_MEMORY;
    for (uint64_t r = 0; r < rows; r++) {
        scale = grid[r].scale > 0 ? grid[r].scale : scale; /* of zeros: of the row before */
        write_multiples(scale, below[r], n, b->centroid + r * n);
        for (uint64_t i = r * cols; i < (r + 1) * cols; i++)
            index[i] = (uint8_t)(index[i] + (uint32_t)below[r]);
    }
    b->index = index;
    k->codebook = b;
    return PITH_OK;
}

/* index: room for k's elements. */
static enum pith_status find_rows(struct pith_model *m, struct pith_const *k, uint64_t rows,
                                  uint8_t *index)
{
    uint64_t cols = k->count / rows;
    uint32_t hint = 0;
    const float *x = k->data;
    if (cols < 2)
        return PITH_OK;
    struct pith_row_grid *grid = malloc((size_t)rows * sizeof *grid);
    int32_t *below = malloc((size_t)rows * sizeof *below);
    int16_t *q = malloc((size_t)cols * sizeof *q);
    enum pith_status st = grid && below && q ? PITH_OK : PITH_ERR_MEMORY;
    uint64_t r = 0;
    for (; !st && r < rows && pith_find_row_grid(x + r * cols, cols, &hint, &grid[r], q); r++)
        for (uint64_t i = 0; i < cols; i++)
            index[r * cols + i] = (uint8_t)q[i];
    if (!st && r == rows)
        st = give_rows(m, k, rows, grid, below, index);
    free(grid);
    free(below);
    free(q);
    return st;
}

/* Whether the beginning has few values, and whether the first row begins as integers times a scale.
 */
static void try_beginning(const struct pith_const *k, uint64_t rows, bool *few, bool *in_rows)
{
    static const uint64_t enough = 2 * MOST;
    struct distinct d;
    uint8_t index[2 * MOST];
    int16_t q[2 * MOST];
    struct pith_row_grid g;
    uint32_t hint = 0;
    uint64_t cols = k->count / rows;
    *few = collect(&d, k->data, k->count < enough ? k->count : enough, index);
    *in_rows = pith_find_row_grid(k->data, cols < enough ? cols : enough, &hint, &g, q);
}

static enum pith_status find_codebook(struct pith_model *m, struct pith_const *k, uint64_t rows)
{
    struct distinct d;
    bool few, in_rows;
    if (k->codebook || k->mask || k->count < FEWEST)
        return PITH_OK;
    try_beginning(k, rows, &few, &in_rows);
    uint8_t *index = few || in_rows ? pith_model_alloc(m, k->count, 1) : NULL;
    if (!few && !in_rows)
        return PITH_OK;
    if (!index)
        return PITH_ERR_MEMORY;
    if (few && collect(&d, k->data, k->count, index))
        return pays(k, d.n, 4 * (uint64_t)d.n) ? give_few(m, k, &d, index) : PITH_OK;
    return in_rows ? find_rows(m, k, rows, index) : PITH_OK;
}

/* ---- floats of 2 bytes ------------------------------------------------------------------------
 */

static void find_narrow(const struct pith_value *v, struct pith_grids_found *found)
{
    struct pith_const *k = v->constant;
    if (v->type != PITH_F32 || k->codebook || k->stored || k->count < FEWEST_NARROW)
        return;
    if (pith_narrow_holds(PITH_BF16, k->data, k->count))
        k->stored = PITH_BF16;
    else if (pith_narrow_holds(PITH_F16, k->data, k->count))
        k->stored = PITH_F16;
    found->n_narrow += k->stored != 0;
}

enum pith_status pith_find_grids(struct pith_model *m, struct pith_grids_found *found,
                                 struct pith_error *err)
{
    struct pith_grids_found f = {0};
    struct pith_weight_ref *refs = calloc(m->n_nodes + 1u, sizeof *refs);
    enum pith_status st = refs ? PITH_OK : PITH_ERR_MEMORY;
    uint32_t n = refs ? pith_model_weights(m, refs) : 0;
    for (uint32_t i = 0; i < n && !st; i++) {
        struct pith_const *k = m->values[refs[i].value].constant;
        bool had = k->codebook != NULL;
        st = find_codebook(m, k, refs[i].rows);
        if (k->codebook && !had) {
            f.n_rows += k->codebook->n_groups > 1;
            f.n_few += k->codebook->n_groups == 1;
        }
    }
    for (uint32_t v = 0; v < m->n_values && !st; v++)
        if (m->values[v].constant)
            find_narrow(&m->values[v], &f);
    free(refs);
    if (found)
        *found = f;
    return st ? pith_error_no_memory(err) : PITH_OK;
}
