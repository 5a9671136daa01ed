/* options.c -- a command's table of options: read and check a command line by it, print it as
 * --help and as a part of a manual page.
 *
 * A command line is taken in four steps. Everything on it is first found in the table and kept,
 * in order, so that --help and misspelt options come before anything else. Then what options
 * must be together is checked, which needs the action: it may stand behind its options. Then
 * defaults are stored. Then values are stored: first those of options marked `first` (a study
 * file, which fixes much), then the rest, each of which overrides what the file says, wherever
 * it stands.
 *
 * Every refusal is one sentence that names the option as typed and what it must be. The same
 * words, made from the bounds in the table, are in --help and in the manual, so they cannot
 * differ.
 *
 * Nothing here allocates: texts point into argv, which outlives the command, and each number of
 * options or operands has a named limit. */
#include "options.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tremolo_refusal.h"
#include "table.h"
#include "words.h"

/* Rules that are searched for the nearest name, columns of --help, and the widest label that a help
 * text may stand next to. */
enum { RULES_MAX = 96, WIDTH = 88, INDENT_MAX = 26 };

/* ---------------------------------------------------------------- lists of words */

/* Choices and actions are lists in one string with a space between, because tables are constant and
 * a rule has room for one pointer.
 *
 * Place of a word in such a list; -1 when it is not in it. */
static int place_of(const char *word, const char *list)
{
    size_t length = strlen(word);
    for (int place = 0; *list != '\0'; place++) {
        size_t next = strcspn(list, " ");
        if (next == length && strncmp(list, word, length) == 0) {
            return place;
        }
        list += next + (list[next] == ' ');
    }
    return -1;
}

/* "a, b or c" of "a b c". */
static void choice_words(char *text, size_t bytes, const char *list)
{
    size_t used = 0;
    for (const char *at = list; *at != '\0' && used < bytes;) {
        int length = (int)strcspn(at, " ");
        const char *rest = at + length + (at[length] == ' ');
        const char *before = at == list ? "" : *rest == '\0' ? " or " : ", ";
        used += (size_t)snprintf(text + used, bytes - used, "%s%.*s", before, length, at);
        at = rest;
    }
}

/* Without an action, as in --help of the whole command, all options belong. */
bool options_belongs(const struct option_rule *rule, const struct cli_action *action)
{
    return rule->of == NULL || action == NULL || place_of(action->name, rule->of) >= 0;
}

bool options_has(const struct options_given *given, const char *name)
{
    for (size_t i = 0; i < given->count; i++) {
        if (strcmp(given->rule[i]->name, name) == 0) {
            return true;
        }
    }
    return false;
}

int options_refuse(const char *command, const struct tremolo_refusal *refusal)
{
    return refusal->member == NULL
               ? cli_fail(CLI_USAGE, command, "%s", refusal->why)
               : cli_fail(CLI_USAGE, command, "--%s %s", refusal->member, refusal->why);
}

/* What a value must be: "a number above 0 and at most 5", "exact, zcdp or paper"; "" for texts and
 * flags. */
static void wanted_words(char text[OPTIONS_SENTENCE_BYTES], const struct option_rule *rule)
{
    bool count = rule->type == OPTION_COUNT;
    const char *noun = count ? "a whole number" : "a number";
    double endless = count ? 1e15 : 1e300;
    text[0] = '\0';
    if (rule->type == OPTION_CHOICE) {
        choice_words(text, OPTIONS_SENTENCE_BYTES, rule->words);
    } else if (count || rule->type == OPTION_NUMBER) {
        int used = snprintf(text, OPTIONS_SENTENCE_BYTES, "%s %s %.12g", noun,
                            rule->low_open ? "above" : "from", rule->low);
        if (rule->high < endless) {
            const char *until = rule->high_open  ? rule->low_open ? "and below" : "to below"
                                : rule->low_open ? "and at most"
                                                 : "to";
            (void)snprintf(text + used, OPTIONS_SENTENCE_BYTES - (size_t)used, " %s %.12g", until,
                           rule->high);
        }
    }
}

/* ---------------------------------------------------------------- numbers
 *
 * Readers of numbers take a whole word or nothing, and leave the output untouched when they refuse
 * it. */

