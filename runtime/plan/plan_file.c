/* SPDX-License-Identifier: MIT */
/* plan_file.c - a plan as a file: for which machine, model and options it was made, which kernels
 * were chosen, and what was placed where. Numbers are little-endian.
 *
 *     0   "PITHPLAN"        40  CRC32C of the model
 *     8   format, 3         44  steps, n
 *     12  version of pith   48  arena bytes (64 bits)
 *     16  features          56  weight bytes (64 bits)
 *     20  flags             64  choices [n], up to a multiple of 8
 *     24  batch             ..  records [n] of RECORD bytes
 *     28  1: threads        ..  CRC32C of all before
 *     32  model bytes (64 bits)
 *
 * Threads: 0 without parallel_for, else opts.threads, but 1 where that is 0.
 *
 * Opening one takes nothing from it but the choices, each of which its operator may
 * refuse; all else is made anew and must come out as the file says.
 *
 * The records are a check, not a load: were addresses taken from a file, every kernel would have
 * to distrust them. So a plan costs as much to open as to make, less the comparison of costs,
 * and the worst a wrong file can do is to be refused. */
#include "kernels/crc32c.h"
#include "plan/plan.h"

#define FORMAT 3u
#define HEAD 64u
#define RECORD 40u
#define MAX_STEPS (1u << 24)
/* Of the options, what says nothing of the plan. */
#define OWN_FLAGS                                                                                  \
    ((uint32_t)(PITH_FLAG_NO_CHECKSUM | PITH_FLAG_INIT_APART | PITH_FLAG_OUTLINE |                 \
                PITH_FLAG_TRY_CHOICES | PITH_FLAG_WHOLE_BATCH | PITH_OPEN_READ))

static const char magic[8] = {'P', 'I', 'T', 'H', 'P', 'L', 'A', 'N'};

/* Choices are bytes; what follows is read in words of 64 bits. */
static uint64_t choice_bytes(uint32_t n)
{
    return ((uint64_t)n + 7) & ~(uint64_t)7;
}

static uint64_t file_bytes(uint32_t n)
{
    return HEAD + choice_bytes(n) + (uint64_t)n * RECORD + sizeof(uint32_t);
}

uint64_t pith_plan_file_bytes(const struct pith_plan *plan)
{
    if (!plan)
        return 0;
    return file_bytes(plan->n_steps);
}

/* Of arena memory: from its first byte, plus 1; else 0. Offsets in the arena are the same
 * wherever it lies; 0 stands for memory elsewhere. */
static uint64_t place_of(const struct pith_plan *plan, const void *p)
{
    uintptr_t at = (uintptr_t)p, first = (uintptr_t)plan->arena;
    return p && at >= first && at - first < plan->arena_bytes ? at - first + 1 : 0;
}

/* A kernel's name is a pointer into the program; its hash is the same in every build. */
static uint32_t name_hash(const char *name)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 16777619u;
    return hash;
}

/* Operator, kernel, packed bytes, scratch, output, samples at a time: what a change of planning
 * would move. */
static void put_record(const struct pith_plan *plan, const struct step *s, uint8_t *to)
{
    store_le32(to, (uint32_t)s->node->info->op);
    store_le32(to + 4, name_hash(s->kernel));
    store_le64(to + 8, s->packed_bytes);
    store_le64(to + 16, place_of(plan, s->scratch));
    store_le64(to + 24, s->args.n_out ? place_of(plan, plan_data_of(plan, s->args.out[0])) : 0);
    store_le32(to + 32, s->segment);
    const struct segment *segment = plan_segment(plan, s);
    store_le32(to + 36, segment ? segment->group : 0);
}

static uint32_t threads_of(const struct pith_opts *o)
{
    return !o->parallel_for ? 0 : o->threads > 1 ? o->threads : 1;
}

/* Features and options are those that decide a plan. Whether there are threads does: chunks are cut
 * for them; how many decides memory for groups of samples alone, and comes from the file. */
static void put_head(const struct pith_plan *plan, uint8_t *to)
{
    const struct pith_opts *o = &plan->opts;
    memcpy(to, magic, sizeof magic);
    store_le32(to + 8, FORMAT);
    store_le32(to + 12, pith_version());
    store_le32(to + 16, o->cpu_mask);
    store_le32(to + 20, o->flags & ~OWN_FLAGS);
    store_le32(to + 24, o->batch);
    store_le32(to + 28, threads_of(o));
    store_le64(to + 32, plan->image_bytes);
    store_le32(to + 40, pith_crc32c(0, plan->image, (size_t)plan->image_bytes));
    store_le32(to + 44, plan->n_steps);
    store_le64(to + 48, plan->arena_bytes);
    store_le64(to + 56, plan->weights_bytes);
}

