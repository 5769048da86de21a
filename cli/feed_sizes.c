/* SPDX-License-Identifier: MIT */
/* feed_sizes.c - shapes of arrays, pictures, sound and texts become sizes of a model; a cache
 * that is not given is empty. */
#include "feed_sizes.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "host/generator.h"

/* dim[rank], with an axis of samples in front, as the shape of v. false: it cannot be one. */
static bool sample_shape(const struct pith_value *v, const uint32_t *dim, uint32_t rank,
                         bool samples, struct pith_tensor *t)
{
    if (rank == v->rank + samples && samples) {
        memcpy(t->dim, dim + 1, (rank - 1) * sizeof *dim);
    } else if (rank == v->rank) {
        memcpy(t->dim, dim, rank * sizeof *dim);
        t->dim[0] = samples ? v->dim[0] : dim[0];
    } else {
        return false;
    }
    t->rank = v->rank;
    return true;
}

/* An image whose channels are at the other end is turned when it is read (sample_order.c): its open
 * sizes are those of the turned one. Channels are the dimension that is not open. */
static void turn_shape(const struct pith_model *m, uint32_t input, struct pith_tensor *t)
{
    const uint32_t *want = m->values[m->inputs[input]].dim, n = t->rank - 1;
    uint32_t *is = t->dim + 1, *last = &is[n - 1], first = *is;
    bool open[PITH_MAX_RANK] = {false};
    if (n < 3 || n > 4 || !cli_open_dims(m, input, open))
        return;
    if (!open[1] && open[n] && *is != want[1] && *last == want[1]) {
        memmove(is + 1, is, (n - 1) * sizeof *is);
        *is = want[1];
    } else if (!open[n] && open[1] && *last != want[n] && *is == want[n]) {
        memmove(is, is + 1, (n - 1) * sizeof *is);
        *last = first;
    }
}

bool cli_open_dims(const struct pith_model *m, uint32_t input, bool *open)
{
    bool any = false;
    for (uint32_t i = 0; i < m->n_sized; i++)
        if (m->sized[i].slot / PITH_MAX_RANK == input)
            any = open[m->sized[i].slot % PITH_MAX_RANK] = true;
    return any;
}

#define MOST_CUT 64u /* pixels of a height or width that may be cut for the network's sake */

/* The size that pictures of several sizes are cut to, as the model's and in f->given: that of the
 * smallest in each direction, or a little less, which the network takes. */
static void fit_smallest(struct pith_model *m, uint32_t input, const struct pith_data *data,
                         struct cli_feed *f)
{
    uint32_t *dim = f->given[input].dim, own[PITH_MAX_RANK], least[PITH_MAX_RANK];
    bool open[PITH_MAX_RANK] = {false};
    memcpy(least, dim, sizeof least);
    for (uint64_t i = 0; i < pith_data_count(data); i++) {
        pith_data_sample_shape(data, i, own);
        for (uint32_t k = 0; k < 4; k++)
            least[k] = own[k] < least[k] ? own[k] : least[k];
    }
    cli_open_dims(m, input, open);
    const uint32_t h = open[1] ? 1 : 2; /* channels last, or first */
    memcpy(dim, least, sizeof least);
    for (uint32_t n = 0; n < MOST_CUT * MOST_CUT; n++) {
        const uint32_t down[] = {n / MOST_CUT, n % MOST_CUT};
        if (down[0] >= least[h] || down[1] >= least[h + 1])
            continue;
        dim[h] = least[h] - down[0];
        dim[h + 1] = least[h + 1] - down[1];
        if (pith_model_fit_sizes(m, f->given, m->n_inputs, NULL) == PITH_OK)
            return;
    }
    memcpy(dim, least, sizeof least); /* fitting them says why not */
}

/* The shape of pictures, or of planes of numbers. What cannot be opened passes: opening it again
 * says why. */
static void note_pictures(const struct cli_feed_options *in, struct pith_model *m, uint32_t input,
                          const struct data_origin *from, struct cli_feed *f)
{
    struct pith_data *data;
    struct pith_data_opts o = {.size_bytes = sizeof o,
                               .path = from->path,
                               .files = from->files,
                               .n_files = from->n_files,
                               .range = in->range,
                               .preprocess = in->preprocess};
    struct stat st;
    const bool there =
        from->files || (stat(from->path, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)));
    cli_data_shape(m, input, &o);
    o.warn = NULL;
    if (!there || o.rank != 4 || !cli_open_dims(m, input, o.open) ||
        pith_data_open(&o, &data, NULL))
        return;
    struct pith_tensor *t = &f->given[input];
    t->rank = pith_data_shape(data, t->dim);
    f->uneven |= pith_data_uneven(data);
    if (pith_data_uneven(data) && !in->own_sizes)
        fit_smallest(m, input, data, f);
    pith_data_free(data);
}

/* Of wav:LENGTH:HOP:FILE and text:LENGTH:FILE the length is the open size of an input that has one,
 * and no other values beside it. */
static bool note_length(const struct pith_model *m, uint32_t input, const char *path,
                        struct pith_tensor *t)
{
    const struct pith_value *v = &m->values[m->inputs[input]];
    const size_t mark = strncmp(path, "wav:", 4) == 0 ? 4 : strncmp(path, "text:", 5) == 0 ? 5 : 0;
    const uint64_t length = mark ? strtoull(path + mark, NULL, 10) : 0;
    uint32_t n_open = 0, beside = 1, at = 0;
    bool open[PITH_MAX_RANK] = {false};
    cli_open_dims(m, input, open);
    for (uint32_t i = 0; i < v->rank; i++) {
        n_open += open[i];
        at = open[i] ? i : at;
        beside *= open[i] ? 1 : v->dim[i];
    }
    if (n_open != 1 || beside != 1 || length == 0 || length > UINT32_MAX)
        return false;
    t->rank = v->rank;
    memcpy(t->dim, v->dim, sizeof v->dim);
    t->dim[at] = (uint32_t)length;
    return true;
}

