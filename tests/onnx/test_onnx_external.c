/* SPDX-License-Identifier: MIT */
/* test_onnx_external.c - tensors in files beside the model: which names lead to one, with the
 * kernel's help and without; where its elements lie; and reads that fail. */
#include <stdint.h>
#include "test_run.h"
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "open_files.h"
#include "import_refuse.h"
#include "network_text.h"

/* ---- calls that fail (tests/module.mk has the linker replace them) -------------------------- */

static struct {
    bool no_openat2; /* an older kernel */
    bool small;      /* reads bring three bytes at a time */
    int after;       /* reads that go well before one fails; negative: none does */
    int reason;      /* 0: it brings nothing */
} fault = {.after = -1};

long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    if (!fault.no_openat2)
        return __real_syscall(number, a, b, c, d, e, f);
    errno = ENOSYS;
    return -1;
}

ssize_t __real_pread(int fd, void *p, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *p, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *p, size_t n, off_t at)
{
    if (fault.after >= 0 && fault.after-- == 0) {
        errno = fault.reason;
        return fault.reason ? -1 : 0;
    }
    return __real_pread(fd, p, fault.small && n > 3 ? 3 : n, at);
}

/* ---- a model of one tensor ------------------------------------------------------------------ */

/* Two elements of the type. NULL: the key is not there. */
static struct proto graph_of(int type, const char *location, const char *offset, const char *length)
{
    static const char *const keys[] = {"location", "offset", "length"};
    const char *values[] = {location, offset, length};
    struct proto g = text_graph("x f32 [2] | a:Add x c -> y | y"), t = {0};
    proto_int(&t, 1, 2);
    proto_int(&t, 2, type);
    proto_text(&t, 8, "c");
    for (int i = 0; i < 3; i++) {
        struct proto entry = {0};
        if (!values[i])
            continue;
        proto_text(&entry, 1, keys[i]);
        proto_text(&entry, 2, values[i]);
        proto_message(&t, 13, entry);
    }
    proto_int(&t, 14, 1);
    proto_message(&g, GRAPH_INITIALIZER, t);
    return build_model(g, 13);
}

static struct pith_error err;

static enum pith_status read_with(const char *folder, struct proto file, float value[2])
{
    struct pith_model *m = NULL;
    const unsigned opened = open_files();
    const struct pith_import_opts opts = {.size_bytes = sizeof opts, .dir = folder};
    enum pith_status status = pith_onnx_read(file.data, file.n, "net.onnx", &opts, &m, &err);
    for (uint32_t i = 0; !status && i < m->n_values; i++)
        if (strcmp(m->values[i].name, "c") == 0 && m->values[i].constant)
            memcpy(value, m->values[i].constant->data, 8);
    pith_model_free(m);
    free(file.data);
    assert_int_equal(open_files(), opened);
    return status;
}

static enum pith_status read_at(const char *dir, const char *location, const char *offset,
                                float value[2])
{
    return read_with(dir, graph_of(BUILD_FLOAT, location, offset, "8"), value);
}

/* ---- files ---------------------------------------------------------------------------------- */

static char top[] = "/tmp/pith_external_XXXXXX", dir[64];
static const float data[3] = {1, 2, 3};

static const char *path_of(const char *name)
{
    static char path[4][512];
    static unsigned next;
    char *p = path[next++ % 4];
    snprintf(p, 512, "%s/%s", top, name);
    return p;
}

static void put(const char *name)
{
    FILE *f = fopen(path_of(name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, sizeof data, f), sizeof data);
    fclose(f);
}

static char longest[256]; /* a name of 255 bytes */

