/* tremolo_phone.c -- the ledger as files of an app, and the system's entropy.
 *
 * Slot N is the file slotN, replaced by a rename after a sync, so that a phone that dies has the old one or
 * the new one. An exclusive lock on the folder's file `lock` lasts as long as a call. */
#include "tremolo_phone.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include "tremolo_the_study.h"

enum { PATH_BYTES = 512 };

/* One call's place: the folder, and the lock on it. */
struct place {
    const char *folder;
    int lock;
    struct tremolo_platform platform;
    struct tremolo_work work;
};

static int path_of(char path[PATH_BYTES], const char *folder, const char *name)
{
    int length = snprintf(path, PATH_BYTES, "%s/%s", folder, name);
    return length > 0 && length < PATH_BYTES ? 0 : -1;
}

static int slot_path(char path[PATH_BYTES], const struct place *place, unsigned slot,
                     const char *suffix)
{
    char name[32];
    (void)snprintf(name, sizeof name, "slot%u%s", slot, suffix);
    return path_of(path, place->folder, name);
}

static int take_entropy(void *context, uint8_t *bytes, size_t length)
{
    (void)context;
    return getentropy(bytes, length);
}

/* A slot that was never written is zeros, which the core knows as missing. */
static int read_slot(void *context, unsigned slot, uint8_t *bytes, size_t length)
{
    char path[PATH_BYTES];
    memset(bytes, 0, length);
    if (slot_path(path, context, slot, "") != 0) {
        return -1;
    }
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return errno == ENOENT ? 0 : -1;
    }
    ssize_t got = read(file, bytes, length);
    (void)close(file);
    return got < 0 ? -1 : 0;
}

static int sync_path(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    int failed = file < 0 || fsync(file) != 0;
    if (file >= 0) {
        failed |= close(file) != 0;
    }
    return failed ? -1 : 0;
}

static int write_slot(void *context, unsigned slot, const uint8_t *bytes, size_t length)
{
    const struct place *place = context;
    char fresh[PATH_BYTES];
    char path[PATH_BYTES];
    if (slot_path(fresh, place, slot, ".new") != 0 || slot_path(path, place, slot, "") != 0) {
        return -1;
    }
    int file = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) {
        return -1;
    }
    int failed = write(file, bytes, length) != (ssize_t)length || fsync(file) != 0;
    failed |= close(file) != 0;
    return failed || rename(fresh, path) != 0 ? -1 : sync_path(place->folder);
}

static enum tremolo_status enter(struct place *place, const char *folder)
{
    char path[PATH_BYTES];
    memset(place, 0, sizeof *place);
    place->folder = folder;
    place->platform = (struct tremolo_platform){.context = place,
                                                .entropy = take_entropy,
                                                .read = read_slot,
                                                .write = write_slot,
                                                .studies = 1};
    place->lock = -1;
    if (path_of(path, folder, "lock") != 0) {
        return TREMOLO_BAD_ARGUMENT;
    }
    place->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    return place->lock < 0 || flock(place->lock, LOCK_EX) != 0 ? TREMOLO_STORAGE_FAILED
                                                               : TREMOLO_OK;
}

static int32_t leave(struct place *place, enum tremolo_status status, int32_t value)
{
    if (place->lock >= 0) {
        (void)close(place->lock); /* gives the lock back */
    }
    return status == TREMOLO_OK ? value : -(int32_t)status;
}

int32_t tremolo_phone_enrol(const char *folder)
{
    struct place place;
    enum tremolo_status status = enter(&place, folder);
    if (status == TREMOLO_OK) {
        status = tremolo_device_enrol(&place.work, &place.platform, TREMOLO_THE_BUDGET,
                                      TREMOLO_THE_EPSILON);
    }
    return leave(&place, status, 0);
}

int32_t tremolo_phone_report(const char *folder, uint8_t *bytes, size_t capacity,
                             const int32_t *values, size_t count)
{
    struct place place;
    const struct tremolo_round round = {NULL, 0}; /* one-shot, without modulation */
    size_t length = capacity;
    if (count != (size_t)tremolo_the_study.dimension + 1) {
        return -(int32_t)TREMOLO_SHORT_BUFFER;
    }
    const struct tremolo_sample sample = {.features = values, .response = values[count - 1]};
    enum tremolo_status status = enter(&place, folder);
    if (status == TREMOLO_OK) {
        status = tremolo_device_report(&place.work, bytes, &length, &tremolo_the_study, &round,
                                       &sample, &place.platform);
    }
    return leave(&place, status, (int32_t)length);
}

int64_t tremolo_phone_epsilon_left(const char *folder)
{
    struct place place;
    uint32_t left = 0;
    enum tremolo_status status = enter(&place, folder);
    if (status == TREMOLO_OK) {
        status = tremolo_device_epsilon(&place.work, &left, &place.platform);
    }
    int32_t code = leave(&place, status, 0);
    return code != 0 ? code : (int64_t)left;
}

const char *tremolo_phone_status_name(int32_t status)
{
    return tremolo_status_name((enum tremolo_status)(status < 0 ? -status : status));
}
