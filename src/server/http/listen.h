/* listen.h -- the listening socket. */
#ifndef SERVER_LISTEN_H
#define SERVER_LISTEN_H

#include <stddef.h>
#include <stdint.h>

#include "tremolo_status.h"

/* Listen on a numeric IPv4 or IPv6 address; *port 0 is any free one and then says
 * which. *listener is the caller's to close. `words` says what failed. */
TREMOLO_MUST_USE enum tremolo_status listen_open(int *listener, uint16_t *port, const char *address,
                                                 char *words, size_t capacity);

#endif