static void note_shape(const struct cli_feed_options *in, struct pith_model *m, uint32_t input,
                       const struct data_origin *from, bool samples, struct cli_feed *f)
{
    uint32_t rank, dim[PITH_MAX_RANK];
    if (input >= m->n_inputs)
        return;
    const struct pith_value *v = &m->values[m->inputs[input]];
    if (note_length(m, input, from->path, &f->given[input]))
        return;
    const char *array = from->arrays ? from->arrays[0] : NULL;
    if (pith_data_array_shape(from->path, array, v->name, &rank, dim)) {
        if (sample_shape(v, dim, rank, samples, &f->given[input]))
            turn_shape(m, input, &f->given[input]);
    } else {
        note_pictures(in, m, input, from, f);
    }
}

enum cli_exit cli_begin_shapes(const struct pith_model *m, struct cli_feed *f)
{
    f->given = calloc(m->n_inputs + 1u, sizeof *f->given);
    for (uint32_t i = 0; f->given && i < m->n_inputs; i++) {
        const char *name = m->values[m->inputs[i]].name;
        f->given[i] = (struct pith_tensor){
            .rank = UINT32_MAX, .name = name, .name_bytes = (uint32_t)strlen(name)};
    }
    return f->given ? EXIT_DONE : cli_no_memory();
}

/* The size that dimension `sized` of an input is, by number; m->n_sizes: it is a formula. */
static uint32_t size_of(const struct pith_model *m, const struct pith_sized *sized)
{
    uint32_t s = 0;
    while (s < m->n_sizes && strcmp(m->sizes[s].name, sized->formula) != 0)
        s++;
    return s;
}

/* Whether an output is the next value of an input, as pith generate pairs them. */
static bool is_cache(const struct pith_model *m, uint32_t input)
{
    const char *in = m->values[m->inputs[input]].name;
    bool found = false;
    for (uint32_t k = 0; k < m->n_outputs && !found; k++) {
        const char *out = m->values[m->outputs[k]].name;
        found = pith_is_next_state(
            &(struct pith_tensor){.name = in, .name_bytes = (uint32_t)strlen(in)},
            &(struct pith_tensor){.name = out, .name_bytes = (uint32_t)strlen(out)});
    }
    return found;
}

/* A decoder's cache that is not given is empty: its length is a size that may be 0, and that no
 * given input has. */
static void empty_caches(struct pith_model *m, struct cli_feed *f)
{
    for (uint32_t k = 0; k < m->n_sized; k++) {
        const uint32_t input = m->sized[k].slot / PITH_MAX_RANK, size = size_of(m, &m->sized[k]);
        bool alone = size < m->n_sizes && !f->taken[input] && !f->from_array[input];
        for (uint32_t j = 0; j < m->n_sized && alone; j++) {
            const uint32_t other = m->sized[j].slot / PITH_MAX_RANK;
            const bool given = f->taken[other] || f->from_array[other];
            alone = j == k || (other != input && !(given && size_of(m, &m->sized[j]) == size));
        }
        if (!alone || !is_cache(m, input) || pith_model_least_size(m, size) > 0)
            continue;
        const struct pith_value *v = &m->values[m->inputs[input]];
        f->given[input].rank = v->rank;
        memcpy(f->given[input].dim, v->dim, sizeof v->dim);
        f->given[input].dim[m->sized[k].slot % PITH_MAX_RANK] = 0;
    }
}

static enum cli_exit fit_given(struct pith_model *m, const struct cli_feed *f)
{
    struct pith_error err = {0};
    return pith_model_fit_sizes(m, f->given, m->n_inputs, &err) ? cli_fail(&err) : EXIT_DONE;
}

enum cli_exit cli_fit_pictures(const struct cli_feed_options *in, struct pith_model *m,
                               uint32_t input, const struct data_origin *from, struct cli_feed *f)
{
    note_pictures(in, m, input, from, f);
    return fit_given(m, f);
}

enum cli_exit cli_fit_feed_sizes(const struct cli_feed_options *in, struct pith_model *m,
                                 const uint32_t *input, const char *const *path, struct cli_feed *f)
{
    if (m->n_sizes == 0)
        return EXIT_DONE;
    for (uint32_t i = 0; i < f->n_operands; i++)
        if (!f->operand_opened[i])
            note_shape(in, m, f->operand_input[i],
                       &(struct data_origin){.path = f->operand_path[i]}, false, f);
    for (uint32_t i = 0; i < in->data.n; i++) {
        struct data_origin from = {.path = path[i]};
        if (input[i] != BY_ARRAYS)
            note_shape(in, m, input[i], &from, true, f);
        for (uint32_t k = 0; k < m->n_inputs && input[i] == BY_ARRAYS; k++) {
            const char *name = m->values[m->inputs[k]].name;
            from.arrays = &name;
            if (f->from_array[k] == i + 1)
                note_shape(in, m, k, &from, true, f);
        }
    }
    if (f->taken)
        empty_caches(m, f);
    return fit_given(m, f);
}

enum cli_exit cli_fit_sizes(struct pith_model *m, const struct cli_feed_options *data, bool *cuts)
{
    struct cli_feed none = {0};
    const uint32_t input = 0;
    const char *path = data->data.item[0];
    enum cli_exit rc = cli_begin_shapes(m, &none);
    rc = rc ? rc : cli_fit_feed_sizes(data, m, &input, &path, &none);
    *cuts = none.uneven;
    free(none.given);
    return rc;
}
