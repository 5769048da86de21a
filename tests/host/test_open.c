/* SPDX-License-Identifier: MIT */
/* Sessions: files that are there, are not, are not what they should be; and every call to the
 * system and every allocation fails once. */
#define _XOPEN_SOURCE 700
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "test_run.h"
#include "open_files.h"
#include "pith_host.h"
#include "host/large_memory.h"
#include "kernels/crc32c.h"

enum { LARGE = 1 << 21 };

/* y [1,2] = relu(x [1,2] * {{1, 2}, {3, -4}}^T + {0.5, 0.25}) with the compact header. */
static const uint8_t image[] = {
    0xb9, 0x53,                                     /* magic */
    0x01, 0x0b, 0x7f,                               /* graph: 11 bytes; data */
    0x00, 0x02, 0x01, 0x02,                         /* one input, f32 [1,2] */
    0x02, 0x02, 0x02, 0x02, 0x00,                   /* two constants */
    0x02, 0x08,                                     /* two nodes: Gemm, Relu */
    0x00, 0x00, 0x80, 0x3f, 0x00, 0x00, 0x00, 0x40, /* weights */
    0x00, 0x00, 0x40, 0x40, 0x00, 0x00, 0x80, 0xc0,
    0x00, 0x00, 0x00, 0x3f, 0x00, 0x00, 0x80, 0x3e, /* bias */
    0xb5, 0xc6, 0xa1, 0x59                          /* checksum */
};

/* ---- calls that fail (tests/module.mk has the linker replace them) -------------------------- */

static struct {
    const char *call; /* NULL: none fails */
    int after;        /* calls of it that go well before; negative: it has failed */
    int reason;
    bool small; /* reads bring few bytes at a time */
} fault;

static bool fails(const char *call)
{
    if (!fault.call || strcmp(fault.call, call) != 0 || fault.after-- != 0)
        return false;
    errno = fault.reason;
    return true;
}

/* What sessions last allocated for a plan, and gave back of it. */
static struct {
    uintptr_t memory, from;
    size_t bytes;
    unsigned calls;
} given_back;

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
    return fails("memory") ? NULL : __real_calloc(n, size);
}

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_malloc(size_t n)
{
    return fails("memory") ? NULL : __real_malloc(n);
}

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n)
{
    return fails("memory") ? NULL : __real_realloc(p, n);
}

void *__real_aligned_alloc(size_t align, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n)
{
    void *p = fails("memory") ? NULL : __real_aligned_alloc(align, n);
    given_back.memory = (uintptr_t)p;
    return p;
}

int __real_open(const char *name, int flags, mode_t mode);
int __wrap_open(const char *name, int flags, mode_t mode);
int __wrap_open(const char *name, int flags, mode_t mode)
{
    return fails("open") ? -1 : __real_open(name, flags, mode);
}

ssize_t __real_read(int fd, void *p, size_t n);
ssize_t __wrap_read(int fd, void *p, size_t n);
ssize_t __wrap_read(int fd, void *p, size_t n)
{
    return fails("read") ? -1 : __real_read(fd, p, fault.small && n > 7 ? 7 : n);
}

void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from)
{
    return fails("mmap") ? MAP_FAILED : __real_mmap(at, n, prot, flags, fd, from);
}

int __real_madvise(void *at, size_t n, int advice);
int __wrap_madvise(void *at, size_t n, int advice);
int __wrap_madvise(void *at, size_t n, int advice)
{
    given_back.from = (uintptr_t)at;
    given_back.bytes = n;
    given_back.calls++;
    return __real_madvise(at, n, advice);
}

/* ---- files ---------------------------------------------------------------------------------- */

static char folder[] = P_tmpdir "/pith_test_open_XXXXXX";
static char path[64];

FIXTURE(make_folder)
{
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/net.pith", folder);
    return 0;
}

FIXTURE(remove_folder)
{
    remove(path);
    return rmdir(folder);
}

