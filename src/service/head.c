/* head.c -- the head of a request: is it framed as every proxy reads it, and what does it ask for?
 *
 * libmicrohttpd takes a bare line feed for the end of a line, ends a value at a zero byte, joins
 * folded lines and believes the first of two lengths. A proxy in front of us may do otherwise, and
 * then one of the two sees a request that the other does not. All of these are refused here, and
 * the connection is closed, because it is not known where the next request begins.
 *
 * The library keeps no copy of the head, but parses it in place: name, colon, value and line end
 * lie in its buffer one after the other, and CR and LF have both become zero. So the parts of a sound
 * head lie without a gap. A byte behind a part is looked at only where the part itself
 * lies in that order, so that the buffer goes on there at least to the empty line. A line that begins
 * with a colon counts as the empty one for the library, and the next line as the next request:
 * therefore the two bytes that end the head must follow the last header's line. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http_parts.h"

/* ---------------------------------------------------------------- framing
 *
 * Judged for every request, before anything in it is believed. What one parser could read in two
 * ways is refused, even where the standard allows it. */

struct head {
    const char *next; /* where the next name must begin; NULL: a line ended wrongly */
    bool in_place;
    unsigned hosts;
    unsigned lengths;
    unsigned codings;
    const char *problem;
};

/* Printable ASCII only, up to the zero that the library has put behind it. */
bool head_target_is_sound(const char *target)
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

/* A tab is allowed in a value; no other control character is. */
static bool has_control(const char *value)
{
    for (; *value != '\0'; value++) {
        if (((unsigned char)*value < ' ' && *value != '\t') || *value == 0x7f) {
            return true;
        }
    }
    return false;
}

/* Called for each header in its order. Stops at the first that is not sound. */
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

/* What is wrong with the head, a sentence for an answer with *status, or NULL. */
static const char *check_framing(unsigned *status, struct MHD_Connection *connection,
                                 const char *method, const char *path, const char *version)
{
    struct head head = {.in_place = parses_in_place()};
    bool host_needed = strcmp(version, MHD_HTTP_VERSION_1_0) != 0;
    head.next = next_line(&head, version + strlen(version));
    (void)MHD_get_connection_values(connection, MHD_HEADER_KIND, look_at, &head);
    *status = 400;
    if (head.problem != NULL) {
        return head.problem;
    }
    if (head.next == NULL) {
        return "a line of the head does not end with CR LF";
    }
    if (head.in_place && !ends_there(&head, connection, method)) {
        return "a header has no name";
    }
    if (head.in_place && path != method + strlen(method) + 1) {
        return "the first line has one space between its parts";
    }
    if (head.hosts > 1 || (host_needed && head.hosts == 0)) {
        return "a request has one Host header";
    }
    if (head.lengths > 1 || (head.lengths > 0 && head.codings > 0)) {
        return "the body's length is said twice";
    }
    /* The lines of a chunk cannot be judged here, and devices need no chunks: a report is made before it is
     * sent. */
    *status = 411;
    return head.codings > 0 ? "a body comes with Content-Length, not in chunks" : NULL;
}

/* ---------------------------------------------------------------- routes
 *
 * A handful of tables, searched in order: a few comparisons of short texts cost less than a hash
 * of the path. */

/* Does the path match, {id} taking exactly the characters of an id and a
 * final * whatever is left? */
static bool path_matches(const char *pattern, const char *path, size_t id_characters,
                         char id[HTTP_ID_BYTES])
{
    const char *hole = strstr(pattern, "{id}");
    if (hole == NULL) {
        size_t fixed = strcspn(pattern, "*");
        id[0] = '\0';
        return pattern[fixed] == '*' ? strncmp(pattern, path, fixed) == 0
                                     : strcmp(pattern, path) == 0;
    }
    size_t before = (size_t)(hole - pattern);
    size_t length = strlen(path);
    if (length < before + id_characters || strncmp(pattern, path, before) != 0 ||
        strcmp(hole + 4, path + before + id_characters) != 0) {
        return false;
    }
    memcpy(id, path + before, id_characters);
    id[id_characters] = '\0';
    return true;
}

static const struct route *find_route(const struct http_program *program, const char *method,
                                      const char *path, char id[HTTP_ID_BYTES], bool *path_known)
{
    /* The library leaves out the body of an answer to HEAD. */
    const char *asked = strcmp(method, MHD_HTTP_METHOD_HEAD) == 0 ? MHD_HTTP_METHOD_GET : method;
    for (size_t i = 0; program->tables[i] != NULL; i++) {
        for (const struct route *route = program->tables[i]; route->method != NULL; route++) {
            if (path_matches(route->path, path, program->id_characters, id)) {
                *path_known = true;
                if (strcmp(route->method, asked) == 0) {
                    return route;
                }
            }
        }
    }
    return NULL;
}

bool request_has_route(struct request *request, const char *path)
{
    char id[HTTP_ID_BYTES];
    bool known = false;
    return find_route(request->http->program, request->method, path, id, &known) != NULL;
}

