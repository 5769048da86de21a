# SPDX-License-Identifier: MIT
# pith-mpi.so: struct pith_ranks over MPI, loaded by `pith train` when mpirun started it. Built with
# the compiler that MPI brings, where there is one; nothing else knows MPI.
MPICC ?= mpicc
ifneq ($(shell command -v $(MPICC) 2>/dev/null),)
PITH_MPI := $(O)/pith-mpi.so
all: $(PITH_MPI)
endif
$(O)/pith-mpi.so: mpi/ranks_mpi.c $(O)/flags
	$(Q)$(MPICC) $(ALL_CFLAGS) -fPIC -shared $(foreach m,train model runtime,-I$(DIR_$(m))) -Impi -MMD -MP $< -o $@
