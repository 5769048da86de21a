/* SPDX-License-Identifier: MIT */
/* feed_options.c - which file feeds which input: first what is named, then the rest in order. */
#include "feed_options.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "array_files.h"
#include "base/error_fill.h"
#include "data_check.h"
#include "feed_sizes.h"
#include "core/tensor.h"
#include "host/generator.h"
#include "pith_host.h"

static bool find_value(const struct pith_model *m, const uint32_t *list, uint32_t n,
                       const char *name, size_t bytes, uint32_t *at)
{
    char digits[16];
    uint64_t number;
    for (uint32_t i = 0; i < n; i++) {
        const char *has = m->values[list[i]].name;
        if (bytes > 0 && strlen(has) == bytes && memcmp(has, name, bytes) == 0) {
            *at = i;
            return true;
        }
    }
    if (bytes == 0 || bytes >= sizeof digits)
        return false;
    memcpy(digits, name, bytes);
    digits[bytes] = '\0';
    if (!pith_parse_uint(digits, &number) || number >= n)
        return false;
    *at = (uint32_t)number;
    return true;
}

bool cli_find_input(const struct pith_model *m, const char *name, size_t bytes, uint32_t *input)
{
    return find_value(m, m->inputs, m->n_inputs, name, bytes, input);
}

bool cli_find_output(const struct pith_model *m, const char *name, size_t bytes, uint32_t *output)
{
    return find_value(m, m->outputs, m->n_outputs, name, bytes, output);
}

static enum cli_exit take(struct cli_feed *f, uint32_t input, const char *text)
{
    if (f->taken[input]) {
        cli_error("%s: input %u of the model is given already", text, input);
        return EXIT_USAGE;
    }
    f->taken[input] = true;
    return EXIT_DONE;
}

/* ---- states ---------------------------------------------------------------------------------- */

/* OUT=IN[@FILE]; names may hold '=' and '@' themselves, so every split is tried. */
static bool split_state(const struct pith_model *m, const char *text, struct pith_state *s,
                        const char **file)
{
    for (const char *eq = strchr(text, '='); eq; eq = strchr(eq + 1, '=')) {
        if (!cli_find_output(m, text, (size_t)(eq - text), &s->output))
            continue;
        *file = NULL;
        if (cli_find_input(m, eq + 1, strlen(eq + 1), &s->input))
            return true;
        for (const char *at = strchr(eq + 1, '@'); at; at = strchr(at + 1, '@')) {
            *file = at + 1;
            if (cli_find_input(m, eq + 1, (size_t)(at - eq - 1), &s->input))
                return true;
        }
    }
    return false;
}

static enum cli_exit open_state(const char *text, const struct pith_model *m, struct cli_feed *f)
{
    struct pith_state *s = &f->state[f->feed.n_states];
    const char *file;
    enum cli_exit rc;
    if (!split_state(m, text, s, &file)) {
        cli_error(
            "--state '%s': not OUT=IN[@NPY] with an output and an input of the model (see pith "
            "info)",
            text);
        return EXIT_USAGE;
    }
    rc = take(f, s->input, text);
    if (!rc && file)
        rc = cli_read_array(file, &m->values[m->inputs[s->input]], 1, &f->first[f->feed.n_states]);
    s->first = f->first[f->feed.n_states++];
    return rc;
}

/* ---- data and operands ----------------------------------------------------------------------- */

#define NO_INPUT UINT32_MAX

/* "NAME=file" where NAME is an input, else the whole is the file. */
static const char *named(const struct pith_model *m, const char *text, uint32_t *input)
{
    for (const char *eq = strchr(text, '='); eq; eq = strchr(eq + 1, '='))
        if (cli_find_input(m, text, (size_t)(eq - text), input))
            return eq + 1;
    *input = NO_INPUT;
    return text;
}

