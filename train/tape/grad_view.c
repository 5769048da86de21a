/* SPDX-License-Identifier: MIT */
/* grad_view.c - another shape for the same elements: the gradient passes through. Cast belongs here
 * where it changes nothing (f32 to f32); to other types there is no gradient. */
#include "grad_add.h"
#include "grad_list.h"
#include "core/op_number.h"

static void backward(struct grad_node *n)
{
    if (n->in[0]->grad)
        grad_put(n->in[0]->grad, n->out[0]->grad, grad_count(n->out[0]), n->sets[0]);
}

#define VIEW(name, number)                                                                         \
    const struct grad_op pith_grad_##name = {.op = number, .sets = true, .backward = backward}

VIEW(flatten, PITH_OP_FLATTEN);
VIEW(reshape, PITH_OP_RESHAPE);
VIEW(squeeze, PITH_OP_SQUEEZE);
VIEW(unsqueeze, PITH_OP_UNSQUEEZE);
VIEW(identity, PITH_OP_IDENTITY);
VIEW(cast, PITH_OP_CAST);
