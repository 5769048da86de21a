/* SPDX-License-Identifier: MIT */
/* ptx_read.c - the text of PTX into instructions (ptx.h). nvcc writes one statement a line. */
#include "ptx.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAMES 4096
#define NAME_BYTES 160

/* A class of registers (%f: its first number), a shared variable, or a label and its instruction.
 */
struct name {
    char text[NAME_BYTES];
    uint64_t value;
};
struct names {
    struct name of[MAX_NAMES];
    uint32_t n;
};

struct reader {
    const char *path;
    uint32_t line;
    struct ptx_module *m;
    struct ptx_kernel *k; /* being read, or NULL */
    struct names registers, variables, labels;
    char (*targets)[NAME_BYTES]; /* of each instruction that branches */
    bool bad;
};

static void refuse(struct reader *r, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fprintf(stderr, "%s:%u: ", r->path, r->line);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    r->bad = true;
}

static void add_name(struct reader *r, struct names *to, const char *text, uint64_t value)
{
    if (to->n == MAX_NAMES) {
        refuse(r, "more than %u names", MAX_NAMES);
        return;
    }
    snprintf(to->of[to->n].text, NAME_BYTES, "%s", text);
    to->of[to->n++].value = value;
}

static const struct name *find_name(const struct names *in, const char *text)
{
    for (uint32_t i = 0; i < in->n; i++)
        if (strcmp(in->of[i].text, text) == 0)
            return &in->of[i];
    return NULL;
}

/* ---- operands ------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    enum ptx_special special;
} specials[] = {{"%tid.x", PTX_TID_X},     {"%ctaid.x", PTX_CTAID_X},   {"%ctaid.y", PTX_CTAID_Y},
                {"%ctaid.z", PTX_CTAID_Z}, {"%nctaid.x", PTX_NCTAID_X}, {"%ntid.x", PTX_NTID_X}};

/* %rd12: the class is %rd, and the number comes behind its first. %tmp, which is declared in
 * braces, is register 0. */
static uint32_t register_number(struct reader *r, const char *text)
{
    char class[16];
    if (strcmp(text, "%tmp") == 0)
        return 0;
    size_t letters = 1 + strcspn(text + 1, "0123456789");
    if (letters < sizeof class && isdigit((unsigned char)text[letters])) {
        memcpy(class, text, letters);
        class[letters] = 0;
        const struct name *first = find_name(&r->registers, class);
        if (first)
            return (uint32_t)first->value + (uint32_t)strtoul(text + letters, NULL, 10);
    }
    refuse(r, "no register '%s'", text);
    return 0;
}

static uint64_t read_number(struct reader *r, const char *text)
{
    char *end;
    bool coded = text[0] == '0' && (text[1] == 'f' || text[1] == 'd'); /* bits of a float */
    uint64_t v = text[0] == '-' ? (uint64_t)strtoll(text, &end, 0)
                                : strtoull(coded ? text + 2 : text, &end, coded ? 16 : 0);
    if (*end)
        refuse(r, "no number '%s'", text);
    return v;
}

/* Also of a parameter, whose space begins at 0. */
static bool variable_address(const struct reader *r, const char *text, uint64_t *address)
{
    const struct name *v = find_name(&r->variables, text);
    *address = v ? v->value : 0;
    return v || strstr(text, "_param_0");
}

/* [%rd1+-4], [variable+8], [%r3] */
static struct ptx_operand read_address(struct reader *r, char *text)
{
    struct ptx_operand o = {.kind = PTX_ADDRESS, .reg = PTX_NONE};
    text[strcspn(text, "]")] = 0;
    char *plus = strchr(text, '+');
    if (plus)
        *plus = 0;
    uint64_t base;
    if (text[1] == '%')
        o.reg = register_number(r, text + 1);
    else if (variable_address(r, text + 1, &base))
        o.number = base;
    else
        refuse(r, "no variable '%s'", text + 1);
    o.number += plus ? read_number(r, plus + 1) : 0;
    return o;
}

