/* test_cli_options.c -- tables of options: counts as people write them, bounds, defaults, what goes together. */
#include "options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"

struct tried {
    double level;
    double number; /* without a default */
    uint64_t devices, count;
    uint16_t port;
    bool all;
    bool json;
    bool watch;
    const char *text;
    struct options_address address;
    double distance;
};

#define TO(member) OPTION_TO(struct tried, member)

/* Fixes a level that --level overrides, wherever it stands. */
static const char *take_preset(void *place, const char *text)
{
    struct tried *tried = place;
    tried->level = strcmp(text, "low") == 0 ? 0.5 : 0.99;
    return NULL;
}

static const struct option_rule rules[] = {
    OPTION_RULE("level", "L", NUMBER, TO(level), OPTION_BETWEEN(0, 1), .otherwise = "0.95",
                .help = "level"),
    OPTION_RULE("number", "X", NUMBER, TO(number), OPTION_FROM(0, 5), .help = "a number"),
    OPTION_RULE("devices", "N", COUNT, TO(devices), OPTION_FROM(2, 1e15), .otherwise = "1k",
                .help = "devices"),
    OPTION_RULE("count", "N", COUNT, TO(count), OPTION_FROM(0, 0x1p64), .help = "a count"),
    OPTION_RULE("port", "N", COUNT, TO(port), OPTION_FROM(0, 65535), .help = "port"),
    OPTION_RULE("protect", "P", CHOICE, TO(all), .words = "features all", .help = "what"),
    OPTION_RULE("json", NULL, FLAG, TO(json), .excludes = "watch", .help = "JSON"),
    OPTION_RULE("watch", NULL, FLAG, TO(watch), .help = "watch"),
    OPTION_RULE("text", "T", TEXT, TO(text), .needs = "watch", .help = "text"),
    OPTION_RULE("listen", "ADDR:PORT", TEXT, TO(address), .take = options_take_address,
                .help = "address"),
    OPTION_RULE("neighbours", "N", TEXT, TO(distance), .take = options_take_neighbours,
                .help = "neighbours"),
    OPTION_RULE("preset", "P", TEXT, .take = take_preset, .first = true, .help = "a preset"),
};

static const struct cli_command command = {.name = "try",
                                           .usage = "try FILE",
                                           .rules = rules,
                                           .rule_count = sizeof rules / sizeof rules[0],
                                           .operand = "FILE"};

static struct options_given given;

/* Words with a space between; the exit code. */
static int try(struct tried *tried, const char *line)
{
    static char copy[256]; /* what is given points into it */
    char *words[40] = {copy};
    int count = 0, code = -1;
    (void)snprintf(copy, sizeof copy, "try %s", line);
    for (char *at = strtok(copy, " "); at != NULL; at = strtok(NULL, " ")) {
        words[count++] = at;
    }
    *tried = (struct tried){.level = -1};
    bool good = options_parse(&given, tried, &code, &command, count, words);
    assert_int_equal(good, code == CLI_DONE);
    return code;
}

static void test_counts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t count;
    } good[] = {{"0", 0},
                {"50k", 50000},
                {"2M", 2000000},
                {"1e6", 1000000},
                {"50,000", 50000},
                {"1.5M", 1500000},
                {"1,234,567", 1234567},
                {"3G", 3000000000},
                {"18446744073709551615", UINT64_MAX}};
    static const char *const bad[] = {
        "",    "-1",  "1.5",  "50,00", "5000,000", "50,0000", "k",  "0x10", "1e400",
        "nan", "inf", "50 k", "50kk",  ",500",     "50,",     "+5", "1e-3", "99999999999999999999"};
    struct tried tried;
    char line[64];
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        (void)snprintf(line, sizeof line, "a --count=%s", good[i].text);
        assert_int_equal(try(&tried, line), CLI_DONE);
        assert_int_equal(tried.count, good[i].count);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        (void)snprintf(line, sizeof line, "a --count=%s", bad[i]);
        assert_int_equal(try(&tried, line), CLI_USAGE);
    }
}

