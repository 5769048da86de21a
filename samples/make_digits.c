/* SPDX-License-Identifier: MIT */
/* make_digits FOLDER [N_TRAIN N_TEST SEED] - handwritten-like digits as IDX files, and the first of
 * the test set as PNG files FOLDER/pictures/DIGIT/NUMBER.png, to try pith without downloading
 * anything.
 *
 * Each digit is a few strokes (polylines and arcs through fixed points in the unit square). A
 * sample jitters the points, applies a random affine map, bends the plane with a smooth
 * displacement field (a coarse grid of offsets, interpolated), draws the strokes with a pen of
 * random width by distance to the nearest segment, and adds noise: 28x28 grey, like the well-known
 * data set, and the same bytes for the same seed on every machine up to the libm's last bit. */
#include "generate.h"
#include <math.h>
#include <png.h>

#define SIDE 28
#define MAX_POINTS 64
#define GRID 4
#define PICTURES 10 /* of each digit, at most */

struct point {
    double x, y;
};

/* One stroke: points joined by a Catmull-Rom curve; n == 2 is a straight line. */
struct stroke {
    int n;
    struct point p[9];
};

struct glyph {
    int n;
    struct stroke s[3];
};

static const struct glyph glyphs[10] = {
    {1,
     {{9,
       {{.5, .1},
        {.25, .25},
        {.2, .5},
        {.28, .78},
        {.5, .9},
        {.74, .76},
        {.8, .5},
        {.72, .22},
        {.5, .1}}}}},
    {1, {{3, {{.36, .25}, {.54, .1}, {.52, .9}}}}},
    {1,
     {{8,
       {{.24, .28},
        {.4, .11},
        {.66, .14},
        {.74, .32},
        {.55, .58},
        {.24, .88},
        {.5, .86},
        {.8, .88}}}}},
    {1,
     {{9,
       {{.26, .16},
        {.5, .09},
        {.74, .22},
        {.64, .42},
        {.44, .48},
        {.7, .56},
        {.76, .76},
        {.52, .91},
        {.24, .82}}}}},
    {2, {{3, {{.6, .1}, {.22, .62}, {.82, .62}}}, {2, {{.62, .36}, {.6, .92}}}}},
    {2,
     {{2, {{.76, .12}, {.34, .12}}},
      {7, {{.34, .12}, {.3, .46}, {.56, .42}, {.76, .58}, {.72, .8}, {.48, .91}, {.24, .84}}}}},
    {1,
     {{9,
       {{.68, .1},
        {.42, .26},
        {.27, .55},
        {.34, .84},
        {.56, .9},
        {.74, .74},
        {.66, .56},
        {.46, .53},
        {.3, .68}}}}},
    {1, {{3, {{.22, .14}, {.78, .13}, {.42, .92}}}}},
    {1,
     {{9,
       {{.68, .2},
        {.48, .09},
        {.3, .24},
        {.5, .46},
        {.73, .68},
        {.52, .91},
        {.27, .72},
        {.48, .48},
        {.68, .2}}}}},
    {1,
     {{8,
       {{.72, .3},
        {.54, .11},
        {.3, .2},
        {.28, .42},
        {.5, .5},
        {.72, .32},
        {.7, .6},
        {.56, .92}}}}}};

struct warp {
    double a, b, c, d, dx, dy;                             /* affine, about the centre */
    double ex[GRID + 1][GRID + 1], ey[GRID + 1][GRID + 1]; /* displacement field */
};

static struct warp random_warp(void)
{
    struct warp w;
    double angle = uniform(-0.28, 0.28), shear = uniform(-0.3, 0.3);
    double sx = uniform(0.72, 1.08), sy = uniform(0.78, 1.08);
    w.a = sx * cos(angle);
    w.b = sx * (shear - sin(angle));
    w.c = sy * sin(angle);
    w.d = sy * cos(angle);
    w.dx = uniform(-0.09, 0.09);
    w.dy = uniform(-0.08, 0.08);
    for (int i = 0; i <= GRID; i++)
        for (int j = 0; j <= GRID; j++) {
            w.ex[i][j] = uniform(-0.06, 0.06);
            w.ey[i][j] = uniform(-0.06, 0.06);
        }
    return w;
}

static double field(const double f[GRID + 1][GRID + 1], double x, double y)
{
    double gx = fmin(fmax(x, 0), 0.999) * GRID, gy = fmin(fmax(y, 0), 0.999) * GRID;
    int j = (int)gx, i = (int)gy;
    double u = gx - j, v = gy - i;
    return (1 - v) * ((1 - u) * f[i][j] + u * f[i][j + 1]) +
           v * ((1 - u) * f[i + 1][j] + u * f[i + 1][j + 1]);
}

static struct point map(const struct warp *w, struct point p)
{
    double x = p.x - 0.5 + field(w->ex, p.x, p.y), y = p.y - 0.5 + field(w->ey, p.x, p.y);
    struct point q = {0.5 + w->a * x + w->b * y + w->dx, 0.5 + w->c * x + w->d * y + w->dy};
    return q;
}