static struct ptx_operand read_operand(struct reader *r, char *text)
{
    struct ptx_operand o = {.kind = PTX_NUMBER, .reg = PTX_NONE};
    if (text[0] == '[')
        return read_address(r, text);
    if (text[0] != '%') {
        if (!variable_address(r, text, &o.number))
            o.number = read_number(r, text);
        return o;
    }
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
        if (strcmp(text, specials[i].text) == 0)
            return (struct ptx_operand){.kind = PTX_SPECIAL, .reg = specials[i].special};
    o.kind = PTX_REGISTER;
    text[strcspn(text, "|")] = 0; /* shfl sets a second register if the lane was there */
    o.reg = register_number(r, text);
    return o;
}

/* ---- instructions --------------------------------------------------------------------------- */

#define OP_TEXT(name, text) text,
static const char *const op_text[] = {PTX_OPS(OP_TEXT)};
static const char *const comparison_text[] = {PTX_COMPARISONS(OP_TEXT)};
static const char *const type_text[] = {"u8",   "s8",  "u16",  "s16",   "u32",
                                        "s32",  "u64", "s64",  "f32",   "f64",
                                        "pred", "f16", "bf16", "f16x2", "bf16x2"};

static uint32_t index_of(const char *const *in, uint32_t n, const char *text)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(in[i], text) == 0)
            return i;
    return PTX_NONE;
}

static uint32_t type_of(const char *text)
{
    if (text[0] == 'b' && text[1] != 'f') { /* bits are read as a number without sign */
        char as_number[8];
        snprintf(as_number, sizeof as_number, "u%s", text + 1);
        return index_of(type_text, sizeof type_text / sizeof *type_text, as_number);
    }
    return index_of(type_text, sizeof type_text / sizeof *type_text, text);
}

/* The shapes and types of mma that are known. */
static bool read_mma(struct ptx_instruction *i, const char *text)
{
    static const struct {
        const char *shape;
        uint32_t terms;
        enum ptx_type type, from;
    } known[] = {{"m16n8k32.row.col.s32.s8.s8.s32", 32, PTX_S32, PTX_S8},
                 {"m16n8k16.row.col.f32.f16.f16.f32", 16, PTX_F32, PTX_F16},
                 {"m16n8k16.row.col.f32.bf16.bf16.f32", 16, PTX_F32, PTX_BF16},
                 {"m16n8k8.row.col.f32.f16.f16.f32", 8, PTX_F32, PTX_F16}};
    static const char begin[] = "mma.sync.aligned.";
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (strncmp(text, begin, sizeof begin - 1) == 0 &&
            strcmp(text + sizeof begin - 1, known[k].shape) == 0) {
            i->op = PTX_MMA;
            i->terms = known[k].terms;
            i->type = known[k].type;
            i->from = known[k].from;
            return true;
        }
    return false;
}

/* What stands between an instruction's name and its types; false: it is not known. */
static bool take_word(struct ptx_instruction *i, const char *word)
{
    uint32_t c = index_of(comparison_text, PTX_N_COMPARISONS, word);
    if (i->op == PTX_SETP && c != PTX_NONE) {
        i->comparison = (enum ptx_comparison)c;
        return true;
    }
    if (i->op == PTX_MUL && strcmp(word, "wide") == 0) {
        i->op = PTX_MUL_WIDE;
        return true;
    }
    if (i->op == PTX_BAR && strcmp(word, "warp") == 0) {
        i->op = PTX_BAR_WARP;
        return true;
    }
    if ((i->op == PTX_LD || i->op == PTX_ST) && strcmp(word, "volatile") == 0)
        return i->is_volatile = true;
    if ((i->op == PTX_LD || i->op == PTX_ST) && word[0] == 'v') {
        i->vector = (uint32_t)(word[1] - '0');
        return i->vector == 2 || i->vector == 4;
    }
    static const char *const space[] = {"global", "shared", "param"};
    uint32_t s = index_of(space, 3, word);
    if (s != PTX_NONE) {
        i->space = (enum ptx_space)s;
        return i->op == PTX_LD || i->op == PTX_ST || i->op == PTX_CVTA || i->op == PTX_ATOM;
    }
    if (i->op == PTX_ATOM || i->op == PTX_MEMBAR || i->op == PTX_FENCE)
        return strcmp(word, "add") == 0 || strcmp(word, "gl") == 0 || strcmp(word, "sc") == 0 ||
               strcmp(word, "acq_rel") == 0 || strcmp(word, "gpu") == 0;
    bool to_zero = i->op == PTX_CVT && strcmp(word, "rzi") == 0;
    return to_zero || strcmp(word, "rn") == 0 || strcmp(word, "lo") == 0 ||
           strcmp(word, "uni") == 0 || strcmp(word, "sync") == 0 || strcmp(word, "bfly") == 0 ||
           strcmp(word, "to") == 0;
}

