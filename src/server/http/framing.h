/* framing.h -- requests that two parsers could read in two ways. */
#ifndef SERVER_FRAMING_H
#define SERVER_FRAMING_H

#include <microhttpd.h>
#include <stdbool.h>

/* A fault of a request's head. */
struct framing_fault {
    unsigned status;     /* 0: none */
    const char *problem; /* a sentence */
};

/* The target as it came, before anything is decoded: no byte in it ends it early. */
bool framing_target_is_sound(const char *target);

/* The head; method, path and version are those of its first line, as the library gave them. */
struct framing_fault framing_check(struct MHD_Connection *connection, const char *method,
                                   const char *path, const char *version);

#endif
