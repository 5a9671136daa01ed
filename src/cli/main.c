/* main.c -- the `tremolo` command: find the subcommand and run it; list, complete and explain
 * them.
 *
 * A shell reads a short script once, which is never out of date: at every key it asks `tremolo
 * completion words -- WORD...` what the last of these words may become. A line of the answer is
 * a word, a tab and its help, or :files or :directories for names that the shell completes
 * itself.
 *
 * To add a command: write its file with a struct cli_command, declare that in cli.h, and add it
 * to `commands` below. Help, completion and the check for misspelt names follow from the table.
 *
 * main() looks at the state of standard output at the end, so commands need not check each
 * line that they print. */
#include "cli.h"
#include "options.h"
#include "words.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---------------------------------------------------------------- the list of commands */

static int run_version(int argc, char **argv);
/* "help study init" is "study init --help": a command explains itself by its own table. */
static int run_help(int argc, char **argv);
static int run_completion(int argc, char **argv);

/* What `completion` does, by its first word. */
enum { BASH, ZSH, FISH, MAN, WORDS }; /* places in `actions` */

static const struct cli_action actions[] = {
    {"bash", "the script for bash", NULL},
    {"zsh", "the script for zsh", NULL},
    {"fish", "the script for fish", NULL},
    {"man", "the options of a command as its manual page has them", "COMMAND"},
    {"words", "what the last of some words may become: what the scripts ask", "[WORD...]"},
};

static const struct cli_command completion = {
    .name = "completion",
    .summary = "complete commands and options in a shell",
    .usage = "completion bash|zsh|fish\ncompletion man COMMAND\ncompletion words -- WORD...",
    .about = "Prints a script that makes a shell complete commands, options and their values.\n"
             "'make install' puts the scripts where shells look for them; without it,\n"
             "'source <(tremolo completion bash)' in ~/.bashrc does the same.",
    OPTION_ACTIONS(actions),
    .run = run_completion,
};

/* These two read no options and so have no table of them. */
static const struct cli_command version = {
    .name = "version", .summary = "print the version", .run = run_version};
static const struct cli_command help = {.name = "help",
                                        .summary = "list the commands, or explain one",
                                        .operand = "[COMMAND]",
                                        .run = run_help};

/* In the order in which `tremolo help` lists them. */
static const struct cli_command *const commands[] = {
    &cli_account, &cli_audit,   &cli_check,     &cli_demo,   &cli_fit,   &cli_fold,
    &cli_plan,    &cli_predict, &cli_reproduce, &cli_report, &cli_serve, &cli_simulate,
    &cli_status,  &cli_study,   &completion,    &version,    &help,
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

/* NULL when there is none. */
static const struct cli_command *command_named(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(name, commands[i]->name) == 0) {
            return commands[i];
        }
    }
    return NULL;
}

/* ---------------------------------------------------------------- help and version */

static int run_version(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    (void)puts("tremolo " TREMOLO_VERSION);
    return CLI_DONE;
}

/* In the order of the list, which is alphabetical except for the last three. */
/* Standard output when it was asked for, standard error when a command is missing. */
static void print_commands(FILE *stream)
{
    (void)fputs("usage: tremolo COMMAND [OPTIONS] [FILE]\n\n", stream);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        (void)fprintf(stream, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    }
    (void)fputs(
        "\nA study asks each device for a ballot, which keeps any two people apart with pure "
        "epsilon, or,\nas in the paper, for a noisy sample, for people at most a distance "
        "apart; 'plan' compares them.\n",
        stream);
    (void)fputs("\n'man tremolo' and 'tremolo COMMAND --help' say more.\n", stream);
}

static int run_help(int argc, char **argv)
{
    /* An unknown name gets the list, in which the right one can be found. */
    const struct cli_command *command = argc >= 2 ? command_named(argv[1]) : NULL;
    if (command == NULL || command == &help) {
        print_commands(stdout);
        return CLI_DONE;
    }
    char option[] = "--help";
    char *arguments[] = {argv[1], argc >= 3 ? argv[2] : option, option, NULL};
    return command->run(3, arguments);
}

/* ---------------------------------------------------------------- completion: scripts */

/* COMP_WORDS has the command line; mapfile and compopt are of bash 4. */
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

/* The last line serves both ways to load it: as an autoloaded function, which runs at once, and by
 * `source`, which only registers it. _describe takes "word:help". */
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

/* fish reads a tab between a word and its help, as in the answer. -f: no file names but those
 * that the function proposes. */
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

