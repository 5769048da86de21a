/* SPDX-License-Identifier: MIT */
/* integer_layout.c - see integer_layout.h: what a plan decides of an integer convolution. */
#include "products/integer_conv.h"
#include "kernels/ref/integer_element.h"
#include "pith_runtime.h"

#define CHUNKS 16u
#define BAND_PIXELS 192u  /* of output, at least: few input rows are then copied twice */
#define BAND_BYTES 65536u /* of a copy, where one row is less */
/* Of a grid, where no threads share bands; of folded places a copy has few bytes. */
#define GRID_PIXELS 2048u
#define FOLDED_PIXELS 4096u
#define GRID_BYTES 131072u
#define FEW_MACS 262144u               /* less is not worth waking a thread */
#define THREADS 2u                     /* where the number is unknown */
#define FEWEST_COLUMNS 64u             /* of slots: with fewer most of a window is empty */
#define MOST_COLUMNS 65536u            /* column of struct slots_more */
#define MOST_BYTES (UINT64_C(1) << 32) /* of what struct slots_panel names */
#define SPREAD 2u      /* what the fullest of 16 outputs has is about so much above the mean */
#define MOST_SPREAD 3u /* and what is above that is left to be kept apart */
#define LEFT_EMPTY 3u  /* slots of an output in 128 columns, where nonzeros are strewn evenly */
/* Weights are halved where slots of bytes take more than 1.25 MB, as much as second-level caches
 * have: what comes from there takes as long, and two instructions less. */
#define MANY_NONZEROS 655360u

/* Whether some window reaches beyond x, on any of the four sides. The padding at the end is not
 * stored, but follows from the number of outputs. */
static bool is_padded(const struct integer_conv *c)
{
    uint64_t bottom = (uint64_t)(c->oh - 1) * c->stride_h + (uint64_t)(c->kh - 1) * c->dil_h;
    uint64_t right = (uint64_t)(c->ow - 1) * c->stride_w + (uint64_t)(c->kw - 1) * c->dil_w;
    return c->pad_top || c->pad_left || bottom >= c->h || right >= c->w;
}

/* The mean number of nonzeros of an output in a window, rounded up, so that a layer of few has
 * slots at all. */
static uint64_t mean_nonzeros(const struct integer_conv *c, uint32_t run)
{
    const uint64_t count = (uint64_t)run * c->outputs;
    return (c->nonzeros * least(run, SLOTS_STEP) + count - 1) / count;
}

/* Slots of an output in a window, if nonzeros are strewn evenly: their mean and `spread` standard
 * deviations more (of numbers of nonzeros, whose variance is about the mean), in groups of four. */
static uint32_t groups_of(const struct integer_conv *c, uint32_t run, uint32_t spread)
{
    const uint64_t mean = mean_nonzeros(c, run);
    uint64_t root = 0;
    while (root * root < mean)
        root++;
    return least((mean + spread * root + 3) / 4, (least(run, SLOTS_STEP) + 3) / 4);
}

/* Nonzeros of trained layers are not strewn evenly: where outputs have several times as many as
 * others, what is kept apart takes ten times as long as dense weights. So small matrices have room
 * for half of a window's columns, which is the bytes of dense weights. */
#define SMALL_MATRIX (1u << 22)
uint32_t pith_integer_most_groups(const struct integer_conv *c, uint32_t run)
{
    const uint32_t some = groups_of(c, run, MOST_SPREAD), half = (least(run, SLOTS_STEP) + 7) / 8;
    const bool small = (uint64_t)run * c->outputs < SMALL_MATRIX;
    return small && some < half ? half : some;
}

/* Memory for any pattern with so many nonzeros: what does not fit the groups is kept apart. */
static uint64_t slots_bytes(const struct integer_layout *l, const struct integer_conv *c)
{
    uint64_t panels = l->rounded / SLOTS_NR, groups = pith_integer_most_groups(c, l->run);
    uint64_t head = l->slots.in_spans ? spans_bytes(l->steps * groups) : 0;
    uint64_t panel = head + slots_groups_bytes(l->steps * groups, l->slots.halved);
    return aligned_bytes(panels * sizeof(struct slots_panel)) + panels * panel +
           aligned_bytes(c->nonzeros * sizeof(struct slots_more));
}

