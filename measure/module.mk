# SPDX-License-Identifier: MIT
# Accuracy, differences and time of models, always through the runtime.
ROOMS_measure := measure
USES_measure := runtime host cuda base model data onnx pack load
