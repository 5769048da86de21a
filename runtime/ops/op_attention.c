/* SPDX-License-Identifier: MIT */
/* op_attention.c - y = softmax(scale * q k^T, masked) v, head by head: what transformers spend
 * outside of their linear layers, in one step, so that scores never leave the cache.
 *
 * For one head, TILE = nr columns of scores at a time, transposed, as gemm_f32 likes it:
 *
 *     s [N, TILE] = k [N, D] * q^T [D, TILE]     q^T packed once a tile
 *     s = exp(s - max of its column)             columns are rows of the softmax; sum kept apart
 *     y^T [E, TILE] = v^T [E, N] * s             s needs no packing
 *     y [TILE, E] = (y^T / sum)^T
 *
 * k and v^T are read where they lie, or packed once a head for kernels that want it. Without packed
 * kernels (nr == 0) plain loops compute the same, one row of scores at a time.
 *
 * Against the two products and the softmax as steps of their own, [B, H, M, N] scores are
 * neither written nor read back: scratch is one tile a thread. Unlike FlashAttention (Dao et al.
 * 2022) all N scores of a tile are there at once, so the softmax is the plain one and no
 * rescaling is needed: N * nr floats, 128 KiB at N = 512 and nr = 64, lie in the second cache.
 *
 * Keys at either end that no query of a tile sees are left out: half of them under a causal mask,
 * all but a few where attention is local. Their weights would be 0. */
#include "kernels/kernels.h"
#include "ops/op_list.h"
#include "op_interface/shape_rule.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

#define MASK_KEYS 64u  /* of a mask are turned at a time */
#define ABSENT -1e9f   /* what is added to it is as good as not there, beside what is seen */
#define FEW_QUERIES 4u /* one by one take less time than as a part of a tile */
#define CHUNKS 8u      /* heads are cut into at most as many parts, each with scratch of its own */

struct operand {
    float *data;
    size_t batch, head, row; /* floats from one to the next */
};

/* Shapes: q [B, H, M, D], k [B, G, N, D], v [B, G, N, E], y [B, H, M, E]; or with the second and
 * third axis exchanged (rows_first), as exporters leave them. */
struct attention {
    struct operand q, k, v, y;
    uint32_t batch, heads, m, n, d, e;
    uint32_t shared; /* H / G: heads of q that read the same head of k and v */
    const struct tview *mask;
    uint32_t mask_batch; /* samples after which the mask begins anew */
    size_t mask_step[4]; /* elements along [B, H, M, N]; 0 where it is repeated */
    float scale, fill;
    bool keep; /* true of a bool mask: the score stays */
    const struct op_env *env;
    uint32_t chunks;
};

/* Without a table (while a graph is folded) as without packed kernels. */
static const struct dense_kernels *dense_of(const struct op_env *env)
{
    static const struct dense_kernels none;
    return env->kernels ? &env->kernels->dense : &none;
}

/* ---- shapes ------------------------------------------------------------------------------ */

/* dims in the order B, H, T, D A layout bit says that rows (T) come before heads, as a Reshape
 * without a Transpose leaves them: reading them so saves the copy that the Transpose would be. */
static void dims_of(const struct shape *s, bool rows_first, uint32_t dim[4])
{
    dim[0] = s->dim[0];
    dim[1] = s->dim[rows_first ? 2 : 1];
    dim[2] = s->dim[rows_first ? 1 : 2];
    dim[3] = s->dim[3];
}

static bool has_mask(const struct op_args *args)
{
    return args->n_in > 3 && args->in[3];
}

/* Broadcast as ONNX does it: axes are aligned at the right, and 1 repeats. A batch of windows cut
 * out of samples repeats the masks of one sample's windows. */
static bool mask_fits(const struct shape *mask, const uint32_t scores[4])
{
    if (mask->rank > 4)
        return false;
    for (uint32_t i = 0; i < mask->rank; i++) {
        const uint32_t axis = 4 - mask->rank + i, dim = mask->dim[i];
        if (dim != 1 && dim != scores[axis] && !(axis == 0 && dim && scores[0] % dim == 0))
            return false;
    }
    return true;
}