/* add.rn.f32 */
static void read_name(struct reader *r, struct ptx_instruction *i, char *text)
{
    char whole[64], *rest = NULL;
    snprintf(whole, sizeof whole, "%s", text);
    i->vector = 1;
    if (read_mma(i, text))
        return;
    uint32_t types[2], n = 0, op = index_of(op_text, PTX_N_OPS, strtok_r(text, ".", &rest));
    bool known = op != PTX_NONE;
    known = known && op != PTX_MMA;
    i->op = known ? (enum ptx_op)op : PTX_RET;
    for (char *word; known && (word = strtok_r(NULL, ".", &rest));) {
        uint32_t type = type_of(word);
        if (type == PTX_NONE)
            known = take_word(i, word);
        else if (n < 2)
            types[n++] = type;
    }
    if (!known)
        refuse(r, "unknown instruction '%s'", whole);
    i->type = n ? (enum ptx_type)types[0] : PTX_U32;
    i->from = n == 2 ? (enum ptx_type)types[1] : i->type;
}

static void read_operands(struct reader *r, struct ptx_instruction *i, char *text)
{
    char *rest = NULL;
    for (char *word = strtok_r(text, " \t,{};", &rest); word;
         word = strtok_r(NULL, " \t,{};", &rest)) {
        if (i->n == sizeof i->operand / sizeof *i->operand) {
            refuse(r, "too many operands");
            return;
        }
        if (i->op == PTX_BRA)
            snprintf(r->targets[r->k->n], NAME_BYTES, "%s", word);
        else
            i->operand[i->n++] = read_operand(r, word);
    }
}

static void add_instruction(struct reader *r, char *text)
{
    struct ptx_kernel *k = r->k;
    if ((k->n & (k->n + 1)) == 0) { /* room doubles */
        k->code = realloc(k->code, (2 * (size_t)k->n + 2) * sizeof *k->code);
        r->targets = realloc(r->targets, (2 * (size_t)k->n + 2) * sizeof *r->targets);
    }
    struct ptx_instruction i = {.guard = PTX_NONE, .line = r->line};
    r->targets[k->n][0] = 0;
    if (*text == '@') {
        i.unless = text[1] == '!';
        char *guard = text + 1 + i.unless;
        text += strcspn(text, " \t");
        *text++ = 0;
        i.guard = register_number(r, guard);
        text += strspn(text, " \t");
    }
    char *operands = text + strcspn(text, " \t;");
    if (*operands)
        *operands++ = 0;
    read_name(r, &i, text);
    if (i.op == PTX_MOV && strchr(operands, '{')) { /* halves into a word; not a word into halves */
        i.vector = 2;
        if (operands[strspn(operands, " \t")] == '{' || i.type != PTX_U32)
            refuse(r, "unknown form of mov");
    }
    read_operands(r, &i, operands);
    k->code[k->n++] = i;
}

/* ---- kernels -------------------------------------------------------------------------------- */

