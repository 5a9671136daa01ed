/* answer.c -- the forms of an answer: JSON, problem documents (RFC 9457), files; tags and compression.
 *
 * A tag is a hash of the plain bytes, so nothing has to be remembered and two servers with the same answer
 * give the same tag. Plain bytes have a strong one. What is compressed here has a weak one: another
 * version of zlib may write the same answer differently. Files were compressed when the program was built,
 * and name their own bytes.
 *
 * An answer is made before its tag is known: a tag spares the transfer, not the work. Answers that take long
 * are kept where they are made. Compressing is bounded by GZIP_MAX, at zlib's fastest level, which takes
 * most of what there is to gain from JSON; if it fails the bytes leave plain. No body holds both a secret
 * and a text of the client's, so its length gives nothing away. */
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#include "document.h"
#include "http_parts.h"

enum {
    GZIP_MIN = 1024,     /* bytes; less fits a packet as it is */
    GZIP_MAX = 16 << 20, /* more leaves plain: the copy would be held, too */
};

/* ---------------------------------------------------------------- making
 *
 * An answer is made by its handler in memory; nothing is sent before it is complete. */

static const char *title_of(unsigned status)
{
    switch (status) {
    case 400: return "Malformed";
    case 401: return "Not authenticated";
    case 403: return "Forbidden";
    case 404: return "Not found";
    case 405: return "Method not allowed";
    case 409: return "Conflict";
    case 410: return "Closed";
    case 411: return "Length required";
    case 413: return "Too large";
    case 415: return "Wrong media type";
    case 422: return "Outside the study";
    case 425: return "Too early";
    case 429: return "Too many requests";
    case 503: return "Not available";
    default: return "Server error";
    }
}

/* The last answer counts: a handler may replace what it answered before. */
void request_answer(struct request *request, unsigned status, const char *type, char *body)
{
    request->answer = (struct answer){
        .status = status, .body = body, .length = body != NULL ? strlen(body) : 0, .type = type};
    request->answered = true;
}

/* The type is about:blank, so title and status mean the same. 429 and 503 say when to come
 * again. */
void request_problem_with(struct request *request, unsigned status, const char *detail,
                          json_t *more)
{
    json_t *problem = json_pack("{s:s, s:s, s:i}", "type", "about:blank", "title", title_of(status),
                                "status", (int)status);
    char *body = NULL;
    if (detail != NULL) {
        json_latch_set(&problem, "detail", json_string(detail));
    }
    (void)json_object_update(problem, more);
    json_decref(more);
    (void)!json_latch_text(&body, problem, JSON_COMPACT); /* the status says enough */
    request_answer(request, status, "application/problem+json", body);
    if (status == 429 || status == 503 || status == 425) {
        request->answer.retry_after = status == 429 ? 1 : 5;
    }
}

void request_problem(struct request *request, unsigned status, const char *detail)
{
    request_problem_with(request, status, detail, NULL);
}

/* A text is missing only where there was no memory for it. */
void request_answer_text(struct request *request, unsigned status, char *body)
{
    if (body != NULL) {
        request_answer(request, status, "application/json", body);
    } else {
        request_problem(request, 500, tremolo_status_sentence(TREMOLO_NO_MEMORY));
    }
}

void request_answer_json(struct request *request, unsigned status, json_t *document)
{
    char *body = NULL;
    (void)!json_latch_text(&body, document, JSON_COMPACT);
    request_answer_text(request, status, body);
}

/* ---------------------------------------------------------------- what the client takes
 *
 * Both headers are lists, and both are only wishes: without them the plain answer
 * leaves. */

/* The weight of a list's item, which begins at its parameters; 1 where none is given. */
static double weight_of(const char *at, const char *end)
{
    while (at < end) {
        at += strspn(at, "; \t");
        if (at + 1 < end && (at[0] == 'q' || at[0] == 'Q') && at[1] == '=') {
            return strtod(at + 2, NULL);
        }
        at += strcspn(at, ";,");
        if (*at != ';') {
            break;
        }
    }
    return 1.0;
}

/* What is named counts for more than a star, wherever it stands. */
static bool accepts_gzip(const char *accept_encoding)
{
    bool any = false;
    const char *at = accept_encoding != NULL ? accept_encoding : "";
    while (*at != '\0') {
        at += strspn(at, ", \t");
        const char *end = at + strcspn(at, ",");
        size_t length = strcspn(at, ";, \t");
        double weight = weight_of(at + length, end);
        if ((length == 4 && strncasecmp(at, "gzip", 4) == 0) ||
            (length == 6 && strncasecmp(at, "x-gzip", 6) == 0)) {
            return weight > 0.0;
        }
        any = any || (length == 1 && *at == '*' && weight > 0.0);
        at = end;
    }
    return any;
}

