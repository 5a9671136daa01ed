/* seed_study.c -- first inputs for fuzz_study: studies of every kind. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tremolo_study_file.h"

static const char *const studies[] = {
    "{\"tremolo\":1,\"title\":\"t\",\"features\":[{\"name\":\"a\",\"low\":0,\"high\":1}],"
    "\"response\":{\"name\":\"y\",\"low\":0,\"high\":1},\"privacy\":{\"epsilon\":1,\"protects\":"
    "\"all\"},\"protocol\":{\"kind\":\"one-shot\"}}",
    "{\"tremolo\":1,\"title\":\"t\",\"purpose\":\"p\",\"features\":[{\"name\":\"a\",\"low\":0,"
    "\"high\":1},{\"name\":\"c\",\"kind\":\"category\",\"levels\":[\"x\",\"y\"]},{\"name\":\"d\","
    "\"kind\":\"yes-no\"}],\"response\":{\"name\":\"y\",\"low\":0,\"high\":1,\"sent\":\"public\"},"
    "\"privacy\":{\"epsilon\":2,\"delta\":1e-6,\"neighbours\":{\"distance\":0.5},\"protects\":"
    "\"features\",\"clip\":2},\"protocol\":{\"kind\":\"iterative\",\"rounds\":3,\"vectors\":2,"
    "\"alpha\":0.5,\"lambda\":0.2,\"omega\":1,\"calibration\":\"paper\",\"radius\":1,\"step\":1,"
    "\"close\":{\"reports\":9,\"seconds\":9}},\"limits\":{\"devices\":9,\"samples\":2,\"opens\":"
    "\"2026-11-15\",\"closes\":\"2026-11-16T00:00:01Z\",\"enrolment\":\"keys\"}}",
    "{\"tremolo\":1,\"title\":\"t\",\"features\":[{\"name\":\"a\",\"low\":1,\"high\":9,"
    "\"missing\":2},{\"name\":\"c\",\"kind\":\"category\",\"levels\":[\"x\",\"y\",\"z\"],"
    "\"missing\":\"y\"}],\"terms\":[\"a\",{\"term\":\"log(a):C(c)\",\"low\":0,\"high\":3},"
    "{\"term\":\"I((a-5)^2)\",\"low\":0,\"high\":16}],\"response\":{\"name\":\"y\",\"low\":0,"
    "\"high\":1},\"privacy\":{\"epsilon\":1,\"neighbours\":\"any\",\"protects\":\"all\"},"
    "\"protocol\":{\"release\":\"ballot\"}}",
};

static int write_seed(const char *folder, unsigned number, const char *text)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/seed-%u.json", folder, number);
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        perror(path);
        return 1;
    }
    int failed = fputs(text, file) < 0;
    return (fclose(file) != 0) | failed;
}

/* Each as it is written, and normalised with its integers. */
int main(int argc, char **argv)
{
    int failed = argc != 2;
    for (unsigned i = 0; !failed && i < sizeof studies / sizeof studies[0]; i++) {
        struct tremolo_study_file *file = NULL;
        char *json = NULL;
        failed = write_seed(argv[1], 2 * i, studies[i]);
        if (tremolo_study_file_parse(&file, NULL, studies[i], strlen(studies[i])) == TREMOLO_OK &&
            tremolo_study_file_json(&json, file) == TREMOLO_OK) {
            failed |= write_seed(argv[1], 2 * i + 1, json);
        } else {
            failed = 1;
        }
        free(json);
        tremolo_study_file_free(file);
    }
    return failed;
}