FIXTURE(make_files)
{
    if (!mkdtemp(top))
        return -1;
    snprintf(dir, sizeof dir, "%s/model", top);
    memset(longest, 'n', 255);
    char name[300];
    snprintf(name, sizeof name, "model/%s", longest);
    if (mkdir(dir, 0700) || mkdir(path_of("model/sub"), 0700) || mkdir(path_of(name), 0700))
        return -1;
    put("secret");
    put("model/w.bin");
    put("model/sub/w.bin");
    strcat(name, "/w.bin");
    put(name);
    return symlink("../secret", path_of("model/link")) | symlink("sub", path_of("model/to_sub")) |
           mkfifo(path_of("model/fifo"), 0600);
}

static int remove_files(void **state)
{
    char command[96];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", top);
    return system(command);
}

/* With openat2, and step by step. */
TEST(names)
{
    static char too_long[600], deep[600], step[600];
    snprintf(too_long, sizeof too_long, "%sn", longest);
    snprintf(deep, sizeof deep, "%s/w.bin", longest);
    snprintf(step, sizeof step, "%sn/w.bin", longest);
    const struct {
        const char *name;
        enum pith_status status;
    } cases[] = {
        {"w.bin", PITH_OK},
        {"sub/w.bin", PITH_OK},
        {deep, PITH_OK},
        {longest, PITH_ERR_CORRUPT}, /* a folder */
        {"sub", PITH_ERR_CORRUPT},
        {"fifo", PITH_ERR_CORRUPT},
        {too_long, PITH_ERR_CORRUPT},
        {step, PITH_ERR_CORRUPT},
        {"../secret", PITH_ERR_CORRUPT},
        {"./../secret", PITH_ERR_CORRUPT},
        {"./w.bin", PITH_ERR_CORRUPT},
        {"sub/../w.bin", PITH_ERR_CORRUPT},
        {"sub//w.bin", PITH_ERR_CORRUPT},
        {"sub/", PITH_ERR_CORRUPT},
        {"/etc/passwd", PITH_ERR_CORRUPT},
        {"", PITH_ERR_CORRUPT},
        {".", PITH_ERR_CORRUPT},
        {"..", PITH_ERR_CORRUPT},
        {"...", PITH_ERR_IO},
        {".a", PITH_ERR_IO},
        {"link", PITH_ERR_IO},
        {"to_sub/w.bin", PITH_ERR_IO},
        {"w.bin/w.bin", PITH_ERR_IO},
        {"none", PITH_ERR_IO},
        {"none/w.bin", PITH_ERR_IO},
        {NULL, PITH_ERR_CORRUPT},
    };
    for (int way = 0; way < 2; way++) {
        fault.no_openat2 = way == 1;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            float v[2] = {0};
            enum pith_status st = read_at(dir, cases[i].name, "4", v);
            if (st != cases[i].status)
                fail_msg("'%s': status %d '%s', expected %d", cases[i].name, st, err.text,
                         cases[i].status);
            assert_true(st || (v[0] == 2 && v[1] == 3));
        }
        assert_int_equal(read_at("/nowhere/at/all", "w.bin", "0", (float[2]){0}), PITH_ERR_IO);
        assert_int_equal(read_at(NULL, "w.bin", "0", (float[2]){0}), PITH_ERR_UNSUPPORTED);
    }
    fault.no_openat2 = false;
}

