/* ledger_file.h -- a device's ledger in a directory.
 *
 *     struct tremolo_ledger_file *ledger = NULL;
 *     struct tremolo_ledger_file_options options = {.directory = "/var/lib/app/tremolo"};
 *     status = tremolo_ledger_file_open(&ledger, NULL, &options);
 *     status = tremolo_device_report(&work, report, &length, study, &round, &sample,
 *                                    tremolo_ledger_file_platform(ledger));
 *     tremolo_ledger_file_close(ledger);
 *
 * While it is open the directory is locked: another process, or another
 * open in this one, gets LEDGER_BUSY. One thread at a time. */
#ifndef TREMOLO_LEDGER_FILE_H
#define TREMOLO_LEDGER_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tremolo_device.h"
#include "tremolo_files.h"

enum { TREMOLO_LEDGER_FILE_STUDIES = 16, TREMOLO_LEDGER_FILE_ERROR_BYTES = 160 };

struct tremolo_ledger_file_options {
    const char *directory; /* made, with mode 700, when `create` is set */
    const char *counter;   /* file of the monotonic counter, best on other storage; NULL: none */
    unsigned studies; /* 1..TREMOLO_MAX_STUDIES when it is made; 0: TREMOLO_LEDGER_FILE_STUDIES */
    bool create;      /* make a ledger where there is none */
    const struct tremolo_files *files;                            /* NULL: the system's */
    int (*entropy)(void *context, uint8_t *bytes, size_t length); /* NULL: the kernel's */
    void *entropy_context;
};

/* The operating system's own files, and the kernel's entropy; contexts are unused. */
struct tremolo_files tremolo_files_system(void);
int tremolo_host_entropy(void *context, uint8_t *bytes, size_t length);

struct tremolo_ledger_file; /* opaque */

/* Open and lock. LEDGER_MISSING without `create` when there is no ledger,
 * LEDGER_DAMAGED when a file of its name holds none, LEDGER_ROLLED_BACK when it was made
 * with a counter and none is given, LEDGER_BUSY, STORAGE_FAILED, NO_MEMORY. A ledger
 * that is made is empty: enrol the device next (tremolo_device_enrol); until then it has
 * no name, and nothing is left of it but ledger.new. After an enrolment that failed close
 * it and open it again. On failure *ledger is untouched
 * and `why`, unless NULL, holds a sentence. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_ledger_file_open(struct tremolo_ledger_file **ledger,
                         char why[TREMOLO_LEDGER_FILE_ERROR_BYTES],
                         const struct tremolo_ledger_file_options *options);

/* The platform for the device core, without a MAC key; it lives as long as the
 * ledger is open. Callers with a key copy it and add theirs. */
const struct tremolo_platform *tremolo_ledger_file_platform(struct tremolo_ledger_file *ledger);

/* The whole budgets of mu^2 and of epsilon the ledger was made with, in the unit
 * of tremolo_device_enrol. Meaningful after tremolo_device_budget() has found the
 * ledger sound. STORAGE_FAILED leaves both untouched. */
TREMOLO_MUST_USE enum tremolo_status
tremolo_ledger_file_budget(struct tremolo_ledger_file *ledger, uint32_t *budget, uint32_t *epsilon);

/* What failed last beneath the device core, as "write ledger: No space left on
 * device"; "" when nothing has. */
const char *tremolo_ledger_file_error(const struct tremolo_ledger_file *ledger);

/* Unlock and close. Accepts NULL. */
void tremolo_ledger_file_close(struct tremolo_ledger_file *ledger);

#endif
