# SPDX-License-Identifier: MIT
# Everything that checks. `check` is what CI runs: unit tests, command transcripts, the second
# decoder, header and symbol rules, agreement with onnxruntime, and a short run of each fuzzer,
# which builds them.

# bare_root.sh makes whole systems: it is run by hand.
SHELL_TESTS := $(filter-out tests/build/bare_root.sh,$(wildcard tests/cli/*.sh tests/build/*.sh tests/embedded/*.sh tests/cuda/*.sh tests/conformance/*.sh tests/spec/*.sh tests/samples/*.sh tests/python/*.sh))
TEST_ENV = HEADERS="$(HEADERS)" PITH_LIBS="$(sort $(call link_libs,cli))" PITH=$(abspath $(O)/pith) PITH_O=$(abspath $(O)) PITH_DATA=$(abspath $(PITH_DATA)) PITH_VENV=$(abspath $(BUILD)/venv) PITH_NODE_CASES=$(abspath $(BUILD)/node-cases) CC="$(CC)" FUZZ_CC="$(FUZZ_CC)" MAKE="$(MAKE)"

# Functions that a test replaces.
wrap = $(foreach f,$(1),-Wl,--wrap=$(f))
TEST_LDFLAGS_alloc_failure = $(call wrap,malloc calloc realloc aligned_alloc)
TEST_LDFLAGS_sizes_of_plans = $(TEST_LDFLAGS_alloc_failure)
TEST_LDFLAGS_read_faults = $(TEST_LDFLAGS_alloc_failure) $(call wrap,pith_model_alloc)
TEST_LDFLAGS_pack_faults = $(TEST_LDFLAGS_read_faults)
TEST_LDFLAGS_sweep_alloc_failure = $(TEST_LDFLAGS_alloc_failure)
TEST_LDFLAGS_layer_round = $(TEST_LDFLAGS_alloc_failure)
TEST_LDFLAGS_weight_sweep = $(TEST_LDFLAGS_alloc_failure)
TEST_LDFLAGS_quantize_alloc_failure = $(TEST_LDFLAGS_alloc_failure)
TEST_LDFLAGS_integer_alloc_failure = $(TEST_LDFLAGS_alloc_failure)
TEST_LDFLAGS_data_faults = $(call wrap,malloc calloc realloc strdup strndup)
TEST_LDFLAGS_sound_read = -lsndfile
TEST_LDFLAGS_texts = $(call wrap,realloc)
TEST_LDFLAGS_kept_values = $(call wrap,open pread pwrite)
TEST_LDFLAGS_onnx_external = $(call wrap,syscall pread)
TEST_LDFLAGS_file_write = $(call wrap,fcntl open write read fsync fchmod close rename renameat2 link linkat)
TEST_LDFLAGS_open = $(call wrap,calloc malloc realloc aligned_alloc open read mmap madvise)
TEST_LDFLAGS_threads = $(call wrap,pthread_create pthread_join pthread_mutex_init pthread_cond_init calloc fopen)

# AVX-VNNI's kernels in the encoding of AVX-512, for machines that have the same instructions in that
# one alone (tests/runtime/avxvnni_twin.h).
ifeq ($(ARCH),x86_64)
TWINS := $(O)/tests/runtime/twin_of_gemm_i8_avxvnni.o $(O)/tests/runtime/twin_of_depthwise_i8_avxvnni.o
$(O)/tests/runtime/twin_of_%.o: runtime/kernels/x86/integer/%.c $(O)/flags
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -Iruntime $(CFLAGS_runtime) $(ISA_avx2) -mavx512f -mavx512vl -mavx512vnni -Dpith_gemm_i8_avxvnni=pith_gemm_i8_twin -Dpith_depthwise_i8_avxvnni=pith_depthwise_i8_twin -MMD -MP -c $< -o $@
$(foreach t,kernels_integer kernels_bytes byte_table integer_network integer_product integer_winograd,$(O)/tests/runtime/test_$(t)): $(TWINS)
endif
TEST_LDFLAGS_kernels_integer = $(TWINS)
TEST_LDFLAGS_kernels_bytes = $(TWINS)
TEST_LDFLAGS_integer_network = $(TWINS) $(call wrap,pith_integer_kernels_fill)
TEST_LDFLAGS_integer_product = $(TEST_LDFLAGS_integer_network)
TEST_LDFLAGS_integer_winograd = $(TEST_LDFLAGS_integer_network)
TEST_LDFLAGS_byte_table = $(TEST_LDFLAGS_integer_network)

# Tests of the walk over ONNX files, of formulas and of node cases read the generated header.
ONNX_INSIDE := $(patsubst %,$(O)/tests/onnx/test_%.o,wire_bounds node_values)
$(ONNX_INSIDE): FILE_CFLAGS := $(CFLAGS_onnx)
$(ONNX_INSIDE): | $(O)/gen/onnx.pb-c.h

# libcuda.so.1 on an emulator of the kernels (tests/cuda/fake_cuda.c), for programs that look for it in LD_LIBRARY_PATH. Kernels are
# compiled as C; what they leave out of bounds does not concern the compiler.
FAKE_CUDA := $(O)/tests/cuda/fake/libcuda.so.1
# With this machine's fused multiply-add, which is a call of libm's without.
EMU_CFLAGS := -O3 $(if $(shell grep -m1 -o ' fma ' /proc/cpuinfo 2>/dev/null),-mfma -mavx2)
EMU := emu emu_kernels ptx_launch ptx_read ptx_run
FAKE_CUDA_OBJS := $(patsubst %,$(O)/tests/cuda/%.o,fake_cuda emu emu_kernels)
$(FAKE_CUDA): $(FAKE_CUDA_OBJS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -shared -Wl,-soname,$(@F) $^ -o $@

# libcublasLt.so.13 on it, apart, as most tests do without.
FAKE_BLAS := $(O)/tests/cuda/fake_blas/libcublasLt.so.13
$(FAKE_BLAS): tests/cuda/fake_blas.c tests/cuda/fake_blas.h $(FAKE_CUDA)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -D_GNU_SOURCE= -fPIC -shared -Wno-missing-prototypes -Itests/cuda $(INCLUDES) $< $(FAKE_CUDA) -lm -o $@

# libcusparse.so.12 on it, which benches alone ask for.
FAKE_SPARSE := $(O)/tests/cuda/fake_blas/libcusparse.so.12
$(FAKE_SPARSE): tests/cuda/fake_sparse.c $(FAKE_CUDA)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -D_GNU_SOURCE= -fPIC -shared -Wno-missing-prototypes -Itests/cuda $< $(FAKE_CUDA) -o $@

$(FAKE_CUDA_OBJS) $(EMU:%=$(O)/tests/cuda/%.o): MODULE_CFLAGS = -D_GNU_SOURCE= -fPIC -Itests -Itests/cuda -Icuda/kernels $(INCLUDES)
$(FAKE_CUDA_OBJS) $(EMU:%=$(O)/tests/cuda/%.o): FILE_CFLAGS = $(EMU_CFLAGS)
$(O)/tests/cuda/emu_kernels.o: FILE_CFLAGS = $(EMU_CFLAGS) -Wno-unused-function -Wno-conversion
$(O)/tests/cuda/test_device_ops $(O)/tests/cuda/test_device_attention $(O)/tests/cuda/test_device_weights $(O)/tests/cuda/test_device_counts $(O)/tests/cuda/test_device_half $(O)/tests/cuda/test_device_huffman $(O)/tests/cuda/test_device_integers $(O)/tests/cuda/test_device_rows: $(EMU:%=$(O)/tests/cuda/%.o)
TEST_LDFLAGS_device_ops = $(EMU:%=$(O)/tests/cuda/%.o)
TEST_LDFLAGS_device_attention = $(TEST_LDFLAGS_device_ops)
TEST_LDFLAGS_device_weights = $(TEST_LDFLAGS_device_ops)
TEST_LDFLAGS_device_counts = $(TEST_LDFLAGS_device_ops)
TEST_LDFLAGS_device_half = $(TEST_LDFLAGS_device_ops)
TEST_LDFLAGS_device_huffman = $(TEST_LDFLAGS_device_ops)
TEST_LDFLAGS_device_integers = $(TEST_LDFLAGS_device_ops)
TEST_LDFLAGS_device_rows = $(TEST_LDFLAGS_device_ops)
$(O)/tests/cuda/test_device_networks $(O)/tests/cuda/test_device_failures $(O)/tests/cuda/test_device_times $(O)/tests/cuda/test_device_decoded $(O)/tests/cuda/test_device_place $(O)/tests/cuda/test_device_program: | $(FAKE_CUDA)
TEST_LDFLAGS_device_networks = -Wl,--disable-new-dtags,-rpath,$(abspath $(dir $(FAKE_CUDA)))
$(O)/tests/cuda/test_device_blas: | $(FAKE_BLAS)
TEST_LDFLAGS_device_blas = $(TEST_LDFLAGS_device_networks):$(abspath $(dir $(FAKE_BLAS)))
TEST_LDFLAGS_device_times = $(TEST_LDFLAGS_device_networks)
TEST_LDFLAGS_device_failures = $(TEST_LDFLAGS_device_networks)
TEST_LDFLAGS_device_decoded = $(TEST_LDFLAGS_device_networks)
TEST_LDFLAGS_device_place = $(TEST_LDFLAGS_device_networks)
TEST_LDFLAGS_device_program = $(TEST_LDFLAGS_device_networks)
TEST_CFLAGS_cuda := -Itests/cuda

.PHONY: deps-test check check-unit check-asan check-ubsan check-tsan check-helgrind fuzz lint format mutate
deps-test: ## install what building and all tests need
	@tests/deps.sh test $(BUILD)

# What takes half a minute and more (see TEST_TIMES of run_tests.sh), the longest first, so that no core is without work at the end.
LONG_TESTS := $(addprefix tests/,samples/demo.sh embedded/arm_kernels.sh fuzz/sanitized_tests.sh cuda/sanitized.sh embedded/same_hash.sh \
    fuzz/short_run.sh embedded/figures.sh cuda/ptx.sh build/link_budget.sh cuda/gpu_bench.sh cli/goal.sh cli/own_network.sh \
    conformance/onnxruntime_agreement.sh cli/lossless.sh spec/agree.sh cuda/one_launch.sh cli/goal_breaks.sh cli/same_stages.sh \
    cuda/integers.sh conformance/float_accuracy.sh cuda/defects.sh embedded/export.sh embedded/ram.sh build/deb.sh build/runtime_alone.sh \
    cli/file_sizes.sh cli/memory.sh samples/wasm.sh cli/fail_alloc.sh)
check: all $(FAKE_CUDA) $(FAKE_BLAS) $(FAKE_SPARSE) $(O)/bench/bench_gpu_pack $(TEST_BIN) $(O)/samples/make_digits $(O)/samples/make_keywords $(O)/tests/spec/spec_decode ## all tests
	@$(TEST_ENV) tests/run_tests.sh $(LONG_TESTS) $(filter-out $(LONG_TESTS),$(SHELL_TESTS) $(TEST_BIN))

.PHONY: test-programs
test-programs: $(FAKE_CUDA) $(FAKE_BLAS) $(FAKE_SPARSE) $(TEST_BIN)

check-unit: $(FAKE_CUDA) $(FAKE_BLAS) $(TEST_BIN) ## unit tests alone (under a minute)
	@$(TEST_ENV) tests/run_tests.sh $(TEST_BIN)

# Without that option its leak checker may crash where a library was loaded: tests/asan_tracer.sh.
check-asan: ## unit and command tests under AddressSanitizer
	@ASAN_OPTIONS="intercept_tls_get_addr=0$${ASAN_OPTIONS:+:$$ASAN_OPTIONS}" $(MAKE) --no-print-directory VARIANT=asan check-sanitized
check-ubsan: ## unit and command tests under UndefinedBehaviorSanitizer
	@$(MAKE) --no-print-directory VARIANT=ubsan check-sanitized
check-tsan: ## tests and commands that use threads under ThreadSanitizer
	@$(MAKE) --no-print-directory VARIANT=tsan check-threads

.PHONY: check-sanitized check-threads
check-sanitized: $(O)/pith $(FAKE_CUDA) $(TEST_BIN) $(O)/samples/make_digits
	@$(TEST_ENV) tests/run_tests.sh $(TEST_BIN) $(wildcard tests/cli/*.sh)
# Those outside of host and measure that make threads. Training is left out: nothing sees into OpenMP.
THREAD_TESTS := $(O)/tests/serve/test_batch_queue $(O)/tests/runtime/test_segment $(O)/tests/quantize/test_quantize_methods $(O)/tests/rd/test_row_coupling
check-threads: $(filter $(O)/tests/host/% $(O)/tests/measure/%,$(TEST_BIN)) $(THREAD_TESTS) | $(O)/pith $(O)/samples/make_digits
	@$(TEST_ENV) tests/run_tests.sh $^ tests/host/thread_commands.sh
check-helgrind: $(O)/tests/host/test_threads $(THREAD_TESTS) | $(O)/pith $(O)/libpith-runtime.a $(O)/samples/make_digits ## the same under valgrind's helgrind (some minutes)
	@$(TEST_ENV) sh tests/host/helgrind.sh $^

.PHONY: proof
proof: ## memory safety of gate and decoders by Frama-C and by trying all short strings, each with a planted twin (minutes)
	@sh tests/proof/prove.sh

mutate: test-programs ## plant small changes one by one; which tests notice (half an hour)
	@CC="$(CC)" PITH_DATA=$(abspath $(PITH_DATA)) sh tests/mutate.sh
	@ALL_DEFECTS=1 $(TEST_ENV) tests/run_tests.sh tests/cuda/defects.sh

# ---- the decoder written from docs/format.md alone: no header of ours ------------------------
SPEC_SRC := $(wildcard tests/spec/spec_*.c)
$(O)/tests/spec/spec_decode: $(SPEC_SRC) $(wildcard tests/spec/spec_*.h)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -Wall -Wextra $(CFLAGS) $(SPEC_SRC) -o $@

# ---- fuzzing: clang's libFuzzer with both sanitizers ------------------------------------------
FUZZ_CC ?= clang
FUZZ_SECONDS ?= 60
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_O := $(BUILD)/fuzz
FUZZ_BIN := $(FUZZ_SRC:tests/fuzz/%.c=$(FUZZ_O)/%)
fuzz: fuzz-build ## run every fuzz target for FUZZ_SECONDS (60) each
	@$(TEST_ENV) FUZZ_SECONDS=$(FUZZ_SECONDS) FUZZ_O=$(FUZZ_O) tests/fuzz/short_run.sh

T ?= 3600
SEED ?= $(shell date +%s)
fuzz-long: fuzz-build ## every fuzz target for T (3600) seconds by SEED (a new one); corpora, logs, counts in build/fuzz-found
	@$(TEST_ENV) FUZZ_SECONDS=$(T) FUZZ_SEED=$(SEED) FUZZ_KEEP=$(BUILD)/fuzz-found FUZZ_O=$(FUZZ_O) tests/fuzz/short_run.sh
fuzz-times: fuzz-build ## every kept unit of the fuzz targets that takes 50 ms and more
	@FUZZ_O=$(FUZZ_O) tests/fuzz/corpus_times.sh

.PHONY: fuzz-build fuzz-bins fuzz-long fuzz-times
IN_FUZZ = $(MAKE) --no-print-directory VARIANT=fuzz CC="$(FUZZ_CC)" CFLAGS="-O0 -gline-tables-only"
fuzz-build:
	@+$(IN_FUZZ) fuzz-bins
FLAGS_fuzz = -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -DPITH_FUZZ $(HOT) $(UNCHECKED)
# clang takes five times as long with -O1 as with -O0: it is for the code where targets and tests spend their time.
$(foreach f,huffman numeric $(addprefix runtime/,core decode kernels op_interface validate),$(FUZZ_O)/$(f)/%.o): HOT := -O1
$(FUZZ_O)/runtime/%.o: FILE_CFLAGS :=
# AddressSanitizer takes a minute for kernels of vectors and looks at the ends of a plan's memory alone: tests/runtime/test_kernels_*.c
# run each between unmapped pages. Decoders read streams of a file.
$(patsubst %.c,$(FUZZ_O)/%.o,$(filter-out %/crc32c_avx2.c %/huff_chains_avx2.c %/rans_rows_avx2.c,$(wildcard runtime/kernels/x86/*.c runtime/kernels/x86/integer/*.c))): UNCHECKED := -fno-sanitize=all
# Decoders compare coded bits with odds all the time: tracing each comparison took three quarters of their time and gains a fuzzer nothing.
$(FUZZ_O)/runtime/decode/%.o: FILE_CFLAGS := -fno-sanitize-coverage=trace-cmp
$(O)/tests/fuzz/%.o: MODULE_CFLAGS = -D_GNU_SOURCE= $(CFLAGS_runtime) $(CFLAGS_onnx) -Itests -Itests/onnx $(INCLUDES)
$(O)/tests/fuzz/fuzz_onnx.o $(O)/tests/fuzz/fuzz_stages.o: | $(O)/gen/onnx.pb-c.h
# Targets read recipes and checkpoints; no report, sweep, tape or kernel of training, which would take half of the time of this build.
FUZZ_LIBS := $(foreach m,$(filter-out export rd report train,$(LIB_MODULES)),$(O)/lib/$(m).a)
FUZZ_PARTS := $(patsubst %,$(O)/%.o,$(addprefix train/,batch/scores state/checkpoint state/ranks tape/tape_memory train_options train_rows) \
    $(addprefix export/,codes target weights writer) $(addprefix serve/,infer_request infer_response served_model))
$(FUZZ_O)/fuzz_%: $(O)/tests/fuzz/fuzz_%.o $(FUZZ_PARTS) $(FUZZ_LIBS)
	$(Q)$(CC) -fsanitize=fuzzer,address,undefined $< $(filter-out $<,$(filter %.o,$^)) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(sort $(call link_libs,cli)) -lm -lpthread -o $@
fuzz-bins: $(FUZZ_BIN)

# The tests of the gate and of the decoders (but test_weight and test_weight_rows, which take minutes so), in the libraries that the fuzz targets are made of.
SANITIZED_TESTS := $(patsubst %,$(O)/tests/%,$(addprefix runtime/test_,gate made_weight container validate region \
    stats_read huff_table huff_decode coded_table crc32c plan_file) \
    $(addprefix huffman/test_,adaptive rans planes huff_round_trip gap_encode \
    codebook_encode) pack/test_refusals)
.PHONY: sanitized-tests sanitized-build sanitized-bins sanitized-run
sanitized-tests: sanitized-build ## gate and decoders under AddressSanitizer and UndefinedBehaviorSanitizer
	@+$(IN_FUZZ) sanitized-run
sanitized-build:
	@+$(IN_FUZZ) sanitized-bins
sanitized-bins: $(SANITIZED_TESTS)
sanitized-run:
	@$(TEST_ENV) tests/run_tests.sh $(SANITIZED_TESTS)

# Of the gate and the decoders: how much the unit tests of those that use them run. Counts of an earlier run go first.
COVERAGE_TESTS := $(SANITIZED_TESTS) $(patsubst %,$(O)/tests/%,$(addprefix huffman/test_,weight weight_rows cut_weight codebook_encode support_ends table_share) pack/test_damage pack/test_pack \
    $(addprefix runtime/test_,plan_coded op_compressed shared_weight))
.PHONY: coverage coverage-counts
coverage: ## lines and branches of gate and decoders that tests run (95 % of branches at least)
	@$(MAKE) --no-print-directory VARIANT=coverage coverage-counts
coverage-counts: $(sort $(COVERAGE_TESTS))
	@find $(O) -name '*.gcda' -delete
	@$(TEST_ENV) tests/run_tests.sh $^
	@$(PYTHON) tests/coverage.py $(O)

# ---- style -------------------------------------------------------------------------------------
OUR_C := $(wildcard $(foreach d,$(ALL_ROOMS) tests tests/* tests/*/shim bench bench/* samples samples/*,$(d)/*.c $(d)/*.h))
# Checks of cppcheck left out: memleak and uninitvar take a pointer stored in a structure for lost and an
# address never written through for read; invalidPointerCast dislikes options addressed by offset;
# the conditions it calls redundant, or too late, compare positions or guard what others tested;
# ctuArrayIndex counts arrays of vectors, whose type it does not know, as empty.
CPPCHECK := cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,performance,portability --inline-suppr \
    $(foreach id,missingIncludeSystem memleak uninitvar invalidPointerCast zerodivcond arrayIndexOutOfBoundsCond arrayIndexThenCheck ctuArrayIndex,--suppress=$(id))
# Checks of clang-tidy left out: two parameters of one type; _SOURCE macros; macros that take types and
# initialisers, which cannot stand in parentheses; the size of a pointer, where it is meant; i8
# widened with its sign, which i8 tensors mean.
TIDY := clang-tidy --quiet --warnings-as-errors='*' --checks='-*,bugprone-*,-bugprone-easily-swappable-parameters,-bugprone-reserved-identifier,-bugprone-macro-parentheses,-bugprone-sizeof-expression,-bugprone-signed-char-misuse'
ALL_ISA = $(ISA_vbmi) -mavx512vnni
lint: ## cppcheck and clang-tidy (about a minute)
	@$(CPPCHECK) -I. -Iruntime -I$(O)/include/pith $(foreach m,$(MODULES),$(filter-out gen/%,$(SRC_$(m))))
	@$(TIDY) $(SRC_runtime) -- -std=c11 -Iruntime $(if $(filter x86_64,$(ARCH)),$(ALL_ISA)) 2>/dev/null
format: ## clang-format 14 on every C file
	@$(firstword $(wildcard $(BUILD)/venv/bin/clang-format) clang-format) -i $(OUR_C)
