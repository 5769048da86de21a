/* SPDX-License-Identifier: MIT */
/* A recurrent network called step by step, its state fed back by the caller: Silero's voice
 * activity detector on a minute of speech, frame for frame the probabilities that were computed
 * with onnxruntime. A frame is 64 samples of the one before and 512 new ones. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test_run.h"
#include "core/bytes.h"
#include "pith_host.h"
#include "pith_model.h"
#include "pith_load.h"
#include "pith_pack.h"

enum { CONTEXT = 64, FRAME = 512, WAV_HEAD = 44, STATE_BYTES = 2 * 128 * 4, MAX_FRAMES = 4096 };

static struct {
    struct pith_buffer image;
    uint8_t *wav;
    size_t n_frames;
    double want[MAX_FRAMES];
} vad;

static const char *data_path(const char *name, char *path, size_t size)
{
    const char *dir = getenv("PITH_DATA");
    snprintf(path, size, "%s/%s", dir ? dir : "../shared/data", name);
    return path;
}

static bool read_wav(void)
{
    char path[512];
    FILE *f = fopen(data_path("audio/vad_test_16k.wav", path, sizeof path), "rb");
    if (!f)
        return false;
    uint8_t head[WAV_HEAD];
    assert_int_equal(fread(head, 1, sizeof head, f), sizeof head);
    assert_memory_equal(head + 36, "data", 4);
    size_t bytes = load_le32(head + 40);
    vad.wav = malloc(bytes);
    assert_non_null(vad.wav);
    assert_int_equal(fread(vad.wav, 1, bytes, f), bytes);
    fclose(f);
    vad.n_frames = bytes / 2 / FRAME;
    assert_in_range(vad.n_frames, 1, MAX_FRAMES);
    return true;
}

static void read_probabilities(void)
{
    char path[512];
    FILE *f = fopen(data_path("audio/vad_test_probs.csv", path, sizeof path), "r");
    assert_non_null(f);
    for (size_t i = 0; i < vad.n_frames; i++)
        assert_int_equal(fscanf(f, "%lf", &vad.want[i]), 1);
    fclose(f);
}

static int load(void **state)
{
    char path[512];
    struct pith_model *m;
    struct pith_error err;
    (void)state;
    if (!read_wav())
        return 0;
    read_probabilities();
    data_path("models/silero_vad_16k.onnx", path, sizeof path);
    SUCCEEDS(pith_model_load(path, NULL, &m, &err));
    SUCCEEDS(pith_model_pack(m, NULL, &vad.image, &err));
    pith_model_free(m);
    return 0;
}

FIXTURE(unload)
{
    pith_buffer_free(&vad.image);
    free(vad.wav);
    return 0;
}

/* Samples of frame i with their context, 0 before the first. */
static void put_frame(size_t i, float *x)
{
    for (size_t k = 0; k < CONTEXT + FRAME; k++) {
        size_t at = i * FRAME + k; /* CONTEXT too far */
        int16_t sample = at < CONTEXT ? 0 : (int16_t)load_le16(vad.wav + 2 * (at - CONTEXT));
        x[k] = (float)sample / 32768.0f;
    }
}

static void detect(uint32_t cpu_mask, size_t n_frames)
{
    struct pith_session *s;
    struct pith_error err;
    struct pith_opts opts = {.size_bytes = sizeof opts, .cpu_mask = cpu_mask};
    SUCCEEDS(pith_open_memory(vad.image.data, vad.image.bytes, &opts, &s, &err));
    struct pith_plan *p = pith_plan_of(s);
    assert_int_equal(pith_plan_input_count(p), 2);
    assert_int_equal(pith_plan_output_count(p), 2);
    uint8_t carried[STATE_BYTES] = {0};
    for (size_t i = 0; i < n_frames; i++) {
        put_frame(i, pith_plan_input_data(p, 0));
        memcpy(pith_plan_input_data(p, 1), carried, sizeof carried);
        assert_int_equal(pith_plan_run(p), PITH_OK);
        memcpy(carried, pith_plan_output_data(p, 1), sizeof carried);
        double got = (double)*(const float *)pith_plan_output_data(p, 0);
        /* the file has 6 decimals; onnxruntime and pith differ by less */
        if ((got > 0.5) != (vad.want[i] > 0.5) || !(fabs(got - vad.want[i]) <= 1e-4))
            fail_msg("frame %zu: expected %f, got %f", i, vad.want[i], got);
    }
    pith_close(s);
}

TEST(test_every_frame)
{
    if (!vad.wav)
        skip();
    detect(0, vad.n_frames);
}

TEST(test_levels)
{
    static const uint32_t masks[] = {PITH_CPU_REF, PITH_CPU_AVX2, PITH_CPU_AVX2 | PITH_CPU_AVX512};
    if (!vad.wav)
        skip();
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++)
        detect(masks[i], vad.n_frames < 150 ? vad.n_frames : 150);
}

RUN_TESTS_WITH(load, unload)