static void write_file(const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void run_it(struct pith_session *s)
{
    struct pith_plan *p = pith_plan_of(s);
    struct pith_need need;
    float *x = pith_plan_input_data(p, 0);
    x[0] = 1.0f;
    x[1] = 2.0f;
    assert_int_equal(pith_plan_run(p), PITH_OK);
    const float *y = pith_plan_output_data(p, 0);
    assert_true(y[0] == 5.5f && y[1] == 0.0f);
    pith_session_need(s, &need);
    assert_true(need.bytes > 0);
}

TEST(test_file)
{
    struct pith_session *s;
    struct pith_error err;
    size_t n;
    write_file(image, sizeof image);
    assert_int_equal(pith_open(path, NULL, &s, &err), PITH_OK);
    run_it(s);
    assert_memory_equal(pith_image_of(s, &n), image, sizeof image);
    assert_int_equal(n, sizeof image);
    pith_close(s);
    pith_close(NULL);
}

/* A file is emptied and written anew while a session has it. */
static void changed_under(uint32_t flags, const uint8_t *bytes, size_t n)
{
    size_t kept;
    static const uint8_t other[sizeof image];
    struct pith_session *s;
    struct pith_error err;
    struct pith_opts o = {.size_bytes = sizeof o, .flags = flags};
    SUCCEEDS(pith_open(path, &o, &s, &err));
    write_file(other, sizeof other);
    run_it(s);
    assert_int_equal(truncate(path, 0), 0);
    run_it(s);
    assert_memory_equal(pith_image_of(s, &kept), bytes, n);
    assert_int_equal(kept, n);
    pith_close(s);
}

/* The image with an unknown chunk that makes it too large to be read by default. */
static size_t make_large(uint8_t *to)
{
    const uint8_t table[] = {0xb9, 0x53, 0x01, 0x0b, 0x53, 0x80, 0x80, 0x80, 0x01, 0x7f};
    size_t n = sizeof table, rest = sizeof image - 5 - 4;
    memcpy(to, table, n);
    memcpy(to + n, image + 5, 11);
    memset(to + n + 11, 0x5a, LARGE);
    memcpy(to + n + 11 + LARGE, image + 16, rest - 11);
    n += rest + LARGE;
    uint32_t crc = pith_crc32c(0, to, n);
    for (uint32_t i = 0; i < 4; i++)
        to[n++] = (uint8_t)(crc >> 8 * i);
    return n;
}

TEST(test_changed)
{
    uint8_t *large = malloc(LARGE + 100);
    assert_non_null(large);
    write_file(image, sizeof image);
    changed_under(0, image, sizeof image);
    write_file(image, sizeof image);
    changed_under(PITH_OPEN_READ, image, sizeof image);
    size_t n = make_large(large);
    write_file(large, n);
    changed_under(PITH_OPEN_READ, large, n);
    free(large);
}

static bool is_mapped(void)
{
    char line[512];
    bool found = false;
    FILE *f = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, f))
        found = found || strstr(line, path) != NULL;
    fclose(f);
    return found;
}

/* Large files are mapped, unless that fails or the caller requires a copy. */
TEST(test_mapped)
{
    uint8_t *large = malloc(LARGE + 100);
    assert_non_null(large);
    size_t n = make_large(large), got;
    write_file(large, n);
    for (int way = 0; way < 3; way++) {
        struct pith_session *s;
        struct pith_opts o = {.size_bytes = sizeof o, .flags = way == 1 ? PITH_OPEN_READ : 0};
        fault.call = way == 2 ? "mmap" : NULL;
        fault.after = 0;
        assert_int_equal(pith_open(path, &o, &s, NULL), PITH_OK);
        fault.call = NULL;
        assert_int_equal(is_mapped(), way == 0);
        assert_memory_equal(pith_image_of(s, &got), large, n);
        assert_int_equal(got, n);
        run_it(s);
        pith_close(s);
        assert_false(is_mapped());
    }
    free(large);
}

/* Opens by file, by pipe or from memory, with one thing that fails. */
static enum pith_status open_by(int way, struct pith_session **s, struct pith_error *err)
{
    int ends[2] = {-1, -1};
    char name[32];
    if (way == 2)
        return pith_open_memory(image, sizeof image, NULL, s, err);
    if (way == 0)
        return pith_open(path, NULL, s, err);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], image, sizeof image), sizeof image);
    close(ends[1]);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
    enum pith_status st = pith_open(name, NULL, s, err);
    int reason = errno;
    close(ends[0]);
    errno = reason;
    return st;
}

