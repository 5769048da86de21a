/* SPDX-License-Identifier: MIT */
/* quantize_report.c - what `quantize` and a recipe's quantize stage print. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include "cli/common/table.h"
#include "pith_host.h"
#include "stage_command.h"

static void add_row(struct cli_table *t, const struct pith_quantize_layer *l)
{
    char a[32];
    cli_table_add(t, "%s", l->layer);
    cli_table_add(t, "%s weights", pith_count_text(l->n_weights, a));
    if (l->why) {
        cli_table_add(t, "float: %s", l->why);
        return;
    }
    double sum_bits = log2(l->most_sum + 1);
    if (l->table) {
        cli_table_add(t, "%u bits, %.1f dB, rows looked up", l->weight_bits, l->snr_db);
        return;
    }
    if (isinf(l->snr_db))
        cli_table_add(t, "%u bits, exact, sums < 2^%.1f of 2^%u", l->weight_bits, sum_bits,
                      l->sum_bits - 1);
    else
        cli_table_add(t, "%u bits, %.1f dB, sums < 2^%.1f of 2^%u", l->weight_bits, l->snr_db,
                      sum_bits, l->sum_bits - 1);
}

static void say_bits(const struct cli_common *c, const struct pith_stage_report *r)
{
    uint32_t least = UINT32_MAX, most = 0;
    double bits = 0, n = 0;
    for (uint32_t i = 0; i < r->n_layers; i++) {
        const struct pith_quantize_layer *l = &r->quantize[i];
        if (l->why)
            continue;
        least = l->weight_bits < least ? l->weight_bits : least;
        most = l->weight_bits > most ? l->weight_bits : most;
        bits += (double)l->weight_bits * (double)l->n_weights;
        n += (double)l->n_weights;
    }
    if (least < most)
        cli_summary(c, "bits       %.2f per weight: %u, up to %u in layers with few weights",
                    bits / n, least, most);
}

/* Of few samples the noise of one or two is most of the sum. */
#define UNSURE_DB 0.5

static void say_outputs(const struct cli_common *c, const struct pith_stage_report *r)
{
    char how[48], from[96], expected[32] = "", changed[96] = "";
    if (isinf(r->loss.reported_db))
        snprintf(how, sizeof how,
                 r->loss.reported_db > 0 ? "identical" : "infinite or NaN in one of the networks");
    else
        snprintf(how, sizeof how, "SQNR %.1f dB", r->loss.reported_db);
    if (r->loss.held_out)
        snprintf(from, sizeof from, "%" PRIu64 " held-out samples%s", r->loss.held_out,
                 r->loss.ranges_given ? " (pith calibrate may have used them)" : "");
    else
        snprintf(from, sizeof from, "the calibration samples");
    if (!isnan(r->loss.expected_changes))
        snprintf(expected, sizeof expected, " (%.1f %% expected)", 100 * r->loss.expected_changes);
    if (r->loss.predictions)
        snprintf(changed, sizeof changed, ", %" PRIu64 " of %" PRIu64 " predictions changed%s",
                 r->loss.changed, r->loss.predictions, expected);
    cli_summary(c, "outputs    %s on %s%s", how, from, changed);
}

/* What these figures cannot say. */
static void say_unsure(const struct pith_stage_report *r)
{
    if (!r->loss.held_out)
        cli_warn(
            "with fewer than 12 samples none is held out: the loss on other samples is unknown");
    else if (isfinite(r->loss.reported_db) && r->loss.reported_error_db > UNSURE_DB)
        cli_warn("%" PRIu64 " held-out samples leave the SQNR uncertain by %.1f dB (two standard "
                 "errors): give more samples",
                 r->loss.held_out, 2 * r->loss.reported_error_db);
}

