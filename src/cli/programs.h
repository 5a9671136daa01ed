/* programs.h -- run another program and wait for it. */
#ifndef TREMOLO_CLI_PROGRAMS_H
#define TREMOLO_CLI_PROGRAMS_H

#include <stdbool.h>
#include <stdio.h>

/* Run argv[0], found by PATH, with nothing on its standard input and its
 * standard output thrown away. True when it exits 0. */
bool program_run(char *const argv[]);

/* Let gnuplot run, in `folder` (NULL: here), the script that `write` writes for
 * `context`. What gnuplot has to say is thrown away. True when all went well. */
bool program_gnuplot(const char *folder, bool (*write)(FILE *script, const void *context),
                     const void *context);

#endif
