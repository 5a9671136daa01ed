/* test_lab_table.c -- CSV reading: quotes, separators, missing values,
 * categories, and errors that name line and column. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "table.h"
#include "tremolo_design.h"

static char path[64];

static void write_file(const char *text, size_t length)
{
    (void)snprintf(path, sizeof path, "/tmp/tremolo-table-XXXXXX");
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, length), (ssize_t)length);
    (void)close(file);
}

static struct tremolo_table *must_read(const char *text)
{
    char error[TREMOLO_TABLE_ERROR_BYTES] = "";
    struct tremolo_table *table = NULL;
    write_file(text, strlen(text));
    bool good = tremolo_table_read(&table, path, error);
    (void)unlink(path);
    assert_string_equal(error, "");
    assert_true(good);
    return table;
}

static void must_refuse(const char *text, size_t length, const char *reason)
{
    char error[TREMOLO_TABLE_ERROR_BYTES] = "";
    struct tremolo_table *table = NULL;
    write_file(text, length);
    assert_false(tremolo_table_read(&table, path, error));
    (void)unlink(path);
    assert_null(table);
    if (strstr(error, reason) == NULL) {
        assert_string_equal(error, reason);
    }
}

static void test_quotes_and_line_ends(void **unused)
{
    (void)unused;
    struct tremolo_table *table =
        must_read("\xEF\xBB\xBF\"a, b\",c\r\n\r\n\"x \"\"y\"\"\",\"two\nlines\"\r\n 3 ,4");
    assert_int_equal(table->columns, 2);
    assert_int_equal(table->rows, 2);
    assert_string_equal(table->name[0], "a, b");
    assert_string_equal(tremolo_table_cell(table, 0, 0), "x \"y\"");
    assert_string_equal(tremolo_table_cell(table, 0, 1), "two\nlines");
    assert_string_equal(tremolo_table_cell(table, 1, 0), "3");
    assert_int_equal(table->line[0], 3);
    assert_int_equal(table->line[1], 5);
    tremolo_table_free(table);
}

static void test_separators(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"a,b\n1,2\n", "a;b\n1;2\n", "a\tb\n1\t2\n", "a|b\n1|2\n",
                                        "\"a,,,\";b\n1;2\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct tremolo_table *table = must_read(texts[i]);
        assert_int_equal(table->columns, 2);
        assert_string_equal(tremolo_table_cell(table, 0, 1), "2");
        tremolo_table_free(table);
    }
}

static void test_malformed_files(void **unused)
{
    (void)unused;
    must_refuse("", 0, "no row of data");
    must_refuse("a,b\n", 4, "no row of data");
    must_refuse("a,b\n1,2\n3\n", 10, "line 3: 1 columns where the header has 2");
    must_refuse("a,a\n1,2\n", 8, "line 1, column 2: the name 'a' is there twice");
    must_refuse("a,b\n1,\"2\"x\n", 12, "line 2, column 2: a quote is out of place");
    must_refuse("a,b\n1,\"2\n", 9, "a quoted field is not closed");
    must_refuse("a,b\n1,\0002\n", 9, "line 2, column 2");
    char error[TREMOLO_TABLE_ERROR_BYTES];
    struct tremolo_table *table = NULL;
    assert_false(tremolo_table_read(&table, "/nonexistent/x.csv", error));
    assert_non_null(strstr(error, "No such file"));
}

static void test_numbers(void **unused)
{
    (void)unused;
    static const char *const good[] = {"0", "-1.5", "+2", ".5", "1e3", "1E-3"};
    static const char *const bad[] = {"", "1 2", "inf", "nan", "0x10", "e", "1e999", "--1", "1,5"};
    double value;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(tremolo_table_is_number(good[i], &value));
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(tremolo_table_is_number(bad[i], &value));
    }
}

static bool build(struct tremolo_design *design, const struct tremolo_table *table,
                  const char *response, const char *features, char error[TREMOLO_TABLE_ERROR_BYTES])
{
    char list[64] = "";
    const char *names[8];
    struct tremolo_design_wish wish = {.response = response, .features = names};
    (void)snprintf(list, sizeof list, "%s", features != NULL ? features : "");
    for (char *name = strtok(list, ","); name != NULL; name = strtok(NULL, ",")) {
        names[wish.feature_count++] = name;
    }
    return tremolo_design_build(design, table, &wish, error);
}

/* Answers to a question are named after it, as in a study; other pairs are not. */
static void test_yes_no_columns(void **state)
{
    char error[TREMOLO_TABLE_ERROR_BYTES];
    struct tremolo_design design;
    (void)state;
    struct tremolo_table *table = must_read("y,smoker,left,side\n1,no,True,a\n2,yes,False,b\n"
                                            "4,yes,True,a\n");
    assert_true(build(&design, table, "y", NULL, error));
    assert_int_equal(design.features, 3);
    assert_string_equal(design.name[0], "smoker");
    assert_string_equal(design.name[1], "left");
    assert_string_equal(design.name[2], "side=b");
    static const double expected[] = {0, 1, 0, 1, 0, 1, 1, 1, 0};
    assert_memory_equal(design.X, expected, sizeof expected);
    tremolo_design_free(&design);
    tremolo_table_free(table);
}