static struct point curve(const struct stroke *s, const struct point *p, double t)
{
    int k = (int)t;
    double u = t - k, u2 = u * u, u3 = u2 * u;
    struct point p1 = p[k], p2 = p[k + 1];
    struct point p0 = k > 0 ? p[k - 1] : p1, p3 = k + 2 < s->n ? p[k + 2] : p2;
    struct point q = {
        0.5 * (2 * p1.x + (p2.x - p0.x) * u + (2 * p0.x - 5 * p1.x + 4 * p2.x - p3.x) * u2 +
               (3 * p1.x - p0.x - 3 * p2.x + p3.x) * u3),
        0.5 * (2 * p1.y + (p2.y - p0.y) * u + (2 * p0.y - 5 * p1.y + 4 * p2.y - p3.y) * u2 +
               (3 * p1.y - p0.y - 3 * p2.y + p3.y) * u3)};
    return q;
}

/* Corners stay corners in 1, 4 and 7: their strokes are straight between points. */
static int is_straight(int digit, const struct stroke *s)
{
    return s->n == 2 || digit == 1 || digit == 4 || digit == 7;
}

static int flatten(int digit, const struct stroke *s, const struct warp *w, struct point *out)
{
    struct point p[9];
    int n = 0;
    for (int i = 0; i < s->n; i++) {
        struct point jittered = {s->p[i].x + uniform(-0.03, 0.03),
                                 s->p[i].y + uniform(-0.03, 0.03)};
        p[i] = map(w, jittered);
    }
    if (is_straight(digit, s)) {
        memcpy(out, p, (size_t)s->n * sizeof *p);
        return s->n;
    }
    for (int i = 0; i <= 6 * (s->n - 1); i++)
        out[n++] = curve(s, p, fmin(i / 6.0, s->n - 1 - 1e-9));
    return n;
}

static double segment_distance(struct point p, struct point a, struct point b)
{
    double dx = b.x - a.x, dy = b.y - a.y, len2 = dx * dx + dy * dy;
    double t = len2 > 0 ? ((p.x - a.x) * dx + (p.y - a.y) * dy) / len2 : 0;
    t = fmin(fmax(t, 0), 1);
    return hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

static void draw(int digit, uint8_t image[SIDE * SIDE])
{
    struct warp w = random_warp();
    struct point line[3][MAX_POINTS];
    int n[3];
    const struct glyph *g = &glyphs[digit];
    double pen = uniform(0.032, 0.062), ink = uniform(0.75, 1.0), noise = uniform(0, 0.10);
    for (int s = 0; s < g->n; s++)
        n[s] = flatten(digit, &g->s[s], &w, line[s]);
    for (int i = 0; i < SIDE * SIDE; i++) {
        struct point p = {(i % SIDE + 0.5) / SIDE * 1.3 - 0.15,
                          (i / SIDE + 0.5) / SIDE * 1.3 - 0.15};
        double d = 9;
        for (int s = 0; s < g->n; s++)
            for (int k = 0; k + 1 < n[s]; k++)
                d = fmin(d, segment_distance(p, line[s][k], line[s][k + 1]));
        d = ink * fmin(fmax((pen - d) / 0.03 + 0.5, 0), 1) + noise * uniform(-1, 1) * uniform(0, 1);
        image[i] = (uint8_t)(255 * fmin(fmax(d, 0), 1) + 0.5);
    }
}

static void put_be32(FILE *f, uint32_t v)
{
    uint8_t b[4] = {(uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v};
    fwrite(b, 1, 4, f);
}

static void write_png(const char *folder, int digit, int number, const uint8_t pixels[SIDE * SIDE])
{
    char path[4096];
    png_image png = {.version = PNG_IMAGE_VERSION, .width = SIDE, .height = SIDE};
    png.format = PNG_FORMAT_GRAY;
    snprintf(path, sizeof path, "%s/pictures", folder);
    make_folder(path);
    snprintf(path, sizeof path, "%s/pictures/%d", folder, digit);
    make_folder(path);
    snprintf(path, sizeof path, "%s/pictures/%d/%d.png", folder, digit, number);
    if (!png_image_write_to_file(&png, path, 0, pixels, SIDE, NULL)) {
        fprintf(stderr, "make_digits: %s: %s\n", path, png.message);
        exit(3);
    }
}

static void write_set(const char *folder, const char *prefix, uint32_t n, int n_pictures)
{
    int written[10] = {0};
    char name[64];
    uint8_t image[SIDE * SIDE];
    FILE *images, *labels;
    snprintf(name, sizeof name, "%s-images-idx3-ubyte", prefix);
    images = create(folder, name);
    snprintf(name, sizeof name, "%s-labels-idx1-ubyte", prefix);
    labels = create(folder, name);
    put_be32(images, 0x803);
    put_be32(images, n);
    put_be32(images, SIDE);
    put_be32(images, SIDE);
    put_be32(labels, 0x801);
    put_be32(labels, n);
    for (uint32_t i = 0; i < n; i++) {
        int digit = (int)uniform(0, 10);
        draw(digit, image);
        fwrite(image, 1, sizeof image, images);
        fputc(digit, labels);
        if (written[digit] < n_pictures)
            write_png(folder, digit, written[digit]++, image);
    }
    finish(images, folder);
    finish(labels, folder);
}

int main(int argc, char **argv)
{
    uint32_t n_train = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 10000;
    uint32_t n_test = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 2000;
    if (argc < 2 || n_train == 0 || n_test == 0) {
        fprintf(stderr, "usage: make_digits FOLDER [N_TRAIN N_TEST SEED]\n");
        return 2;
    }
    state = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
    make_folder(argv[1]);
    write_set(argv[1], "train", n_train, 0);
    write_set(argv[1], "test", n_test, PICTURES);
    return 0;
}
