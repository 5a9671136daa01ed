/* members.h -- the former name of text.h. */
#ifndef TREMOLO_CLI_MEMBERS_H
#define TREMOLO_CLI_MEMBERS_H

#include "text.h"

#endif