/* A whole string as a decimal number; false, with *value untouched, for anything else. */
static bool parse_long(long *value, const char *text)
{
    char *end = NULL;
    if (text == NULL || *text == '\0') {
        return false;
    }
    errno = 0;
    long parsed = strtol(text, &end, 10);
    if (*end != '\0' || errno != 0) {
        return false;
    }
    *value = parsed;
    return true;
}

/* Copy without the commas of "50,000"; false when one is not before three digits, or more
 * than three are before the first. */
static bool without_commas(char *plain, size_t bytes, const char *text)
{
    static const char digits[] = "0123456789";
    size_t length = strspn(text, digits);
    bool grouped = text[length] == ',';
    if (strlen(text) >= bytes || length == 0 || (grouped && length > 3)) {
        return false;
    }
    plain = mempcpy(plain, text, length);
    for (text += length; *text == ','; text += 4) {
        if (strspn(text + 1, digits) < 3) {
            return false;
        }
        plain = mempcpy(plain, text + 1, 3);
    }
    (void)stpcpy(plain, text);
    return !grouped || strspn(text, digits) == 0;
}

/* A whole number, which may be written 50k, 2M, 1e6 or 50,000. A fraction is good where a factor
 * makes it whole, as 2.5k does. Plain digits are read as an integer up to 2^64 - 1. All other
 * forms go through a double and are refused beyond 2^53, where a double has gaps. False, with
 * *count untouched, for anything else. */
static bool parse_count(uint64_t *count, const char *text)
{
    enum { LONGEST = 40 };
    char plain[LONGEST], *end = NULL;
    if (text == NULL || !without_commas(plain, sizeof plain, text)) {
        return false;
    }
    errno = 0;
    unsigned long long whole = strtoull(plain, &end, 10);
    if (*end == '\0') {
        *count = errno == 0 ? whole : *count;
        return errno == 0;
    }
    if (plain[strspn(plain, "0123456789.eE+")] == 'x') {
        return false; /* strtod() would read 0x10 */
    }
    double value = strtod(plain, &end);
    value *= *end == 'k' ? 1e3 : *end == 'M' ? 1e6 : *end == 'G' ? 1e9 : 1;
    end += *end == 'k' || *end == 'M' || *end == 'G';
    if (*end != '\0' || !(value >= 0 && value <= 0x1p53) || value != floor(value)) {
        return false;
    }
    *count = (uint64_t)value;
    return true;
}

/* ---------------------------------------------------------------- values */

/* NaN is within no bounds. */
static bool within(const struct option_rule *rule, double value)
{
    return (rule->low_open ? value > rule->low : value >= rule->low) &&
           (rule->high_open ? value < rule->high : value <= rule->high);
}

/* Store a whole number in an unsigned integer, enum or bool of any size. */
static void store_whole(void *place, size_t bytes, uint64_t value)
{
    uint8_t one = (uint8_t)value;
    uint16_t two = (uint16_t)value;
    uint32_t four = (uint32_t)value;
    const void *from = bytes == sizeof one    ? (const void *)&one
                       : bytes == sizeof two  ? (const void *)&two
                       : bytes == sizeof four ? (const void *)&four
                                              : (const void *)&value;
    memcpy(place, from, bytes);
}

/* Store a value where the rule says; false, with nothing stored, when it is not what the rule
 * wants. Numbers are read by the table reader's function, which ignores the locale. */
static bool store(void *options, const struct option_rule *rule, const char *text)
{
    void *place = (char *)options + rule->offset;
    double number = 0;
    uint64_t count = 0;
    int choice = 0;
    switch (rule->type) {
    case OPTION_FLAG: store_whole(place, rule->bytes, 1); return true;
    case OPTION_TEXT: memcpy(place, &text, sizeof text); return true;
    case OPTION_NUMBER:
        if (!tremolo_table_is_number(text, &number) || !within(rule, number)) {
            return false;
        }
        memcpy(place, &number, sizeof number);
        return true;
    case OPTION_COUNT:
        if (!parse_count(&count, text) || !within(rule, (double)count)) {
            return false;
        }
        store_whole(place, rule->bytes, count);
        return true;
    case OPTION_CHOICE: choice = place_of(text, rule->words); break;
    }
    if (choice < 0) {
        return false;
    }
    store_whole(place, rule->bytes, (uint64_t)choice);
    return true;
}

