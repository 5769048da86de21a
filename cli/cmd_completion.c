/* SPDX-License-Identifier: MIT */
/* pith completion bash|zsh|fish: what a shell needs to complete commands, options and known names,
 * made from the same tables as the help. */
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

static void put_architectures(void)
{
    for (uint32_t i = 0; pith_architecture_name(i); i++)
        printf(" %s", pith_architecture_name(i));
}

#define RECIPE_VERBS "show lint write"
#define SHELL_NAMES "bash zsh fish"

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
    put_architectures();
    puts("\" ;;\n    recipe) names=\"" RECIPE_VERBS "\" ;;\n    completion) names=\"" SHELL_NAMES
         "\" "
         ";;\n    "
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

/* In single quotes, with the backslashes that zsh and fish need between them. */
static void put_quoted(const char *text, bool fish)
{
    putchar('\'');
    for (; *text; text++)
        if (*text == '\'')
            fputs(fish ? "\\'" : "'\\''", stdout);
        else if (*text == '\\' && fish)
            fputs("\\\\", stdout);
        else
            putchar(*text);
    putchar('\'');
}

static void put_described(const char *dashes, const char *name, const char *help)
{
    char text[512];
    snprintf(text, sizeof text, "%s%s:%s", dashes, name, help);
    putchar(' ');
    put_quoted(text, false);
}

static void put_zsh_options(const struct cli_option *options)
{
    for (const struct cli_option *o = options; o && o->name; o++)
        if (o->help && o->kind != OPTION_HEADING)
            put_described("--", o->name, o->help);
}

static void print_zsh(const struct cli_command *const *commands)
{
    fputs("#compdef pith\n"
          "# zsh completion for pith, made by: pith completion zsh\n"
          "_pith() {\n"
          "    local -a commands options names\n"
          "    commands=(",
          stdout);
    for (uint32_t i = 0; commands[i]; i++)
        put_described("", commands[i]->name, commands[i]->summary);
    puts(")\n    if (( CURRENT == 2 )); then\n"
         "        _describe command commands\n"
         "        return\n"
         "    fi\n"
         "    case $words[2] in");
    for (uint32_t i = 0; commands[i]; i++) {
        printf("    %s) options=(", commands[i]->name);
        put_zsh_options(cli_all_options(commands[i]));
        puts(") ;;");
    }
    fputs("    esac\n    options+=(", stdout);
    put_zsh_options(cli_common_options);
    fputs(")\n    case $words[2] in\n    help) names=($commands) ;;\n    init) names=(", stdout);
    put_architectures();
    puts(") ;;\n    completion) names=(" SHELL_NAMES ") ;;\n    recipe) names=(" RECIPE_VERBS
         ") ;;\n"
         "    esac\n"
         "    if [[ $PREFIX == -* ]]; then\n"
         "        _describe -o option options\n"
         "    else\n"
         "        (( $#names )) && _describe name names\n"
         "        _files\n"
         "    fi\n"
         "}\n"
         "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _pith \"$@\"; else compdef _pith "
         "pith; fi");
}

static void put_fish_options(const char *command, const struct cli_option *options)
{
    for (const struct cli_option *o = options; o && o->name; o++) {
        if (!o->help || o->kind == OPTION_HEADING)
            continue;
        printf("complete -c pith -n '%s%s' -l %s", command ? "__fish_seen_subcommand_from " : "",
               command ? command : "not __fish_use_subcommand", o->name);
        if (o->letter)
            printf(" -s %c", o->letter);
        if (o->arg && o->kind != OPTION_OPT_TEXT)
            fputs(" -r", stdout);
        fputs(" -d ", stdout);
        put_quoted(o->help, true);
        putchar('\n');
    }
}

static void print_fish(const struct cli_command *const *commands)
{
    puts("# fish completion for pith, made by: pith completion fish");
    for (uint32_t i = 0; commands[i]; i++) {
        printf("complete -c pith -f -n __fish_use_subcommand -a %s -d ", commands[i]->name);
        put_quoted(commands[i]->summary, true);
        putchar('\n');
        put_fish_options(commands[i]->name, cli_all_options(commands[i]));
    }
    put_fish_options(NULL, cli_common_options);
    fputs("complete -c pith -n '__fish_seen_subcommand_from init' -a '", stdout);
    put_architectures();
    puts("'\ncomplete -c pith -f -n '__fish_seen_subcommand_from completion' -a '" SHELL_NAMES "'\n"
         "complete -c pith -n '__fish_seen_subcommand_from recipe' -a '" RECIPE_VERBS "'");
}

static const struct {
    const char *shell;
    void (*print)(const struct cli_command *const *commands);
} SHELLS[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    const struct cli_common *common = opts;
    (void)n_operands;
    for (size_t i = 0; i < sizeof SHELLS / sizeof *SHELLS; i++)
        if (!strcmp(operands[0], SHELLS[i].shell)) {
            SHELLS[i].print(common->commands);
            return EXIT_DONE;
        }
    cli_error("no completion for '%s': give bash, zsh or fish", operands[0]);
    return EXIT_USAGE;
}

const struct cli_command cmd_completion = {
    "completion",
    "misc",
    "command completion for a shell",
    "pith completion bash|zsh|fish",
    "make install puts it where the shells find it. By hand, for this shell:\n\n"
    "  source <(pith completion bash)",
    NULL,
    sizeof(struct cli_common),
    1,
    1,
    run,
    NULL};
