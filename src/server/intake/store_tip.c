/* store_tip.c -- forty bytes, overwritten in place. */
#include "store_tip.h"

#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "encoder.h"

enum { TIP_BYTES = 40, TIP_CHECKED = 24 };

static const uint8_t magic[8] = {'T', 'R', 'E', 'M', 'T', 'I', 'P', '1'};

static void check_of(uint8_t check[TIP_BYTES - TIP_CHECKED], const uint8_t *bytes)
{
    (void)crypto_generichash(check, TIP_BYTES - TIP_CHECKED, bytes, TIP_CHECKED, NULL, 0);
}

void store_tip_read(struct store_tip *tip, const char *path)
{
    uint8_t bytes[TIP_BYTES + 1] = {0};
    uint8_t check[TIP_BYTES - TIP_CHECKED];
    struct stat about;
    *tip = (struct store_tip){.file = -1};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return;
    }
    ssize_t got = read(file, bytes, sizeof bytes);
    bool seen = fstat(file, &about) == 0;
    (void)close(file);
    check_of(check, bytes);
    tip->found = seen && got == TIP_BYTES && memcmp(bytes, magic, sizeof magic) == 0 &&
                 memcmp(bytes + TIP_CHECKED, check, sizeof check) == 0;
    tip->damaged = !tip->found;
    if (tip->found) {
        tip->commits = bytes_get_u64(bytes + 8);
        tip->here = bytes_get_u64(bytes + 16) == (uint64_t)about.st_ino;
    }
}

/* A new tip must outlive a power failure as a file, or the directory would pass for a copy. */
static bool settle(int file, const char *path)
{
    char directory[PATH_MAX];
    size_t length = (size_t)(strrchr(path, '/') - path);
    if (length >= sizeof directory || fsync(file) != 0) {
        return false;
    }
    memcpy(directory, path, length);
    directory[length] = '\0';
    int place = open(length > 0 ? directory : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool settled = place >= 0 && fsync(place) == 0;
    if (place >= 0) {
        (void)close(place);
    }
    return settled;
}

static bool open_tip(struct store_tip *tip, const char *path)
{
    struct stat about;
    tip->file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (tip->file < 0 || ftruncate(tip->file, TIP_BYTES) != 0 || fstat(tip->file, &about) != 0) {
        return false;
    }
    tip->inode = (uint64_t)about.st_ino;
    return true;
}

bool store_tip_write(struct store_tip *tip, const char *path, uint64_t commits)
{
    uint8_t bytes[TIP_BYTES];
    bool first = tip->file < 0;
    if (first && !open_tip(tip, path)) {
        return false;
    }
    memcpy(bytes, magic, sizeof magic);
    bytes_put_u64(bytes + 8, commits);
    bytes_put_u64(bytes + 16, tip->inode);
    check_of(bytes + TIP_CHECKED, bytes);
    bool written = pwrite(tip->file, bytes, sizeof bytes, 0) == TIP_BYTES;
    return !first || (written && (tip->here || settle(tip->file, path)));
}

void store_tip_close(struct store_tip *tip)
{
    if (tip->file >= 0) {
        (void)close(tip->file);
    }
    tip->file = -1;
}