/* Neighbours are any two people (0) or people at most a distance apart. */
const char *options_take_neighbours(void *distance, const char *text)
{
    static const char apart[] = "distance=";
    double value = 0;
    if (strcmp(text, "any") != 0 &&
        (strncmp(text, apart, sizeof apart - 1) != 0 ||
         !tremolo_table_is_number(text + sizeof apart - 1, &value) || !(value > 0))) {
        return "any, or distance=R with R above 0";
    }
    memcpy(distance, &value, sizeof value);
    return NULL;
}

/* Only the beginning is checked: the client of the store reads the rest, and says what is wrong. */
const char *options_take_store(void *url, const char *text)
{
    memcpy(url, &text, sizeof text);
    return strncmp(text, "nats://", 7) == 0 || strncmp(text, "tls://", 6) == 0
               ? NULL
               : "nats://HOST:PORT or tls://HOST:PORT, with more nodes after commas";
}

/* Numeric, so that what is listened on does not depend on a name server. An IPv6 address has
 * brackets, because it has colons itself. */
const char *options_take_address(void *address, const char *text)
{
    struct options_address *to = address;
    struct in6_addr any;
    const char *colon = strrchr(text, ':');
    long port = -1;
    size_t length = colon != NULL ? (size_t)(colon - text) : 0;
    if (length >= 2 && text[0] == '[' && text[length - 1] == ']') {
        text++;
        length -= 2;
    }
    if (length > 0 && length < sizeof to->host && parse_long(&port, colon + 1) && port >= 0 &&
        port <= UINT16_MAX) {
        (void)snprintf(to->host, sizeof to->host, "%.*s", (int)length, text);
        to->port = (uint16_t)port;
        if (inet_pton(AF_INET, to->host, &any) == 1 || inet_pton(AF_INET6, to->host, &any) == 1) {
            return NULL;
        }
    }
    return "a numeric address and a port, like 127.0.0.1:8787 or [::1]:8787";
}

/* The sentence for one too many reads "--without must be given less often, not 'x'". */
const char *options_take_listed(void *place, const char *text)
{
    struct options_list *list = place;
    if (list->count == OPTIONS_LIST_MAX) {
        return "given less often";
    }
    list->text[list->count++] = text;
    return NULL;
}

/* One value through the rule's own function, or by its type. Returns an exit code after a
 * message. */
static int take(void *options, const struct options_given *given, const struct option_rule *rule,
                const char *text)
{
    char sentence[OPTIONS_SENTENCE_BYTES];
    const char *wanted = NULL;
    if (rule->take != NULL) {
        wanted = rule->take((char *)options + rule->offset, text);
    } else if (!store(options, rule, text)) {
        wanted_words(sentence, rule);
        wanted = sentence;
    }
    if (wanted == NULL) {
        return CLI_DONE;
    }
    return wanted[0] == '\0' ? (int)CLI_USAGE
                             : cli_fail(CLI_USAGE, given->command->name,
                                        "--%s must be %s, not '%s'", rule->name, wanted, text);
}

/* Three passes: defaults, then what is given and marked `first`, then the rest of what is given.
 * The first failure ends it. Defaults pass the same checks as what people type. A number without
 * a default becomes NaN, so that a command can see that it was not given. */
static int store_all(void *options, const struct options_given *given)
{
    const double nothing = NAN;
    int code = CLI_DONE;
    for (size_t i = 0; i < given->command->rule_count; i++) {
        const struct option_rule *rule = &given->command->rules[i];
        if (rule->otherwise != NULL) {
            code = code == CLI_DONE ? take(options, given, rule, rule->otherwise) : code;
        } else if (rule->type == OPTION_NUMBER && rule->name != NULL && rule->take == NULL) {
            memcpy((char *)options + rule->offset, &nothing, sizeof nothing);
        }
    }
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < given->count && code == CLI_DONE; i++) {
            if (given->rule[i]->first == (pass == 0)) {
                code = take(options, given, given->rule[i], given->value[i]);
            }
        }
    }
    return code;
}

/* ---------------------------------------------------------------- reading words
 *
 * Fills *given and touches no value yet. Functions here return an exit code after a message. */

/* The rule of a name, of which `length` characters count; NULL when there is none. Names are never
 * completed: an abbreviation that is unique today need not be in the next version. */