static enum pith_status shape_attention(const struct op_args *args)
{
    enum pith_status st = pith_in_f32(args, 3);
    if (st)
        return st;
    uint32_t dim[3][4], layout = (uint32_t)args->attr[ATTR_ATTENTION_LAYOUT];
    for (uint32_t i = 0; i < 3; i++) {
        if (args->in[i]->shape.rank != 4)
            return PITH_ERR_CORRUPT;
        dims_of(&args->in[i]->shape, layout >> i & 1u, dim[i]);
        if (dim[i][0] != dim[0][0])
            return PITH_ERR_CORRUPT;
    }
    /* q and k share D, which is summed over; k and v share N, the keys, and the number of heads. */
    if (dim[0][3] != dim[1][3] || dim[1][2] != dim[2][2] || dim[1][1] != dim[2][1])
        return PITH_ERR_CORRUPT;
    if (dim[1][1] == 0 || dim[0][1] % dim[1][1] != 0)
        return PITH_ERR_CORRUPT;
    const uint32_t scores[4] = {dim[0][0], dim[0][1], dim[0][2], dim[1][2]};
    if (has_mask(args) && args->in[3]->type != PITH_F32 && args->in[3]->type != PITH_BOOL)
        return PITH_ERR_UNSUPPORTED;
    if (has_mask(args) && !mask_fits(&args->in[3]->shape, scores))
        return PITH_ERR_CORRUPT;
    struct shape y = {.rank = 4, .dim = {dim[0][0], dim[0][1], dim[0][2], dim[2][3]}};
    if (layout & 8u) {
        y.dim[1] = dim[0][2];
        y.dim[2] = dim[0][1];
    }
    return pith_out_set(args->out[0], PITH_F32, &y);
}

/* Steps of the layout, so that one loop serves both orders. Operands 0 to 2 are inputs, 3 is the
 * output. Of a cache, rows are farther apart than the shape says. */
static struct operand operand_of(const struct op_args *args, uint32_t i)
{
    const bool rows_first = args->attr[ATTR_ATTENTION_LAYOUT] >> i & 1;
    const struct tview *t = i < 3 ? args->in[i] : args->out[0];
    const uint32_t room = args->room && i < 3 ? args->room[i] : 0;
    size_t d = t->shape.dim[3], outer = (room && !rows_first ? room : t->shape.dim[2]) * d;
    return (struct operand){.data = t->data,
                            .batch = (room && rows_first ? room : t->shape.dim[1]) * outer,
                            .head = rows_first ? d : outer,
                            .row = rows_first ? outer : d};
}

static struct attention attention_of(const struct op_args *args, const struct op_env *env)
{
    uint32_t q[4], k[4], layout = (uint32_t)args->attr[ATTR_ATTENTION_LAYOUT];
    dims_of(&args->in[0]->shape, layout & 1u, q);
    dims_of(&args->in[1]->shape, layout >> 1 & 1u, k);
    struct attention a = {.q = operand_of(args, 0),
                          .k = operand_of(args, 1),
                          .v = operand_of(args, 2),
                          .y = operand_of(args, 3),
                          .batch = q[0],
                          .heads = q[1],
                          .m = q[2],
                          .n = k[2],
                          .d = q[3],
                          .e = args->in[2]->shape.dim[3],
                          .shared = q[1] / k[1],
                          .mask_batch = 1,
                          .mask = has_mask(args) ? args->in[3] : NULL,
                          .scale = attr_f32(args->attr, ATTR_ATTENTION_SCALE),
                          .fill = attr_f32(args->attr, ATTR_ATTENTION_FILL),
                          .keep = args->attr[ATTR_ATTENTION_KEEP] != 0,
                          .env = env};
    /* An axis of 1 keeps the step 0 and is read again for each of the others. */
    if (a.mask) {
        const struct shape *s = &a.mask->shape;
        a.mask_batch = s->rank == 4 ? s->dim[0] : 1;
        for (uint32_t i = 0; i < s->rank; i++)
            if (s->dim[i] > 1)
                a.mask_step[4 - s->rank + i] = shape_product(s, i + 1, s->rank);
    }
    /* Heads of one query that share their keys are as many queries of one head. */
    if (a.m == 1 && a.shared > 1) {
        a.m = a.shared;
        a.heads /= a.shared;
        a.q.row = a.q.head;
        a.y.row = a.y.head;
        a.q.head *= a.shared;
        a.y.head *= a.shared;
        a.mask_step[2] = a.mask_step[1];
        a.mask_step[1] *= a.shared;
        a.shared = 1;
    }
    size_t heads = (size_t)a.batch * a.heads;
    /* As many chunks with one thread as with many would need as much scratch: without threads
     * there is one. */
    a.chunks = env->parallel_for ? (uint32_t)(heads < CHUNKS ? heads : CHUNKS) : 1;
    return a;
}

