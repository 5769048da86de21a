# SPDX-License-Identifier: MIT
ROOMS_calibrate := calibrate
USES_calibrate := runtime host base model data onnx load measure
# every number of every layer of every sample goes through these
HOT_calibrate := run_sums run_sums_avx2 run_sums_avx512 histogram_count histogram_count_avx2 histogram_count_avx512 grid_choice
$(HOT_calibrate:%=$(O)/calibrate/%.o): FILE_CFLAGS := -O3 $(if $(VECTORIZED),,-fno-tree-vectorize)
