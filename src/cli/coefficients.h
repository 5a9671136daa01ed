/* coefficients.h -- the former name of text.h, on stdout. */
#ifndef TREMOLO_CLI_COEFFICIENTS_H
#define TREMOLO_CLI_COEFFICIENTS_H

#include "text.h"

#define coefficients_paragraph(...) text_paragraph(stdout, __VA_ARGS__)

#define coefficients_name_width(name)        text_width(name)
#define coefficients_print_name(name, width) text_name(stdout, name, width)

#endif
