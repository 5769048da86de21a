/* SPDX-License-Identifier: MIT */
/* run_form.c - chooses and builds the run form of a matrix (kinds: kernel_sparse.h).
 *
 * Choice. A form is built where its kernel passes the matrix no slower than the dense f32 product
 * would, by the measured speeds of the kernel table and the size that f32 would have: in integers.
 *
 * Memory is promised before anything is decoded, so it must hold any pattern with these counts. The
 * row-pointer form (3 bytes a nonzero with a codebook) has a size that follows from the counts. The
 * window form has not, but it is the fastest, so it is tried first and taken when it fits into the
 * promise; what does not fit is a pattern that leaves most of its slots empty. */
#include "products/run_form.h"
#include "kernels/kernels.h"
#include "products/run_form_window.h"
#include "decode/weight_cut.h"

#define UNIT_ROWS_CSR 16u
#define UNIT_ROWS_DENSE 4u
#define MAX_CSR_COLS 65536u
#define CSR_CODEBOOK_BYTES 3u /* of a nonzero: column u16 and index u8 */
#define CSR_VALUE_BYTES 6u    /* or value f32 */
#define MAX_WINDOW_CENTROIDS 32u

struct choice {
    enum run_form_kind kind;
    bool try_window;
    uint32_t codebook_floats; /* of one codebook, padded */
    uint32_t n_codebooks;     /* 0, 1 or rows */
    uint32_t row_bytes;       /* 0: sparse */
    const char *kernel;
};

#define ROWS_A_PASS 8u  /* of dense codebooks */
#define MANY_ROWS 1024u /* from then on nothing changes */

/* Of n elements for m rows each, at `speed` elements in 8 ns. n <= 2^37, m <= 2^10: no overflow. */
static uint64_t cost_of(uint64_t n, uint32_t m, uint32_t speed)
{
    return speed ? n * (m < MANY_ROWS ? m : MANY_ROWS) * (8 * COSTS_IN_NS) / speed : UINT64_MAX;
}

/* Elements of the matrix; of more than 2^32 - 1 that many, so that cost_of cannot overflow. */
static uint64_t elements(uint32_t rows, uint32_t cols)
{
    uint64_t count = (uint64_t)rows * cols;
    return count < UINT32_MAX ? count : UINT32_MAX;
}

/* 2^18 floats are 1 MiB and 2^22 are 16 MiB, the limits of enum dense_size. */
static enum dense_size size_of(uint64_t count)
{
    return count <= 1u << 18 ? DENSE_IN_L2 : count <= 1u << 22 ? DENSE_IN_L3 : DENSE_IN_RAM;
}

static uint32_t speed_of(const struct sparse_kernels *k, const struct choice *c)
{
    return k->costs.form[c->try_window ? FORM_WINDOW : c->kind];
}

/* A row that ends takes as long as so many nonzeros, or elements of a dense product: its last ones
 * go one by one, and its lanes are added up. Windows have rows in lanes. */
#define CSR_ROW_WORK 16u
#define GEMV_ROW_WORK 64u

/* What a pass over a form takes as long as. */
static uint64_t pass_work(const struct weight *w, uint32_t rows, const struct choice *c)
{
    return c->row_bytes    ? w->count
           : c->try_window ? w->nnz
                           : w->nnz + (uint64_t)rows * CSR_ROW_WORK;
}

/* Does the kernel finish within the time of the dense product? */
static bool pays(const struct weight *w, uint32_t rows, const struct sparse_kernels *k,
                 const struct choice *c)
{
    uint64_t dense = w->count + (c->row_bytes ? 0 : (uint64_t)rows * GEMV_ROW_WORK);
    return pass_work(w, rows, c) * k->costs.dense[size_of(w->count)] <=
           dense * speed_of(k, c); /* below 2^58 */
}

