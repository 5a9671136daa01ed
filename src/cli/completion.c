/* completion.c -- `tremolo completion`: what a shell proposes, from the tables of options.
 *
 * The script that a shell reads once is short and never out of date: at every key it asks
 * `tremolo completion words -- WORD...` what the last of these words may become. A line of
 * the answer is a word, a tab and its help, or :files or :directories for the shell's own. */
#include <stdio.h>
#include <string.h>

#include "options.h"

enum { BASH, ZSH, FISH, MAN, WORDS }; /* places in `actions` */

static const char bash[] =
    "_tremolo() {\n"
    "    local line\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r line; do\n"
    "        case $line in\n"
    "        :files) compopt -o filenames 2>/dev/null\n"
    "            mapfile -t COMPREPLY < <(compgen -f -- \"$2\") ;;\n"
    "        :directories) compopt -o filenames 2>/dev/null\n"
    "            mapfile -t COMPREPLY < <(compgen -d -- \"$2\") ;;\n"
    "        *) COMPREPLY+=(\"${line%%$'\\t'*}\") ;;\n"
    "        esac\n"
    "    done < <(\"$1\" completion words -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
    "}\n"
    "complete -F _tremolo tremolo\n";

static const char zsh[] = "#compdef tremolo\n"
                          "_tremolo() {\n"
                          "    local line\n"
                          "    local -a found\n"
                          "    for line in \"${(@f)$(\"$words[1]\" completion words -- "
                          "\"${(@)words[2,CURRENT]}\" 2>/dev/null)}\"; do\n"
                          "        case $line in\n"
                          "        :files) _files; return ;;\n"
                          "        :directories) _files -/; return ;;\n"
                          "        ?*) found+=(\"${line%%$'\\t'*}:${line#*$'\\t'}\") ;;\n"
                          "        esac\n"
                          "    done\n"
                          "    (( $#found )) && _describe tremolo found\n"
                          "}\n"
                          "if [[ ${funcstack[1]} == _tremolo ]]; then _tremolo \"$@\"; else "
                          "compdef _tremolo tremolo; fi\n";

static const char fish[] =
    "function __tremolo_words\n"
    "    set -l given (commandline -opc)\n"
    "    set -l current (commandline -ct)\n"
    "    for line in ($given[1] completion words -- $given[2..-1] \"$current\" 2>/dev/null)\n"
    "        switch $line\n"
    "            case :files\n"
    "                __fish_complete_path \"$current\"\n"
    "            case :directories\n"
    "                __fish_complete_directories \"$current\"\n"
    "            case '*'\n"
    "                echo $line\n"
    "        end\n"
    "    end\n"
    "end\n"
    "complete -c tremolo -f -a '(__tremolo_words)'\n";

/* ---------------------------------------------------------------- words */

static void propose(const char *begun, const char *dashes, const char *word, size_t length,
                    const char *help)
{
    char whole[80];
    (void)snprintf(whole, sizeof whole, "%s%.*s", dashes, (int)length, word);
    if (strncmp(whole, begun, strlen(begun)) == 0) {
        (void)printf("%s\t%s\n", whole, help);
    }
}

/* The option that a word is, when it takes a value. */
static const struct option_rule *waits_for_value(const struct cli_command *command,
                                                 const char *word)
{
    for (size_t i = 0; i < command->rule_count && strncmp(word, "--", 2) == 0; i++) {
        const struct option_rule *rule = &command->rules[i];
        if (rule->name != NULL && rule->type != OPTION_FLAG && strcmp(rule->name, word + 2) == 0) {
            return rule;
        }
    }
    return NULL;
}

static void propose_value(const struct option_rule *rule, const char *begun)
{
    if (rule->type == OPTION_CHOICE) {
        for (const char *at = rule->words; *at != '\0';) {
            size_t length = strcspn(at, " ");
            propose(begun, "", at, length, "");
            at += length + (at[length] == ' ');
        }
    } else if (rule->value != NULL && strstr(rule->value, "FILE") != NULL) {
        (void)puts(":files");
    } else if (rule->value != NULL && strstr(rule->value, "DIR") != NULL) {
        (void)puts(":directories");
    }
}

