/* SPDX-License-Identifier: MIT */
#include <string.h>
#include "class_scores.h"
#include <math.h>
#include "array_files.h"
#include "core/op_number.h"
#include "pith_measure.h"

/* The operator that made value v, behind those that only move, store or rename its numbers. */
static uint32_t maker_of(const struct pith_model *m, uint32_t v)
{
    for (const struct pith_node *n; (n = pith_model_producer(m, v)); v = n->in[0]) {
        bool same = pith_op_moves(n->op) || n->op == PITH_OP_CAST || n->op == PITH_OP_QUANTIZE ||
                    n->op == PITH_OP_DEQUANTIZE;
        if (!same || n->n_in == 0)
            return n->op;
    }
    return PITH_OP_IDENTITY;
}

/* f32 [1, C], [1, C, 1, 1], ...: C >= 2. */
static bool is_class_vector(const struct pith_value *v)
{
    uint32_t n_long = 0;
    for (uint32_t i = 0; i < v->rank; i++)
        n_long += v->dim[i] > 1;
    return v->type == PITH_F32 && n_long == 1;
}

enum cli_exit cli_score_kind(const struct pith_model *m, uint32_t output, const char *word,
                             bool pictures, enum cli_scores *kind)
{
    static const char *const words[] = {"auto", "always", "never", NULL};
    uint32_t value = m->outputs[output], maker = maker_of(m, value);
    int at;
    if (!cli_find_word(word, words, &at)) {
        cli_error("--softmax '%s': give auto, always or never", word);
        return EXIT_USAGE;
    }
    bool classes = is_class_vector(&m->values[value]) &&
                   (pictures || pith_model_get_meta(m, "labels") != NULL);
    if (at == 2 || (at == 0 && !classes))
        *kind = CLI_SCORES_VALUES;
    else if (at == 0 && (maker == PITH_OP_SOFTMAX || maker == PITH_OP_SIGMOID))
        *kind = CLI_SCORES_PROBABILITIES;
    else
        *kind = CLI_SCORES_LOGITS;
    return EXIT_DONE;
}

double cli_score_value(const struct cli_score_reader *r, uint64_t i)
{
    return cli_element(r->t->type, (const uint8_t *)r->t->data + i * cli_type_bytes(r->t->type));
}

void cli_read_scores(struct cli_score_reader *r, enum cli_scores kind, const struct pith_tensor *t)
{
    *r = (struct cli_score_reader){.t = t, .n = t->bytes / cli_type_bytes(t->type)};
    if (kind != CLI_SCORES_LOGITS || r->n == 0 ||
        (t->type == PITH_F32 && pith_scores_are_probabilities(t->data, r->n)))
        return;
    r->softmax = true;
    r->max = cli_score_value(r, 0);
    for (uint64_t i = 1; i < r->n; i++)
        r->max = fmax(r->max, cli_score_value(r, i));
    for (uint64_t i = 0; i < r->n; i++)
        r->total += exp(cli_score_value(r, i) - r->max);
}

double cli_score(const struct cli_score_reader *r, uint64_t i)
{
    double v = cli_score_value(r, i);
    return r->softmax ? exp(v - r->max) / r->total : v;
}

uint64_t cli_next_score(const struct cli_score_reader *r, uint64_t last)
{
    uint64_t best = r->n;
    double after = last < r->n ? cli_score_value(r, last) : 0, top = 0;
    for (uint64_t i = 0; i < r->n; i++) {
        double v = cli_score_value(r, i);
        bool behind = last == r->n || v < after || (v == after && i > last);
        if (behind && (best == r->n || v > top)) {
            best = i;
            top = v;
        }
    }
    return best;
}

const char *cli_class_name(const char *names, uint64_t k, int *len)
{
    const char *p = names;
    for (; p && k > 0; k--) {
        p = strchr(p, '\n');
        p = p ? p + 1 : NULL;
    }
    *len = p ? (int)strcspn(p, "\r\n") : 0;
    return p ? p : "";
}