/* Rows that have a codebook of their own, or one for all; other groupings have no form. */
static bool codebooks_fit(const struct weight *w, uint32_t cols, uint32_t rows, uint32_t *n)
{
    if (w->n_groups == 1)
        *n = 1;
    else if (w->group_elems == cols && w->n_groups == rows)
        *n = rows;
    else
        return false;
    return true;
}

static uint32_t padded_codebook(uint32_t n_centroids)
{
    return n_centroids <= 16 ? 16 : n_centroids <= 32 ? 32 : 256;
}

static enum pith_status choose_dense(const struct weight *w, uint32_t rows, uint32_t cols,
                                     const struct sparse_kernels *k, struct choice *c)
{
    if (w->grid != GRID_CODEBOOK || !codebooks_fit(w, cols, rows, &c->n_codebooks))
        return PITH_ERR_UNSUPPORTED;
    c->codebook_floats = padded_codebook(w->n_centroids);
    uint32_t block_cols;
    if (c->codebook_floats == 16) {
        c->kind = FORM_DENSE4;
        block_cols = 128;
    } else if (c->codebook_floats == 32) {
        c->kind = FORM_DENSE5;
        block_cols = 96;
    } else {
        c->kind = FORM_DENSE8;
        block_cols = 64;
    }
    if (k->costs.form[c->kind] == 0 || (c->kind == FORM_DENSE8 && c->n_codebooks != 1))
        return PITH_ERR_UNSUPPORTED;
    c->row_bytes = (uint32_t)(((uint64_t)cols + block_cols - 1) / block_cols * 64);
    c->kernel = "gemv-codebook";
    return PITH_OK;
}

static enum pith_status choose_sparse(const struct weight *w, uint32_t rows, uint32_t cols,
                                      const struct sparse_kernels *k, struct choice *c)
{
    bool codebook = w->grid == GRID_CODEBOOK && w->n_centroids <= k->costs.csr_centroids &&
                    codebooks_fit(w, cols, rows, &c->n_codebooks);
    if (!codebook)
        c->n_codebooks = 0;
    c->kind = codebook ? FORM_CSR_CODEBOOK : FORM_CSR_VALUE;
    c->try_window = codebook && c->n_codebooks == 1 && w->n_centroids <= MAX_WINDOW_CENTROIDS &&
                    cols >= WINDOW_COLS && k->costs.form[FORM_WINDOW] != 0;
    if (cols > MAX_CSR_COLS || w->nnz > w->count || speed_of(k, c) == 0)
        return PITH_ERR_UNSUPPORTED;
    if (w->nnz * (codebook ? CSR_CODEBOOK_BYTES : CSR_VALUE_BYTES) > w->count * sizeof(float))
        return PITH_ERR_UNSUPPORTED; /* no slower perhaps, but larger */
    c->codebook_floats = codebook ? padded_codebook(w->n_centroids) : 0;
    if (c->try_window)
        c->codebook_floats = 2 * WINDOW_LANES;
    c->row_bytes = 0;
    c->kernel = codebook ? "spmv-codebook" : "spmv-f32";
    return PITH_OK;
}

/* Forms and kernels count elements in 32 bits. */
static enum pith_status choose(const struct weight *w, uint32_t rows, uint32_t cols,
                               const struct sparse_kernels *k, struct choice *c)
{
    uint64_t count;
    *c = (struct choice){0};
    if (!mul_ok(rows, cols, &count) || count != w->count || count > UINT32_MAX || count == 0)
        return PITH_ERR_UNSUPPORTED;
    if (w->support == SUPPORT_DENSE)
        return choose_dense(w, rows, cols, k, c);
    return choose_sparse(w, rows, cols, k, c);
}

/* Appends an array of n elements to the form; its offset goes to *at. */
static bool place(uint64_t *bytes, uint64_t n, uint64_t elem_bytes, uint64_t *at)
{
    uint64_t array;
    *at = *bytes;
    return mul_ok(n, elem_bytes, &array) && add_ok(*bytes, array, bytes) &&
           align_ok(*bytes, 64, bytes);
}

