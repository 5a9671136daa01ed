/* keys.c -- reading and making secret files.
 *
 * A secret that was lost cannot be made again: studies are signed with it, and the keys of devices are
 * derived from it. So a file is made whole under another name, synced, and then linked to its own: an
 * interrupted start leaves no half of a key, and of two that start at once one makes it. A file that
 * others may read is refused, because then it is no secret. Buffers that held a secret are wiped. */
#include "keys.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"

enum { TOKEN_SHORTEST = 16, TOKEN_BYTES = 24 };

/* A new name is durable only when its folder is synced. */
int keys_sync_folder(const char *path)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');
    int length = slash != NULL ? (int)(slash - path) : 0;
    (void)snprintf(folder, sizeof folder, "%.*s", length > 0 ? length : 1,
                   slash == NULL ? "." : path);
    int opened = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int result = opened >= 0 ? fsync(opened) : -1;
    if (opened >= 0) {
        (void)close(opened);
    }
    return result;
}

/* Written and synced under a name of its own first, then linked: two servers that
 * start together on one directory end with the same file, and none reads half of it.
 * (A process number would be no name of its own: in containers all have the same, and
 * what a crash left behind would stop every later start.) The directory is synced
 * too, so that the name survives. */
static int make_file(const char *path, const void *bytes, size_t length)
{
    char draft[4096 + 32];
    int size = snprintf(draft, sizeof draft, "%s.XXXXXX", path);
    if (size < 0 || (size_t)size >= sizeof draft) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int file = mkostemp(draft, O_CLOEXEC); /* mode 0600 */
    if (file < 0) {
        return -1;
    }
    int result = write(file, bytes, length) == (ssize_t)length && fsync(file) == 0 ? 0 : -1;
    (void)close(file);
    if (result == 0 && link(draft, path) != 0 && errno != EEXIST) {
        result = -1;
    }
    int reason = errno;
    (void)unlink(draft);
    if (result == 0) {
        result = keys_sync_folder(path);
    } else {
        errno = reason;
    }
    return result;
}

/* A secret of our own is for us alone; root may let a group read one, as systemd does when it hands
 * a credential to a service. */
static bool is_private(const struct stat *about)
{
    bool given_by_root = about->st_uid == 0 && geteuid() != 0;
    return (about->st_mode & (given_by_root ? 037 : 077)) == 0;
}

/* The file's mode is looked at after opening it: a name could lead elsewhere in between. */
ssize_t keys_read(const char *path, void *bytes, size_t capacity, const char **reason)
{
    struct stat about;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        *reason = strerror(errno);
        return -1;
    }
    ssize_t length = -1;
    if (fstat(file, &about) != 0) {
        *reason = strerror(errno);
    } else if (!is_private(&about)) {
        *reason = "others may read this secret; set its mode to 0600";
    } else {
        length = read(file, bytes, capacity);
        *reason = strerror(errno);
    }
    (void)close(file);
    return length;
}

/* A file that is there is never replaced. A missing one is made only with `create`: studies
 * depend on their keys. */
enum tremolo_status keys_load(uint8_t *bytes, size_t length, const char *directory,
                              const char *name, bool create, char words[TREMOLO_WORDS_BYTES])
{
    char path[4096];
    uint8_t fresh[64];
    const char *reason = "";
    if (length > sizeof fresh - 1) {
        return TREMOLO_BAD_ARGUMENT;
    }
    int size = snprintf(path, sizeof path, "%s/%s", directory, name);
    if (size < 0 || (size_t)size >= sizeof path) {
        return words_say(words, TREMOLO_FILE_FAILED, "%s: the name is too long", directory);
    }
    bool missing = access(path, F_OK) != 0 && errno == ENOENT;
    if (missing && !create) {
        return words_say(words, TREMOLO_FILE_FAILED,
                         "%s: this key is missing, and the studies here depend on it; restore it",
                         path);
    }
    if (missing) {
        randombytes_buf(fresh, length);
        int made = make_file(path, fresh, length);
        sodium_memzero(fresh, sizeof fresh);
        if (made != 0) {
            return words_say(words, TREMOLO_FILE_FAILED, "%s: %s", path, strerror(errno));
        }
    }
    ssize_t got = keys_read(path, fresh, length + 1, &reason);
    if (got == (ssize_t)length) {
        memcpy(bytes, fresh, length);
    }
    sodium_memzero(fresh, sizeof fresh);
    if (got < 0) {
        return words_say(words, TREMOLO_FILE_FAILED, "%s: %s", path, reason);
    }
    return got == (ssize_t)length ? TREMOLO_OK
                                  : words_say(words, TREMOLO_FILE_FAILED,
                                              "%s: the key in it has another length", path);
}

/* 24 random bytes as text: 32 characters. */
static int make_token(const char *path)
{
    uint8_t fresh[TOKEN_BYTES];
    char text[sodium_base64_ENCODED_LEN(TOKEN_BYTES, sodium_base64_VARIANT_URLSAFE_NO_PADDING)];
    randombytes_buf(fresh, sizeof fresh);
    (void)sodium_bin2base64(text, sizeof text, fresh, sizeof fresh,
                            sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    int made = make_file(path, text, strlen(text));
    sodium_memzero(fresh, sizeof fresh);
    sodium_memzero(text, sizeof text);
    return made;
}

/* The first line of the file, without its end. */
enum tremolo_status keys_token(char *token, size_t capacity, const char *path, bool create,
                               char words[TREMOLO_WORDS_BYTES])
{
    const char *reason = "";
    if (create && access(path, F_OK) != 0 && errno == ENOENT && make_token(path) != 0) {
        return words_say(words, TREMOLO_TOKEN_FAILED, "%s: %s", path, strerror(errno));
    }
    ssize_t got = keys_read(path, token, capacity - 1, &reason);
    if (got < 0) {
        return words_say(words, TREMOLO_TOKEN_FAILED, "%s: %s", path, reason);
    }
    token[got] = '\0';
    if (strcspn(token, "\r\n") == capacity - 1) { /* cut off, it would match no token */
        return words_say(words, TREMOLO_TOKEN_FAILED, "%s: the token is too long", path);
    }
    token[strcspn(token, "\r\n")] = '\0';
    size_t length = strlen(token);
    for (size_t i = 0; i < length; i++) {
        if (token[i] <= ' ' || token[i] > '~') {
            return words_say(words, TREMOLO_TOKEN_FAILED, "%s: the token is not one printable word",
                             path);
        }
    }
    return length >= TOKEN_SHORTEST ? TREMOLO_OK
                                    : words_say(words, TREMOLO_TOKEN_FAILED,
                                                "%s: the token has fewer than 16 characters", path);
}
