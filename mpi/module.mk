# SPDX-License-Identifier: MIT
# pith-mpi.so: struct pith_ranks over MPI, loaded by `pith train --ranks mpi` when mpirun started it.
# Built with the compiler that MPI brings, where there is one; where there is none, `make all` says so. Nothing
# else knows MPI.
ROOMS_mpi := mpi
USES_mpi := runtime base model data train
MPICC ?= mpicc
ifneq ($(shell command -v $(MPICC) 2>/dev/null),)
PITH_MPI := $(O)/pith-mpi.so
all: $(PITH_MPI)
else
.PHONY: no-mpi
no-mpi:
	@echo "not built: pith-mpi.so (training by several processes), for there is no $(MPICC) (Debian, Ubuntu: libopenmpi-dev)"
all: no-mpi
endif
$(O)/pith-mpi.so: mpi/ranks_mpi.c mpi/module.mk $(O)/flags | $(O)/include/made
	$(call announce,compiling mpi)
	$(Q)$(MPICC) $(ALL_CFLAGS) $(LDFLAGS) $(LINKED_HARDENED) -fPIC -shared $(INCLUDES) -MMD -MP $< -o $@