static const struct option_rule *find(const struct cli_command *command, const char *name,
                                      size_t length)
{
    for (size_t i = 0; i < command->rule_count; i++) {
        const struct option_rule *rule = &command->rules[i];
        if (rule->name != NULL && strlen(rule->name) == length &&
            strncmp(rule->name, name, length) == 0) {
            return rule;
        }
    }
    return NULL;
}

/* Refuse an option that the table does not have, and name the nearest one that it has. */
static int unknown(const struct cli_command *command, const char *word)
{
    const char *names[RULES_MAX + 1] = {"help"};
    size_t count = 1;
    if (strncmp(word, "--", 2) != 0) {
        return cli_fail(CLI_USAGE, command->name,
                        "unknown option '%s'; options have two dashes and 'tremolo %s --help' "
                        "lists them",
                        word, command->name);
    }
    for (size_t i = 0; i < command->rule_count && i < RULES_MAX; i++) {
        if (command->rules[i].name != NULL) {
            names[count++] = command->rules[i].name;
        }
    }
    char name[OPTIONS_SENTENCE_BYTES];
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    const char *meant = tremolo_words_nearest(name, names, count);
    return meant != NULL ? cli_fail(CLI_USAGE, command->name,
                                    "unknown option '--%s'; did you mean '--%s'?", name, meant)
                         : cli_fail(CLI_USAGE, command->name,
                                    "unknown option '--%s'; 'tremolo %s --help' lists them", name,
                                    command->name);
}

/* One option and its value, which may be the next word; *used: that was one. `next` is NULL at the
 * end of the line. Nothing is stored yet: the value waits in *given for store_all(). */
static int read_option(struct options_given *given, bool *used, const char *word, const char *next)
{
    const struct cli_command *command = given->command;
    size_t length = strcspn(word + 2, "=");
    const struct option_rule *rule =
        strncmp(word, "--", 2) == 0 ? find(command, word + 2, length) : NULL;
    if (rule == NULL) {
        return unknown(command, word);
    }
    bool attached = word[2 + length] == '=', flag = rule->type == OPTION_FLAG;
    if (flag ? attached : !attached && next == NULL) {
        return cli_fail(CLI_USAGE, command->name, "--%s %s", rule->name,
                        flag ? "takes no value" : "needs a value");
    }
    if (given->count == OPTIONS_GIVEN_MAX) {
        return cli_fail(CLI_USAGE, command->name, "more than %d options", OPTIONS_GIVEN_MAX);
    }
    *used = !flag && !attached;
    given->rule[given->count] = rule;
    given->value[given->count++] = flag ? "" : attached ? word + 3 + length : next;
    return CLI_DONE;
}

/* Refuse a word that is no action, or, where it is NULL, that there is none. */
static int no_such_action(const struct cli_command *command, const char *word)
{
    const char *names[RULES_MAX];
    char list[OPTIONS_SENTENCE_BYTES];
    size_t count = 0;
    for (; count < command->action_count && count < RULES_MAX; count++) {
        names[count] = command->actions[count].name;
    }
    const char *meant = word != NULL ? tremolo_words_nearest(word, names, count) : NULL;
    tremolo_words_list(list, sizeof list, names, count);
    return meant != NULL
               ? cli_fail(CLI_USAGE, command->name, "there is no '%s'; did you mean '%s'?", word,
                          meant)
               : cli_fail(CLI_USAGE, command->name, "say one of %s; 'tremolo %s --help' says more",
                          list, command->name);
}

/* The first word that is no option is the action, in a command that has actions. */
static int read_operand(struct options_given *given, const char *word)
{
    const struct cli_command *command = given->command;
    if (command->actions == NULL || given->action != NULL) {
        if (given->operands == OPTIONS_OPERANDS_MAX) {
            return cli_fail(CLI_USAGE, command->name, "more than %d words", OPTIONS_OPERANDS_MAX);
        }
        given->operand[given->operands++] = word;
        return CLI_DONE;
    }
    for (size_t i = 0; i < command->action_count; i++) {
        if (strcmp(word, command->actions[i].name) == 0) {
            given->action = &command->actions[i];
            return CLI_DONE;
        }
    }
    return no_such_action(command, word);
}

