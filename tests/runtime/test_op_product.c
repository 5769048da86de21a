/* SPDX-License-Identifier: MIT */
/* Gemm and MatMul against plain double loops, and their shape rules. */
#include "dense_case.h"
#include "op_interface/op_attr.h"

static float value(const struct tview *v, size_t i)
{
    return ((const float *)v->data)[i];
}

static void check_gemm(uint32_t m, uint32_t n, uint32_t k, bool ta, bool tb, uint32_t c_rank,
                       const uint32_t *c_dim, float alpha, float beta)
{
    struct dense_case t;
    char what[96];
    snprintf(what, sizeof what, "gemm m%u n%u k%u ta%d tb%d c_rank %u", m, n, k, ta, tb, c_rank);
    case_open(&t, PITH_OP_GEMM);
    case_view(&t.view[0], 2, ta ? (uint32_t[]){k, m} : (uint32_t[]){m, k});
    case_view(&t.view[1], 2, tb ? (uint32_t[]){n, k} : (uint32_t[]){k, n});
    if (c_dim) {
        case_view(&t.view[2], c_rank, c_dim);
        t.in[2] = &t.view[2];
        t.args.n_in = 3;
    }
    t.attr[ATTR_GEMM_TRANS_A] = ta;
    t.attr[ATTR_GEMM_TRANS_B] = tb;
    t.attr[ATTR_GEMM_ALPHA] = (int32_t)f32_bits(alpha);
    t.attr[ATTR_GEMM_BETA] = (int32_t)f32_bits(beta);
    assert_int_equal(case_shape(&t), PITH_OK);
    case_expect(&t, k);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            for (size_t x = 0; x < k; x++)
                case_add(&t, i * n + j,
                         (double)alpha * value(&t.view[0], ta ? x * m + i : i * k + x),
                         value(&t.view[1], tb ? j * k + x : x * n + j));
            if (c_dim) {
                uint32_t cols = c_rank > 0 ? c_dim[c_rank - 1] : 1;
                uint32_t rows = c_rank > 1 ? c_dim[0] : 1;
                case_add(&t, i * n + j, beta,
                         value(&t.view[2], (rows > 1 ? i * cols : 0) + (cols > 1 ? j : 0)));
            }
        }
    case_check(&t, what);
    case_close(&t);
}

TEST(test_gemm)
{
    seed = 0x6e33;
    for (int i = 0; i < 160; i++) {
        uint32_t m = pick(0, 2) ? pick(1, 3) : pick(4, 60), n = pick(1, 130), k = pick(1, 90);
        if (i % 16 == 3) /* several blocks of K */
            k = pick(500, 1200);
        uint32_t c_rank = pick(0, 2), c_dim[2] = {pick(0, 1) ? m : 1, pick(0, 1) ? n : 1};
        if (c_rank == 1)
            c_dim[0] = n;
        bool special = i % 8 == 0;
        check_gemm(m, n, k, pick(0, 3) == 0, pick(0, 1), c_rank, pick(0, 3) ? c_dim : NULL,
                   special ? 0.75f : 1.0f, special ? 1.5f : 1.0f);
    }
}

static void matmul_expect(struct dense_case *t, bool trans_b, uint32_t m, uint32_t n, uint32_t k,
                          size_t batch, size_t a_at, size_t b_at)
{
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t x = 0; x < k; x++)
                case_add(t, (batch * m + i) * n + j, value(&t->view[0], a_at + i * k + x),
                         value(&t->view[1], b_at + (trans_b ? j * k + x : x * n + j)));
}

/* Batches of up to two axes; a dim of 1 broadcasts. */
static void check_matmul(const uint32_t *a, uint32_t a_rank, const uint32_t *b, uint32_t b_rank,
                         bool trans_b)
{
    struct dense_case t;
    char what[96];
    uint32_t m = a_rank > 1 ? a[a_rank - 2] : 1, k = a[a_rank - 1];
    uint32_t n = b_rank > 1 ? b[b_rank - (trans_b ? 2 : 1)] : 1;
    snprintf(what, sizeof what, "matmul ranks %u %u, m%u n%u k%u tb%d", a_rank, b_rank, m, n, k,
             trans_b);
    case_open(&t, PITH_OP_MATMUL);
    case_view(&t.view[0], a_rank, a);
    case_view(&t.view[1], b_rank, b);
    t.attr[ATTR_MATMUL_TRANS_B] = trans_b;
    assert_int_equal(case_shape(&t), PITH_OK);
    case_expect(&t, k);
    uint32_t ab[2] = {1, 1}, bb[2] = {1, 1}, yb[2];
    for (uint32_t i = 0; i + 2 < a_rank; i++)
        ab[4 - a_rank + i] = a[i];
    for (uint32_t i = 0; i + 2 < b_rank; i++)
        bb[4 - b_rank + i] = b[i];
    for (int i = 0; i < 2; i++)
        yb[i] = ab[i] > bb[i] ? ab[i] : bb[i];
    assert_int_equal(shape_elems(&t.view[4].shape), (size_t)yb[0] * yb[1] * m * n);
    for (uint32_t u = 0; u < yb[0]; u++)
        for (uint32_t v = 0; v < yb[1]; v++) {
            size_t a_at = (ab[0] > 1 ? u : 0) * ab[1] + (ab[1] > 1 ? v : 0);
            size_t b_at = (bb[0] > 1 ? u : 0) * bb[1] + (bb[1] > 1 ? v : 0);
            matmul_expect(&t, trans_b, m, n, k, (size_t)u * yb[1] + v, a_at * m * k, b_at * k * n);
        }
    case_check(&t, what);
    case_close(&t);
}