/* .reg .f32 %f<467>; */
static void declare_registers(struct reader *r, const char *text)
{
    char class[16];
    uint32_t n;
    if (sscanf(text, ".reg .%*s %15[^<]<%u>", class, &n) != 2) {
        refuse(r, "no registers");
        return;
    }
    add_name(r, &r->registers, class, r->k->registers);
    r->k->registers += n;
}

/* Of the launch: device.h. It is the first of the variables, and behind those that are declared. */
#define SHARED_OF_LAUNCH "launch_shared"

/* .shared .align 4 .b8 name[1024]; or .shared .align 4 .u32 name; */
static void declare_shared(struct reader *r, const char *text)
{
    char name[NAME_BYTES];
    uint32_t align, bytes;
    if (sscanf(text, ".shared .align %u .u32 %159[^;]", &align, name) == 2) {
        bytes = 4;
    } else if (sscanf(text, ".shared .align %u .b8 %159[^[][%u]", &align, name, &bytes) != 3) {
        refuse(r, "no shared variable");
        return;
    }
    uint32_t at = (r->k->shared_bytes + align - 1) / align * align;
    add_name(r, &r->variables, name, at);
    r->k->shared_bytes = at + bytes;
    r->variables.of[0].value = PTX_BEHIND(r->k->shared_bytes);
}

static void begin_kernel(struct reader *r, const char *text)
{
    struct ptx_module *m = r->m;
    m->kernel = realloc(m->kernel, (m->n + 1) * sizeof *m->kernel);
    r->k = &m->kernel[m->n++];
    *r->k = (struct ptx_kernel){.registers = 1};
    r->registers.n = r->variables.n = r->labels.n = 0;
    if (sscanf(text, ".visible .entry %63[^(]", r->k->name) != 1)
        refuse(r, "no name of a kernel");
    add_name(r, &r->variables, SHARED_OF_LAUNCH, 0);
}

static void end_kernel(struct reader *r)
{
    for (uint32_t i = 0; i < r->k->n; i++) {
        const struct name *label = find_name(&r->labels, r->targets[i]);
        if (r->k->code[i].op == PTX_BRA && !label)
            refuse(r, "no label '%s'", r->targets[i]);
        else if (label)
            r->k->code[i].target = (uint32_t)label->value;
    }
    r->k = NULL;
}

static void read_line(struct reader *r, char *text)
{
    text[strcspn(text, "\n")] = 0;
    char *comment = strstr(text, "//");
    if (comment)
        *comment = 0;
    text += strspn(text, " \t");
    size_t label = strcspn(text, ":");
    if (strncmp(text, ".visible .entry", 15) == 0)
        begin_kernel(r, text);
    else if (!r->k || !*text || *text == '{' || *text == ')')
        return;
    else if (*text == '}')
        end_kernel(r);
    else if (*text == '$' && text[label]) {
        text[label] = 0;
        add_name(r, &r->labels, text, r->k->n);
    } else if (strncmp(text, ".reg", 4) == 0)
        declare_registers(r, text);
    else if (strncmp(text, ".shared", 7) == 0)
        declare_shared(r, text);
    else if (*text != '.')
        add_instruction(r, text);
}

const struct ptx_module *ptx_read(const char *path)
{
    FILE *f = fopen(path, "r");
    if (!f) {
        perror(path);
        return NULL;
    }
    struct reader *r = calloc(1, sizeof *r);
    struct ptx_module *m = calloc(1, sizeof *m);
    r->path = path;
    r->m = m;
    char text[1024];
    while (fgets(text, sizeof text, f)) {
        r->line++;
        read_line(r, text);
    }
    fclose(f);
    bool bad = r->bad || m->n == 0;
    free(r->targets);
    free(r);
    return bad ? NULL : m;
}

const struct ptx_kernel *ptx_find(const struct ptx_module *m, const char *name)
{
    for (uint32_t i = 0; i < m->n; i++)
        if (strcmp(m->kernel[i].name, name) == 0)
            return &m->kernel[i];
    return NULL;
}
