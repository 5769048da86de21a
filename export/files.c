/* SPDX-License-Identifier: MIT */
/* files.c - header, source, build files, and the stored inputs with the outputs of the runtime's
 * reference kernels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error_fill.h"
#include "pith_host.h"
#include "pith_pack.h"
#include "writer.h"

/* ---- files
 * ------------------------------------------------------------------------------------------ */

static const char *c_type(const struct store *s)
{
    return s->element == ELEMENT_F32 ? "float" : s->element == ELEMENT_I64 ? "int64_t" : "uint8_t";
}

static void say_signature(const struct writer *w, struct byte_out *o, bool named)
{
    const struct network *net = w->net;
    const bool i8 = net->opts->input == PITH_EXPORT_I8;
    pith_c_say(o, "int %s_run(", w->name);
    if (net->opts->caller_arena)
        pith_c_say(o, "void *%s, ", named ? "memory" : "arena");
    for (uint32_t i = 0; i < net->m->n_inputs; i++)
        pith_c_say(o, "const %s *%s%u, ",
                   i == 0 && i8 ? "int8_t" : c_type(&net->store[net->input[i]]),
                   named && i == 0 && i8 ? "given" : "in", i);
    for (uint32_t i = 0; i < net->m->n_outputs; i++)
        pith_c_say(o, "%s%s *out%u", i ? ", " : "", c_type(&net->store[net->output[i]]), i);
    pith_c_say(o, ")");
}

static uint64_t count_of(const struct store *s)
{
    return s->bytes / s->element;
}

/* Text of a name from the network inside a comment. */
static void say_name(struct byte_out *o, const char *name)
{
    for (; *name; name++)
        pith_out_u8(
            o,
            (uint8_t)(*name < ' ' || *name > '~' || *name == '*' || *name == '\\' ? '?' : *name));
}

static void say_shape(struct byte_out *o, const struct pith_value *v)
{
    for (uint32_t i = 0; i < v->rank; i++)
        pith_c_say(o, i ? "x%u" : "%u", v->dim[i]);
}

static void say_header(struct writer *w, struct byte_out *o)
{
    const struct network *net = w->net;
    const char *u = w->upper;
    pith_c_say(o,
               "/* %s.h - a network as C, written by pith %d.%d.%d. */\n#ifndef %s_H\n#define "
               "%s_H\n\n#include <stdint.h>\n\n"
               "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
               w->name, PITH_VERSION_MAJOR, PITH_VERSION_MINOR, PITH_VERSION_PATCH, u, u);
    for (uint32_t i = 0; i < net->m->n_inputs; i++) {
        const struct pith_value *v = &net->m->values[net->m->inputs[i]];
        const bool bytes = net->store[net->input[i]].element == ELEMENT_U8;
        pith_c_say(o, "/* Input %u, '", i);
        say_name(o, v->name);
        pith_c_say(o, "', ");
        say_shape(o, v);
        pith_c_say(o,
                   bytes ? (net->store[net->input[i]].channels > 1
                                ? ", as integers pixel by pixel, channels side by side:\n * real "
                                  "= (q - %s_IN%u_ZERO) * "
                                  "%s_IN%u_SCALE. */\n"
                                : ", as integers: real = (q - %s_IN%u_ZERO) * %s_IN%u_SCALE. */\n")
                         : ", in the order of the network's file. */\n",
                   u, i, u, i);
        pith_c_say(o, "#define %s_IN%u_COUNT %llu\n", u, i,
                   (unsigned long long)count_of(&net->store[net->input[i]]));
        if (bytes) {
            pith_c_say(o, "#define %s_IN%u_SCALE ", u, i);
            pith_c_f32(o, net->input_grid.scale);
            pith_c_say(o, "\n#define %s_IN%u_ZERO %d\n", u, i,
                       net->input_grid.zero - (net->opts->input == PITH_EXPORT_I8 ? 128 : 0));
        }
    }
    for (uint32_t i = 0; i < net->m->n_outputs; i++) {
        const struct pith_value *v = &net->m->values[net->m->outputs[i]];
        pith_c_say(o, "/* Output %u, '", i);
        say_name(o, v->name);
        pith_c_say(o, "', ");
        say_shape(o, v);
        pith_c_say(o, ". */\n#define %s_OUT%u_COUNT %llu\n", u, i,
                   (unsigned long long)count_of(&net->store[net->output[i]]));
    }
    pith_c_say(o, "/* Working memory in bytes%s. */\n#define %s_ARENA_BYTES %llu\n\n",
               net->opts->caller_arena ? ", aligned to 4, which the caller gives"
                                       : ": a static array",
               u, (unsigned long long)net->arena_bytes);
    pith_c_say(
        o, "/* Runs the network once: 0. Arrays have the counts above and do not overlap. */\n");
    say_signature(w, o, false);
    pith_c_say(
        o,
        ";\n/* Runs the stored inputs (%s_selftest.c) and compares outputs to the bit: how many "
        "differ. */\n"
        "int %s_selftest(void);\n\n#ifdef __cplusplus\n}\n#endif\n#endif\n",
        w->name, w->name);
}