static const char *opaque(const char *tag)
{
    return strncmp(tag, "W/", 2) == 0 ? tag + 2 : tag;
}

/* Our tags hold no comma, so an item of the list ends with one. */
static bool is_known(const char *if_none_match, const char *tag)
{
    const char *wanted = opaque(tag);
    const char *at = if_none_match != NULL ? if_none_match : "";
    while (*at != '\0') {
        at += strspn(at, ", \t");
        const char *item = opaque(at);
        size_t length = strcspn(item, ", \t");
        if ((length == 1 && *at == '*') ||
            (length == strlen(wanted) && strncmp(item, wanted, length) == 0)) {
            return true;
        }
        at = item + length;
    }
    return false;
}

/* ---------------------------------------------------------------- tags and compression */

/* The hash is of the plain bytes; "-gz" and W/ say that these are not the same bytes. */
static void tag_of(char tag[ANSWER_TAG_BYTES], const char *body, size_t length, bool gzip)
{
    uint8_t hash[crypto_generichash_BYTES_MIN];
    char text[sodium_base64_ENCODED_LEN(sizeof hash, sodium_base64_VARIANT_URLSAFE_NO_PADDING)];
    (void)crypto_generichash(hash, sizeof hash, (const unsigned char *)body, length, NULL, 0);
    (void)sodium_bin2base64(text, sizeof text, hash, sizeof hash,
                            sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    (void)snprintf(tag, ANSWER_TAG_BYTES, gzip ? "W/\"%s-gz\"" : "\"%s\"", text);
}

/* A gzip member of the bytes, or NULL when there is no memory or no gain. */
static char *compressed(size_t *length, const char *body, size_t body_length)
{
    enum { GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 8 };
    z_stream stream = {0};
    char *out = malloc(body_length);
    if (out == NULL || deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL,
                                    Z_DEFAULT_STRATEGY) != Z_OK) {
        free(out);
        return NULL;
    }
    union { /* zlib leaves its input alone, but does not say so */
        const char *constant;
        Bytef *bytes;
    } in = {body};
    stream.next_in = in.bytes;
    stream.avail_in = (uInt)body_length;
    stream.next_out = (Bytef *)out;
    stream.avail_out = (uInt)body_length;
    int done = deflate(&stream, Z_FINISH);
    *length = stream.total_out;
    (void)deflateEnd(&stream);
    if (done != Z_STREAM_END) {
        free(out);
        return NULL;
    }
    char *fitting = realloc(out, *length);
    if (fitting == NULL) {
        return out;
    }
    return fitting;
}

/* Without memory or gain the answer stays plain, with the tag of the plain bytes. */
static void compress_body(struct answer *answer)
{
    size_t length = 0;
    char *body = compressed(&length, answer->body, answer->length);
    if (body == NULL) {
        tag_of(answer->tag, answer->body, answer->length, false);
        return;
    }
    free(answer->body);
    answer->body = body;
    answer->length = length;
    answer->gzip = true;
}

/* Only a 200 to GET or HEAD has a tag: everything else is of the moment. */
static void represent(struct request *request)
{
    struct answer *answer = &request->answer;
    if (answer->body == NULL || answer->status != MHD_HTTP_OK || request->route == NULL ||
        strcmp(request->route->method, MHD_HTTP_METHOD_GET) != 0) {
        return;
    }
    bool gzip = answer->length >= GZIP_MIN && answer->length <= GZIP_MAX &&
                accepts_gzip(request_header(request, MHD_HTTP_HEADER_ACCEPT_ENCODING));
    tag_of(answer->tag, answer->body, answer->length, gzip);
    if (is_known(request_header(request, MHD_HTTP_HEADER_IF_NONE_MATCH), answer->tag)) {
        free(answer->body);
        answer->body = NULL;
        answer->status = MHD_HTTP_NOT_MODIFIED;
    } else if (gzip) {
        compress_body(answer);
    }
}

