# SPDX-License-Identifier: MIT
# ONNX files in and out. onnx/schema/onnx.proto is ONNX 1.12's (its licence lies beside it), compiled by
# protoc-c into the build folder. The generated names begin with pith_onnx__ in place of onnx__, since a
# program may have generated code of its own. That code is compiled without warnings and its header is
# included by onnx/ alone.
ROOMS_onnx := onnx onnx/export onnx/graph onnx/lower
USES_onnx := runtime runtime/host base model data onnx/graph onnx/lower
USES_onnx/export := runtime runtime/host base model onnx onnx/graph
USES_onnx/graph := runtime base model onnx
USES_onnx/lower := runtime base model onnx onnx/graph
MORE_SRC_onnx := gen/onnx.pb-c.c
CFLAGS_onnx := -isystem $(O)/gen
LIBS_onnx := -lprotobuf-c

ONNX_PROTO ?= onnx/schema/onnx.proto
PROTOC_C ?= protoc-c

$(O)/gen/onnx.pb-c.c: $(ONNX_PROTO)
	@mkdir -p $(@D)
	$(Q)$(PROTOC_C) -I$(dir $<) --c_out=$(@D) $(notdir $<)
	@for f in c h; do sed 's/\bonnx__/pith_onnx__/g' $(@D)/onnx.pb-c.$$f >$(@D)/renamed && mv $(@D)/renamed $(@D)/onnx.pb-c.$$f || exit 1; done
$(O)/gen/onnx.pb-c.h: $(O)/gen/onnx.pb-c.c ;
$(O)/gen/onnx.pb-c.o: $(O)/gen/onnx.pb-c.c $(O)/flags
	$(call announce,compiling onnx/schema)
	$(Q)$(CC) $(ALL_CFLAGS) -w -c $< -o $@
# (not by SRC_onnx: it is known after all module.mk have been read)
$(patsubst %.c,$(O)/%.o,$(foreach r,$(ROOMS_onnx),$(wildcard $(r)/*.c))): | $(O)/gen/onnx.pb-c.h
