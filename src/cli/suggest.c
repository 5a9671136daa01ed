/* suggest.c -- what somebody may have meant: the nearest command, option or name. */
#include "suggest.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli.h"

enum { WORD_MAX = 64, OPTIONS_MAX = 64 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool same_letter(char a, char b)
{
    char one[2] = {a, '\0'};
    char other[2] = {b, '\0'};
    return strcasecmp(one, other) == 0;
}

/* Insertions, deletions, changes and swaps of neighbours that lead from one
 * word to the other (the restricted Damerau-Levenshtein distance). Rows of
 * the usual table: the one before last, the last, this one. */
static size_t distance(const char *a, const char *b)
{
    size_t rows[3][WORD_MAX + 1];
    size_t *before = rows[0];
    size_t *last = rows[1];
    size_t *row = rows[2];
    size_t columns = strlen(b);
    for (size_t j = 0; j <= columns; j++) {
        last[j] = j;
        before[j] = 0;
    }
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        row[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            bool same = same_letter(a[i - 1], b[j - 1]);
            row[j] = least(least(last[j], row[j - 1]) + 1, last[j - 1] + (same ? 0 : 1));
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
                same_letter(a[i - 2], b[j - 1])) {
                row[j] = least(row[j], before[j - 2] + 1);
            }
        }
        size_t *free_row = before;
        before = last;
        last = row;
        row = free_row;
    }
    return last[columns];
}

const char *cli_nearest(const char *word, const char *const *words, size_t count)
{
    const char *nearest = NULL;
    size_t length = strlen(word);
    /* What is further off is no slip: of two letters none may differ, of three one. */
    size_t best = length < 3 ? 1 : length < 4 ? 2 : length / 3 + 2;
    for (size_t i = 0; i < count && length <= WORD_MAX; i++) {
        size_t found = strlen(words[i]) <= WORD_MAX ? distance(word, words[i]) : best;
        if (found < best) {
            best = found;
            nearest = words[i];
        }
    }
    return nearest;
}

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
    const char *meant = cli_nearest(name, words, count);
    return meant != NULL
               ? cli_fail(CLI_USAGE, command, "unknown option '--%s'; did you mean '--%s'?", name,
                          meant)
               : cli_fail(CLI_USAGE, command,
                          "unknown option '--%s'; 'tremolo %s --help' lists them", name, command);
}
