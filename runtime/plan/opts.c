/* SPDX-License-Identifier: MIT */
/* Options: zero is the default, and size_bytes limits the fields that the caller has.
 *
 * A struct with its own size lets a library and a caller of different age meet: the smaller of
 * both sizes is copied, and the fields that an older library lacks must be zero. */
#include "core/build_choice.h"
#include "plan/plan.h"

/* What a file may require by default: enough for every network that runs on a CPU, too little to
 * exhaust a machine. */
#define DEFAULT_MAX_BYTES (UINT64_C(4) << 30)
#define DEFAULT_MAX_STEPS (UINT64_C(1) << 32) /* minutes, should each step take no time */
#define MAX_LANES 64u
/* Bits that are not known are refused, for they would change what is computed. */
#define KNOWN_FLAGS                                                                                \
    (PITH_FLAG_NO_CHECKSUM | PITH_FLAG_NO_FUSION | PITH_FLAG_DENSE_ONLY | PITH_FLAG_INIT_APART |   \
     PITH_FLAG_DECODE_ONCE | PITH_FLAG_OUTLINE | PITH_FLAG_TRY_CHOICES | PITH_FLAG_WHOLE_BATCH |   \
     PITH_OPEN_READ)
#define MAX_BATCH 0x7fffffffu

/* By memset, so that fields added later are zero, too. */
void pith_opts_init(struct pith_opts *opts, uint32_t size_bytes)
{
    if (!opts || size_bytes < sizeof size_bytes || size_bytes > PITH_MAX_OPTS_BYTES)
        return;
    memset(opts, 0, size_bytes);
    opts->size_bytes = size_bytes;
}

/* A newer caller may know more fields; those he uses (not zero) this library cannot honour. */
static bool rest_is_zero(const struct pith_opts *given)
{
    const uint8_t *p = (const uint8_t *)given;
    for (uint32_t i = sizeof *given; i < given->size_bytes; i++)
        if (p[i])
            return false;
    return true;
}

/* given may be NULL, and then all is default. */
enum pith_status pith_opts_resolve(const struct pith_opts *given, struct pith_opts *opts)
{
    memset(opts, 0, sizeof *opts);
    if (given) {
        if (given->size_bytes < sizeof given->size_bytes ||
            given->size_bytes > PITH_MAX_OPTS_BYTES || !rest_is_zero(given))
            return PITH_ERR_ARGUMENT;
        size_t n = given->size_bytes < sizeof *opts ? given->size_bytes : sizeof *opts;
        memcpy(opts, given, n);
    }
    if ((opts->flags & ~(uint32_t)KNOWN_FLAGS) || opts->batch > MAX_BATCH ||
        (opts->n_changes && !opts->changes) || (opts->n_caches && !opts->caches))
        return PITH_ERR_ARGUMENT;
    /* run forms add in orders of their own */
    IF_DENSE_TILES(if (opts->ordered) opts->flags |= PITH_FLAG_DENSE_ONLY;)
    opts->size_bytes = sizeof *opts;
    if (opts->batch == 0)
        opts->batch = 1;
    if (opts->threads > MAX_LANES)
        opts->threads = MAX_LANES;
    if (opts->max_bytes == 0)
        opts->max_bytes = DEFAULT_MAX_BYTES;
    if (opts->max_steps == 0)
        opts->max_steps = DEFAULT_MAX_STEPS;
    /* PITH_CPU_REF alone selects no features at all, which a mask of 0 cannot say, since that is
     * the default. */
    uint32_t mask = opts->cpu_mask == 0 ? UINT32_MAX : opts->cpu_mask;
    opts->cpu_mask =
        mask & PITH_CPU_REF && opts->cpu_mask ? 0 : mask & pith_cpu_features() & PITH_BUILD_CPU;
    return PITH_OK;
}
