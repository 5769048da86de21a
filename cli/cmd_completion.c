/* SPDX-License-Identifier: MIT */
/* pith completion bash: what a shell needs to complete commands, options and known names, made from
 * the same tables as the help. */
#include <stdio.h>
#include <string.h>
#include "cli/common/cli.h"
#include "pith_init.h"
#include "cli/common/stage_options.h"

static void put_options(const struct cli_option *options)
{
    for (const struct cli_option *o = options; o && o->name; o++)
        if (o->help && o->kind != OPTION_HEADING)
            printf(" --%s", o->name);
}

/* What may stand behind --set. */
static void put_keys(const struct cli_command *cmd)
{
    const struct pith_option_table *table;
    const struct pith_option *row;
    const char *prefix;
    fputs(" keys=\"", stdout);
    for (uint32_t t = 0; (table = cli_set_table(cmd, t, &prefix)); t++)
        for (uint32_t i = 0; (row = pith_option_row(table, i, NULL)); i++)
            if (!(row->flags & PITH_OPTION_RECIPE))
                printf(" %s%s=", prefix, row->key);
    fputs("\"", stdout);
}

static void put_commands(const struct cli_command *const *commands)
{
    for (uint32_t i = 0; commands[i]; i++)
        printf(" %s", commands[i]->name);
}

/* Options after a dash; else the names a command knows, and files where they do not fit. */
static void print_bash(const struct cli_command *const *commands)
{
    puts("# bash completion for pith, made by: pith completion bash\n"
         "_pith() {\n"
         "    local word=${COMP_WORDS[COMP_CWORD]} names= options= keys=");
    fputs("    local commands=\"", stdout);
    put_commands(commands);
    puts("\"\n    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "        COMPREPLY=($(compgen -W \"$commands\" -- \"$word\"))\n"
         "        return\n"
         "    fi\n"
         "    case ${COMP_WORDS[1]} in");
    for (uint32_t i = 0; commands[i]; i++) {
        printf("    %s) options=\"", commands[i]->name);
        put_options(cli_all_options(commands[i]));
        fputs("\"", stdout);
        put_keys(commands[i]);
        puts(" ;;");
    }
    fputs("    esac\n    options=\"$options", stdout);
    put_options(cli_common_options);
    fputs(" --help\"\n    case ${COMP_WORDS[1]} in\n    help) names=\"$commands options exit-codes "
          "environment presets\" ;;\n"
          "    init) names=\"",
          stdout);
    for (uint32_t i = 0; pith_architecture_name(i); i++)
        printf(" %s", pith_architecture_name(i));
    puts("\" ;;\n    recipe) names=\"show lint write\" ;;\n    completion) names=\"bash\" ;;\n    "
         "esac\n"
         "    if [ \"${COMP_WORDS[COMP_CWORD-1]}\" = --set ]; then\n"
         "        names=$keys\n"
         "        compopt -o nospace 2>/dev/null\n"
         "    fi\n"
         "    case $word in\n"
         "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
         "    *) COMPREPLY=($(compgen -W \"$names\" -- \"$word\")) ;;\n"
         "    esac\n"
         "}\n"
         "complete -o default -F _pith pith");
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    const struct cli_common *common = opts;
    (void)n_operands;
    if (strcmp(operands[0], "bash") != 0) {
        cli_error("no completion for '%s': give bash", operands[0]);
        return EXIT_USAGE;
    }
    print_bash(common->commands);
    return EXIT_DONE;
}

const struct cli_command cmd_completion = {
    "completion",
    "misc",
    "command completion for a shell",
    "pith completion bash",
    "make install puts it where bash-completion finds it. By hand, for this shell:\n\n"
    "  source <(pith completion bash)",
    NULL,
    sizeof(struct cli_common),
    1,
    1,
    run,
    NULL};
