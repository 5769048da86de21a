/* SPDX-License-Identifier: MIT */
#include "class_output.h"

#include <math.h>

#include "core/op_number.h"
#include "op_interface/op_attr.h"

static uint64_t elems(const struct pith_value *v, uint32_t first, uint32_t last)
{
    uint64_t n = 1;
    for (uint32_t i = first; i < last; i++)
        n *= v->dim[i];
    return n;
}

static bool only_moves(uint32_t op)
{
    return op == PITH_OP_SQUEEZE || op == PITH_OP_UNSQUEEZE || op == PITH_OP_RESHAPE ||
           op == PITH_OP_FLATTEN || op == PITH_OP_IDENTITY;
}

/* The value in front of what only moves numbers. */
static uint32_t behind_moves(const struct pith_model *m, uint32_t value)
{
    const struct pith_node *n = pith_model_producer(m, value);
    for (uint32_t i = 0; i < m->n_nodes && n && only_moves(n->op); i++) {
        value = n->in[0];
        n = pith_model_producer(m, value);
    }
    return value;
}

/* The same, and in front of a bias: an Add of a constant, on either side. */
static const struct pith_node *behind_bias(const struct pith_model *m, uint32_t value)
{
    const struct pith_node *n = pith_model_producer(m, behind_moves(m, value));
    if (!n || n->op != PITH_OP_ADD)
        return n;
    const bool left = m->values[n->in[0]].constant;
    if (left || m->values[n->in[1]].constant)
        return pith_model_producer(m, behind_moves(m, n->in[left]));
    return n;
}

static bool is_product(const struct pith_node *n)
{
    return n && (n->op == PITH_OP_GEMM || n->op == PITH_OP_MATMUL || n->op == PITH_OP_CONV ||
                 n->op == PITH_OP_GLOBAL_AVERAGE_POOL || n->op == PITH_OP_AVERAGE_POOL);
}

bool pith_is_row(const uint32_t *dim, uint32_t rank)
{
    uint32_t wide = 0;
    for (uint32_t i = 0; i < rank; i++)
        wide += dim[i] > 1;
    return wide <= 1;
}

/* A classifier without its Softmax. */
static bool is_logits(const struct pith_model *m, const struct pith_value *y, uint32_t value)
{
    const struct pith_value *x = &m->values[m->inputs[0]];
    uint64_t n = pith_value_elems(y), read = pith_value_elems(x);
    bool row = y->rank >= 1 && (y->rank == 1 || y->dim[0] == 1);
    return m->n_outputs == 1 && row && pith_is_row(y->dim, y->rank) && n >= 2 && n < read &&
           is_product(behind_bias(m, value));
}

/* A language model without its Softmax: ids [1, S] to [1, S, classes]. */
static bool is_logits_of_positions(const struct pith_model *m, const struct pith_value *y,
                                   uint32_t value)
{
    bool ids = false;
    for (uint32_t i = 0; i < m->n_inputs; i++) {
        const struct pith_value *x = &m->values[m->inputs[i]];
        ids |= (x->type == PITH_I64 || x->type == PITH_I32) && x->rank == 2 && x->dim[0] == 1 &&
               x->dim[1] == y->dim[1];
    }
    return ids && y->rank == 3 && y->dim[0] == 1 && is_product(behind_bias(m, value));
}

struct output_kind pith_output_kind(const struct pith_model *m, uint32_t output)
{
    const uint32_t value = m->outputs[output];
    const struct pith_value *y = &m->values[value];
    const uint32_t source = behind_moves(m, value);
    const struct pith_value *s = &m->values[source];
    const struct pith_node *n = pith_model_producer(m, source);
    struct output_kind kind = {0};
    if (y->type != PITH_F32)
        return kind;
    if (n && (n->op == PITH_OP_SOFTMAX || n->op == PITH_OP_LOG_SOFTMAX)) {
        uint32_t axis = (uint32_t)n->attr[ATTR_SOFTMAX_AXIS];
        bool flat = n->attr[ATTR_SOFTMAX_FLAT] != 0;
        axis = axis < s->rank ? axis : s->rank - 1;
        kind.inner = flat ? 1 : elems(s, axis + 1, s->rank);
        kind.classes = (uint32_t)(flat ? elems(s, axis, s->rank) : s->dim[axis]);
        kind.softmax = n->op == PITH_OP_SOFTMAX;
    } else if (is_logits(m, y, value)) {
        kind.classes = (uint32_t)pith_value_elems(y);
        kind.inner = 1;
    } else if (is_logits_of_positions(m, y, value)) {
        kind.classes = y->dim[2];
        kind.inner = 1;
    }
    if (kind.classes < 2)
        return (struct output_kind){0};
    kind.rows = pith_value_elems(y) / kind.classes;
    return kind;
}