static void test_design(void **unused)
{
    (void)unused;
    struct tremolo_design design;
    char error[TREMOLO_TABLE_ERROR_BYTES] = "";
    struct tremolo_table *table = must_read("y,x,colour\n1,2,red\nNA,3,blue\n3,?,red\n4,5,blue\n"
                                            "5,,green\n6,7.5,green\n7,nan,red\n");
    assert_true(build(&design, table, "y", NULL, error));
    assert_int_equal(design.rows, 3);
    assert_int_equal(design.dropped, 4);
    assert_int_equal(design.features, 3);
    assert_string_equal(design.name[0], "x");
    assert_string_equal(design.name[1], "colour=green");
    assert_string_equal(design.name[2], "colour=red");
    static const double expected[] = {2, 0, 1, 5, 0, 0, 7.5, 1, 0};
    assert_memory_equal(design.X, expected, sizeof expected);
    assert_true(design.y[0] == 1 && design.y[1] == 4 && design.y[2] == 6);
    tremolo_design_free(&design);
    assert_true(build(&design, table, "y", "x", error));
    assert_int_equal(design.features, 1);
    tremolo_design_free(&design);
    assert_false(build(&design, table, "z", NULL, error));
    assert_string_equal(error, "there is no column 'z' for the response; there are y, x, colour");
    assert_false(build(&design, table, "y", "x,w", error));
    assert_string_equal(error, "there is no column 'w'; there are y, x, colour");
    assert_false(build(&design, table, "y", "Color", error));
    assert_string_equal(error, "there is no column 'Color'; did you mean 'colour'?");
    assert_false(build(&design, table, "y", "y", error));
    tremolo_table_free(table);
}

static void check_design_refused(const char *text, const char *reason)
{
    struct tremolo_design design;
    char error[TREMOLO_TABLE_ERROR_BYTES] = "";
    struct tremolo_table *table = must_read(text);
    assert_false(build(&design, table, "y", NULL, error));
    assert_string_equal(error, reason);
    tremolo_table_free(table);
}

#define OR_MISSING "; a missing value is " TREMOLO_TABLE_MISSING

