# SPDX-License-Identifier: MIT
# Graph, importers, exporters, rewrites, data sets, packer. onnx.proto is Debian's (libonnx-dev),
# compiled by protoc-c into the build folder; the generated code is compiled without warnings and
# its header is seen by model/ alone.
USES_model := huffman runtime host
DIR_model := model
SRC_model := $(wildcard model/*.c) gen/onnx.pb-c.c
CFLAGS_model := -isystem $(O)/gen
LIBS_model := -lprotobuf-c -lz -lpng -ljpeg -ljansson

ONNX_PROTO ?= /usr/include/onnx/onnx.proto
PROTOC_C ?= protoc-c

$(O)/gen/onnx.pb-c.c: $(ONNX_PROTO)
	@mkdir -p $(@D)
	$(Q)$(PROTOC_C) -I$(dir $<) --c_out=$(@D) $(notdir $<)
$(O)/gen/onnx.pb-c.h: $(O)/gen/onnx.pb-c.c ;
$(O)/gen/onnx.pb-c.o: $(O)/gen/onnx.pb-c.c $(O)/flags
	$(Q)$(CC) $(ALL_CFLAGS) -w -c $< -o $@
$(patsubst %.c,$(O)/%.o,$(wildcard model/onnx*.c)): | $(O)/gen/onnx.pb-c.h