/* ---- scratch ----------------------------------------------------------------------------- */

/* Floats of the parts of a chunk's scratch, in order. */
struct parts {
    uint64_t k, v, q, s, y, turned, mask, mask_rows;
};

/* Dimensions are each below 2^31, but their products with a tile's width are not bounded by the
 * file: code that plans a buffer from them checks. The last bound leaves room for the sum of eight
 * parts times four bytes. */
static bool rounded_product(uint64_t rows, uint64_t width, uint64_t k, uint64_t *floats)
{
    return mul_ok((rows + width - 1) / width * width, k, floats) && align_ok(*floats, 16, floats) &&
           *floats < UINT64_MAX / 64;
}

static bool parts_of(const struct attention *a, const struct dense_kernels *dense, struct parts *p)
{
    /* The plain loops hold one row of scores alone. */
    if (dense->nr == 0) {
        *p = (struct parts){.s = a->n};
        return true;
    }
    const uint32_t panels = dense->strided ? 0 : 1, turned = a->mask && a->mask_step[2] ? 1 : 0;
    return rounded_product(panels * a->n, dense->mr, a->d, &p->k) &&
           rounded_product(panels * a->e, dense->mr, a->n, &p->v) &&
           rounded_product(1, dense->nr, a->d, &p->q) &&
           rounded_product(1, dense->nr, a->n, &p->s) &&
           rounded_product(1, dense->nr, a->e, &p->y) &&
           rounded_product(1, dense->nr, a->e, &p->turned) &&
           rounded_product(turned, dense->nr, a->n, &p->mask) &&
           rounded_product(turned, dense->nr, MASK_KEYS, &p->mask_rows);
}

/* Parts begin at multiples of 16 floats, and so do chunks: a cache line, no false sharing. */
static uint64_t part_sum(const struct parts *p)
{
    return ((p->k + p->v + p->q + p->s + p->y + p->turned + p->mask + p->mask_rows) + 15) &
           ~(uint64_t)15;
}

static enum pith_status need_attention(const struct op_args *args, const struct op_env *env,
                                       struct op_need *need)
{
    struct attention a = attention_of(args, env);
    const struct dense_kernels *dense = dense_of(env);
    struct parts p;
    *need = (struct op_need){.kernel = dense->nr ? "attention-f32" : "ref"};
    if (!mul_ok((uint64_t)a.batch * a.heads * a.m, (uint64_t)a.n * ((uint64_t)a.d + a.e),
                &need->macs))
        need->macs = UINT64_MAX;
    if (!parts_of(&a, dense, &p) ||
        !mul_ok(part_sum(&p), (uint64_t)pith_op_lanes(env, a.chunks) * sizeof(float),
                &need->scratch_bytes))
        return PITH_ERR_LIMIT;
    return PITH_OK;
}

/* ---- one head ---------------------------------------------------------------------------- */

struct head {
    const float *q, *k, *v;
    float *y;
    const uint8_t *mask; /* element [0, 0] of the head's, or NULL */
};

static struct head head_of(const struct attention *a, size_t item)
{
    const size_t b = item / a->heads, h = item % a->heads, g = h / a->shared;
    struct head r = {.q = a->q.data + b * a->q.batch + h * a->q.head,
                     .k = a->k.data + b * a->k.batch + g * a->k.head,
                     .v = a->v.data + b * a->v.batch + g * a->v.head,
                     .y = a->y.data + b * a->y.batch + h * a->y.head};
    if (a->mask)
        r.mask = (const uint8_t *)a->mask->data +
                 (b % a->mask_batch * a->mask_step[0] + h * a->mask_step[1]) *
                     pith_type_bytes(a->mask->type);
    return r;
}

/* A float mask is added, a bool mask chooses; a score that is masked becomes `fill`, which is
 * -10000 with some exporters. */
static inline float masked(const struct attention *a, const uint8_t *mask, size_t at, float score)
{
    if (a->mask->type == PITH_F32)
        return score + ((const float *)(const void *)mask)[at];
    return (mask[at] != 0) == a->keep ? score : a->fill;
}

