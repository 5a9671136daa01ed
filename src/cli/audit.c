/* audit.c -- `tremolo audit`: check the command line and start the program that does it.
 *
 * tremolo-audit (src/audit) is in the same folder as this program in a build, and in
 * ../libexec/tremolo once it is installed. It takes this process's place: exit code, output and
 * signals are its own. */
#include "audit_options.h"
#include "cli.h"
#include "options.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TO(member) OPTION_TO(struct audit_options, member)

static const struct option_rule rules[] = {
    OPTION_RULE("study", "FILE", TEXT, TO(study),
                .help = "audit the mechanism of a study file, over all its rounds and samples, "
                        "against what it promises"),
    OPTION_RULE("release", "R", CHOICE, TO(release), .words = "both sample ballot",
                .otherwise = "both", .excludes = "study",
                .help = "what the built-in studies ask for: noisy samples, ballots, or one study "
                        "of each"),
    OPTION_RULE("epsilon", "E", NUMBER, TO(epsilon), OPTION_FROM(0.001, 15), .excludes = "study",
                .help = "the claim to audit; 1 unless given"),
    OPTION_RULE("delta", "D", NUMBER, TO(delta), OPTION_FROM(1e-12, 0.5),
                .help = "at which it is made; 0.001 unless given, or the study's"),
    OPTION_RULE("pairs", "N", COUNT, TO(pairs), OPTION_FROM(100, 1e9), .otherwise = "50k",
                .help = "pairs of devices, shared by all pairs of people"),
    OPTION_RULE("false-alarm", "P", NUMBER, TO(false_alarm), OPTION_FROM(1e-12, 0.1),
                .otherwise = "1e-6",
                .help = "probability with which all checks together fail a sound build, at most"),
    OPTION_RULE("seed", "S", COUNT, TO(seed), OPTION_FROM(0, 0x1p63),
                .help = "repeatable; without it entropy comes from the system"),
    OPTION_RULE("timing", NULL, FLAG, TO(timing),
                .help = "compare running times as well, which no seed repeats"),
    OPTION_RULE("fault", "F", CHOICE, TO(under_noised), .words = "none under-noised",
                .otherwise = "none",
                .help = "under-noised feeds samples 25% larger than claimed, as if noise were 20% "
                        "too small, or gives ballots the law of 1.25 epsilon: the audit must catch "
                        "it"),
    OPTION_RULE("json", NULL, FLAG, TO(json), .help = "one JSON object on one line"),
};

/* The command line is checked here, so that a mistake is answered even where tremolo-audit is
 * not installed. The program is looked for next to this one and never on PATH, so that the audit
 * has the same build as the command. Returns only after a failure or for --help. */
static int run(int argc, char **argv)
{
    static const char *const places[] = {"/tremolo-audit", "/../libexec/tremolo/tremolo-audit"};
    struct audit_options options = {.study = NULL};
    struct options_given given;
    int code = CLI_DONE;
    if (!options_parse(&given, &options, &code, &cli_audit, argc, argv)) {
        return code;
    }
    if (options.release == AUDIT_BALLOT && !isnan(options.delta)) {
        return cli_fail(CLI_USAGE, "audit", "ballots are private with delta 0; leave --delta");
    }
    char self[PATH_MAX], program[PATH_MAX + 64];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(self, '/');
    for (size_t i = 0; i < sizeof places / sizeof *places && slash != NULL; i++) {
        (void)snprintf(program, sizeof program, "%.*s%s", (int)(slash - self), self, places[i]);
        (void)execv(program, argv); /* returns only if it failed */
    }
    return cli_fail(CLI_FAILED, "audit",
                    "tremolo-audit cannot be started; it must be in the folder of %s",
                    length > 0 ? self : "tremolo");
}

const struct cli_command cli_audit = {
    .name = "audit",
    .summary = "what the bytes of this build really give away",
    .usage = "audit [--study FILE] [OPTIONS]",
    .about = "Drives this build's device core as devices would, with many samples, pairs of\n"
             "neighbours, rounds and devices, tests the emitted bytes in every way it knows,\n"
             "and names what is not as claimed.",
    .closing = "Exit 0 when nothing exceeds the claim, 1 when something does.",
    OPTION_TABLE(rules),
    .run = run,
};