/* All words in order. After "--" all are operands; "-" alone is one as well, standard input.
 * *help: it was asked for, and the rest of the line does not matter. */
static int read_words(struct options_given *given, bool *help, int argc, char **argv)
{
    bool only_operands = false;
    int code = CLI_DONE;
    for (int i = 1; i < argc && code == CLI_DONE; i++) {
        const char *word = argv[i];
        bool dashed = !only_operands && word[0] == '-' && word[1] != '\0', used = false;
        bool action_help = given->command->actions != NULL && i == 1 && strcmp(word, "help") == 0;
        if (dashed && strcmp(word, "--") == 0) {
            only_operands = true;
        } else if (action_help ||
                   (dashed && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0))) {
            *help = true;
            return CLI_DONE;
        } else {
            code =
                dashed ? read_option(given, &used, word, argv[i + 1]) : read_operand(given, word);
            i += used;
        }
    }
    return code;
}

/* ---------------------------------------------------------------- together */

/* Check one given option against the action and the other options. */
static int check_given(const struct options_given *given, const struct option_rule *rule)
{
    const char *name = given->command->name;
    if (!options_belongs(rule, given->action)) {
        return cli_fail(CLI_USAGE, name, "--%s does not belong to %s", rule->name,
                        given->action->name);
    }
    if (rule->needs != NULL && !options_has(given, rule->needs)) {
        return cli_fail(CLI_USAGE, name, "--%s needs --%s", rule->name, rule->needs);
    }
    if (rule->excludes != NULL && options_has(given, rule->excludes)) {
        return cli_fail(CLI_USAGE, name, "--%s and --%s do not go together", rule->name,
                        rule->excludes);
    }
    return CLI_DONE;
}

/* Refuse when a required option is missing: its own help says what it is for. Defaults do not count
 * as given. */
static int check_required(const struct options_given *given)
{
    const struct cli_command *command = given->command;
    const struct cli_action *action = given->action;
    for (size_t i = 0; i < command->rule_count; i++) {
        const struct option_rule *rule = &command->rules[i];
        if (!rule->required || !options_belongs(rule, action) || options_has(given, rule->name)) {
            continue;
        }
        return action != NULL ? cli_fail(CLI_USAGE, command->name, "%s needs --%s %s, %s",
                                         action->name, rule->name, rule->value, rule->help)
                              : cli_fail(CLI_USAGE, command->name, "--%s %s is needed: %s",
                                         rule->name, rule->value, rule->help);
    }
    return CLI_DONE;
}

/* Neither too many operands nor too few, by how the usage has them: one for each word of it, which
 * may be left out where it begins with "[". With "..." there may be more. */
static int check_operands(const struct options_given *given)
{
    const struct cli_command *command = given->command;
    const struct cli_action *action = given->action;
    const char *usage = action != NULL ? action->operand : command->operand;
    size_t least = 0, most = 0;
    usage = usage != NULL ? usage : "";
    for (const char *at = usage; *at != '\0'; most++) {
        least += *at != '[';
        at += strcspn(at, " ");
        at += *at == ' ';
    }
    if (given->operands > most && strstr(usage, "...") == NULL) {
        return cli_fail(CLI_USAGE, command->name, "'%s' is one too many; all that is taken is %s",
                        given->operand[most], most > 0 ? usage : "options");
    }
    return given->operands >= least
               ? CLI_DONE
               : cli_fail(CLI_USAGE, command->name, "%s%stakes %s; 'tremolo %s --help' says more",
                          action != NULL ? action->name : "", action != NULL ? " " : "", usage,
                          command->name);
}

/* Actions come first: which options belong depends on them. */
static int check_together(const struct options_given *given)
{
    const struct cli_command *command = given->command;
    int code = CLI_DONE;
    if (command->actions != NULL && given->action == NULL) {
        return no_such_action(command, NULL);
    }
    for (size_t i = 0; i < given->count && code == CLI_DONE; i++) {
        code = check_given(given, given->rule[i]);
    }
    code = code == CLI_DONE ? check_operands(given) : code;
    return code == CLI_DONE ? check_required(given) : code;
}

/* What the table knows beyond the help: choices, the default and, in manuals, bounds. "" when
 * that is nothing. */
