# SPDX-License-Identifier: MIT
ROOMS_cli := cli
USES_cli := runtime host base huffman model data onnx pack load calibrate compress measure mpi prune quantize train
LIBS_cli := -ljansson -ldl
