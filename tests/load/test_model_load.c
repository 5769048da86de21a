/* SPDX-License-Identifier: MIT */
/* test_model_load.c - how the bytes of a model come: which files are mapped and that none stays so,
 * where tensors beside an ONNX file lie, what options are obeyed, what is refused with which text.
 */
#include <stdint.h>
#include "test_run.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file_write.h"
#include "load/model_file.h"
#include "model/exact_grid.h"
#include "onnx/proto_builder.h"
#include "open_files.h"
#include "pack/unpack.h"
#include "pith_load.h"
#include "pith_pack.h"
#include "sample_models.h"

enum { MAPPED = 1 << 20 }; /* bytes of a file from which on it is mapped */

static char folder[] = "/tmp/pith-load-XXXXXX";
static struct pith_error err;

static const char *path_of(const char *name)
{
    static char path[4][4096];
    static unsigned turn;
    char *p = path[turn++ % 4];
    snprintf(p, sizeof *path, "%s/%s", folder, name);
    return p;
}

static const char *put(const char *name, const void *bytes, size_t n)
{
    const char *path = path_of(name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    return path;
}

/* y = x + c, whose c lies in the file "beside": as a folder's name is right or wrong, it is found.
 */
static struct proto external_net(size_t text_bytes)
{
    static const char *const entries[][2] = {{"location", "beside"}, {"length", "8"}};
    struct proto t = {0}, g = {0};
    proto_int(&t, 1, 2);
    proto_int(&t, 2, BUILD_FLOAT);
    proto_text(&t, 8, "c");
    for (size_t i = 0; i < 2; i++) {
        struct proto entry = {0};
        proto_text(&entry, 1, entries[i][0]);
        proto_text(&entry, 2, entries[i][1]);
        proto_message(&t, 13, entry);
    }
    proto_int(&t, 14, 1);
    proto_message(&g, GRAPH_INITIALIZER, t);
    proto_message(&g, GRAPH_NODE, build_node("Add", "a", "x c -> y"));
    build_input(&g, "x", 1, 2);
    build_output(&g, "y");
    struct proto file = build_model(g, 13);
    char *text = calloc(text_bytes + 1, 1);
    memset(text, '.', text_bytes);
    proto_bytes(&file, 6, text, text_bytes); /* ModelProto.doc_string */
    free(text);
    return file;
}

/* y = w x; w [2, 64] of so many different values. */
static struct proto product_net(uint32_t different)
{
    struct proto g = {0};
    const int64_t dims[2] = {64, 300};
    float *w = calloc(64 * 300, sizeof *w);
    for (uint32_t i = 0; i < 64 * 300; i++)
        w[i] = 0.37f * (float)(i % different) + (float)(i % different % 7) * 0.001f;
    proto_message(&g, GRAPH_INITIALIZER,
                  build_tensor("w", BUILD_FLOAT, dims, 2, w, 64 * 300 * sizeof *w));
    proto_message(&g, GRAPH_NODE, build_node("MatMul", "m", "x w -> y"));
    build_input(&g, "x", 2, 1, 64);
    build_output(&g, "y");
    free(w);
    return build_model(g, 13);
}

static bool is_mapped(const void *p)
{
    unsigned char resident;
    return mincore((void *)(uintptr_t)p, 1, &resident) == 0;
}

TEST(large_files_are_mapped)
{
    const unsigned opened = open_files();
    uint8_t *bytes = malloc(MAPPED + 1);
    for (int i = 0; i <= MAPPED; i++)
        bytes[i] = (uint8_t)(i * 7);
    for (int more = -1; more <= 1; more++) {
        const size_t n = (size_t)(MAPPED + more);
        const char *path = put("bytes", bytes, n);
        struct model_file f;
        assert_int_equal(pith_model_file_open(path, &f, &err), PITH_OK);
        assert_int_equal(f.mapped, more >= 0);
        assert_int_equal(f.bytes, n);
        assert_memory_equal(f.data, bytes, n);
        assert_int_equal(open_files(), opened);
        const void *was = f.data;
        assert_true(!f.mapped || is_mapped(was));
        pith_model_file_close(&f);
        assert_true(more < 0 || !is_mapped(was));
        assert_true(!f.data && !f.bytes && !f.mapped);
    }
    free(bytes);
}

/* The file has no blocks: its length alone counts. */
TEST(files_beyond_64_gib_are_refused)
{
    struct model_file f = {0};
    const char *path = put("long", "", 0);
    if (truncate(path, (off_t)1 << 36) != 0)
        skip();
    assert_int_equal(pith_model_file_open(path, &f, &err), PITH_OK);
    assert_true(f.mapped && f.bytes == (size_t)1 << 36);
    pith_model_file_close(&f);
    assert_int_equal(truncate(path, ((off_t)1 << 36) + 1), 0);
    assert_int_equal(pith_model_file_open(path, &f, &err), PITH_ERR_LIMIT);
    assert_non_null(strstr(err.text, path));
    assert_null(f.data);
    unlink(path);
}

TEST(what_is_no_file_is_refused)
{
    struct pith_model *m = NULL;
    char text[8192];
    const char *inner = path_of("saved");
    assert_int_equal(mkdir(inner, 0700), 0);
    assert_int_equal(pith_model_load(inner, NULL, &m, &err), PITH_ERR_IO);
    assert_non_null(strstr(err.text, inner));
    const char *inside = put("saved/saved_model.pb", "x", 1);
    assert_int_equal(pith_model_load(inner, NULL, &m, &err), PITH_ERR_UNSUPPORTED);
    snprintf(text, sizeof text, "%s: not ONNX but a TensorFlow SavedModel: ", inner);
    assert_int_equal(strncmp(err.text, text, strlen(text)), 0);
    unlink(inside);
    rmdir(inner);
    assert_int_equal(pith_model_load(path_of("none"), NULL, &m, &err), PITH_ERR_IO);
    assert_non_null(strstr(err.text, path_of("none")));
    struct pith_packed packed;
    assert_int_equal(pith_packed_load(path_of("none"), NULL, &packed, &err), PITH_ERR_IO);
    assert_int_equal(pith_model_read("", 0, "net", NULL, &m, &err), PITH_ERR_IO);
    assert_string_equal(err.text, "net: empty input");
    assert_null(m);
}

TEST(arguments_are_checked)
{
    const struct pith_import_opts older = {.size_bytes = sizeof older - 1};
    const char *path = put("x", "x", 1);
    struct pith_model *m = NULL;
    struct pith_packed packed = {0};
    struct pith_buffer file = {0};
    assert_int_equal(pith_model_load(NULL, NULL, &m, &err), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_model_load(path, NULL, NULL, &err), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_model_load(path, &older, &m, &err), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_model_read(NULL, 1, "n", NULL, &m, &err), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_model_read("x", 1, NULL, NULL, &m, &err), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_model_read("x", 1, "n", NULL, NULL, &err), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_model_read("x", 1, "n", &older, &m, &err), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_packed_load(NULL, NULL, &packed, &err), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_packed_load(path, NULL, NULL, &err), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_packed_load(path, &older, &packed, &err), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_packed_read(NULL, "n", NULL, &packed, &err), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_packed_read(&file, NULL, NULL, &packed, &err), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_packed_read(&file, "n", NULL, NULL, &err), PITH_ERR_ARGUMENT);
    assert_int_equal(pith_packed_read(&file, "n", &older, &packed, &err), PITH_ERR_ARGUMENT);
}

/* As long as they are said to be, and no longer: behind them is nothing to read. */
TEST(files_are_known_by_their_first_bytes)
{
    struct pith_model *lenet = sample_lenet5(3);
    for (int full = 0; full < 2; full++) {
        const struct pith_pack_opts opts = {
            .size_bytes = sizeof opts, .full = full, .compact = !full};
        struct pith_buffer file;
        assert_int_equal(pith_model_pack(lenet, &opts, &file, &err), PITH_OK);
        for (size_t n = 0; n <= 5; n++) {
            uint8_t *start = malloc(n ? n : 1);
            memcpy(start, file.data, n);
            assert_int_equal(pith_is_pith(start, n), n >= (full ? 4 : 2));
            if (n)
                start[n > 3 ? 3 : n - 1] ^= 0xf0;
            assert_int_equal(pith_is_pith(start, n), !full && n > 2);
            free(start);
        }
        pith_buffer_free(&file);
    }
    pith_model_free(lenet);
}

TEST(strict_limits_follow_the_length)
{
    struct pith_import_opts opts = {.size_bytes = sizeof opts};
    assert_true(pith_tensor_limit(NULL, 100) == 0);
    assert_true(pith_tensor_limit(&opts, 100) == 0);
    opts.strict = true;
    assert_true(pith_tensor_limit(&opts, 0) == 41943040);
    assert_true(pith_tensor_limit(&opts, 100) == 41943040 + 1800);
    opts.max_bytes = 77;
    assert_true(pith_tensor_limit(&opts, 100) == 77);
    opts.strict = false;
    assert_true(pith_tensor_limit(&opts, 100) == 77);
}

/* Read whole, and mapped: by a path, and by a name in the folder that one is in. */
TEST(tensors_lie_in_the_folder_of_the_file)
{
    const float c[2] = {3, -5};
    char was[4096];
    put("beside", c, sizeof c);
    assert_non_null(getcwd(was, sizeof was));
    for (int large = 0; large < 2; large++) {
        struct proto net = external_net(large ? MAPPED : 1);
        const char *path = put("net.onnx", net.data, net.n);
        for (int inside = 0; inside < 2; inside++) {
            struct pith_model *m = NULL;
            struct pith_packed packed;
            bool found = false;
            assert_int_equal(chdir(inside ? folder : was), 0);
            const char *name = inside ? "net.onnx" : path;
            SUCCEEDS(pith_model_load(name, NULL, &m, &err));
            for (uint32_t i = 0; i < m->n_values; i++)
                if (strcmp(m->values[i].name, "c") == 0) {
                    assert_memory_equal(m->values[i].constant->data, c, sizeof c);
                    found = true;
                }
            assert_true(found);
            SUCCEEDS(pith_packed_load(name, NULL, &packed, &err));
            assert_string_equal(packed.name, name);
            assert_int_equal(packed.outline->n_nodes, 1);
            assert_false(packed.mapped);
            pith_packed_free(&packed);
            pith_model_free(m);
        }
        assert_int_equal(chdir(was), 0);
        struct pith_model *m = NULL;
        assert_true(pith_model_read(net.data, net.n, "net", NULL, &m, &err) != PITH_OK);
        const struct pith_import_opts beside = {.size_bytes = sizeof beside, .dir = folder};
        assert_int_equal(pith_model_read(net.data, net.n, "net", &beside, &m, &err), PITH_OK);
        pith_model_free(m);
        free(net.data);
    }
}

static const struct pith_const *weight_of(const struct pith_model *m)
{
    for (uint32_t i = 0; i < m->n_values; i++)
        if (m->values[i].constant && m->values[i].rank == 2)
            return m->values[i].constant;
    fail_msg("no weight");
    return NULL;
}

TEST(grids_are_found_unless_they_are_unwanted)
{
    struct pith_grids_found found = {0};
    struct pith_import_opts opts = {.size_bytes = sizeof opts, .grids = &found};
    struct proto net = product_net(9);
    struct pith_model *m = NULL;
    assert_int_equal(pith_model_read(net.data, net.n, "net", NULL, &m, &err), PITH_OK);
    assert_non_null(weight_of(m)->codebook);
    pith_model_free(m);
    assert_int_equal(pith_model_read(net.data, net.n, "net", &opts, &m, &err), PITH_OK);
    assert_non_null(weight_of(m)->codebook);
    assert_int_equal(found.n_few, 1);
    pith_model_free(m);
    found = (struct pith_grids_found){0};
    opts.no_grids = true;
    assert_int_equal(pith_model_read(net.data, net.n, "net", &opts, &m, &err), PITH_OK);
    assert_null(weight_of(m)->codebook);
    assert_int_equal(found.n_few, 0);
    pith_model_free(m);
    m = NULL;
    assert_true(pith_model_read(net.data, net.n - 1, "net", NULL, &m, &err) != PITH_OK);
    assert_null(m);
    free(net.data);
}

static unsigned allocations;

static void *count_alloc(void *user, size_t bytes)
{
    (void)user;
    allocations++;
    return malloc(bytes);
}

static void count_free(void *user, void *p)
{
    (void)user;
    free(p);
}

/* Of both formats, from a file and from memory, as a model and as the runtime takes it. */
TEST(limits_and_allocators_are_obeyed)
{
    const struct pith_alloc alloc = {count_alloc, count_free, NULL};
    struct pith_model *lenet = sample_lenet5(3);
    struct pith_buffer pith;
    assert_int_equal(pith_model_pack(lenet, NULL, &pith, &err), PITH_OK);
    pith_model_free(lenet);
    struct proto net = product_net(1 << 20);
    const struct {
        const void *data;
        size_t bytes;
    } of[] = {{pith.data, pith.bytes}, {net.data, net.n}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const char *path = put("net", of[i].data, of[i].bytes);
        for (int few = 0; few < 2; few++) {
            const struct pith_import_opts opts = {
                .size_bytes = sizeof opts, .max_bytes = few ? 100 : 0, .alloc = &alloc};
            struct pith_model *m = NULL;
            struct pith_packed packed = {0};
            const enum pith_status expected = few ? PITH_ERR_LIMIT : PITH_OK;
            struct pith_buffer copy = {malloc(of[i].bytes), of[i].bytes};
            memcpy(copy.data, of[i].data, of[i].bytes);
            allocations = 0;
            assert_int_equal(pith_model_load(path, &opts, &m, &err), expected);
            assert_true(few || allocations > 0);
            pith_model_free(m);
            m = NULL;
            allocations = 0;
            assert_int_equal(pith_model_read(copy.data, copy.bytes, "net", &opts, &m, &err),
                             expected);
            assert_true(few || allocations > 0);
            pith_model_free(m);
            allocations = 0;
            assert_int_equal(pith_packed_load(path, &opts, &packed, &err), expected);
            assert_true(few || allocations > 0);
            pith_packed_free(&packed);
            assert_int_equal(pith_packed_read(&copy, "net", &opts, &packed, &err), expected);
            assert_true(!copy.data && !copy.bytes);
            pith_packed_free(&packed);
        }
    }
    pith_buffer_free(&pith);
    free(net.data);
}

TEST(a_large_pith_stays_in_its_file)
{
    struct pith_model *lenet = sample_lenet5(3), *m = NULL;
    struct pith_buffer file;
    struct pith_packed packed;
    assert_int_equal(pith_model_pack(lenet, NULL, &file, &err), PITH_OK);
    const char *path = put("net.pith", file.data, file.bytes);
    assert_int_equal(pith_packed_load(path, NULL, &packed, &err), PITH_OK);
    assert_true(packed.mapped && packed.bytes == file.bytes);
    assert_memory_equal(packed.data, file.data, file.bytes);
    assert_string_equal(packed.name, path);
    assert_int_equal(packed.outline->n_nodes, lenet->n_nodes);
    assert_null(weight_of(packed.outline)->data);
    const void *was = packed.data;
    pith_packed_free(&packed);
    assert_false(is_mapped(was));
    assert_true(!packed.data && !packed.name && !packed.outline);
    pith_packed_free(NULL);
    assert_int_equal(pith_model_load(path, NULL, &m, &err), PITH_OK);
    struct pith_buffer again;
    assert_int_equal(pith_model_pack(m, NULL, &again, &err), PITH_OK);
    assert_int_equal(again.bytes, file.bytes);
    assert_memory_equal(again.data, file.data, file.bytes);
    pith_buffer_free(&again);
    pith_model_free(m);
    file.data[file.bytes / 2] ^= 1; /* a checksum is wrong now */
    path = put("net.pith", file.data, file.bytes);
    packed = (struct pith_packed){0};
    assert_int_equal(pith_packed_load(path, NULL, &packed, &err), PITH_ERR_CORRUPT);
    assert_int_equal(pith_packed_read(&file, "net", NULL, &packed, &err), PITH_ERR_CORRUPT);
    assert_true(!packed.data && !file.data);
    pith_model_free(lenet);
}

FIXTURE(make_folder)
{
    return mkdtemp(folder) ? 0 : -1;
}

FIXTURE(remove_folder)
{
    static const char *const names[] = {"bytes", "x", "beside", "net.onnx", "net", "net.pith"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(path_of(names[i]));
    return rmdir(folder);
}

RUN_TESTS_WITH(make_folder, remove_folder)
