/* csv_write.h -- text as a field of a CSV file. */
#ifndef TREMOLO_CLI_CSV_WRITE_H
#define TREMOLO_CLI_CSV_WRITE_H

#include <stdio.h>

/* In quotes, quotes within doubled, as RFC 4180 has it: a name may hold commas,
 * quotes and line feeds. */
void csv_write_text(FILE *out, const char *text);

#endif
