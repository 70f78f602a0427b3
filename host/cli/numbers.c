/* numbers.c - numbers of the command line. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/numbers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

bool number_whole(const char *name, const char *text, int64_t least, int64_t most, int64_t *ret)
{
    char *end = NULL;
    errno = 0;
    const long long value = text ? strtoll(text, &end, 10) : 0;
    if (!text)
        return true;
    if (errno || end == text || *end || value < least || value > most) {
        (void)fprintf(stderr,
                      "tutti: %s is %s, want a whole number of at least %lld and of at most "
                      "%lld\n",
                      name, text, (long long)least, (long long)most);
        return false;
    }
    *ret = value;
    return true;
}

bool number_real(const char *name, const char *text, double least, double most, double *ret)
{
    char *end = NULL;
    const double value = text ? strtod(text, &end) : 0.0;
    if (!text)
        return true;
    if (end == text || *end || !(value >= least && value <= most)) {
        (void)fprintf(stderr,
                      "tutti: %s is %s, want a number of at least %g and of at most %g\n", name,
                      text, least, most);
        return false;
    }
    *ret = value;
    return true;
}
