/* seed_predict.c -- first inputs for fuzz_predict: an estimate's document, and what it may lack. */
#include <stdio.h>

#define HEAD                                                                                       \
    "{\"tremolo_estimate\":1,\"response\":{\"name\":\"y\"},\"level\":0.95,\"inference\":{"         \
    "\"degrees\":31},"
#define COEFFICIENTS                                                                               \
    "\"coefficients\":[{\"estimate\":1},{\"estimate\":null},{\"estimate\":2}],\"prediction\":{"    \
    "\"coefficients\":[{\"estimate\":1},{\"estimate\":0.5},{\"estimate\":2}]},"

static const char *const documents[] = {
    HEAD COEFFICIENTS
    "\"inputs\":{\"columns\":[{\"name\":\"a\",\"kind\":\"numeric\",\"low\":1,"
    "\"high\":9,\"missing\":2}],\"terms\":\"a + log(a)\"},\"covariance\":[[1],[null,"
    "null],[0.1,null,2]]}",
    HEAD COEFFICIENTS "\"inputs\":{\"columns\":[{\"name\":\"c\",\"kind\":\"category\",\"levels\":["
                      "\"x\",\"y\",\"z\"],\"missing\":\"y\"}],\"terms\":null},\"covariance\":null}",
};

int main(int argc, char **argv)
{
    int failed = argc != 2;
    for (unsigned i = 0; !failed && i < sizeof documents / sizeof documents[0]; i++) {
        char path[1024];
        (void)snprintf(path, sizeof path, "%s/seed-%u.json", argv[1], i);
        FILE *file = fopen(path, "wb");
        failed = file == NULL || fputs(documents[i], file) < 0;
        failed |= file != NULL && fclose(file) != 0;
    }
    return failed;
}