TEST(places)
{
    static const struct {
        const char *offset, *length;
        enum pith_status status;
    } cases[] = {
        {"4", "8", PITH_OK},
        {"4", NULL, PITH_OK},
        {NULL, NULL, PITH_OK},
        {"5", "8", PITH_ERR_CORRUPT}, /* a byte behind the end */
        {"8", NULL, PITH_ERR_CORRUPT},
        {"12", NULL, PITH_ERR_CORRUPT},
        {"13", NULL, PITH_ERR_CORRUPT},
        {"4", "7", PITH_ERR_CORRUPT},
        {"4", "9", PITH_ERR_CORRUPT},
        {"4", "", PITH_ERR_CORRUPT},
        {"", "8", PITH_ERR_CORRUPT},
        {"-4", "8", PITH_ERR_CORRUPT},
        {"+4", "8", PITH_ERR_CORRUPT},
        {" 4", "8", PITH_ERR_CORRUPT},
        {"4 ", "8", PITH_ERR_CORRUPT},
        {"0x4", "8", PITH_ERR_CORRUPT},
        {"/", "8", PITH_ERR_CORRUPT},
        {":", "8", PITH_ERR_CORRUPT},
        {"18446744073709551615", "8", PITH_ERR_CORRUPT},
        {"18446744073709551612", "8", PITH_ERR_CORRUPT}, /* 4 bytes before 2^64 */
        {"18446744073709551620", "8", PITH_ERR_CORRUPT}, /* 4, were 2^64 nothing */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float v[2] = {0};
        enum pith_status st =
            read_with(dir, graph_of(BUILD_FLOAT, "w.bin", cases[i].offset, cases[i].length), v);
        if (st != cases[i].status)
            fail_msg("offset %s, length %s: status %d '%s'", cases[i].offset, cases[i].length, st,
                     err.text);
        assert_true(st || v[0] == (cases[i].offset ? 2 : 1));
    }
    static const struct {
        const char *dir, *location, *offset, *length, *text; /* behind "net.onnx: " */
    } texts[] = {
        {dir, "w.bin", "5", "8", "tensor 'c' needs 8 bytes at 5 of 'w.bin', which has 12"},
        {dir, "w.bin", "4", "9", "tensor 'c' needs 8 bytes, its external part has 9"},
        {dir, "w.bin", "x", "8", "tensor 'c': its external location is missing or broken"},
        {dir, "sub", "0", "8", "tensor 'c': external file 'sub' is not a regular file"},
        {dir, "../secret", "0", "8",
         "tensor 'c': external file '../secret' is not inside the folder of the model"},
        {dir, "none", "0", "8",
         "cannot open external file 'none' of tensor 'c' inside the folder of the model"},
        {NULL, "w.bin", "0", "8",
         "tensor 'c' lies in 'w.bin': a model from a pipe cannot have external data"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        float v[2];
        assert_true(
            read_with(texts[i].dir,
                      graph_of(BUILD_FLOAT, texts[i].location, texts[i].offset, texts[i].length),
                      v) != PITH_OK);
        assert_int_equal(strncmp(err.text, "net.onnx: ", 10), 0);
        assert_string_equal(err.text + 10, texts[i].text);
    }
    /* a hole, then two floats behind 4 GiB */
    FILE *far = fopen(path_of("model/far.bin"), "wb");
    float v[2];
    assert_non_null(far);
    assert_int_equal(fseek(far, 1L << 32, SEEK_SET), 0);
    assert_int_equal(fwrite(data, 4, 2, far), 2);
    fclose(far);
    assert_int_equal(read_at(dir, "far.bin", "4294967296", v), PITH_OK);
    assert_true(v[0] == 1 && v[1] == 2);
    assert_int_equal(read_at(dir, "far.bin", "4294967300", v), PITH_ERR_CORRUPT);
}

/* Of a type that is stored otherwise than it is held, too. */
TEST(reads_that_fail)
{
    static const int types[] = {BUILD_FLOAT, 10 /* float16 */};
    for (int type = 0; type < 2; type++) {
        float v[2];
        fault.small = true;
        fault.after = 1;
        fault.reason = EINTR;
        assert_int_equal(read_with(dir, graph_of(types[type], "w.bin", "4", NULL), v), PITH_OK);
        assert_true(type || (v[0] == 2 && v[1] == 3));
        static const int reasons[] = {EIO, 0};
        for (int i = 0; i < 2; i++) {
            fault.after = 1;
            fault.reason = reasons[i];
            assert_int_equal(read_with(dir, graph_of(types[type], "w.bin", "4", NULL), v),
                             PITH_ERR_IO);
            assert_non_null(strstr(err.text, "cannot read external file 'w.bin'"));
        }
        fault.small = false;
        fault.after = -1;
    }
}

RUN_TESTS_WITH(make_files, remove_files)
