# SPDX-License-Identifier: MIT
# pith: one make, no recursion into folders. Each module's module.mk names its folders of sources and, in
# USES_<folder>, the folders and modules whose headers it may include (tests/build/rooms.sh checks that).
# A header is included by its path from the top, one of runtime/ by its path from there, and an installed one
# (pith_*.h) by its name.
# Everything built lies under $(BUILD)/$(VARIANT).

MAKEFLAGS += --no-builtin-rules
ifeq ($(filter -j%,$(MAKEFLAGS))$(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 1)
endif
.DEFAULT_GOAL := all
.SUFFIXES:
.DELETE_ON_ERROR:

CC ?= gcc
ifeq ($(origin CC),default)
CC := gcc
endif
AR ?= ar
CFLAGS ?= -O2
LDFLAGS ?=
PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= build
VARIANT ?= release
PITH_DATA ?= ../shared/data
PYTHON ?= python3

# What the compiler is for. Not every goal needs one: with none, the others still work.
ARCH := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null)))

# ---- make deps GOAL...: packages first, then make anew, since much below is decided by what is there
ifneq ($(filter deps,$(MAKECMDGOALS)),)
GOALS := $(filter-out deps,$(MAKECMDGOALS))
# What is compiled and made into a demonstration needs less than what checks.
DEPS_FOR := $(if $(filter check% test-% fuzz% lint format bench%,$(GOALS)),test,build)
DRY_RUN = $(findstring n,$(firstword -$(MAKEFLAGS)))
.PHONY: deps make-anew $(GOALS)
deps: ## install what the goals beside it need, then make them (Debian/Ubuntu; elsewhere lists it)
	@tests/deps.sh $(DEPS_FOR) $(BUILD)