/* Query i sees no key: the mask leaves -inf of each score. */
static bool sees_nothing(const struct attention *a, const struct head *h, size_t i)
{
    for (size_t n = 0; n < a->n; n++)
        if (masked(a, h->mask, i * a->mask_step[2] + n * a->mask_step[3], 0.0f) !=
            f32_from_bits(0xff800000u))
            return false;
    return true;
}

/* [n, width], those of queries m .. m + width - 1 in columns. */
struct scores {
    float *s;
    size_t ld, m, width;
};

/* Softmax has left NaN where all scores are -inf, or one is NaN. inverse: of their sums. */
static void clear_unseeing(const struct attention *a, const struct head *h, struct scores s,
                           float *inverse)
{
    for (size_t j = 0; j < s.width; j++) {
        if (inverse[j] == inverse[j] || !sees_nothing(a, h, s.m + j))
            continue;
        inverse[j] = 0.0f;
        for (size_t n = 0; n < a->n; n++)
            s.s[n * s.ld + j] = 0.0f;
    }
}

/* The weights of all keys in place of the scores s [N] of query m. */
static void weights_of(const struct attention *a, const struct head *h, size_t m, float *s)
{
    for (size_t n = 0; h->mask && n < a->n; n++)
        s[n] = masked(a, h->mask, m * a->mask_step[2] + n * a->mask_step[3], s[n]);
    pith_row_kernels(a->env->kernels)->softmax(s, s, 1, a->n);
    float first = s[0];
    if (h->mask)
        clear_unseeing(a, h, (struct scores){s, 1, m, 1}, &first);
}

/* A row of scores at a time. q is scaled before it is multiplied, as in the tiles below: the
 * same roundings (docs/arithmetic.md). */
static void head_plain(const struct attention *a, const struct head *h, float *s)
{
    for (size_t i = 0; i < a->m; i++) {
        const float *q = h->q + i * a->q.row;
        float *y = h->y + i * a->y.row;
        for (size_t j = 0; j < a->n; j++) {
            float sum = 0.0f;
            for (size_t d = 0; d < a->d; d++)
                sum += q[d] * a->scale * h->k[j * a->k.row + d];
            s[j] = sum;
        }
        weights_of(a, h, i, s);
        for (size_t d = 0; d < a->e; d++) {
            float sum = 0.0f;
            for (size_t j = 0; j < a->n; j++)
                sum += s[j] * h->v[j * a->v.row + d];
            y[d] = sum;
        }
    }
}

struct tile_memory {
    float *k, *v, *q, *s, *y, *turned, *mask, *mask_rows;
};

static struct tile_memory memory_of(const struct parts *p, float *at)
{
    struct tile_memory t = {.k = at};
    t.v = t.k + p->k;
    t.q = t.v + p->v;
    t.s = t.q + p->q;
    t.y = t.s + p->s;
    t.turned = t.y + p->y;
    t.mask = t.turned + p->turned;
    t.mask_rows = t.mask + p->mask;
    return t;
}

/* A vector wherever it lies: this file is built for size, without loops made vectors. */
typedef float four __attribute__((vector_size(16), aligned(4), may_alias));

typedef int32_t four_i32 __attribute__((vector_size(16), aligned(4), may_alias));
typedef uint8_t four_u8 __attribute__((vector_size(4), aligned(1), may_alias));

/* A mask that is the same for all queries: one test a key instead of one an element. */
static void mask_keys(const struct attention *a, const struct head *h, float *s, uint32_t nr)
{
    const bool adds = a->mask->type == PITH_F32;
    for (size_t n = 0; n < a->n; n++, s += nr) {
        const size_t at = n * a->mask_step[3];
        const float more = adds ? ((const float *)(const void *)h->mask)[at] : 0.0f;
        if (adds ? more == 0.0f : (h->mask[at] != 0) == a->keep)
            continue;
        for (uint32_t j = 0; j < nr; j += 4)
            if (adds)
                *(four *)(void *)(s + j) += more;
            else
                *(four *)(void *)(s + j) = (four){a->fill, a->fill, a->fill, a->fill};
    }
}

