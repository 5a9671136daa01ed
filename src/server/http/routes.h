/* routes.h -- the handlers, by file. */
#ifndef SERVER_ROUTES_H
#define SERVER_ROUTES_H

#include "estimate.h"
#include "request.h"
#include "rounds.h"

/* routes.c */
void routes_round(struct request *request);

/* list.c */
void list_run(struct request *request);

/* reports.c */
void reports_run(struct request *request);
void reports_finish(struct request *request);
void reports_give_back(struct request *request); /* of the quota, once all is decided */

/* operator.c */
void operator_create(struct request *request);
void operator_create_finish(struct request *request);
void operator_close(struct request *request);
void operator_close_finish(struct request *request);
void operator_discard(struct request *request);
void operator_discard_finish(struct request *request);
void operator_enrol(struct request *request);

/* pages.c */
void pages_dashboard(struct request *request);
void pages_about(struct request *request);
void pages_asset(struct request *request);
/* Does a person ask, by a browser, for something to look at? */
bool pages_is_for_people(struct request *request);
/* Nothing is at the address: a page for people, a problem document for programs. */
void pages_missing(struct request *request, const char *detail);
/* Answers with a redirection when only final slashes part the address from a known one. */
bool pages_redirect(struct request *request);
void pages_headers(struct MHD_Response *response, const struct answer *answer);

/* metrics.c */
void metrics_run(struct request *request);

#endif
