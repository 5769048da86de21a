/* SPDX-License-Identifier: MIT */
#include "prune_json.h"

#include <string.h>

#include "option_json.h"
#include "pattern_json.h"
#include "compress/stage/stage_rows.h"

/* ---- how much -------------------------------------------------------------------------------- */

/* One of sparsity, sigma and zeros. */
static enum pith_status choose(const struct json_place *p, struct pith_stage *s,
                               enum pith_prune_by by)
{
    return pith_prune_choose(s, by, NULL)
               ? pith_json_bad(p, "given alone: one of sparsity, sigma and zeros")
               : PITH_OK;
}

static enum pith_status read_sparsity(const struct json_place *p, json_t *v, struct pith_stage *s)
{
    enum pith_status st = pith_json_read_number(p, v, 0, 1, &s->prune.sparsity);
    return st ? st : choose(p, s, PITH_PRUNE_BY_SPARSITY);
}

static json_t *write_sparsity(const struct pith_stage *s)
{
    return json_real(s->prune.sparsity);
}

static enum pith_status read_sigma(const struct json_place *p, json_t *v, struct pith_stage *s)
{
    enum pith_status st = pith_json_read_number(p, v, 0, 100, &s->prune.sigma);
    return st ? st : choose(p, s, PITH_PRUNE_BY_SIGMA);
}

static json_t *write_sigma(const struct pith_stage *s)
{
    return json_real(s->prune.sigma);
}

static enum pith_status read_zeros(const struct json_place *p, json_t *v, struct pith_stage *s)
{
    return json_is_true(v) ? choose(p, s, PITH_PRUNE_BY_ZERO) : pith_json_bad(p, "true");
}

static json_t *write_zeros(const struct pith_stage *s)
{
    (void)s;
    return json_true();
}

/* ---- of layers ------------------------------------------------------------------------------- */

static enum pith_status read_prune_layer(const struct json_place *at, json_t *amount,
                                         struct pith_stage *s, uint32_t i)
{
    s->prune_layers[i].pattern = at->key;
    return pith_json_read_number(at, amount, 0, 1e6, &s->prune_layers[i].value);
}

static enum pith_status read_prune_layers(const struct json_place *p, json_t *v,
                                          struct pith_stage *s)
{
    s->prune.layers = s->prune_layers;
    return pith_json_read_patterns(p, v, read_prune_layer, s, &s->prune.n_layers);
}

static json_t *write_prune_layers(const struct pith_stage *s)
{
    json_t *layers = json_object();
    for (uint32_t i = 0; i < s->prune.n_layers; i++)
        pith_json_put(&layers, s->prune.layers[i].pattern, json_real(s->prune.layers[i].value));
    return layers;
}

/* ---- between steps --------------------------------------------------------------------------- */

/* What is trained after each step of a gradual prune. */
static enum pith_status read_training(const struct json_place *p, json_t *v, struct pith_stage *s)
{
    const char *key;
    json_t *member;
    if (!json_is_object(v))
        return pith_json_bad(p, "an object with the keys of 'train'");
    pith_prune_set_trains(s);
    json_object_foreach(v, key, member)
    {
        const struct json_place at = {p->where, key, p->err};
        enum pith_status st = strcmp(key, "seed") == 0
                                  ? pith_json_no_such_key(&at, "train")
                                  : pith_option_from_json(&at, member, PITH_STAGE_TRAIN, s);
        if (st)
            return st;
    }
    return PITH_OK;
}

static json_t *write_training(const struct pith_stage *s)
{
    struct pith_stage between = *s;
    json_t *train = json_object();
    between.seed = 0;
    pith_options_to_json(&between, PITH_STAGE_TRAIN, &train);
    return train;
}

const struct own_json pith_prune_own_json[] = {
    {&pith_own_sparsity, read_sparsity, write_sparsity},
    {&pith_own_sigma, read_sigma, write_sigma},
    {&pith_own_zeros, read_zeros, write_zeros},
    {&pith_own_prune_layers, read_prune_layers, write_prune_layers},
    {&pith_own_prune_train, read_training, write_training},
    {NULL, NULL, NULL}};
