/* SPDX-License-Identifier: MIT */
/* stage_rows_quantize.c - the options of the stage `quantize`. Recipes say them in this order. */
#include <stdio.h>
#include <string.h>

#include "base/error_fill.h"
#include "stage_rows.h"

/* ---- bits ------------------------------------------------------------------------------------ */

/* What is not given depends on the rest; recipes say what comes of it. */
static enum pith_status read_bits(const char *text, uint32_t *bits, struct pith_error *err)
{
    static const struct pith_option row = {
        .kind = PITH_OPTION_UINT, .min = 2, .max = 16, .normal = 2};
    return pith_option_read(&row, text, bits, err);
}

static enum pith_status read_weights(struct pith_stage *s, const char *text,
                                     struct pith_stage_texts *texts, struct pith_error *err)
{
    (void)texts;
    return read_bits(text, &s->quantize.weight_bits, err);
}

static void print_weights(const struct pith_stage *s, char *text, size_t room)
{
    snprintf(text, room, "%u", pith_weight_bits(&s->quantize));
}

static bool has_weights(const struct pith_stage *s)
{
    return s->quantize.weight_bits != 0;
}

static enum pith_status read_activations(struct pith_stage *s, const char *text,
                                         struct pith_stage_texts *texts, struct pith_error *err)
{
    (void)texts;
    return read_bits(text, &s->quantize.activation_bits, err);
}

static void print_activations(const struct pith_stage *s, char *text, size_t room)
{
    snprintf(text, room, "%u", pith_activation_bits(&s->quantize));
}

static bool has_activations(const struct pith_stage *s)
{
    return pith_activation_bits(&s->quantize) != 8;
}

static const struct pith_option_own weights = {read_weights, print_weights, has_weights, true},
                                    activations = {read_activations, print_activations,
                                                   has_activations, true};

/* ---- per, biases ----------------------------------------------------------------------------- */

static enum pith_status read_per(struct pith_stage *s, const char *text,
                                 struct pith_stage_texts *texts, struct pith_error *err)
{
    (void)texts;
    bool channel = strcmp(text, "channel") == 0, tensor = strcmp(text, "tensor") == 0;
    if (!channel && !tensor && strcmp(text, "default") != 0)
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "'%.60s': give channel, tensor or default",
                               text);
    s->quantize.per_channel = channel;
    s->quantize.per_tensor = tensor;
    return PITH_OK;
}

static void print_per(const struct pith_stage *s, char *text, size_t room)
{
    const struct pith_quantize_opts *o = &s->quantize;
    bool per_tensor = o->per_tensor || (o->fixed_bits && !o->per_channel);
    snprintf(text, room, "%s", per_tensor ? "tensor" : "channel");
}

static bool has_per(const struct pith_stage *s)
{
    return s->quantize.per_tensor || s->quantize.per_channel;
}

static const struct pith_option_own per = {read_per, print_per, has_per, false};

static enum pith_status read_biases(struct pith_stage *s, const char *text,
                                    struct pith_stage_texts *texts, struct pith_error *err)
{
    static const struct pith_option row = {.kind = PITH_OPTION_FLAG};
    (void)texts;
    enum pith_status st = pith_option_read(&row, text, &s->quantize.bias_correct, err);
    if (!st)
        s->quantize.keep_biases = !s->quantize.bias_correct;
    return st;
}

static bool has_biases(const struct pith_stage *s)
{
    return s->quantize.bias_correct || s->quantize.keep_biases;
}

const struct pith_option_own pith_own_bias_correct = {read_biases, NULL, has_biases, false};

/* ---- patterns of layers ---------------------------------------------------------------------- */

static enum pith_status add_layer(const char *pattern, const char **list, uint32_t *n,
                                  struct pith_error *err)
{
    if (*n == PITH_STAGE_LAYERS)
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "'%.100s': given too often", pattern);
    list[(*n)++] = pattern;
    return PITH_OK;
}

static enum pith_status read_keep(struct pith_stage *s, const char *text,
                                  struct pith_stage_texts *texts, struct pith_error *err)
{
    (void)texts;
    return add_layer(text, s->keep, &s->quantize.n_keep, err);
}