static void facts(char text[OPTIONS_SENTENCE_BYTES], const struct option_rule *rule, bool bounds)
{
    char wanted[OPTIONS_SENTENCE_BYTES] = "";
    if (bounds || rule->type == OPTION_CHOICE) {
        wanted_words(wanted, rule);
    }
    const char *otherwise = rule->otherwise != NULL ? rule->otherwise : "";
    bool both = wanted[0] != '\0' && otherwise[0] != '\0';
    (void)snprintf(text, OPTIONS_SENTENCE_BYTES, "%.200s%s%s%.60s", wanted, both ? "; " : "",
                   otherwise[0] != '\0' ? "default " : "", otherwise);
}

/* ---------------------------------------------------------------- --help */

/* Print words in lines of at most WIDTH columns, from `column` on, the next ones indented. */
static void print_wrapped(FILE *out, size_t column, size_t indent, const char *text)
{
    bool first = true;
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        if (!first && column + 1 + length > WIDTH) {
            (void)fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
            first = true;
        }
        (void)fprintf(out, "%s%.*s", first ? "" : " ", (int)length, text);
        column += length + !first;
        first = false;
        text += length + (text[length] == ' ');
    }
    (void)fputc('\n', out);
}

/* Options and values, "  --level L"; help texts begin in one column behind the longest of them that
 * is at most INDENT_MAX wide, and on a line of their own behind longer ones. */
static size_t label_width(const struct option_rule *rule)
{
    return 4 + strlen(rule->name) + (rule->value != NULL ? 1 + strlen(rule->value) : 0);
}

/* An option with its help and facts; of an option that not all actions take, which do. */
static void print_rule(FILE *out, const struct option_rule *rule, const struct cli_action *action,
                       size_t indent)
{
    char more[OPTIONS_SENTENCE_BYTES], text[2048];
    size_t width = label_width(rule);
    facts(more, rule, false);
    const char *of = action == NULL && rule->of != NULL ? rule->of : "";
    (void)snprintf(text, sizeof text, "%s%s%s%s%s%s%s", rule->help, more[0] != '\0' ? " (" : "",
                   more, more[0] != '\0' ? ")" : "", of[0] != '\0' ? " [" : "", of,
                   of[0] != '\0' ? "]" : "");
    (void)fprintf(out, "  --%s%s%s", rule->name, rule->value != NULL ? " " : "",
                  rule->value != NULL ? rule->value : "");
    if (width + 2 > indent) {
        (void)fprintf(out, "\n%*s", (int)indent, "");
    } else {
        (void)fprintf(out, "%*s", (int)(indent - width), "");
    }
    print_wrapped(out, indent, indent, text);
}

/* The column in which help texts begin. */
static size_t indent_of(const struct cli_command *command)
{
    size_t indent = 0;
    for (size_t i = 0; i < command->rule_count; i++) {
        const struct option_rule *rule = &command->rules[i];
        size_t width = rule->name != NULL ? label_width(rule) + 2 : 0;
        indent = width > indent && width <= INDENT_MAX ? width : indent;
    }
    return indent;
}

/* The command's usage has a line for each way to call it; of an action, its own lines alone.
 * Where no line is the action's, one is made from its name. */
static void print_usage(FILE *out, const struct cli_command *command,
                        const struct cli_action *action)
{
    const char *start = "usage: ";
    char wanted[64];
    (void)snprintf(wanted, sizeof wanted, "%s %s ", command->name,
                   action != NULL ? action->name : "");
    for (const char *line = command->usage; *line != '\0';) {
        int length = (int)strcspn(line, "\n");
        if (action == NULL || strncmp(line, wanted, strlen(wanted)) == 0 ||
            strncmp(line, wanted, (size_t)length) == 0) {
            (void)fprintf(out, "%stremolo %.*s\n", start, length, line);
            start = "       ";
        }
        line += length + (line[length] == '\n');
    }
    if (*start == 'u') {
        (void)fprintf(out, "usage: tremolo %s[OPTIONS]\n", wanted);
    }
}

/* A line for each action, in two columns. */
static void print_actions(FILE *out, const struct cli_command *command)
{
    size_t width = 0;
    for (size_t i = 0; i < command->action_count; i++) {
        size_t length = strlen(command->actions[i].name);
        width = length > width ? length : width;
    }
    for (size_t i = 0; i < command->action_count; i++) {
        (void)fprintf(out, "  %-*s  ", (int)width, command->actions[i].name);
        print_wrapped(out, width + 4, width + 4, command->actions[i].summary);
    }
    (void)fputc('\n', out);
}

