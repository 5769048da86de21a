/* SPDX-License-Identifier: MIT */
/* quad_form.c - see quad_form.h. Rows are counted block by block, sorted by their quads, and get
 * their entries in a second pass; both passes go through the nonzeros in the order of the file. */
#include "products/quad_form.h"
#include "products/run_form.h"

#define BLOCK_COLS 512u /* times 16 floats: a first-level cache; times 48: part of the second */
#define BLOCK_COLS_MAX 2048u /* times 256 bytes a row of x, by 8: fits u16 */
#define SLOT_ENTRIES 24u     /* fewer nonzeros a slot do not pay for going through it */
#define SLOT_WORK 6u         /* a slot takes as long as so many nonzeros, padding included */
#define MAX_INDICES 255u     /* one more is 0 */
#define MAX_COLS (UINT32_MAX / 2)

static uint32_t blocks_of(uint32_t cols, uint32_t block_cols)
{
    return (cols + block_cols - 1) / block_cols;
}

/* The same for every width, so that sums are the same. Blocks grow until a slot has SLOT_ENTRIES
 * nonzeros on average, so that going through the slots does not cost more than the nonzeros. The
 * width is left out of it, because the end of a block is where the four sums of a row are added
 * up. */
static uint32_t block_cols_of(const struct weight *w, const struct quad_matrix *m)
{
    uint32_t block = BLOCK_COLS;
    while (block < BLOCK_COLS_MAX && block < m->cols &&
           w->nnz < (uint64_t)SLOT_ENTRIES * m->rows * blocks_of(m->cols, block))
        block *= 2;
    return block;
}

/* An index of a byte, of which one value is left for 0 (what fills up quads). */
bool pith_quads_have_indices(const struct weight *w)
{
    return w->grid == GRID_CODEBOOK && w->n_groups == 1 && w->n_centroids <= MAX_INDICES;
}

/* Appends an array of n elements to the form; its offset goes to *at. Offsets are multiples of 64,
 * as aligned vector loads and cache lines want them. false: the size overflows. */
static bool place(uint64_t *bytes, uint64_t n, uint64_t elem_bytes, uint64_t *at)
{
    uint64_t array;
    *at = *bytes;
    return mul_ok(n, elem_bytes, &array) && add_ok(*bytes, array, bytes) &&
           align_ok(*bytes, 64, bytes);
}

/* The last unit has slots for all of its 256 rows, too, which keeps the address of a slot a
 * product. */
static uint64_t slots_of(const struct quad_form *f)
{
    return (uint64_t)f->n_units * f->n_blocks * QUAD_UNIT_ROWS;
}

/* At most three entries fill up the last quad of each slot that has any. */
static uint64_t most_entries(const struct quad_form *f, uint64_t nnz)
{
    uint64_t slots = (uint64_t)f->rows * f->n_blocks;
    return nnz + 3 * (nnz < slots ? nnz : slots);
}

/* With room for `entries`. Weights come last: close_up moves them when the number of entries is
 * known. */
static bool lay_out(const struct weight *w, uint64_t entries, struct quad_form *f)
{
    bool codebook = pith_quads_have_indices(w);
    uint64_t end = (sizeof *f + 63) & ~(uint64_t)63;
    bool ok = place(&end, codebook ? w->n_centroids + 1 : 0, 4, &f->codebook) &&
              place(&end, f->n_units, 4, &f->ptr) &&
              place(&end, slots_of(f), sizeof(struct quad_slot), &f->slot) &&
              place(&end, entries, 2, &f->place) &&
              place(&end, entries, codebook ? 1 : 4, &f->weight);
    f->codebook_floats = codebook ? w->n_centroids + 1 : 0;
    f->bytes = end;
    return ok && end <= SIZE_MAX;
}

static bool shape_of(const struct weight *w, const struct quad_matrix *m, struct quad_form *f)
{
    *f = (struct quad_form){
        .rows = m->rows,
        .n_units = (uint32_t)(((uint64_t)m->rows + QUAD_UNIT_ROWS - 1) / QUAD_UNIT_ROWS),
        .block_cols = block_cols_of(w, m),
        .width = m->width};
    f->n_blocks = blocks_of(m->cols, f->block_cols);
    return lay_out(w, most_entries(f, w->nnz), f);
}

/* Element numbers are u32 (pith_weight_expand_parts). */
static bool fits(const struct weight *w, const struct quad_matrix *m)
{
    uint64_t count;
    return w->support != SUPPORT_DENSE && mul_ok(m->rows, m->cols, &count) && count == w->count &&
           count != 0 && count <= UINT32_MAX && m->cols <= MAX_COLS && w->nnz <= count;
}

/* What building needs. */
struct parts {
    void *decoder;
    uint32_t *pos;
    uint8_t *index;
    float *value;
    float *codebook;
    uint32_t *next;  /* [n_blocks][QUAD_UNIT_ROWS] nonzeros, then where the next entry goes */
    uint32_t *first; /* [cols / 4 + 2] slots by quads */
    uint64_t bytes;
};

