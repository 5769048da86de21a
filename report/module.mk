# SPDX-License-Identifier: MIT
# What a network is, as pictures and one static page.
ROOMS_report := report report/chart
USES_report := runtime host base huffman model data onnx pack load calibrate measure prune quantize train compress report/chart
USES_report/chart := runtime base model
LIBS_report := -ljansson -lpng -lz
