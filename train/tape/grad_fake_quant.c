/* SPDX-License-Identifier: MIT */
/* grad_fake_quant.c - a value rounded to its grid: the Identity that fake_quant_graph.c puts behind
 * it, which differs from a plain one by its inputs.
 *
 *     0  x
 *     1  [2] the step's v, the zero point's share (fake_quant.h): a parameter; left out where the
 * grid stays as it was 2  [FACTS] what stays
 */
#include "grad_add.h"
#include "grad_list.h"
#include "fake_quant_graph.h"
#include "train/kernels/train_kernels.h"
#include "core/op_number.h"

static float given(const float *number, uint32_t i, float otherwise)
{
    return number ? number[i] : otherwise;
}

static struct fake_step step_of(const struct fake_grid *g, const float *number, const float *fact)
{
    float zero = pith_fake_zero(g, given(number, 1, fact[FACT_ZERO]));
    return (struct fake_step){pith_fake_step(g, given(number, 0, 1)), g->lowest - zero,
                              g->highest - zero};
}

static void forward(struct grad_node *n)
{
    const float *fact = grad_data(n, 2);
    struct fake_grid g = pith_fake_grid_of(fact);
    struct fake_step s = step_of(&g, grad_data(n, 1), fact);
    pith_train_kernels().fake->round(&s, n->in[0]->data, grad_count(n->in[0]), n->out[0]->data);
}

static void put(float *to, double part, bool set)
{
    *to = set ? (float)part : *to + (float)part;
}

static void backward(struct grad_node *n)
{
    const float *fact = grad_data(n, 2), *number = grad_data(n, 1);
    struct fake_grid g = pith_fake_grid_of(fact);
    struct fake_step s = step_of(&g, number, fact);
    size_t count = grad_count(n->in[0]);
    if (!n->out[0]->grad)
        return;
    struct fake_gradient d = {.x = n->in[0]->data,
                              .dy = n->out[0]->grad,
                              .y = n->out[0]->data,
                              .n = count,
                              .dx = grad_of(n, 0),
                              .set = n->sets[0]};
    pith_train_kernels().fake->back(&s, &d);
    float *own = grad_of(n, 1);
    if (!own)
        return;
    double gain = pith_fake_gain(&g, (double)count / n->in[0]->shape.dim[0]);
    double range = (double)(g.highest - g.lowest);
    put(&own[0], d.by_step * gain, n->sets[1]);
    put(&own[1], fact[FACT_MOVES_ZERO] > 0 ? -d.outside * (double)s.step * gain * range : 0,
        n->sets[1]);
}

const struct grad_op pith_grad_fake_quant = {.op = PITH_OP_IDENTITY,
                                             .layout = GRAD_EITHER,
                                             .sets = true,
                                             .forward = forward,
                                             .backward = backward};
