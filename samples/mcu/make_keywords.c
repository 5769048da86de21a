/* SPDX-License-Identifier: MIT */
/* make_keywords FOLDER [N_TRAIN N_TEST SEED] - spoken keywords from a small formant synthesizer, to
 * try pith without downloading anything. Writes the features of both sets (train.npy, test.npy:
 * [N, 1, 49, 10] floats), their classes (train-labels.npy, test-labels.npy) and the sound of the
 * first 12 test samples, one of each class (test.pcm: 16 kHz, 16 bits).
 *
 * A word is a row of phonemes: three formants, a share of voice (pulses at the pitch) and of noise
 * around a frequency, a duration. A speaker varies pitch, length of the vocal tract, speed,
 * loudness and the noise of the room. "unknown" is a row of phonemes at random, "silence" the room.
 * Classes follow each other in the order of samples. */
#include "generate.h"
#include "features.h"
#include <math.h>

#define PI 3.14159265358979323846
#define RATE 16000
enum { PHONEMES_OF_A_WORD = 6, FORMANTS = 3, STEP = 80 /* samples between new filters: 5 ms */ };

struct phoneme {
    char name;
    double formant[FORMANTS], voice, noise, noise_hz, ms;
};

/* After Peterson and Barney (1952) for vowels. A space is the closure before a plosive. */
static const struct phoneme phonemes[] = {
    {'a', {730, 1090, 2440}, 1, 0, 0, 130},     {'A', {640, 1190, 2390}, 1, 0, 0, 130},
    {'e', {530, 1840, 2480}, 1, 0, 0, 120},     {'i', {270, 2290, 3010}, 1, 0, 0, 90},
    {'o', {570, 840, 2410}, 1, 0, 0, 130},      {'u', {300, 870, 2240}, 1, 0, 0, 100},
    {'y', {260, 2200, 3000}, .7, 0, 0, 60},     {'r', {420, 1300, 1600}, .7, 0, 0, 70},
    {'l', {360, 1200, 2700}, .7, 0, 0, 70},     {'n', {250, 1500, 2500}, .5, 0, 0, 90},
    {'s', {250, 1500, 2500}, 0, 1, 6000, 130},  {'f', {250, 1200, 2500}, 0, .3, 4500, 110},
    {'t', {250, 1700, 2600}, 0, .9, 4500, 35},  {'p', {250, 900, 2400}, 0, .5, 900, 30},
    {'d', {250, 1700, 2600}, .3, .5, 3500, 30}, {'g', {250, 1800, 2200}, .3, .5, 1900, 35},
    {' ', {250, 1500, 2500}, 0, 0, 0, 50}};
enum { N_PHONEMES = sizeof phonemes / sizeof *phonemes };

/* In the order of class_names, up to "silence" */
static const char *const spoken[CLASSES - 2] = {"daun", "gou",   "le f t", "nou", "of",
                                                "an",   "rai t", "s tap",  "A p", "yes"};

/* A resonance at hz of this bandwidth, with gain 1 at 0 Hz (Klatt, 1980). */
struct resonator {
    double a, b, c, y1, y2;
};

static void tune(struct resonator *r, double hz, double bandwidth)
{
    const double radius = exp(-PI * bandwidth / RATE);
    r->c = -radius * radius;
    r->b = 2 * radius * cos(2 * PI * hz / RATE);
    r->a = 1 - r->b - r->c;
}

static double resonate(struct resonator *r, double x)
{
    const double y = r->a * x + r->b * r->y1 + r->c * r->y2;
    r->y2 = r->y1;
    return r->y1 = y;
}

static const struct phoneme *phoneme_named(char name)
{
    const struct phoneme *p = phonemes;
    while (p->name != name)
        p++;
    return p;
}

/* What sounds at `ms` of the word: each phoneme passes into the next in its last 30 ms. */
static struct phoneme sounding(const char *word, double ms)
{
    const struct phoneme *now = phoneme_named(*word);
    while (ms >= now->ms && word[1]) {
        ms -= now->ms;
        now = phoneme_named(*++word);
    }
    struct phoneme p = *now;
    const struct phoneme *next = phoneme_named(word[1] ? word[1] : ' ');
    const double share = fmin(fmax((ms - now->ms + 30) / 30, 0), 1);
    for (int i = 0; i < FORMANTS; i++)
        p.formant[i] += share * (next->formant[i] - p.formant[i]);
    p.voice += share * (next->voice - p.voice);
    p.noise += share * (next->noise - p.noise);
    if (p.noise_hz == 0)
        p.noise_hz = next->noise_hz;
    return p;
}

