/* options_help.c -- a command's table as --help, and as a part of its manual page. */
#include "options.h"

#include <ctype.h>
#include <string.h>

enum { WIDTH = 88, INDENT_MAX = 26 };

/* What of a rule does not stand in its help: choices or bounds, default, actions. */
static void facts(char text[OPTIONS_SENTENCE_BYTES], const struct option_rule *rule, bool bounds)
{
    char wanted[OPTIONS_SENTENCE_BYTES] = "";
    if (bounds || rule->type == OPTION_CHOICE) {
        options_wanted(wanted, rule);
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

static size_t label_width(const struct option_rule *rule)
{
    return 4 + strlen(rule->name) + (rule->value != NULL ? 1 + strlen(rule->value) : 0);
}

static bool is_shown(const struct option_rule *rule, const struct cli_action *action)
{
    return !rule->hidden && options_belongs(rule, action);
}

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

static size_t indent_of(const struct cli_command *command)
{
    size_t indent = 0;
    for (size_t i = 0; i < command->rule_count; i++) {
        const struct option_rule *rule = &command->rules[i];
        size_t width = rule->name != NULL && !rule->hidden ? label_width(rule) + 2 : 0;
        indent = width > indent && width <= INDENT_MAX ? width : indent;
    }
    return indent;
}

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

void options_print_help(FILE *out, const struct cli_command *command,
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
        if (rule->name == NULL && is_shown(rule, action)) {
            (void)fputs(i > 0 ? "\n" : "", out);
            print_wrapped(out, 0, 0, rule->help);
        } else if (is_shown(rule, action)) {
            print_rule(out, rule, action, indent);
        }
    }
    (void)fprintf(out, "\n%s%s'man tremolo-%s' says more.\n",
                  command->closing != NULL ? command->closing : "",
                  command->closing != NULL ? "\n" : "", command->name);
}

/* ---------------------------------------------------------------- manual */

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

void options_print_manual(FILE *out, const struct cli_command *command)
{
    bool open = false;
    for (size_t i = 0; i < command->rule_count; i++) {
        const struct option_rule *rule = &command->rules[i];
        char more[OPTIONS_SENTENCE_BYTES];
        if (rule->hidden) {
            continue;
        }
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