/* Slots are of bytes, with one segment and one group (kernel_integer.h). */
static bool fits_packing(const struct integer_layout *l, const struct integer_conv *c)
{
    if (l->packing == PACK_PLAIN)
        return true;
    if (c->words || c->groups != 1)
        return false;
    return SLOTS_BUILT && l->segments == 1 && c->nonzeros && l->run <= MOST_COLUMNS &&
           slots_bytes(l, c) < MOST_BYTES;
}

/* Tiles multiply so many bytes of k at once; fewer than the least in all stay with other kernels.
 * Of a window that is folded there are not many, as those of neighbours are copied anew, unless
 * windows lie apart, as the patches of transformers do. */
#define TILE_BYTES 64u
#define LEAST_BYTES 16u
#define MOST_FOLDED 256u
#define MOST_APART 4096u
/* So many rows of a picture are all in a place, though it is copied more often then: they are
 * interleaved fast. */
#define PICTURE_ROWS 3u

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

/* Tiles that a window takes whose places have `rows` rows and all columns of a step. */
static uint64_t tiles_of_folded(const struct integer_conv *c, uint64_t rows)
{
    const uint64_t run = ceil_div(c->kw, c->stride_w) * c->stride_w * rows * c->channels;
    return ceil_div(c->kh, rows) * ceil_div(run, TILE_BYTES);
}

/* Whether pixels are places of a grid, as gemm_grid reads them. Where windows move by more than a
 * pixel, those that a tap sees do not lie side by side, so the band is kept in planes, one for each
 * remainder of rows and columns. A tap of few channels fills a part of a tile: then places are
 * folded, which have all columns of a step, and its rows or, where it is of one row, the window's.
 */
static void set_grid(struct integer_layout *l, const struct integer_conv *c,
                     const struct integer_kernels *k)
{
    const uint64_t window = (uint64_t)c->kh * c->kw * l->cg;
    const bool picture = !c->channels_last && c->kh <= PICTURE_ROWS;
    const uint32_t rows = c->stride_h > 1 && !picture ? c->stride_h : c->kh;
    l->grid.down = l->grid.across = l->grid.step_h = l->grid.step_w = 1;
    l->grid.used = GRID_BUILT && k->gemm_grid && l->packing == PACK_PLAIN && !l->depthwise &&
                   !c->words && !c->zero_w && window >= LEAST_BYTES &&
                   (uint64_t)c->oh * c->ow >= k->tile_rows;
    if (!GRID_BUILT || !l->grid.used)
        return;
    l->gemm = k->gemm_grid;
    l->grid.step_h = c->stride_h;
    l->grid.step_w = c->stride_w;
    l->grid.down = least(c->stride_h, (uint64_t)(c->kh - 1) * c->dil_h + 1);
    l->grid.across = least(c->stride_w, (uint64_t)(c->kw - 1) * c->dil_w + 1);
    const bool apart = c->kh <= c->stride_h && c->kw <= c->stride_w;
    const uint64_t most = apart ? MOST_APART : MOST_FOLDED;
    if (c->groups > 1 || c->dil_h > 1 || c->dil_w > 1 || window > most ||
        (uint64_t)rows * c->stride_w * l->cg > most)
        return;
    const uint64_t plain = c->kh * c->kw * ceil_div(l->cg, TILE_BYTES);
    const uint64_t columns = tiles_of_folded(c, 1), both = tiles_of_folded(c, rows);
    l->grid.rows_folded = both * 2 <= columns || (c->stride_h > 1 && both < columns);
    l->grid.folded = l->grid.rows_folded || (c->stride_w > 1 && columns < plain);
    if (l->grid.folded)
        l->grid.across = c->stride_w;
    if (l->grid.rows_folded)
        l->grid.down = rows;
}