/* NAME=FILE of which NAME is no input; a file of that whole name would be taken. */
static bool names_no_input(const struct pith_model *m, const char *text)
{
    const char *eq = strchr(text, '=');
    struct stat file;
    if (!eq || stat(text, &file) == 0)
        return false;
    const char *first = m->n_inputs ? m->values[m->inputs[0]].name : "";
    if (first[0])
        cli_error("%s: no input of the model is named '%.*s' (input 0 is '%.100s'; see pith info)",
                  text, (int)(eq - text), text, first);
    else
        cli_error("%s: the model stores no input names: give 0=FILE for the first input, or files "
                  "in order",
                  text);
    return true;
}

static enum cli_exit next_input(const struct pith_model *m, struct cli_feed *f, const char *text,
                                uint32_t *input)
{
    if (names_no_input(m, text))
        return EXIT_USAGE;
    for (*input = 0; *input < m->n_inputs; ++*input)
        if (!f->taken[*input])
            return take(f, *input, text);
    cli_error("%s: the model has only %u input%s", text, m->n_inputs, m->n_inputs == 1 ? "" : "s");
    return EXIT_USAGE;
}

/* Inputs for texts: those with a name first, then the others in order. */
static enum cli_exit assign_named(const struct pith_model *m, struct cli_feed *f,
                                  const char *const *text, uint32_t n, uint32_t *input,
                                  const char **path)
{
    enum cli_exit rc = EXIT_DONE;
    for (uint32_t i = 0; i < n && !rc; i++) {
        path[i] = named(m, text[i], &input[i]);
        rc = input[i] == NO_INPUT ? EXIT_DONE : take(f, input[i], text[i]);
    }
    return rc;
}

static enum cli_exit assign_others(const struct pith_model *m, struct cli_feed *f,
                                   const char *const *text, uint32_t n, uint32_t *input)
{
    enum cli_exit rc = EXIT_DONE;
    for (uint32_t i = 0; i < n && !rc; i++)
        if (input[i] == NO_INPUT)
            rc = next_input(m, f, text[i], &input[i]);
    return rc;
}

/* ---- data ------------------------------------------------------------------------------------ */

enum cli_exit cli_cut_pictures(const struct pith_model *m, uint32_t input, struct pith_data *data)
{
    struct pith_error err = {0};
    const uint32_t *dim = m->values[m->inputs[input]].dim;
    bool open[PITH_MAX_RANK] = {false};
    cli_open_dims(m, input, open);
    const uint32_t h = open[1] ? 1 : 2;
    if (pith_data_cut(data, dim, &err))
        return cli_fail(&err);
    cli_warn("pictures of several sizes: rounding, training and figures of layers see the middle "
             "%ux%u of each, all else the whole",
             dim[h], dim[h + 1]);
    return EXIT_DONE;
}

static enum cli_exit open_data(const struct cli_feed_options *in, const struct pith_model *m,
                               uint32_t input, const struct data_origin *from, struct cli_feed *f)
{
    struct pith_error err = {0};
    struct pith_data_opts o = {.size_bytes = sizeof o,
                               .path = from->path,
                               .files = from->files,
                               .n_files = from->n_files,
                               .arrays = from->arrays,
                               .n_arrays = from->n_arrays,
                               .labels = f->leading || from->files ? NULL : in->labels,
                               .range = in->range,
                               .preprocess = in->preprocess,
                               .steps = in->states.n > 0};
    cli_data_shape(m, input, &o);
    if (f->uneven) /* these are pictures */
        cli_open_dims(m, input, o.open);
    if (pith_data_open(&o, &f->input[input].data, &err)) {
        if (!in->misfit || err.status != PITH_ERR_ARGUMENT)
            return cli_fail(&err);
        *in->misfit = err;
        return EXIT_NO;
    }
    cli_count_skipped(pith_data_skipped(f->input[input].data));
    if (!f->leading)
        f->leading = f->input[input].data;
    const bool cuts = !in->own_sizes && pith_data_uneven(f->input[input].data) &&
                      pith_data_pictures(f->input[input].data);
    f->feed.own_sizes |= cuts;
    return cuts ? cli_cut_pictures(m, input, f->input[input].data) : EXIT_DONE;
}

