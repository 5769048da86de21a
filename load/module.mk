# SPDX-License-Identifier: MIT
# A model from a file, whatever it is: the one place that knows both ONNX and .pith.
ROOMS_load := load
USES_load := runtime base model onnx pack