static void say_source(struct writer *w, struct byte_out *o)
{
    const struct network *net = w->net;
    const bool i8 = net->opts->input == PITH_EXPORT_I8;
    pith_c_say(
        o,
        "/* %s.c - written by pith %d.%d.%d: weights, the kernels that they need, and %s_run. "
        "Floats must be added and\n"
        " * multiplied as written: compile with -ffp-contract=off and without -ffast-math. "
        "*/\n#include \"%s.h\"\n"
        "#include <stdbool.h>\n\n#ifdef __FAST_MATH__\n#error \"%s.c does not work with "
        "-ffast-math\"\n#endif\n"
        "#if defined(__GNUC__)\n#define %s_ALIGN __attribute__((aligned(4)))\n#else\n#define "
        "%s_ALIGN\n#endif\n",
        w->name, PITH_VERSION_MAJOR, PITH_VERSION_MINOR, PITH_VERSION_PATCH, w->name, w->name,
        w->name, w->upper, w->upper);
    if (!net->cpu->fpu)
        pith_c_say(o, "#define PITH_NO_FPU 1\n");
    pith_c_say(o, "#define PITH_TAPS %u\n\n", pith_export_most_taps(net));
    pith_c_parts(w, o);
    pith_out_bytes(o, "\n", 1);
    pith_out_bytes(o, w->kernels.data, w->kernels.bytes);
    pith_out_bytes(o, "\n", 1);
    pith_out_bytes(o, w->constants.data, w->constants.bytes);
    if (!net->opts->caller_arena)
        pith_c_say(o, "\nstatic uint8_t arena[%s_ARENA_BYTES] %s_ALIGN;\n", w->upper, w->upper);
    pith_c_say(o, "\n");
    say_signature(w, o, true);
    pith_c_say(o, "\n{\n");
    if (net->opts->caller_arena)
        pith_c_say(o, "    uint8_t *arena = (uint8_t *)memory;\n");
    pith_c_say(o, "    (void)arena;\n");
    if (i8)
        pith_c_say(o, "    const uint8_t *in0 = (const uint8_t *)given0;\n");
    pith_out_bytes(o, w->calls.data, w->calls.bytes);
    pith_c_say(o, "    return 0;\n}\n");
}

static void say_build(const struct writer *w, struct byte_out *make, struct byte_out *cmake)
{
    pith_c_say(
        make,
        "# Builds %s as a library, and `make test` a program that runs its stored inputs.\n"
        "CC ?= cc\nAR ?= ar\nCFLAGS ?= -O2\nFLAGS = -std=c99 -Wall -Wextra -Wconversion -pedantic "
        "-ffp-contract=off $(CFLAGS)\n\n"
        "lib%s.a: %s.o\n\t$(AR) rcs $@ $^\n%s.o: %s.c %s.h\n\t$(CC) $(FLAGS) -c %s.c -o $@\n"
        "test: %s.c %s_selftest.c %s.h\n\t$(CC) $(FLAGS) -D%s_MAIN %s.c %s_selftest.c -o "
        "%s_selftest\n\t./%s_selftest\n"
        "clean:\n\trm -f %s.o lib%s.a %s_selftest\n.PHONY: test clean\n",
        w->name, w->name, w->name, w->name, w->name, w->name, w->name, w->name, w->name, w->name,
        w->upper, w->name, w->name, w->name, w->name, w->name, w->name, w->name);
    pith_c_say(
        cmake,
        "cmake_minimum_required(VERSION 3.10)\nproject(%s C)\nadd_library(%s STATIC %s.c)\n"
        "target_include_directories(%s PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})\n"
        "target_compile_options(%s PRIVATE -ffp-contract=off)\nset_property(TARGET %s PROPERTY "
        "C_STANDARD 99)\n"
        "enable_testing()\nadd_executable(%s_selftest %s_selftest.c)\n"
        "target_compile_definitions(%s_selftest PRIVATE "
        "%s_MAIN)\ntarget_link_libraries(%s_selftest %s)\n"
        "add_test(NAME %s_selftest COMMAND %s_selftest)\n",
        w->name, w->name, w->name, w->name, w->name, w->name, w->name, w->name, w->name, w->upper,
        w->name, w->name, w->name, w->name);
}

