/* SPDX-License-Identifier: MIT */
/* spec_flags.c - rows and columns of adaptive tensors (S8, "The matrix"). */
#include "spec_flags.h"
#include <stdlib.h>
#include <string.h>
#include "spec_codebook.h"
#include "spec_sizes.h"

uint64_t rows_of(const struct tensor *t)
{
    return t->rank < 2 ? 1 : t->dim[0];
}

bool is_selective(const struct tensor *t)
{
    bool zero = false;
    if (t->support != 0 || t->grid == 0) {
        return true;
    }
    uint32_t *centroid = read_codebook(t);
    for (uint32_t i = 0; t->n_groups == 1 && i < t->n_centroids; i++) {
        zero |= centroid[i] == 0;
    }
    free(centroid);
    return zero;
}

uint8_t *read_row_flags(struct model *m, uint64_t rows)
{
    uint8_t *flag = zeroed(rows, 1);
    static const int64_t first[4] = {15, 25, 20, 44};
    for (uint32_t i = 0; i < 4; i++) {
        m->F[i] = start_at(first[i], 1);
    }
    for (uint64_t i = 0; i < rows; i++) {
        uint32_t a = i >= 1 ? flag[i - 1] : 1, b = i >= 2 ? flag[i - 2] : 1;
        flag[i] = (uint8_t)single(m, &m->F[a + 2 * b]);
    }
    return flag;
}

static uint8_t *read_source_flags(struct model *m, const struct tensor *source)
{
    open_code(m, source->elements);
    return read_row_flags(m, rows_of(source));
}

static uint32_t flag_back(const uint8_t *flag, uint64_t i, uint64_t k)
{
    return k > 0 && k <= i ? flag[i - k] : 0;
}

static void start_column_flags(struct model *m)
{
    static const int64_t first[12] = {1, 23, 22, 62, 1, 1, 1, 1, 36, 57, 28, 60};
    static const int64_t other[3] = {49, 1, 32};
    for (uint32_t i = 0; i < 12; i++) {
        m->G[i] = start_at(first[i], 8);
    }
    for (uint32_t s = 0; s < 3; s++) {
        renew(m->H[s], 64, start_at(other[s], 0));
        renew(m->I[s], 16, start_at(other[s], 0));
        renew(m->J[s], 64, start_at(other[s], 0));
    }
}

uint8_t *read_column_flags(struct model *m, const struct tensor *t, uint64_t cols, uint64_t place,
                           uint64_t line)
{
    uint8_t *flag = zeroed(cols, 1), *fed = NULL;
    struct span own = m->bytes;
    uint64_t low = m->low, high = m->high, code = m->code, shifted = m->shifted, R = 1;
    if (t->source != NULL) {
        R = rows_of(t->source);
        fed = read_source_flags(m, t->source);
        m->bytes = own;
        m->low = low;
        m->high = high;
        m->code = code;
        m->shifted = shifted;
    }
    start_column_flags(m);
    uint64_t l = line > 1 ? line : 0, p = place > 1 && place < cols ? place : 0;
    for (uint64_t i = 0; i < cols; i++) {
        uint32_t a = i >= 1 ? flag[i - 1] : 1, b = i >= 2 ? flag[i - 2] : 1;
        uint32_t s = fed == NULL ? 0 : 1u + fed[i / (cols / R)];
        uint32_t up = flag_back(flag, i, l), far = flag_back(flag, i, 2 * l);
        uint32_t up1 = l > 0 ? flag_back(flag, i, l - 1) : 0,
                 up2 = l > 0 ? flag_back(flag, i, l + 1) : 0;
        uint64_t pos = p > 0 && i % p < 63 ? i % p : 63;
        struct counter *c[13] = {
            &m->G[4 * s + a + 2 * b],
            &m->H[s][8 * (up + 2 * up1 + 4 * up2) + 4 * a + 2 * b + far],
            &m->I[s][8 * flag_back(flag, i, p) + 4 * flag_back(flag, i, 2 * p) + 2 * a + up],
            &m->J[s][pos],
        };
        flag[i] = (uint8_t)mixed(m, 4, s, c, 4);
    }
    free(fed);
    return flag;
}

static uint64_t whole_root(uint64_t n)
{
    for (uint64_t r = 1; r <= 4096; r++) {
        if (r * r == n) {
            return r;
        }
    }
    return 0;
}

void find_places(const struct tensor *t, uint64_t cols, uint64_t *place, uint64_t *line)
{
    *place = *line = 1;
    if (t->rank > 2) {
        for (uint32_t i = 2; i < t->rank; i++) {
            *place *= t->dim[i];
        }
        *line = t->dim[t->rank - 1];
    } else if (t->rank == 2 && t->source != NULL) {
        *place = cols / rows_of(t->source);
        *line = whole_root(*place) > 0 ? whole_root(*place) : *place;
    } else if (t->rank == 2 && whole_root(cols) >= 2) {
        *place = cols;
        *line = whole_root(cols);
    }
}
