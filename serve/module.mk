# SPDX-License-Identifier: MIT
# A server of networks over HTTP (docs/serve.md). libmicrohttpd is loaded when it starts, so that neither
# `pith` nor the libraries need it.
ROOMS_serve := serve
USES_serve := runtime host base model data onnx pack load measure
LIBS_serve := -ljansson -ldl
CFLAGS_serve := -isystem $(O)/gen

# The pages, each as a text named after its file.
SERVE_PAGES := $(wildcard serve/page/*)
$(O)/gen/serve_pages.h: $(SERVE_PAGES)
	@mkdir -p $(@D)
	@for f in $^; do \
	    echo "static const char $$(basename $$f | tr . _)[] ="; \
	    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n"/' $$f && echo ';' || exit 1; \
	done >$@
$(O)/serve/answer.o: $(O)/gen/serve_pages.h