#define MAX_WINDOW_SIXTEENTHS UINT64_C(576) /* 36 bits */

/* Bytes for the streams of a sparse form: 3 or 6 a nonzero, or, where the window form is expected
 * to need more, up to 4.5 so that it can be had at low density too. On random patterns of density d
 * it takes 10.75 (1 + 0.07 / d) bits a nonzero, more when the last unit lacks rows; this is
 * promised with a sixth to spare. */
static uint64_t stream_bytes(const struct weight *w, const struct choice *c, uint32_t rows)
{
    uint64_t csr = w->nnz * (c->n_codebooks ? CSR_CODEBOOK_BYTES : CSR_VALUE_BYTES);
    if (!c->try_window || w->nnz == 0)
        return csr;
    uint64_t lanes = ((uint64_t)rows + WINDOW_LANES - 1) / WINDOW_LANES * WINDOW_LANES;
    uint64_t sixteenths = 200 + 14 * w->count / w->nnz; /* of a bit */
    if (sixteenths > MAX_WINDOW_SIXTEENTHS)
        sixteenths = MAX_WINDOW_SIXTEENTHS;
    sixteenths = sixteenths * lanes / rows;
    if (sixteenths > MAX_WINDOW_SIXTEENTHS)
        sixteenths = MAX_WINDOW_SIXTEENTHS;
    uint64_t window = w->nnz * sixteenths / 128;
    return window > csr ? window : csr;
}

/* The whole form but its streams. The streams of a sparse form are the last two arrays, as
 * pith_window_build makes one of both. */
static bool lay_out(const struct weight *w, uint32_t rows, uint32_t cols, const struct choice *c,
                    struct run_form *f)
{
    bool dense = c->row_bytes != 0;
    uint32_t unit_rows = dense ? UNIT_ROWS_DENSE : UNIT_ROWS_CSR;
    *f = (struct run_form){.kind = (uint32_t)c->kind, .rows = rows, .cols = cols};
    f->n_units = (uint32_t)(((uint64_t)rows + unit_rows - 1) / unit_rows);
    f->codebook_floats = c->codebook_floats;
    f->codebook_stride = c->n_codebooks > 1 ? c->codebook_floats : 0;
    f->row_bytes = c->row_bytes;
    uint64_t end;
    bool ok = align_ok(sizeof *f, 64, &end) &&
              place(&end, (uint64_t)c->n_codebooks * c->codebook_floats, 4, &f->codebook);
    if (dense)
        ok = ok && place(&end, rows, c->row_bytes, &f->index);
    else
        ok = ok && place(&end, (uint64_t)rows + 1, 4, &f->ptr) &&
             place(&end, w->nnz, c->n_codebooks ? 1 : 4, &f->index) &&
             place(&end, stream_bytes(w, c, rows) - w->nnz * (c->n_codebooks ? 1 : 4), 1, &f->col);
    f->bytes = end;
    return ok;
}

/* Scratch: the decoder's own, then the parts it yields, then what the window form needs. */
struct parts {
    void *decoder;
    uint32_t *pos;
    uint8_t *index;
    float *codebook;
    void *window;
    uint64_t bytes;
};

/* With scratch NULL it only counts. */
static bool place_parts(const struct weight *w, uint32_t rows, uint32_t cols,
                        const struct choice *c, void *scratch, struct parts *p)
{
    uint64_t end = 0, decoder = 0, pos = 0, index = 0, codebook = 0, window = 0;
    bool ok = place(&end, pith_weight_scratch_bytes(w), 1, &decoder) &&
              place(&end, c->row_bytes ? 0 : w->nnz + WINDOW_SENTINELS, 4, &pos) &&
              place(&end, c->n_codebooks ? w->nnz + WINDOW_SENTINELS : 0, 1, &index) &&
              place(&end, (uint64_t)c->n_codebooks * w->n_centroids, 4, &codebook) &&
              place(&end, c->row_bytes ? 0 : pith_window_scratch_bytes(rows, cols), 1, &window);
    uint8_t *base = scratch;
    if (base) {
        p->decoder = base + decoder;
        p->pos = c->row_bytes ? NULL : (uint32_t *)(void *)(base + pos);
        p->index = c->n_codebooks ? base + index : NULL;
        p->codebook = (float *)(void *)(base + codebook);
        p->window = base + window;
    }
    p->bytes = end;
    return ok && end <= SIZE_MAX;
}

