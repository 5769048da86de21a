# SPDX-License-Identifier: MIT
# A network as C source for microcontrollers. kernels.h.in is the text that is written, in parts by `//:` lines.
ROOMS_export := export
USES_export := runtime host base huffman model pack quantize
CFLAGS_export := -isystem $(O)/gen

$(O)/gen/export_kernels.h: export/kernels.h.in
	@mkdir -p $(@D)
	@{ sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n"/' -e 's|^"//: \(.*\)\\n"$$|},{"\1",|' $< | sed '1s/^},//'; echo '}'; } >$@
$(O)/export/writer.o: $(O)/gen/export_kernels.h
