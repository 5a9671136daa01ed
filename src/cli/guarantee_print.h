/* guarantee_print.h -- the former name of text.h, on stdout. */
#ifndef TREMOLO_CLI_GUARANTEE_PRINT_H
#define TREMOLO_CLI_GUARANTEE_PRINT_H

#include "text.h"

#define GUARANTEE_RIGHT_BYTES               TEXT_RIGHT_BYTES
#define guarantee_right(text, share, below) text_right(text, share, below)
#define guarantee_print(guarantee, delta)   text_guarantee(stdout, guarantee, delta)
#define guarantee_print_differences(rows)   text_differences(stdout, rows)

#endif