/* Segments are runs of x that lie side by side under a window. In channels-last order the taps of a
 * kernel's row do where they are not dilated and a pixel has the channels of one group alone; else
 * each tap is a segment. */
static bool set_product(struct integer_layout *l, const struct integer_conv *c,
                        const struct integer_kernels *k)
{
    uint64_t taps = (uint64_t)c->kh * c->kw, element = l->wide ? 2 : 1;
    if (l->depthwise) {
        uint64_t blocks = depthwise_blocks(k->block, c->outputs);
        l->segments = (uint32_t)((taps + k->group - 1) / k->group * k->group);
        l->rounded = (uint32_t)(blocks * k->block);
        l->prep.panel_bytes = (uint64_t)l->segments * k->block * element;
        l->prep.group_bytes = blocks * l->prep.panel_bytes;
        return l->packing == PACK_PLAIN;
    }
    bool joined =
        c->dil_w == 1 && c->groups == 1 && (!GRID_BUILT || !l->grid.used || l->grid.step_w == 1);
    l->segments = (uint32_t)(joined ? c->kh : taps);
    l->run = joined ? c->kw * l->cg : l->cg;
    if (GRID_BUILT && l->grid.folded) {
        const uint32_t rows = l->grid.rows_folded ? l->grid.down : 1;
        l->segments = (uint32_t)ceil_div(c->kh, rows);
        l->run = (uint32_t)ceil_div(c->kw, l->grid.across) * rows * l->grid.across * l->cg;
    }
    if (SLOTS_BUILT && l->packing == PACK_SLOTS && joined) {
        l->run *= l->segments;
        l->segments = 1;
    }
    l->steps = (l->run + l->k_step - 1) / l->k_step;
    l->rounded = (l->og + l->nr - 1) / l->nr * l->nr;
    l->prep.panel_bytes = (uint64_t)l->segments * l->steps * l->k_step * l->nr * element;
    if (SLOTS_BUILT && l->packing == PACK_SLOTS)
        l->prep.panel_bytes = sizeof(struct slots_panel);
    l->prep.group_bytes = l->prep.panel_bytes * (l->rounded / l->nr);
    if (!fits_packing(l, c))
        return false;
    if (SLOTS_BUILT && l->packing == PACK_SLOTS)
        l->prep.group_bytes = slots_bytes(l, c);
    return true;
}

static uint64_t band_pixels(const struct integer_layout *l, bool parallel)
{
    if (!GRID_BUILT || !l->grid.used || parallel)
        return BAND_PIXELS;
    return l->grid.folded ? FOLDED_PIXELS : GRID_PIXELS;
}

/* Places of a row of the grid, of which some stand for no pixel. */
static uint64_t grid_width(const struct integer_conv *c)
{
    return c->ow + (uint64_t)(c->kw - 1) * c->dil_w / c->stride_w;
}

/* Of a grid that does not lie in x: its places, and where their elements are. In a folded place
 * neighbours of a row of x lie side by side, so that they are copied at once. */
static void set_places(struct integer_layout *l, const struct integer_conv *c, bool parallel)
{
    const uint32_t down = l->grid.rows_folded ? l->grid.down : 1,
                   across = l->grid.folded ? l->grid.across : 1;
    const uint64_t most = parallel ? BAND_BYTES : GRID_BYTES;
    const uint64_t rows = band_pixels(l, parallel) / c->ow + 1;
    l->width = grid_width(c);
    l->pixel = (uint64_t)l->cg * down * across;
    l->row = l->width * l->pixel;
    const uint64_t bands = ceil_div(c->oh, least(rows, most / l->row + 1));
    l->rows = (uint32_t)ceil_div(c->oh, bands);
    l->in_rows = l->rows + (l->grid.rows_folded ? l->segments - 1
                                                : (uint64_t)(c->kh - 1) * c->dil_h / c->stride_h);
    const uint64_t plane = l->in_rows * l->row;
    l->grid.channel_bytes = l->grid.folded && !c->channels_last ? across : 1;
    l->grid.across_bytes = !l->grid.folded ? plane : c->channels_last ? l->cg : 1;
    l->grid.down_bytes =
        l->grid.rows_folded ? (uint64_t)across * l->cg : plane * (l->grid.across / across);
    const uint64_t planes = (uint64_t)(l->grid.down / down) * (l->grid.across / across);
    l->scratch.band_bytes = aligned_bytes(planes * plane + l->k_step);
}