TEST(test_matmul)
{
    seed = 0x3a731;
    for (int i = 0; i < 30; i++) {
        uint32_t m = pick(1, 20), n = pick(1, 60), k = pick(1, 50), p = pick(2, 3), q = pick(2, 3);
        check_matmul((uint32_t[]){m, k}, 2, (uint32_t[]){k, n}, 2, false);
        check_matmul((uint32_t[]){m, k}, 2, (uint32_t[]){n, k}, 2, true);
        check_matmul((uint32_t[]){k}, 1, (uint32_t[]){k, n}, 2, false);
        check_matmul((uint32_t[]){m, k}, 2, (uint32_t[]){k}, 1, false);
        check_matmul((uint32_t[]){k}, 1, (uint32_t[]){k}, 1, false);
        check_matmul((uint32_t[]){p, m, k}, 3, (uint32_t[]){n, k}, 2, true);
        check_matmul((uint32_t[]){p, q, m, k}, 4, (uint32_t[]){k, n}, 2, false);
        check_matmul((uint32_t[]){p, q, m, k}, 4, (uint32_t[]){p, q, k, n}, 4, false);
        check_matmul((uint32_t[]){p, 1, m, k}, 4, (uint32_t[]){q, k, n}, 3, false);
        check_matmul((uint32_t[]){m, k}, 2, (uint32_t[]){p, k, n}, 3, false);
    }
}

static enum pith_status product_shape(enum pith_op op, struct tview a, struct tview b,
                                      const struct tview *c)
{
    struct dense_case t;
    case_open(&t, op);
    t.view[0] = a;
    t.view[1] = b;
    if (c) {
        t.view[2] = *c;
        t.in[2] = &t.view[2];
        t.args.n_in = 3;
    }
    return case_shape(&t);
}

TEST(test_hostile_shapes)
{
    const struct tview a = {PITH_F32, {2, {3, 4}}, NULL}, b = {PITH_F32, {2, {5, 4}}, NULL};
    const struct tview b_off = {PITH_F32, {2, {5, 6}}, NULL}, b_nn = {PITH_F32, {2, {4, 5}}, NULL};
    const struct tview scalar = {PITH_F32, {0, {0}}, NULL}, i8 = {PITH_I8, {2, {3, 4}}, NULL};
    const struct tview c3 = {PITH_F32, {3, {1, 3, 5}}, NULL}, c4 = {PITH_F32, {1, {4}}, NULL};
    const struct tview tall = {PITH_F32, {2, {1u << 30, 4}}, NULL};
    const struct tview wide = {PITH_F32, {2, {1u << 30, 4}}, NULL};
    const struct tview p = {PITH_F32, {3, {2, 3, 4}}, NULL}, q = {PITH_F32, {3, {3, 4, 5}}, NULL};
    assert_int_equal(product_shape(PITH_OP_GEMM, a, b, NULL), PITH_OK);
    assert_int_equal(product_shape(PITH_OP_GEMM, a, b_off, NULL), PITH_ERR_CORRUPT);
    assert_int_equal(product_shape(PITH_OP_GEMM, a, b_nn, NULL), PITH_ERR_CORRUPT);
    assert_int_equal(product_shape(PITH_OP_GEMM, scalar, b, NULL), PITH_ERR_CORRUPT);
    assert_int_equal(product_shape(PITH_OP_GEMM, i8, b, NULL), PITH_ERR_UNSUPPORTED);
    assert_int_equal(product_shape(PITH_OP_GEMM, a, b, &c3), PITH_ERR_CORRUPT);
    assert_int_equal(product_shape(PITH_OP_GEMM, a, b, &c4), PITH_ERR_CORRUPT);
    assert_int_equal(product_shape(PITH_OP_GEMM, tall, wide, NULL), PITH_ERR_CORRUPT);
    assert_int_equal(product_shape(PITH_OP_MATMUL, a, b_nn, NULL), PITH_OK);
    assert_int_equal(product_shape(PITH_OP_MATMUL, a, b, NULL), PITH_ERR_CORRUPT);
    assert_int_equal(product_shape(PITH_OP_MATMUL, scalar, b_nn, NULL), PITH_ERR_CORRUPT);
    assert_int_equal(product_shape(PITH_OP_MATMUL, p, q, NULL), PITH_ERR_CORRUPT);
    assert_int_equal(product_shape(PITH_OP_MATMUL, i8, b_nn, NULL), PITH_ERR_UNSUPPORTED);
}

RUN_TESTS
