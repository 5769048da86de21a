/* SPDX-License-Identifier: MIT */
/* The stored preprocessing: read, written, applied. A picture has 256 pixel values, so applying it
 * is one table look-up per pixel and channel; the tables are computed as the formula says, in
 * double, and rounded once. */
#include <string.h>
#include "host/decimal.h"
#include "pith_host.h"
#include "pith_preprocess.h"

/* A picture of 65,536 pixels a side is refused before it is decoded. */
#define MAX_SIDE 65536u
#define DEFAULT_PAD 114u
#define MAX_FRACTION 65536u /* denominators that format looks for */

void pith_preprocess_init(struct pith_preprocess *pre)
{
    if (!pre)
        return;
    memset(pre, 0, sizeof *pre);
    pre->scale = 1.0f;
    pre->pad = DEFAULT_PAD;
}

/* ---- reading -------------------------------------------------------------------------------- */

struct piece {
    const char *p;
    size_t n;
};

/* The part of *rest before `separator` (or all of it); *rest moves behind it. Pieces point into
 * the text: nothing is copied, and no NUL is needed. */
static struct piece next_piece(struct piece *rest, char separator)
{
    const char *at = memchr(rest->p, separator, rest->n);
    struct piece head = {rest->p, at ? (size_t)(at - rest->p) : rest->n};
    size_t gone = head.n + (at ? 1 : 0);
    rest->p += gone;
    rest->n -= gone;
    return head;
}

/* Case matters. */
static bool equals(struct piece a, const char *text)
{
    return a.n == strlen(text) && memcmp(a.p, text, a.n) == 0;
}

/* A decimal or a fraction of two. 1/255 is what people write, and is more exact than any decimal
 * they would. The quotient is computed in double and rounded once. The range is tested before it
 * becomes a float, as the conversion of a larger number is undefined; the comparison is false for
 * NaN. */
static bool parse_number(struct piece t, float *value)
{
    float above, below;
    if (!memchr(t.p, '/', t.n))
        return pith_decimal_parse(t.p, t.n, value);
    struct piece head = next_piece(&t, '/');
    if (!pith_decimal_parse(head.p, head.n, &above) || !pith_decimal_parse(t.p, t.n, &below) ||
        below == 0.0f)
        return false;
    double v = (double)above / (double)below;
    if (!(v >= -3.4e38 && v <= 3.4e38))
        return false;
    *value = (float)v;
    return true;
}

/* One number for all channels, or one each. The number of entries is tested before an entry is
 * written. */
static bool parse_list(struct piece t, float *list, uint32_t *n)
{
    *n = 0;
    for (bool more = true; more;) {
        more = memchr(t.p, ':', t.n) != NULL;
        if (*n == PITH_PREPROCESS_CHANNELS || !parse_number(next_piece(&t, ':'), &list[*n]))
            return false;
        ++*n;
    }
    return true;
}

/* Compared before it is multiplied: no overflow. */
static bool parse_side(struct piece t, uint32_t *side)
{
    uint32_t v = 0;
    for (size_t i = 0; i < t.n; i++) {
        if (t.p[i] < '0' || t.p[i] > '9' || v > MAX_SIDE)
            return false;
        v = v * 10 + (uint32_t)(t.p[i] - '0');
    }
    *side = v;
    return t.n > 0 && v >= 1 && v <= MAX_SIDE;
}

/* "HxW". */
static bool parse_size(struct piece t, uint32_t *h, uint32_t *w)
{
    struct piece rest = t, head = next_piece(&rest, 'x');
    return parse_side(head, h) && parse_side(rest, w);
}

/* A side, or a size. What a name in front says of size goes. */
static bool parse_resize(struct piece t, struct pith_preprocess *pre)
{
    pre->resize = pre->resize_h = pre->resize_w = 0;
    return memchr(t.p, 'x', t.n) ? parse_size(t, &pre->resize_h, &pre->resize_w)
                                 : parse_side(t, &pre->resize);
}