TEST(test_everything_fails_once)
{
    static const char *const calls[] = {"memory", "open", "read", "signal"};
    unsigned failed = 0;
    write_file(image, sizeof image);
    for (int way = 0; way < 3; way++)
        for (int c = 0; c < 4; c++)
            for (int after = 0;; after++) {
                struct pith_session *s = (struct pith_session *)&path;
                struct pith_error err = {.text = ""};
                const unsigned opened = open_files();
                fault.call = c == 3 ? "read" : calls[c];
                fault.after = after;
                fault.reason = c == 0 ? ENOMEM : c == 3 ? EINTR : EIO;
                fault.small = c > 1;
                enum pith_status st = open_by(way, &s, &err);
                bool over = fault.after >= 0;
                memset(&fault, 0, sizeof fault);
                assert_int_equal(open_files(), opened);
                if (!st) {
                    run_it(s);
                    pith_close(s);
                } else {
                    assert_ptr_equal(s, &path);
                    assert_int_equal(st, c == 0 ? PITH_ERR_MEMORY : PITH_ERR_IO);
                    assert_int_equal(err.status, st);
                    assert_non_null(strstr(err.text, c == 0 ? "out of memory" : strerror(EIO)));
                    failed |= 1u << (4 * way + c);
                }
                if (over) {
                    assert_int_equal(st, PITH_OK);
                    break;
                }
            }
    assert_int_equal(failed, 0x177); /* signals are no failure; memory is all that memory needs */
}

/* More than is allowed is not read to its end. */
TEST(test_long_pipes)
{
    static const uint32_t limits[] = {65535, 65536, 65537, 131072, 262144};
    uint8_t *large = malloc(LARGE + 100);
    size_t n = make_large(large);
    for (size_t i = 0; i < sizeof limits / sizeof *limits + 1; i++) {
        int ends[2];
        char name[32];
        struct pith_session *s;
        struct pith_error err;
        struct pith_opts o = {.size_bytes = sizeof o, .max_bytes = i < 5 ? limits[i] : 0};
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        if (child == 0) {
            signal(SIGPIPE, SIG_DFL);
            close(ends[0]);
            for (size_t at = 0; at < n;) {
                ssize_t done = write(ends[1], large + at, n - at);
                if (done < 0)
                    break;
                at += (size_t)done;
            }
            _exit(0);
        }
        close(ends[1]);
        snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
        enum pith_status st = pith_open(name, &o, &s, &err);
        close(ends[0]);
        waitpid(child, NULL, 0);
        assert_int_equal(st, o.max_bytes ? PITH_ERR_LIMIT : PITH_OK);
        if (st) {
            assert_non_null(strstr(err.text, "cannot read '/dev/fd/"));
        } else {
            run_it(s);
            pith_close(s);
        }
    }
    free(large);
}

static size_t bytes_of(const struct pith_plan *p,
                       enum pith_status (*of)(const struct pith_plan *, uint32_t,
                                              struct pith_tensor *))
{
    struct pith_tensor t;
    size_t n = sizeof(float);
    assert_int_equal(of(p, 0, &t), PITH_OK);
    for (uint32_t i = 0; i < t.rank; i++)
        n *= t.dim[i];
    return n;
}

static const char *const coded_files[] = {"tests/golden/digits_compact.pith",
                                          "tests/golden/digits_dense.pith",
                                          "tests/golden/digits_full.pith"};

static enum pith_status open_coded(const char *file, uint32_t threads, const char *fault_call,
                                   int after, struct pith_session **s, struct pith_opts *o,
                                   struct pith_error *err)
{
    pith_opts_init(o, sizeof *o);
    if (threads)
        assert_int_equal(pith_threads_start(o, threads), PITH_OK);
    memset(&given_back, 0, sizeof given_back);
    fault.after = after;
    fault.reason = ENOMEM;
    fault.call = fault_call;
    enum pith_status st = pith_open(file, o, s, err);
    fault.call = NULL;
    return st;
}

/* Of zeros. */
static size_t output_of(struct pith_session *s, float y[64])
{
    struct pith_plan *p = pith_plan_of(s);
    size_t bytes = bytes_of(p, pith_plan_output);
    memset(pith_plan_input_data(p, 0), 0, bytes_of(p, pith_plan_input));
    assert_int_equal(pith_plan_run(p), PITH_OK);
    assert_true(bytes > 0 && bytes <= 64 * sizeof *y);
    memcpy(y, pith_plan_output_data(p, 0), bytes);
    return bytes;
}

