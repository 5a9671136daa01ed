/* tremolo_refusal.h -- why a request is refused, for any front end.
 *
 * The lab knows the members of a request and no command line. It names the member and says what is
 * wrong with its value; the command writes "--epsilon" before the sentence, Python "epsilon". */
#ifndef TREMOLO_REFUSAL_H
#define TREMOLO_REFUSAL_H

enum { TREMOLO_REFUSAL_BYTES = 512 };

struct tremolo_refusal {
    const char *member; /* as the request's struct calls it; NULL: `why` is a whole sentence */
    char why[TREMOLO_REFUSAL_BYTES]; /* what follows the member's name: "must be above 0" */
};

#endif