/* 0 to 255, in digits. */
static bool parse_pad(struct piece t, uint32_t *pad)
{
    uint32_t v = 0;
    if (t.n < 1 || t.n > 3)
        return false;
    for (size_t i = 0; i < t.n; i++) {
        if (t.p[i] < '0' || t.p[i] > '9')
            return false;
        v = v * 10 + (uint32_t)(t.p[i] - '0');
    }
    *pad = v;
    return v <= 255;
}

/* Two words; everything else is refused. */
static bool parse_choice(struct piece t, const char *no, const char *yes, bool *chosen)
{
    *chosen = equals(t, yes);
    return *chosen || equals(t, no);
}

/* std divides, so it must not be 0. The comparison is false for NaN, too. */
static bool parse_std(struct piece t, struct pith_preprocess *pre)
{
    if (!parse_list(t, pre->std, &pre->n_std))
        return false;
    for (uint32_t i = 0; i < pre->n_std; i++)
        if (!(pre->std[i] > 0.0f))
            return false;
    return true;
}

/* In the order in which they are written. */
enum key { SCALE, MEAN, STD, RESIZE, CROP, LETTERBOX, PAD, ORDER, LAYOUT };
static const char *const keys[] = {"scale",     "mean", "std",   "resize", "crop",
                                   "letterbox", "pad",  "order", "layout"};
#define N_KEYS (sizeof keys / sizeof *keys)

/* Key numbers are those of `keys`, and each writes a part of *pre of its own, so the order of keys
 * in the text does not matter. */
static bool parse_value(size_t key, struct piece t, struct pith_preprocess *pre)
{
    switch (key) {
    case SCALE:
        return parse_number(t, &pre->scale) && pre->scale != 0.0f;
    case MEAN:
        return parse_list(t, pre->mean, &pre->n_mean);
    case STD:
        return parse_std(t, pre);
    case RESIZE:
        return parse_resize(t, pre);
    case CROP:
        return parse_side(t, &pre->crop);
    case LETTERBOX:
        return parse_size(t, &pre->letterbox_h, &pre->letterbox_w);
    case PAD:
        return parse_pad(t, &pre->pad);
    case ORDER:
        return parse_choice(t, "rgb", "bgr", &pre->bgr);
    default:
        if (!parse_choice(t, "nhwc", "nchw", &pre->nchw))
            return false;
        pre->nhwc = !pre->nchw;
        return true;
    }
}

/* How much of a text an error cites: it may be of any length. */
static int shown(size_t n)
{
    return n > 64 ? 64 : (int)n;
}

static const struct {
    const char *name;
    struct pith_preprocess pre;
} names[] = {
    {"imagenet",
     {.scale = 1.0f / 255,
      .pad = DEFAULT_PAD,
      .n_mean = 3,
      .n_std = 3,
      .mean = {0.485f, 0.456f, 0.406f},
      .std = {0.229f, 0.224f, 0.225f},
      .resize = 256,
      .crop = 224}},
    {"caffe",
     {.scale = 1,
      .pad = DEFAULT_PAD,
      .n_mean = 3,
      .mean = {104, 117, 123},
      .resize = 256,
      .crop = 224,
      .bgr = true}},
    {"unit", {.scale = 1.0f / 255, .pad = DEFAULT_PAD}},
    {"signed", {.scale = 1.0f / 127.5f, .pad = DEFAULT_PAD, .n_mean = 1, .mean = {1}}},
    {"raw", {.scale = 1, .pad = DEFAULT_PAD}},
};

/* A name stands for a whole setting, which the keys behind it change. */
static bool find_name(struct piece t, struct pith_preprocess *pre)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (equals(t, names[i].name)) {
            *pre = names[i].pre;
            return true;
        }
    }
    return false;
}

/* Everything goes into `made`, so *pre is changed only when all of the text is right. A key that
 * comes twice is refused, since one of the two would be ignored. A comma at the end is an empty
 * key, and refused. */
