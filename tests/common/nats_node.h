/* nats_node.h -- a nats-server of our own on loopback, for tests that need one. */
#ifndef TREMOLO_NATS_NODE_H
#define TREMOLO_NATS_NODE_H

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct nats_node {
    pid_t process;
    char directory[64];
    char url[64];
    uint16_t port;
};

static inline const char *nats_node_program(void)
{
    static const char *const places[] = {"/usr/sbin/nats-server", "/usr/bin/nats-server",
                                         "/usr/local/bin/nats-server"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (access(places[i], X_OK) == 0) {
            return places[i];
        }
    }
    return NULL;
}

/* A port that was free a moment ago. */
static inline uint16_t nats_node_free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool bound = listener >= 0 &&
                 bind(listener, (struct sockaddr *)&address, sizeof address) == 0 &&
                 getsockname(listener, (struct sockaddr *)&address, &length) == 0;
    if (listener >= 0) {
        (void)close(listener);
    }
    return bound ? ntohs(address.sin_port) : 0;
}

static inline bool nats_node_answers(const struct nats_node *node)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons(node->port)};
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool answers = connect(client, (struct sockaddr *)&address, sizeof address) == 0;
    (void)close(client);
    return answers;
}

/* Start on node->directory and node->port; both are chosen when empty. */
static inline bool nats_node_start(struct nats_node *node)
{
    const char *program = nats_node_program();
    char port[16];
    if (node->directory[0] == '\0') {
        (void)snprintf(node->directory, sizeof node->directory, "/tmp/tremolo-nats-XXXXXX");
        node->port = nats_node_free_port();
        if (mkdtemp(node->directory) == NULL) {
            return false;
        }
    }
    (void)snprintf(port, sizeof port, "%u", node->port);
    (void)snprintf(node->url, sizeof node->url, "nats://127.0.0.1:%u", node->port);
    node->process = fork();
    if (node->process == 0) {
        int nowhere = open("/dev/null", O_WRONLY);
        (void)dup2(nowhere, 1);
        (void)dup2(nowhere, 2);
        (void)execl(program, program, "-a", "127.0.0.1", "-p", port, "-js", "-sd", node->directory,
                    (char *)NULL);
        _exit(127);
    }
    for (int i = 0; node->process > 0 && i < 500; i++) {
        struct timespec pause = {0, 10000000};
        if (nats_node_answers(node)) {
            return true;
        }
        (void)nanosleep(&pause, NULL);
    }
    return false;
}

static inline void nats_node_stop(struct nats_node *node, int signal_number)
{
    if (node->process > 0) {
        (void)kill(node->process, signal_number);
        (void)waitpid(node->process, NULL, 0);
        node->process = 0;
    }
}

static inline void nats_node_remove(struct nats_node *node)
{
    char command[128];
    nats_node_stop(node, SIGKILL);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", node->directory);
    if (node->directory[0] != '\0' && system(command) != 0) {
        (void)fprintf(stderr, "%s stays behind\n", node->directory);
    }
    node->directory[0] = '\0';
}

#endif
