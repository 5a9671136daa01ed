/* ledger_file.c -- the device's ledger in a directory.
 *
 * The device core decides what is spent; this file keeps its slots where a power cut, a full disk, a
 * second process or a copied directory cannot make a charge disappear.
 *
 * docs/reference/protocol.md, section 6, has its files and bytes: one file of fixed size, a head and then slot
 * A of each entry, then slot B of each. It gets its name when the device core has
 * enrolled in it, so a file of that name in which no slot can be made out is damaged:
 * it is never taken for a device that has not spent anything yet. One that was made
 * with a counter is opened with that counter only, and not without its file.
 *
 * Slots are written in place. Writing a new file and renaming it would be atomic too, but
 * the device core's two slots already survive a torn write, and in place
 *
 *     1. all blocks are allocated when the ledger is made: a disk that fills
 *        up later cannot strand a device between a charge and its report;
 *     2. a commit is two writes and two syncs, and changes no directory.
 *
 * A and B of an entry never share a 4096-byte block, so a block torn by a
 * power cut damages one of them at most; neighbours in the block have
 * their other slot.
 *
 * A failed fsync may leave the new image in the cache only. Nothing leaves
 * then. When the core comes again it finds that image, writes slot B and
 * needs a sync that succeeds before it hands anything out, so that at least one
 * slot on disk holds the charge of every report that left. If the other slot is old by
 * then, the core refuses (LEDGER_ROLLED_BACK), which is the safe side. */
#include "ledger_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file_steps.h"
#include "tremolo_host.h"

enum { BLOCK_BYTES = 4096, SLOT_BYTES = 1024, HEADER_TEXT_BYTES = 64, COUNTER_TEXT_BYTES = 16 };

_Static_assert(sizeof(struct tremolo_slot) <= SLOT_BYTES, "a slot has its own place");

struct tremolo_ledger_file {
    struct tremolo_files files;
    struct tremolo_platform platform;
    int (*entropy)(void *context, uint8_t *bytes, size_t length);
    void *entropy_context;
    int lock_fd;
    int fd;
    bool unborn;      /* fd is ledger.new */
    bool has_counter; /* it was made with one */
    char directory[HOST_PATH_BYTES];
    char ledger_path[HOST_PATH_BYTES];
    char counter_path[HOST_PATH_BYTES];
    char error[TREMOLO_LEDGER_FILE_ERROR_BYTES];
};

/* Remember what failed, and say so to the device core; errno stays. */
static int failed(struct tremolo_ledger_file *ledger, const char *what)
{
    int error = errno;
    (void)snprintf(ledger->error, sizeof ledger->error, "%.100s: %.50s", what, strerror(error));
    errno = error;
    return -1;
}

/* The same for the caller. */
static enum tremolo_status fails(struct tremolo_ledger_file *ledger, const char *what,
                                 enum tremolo_status status)
{
    (void)failed(ledger, what);
    return status;
}

/* ---------------------------------------------------------------- callbacks */

