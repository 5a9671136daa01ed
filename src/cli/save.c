/* save.c -- files that appear whole or not at all. */
#include "save.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

/* A new file whose name begins with `beside`, with the mode that any new file gets. */
static FILE *open_beside(char *beside)
{
    mode_t mask = umask(0);
    (void)umask(mask);
    int made = mkostemp(beside, O_CLOEXEC);
    FILE *out = made >= 0 && fchmod(made, 0666 & ~mask) == 0 ? fdopen(made, "w") : NULL;
    if (out == NULL && made >= 0) {
        int reason = errno;
        (void)close(made);
        (void)unlink(beside);
        errno = reason;
    }
    return out;
}

int cli_save(const char *command, const char *path, save_fn write, const void *context)
{
    static const char ending[] = ".XXXXXX";
    size_t length = strlen(path) + sizeof ending;
    char *beside = malloc(length);
    if (beside == NULL) {
        return cli_fail(CLI_FAILED, command, "out of memory");
    }
    (void)snprintf(beside, length, "%s%s", path, ending);
    FILE *out = open_beside(beside);
    bool good = out != NULL && write(out, context) && fflush(out) == 0 && ferror(out) == 0 &&
                fsync(fileno(out)) == 0;
    int reason = errno;
    if (out != NULL && fclose(out) != 0 && good) {
        reason = errno;
        good = false;
    }
    if (good && rename(beside, path) != 0) {
        reason = errno;
        good = false;
    }
    if (!good && out != NULL) {
        (void)unlink(beside);
    }
    free(beside);
    return good ? CLI_DONE : cli_fail(CLI_FAILED, command, "%s: %s", path, strerror(reason));
}