static uint64_t macs_of_group(const struct integer_layout *l, const struct integer_conv *c)
{
    const uint64_t pixels = (uint64_t)c->oh * c->ow;
    return l->depthwise ? pixels * c->outputs * l->segments : pixels * l->og * l->segments * l->run;
}

/* Few units that do not come out even among threads - a part of 96 outputs has 64, the other 32 -
 * are so many times as many. */
static uint32_t rows_for_threads(const struct integer_layout *l, const struct integer_conv *c,
                                 const struct op_env *env, uint32_t rows)
{
    const uint32_t bands = (c->oh + rows - 1) / rows;
    const uint32_t parts = l->depthwise ? 1 : (l->og + PART - 1) / PART;
    const uint64_t units = (uint64_t)c->n * (l->depthwise ? 1 : c->groups) * bands * parts;
    const uint32_t threads = env->threads ? env->threads : THREADS;
    if (!env->parallel_for || l->grid.used || units >= CHUNKS || macs_of_group(l, c) <= FEW_MACS ||
        ((uint32_t)units % threads == 0 && (l->depthwise || l->og % PART == 0)))
        return rows;
    const uint32_t more = bands * threads;
    return more < c->oh ? (c->oh + more - 1) / more : 1;
}

/* Bands, and what the kernels read of x. */
static void set_bands(struct integer_layout *l, const struct integer_conv *c,
                      const struct op_env *env)
{
    const bool parallel = env->parallel_for != NULL;
    bool wide = l->wide && !l->depthwise;
    uint32_t channels = l->depthwise ? c->outputs : l->cg;
    bool as_it_is = c->words ? c->x_signed : !c->x_signed && !wide;
    /* gemm reads whole steps: a segment that ends within one would be read beyond its end, which in
     * x may be the end of the tensor; a band has room for that behind its last row */
    l->in_place =
        c->channels_last && as_it_is && !is_padded(c) &&
        (l->depthwise ? l->og == 1 : l->run % l->k_step == 0) &&
        !(GRID_BUILT && (l->grid.folded || (l->grid.used && l->grid.step_h * l->grid.step_w > 1)));
    l->width = l->in_place
                   ? c->w
                   : (uint64_t)(c->ow - 1) * c->stride_w + (uint64_t)(c->kw - 1) * c->dil_w + 1;
    l->pixel = (uint64_t)(l->in_place ? c->channels : channels) * (wide ? 2 : 1);
    l->row = l->width * l->pixel;
    uint64_t rows = band_pixels(l, parallel) / c->ow + 1;
    uint64_t reach = (uint64_t)(c->kh - 1) * c->dil_h + 1;
    if (!l->in_place && rows * c->stride_h * l->row > BAND_BYTES)
        rows = BAND_BYTES / (c->stride_h * l->row) + 1;
    l->rows = rows_for_threads(l, c, env, least(rows, c->oh));
    l->in_rows = (uint64_t)(l->rows - 1) * c->stride_h + reach;
    l->scratch.band_bytes =
        l->in_place ? 0 : aligned_bytes(l->in_rows * l->row + (size_t)2 * l->k_step);
    if (GRID_BUILT && l->grid.used && !l->in_place)
        set_places(l, c, parallel);
    l->bands = (c->oh + l->rows - 1) / l->rows;
}

/* Bytes of a lane: windows stay in the second-level cache; kernels read whole steps, of which two
 * may lie behind the last one. */
