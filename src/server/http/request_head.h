/* request_head.h -- a request's head, and all that can be refused before its body is read. */
#ifndef SERVER_REQUEST_HEAD_H
#define SERVER_REQUEST_HEAD_H

#include "request.h"

/* Find the route and the study. What is wrong becomes the answer. */
void request_read_head(struct request *request, const char *url);

#endif