/* The action among the words; NULL when none is there yet. */
static const struct cli_action *action_among(const struct cli_command *command,
                                             const char *const *words, size_t count)
{
    for (size_t w = 0; w < count; w++) {
        for (size_t i = 0; i < command->action_count; i++) {
            if (strcmp(command->actions[i].name, words[w]) == 0) {
                return &command->actions[i];
            }
        }
    }
    return NULL;
}

static void propose_options(const struct cli_command *command, const struct cli_action *action,
                            const char *begun)
{
    for (size_t i = 0; i < command->rule_count; i++) {
        const struct option_rule *rule = &command->rules[i];
        if (rule->name != NULL && !rule->hidden && options_belongs(rule, action)) {
            propose(begun, "--", rule->name, strlen(rule->name), rule->help);
        }
    }
    propose(begun, "--", "help", 4, "what the command and its options do");
}

/* What words[count - 1] may become. */
static void propose_all(const char *const *words, size_t count)
{
    const struct cli_command *command = NULL;
    const char *begun = count > 0 ? words[count - 1] : "";
    if (count < 2 || (count == 2 && strcmp(words[0], "help") == 0)) {
        for (size_t i = 0; (command = cli_command_at(i)) != NULL; i++) {
            propose(begun, "", command->name, strlen(command->name), command->summary);
        }
        return;
    }
    command = cli_command_named(words[0]);
    if (command == NULL) {
        return;
    }
    const struct option_rule *waiting = waits_for_value(command, words[count - 2]);
    const struct cli_action *action = action_among(command, words + 1, count - 2);
    if (waiting != NULL) {
        propose_value(waiting, begun);
    } else if (begun[0] == '-') {
        propose_options(command, action, begun);
    } else if (command->actions != NULL && action == NULL) {
        for (size_t i = 0; i < command->action_count; i++) {
            action = &command->actions[i];
            propose(begun, "", action->name, strlen(action->name), action->summary);
        }
    } else if ((action != NULL ? action->operand : command->operand) != NULL) {
        (void)puts(":files");
    }
}

/* ---------------------------------------------------------------- command */

static const struct cli_action actions[] = {
    {"bash", "the script for bash", NULL},
    {"zsh", "the script for zsh", NULL},
    {"fish", "the script for fish", NULL},
    {"man", "the options of a command as its manual page has them", "the name of a command"},
    {"words", "what the last of some words may become: what the scripts ask", "words"},
};

static int run(int argc, char **argv)
{
    struct options_given given;
    char nothing = 0;
    int code = CLI_DONE;
    if (!options_parse(&given, &nothing, &code, &cli_completion, argc, argv)) {
        return code;
    }
    const struct cli_command *command =
        given.operands > 0 ? cli_command_named(given.operand[0]) : NULL;
    switch (given.action - actions) {
    case BASH: (void)fputs(bash, stdout); break;
    case ZSH: (void)fputs(zsh, stdout); break;
    case FISH: (void)fputs(fish, stdout); break;
    case MAN:
        if (command == NULL || given.operands != 1) {
            return cli_fail(CLI_USAGE, cli_completion.name, "man needs the name of a command");
        }
        options_print_manual(stdout, command);
        break;
    default: propose_all(given.operand, given.operands); break;
    }
    return CLI_DONE;
}

const struct cli_command cli_completion = {
    .name = "completion",
    .summary = "complete commands and options in a shell",
    .usage = "completion bash|zsh|fish\ncompletion man COMMAND\ncompletion words -- WORD...",
    .about = "Prints a script that makes a shell complete commands, options and their values.\n"
             "'make install' puts the scripts where shells look for them; without it,\n"
             "'source <(tremolo completion bash)' in ~/.bashrc does the same.",
    OPTION_ACTIONS(actions),
    .operand_most = OPTIONS_OPERANDS_MAX,
    .operand_optional = true,
    .run = run,
};
