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
# stack of the core: tables for that would be a tenth of a linked program.
CFLAGS_runtime := -ftree-vectorize -fno-asynchronous-unwind-tables -DPITH_BUILD_CPU=0xffffffffu

# Decoders and kernels are built for speed, all else for size, but these: their own loops run over elements.
FAST_runtime := conv_coded conv_phases conv_rows integer_conv integer_pack op_activation op_batch_norm op_binary \
    op_cast op_conv_transpose op_normalize op_pool op_quantize \
    op_recurrent op_reduce op_reduce_mean op_softmax op_unary op_where product_kernel product_rows \
    recurrent_product strided_copy
$(O)/runtime/%.o: FILE_CFLAGS := -Os
$(O)/runtime/decode/%.o $(O)/runtime/kernels/%.o $(FAST_runtime:%=$(O)/runtime/\%/%.o): FILE_CFLAGS :=
# gcc: what is left of a long loop behind its last whole vector is computed element by element, in fewer bytes.
SCALAR_TAILS := $(shell $(CC) -Werror --param=vect-epilogues-nomask=0 -x c -c /dev/null -o /dev/null 2>/dev/null && echo --param=vect-epilogues-nomask=0)
LONG_runtime := op_binary op_cast op_quantize op_recurrent op_unary
$(O)/runtime/decode/%.o $(LONG_runtime:%=$(O)/runtime/ops/%.o): FILE_CFLAGS := $(SCALAR_TAILS)
# Where its loops begin decides over 5 %, and not where a linker happens to put the function.
$(O)/runtime/kernels/x86/gemm_f32_avx512.o: FILE_CFLAGS := -falign-functions=64 -falign-loops=32
