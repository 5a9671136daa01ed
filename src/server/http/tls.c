/* tls.c -- GnuTLS certificates, loaded from files and swapped atomically.
 *
 * A handshake may hold the old certificate while a new one is loaded, so the
 * one before is kept until the next reload but one. */
#include "http.h"

#include <errno.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keys.h"

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

void *tls_callback(void)
{
    union {
        gnutls_certificate_retrieve_function2 *function;
        void *pointer;
    } callback = {.function = retrieve};
    return callback.pointer;
}
