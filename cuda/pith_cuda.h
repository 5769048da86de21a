/* SPDX-License-Identifier: MIT */
/* pith_cuda.h - finished plans on an NVIDIA GPU.
 *
 *     struct pith_cuda *cuda;
 *     struct pith_cuda_plan *p;
 *     struct pith_error err;
 *     if (pith_cuda_open(0, &cuda, &err) || pith_cuda_plan_new(cuda, plan, &p, &err))
 *         fprintf(stderr, "%s\n", err.text);        // and run the plan on the CPU
 *     memcpy(pith_plan_input_data(plan, 0), image, ...);
 *     pith_cuda_plan_run(p, &err);
 *     ... pith_plan_output_data(plan, 0) ...
 *     pith_cuda_plan_free(p);
 *     pith_cuda_close(cuda);
 *
 * The plan is one of pith_plan_init, for the CPU, and stays usable there. Nothing is linked: the
 * driver (libcuda.so.1) is looked for when a device is opened. All memory, on the device and here,
 * is taken by pith_cuda_plan_new.
 *
 * Results: integers, moved elements, element-wise functions, maxima and reductions have the CPU's
 * bits; sums of products of floats are within 2 K 2^-24 of the sum of |w x|, unless
 * pith_cuda_set_precision allows less.
 *
 * A step without a kernel for the device runs on the CPU between two copies. A plan of integers
 * should be made with PITH_FLAG_NO_FUSION: steps that pith_plan_init joins for the CPU have no
 * kernels (pith_cuda_plan_steps counts them).
 *
 * A plan is made with PITH_FLAG_WHOLE_BATCH.
 *
 * Threads: one device and its plans are used by one thread at a time, any. */
#ifndef PITH_CUDA_H
#define PITH_CUDA_H

#include "pith_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct pith_cuda;
struct pith_cuda_plan;

/* Device number `device`, from 0 on. Owned by the caller, who closes it after its plans. *cuda is
 * untouched on failure, and err, which may be NULL, has one line.
 * PITH_ERR_UNSUPPORTED: no driver, one that is too old, no such device, this library has no kernels
 * for it or was built without nvcc; PITH_ERR_MEMORY; PITH_ERR_IO: the driver failed. */
enum pith_status pith_cuda_open(uint32_t device, struct pith_cuda **cuda, struct pith_error *err);
void pith_cuda_close(struct pith_cuda *cuda); /* accepts NULL */
/* As the driver calls the device; valid until it is closed. */
const char *pith_cuda_name(const struct pith_cuda *cuda);

/* Lets plans that are made from now on do large dense products and 1 x 1 convolutions by cuBLASLt,
 * where that takes less time (both ways are timed): `library`, or "" for libcublasLt.so.13 or .12,
 * which is looked for when the first product needs it. Where it is missing or refuses, kernels of
 * this library do the product as before, and pith_cuda_blas_note says why
 * ("": nothing went wrong, or it was not needed yet). */
void pith_cuda_allow_blas(struct pith_cuda *cuda, const char *library);
const char *pith_cuda_blas_note(const struct pith_cuda *cuda);

/* What products of floats multiply, and what values between layers are, in plans that are made from
 * now on.
 *
 * PITH_CUDA_F32 (the default): weights and activations as they are, whatever the file stores.
 * PITH_CUDA_F16: tensor cores multiply 16-bit floats, and sums are f32. Weights are bf16 where the
 * file stores them so, and else f16; activations are rounded to the same. This is for Gemm, Conv
 * and MatMul by a weight; depthwise convolutions, recurrent layers, attention, and products of few
 * rows by weights with codebooks are computed in f32. With K terms, off is at most
 *
 *     (2 K 2^-24 + 2^-11) sum |w x| + 2^-25 sum |w|     weights stored as f16
 *     (2 K 2^-24 + 2^-10) sum |w x| + 2^-25 sum (|w| + |x| + 2^-25)     of f32, or with codebooks
 *     (2 K 2^-24 + 2^-8) sum |w x|                      stored as bf16
 *
 * Values between layers are rounded to f16, or to bf16 where all weights are stored so: by 2^-11 or
 * 2^-8 of them at most, twice that with a long activation (sigmoid, tanh, GELU, Swish) fused into a
 * product. Inputs and outputs of the network stay f32, and all values of networks with loops,
 * branches, integer products, steps on the CPU or weights of both types.
 * In f16 what is 65520 or more becomes infinite. */