/* Help of the whole command, or of one of its actions: then with its own options alone. */
static void print_help(FILE *out, const struct cli_command *command,
                       const struct cli_action *action)
{
    size_t indent = indent_of(command);
    print_usage(out, command, action);
    (void)fputc('\n', out);
    if (action != NULL) {
        print_wrapped(out, 0, 0, action->summary);
        (void)fputc('\n', out);
    } else {
        (void)fprintf(out, "%s\n\n", command->about);
    }
    if (action == NULL && command->actions != NULL) {
        print_actions(out, command);
    }
    for (size_t i = 0; i < command->rule_count; i++) {
        const struct option_rule *rule = &command->rules[i];
        if (rule->name == NULL && options_belongs(rule, action)) {
            (void)fputs(i > 0 ? "\n" : "", out);
            print_wrapped(out, 0, 0, rule->help);
        } else if (options_belongs(rule, action)) {
            print_rule(out, rule, action, indent);
        }
    }
    (void)fprintf(out, "\n%s%s'man tremolo-%s' says more.\n",
                  command->closing != NULL ? command->closing : "",
                  command->closing != NULL ? "\n" : "", command->name);
}

/* ---------------------------------------------------------------- manual
 *
 * Only the list of options is made here; the rest of a manual page is written by hand. */

/* A sentence for mdoc: dashes stay dashes, each sentence begins a line. */
static void print_sentences(FILE *out, const char *text)
{
    bool start = true;
    for (const char *at = text; *at != '\0'; at++) {
        if (at[0] == '.' && at[1] == ' ' && isupper((unsigned char)at[2])) {
            (void)fputs(".\n", out);
            at++;
            start = true;
            continue;
        }
        if (start && (*at == '.' || *at == '\'')) {
            (void)fputs("\\&", out);
        }
        if (*at == '-' || *at == '\\') {
            (void)fputs(*at == '-' ? "\\-" : "\\e", out);
        } else {
            (void)fputc(at == text ? toupper((unsigned char)*at) : *at, out);
        }
        start = false;
    }
}

/* mdoc's lists: a heading ends one, the next option begins another. */
void options_print_manual(FILE *out, const struct cli_command *command)
{
    bool open = false;
    for (size_t i = 0; i < command->rule_count; i++) {
        const struct option_rule *rule = &command->rules[i];
        char more[OPTIONS_SENTENCE_BYTES];
        if (rule->name == NULL) {
            (void)fputs(open ? ".El\n.Pp\n" : "", out);
            print_sentences(out, rule->help);
            (void)fputc('\n', out);
            open = false;
            continue;
        }
        (void)fputs(open ? "" : ".Bl -tag -width Ds\n", out);
        open = true;
        (void)fprintf(out, ".It Fl -%s", rule->name);
        (void)fprintf(out, rule->value != NULL ? " Ar %s\n" : "\n", rule->value);
        facts(more, rule, true);
        print_sentences(out, rule->help);
        (void)fputs(more[0] != '\0' ? "\n(" : "", out);
        (void)fputs(more, out);
        (void)fputs(more[0] != '\0' ? ").\n" : ".\n", out);
        if (rule->of != NULL) {
            (void)fprintf(out, "Of\n.Cm %s .\n", rule->of);
        }
    }
    (void)fputs(open ? ".El\n" : "", out);
}

/* ---------------------------------------------------------------- the whole */

/* The four steps that the head of this file lists. Help counts as success: *exit_code is
 * CLI_DONE. */
bool options_parse(struct options_given *given, void *options, int *exit_code,
                   const struct cli_command *command, int argc, char **argv)
{
    bool help = false;
    *given = (struct options_given){.command = command};
    *exit_code = read_words(given, &help, argc, argv);
    if (*exit_code == CLI_DONE && help) {
        print_help(stdout, command, given->action);
        return false;
    }
    if (*exit_code == CLI_DONE) {
        *exit_code = check_together(given);
    }
    if (*exit_code == CLI_DONE) {
        *exit_code = store_all(options, given);
    }
    return *exit_code == CLI_DONE;
}
