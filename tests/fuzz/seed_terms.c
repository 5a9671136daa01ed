/* seed_terms.c -- first inputs for fuzz_terms: formulas of every kind. */
#include <stdio.h>

static const char *const formulas[] = {
    "age",
    "y ~ 1 + age*sleep*income + C(region)",
    "age^2 + I(age**3) + np.log(income):age",
    "I((age-50)*(sleep + 7.5e0)) + `body mass`:Q(\"a b\") + Q('c')",
};

int main(int argc, char **argv)
{
    int failed = argc != 2;
    for (unsigned i = 0; !failed && i < sizeof formulas / sizeof formulas[0]; i++) {
        char path[1024];
        (void)snprintf(path, sizeof path, "%s/seed-%u", argv[1], i);
        FILE *file = fopen(path, "wb");
        failed = file == NULL || fputs(formulas[i], file) < 0;
        failed |= file != NULL && fclose(file) != 0;
    }
    return failed;
}
