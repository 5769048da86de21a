# SPDX-License-Identifier: MIT
ROOMS_compress := compress
USES_compress := runtime host base model data onnx pack load calibrate measure prune quantize train
LIBS_compress := -ljansson
