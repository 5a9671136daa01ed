/* suggest.c -- what is wrong with an option, and which one may have been meant. */
#include "suggest.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "tremolo_words.h"

enum { WORD_MAX = 64, OPTIONS_MAX = 64 };

int cli_bad_option(const char *command, char **argv, const struct option *names)
{
    const char *given = argv[optind - 1];
    char name[WORD_MAX + 1];
    const char *words[OPTIONS_MAX];
    size_t count = 0;
    if (strncmp(given, "--", 2) != 0) {
        return cli_fail(CLI_USAGE, command,
                        "unknown option '%s'; options have two dashes and 'tremolo %s --help' "
                        "lists them",
                        given, command);
    }
    for (; count < OPTIONS_MAX && names[count].name != NULL; count++) {
        words[count] = names[count].name;
        if (optopt != 0 && names[count].val == optopt) {
            return cli_fail(CLI_USAGE, command, "--%s %s", names[count].name,
                            names[count].has_arg == no_argument ? "takes no value"
                                                                : "needs a value");
        }
    }
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(given + 2, "="), given + 2);
    const char *meant = tremolo_words_nearest(name, words, count);
    return meant != NULL
               ? cli_fail(CLI_USAGE, command, "unknown option '--%s'; did you mean '--%s'?", name,
                          meant)
               : cli_fail(CLI_USAGE, command,
                          "unknown option '--%s'; 'tremolo %s --help' lists them", name, command);
}
