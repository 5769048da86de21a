/* SPDX-License-Identifier: MIT */
/* recipe_make.c - stages from lines of KEY=VALUE, in which requested options replace those of the
 * lines: the same key, and keys that it cannot go with (column `without` of either row). */
#include "recipe_make.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_fill.h"

/* What is done without a preset, as far as it is wanted. */
static const char classic[] = "prune\ntrain\ncluster bits=8\ncalibrate\nquantize\nencode";

/* ---- requested options ----------------------------------------------------------------------- */

enum pith_status pith_request_option(struct pith_requested_options *requested,
                                     enum pith_stage_kind kind, const char *key, const char *text,
                                     struct pith_error *err)
{
    struct pith_stage alone; /* whether they fit each other is checked when all are there */
    struct pith_stage_texts *texts = calloc(1, sizeof *texts);
    if (!texts)
        return pith_error_no_memory(err);
    pith_stage_init(&alone, kind);
    enum pith_status st = pith_stage_set(&alone, key, text, texts, err);
    free(texts);
    if (!st && (requested->n == PITH_MAX_REQUESTED || strlen(key) >= PITH_REQUESTED_KEY_BYTES))
        st = pith_error_fill(err, PITH_ERR_ARGUMENT, "'%.60s': too many options of stages", text);
    if (st)
        return st;
    requested->option[requested->n].kind = kind;
    requested->option[requested->n].text = text;
    snprintf(requested->option[requested->n++].key, PITH_REQUESTED_KEY_BYTES, "%s", key);
    return PITH_OK;
}

bool pith_is_requested(const struct pith_requested_options *requested, enum pith_stage_kind kind)
{
    for (uint32_t i = 0; i < requested->n; i++)
        if (requested->option[i].kind == kind)
            return true;
    return false;
}

bool pith_requests_lossless(const struct pith_requested_options *requested)
{
    struct pith_error unused;
    struct pith_stage encode;
    pith_stage_init(&encode, PITH_STAGE_ENCODE);
    for (uint32_t i = 0; i < requested->n; i++)
        if (requested->option[i].kind == PITH_STAGE_ENCODE &&
            strcmp(requested->option[i].key, "lossless") == 0)
            pith_stage_set(&encode, "lossless", requested->option[i].text, NULL, &unused);
    return encode.encode.lossless;
}

/* ---- what gives way -------------------------------------------------------------------------- */

/* Whether a list "a|b=word|c" has the key; those that hold for some words only do not count. */
static bool lists(const char *keys, const char *key)
{
    size_t n = strlen(key);
    if (!keys || strstr(keys, ": "))
        return false;
    for (const char *p = keys; p; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL)
        if (strncmp(p, key, n) == 0 && (p[n] == '|' || p[n] == '\0'))
            return true;
    return false;
}

/* The part behind "train.". */
static const char *last_part(const char *key)
{
    const char *dot = strchr(key, '.');
    return dot ? dot + 1 : key;
}

/* Two keys of one stage that cannot both be set. */
static bool excludes(enum pith_stage_kind kind, const char *a, const char *b)
{
    const struct pith_option *one = pith_stage_option(kind, a, strlen(a), NULL);
    const struct pith_option *other = pith_stage_option(kind, b, strlen(b), NULL);
    bool same_table = (last_part(a) == a) == (last_part(b) == b);
    return one == other || (one && other && same_table &&
                            (lists(one->without, other->key) || lists(other->without, one->key)));
}

static bool gives_way(const struct pith_requested_options *said, enum pith_stage_kind kind,
                      const char *key)
{
    for (uint32_t i = 0; i < said->n; i++)
        if (said->option[i].kind == kind && excludes(kind, said->option[i].key, key))
            return true;
    return false;
}

/* ---- stages from lines ----------------------------------------------------------------------- */

/* Copies the next of the words that blanks part, moves *text behind it. false: the line ends. */
static bool next_word(const char **text, char *word, size_t room)
{
    *text += strspn(*text, " ");
    size_t n = strcspn(*text, " \n");
    snprintf(word, room, "%.*s", (int)n, *text);
    *text += n;
    return n > 0;
}

static enum pith_status set_pair(struct pith_stage *s, char *pair,
                                 const struct pith_requested_options *said,
                                 struct pith_stage_texts *texts, struct pith_error *err)
{
    char *equals = strchr(pair, '=');
    *equals = '\0';
    if (gives_way(said, s->kind, pair))
        return PITH_OK;
    if (texts->n == PITH_STAGE_TEXTS)
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "too many texts");
    char *kept = texts->text[texts->n++];
    snprintf(kept, PITH_STAGE_TEXT_BYTES, "%s", equals + 1);
    return pith_stage_set(s, pair, kept, texts, err);
}

/* Without a preset: whether a stage is there. */
static bool wanted(const struct pith_requested_options *requested, enum pith_stage_kind kind)
{
    return kind == PITH_STAGE_ENCODE || pith_is_requested(requested, kind) ||
           (kind == PITH_STAGE_CLUSTER && !pith_is_requested(requested, PITH_STAGE_QUANTIZE) &&
            !pith_requests_lossless(requested));
}

