#include "cli.h"
int cli_report(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return cli_fail(CLI_FAILED, "report", "not built yet");
}
