/* fuzz.h -- what fuzz targets share.
 *
 * A target is a file tests/fuzz/fuzz_NAME.c that defines
 * LLVMFuzzerTestOneInput; tests/fuzz/seed_NAME.c, where there is one, is a
 * program that writes first inputs into the folder it is given. `make fuzz`
 * finds, builds and runs them all. */
#ifndef TREMOLO_TESTS_FUZZ_H
#define TREMOLO_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A broken promise ends the process, which is what the fuzzer looks for. */
#define fuzz_require(condition)                                                                    \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);          \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#ifdef FUZZ_STANDALONE
enum { FUZZ_INPUT_MAX = 1 << 20 };

static int fuzz_run_file(const char *path)
{
    static uint8_t bytes[FUZZ_INPUT_MAX];
    FILE *file = fopen(path, "rb");
    size_t length;
    if (file == NULL) {
        perror(path);
        return 1;
    }
    length = fread(bytes, 1, sizeof bytes, file);
    (void)fclose(file);
    return LLVMFuzzerTestOneInput(bytes, length);
}

int main(int argc, char **argv)
{
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        failed |= fuzz_run_file(argv[i]);
    }
    return failed;
}
#endif

#endif
