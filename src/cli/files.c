/* files.c -- read whole files within a bound, and write whole files or none.
 *
 * Every file that a command reads has a largest size, so that a wrong name costs no memory. A
 * file that is written appears whole or not at all: a reader, or a power cut, never finds half a
 * result. Secrets are read from files that others cannot read, never from the command line,
 * which everybody sees. */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "text.h"
#include "tremolo_study_file.h"

/* Up to `most` + 1 bytes, so that a longer file shows. One read is enough, whatever the file is:
 * a pipe has no size that could be asked for. A zero follows the text, which may have zeros
 * itself. */
static int read_bounded(char **text, size_t *length, const char *command, const char *name,
                        size_t most)
{
    FILE *stream = strcmp(name, "-") == 0 ? stdin : fopen(name, "rbe");
    if (stream == NULL) {
        return cli_fail(CLI_USAGE, command, "%s: %s", name, strerror(errno));
    }
    char *bytes = malloc(most + 2);
    size_t got = bytes != NULL ? fread(bytes, 1, most + 1, stream) : 0;
    int failed = bytes == NULL || ferror(stream);
    int problem = bytes == NULL ? ENOMEM : errno;
    if (stream != stdin) {
        (void)fclose(stream);
    }
    if (failed) {
        free(bytes);
        return cli_fail(problem == EISDIR ? CLI_USAGE : CLI_FAILED, command, "%s: %s", name,
                        strerror(problem));
    }
    bytes[got] = '\0';
    *text = bytes;
    *length = got;
    return CLI_DONE;
}

int cli_read_file(char **text, size_t *length, const char *command, const char *name, size_t most)
{
    int code = read_bounded(text, length, command, name, most);
    if (code == CLI_DONE && *length > most) {
        free(*text);
        *text = NULL;
        return cli_fail(CLI_USAGE, command, "%s has more than %zu bytes", name, most);
    }
    return code;
}

int cli_read_start(char **text, size_t *length, const char *command, const char *name, size_t most)
{
    int code = read_bounded(text, length, command, name, most);
    if (code == CLI_DONE && *length > most) {
        (*text)[most] = '\0';
        *length = most;
    }
    return code;
}

/* As cli_read_file(), of a file that is for us alone: no permission for group or others. Root's
 * files may be readable for a group when we are not root, as systemd does when it hands a
 * credential to a service. Only regular files have a mode that says anything: a pipe is taken as
 * it is. */
static int read_secret(char **text, size_t *length, const char *command, const char *name,
                       size_t most)
{
    struct stat about;
    if (strcmp(name, "-") != 0 && stat(name, &about) == 0 && S_ISREG(about.st_mode)) {
        bool given_by_root = about.st_uid == 0 && geteuid() != 0;
        if ((about.st_mode & (given_by_root ? 037 : 077)) != 0) {
            return cli_fail(CLI_USAGE, command,
                            "%s: others may read this secret; set its mode to 0600", name);
        }
    }
    return cli_read_file(text, length, command, name, most);
}

/* Keys are copied between machines, where a line may end in CR LF or in nothing. */
int cli_read_key(unsigned char *bytes, size_t length, const char *command, const char *name,
                 bool secret)
{
    enum { LONGEST = 256 };
    char *text = NULL;
    size_t got = 0;
    int code = secret ? read_secret(&text, &got, command, name, LONGEST)
                      : cli_read_file(&text, &got, command, name, LONGEST);
    if (code != CLI_DONE || text == NULL) {
        return code;
    }
    text[strcspn(text, " \t\r\n")] = '\0';
    enum tremolo_status status = tremolo_base64_decode(bytes, length, text);
    sodium_memzero(text, got);
    free(text);
    return status == TREMOLO_OK
               ? CLI_DONE
               : cli_fail(CLI_USAGE, command, "%s: must hold %zu bytes in base64url", name, length);
}

/* It goes into a header, where a space or a control character would end it or begin another one.
 * Line ends after the token are allowed, because editors put one there. */
int cli_read_token(char **token, const char *command, const char *name)
{
    enum { LONGEST = 8192 };
    char *text = NULL;
    size_t length = 0;
    int code = read_secret(&text, &length, command, name, LONGEST);
    if (code != CLI_DONE || text == NULL) {
        return code;
    }
    size_t used = strcspn(text, "\r\n");
    bool good = used > 0 && strspn(text + used, "\r\n") == length - used;
    for (size_t i = 0; i < used; i++) {
        good = good && text[i] > 0x20 && text[i] < 0x7f;
    }
    if (!good) {
        sodium_memzero(text, length);
        free(text);
        return cli_fail(CLI_USAGE, command, "%s: must hold the operator's token, one line", name);
    }
    text[used] = '\0';
    *token = text;
    return CLI_DONE;
}

