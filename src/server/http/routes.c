/* routes.c -- which handler gets a request, which study it is about, and pages for people.
 *
 * Each file of handlers has its table of routes (devices.c, readers.c, operator.c, and pages
 * here); this file puts them together for the service. Pages are asked for again each time and
 * answered with 304 when nothing changed; assets carry a hash of their bytes in their name and
 * are kept. A page may load what this server sends and nothing else: no other host, no inline
 * script or style, no frame, no form. What it shows it fetches from /v1 like any other client;
 * there is no second way to a study's numbers.
 *
 * People who mistype an address get a page that says so, programs a problem document; an address
 * with a slash too many is redirected. */
#include "routes.h"

#include <string.h>

#include "study_internal.h"
#include "web_files.h"

/* The participant's page compiles the device core, which needs one more word. */
#define POLICY(SCRIPTS)                                                                            \
    "default-src 'none'; script-src 'self'" SCRIPTS "; style-src 'self'; connect-src 'self'; "     \
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
static const char policy_strict[] = POLICY("");
static const char policy_core[] = POLICY(" 'wasm-unsafe-eval'");

/* Plain and compressed are two representations, so their tags differ. */
static void send_file(struct request *request, unsigned status, const struct web_file *file,
                      const char *policy)
{
    if (file == NULL) {
        request_problem(request, 404, "no such file");
        return;
    }
    struct http_file sent = {.type = file->type,
                             .hash = file->hash,
                             .plain = file->plain,
                             .gzip = file->gzip,
                             .plain_bytes = file->plain_bytes,
                             .gzip_bytes = file->gzip_bytes,
                             .keep = file->path != NULL,
                             .policy = policy};
    request_answer_file(request, status, &sent);
}

/* The list of studies and one study are the same page; it looks at its address. */
static void answer_dashboard(struct request *request)
{
    send_file(request, 200, web_file_named("index.html"), policy_strict);
}

/* The participant's page makes a report in the browser, by the device core as WebAssembly. */
static void answer_about(struct request *request)
{
    send_file(request, 200, web_file_named("about.html"), policy_core);
}

/* By the whole path, which has the hash of the bytes in it. */
static void answer_asset(struct request *request)
{
    send_file(request, 200, web_file_at(request->path), policy_strict);
}

/* ---------------------------------------------------------------- wrong addresses
 *
 * 404 must help two kinds of readers. A browser asks for HTML by name; a program gets a problem
 * document. */

/* Only GET and HEAD are for people; anything else comes from a program. */
static bool is_read(const struct request *request)
{
    return strcmp(request->method, MHD_HTTP_METHOD_GET) == 0 ||
           strcmp(request->method, MHD_HTTP_METHOD_HEAD) == 0;
}

/* A browser asks for pages by this name; programs that take anything do not. */
static bool is_for_people(struct request *request)
{
    static const char machines[] = "/v1/";
    const char *accept = request_header(request, MHD_HTTP_HEADER_ACCEPT);
    return is_read(request) && accept != NULL && strstr(accept, "text/html") != NULL &&
           strncmp(request->path, machines, sizeof machines - 1) != 0;
}

/* 404 in the form that the client understands. */
static void answer_missing(struct request *request, const char *detail)
{
    const struct web_file *page = web_file_named("missing.html");
    if (page != NULL && is_for_people(request)) {
        send_file(request, MHD_HTTP_NOT_FOUND, page, policy_strict);
    } else {
        request_problem(request, MHD_HTTP_NOT_FOUND, detail);
    }
}

/* Only characters of our own paths go back into a header. False when there is no such path
 * without the slashes, or it is not ours to name. */
static bool redirect(struct request *request)
{
    static const char ours[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/";
    char path[ANSWER_LOCATION_BYTES];
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
    if (!request_has_route(request, path)) {
        return false;
    }
    request_answer(request, MHD_HTTP_PERMANENT_REDIRECT, NULL, NULL);
    memcpy(request->answer.location, path, kept + 1);
    return true;
}

/* No route has this path. */
static void answer_lost(struct request *request)
{
    if (!redirect(request)) {
        answer_missing(request, "no such path");
    }
}

/* The study with this id, or NULL after an answer. The study is borrowed and stays the writer's. */
static void *find_study(struct request *request, const char *id)
{
    uint8_t bytes[TREMOLO_STUDY_ID_BYTES];
    bool unsure = false;
    struct served_study *served = tremolo_base64_decode(bytes, sizeof bytes, id) == TREMOLO_OK
                                      ? writer_find(server_of(request)->writer, &unsure, bytes)
                                      : NULL;
    if (unsure && !is_for_people(request)) { /* the page itself asks again */
        request_problem(request, 503, "this gateway has not heard of such a study yet");
        request->answer.retry_after = 1;
    } else if (served == NULL && !unsure) {
        answer_missing(request, "no such study");
    }
    return served;
}

/* The pages load all numbers from /v1, so none of these routes is for programs. */
static const struct route page_routes[] = {
    {"GET", "/", FOR_READERS, 0, answer_dashboard, NULL},
    {"GET", "/studies", FOR_READERS, 0, answer_dashboard, NULL},
    {"GET", "/studies/{id}/about", FOR_READERS, 0, answer_about, NULL},
    {"GET", "/studies/{id}", FOR_READERS, 0, answer_dashboard, NULL},
    {"GET", "/assets/*", FOR_READERS, 0, answer_asset, NULL},
    {0},
};

/* ---------------------------------------------------------------- for server.c
 *
 * The table of tables is constant; the program's struct names this server as the owner of its
 * requests. */

bool routes_open(struct tremolo_server *server)
{
    static const struct route *const tables[] = {device_routes, reader_routes, operator_routes,
                                                 page_routes, NULL};
    server->program = (struct http_program){.tables = tables,
                                            .request_bytes = sizeof(struct study_request),
                                            .id_characters = TREMOLO_STUDY_ID_TEXT_BYTES - 1,
                                            .device_headers = "Content-Type, Tremolo-Device",
                                            .owner = server,
                                            .batcher = &server->writer->batcher,
                                            .find = find_study,
                                            .lost = answer_lost,
                                            .refuse = devices_refuse,
                                            .release = devices_release};
    server->receipt[0] = http_ready("{\"accepted\":1,\"repeated\":0,\"failures\":[]}");
    server->receipt[1] = http_ready("{\"accepted\":0,\"repeated\":1,\"failures\":[]}");
    return server->receipt[0] != NULL && server->receipt[1] != NULL;
}

/* Accepts a server for which routes_open() failed. */
void routes_close(struct tremolo_server *server)
{
    for (size_t i = 0; i < 2; i++) {
        if (server->receipt[i] != NULL) {
            MHD_destroy_response(server->receipt[i]);
        }
    }
}
