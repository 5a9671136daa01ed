/* suggest.h -- what somebody may have meant: the nearest command, option or name. */
#ifndef TREMOLO_CLI_SUGGEST_H
#define TREMOLO_CLI_SUGGEST_H

#include <stddef.h>

struct option; /* of getopt.h */

/* The word that is a slip of the keys away, or NULL. Letters' case does not
 * matter. */
const char *cli_nearest(const char *word, const char *const *words, size_t count);

/* After getopt_long() with opterr = 0 has answered '?': a sentence about the
 * option that was wrong, and CLI_USAGE. */
int cli_bad_option(const char *command, char **argv, const struct option *names);

#endif
