# SPDX-License-Identifier: MIT
ROOMS_cli := cli cli/frame cli/tables cli/bench
USES_cli := runtime host base huffman model data onnx pack export load calibrate cli/frame cli/tables cli/bench compress measure mpi prune quantize train
USES_cli/frame := runtime host base model data onnx pack load calibrate compress measure prune quantize train
USES_cli/bench := runtime host base model data onnx pack load cli/frame measure prune quantize
USES_cli/tables := runtime host base huffman model data onnx pack load calibrate cli/frame compress measure quantize
LIBS_cli := -ljansson -ldl