enum pith_status pith_run_form_fits(const struct weight *w, uint32_t rows, uint32_t cols,
                                    const struct sparse_kernels *k, struct run_form_need *need)
{
    struct choice c;
    struct run_form f;
    struct parts p;
    enum pith_status st = choose(w, rows, cols, k, &c);
    if (st)
        return st;
    if (!lay_out(w, rows, cols, &c, &f) || !place_parts(w, rows, cols, &c, NULL, &p))
        return PITH_ERR_UNSUPPORTED;
    *need = (struct run_form_need){f.bytes, p.bytes, c.kernel};
    return PITH_OK;
}

enum pith_status pith_run_form_need(const struct weight *w, uint32_t rows, uint32_t cols,
                                    const struct sparse_kernels *k, struct run_form_need *need)
{
    struct choice c;
    enum pith_status st = choose(w, rows, cols, k, &c);
    if (!st && !pays(w, rows, k, &c))
        st = PITH_ERR_UNSUPPORTED;
    return st ? st : pith_run_form_fits(w, rows, cols, k, need);
}

/* Of dense codebooks, whose rows are whole blocks and end as those of dense products do. */
static uint64_t coded_work(uint32_t rows, const struct choice *c)
{
    const uint32_t block_cols = c->kind == FORM_DENSE4 ? 128 : c->kind == FORM_DENSE5 ? 96 : 64;
    return (uint64_t)rows * (c->row_bytes / 64 * block_cols + GEMV_ROW_WORK);
}

/* What the window form takes grows with its windows too: as much as 7 % of all elements stored. */
static uint64_t batch_cost(const struct weight *w, const struct sparse_kernels *k, uint32_t rows,
                           uint32_t m, const struct choice *c)
{
    if (c->try_window)
        return cost_of(w->nnz + w->count * 7 / 100, m, k->costs.window_batch);
    if (c->row_bytes && k->rows[c->kind] && k->costs.tiles)
        return cost_of(coded_work(rows, c), (m + ROWS_A_PASS - 1) / ROWS_A_PASS, speed_of(k, c)) +
               cost_of(coded_work(rows, c), m, k->costs.tiles);
    return cost_of(pass_work(w, rows, c), m, speed_of(k, c));
}

uint64_t pith_run_form_cost(const struct weight *w, uint32_t rows, uint32_t cols,
                            const struct sparse_kernels *k, uint32_t m, bool batch)
{
    struct choice c;
    if (choose(w, rows, cols, k, &c))
        return UINT64_MAX;
    return batch ? batch_cost(w, k, rows, m, &c)
                 : cost_of(pass_work(w, rows, &c), m, speed_of(k, &c));
}

uint64_t pith_gemv_cost(const struct sparse_kernels *k, uint32_t rows, uint32_t cols, uint32_t m)
{
    uint64_t count = elements(rows, cols), work = count + (uint64_t)rows * GEMV_ROW_WORK;
    return cost_of(work < UINT32_MAX ? work : UINT32_MAX, m, k->costs.dense[size_of(count)]);
}

uint64_t pith_tiles_cost(const struct sparse_kernels *k, uint32_t rows, uint32_t cols, uint32_t m)
{
    return cost_of(elements(rows, cols), m, k->costs.tiles);
}

static void *array_of(struct run_form *f, uint64_t offset)
{
    return (uint8_t *)f + offset;
}

