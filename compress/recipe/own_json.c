/* SPDX-License-Identifier: MIT */
#include "own_json.h"

#include <string.h>

#include "pattern_json.h"
#include "prune_json.h"
#include "compress/stage/stage_rows.h"

/* ---- patterns of layers ---------------------------------------------------------------------- */

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

static json_t *write_layers(const char *const *layer, uint32_t n)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < n; i++)
        pith_json_append(&list, json_string(layer[i]));
    return list;
}

static enum pith_status read_keep(const struct json_place *p, json_t *v, struct pith_stage *s)
{
    return read_layers(p, v, s->keep, &s->quantize.n_keep);
}

static json_t *write_keep(const struct pith_stage *s)
{
    return write_layers(s->keep, s->quantize.n_keep);
}

static enum pith_status read_biases(const struct json_place *p, json_t *v, struct pith_stage *s)
{
    if (!json_is_boolean(v))
        return pith_json_bad(p, "true or false");
    s->quantize.bias_correct = json_is_true(v);
    s->quantize.keep_biases = !s->quantize.bias_correct;
    return PITH_OK;
}

static json_t *write_biases(const struct pith_stage *s)
{
    return json_boolean(s->quantize.bias_correct);
}

/* ---- bits of layers -------------------------------------------------------------------------- */

static enum pith_status read_cluster_layer(const struct json_place *at, json_t *amount,
                                           struct pith_stage *s, uint32_t i)
{
    uint32_t bits = 0;
    enum pith_status st = pith_json_read_uint(at, amount, 0, 8, &bits);
    s->cluster_layers[i] = (struct pith_cluster_size){at->key, bits ? 1u << bits : 0};
    return st;
}

static enum pith_status read_cluster_layers(const struct json_place *p, json_t *v,
                                            struct pith_stage *s)
{
    s->cluster.layers = s->cluster_layers;
    return pith_json_read_patterns(p, v, read_cluster_layer, s, &s->cluster.n_layers);
}

static json_t *write_cluster_layers(const struct pith_stage *s)
{
    json_t *layers = json_object();
    for (uint32_t i = 0; i < s->cluster.n_layers; i++) {
        uint32_t k = s->cluster.layers[i].n_centroids;
        pith_json_put(&layers, s->cluster.layers[i].pattern,
                      json_integer(k ? __builtin_ctz(k) : 0));
    }
    return layers;
}

/* ---- all of them ----------------------------------------------------------------------------- */

const struct own_json *pith_own_json(const struct pith_option_own *own)
{
    static const struct own_json all[] = {
        {&pith_own_keep, read_keep, write_keep},
        {&pith_own_bias_correct, read_biases, write_biases},
        {&pith_own_cluster_layers, read_cluster_layers, write_cluster_layers}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].own == own)
            return &all[i];
    for (const struct own_json *p = pith_prune_own_json; p->own; p++)
        if (p->own == own)
            return p;
    return NULL;
}