/* n keys of a query: 1 where a bool mask hides one, else 0. */
static void hidden_row(const struct attention *a, const uint8_t *mask, size_t n, float *y)
{
    const size_t step = a->mask_step[3];
    const int32_t keep = a->keep ? -1 : 0;
    size_t i = 0;
    for (; i + 4 <= n && step == 1; i += 4) {
        const four_u8 m = *(const four_u8 *)(const void *)(mask + i);
        const four_i32 hides = (__builtin_convertvector(m, four_i32) != 0) ^ keep;
        *(four *)(void *)(y + i) = __builtin_convertvector(hides & 1, four);
    }
    for (; i < n; i++)
        y[i] = (mask[i * step] != 0) != a->keep ? 1.0f : 0.0f;
}

/* The mask of queries m .. m + width - 1 as columns, turned [N, nr]: what is added, or 1 where a
 * key is hidden. rows: of bool masks, some keys of each query. */
static void turn_mask(const struct attention *a, const struct head *h, size_t m, uint32_t width,
                      float *turned, float *rows)
{
    const struct dense_kernels *dense = dense_of(a->env);
    const size_t ld = a->mask_step[2], step = a->mask_step[3], at = m * ld;
    if (a->mask->type == PITH_F32) {
        dense->pack_rows_f32(&(struct pack_rows_job){(const float *)(const void *)h->mask + at,
                                                     turned, ld, step, width, a->n, dense->nr, 0});
        return;
    }
    for (size_t n = 0; n < a->n; n += MASK_KEYS) {
        const size_t keys = a->n - n < MASK_KEYS ? a->n - n : MASK_KEYS;
        for (size_t j = 0; j < width; j++)
            hidden_row(a, h->mask + at + j * ld + n * step, keys, rows + j * MASK_KEYS);
        dense->pack_rows_f32(&(struct pack_rows_job){rows, turned + n * dense->nr, MASK_KEYS, 1,
                                                     width, keys, dense->nr, 0});
    }
}

/* Keys first .. first + n - 1. */
struct keys {
    size_t first, n;
};

/* s [keys, nr] masked; turned: as turn_mask() leaves it. */
static void mask_tile(const struct attention *a, const struct head *h, struct keys keys, float *s,
                      const float *turned)
{
    const uint32_t nr = dense_of(a->env)->nr;
    const float *end = s + keys.n * nr;
    turned += keys.first * nr;
    if (a->mask_step[2] == 0) {
        mask_keys(a, h, s, nr);
        return;
    }
    if (a->mask->type == PITH_F32) {
        for (; s < end; s += 4, turned += 4)
            *(four *)(void *)s += *(const four *)(const void *)turned;
        return;
    }
    const four_i32 fill = (four_i32)(four){a->fill, a->fill, a->fill, a->fill};
    for (; s < end; s += 4, turned += 4) {
        const four_i32 keeps = *(const four *)(const void *)turned == 0.0f;
        *(four_i32 *)(void *)s = (*(four_i32 *)(void *)s & keeps) | (fill & ~keeps);
    }
}

/* Row n of a turned mask: lanes of queries that see the key, NaN among them. */
static inline four_i32 seen_by(const struct attention *a, const float *turned)
{
    const four m = *(const four *)(const void *)turned;
    return a->mask->type == PITH_F32 ? ~(four_i32)(m <= ABSENT) : (four_i32)(m == 0.0f);
}

/* Does one of the queries see key n? seen: those that have seen one so far, too. */
static bool sees_key(const struct attention *a, const float *turned, size_t n, uint32_t width,
                     four_i32 seen[DENSE_MAX_NR / 4])
{
    const uint32_t nr = dense_of(a->env)->nr;
    int32_t any = 0;
    for (uint32_t j = 0; j < width; j += 4) {
        const four_i32 see = seen_by(a, turned + n * nr + j);
        seen[j / 4] |= see;
        for (uint32_t i = 0; i < 4 && j + i < width; i++)
            any |= see[i];
    }
    return any != 0;
}

static bool all_seen(const four_i32 *seen, uint32_t width)
{
    int32_t all = -1;
    for (uint32_t j = 0; j < width; j++)
        all &= seen[j / 4][j % 4];
    return all != 0;
}

/* What is between the first key that one of the queries sees and the last. All, where a query sees
 * none: its weights may be those of hidden keys. */
