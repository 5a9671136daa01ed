/* suggest.h -- what is wrong with an option, and which one may have been meant. */
#ifndef TREMOLO_CLI_SUGGEST_H
#define TREMOLO_CLI_SUGGEST_H

struct option; /* of getopt.h */

/* After getopt_long() with opterr = 0 has answered '?': a sentence about the
 * option that was wrong, and CLI_USAGE. */
int cli_bad_option(const char *command, char **argv, const struct option *names);

#endif
