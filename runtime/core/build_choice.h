/* SPDX-License-Identifier: MIT */
/* build_choice.h - what a build of the runtime holds and what it leaves out, said to the compiler:
 *
 *     -DPITH_BUILD_CPU=1              kernels of these PITH_CPU_ bits beside the scalar reference:
 * the folders kernels/x86 or kernels/arm are compiled, too, each file with the flags of the
 * instruction set that ends its name -DPITH_BUILD_OPS_LOW=0x...ull   of the operators only those
 * whose bit is set: numbers 0 to 63 -DPITH_BUILD_OPS_HIGH=0x...ull  numbers 64 to 127
 *     -DPITH_BUILD_RANS=0             no decoder of rANS-coded indices
 *     -DPITH_BUILD_ADAPTIVE=0         no decoder of adaptive streams
 *     -DPITH_BUILD_TRELLIS=0          no trellis in the decoder of adaptive streams
 *     -DPITH_BUILD_SLICES=0           no streams in slices of rows
 *
 * `pith info NET.pith --build` prints the last six for a network. Nothing refers then to what was
 * left out, so that the linker does not take it from an archive (or drops it by --gc-sections). A
 * network with another operator or code is refused as PITH_ERR_UNSUPPORTED. */
#ifndef BUILD_CHOICE_H
#define BUILD_CHOICE_H

#ifndef PITH_BUILD_CPU
#define PITH_BUILD_CPU 0
#endif
#ifndef PITH_BUILD_RANS
#define PITH_BUILD_RANS 1
#endif
#ifndef PITH_BUILD_TRELLIS
#define PITH_BUILD_TRELLIS 1
#endif
#ifndef PITH_BUILD_ADAPTIVE
#define PITH_BUILD_ADAPTIVE 1
#endif
#ifndef PITH_BUILD_SLICES
#define PITH_BUILD_SLICES 1
#endif
#ifndef PITH_BUILD_OPS_LOW
#define PITH_BUILD_OPS_LOW 0xffffffffffffffffull
#endif
#ifndef PITH_BUILD_OPS_HIGH
#define PITH_BUILD_OPS_HIGH 0xffffffffffffffffull
#endif

/* Whether operator number op (0 to 127, a constant) is built. */
#define BUILT_OP(op) (((op) < 64 ? PITH_BUILD_OPS_LOW : PITH_BUILD_OPS_HIGH) >> ((op)&63) & 1)

#endif
