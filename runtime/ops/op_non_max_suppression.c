/* SPDX-License-Identifier: MIT */
/* op_non_max_suppression.c - of the boxes of each batch and class, those with the best scores that
 * overlap none with a better one: candidates leave a heap by falling score (equal scores by rising
 * number), and one is taken when its intersection over union with each box taken before it is at
 * most the threshold.
 *
 * How many are taken is known only then: run() sets the first dim of the output, whose memory
 * has room for TOP * B * C. Nothing but the caller may read it, so it is an output of the graph
 * (validated when the graph is read).
 *
 * ONNX NonMaxSuppression-11. A heap and not a sort: of tens of thousands of candidates some
 * hundred are taken, and a heap is built in linear time. The order among equal scores is defined
 * here because ONNX leaves it open and results shall be the same everywhere. */
#include "ops/op_list.h"
#include "op_interface/shape_rule.h"
#include "core/op_number.h"
#include "op_interface/op_attr.h"

static enum pith_status shape_nms(const struct op_args *args)
{
    enum pith_status st = pith_in_f32(args, 2);
    if (st)
        return st;
    const struct shape *boxes = &args->in[0]->shape, *scores = &args->in[1]->shape;
    if (boxes->rank != 3 || scores->rank != 3 || boxes->dim[2] != 4 ||
        boxes->dim[0] != scores->dim[0] || boxes->dim[1] != scores->dim[2])
        return PITH_ERR_CORRUPT;
    /* TOP * B * C rows are reserved; the file's number is cut to the boxes there are. */
    uint32_t top = (uint32_t)args->attr[ATTR_NMS_TOP];
    uint64_t rows = top < boxes->dim[1] ? top : boxes->dim[1];
    if (!mul_ok(rows, scores->dim[0], &rows) || !mul_ok(rows, scores->dim[1], &rows) ||
        rows > INT32_MAX)
        return PITH_ERR_CORRUPT;
    const struct shape s = {.rank = 2, .dim = {(uint32_t)rows, 3}};
    return pith_out_set(args->out[0], PITH_I64, &s);
}

struct box {
    float low[2], high[2];
};

/* Corners in any order, or the centre and the sides. Corners are put in order, so that a
 * mirrored box has the area it looks to have. */
static struct box box_of(const float *p, bool center)
{
    struct box b;
    for (uint32_t i = 0; i < 2; i++) {
        float half = p[i + 2] / 2.0f;
        float from = center ? p[i] - half : p[i], to = center ? p[i] + half : p[i + 2];
        b.low[i] = from < to ? from : to;
        b.high[i] = from < to ? to : from;
    }
    return b;
}

/* Area of the intersection over that of the union. Boxes without area overlap nothing, nor does
 * a NaN: every comparison is written so that it fails. */
static bool overlaps(const struct box *a, const struct box *b, float threshold)
{
    float shared[2], area_a = 1.0f, area_b = 1.0f;
    for (uint32_t i = 0; i < 2; i++) {
        float low = a->low[i] > b->low[i] ? a->low[i] : b->low[i];
        float high = a->high[i] < b->high[i] ? a->high[i] : b->high[i];
        if (!(high > low))
            return false;
        shared[i] = high - low;
        area_a *= a->high[i] - a->low[i];
        area_b *= b->high[i] - b->low[i];
    }
    float both = shared[0] * shared[1], either = area_a + area_b - both;
    return both > 0.0f && area_a > 0.0f && area_b > 0.0f && either > 0.0f &&
           both / either > threshold;
}

/* A total order of candidates. */
static bool is_better(const float *score, uint32_t a, uint32_t b)
{
    return score[a] > score[b] || (score[a] == score[b] && a < b);
}

/* heap[at] sinks to where no child is better. */
static void sink(uint32_t *heap, size_t n, size_t at, const float *score)
{
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && is_better(score, heap[child + 1], heap[child]);
        if (!is_better(score, heap[child], heap[at]))
            return;
        uint32_t swap = heap[at];
        heap[at] = heap[child];
        heap[child] = swap;
    }
}