/* ---- one row --------------------------------------------------------------------------------- */

struct row {
    const float *x;
    uint64_t n, apart;
};

static double at(const struct row *r, uint64_t k)
{
    return (double)r->x[k * r->apart];
}

static uint64_t top_class(const struct row *r)
{
    uint64_t best = 0;
    for (uint64_t k = 0; k < r->n; k++) {
        if (isnan(at(r, k)))
            return r->n;
        best = at(r, k) > at(r, best) ? k : best;
    }
    return best;
}

uint64_t pith_top_class(const float *x, uint64_t n)
{
    const struct row row = {x, n, 1};
    return top_class(&row);
}

/* ---- how far apart --------------------------------------------------------------------------- */

#define LEAST_P 1e-30 /* of a class: its logarithm is a number */

/* log p = at - log_sum; of probabilities log_sum is 0. False: the row is no distribution: a number
 * is NaN or +infinity, or all are -infinity. */
static bool is_distribution(const struct row *r, bool softmax, double *log_sum)
{
    uint64_t best = top_class(r);
    double top = best < r->n ? at(r, best) : NAN, sum = 0;
    if (!isfinite(top))
        return false;
    for (uint64_t k = 0; k < r->n; k++)
        sum += exp(at(r, k) - top);
    *log_sum = softmax ? 0 : top + log(sum);
    return true;
}

/* Where a is no distribution there is nothing to diverge from; where b alone is none, it is as far
 * off as can be. A class without probability in a adds nothing: 0 log 0 is 0. */
static double divergence(const struct row *a, const struct row *b, bool softmax)
{
    double log_sum_a, log_sum_b, kl = 0;
    if (!is_distribution(a, softmax, &log_sum_a))
        return 0;
    if (!is_distribution(b, softmax, &log_sum_b))
        return -log(LEAST_P);
    for (uint64_t k = 0; k < a->n; k++) {
        double la = softmax ? log(fmax(at(a, k), LEAST_P)) : at(a, k) - log_sum_a;
        double lb = softmax ? log(fmax(at(b, k), LEAST_P)) : at(b, k) - log_sum_b;
        if (la > -HUGE_VAL)
            kl += exp(la) * (la - lb);
    }
    return isfinite(kl) ? fmax(kl, 0) : -log(LEAST_P);
}

static uint64_t first_of_row(const struct output_kind *kind, uint64_t r)
{
    return r / kind->inner * kind->inner * kind->classes + r % kind->inner;
}

double pith_class_divergence(const struct output_kind *kind, const float *a, const float *b,
                             uint64_t *agree)
{
    double kl = 0;
    for (uint64_t r = 0; r < kind->rows; r++) {
        uint64_t from = first_of_row(kind, r);
        const struct row of_a = {a + from, kind->classes, kind->inner};
        const struct row of_b = {b + from, kind->classes, kind->inner};
        kl += divergence(&of_a, &of_b, kind->softmax) / (double)kind->rows;
        if (agree)
            *agree += top_class(&of_a) == top_class(&of_b);
    }
    return kl;
}

/* ---- logits ---------------------------------------------------------------------------------- */

static double logit(const struct row *r, uint64_t k, bool softmax)
{
    double x = at(r, k);
    return softmax && !isnan(x) ? log(fmax(x, LEAST_P)) : x;
}

static void add_row_squares(const struct row *a, const struct row *b, bool softmax, double *signal,
                            double *noise)
{
    double sum_a = 0, sum_b = 0, n = 0;
    for (uint64_t k = 0; k < a->n; k++) {
        double x = logit(a, k, softmax), y = logit(b, k, softmax);
        bool finite = isfinite(x) && isfinite(y);
        sum_a += finite ? x : 0;
        sum_b += finite ? y : 0;
        n += finite;
    }
    for (uint64_t k = 0; k < a->n; k++) {
        double x = logit(a, k, softmax) - sum_a / n, y = logit(b, k, softmax) - sum_b / n;
        if (!isfinite(x) || !isfinite(y))
            continue;
        *signal += x * x;
        *noise += (x - y) * (x - y);
    }
}

void pith_class_logit_squares(const struct output_kind *kind, const float *a, const float *b,
                              double *signal, double *noise)
{
    *signal = *noise = 0;
    for (uint64_t r = 0; r < kind->rows; r++) {
        uint64_t from = first_of_row(kind, r);
        const struct row of_a = {a + from, kind->classes, kind->inner};
        const struct row of_b = {b + from, kind->classes, kind->inner};
        add_row_squares(&of_a, &of_b, kind->softmax, signal, noise);
    }
}
