/* summary.h -- a study at a glance, for lists: made when its estimate is, so that a list of many
 * studies computes nothing. */
#ifndef SERVER_SUMMARY_H
#define SERVER_SUMMARY_H

#include <jansson.h>

/* Of an estimate's document (docs/estimate.schema.json), with members of the same names:
 * "devices_needed", "level", "response", "guarantee" without its words, and of the features
 * "told", how many are told from zero, of so many "features", and "strongest", the row among those whose
 * whole range changes the response most, or null. NULL without memory; the caller owns it. */
json_t *summary_of(const json_t *document);

#endif
