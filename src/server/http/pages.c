/* pages.c -- the embedded pages over HTTP.
 *
 * Pages are asked for anew each time and answered with 304 when nothing
 * changed; assets carry a hash of their bytes in their name and may be kept
 * for ever. A page may load what this server sends and nothing else: no other
 * host, no inline script, no inline style, no frame, no form.
 *
 * People who mistype an address get a page that says so, programs a problem
 * document; an address with a slash too many is sent to the one without.
 *
 * What a page shows it fetches from /v1 like any other client; there is no
 * second way to a study's numbers. */
#include <string.h>

#include "http.h"
#include "routes.h"

/* The participant's page compiles the device core, which needs one more word. */
#define POLICY(SCRIPTS)                                                                            \
    "default-src 'none'; script-src 'self'" SCRIPTS "; style-src 'self'; connect-src 'self'; "     \
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
static const char policy_strict[] = POLICY("");
static const char policy_core[] = POLICY(" 'wasm-unsafe-eval'");

/* Plain and compressed are two representations, so their tags differ. */
static void tag_of(char tag[ANSWER_TAG_BYTES], const struct web_file *file, bool gzip)
{
    (void)snprintf(tag, ANSWER_TAG_BYTES, "\"%s%s\"", file->hash, gzip ? "-gz" : "");
}

static void set_file(struct request *request, unsigned status, const struct web_file *file,
                     const char *policy)
{
    request_answer(request, status, file->type, NULL);
    struct answer *answer = &request->answer;
    bool gzip = represent_accepts_gzip(request_header(request, MHD_HTTP_HEADER_ACCEPT_ENCODING));
    tag_of(answer->tag, file, gzip);
    answer->policy = policy;
    answer->keep = file->path != NULL;
    answer->gzip = gzip;
    answer->constant = gzip ? file->gzip : file->plain;
    answer->length = gzip ? file->gzip_bytes : file->plain_bytes;
}

static void send_file(struct request *request, const struct web_file *file, const char *policy)
{
    if (file == NULL) {
        request_problem(request, 404, "no such file");
        return;
    }
    set_file(request, 200, file, policy);
    struct answer *answer = &request->answer;
    if (represent_is_known(request_header(request, MHD_HTTP_HEADER_IF_NONE_MATCH), answer->tag)) {
        answer->status = MHD_HTTP_NOT_MODIFIED;
        answer->constant = NULL;
    }
}

/* The list of studies and one study are the same page; it looks at its address. */
void pages_dashboard(struct request *request)
{
    send_file(request, web_file_named("index.html"), policy_strict);
}

void pages_about(struct request *request)
{
    send_file(request, web_file_named("about.html"), policy_core);
}

void pages_asset(struct request *request)
{
    send_file(request, web_file_at(request->path), policy_strict);
}

/* ---------------------------------------------------------------- wrong addresses */

static bool is_read(const struct request *request)
{
    return strcmp(request->method, MHD_HTTP_METHOD_GET) == 0 ||
           strcmp(request->method, MHD_HTTP_METHOD_HEAD) == 0;
}

/* A browser asks for pages by this name; programs that take anything do not. */
bool pages_is_for_people(struct request *request)
{
    static const char machines[] = "/v1/";
    const char *accept = request_header(request, MHD_HTTP_HEADER_ACCEPT);
    return is_read(request) && accept != NULL && strstr(accept, "text/html") != NULL &&
           strncmp(request->path, machines, sizeof machines - 1) != 0;
}

void pages_missing(struct request *request, const char *detail)
{
    const struct web_file *page = web_file_named("missing.html");
    if (page != NULL && pages_is_for_people(request)) {
        set_file(request, MHD_HTTP_NOT_FOUND, page, policy_strict);
    } else {
        request_problem(request, MHD_HTTP_NOT_FOUND, detail);
    }
}

/* Only characters of our own paths go back into a header. */
bool pages_redirect(struct request *request)
{
    static const char ours[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/";
    char path[ANSWER_LOCATION_BYTES], id[64];
    bool known = false;
    size_t length = strlen(request->path);
    size_t kept = length;
    while (kept > 0 && request->path[kept - 1] == '/') {
        kept--;
    }
    if (!is_read(request) || kept == length || kept == 0 || kept >= sizeof path ||
        strspn(request->path, ours) != length) {
        return false;
    }
    memcpy(path, request->path, kept);
    path[kept] = '\0';
    if (route_find(request->method, path, id, &known) == NULL) {
        return false;
    }
    request_answer(request, MHD_HTTP_PERMANENT_REDIRECT, NULL, NULL);
    memcpy(request->answer.location, path, kept + 1);
    return true;
}

void pages_headers(struct MHD_Response *response, const struct answer *answer)
{
    (void)MHD_add_response_header(response, "Content-Security-Policy", answer->policy);
    (void)MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    (void)MHD_add_response_header(response, "Cross-Origin-Opener-Policy", "same-origin");
}