enum pith_status pith_preprocess_read(const char *text, size_t n, struct pith_preprocess *pre,
                                      struct pith_error *err)
{
    if (!pre)
        return PITH_ERR_ARGUMENT;
    struct pith_preprocess made;
    struct piece rest = {text, n}, after = rest;
    struct piece first = next_piece(&after, ',');
    unsigned present = 0;
    pith_preprocess_init(&made);
    bool more = n > 0;
    if (find_name(first, &made)) {
        rest = after;
        more = first.n < n;
    }
    while (more) {
        more = memchr(rest.p, ',', rest.n) != NULL;
        struct piece value = next_piece(&rest, ','), all = value;
        struct piece key = next_piece(&value, '=');
        size_t k = 0;
        while (k < N_KEYS && !equals(key, keys[k]))
            k++;
        if (k == N_KEYS)
            return pith_error_set(
                err, PITH_ERR_ARGUMENT,
                "preprocessing has no '%.*s': it is scale, mean, std, resize, "
                "crop, letterbox, pad, order or layout, and in front of them a name may stand: "
                "imagenet, caffe, unit, signed or raw",
                shown(key.n), key.p);
        if (present >> k & 1)
            return pith_error_set(err, PITH_ERR_ARGUMENT, "preprocessing names '%s' twice",
                                  keys[k]);
        if (!parse_value(k, value, &made))
            return pith_error_set(err, PITH_ERR_ARGUMENT, "bad preprocessing value '%.*s'",
                                  shown(all.n), all.p);
        present |= 1u << k;
    }
    if (made.letterbox_h && (present >> RESIZE | present >> CROP) & 1)
        return pith_error_set(err, PITH_ERR_ARGUMENT,
                              "preprocessing has letterbox, which resizes: give it without resize "
                              "and crop");
    if (present >> PAD & 1 && !made.letterbox_h)
        return pith_error_set(err, PITH_ERR_ARGUMENT, "preprocessing has pad without letterbox");
    if (made.letterbox_h)
        made.resize = made.crop = 0; /* of a name */
    if (made.resize_h && !(present >> CROP & 1))
        made.crop = 0; /* of a name */
    if (made.n_mean > 1 && made.n_std > 1 && made.n_mean != made.n_std)
        return pith_error_set(err, PITH_ERR_ARGUMENT, "preprocessing has %u means and %u stds",
                              (unsigned)made.n_mean, (unsigned)made.n_std);
    *pre = made;
    return PITH_OK;
}

enum pith_status pith_preprocess_parse(const char *text, size_t n, struct pith_preprocess *pre)
{
    if (!text || !pre)
        return PITH_ERR_ARGUMENT;
    return pith_preprocess_read(text, n, pre, NULL);
}

/* ---- writing -------------------------------------------------------------------------------- */

struct writer {
    char *text;
    size_t at, n;
    bool full;
};

/* One byte is left for the NUL. After the first text that does not fit nothing is written. */
static void write_text(struct writer *w, const char *p, size_t n)
{
    if (w->full || n >= w->n - w->at) {
        w->full = true;
        return;
    }
    memcpy(w->text + w->at, p, n);
    w->at += n;
}

static void write_key(struct writer *w, size_t key)
{
    if (w->at > 0)
        write_text(w, ",", 1);
    write_text(w, keys[key], strlen(keys[key]));
    write_text(w, "=", 1);
}

/* "1/n" when that is the value, as people write it; else the shortest decimal. */
static void write_number(struct writer *w, float v)
{
    char text[DECIMAL_TEXT_BYTES];
    size_t n = pith_decimal_format(v, text);
    double below = v > 0.0f ? 1.0 / (double)v + 0.5 : 0.0;
    if (n > 6 && below >= 2.0 && below <= (double)MAX_FRACTION) {
        uint32_t whole = (uint32_t)below;
        if ((float)(1.0 / (double)whole) == v) {
            write_text(w, "1/", 2);
            n = pith_decimal_format((float)whole, text);
        }
    }
    write_text(w, text, n);
}