/* ---- operands that are data: folders, and many pictures for one input ------------------------ */

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool cli_is_picture(const void *head, size_t n)
{
    return n >= 4 && (memcmp(head, "\x89PNG", 4) == 0 || memcmp(head, "\xff\xd8\xff", 3) == 0);
}

/* One that cannot be opened passes: opening it says why. */
static bool may_be_picture(const char *path)
{
    uint8_t head[4] = {0};
    struct stat st;
    bool pipe = strcmp(path, "-") == 0 || (stat(path, &st) == 0 && !S_ISREG(st.st_mode));
    FILE *in = pipe ? NULL : fopen(path, "rb");
    if (!in)
        return !pipe;
    size_t n = fread(head, 1, sizeof head, in);
    fclose(in);
    return cli_is_picture(head, n);
}

/* The operands without a name, into path: [n_operands]; how many there are. */
static uint32_t unnamed(const struct cli_feed *f, const char **path)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->n_operands; i++)
        if (f->operand_input[i] == NO_INPUT)
            path[n++] = f->operand_path[i];
    return n;
}

/* The input that is left when n_data others get theirs from -d; NO_INPUT: there are more, or none.
 */
static uint32_t only_free_input(const struct pith_model *m, const struct cli_feed *f,
                                uint32_t n_data)
{
    uint32_t n = 0, at = NO_INPUT;
    for (uint32_t i = m->n_inputs; i-- > 0;)
        if (!f->taken[i]) {
            n++;
            at = i;
        }
    return n == n_data + 1 ? at : NO_INPUT;
}

/* Several without a name for the one input that is left, the first of them a picture or a folder.
 */
static enum cli_exit open_many(const struct cli_feed_options *in, struct pith_model *m,
                               uint32_t n_data, struct cli_feed *f)
{
    uint32_t input = only_free_input(m, f, n_data), n;
    const char **path = malloc((f->n_operands + 1u) * sizeof *path);
    char name[300];
    enum cli_exit rc = EXIT_DONE;
    if (!path)
        return cli_no_memory();
    n = unnamed(f, path);
    if (input != NO_INPUT && n > 1 && (is_folder(path[0]) || may_be_picture(path[0]))) {
        snprintf(name, sizeof name, "%.200s and %u more", path[0], n - 1);
        for (uint32_t i = 0; i < f->n_operands; i++)
            if (f->operand_input[i] == NO_INPUT) {
                f->operand_input[i] = input;
                f->operand_opened[i] = true;
            }
        const struct data_origin all = {.path = name, .files = path, .n_files = n};
        f->taken[input] = true;
        rc = cli_fit_pictures(in, m, input, &all, f);
        rc = rc ? rc : open_data(in, m, input, &all, f);
    }
    free(path);
    return rc;
}

static enum cli_exit open_folders(const struct cli_feed_options *in, const struct pith_model *m,
                                  struct cli_feed *f)
{
    enum cli_exit rc = EXIT_DONE;
    for (uint32_t i = 0; i < f->n_operands && !rc; i++) {
        const char **path = &f->operand_path[i];
        if (f->operand_opened[i] || !is_folder(*path))
            continue;
        f->operand_opened[i] = true;
        rc = open_data(in, m, f->operand_input[i],
                       &(struct data_origin){.path = *path, .files = path, .n_files = 1}, f);
    }
    return rc;
}

/* ---- arrays of one file for several inputs ----------------------------------------------------
 */

#define NAMES_BYTES 200

/* Names of inputs without a source: names [n_inputs], and their numbers. */
static uint32_t free_inputs(const struct pith_model *m, const struct cli_feed *f,
                            const char **names, uint32_t *number)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_inputs; i++)
        if (!f->taken[i] && m->values[m->inputs[i]].name[0]) {
            names[n] = m->values[m->inputs[i]].name;
            number[n++] = i;
        }
    return n;
}