static void speak(const char *word, double clip[CLIP])
{
    const double high = uniform(0, 1), tract = 0.9 + 0.25 * high + uniform(-0.05, 0.05);
    const double pitch = 95 + 120 * high + uniform(-15, 15), speed = uniform(0.75, 1.25);
    const double loudness = uniform(0.3, 1);
    double ms = 0, phase = 0, pulse = 0;
    struct resonator voice[FORMANTS] = {{0}}, noise = {0};
    struct phoneme p = {0};
    for (const char *c = word; *c; c++)
        ms += phoneme_named(*c)->ms;
    const int length = (int)(ms / speed * RATE / 1000);
    const int begin = (int)uniform(0.02 * CLIP, fmax(0.98 * CLIP - length, 0.03 * CLIP));
    for (int i = 0; i < length + RATE / 20 && begin + i < CLIP; i++) {
        if (i % STEP == 0) {
            p = i < length ? sounding(word, speed * i * 1000 / RATE) : *phoneme_named(' ');
            for (int k = 0; k < FORMANTS; k++)
                tune(&voice[k], tract * p.formant[k], 60 + 40 * k);
            tune(&noise, fmin(tract * p.noise_hz, 7500), 1200);
        }
        phase += pitch * (1.1 - 0.2 * i / length) / RATE;
        pulse = 0.9 * pulse + (phase >= 1 ? p.voice : 0);
        phase -= phase >= 1;
        double y = pulse;
        for (int k = 0; k < FORMANTS; k++)
            y = resonate(&voice[k], y);
        y += 0.4 * resonate(&noise, p.noise * uniform(-1, 1));
        clip[begin + i] += loudness * y;
    }
}

static void record(int class, int16_t sound[CLIP])
{
    static double clip[CLIP];
    char word[PHONEMES_OF_A_WORD + 1] = "";
    const double room = pow(10, uniform(-4, -2.2));
    memset(clip, 0, sizeof clip);
    for (int i = 0, n = (int)uniform(3, PHONEMES_OF_A_WORD); i < n; i++) {
        word[i] = phonemes[(int)uniform(0, N_PHONEMES)].name;
        word[i + 1] = '\0';
    }
    if (strcmp(class_names[class], "silence") != 0)
        speak(class < CLASSES - 2 ? spoken[class] : word, clip);
    for (int i = 0; i < CLIP; i++)
        sound[i] =
            (int16_t)fmin(fmax(32768 * (0.5 * clip[i] + room * uniform(-1, 1)), -32767), 32767);
}

/* The head of an .npy file, which ends at a multiple of 64. */
static FILE *create_npy(const char *folder, const char *name, const char *type, const char *shape)
{
    FILE *f = create(folder, name);
    char head[118];
    snprintf(head, sizeof head, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type,
             shape);
    fwrite("\x93NUMPY\x01\0\x76\0", 1, 10, f);
    fprintf(f, "%-117s\n", head);
    return f;
}

static void put_le32(FILE *f, uint32_t v)
{
    const uint8_t b[4] = {(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24)};
    fwrite(b, 1, 4, f);
}

static void write_set(const char *folder, const char *set, uint32_t n, FILE *pcm)
{
    static int16_t sound[CLIP];
    char name[64], shape[64];
    snprintf(name, sizeof name, "%s.npy", set);
    snprintf(shape, sizeof shape, "(%u, 1, %d, %d)", n, FRAMES, COEFFICIENTS);
    FILE *features = create_npy(folder, name, "<f4", shape);
    snprintf(name, sizeof name, "%s-labels.npy", set);
    snprintf(shape, sizeof shape, "(%u,)", n);
    FILE *labels = create_npy(folder, name, "|u1", shape);
    for (uint32_t i = 0; i < n; i++) {
        record((int)(i % CLASSES), sound);
        fputc((int)(i % CLASSES), labels);
        for (int t = 0; t < FRAMES; t++) {
            float mfcc[COEFFICIENTS];
            frame_features(sound + t * HOP, mfcc);
            for (int c = 0; c < COEFFICIENTS; c++) {
                uint32_t bits;
                memcpy(&bits, &mfcc[c], sizeof bits);
                put_le32(features, bits);
            }
        }
        for (int t = 0; pcm && i < CLASSES && t < CLIP; t++) {
            fputc(sound[t] & 255, pcm);
            fputc(sound[t] >> 8 & 255, pcm);
        }
    }
    finish(features, folder);
    finish(labels, folder);
}

int main(int argc, char **argv)
{
    uint32_t n_train = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1800;
    uint32_t n_test = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 600;
    if (argc < 2 || n_train == 0 || n_test == 0) {
        fprintf(stderr, "usage: make_keywords FOLDER [N_TRAIN N_TEST SEED]\n");
        return 2;
    }
    state = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
    make_folder(argv[1]);
    write_set(argv[1], "train", n_train, NULL);
    FILE *pcm = create(argv[1], "test.pcm");
    write_set(argv[1], "test", n_test, pcm);
    finish(pcm, argv[1]);
    return 0;
}