/* One class of one batch. */
struct selection {
    const int32_t *attr;
    const float *boxes, *score; /* of one batch: [N, 4]; of one class: [N] */
    uint32_t n;
    uint32_t *heap; /* [N] */
};

/* Writes (batch, cls, box) rows to out; returns how many. */
static size_t select_class(const struct selection *s, int64_t batch, int64_t cls, int64_t *out)
{
    float least = attr_f32(s->attr, ATTR_NMS_SCORE), iou = attr_f32(s->attr, ATTR_NMS_IOU);
    bool center = s->attr[ATTR_NMS_CENTER] != 0;
    size_t n = 0, taken = 0, top = (size_t)s->attr[ATTR_NMS_TOP];
    for (uint32_t i = 0; i < s->n; i++)
        /* Strictly above, as ONNX has it. */
        if (s->score[i] > least)
            s->heap[n++] = i;
    /* Floyd's heap: from the last parent to the root. */
    for (size_t i = n / 2; i-- > 0;)
        sink(s->heap, n, i, s->score);
    while (n > 0 && taken < top) {
        uint32_t best = s->heap[0];
        s->heap[0] = s->heap[--n];
        sink(s->heap, n, 0, s->score);
        struct box b = box_of(s->boxes + 4 * (size_t)best, center);
        bool free_of_better = true;
        /* Boxes are compared with those taken, read back from the output: no second list. */
        for (size_t k = 0; k < taken && free_of_better; k++) {
            struct box better = box_of(s->boxes + 4 * (size_t)out[3 * k + 2], center);
            free_of_better = !overlaps(&b, &better, iou);
        }
        if (!free_of_better)
            continue;
        out[3 * taken] = batch;
        out[3 * taken + 1] = cls;
        out[3 * taken + 2] = best;
        taken++;
    }
    return taken;
}

static void run_nms(const struct op_args *args, const struct op_env *env)
{
    const struct shape *scores = &args->in[1]->shape;
    size_t n = scores->dim[2], classes = scores->dim[1], rows = 0;
    int64_t *out = args->out[0]->data;
    for (size_t i = 0; i < scores->dim[0] * classes; i++) {
        struct selection s = {args->attr, (const float *)args->in[0]->data + i / classes * n * 4,
                              (const float *)args->in[1]->data + i * n, (uint32_t)n, env->scratch};
        rows += select_class(&s, (int64_t)(i / classes), (int64_t)(i % classes), out + 3 * rows);
    }
    /* The only shape that changes at run time; need_nms() and the planner reserved the largest. */
    args->out[0]->shape.dim[0] = (uint32_t)rows;
}

static enum pith_status need_nms(const struct op_args *args, const struct op_env *env,
                                 struct op_need *need)
{
    (void)env;
    *need = (struct op_need){.kernel = "ref"};
    need->scratch_bytes = (uint64_t)args->in[0]->shape.dim[1] * sizeof(uint32_t);
    return PITH_OK;
}

static const struct attr_field fields[] = {
    {ATTR_INT, ATTR_NMS_CENTER, 0, 0, 1},
    {ATTR_INT, ATTR_NMS_TOP, 0, 1, INT32_MAX},
    {ATTR_FLOAT, ATTR_NMS_IOU, 0, 0, 0},
    {ATTR_FLOAT, ATTR_NMS_SCORE, -0x800000 /* -inf */, 0, 1},
};

const struct op_info pith_op_non_max_suppression = {
    .op = PITH_OP_NON_MAX_SUPPRESSION,
    .n_in_min = 2,
    .n_in_max = 2,
    .n_out_min = 1,
    .n_out_max = 1,
    .n_fields = 4,
    .n_slots = 4,
    .fields = fields,
    .shape = shape_nms,
    .need = need_nms,
    .run = run_nms,
};