#define WINDOWS_BYTES (1u << 17)
#define LEAST_PIXELS 16u
static uint64_t set_windows(struct integer_layout *l, const struct integer_conv *c)
{
    l->tile = TILE;
    if (!SLOTS_BUILT || l->packing != PACK_SLOTS || c->kh == 1)
        return 0;
    l->window_bytes = (uint64_t)l->steps * l->k_step;
    const uint64_t fit = WINDOWS_BYTES / l->window_bytes;
    l->tile = fit < LEAST_PIXELS ? LEAST_PIXELS : least(fit, TILE);
    return l->tile * l->window_bytes + 2 * l->k_step;
}

/* Where there are fewer units than chunks, units are cut by outputs too, so that all threads have
 * work. Parts begin at multiples of PART, and all of a unit read the same band. */
static void set_memory(struct integer_layout *l, const struct integer_conv *c,
                       const struct op_env *env)
{
    const bool parallel = env->parallel_for != NULL;
    uint64_t outputs = l->depthwise ? l->rounded : (uint64_t)l->rounded * c->groups;
    uint64_t groups = l->depthwise ? 1 : c->groups;
    const uint64_t macs = macs_of_group(l, c);
    uint64_t units = c->n * groups * l->bands, held = units;
    l->parts = 1;
    if (parallel && units < CHUNKS && !l->depthwise && macs > FEW_MACS)
        l->parts = least(CHUNKS / units, (l->og + PART - 1) / PART);
    units *= l->parts;
    l->chunks = parallel && macs * c->n * groups > FEW_MACS ? least(units, CHUNKS) : 1;
    l->scratch.tile_bytes =
        c->y_step ? 0
                  : TILE * aligned_bytes((l->depthwise ? c->outputs : PART) * integer_sum_bytes(c));
    const bool has_table = SLOTS_BUILT && l->slots.halved;
    l->prep.packed_at = aligned_bytes(outputs * integer_sum_bytes(c)) + (has_table ? TABLE : 0);
    l->prep.bytes = l->prep.packed_at + groups * l->prep.group_bytes;
    /* offsets and factors; long sums have offsets of twice the size and no factors */
    l->scratch.segment_at = 2 * aligned_bytes(outputs * sizeof(int32_t));
    l->scratch.lanes_at = aligned_bytes(l->scratch.segment_at + l->segments * sizeof(uint32_t));
    l->filled_first = l->parts > 1 && !l->in_place;
    l->scratch.lane_bytes =
        aligned_bytes(TILE * sizeof(uint8_t *)) + l->scratch.tile_bytes + set_windows(l, c);
    l->scratch.sums_at = aligned_bytes(l->scratch.lane_bytes);
    if (c->zero_w) {
        const uint64_t sums = l->depthwise ? (uint64_t)FEW_PIXELS * c->outputs : TILE;
        l->scratch.lane_bytes = l->scratch.sums_at + aligned_bytes(sums * sizeof(int32_t));
    }
    const uint32_t lanes = pith_op_lanes(env, l->chunks);
    l->scratch.bands_at = l->scratch.lanes_at + lanes * l->scratch.lane_bytes;
    l->scratch.bytes =
        l->scratch.bands_at + (l->filled_first ? held : lanes) * l->scratch.band_bytes;
}

/* Spans are of bytes: their kernels wait for permutations, not for memory. */
static bool halves_slots(const struct integer_conv *c, const struct integer_kernels *k)
{
    return c->few_weights && !k->slots_in_spans && c->nonzeros >= MANY_NONZEROS;
}

/* Of two groups. */
static uint64_t pair_bytes(const struct integer_conv *c, const struct integer_kernels *k)
{
    return slots_groups_bytes(2, halves_slots(c, k));
}