/* ---- stored inputs and outputs
 * ------------------------------------------------------------------------ */

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* The scale of the QuantizeLinear that reads input i first, or one that stays near 1. */
static struct grid range_of(const struct network *net, uint32_t i)
{
    for (uint32_t s = 0; s < net->n_steps; s++)
        if (net->step[s].kind == STEP_QUANTIZE && net->step[s].x[0] == net->input[i])
            return net->step[s].grid[2];
    return (struct grid){1.0f / 64.0f, 128};
}

/* Input i as the network's floats, and as the code gets it. */
static void draw_input(const struct network *net, uint32_t i, uint32_t *state, float *real,
                       uint8_t *bytes)
{
    const struct store *s = &net->store[net->input[i]];
    const struct grid g = s->element == ELEMENT_F32 ? range_of(net, i) : net->input_grid;
    const uint32_t n = s->channels * s->pixels;
    for (uint32_t at = 0; at < n; at++) {
        const uint32_t draw = next_random(state) >> 8, q = draw & 255;
        if (s->element == ELEMENT_F32) {
            real[at] =
                ((float)((int32_t)q - g.zero) + (float)(draw >> 8) / 65536.0f - 0.5f) * g.scale;
        } else {
            bytes[at] = (uint8_t)q;
            real[at % s->channels * s->pixels + at / s->channels] =
                (float)((int32_t)q - g.zero) * g.scale;
        }
    }
}

static void say_values(struct byte_out *o, const struct store *s, const float *real,
                       const uint8_t *bytes, bool i8)
{
    const uint64_t n = count_of(s);
    for (uint64_t i = 0; i < n; i++) {
        pith_c_say(o, i % (s->element == ELEMENT_F32 ? 6 : 20) ? " " : "\n        ");
        if (s->element == ELEMENT_F32)
            pith_c_f32(o, real[i]);
        else if (s->element == ELEMENT_I64)
            pith_c_say(o, "%lld", (long long)((const int64_t *)(const void *)bytes)[i]);
        else
            pith_c_say(o, "%d", i8 ? (int8_t)(bytes[i] ^ 128) : bytes[i]);
        pith_c_say(o, ",");
    }
}

/* The outputs of the runtime's reference kernels. */
static enum pith_status say_pairs(struct writer *w, struct byte_out *o, struct pith_plan *plan)
{
    const struct network *net = w->net;
    uint32_t state = 2463534242u;
    const uint32_t n = net->opts->selftest;
    struct byte_out in[8] = {{0}}, out[8] = {{0}};
    enum pith_status st =
        net->m->n_inputs <= 8 && net->m->n_outputs <= 8 ? PITH_OK : PITH_ERR_UNSUPPORTED;
    for (uint32_t pair = 0; pair < n && !st; pair++) {
        for (uint32_t i = 0; i < net->m->n_inputs; i++) {
            const struct store *s = &net->store[net->input[i]];
            uint8_t *bytes = malloc((size_t)count_of(s));
            float *real = pith_plan_input_data(plan, i);
            if (!bytes || !real) {
                free(bytes);
                st = PITH_ERR_MEMORY;
                break;
            }
            draw_input(net, i, &state, real, bytes);
            pith_c_say(&in[i], "    {");
            say_values(&in[i], s, real, bytes, i == 0 && net->opts->input == PITH_EXPORT_I8);
            pith_c_say(&in[i], "},\n");
            free(bytes);
        }
        st = st ? st : pith_plan_run(plan);
        for (uint32_t i = 0; i < net->m->n_outputs && !st; i++) {
            const struct store *s = &net->store[net->output[i]];
            const uint8_t *y = pith_plan_output_data(plan, i);
            pith_c_say(&out[i], "    {");
            say_values(&out[i], s, (const float *)(const void *)y, y, false);
            pith_c_say(&out[i], "},\n");
        }
    }
    pith_c_say(
        o,
        "/* %s_selftest.c - %u inputs drawn at random and the outputs of the runtime's reference "
        "kernels. */\n#include \"%s.h\"\n"
        "#include <string.h>\n\n",
        w->name, n, w->name);
    for (uint32_t i = 0; i < 16 && !st; i++) {
        const bool is_in = i < 8;
        struct byte_out *text = is_in ? &in[i] : &out[i - 8];
        if (i % 8 >= (is_in ? net->m->n_inputs : net->m->n_outputs))
            continue;
        const struct store *s = &net->store[is_in ? net->input[i] : net->output[i - 8]];
        const bool i8 = is_in && i == 0 && net->opts->input == PITH_EXPORT_I8;
        pith_c_say(o, "static const %s %s%u[%u][%llu] = {\n", i8 ? "int8_t" : c_type(s),
                   is_in ? "in" : "expected", i % 8, n, (unsigned long long)count_of(s));
        pith_out_bytes(o, text->data, text->bytes);
        pith_c_say(o, "};\n");
        o->failed = o->failed || text->failed;
    }
    for (uint32_t i = 0; i < 8; i++) {
        pith_out_clear(&in[i]);
        pith_out_clear(&out[i]);
    }
    return st;
}