/* Item i of -d, without a name: inputs that have their names among its arrays get them. */
static enum cli_exit match_arrays(const struct pith_model *m, const char *path, uint32_t item,
                                  uint32_t *input, struct cli_feed *f)
{
    const char **names = malloc((m->n_inputs + 1u) * sizeof *names);
    uint32_t *number = malloc((m->n_inputs + 1u) * sizeof *number), n;
    bool *has = malloc(m->n_inputs + 1u);
    char list[NAMES_BYTES];
    enum cli_exit rc = names && number && has ? EXIT_DONE : cli_no_memory();
    n = rc ? 0 : free_inputs(m, f, names, number);
    if (n > 1 && pith_data_find_arrays(path, names, n, has, list, sizeof list)) {
        *input = BY_ARRAYS;
        for (uint32_t k = 0; k < n; k++)
            if (has[k]) {
                f->taken[number[k]] = true;
                f->from_array[number[k]] = item + 1;
            }
    }
    free(names);
    free(number);
    free(has);
    return rc;
}

static enum cli_exit match_all_arrays(const struct cli_feed_options *in, const struct pith_model *m,
                                      uint32_t *input, const char *const *path, struct cli_feed *f)
{
    enum cli_exit rc = EXIT_DONE;
    for (uint32_t i = 0; i < in->data.n && !rc; i++)
        if (input[i] == NO_INPUT)
            rc = match_arrays(m, path[i], i, &input[i], f);
    return rc;
}