static void test_values(void **state)
{
    struct tried tried;
    (void)state;
    assert_int_equal(try(&tried, "a"), CLI_DONE);
    assert_true(tried.level == 0.95 && isnan(tried.number));
    assert_int_equal(tried.devices, 1000);
    assert_string_equal(given.operand[0], "a");
    assert_int_equal(try(&tried, "--level=0.5 a --devices 50k --port 8787 --protect all --json"),
                     CLI_DONE);
    assert_true(tried.level == 0.5 && tried.devices == 50000 && tried.port == 8787);
    assert_true(tried.all && tried.json && !tried.watch);
    assert_true(options_has(&given, "port") && !options_has(&given, "watch"));
    assert_int_equal(try(&tried, "--listen [::1]:80 --neighbours distance=0.5 -- --json"),
                     CLI_DONE);
    assert_string_equal(tried.address.host, "::1");
    assert_true(tried.address.port == 80 && tried.distance == 0.5);
    assert_string_equal(given.operand[0], "--json");
    assert_int_equal(try(&tried, "a --level 0.7 --preset low"), CLI_DONE);
    assert_true(tried.level == 0.7);
    assert_int_equal(try(&tried, "a --preset low"), CLI_DONE);
    assert_true(tried.level == 0.5);
}

static void test_refusals(void **state)
{
    static const char *const bad[] = {
        "",
        "a b",
        "a --level 1",
        "a --level 0",
        "a --level x",
        "a --level",
        "a --number 6",
        "a --devices 1",
        "a --devices 1.5",
        "a --port 65536",
        "a --protect some",
        "a --json=yes",
        "a --json --watch",
        "a --watch --json",
        "a --text x",
        "a --nonsense",
        "a -x",
        "a --lev 0.5",
        "a --listen localhost:80",
        "a --listen 127.0.0.1",
        "a --listen 127.0.0.1:65536",
        "a --neighbours distance=0",
        "a --neighbours near",
    };
    struct tried tried;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(try(&tried, bad[i]), CLI_USAGE);
    }
}

static void test_manual(void **state)
{
    static const char *const parts[] = {
        ".It Fl -level Ar L\nLevel\n(a number above 0 and below 1; default 0.95).\n",
        "(a number from 0 to 5)",
        "(a whole number from 2; default 1k)",
        "(a whole number from 0 to 65535)",
        "What\n(features or all)",
        ".It Fl -json\nJSON.\n"};
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    (void)state;
    assert_non_null(out);
    options_print_manual(out, &command);
    assert_int_equal(fclose(out), 0);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        assert_non_null(strstr(text, parts[i]));
    }
    free(text);
}

static const struct option_rule *named(const struct cli_command *of, const char *name)
{
    const struct option_rule *found = NULL;
    for (size_t i = 0; i < of->rule_count; i++) {
        const struct option_rule *rule = &of->rules[i];
        if (rule->name != NULL && strcmp(rule->name, name) == 0) {
            assert_null(found); /* one option has one row */
            found = rule;
        }
    }
    return found;
}

/* Every word of a list is an action. */
static void check_actions(const struct cli_command *of, const char *list)
{
    while (*list != '\0') {
        size_t length = strcspn(list, " "), i = 0;
        while (i < of->action_count && (strlen(of->actions[i].name) != length ||
                                        strncmp(of->actions[i].name, list, length) != 0)) {
            i++;
        }
        assert_true(i < of->action_count);
        list += length + (list[length] == ' ');
    }
}

/* What a table says of itself holds: no other test would notice. */
static void test_tables(void **state)
{
    static const struct cli_command *const commands[] = {
        &cli_account, &cli_audit,     &cli_demo,  &cli_fit,      &cli_fold,   &cli_plan,
        &cli_report,  &cli_reproduce, &cli_serve, &cli_simulate, &cli_status, &cli_study};
    (void)state;
    for (size_t c = 0; c < sizeof commands / sizeof commands[0]; c++) {
        for (size_t i = 0; i < commands[c]->rule_count; i++) {
            const struct option_rule *rule = &commands[c]->rules[i];
            assert_non_null(rule->help);
            assert_true(rule->help[strlen(rule->help) - 1] != '.');
            check_actions(commands[c], rule->of != NULL ? rule->of : "");
            if (rule->name == NULL) {
                continue;
            }
            assert_ptr_equal(named(commands[c], rule->name), rule);
            assert_int_equal(rule->type == OPTION_FLAG, rule->value == NULL);
            assert_int_equal(rule->type == OPTION_CHOICE, rule->words != NULL);
            assert_true(rule->take != NULL || rule->bytes > 0);
            assert_true((rule->type != OPTION_NUMBER && rule->type != OPTION_COUNT) ||
                        rule->low < rule->high);
            assert_true(rule->needs == NULL || named(commands[c], rule->needs) != NULL);
            assert_true(rule->excludes == NULL || named(commands[c], rule->excludes) != NULL);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),   cmocka_unit_test(test_values),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_manual),
        cmocka_unit_test(test_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