/* Slots A, or slots B, of all entries: whole blocks, so that A and B never share one. */
static off_t region_bytes(unsigned studies)
{
    off_t bytes = (off_t)studies * SLOT_BYTES;
    return (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
}

/* Even slots are A, odd ones B; each half begins at a block. */
static off_t slot_offset(const struct tremolo_ledger_file *ledger, unsigned slot)
{
    off_t region = slot % 2 == 0 ? 0 : region_bytes(ledger->platform.studies);
    return BLOCK_BYTES + region + (off_t)(slot / 2) * SLOT_BYTES;
}

/* Slots that were never written read as zeros, which the core knows for an empty ledger. */
static int ledger_read(void *context, unsigned slot, uint8_t *bytes, size_t length)
{
    struct tremolo_ledger_file *ledger = context;
    return host_read_all(&ledger->files, ledger->fd, bytes, length, slot_offset(ledger, slot)) == 0
               ? 0
               : failed(ledger, "read the ledger");
}

/* As text, in a file that is replaced as a whole. */
static int ledger_advance(void *context, uint32_t value)
{
    struct tremolo_ledger_file *ledger = context;
    char text[COUNTER_TEXT_BYTES];
    int length = snprintf(text, sizeof text, "%lu\n", (unsigned long)value);
    return host_replace_file(&ledger->files, ledger->counter_path, text, (size_t)length) == 0
               ? 0
               : failed(ledger, "advance the counter");
}

/* From now on there is a ledger, and a counter if it has one. */
static int give_name(struct tremolo_ledger_file *ledger)
{
    const struct tremolo_files *files = &ledger->files;
    char temporary[HOST_PATH_BYTES];
    if (ledger->has_counter && ledger_advance(ledger, 0) != 0) {
        return -1;
    }
    if (host_path(temporary, ledger->directory, "ledger.new") != 0 ||
        files->rename(files->context, temporary, ledger->ledger_path) != 0) {
        return failed(ledger, "make the ledger");
    }
    ledger->unborn = false;
    return host_sync_directory(files, ledger->directory) == 0 ? 0
                                                              : failed(ledger, "make the ledger");
}

/* A ledger must not be charged while its name may be lost: bytes would leave, and the next
 * enrolment would know nothing of them. So this handle is closed. The next open finds a whole
 * ledger and makes its name durable, or finds none. */
static int spoil(struct tremolo_ledger_file *ledger)
{
    (void)host_close_after(&ledger->files, ledger->fd, -1);
    ledger->fd = -1;
    return -1;
}

/* Returns once the slot is on disk. The last slot of an enrolment also gives the ledger its name. */
static int ledger_write(void *context, unsigned slot, const uint8_t *bytes, size_t length)
{
    enum { WRITTEN_LAST = 1 }; /* by the core, when a device enrols */
    struct tremolo_ledger_file *ledger = context;
    const struct tremolo_files *files = &ledger->files;
    if (host_write_all(files, ledger->fd, bytes, length, slot_offset(ledger, slot)) != 0) {
        return failed(ledger, "write the ledger");
    }
    if (files->fsync(files->context, ledger->fd) != 0) {
        return failed(ledger, "sync the ledger");
    }
    bool named = !ledger->unborn || slot != WRITTEN_LAST || give_name(ledger) == 0;
    return named ? 0 : spoil(ledger);
}

static int ledger_entropy(void *context, uint8_t *bytes, size_t length)
{
    struct tremolo_ledger_file *ledger = context;
    return ledger->entropy(ledger->entropy_context, bytes, length);
}

/* No file is a counter of zero before a device enrols, and a lost one after that. */
static int ledger_counter(void *context, uint32_t *value)
{
    struct tremolo_ledger_file *ledger = context;
    char text[COUNTER_TEXT_BYTES];
    size_t length = 0;
    char *end = NULL;
    if (host_read_file(&ledger->files, ledger->counter_path, text, sizeof text, &length) != 0) {
        if (errno == ENOENT && (ledger->unborn || !ledger->has_counter)) {
            *value = 0;
            return 0;
        }
        return failed(ledger, "read the counter");
    }
    errno = 0;
    unsigned long parsed = strtoul(text, &end, 10);
    if (end == text || *end != '\n' || errno != 0 || parsed > UINT32_MAX) {
        errno = EINVAL;
        return failed(ledger, "read the counter");
    }
    *value = (uint32_t)parsed;
    return 0;
}

/* ---------------------------------------------------------------- opening */

/* A lock in the directory, not on the ledger: it must exist before the ledger does. */
static enum tremolo_status lock_directory(struct tremolo_ledger_file *ledger, const char *directory)
{
    const struct tremolo_files *files = &ledger->files;
    char path[HOST_PATH_BYTES];
    if (host_path(path, directory, "lock") != 0) {
        return fails(ledger, directory, TREMOLO_LONG_NAME);
    }
    ledger->lock_fd = files->open(files->context, path, O_RDWR | O_CREAT, 0600);
    if (ledger->lock_fd < 0) {
        return fails(ledger, path,
                     errno == ENOENT ? TREMOLO_LEDGER_MISSING : TREMOLO_STORAGE_FAILED);
    }
    if (files->lock(files->context, ledger->lock_fd) != 0) {
        bool busy = errno == EAGAIN || errno == EACCES || errno == EWOULDBLOCK;
        return fails(ledger, path, busy ? TREMOLO_LEDGER_BUSY : TREMOLO_STORAGE_FAILED);
    }
    return TREMOLO_OK;
}

/* The head as it must be, to the byte: text, so that a person can read it. */
static void write_header(char header[HEADER_TEXT_BYTES + 1], unsigned studies, bool counter)
{
    memset(header, 0, HEADER_TEXT_BYTES + 1);
    (void)snprintf(header, HEADER_TEXT_BYTES, "tremolo ledger 1 studies %u%s\n", studies,
                   counter ? " counter" : "");
}

/* An empty ledger, whole and durable under a temporary name. */
static int make_ledger(struct tremolo_ledger_file *ledger, unsigned studies)
{
    const struct tremolo_files *files = &ledger->files;
    char temporary[HOST_PATH_BYTES];
    char header[HEADER_TEXT_BYTES + 1];
    write_header(header, studies, ledger->platform.counter != NULL);
    if (host_path(temporary, ledger->directory, "ledger.new") != 0) {
        return -1;
    }
    int fd = files->open(files->context, temporary, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0) {
        return -1;
    }
    if (files->allocate(files->context, fd, BLOCK_BYTES + 2 * region_bytes(studies)) != 0 ||
        host_write_all(files, fd, header, HEADER_TEXT_BYTES, 0) != 0 ||
        files->fsync(files->context, fd) != 0) {
        (void)host_close_after(files, fd, -1);
        return host_give_up(files, temporary);
    }
    ledger->fd = fd;
    ledger->unborn = true;
    return 0;
}

/* The ledger, or an empty one without a name yet where there is none and options->create. */
static enum tremolo_status open_ledger(struct tremolo_ledger_file *ledger,
                                       const struct tremolo_ledger_file_options *options)
{
    const struct tremolo_files *files = &ledger->files;
    unsigned studies = options->studies != 0 ? options->studies : TREMOLO_LEDGER_FILE_STUDIES;
    ledger->fd = files->open(files->context, ledger->ledger_path, O_RDWR, 0);
    if (ledger->fd < 0 && errno == ENOENT && options->create && make_ledger(ledger, studies) != 0) {
        return fails(ledger, "make the ledger", TREMOLO_STORAGE_FAILED);
    }
    if (ledger->fd < 0) {
        return fails(ledger, ledger->ledger_path,
                     errno == ENOENT ? TREMOLO_LEDGER_MISSING : TREMOLO_STORAGE_FAILED);
    }
    /* The process that made it may have ended before the name was durable. */
    if (!ledger->unborn && host_sync_directory(files, ledger->directory) != 0) {
        return fails(ledger, "sync the ledger's directory", TREMOLO_STORAGE_FAILED);
    }
    return TREMOLO_OK;
}

/* A reason that is no system error, with the file it is about. */
static enum tremolo_status refuse(struct tremolo_ledger_file *ledger, enum tremolo_status status,
                                  const char *words)
{
    (void)snprintf(ledger->error, sizeof ledger->error, "%.100s: %.57s", ledger->ledger_path,
                   words);
    return status;
}

/* How many entries the ledger was made with: only that number opens it. */
static enum tremolo_status read_header(struct tremolo_ledger_file *ledger)
{
    char header[HEADER_TEXT_BYTES + 1] = {0};
    char expected[HEADER_TEXT_BYTES + 1];
    unsigned studies = 0;
    if (host_read_all(&ledger->files, ledger->fd, header, HEADER_TEXT_BYTES, 0) != 0) {
        return fails(ledger, "read the ledger", TREMOLO_STORAGE_FAILED);
    }
    for (unsigned n = 2; n < 2 * (TREMOLO_MAX_STUDIES + 1) && studies == 0; n++) {
        write_header(expected, n / 2, n % 2 == 1);
        studies = strcmp(header, expected) == 0 ? n / 2 : 0;
        ledger->has_counter = n % 2 == 1;
    }
    if (studies == 0) {
        return refuse(ledger, TREMOLO_LEDGER_DAMAGED, "its header is damaged");
    }
    ledger->platform.studies = studies;
    if (ledger->has_counter && ledger->platform.counter == NULL) {
        return refuse(ledger, TREMOLO_LEDGER_ROLLED_BACK,
                      "it was made with a counter, which must be named");
    }
    return TREMOLO_OK;
}

/* To the device core, slots in which nothing can be made out are a ledger still to be made. */
static enum tremolo_status read_slots(struct tremolo_ledger_file *ledger)
{
    struct tremolo_work work;
    uint32_t left;
    if (!ledger->unborn &&
        tremolo_device_budget(&work, &left, &ledger->platform) == TREMOLO_LEDGER_MISSING) {
        return refuse(ledger, TREMOLO_LEDGER_DAMAGED, "no entry of it can be made out");
    }
    return TREMOLO_OK;
}

/* A directory that holds no ledger is somebody else's: not even a lock is left
 * in it. */
static enum tremolo_status find_ledger(struct tremolo_ledger_file *ledger)
{
    const struct tremolo_files *files = &ledger->files;
    int fd = files->open(files->context, ledger->ledger_path, O_RDONLY, 0);
    if (fd < 0) {
        bool missing = errno == ENOENT || errno == ENOTDIR;
        return fails(ledger, ledger->ledger_path,
                     missing ? TREMOLO_LEDGER_MISSING : TREMOLO_STORAGE_FAILED);
    }
    (void)files->close(files->context, fd);
    return TREMOLO_OK;
}

/* From the directory to the slots. Each step leaves its reason in ledger->error when it fails. */
static enum tremolo_status prepare(struct tremolo_ledger_file *ledger,
                                   const struct tremolo_ledger_file_options *options)
{
    const struct tremolo_files *files = &ledger->files;
    if (options->create && files->mkdir(files->context, options->directory, 0700) != 0 &&
        errno != EEXIST) {
        return fails(ledger, options->directory, TREMOLO_STORAGE_FAILED);
    }
    if (options->create && host_sync_parent(files, options->directory) != 0) {
        return fails(ledger, "sync the parent directory", TREMOLO_STORAGE_FAILED);
    }
    enum tremolo_status status = options->create ? TREMOLO_OK : find_ledger(ledger);
    status = status == TREMOLO_OK ? lock_directory(ledger, options->directory) : status;
    status = status == TREMOLO_OK ? open_ledger(ledger, options) : status;
    status = status == TREMOLO_OK ? read_header(ledger) : status;
    return status == TREMOLO_OK ? read_slots(ledger) : status;
}

/* The counter's file is replaced by renaming another one, which has a longer name. */
static enum tremolo_status set_paths(struct tremolo_ledger_file *ledger,
                                     const struct tremolo_ledger_file_options *options)
{
    const char *counter = options->counter != NULL ? options->counter : "";
    return strlen(counter) < sizeof ledger->counter_path - 8 &&
                   host_copy_path(ledger->counter_path, counter) == 0 &&
                   host_copy_path(ledger->directory, options->directory) == 0 &&
                   host_path(ledger->ledger_path, options->directory, "ledger") == 0
               ? TREMOLO_OK
               : TREMOLO_LONG_NAME;
}

/* On failure everything is closed again, and ledger.new removed. */
enum tremolo_status tremolo_ledger_file_open(struct tremolo_ledger_file **ledger,
                                             char why[TREMOLO_LEDGER_FILE_ERROR_BYTES],
                                             const struct tremolo_ledger_file_options *options)
{
    if (ledger == NULL || options == NULL || options->directory == NULL ||
        options->studies > TREMOLO_MAX_STUDIES) {
        return TREMOLO_BAD_ARGUMENT;
    }
    struct tremolo_ledger_file *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return TREMOLO_NO_MEMORY;
    }
    made->files = options->files != NULL ? *options->files : tremolo_files_system();
    made->entropy = options->entropy != NULL ? options->entropy : tremolo_host_entropy;
    made->entropy_context = options->entropy_context;
    made->lock_fd = -1;
    made->fd = -1;
    made->platform = (struct tremolo_platform){
        .context = made,
        .entropy = ledger_entropy,
        .read = ledger_read,
        .write = ledger_write,
        .counter = options->counter != NULL ? ledger_counter : NULL,
        .advance = options->counter != NULL ? ledger_advance : NULL,
    };
    enum tremolo_status status = set_paths(made, options);
    status = status == TREMOLO_OK ? prepare(made, options) : status;
    if (status == TREMOLO_OK) {
        *ledger = made;
        return TREMOLO_OK;
    }
    if (why != NULL) {
        memcpy(why, made->error, sizeof made->error);
    }
    tremolo_ledger_file_close(made);
    return status;
}

