/* seed_http.c -- first inputs for fuzz_http: one request of every kind, in the
 * short words of the target. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server_reports.h"
#include "study_internal.h"

static void save(const char *folder, const char *name, const char *head, const void *body,
                 size_t length)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *out = fopen(path, "wb");
    if (out == NULL || fwrite(head, 1, strlen(head), out) != strlen(head) ||
        fwrite(body, 1, length, out) != length || fclose(out) != 0) {
        exit(1);
    }
}

static const char *const plain[][2] = {
    {"round", "GET /v1/studies/{o}/round HTTP/1.1\r\nHost: x\r\n\r\n"},
    {"estimate", "GET /v1/studies/{k}/estimate HTTP/1.1\r\nHost: x\r\n\r\n"},
    {"history", "GET /v1/studies/{o}/history HTTP/1.1\r\nHost: x\r\n\r\n"},
    {"study", "GET /v1/studies/{o} HTTP/1.1\r\nHost: x\r\n\r\n"},
    {"studies", "GET /v1/studies HTTP/1.0\r\n\r\n"},
    {"metrics", "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"},
    {"page", "GET / HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\nIf-None-Match: \"1\"\r\n\r\n"},
    {"options", "OPTIONS /v1/studies/{o}/reports HTTP/1.1\r\nHost: x\r\nOrigin: y\r\n\r\n"},
    {"close", "POST /v1/studies/{k}/round/close HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
              "{t}\r\nContent-Length: 0\r\n\r\n"},
    {"enrol", "POST /v1/studies/{k}/devices HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
              "{t}\r\nContent-Length: 14\r\n\r\n{\"name\": \"me\"}"},
    {"create", "POST /v1/studies HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
               "{t}\r\nContent-Length: 14\r\n\r\n{\"tremolo\": 1}"},
    {"stranger", "POST /v1/studies HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
                 "no\r\nContent-Length: 2\r\n\r\n{}"},
    {"expect", "POST /v1/studies/{o}/reports HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
               "Content-Type: application/cbor\r\nContent-Length: 9999999\r\n\r\n"},
    {"named", "POST /v1/studies/{k}/reports HTTP/1.1\r\nHost: x\r\nTremolo-Device: bWU\r\n"
              "Content-Type: application/cbor\r\nContent-Length: 3\r\n\r\nabc"},
};

int main(int argc, char **argv)
{
    struct tremolo_study_file *file = NULL;
    struct server_report report;
    char head[300];
    if (argc != 2 || sodium_init() < 0 ||
        tremolo_study_file_parse(&file, NULL, server_study_open, strlen(server_study_open)) !=
            TREMOLO_OK) {
        return 1;
    }
    server_report_make(&report, tremolo_study_file_device(file), 0, NULL, NULL);
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        save(argv[1], plain[i][0], plain[i][1], "", 0);
    }
    (void)snprintf(head, sizeof head,
                   "POST /v1/studies/{o}/reports HTTP/1.1\r\nHost: x\r\nContent-Type: "
                   "application/cbor\r\nContent-Length: %zu\r\n\r\n",
                   report.length);
    save(argv[1], "report", head, "{r}", 3);
    save(argv[1], "fresh", head, report.bytes, report.length);
    (void)snprintf(head, sizeof head,
                   "POST /v1/studies/{o}/reports HTTP/1.1\r\nHost: x\r\nContent-Type: "
                   "application/cbor-seq\r\nContent-Length: %zu\r\n\r\n\x58%c",
                   report.length + 2, (int)report.length);
    save(argv[1], "sequence", head, "{r}", 3);
    (void)snprintf(head, sizeof head,
                   "POST /v1/studies/{o}/reports HTTP/1.1\r\nHost: x\r\nContent-Type: "
                   "application/cbor\r\nTransfer-Encoding: chunked\r\n\r\n%zx\r\n",
                   report.length);
    save(argv[1], "chunked", head, "{r}\r\n0\r\n\r\n", 10);
    tremolo_study_file_free(file);
    return 0;
}
