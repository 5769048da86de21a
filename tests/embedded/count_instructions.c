/* SPDX-License-Identifier: MIT */
/* count_instructions.c - a plug-in of QEMU that prints how many instructions a program executed.
 * Its interface is declared here, because packages of QEMU come without qemu-plugin.h. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

struct qemu_plugin_tb;
int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id,
                                           void (*)(uint64_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, void (*)(unsigned, void *),
                                          int flags, void *user);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
void qemu_plugin_register_atexit_cb(uint64_t id, void (*)(uint64_t, void *), void *user);

int qemu_plugin_version = 1;
static uint64_t instructions;

static void executed(unsigned cpu, void *in_block)
{
    (void)cpu;
    instructions += (size_t)in_block;
}

static void translated(uint64_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_cb(block, executed, 0, (void *)qemu_plugin_tb_n_insns(block));
}

static void ended(uint64_t id, void *user)
{
    (void)id, (void)user;
    fprintf(stderr, "%" PRIu64 "\n", instructions);
}

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
    (void)info, (void)argc, (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
