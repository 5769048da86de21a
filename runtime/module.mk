# SPDX-License-Identifier: MIT
# The root: includes nothing outside itself. host/ adds what needs an operating system.
USES_runtime :=
DIR_runtime := runtime
SRC_runtime := $(wildcard runtime/*.c runtime/ref/*.c)
ifeq ($(ARCH),x86_64)
SRC_runtime += $(wildcard runtime/x86/*.c)
endif
# gcc's -O2 alone leaves loops of unknown length scalar; operators are written as such loops.
CFLAGS_runtime := -Iruntime/ref -Iruntime/x86 -ftree-vectorize

USES_host := runtime
DIR_host := runtime/host
SRC_host := $(wildcard runtime/host/*.c)
LIBS_host := -lpthread