/* The panels that c runs on; false: there are no kernels for it. */
static bool set_kernels(struct integer_layout *l, const struct integer_conv *c,
                        const struct integer_kernels *k)
{
    l->nr = !c->words ? k->nr : c->long_sums ? WORDS_NR : k->words_nr;
    l->k_step = c->words ? WORDS_STEP : k->k_step;
    l->middle = c->words ? 0 : k->middle;
    l->wide = c->words || k->wide;
    l->gemm = c->words ? k->gemm_i16[c->long_sums] : k->gemm_i8;
    if (SLOTS_BUILT && l->packing == PACK_SLOTS) {
        l->nr = SLOTS_NR;
        l->k_step = SLOTS_STEP;
        l->slots.in_spans = k->slots_in_spans;
        l->slots.halved = halves_slots(c, k);
        l->slots.fetch = k->slots_fetch;
        l->middle = k->slots_middle;
        l->wide = false;
        l->gemm = k->gemm_slots;
    }
    return l->gemm != NULL;
}

/* Of a window of dense weights, in the time of a slot of one row: tiles wait for weights, about as
 * long for 16 rows as for 64, and take as long as three slots for each row (4096 x 4096 on a
 * Sapphire Rapids core: 50 ns a tile and 0.5 a row, a slot 0.18 in eight windows). */
#define TILE_SLOTS 250u
#define TILE_ROW_SLOTS 3u
static bool beats_tiles(uint64_t rows, uint32_t slots, uint64_t tile)
{
    return tile == 0 || rows * slots < TILE_SLOTS + rows * TILE_ROW_SLOTS;
}

/* Slots that an output takes of a window, if nonzeros are strewn evenly. */
static uint32_t slots_taken(const struct integer_conv *c, const struct integer_kernels *k,
                            uint32_t run)
{
    return k->slots_in_spans ? groups_of(c, run, SPREAD) * 4
                             : (uint32_t)mean_nonzeros(c, run) + LEFT_EMPTY;
}

/* Weights of a window of several rows, which is copied for each pixel: with fewer that takes longer
 * than slots save. */
#define WORTH_COPYING 8192u
/* By permutations of 16 bytes more rows are faster in dense weights, where there are few columns,
 * and as Winograd's (1x1 of 15 %, AVX2: 128 columns 205 us and 163, 384 columns 142 and 161). */
#define SPANS_ROWS 4u
#define SPANS_COLUMNS 256u

/* A group takes a permutation beside the product: slots pay off where their bytes are three
 * quarters of those of plain weights. */
bool pith_integer_conv_slots(const struct integer_conv *c, const struct integer_kernels *k)
{
    uint64_t run = (uint64_t)c->kh * c->kw * (c->channels / c->groups);
    uint64_t dense = (uint64_t)least(run, SLOTS_STEP) * 64 * 6;
    if (!SLOTS_BUILT || !c->nonzeros || run < FEWEST_COLUMNS || run > MOST_COLUMNS)
        return false;
    const uint32_t slots = slots_taken(c, k, (uint32_t)run);
    const uint64_t rows = (uint64_t)c->n * c->oh * c->ow;
    const bool copied = c->kh > 1;
    if (copied && run * c->outputs < WORTH_COPYING)
        return false;
    if (k->slots_in_spans && rows > SPANS_ROWS && (copied || run < SPANS_COLUMNS))
        return false;
    return rows <= k->slots_rows && slots * pair_bytes(c, k) * 4 <= dense &&
           beats_tiles(rows, slots, k->tile_rows);
}

bool pith_integer_conv_need(const struct integer_conv *c, const struct op_env *env,
                            enum integer_packing packing, struct integer_layout *l)
{
    if (!env->kernels || (env->flags & PITH_FLAG_NO_FUSION))
        return false;
    const struct integer_kernels *k = &env->kernels->integer;
    *l = (struct integer_layout){
        .cg = c->channels / c->groups, .og = c->outputs / c->groups, .packing = packing};
    l->depthwise = c->groups > 1 && l->cg == 1;
    if (!set_kernels(l, c, k) || (l->depthwise && c->words))
        return false;
    if (c->zero_w && (packing != PACK_PLAIN || (l->depthwise && c->kh * c->kw > MOST_TAPS)))
        return false;
    set_grid(l, c, k);
    if (!set_product(l, c, k))
        return false;
    set_bands(l, c, env);
    set_memory(l, c, env);
    return true;
}