/* Entries behind the centroids are 0: the form was cleared before. */
static enum pith_status put_codebooks(struct run_form *f, const struct weight *w,
                                      const struct choice *c, float *codebook)
{
    if (c->n_codebooks == 0)
        return PITH_OK;
    enum pith_status st = pith_weight_codebooks(w, codebook);
    if (st)
        return st;
    float *dst = array_of(f, f->codebook);
    for (uint32_t g = 0; g < c->n_codebooks; g++)
        memcpy(dst + (size_t)g * c->codebook_floats, codebook + (size_t)g * w->n_centroids,
               w->n_centroids * sizeof *dst);
    return PITH_OK;
}

/* row_ptr and columns from ascending element numbers. */
static void put_rows(struct run_form *f, const uint32_t *pos, uint32_t nnz)
{
    uint32_t *ptr = array_of(f, f->ptr);
    uint16_t *col = array_of(f, f->col);
    uint32_t i = 0;
    for (uint32_t r = 0; r < f->rows; r++) {
        uint32_t row_begin = r * f->cols; /* count <= UINT32_MAX, tested by choose() */
        ptr[r] = i;
        for (; i < nnz && pos[i] - row_begin < f->cols; i++)
            col[i] = (uint16_t)(pos[i] - row_begin);
    }
    ptr[f->rows] = i;
}

static enum pith_status build_sparse(const struct op_env *env, struct run_form *f,
                                     const struct weight *w, const struct choice *c,
                                     struct parts *p)
{
    bool codebook = f->kind == FORM_CSR_CODEBOOK;
    float *value = codebook ? NULL : array_of(f, f->index);
    enum pith_status st = pith_weight_cut_parts(env, w, p->pos, p->index, value, p->decoder);
    if (st)
        return st;
    uint32_t nnz = (uint32_t)w->nnz;
    for (uint32_t i = 0; i < WINDOW_SENTINELS; i++)
        p->pos[nnz + i] = UINT32_MAX;
    if (c->try_window && pith_window_build(f, p->pos, p->index, nnz, p->window))
        return PITH_OK;
    put_rows(f, p->pos, nnz);
    if (codebook)
        memcpy(array_of(f, f->index), p->index, nnz);
    f->bytes = (f->col + (uint64_t)nnz * 2 + 63) & ~(uint64_t)63; /* less than was promised */
    return PITH_OK;
}

/* Where in a row of blocks the index of column c goes (kernel_sparse.h). */
static void put_index4(uint8_t *row, uint32_t c, uint32_t index)
{
    row[c / 128 * 64 + c % 16 * 4 + c % 128 / 32] |= (uint8_t)(index << (c / 16 % 2 * 4));
}

/* A word of 32 bits holds six indices; two of its bits are unused. */
static void put_index5(uint8_t *row, uint32_t c, uint32_t index)
{
    uint8_t *word = row + (size_t)(c / 96 * 64 + c % 16 * 4);
    store_le32(word, load_le32(word) | index << (c % 96 / 16 * 5));
}

static void put_index8(uint8_t *row, uint32_t c, uint32_t index)
{
    row[c / 64 * 64 + c % 16 / 4 * 16 + c % 64 / 16 * 4 + c % 4] = (uint8_t)index;
}

/* Whole blocks of the commonest kind, whose bytes are then written once each. */
static uint32_t put_blocks4(uint8_t *row, const uint8_t *index, uint32_t cols)
{
    uint32_t blocks = cols / 128;
    for (uint32_t b = 0; b < blocks; b++, row += 64, index += 128)
        for (uint32_t i = 0; i < 64; i++) {
            const uint8_t *two = index + i % 4 * 32 + i / 4;
            row[i] = (uint8_t)(two[0] | two[16] << 4);
        }
    return blocks * 128;
}