/* ---------------------------------------------------------------- who sends it
 *
 * The token is for the operator; the source is only a key for a quota, and never stored. */

/* Compare in a time that depends on the length of what was sent only. */
static bool token_matches(struct request *request)
{
    const char *sent = request_header(request, MHD_HTTP_HEADER_AUTHORIZATION);
    static const char scheme[] = "Bearer ";
    if (sent == NULL || strncmp(sent, scheme, sizeof scheme - 1) != 0) {
        return false;
    }
    sent += sizeof scheme - 1;
    const char *token = request->http->token;
    size_t length = strlen(sent);
    size_t expected = strlen(token);
    unsigned difference = (unsigned)(length ^ expected);
    for (size_t i = 0; i < length; i++) {
        difference |= (unsigned)(sent[i] ^ token[expected > 0 ? i % expected : 0]);
    }
    return difference == 0 && expected > 0;
}

struct last_header {
    const char *name;
    const char *value; /* of its last line */
};

/* The last line of that name: proxies add theirs at the end. */
static enum MHD_Result keep_last(void *context, enum MHD_ValueKind kind, const char *name,
                                 const char *value)
{
    struct last_header *last = context;
    (void)kind;
    if (value != NULL && strcasecmp(name, last->name) == 0) {
        last->value = value;
    }
    return MHD_YES;
}

/* A proxy appends to a list or adds a line: what the client wrote stands before it. */
uint64_t request_source(struct request *request, const struct sources *sources, const char *header)
{
    struct last_header last = {header, NULL};
    uint64_t key = 0;
    if (last.name != NULL) {
        (void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, keep_last, &last);
    }
    if (last.value != NULL && sources_parse(&key, sources, last.value)) {
        return key;
    }
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return sources_key(sources, info != NULL ? info->client_addr : NULL);
}

/* ---------------------------------------------------------------- what it asks for
 *
 * From the outside in: is it a request at all, which route, may its sender ask for it, is its
 * body bounded, does its resource exist. */

/* Refused before anything else is looked at; what may follow on this connection is not read. */
static bool refuse_framing(struct request *request, const char *version, bool target_is_sound)
{
    unsigned status = 400;
    const char *problem = "the path has a character that it may not have";
    if (target_is_sound) {
        problem =
            check_framing(&status, request->connection, request->method, request->path, version);
    }
    if (problem != NULL) {
        request_problem(request, status, problem);
        request->answer.last = true;
    }
    return problem != NULL;
}

/* A browser asks first whether a page of another origin may send such a request: yes, where devices do. */
static bool answer_preflight(struct request *request)
{
    static const char *const methods[] = {MHD_HTTP_METHOD_POST, MHD_HTTP_METHOD_GET};
    if (strcmp(request->method, MHD_HTTP_METHOD_OPTIONS) != 0) {
        return false;
    }
    for (size_t i = 0; i < 2; i++) {
        char id[HTTP_ID_BYTES];
        bool path_known = false;
        const struct route *route =
            find_route(request->http->program, methods[i], request->path, id, &path_known);
        if (route != NULL && route->audience == FOR_DEVICES) {
            request->route = route;
            request_answer(request, MHD_HTTP_NO_CONTENT, NULL, NULL);
            return true;
        }
    }
    return false;
}

/* Refused before the body is sent; a body that is longer than it says is cut off by take_body(). */
static void check_length(struct request *request)
{
    const char *text = request_header(request, MHD_HTTP_HEADER_CONTENT_LENGTH);
    if (text != NULL && strtoull(text, NULL, 10) > request->route->body_max) {
        request_problem(request, 413, "the body is larger than this request may be");
    }
}

/* Most requests are for the resource of the one before, and resources stay. */
static void find_resource(struct request *request, const char id[HTTP_ID_BYTES])
{
    struct loop *loop = request->loop;
    if (strcmp(loop->recent_id, id) == 0) {
        request->resource = loop->recent;
        return;
    }
    request->resource = request->http->program->find(request, id);
    if (request->resource != NULL) {
        memcpy(loop->recent_id, id, HTTP_ID_BYTES);
        loop->recent = request->resource;
    }
}

/* Each step may answer; the first that does ends it. The token is compared before the length, so
 * a stranger learns nothing about sizes. */
void head_read(struct request *request, const char *version, bool target_is_sound)
{
    char id[HTTP_ID_BYTES] = "";
    bool path_known = false;
    if (refuse_framing(request, version, target_is_sound) || answer_preflight(request)) {
        return;
    }
    request->route =
        find_route(request->http->program, request->method, request->path, id, &path_known);
    if (request->route == NULL && path_known) {
        request_problem(request, 405, "this method is not for this path");
    } else if (request->route == NULL) {
        request->http->program->lost(request);
    } else if (request->route->audience == FOR_OPERATOR && !token_matches(request)) {
        bool given = request_header(request, MHD_HTTP_HEADER_AUTHORIZATION) != NULL;
        request_problem(request, given ? 403 : 401, "this request needs the operator's token");
    } else {
        check_length(request);
        if (!request->answered && id[0] != '\0') {
            find_resource(request, id);
        }
    }
}