/* Whole pages behind the arena, all that there are, where decoding took more than that. */
static void check_given_back(const struct pith_need *need, bool apart)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), end = given_back.memory + need->bytes;
    const uintptr_t arena_end = end - (need->init_bytes - need->arena_bytes);
    const uintptr_t from = arena_end + (page - arena_end % page) % page;
    if (apart || need->init_bytes <= need->arena_bytes || from >= end / page * page) {
        assert_int_equal(given_back.calls, 0);
        return;
    }
    assert_int_equal(given_back.calls, 1);
    assert_int_equal(given_back.from, from);
    assert_int_equal(from + given_back.bytes, end / page * page);
}

/* Networks with coded weights give the same in any memory: pages that opening gives back are none
 * that a plan needs. Threads decode, with memory of their own or, where there is none, without. */
TEST(test_coded_networks)
{
    unsigned gave = 0, failed = 0, coped = 0;
    for (size_t i = 0; i < sizeof coded_files / sizeof *coded_files; i++) {
        float first[64], y[64];
        struct pith_session *s;
        struct pith_opts o;
        struct pith_error err;
        struct pith_need need;
        for (uint32_t threads = 0; threads < 5; threads += 2) {
            SUCCEEDS(open_coded(coded_files[i], threads, NULL, 0, &s, &o, &err));
            pith_session_need(s, &need);
            check_given_back(&need, threads > 0);
            gave += given_back.calls;
            size_t bytes = output_of(s, threads ? y : first);
            if (threads)
                assert_memory_equal(first, y, bytes);
            pith_close(s);
            pith_threads_stop(&o);
        }
        for (int after = 0; fault.after < 0 || after == 0; after++) {
            enum pith_status st = open_coded(coded_files[i], 2, "memory", after, &s, &o, &err);
            if (st) {
                assert_true(st == PITH_ERR_MEMORY && fault.after < 0);
                assert_non_null(strstr(err.text, "out of memory"));
                failed++;
            } else {
                assert_memory_equal(first, y, output_of(s, y));
                coped += fault.after < 0;
                pith_close(s);
            }
            pith_threads_stop(&o);
        }
    }
    assert_true(gave > 0 && failed > 0 && coped > 0);
}

/* Sessions share an image, also at an odd address. */
TEST(test_memory)
{
    uint8_t odd[sizeof image + 1];
    struct pith_session *a, *b;
    memcpy(odd + 1, image, sizeof image);
    assert_int_equal(pith_open_memory(odd + 1, sizeof image, NULL, &a, NULL), PITH_OK);
    assert_int_equal(pith_open_memory(odd + 1, sizeof image, NULL, &b, NULL), PITH_OK);
    run_it(a);
    run_it(b);
    pith_close(a);
    run_it(b);
    pith_close(b);
}

/* What cannot be mapped is read. */
/* Every byte of small and of large blocks can be written, at the alignment that is wanted. */
TEST(test_large_memory)
{
    static const uint64_t sizes[] = {1, 64, 4096, (4u << 20) - 1, 4u << 20, (6u << 20) + 12345};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint8_t *p = pith_large_memory(64, sizes[i]);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % (sizes[i] < 4u << 20 ? 64 : 2u << 20), 0);
        memset(p, 1, (size_t)sizes[i]);
        free(p);
    }
    assert_null(pith_large_memory(64, UINT64_MAX));
    assert_null(pith_large_memory(64, SIZE_MAX / 2));
}

TEST(test_pipe)
{
    int ends[2];
    char name[32];
    struct pith_session *s;
    struct pith_error err;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], image, sizeof image), sizeof image);
    close(ends[1]);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
    assert_int_equal(pith_open(name, NULL, &s, &err), PITH_OK);
    run_it(s);
    pith_close(s);
    close(ends[0]);
}

static void refused(const char *name, enum pith_status status, const char *text)
{
    struct pith_session *s = (struct pith_session *)&path;
    struct pith_error err;
    memset(&err, 0x5a, sizeof err);
    assert_int_equal(pith_open(name, NULL, &s, &err), status);
    assert_int_equal(err.status, status);
    assert_ptr_equal(s, &path);
    if (!strstr(err.text, name) || !strstr(err.text, text))
        fail_msg("'%s' lacks '%s' or '%s'", err.text, name, text);
}

