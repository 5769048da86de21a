/* SPDX-License-Identifier: MIT */
#include "quantize_json.h"
#include <string.h>

static const struct pith_word per_words[] = {{"channel", 0}, {"tensor", 1}, {NULL, 0}};
static const struct pith_word rounding_words[] = {{"default", PITH_ROUND_DEFAULT},
                                                  {"nearest", PITH_ROUND_NEAREST},
                                                  {"feedback", PITH_ROUND_FEEDBACK},
                                                  {"adaptive", PITH_ROUND_ADAPTIVE},
                                                  {NULL, 0}};
static const struct pith_word float_words[] = {
    {"auto", 0}, {"f32", PITH_F32}, {"f16", PITH_F16}, {"bf16", PITH_BF16}, {NULL, 0}};
/* By the bits of a fixed-point number. */
static const struct pith_word to_words[] = {{"int8", 0},      {"fixed:4", 4}, {"fixed:5", 5},
                                            {"fixed:6", 6},   {"fixed:7", 7}, {"fixed:8", 8},
                                            {"fixed:16", 16}, {NULL, 0}};

static enum pith_status read_flag(const struct json_place *p, const json_t *v, bool *flag)
{
    *flag = json_is_true(v);
    return json_is_boolean(v) ? PITH_OK : pith_json_bad(p, "true or false");
}

static enum pith_status read_when(const struct json_place *p, const json_t *v, enum pith_when *when)
{
    bool always = false;
    enum pith_status st = read_flag(p, v, &always);
    *when = always ? PITH_ALWAYS : PITH_NEVER;
    return st;
}

static void put_when(json_t **j, const char *key, enum pith_when when)
{
    if (when != PITH_AUTO)
        pith_json_put(j, key, json_boolean(when == PITH_ALWAYS));
}

/* list: room for PITH_STAGE_LAYERS */
static enum pith_status read_layers(const struct json_place *p, json_t *v, const char **list,
                                    uint32_t *n)
{
    json_t *name;
    size_t i;
    if (!json_is_array(v) || json_array_size(v) > PITH_STAGE_LAYERS)
        return pith_json_bad(p, "a list of at most 64 layer patterns");
    json_array_foreach(v, i, name)
    {
        if (!json_is_string(name))
            return pith_json_bad(p, "a list of layer patterns");
        list[i] = json_string_value(name);
    }
    *n = (uint32_t)json_array_size(v);
    return PITH_OK;
}

/* The same, or "auto". */
static enum pith_status read_auto(const struct json_place *p, json_t *v, bool *automatic,
                                  const char **list, uint32_t *n)
{
    *automatic = json_is_string(v) && strcmp(json_string_value(v), "auto") == 0;
    return *automatic ? PITH_OK : read_layers(p, v, list, n);
}

