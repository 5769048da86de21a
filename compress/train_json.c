/* SPDX-License-Identifier: MIT */
/* What `train` takes, as JSON keys: one table for reading and writing. Written is what always
 * matters and what is not as it is by default. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "train_json.h"

enum kind { UINT, FLOAT, DOUBLE, WORD };

struct train_key {
    const char *key;
    enum kind kind;
    size_t offset; /* in struct pith_train_opts */
    double min, max;
    const struct json_word *words;
    bool always; /* written also when it is the default */
};

static const struct json_word optimizer_words[] = {{"adam", PITH_ADAM},
                                                   {"adamw", PITH_ADAMW},
                                                   {"sgd", PITH_SGD},
                                                   {"nesterov", PITH_NESTEROV},
                                                   {NULL, 0}};
static const struct json_word schedule_words[] = {{"cosine", PITH_COSINE},
                                                  {"constant", PITH_CONSTANT},
                                                  {"steps", PITH_STEPS},
                                                  {"one-cycle", PITH_ONE_CYCLE},
                                                  {NULL, 0}};
static const struct json_word loss_words[] = {{"classes", PITH_CROSS_ENTROPY},
                                              {"squares", PITH_SQUARED_ERROR},
                                              {"distill", PITH_DISTILL},
                                              {NULL, 0}};
static const struct json_word units_words[] = {
    {"stay", PITH_UNITS_STAY}, {"drop", PITH_UNITS_DROP}, {NULL, 0}};
static const struct json_word norms_words[] = {
    {"stay", PITH_NORMS_STAY}, {"fold", PITH_NORMS_FOLD}, {NULL, 0}};
static const struct json_word step_by_words[] = {{"mean", PITH_STEP_BY_MEAN},
                                                 {"tensor", PITH_STEP_BY_TENSOR},
                                                 {"row", PITH_STEP_BY_ROW},
                                                 {NULL, 0}};
static const struct json_word score_words[] = {{"rate", PITH_SCORE_RATE},
                                               {"fisher", PITH_SCORE_FISHER},
                                               {"magnitude", PITH_SCORE_MAGNITUDE},
                                               {"gates", PITH_SCORE_GATES},
                                               {"variational", PITH_SCORE_VARIATIONAL},
                                               {NULL, 0}};

#define AT(member) offsetof(struct pith_train_opts, member)
static const struct train_key keys[] = {
    {"epochs", UINT, AT(epochs), 1, 100000, NULL, true},
    {"batch", UINT, AT(batch), 8, 65536, NULL, true},
    {"lr", FLOAT, AT(rate), 1e-30, 1e30, NULL, true},
    {"optimizer", WORD, AT(optimizer), 0, 0, optimizer_words, true},
    {"schedule", WORD, AT(schedule), 0, 0, schedule_words, true},
    {"warm_up", FLOAT, AT(warm_up), 0, 1, NULL, false},
    {"step_factor", FLOAT, AT(step_factor), 0, 1, NULL, false},
    {"momentum", FLOAT, AT(momentum), 0, 1, NULL, false},
    {"beta1", FLOAT, AT(beta1), 0, 1, NULL, false},
    {"beta2", FLOAT, AT(beta2), 0, 1, NULL, false},
    {"weight_decay", FLOAT, AT(weight_decay), 0, 10, NULL, false},
    {"clip", FLOAT, AT(clip_norm), 0, 1e9, NULL, false},
    {"average", FLOAT, AT(average), 0, 1, NULL, false},
    {"patience", UINT, AT(patience), 0, 100000, NULL, false},
    {"units", WORD, AT(units), 0, 0, units_words, false},
    {"norms", WORD, AT(norms), 0, 0, norms_words, false},
    {"versions", UINT, AT(versions), 0, 100000, NULL, false},
    {"loss", WORD, AT(loss), 0, 0, loss_words, false},
    {"smoothing", FLOAT, AT(smoothing), 0, 1, NULL, false},
    {"temperature", FLOAT, AT(temperature), 0.01, 1000, NULL, false},
    {"teacher_part", FLOAT, AT(teacher_part), 0, 1, NULL, false},
    {"sparsity", DOUBLE, AT(sparsity), 0, 0.999999, NULL, false},
    {"keep_weights", UINT, AT(keep_weights), 0, 4e9, NULL, false},
    {"score", WORD, AT(score), 0, 0, score_words, false},
    {"prune_until", FLOAT, AT(prune_until), 0, 1, NULL, false},
    {"prune_power", FLOAT, AT(prune_power), 0.01, 100, NULL, false},
    {"prune_every", UINT, AT(prune_every), 1, 1e6, NULL, false},
    {"regrow", FLOAT, AT(regrow), 0, 1, NULL, false},
    {"noise_weight", FLOAT, AT(noise_weight), 0, 1e6, NULL, false},
    {"softness", FLOAT, AT(softness), 0, 1000, NULL, false},
    {"levels", UINT, AT(levels), 0, 127, NULL, false},
    {"bias_levels", UINT, AT(bias_levels), 0, 127, NULL, false},
    {"feedback", UINT, AT(feedback), 0, 1e9, NULL, false},
    {"first_step", FLOAT, AT(first_step), 1e-6, 1e6, NULL, false},
    {"feedback_loss", FLOAT, AT(feedback_loss), 0, 1, NULL, false},
    {"step_by", WORD, AT(step_by), 0, 0, step_by_words, false},
    {"dampening", FLOAT, AT(dampening), 0, 1, NULL, false},
    {"step_power", FLOAT, AT(step_power), 0, 1, NULL, false},
    {"rate_weight", FLOAT, AT(rate_weight), 0, 1e6, NULL, false},
    {"rate_ramp", FLOAT, AT(rate_ramp), 0, 1, NULL, false},
};
enum { N_KEYS = sizeof keys / sizeof *keys };

