# SPDX-License-Identifier: MIT
# Plans on NVIDIA GPUs (docs/cuda.md). Kernels are one fatbin, machine code for each of CUDA_TARGETS and PTX for others,
# embedded in cuda_image.c. make NVCC= builds the same library with no kernels in it. The driver is looked for at run
# time; nothing is linked.
ROOMS_cuda := cuda cuda/kernels
USES_cuda := cuda/kernels runtime host
USES_cuda/kernels := runtime
LIBS_cuda := -ldl -lm
NVCC ?= $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc))
# 8.9 runs the code of 8.6, which ptxas makes for both, byte by byte.
CUDA_TARGETS ?= 80 86 90 100 120
CUDA_PTX := 75 80
# The oldest version of PTX that has all instructions used, so that drivers from R450 on compile it. Hints that nvcc
# gives to ptxas by a pragma are of later ones, which refuse it then.
CUDA_PTX_VERSION := 7.0
CUDA_KERNELS := $(wildcard cuda/kernels/*) runtime/core/f32_bits.h \
    $(wildcard runtime/kernels/ref/*_f32.h) runtime/kernels/ref/integer_range.h runtime/kernels/act_kind.h
# The CPU's scalar functions are compiled for the device, too, and have to give the same bits.
CUDA_FLAGS := -O3 --fmad=false -ftz=false -prec-div=true -prec-sqrt=true -std=c++17 -Icuda/kernels -Iruntime
# Kernels do not depend on the variant.
CUDA_O := $(BUILD)/cuda
CUDA_FATBIN := $(if $(NVCC),$(CUDA_O)/kernels.fatbin)

# CUDA C++ is compiled to PTX once for the targets from 8.0 to 9.0, and once for those from 10.0 on: ptxas makes of it the
# machine code, byte by byte, that nvcc makes for each of them.
cuda_front = $(if $(filter 1%,$(1)),100,$(if $(filter 7%,$(1)),75,80))
.SECONDARY: $(CUDA_PTX:%=$(CUDA_O)/front_%.ptx) $(CUDA_O)/front_100.ptx
$(CUDA_O)/front_%.ptx: $(CUDA_KERNELS) $(CUDA_O)/flags
	$(call announce,compiling kernels for NVIDIA GPUs)
	$(Q)$(NVCC) $(CUDA_FLAGS) -ptx -arch=compute_$* cuda/kernels/kernels.cu -o $@
define cuda_target
$(CUDA_O)/sm_$(1).cubin: $(CUDA_O)/front_$(call cuda_front,$(1)).ptx
	$$(Q)$$(dir $$(NVCC))ptxas -v -arch=sm_$(1) $$< -o $$@ 2>$$(@:.cubin=.resources) || \
	    { cat $$(@:.cubin=.resources) >&2; exit 1; }
endef
$(foreach t,$(CUDA_TARGETS),$(eval $(call cuda_target,$(t))))
$(CUDA_O)/compute_%.ptx: $(CUDA_O)/front_%.ptx
	$(Q)sed -e 's/^\.version .*/.version $(CUDA_PTX_VERSION)/' -e '/^\t\.pragma "used_bytes_mask /d' $< >$@
$(CUDA_O)/kernels.fatbin: $(CUDA_TARGETS:%=$(CUDA_O)/sm_%.cubin) $(CUDA_PTX:%=$(CUDA_O)/compute_%.ptx)
	$(Q)$(dir $(NVCC))fatbinary --create=$@ -64 --compress-all --compress-mode=size \
	    $(foreach t,$(CUDA_TARGETS),--image3=kind=elf,sm=$(t),file=$(CUDA_O)/sm_$(t).cubin) \
	    $(foreach t,$(CUDA_PTX),--image3=kind=ptx,sm=$(t),file=$(CUDA_O)/compute_$(t).ptx)
$(CUDA_O)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(NVCC) $(CUDA_FLAGS) $(CUDA_TARGETS)' | cmp -s - $@ || \
	    { rm -f $(@D)/sm_*; printf '%s\n' '$(NVCC) $(CUDA_FLAGS) $(CUDA_TARGETS)' >$@; }

$(O)/cuda/cuda_image.o: $(CUDA_FATBIN) $(CUDA_O)/flags
$(O)/cuda/cuda_image.o: FILE_CFLAGS := $(if $(CUDA_FATBIN),-DPITH_CUDA_FATBIN='"$(abspath $(CUDA_FATBIN))"')
