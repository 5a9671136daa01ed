/* represent.h -- in which form an answer leaves: plain, compressed, or not at all because the
 * client has it already. */
#ifndef SERVER_REPRESENT_H
#define SERVER_REPRESENT_H

#include <stdbool.h>

#include "request.h"

enum {
    REPRESENT_GZIP_MIN = 1024,     /* bytes; less fits a packet as it is */
    REPRESENT_GZIP_MAX = 16 << 20, /* more leaves plain: the copy would be held, too */
};

/* Does an Accept-Encoding (NULL: none) take gzip? */
bool represent_accepts_gzip(const char *accept_encoding);

/* Does an If-None-Match (NULL: none) name this tag, quotes and all? Compared weakly, as RFC 9110
 * has it for this header: W/ says nothing. */
bool represent_is_known(const char *if_none_match, const char *tag);

/* An answer whose body was made for it: give it a tag; drop the body when the client knows
 * it; compress it when the client takes that. Only 200 to a GET or HEAD; others stay. */
void represent_made(struct request *request);

/* The headers of what has a tag. */
void represent_headers(struct MHD_Response *response, const struct answer *answer);

#endif
