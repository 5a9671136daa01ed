/* connections.h -- every open connection has a moment by which it must have
 * moved on; one that has not is cut. A client that drips a byte now and then
 * never looks idle, so an idle timeout alone would not end it. */
#ifndef SERVER_CONNECTIONS_H
#define SERVER_CONNECTIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct connections;
struct connection;

/* A step may last `seconds`; but while *held is above `held_most`, connections that hold memory
 * for a body have CONNECTION_STALLED_MS, so that those that stall lose it first. NULL when memory
 * or the thread is missing. */
enum { CONNECTION_STALLED_MS = 2000 };
struct connections *connections_new(unsigned seconds, const _Atomic uint64_t *held,
                                    uint64_t held_most);
void connections_free(struct connections *connections);

/* A socket was accepted, is about to be closed. add returns NULL without
 * memory; remove accepts NULL. */
struct connection *connections_add(struct connections *connections, int socket);
void connections_remove(struct connections *connections, struct connection *connection);

/* The next step has its full time from now. NULL is fine. */
void connection_touch(struct connection *connection);

/* The next step is ours and has all the time in the world. NULL is fine. */
void connection_leave(struct connection *connection);

/* Whether it holds memory for a body. NULL is fine. */
void connection_holds(struct connection *connection, bool body);

/* How many are open, and were ever cut. */
void connections_count(size_t *open, uint64_t *cut, struct connections *connections);

#endif