/* An input that nothing feeds while others have arrays of their names: a name is wrong. */
static enum cli_exit arrays_suffice(const struct pith_model *m, const char *path,
                                    const struct cli_feed *f)
{
    char list[NAMES_BYTES];
    for (uint32_t i = 0; i < m->n_inputs; i++) {
        if (f->taken[i])
            continue;
        pith_data_find_arrays(path, NULL, 0, NULL, list, sizeof list);
        cli_error("%s: no array for input '%s' (its arrays: %s); give it by -d %s=DATA, or name "
                  "the array so",
                  path, m->values[m->inputs[i]].name, list, m->values[m->inputs[i]].name);
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

/* All inputs of item i. */
static enum cli_exit open_arrays(const struct cli_feed_options *in, const struct pith_model *m,
                                 uint32_t item, const char *path, struct cli_feed *f)
{
    const char **names = malloc((m->n_inputs + 1u) * sizeof *names);
    enum cli_exit rc = names ? arrays_suffice(m, path, f) : cli_no_memory();
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_inputs && !rc; i++)
        if (f->from_array[i] == item + 1)
            names[n++] = m->values[m->inputs[i]].name;
    for (uint32_t i = 0, k = 0; i < m->n_inputs && !rc; i++) {
        if (f->from_array[i] != item + 1)
            continue;
        const char *first = names[0];
        names[0] = names[k];
        names[k++] = first;
        rc = open_data(in, m, i,
                       &(struct data_origin){.path = path, .arrays = names, .n_arrays = n}, f);
    }
    free(names);
    return rc;
}

/* ---- opening all ----------------------------------------------------------------------------- */

/* A mask that is not given is that of the samples with different lengths. */
static enum cli_exit make_masks(const struct pith_model *m, struct cli_feed *f)
{
    struct pith_error err = {0};
    const struct pith_data *uneven = NULL;
    for (uint32_t i = 0; i < m->n_inputs && !uneven; i++)
        if (pith_data_uneven(f->input[i].data) && !pith_data_pictures(f->input[i].data))
            uneven = f->input[i].data;
    f->uneven |= uneven != NULL;
    for (uint32_t i = 0; i < m->n_inputs && uneven; i++) {
        const struct pith_value *v = &m->values[m->inputs[i]];
        uint32_t dim[PITH_MAX_RANK];
        pith_data_shape(uneven, dim);
        if (f->taken[i] || !strstr(v->name, "mask") || v->rank != 2 || v->dim[1] != dim[1])
            continue;
        if (pith_data_mask(uneven, &f->input[i].data, &err))
            return cli_fail(&err);
        f->taken[i] = true;
    }
    return EXIT_DONE;
}

/* Integers or floats for all elements of v: in each row of the last axis first, first + each, ...
 * Owned by the caller. NULL: no memory. */
static void *counted(const struct pith_value *v, int64_t first, int64_t each)
{
    const uint64_t n = pith_value_elems(v), row = v->rank ? v->dim[v->rank - 1] : 1;
    const uint32_t bytes = pith_type_bytes(v->type);
    uint8_t *made = calloc(n + 1, bytes);
    for (uint64_t i = 0; i < n && made; i += row)
        pith_fill_integers(made + i * bytes, v->type, row, NULL, first, each);
    return made;
}

/* What empty_caches made empty, and beside such a cache what follows from it: a mask of ones, and
 * positions from 0 on. A mask of bools may as well be true where nothing is seen: it is not made.
 */
static enum cli_exit fill_decoder(const struct pith_model *m, struct cli_feed *f)
{
    uint32_t caches = 0, first = 0;
    for (uint32_t i = 0; i < m->n_inputs; i++) {
        const struct pith_value *v = &m->values[m->inputs[i]];
        if (f->taken[i] || f->given[i].rank == UINT32_MAX || pith_value_elems(v) > 0)
            continue;
        first = caches++ ? first : i;
        if (!(f->constant[i] = counted(v, 0, 0)))
            return cli_no_memory();
    }
    if (caches)
        cli_warn("input '%s'%s not given: the cache is empty, as before the first token",
                 m->values[m->inputs[first]].name, caches > 1 ? " and others are" : " is");
    for (uint32_t i = 0; i < m->n_inputs && caches; i++) {
        const struct pith_value *v = &m->values[m->inputs[i]];
        const bool mask = strstr(v->name, "mask"), positions = strstr(v->name, "position");
        const bool number = v->type == PITH_I64 || v->type == PITH_I32 || v->type == PITH_F32;
        if (f->taken[i] || f->constant[i] || v->rank != 2 || !number || !(mask || positions) ||
            f->uneven)
            continue;
        if (!(f->constant[i] = counted(v, mask, !mask)))
            return cli_no_memory();
        cli_warn("input '%s' is not given: %s", v->name, mask ? "all ones" : "it counts from 0");
    }
    for (uint32_t i = 0; i < m->n_inputs; i++)
        if (f->constant[i])
            f->input[i].constant = f->constant[i];
    return EXIT_DONE;
}

static enum cli_exit open_all(const struct cli_feed_options *in, struct pith_model *m,
                              char **operands, uint32_t n_operands, struct cli_feed *f)
{
    uint32_t input[CLI_LIST_MAX], n_data = 0;
    const char *path[CLI_LIST_MAX], *const *texts = (const char *const *)operands;
    enum cli_exit rc = EXIT_DONE;
    for (uint32_t i = 0; i < in->states.n && !rc; i++)
        rc = open_state(in->states.item[i], m, f);
    if (!rc)
        rc = assign_named(m, f, texts, n_operands, f->operand_input, f->operand_path);
    if (!rc)
        rc = assign_named(m, f, in->data.item, in->data.n, input, path);
    for (uint32_t i = 0; i < in->data.n && !rc; i++)
        n_data += input[i] == NO_INPUT;
    if (!rc)
        rc = open_many(in, m, n_data, f);
    if (!rc)
        rc = assign_others(m, f, texts, n_operands, f->operand_input);
    if (!rc)
        rc = match_all_arrays(in, m, input, path, f);
    if (!rc)
        rc = assign_others(m, f, in->data.item, in->data.n, input);
    if (!rc)
        rc = cli_fit_feed_sizes(in, m, input, path, f);
    if (!rc)
        rc = open_folders(in, m, f);
    for (uint32_t i = 0; i < in->data.n && !rc; i++)
        rc = input[i] == BY_ARRAYS
                 ? open_arrays(in, m, i, path[i], f)
                 : open_data(in, m, input[i], &(struct data_origin){.path = path[i]}, f);
    rc = rc ? rc : make_masks(m, f);
    return rc ? rc : fill_decoder(m, f);
}

/* Samples of several inputs belong together by their numbers. */
static enum cli_exit check_skipped(const struct cli_feed *f)
{
    uint32_t n_data = 0;
    for (uint32_t i = 0; i < f->feed.n_inputs; i++)
        n_data += f->input[i].data != NULL;
    if (n_data < 2 || cli_skipped() == 0)
        return EXIT_DONE;
    cli_error("--skip-broken: samples of %u inputs belong together; remove the broken ones from "
              "all",
              n_data);
    return EXIT_USAGE;
}

static enum cli_exit pick_first(uint64_t n, const struct cli_feed *f)
{
    struct pith_error err = {0};
    enum cli_exit rc = EXIT_DONE;
    uint32_t *numbers = malloc((size_t)n * sizeof *numbers + 1);
    if (!numbers)
        return cli_no_memory();
    for (uint64_t k = 0; k < n; k++)
        numbers[k] = (uint32_t)k;
    for (uint32_t i = 0; i < f->feed.n_inputs && !rc; i++)
        if (f->input[i].data && pith_data_pick(f->input[i].data, numbers, n, &err))
            rc = cli_fail(&err);
    free(numbers);
    return rc;
}

enum cli_exit cli_open_feed(const struct cli_feed_options *in, struct pith_model *m,
                            char **operands, uint32_t n_operands, struct cli_feed *f)
{
    *f = (struct cli_feed){.feed = {.size_bytes = sizeof f->feed}, .n_operands = n_operands};
    f->input = calloc(m->n_inputs + 1u, sizeof *f->input);
    f->constant = calloc(m->n_inputs + 1u, sizeof *f->constant);
    f->taken = calloc(m->n_inputs + 1u, sizeof *f->taken);
    f->from_array = calloc(m->n_inputs + 1u, sizeof *f->from_array);
    f->operand_input = calloc(n_operands + 1u, sizeof *f->operand_input);
    f->operand_path = calloc(n_operands + 1u, sizeof *f->operand_path);
    f->operand_opened = calloc(n_operands + 1u, sizeof *f->operand_opened);
    if (!f->input || !f->constant || !f->taken || !f->from_array || !f->operand_input ||
        !f->operand_path || !f->operand_opened)
        return cli_no_memory();
    f->feed.n_inputs = m->n_inputs;
    f->feed.input = f->input;
    f->feed.state = f->state;
    f->feed.own_sizes = in->own_sizes;
    enum cli_exit rc = cli_begin_shapes(m, f);
    rc = rc ? rc : open_all(in, m, operands, n_operands, f);
    if (!rc)
        rc = check_skipped(f);
    if (!rc && in->first && in->first < pith_feed_count(&f->feed))
        rc = pick_first(in->first, f);
    return rc || in->misfit ? rc : cli_check_data(m, &f->feed);
}

void cli_close_feed(struct cli_feed *f)
{
    for (uint32_t i = 0; f->input && i < f->feed.n_inputs; i++)
        pith_data_free(f->input[i].data);
    for (uint32_t i = 0; f->constant && i < f->feed.n_inputs; i++)
        free(f->constant[i]);
    for (uint32_t i = 0; i < f->feed.n_states; i++)
        free(f->first[i]);
    free(f->given);
    free(f->input);
    free(f->constant);
    free(f->taken);
    free(f->from_array);
    free(f->operand_input);
    free(f->operand_path);
    free(f->operand_opened);
    *f = (struct cli_feed){0};
}
