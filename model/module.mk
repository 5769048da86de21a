# SPDX-License-Identifier: MIT
# Graph, importers, exporters, rewrites, data sets, packer. model/onnx/onnx.proto is ONNX 1.12's (its
# licence lies beside it), compiled by protoc-c into the build folder. The generated names begin with
# pith_onnx__ in place of onnx__, since a program may have generated code of its own. That code is
# compiled without warnings and its header is seen by model/ alone.
USES_model := huffman runtime host
DIR_model := model
SRC_model := $(wildcard model/*.c) gen/onnx.pb-c.c
CFLAGS_model := -isystem $(O)/gen
LIBS_model := -lprotobuf-c -lz -lpng -ljpeg -ljansson

ONNX_PROTO ?= model/onnx/onnx.proto
PROTOC_C ?= protoc-c

$(O)/gen/onnx.pb-c.c: $(ONNX_PROTO)
	@mkdir -p $(@D)
	$(Q)$(PROTOC_C) -I$(dir $<) --c_out=$(@D) $(notdir $<)
	@for f in c h; do sed 's/\bonnx__/pith_onnx__/g' $(@D)/onnx.pb-c.$$f >$(@D)/renamed && mv $(@D)/renamed $(@D)/onnx.pb-c.$$f || exit 1; done
$(O)/gen/onnx.pb-c.h: $(O)/gen/onnx.pb-c.c ;
$(O)/gen/onnx.pb-c.o: $(O)/gen/onnx.pb-c.c $(O)/flags
	$(call tell,compiling model/onnx)
	$(Q)$(CC) $(ALL_CFLAGS) -w -c $< -o $@
$(patsubst %.c,$(O)/%.o,$(wildcard model/onnx*.c)): | $(O)/gen/onnx.pb-c.h
