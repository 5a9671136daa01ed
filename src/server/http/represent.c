/* represent.c -- tags and compression.
 *
 * A tag is a hash of the plain bytes, so nothing has to be remembered and two servers with the
 * same answer give the same tag. Plain bytes have a strong one. What is compressed here has a
 * weak one: another version of zlib may write the same answer differently. Files were compressed
 * when the program was built, and name their own bytes (pages.c).
 *
 * The answer is made before its tag is known: a tag spares the way, not the work. What takes
 * long is kept by those who make it (estimate.c, history.c). Compressing is bounded by
 * REPRESENT_GZIP_MAX, at zlib's fastest level, which takes most of what there is to gain from
 * JSON; it fails towards plain bytes. No body has both a secret and a text of whoever asks, so
 * its length gives nothing away. */
#include "http.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#include "request.h"

/* ---------------------------------------------------------------- what is asked */

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
bool represent_accepts_gzip(const char *accept_encoding)
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
bool represent_is_known(const char *if_none_match, const char *tag)
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

/* ---------------------------------------------------------------- what is sent */

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

void represent_made(struct request *request)
{
    struct answer *answer = &request->answer;
    if (answer->body == NULL || answer->status != MHD_HTTP_OK || request->route == NULL ||
        strcmp(request->route->method, MHD_HTTP_METHOD_GET) != 0) {
        return;
    }
    bool gzip = answer->length >= REPRESENT_GZIP_MIN && answer->length <= REPRESENT_GZIP_MAX &&
                represent_accepts_gzip(request_header(request, MHD_HTTP_HEADER_ACCEPT_ENCODING));
    tag_of(answer->tag, answer->body, answer->length, gzip);
    if (represent_is_known(request_header(request, MHD_HTTP_HEADER_IF_NONE_MATCH), answer->tag)) {
        free(answer->body);
        answer->body = NULL;
        answer->status = MHD_HTTP_NOT_MODIFIED;
    } else if (gzip) {
        compress_body(answer);
    }
}

void represent_headers(struct MHD_Response *response, const struct answer *answer)
{
    bool negotiated = answer->status == MHD_HTTP_NOT_FOUND; /* by who asks (pages.c) */
    if (answer->gzip && answer->status != MHD_HTTP_NOT_MODIFIED) {
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
    }
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_VARY,
                                  negotiated ? "Accept, Accept-Encoding" : "Accept-Encoding");
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_ETAG, answer->tag);
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL,
                                  answer->keep ? "public, max-age=31536000, immutable"
                                               : "no-cache");
}