/* With scratch NULL it only counts. Indices and values share a place, as a weight has either. */
static bool place_parts(const struct weight *w, const struct quad_form *f, void *scratch,
                        struct parts *p)
{
    bool codebook = f->codebook_floats != 0;
    uint64_t end = 0, decoder = 0, pos = 0, value = 0, book = 0, next = 0, first = 0;
    bool ok = place(&end, pith_weight_scratch_bytes(w), 1, &decoder) &&
              place(&end, w->nnz, 4, &pos) && place(&end, w->nnz, codebook ? 1 : 4, &value) &&
              place(&end, codebook ? w->n_centroids : 0, 4, &book) &&
              place(&end, (uint64_t)f->n_blocks * QUAD_UNIT_ROWS, 4, &next) &&
              place(&end, (uint64_t)f->block_cols / 4 + 2, 4, &first);
    uint8_t *base = scratch;
    if (base) {
        p->decoder = base + decoder;
        p->pos = (uint32_t *)(void *)(base + pos);
        p->index = codebook ? base + value : NULL;
        p->value = codebook ? NULL : (float *)(void *)(base + value);
        p->codebook = (float *)(void *)(base + book);
        p->next = (uint32_t *)(void *)(base + next);
        p->first = (uint32_t *)(void *)(base + first);
    }
    p->bytes = end;
    return ok && end <= SIZE_MAX;
}

/* The struct and all offsets fit the worst pattern; the build then takes what its own pattern
 * needs. */
enum pith_status pith_quads_need(const struct weight *w, const struct quad_matrix *m,
                                 struct quad_need *need)
{
    struct quad_form f;
    struct parts p;
    if (!fits(w, m) || !shape_of(w, m, &f) || !place_parts(w, &f, NULL, &p))
        return PITH_ERR_UNSUPPORTED;
    *need = (struct quad_need){f.bytes, p.bytes};
    return PITH_OK;
}

/* Of at most 2^36 entries, and 2^32 columns: no overflow. Per strip of x each nonzero costs a
 * broadcast (quads[0]), and per vector a multiply-add (quads[1]); a tail half as much. Putting x
 * into panels and results where they belong counts as broadcasts. */
uint64_t pith_quads_cost(const struct weight *w, const struct quad_matrix *m,
                         const struct sparse_kernels *k, uint32_t n, uint32_t strips, bool tail)
{
    const struct pith_costs *c = &k->costs;
    uint64_t slots = (uint64_t)m->rows * blocks_of(m->cols, block_cols_of(w, m));
    uint64_t entries = w->nnz + SLOT_WORK * slots;
    uint64_t whole = tail ? n - n % QUAD_WIDTH_STEP : n;
    uint64_t halves = (whole + k->quad_lanes - 1) / k->quad_lanes * 2 + tail;
    uint64_t lanes = k->quad_lanes, columns = (n + lanes - 1) / lanes * lanes;
    uint64_t turned = ((uint64_t)m->rows + m->cols) * columns; /* elements of x and y */
    return (entries * strips + turned) * (8 * COSTS_IN_NS) / c->quads[0] +
           entries * halves * (4 * COSTS_IN_NS) / c->quads[1];
}

/* ---- building ------------------------------------------------------------------------------- */

struct builder {
    struct quad_form *f;
    const struct quad_matrix *m;
    struct parts p;
    uint8_t *base;
    uint32_t nnz;
};

static void *array_of(const struct builder *b, uint64_t offset)
{
    return b->base + offset;
}

/* The row of x that element `col` of a row of the weight is multiplied with. The weight of a
 * convolution is [o, c, taps], the panel that im2col makes is [taps, c]. */
static uint32_t row_of_x(const struct quad_matrix *m, uint32_t col)
{
    return m->taps == 1 ? col : col % m->taps * (m->cols / m->taps) + col / m->taps;
}

/* The first nonzero of row r and those behind, from nonzero i on: where the row ends. Number i is
 * at least `begin`, as numbers ascend and the rows before are done; the difference cannot wrap. */
static uint32_t row_end(const struct builder *b, uint32_t r, uint32_t i)
{
    uint32_t begin = r * b->m->cols; /* count <= UINT32_MAX */
    while (i < b->nnz && b->p.pos[i] - begin < b->m->cols)
        i++;
    return i;
}

/* Nonzeros of each block and row of the unit, from nonzero i on; where the unit ends. x /
 * block_cols is below n_blocks, since x is below cols: row_of_x permutes the columns. */
static uint32_t count_unit(const struct builder *b, uint32_t unit, uint32_t i)
{
    memset(b->p.next, 0, (size_t)b->f->n_blocks * QUAD_UNIT_ROWS * sizeof *b->p.next);
    for (uint32_t r = 0; r < quad_unit_rows(b->f, unit); r++) {
        uint32_t row = unit * QUAD_UNIT_ROWS + r, end = row_end(b, row, i);
        for (; i < end; i++) {
            uint32_t x = row_of_x(b->m, b->p.pos[i] - row * b->m->cols);
            b->p.next[(size_t)(x / b->f->block_cols) * QUAD_UNIT_ROWS + r]++;
        }
    }
    return i;
}