/* ---- in -------------------------------------------------------------------------------------- */

static enum pith_status read_key(const struct json_place *p, const json_t *v,
                                 const struct train_key *k, struct pith_train_opts *o)
{
    void *at = (char *)o + k->offset;
    double number = 0;
    int word = 0;
    enum pith_status st;
    switch (k->kind) {
    case UINT:
        return pith_json_read_uint(p, v, k->min, k->max, at);
    case DOUBLE:
        return pith_json_read_number(p, v, k->min, k->max, at);
    case FLOAT:
        st = pith_json_read_number(p, v, k->min, k->max, &number);
        if (!st)
            *(float *)at = (float)number;
        return st;
    case WORD:
        break;
    }
    st = pith_json_read_word(p, v, k->words, &word);
    if (!st)
        memcpy(at, &word, sizeof word); /* every enum of ours is as large as an int */
    return st;
}

bool pith_train_set_word(struct pith_train_opts *o, const char *key, const char *word)
{
    for (uint32_t i = 0; i < N_KEYS; i++)
        for (const struct json_word *w = keys[i].words; w && w->text; w++)
            if (strcmp(keys[i].key, key) == 0 && strcmp(w->text, word) == 0) {
                memcpy((char *)o + keys[i].offset, &w->value, sizeof w->value);
                return true;
            }
    return false;
}

static enum pith_status read_hint(const struct json_place *p, json_t *object,
                                  struct pith_train_hint *h)
{
    const char *key;
    json_t *v;
    double weight = 0;
    *h = (struct pith_train_hint){0};
    json_object_foreach(object, key, v)
    {
        const struct json_place at = {p->where, key, p->err};
        enum pith_status st = PITH_OK;
        if (strcmp(key, "student") == 0)
            h->student = json_string_value(v);
        else if (strcmp(key, "teacher") == 0)
            h->teacher = json_string_value(v);
        else if (strcmp(key, "weight") == 0)
            st = pith_json_read_number(&at, v, 0, 1e9, &weight);
        else
            return pith_json_no_such_key(&at, "hints");
        if (st)
            return st;
    }
    h->weight = (float)weight;
    if (!h->teacher)
        h->teacher = h->student;
    return h->student && h->weight > 0 ? PITH_OK
                                       : pith_json_bad(p, "a list of {student, teacher, weight}");
}

static enum pith_status read_hints(const struct json_place *p, json_t *list, struct pith_stage *s)
{
    size_t n = json_array_size(list);
    if (n == 0 || n > PITH_STAGE_HINTS)
        return pith_json_bad(p, "a list of 1 to 16 hints");
    for (s->train.n_hints = 0; s->train.n_hints < n; s->train.n_hints++) {
        enum pith_status st =
            read_hint(p, json_array_get(list, s->train.n_hints), &s->hints[s->train.n_hints]);
        if (st)
            return st;
    }
    return PITH_OK;
}

