/* options_loop.c -- the loop around getopt_long() that commands share. */
#include "options_loop.h"

#include <getopt.h>
#include <stdio.h>

#include "cli.h"
#include "suggest.h"

bool cli_parse_options(const struct cli_parser *parser, void *options, int *exit_code, int argc,
                       char **argv)
{
    int index = 0;
    int code = 0;
    optind = 1;
    opterr = 0;
    while ((code = getopt_long(argc, argv, "h", parser->names, &index)) != -1) {
        if (code == 'h') {
            (void)fputs(parser->help, stdout);
            *exit_code = CLI_DONE;
            return false;
        }
        if (code == '?') {
            *exit_code = cli_bad_option(parser->command, argv, parser->names);
            return false;
        }
        const char *wanted = parser->take(options, code, optarg);
        if (wanted != NULL) {
            *exit_code = cli_fail(CLI_USAGE, parser->command, "--%s must be %s, not '%s'",
                                  parser->names[index].name, wanted, optarg);
            return false;
        }
    }
    return true;
}