static bool has_keep(const struct pith_stage *s)
{
    return s->quantize.n_keep > 0;
}

const struct pith_option_own pith_own_keep = {read_keep, NULL, has_keep, false};

/* ---- rows ------------------------------------------------------------------------------------ */

/* By the bits of a fixed-point number. */
static const struct pith_word targets[] = {{"int8", 0},      {"fixed:4", 4}, {"fixed:5", 5},
                                           {"fixed:6", 6},   {"fixed:7", 7}, {"fixed:8", 8},
                                           {"fixed:16", 16}, {NULL, 0}};
static const struct pith_word roundings[] = {{"default", PITH_ROUND_DEFAULT},
                                             {"nearest", PITH_ROUND_NEAREST},
                                             {"gptq", PITH_ROUND_GPTQ},
                                             {"adaptive", PITH_ROUND_ADAPTIVE},
                                             {NULL, 0}};
static const struct pith_word float_types[] = {
    {"auto", 0}, {"f32", PITH_F32}, {"f16", PITH_F16}, {"bf16", PITH_BF16}, {NULL, 0}};
static const struct pith_word whens[] = {
    {"auto", PITH_AUTO}, {"always", PITH_ALWAYS}, {"never", PITH_NEVER}, {NULL, 0}};
static const struct pith_word made_up[] = {{"none", 1}, {NULL, 0}};
static const char methods[] = "Methods";

static const struct pith_option rows[] = {
    PITH_ROW(WORD, "to", quantize.fixed_bits, "WHAT", "", .words = targets,
             .flags = PITH_OPTION_ALWAYS),
    PITH_OWN_ROW("weights", &weights, "B", "bits of a weight: 2 to 8, or 16 (default 8)",
                 .flags = PITH_OPTION_ALWAYS),
    PITH_OWN_ROW("activations", &activations, "B",
                 "bits of an activation: 2 to 8, or 16 (default 8)"),
    PITH_OWN_ROW("per", &per, "WHAT", "weight scale per channel (int8) or tensor (fixed)",
                 .flags = PITH_OPTION_ALWAYS),
    PITH_ROW(WORD, "rounding", quantize.rounding, "HOW", "default gptq with -d, else nearest",
             .words = roundings,
             .source = "Frantar et al., 2023, GPTQ; Nagel et al., 2020, AdaRound (adaptive)"),
    PITH_OWN_ROW("bias_correct", &pith_own_bias_correct, "true|false",
                 "bias correction (default: true with -d)", PITH_ADVANCED(methods),
                 .option = "keep-biases", .source = "Nagel et al., 2019, Data-free quantization"),
    PITH_ROW(FLAG, "same_bits", quantize.same_bits, NULL, "do not give small layers more bits",
             PITH_ADVANCED(methods)),
    PITH_ROW(CHOICE, "data", synthetic, NULL, NULL, .words = made_up, .flags = PITH_OPTION_RECIPE),
    PITH_ROW(FLAG, "equalize", equalize, NULL, "cross-layer equalization", PITH_ADVANCED(methods),
             .source = "Nagel et al., 2019, Data-free quantization"),
    PITH_ROW(SWITCH, "smooth", smooth, "WHEN", "SmoothQuant", PITH_ADVANCED(methods),
             .words = whens, .source = "Xiao et al., 2023, SmoothQuant"),
    PITH_ROW(FLAG, "all_integers", all_integers, NULL, "quantize sensitive layers, too"),
    PITH_ROW(WORD, "floats", floats, "TYPE", "storage type of float weights", .words = float_types),
    PITH_ROW(UINT, "samples", samples, "N", "fit to N samples of -d, spread (default 64)", .min = 1,
             .max = 1e9),
    PITH_OWN_ROW("keep", &pith_own_keep, "GLOB", "keep these layers in float"),
};
static const struct pith_option_set all = {rows, sizeof rows / sizeof *rows};

const struct pith_option_table pith_quantize_stage_options = {"quantize", {{&all, 0}, {NULL, 0}}};
