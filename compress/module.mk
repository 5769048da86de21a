# SPDX-License-Identifier: MIT
# A stage as data and its options; recipes, which are stages as JSON; and, on both, what runs them.
ROOMS_compress := compress compress/goal compress/recipe compress/stage compress/output
USES_compress := runtime host base numeric model data onnx pack load calibrate compress/recipe compress/stage compress/output measure prune quantize train
USES_compress/goal := runtime host base numeric model data onnx pack export load calibrate measure layers prune quantize rd train compress compress/recipe compress/stage compress/output
USES_compress/recipe := runtime host base model data onnx pack load calibrate compress/stage measure prune quantize train
USES_compress/stage := runtime host base model data onnx pack export load calibrate measure prune quantize train
USES_compress/output := runtime host base model data onnx pack load calibrate compress/stage measure prune quantize train
LIBS_compress := -ljansson
