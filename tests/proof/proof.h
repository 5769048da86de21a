/* SPDX-License-Identifier: MIT */
/* proof.h - what the proofs share: inputs of any value, and the compiler's builtins that Frama-C
 * does not know, said in C. */
#ifndef PROOF_H
#define PROOF_H

#include "__fc_builtin.h"
#include "op_interface/op_attr.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#undef ARG_MAX /* of a system's arguments: a name of ours */

static bool proof_mul(uint64_t a, uint64_t b, uint64_t *out)
{
    *out = a * b;
    return b != 0 && a > UINT64_MAX / b;
}

static bool proof_add(uint64_t a, uint64_t b, uint64_t *out)
{
    *out = a + b;
    return a > UINT64_MAX - b;
}

/* Of 0 they are not defined: the assertion is one of the alarms. */
static int proof_zeros(uint64_t v)
{
    //@ assert v != 0;
    return Frama_C_interval(0, 63);
}

#define __builtin_mul_overflow proof_mul
#define __builtin_add_overflow proof_add
#define __builtin_clzll proof_zeros
#define __builtin_ctzll proof_zeros
/* Nor vectors, which are of what runs operators: no proof looks into that, but it must be parsed.
 */
#define vector_size(bytes) unused

static void any_bytes(uint8_t *p, size_t n)
{
    Frama_C_make_unknown((char *)p, n);
}

static uint64_t any_u64(void)
{
    uint64_t v;
    Frama_C_make_unknown((char *)&v, sizeof v);
    return v;
}

#endif
