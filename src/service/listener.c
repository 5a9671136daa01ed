/* listener.c -- the socket that clients connect to, and the certificate that it shows them.
 *
 * Certificates are GnuTLS objects, loaded from files and exchanged while connections are open. A handshake
 * may still use the old pair while a new one is loaded, so two earlier pairs are kept. `current_lock`
 * guards `current`, the pair that new handshakes get; all else belongs to the caller's thread. */
#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http_parts.h"
#include "keys.h"

enum { BACKLOG = 1024 };

/* ---------------------------------------------------------------- the socket
 *
 * Numeric addresses only: a name could have several addresses, and a server listens on one. */

/* What the kernel chose for port 0. */
static uint16_t port_of(int listener)
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } bound;
    socklen_t length = sizeof bound;
    memset(&bound, 0, sizeof bound);
    if (getsockname(listener, &bound.any, &length) != 0) {
        return 0;
    }
    return ntohs(bound.any.sa_family == AF_INET6 ? bound.six.sin6_port : bound.four.sin_port);
}

enum tremolo_status listen_open(int *listener, uint16_t *port, const char *address,
                                char words[TREMOLO_WORDS_BYTES])
{
    struct sockaddr_storage where;
    int on = 1;
    socklen_t length = sources_address(&where, address, *port);
    if (length == 0) {
        return words_say(words, TREMOLO_NOT_LISTENING, "'%s' is not a numeric address", address);
    }
    int made = socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool six = where.ss_family == AF_INET6;
    if (made < 0 || setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        (six && setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0) ||
        bind(made, (struct sockaddr *)&where, length) != 0 || listen(made, BACKLOG) != 0) {
        (void)snprintf(words, TREMOLO_WORDS_BYTES, "cannot listen on %s port %u: %s", address,
                       *port, strerror(errno));
        if (made >= 0) {
            (void)close(made);
        }
        return TREMOLO_NOT_LISTENING;
    }
    *listener = made;
    *port = port_of(made);
    return TREMOLO_OK;
}

/* ---------------------------------------------------------------- the certificate
 *
 * GnuTLS asks for the pair at each handshake, so exchanging it needs no restart. A pair that
 * cannot be read changes nothing. */

enum { CHAIN_MAX = 8, KEPT = 3, KEY_FILE_MAX = 64 << 10 };

struct pair {
    gnutls_pcert_st chain[CHAIN_MAX];
    unsigned length;
    gnutls_privkey_t key;
};

struct tls {
    const char *cert_file;
    const char *key_file;
    struct pair *kept[KEPT]; /* [0] is in use */
};

static pthread_mutex_t current_lock = PTHREAD_MUTEX_INITIALIZER;
static struct pair *current;

/* Parts that were never loaded are empty. */
static void free_pair(struct pair *pair)
{
    if (pair == NULL) {
        return;
    }
    for (unsigned i = 0; i < pair->length; i++) {
        gnutls_pcert_deinit(&pair->chain[i]);
    }
    if (pair->key != NULL) {
        gnutls_privkey_deinit(pair->key);
    }
    free(pair);
}

/* Both return NULL, or why not. */
static const char *load_chain(struct pair *pair, const char *file)
{
    gnutls_datum_t pem = {0};
    unsigned length = CHAIN_MAX;
    int code = gnutls_load_file(file, &pem);
    if (code == GNUTLS_E_FILE_ERROR) {
        return strerror(errno);
    }
    if (code == 0) {
        code =
            gnutls_pcert_list_import_x509_raw(pair->chain, &length, &pem, GNUTLS_X509_FMT_PEM, 0);
        gnutls_free(pem.data);
    }
    pair->length = code >= 0 ? length : 0;
    return code < 0 ? gnutls_strerror(code) : NULL;
}

static const char *load_key(struct pair *pair, const char *file)
{
    const char *reason = NULL;
    unsigned char *bytes = malloc(KEY_FILE_MAX);
    if (bytes == NULL) {
        return "out of memory";
    }
    ssize_t length = keys_read(file, bytes, KEY_FILE_MAX, &reason);
    if (length >= 0) {
        gnutls_datum_t pem = {.data = bytes, .size = (unsigned)length};
        int code = gnutls_privkey_init(&pair->key);
        if (code == 0) {
            code = gnutls_privkey_import_x509_raw(pair->key, &pem, GNUTLS_X509_FMT_PEM, NULL, 0);
        }
        reason = code != 0 ? gnutls_strerror(code) : NULL;
    }
    gnutls_memset(bytes, 0, KEY_FILE_MAX);
    free(bytes);
    return reason;
}

/* The new pair is loaded completely before it replaces the old one; current_lock is held for the
 * exchange only. */
enum tremolo_status tls_reload(struct tls *tls, char words[TREMOLO_WORDS_BYTES])
{
    struct pair *pair = calloc(1, sizeof *pair);
    if (pair == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    const char *file = tls->cert_file;
    const char *reason = load_chain(pair, file);
    if (reason == NULL) {
        file = tls->key_file;
        reason = load_key(pair, file);
    }
    if (reason != NULL) {
        (void)snprintf(words, TREMOLO_WORDS_BYTES, "%s: %s", file, reason);
        free_pair(pair);
        return TREMOLO_FILE_FAILED;
    }
    (void)pthread_mutex_lock(&current_lock);
    current = pair;
    (void)pthread_mutex_unlock(&current_lock);
    free_pair(tls->kept[KEPT - 1]);
    for (size_t i = KEPT - 1; i > 0; i--) {
        tls->kept[i] = tls->kept[i - 1];
    }
    tls->kept[0] = pair;
    return TREMOLO_OK;
}

enum tremolo_status tls_new(struct tls **tls, const char *cert_file, const char *key_file,
                            char words[TREMOLO_WORDS_BYTES])
{
    struct tls *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    made->cert_file = cert_file;
    made->key_file = key_file;
    enum tremolo_status status = tls_reload(made, words);
    if (status != TREMOLO_OK) {
        free(made);
        return status;
    }
    *tls = made;
    return TREMOLO_OK;
}

/* No handshake is under way any more: the loops have ended. */
void tls_free(struct tls *tls)
{
    if (tls == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&current_lock);
    current = NULL;
    (void)pthread_mutex_unlock(&current_lock);
    for (size_t i = 0; i < KEPT; i++) {
        free_pair(tls->kept[i]);
    }
    free(tls);
}

/* For GnuTLS: the pair of now. It stays valid for two more reloads. */
static int retrieve(gnutls_session_t session, const gnutls_datum_t *authorities, int count,
                    const gnutls_pk_algorithm_t *algorithms, int algorithm_count,
                    gnutls_pcert_st **chain, unsigned *length, gnutls_privkey_t *key)
{
    (void)session;
    (void)authorities;
    (void)count;
    (void)algorithms;
    (void)algorithm_count;
    (void)pthread_mutex_lock(&current_lock);
    struct pair *pair = current;
    (void)pthread_mutex_unlock(&current_lock);
    if (pair == NULL) {
        return -1;
    }
    *chain = pair->chain;
    *length = pair->length;
    *key = pair->key;
    return 0;
}

/* A function pointer as the library wants it, as an object pointer. */
void *tls_callback(void)
{
    union {
        gnutls_certificate_retrieve_function2 *function;
        void *pointer;
    } callback = {.function = retrieve};
    return callback.pointer;
}
