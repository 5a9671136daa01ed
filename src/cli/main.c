/* main.c -- the `tremolo` command: find the subcommand and run it. */
#include "cli.h"
#include "tremolo_words.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

static int run_version(int argc, char **argv);
static int run_help(int argc, char **argv);

static const struct cli_command commands[] = {
    {"account", "what a release costs: sigma, epsilon, delta, rho and more", cli_account},
    {"audit", "what the bytes of this build really give away", cli_audit},
    {"demo", "the whole system at work on made-up people", cli_demo},
    {"fit", "learn the regression from a file of reports", cli_fit},
    {"fold", "fold a clustered store's reports, beside other workers", cli_fold},
    {"plan", "what to expect of a study before anyone reports", cli_plan},
    {"reproduce", "repeat the paper's experiments", cli_reproduce},
    {"report", "send this device's report to a study", cli_report},
    {"serve", "take reports over HTTP, keep them, estimate from them", cli_serve},
    {"simulate", "try a study on a CSV file, every row a device", cli_simulate},
    {"status", "what a server has so far", cli_status},
    {"study", "write, check, show, publish, close, move and enrol for studies", cli_study},
    {"version", "print the version", run_version},
    {"help", "list the commands", run_help},
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

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
        (void)fprintf(stream, "  %-10s %s\n", commands[i].name, commands[i].summary);
    }
    (void)fputs("\n'man tremolo' and 'tremolo COMMAND --help' say more.\n", stream);
}

static int run_help(int argc, char **argv)
{
    for (size_t i = 0; argc >= 2 && i < COMMAND_COUNT; i++) {
        if (strcmp(argv[1], commands[i].name) == 0 && commands[i].run != run_help &&
            commands[i].run != run_version) {
            char option[] = "--help";
            char *arguments[] = {argv[1], option, NULL};
            return commands[i].run(2, arguments);
        }
    }
    print_commands(stdout);
    return CLI_DONE;
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
        words[i] = commands[i].name;
    }
    const char *meant = tremolo_words_nearest(name, words, COMMAND_COUNT);
    return meant != NULL
               ? cli_fail(CLI_USAGE, name, "no such command; did you mean 'tremolo %s'?", meant)
               : cli_fail(CLI_USAGE, name, "no such command; 'tremolo help' lists them");
}

int main(int argc, char **argv)
{
    opterr = 0; /* subcommands speak for themselves */
    if (argc < 2) {
        print_commands(stderr);
        return CLI_USAGE;
    }
    const char *name = canonical_name(argv[1]);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(name, commands[i].name) == 0) {
            return finish(name, commands[i].run(argc - 1, argv + 1));
        }
    }
    return no_such_command(name);
}