static void write_list(struct writer *w, size_t key, const float *list, uint32_t n)
{
    if (n == 0)
        return;
    write_key(w, key);
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0)
            write_text(w, ":", 1);
        write_number(w, list[i]);
    }
}

static void write_side(struct writer *w, size_t key, uint32_t side)
{
    if (side == 0)
        return;
    write_key(w, key);
    write_number(w, (float)side); /* <= 2^16: exact */
}

static void write_size(struct writer *w, size_t key, uint32_t height, uint32_t width)
{
    if (height == 0)
        return;
    write_key(w, key);
    write_number(w, (float)height);
    write_text(w, "x", 1);
    write_number(w, (float)width);
}

enum pith_status pith_preprocess_format(const struct pith_preprocess *pre, char *text, size_t n)
{
    if (!pre || !text)
        return PITH_ERR_ARGUMENT;
    struct writer w = {text, 0, n, n == 0};
    if (pre->scale != 1.0f)
        write_list(&w, SCALE, &pre->scale, 1);
    write_list(&w, MEAN, pre->mean, pre->n_mean);
    write_list(&w, STD, pre->std, pre->n_std);
    write_side(&w, RESIZE, pre->resize);
    write_size(&w, RESIZE, pre->resize_h, pre->resize_w);
    write_side(&w, CROP, pre->crop);
    write_size(&w, LETTERBOX, pre->letterbox_h, pre->letterbox_w);
    if (pre->letterbox_h && pre->pad != DEFAULT_PAD) {
        write_key(&w, PAD);
        write_number(&w, (float)pre->pad);
    }
    if (pre->bgr) {
        write_key(&w, ORDER);
        write_text(&w, "bgr", 3);
    }
    if (pre->nhwc || pre->nchw) {
        write_key(&w, LAYOUT);
        write_text(&w, pre->nhwc ? "nhwc" : "nchw", 4);
    }
    if (w.full)
        return PITH_ERR_SPACE;
    text[w.at] = '\0';
    return PITH_OK;
}

/* ---- applying ------------------------------------------------------------------------------- */

/* Entry c of a list of which 0 (nothing), 1 (all the same) or all are given. c is below n where n
 * is more than 1: the caller has compared the counts. */
static double item(const float *list, uint32_t n, uint32_t c, double none)
{
    if (n == 0)
        return none;
    return (double)list[n == 1 ? 0 : c];
}

float pith_preprocess_value(const struct pith_preprocess *pre, float pixel, uint32_t c)
{
    if (!pre)
        return 0;
    double mean = item(pre->mean, pre->n_mean, c, 0.0), std = item(pre->std, pre->n_std, c, 1.0);
    return (float)(((double)pixel * (double)pre->scale - mean) / std);
}

/* The mean and deviation of channel k are those in the order fed (pith_preprocess.h), the pixel's
 * channel is turned round for bgr. */
enum pith_status pith_preprocess_apply(const struct pith_preprocess *pre, const uint8_t *pixels,
                                       uint32_t h, uint32_t w, uint32_t c, float *out)
{
    if (!pre || !pixels || !out)
        return PITH_ERR_ARGUMENT;
    float table[256];
    size_t n = (size_t)h * w;
    if (c == 0 || c > PITH_PREPROCESS_CHANNELS || (pre->n_mean > 1 && pre->n_mean != c) ||
        (pre->n_std > 1 && pre->n_std != c))
        return PITH_ERR_ARGUMENT;
    for (uint32_t k = 0; k < c; k++) {
        uint32_t from = pre->bgr ? c - 1 - k : k;
        size_t at = pre->nhwc ? k : k * n, step = pre->nhwc ? c : 1;
        for (uint32_t v = 0; v < 256; v++)
            table[v] = pith_preprocess_value(pre, (float)v, k);
        for (size_t i = 0; i < n; i++)
            out[at + i * step] = table[pixels[i * c + from]];
    }
    return PITH_OK;
}
