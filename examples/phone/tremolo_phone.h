/* tremolo_phone.h -- the device core behind functions that Java and Swift can call.
 *
 * For an app that has one study built in: `tremolo study show study.json --c >
 * tremolo_the_study.h`. Plain integers, byte buffers and text only, so that JNI and Swift's
 * importer need nothing else.
 *
 *     if (tremolo_phone_enrol(folder) == 0) { first start of the app, ever }
 *     int32_t length = tremolo_phone_report(folder, bytes, capacity, values, count);
 *     if (length > 0) { send bytes[0..length) until the server has answered }
 *
 * The ledger is two files in `folder`, written and synced before any byte is
 * handed out; asking again gives the same bytes. Keep the folder out of backups: a ledger that comes back
 * from one is a second budget (Android: android:allowBackup or a rule for the folder; iOS:
 * NSURLIsExcludedFromBackupKey). One call at a time; the file system's lock keeps other
 * processes out. Apps that take any study at run time use tremolo_client.h instead. */
#ifndef TREMOLO_PHONE_H
#define TREMOLO_PHONE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Room for any report of the study. */
#define TREMOLO_PHONE_REPORT_BYTES 1024

/* Make the ledger, once in the device's life. 0, or minus a status of tremolo_status.h:
 * -92 (LEDGER_EXISTS) from the second time on. The folder must be there. */
int32_t tremolo_phone_enrol(const char *folder);

/* Make this study's report of a sample, or repeat it. Values are in the device's own integer
 * units, one for each of tremolo_the_bounds and the response last. The length, or minus a status, and nothing
 * is in bytes[] then; -11 (SHORT_BUFFER) for a wrong capacity or count. */
int32_t tremolo_phone_report(const char *folder, uint8_t *bytes, size_t capacity,
                             const int32_t *values, size_t count);

/* What is left of the device's budget of epsilon, in 2^-24; or minus a status. */
int64_t tremolo_phone_epsilon_left(const char *folder);

/* "LEDGER_EXISTS" for 92 or -92. */
const char *tremolo_phone_status_name(int32_t status);

#ifdef __cplusplus
}
#endif
#endif