static enum pith_status add_stage(const char *line, const struct pith_requested_options *said,
                                  bool always, struct pith_recipe *r, struct pith_error *err)
{
    char word[PITH_STAGE_TEXT_BYTES];
    next_word(&line, word, sizeof word);
    enum pith_stage_kind kind = pith_stage_named(word, strlen(word));
    if (!always && !wanted(said, kind))
        return PITH_OK;
    struct pith_stage *s = &r->stages[r->n_stages++];
    enum pith_status st = PITH_OK;
    pith_stage_init(s, kind);
    while (!st && next_word(&line, word, sizeof word))
        st = set_pair(s, word, said, r->texts, err);
    return st;
}

static bool has_stage(const struct pith_recipe *r, enum pith_stage_kind kind)
{
    for (uint32_t i = 0; i < r->n_stages; i++)
        if (r->stages[i].kind == kind)
            return true;
    return false;
}

static uint32_t count_lines(const char *text)
{
    uint32_t n = 1;
    while ((text = strchr(text, '\n')))
        n++, text++;
    return n;
}

static enum pith_status from_lines(const char *lines, const char *preset,
                                   const struct pith_requested_options *said, struct pith_recipe *r,
                                   struct pith_error *err)
{
    enum pith_status st = PITH_OK;
    r->stages = calloc(count_lines(lines), sizeof *r->stages);
    r->texts = calloc(1, sizeof *r->texts);
    if (!r->stages || !r->texts)
        return pith_error_no_memory(err);
    for (const char *p = lines; p && !st; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
        st = add_stage(p, said, preset != NULL, r, err);
    for (uint32_t i = 0; i < said->n && !st; i++)
        if (!has_stage(r, said->option[i].kind))
            st = pith_error_fill(err, PITH_ERR_ARGUMENT, "preset %s has no stage '%s'", preset,
                                 pith_stage_name(said->option[i].kind));
    return st;
}

static enum pith_status no_such_preset(const char *name, struct pith_error *err)
{
    char known[160] = "";
    const struct pith_preset *p;
    for (uint32_t i = 0; (p = pith_preset_row(i)); i++) {
        size_t n = strlen(known);
        snprintf(known + n, sizeof known - n, "%s%s",
                 i == 0                   ? ""
                 : pith_preset_row(i + 1) ? ", "
                                          : " or ",
                 p->name);
    }
    return pith_error_fill(err, PITH_ERR_ARGUMENT, "no preset '%.60s': give %s", name, known);
}

enum pith_status pith_preset_stages(const char *preset, const struct pith_requested_options *said,
                                    struct pith_recipe *r, struct pith_error *err)
{
    const struct pith_preset *p;
    for (uint32_t i = 0; (p = pith_preset_row(i)); i++)
        if (strcmp(p->name, preset) == 0)
            return from_lines(p->stages, preset, said, r, err);
    return no_such_preset(preset, err);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static enum pith_status set_requested(struct pith_stage *s,
                                      const struct pith_requested_options *requested,
                                      struct pith_stage_texts *texts, struct pith_error *err)
{
    struct pith_error why = {0};
    char misfit[PITH_CONFLICT_BYTES];
    for (uint32_t i = 0; i < requested->n; i++)
        if (requested->option[i].kind == s->kind &&
            pith_stage_set(s, requested->option[i].key, requested->option[i].text, texts, &why))
            return pith_error_fill(err, PITH_ERR_ARGUMENT, "%s: %s %s", pith_stage_name(s->kind),
                                   requested->option[i].key, why.text);
    if (pith_stage_conflict(s, false, misfit))
        return pith_error_fill(err, PITH_ERR_ARGUMENT, "%s: %s", pith_stage_name(s->kind), misfit);
    return PITH_OK;
}

enum pith_status pith_recipe_make(const char *preset,
                                  const struct pith_requested_options *requested,
                                  struct pith_recipe **recipe, struct pith_error *err)
{
    struct pith_recipe *r = calloc(1, sizeof *r);
    if (!r)
        return pith_error_no_memory(err);
    r->goal.max_drop = -1;
    enum pith_status st = preset ? pith_preset_stages(preset, requested, r, err)
                                 : from_lines(classic, NULL, requested, r, err);
    for (uint32_t i = 0; i < r->n_stages && !st; i++)
        st = set_requested(&r->stages[i], requested, r->texts, err);
    if (st)
        pith_recipe_free(r);
    else
        *recipe = r;
    return st;
}

static void copy_goal(const struct pith_option *o, const struct pith_stage *from, size_t at,
                      struct pith_stage *to)
{
    char text[PITH_STAGE_TEXT_BYTES];
    if (o->kind != PITH_OPTION_OWN) {
        pith_option_copy(o, (const char *)from + at, (char *)to + at);
        return;
    }
    o->own->print(from, text, sizeof text);
    (void)o->own->read(to, text, NULL, NULL); /* takes what it prints */
}

void pith_recipe_set_goal(struct pith_recipe *recipe, const struct pith_stage *requested)
{
    const struct pith_option_table *table = pith_stage_options(PITH_STAGE_COMPRESS);
    const struct pith_option *o;
    struct pith_stage all;
    size_t at;
    pith_stage_init(&all, PITH_STAGE_COMPRESS);
    all.goal = recipe->goal;
    for (uint32_t i = 0; (o = pith_option_row(table, i, &at)); i++)
        if (o->flags & PITH_OPTION_GOAL && pith_stage_given(requested, o, at))
            copy_goal(o, requested, at, &all);
    recipe->goal = all.goal;
}
