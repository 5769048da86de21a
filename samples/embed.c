/* SPDX-License-Identifier: MIT */
/* embed - classify one digit image with the installed runtime, as a product would: the model as
 * bytes, memory from a static arena, the preprocessing that import stored in the model.
 *
 *     cc embed.c $(pkg-config --cflags --libs --static pith-runtime) -o embed
 *     ./embed digits.pith test-images-idx3-ubyte 7
 */
#include <stdio.h>
#include <stdlib.h>
#include <pith/pith_preprocess.h>
#include <pith/pith_runtime.h>

#define ARENA_BYTES (512u * 1024u)
#define MODEL_BYTES (256u * 1024u)
#define SIDE 28

static _Alignas(64) unsigned char arena[ARENA_BYTES];
static _Alignas(64) unsigned char model[MODEL_BYTES];

static size_t read_model(const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(model, 1, sizeof model, f) : 0;
    if (f)
        fclose(f);
    return n;
}

static int read_image(const char *path, long index, unsigned char image[SIDE * SIDE])
{
    FILE *f = fopen(path, "rb");
    int ok = f && fseek(f, 16 + index * SIDE * SIDE, SEEK_SET) == 0 &&
             fread(image, SIDE * SIDE, 1, f) == 1;
    if (f)
        fclose(f);
    return ok;
}

int main(int argc, char **argv)
{
    unsigned char image[SIDE * SIDE];
    struct pith_opts opts;
    struct pith_need need;
    struct pith_plan *plan;
    struct pith_preprocess pre;
    const char *text;
    const float *score;
    size_t model_bytes, text_bytes;
    int best = 0;
    if (argc != 4) {
        fprintf(stderr, "usage: embed MODEL.pith IMAGES-idx3 INDEX\n");
        return 2;
    }
    model_bytes = read_model(argv[1]);
    pith_opts_init(&opts, sizeof opts);
    if (pith_plan_size(model, model_bytes, &opts, &need) || need.bytes > sizeof arena ||
        pith_plan_init(arena, sizeof arena, model, model_bytes, &opts, &plan)) {
        fprintf(stderr, "embed: %s is no model that fits %u bytes\n", argv[1], ARENA_BYTES);
        return 4;
    }
    pith_preprocess_init(&pre);
    if (!pith_blob_meta(model, model_bytes, "preprocess", &text, &text_bytes) &&
        pith_preprocess_parse(text, text_bytes, &pre)) {
        fprintf(stderr, "embed: the stored preprocessing cannot be read\n");
        return 4;
    }
    if (!read_image(argv[2], strtol(argv[3], NULL, 10), image)) {
        fprintf(stderr, "embed: %s has no image %s\n", argv[2], argv[3]);
        return 3;
    }
    pith_preprocess_apply(&pre, image, SIDE, SIDE, 1, pith_plan_input_data(plan, 0));
    pith_plan_run(plan);
    score = pith_plan_output_data(plan, 0);
    for (int i = 1; i < 10; i++)
        if (score[i] > score[best])
            best = i;
    printf("%d (%.1f%%), arena %llu bytes\n", best, 100 * score[best],
           (unsigned long long)need.bytes);
    return 0;
}