/* Ranges that `study init` wrote as placeholders and that were not replaced are problems as
 * well. They are known by their comment, not by their numbers: 0 to 1 can be a range. All of
 * them make one problem, which names the first column and counts the others. Text that is no
 * JSON has none, and is a problem of the library's. */
static void add_placeholders(struct tremolo_study_problems *problems, const char *text,
                             size_t length)
{
    json_t *root = json_loadb(text, length, 0, NULL);
    const json_t *features = json_object_get(root, "features");
    const json_t *first = NULL;
    size_t found = 0;
    bool response = false;
    for (size_t i = 0; i <= json_array_size(features); i++) {
        const json_t *one = i < json_array_size(features) ? json_array_get(features, i)
                                                          : json_object_get(root, "response");
        if (strcmp(member_text(one, "comment"), TREMOLO_STUDY_PLACEHOLDER) == 0) {
            first = found++ == 0 ? one : first;
            response = i == json_array_size(features);
        }
    }
    if (found > 0 && problems->count++ < TREMOLO_STUDY_MAX_PROBLEMS) {
        struct tremolo_study_problem *problem = &problems->item[problems->stored++];
        bool both = response && found > 1;
        size_t more = found - 1 - both; /* features; a file has not room for more than 65,535 */
        char others[28] = "";           /* " and of 65535 more features" */
        if (more > 0) {
            (void)snprintf(others, sizeof others, "%s of %u more feature%s", both ? "," : " and",
                           (unsigned)more & 0xffff, more > 1 ? "s" : "");
        }
        members_clean(root);
        (void)snprintf(problem->path, sizeof problem->path, "features");
        (void)snprintf(problem->reason, sizeof problem->reason,
                       "the range of %.64s%s%s is a placeholder: replace low and high, then delete "
                       "the comment",
                       member_text(first, "name"), others, both ? " and of the response" : "");
    }
    json_decref(root);
}

/* The library's problems and ours are in one list, so that a file is corrected in one pass. One
 * byte more than a study may have is read, so that the library says that it is too long. */
int cli_check_study(struct tremolo_study_file **study, struct tremolo_study_problems *problems,
                    const char *command, const char *name)
{
    struct tremolo_study_file *made = NULL;
    char *text = NULL;
    size_t length = 0;
    problems->count = problems->stored = 0;
    int code = cli_read_file(&text, &length, command, name, TREMOLO_STUDY_MAX_BYTES + 1);
    if (code != CLI_DONE) {
        return code;
    }
    enum tremolo_status status = tremolo_study_file_parse(&made, problems, text, length);
    add_placeholders(problems, text, length);
    free(text);
    if (status != TREMOLO_OK && status != TREMOLO_BAD_STUDY) {
        return cli_fail(cli_exit_of(status), command, "%s: %s", name,
                        tremolo_status_sentence(status));
    }
    if (problems->count > 0) {
        tremolo_study_file_free(made);
        return CLI_USAGE;
    }
    *study = made;
    return CLI_DONE;
}

int cli_read_study(struct tremolo_study_file **study, const char *command, const char *name)
{
    static struct tremolo_study_problems problems; /* large */
    int code = cli_check_study(study, &problems, command, name);
    if (problems.count > 0) {
        const struct tremolo_study_problem *first = &problems.item[0];
        code = cli_fail(CLI_USAGE, command, "%s: %s%s%s; 'tremolo study check' says more", name,
                        first->path, first->path[0] != '\0' ? ": " : "", first->reason);
    }
    return code;
}

int cli_read_policy(struct tremolo_policy *policy, const char *command, const char *name)
{
    char *text = NULL;
    size_t length = 0;
    char why[256] = "out of memory";
    int code = cli_read_file(&text, &length, command, name, TREMOLO_POLICY_MAX_BYTES);
    if (code != CLI_DONE) {
        return code;
    }
    enum tremolo_status status = tremolo_policy_parse(policy, why, sizeof why, text, length);
    free(text);
    return status == TREMOLO_OK ? CLI_DONE
                                : cli_fail(cli_exit_of(status), command, "%s: %s", name, why);
}

/* ---------------------------------------------------------------- writing */

/* A new file in the same folder, under a name made from the template, with the mode that any new
 * file gets: mkostemp() alone would make it unreadable for others. */
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

/* The name has the old file or the whole new one at any moment, also after a power cut: the data
 * are synced before the name is changed. The temporary file is in the same folder because a
 * rename does not cross file systems. The first error is the one that is reported. */
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
