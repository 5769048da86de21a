# SPDX-License-Identifier: MIT
# The network in memory, and rewrites of it.
ROOMS_model := model
USES_model := runtime runtime/host base
# All weights of a network go through these loops when it is imported.
$(O)/model/exact_grid.o: FILE_CFLAGS := -O3 $(if $(VECTORIZED),,-fno-tree-vectorize)