/* Plain and compressed are two representations, so their tags differ. */
void request_answer_file(struct request *request, unsigned status, const struct http_file *file)
{
    request_answer(request, status, file->type, NULL);
    struct answer *answer = &request->answer;
    bool gzip = accepts_gzip(request_header(request, MHD_HTTP_HEADER_ACCEPT_ENCODING));
    (void)snprintf(answer->tag, ANSWER_TAG_BYTES, "\"%s%s\"", file->hash, gzip ? "-gz" : "");
    answer->policy = file->policy;
    answer->keep = file->keep;
    answer->gzip = gzip;
    answer->constant = gzip ? file->gzip : file->plain;
    answer->length = gzip ? file->gzip_bytes : file->plain_bytes;
    if (status == MHD_HTTP_OK &&
        is_known(request_header(request, MHD_HTTP_HEADER_IF_NONE_MATCH), answer->tag)) {
        answer->status = MHD_HTTP_NOT_MODIFIED;
        answer->constant = NULL;
    }
}

/* ---------------------------------------------------------------- headers
 *
 * Every answer forbids guessing its type. Pages say what they may load; what devices need is
 * open to other origins. */

/* Every header that depends on the answer alone; the library adds length and date. Vary says what the form
 * depends on (a path that is not there is a page for people and JSON for programs), so that caches between us
 * and the client keep the forms apart. A page may load what its policy says, and no other page may hold a
 * handle to it. */
static void add_headers(struct MHD_Response *response, const struct answer *answer,
                        const char *device_headers)
{
    char seconds[16];
    bool whole = answer->status != MHD_HTTP_NOT_MODIFIED;
    bool tagged = answer->tag[0] != '\0';
    bool page = answer->policy != NULL;
    bool preflight = answer->status == MHD_HTTP_NO_CONTENT;
    (void)snprintf(seconds, sizeof seconds, "%u", answer->retry_after);
    const struct {
        const char *name;
        bool sent;
        const char *value;
    } headers[] = {
        {MHD_HTTP_HEADER_CONNECTION, answer->last, "close"},
        {"X-Content-Type-Options", true, "nosniff"},
        {MHD_HTTP_HEADER_CONTENT_ENCODING, tagged && answer->gzip && whole, "gzip"},
        {MHD_HTTP_HEADER_VARY, tagged,
         answer->status == MHD_HTTP_NOT_FOUND ? "Accept, Accept-Encoding" : "Accept-Encoding"},
        {MHD_HTTP_HEADER_ETAG, tagged, answer->tag},
        {MHD_HTTP_HEADER_CACHE_CONTROL, tagged,
         answer->keep ? "public, max-age=31536000, immutable" : "no-cache"},
        {"Content-Security-Policy", page, answer->policy},
        {"Referrer-Policy", page, "no-referrer"},
        {"Cross-Origin-Opener-Policy", page, "same-origin"},
        {"Access-Control-Allow-Origin", answer->shared && !page, "*"},
        {MHD_HTTP_HEADER_CONTENT_TYPE, answer->type != NULL && whole, answer->type},
        {MHD_HTTP_HEADER_LOCATION, answer->location[0] != '\0', answer->location},
        {MHD_HTTP_HEADER_RETRY_AFTER, answer->retry_after > 0, seconds},
        {MHD_HTTP_HEADER_WWW_AUTHENTICATE, answer->status == 401, "Bearer"},
        {"Access-Control-Allow-Methods", preflight, "GET, POST, OPTIONS"},
        {"Access-Control-Allow-Headers", preflight, device_headers},
        {"Access-Control-Max-Age", preflight, "86400"},
    };
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        if (headers[i].sent) {
            (void)MHD_add_response_header(response, headers[i].name, headers[i].value);
        }
    }
}

/* The library takes a pointer to char, but leaves persistent bytes alone. */
static struct MHD_Response *from_constant(const void *bytes, size_t length)
{
    union {
        const void *constant;
        void *bytes;
    } file = {bytes};
    return MHD_create_response_from_buffer(length, file.bytes, MHD_RESPMEM_PERSISTENT);
}

struct MHD_Response *http_ready(const char *text)
{
    struct MHD_Response *response = from_constant(text, strlen(text));
    struct answer answer = {.status = 200, .type = "application/json", .shared = true};
    if (response != NULL) {
        add_headers(response, &answer, NULL);
    }
    return response;
}

struct MHD_Response *answer_response(struct request *request)
{
    struct answer *answer = &request->answer;
    represent(request);
    if (answer->body == NULL && answer->constant == NULL) {
        answer->length = 0;
    }
    struct MHD_Response *response =
        answer->body != NULL
            ? MHD_create_response_from_buffer(answer->length, answer->body, MHD_RESPMEM_MUST_FREE)
            : from_constant(answer->constant, answer->length);
    if (response == NULL) {
        return NULL;
    }
    answer->body = NULL;
    answer->shared = request->route != NULL && request->route->audience == FOR_DEVICES;
    add_headers(response, answer, request->http->program->device_headers);
    return response;
}
