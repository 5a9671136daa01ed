/* framing.c -- the head of a request, judged more strictly than the library does.
 *
 * libmicrohttpd takes a bare line feed for the end of a line, ends a value at a zero byte, joins
 * folded lines and believes the first of two lengths. A proxy in front of us may do otherwise, and
 * then one of the two sees a request that the other does not. All of these are refused here, and
 * the connection is closed, because nobody knows where the next request begins.
 *
 * The library keeps no copy of the head, but parses it in place: name, colon, value and line end
 * lie in its buffer one after the other, and CR and LF have both become zero. So a sound head is
 * one whose parts lie without a gap. A byte behind a part is looked at only where the part itself
 * lies in that order, so that the buffer goes on there at least to the empty line. A line that
 * begins with a colon counts as the empty one for the library, and what follows it as the next request:
 * hence the last header's line must be followed by the two bytes that end the head, and no others. */
#include "http.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct head {
    const char *next; /* where the next name must begin; NULL: a line ended wrongly */
    bool in_place;
    unsigned hosts;
    unsigned lengths;
    unsigned codings;
    const char *problem;
};

bool framing_target_is_sound(const char *target)
{
    if (target == NULL) {
        return false;
    }
    size_t length = 0;
    while (target[length] > ' ' && target[length] < 0x7f) {
        length++;
    }
    /* The library has put a zero where the space before the version was. */
    return target[length] == '\0' && strncmp(target + length + 1, "HTTP/1.", 7) == 0;
}

/* Later versions lie otherwise in memory, and refuse such lines themselves. What counts is the
 * version that runs, not the one that was compiled with. */
static bool parses_in_place(void)
{
    return strncmp(MHD_get_version(), "0.9.", 4) == 0 &&
           strtoul(MHD_get_version() + 4, NULL, 10) < 76;
}

/* Where the line after the one that ends here begins. */
static const char *next_line(const struct head *head, const char *end)
{
    return !head->in_place || end[1] == '\0' ? end + 2 : NULL;
}

/* RFC 9110, 5.6.2. */
static bool is_token_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("!#$%&'*+.^_`|~", c) != NULL);
}

/* The length of a token; 0: it is none. Every header of every request comes here, and strspn
 * would make itself a table for each. */
static size_t token_length(const char *name)
{
    size_t length = 0;
    while (is_token_character(name[length])) {
        length++;
    }
    return name[length] == '\0' ? length : 0;
}

static inline bool is_named(const char *name, size_t length, const char *wanted)
{
    return length == strlen(wanted) && strcasecmp(name, wanted) == 0;
}

static bool has_control(const char *value)
{
    for (; *value != '\0'; value++) {
        if (((unsigned char)*value < ' ' && *value != '\t') || *value == 0x7f) {
            return true;
        }
    }
    return false;
}

static enum MHD_Result look_at(void *context, enum MHD_ValueKind kind, const char *name,
                               const char *value)
{
    struct head *head = context;
    (void)kind;
    if (value == NULL || (head->in_place && name != head->next)) {
        head->problem = "a line of the head is folded, or does not end with CR LF";
        return MHD_NO;
    }
    size_t length = token_length(name);
    if (length == 0 || has_control(value)) {
        head->problem = "a header's name or value has a character that it may not have";
        return MHD_NO;
    }
    head->next = next_line(head, value + strlen(value));
    head->hosts += is_named(name, length, MHD_HTTP_HEADER_HOST);
    head->lengths += is_named(name, length, MHD_HTTP_HEADER_CONTENT_LENGTH);
    head->codings += is_named(name, length, MHD_HTTP_HEADER_TRANSFER_ENCODING);
    return MHD_YES;
}

/* Does the head end where its last line does? */
static bool ends_there(const struct head *head, struct MHD_Connection *connection,
                       const char *method)
{
    const union MHD_ConnectionInfo *size =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return size != NULL && method + size->header_size == head->next + 2;
}

const char *framing_check(unsigned *status, struct MHD_Connection *connection, const char *method,
                          const char *path, const char *version)
{
    struct head head = {.in_place = parses_in_place()};
    head.next = next_line(&head, version + strlen(version));
    (void)MHD_get_connection_values(connection, MHD_HEADER_KIND, look_at, &head);
    bool host_needed = strcmp(version, MHD_HTTP_VERSION_1_0) != 0;
    if (head.problem == NULL && head.next == NULL) {
        head.problem = "a line of the head does not end with CR LF";
    } else if (head.problem == NULL && head.in_place && !ends_there(&head, connection, method)) {
        head.problem = "a header has no name";
    } else if (head.problem == NULL && head.in_place && path != method + strlen(method) + 1) {
        head.problem = "the first line has one space between its parts";
    } else if (head.problem == NULL && (head.hosts > 1 || (host_needed && head.hosts == 0))) {
        head.problem = "a request has one Host header";
    } else if (head.problem == NULL &&
               (head.lengths > 1 || (head.lengths > 0 && head.codings > 0))) {
        head.problem = "the body's length is said twice";
    }
    *status = head.problem != NULL ? 400 : 411;
    /* Of a chunk's own lines nothing is to be seen here, and nobody needs chunks: a report is
     * made before it is sent. */
    if (head.problem == NULL && head.codings > 0) {
        head.problem = "a body comes with Content-Length, not in chunks";
    }
    return head.problem;
}