/* Observed plans share less memory, so they are another plan. */
enum pith_status pith_plan_file_write(const struct pith_plan *plan, void *file, size_t bytes)
{
    if (!plan)
        return PITH_ERR_ARGUMENT;
    uint8_t *to = file;
    uint32_t n = plan->n_steps;
    uint64_t all = file_bytes(n), at = HEAD;
    if (!file || plan->opts.observe)
        return PITH_ERR_ARGUMENT;
    if (bytes < all)
        return PITH_ERR_SPACE;
    memset(to, 0, (size_t)all);
    put_head(plan, to);
    for (uint32_t i = 0; i < n; i++)
        to[at + i] = plan->step[i].choice;
    at += choice_bytes(n);
    for (uint32_t i = 0; i < n; i++, at += RECORD)
        put_record(plan, &plan->step[i], to + at);
    store_le32(to + at, pith_crc32c(0, to, (size_t)at));
    return PITH_OK;
}

/* The file is whole. Length and checksum first; only then is n believed. */
static bool is_sound(const uint8_t *file, size_t bytes)
{
    if (bytes < file_bytes(0) || memcmp(file, magic, sizeof magic) != 0)
        return false;
    uint32_t n = load_le32(file + 44);
    return n <= MAX_STEPS && bytes == file_bytes(n) &&
           load_le32(file + bytes - 4) == pith_crc32c(0, file, bytes - 4);
}

/* `why` is a constant text: the runtime has no memory for messages. */
static enum pith_status refuse(enum pith_status status, const char *text, const char **why)
{
    if (why)
        *why = text;
    return status;
}

/* For the caller who has to make the options before he can open the file with them. */
enum pith_status pith_plan_file_options(const void *plan_file, size_t bytes, uint32_t *batch,
                                        uint32_t *threads)
{
    const uint8_t *file = plan_file;
    if (!file || !batch || !threads)
        return PITH_ERR_ARGUMENT;
    if (!is_sound(file, bytes))
        return PITH_ERR_CORRUPT;
    *batch = load_le32(file + 24);
    *threads = load_le32(file + 28);
    if (*threads < 2)
        ++*threads;
    return PITH_OK;
}

/* From the most general reason to the most special, so that the message helps: a file of
 * another version is not called broken. */
enum pith_status pith_plan_file_open(const void *plan_file, size_t bytes, const void *blob,
                                     size_t blob_bytes, struct pith_opts *opts, const char **why)
{
    if (!opts)
        return PITH_ERR_ARGUMENT;
    const uint8_t *file = plan_file;
    struct pith_opts own;
    if (!file || !blob || pith_opts_resolve(opts, &own) || own.observe)
        return refuse(PITH_ERR_ARGUMENT, "a plan from a file cannot be observed", why);
    if (bytes >= 16 && memcmp(file, magic, sizeof magic) == 0 &&
        (load_le32(file + 8) != FORMAT || load_le32(file + 12) != pith_version()))
        return refuse(PITH_ERR_VERSION, "it is of another version of pith", why);
    if (!is_sound(file, bytes))
        return refuse(PITH_ERR_CORRUPT, "it is not a plan, or broken", why);
    if (load_le32(file + 16) != own.cpu_mask)
        return refuse(PITH_ERR_UNSUPPORTED, "it is for a CPU with other instruction sets", why);
    if (load_le64(file + 32) != blob_bytes ||
        load_le32(file + 40) != pith_crc32c(0, blob, blob_bytes))
        return refuse(PITH_ERR_ARGUMENT, "it is the plan of another model", why);
    if (load_le32(file + 20) != (own.flags & ~OWN_FLAGS) || load_le32(file + 24) != own.batch ||
        (load_le32(file + 28) != 0) != (own.parallel_for != NULL))
        return refuse(PITH_ERR_ARGUMENT, "it was made with other options (threads, batch)", why);
    /* Pointed to, not copied: the file outlives the plan's making. */
    opts->choices = file + HEAD;
    opts->n_choices = load_le32(file + 44);
    opts->threads = load_le32(file + 28);
    return PITH_OK;
}

/* After the plan was made with these choices: everything must have come out as the file says. */
enum pith_status pith_plan_file_check(const void *plan_file, size_t bytes,
                                      const struct pith_plan *plan)
{
    const uint8_t *file = plan_file;
    uint8_t record[RECORD];
    if (!file || !plan)
        return PITH_ERR_ARGUMENT;
    uint32_t n = plan->n_steps;
    if (!is_sound(file, bytes) || load_le32(file + 44) != n ||
        load_le64(file + 48) != plan->arena_bytes || load_le64(file + 56) != plan->weights_bytes)
        return PITH_ERR_CORRUPT;
    file += HEAD;
    for (uint32_t i = 0; i < n; i++)
        if (file[i] != plan->step[i].choice)
            return PITH_ERR_CORRUPT;
    file += choice_bytes(n);
    for (uint32_t i = 0; i < n; i++, file += RECORD) {
        put_record(plan, &plan->step[i], record);
        if (memcmp(record, file, RECORD) != 0)
            return PITH_ERR_CORRUPT;
    }
    return PITH_OK;
}