/* Slots of one block by falling quads, ties in row order, from quad `at` on: the quad behind them.
 * `next` becomes the first entry of each row. A counting sort: first[most - quads] is the next slot
 * for rows of so many quads. A row has at most block_cols nonzeros in a block, so quads is at most
 * `most`. */
static uint32_t sort_slots(const struct builder *b, uint32_t unit, uint32_t block, uint32_t at)
{
    uint32_t rows = quad_unit_rows(b->f, unit), most = b->f->block_cols / 4;
    uint32_t *next = b->p.next + (size_t)block * QUAD_UNIT_ROWS, *first = b->p.first;
    struct quad_slot *slot = (struct quad_slot *)(uintptr_t)quad_slots(b->f, unit, block);
    memset(first, 0, ((size_t)most + 2) * sizeof *first);
    for (uint32_t r = 0; r < rows; r++)
        first[most - (next[r] + 3) / 4 + 1]++;
    for (uint32_t q = 0; q <= most; q++)
        first[q + 1] += first[q];
    for (uint32_t r = 0; r < rows; r++) {
        uint32_t quads = (next[r] + 3) / 4;
        slot[first[most - quads]++] = (struct quad_slot){(uint16_t)r, (uint16_t)quads};
    }
    for (uint32_t s = 0; s < rows; s++) {
        next[slot[s].row] = 4 * at;
        at += slot[s].quads;
    }
    return at;
}

/* Entries of the unit's nonzeros, from i on. Places count pairs of floats within the block: below
 * 2048 * 48 / 2 = 49152, which u16 holds. */
static void put_unit(const struct builder *b, uint32_t unit, uint32_t i)
{
    uint16_t *to = array_of(b, b->f->place);
    uint8_t *index = array_of(b, b->f->weight);
    float *value = array_of(b, b->f->weight);
    for (uint32_t r = 0; r < quad_unit_rows(b->f, unit); r++) {
        uint32_t row = unit * QUAD_UNIT_ROWS + r, end = row_end(b, row, i);
        for (; i < end; i++) {
            uint32_t x = row_of_x(b->m, b->p.pos[i] - row * b->m->cols);
            uint32_t block = x / b->f->block_cols;
            uint32_t at = b->p.next[(size_t)block * QUAD_UNIT_ROWS + r]++;
            uint32_t floats = (x - block * b->f->block_cols) * b->f->width;
            to[at] = (uint16_t)(floats / QUAD_PLACE_FLOATS);
            if (b->p.index)
                index[at] = b->p.index[i];
            else
                value[at] = b->p.value[i];
        }
    }
}

/* All units; where nothing is put later, a weight is 0. The first pass over a unit sizes its slots,
 * the second fills them, so that no list of a row's entries is kept. */
static uint32_t put_units(const struct builder *b)
{
    uint32_t *ptr = array_of(b, b->f->ptr);
    uint32_t at = 0, i = 0;
    for (uint32_t u = 0; u < b->f->n_units; u++) {
        uint32_t end = count_unit(b, u, i);
        ptr[u] = at;
        for (uint32_t block = 0; block < b->f->n_blocks; block++)
            at = sort_slots(b, u, block, at);
        put_unit(b, u, i);
        i = end;
    }
    return at;
}

/* Behind the entries that there are, the weights move up. */
static void close_up(const struct builder *b, uint32_t quads)
{
    struct quad_form *f = b->f;
    uint64_t elem = f->codebook_floats ? 1 : 4, entries = (uint64_t)4 * quads;
    uint64_t weight = (f->place + entries * 2 + 63) & ~(uint64_t)63;
    memmove(b->base + weight, b->base + f->weight, (size_t)(entries * elem));
    f->weight = weight;
    f->bytes = (weight + entries * elem + 63) & ~(uint64_t)63;
}

/* With a codebook, index n_centroids stands for 0, so all weights are set to it before entries are
 * put; its value in the codebook is among the bytes cleared here. Values are cleared likewise. */
enum pith_status pith_quads_build(const struct op_env *env, const struct weight *w,
                                  const struct quad_matrix *m, void *form)
{
    struct quad_form *f = form;
    struct builder b = {.f = f, .m = m, .base = form, .nnz = (uint32_t)w->nnz};
    if (!fits(w, m) || !shape_of(w, m, f) || !place_parts(w, f, env->scratch, &b.p))
        return PITH_ERR_UNSUPPORTED;
    enum pith_status status =
        pith_weight_cut_parts(env, w, b.p.pos, b.p.index, b.p.value, b.p.decoder);
    if (status == PITH_OK && f->codebook_floats)
        status = pith_weight_codebooks(w, b.p.codebook);
    if (status)
        return status;
    memset(f + 1, 0, (size_t)f->bytes - sizeof *f);
    if (f->codebook_floats) {
        memcpy(b.base + f->codebook, b.p.codebook, w->n_centroids * sizeof(float));
        memset(b.base + f->weight, (int)w->n_centroids, (size_t)(f->bytes - f->weight));
    }
    close_up(&b, put_units(&b));
    return PITH_OK;
}
