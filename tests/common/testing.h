/* testing.h -- cmocka with the headers it wants before it, and a check that a
 * region is zero. */
#ifndef TREMOLO_TESTS_TESTING_H
#define TREMOLO_TESTS_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tremolo_status.h"

/* Compares statuses by name, so that a failure reads well. */
#define assert_status(got, wanted)                                                                 \
    assert_string_equal(tremolo_status_name(got), tremolo_status_name(wanted))

static inline int is_zero(const void *object, size_t length)
{
    const unsigned char *byte = object;
    while (length-- > 0) {
        if (*byte++ != 0) {
            return 0;
        }
    }
    return 1;
}

#endif