static void test_bad_designs(void **unused)
{
    (void)unused;
    check_design_refused("y,x\n1,2\n2,oops\n3,4\n4,5\n",
                         "line 3, column 'x': 'oops' is not a finite number" OR_MISSING);
    check_design_refused("y,x\n1,2\n2,inf\n3,4\n4,5\n",
                         "line 3, column 'x': 'inf' is not a finite number" OR_MISSING);
    check_design_refused("y,x\n1,2\ntwo,3\n",
                         "line 3, column 'y': 'two' is not a finite number" OR_MISSING);
    check_design_refused("y,x\n1,2\n2,2\n", "column 'x' is constant, so it explains nothing");
    check_design_refused("y,x\n1,a\n2,a\n", "column 'x' is constant, so it explains nothing");
    check_design_refused("y,x\n1,2\n1,3\n", "the response 'y' is constant");
    check_design_refused("y,x\n1,NA\nNA,3\n", "every row has a missing value");
    check_design_refused("y,x\n1,2\n",
                         "one row of data is one device, and a regression needs several");
    check_design_refused("y\n1\n", "there is no feature, only the response");
}

/* A program's columns give the design that the same file gives, and the same sentences. */
static void test_columns_in_memory(void **unused)
{
    (void)unused;
    static const double numbers[] = {1, 2, 3, NAN, 4, 5, 6, 7.5}; /* y and x by turns */
    static const int32_t codes[] = {1, 0, -1, 0};
    static const char *const words[] = {"blue", "red"};
    struct tremolo_table_column columns[] = {
        {.name = "y", .numbers = numbers, .stride = 2},
        {.name = "x", .numbers = numbers + 1, .stride = 2},
        {.name = "colour", .codes = codes, .words = words, .word_count = 2},
    };
    char error[TREMOLO_TABLE_ERROR_BYTES] = "";
    struct tremolo_table *table = NULL;
    struct tremolo_design design;
    assert_true(tremolo_table_of_columns(&table, columns, 3, 4, error));
    assert_true(build(&design, table, "y", NULL, error));
    assert_int_equal(design.rows, 2);
    assert_int_equal(design.dropped, 2);
    assert_string_equal(design.name[1], "colour=red");
    static const double expected[] = {2, 1, 7.5, 0};
    assert_memory_equal(design.X, expected, sizeof expected);
    tremolo_design_free(&design);
    tremolo_table_free(table);

    static const double infinite[] = {1, 2, INFINITY, 4};
    columns[1].numbers = infinite;
    columns[1].stride = 1;
    assert_true(tremolo_table_of_columns(&table, columns, 3, 4, error));
    assert_false(build(&design, table, "y", NULL, error));
    assert_string_equal(error, "row 2, column 'x': 'inf' is not a finite number" OR_MISSING);
    tremolo_table_free(table);
}

static void test_bad_columns(void **unused)
{
    (void)unused;
    static const double numbers[] = {1, 2};
    static const int32_t codes[] = {0, 2};
    static const char *const words[] = {"blue", "red"};
    struct tremolo_table_column columns[] = {
        {.name = "y", .numbers = numbers, .stride = 1},
        {.name = "g", .codes = codes, .words = words, .word_count = 2},
    };
    char error[TREMOLO_TABLE_ERROR_BYTES] = "";
    struct tremolo_table *table = NULL;
    assert_false(tremolo_table_of_columns(&table, columns, 2, 2, error));
    assert_string_equal(error, "row 1, column 'g': code 2 of 2 words");
    assert_false(tremolo_table_of_columns(&table, columns, 1, 0, error));
    assert_string_equal(error, "there is no row of data");
    columns[1] = columns[0];
    assert_false(tremolo_table_of_columns(&table, columns, 2, 2, error));
    assert_string_equal(error, "two columns are called 'y'");
    columns[1].name = "\xff";
    assert_false(tremolo_table_of_columns(&table, columns, 2, 2, error));
    assert_null(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns_in_memory),
        cmocka_unit_test(test_bad_columns),
        cmocka_unit_test(test_quotes_and_line_ends),
        cmocka_unit_test(test_separators),
        cmocka_unit_test(test_malformed_files),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_design),
        cmocka_unit_test(test_yes_no_columns),
        cmocka_unit_test(test_bad_designs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
