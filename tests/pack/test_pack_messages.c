/* SPDX-License-Identifier: MIT */
/* test_pack_messages.c - models that cannot be written, and the whole message that each is refused
 * with. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "test_run.h"
#include "pith_pack.h"
#include "sample_models.h"

static void pack_fails(const struct pith_model *m, const char *text)
{
    struct pith_buffer file = {NULL, 0};
    struct pith_error err = {0};
    assert_int_equal(pith_model_pack(m, NULL, &file, &err), PITH_ERR_ARGUMENT);
    assert_string_equal(err.text, text);
    assert_null(file.data);
}

/* A LeNet-5 of which the test makes one thing wrong; each message with its numbers. */
TEST(refusals_name_what_is_wrong)
{
    static char long_name[257];
    static struct pith_meta meta[1025];
    static char keys[1025][8];
    memset(long_name, 'x', 256);
    for (int i = 0; i < 1025; i++) {
        snprintf(keys[i], sizeof *keys, "k%04d", i);
        meta[i] = (struct pith_meta){.key = keys[i], .text = keys[i]};
    }
    static const char *const texts[] = {
        "cannot pack: value 0 is an input and something else",
        "cannot pack: value 3 is an output of a node and something else",
        "cannot pack: value 99999 is an input and something else",
        "cannot pack node 2 'conv2': operator 9999 with these attributes",
        "cannot pack node 1 'pool1': input 0 is not computed before it",
        "cannot pack node 0 'conv1': input 1 is not computed before it",
        "cannot pack: output 0 is computed by no node",
        "cannot pack: meta key 'a' is not in order",
        "cannot pack: meta key 'b' is not in order",
        "cannot pack meta key '': 0 bytes, 1..255 are allowed",
        "cannot pack meta key 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx': 256 bytes, 1..255 are "
        "allowed",
        "cannot pack meta key: not UTF-8",
        "cannot pack meta value: not UTF-8",
        "cannot pack: 1024 meta entries, 1023 are allowed",
        "cannot pack: 65537 history entries, 65536 are allowed",
        "cannot pack history verb '': 0 bytes, 1..255 are allowed",
        "cannot pack history entry: not UTF-8",
        "cannot pack: two tensors have the name 'conv1.bias'",
    };
    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct pith_model *m = sample_lenet5(5);
        uint32_t *in = m->nodes[1].in;
        m->meta = meta;
        m->n_meta = 2;
        meta[0].key = "a";
        meta[1].key = "b";
        switch (i) {
        case 0:
            m->n_inputs = 2;
            m->inputs[1] = m->inputs[0];
            break;
        case 1:
            m->nodes[1].out[0] = m->nodes[0].out[0];
            break;
        case 2:
            m->inputs[0] = 99999;
            break;
        case 3:
            m->nodes[2].op = 9999;
            break;
        case 4:
            in[0] = m->outputs[0];
            break;
        case 5:
            m->nodes[0].in[1] = 99999;
            break;
        case 6:
            m->outputs[0] = m->n_values;
            break;
        case 7:
        case 8:
            meta[0].key = "b";
            meta[1].key = i == 7 ? "a" : "b";
            break;
        case 9:
            meta[0].key = "";
            break;
        case 10:
            meta[0].key = long_name;
            break;
        case 11:
            meta[1].key = "b\xff";
            break;
        case 12:
            meta[1].text = "\xff";
            break;
        case 13:
            meta[0].key = keys[0];
            meta[1].key = keys[1];
            m->n_meta = 1024;
            break;
        case 14:
            m->n_history = 65537;
            break;
        case 15:
            m->history[0].key = "";
            break;
        case 16:
            m->history[0].text = "\xff";
            break;
        default:
            m->values[m->nodes[0].in[1]].name = m->values[m->nodes[0].in[2]].name;
        }
        pack_fails(m, texts[i]);
        meta[1].text = keys[1];
        pith_model_free(m);
    }
    struct pith_model *m = sample_lenet5(5); /* the most that fit */
    struct pith_buffer file = {NULL, 0};
    meta[0].key = keys[0];
    meta[1].key = keys[1];
    m->meta = meta;
    m->n_meta = 1023;
    assert_int_equal(pith_model_pack(m, NULL, &file, NULL), PITH_OK);
    pith_buffer_free(&file);
    m->n_meta = 1;
    meta[0].key = long_name + 1;
    assert_int_equal(pith_model_pack(m, NULL, &file, NULL), PITH_OK);
    pith_buffer_free(&file);
    struct pith_error err = {0};
    m->n_outputs = 0;
    assert_int_equal(pith_model_pack(m, NULL, &file, &err), PITH_ERR_UNSUPPORTED);
    assert_string_equal(err.text, "cannot pack: the model has 1 inputs and 0 outputs");
    m->n_inputs = 0;
    m->n_outputs = 1;
    assert_int_equal(pith_model_pack(m, NULL, &file, &err), PITH_ERR_UNSUPPORTED);
    assert_string_equal(err.text, "cannot pack: the model has 0 inputs and 1 outputs");
    pith_model_free(m);
}

RUN_TESTS
