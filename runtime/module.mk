# SPDX-License-Identifier: MIT
# The root: includes nothing outside itself. host/ adds what needs an operating system.
ROOMS_runtime := runtime runtime/op_interface runtime/core runtime/decode runtime/validate runtime/kernels runtime/kernels/arm runtime/kernels/ref runtime/kernels/x86 runtime/kernels/x86/integer runtime/ops runtime/plan runtime/products
USES_runtime := 
USES_runtime/op_interface := runtime runtime/core runtime/kernels
USES_runtime/core := runtime
USES_runtime/decode := runtime runtime/op_interface runtime/core runtime/kernels
USES_runtime/validate := runtime runtime/op_interface runtime/core runtime/decode runtime/kernels
USES_runtime/kernels := runtime runtime/core runtime/kernels/ref
USES_runtime/kernels/arm := runtime runtime/core runtime/kernels runtime/kernels/ref
USES_runtime/kernels/ref := runtime runtime/op_interface runtime/core runtime/kernels
USES_runtime/kernels/x86 := runtime runtime/core runtime/kernels runtime/kernels/ref
USES_runtime/kernels/x86/integer := runtime runtime/core runtime/kernels runtime/kernels/ref
USES_runtime/ops := runtime runtime/op_interface runtime/core runtime/decode runtime/kernels runtime/kernels/ref runtime/products
USES_runtime/plan := runtime runtime/op_interface runtime/core runtime/decode runtime/validate runtime/kernels runtime/ops runtime/products
USES_runtime/products := runtime runtime/op_interface runtime/core runtime/decode runtime/kernels runtime/kernels/ref
ROOMS_host := runtime/host
USES_runtime/host := runtime runtime/kernels/ref
LIBS_host := -lpthread
# gcc's -O2 alone leaves loops of unknown length scalar; operators are written as such loops. Nothing unwinds the
# stack of the core: tables for that would be a tenth of a linked program. A linker drops functions that nothing calls.
CFLAGS_host := -ffunction-sections -fdata-sections
CFLAGS_runtime := -ftree-vectorize -fno-asynchronous-unwind-tables $(CFLAGS_host) -DPITH_BUILD_CPU=$(if $(filter fuzz,$(VARIANT)),1,0xffffffffu)

# Kernels, decoders and what loops over elements are built for speed, all else for size.
FAST_runtime := conv_coded conv_phases conv_rows integer_conv integer_pack op_activation op_along_axis op_arg op_batch_norm op_binary \
    op_cast op_conv_transpose op_grid_sample op_normalize op_pool op_quantize \
    op_recurrent op_reduce op_reduce_mean op_resize op_softmax op_unary op_where product_kernel product_rows \
    recurrent_product strided_copy
# Of decoders: what opens a weight, and tables that are made once for a stream. Of references: those that AVX2 and
# NEON have kernels for, where a processor without is rare; for op_unary's functions of floats AVX2 alone.
SMALL_runtime := $(addprefix decode/,huff_table rans_table weight_borrow weight_bytes weight_chunks weight_kind weight_open) \
    $(if $(filter x86_64 aarch64,$(ARCH)),$(addprefix kernels/ref/,byte_rows conv_f32 depthwise_lanes gemm_i8 gemv_codebook row_f32)) \
    $(if $(filter x86_64,$(ARCH)),ops/op_unary)
# Jumps land where they land, and gcc computes what is left of a long loop behind its last whole vector element by
# element: fewer bytes. Rows of the other operators are short.
TIGHT := $(call known,-fno-align-functions -fno-align-jumps -fno-align-labels)
SCALAR_TAILS := $(call known,--param=vect-epilogues-nomask=0)
LONG_runtime := op_binary op_cast op_quantize op_recurrent op_unary
$(O)/runtime/%.o: FILE_CFLAGS := -Os
$(O)/runtime/kernels/%.o: FILE_CFLAGS :=
$(FAST_runtime:%=$(O)/runtime/\%/%.o): FILE_CFLAGS := $(TIGHT)
$(O)/runtime/decode/%.o $(LONG_runtime:%=$(O)/runtime/ops/%.o): FILE_CFLAGS := $(TIGHT) $(SCALAR_TAILS)
$(SMALL_runtime:%=$(O)/runtime/%.o): FILE_CFLAGS := -Os
# Their loops over vectors are unrolled whole: with the checks of UBSan clang 14 takes minutes for each.
UNROLLED_runtime := $(O)/runtime/kernels/x86/gemm_f32_avx2.o $(O)/runtime/kernels/x86/gemm_f32_avx512.o $(O)/runtime/kernels/x86/row_f32_avx2.o $(O)/runtime/kernels/x86/row_f32_avx512.o
$(UNROLLED_runtime): FILE_CFLAGS := -fno-sanitize=undefined
# Where its loops begin decides over 5 %, and not where a linker happens to put the function.
$(O)/runtime/kernels/x86/gemm_f32_avx512.o $(O)/runtime/kernels/x86/pool_f32_avx512.o: FILE_CFLAGS += -falign-functions=64 -falign-loops=32