static void say_selftest(struct writer *w, struct byte_out *o)
{
    const struct network *net = w->net;
    for (uint32_t i = 0; i < net->m->n_outputs; i++) {
        const struct store *s = &net->store[net->output[i]];
        pith_c_say(o, "static %s out%u[%llu];\n", c_type(s), i, (unsigned long long)count_of(s));
    }
    if (net->opts->caller_arena)
        pith_c_say(o, "static uint32_t arena[(%s_ARENA_BYTES + 3) / 4];\n", w->upper);
    pith_c_say(
        o,
        "\nint %s_selftest(void)\n{\n    int wrong = 0;\n    for (unsigned i = 0; i < %u; i++) {\n "
        "       int bad;\n        %s_run(",
        w->name, net->opts->selftest, w->name);
    if (net->opts->caller_arena)
        pith_c_say(o, "arena, ");
    for (uint32_t i = 0; i < net->m->n_inputs; i++)
        pith_c_say(o, "in%u[i], ", i);
    for (uint32_t i = 0; i < net->m->n_outputs; i++)
        pith_c_say(o, "%sout%u", i ? ", " : "", i);
    pith_c_say(o, ");\n        bad = 0;\n");
    for (uint32_t i = 0; i < net->m->n_outputs; i++)
        pith_c_say(o, "        bad |= memcmp(out%u, expected%u[i], sizeof out%u) != 0;\n", i, i, i);
    pith_c_say(o,
               "        wrong += bad;\n    }\n    return wrong;\n}\n\n#ifdef %s_MAIN\n#include "
               "<stdio.h>\nint main(void)\n{\n"
               "    const int wrong = %s_selftest();\n    printf(\"%%d of %u outputs differ\\n\", "
               "wrong);\n"
               "    return wrong != 0;\n}\n#endif\n",
               w->upper, w->name, net->opts->selftest);
}

static enum pith_status run_pairs(struct writer *w, struct byte_out *o, struct pith_error *err)
{
    const struct network *net = w->net;
    struct pith_buffer image = {0};
    struct pith_opts opts;
    struct pith_need need;
    struct pith_plan *plan;
    void *memory = NULL;
    enum pith_status st = pith_model_pack(net->given, NULL, &image, err);
    if (st)
        return st;
    pith_opts_init(&opts, sizeof opts);
    opts.cpu_mask = PITH_CPU_REF;
    st = pith_plan_size(image.data, image.bytes, &opts, &need);
    if (!st) {
        memory = aligned_alloc((size_t)need.align,
                               (size_t)((need.bytes + need.align - 1) / need.align * need.align));
        st = memory
                 ? pith_plan_init(memory, (size_t)need.bytes, image.data, image.bytes, &opts, &plan)
                 : PITH_ERR_MEMORY;
    }
    if (!st)
        st = say_pairs(w, o, plan);
    free(memory);
    pith_buffer_free(&image);
    return st ? pith_error_fill(err, st, "the network does not run: %s", pith_status_text(st))
              : PITH_OK;
}

static bool keep(struct pith_export *e, struct pith_model *m, const char *stem, const char *suffix,
                 struct byte_out *o)
{
    const size_t n = strlen(stem) + strlen(suffix) + 1;
    char *name = pith_model_alloc(m, n, 1), *text = pith_model_alloc(m, o->bytes + 1, 1);
    if (!name || !text || o->failed)
        return false;
    snprintf(name, n, "%s%s", stem, suffix);
    memcpy(text, o->data, o->bytes);
    e->file[e->n_files++] = (struct pith_export_file){name, text, o->bytes};
    pith_out_clear(o);
    return true;
}

enum pith_status pith_c_files(struct writer *w, struct pith_export *e, struct pith_error *err)
{
    struct pith_model *m = w->net->m;
    struct byte_out make = {0}, cmake = {0}, o = {0};
    say_header(w, &o);
    bool kept = keep(e, m, w->name, ".h", &o);
    if (kept) {
        say_source(w, &o);
        kept = keep(e, m, w->name, ".c", &o);
    }
    enum pith_status st = kept ? run_pairs(w, &o, err) : PITH_OK;
    if (kept && !st) {
        say_selftest(w, &o);
        say_build(w, &make, &cmake);
        kept = keep(e, m, w->name, "_selftest.c", &o) && keep(e, m, "Makefile", "", &make) &&
               keep(e, m, "CMakeLists.txt", "", &cmake);
    }
    pith_out_clear(&o);
    pith_out_clear(&make);
    pith_out_clear(&cmake);
    return st ? st : kept ? PITH_OK : pith_error_no_memory(err);
}