static struct keys seen_keys(const struct attention *a, const float *turned, uint32_t width)
{
    const struct keys all = {0, a->n};
    const uint32_t mr = dense_of(a->env)->mr;
    four_i32 seen[DENSE_MAX_NR / 4] = {{0}};
    size_t first = 0, end = a->n;
    if (a->mask->type != PITH_F32 && !(a->fill <= ABSENT))
        return all;
    while (first < end && !sees_key(a, turned, first, width, seen))
        first++;
    while (end > first && !sees_key(a, turned, end - 1, width, seen))
        end--;
    for (size_t n = first; n < end && !all_seen(seen, width); n++)
        sees_key(a, turned, n, width, seen);
    if (!all_seen(seen, width))
        return all;
    first = first / mr * mr; /* where panels begin */
    return (struct keys){first, end - first};
}

/* Columns of x [rows, nr] times factors of their own; nr is a multiple of 4. */
static void scale_columns(float *x, size_t rows, uint32_t nr, const float *factor)
{
    for (; rows > 0; rows--, x += nr)
        for (uint32_t j = 0; j < nr; j += 4)
            *(four *)(void *)(x + j) *= *(const four *)(const void *)(factor + j);
}

/* Queries m .. m + width - 1, width <= nr. The product is formed transposed, scores of one query
 * in a column, because gemm_f32's b is then q^T, which is packed once, and its result is the b
 * of the second product without another copy. */
static void tile_of_head(const struct attention *a, const struct head *h, size_t m, uint32_t width,
                         struct keys keys, const struct tile_memory *t)
{
    const struct dense_kernels *dense = dense_of(a->env);
    const uint32_t nr = dense->nr;
    dense->pack_rows_f32(
        &(struct pack_rows_job){h->q + m * a->q.row, t->q, a->q.row, 1, width, a->d, nr, 0});
    /* q is scaled, not the scores: D elements a query instead of N. */
    float factor[DENSE_MAX_NR];
    for (uint32_t j = 0; j < nr; j++)
        factor[j] = a->scale;
    scale_columns(t->q, a->d, nr, factor);
    const bool strided = dense->strided;
    struct gemm_f32_job job = {.a = strided ? h->k + keys.first * a->k.row
                                            : t->k + keys.first * a->d,
                               .a_step = (strided ? a->k.row : a->d) * dense->mr,
                               .a_row = strided ? a->k.row : 0,
                               .a_col = 1,
                               .b = t->q,
                               .ldb = nr,
                               .c = t->s,
                               .ldc = nr,
                               .m = (uint32_t)keys.n,
                               .n = width,
                               .k = a->d,
                               .finish = true};
    dense->gemm_f32(&job);
    if (h->mask)
        mask_tile(a, h, keys, t->s, t->mask);
    pith_row_kernels(a->env->kernels)->softmax_columns(t->s, nr, keys.n, width, factor);
    if (h->mask)
        clear_unseeing(a, h, (struct scores){t->s, nr, m, width}, factor);
    job = (struct gemm_f32_job){.a = strided ? h->v + keys.first * a->v.row
                                             : t->v + keys.first * dense->mr,
                                .a_step = (strided ? 1 : (size_t)a->n) * dense->mr,
                                .a_row = strided,
                                .a_col = a->v.row,
                                .b = t->s,
                                .ldb = nr,
                                .c = t->y,
                                .ldc = nr,
                                .m = a->e,
                                .n = width,
                                .k = (uint32_t)keys.n,
                                .finish = true};
    dense->gemm_f32(&job);
    /* Dividing after the product with v takes E divisions a query instead of N, and the sum over
     * keys stays a plain product. */
    scale_columns(t->y, a->e, nr, factor);
    dense->pack_rows_f32(&(struct pack_rows_job){t->y, t->turned, nr, 1, a->e, width, a->e, 0});
    for (uint32_t j = 0; j < width; j++)
        /* y^T is turned in scratch first: writing it column by column would touch each line of y
         * nr times. */
        memcpy(h->y + (m + j) * a->y.row, t->turned + (size_t)j * a->e, a->e * sizeof(float));
}

/* One query fills no tile: its scores are a product of k and a vector, and the sum of rows of v is
 * one of a row. */
