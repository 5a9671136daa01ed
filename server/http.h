/* http.h -- the listening side. */
#ifndef SERVER_HTTP_H
#define SERVER_HTTP_H

#include <sys/socket.h>

struct MHD_Daemon;
struct tremolo_server;

/* Of the library's buffer for a connection: heads larger than this are refused (431). */
enum { HTTP_CONNECTION_BYTES = 8192 };

/* NULL when the address cannot be listened on; errno may say why. */
struct MHD_Daemon *http_listen(struct tremolo_server *server, const struct sockaddr *address,
                               unsigned threads, unsigned connections);

#endif
