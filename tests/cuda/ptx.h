/* SPDX-License-Identifier: MIT */
/* ptx.h - an interpreter of PTX: it runs what nvcc made of the kernels, where emu.c runs what the
 * host's compiler makes of them. Both have to give the same bits.
 *
 * It knows the instructions that nvcc 13 emits for cuda/kernels (PTX ISA 7.0) and refuses
 * others by name. Lanes of a warp go together: the lowest program counter first, which brings them
 * together again behind a branch; at a shuffle or barrier all wait for the last (ptx_warp.h).
 * Blocks run one after the other, each up to where it reads what another may write. Addresses on
 * the device are addresses of this process. */
#ifndef PTX_H
#define PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PTX_LANES 32u
#define PTX_NONE UINT32_MAX

enum ptx_type {
    PTX_U8,
    PTX_S8,
    PTX_U16,
    PTX_S16,
    PTX_U32,
    PTX_S32,
    PTX_U64,
    PTX_S64,
    PTX_F32,
    PTX_F64,
    PTX_PRED,
    PTX_F16,
    PTX_BF16,
    PTX_F16X2, /* two in a word */
    PTX_BF16X2
};

/* One for each instruction and what changes its meaning but its type. */
#define PTX_OPS(OP)                                                                                \
    OP(MOV, "mov")                                                                                 \
    OP(CVTA, "cvta")                                                                               \
    OP(CVT, "cvt")                                                                                 \
    OP(ADD, "add")                                                                                 \
    OP(SUB, "sub")                                                                                 \
    OP(MUL, "mul")                                                                                 \
    OP(MUL_WIDE, "mul.wide")                                                                       \
    OP(MAD, "mad")                                                                                 \
    OP(FMA, "fma")                                                                                 \
    OP(DIV, "div")                                                                                 \
    OP(REM, "rem")                                                                                 \
    OP(RCP, "rcp")                                                                                 \
    OP(SQRT, "sqrt")                                                                               \
    OP(NEG, "neg")                                                                                 \
    OP(MIN, "min")                                                                                 \
    OP(MAX, "max")                                                                                 \
    OP(AND, "and")                                                                                 \
    OP(OR, "or")                                                                                   \
    OP(XOR, "xor")                                                                                 \
    OP(NOT, "not")                                                                                 \
    OP(SHL, "shl")                                                                                 \
    OP(SHR, "shr")                                                                                 \
    OP(BFI, "bfi")                                                                                 \
    OP(POPC, "popc")                                                                               \
    OP(CLZ, "clz")                                                                                 \
    OP(SELP, "selp")                                                                               \
    OP(SETP, "setp")                                                                               \
    OP(DP4A, "dp4a")                                                                               \
    OP(PRMT, "prmt")                                                                               \
    OP(MMA, "mma")                                                                                 \
    OP(LD, "ld")                                                                                   \
    OP(ST, "st")                                                                                   \
    OP(BRA, "bra")                                                                                 \
    OP(RET, "ret")                                                                                 \
    OP(SHFL, "shfl")                                                                               \
    OP(BAR, "bar")                                                                                 \
    OP(BAR_WARP, "bar.warp")                                                                       \
    OP(ATOM, "atom")                                                                               \
    OP(MEMBAR, "membar")                                                                           \
    OP(FENCE, "fence")
#define PTX_OP_NAME(name, text) PTX_##name,
enum ptx_op { PTX_OPS(PTX_OP_NAME) PTX_N_OPS };

/* Comparisons of setp; those of floats end in U where a NaN makes them true. */
#define PTX_COMPARISONS(C)                                                                         \
    C(EQ, "eq")                                                                                    \
    C(NE, "ne")                                                                                    \
    C(LT, "lt")                                                                                    \
    C(LE, "le")                                                                                    \
    C(GT, "gt")                                                                                    \
    C(GE, "ge")                                                                                    \
    C(EQU, "equ")                                                                                  \
    C(NEU, "neu")                                                                                  \
    C(LTU, "ltu")                                                                                  \
    C(LEU, "leu")                                                                                  \
    C(GTU, "gtu")                                                                                  \
    C(GEU, "geu")                                                                                  \
    C(NUM, "num")                                                                                  \
    C(NAN, "nan")
#define PTX_COMPARISON_NAME(name, text) PTX_CMP_##name,
enum ptx_comparison { PTX_COMPARISONS(PTX_COMPARISON_NAME) PTX_N_COMPARISONS };

enum ptx_space { PTX_GLOBAL, PTX_SHARED, PTX_PARAM };
enum ptx_special { PTX_TID_X, PTX_CTAID_X, PTX_CTAID_Y, PTX_CTAID_Z, PTX_NCTAID_X, PTX_NTID_X };

/* A register, a number as it lies in one (also the address of a shared variable or a parameter), a
 * number of the launch, or the address in a register and a distance. */
enum ptx_operand_kind { PTX_REGISTER, PTX_NUMBER, PTX_SPECIAL, PTX_ADDRESS };
struct ptx_operand {
    enum ptx_operand_kind kind;
    uint32_t reg; /* PTX_NONE: an address that is all distance; else enum ptx_special */
    uint64_t number;
};

struct ptx_instruction {
    enum ptx_op op;
    enum ptx_type type, from; /* from: of cvt, and of the factors of mma */
    enum ptx_comparison comparison;
    enum ptx_space space;
    bool unless;                    /* runs where the guard is false */
    bool is_volatile;               /* of ld: other blocks may write there */
    uint32_t guard, target, vector; /* guard: a register, or PTX_NONE; vector: also of mov */
    uint32_t n;                     /* operands */
    struct ptx_operand operand[14]; /* ld and st: the parts of a vector, then the address */
    uint32_t terms;                 /* of mma */
    uint32_t line;                  /* of the text */
};

/* Where the launch's own shared memory begins, behind so many bytes. */
#define PTX_BEHIND(bytes) (((bytes) + 15u) & ~15u)

struct ptx_kernel {
    char name[64];
    struct ptx_instruction *code;
    uint32_t n, registers, shared_bytes;
};

struct ptx_module {
    struct ptx_kernel *kernel;
    uint32_t n;
};

/* The text of a file; NULL, with a line on standard error: it cannot be read, or holds what the
 * interpreter does not know. Owned by the caller, for the life of the process. */
const struct ptx_module *ptx_read(const char *path);
const struct ptx_kernel *ptx_find(const struct ptx_module *m, const char *name);

/* What a launch did, added up: instructions of warps; 128-byte requests of warps to global memory
 * and 32-byte sectors that they touch; accesses of warps to shared memory and the wavefronts that
 * conflicts of banks make of them, of these once more those behind `behind` bytes. */
struct ptx_counts {
    uint64_t instructions, requests, sectors, shared_accesses, wavefronts;
    uint64_t behind_accesses, behind_wavefronts;
    uint32_t behind; /* 0: of none; set by the caller */
};

/* Runs a kernel; counts: or NULL. What hardware leaves undefined ends the program with a line on
 * standard error. */
void ptx_run(const struct ptx_kernel *k, uint32_t kernel, const uint32_t grid[3], const void *arg,
             struct ptx_counts *counts);

#endif