enum pith_status pith_quantize_key_from_json(const struct json_place *p, json_t *v,
                                             struct pith_stage *s)
{
    int word = 0;
    enum pith_status st;
    if (strcmp(p->key, "to") == 0) {
        st = pith_json_read_word(p, v, to_words, &word);
        s->quantize.fixed_bits = (uint32_t)word;
        return st;
    }
    if (strcmp(p->key, "weights") == 0)
        return pith_json_read_uint(p, v, 2, 16, &s->quantize.weight_bits);
    if (strcmp(p->key, "activations") == 0)
        return pith_json_read_uint(p, v, 2, 16, &s->quantize.activation_bits);
    if (strcmp(p->key, "halves") == 0)
        return read_auto(p, v, &s->halves_auto, s->halved, &s->quantize.n_halved);
    if (strcmp(p->key, "samples") == 0)
        return pith_json_read_uint(p, v, 1, 1e9, &s->samples);
    if (strcmp(p->key, "floats") == 0) {
        st = pith_json_read_word(p, v, float_words, &word);
        s->floats = (enum pith_type)word;
        return st;
    }
    if (strcmp(p->key, "keep") == 0)
        return read_layers(p, v, s->keep, &s->quantize.n_keep);
    if (strcmp(p->key, "fine") == 0)
        return read_auto(p, v, &s->fine_auto, s->fine, &s->quantize.n_fine);
    if (strcmp(p->key, "data") == 0) {
        s->synthetic = json_is_string(v) && strcmp(json_string_value(v), "none") == 0;
        return s->synthetic ? PITH_OK : pith_json_bad(p, "\"none\"");
    }
    if (strcmp(p->key, "equalize") == 0)
        return read_flag(p, v, &s->equalize);
    if (strcmp(p->key, "smooth") == 0)
        return read_when(p, v, &s->smooth);
    if (strcmp(p->key, "absorb") == 0)
        return read_flag(p, v, &s->absorb);
    if (strcmp(p->key, "all_integers") == 0)
        return read_flag(p, v, &s->all_integers);
    if (strcmp(p->key, "reestimate") == 0)
        return read_when(p, v, &s->reestimate);
    if (strcmp(p->key, "blocks") == 0)
        return read_flag(p, v, &s->blocks);
    if (strcmp(p->key, "same_bits") == 0)
        return read_flag(p, v, &s->quantize.same_bits);
    if (strcmp(p->key, "bias_correct") == 0) {
        st = read_flag(p, v, &s->quantize.bias_correct);
        s->quantize.keep_biases = !s->quantize.bias_correct;
        return st;
    }
    if (strcmp(p->key, "per") == 0) {
        st = pith_json_read_word(p, v, per_words, &word);
        s->quantize.per_tensor = word != 0;
        s->quantize.per_channel = word == 0;
        return st;
    }
    if (strcmp(p->key, "rounding") == 0) {
        st = pith_json_read_word(p, v, rounding_words, &word);
        s->quantize.rounding = (enum pith_rounding)word;
        return st;
    }
    return pith_json_no_such_key(p, "quantize");
}

static void put_layers(json_t **j, const char *key, const char *const *layer, uint32_t n)
{
    json_t *list = n ? json_array() : NULL;
    for (uint32_t i = 0; i < n; i++)
        pith_json_append(&list, json_string(layer[i]));
    if (n)
        pith_json_put(j, key, list);
}

static void put_auto(json_t **j, const char *key, bool automatic, const char *const *layer,
                     uint32_t n)
{
    if (automatic)
        pith_json_put(j, key, json_string("auto"));
    else
        put_layers(j, key, layer, n);
}

json_t *pith_quantize_to_json(const struct pith_stage *s)
{
    const struct pith_quantize_opts *o = &s->quantize;
    bool per_tensor = o->per_tensor || (o->fixed_bits && !o->per_channel);
    json_t *j = json_pack("{ss}", "do", "quantize");
    pith_json_put(&j, "to", json_string(pith_json_word_of(to_words, (int)o->fixed_bits)));
    pith_json_put(&j, "weights", json_integer(pith_weight_bits(o)));
    if (pith_activation_bits(o) != 8)
        pith_json_put(&j, "activations", json_integer(pith_activation_bits(o)));
    pith_json_put(&j, "per", json_string(pith_json_word_of(per_words, per_tensor)));
    if (o->rounding)
        pith_json_put(&j, "rounding",
                      json_string(pith_json_word_of(rounding_words, (int)o->rounding)));
    if (o->bias_correct || o->keep_biases)
        pith_json_put(&j, "bias_correct", json_boolean(o->bias_correct));
    put_when(&j, "reestimate", s->reestimate);
    if (s->blocks)
        pith_json_put(&j, "blocks", json_true());
    if (o->same_bits)
        pith_json_put(&j, "same_bits", json_true());
    if (s->synthetic)
        pith_json_put(&j, "data", json_string("none"));
    if (s->equalize)
        pith_json_put(&j, "equalize", json_true());
    put_when(&j, "smooth", s->smooth);
    if (s->absorb)
        pith_json_put(&j, "absorb", json_true());
    if (s->all_integers)
        pith_json_put(&j, "all_integers", json_true());
    if (s->floats)
        pith_json_put(&j, "floats", json_string(pith_json_word_of(float_words, (int)s->floats)));
    if (s->samples)
        pith_json_put(&j, "samples", json_integer(s->samples));
    put_layers(&j, "keep", s->keep, o->n_keep);
    put_auto(&j, "halves", s->halves_auto, s->halved, o->n_halved);
    put_auto(&j, "fine", s->fine_auto, s->fine, o->n_fine);
    return j;
}
