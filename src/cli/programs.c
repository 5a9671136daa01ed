/* programs.c -- other programs: gnuplot, and the script that fetches data.
 *
 * A script for gnuplot goes through a file without a name, not through a pipe: a
 * gnuplot that is missing or gives up early can then not end us by a signal. */
#include "programs.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* `input` becomes the program's standard input; -1 for nothing. */
static bool run(const char *folder, char *const argv[], int input, bool quiet)
{
    posix_spawn_file_actions_t actions;
    pid_t child = 0;
    int ended = 0;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return false;
    }
    int redirected = input >= 0 ? posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
                                : posix_spawn_file_actions_addopen(&actions, STDIN_FILENO,
                                                                   "/dev/null", O_RDONLY, 0);
    bool good =
        redirected == 0 &&
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
        (!quiet || posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO) == 0) &&
        (folder == NULL || posix_spawn_file_actions_addchdir_np(&actions, folder) == 0) &&
        posix_spawnp(&child, argv[0], &actions, NULL, argv, environ) == 0;
    (void)posix_spawn_file_actions_destroy(&actions);
    while (good && waitpid(child, &ended, 0) < 0) {
        good = errno == EINTR;
    }
    return good && WIFEXITED(ended) && WEXITSTATUS(ended) == 0;
}

bool program_run(char *const argv[])
{
    return run(NULL, argv, -1, false);
}

bool program_gnuplot(const char *folder, bool (*write)(FILE *script, const void *context),
                     const void *context)
{
    char name[] = "gnuplot";
    char *const argv[] = {name, NULL};
    FILE *script = tmpfile();
    if (script == NULL) {
        return false;
    }
    bool good = write(script, context) && fflush(script) == 0 && ferror(script) == 0 &&
                lseek(fileno(script), 0, SEEK_SET) == 0 && run(folder, argv, fileno(script), true);
    (void)fclose(script);
    return good;
}