enum pith_status pith_train_key_from_json(const struct json_place *p, json_t *v,
                                          struct pith_stage *s)
{
    static const struct json_word keep_words[] = {{"best", 1}, {"last", 0}, {NULL, 0}};
    int best = 1;
    enum pith_status st;
    for (uint32_t i = 0; i < N_KEYS; i++)
        if (strcmp(p->key, keys[i].key) == 0)
            return read_key(p, v, &keys[i], &s->train);
    if (strcmp(p->key, "augment") == 0) {
        s->train.augment = json_string_value(v);
        return s->train.augment ? PITH_OK : pith_json_bad(p, "a text such as shift=2,rotate=7");
    }
    if (strcmp(p->key, "teacher") == 0) {
        s->teacher = json_string_value(v);
        return s->teacher ? PITH_OK : pith_json_bad(p, "\"start\" or the name of a file");
    }
    if (strcmp(p->key, "quantize") == 0) {
        struct pith_integer_spec spec;
        s->integers = json_string_value(v);
        return s->integers && pith_integer_spec_parse(s->integers, &spec)
                   ? PITH_OK
                   : pith_json_bad(p, "a text such as int8, w4a4, ternary, fixed:8");
    }
    if (strcmp(p->key, "start") == 0)
        return pith_json_read_uint(p, v, 0, PITH_STAGE_STEPS, &s->start);
    if (strcmp(p->key, "until_drop") == 0)
        return pith_json_read_percent(p, v, &s->until_drop);
    if (strcmp(p->key, "hints") == 0)
        return read_hints(p, v, s);
    if (strcmp(p->key, "keep") == 0) {
        st = pith_json_read_word(p, v, keep_words, &best);
        s->train.keep_best = best != 0;
        return st;
    }
    if (strcmp(p->key, "seed") == 0)
        return pith_json_read_seed(p, v, &s->seed);
    return pith_json_no_such_key(p, "train");
}

/* ---- out ------------------------------------------------------------------------------------- */

/* The number with the fewest digits that is f in float: 0.001, not 0.0010000000474974513. */
static json_t *float_to_json(float f)
{
    char text[32];
    double d = (double)f;
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)f);
        d = strtod(text, NULL);
        if ((float)d == f)
            break;
    }
    return json_real(d);
}

static bool is_default(const struct train_key *k, const struct pith_train_opts *o)
{
    struct pith_train_opts normal;
    size_t bytes = k->kind == DOUBLE ? sizeof(double) : sizeof(uint32_t);
    pith_train_opts_init(&normal, sizeof normal);
    return memcmp((const char *)o + k->offset, (const char *)&normal + k->offset, bytes) == 0;
}

static json_t *value_to_json(const struct train_key *k, const struct pith_train_opts *o)
{
    const char *at = (const char *)o + k->offset;
    uint32_t uint;
    double number;
    float real;
    switch (k->kind) {
    case UINT:
        memcpy(&uint, at, sizeof uint);
        return json_integer(uint);
    case DOUBLE:
        memcpy(&number, at, sizeof number);
        return json_real(number);
    case FLOAT:
        memcpy(&real, at, sizeof real);
        return float_to_json(real);
    case WORD:
        break;
    }
    memcpy(&uint, at, sizeof uint);
    return json_string(pith_json_word_of(k->words, (int)uint));
}

static json_t *hints_to_json(const struct pith_stage *s)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < s->train.n_hints; i++) {
        const struct pith_train_hint *h = &s->hints[i];
        json_t *hint = json_pack("{ss,ss}", "student", h->student, "teacher", h->teacher);
        pith_json_put(&hint, "weight", float_to_json(h->weight));
        pith_json_append(&list, hint);
    }
    return list;
}

void pith_train_keys_to_json(const struct pith_stage *s, json_t **object)
{
    const struct pith_train_opts *o = &s->train;
    char percent[48];
    for (uint32_t i = 0; i < N_KEYS; i++)
        if (keys[i].always || !is_default(&keys[i], o))
            pith_json_put(object, keys[i].key, value_to_json(&keys[i], o));
    if (o->augment)
        pith_json_put(object, "augment", json_string(o->augment));
    if (s->teacher)
        pith_json_put(object, "teacher", json_string(s->teacher));
    if (s->integers)
        pith_json_put(object, "quantize", json_string(s->integers));
    if (s->start)
        pith_json_put(object, "start", json_integer(s->start));
    if (o->n_hints)
        pith_json_put(object, "hints", hints_to_json(s));
    if (s->until_drop >= 0) {
        snprintf(percent, sizeof percent, "%.15g%%", s->until_drop * 100);
        pith_json_put(object, "until_drop", json_string(percent));
    }
    if (!o->keep_best)
        pith_json_put(object, "keep", json_string("last"));
    if (s->seed)
        pith_json_put(object, "seed", json_integer((json_int_t)s->seed));
}
