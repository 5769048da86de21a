/* SPDX-License-Identifier: MIT */
/* A network with Huffman-coded indices on the fake driver: the device decodes them when the plan is
 * made, with the bits that the CPU's decoder leads to; what fails there, or is damaged, is reported
 * and leaves nothing on the device. */
#include "fake_device.h"
#include "pith_load.h"
#include "pith_pack.h"
#include "cuda/device_plan.h"

#define CENTROIDS 16u

static struct pith_buffer file;

/* The constant's values become those of a codebook of equal steps. */
static void cluster(struct pith_model *m, struct pith_const *c)
{
    float *x = c->data, most = 0;
    struct pith_codebook *book = pith_model_alloc(m, 1, sizeof *book);
    book->n_centroids = CENTROIDS;
    book->n_groups = 1;
    book->group_elems = c->count;
    book->centroid = pith_model_alloc(m, CENTROIDS, sizeof(float));
    book->index = pith_model_alloc(m, c->count, 1);
    for (uint64_t i = 0; i < c->count; i++)
        most = fmaxf(most, fabsf(x[i]));
    for (uint32_t i = 0; i < CENTROIDS; i++)
        book->centroid[i] = most * ((float)i - 7.5f) / 7.5f;
    for (uint64_t i = 0; i < c->count; i++) {
        book->index[i] = (uint8_t)fminf(15.0f, fmaxf(0.0f, roundf(x[i] / most * 7.5f + 7.5f)));
        x[i] = book->centroid[book->index[i]];
    }
    c->mask = NULL;
    c->codebook = book;
    c->code = PITH_CODE_HUFFMAN;
}

FIXTURE(load)
{
    const char *data = getenv("PITH_DATA");
    char path[512];
    struct pith_model *m;
    struct pith_error err = {0};
    struct pith_weight_ref refs[64];
    snprintf(path, sizeof path, "%s/models/mnist_lenet5_caffe.onnx",
             data ? data : "../shared/data");
    if (pith_model_load(path, NULL, &m, &err))
        return 1;
    uint32_t n = pith_model_weights(m, refs);
    for (uint32_t i = 0; i < n; i++)
        if (refs[i].rows * refs[i].cols >= 1u << 17)
            cluster(m, m->values[refs[i].value].constant);
    SUCCEEDS(pith_model_pack(m, NULL, &file, &err));
    pith_model_free(m);
    return 0;
}

FIXTURE(unload)
{
    pith_buffer_free(&file);
    return 0;
}

static struct pith_plan *open_plan(struct pith_session **s)
{
    struct pith_error err = {0};
    SUCCEEDS(pith_open_memory(file.data, file.bytes, NULL, s, &err));
    return pith_plan_of(*s);
}

static struct pith_cuda *open_cuda(void)
{
    struct pith_cuda *cuda;
    struct pith_error err = {0};
    SUCCEEDS(pith_cuda_open(0, &cuda, &err));
    return cuda;
}

/* Outputs with the device's decoder, or (least: none) the CPU's. */
static void run(uint64_t least, uint32_t decoded, float y[10])
{
    struct pith_session *s;
    struct pith_cuda_plan *gpu;
    struct pith_error err = {0};
    struct pith_plan *plan = open_plan(&s);
    struct pith_cuda *cuda = open_cuda();
    cuda->decode_least = least ? least : cuda->decode_least;
    SUCCEEDS(pith_cuda_plan_new(cuda, plan, &gpu, &err));
    assert_int_equal(pith_cuda_plan_facts(gpu).decoded_weights, decoded);
    float *x = pith_plan_input_data(plan, 0);
    for (uint32_t i = 0; i < 28 * 28; i++)
        x[i] = (float)(i * 37 % 101) / 101.0f;
    SUCCEEDS(pith_cuda_plan_run(gpu, &err));
    memcpy(y, pith_plan_output_data(plan, 0), 10 * sizeof *y);
    pith_cuda_plan_free(gpu);
    pith_cuda_close(cuda);
    pith_close(s);
    assert_nothing_left();
}

TEST(test_same_bits)
{
    float there[10], here[10];
    static const uint32_t orders[] = {0, 1, 2, 77};
    fake_set((struct fake_cuda_behaviour){0});
    run(UINT64_MAX, 0, here);
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        fake_set((struct fake_cuda_behaviour){.order = orders[i]});
        run(0, 1, there);
        assert_memory_equal(there, here, sizeof here);
    }
}

/* Tries to make a plan; PITH_OK: it could be made. */
static enum pith_status make(struct pith_plan *plan, struct pith_error *err)
{
    struct pith_cuda_plan *gpu;
    struct pith_cuda *cuda = open_cuda();
    enum pith_status st = pith_cuda_plan_new(cuda, plan, &gpu, err);
    if (!st)
        pith_cuda_plan_free(gpu);
    pith_cuda_close(cuda);
    assert_nothing_left();
    return st;
}

TEST(test_failures)
{
    struct pith_session *s;
    struct pith_error err = {0};
    struct pith_plan *plan = open_plan(&s);
    uint32_t n = 1;
    for (;; n++) { /* arena, constants, pinned memory, room to decode in */
        fake_set((struct fake_cuda_behaviour){.failing_allocation = n});
        if (make(plan, &err) == PITH_OK)
            break;
        assert_non_null(strstr(err.text, "OUT_OF_MEMORY"));
    }
    assert_int_equal(n, 5);
    uint32_t waits = 1;
    for (;; waits++) {
        fake_set((struct fake_cuda_behaviour){.losing_wait = waits});
        if (make(plan, &err) == PITH_OK)
            break;
        assert_non_null(strstr(err.text, "LAUNCH_FAILED"));
    }
    assert_true(waits > 3);
    fake_set((struct fake_cuda_behaviour){0});
    pith_close(s);
}

/* The file is changed after the CPU has read it, which would have refused it. */
TEST(test_damaged)
{
    struct pith_session *s;
    struct pith_error err = {0};
    struct pith_plan *plan = open_plan(&s);
    uint32_t found = 0, refused = 0;
    fake_set((struct fake_cuda_behaviour){0});
    for (uint32_t i = 0; i < plan->n_steps; i++) {
        const struct weight *w = plan->step[i].args.weight;
        if (!w || w->code != CODE_HUFFMAN || w->nnz < 1u << 17)
            continue;
        found++;
        uint8_t *stream = file.data + (w->index_stream.bytes - file.data);
        for (size_t at = 0; at < w->index_stream.n_bytes; at += w->index_stream.n_bytes / 19) {
            stream[at] ^= 0x55;
            enum pith_status st = make(plan, &err);
            if (st) {
                assert_int_equal(st, PITH_ERR_CORRUPT);
                assert_non_null(strstr(err.text, "cuda: cannot unpack a weight"));
                refused++;
            }
            stream[at] ^= 0x55;
        }
    }
    assert_int_equal(found, 1);
    assert_true(refused >= 4); /* codes find their step again behind many a changed byte */
    assert_int_equal(make(plan, &err), PITH_OK);
    pith_close(s);
}

int main(void)
{
    struct pith_packed packed = {0};
    if (!load_network("mnist_lenet5_caffe", &packed)) {
        printf("no models\n");
        return 77;
    }
    pith_packed_free(&packed);
    return run_listed_tests(load, unload);
}
