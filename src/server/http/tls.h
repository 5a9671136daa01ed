/* tls.h -- a certificate that can be exchanged while connections are open. */
#ifndef SERVER_TLS_H
#define SERVER_TLS_H

#include <stddef.h>

#include "tremolo_status.h"

/* For MHD_OPTION_HTTPS_PRIORITIES: TLS 1.2 and 1.3, keys that are made for one session and
 * forgotten with it (so that a stolen certificate opens no recording), ciphers that authenticate
 * what they encrypt. */
#define TLS_PRIORITIES                                                                             \
    "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:-MAC-ALL:+AEAD"

struct tls;

TREMOLO_MUST_USE enum tremolo_status tls_new(struct tls **tls, const char *cert_file,
                                             const char *key_file, char *words,
                                             size_t words_capacity);
void tls_free(struct tls *tls);

/* Read both files again; on failure the certificate in use stays. */
TREMOLO_MUST_USE enum tremolo_status tls_reload(struct tls *tls, char *words,
                                                size_t words_capacity);

/* The callback for MHD_OPTION_HTTPS_CERT_CALLBACK. The library gives it no
 * context, so one process serves one certificate: the newest tls object's. */
void *tls_callback(void);

#endif
