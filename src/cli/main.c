/* main.c -- the `tremolo` command: find the subcommand and run it. */
#include "cli.h"
#include "tremolo_words.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int run_version(int argc, char **argv);
static int run_help(int argc, char **argv);

static const struct cli_command version = {
    .name = "version", .summary = "print the version", .run = run_version};
static const struct cli_command help = {.name = "help",
                                        .summary = "list the commands, or explain one",
                                        .operand = "a command",
                                        .run = run_help};

static const struct cli_command *const commands[] = {
    &cli_account, &cli_audit,   &cli_check,      &cli_demo,   &cli_fit,   &cli_fold,
    &cli_plan,    &cli_predict, &cli_reproduce,  &cli_report, &cli_serve, &cli_simulate,
    &cli_status,  &cli_study,   &cli_completion, &version,    &help,
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

const struct cli_command *cli_command_at(size_t place)
{
    return place < COMMAND_COUNT ? commands[place] : NULL;
}

const struct cli_command *cli_command_named(const char *name)
{
    size_t place = 0;
    while (place < COMMAND_COUNT && strcmp(name, commands[place]->name) != 0) {
        place++;
    }
    return cli_command_at(place);
}

static int run_version(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    (void)puts("tremolo " TREMOLO_VERSION);
    return CLI_DONE;
}

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
    const struct cli_command *command = argc >= 2 ? cli_command_named(argv[1]) : NULL;
    if (command == NULL || command == &help) {
        print_commands(stdout);
        return CLI_DONE;
    }
    char option[] = "--help";
    char *arguments[] = {argv[1], argc >= 3 ? argv[2] : option, option, NULL};
    return command->run(3, arguments);
}

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

/* A result that did not reach stdout (a full disk, a closed pipe) is no result. */
static int finish(const char *name, int code)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        return code == CLI_DONE ? cli_fail(CLI_FAILED, name, "cannot write to stdout") : code;
    }
    return code;
}

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

int main(int argc, char **argv)
{
    hold_streams();
    if (argc < 2) {
        print_commands(stderr);
        return CLI_USAGE;
    }
    const char *name = canonical_name(argv[1]);
    const struct cli_command *command = cli_command_named(name);
    return command != NULL ? finish(name, command->run(argc - 1, argv + 1)) : no_such_command(name);
}
