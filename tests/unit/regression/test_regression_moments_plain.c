/* test_regression_moments_plain.c -- the tests of test_regression_moments.c on the kernel in plain C,
 * which this processor may never choose: fold.c is compiled here as for another one, and takes the
 * place of the library's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "moments_internal.h"

#undef __x86_64__
#include "fold.c" /* NOLINT(bugprone-suspicious-include) */

#include "test_regression_moments.c" /* NOLINT(bugprone-suspicious-include) */
