/* SPDX-License-Identifier: MIT */
/* spec_adaptive.h - sections 8 and 12 of docs/format-streams.md for spec_decode.c, letter by
 * letter: names as there, arrays as there, nothing for speed. Included once, behind the tensors. */

struct counter {
    int64_t P, n;
};

struct model {
    /* arithmetic code */
    uint64_t low, high, code;
    struct span bytes;
    uint64_t shifted;
    /* mixing */
    int64_t w[2][5][8];
    /* trellis */
    uint32_t states, state, quantizer, k;
    struct counter Q[16];
    /* counters */
    struct counter F[4], G[12], H[3][64], I[3][16], J[3][64], Z[4], E[256];
    struct counter beside[2][64], levels[64], places[128], seen[64], ranks[256], signs[81],
        sign_places[64];
    struct counter K[2][256], U[16][8], V[16][8], W[16][16], X[16][64];
    struct counter r;
    int64_t B, run;
    /* section 12 */
    bool second;
    int64_t size, mean, mean_n, row_mean, row_n, L[3], agree, balance, expected, at_row, at_column,
        near;
    struct counter act[16][64], both[16][16][16], around[16][64];
    struct counter pair[4][9][9], sum[4][11][64], above[7][11], even[11];
    int64_t refine[4][33], all[2][4][13], one[2][32][4][13];
};

struct column {
    struct counter C, D, map;
    int64_t A;
    uint32_t last;
    int64_t mean, n, S, P; /* section 12 */
};

static const struct counter new_counter = {1 << 21, 0};

static uint32_t stream_byte(struct model *m)
{
    return left(&m->bytes) > 0 ? u8(&m->bytes) : 0;
}

static void open_code(struct model *m, struct span stream)
{
    m->bytes = stream;
    m->low = 0;
    m->high = 0xFFFFFFFF;
    m->code = 0;
    m->shifted = 0;
    for (int i = 0; i < 4; i++) {
        m->code = m->code << 8 | stream_byte(m);
    }
}

static uint32_t decide(struct model *m, int64_t p)
{
    uint64_t mid = m->low + ((m->high - m->low) * (uint64_t)p >> 16);
    uint32_t bit = m->code <= mid;
    if (bit == 1) {
        m->high = mid;
    } else {
        m->low = mid + 1;
    }
    while (m->low >> 24 == m->high >> 24) {
        m->low = m->low << 8 & 0xFFFFFFFF;
        m->high = (m->high << 8 & 0xFFFFFFFF) + 255;
        m->code = (m->code << 8 & 0xFFFFFFFF) + stream_byte(m);
        m->shifted++;
    }
    return bit;
}

static void check_code_end(const struct model *m, struct span stream)
{
    uint64_t v = 0;
    for (uint32_t low_bits = 24; v < m->low || v > m->high; low_bits -= 8) {
        uint64_t unit = UINT64_C(1) << low_bits;
        v = (m->low + unit - 1) / unit * unit;
    }
    uint64_t rest = 0;
    while (rest < 4 && (v << 8 * rest & 0xFFFFFFFF) != 0) {
        rest++;
    }
    must(left(&stream) == m->shifted + rest, stream.end, "an adaptive stream is as long as needed");
    must(m->code == v, stream.end, "an adaptive stream must end with its shortest code");
}

