/* store_tip.c -- forty-eight bytes, overwritten in place. */
#include "store_tip.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "encoder.h"
#include "keys.h"

enum { TIP_BYTES = 48, OLD_TIP_BYTES = 40, TIP_CHECK_BYTES = 16, TIP_MAGIC_BYTES = 8 };

static const char magic[] = "TREMTIP2";
static const char old_magic[] = "TREMTIP1";

static void check_of(uint8_t check[TIP_CHECK_BYTES], const uint8_t *bytes, size_t length)
{
    (void)crypto_generichash(check, TIP_CHECK_BYTES, bytes, length, NULL, 0);
}

static bool find_place(struct tip_place *place, int file)
{
    struct stat about;
    if (fstat(file, &about) != 0) {
        return false;
    }
    *place = (struct tip_place){.inode = (uint64_t)about.st_ino};
#ifdef STATX_BTIME
    struct statx more;
    if (statx(file, "", AT_EMPTY_PATH, STATX_BTIME, &more) == 0 &&
        (more.stx_mask & STATX_BTIME) != 0) {
        place->born_ns = (uint64_t)more.stx_btime.tv_sec * 1000000000u + more.stx_btime.tv_nsec;
    }
#endif
    return true;
}

bool tip_place_is_same(const struct tip_place *written, const struct tip_place *now)
{
    bool timed = written->born_ns != 0 && now->born_ns != 0;
    return written->inode == now->inode && (!timed || written->born_ns == now->born_ns);
}

/* Whether the bytes are those of a whole tip of this version. */
static bool is_whole(const uint8_t *bytes, ssize_t got, const char *name, size_t length)
{
    uint8_t check[TIP_CHECK_BYTES];
    check_of(check, bytes, length - TIP_CHECK_BYTES);
    return got == (ssize_t)length && memcmp(bytes, name, TIP_MAGIC_BYTES) == 0 &&
           memcmp(bytes + length - TIP_CHECK_BYTES, check, sizeof check) == 0;
}

void store_tip_read(struct store_tip *tip, const char *path)
{
    uint8_t bytes[TIP_BYTES + 1] = {0};
    *tip = (struct store_tip){.file = -1};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        tip->damaged = errno != ENOENT && errno != EACCES;
        return;
    }
    ssize_t got = read(file, bytes, sizeof bytes);
    bool seen = find_place(&tip->place, file);
    (void)close(file);
    tip->old = seen && is_whole(bytes, got, old_magic, OLD_TIP_BYTES);
    tip->found = tip->old || (seen && is_whole(bytes, got, magic, TIP_BYTES));
    tip->damaged = !tip->found;
    if (tip->found) {
        struct tip_place written = {.inode = bytes_get_u64(bytes + 16),
                                    .born_ns = tip->old ? 0 : bytes_get_u64(bytes + 24)};
        tip->commits = bytes_get_u64(bytes + 8);
        tip->here = tip_place_is_same(&written, &tip->place);
    }
}

static bool write_bytes(const struct store_tip *tip, uint64_t commits)
{
    uint8_t bytes[TIP_BYTES];
    memcpy(bytes, magic, TIP_MAGIC_BYTES);
    bytes_put_u64(bytes + 8, commits);
    bytes_put_u64(bytes + 16, tip->place.inode);
    bytes_put_u64(bytes + 24, tip->place.born_ns);
    check_of(bytes + TIP_BYTES - TIP_CHECK_BYTES, bytes, TIP_BYTES - TIP_CHECK_BYTES);
    return pwrite(tip->file, bytes, sizeof bytes, 0) == TIP_BYTES;
}

/* Whole and durable under another name first: who ends in between leaves no damaged tip. The name
 * must outlive a power failure, or the directory would pass for a copy. */
static bool make_tip(struct store_tip *tip, const char *path, uint64_t commits)
{
    char made[PATH_MAX];
    int length = snprintf(made, sizeof made, "%s-new", path);
    if (length < 0 || (size_t)length >= sizeof made) {
        return false;
    }
    tip->file = open(made, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool good = tip->file >= 0 && find_place(&tip->place, tip->file) && write_bytes(tip, commits) &&
                fsync(tip->file) == 0 && rename(made, path) == 0 && keys_sync_folder(path) == 0;
    if (!good) { /* or the next write would go to a file that has no name */
        store_tip_close(tip);
    }
    return good;
}

bool store_tip_write(struct store_tip *tip, const char *path, uint64_t commits)
{
    if (tip->file >= 0) {
        (void)write_bytes(tip, commits);
        return true;
    }
    if (!tip->here || tip->old) {
        return make_tip(tip, path, commits);
    }
    tip->file = open(path, O_RDWR | O_CLOEXEC);
    return tip->file >= 0 && write_bytes(tip, commits);
}

void store_tip_close(struct store_tip *tip)
{
    if (tip->file >= 0) {
        (void)close(tip->file);
    }
    tip->file = -1;
}