const struct tremolo_platform *tremolo_ledger_file_platform(struct tremolo_ledger_file *ledger)
{
    return &ledger->platform;
}

/* Both slots of the first entry are whole after tremolo_device_budget(). */
enum tremolo_status tremolo_ledger_file_budget(struct tremolo_ledger_file *ledger, uint32_t *budget,
                                               uint32_t *epsilon)
{
    struct tremolo_slot slot;
    if (ledger == NULL || budget == NULL || epsilon == NULL) {
        return TREMOLO_BAD_ARGUMENT;
    }
    if (ledger_read(ledger, 0, (uint8_t *)&slot, offsetof(struct tremolo_slot, report)) != 0) {
        return TREMOLO_STORAGE_FAILED;
    }
    *budget = slot.budget;
    *epsilon = (slot.epsilon & UINT32_C(0x7fff)) << 16;
    return TREMOLO_OK;
}

const char *tremolo_ledger_file_error(const struct tremolo_ledger_file *ledger)
{
    return ledger->error;
}

/* Closing loses nothing: everything was synced when it was written. */
void tremolo_ledger_file_close(struct tremolo_ledger_file *ledger)
{
    char temporary[HOST_PATH_BYTES];
    if (ledger == NULL) {
        return;
    }
    if (ledger->unborn && host_path(temporary, ledger->directory, "ledger.new") == 0) {
        (void)host_give_up(&ledger->files, temporary); /* no device enrolled in it */
    }
    if (ledger->fd >= 0) {
        (void)ledger->files.close(ledger->files.context, ledger->fd);
    }
    if (ledger->lock_fd >= 0) {
        (void)ledger->files.close(ledger->files.context, ledger->lock_fd);
    }
    free(ledger);
}