static void query_of_head(const struct attention *a, const struct head *h, size_t m,
                          const struct tile_memory *t)
{
    const struct dense_kernels *dense = dense_of(a->env);
    for (size_t d = 0; d < a->d; d++)
        t->q[d] = h->q[m * a->q.row + d] * a->scale;
    dense->gemv_f32(&(struct gemv_f32_job){
        .w = h->k, .ldw = a->k.row, .x = t->q, .y = t->s, .rows = a->n, .k = a->d});
    weights_of(a, h, m, t->s);
    for (uint32_t e = 0; e < a->e; e += dense->nr)
        dense->gemm_f32(&(struct gemm_f32_job){.a = t->s,
                                               .a_row = a->n,
                                               .a_col = 1,
                                               .b = h->v + e,
                                               .ldb = a->v.row,
                                               .c = h->y + m * a->y.row + e,
                                               .ldc = a->e,
                                               .m = 1,
                                               .n = a->e - e < dense->nr ? a->e - e : dense->nr,
                                               .k = a->n,
                                               .finish = true});
}

/* k and v are read M / nr times. Of several heads the mask is the same, and turned once a tile. */
static void head_tiles(const struct attention *a, size_t first, size_t heads,
                       const struct tile_memory *t)
{
    const struct dense_kernels *dense = dense_of(a->env);
    if (dense->strided && a->m <= FEW_QUERIES) {
        for (size_t i = 0; i < heads * a->m; i++) {
            const struct head h = head_of(a, first + i / a->m);
            query_of_head(a, &h, i % a->m, t);
        }
        return;
    }
    for (size_t m = 0; m < a->m; m += dense->nr) {
        const uint32_t width = a->m - m < dense->nr ? (uint32_t)(a->m - m) : dense->nr;
        struct keys keys = {0, a->n};
        for (size_t i = 0; i < heads; i++) {
            const struct head h = head_of(a, first + i);
            if (!dense->strided && m == 0) {
                const size_t mr = dense->mr;
                dense->pack_rows_f32(&(struct pack_rows_job){h.k, t->k, a->k.row, 1, a->n, a->d,
                                                             dense->mr, a->d * mr});
                dense->pack_rows_f32(&(struct pack_rows_job){h.v, t->v, 1, a->v.row, a->e, a->n,
                                                             dense->mr, a->n * mr});
            }
            if (h.mask && a->mask_step[2] && i == 0) {
                turn_mask(a, &h, m, width, t->mask, t->mask_rows);
                keys = seen_keys(a, t->mask, width);
            }
            tile_of_head(a, &h, m, width, keys, t);
        }
    }
}

static void chunk_body(void *arg, uint32_t i, uint32_t lane)
{
    const struct attention *a = arg;
    const struct dense_kernels *dense = dense_of(a->env);
    const size_t heads = (size_t)a->batch * a->heads, each = (heads + a->chunks - 1) / a->chunks;
    const size_t end = (i + 1) * each < heads ? (i + 1) * each : heads;
    const bool together = dense->strided && a->mask && a->mask_step[1] == 0;
    struct parts p = {0};
    /* It cannot fail any more: need_attention() computed the same before. */
    parts_of(a, dense, &p); /* it did while planning */
    float *scratch = (float *)a->env->scratch + (size_t)(lane * part_sum(&p));
    const struct tile_memory t = memory_of(&p, scratch);
    for (size_t item = i * each, n = 1; item < end; item += n) {
        const size_t more = a->heads - item % a->heads; /* of the same sample */
        if (together)
            n = end - item < more ? end - item : more;
        if (dense->nr) {
            head_tiles(a, item, n, &t);
            continue;
        }
        const struct head h = head_of(a, item);
        head_plain(a, &h, scratch);
    }
}

static void run_attention(const struct op_args *args, const struct op_env *env)
{
    struct attention a = attention_of(args, env);
    pith_op_parallel_lanes(env, a.chunks, chunk_body, &a);
}

static const struct attr_field fields[] = {
    {ATTR_FLOAT, ATTR_ATTENTION_SCALE, 0x3f800000 /* 1 */, 0, 0},
    {ATTR_FLOAT, ATTR_ATTENTION_FILL, -0x800000 /* minus infinity */, 0, 1},
    {ATTR_INT, ATTR_ATTENTION_KEEP, 0, 0, 1},
    {ATTR_INT, ATTR_ATTENTION_LAYOUT, 0, 0, 15},
};

const struct op_info pith_op_attention = {
    .op = PITH_OP_ATTENTION,
    .n_in_min = 3,
    .n_in_max = 4,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = sizeof fields / sizeof *fields,
    .n_slots = 4,
    .fields = fields,
    .shape = shape_attention,
    .need = need_attention,
    .run = run_attention,
};