TEST(test_refusals)
{
    refused("/nowhere/net.pith", PITH_ERR_IO, "No such file");
    refused(folder, PITH_ERR_IO, "Is a directory");
    write_file("", 0);
    refused(path, PITH_ERR_CORRUPT, "corrupt file");
    write_file("not a model at all", 18);
    refused(path, PITH_ERR_CORRUPT, "corrupt file");
    for (size_t n = 1; n < sizeof image; n++) {
        write_file(image, n);
        refused(path, PITH_ERR_CORRUPT, "corrupt file");
    }
    uint8_t flipped[sizeof image];
    for (size_t bit = 0; bit < 8 * sizeof image; bit++) {
        struct pith_session *s;
        memcpy(flipped, image, sizeof image);
        flipped[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_not_equal(pith_open_memory(flipped, sizeof flipped, NULL, &s, NULL), PITH_OK);
    }
}

TEST(test_limit)
{
    struct pith_session *s;
    struct pith_error err;
    struct pith_opts opts = {.size_bytes = sizeof opts, .max_bytes = 1000};
    assert_int_equal(pith_open_memory(image, sizeof image, &opts, &s, &err), PITH_ERR_LIMIT);
    assert_string_equal(err.text, "would exceed a limit");
    opts.max_bytes = 0;
    opts.flags = 1u << 20;
    assert_int_equal(pith_open_memory(image, sizeof image, &opts, &s, &err), PITH_ERR_ARGUMENT);
}

TEST(test_texts)
{
    for (int i = PITH_OK; i <= PITH_ERR_GOAL; i++)
        assert_string_not_equal(pith_status_text((enum pith_status)i), "unknown status");
    assert_string_equal(pith_status_text((enum pith_status)99), "unknown status");
    assert_string_equal(pith_op_text(1), "Conv");
    assert_string_equal(pith_op_text(0), "?");
    assert_string_equal(pith_op_text(UINT32_MAX), "?");
    assert_string_equal(pith_type_text(PITH_BF16), "bf16");
    assert_string_equal(pith_type_text((enum pith_type)0), "?");
    struct pith_error err;
    assert_int_equal(pith_error_set(&err, PITH_ERR_IO, "%0600d", 1), PITH_ERR_IO);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

TEST(test_cpu_names)
{
    uint32_t mask = 7;
    char text[64];
    assert_int_equal(pith_cpu_mask_parse("ref", &mask), PITH_OK);
    assert_true(mask == (uint32_t)PITH_CPU_REF);
    assert_int_equal(pith_cpu_mask_parse("vnni", &mask), PITH_OK);
    assert_int_equal(mask, PITH_CPU_AVX2 | PITH_CPU_AVX512 | PITH_CPU_VNNI);
    assert_int_equal(pith_cpu_mask_parse("avxvnni", &mask), PITH_OK);
    assert_int_equal(mask, PITH_CPU_AVX2 | PITH_CPU_AVXVNNI);
    assert_string_equal(pith_cpu_names(mask, text, sizeof text), "avx2 avxvnni");
    assert_int_equal(pith_cpu_mask_parse("dotprod", &mask), PITH_OK);
    assert_int_equal(mask, PITH_CPU_NEON | PITH_CPU_DOTPROD);
    assert_int_equal(pith_cpu_mask_parse("i8mm", &mask), PITH_OK);
    assert_int_equal(mask, PITH_CPU_NEON | PITH_CPU_DOTPROD | PITH_CPU_I8MM);
    assert_int_equal(pith_cpu_mask_parse("ref,avx2", &mask), PITH_OK);
    assert_int_equal(mask, PITH_CPU_AVX2);
    assert_int_equal(pith_cpu_mask_parse("vbmi|vnni", &mask), PITH_OK);
    assert_string_equal(pith_cpu_names(mask, text, sizeof text), "avx2 avx512 vbmi vnni");
    assert_string_equal(pith_cpu_names(0, text, sizeof text), "ref");
    assert_string_equal(pith_cpu_names(mask, text, 10), "avx2 vbmi");
    static const char *const bad[] = {"", "avx", "avx2,", "AVX2", "avx2 vnni", ","};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(pith_cpu_mask_parse(bad[i], &mask), PITH_ERR_ARGUMENT);
}

RUN_TESTS_WITH(make_folder, remove_folder)