static int64_t between(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

static void learn_bit(struct counter *c, uint32_t b)
{
    int64_t all = b == 1 ? (1 << 22) - 1 : 0;
    c->P += (all - c->P) / 32 * (524288 / (32 * c->n + 45)) / 512;
    c->n = c->n < 210 ? c->n + 1 : 210;
}

static uint32_t single(struct model *m, struct counter *c)
{
    uint32_t b = decide(m, between(c->P >> 6, 24, 65512));
    learn_bit(c, b);
    return b;
}

static int64_t squash(int64_t x)
{
    static const int64_t S[33] = {22,    36,    60,    98,    162,   267,   439,   720,   1179,
                                  1921,  3108,  4971,  7812,  11955, 17625, 24743, 32768, 40793,
                                  47911, 53581, 57724, 60565, 62428, 63615, 64357, 64816, 65097,
                                  65269, 65374, 65438, 65476, 65500, 65514};
    int64_t u = between(x, -2047, 2047) + 2048, i = u >> 7, f = u & 127;
    return (S[i] * (128 - f) + S[i + 1] * f) >> 7;
}

static int64_t stretch(int64_t q)
{
    static int64_t known[4096];
    static bool filled;
    for (int64_t k = 0; !filled && k < 4096; k++) {
        int64_t x = -2047;
        while (x < 2047 && squash(x) >> 4 < k) {
            x++;
        }
        known[k] = x;
    }
    filled = true;
    return known[q];
}

static uint32_t mixed(struct model *m, int64_t *w, struct counter **c, uint32_t k)
{
    static const int64_t Y[8] = {80, 40, 45, 48, 55, 54, 54, 58};
    int64_t t[8], sum = 0;
    for (uint32_t j = 0; j < k; j++) {
        t[j] = stretch(c[j]->P >> 10);
        if (c[j]->n < 8) {
            t[j] = t[j] * Y[c[j]->n] / 64;
        }
        sum += w[j] * t[j];
    }
    int64_t p = between(squash(sum >> 16), 24, 65512);
    uint32_t b = decide(m, p);
    int64_t e = ((int64_t)b * 65536 - p) * 512 >> 10;
    for (uint32_t j = 0; j < k; j++) {
        w[j] = between(w[j] + ((t[j] * e + 8192) >> 14), -(1 << 20), 1 << 20);
        learn_bit(c[j], b);
    }
    return b;
}

static void renew(struct counter *c, uint32_t n, struct counter value)
{
    for (uint32_t i = 0; i < n; i++) {
        c[i] = value;
    }
}

static struct counter start_at(int64_t sixty_fourths, int64_t n)
{
    return (struct counter){sixty_fourths << 16, n};
}

#define RENEW(array)                                                                               \
    renew((struct counter *)(array), sizeof(array) / sizeof(struct counter), new_counter)

static bool is_selective(const struct tensor *t)
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

static uint8_t *read_row_flags(struct model *m, uint64_t rows)
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

/* Of all slices; one row has no flag, and nothing is told of a slice that stores nothing. */
static uint8_t *read_source_flags(struct model *m, const struct tensor *source)
{
    uint8_t *flag = zeroed(rows_of(source), 1);
    struct slices all = slices_of(source);
    struct slice s;
    while (next_slice(source, &all, &s)) {
        flag[s.first] = s.stored > 0;
        if (s.rows > 1 && s.stored > 0) {
            open_code(m, s.bytes);
            uint8_t *part = read_row_flags(m, s.rows);
            memcpy(flag + s.first, part, s.rows);
            free(part);
        }
    }
    return flag;
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

static uint8_t *read_column_flags(struct model *m, const struct tensor *t, uint64_t cols,
                                  uint64_t place, uint64_t line)
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
        struct counter *c[4] = {
            &m->G[4 * s + a + 2 * b],
            &m->H[s][8 * (up + 2 * up1 + 4 * up2) + 4 * a + 2 * b + far],
            &m->I[s][8 * flag_back(flag, i, p) + 4 * flag_back(flag, i, 2 * p) + 2 * a + up],
            &m->J[s][pos],
        };
        flag[i] = (uint8_t)mixed(m, m->w[0][4], c, 4);
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

static void find_places(const struct tensor *t, uint64_t cols, uint64_t *place, uint64_t *line)
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

static void first_weights(struct model *m)
{
    static const int64_t first[5][8] = {{27, 27, 33, 61, 35, 18, 13, 30},
                                        {-54, 155, 50, 33},
                                        {85, -1, -15, 76, 79},
                                        {113, 64, 62, 34, -4},
                                        {79, 65, 73, 78}};
    for (uint32_t i = 0; i < 40; i++) {
        m->w[0][i / 8][i % 8] = m->w[1][i / 8][i % 8] = 256 * first[i / 8][i % 8];
    }
}

/* What one element sees. */
struct view {
    struct column *column; /* [cols] */
    uint64_t c, cols, place, line_of_kernel;
    uint32_t left, line, above, channel;
};

static uint32_t last_back(const struct view *v, uint64_t k)
{
    return k > 0 && k <= v->c ? v->column[v->c - k].last : 0;
}

static uint32_t is(uint32_t x)
{
    return x != 0 ? 1 : 0;
}

static uint32_t level(struct counter c)
{
    return (uint32_t)between((stretch(c.P >> 10) + 1536) >> 8, 0, 7);
}

static uint32_t height(uint32_t last)
{
    return last == 0 ? 0 : last < 4 ? 1 : last < 6 ? 2 : 3;
}

/* ---- section 12 ------------------------------------------------------------------------------ */

static const int64_t first_second[4][13] = {{27, 27, 33, 61, 35, 18, 13, 30, 15, 15, 15},
                                            {-54, 155, 50, 33, 25, 25, 25, 25},
                                            {85, -1, -15, 76, 79, 15, 15, 15},
                                            {113, 64, 62, 34, -4, 15, 15, 15}};

static void start_second(struct model *m, struct view *v, struct counter stored)
{
    static const int64_t first[4] = {47, 17, 23, 32};
    m->mean = 512;
    m->mean_n = 0;
    for (uint64_t i = 0; i < v->cols; i++) {
        v->column[i].mean = 512;
    }
    for (uint32_t i = 0; i < 16; i++) {
        struct counter c = i < 2 ? stored : start_at(first[i - 2 < 3 ? i - 2 : 3], 1);
        renew(m->act[i], 64, c);
        renew(m->both[i][0], 256, c);
        renew(m->around[i], 64, c);
    }
    RENEW(m->pair);
    RENEW(m->sum);
    RENEW(m->above);
    RENEW(m->even);
    for (uint32_t set = 0; set < 4; set++) {
        for (uint32_t i = 0; i < 26; i++) {
            m->all[i / 13][set][i % 13] = 256 * first_second[set][i % 13];
        }
        for (uint32_t i = 0; i < 32 * 26; i++) {
            m->one[i / 416][i / 13 % 32][set][i % 13] = 256 * first_second[set][i % 13];
        }
        for (int64_t i = 0; i < 33; i++) {
            m->refine[set][i] = squash(128 * (i - 16)) * 1024;
        }
    }
}

static int64_t octaves(int64_t x)
{
    int64_t e = 0;
    while (x >> (e + 1) > 0) {
        e++;
    }
    return x == 0 ? 0 : 8 * e + (x * 8 >> e) % 8;
}

static int64_t absolute(int64_t v)
{
    return v < 0 ? -v : v;
}

static int64_t sign_of(int64_t v)
{
    return v < 0 ? -1 : v > 0 ? 1 : 0;
}

/* S of column c - k, if `there` and that is one. */
static int64_t S_back(const struct view *v, bool there, uint64_t k)
{
    return there && k <= v->c ? v->column[v->c - k].S : 0;
}

static void expect_size(struct model *m, const struct view *v, uint64_t line)
{
    const struct column *col = &v->column[v->c];
    int64_t of_row = octaves(m->row_mean) - octaves(m->mean),
            of_col = octaves(col->mean) - octaves(m->mean);
    int64_t next = v->c + 1 < v->cols ? col[1].S : 0;
    int64_t l = 4 * m->L[0] + 2 * m->L[1] + m->L[2] + 3 * absolute(col->S) + col->P +
                absolute(next) + 2 * absolute(S_back(v, v->place > 1, v->place)) +
                2 * absolute(S_back(v, line > 1, line));
    m->expected = between((of_row + of_col) / 2 + 24, 0, 63);
    m->at_row = between(of_row / 4 + 8, 0, 15);
    m->at_column = between(of_col / 4 + 8, 0, 15);
    m->near = between((octaves(16 * l + 8) - octaves(m->mean) - 24) / 2 + 20, 0, 63);
}

static void saw_size(struct model *m, struct column *col, int64_t s)
{
    int64_t v = 256 * absolute(s) + 64;
    col->mean += (v - col->mean) / (3 + between(col->n, 0, 40));
    m->row_mean += (v - m->row_mean) / (4 + between(m->row_n, 0, 40));
    m->mean += (v - m->mean) / (2 + between(m->mean_n, 0, 1000));
    col->n++;
    m->row_n++;
    m->mean_n++;
    m->agree += 256 * sign_of(col->S) * sign_of(s) - m->agree / 16;
    m->balance += 64 * sign_of(s) - m->balance / 16;
    col->P = absolute(col->S);
    col->S = s;
    m->L[2] = m->L[1];
    m->L[1] = m->L[0];
    m->L[0] = absolute(s);
}

/* k counters and the constant. */
static uint32_t second_mixed(struct model *m, uint32_t set, uint32_t choice, struct counter **c,
                             uint32_t k)
{
    static const int64_t Y[8] = {80, 40, 45, 48, 55, 54, 54, 58};
    int64_t *w[2] = {m->all[m->quantizer][set], m->one[m->quantizer][choice][set]};
    int64_t t[13], x[2], *T = m->refine[set];
    for (uint32_t j = 0; j < k; j++) {
        t[j] = stretch(c[j]->P >> 10);
        t[j] = c[j]->n < 8 ? t[j] * Y[c[j]->n] / 64 : t[j];
    }
    t[k] = 256;
    for (uint32_t i = 0; i < 2; i++) {
        x[i] = 0;
        for (uint32_t j = 0; j <= k; j++) {
            x[i] += w[i][j] * t[j];
        }
        x[i] = between(x[i] >> 16, -2047, 2047);
    }
    int64_t y = (x[0] + x[1]) >> 1, u = y + 2048, i = u >> 7, f = u & 127;
    int64_t told = (T[i] * (128 - f) + T[i + 1] * f) >> 17;
    uint32_t b = decide(m, between((between(squash(y), 24, 65512) + told) / 2, 24, 65512));
    int64_t *near = f >= 64 ? &T[i + 1] : &T[i];
    *near = b == 1 ? *near + (((1 << 26) - *near) >> 6) : *near - (*near >> 6);
    for (uint32_t n = 0; n < 2; n++) {
        int64_t e = ((int64_t)b * 65536 - between(squash(x[n]), 24, 65512)) * 512 >> 10;
        for (uint32_t j = 0; j <= k; j++) {
            w[n][j] = between(w[n][j] + ((t[j] * e + 8192) >> 14), -(1 << 20), 1 << 20);
        }
    }
    for (uint32_t j = 0; j < k; j++) {
        learn_bit(c[j], b);
    }
    return b;
}

static uint32_t mixed_by_size(struct model *m, uint32_t set, uint32_t kind, struct counter **c,
                              uint32_t k)
{
    c[k] = &m->act[kind][m->expected];
    c[k + 1] = &m->both[kind][m->at_row][m->at_column];
    c[k + 2] = &m->around[kind][m->near];
    return second_mixed(m, set, (uint32_t)m->expected / 2, c, k + 3);
}

static uint32_t class_of(int64_t v, int64_t most)
{
    int64_t a = absolute(v), k = a < 2 ? a : a < 4 ? 2 : a < 7 ? 3 : a < 12 ? 4 : 5;
    return (uint32_t)(most + sign_of(v) * between(k, 0, most));
}

static uint32_t second_sign(struct model *m, const struct view *v, struct counter **c,
                            uint64_t line, uint32_t rank)
{
    uint64_t pos = v->c % v->place;
    uint32_t r = rank < 3 ? rank : 3;
    bool kernel = v->place > 1 && v->place < v->cols && line > 1;
    bool in = kernel && pos % line > 0, below = kernel && pos >= line;
    int64_t l = S_back(v, in, 1), u = S_back(v, below, line);
    int64_t all = 2 * l + 2 * u + S_back(v, in && below, line + 1) +
                  S_back(v, below && pos % line + 1 < line, line - 1);
    c[4] = &m->pair[r][class_of(l, 4)][class_of(u, 4)];
    c[5] = &m->sum[r][class_of(all, 5)][pos < 63 ? pos : 63];
    c[6] = &m->above[class_of(v->column[v->c].S, 3)][class_of(m->agree / 256, 5)];
    c[7] = &m->even[class_of(m->balance / 64, 5)];
    return second_mixed(m, 1, r, c, 8);
}

/* ---- section 8 ------------------------------------------------------------------------------- */

/* rest: what the numbers left alone say. */
static uint32_t read_stored(struct model *m, const struct view *v, struct counter rest, bool sparse)
{
    uint64_t pos = v->c % v->place, seen = pos < 7 ? pos : 7, ones = 0;
    struct column *col = &v->column[v->c];
    uint32_t next = v->c + 1 < v->cols ? v->column[v->c + 1].last : 0;
    for (uint64_t i = 0; i < seen; i++) {
        ones += (uint64_t)(m->run >> i & 1);
    }
    struct counter *c[13] = {
        &col->C,
        &m->r,
        &m->beside[m->quantizer][is(v->left) + 2 * is(v->line) + 4 * is(v->above) +
                                 8 * is(v->channel) + 16 * is(last_back(v, 2)) + 32 * is(next)],
        &m->levels[8 * level(col->C) + level(m->r)],
        &m->places[2 * (pos < 64 ? pos : 0) + is(v->left)],
        &m->seen[8 * seen + ones],
        m->states > 0 && !sparse ? &m->Q[m->state] : &rest,
        &m->ranks[64 * height(v->left) + 16 * height(v->above) + 4 * height(v->line) +
                  height(v->channel)],
    };
    return m->second ? mixed_by_size(m, 0, m->quantizer, c, 8)
                     : mixed(m, m->w[m->quantizer][0], c, 8);
}

static uint32_t sign_kind(uint32_t last)
{
    return last == 0 ? 0 : 1 + last % 2;
}

/* rank: in section 12 alone. */
static uint32_t read_sign(struct model *m, const struct view *v, uint32_t rank)
{
    struct counter *c[13] = {&v->column[v->c].D,
                             &m->signs[sign_kind(v->left) + 3 * sign_kind(v->line) +
                                       9 * sign_kind(v->above) + 27 * sign_kind(v->channel)],
                             &v->column[v->c - v->c % v->place].map,
                             &m->sign_places[v->c % v->place % 64]};
    return m->second ? second_sign(m, v, c, v->line_of_kernel, rank)
                     : mixed(m, m->w[m->quantizer][1], c, 4);
}

static uint32_t read_rank_bit(struct model *m, const struct view *v, uint32_t sign, uint32_t node)
{
    struct counter *K = &m->K[m->states > 0 ? m->quantizer : sign][node];
    if (node >= 16) {
        return single(m, K);
    }
    struct counter *c[13] = {K, &m->U[node][between(m->B >> 3, 0, 7)],
                             &m->V[node][between(v->column[v->c].A >> 3, 0, 7)],
                             &m->W[node][4 * height(v->left) + height(v->above)],
                             &m->X[node][8 * level(v->column[v->c].C) + level(m->r)]};
    return m->second ? mixed_by_size(m, node < 2 ? 2 : 3, 2 + node, c, 5)
                     : mixed(m, m->w[m->quantizer][node < 2 ? 2 : 3], c, 5);
}

static uint32_t read_rank(struct model *m, const struct view *v, uint32_t sign, uint32_t n)
{
    uint32_t k = 0, bits = 0, node = 1;
    if (n <= 16) {
        while (k + 1 < n && read_rank_bit(m, v, sign, k) == 1) {
            k++;
        }
        return k;
    }
    while ((n - 1) >> bits != 0) {
        bits++;
    }
    for (uint32_t i = 0; i < bits; i++) {
        node = 2 * node + read_rank_bit(m, v, sign, node);
    }
    must(node - (1u << bits) < n, m->bytes.at, "a rank is below the number of centroids");
    return node - (1u << bits);
}

static uint32_t read_second_rank(struct model *m, const struct view *v, uint32_t n)
{
    uint32_t k = 0, e = 0, x = 1;
    while (k < 14 && k + 1 < n && read_rank_bit(m, v, 0, k) == 1) {
        k++;
    }
    if (k < 14 || k + 1 == n) {
        return k;
    }
    while (single(m, &m->K[0][64 + e]) == 1) {
        e++;
        must(e <= 7, m->bytes.at, "a far rank has 7 bits at most");
    }
    for (uint32_t i = 0; i < e; i++) {
        x = 2 * x + (i == 0 ? single(m, &m->K[0][128 + e]) : decide(m, 32768));
    }
    must(13 + x < n, m->bytes.at, "a rank is below the number of centroids");
    return 13 + x;
}

/* What the numbers left alone say of a weight that is not selective: nothing. */
static uint32_t read_zero(struct model *m, const struct view *v)
{
    if (!m->second) {
        return single(m, &m->Z[is(v->left) + 2 * is(v->above)]);
    }
    struct counter rest = new_counter;
    uint32_t b = read_stored(m, v, rest, false);
    m->run = (m->run << 1 | b) & 0xFF;
    return 1 - b;
}

/* The index of a centroid of the group; *last as it will stand in the column. */
static uint32_t read_index(struct model *m, const struct view *v, const uint32_t *centroid,
                           uint32_t n_centroids, bool ask_zero, bool selective, uint32_t *last)
{
    uint32_t N = 0;
    while (N < n_centroids && centroid[N] >> 31 == 1) {
        N++;
    }
    uint32_t zero = N < n_centroids && centroid[N] == 0 ? 1 : 0, M = n_centroids - N - zero;
    *last = 0;
    if (zero == 1 && ask_zero &&
        (selective ? single(m, &m->Z[is(v->left) + 2 * is(v->above)]) : read_zero(m, v)) == 1) {
        return N;
    }
    uint32_t most = N > M ? N : M, coded = 0;
    must(most > 0, m->bytes.at, "a value that is not zero has a centroid");
    if (m->second) {
        coded = read_second_rank(m, v, m->states > 0 ? (most + 1) / 2 : most);
    }
    uint32_t sign = N == 0 ? 0 : M == 0 ? 1 : read_sign(m, v, coded);
    must((sign == 1 ? N : M) > 0, m->bytes.at, "a value that is not zero has a centroid");
    uint32_t n = sign == 1 ? N : M;
    if (!m->second) {
        coded = read_rank(m, v, sign, m->states > 0 ? (n + 1) / 2 : n);
    }
    uint32_t rank = coded, far = coded < 255 ? coded : 255;
    if (m->states > 0) {
        m->k = coded + 1;
        rank = 2 * m->k - m->quantizer - 1;
    }
    must(rank < n, m->bytes.at, "a level is one of the centroids");
    m->size = m->states > 0 ? rank + 1 : 2 * rank + 2;
    m->size = sign == 1 ? -m->size : m->size;
    *last = 2 * (coded + 1 < 7 ? coded + 1 : 7) + sign;
    m->B = (7 * m->B + 16 * far) / 8;
    v->column[v->c].A = (3 * v->column[v->c].A + 16 * far) / 4;
    return sign == 1 ? N - 1 - rank : N + zero + rank;
}

static uint32_t read_float(struct model *m, const struct view *v, uint32_t z, uint32_t *last)
{
    uint32_t sign = read_sign(m, v, 0), node = 1, mantissa = 0;
    for (int i = 0; i < 8; i++) {
        node = 2 * node + single(m, &m->E[node]);
    }
    for (uint32_t i = z; i < 23; i++) {
        mantissa = 2 * mantissa + decide(m, 32768);
    }
    *last = 2 + sign;
    return sign << 31 | (node - 256) << 23 | mantissa << z;
}

/* few: at most 16 centroids, or levels of a trellis, on each side of zero. */
static void start_ranks(struct model *m, bool few, bool settled)
{
    static const int64_t first[4] = {47, 17, 23, 32};
    RENEW(m->K);
    for (uint32_t sign = 0; settled && sign < 2; sign++) {
        for (uint32_t node = 0; node < 256; node++) {
            m->K[sign][node].n = 40;
        }
    }
    for (uint32_t node = 0; node < 16; node++) {
        struct counter c = few ? start_at(first[node < 3 ? node : 3], 1) : new_counter;
        m->K[0][node] = m->K[1][node] = c;
        renew(m->U[node], 8, c);
        renew(m->V[node], 8, c);
        renew(m->W[node], 16, c);
        renew(m->X[node], 64, c);
    }
}

static void start_counters(struct model *m, struct view *v, struct counter stored)
{
    RENEW(m->Z);
    RENEW(m->E);
    RENEW(m->signs);
    RENEW(m->sign_places);
    renew(m->ranks, 256, stored);
    renew(m->beside[0], 64, stored);
    renew(m->beside[1], 64, stored);
    renew(m->Q, 16, stored);
    renew(m->levels, 64, stored);
    renew(m->places, 128, stored);
    renew(m->seen, 64, stored);
    for (uint64_t i = 0; i < v->cols; i++) {
        v->column[i].C = stored;
        v->column[i].D = v->column[i].map = new_counter;
    }
}

/* The first group's, if there is a codebook. */
static bool sides_are_small(const struct tensor *t, const uint32_t *centroid)
{
    uint32_t N = 0, zero = 0;
    while (centroid != NULL && N < t->n_centroids && centroid[N] >> 31 == 1) {
        N++;
    }
    zero = centroid != NULL && N < t->n_centroids && centroid[N] == 0 ? 1 : 0;
    uint32_t most = t->trellis > 0 ? 32 : 16;
    return N <= most && (centroid == NULL || t->n_centroids - N - zero <= most);
}

/* mask: [count] zeroed; bits: [count] zeroed, of the f32. */
static void read_adaptive_slice(const struct tensor *t, const struct slice *s, uint8_t *mask,
                                uint32_t *bits)
{
    struct model *m = zeroed(1, sizeof *m);
    bool selective = is_selective(t), sparse = t->support != 0;
    uint64_t rows = s->rows, cols = t->count / rows_of(t), line, z = 0, flagged_rows = 0,
             flagged_cols = 0;
    uint64_t last_row = 0, last_col = 0, chosen_all = 0, left_n = s->stored;
    uint8_t *row_flag = NULL, *col_flag = NULL, *col_any = zeroed(cols, 1);
    uint32_t *centroid = t->grid != 0 ? read_codebook(t) : NULL;
    struct view v = {.column = zeroed(cols, sizeof *v.column), .cols = cols};
    struct counter stored = new_counter;
    open_code(m, s->bytes);
    find_places(t, cols, &v.place, &line);
    first_weights(m);
    if (selective) {
        row_flag = rows > 1 ? read_row_flags(m, rows) : zeroed(1, 1);
        row_flag[0] = rows > 1 ? row_flag[0] : 1;
        col_flag = read_column_flags(m, t, cols, v.place, line);
    }
    for (int i = 0; t->grid == 0 && i < 5; i++) {
        z = 2 * z + decide(m, 32768);
    }
    must(z <= 23, s->bytes.at, "a mantissa has 23 bits");
    for (uint64_t i = 0; selective && i < rows; i++) {
        flagged_rows += row_flag[i];
        last_row = row_flag[i] == 1 ? i : last_row;
    }
    for (uint64_t i = 0; selective && i < cols; i++) {
        flagged_cols += col_flag[i];
        last_col = col_flag[i] == 1 ? i : last_col;
    }
    uint64_t places = flagged_rows * flagged_cols;
    if (sparse && places > 0) {
        uint64_t q = (s->stored << 20) / places;
        stored.P = 4 * between((int64_t)q, 1000, 1046000);
        stored.n = 1;
    }
    start_counters(m, &v, stored);
    m->second = t->second;
    v.line_of_kernel = line;
    start_ranks(m, t->second || sides_are_small(t, centroid), t->settled);
    if (t->second) {
        start_second(m, &v, stored);
    }
    bool row_any = false;
    m->states = t->trellis;
    for (uint64_t i = s->first * cols; i < (s->first + rows) * cols; i++) {
        uint64_t r = i / cols - s->first;
        uint32_t last = 0;
        bool chosen = true;
        v.c = i % cols;
        if (v.c == 0) {
            m->r = stored;
            m->B = m->run = 0;
            m->state = 0;
            row_any = false;
            m->row_mean = m->mean;
            m->row_n = m->agree = m->balance = m->L[0] = m->L[1] = m->L[2] = 0;
        }
        m->size = 0;
        m->quantizer = m->state % 2;
        m->k = 0;
        v.left = last_back(&v, 1);
        v.line = last_back(&v, line);
        v.above = v.column[v.c].last;
        v.channel = last_back(&v, v.place);
        if (t->second) {
            expect_size(m, &v, line);
        }
        if (selective) {
            if (row_flag[r] == 0 || col_flag[v.c] == 0 || (sparse && left_n == 0)) {
                chosen = false;
            } else {
                bool implied =
                    (v.c == last_col && !row_any) || (r == last_row && col_any[v.c] == 0);
                struct counter rest = {stored.P, stored.n};
                if (sparse) {
                    rest = (struct counter){
                        4 * between((int64_t)((left_n << 20) / places), 1000, 1046000), 30};
                }
                chosen = implied || read_stored(m, &v, rest, sparse) == 1;
                places--;
                m->run = (m->run << 1 | chosen) & 0xFF;
            }
        }
        if (chosen) {
            row_any = true;
            col_any[v.c] = 1;
            chosen_all++;
            left_n -= sparse;
            if (t->grid == 0) {
                bits[i] = read_float(m, &v, (uint32_t)z, &last);
            } else {
                const uint32_t *group = centroid + i / (t->count / t->n_groups) * t->n_centroids;
                bits[i] = group[read_index(m, &v, group, t->n_centroids, !selective || sparse,
                                           selective, &last)];
            }
        }
        mask[i] = !sparse || chosen ? 1 : 0;
        v.column[v.c].last = last;
        saw_size(m, &v.column[v.c], m->size);
        if (m->states > 0) {
            m->state = m->state / 2 ^ (m->quantizer == 1 ? (m->states == 8 ? 5 : 9) : 0) ^
                       (m->k % 2 == 1 ? 2 : 0);
        }
    }
    must(!sparse || chosen_all == s->stored, s->bytes.at, "as many stored elements as told");
    check_code_end(m, s->bytes);
    free(v.column);
    free(row_flag);
    free(col_flag);
    free(col_any);
    free(centroid);
    free(m);
}

static void read_adaptive_values(const struct tensor *t, uint8_t *value)
{
    uint8_t *mask = zeroed(t->count, 1);
    uint32_t *bits = zeroed(t->count, sizeof *bits);
    struct slices all = slices_of(t);
    struct slice s;
    while (next_slice(t, &all, &s)) {
        if (s.stored > 0) {
            read_adaptive_slice(t, &s, mask, bits);
        } else {
            must(left(&s.bytes) == 0, s.bytes.at, "a slice that stores nothing has no bytes");
        }
    }
    for (uint64_t i = 0; i < t->count; i++) {
        write_value(t, value, i, mask[i] == 1 ? bits[i] : 0);
    }
    free(mask);
    free(bits);
}