/* The kind is tested once a row, so that each loop has its own code. */
static void put_row(enum run_form_kind kind, uint8_t *row, const uint8_t *index, uint32_t cols)
{
    if (kind == FORM_DENSE4)
        for (uint32_t c = put_blocks4(row, index, cols); c < cols; c++)
            put_index4(row, c, index[c]);
    else if (kind == FORM_DENSE5)
        for (uint32_t c = 0; c < cols; c++)
            put_index5(row, c, index[c]);
    else
        for (uint32_t c = 0; c < cols; c++)
            put_index8(row, c, index[c]);
}

#define PIECE_ELEMENTS (1u << 16)
#define MAX_PIECES 16u

struct dense_rows {
    struct run_form *f;
    const uint8_t *index;
    uint32_t pieces;
};

static void put_piece(void *arg, uint32_t i)
{
    const struct dense_rows *d = arg;
    struct run_form *f = d->f;
    uint32_t end = (uint32_t)((uint64_t)f->rows * (i + 1) / d->pieces);
    for (uint32_t r = (uint32_t)((uint64_t)f->rows * i / d->pieces); r < end; r++)
        put_row((enum run_form_kind)f->kind, array_of(f, f->index + (uint64_t)r * f->row_bytes),
                d->index + (size_t)r * f->cols, f->cols);
}

/* Rows lie apart in the form, so that threads can fill them. */
static enum pith_status build_dense(const struct op_env *env, struct run_form *f,
                                    const struct weight *w, struct parts *p)
{
    enum pith_status st = pith_weight_cut_parts(env, w, NULL, p->index, NULL, p->decoder);
    uint64_t pieces = w->count / PIECE_ELEMENTS + 1;
    struct dense_rows d = {f, p->index, pieces < MAX_PIECES ? (uint32_t)pieces : MAX_PIECES};
    if (!st)
        pith_op_parallel(env, d.pieces, put_piece, &d);
    return st;
}

enum pith_status pith_run_form_build(const struct op_env *env, const struct weight *w,
                                     uint32_t rows, uint32_t cols, void *form)
{
    const struct sparse_kernels *k = &env->kernels->sparse;
    struct choice c;
    struct parts p;
    struct run_form *f = form;
    enum pith_status st = choose(w, rows, cols, k, &c);
    if (st)
        return st;
    if (!lay_out(w, rows, cols, &c, f) || !place_parts(w, rows, cols, &c, env->scratch, &p))
        return PITH_ERR_UNSUPPORTED;
    /* gaps between arrays, unused centroids and the last blocks of dense rows: same weight, same
     * bytes */
    memset(f + 1, 0, (size_t)f->bytes - sizeof *f);
    st = put_codebooks(f, w, &c, p.codebook);
    if (st)
        return st;
    return c.row_bytes ? build_dense(env, f, w, &p) : build_sparse(env, f, w, &c, &p);
}

uint32_t pith_run_form_units(const void *form)
{
    const struct run_form *f = form;
    return f->n_units;
}

uint64_t pith_run_form_bytes(const void *form)
{
    const struct run_form *f = form;
    return f->bytes;
}

void pith_run_form_matvec(const struct sparse_kernels *k, const void *form, const float *x,
                          float *y, uint32_t unit_begin, uint32_t unit_end)
{
    const struct run_form *f = form;
    k->matvec[f->kind](f, x, y, unit_begin, unit_end);
}

/* A form without a kernel of several rows is read once for each. */
void pith_run_form_rows(const struct sparse_kernels *k, const struct run_form_rows *r,
                        uint32_t unit_begin, uint32_t unit_end)
{
    const struct run_form *f = r->form;
    if (r->m > 1 && k->rows[f->kind]) {
        k->rows[f->kind](f, r->x, r->y, r->m, unit_begin, unit_end);
        return;
    }
    for (size_t i = 0; i < r->m; i++)
        k->matvec[f->kind](f, r->x + i * f->cols, r->y + i * f->rows, unit_begin, unit_end);
}
