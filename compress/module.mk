# SPDX-License-Identifier: MIT
# A stage as data and its options; recipes, which are stages as JSON; and, on both, what runs them.
ROOMS_compress := compress compress/stage compress/recipe
USES_compress := runtime host base model data onnx pack load calibrate measure prune quantize train compress/stage compress/recipe
USES_compress/stage := runtime base model data pack prune quantize train
USES_compress/recipe := runtime base model data pack prune quantize train compress/stage
LIBS_compress := -ljansson
