/* options.h -- the options of a command as one table.
 *
 * A command lists each option once: its name, what it takes, its bounds, its default,
 * its help, what it goes with and where its value goes. options_parse() reads and checks
 * a command line by that list and prints it as --help, options_print_manual() as a part of a manual
 * page, and main.c answers shells from it.
 *
 *     struct fit_options { double level; };
 *     static const struct option_rule rules[] = {
 *         OPTION_RULE("level", "L", NUMBER, OPTION_TO(struct fit_options, level),
 *                     OPTION_BETWEEN(0, 1), .otherwise = "0.95",
 *                     .help = "confidence of the intervals"),
 *     };
 *
 * Counts may be written 50k, 2M, 1e6 or 50,000. */
#ifndef TREMOLO_CLI_OPTIONS_H
#define TREMOLO_CLI_OPTIONS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli.h"

/* Options and operands on one command line, and bytes of a sentence about one option. */
enum { OPTIONS_GIVEN_MAX = 128, OPTIONS_OPERANDS_MAX = 256, OPTIONS_SENTENCE_BYTES = 320 };

/* What an option takes, and by that the type of the member that its value goes to. */
enum option_type {
    OPTION_FLAG,   /* bool; takes no value */
    OPTION_TEXT,   /* const char *, or whatever `take` makes of it */
    OPTION_NUMBER, /* double; NaN when it is neither given nor has a default */
    OPTION_COUNT,  /* any unsigned integer */
    OPTION_CHOICE, /* an enum, integer or bool: the place of the word in `words` */
};

/* One row of a command's table. Members that are left out are NULL, 0 or false, which means that
 * the row makes no such demand. Numbers and counts always need bounds: without them only 0 is
 * good. */
struct option_rule {
    const char *name;  /* without dashes; NULL: `help` is a heading */
    const char *value; /* placeholder of the value: "FILE" and "DIR" make shells complete names */
    enum option_type type;
    size_t offset, bytes; /* of the value in the command's struct: OPTION_TO() */
    double low, high;     /* of numbers and counts: OPTION_FROM() and its like */
    bool low_open, high_open;
    const char *words;     /* of a choice, with a space between */
    const char *otherwise; /* the default, as it would be typed; NULL: none */
    const char *help;      /* a phrase or sentences without the last full stop */
    const char *of;        /* actions it belongs to, with a space between; NULL: all */
    const char *needs;     /* an option that must be given with it */
    const char *excludes;  /* one that must not be */
    bool required;         /* of the actions it belongs to */
    bool first;            /* taken before all others, which override what it fixes */
    /* Take a text to its place: NULL when it is good, else what it must be ("one
     * character"), or "" when that has been said already: the command ends with 2. */
    const char *(*take)(void *place, const char *text);
};

/* Where the texts of an option go that may be given several times: .take = options_take_listed. */
enum { OPTIONS_LIST_MAX = 64 };
struct options_list {
    /* In the order given; the texts point into argv. */
    size_t count;
    const char *text[OPTIONS_LIST_MAX];
};
/* For `take`, which appends the text; more than OPTIONS_LIST_MAX are refused. */
const char *options_take_listed(void *place, const char *text);

/* Designators that go together; `kind` is TEXT, NUMBER and so on. */
#define OPTION_RULE(option, stands_for, kind, ...)                                                 \
    {                                                                                              \
        .name = (option), .value = (stands_for), .type = OPTION_##kind, __VA_ARGS__                \
    }
/* Where a value goes: a member of the struct that options_parse() fills. */
#define OPTION_TO(type, member)                                                                    \
    .offset = offsetof(type, member), .bytes = sizeof(((type *)NULL)->member)
/* Bounds. FROM has both ends, ABOVE not the least, BELOW not the most, BETWEEN neither. */
#define OPTION_FROM(least, most)  .low = (least), .high = (most)
#define OPTION_ABOVE(least, most) .low = (least), .high = (most), .low_open = true
#define OPTION_BELOW(least, most) .low = (least), .high = (most), .high_open = true
#define OPTION_BETWEEN(least, most)                                                                \
    .low = (least), .high = (most), .low_open = true, .high_open = true

/* The same for a struct cli_command. */
#define OPTION_TABLE(table)   .rules = (table), .rule_count = sizeof(table) / sizeof((table)[0])
#define OPTION_ACTIONS(table) .actions = (table), .action_count = sizeof(table) / sizeof((table)[0])

/* What a command line has. All texts point into argv. */
struct options_given {
    const struct cli_command *command;
    /* Options in the order given: rule[i] with value[i], which is "" for a flag. One that was given
     * twice is there twice, and its last value holds, except where `take` makes a list. */
    size_t count;
    const struct option_rule *rule[OPTIONS_GIVEN_MAX];
    const char *value[OPTIONS_GIVEN_MAX];
    const struct cli_action *action; /* NULL in a command without actions */
    /* Words that are neither options nor the action; those that were not given are NULL. */
    const char *operand[OPTIONS_OPERANDS_MAX];
    size_t operands;
};

/* Put defaults and then what is given into `options`, a command's own struct. False when
 * the command ends here, with its exit code in *exit_code: help was printed, or a
 * sentence about what is wrong. `options` may then hold some of the values, and what a `take`
 * function made has to be freed as after a success. */
bool options_parse(struct options_given *given, void *options, int *exit_code,
                   const struct cli_command *command, int argc, char **argv);

/* True if the option was on the command line; a default alone does not count. `name` is without
 * dashes. */
bool options_has(const struct options_given *given, const char *name);

/* Say what a request was refused for, with the option's name for the member's. Returns
 * CLI_USAGE. */
struct tremolo_refusal;
int options_refuse(const char *command, const struct tremolo_refusal *refusal);

/* For `take`: "any" (0) and "distance=R" to a double; ADDR:PORT or [ADDR]:PORT, numeric, to a
 * struct options_address. */
enum { OPTIONS_ADDRESS_BYTES = 64 };

struct options_address {
    char host[OPTIONS_ADDRESS_BYTES]; /* without brackets */
    uint16_t port;
};

/* Takes the address of a clustered store to a const char *. */
const char *options_take_store(void *url, const char *text);

const char *options_take_neighbours(void *distance, const char *text);
const char *options_take_address(void *address, const char *text);

/* Does the option belong to the action? All do where there are none. */
bool options_belongs(const struct option_rule *rule, const struct cli_action *action);

/* Print the list of options for a manual page (mdoc). */
void options_print_manual(FILE *out, const struct cli_command *command);

#endif