/* ---------------------------------------------------------------- completion: words */

/* A word with its explanation, if what was typed so far is its beginning. `word` has `length`
 * characters and need not end there; `dashes` comes before it. */
static void propose(const char *begun, const char *dashes, const char *word, size_t length,
                    const char *about)
{
    char whole[80];
    (void)snprintf(whole, sizeof whole, "%s%.*s", dashes, (int)length, word);
    if (strncmp(whole, begun, strlen(begun)) == 0) {
        (void)printf("%s\t%s\n", whole, about);
    }
}

/* The option that a word is, when it takes a value; NULL for any other word. "--level=0.9" is no
 * such word: it has its value already. */
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

/* Choices are words, files and directories are the shell's to complete, numbers cannot be
 * guessed. */
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

/* Of an action, its own options; of a command, or before the action is typed, all. */
static void propose_options(const struct cli_command *command, const struct cli_action *action,
                            const char *begun)
{
    for (size_t i = 0; i < command->rule_count; i++) {
        const struct option_rule *rule = &command->rules[i];
        if (rule->name != NULL && options_belongs(rule, action)) {
            propose(begun, "--", rule->name, strlen(rule->name), rule->help);
        }
    }
    propose(begun, "--", "help", 4, "what the command and its options do");
}

/* What words[count - 1] may become: a command, the value of the option before it, an option, an
 * action, or a file. */
static void propose_all(const char *const *words, size_t count)
{
    const char *begun = count > 0 ? words[count - 1] : "";
    if (count < 2 || (count == 2 && strcmp(words[0], "help") == 0)) {
        for (size_t i = 0; i < COMMAND_COUNT; i++) {
            propose(begun, "", commands[i]->name, strlen(commands[i]->name), commands[i]->summary);
        }
        return;
    }
    const struct cli_command *command = command_named(words[0]);
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

static int run_completion(int argc, char **argv)
{
    struct options_given given;
    /* The command has no options, so nothing is stored here. */
    char nothing = 0;
    int code = CLI_DONE;
    if (!options_parse(&given, &nothing, &code, &completion, argc, argv)) {
        return code;
    }
    const struct cli_command *command = given.operands > 0 ? command_named(given.operand[0]) : NULL;
    switch (given.action - actions) {
    case BASH: (void)fputs(bash, stdout); break;
    case ZSH: (void)fputs(zsh, stdout); break;
    case FISH: (void)fputs(fish, stdout); break;
    case MAN:
        if (command == NULL) {
            return cli_fail(CLI_USAGE, completion.name, "man needs the name of a command");
        }
        options_print_manual(stdout, command);
        break;
    default: propose_all(given.operand, given.operands); break;
    }
    return CLI_DONE;
}

/* ---------------------------------------------------------------- the program */

/* The customary options of programs that have no commands. */
static const char *canonical_name(const char *name)
{
    if (strcmp(name, "--version") == 0) {
        return "version";
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        return "help";
    }
    return name;
}

/* A result that did not reach stdout (a full disk, a closed pipe) is no result: the code becomes
 * CLI_FAILED. A command that failed keeps its own code, which says more. */
static int finish(const char *name, int code)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        return code == CLI_DONE ? cli_fail(CLI_FAILED, name, "cannot write to stdout") : code;
    }
    return code;
}

/* A misspelt command is answered with the nearest one. */
static int no_such_command(const char *name)
{
    const char *words[COMMAND_COUNT];
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        words[i] = commands[i]->name;
    }
    const char *meant = tremolo_words_nearest(name, words, COMMAND_COUNT);
    return meant != NULL
               ? cli_fail(CLI_USAGE, name, "no such command; did you mean 'tremolo %s'?", meant)
               : cli_fail(CLI_USAGE, name, "no such command; 'tremolo help' lists them");
}

/* Else the next file or connection that is opened would have the number of a standard stream that
 * the caller closed, and take what is printed. What is used the wrong way fails as a closed one. */
static void hold_streams(void)
{
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++) {
        if (fcntl(stream, F_GETFD) < 0) { /* the lowest number that is free */
            (void)!open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        }
    }
}

/* Without a command the list goes to stderr: nothing was done. */
int main(int argc, char **argv)
{
    hold_streams();
    if (argc < 2) {
        print_commands(stderr);
        return CLI_USAGE;
    }
    const char *name = canonical_name(argv[1]);
    const struct cli_command *command = command_named(name);
    return command != NULL ? finish(name, command->run(argc - 1, argv + 1)) : no_such_command(name);
}
