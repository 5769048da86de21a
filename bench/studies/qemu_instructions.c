/* SPDX-License-Identifier: MIT */
/* qemu_instructions.c - a plugin of QEMU's user emulation: how many instructions a program
 * executed. Its interface is declared here, since distributions come without its header. */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct qemu_plugin_tb;
struct qemu_info;
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id,
                                           void (*f)(uint64_t id, struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int add, void *to,
                                              uint64_t n);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
void qemu_plugin_register_atexit_cb(uint64_t id, void (*f)(uint64_t id, void *user), void *user);
void qemu_plugin_outs(const char *text);

int qemu_plugin_version = 1;
static uint64_t executed;

static void translated(uint64_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(tb, 0, &executed, qemu_plugin_tb_n_insns(tb));
}

static void say(uint64_t id, void *user)
{
    char text[40];
    (void)id, (void)user;
    snprintf(text, sizeof text, "instructions %" PRIu64 "\n", executed);
    qemu_plugin_outs(text);
}

int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int n, char **args);
int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int n, char **args)
{
    (void)info, (void)n, (void)args;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, say, NULL);
    return 0;
}
