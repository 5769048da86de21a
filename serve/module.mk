# SPDX-License-Identifier: MIT
# A server of networks over HTTP (docs/serve.md). libmicrohttpd is loaded when it starts, so that neither
# `pith` nor the libraries need it.
ROOMS_serve := serve
USES_serve := runtime host base model data onnx pack load measure
LIBS_serve := -ljansson -ldl
