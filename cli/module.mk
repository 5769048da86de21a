# SPDX-License-Identifier: MIT
ROOMS_cli := cli cli/frame
USES_cli := cli/frame runtime host base huffman model data onnx pack load calibrate compress measure mpi prune quantize train
USES_cli/frame := runtime base model load onnx
LIBS_cli := -ljansson -ldl