enum pith_cuda_precision { PITH_CUDA_F32 = 0, PITH_CUDA_F16 = 1 };
void pith_cuda_set_precision(struct pith_cuda *cuda, enum pith_cuda_precision precision);

/* Readies the plan for the device: its arena twice over, its weights as kernels read them, and the
 * run as one graph where no step needs the CPU. Borrows plan and cuda until it is freed.
 * PITH_ERR_MEMORY: not enough on the device or here; PITH_ERR_UNSUPPORTED: the plan is observed or
 * has values in opts.caches; PITH_ERR_CORRUPT: a coded weight is broken; PITH_ERR_IO: the driver
 * failed. */
enum pith_status pith_cuda_plan_new(struct pith_cuda *cuda, struct pith_plan *plan,
                                    struct pith_cuda_plan **device_plan, struct pith_error *err);
void pith_cuda_plan_free(struct pith_cuda_plan *device_plan); /* accepts NULL */

/* As pith_plan_run: from the plan's inputs to its outputs. PITH_ERR_LIMIT, PITH_ERR_STOPPED as
 * there; PITH_ERR_IO: the driver failed, and every later run will. Outputs are then unspecified. */
enum pith_status pith_cuda_plan_run(struct pith_cuda_plan *device_plan, struct pith_error *err);

/* Steps of the plan, and how many of them run on the CPU; bytes taken on the device. */
struct pith_cuda_facts {
    uint32_t steps, cpu_steps;
    uint32_t launches;      /* of one run, copies included; 0 where steps or data decide */
    uint32_t blas_products; /* steps that cuBLASLt does */
    uint64_t device_bytes;
    uint32_t decoded_weights; /* whose Huffman codes the device decoded */
    /* What a run took when the plan was made, as launches and as one; 0: it was not timed. The
     * faster is kept. */
    uint64_t graph_ns, one_launch_ns;
};
struct pith_cuda_facts pith_cuda_plan_facts(const struct pith_cuda_plan *device_plan);
/* Whether step `step` (of pith_plan_layer) runs on the CPU; 1 or 0. */
int pith_cuda_plan_on_cpu(const struct pith_cuda_plan *device_plan, uint32_t step);

/* Bytes of the step's weights, as the device has them, inputs and outputs: what its kernels read
 * and write at least. 0 for a step on the CPU. */
uint64_t pith_cuda_plan_step_bytes(const struct pith_cuda_plan *device_plan, uint32_t step);
/* With opts.clock_ns in the plan, pith_plan_layer reports after a run what each step took on the
 * device, by events between the steps; of a step on the CPU by the clock, with its copies. */

/* Bytes a second that a long copy on the device reads and writes, both counted, to hold those of
 * steps against; measured in some ms. PITH_ERR_MEMORY, _IO. */
enum pith_status pith_cuda_copy_speed(struct pith_cuda *cuda, double *bytes_per_s,
                                      struct pith_error *err);

/* ---- inside a program that uses the device itself
 * ------------------------------------------------
 */

/* Where input or output i lies on the device (a CUdeviceptr); 0: there is none. Inputs are written
 * before, outputs read after what pith_cuda_plan_enqueue put on the stream. */
uint64_t pith_cuda_plan_input_address(const struct pith_cuda_plan *device_plan, uint32_t i);
uint64_t pith_cuda_plan_output_address(const struct pith_cuda_plan *device_plan, uint32_t i);
/* Puts a run on `stream` (a CUstream of the device's primary context) and returns at once; nothing
 * is copied from or to the plan. PITH_ERR_UNSUPPORTED where steps or data need the CPU. */
enum pith_status pith_cuda_plan_enqueue(struct pith_cuda_plan *device_plan, void *stream,
                                        struct pith_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
