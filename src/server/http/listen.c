/* listen.c -- an address in words becomes a listening socket. */
#include "http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "log.h"

/* Returns the length of what is in *address, or 0. */
static socklen_t parse_address(struct sockaddr_storage *address, const char *text, uint16_t port)
{
    memset(address, 0, sizeof *address);
    struct sockaddr_in *four = (struct sockaddr_in *)(void *)address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)address;
    if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons(port);
        return sizeof *four;
    }
    if (inet_pton(AF_INET6, text, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons(port);
        return sizeof *six;
    }
    return 0;
}

static uint16_t port_of(int listener)
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } bound;
    socklen_t length = sizeof bound;
    memset(&bound, 0, sizeof bound);
    if (getsockname(listener, &bound.any, &length) != 0) {
        return 0;
    }
    return ntohs(bound.any.sa_family == AF_INET6 ? bound.six.sin6_port : bound.four.sin_port);
}

enum tremolo_status listen_open(int *listener, uint16_t *port, const char *address,
                                char words[TREMOLO_WORDS_BYTES])
{
    struct sockaddr_storage where;
    int on = 1;
    socklen_t length = parse_address(&where, address, *port);
    if (length == 0) {
        return words_say(words, TREMOLO_NOT_LISTENING, "'%s' is not a numeric address", address);
    }
    int made = socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool six = where.ss_family == AF_INET6;
    if (made < 0 || setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        (six && setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0) ||
        bind(made, (struct sockaddr *)&where, length) != 0 || listen(made, HTTP_BACKLOG) != 0) {
        (void)snprintf(words, TREMOLO_WORDS_BYTES, "cannot listen on %s port %u: %s", address,
                       *port, strerror(errno));
        if (made >= 0) {
            (void)close(made);
        }
        return TREMOLO_NOT_LISTENING;
    }
    *listener = made;
    *port = port_of(made);
    return TREMOLO_OK;
}
