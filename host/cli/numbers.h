/* numbers.h - numbers of the command line. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CLI_NUMBERS_H
#define HOST_CLI_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

/* Option `name` was given `text`, a number of at least `least` and of at most `most`, for *ret; NULL leaves that as it
 * is.  Says what is wrong and returns false. */
bool number_whole(const char *name, const char *text, int64_t least, int64_t most,
                  int64_t *ret);
bool number_real(const char *name, const char *text, double least, double most, double *ret);

#endif
