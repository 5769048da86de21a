# SPDX-License-Identifier: MIT
ROOMS_cli := cli cli/common cli/tables cli/bench
USES_cli := runtime host base huffman model data onnx pack export load calibrate cli/common cli/tables cli/bench compress measure mpi prune quantize report serve train
USES_cli/common := runtime host base model data onnx pack export load calibrate compress measure prune quantize train
USES_cli/bench := runtime host base model data onnx pack load cli/common measure
USES_cli/tables := runtime host base huffman model data onnx pack load calibrate cli/common compress measure quantize
LIBS_cli := -ljansson -ldl