static void say_lost(const struct pith_stage_report *r)
{
    char what[80] = "more than 3 % of the predictions change";
    if (!(r->loss.output_db >= PITH_LOST_DB))
        snprintf(what, sizeof what, "the outputs without their means have an SQNR of %.1f dB",
                 r->loss.output_db);
    cli_warn("%s: try --rounding adaptive, more samples, or --keep LAYER (pith sense lists "
             "sensitive layers)",
             what);
}

static void say_floats(const struct cli_common *c, const struct pith_stage_report *r)
{
    char n[32], weights[32], beyond[64] = "", indexed[80] = "";
    const char *type = pith_type_text(r->floats.type);
    if (r->floats.n_beyond)
        snprintf(beyond, sizeof beyond, "; %u tensors beyond its range stay f32",
                 r->floats.n_beyond);
    if (r->floats.n_codebooks)
        snprintf(indexed, sizeof indexed, "; %s weights in a byte each (codebooks)",
                 pith_count_text(r->floats.n_indexed, weights));
    cli_summary(c, "floats     %s numbers in 2 bytes each (%s)%s%s",
                pith_count_text(r->floats.n_narrow, n), type, indexed, beyond);
}

/* The table above has their names. */
static void say_kept(const struct cli_common *c, const struct pith_stage_report *r)
{
    char n[32];
    bool less = r->kept_bytes < 0;
    cli_summary(c, "kept       %u sensitive %s float: %s bytes %s than as integers",
                r->n_kept_float, r->n_kept_float == 1 ? "layer stays" : "layers stay",
                pith_count_text((uint64_t)(less ? -r->kept_bytes : r->kept_bytes), n),
                less ? "less" : "more");
}

/* What was done before weights and activations became integers, and what to mind. */
static void say_methods(const struct cli_common *c, const struct pith_stage_report *r)
{
    if (r->synthetic)
        cli_summary(c, "data       none: %u synthetic samples are used, also for the figures below",
                    r->synthetic);
    if (r->equalized)
        cli_summary(c, "equalize   %u pairs of layers", r->equalized);
    if (r->smoothed)
        cli_summary(c, "smooth     %u inputs of matrix products", r->smoothed);
    if (r->n_infinite)
        cli_warn("%u values were infinite for some sample: layers that read them stay float",
                 r->n_infinite);
    if (r->n_tiny)
        cli_warn("%u values have a scale below 2^-126: it was set to that", r->n_tiny);
}

void cli_print_quantized(const struct cli_common *c, const struct pith_stage_report *r)
{
    char a[32], looked_up[48] = "";
    struct cli_table t;
    uint64_t n = 0;
    uint32_t whole = 0, wide = 0, tables = 0, whole_tables = 0;
    cli_table_start(&t, 3);
    for (uint32_t i = 0; i < r->n_layers; i++) {
        tables += r->quantize[i].table;
        whole_tables += r->quantize[i].table && !r->quantize[i].why;
        whole += !r->quantize[i].table && !r->quantize[i].why;
        wide += r->quantize[i].sum_bits == 64;
        n += r->quantize[i].why ? 0 : r->quantize[i].n_weights;
        if (c->verbose || r->quantize[i].why)
            add_row(&t, &r->quantize[i]);
    }
    cli_table_print(&t, stderr);
    say_methods(c, r);
    bool lost = cli_lost_much(r);
    if (r->loss.measured) {
        say_outputs(c, r);
        say_unsure(r);
    }
    if (lost)
        say_lost(r);
    if (tables)
        snprintf(looked_up, sizeof looked_up, " and %u of %u tables", whole_tables, tables);
    cli_summary(c, "quantize   %s weights in %u of %u layers%s are integers", pith_count_text(n, a),
                whole, r->n_layers - tables, looked_up);
    say_bits(c, r);
    if (wide)
        cli_summary(c, "sums       of %u of them have 64 bits, as 32 might overflow", wide);
    if (r->floats.type)
        say_floats(c, r);
    if (r->n_kept_float && r->integer_bytes)
        say_kept(c, r);
}