make-anew: deps
	$(if $(and $(DRY_RUN),$(if $(ARCH),,none)),$(info make $(GOALS) # what that does is decided when the packages are there),+@$(MAKE) --no-print-directory $(GOALS))
$(GOALS): make-anew
	@:
else

O := $(BUILD)/$(VARIANT)
.PRECIOUS: $(O)/%.o
NEEDS_NO_COMPILER := help clean uninstall format deps-test amalgamation package
ifeq ($(ARCH),)
ifneq ($(filter-out $(NEEDS_NO_COMPILER),$(or $(MAKECMDGOALS),all)),)
$(error no C compiler: "$(CC) -dumpmachine" gives nothing. Install gcc and libc6-dev ("make deps" does), or name a compiler: make CC=...)
endif
endif

# A module is a folder of the top; its rooms are that folder and those below it.
MODULES := runtime host cuda base numeric huffman model data onnx pack export load measure layers rd prune quantize calibrate train compress report serve cli
# What stands in the libraries: neither the commands nor the server.
LIB_MODULES := $(filter-out cli serve,$(MODULES))
TEST_SRC := $(foreach m,$(MODULES),$(wildcard tests/$(m)/test_*.c))
TEST_BIN := $(TEST_SRC:%.c=$(O)/%)

# ---- what is compiled ----------------------------------------------------------------------------
# Files of one instruction set are named after it; rooms x86 and arm are of one processor.
OTHER_ARCH := $(if $(filter x86_64,$(ARCH)),,%_avx2.c %_avx512.c %/x86 %/x86/integer) $(if $(filter aarch64 arm,$(ARCH)),$(if $(filter arm,$(ARCH)),%_dotprod.c %_i8mm.c),%/arm)
# What is fuzzed has the kernels of AVX2 at most: clang takes a minute for the others.
ifeq ($(VARIANT),fuzz)
OTHER_ARCH += $(foreach s,amx avx512 avxvnni vbmi vbmivnni vnni,runtime/kernels/x86/%_$(s).c)
endif
ALL_ROOMS = $(foreach m,$(MODULES) mpi,$(ROOMS_$(m)))
rooms = $(filter-out $(OTHER_ARCH),$(ROOMS_$(1)))
sources = $(foreach r,$(call rooms,$(1)),$(filter-out $(OTHER_ARCH),$(wildcard $(r)/*.c))) $(MORE_SRC_$(1))
objs = $(patsubst %.c,$(O)/%.o,$(SRC_$(1)))
# modules that module m may see, itself included, each once
direct = $(sort $(foreach r,$(ROOMS_$(1)),$(foreach u,$(USES_$(r)),$(firstword $(subst /, ,$(u))))))
closure = $(sort $(1) $(CLOSURE_$(1)))
# The runtime sees nothing but itself.
INCLUDES := -iquote . -Iruntime -I$(O)/include/pith
incs = $(if $(filter runtime host,$(1)),-Iruntime,$(INCLUDES))

# gcc 12 for AArch64 ends with an internal error where it vectorizes a maximum of floats in a double.
MAXIMUM := double f(const float *x, int n) { double m = 0; for (int i = 0; i < n; i++) m = __builtin_fmax(m, x[i]); return m; }
VECTORIZED := $(shell echo '$(MAXIMUM)' | $(CC) -O2 -ftree-vectorize -x c - -c -o /dev/null 2>/dev/null && echo -ftree-vectorize)

# Of flags, those that the compiler knows.
known = $(shell for f in $(1); do $(CC) -Werror $$f -c -x c /dev/null -o /dev/null 2>/dev/null && echo $$f; done)

include $(foreach m,$(filter-out host,$(MODULES)) mpi,$(m)/module.mk)
$(foreach m,$(MODULES),$(eval SRC_$(m) := $(call sources,$(m))))
$(foreach m,$(MODULES),$(eval CLOSURE_$(m) := $(sort $(foreach u,$(filter-out $(m),$(call direct,$(m))),$(u) $(CLOSURE_$(u))))))
include tests/module.mk bench/module.mk samples/module.mk

# ---- flags -------------------------------------------------------------------------------------
WARN := -Wall -Wextra -Werror=implicit-function-declaration -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef
STD := -std=c11 -ffp-contract=off -fno-math-errno -fvisibility=hidden
# What a release has besides: tests/build/hardening.sh asks for each. Checked library calls want an optimizer, and no
# second opinion from a sanitizer.
HARDENED := $(call known,-fstack-protector-strong -fcf-protection -fPIC)
FORTIFIED := $(if $(filter -O0,$(CFLAGS)),,$(if $(filter -O%,$(CFLAGS)),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2))
FLAGS_release := $(HARDENED)
# The shadow stack is marked by hand: the C library's start files, which some distributions build without
# the mark, do keep it. Their missing landing pads (IBT) cannot be made up for.
SHADOW_STACK := -Wl,-z,shstk
LINKED_HARDENED := -Wl,-z,relro,-z,now,-z,noexecstack $(if $(filter -fcf-protection,$(HARDENED)),$(SHADOW_STACK))
LDFLAGS_release := -pie $(LINKED_HARDENED)
# No name of the folder that it was built in.
FROM_ANYWHERE := $(if $(call known,-ffile-prefix-map=a=b),-ffile-prefix-map="$(CURDIR)"=.)
FLAGS_coverage := --coverage -O0
FLAGS_asan := -g -fsanitize=address -fno-omit-frame-pointer
FLAGS_ubsan := -g -fsanitize=undefined -fno-sanitize-recover=all
FLAGS_tsan := -g -fsanitize=thread
FLAGS_debug := -g -O0
ALL_CFLAGS = $(STD) $(WARN) $(CFLAGS) $(FROM_ANYWHERE) $(FLAGS_$(VARIANT)) $(WERROR)
ALL_LDFLAGS = $(LDFLAGS) $(FLAGS_$(VARIANT)) $(LDFLAGS_$(VARIANT))

# The suffix of a kernel file names its instruction set and so its extra flags.
# Kernels are unrolled templates: to say where each variable lies at each instruction is a fourth of the time
# that gcc takes for them.
ISA_base := $(call known,-fno-var-tracking-assignments)
ISA_avx2 := $(ISA_base) -mavx2 -mfma -mf16c -mbmi -mbmi2 -mlzcnt -mpopcnt
ISA_avx512 := $(ISA_avx2) -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512cd
ISA_vbmi := $(ISA_avx512) -mavx512vbmi -mavx512vbmi2
ISA_vnni := $(ISA_avx512) -mavx512vnni
ISA_amx := $(ISA_vnni) -mamx-tile -mamx-int8
ISA_vbmivnni := $(ISA_vbmi) -mavx512vnni
ISA_avxvnni := $(ISA_avx2) -mavxvnni
ISA_neon := $(if $(filter arm,$(ARCH)),-march=armv7-a -mfpu=neon)
ISA_dotprod := -march=armv8.2-a+dotprod
ISA_i8mm := -march=armv8.2-a+dotprod+i8mm
isa = $(ISA_$(lastword $(subst _, ,$(basename $(notdir $(1))))))

# ---- modules -----------------------------------------------------------------------------------
# The core calls nothing but memory functions, so none with checks.
posix = $(if $(filter runtime,$(1)),,-D_GNU_SOURCE= $(if $(filter release,$(VARIANT)),$(FORTIFIED)))
# $(call room_rules,room,module)
define room_rules
$$(patsubst %.c,$$(O)/%.o,$$(wildcard $(1)/*.c)): MODULE_CFLAGS = $$(call posix,$(2)) $$(call incs,$(2)) $$(CFLAGS_$(2))
$$(patsubst %.c,$$(O)/%.o,$$(wildcard $(1)/*.c)): $(firstword $(subst /, ,$(1)))/module.mk
endef
define module_rules
$$(O)/lib/$(1).a: $$(call objs,$(1))
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(Q)$$(AR) rcs $$@ $$^
.PHONY: lib-$(1)
lib-$(1): $$(O)/lib/$(1).a
endef
$(foreach m,$(MODULES),$(foreach r,$(ROOMS_$(m)),$(eval $(call room_rules,$(r),$(m)))))
$(foreach m,$(MODULES),$(eval $(call module_rules,$(m))))

# The installed headers as a program sees them: links, made anew when one comes or goes.
HEADERS := $(foreach m,$(LIB_MODULES),$(foreach r,$(ROOMS_$(m)),$(wildcard $(r)/pith_*.h)))
$(O)/include/made: FORCE
	@echo '$(CURDIR) $(HEADERS)' | cmp -s - $@ || { rm -rf $(@D) && mkdir -p $(@D)/pith && \
	    ln -s $(addprefix "$(CURDIR)"/,$(HEADERS)) $(@D)/pith/ && echo '$(CURDIR) $(HEADERS)' >$@; }

V ?= 0
ifeq ($(V),0)
Q := @
endif

# $(call announce,compiling runtime): says so once in a run of make, when a recipe with it is first
# expanded, so not where nothing is to be done; make -s says nothing.
announce = $(if $(ANNOUNCED_$(subst $() ,_,$(1)))$(findstring s,$(firstword -$(MAKEFLAGS))),,$(eval ANNOUNCED_$(subst $() ,_,$(1)) := 1)$(info $(1)))

.PHONY: all
LIBRARIES := $(addprefix $(O)/libpith,.a -runtime.a -cuda.a)
# The digit is the version of the binary interface; what a shared library offers are the functions of its headers.
SHARED := $(if $(filter release,$(VARIANT)),$(addprefix $(O)/libpith,.so.0 -runtime.so.0))
all: $(O)/pith $(LIBRARIES) $(SHARED) ## the command and the libraries

# A stamp of the flags, rewritten only when they change: every object depends on it.
FLAGS_NOW = $(CC) $(ALL_CFLAGS)
$(O)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(FLAGS_NOW)' | cmp -s - $@ || printf '%s\n' '$(FLAGS_NOW)' > $@
.PHONY: FORCE
FORCE:

$(O)/%.o: %.c $(O)/flags | $(O)/include/made
	@mkdir -p $(@D)
	$(call announce,compiling $(patsubst %/,%,$(dir $<)))
	$(Q)$(CC) $(ALL_CFLAGS) $(MODULE_CFLAGS) $(FILE_CFLAGS) $(call isa,$<) -MMD -MP -c $< -o $@

$(O)/libpith-runtime.a: $(call objs,runtime) $(call objs,host)
$(O)/libpith-cuda.a: $(call objs,cuda)
$(O)/libpith.a: $(foreach m,$(LIB_MODULES),$(call objs,$(m)))
$(LIBRARIES):
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(O)/libpith-runtime.so.0: $(call objs,runtime) $(call objs,host)
$(O)/libpith.so.0: $(foreach m,$(LIB_MODULES),$(call objs,$(m)))
$(O)/libpith.so.0: SHARED_LIBS = $(sort $(call link_libs,compress))
$(SHARED): packages/libpith.map
	$(call announce,linking $(O)/libpith.so.0 and libpith-runtime.so.0)
	$(Q)$(CC) $(LDFLAGS) -shared $(LINKED_HARDENED) -Wl,-soname,$(@F) -Wl,--version-script=packages/libpith.map -Wl,-z,defs \
	    $(filter %.o,$^) $(SHARED_LIBS) -lm -lpthread -o $@
	@ln -sf $(@F) $(@:.0=)

link_libs = $(foreach m,$(call closure,$(1)),$(LIBS_$(m)))
$(O)/pith: $(call objs,cli) $(call objs,serve) $(O)/libpith.a
	$(call announce,linking $@)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(sort $(call link_libs,cli)) -lm -lpthread -o $@

# The same with the libraries inside, and those that they call: what a wheel and a release ship. It needs glibc alone.
OF_GLIBC := -ldl -lm -lpthread
CALLED_BY_LIBS := -lnettle -llzma -lzstd -lbz2
$(O)/portable/pith: $(call objs,cli) $(call objs,serve) $(O)/libpith.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -s $^ -Wl,--start-group \
	    $(patsubst -l%,-l:lib%.a,$(filter-out $(OF_GLIBC),$(sort $(call link_libs,cli))) $(CALLED_BY_LIBS)) -Wl,--end-group $(OF_GLIBC) -o $@

.PHONY: wheel
wheel: $(O)/portable/pith $(O)/libpith-runtime.so.0 ## the Python package, in build/wheel
	@$(PYTHON) packages/wheel.py $^ $(BUILD)/wheel

# ---- tests: tests/<module>/test_x.c links what <module> may see, and what TESTS_USE_<module> names ----
TESTS_USE_cuda := measure
TESTS_USE_numeric := model
TESTS_USE_export := layers
TESTS_USE_model := load
TESTS_USE_onnx := load
TESTS_USE_pack := load
TESTS_USE_quantize := load
TESTS_USE_train := load calibrate
visible_to_tests = $(sort $(foreach u,$(1) $(TESTS_USE_$(1)),$(call closure,$(u))))
# Tests are compiled once and run for a second: without the optimizer, which takes five times as long, but where they compute much.
TESTS_THAT_COMPUTE := cuda huffman layers numeric rd runtime train
define test_rules
$$(O)/tests/$(1)/%.o: FILE_CFLAGS := $(if $(filter $(1),$(TESTS_THAT_COMPUTE)),-O1,-O0)
$$(O)/tests/$(1)/%.o: MODULE_CFLAGS = -D_GNU_SOURCE= $$(INCLUDES) $$(CFLAGS_runtime) -Itests $$(TEST_CFLAGS_$(1))
$$(O)/tests/$(1)/test_%: $$(O)/tests/$(1)/test_%.o $$(foreach m,$$(call visible_to_tests,$(1)),$$(O)/lib/$$(m).a)
	$$(Q)$$(CC) $$(ALL_LDFLAGS) $$< -Wl,--start-group $$(filter %.a,$$^) -Wl,--end-group $$(TEST_LDFLAGS_$$*) -lcmocka $$(sort $$(foreach m,$$(call visible_to_tests,$(1)),$$(LIBS_$$(m)))) -lm -lpthread -o $$@
.PHONY: test-$(1)
test-$(1): $$(patsubst %.c,$$(O)/%,$$(wildcard tests/$(1)/test_*.c))
	$$(Q)PITH_DATA=$$(PITH_DATA) tests/run_tests.sh $$^
endef
$(foreach m,$(MODULES),$(eval $(call test_rules,$(m))))

-include $(shell find $(O) -name '*.d' 2>/dev/null)

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*##' Makefile */module.mk | sed -E 's/:.*## /\t/' | expand -t 16 | sort

.PHONY: clean
clean: ## remove everything built
	rm -rf $(BUILD)

# ---- what other build systems take -------------------------------------------------------------
.PHONY: amalgamation package
amalgamation: ## the runtime as one C file and its header, in build/amalgamation
	@$(PYTHON) packages/amalgamate.py $(BUILD)/amalgamation

package: amalgamation ## the same for Zephyr, ESP-IDF, Arduino and PlatformIO, in build/package
	@rm -rf $(BUILD)/package && mkdir -p $(BUILD)/package && cp -r packages/component $(BUILD)/package/pith
	@cp LICENSE $(BUILD)/package/pith && cp -r $(BUILD)/amalgamation $(BUILD)/package/pith/src
	@cd packages/component && for f in idf_component.yml library.json library.properties; do \
	    sed 's/@VERSION@/$(VERSION)/' $$f >$(abspath $(BUILD))/package/pith/$$f || exit 1; done

# ---- install -----------------------------------------------------------------------------------
VERSION := $(shell awk '/define PITH_VERSION_/ {v = v s $$3; s = "."} END {print v}' runtime/pith_runtime.h)
define pc_file
prefix=$(PREFIX)\nlibdir=$${prefix}/lib\nincludedir=$${prefix}/include\n\nName: $(1)\nDescription: $(2)\nVersion: $(VERSION)\nLibs: -L$${libdir} -l$(1)\nLibs.private: $(3)\nCflags: -I$${includedir}\n
endef
SITE := $(BUILD)/site-venv
.PHONY: site
site: ## the documents as a web site, in build/site (mkdocs-material from PyPI); a broken link is an error
	@[ -x $(SITE)/bin/mkdocs ] || { $(PYTHON) -m venv $(SITE) && $(SITE)/bin/pip install -q mkdocs-material; }
	@$(PYTHON) packages/site.py $(BUILD)/pages
	@NO_MKDOCS_2_WARNING=1 $(SITE)/bin/mkdocs build --strict -f $(BUILD)/pages/mkdocs.yml -d $(abspath $(BUILD))/site

.PHONY: dist deb
dist: $(O)/portable/pith wheel ## a release in build/dist: sources, the program without needs but glibc, the wheel, checksums
	@rm -rf $(BUILD)/dist && mkdir -p $(BUILD)/dist
	@git archive --prefix=pith-$(VERSION)/ HEAD | gzip -9n > $(BUILD)/dist/pith-$(VERSION).tar.gz
	@cp $< $(BUILD)/dist/pith-$(VERSION)-linux-$(ARCH) && cp $(BUILD)/wheel/pith_compress-$(VERSION)-*.whl $(BUILD)/dist/
	@cd $(BUILD)/dist && sha256sum * > SHA256SUMS && cat SHA256SUMS

deb: ## packages for Debian, in build/deb
	@rm -rf $(BUILD)/deb && mkdir -p $(BUILD)/deb
	@$(MAKE) --no-print-directory -s install PREFIX=/usr DESTDIR=$(BUILD)/deb/root >/dev/null
	@sh packages/deb.sh $(BUILD)/deb/root $(VERSION) $(BUILD)/deb && rm -r $(BUILD)/deb/root && ls $(BUILD)/deb

.PHONY: install uninstall
DATA := $(DESTDIR)$(PREFIX)/share
DOC := $(DATA)/doc/pith
# where each shell looks for the completion of a command
COMPLETIONS := bash-completion/completions/pith zsh/site-functions/_pith fish/vendor_completions.d/pith.fish
shell_of = $(patsubst bash-completion,bash,$(firstword $(subst /, ,$(1))))
install: all ## into DESTDIR/PREFIX (/usr/local)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/lib/cmake/pith $(DESTDIR)$(PREFIX)/include/pith
	install -s -m 755 $(O)/pith $(DESTDIR)$(PREFIX)/bin/
	$(if $(PITH_MPI),install -d $(DESTDIR)$(PREFIX)/lib/pith && install -m 755 $(PITH_MPI) $(DESTDIR)$(PREFIX)/lib/pith/)
	install -m 644 $(LIBRARIES) $(DESTDIR)$(PREFIX)/lib/
	$(if $(SHARED),install -s -m 644 $(SHARED) $(DESTDIR)$(PREFIX)/lib/)
	for l in $(notdir $(SHARED:.0=)); do ln -sf $$l.0 $(DESTDIR)$(PREFIX)/lib/$$l || exit 1; done
	install -m 644 $(HEADERS) $(DESTDIR)$(PREFIX)/include/pith/
	install -d $(DATA)/man/man1 $(addprefix $(DATA)/,$(dir $(COMPLETIONS)))
	for page in $$($(O)/pith help --man); do $(O)/pith help --man $$page > $(DATA)/man/man1/$$page.1 || exit 1; done
	$(foreach c,$(COMPLETIONS),$(O)/pith completion $(call shell_of,$(c)) > $(DATA)/$(c) && ):
	install -d $(DOC)/docs/results $(DOC)/samples
	install -m 644 LICENSE README.md $(DOC)/
	install -m 644 docs/*.md $(DOC)/docs/
	install -m 644 docs/results/*.md $(DOC)/docs/results/
	install -m 644 samples/*.[ch] samples/*.sh $(DOC)/samples/
	printf '$(call pc_file,pith-runtime,execute compressed networks,-lpthread)' > $(DESTDIR)$(PREFIX)/lib/pkgconfig/pith-runtime.pc
	printf '$(call pc_file,pith-cuda,execute compressed networks on NVIDIA GPUs,-lpith-runtime -lpthread -ldl -lm)' > $(DESTDIR)$(PREFIX)/lib/pkgconfig/pith-cuda.pc
	printf '$(call pc_file,pith,compress networks,$(sort $(call link_libs,compress) $(LIBS_train)) -lm -lpthread)' > $(DESTDIR)$(PREFIX)/lib/pkgconfig/pith.pc
	for f in pith-config pith-config-version; do sed 's/@VERSION@/$(VERSION)/; s/@LIBS@/$(sort $(call link_libs,compress) $(LIBS_train))/' packages/$$f.cmake.in > $(DESTDIR)$(PREFIX)/lib/cmake/pith/$$f.cmake; done
uninstall: ## remove what install laid down
	rm -f $(DESTDIR)$(PREFIX)/bin/pith $(addprefix $(DESTDIR)$(PREFIX)/lib/,$(notdir $(LIBRARIES) $(SHARED) $(SHARED:.0=)))
	rm -f $(foreach l,pith pith-runtime pith-cuda,$(DESTDIR)$(PREFIX)/lib/pkgconfig/$(l).pc)
	rm -rf $(DESTDIR)$(PREFIX)/include/pith $(DESTDIR)$(PREFIX)/lib/pith $(DESTDIR)$(PREFIX)/lib/cmake/pith $(DOC)
	rm -f $(addprefix $(DATA)/,$(COMPLETIONS) man/man1/pith.1 man/man1/pith-*.1)
endif
